// Manages cluster placement groups of EC2: creates them before the first launch that needs one, finds them by the run's
// tags and deletes them when their instances are gone. They cost nothing, but an account may have only 500 in a region.
// None of these is a mutating call in the sense of api_call.h: a repetition changes nothing, so a request is repeated
// when its answer is lost.
#include "providers/ec2/ec2_decode.h"
#include "providers/ec2/ec2_encode.h"
#include "providers/ec2/ec2_verbs.h"

#include <stdlib.h>

enum { TRIES = 5 };

// A group is created or deleted: the rest of the answer is not needed, because its name is ours.
struct change {
    enum rb_err_code as_good; // as having done it: it is done already
    rb_terminate_fn *fn;
    rb_loop_fn *drop; // NULL: no one is called
    void *arg;
};

struct listing {
    struct rb_arena arena;
    struct rb_ec2_groups found;
    rb_groups_fn *fn;
    void *arg;
};

// --- make and end ---

static bool decode_nothing(void *arg, const char *body, size_t n, struct rb_err *err)
{
    (void)arg, (void)body, (void)n, (void)err;
    return true;
}

static void changed(void *arg, const struct rb_err *err)
{
    struct change *c = arg;
    c->fn(c->arg, err && err->code != c->as_good ? err : NULL);
    free(c);
}

static void dropped(void *arg)
{
    struct change *c = arg;
    if (c->drop)
        c->drop(c->arg);
    free(c);
}

static struct rb_api_call new_change(const char *name, const struct change *change)
{
    struct change *c = rb_xcalloc(1, sizeof *c);
    struct rb_api_call call = rb_api_call_new(name, TRIES, c, decode_nothing, changed);
    *c = *change;
    call.drop = dropped;
    return call;
}

// Code NONE: a group of this name exists, and it is ours: the name holds the run's random id.
void rb_ec2_make_group(struct rb_ec2 *ec2, const struct rb_launch *launch, rb_terminate_fn *fn, rb_loop_fn *drop,
                       void *arg)
{
    const struct change making = {.as_good = RB_ERR_NONE, .fn = fn, .drop = drop, .arg = arg};
    struct rb_api_call call = new_change("CreatePlacementGroup", &making);
    rb_ec2_encode_create_group(launch, &call.body);
    rb_aws_send(ec2->client, &call);
}

void rb_ec2_end_group(struct rb_provider *p, const char *name, rb_terminate_fn *fn, void *arg)
{
    struct rb_ec2 *ec2 = p->state;
    const struct change ending = {.as_good = RB_ERR_NOT_FOUND, .fn = fn, .arg = arg};
    struct rb_api_call call = new_change("DeletePlacementGroup", &ending);
    ec2->group[0] = '\0';
    rb_ec2_encode_delete_group(name, &call.body);
    rb_aws_send(ec2->client, &call);
}

// --- list ---

static bool decode_groups(void *arg, const char *body, size_t n, struct rb_err *err)
{
    struct listing *l = arg;
    return rb_ec2_decode_groups(body, n, &l->arena, &l->found, err);
}

static void listed(void *arg, const struct rb_err *err)
{
    struct listing *l = arg;
    l->fn(l->arg, err, l->found.groups, err ? 0 : l->found.n);
    rb_api_state_free(l);
}

void rb_ec2_groups(struct rb_provider *p, const char *run_id, rb_groups_fn *fn, void *arg)
{
    const struct rb_ec2 *ec2 = p->state;
    struct listing *l = rb_api_state_create(sizeof *l);
    struct rb_api_call call = rb_api_call_new("DescribePlacementGroups", TRIES, l, decode_groups, listed);
    l->fn = fn;
    l->arg = arg;
    rb_ec2_encode_groups(run_id, &call.body);
    rb_aws_send(ec2->client, &call);
}
