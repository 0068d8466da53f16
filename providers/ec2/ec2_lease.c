// One request for up to a thousand instances. EC2 refuses all of a request in which one id is unknown to it, so such a one is
// halved until what is left is known, or is that id alone.
#include "providers/ec2/ec2_lease.h"

#include "providers/ec2/ec2_decode.h"
#include "providers/ec2/ec2_encode.h"

#include <stdlib.h>

enum { TRIES = 5 };

struct renewal {
    struct rb_aws_client *client;
    struct rb_arena arena;
    const char **ids;
    struct rb_tag lease;
    int n_parts;       // under way
    struct rb_err err; // of the part that failed first; code NONE: none did
    rb_terminate_fn *fn;
    void *arg;
};

// ids[first .. first + n) in one request.
struct part {
    struct renewal *of;
    int first, n;
};

static void renewal_destroy(struct renewal *r)
{
    rb_arena_finish(&r->arena);
    free(r);
}

static void dropped(void *arg)
{
    struct part *part = arg;
    struct renewal *r = part->of;
    free(part);
    if (--r->n_parts == 0)
        renewal_destroy(r);
}

static bool decode(void *arg, const char *body, size_t n, struct rb_err *err)
{
    (void)arg;
    return rb_ec2_decode_tagged(body, n, err);
}

static void send_part(struct renewal *r, int first, int n);

static void note_failure(struct renewal *r, const struct rb_err *err)
{
    if (r->err.code != RB_ERR_NONE)
        return;
    r->err = *err;
    if (err->code == RB_ERR_DENIED)
        rb_err_set(&r->err, RB_E_PERMISSION,
                   "%s; allow ec2:CreateTags on instances that carry the tag rb:run-id (docs/policies/aws.json)",
                   err->message);
}

static void done(void *arg, const struct rb_err *err)
{
    const struct part part = *(struct part *)arg;
    struct renewal *r = part.of;
    free(arg);
    if (err && err->code == RB_ERR_NOT_FOUND && part.n > 1) {
        send_part(r, part.first, part.n / 2);
        send_part(r, part.first + part.n / 2, part.n - part.n / 2);
    } else if (err && err->code != RB_ERR_NOT_FOUND) {
        note_failure(r, err);
    }
    if (--r->n_parts > 0)
        return;
    r->fn(r->arg, r->err.code ? &r->err : NULL);
    renewal_destroy(r);
}

// Not mutating in the sense of api_call.h: an answer that is lost leaves nothing to be settled.
static void send_part(struct renewal *r, int first, int n)
{
    struct part *part = rb_xcalloc(1, sizeof *part);
    *part = (struct part){r, first, n};
    r->n_parts++;
    struct rb_api_call call = {.name = "CreateTags",
                               .content_type = RB_EC2_CONTENT_TYPE,
                               .max_tries = TRIES,
                               .arg = part,
                               .decode = decode,
                               .done = done,
                               .drop = dropped};
    rb_ec2_encode_tag(r->ids + first, n, &r->lease, &call.body);
    rb_aws_send(r->client, &call);
}

void rb_ec2_renew(struct rb_aws_client *client, const char *const *ids, int n, const struct rb_tag *lease,
                  rb_terminate_fn *fn, void *arg)
{
    struct renewal *r = rb_xcalloc(1, sizeof *r);
    *r = (struct renewal){.client = client, .fn = fn, .arg = arg};
    r->ids = rb_arena_array(&r->arena, (size_t)n, sizeof *r->ids);
    for (int i = 0; i < n; i++)
        r->ids[i] = rb_arena_strdup(&r->arena, ids[i]);
    r->lease = (struct rb_tag){rb_arena_strdup(&r->arena, lease->key), rb_arena_strdup(&r->arena, lease->value)};
    for (int first = 0; first < n; first += RB_EC2_MAX_TAGGED)
        send_part(r, first, n - first < RB_EC2_MAX_TAGGED ? n - first : RB_EC2_MAX_TAGGED);
}
