// One node, ready at once, free of charge. There is no cloud to ask, so the node exists for as long as this process knows
// of it: the one provider that is its own truth.
#include "providers/local/local.h"

#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

struct local {
    const struct rb_loop *loop;
    int slots;
    struct rb_arena arena; // of the strings of node
    bool has_node;
    struct rb_instance node;
    struct answer *answers;
};

// An answer on its way: callbacks come from the loop, never from inside the call.
struct answer {
    struct local *local;
    struct answer *previous, *next;
    uint64_t timer;
    struct rb_err err;      // code NONE: success
    rb_launch_fn *launched; // exactly one of these four
    rb_list_fn *listed;
    rb_terminate_fn *terminated;
    rb_offers_fn *offered;
    bool matches; // listed: the node belongs to the requested run
    void *arg;
};

static void answer_destroy(struct answer *a)
{
    if (a->next)
        a->next->previous = a->previous;
    *(a->previous ? &a->previous->next : &a->local->answers) = a->next;
    free(a);
}

static void offer(const struct local *local, rb_offers_fn *fn, void *arg)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_catalog catalog = {0};
    const char *accelerator;
    rb_local_slots(false, &accelerator);
    rb_catalog_add_local(&catalog, &arena, accelerator, local->slots);
    fn(arg, NULL, &catalog);
}

static void deliver(void *arg)
{
    const struct answer a = *(struct answer *)arg;
    const struct rb_err *err = a.err.code == RB_ERR_NONE ? NULL : &a.err;
    const struct rb_instance node = a.local->node; // the callback may change it
    answer_destroy(arg);
    if (a.launched)
        a.launched(a.arg, err, err ? NULL : &node);
    else if (a.listed)
        a.listed(a.arg, NULL, &node, a.matches ? 1 : 0, true);
    else if (a.terminated)
        a.terminated(a.arg, err);
    else
        offer(a.local, a.offered, a.arg);
}

static struct answer *answer_soon(struct local *local, void *arg)
{
    struct answer *a = rb_xcalloc(1, sizeof *a);
    a->local = local;
    a->arg = arg;
    a->next = local->answers;
    if (a->next)
        a->next->previous = a;
    local->answers = a;
    a->timer = local->loop->timer_start(local->loop->ctx, 0, deliver, a);
    return a;
}

static const char *keep(struct local *local, const char *s)
{
    return s ? rb_arena_strdup(&local->arena, s) : NULL;
}

static void start_node(struct local *local, const struct rb_launch *l)
{
    local->has_node = true;
    local->node = (struct rb_instance){
        .id = rb_arena_printf(&local->arena, "local-%.16s", l->token),
        .state = RB_INSTANCE_RUNNING,
        .address = "local",
        .private_address = "127.0.0.1",
        .instance_type = "local",
        .market = RB_MARKET_ON_DEMAND,
        .token = keep(local, l->token),
        .run_id = keep(local, l->tags.run_id),
        .launch_id = keep(local, l->tags.launch_id),
        .owner = keep(local, l->tags.owner),
        .running_at_us = local->loop->unix_us(local->loop->ctx),
        .terminated_at_us = -1,
    };
}

static bool is_running(const struct local *local)
{
    return local->has_node && local->node.state == RB_INSTANCE_RUNNING;
}

static void local_launch(struct rb_provider *p, const struct rb_launch *l, rb_launch_fn *fn, void *arg)
{
    struct local *local = p->state;
    struct answer *a = answer_soon(local, arg);
    a->launched = fn;
    const bool repeated = local->has_node && strcmp(local->node.token, l->token) == 0;
    if (l->market == RB_MARKET_SPOT)
        rb_err_set(&a->err, RB_E_LOCAL_LAUNCH, "local: this machine is not sold as spot; use market on_demand");
    else if (rb_launch_count(l) > 1)
        rb_err_set(&a->err, RB_E_LOCAL_LAUNCH, "local: this is one machine; asked for %d at once", l->count);
    else if (!repeated && is_running(local))
        rb_err_set(&a->err, RB_E_LOCAL_BUSY, "local: there is only one machine, and %s holds it", local->node.id);
    else if (!repeated)
        start_node(local, l);
}

static void local_list(struct rb_provider *p, const char *run_id, rb_list_fn *fn, void *arg)
{
    struct local *local = p->state;
    struct answer *a = answer_soon(local, arg);
    a->listed = fn;
    const char *wanted = run_id ? run_id : local->node.owner, *actual = run_id ? local->node.run_id : local->node.owner;
    a->matches = local->has_node && wanted && actual && strcmp(wanted, actual) == 0;
}

static void local_terminate(struct rb_provider *p, const char *id, rb_terminate_fn *fn, void *arg)
{
    struct local *local = p->state;
    struct answer *a = answer_soon(local, arg);
    a->terminated = fn;
    if (!local->has_node || strcmp(local->node.id, id) != 0) {
        rb_err_set(&a->err, RB_E_LOCAL_NODE, "local: %s is not a node of this process", id);
    } else if (is_running(local)) {
        local->node.state = RB_INSTANCE_TERMINATED;
        local->node.terminated_at_us = local->loop->unix_us(local->loop->ctx);
    }
}

static void local_offers(struct rb_provider *p, const char *const *types, int n_types, rb_offers_fn *fn, void *arg)
{
    (void)types, (void)n_types; // there is one type
    answer_soon(p->state, arg)->offered = fn;
}

static bool local_create(const struct rb_provider_config *config, struct rb_provider *out, struct rb_err *err)
{
    if (config->local_slots < 1)
        return rb_err_set(err, RB_E_LOCAL_LAUNCH, "local: expected at least one slot, got %d", config->local_slots);
    struct local *local = rb_xcalloc(1, sizeof *local);
    local->loop = config->loop;
    local->slots = config->local_slots;
    *out = (struct rb_provider){.ops = &rb_provider_local, .state = local};
    return true;
}

static void local_destroy(struct rb_provider *p)
{
    struct local *local = p->state;
    if (!local)
        return;
    while (local->answers) {
        local->loop->timer_cancel(local->loop->ctx, local->answers->timer);
        answer_destroy(local->answers);
    }
    rb_arena_finish(&local->arena);
    free(local);
    p->state = NULL;
}

static bool local_is_harmless(const char *region)
{
    (void)region;
    return true;
}

const struct rb_provider_ops rb_provider_local = {
    .name = "local",
    .summary = "this machine, as one free node",
    .transport = "local",
    .is_in_process = true,
    .create = local_create,
    .destroy = local_destroy,
    .launch = local_launch,
    .list = local_list,
    .terminate = local_terminate,
    .is_harmless = local_is_harmless,
    .offers = local_offers,
};
