// Looks up one instance of Compute Engine by its name. An instance that has ended disappears at once, but the operations
// that created and ended it are kept for days and show when it ran.
// One call is under way at a time; whether it comes back or is dropped, the look is freed exactly once.
#include "providers/gcp/gcp_decode.h"
#include "providers/gcp/gcp_encode.h"
#include "providers/gcp/gcp_names.h"
#include "providers/gcp/gcp_verbs.h"

#include <stdlib.h>

enum { LOOK_TRIES = 3, MAX_PAGES = 100 };

struct look {
    struct rb_arena arena;
    const struct rb_gcp *gcp;
    const char *id, *name, *zone;
    struct rb_instance instance;
    struct rb_gcp_history history;
    int n_pages;
    rb_launch_fn *fn;
    rb_loop_fn *drop; // NULL: no one is called
    void *arg;
};

static void dropped(void *arg)
{
    struct look *l = arg;
    if (l->drop)
        l->drop(l->arg);
    rb_api_state_free(l);
}

static void finish(void *arg, const struct rb_err *err)
{
    struct look *l = arg;
    l->fn(l->arg, err, err ? NULL : &l->instance);
    rb_api_state_free(l);
}

static struct rb_api_call new_call(struct look *l, const char *name, rb_api_decode_fn *decode, rb_api_done_fn *done)
{
    struct rb_api_call call = rb_api_call_new(name, LOOK_TRIES, l, decode, done);
    call.drop = dropped;
    return call;
}

// --- what was done to it

static bool decode_history(void *arg, const char *body, size_t n, struct rb_err *err)
{
    struct look *l = arg;
    return rb_gcp_decode_history(body, n, &l->arena, &l->history, err);
}

static void ask_history(struct look *l);

static void history_known(void *arg, const struct rb_err *err)
{
    struct look *l = arg;
    struct rb_err other;
    if (err) {
        finish(l, err);
    } else if (l->history.next_page && ++l->n_pages < MAX_PAGES) {
        ask_history(l);
    } else if (l->history.next_page) {
        rb_err_set(&other, RB_E_ENDLESS, "zoneOperations.list: no end after %d pages", MAX_PAGES);
        finish(l, &other);
    } else if (!l->history.is_known) {
        rb_err_set(&other, RB_E_CLOUD_NOT_FOUND, "no instance %s in %s, and no operation on one", l->name, l->zone);
        finish(l, &other);
    } else {
        l->instance = (struct rb_instance){.id = l->id,
                                           .state = RB_INSTANCE_TERMINATED,
                                           .zone = l->zone,
                                           .region = l->gcp->region,
                                           .market = RB_MARKET_SPOT,
                                           .market_unknown = !l->history.preempted,
                                           .running_at_us = l->history.running_at_us,
                                           .terminated_at_us = l->history.ended_at_us};
        finish(l, NULL);
    }
}

static void ask_history(struct look *l)
{
    struct rb_api_call call = new_call(l, "zoneOperations.list", decode_history, history_known);
    rb_gcp_target_history(l->gcp->project, l->zone, l->name, l->history.next_page, &call.target);
    rb_google_send(l->gcp->client, RB_GOOGLE_COMPUTE, &call);
}

// --- the instance itself

static bool decode_instance(void *arg, const char *body, size_t n, struct rb_err *err)
{
    struct look *l = arg;
    return rb_gcp_decode_instance(body, n, l->gcp->region, &l->arena, &l->instance, err);
}

static void looked(void *arg, const struct rb_err *err)
{
    struct look *l = arg;
    if (err && err->code == RB_ERR_NOT_FOUND)
        ask_history(l);
    else
        finish(l, err);
}

// --- from the beginning

static struct look *create(const struct rb_gcp *gcp, const char *id, rb_launch_fn *fn, rb_loop_fn *drop, void *arg)
{
    struct look *l = rb_api_state_create(sizeof *l);
    l->gcp = gcp;
    l->id = rb_arena_strdup(&l->arena, id);
    l->history = (struct rb_gcp_history){.running_at_us = -1, .ended_at_us = -1};
    l->fn = fn;
    l->drop = drop;
    l->arg = arg;
    if (rb_gcp_instance_id_split(id, &l->arena, &l->name, &l->zone))
        return l;
    struct rb_api_call call = new_call(l, "instances.get", NULL, finish);
    struct rb_err err;
    rb_err_set(&err, RB_E_GCP_INSTANCE, "'%.100s': expected the id of an instance, NAME.ZONE", id);
    rb_google_refuse(gcp->client, &call, &err);
    return NULL;
}

void rb_gcp_look(struct rb_provider *p, const char *id, rb_launch_fn *fn, void *arg)
{
    const struct rb_gcp *gcp = p->state;
    struct look *l = create(gcp, id, fn, NULL, arg);
    if (!l)
        return;
    struct rb_api_call call = new_call(l, "instances.get", decode_instance, looked);
    rb_gcp_target_look(gcp->project, l->zone, l->name, &call.target);
    rb_google_send(gcp->client, RB_GOOGLE_COMPUTE, &call);
}

void rb_gcp_look_back(const struct rb_gcp *gcp, const char *id, rb_launch_fn *fn, rb_loop_fn *drop, void *arg)
{
    struct look *l = create(gcp, id, fn, drop, arg);
    if (l)
        ask_history(l);
}
