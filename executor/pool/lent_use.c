#include "executor/pool/lent_use.h"

int rb_lent_gpus(const struct rb_engine *e)
{
    int n = 0;
    for (int i = 0; i < rb_engine_n_nodes(e); i++) {
        const struct rb_owned_node *node = rb_engine_node(e, i);
        n += node->state == RB_OWNED_ENDED ? 0 : __builtin_popcountll(node->usable);
    }
    return n;
}

struct replay {
    struct rb_engine *engine;
    struct rb_actions actions;
    struct rb_lent_use use;
};

static bool replay_event(void *ctx, const struct rb_event *event, struct rb_err *err)
{
    (void)err;
    struct replay *r = ctx;
    const int64_t passed_us = event->time_us - rb_engine_now_us(r->engine);
    const int before = rb_lent_gpus(r->engine);
    r->use.gpu_s += before * (double)passed_us / 1e6;
    r->use.executed_us += before > 0 ? passed_us : 0;
    rb_engine_step(r->engine, event, &r->actions);
    r->use.changes += event->kind == RB_EVENT_LENT;
    return true;
}

bool rb_lent_use(struct rb_journal *j, const struct rb_plan *plan, struct rb_lent_use *out, struct rb_err *err)
{
    struct replay r = {0};
    if (!rb_engine_create(plan, &r.engine, err))
        return false;
    const bool ok = rb_journal_each_event(j, replay_event, &r, err);
    rb_engine_destroy(r.engine);
    rb_actions_finish(&r.actions);
    if (ok)
        *out = r.use;
    return ok;
}
