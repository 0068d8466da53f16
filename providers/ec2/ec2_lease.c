// Writes the lease of instances as a tag (CreateTags).
// One request covers up to a thousand instances. EC2 refuses the whole request if it does not know one id, so such a
// request is halved until its ids are known, or only the unknown id is left.
#include "providers/ec2/ec2_decode.h"
#include "providers/ec2/ec2_encode.h"
#include "providers/ec2/ec2_verbs.h"

#include <stdlib.h>

enum { TRIES = 5 };

// ids[first .. first + n) of the renewal in one request.
struct part {
    const struct rb_ec2 *ec2;
    struct rb_renewal *of;
    int first, n;
};

static void dropped(void *arg)
{
    struct rb_renewal *r = ((struct part *)arg)->of;
    free(arg);
    rb_renewal_close(r, true);
}

static bool decode(void *arg, const char *body, size_t n, struct rb_err *err)
{
    (void)arg;
    return rb_ec2_decode_tagged(body, n, err);
}

static void send_part(const struct part *part);

static void done(void *arg, const struct rb_err *err)
{
    const struct part part = *(struct part *)arg;
    const int half = part.n / 2;
    free(arg);
    if (err && err->code == RB_ERR_NOT_FOUND && part.n > 1) {
        send_part(&(struct part){part.ec2, part.of, part.first, half});
        send_part(&(struct part){part.ec2, part.of, part.first + half, part.n - half});
    }
    rb_renewal_note(part.of, err);
    rb_renewal_close(part.of, false);
}

// Not mutating in the sense of api_call.h: the caller repeats the request when the answer is lost.
static void send_part(const struct part *part)
{
    struct part *p = rb_xcalloc(1, sizeof *p);
    struct rb_api_call call = rb_api_call_new("CreateTags", TRIES, p, decode, done);
    call.drop = dropped;
    *p = *part;
    p->of->n_open++;
    rb_ec2_encode_tag(p->of->ids + p->first, p->n, &p->of->lease, &call.body);
    rb_aws_send(p->ec2->client, &call);
}

void rb_ec2_renew(struct rb_provider *p, const char *const *ids, int n, const struct rb_tag *lease, rb_terminate_fn *fn,
                  void *arg)
{
    static const char right[] = "ec2:CreateTags on instances that carry the tag rb:run-id (docs/policies/aws.json)";
    struct rb_renewal *r = rb_renewal_create(ids, n, lease, right, fn, arg);
    for (int first = 0; first < n; first += RB_EC2_MAX_TAGGED)
        send_part(&(struct part){p->state, r, first, n - first < RB_EC2_MAX_TAGGED ? n - first : RB_EC2_MAX_TAGGED});
}
