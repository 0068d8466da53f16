// None of these is a mutating call in the sense of api_call.h: said twice they do no more than said once, so an answer that is
// lost leaves nothing to be settled.
#include "providers/ec2_placement.h"

#include "providers/ec2_decode.h"
#include "providers/ec2_encode.h"

#include <stdlib.h>

enum { TRIES = 5 };

struct making {
    rb_ec2_group_fn *fn;
    rb_loop_fn *drop;
    void *arg;
};

struct listing {
    struct rb_arena arena;
    struct rb_ec2_groups found;
    rb_groups_fn *fn;
    void *arg;
};

struct ending {
    rb_terminate_fn *fn;
    void *arg;
};

static struct rb_api_call new_call(const char *name, void *arg)
{
    return (struct rb_api_call){.name = name, .content_type = RB_EC2_CONTENT_TYPE, .max_tries = TRIES, .arg = arg};
}

// What the answer says besides is not needed: the group's name is ours.
static bool decode_nothing(void *arg, const char *body, size_t n, struct rb_err *err)
{
    (void)arg, (void)body, (void)n, (void)err;
    return true;
}

// --- make ---

// Code NONE: there is one of this name, which nobody else has, as it holds the run's random id.
static void made(void *arg, const struct rb_err *err)
{
    struct making *m = arg;
    m->fn(m->arg, err && err->code != RB_ERR_NONE ? err : NULL);
    free(m);
}

static void dropped(void *arg)
{
    struct making *m = arg;
    m->drop(m->arg);
    free(m);
}

void rb_ec2_make_group(struct rb_aws_client *client, const struct rb_launch *launch, rb_ec2_group_fn *fn,
                       rb_loop_fn *drop, void *arg)
{
    struct making *m = rb_xcalloc(1, sizeof *m);
    *m = (struct making){fn, drop, arg};
    struct rb_api_call call = new_call("CreatePlacementGroup", m);
    rb_ec2_encode_create_group(launch, &call.body);
    call.decode = decode_nothing;
    call.done = made;
    call.drop = dropped;
    rb_aws_send(client, &call);
}

// --- list ---

static void listing_destroy(void *arg)
{
    struct listing *l = arg;
    rb_arena_finish(&l->arena);
    free(l);
}

static bool decode_groups(void *arg, const char *body, size_t n, struct rb_err *err)
{
    struct listing *l = arg;
    return rb_ec2_decode_groups(body, n, &l->arena, &l->found, err);
}

static void listed(void *arg, const struct rb_err *err)
{
    struct listing *l = arg;
    l->fn(l->arg, err, l->found.groups, err ? 0 : l->found.n);
    listing_destroy(l);
}

void rb_ec2_groups(struct rb_aws_client *client, const char *run_id, rb_groups_fn *fn, void *arg)
{
    struct listing *l = rb_xcalloc(1, sizeof *l);
    l->fn = fn;
    l->arg = arg;
    struct rb_api_call call = new_call("DescribePlacementGroups", l);
    rb_ec2_encode_groups(run_id, &call.body);
    call.decode = decode_groups;
    call.done = listed;
    call.drop = listing_destroy;
    rb_aws_send(client, &call);
}

// --- end ---

static void ended(void *arg, const struct rb_err *err)
{
    struct ending *e = arg;
    e->fn(e->arg, err && err->code != RB_ERR_NOT_FOUND ? err : NULL);
    free(e);
}

void rb_ec2_end_group(struct rb_aws_client *client, const char *name, rb_terminate_fn *fn, void *arg)
{
    struct ending *e = rb_xcalloc(1, sizeof *e);
    *e = (struct ending){fn, arg};
    struct rb_api_call call = new_call("DeletePlacementGroup", e);
    rb_ec2_encode_delete_group(name, &call.body);
    call.decode = decode_nothing;
    call.done = ended;
    call.drop = free;
    rb_aws_send(client, &call);
}
