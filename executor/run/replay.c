#include "executor/run/replay.h"

#include "base/errors/log.h"

#include <stdlib.h>
#include <string.h>

struct replay {
    const struct rb_plan *plan;
    struct rb_engine *engine;
    struct rb_actions actions;
    struct rb_launch_row *launches;
    struct rb_task_row *tasks;
    int n_launches, n_tasks;
    int *n_starts; // by trial
    int n_trials;
    struct rb_replay *result;
};

// The launched machine may be a stand-in, or on another market than requested: the engine need not know.
static bool same_work(const struct rb_plan *plan, int offer, int launched)
{
    if (launched < 0 || launched >= plan->n_offers)
        return false;
    const struct rb_offer *a = &plan->offers[offer], *b = &plan->offers[launched];
    return a->gpus == b->gpus && strcmp(a->accelerator, b->accelerator) == 0;
}

static bool launch_recorded(const struct replay *r, const struct rb_action *a)
{
    for (int i = 0; i < r->n_launches; i++) {
        if (r->launches[i].node == a->node && r->launches[i].attempt == a->attempt)
            return same_work(r->plan, a->offer, r->launches[i].offer);
    }
    return false;
}

static bool start_recorded(struct replay *r, const struct rb_action *a)
{
    if (a->trial >= r->n_trials) {
        r->n_starts = rb_xrealloc(r->n_starts, (size_t)a->trial + 1, sizeof *r->n_starts);
        while (r->n_trials <= a->trial)
            r->n_starts[r->n_trials++] = 0;
    }
    const int start = r->n_starts[a->trial]++;
    for (int i = 0; i < r->n_tasks; i++) {
        const struct rb_task_row *t = &r->tasks[i];
        if (t->trial == a->trial && t->start == start)
            return t->stage == a->stage && t->attempt == a->attempt && t->n_slots == a->n_slots &&
                   t->slots[0].node == a->slots[0].node && t->slots[0].gpus == a->slots[0].gpus;
    }
    return false;
}

static bool replay_event(void *ctx, const struct rb_event *e, struct rb_err *err)
{
    struct replay *r = ctx;
    (void)err;
    rb_engine_step(r->engine, e, &r->actions);
    r->result->n_events++;
    for (int i = 0; i < r->actions.n; i++) {
        const struct rb_action *a = &r->actions.items[i];
        bool recorded = true;
        if (a->kind == RB_ACTION_PROVISION)
            recorded = launch_recorded(r, a);
        else if (a->kind == RB_ACTION_START_TRIAL)
            recorded = start_recorded(r, a);
        r->result->n_orders++;
        r->result->n_missing += !recorded;
        if (!recorded)
            rb_warn("event %d: order %s of %s %d (attempt %d) is not in the journal", r->result->n_events,
                    rb_action_kind_name(a->kind), a->kind == RB_ACTION_PROVISION ? "node" : "trial",
                    a->kind == RB_ACTION_PROVISION ? a->node : a->trial, a->attempt);
    }
    return true;
}

static int count_open(const struct replay *r)
{
    int n = 0;
    for (int i = 0; i < r->n_launches; i++)
        n += r->launches[i].state != RB_LAUNCH_GONE && r->launches[i].state != RB_LAUNCH_REFUSED;
    return n;
}

static bool replay_all(struct rb_journal *journal, struct replay *r, struct rb_arena *arena, struct rb_err *err)
{
    if (!rb_journal_launches(journal, arena, &r->launches, &r->n_launches, err) ||
        !rb_journal_tasks(journal, arena, &r->tasks, &r->n_tasks, err) ||
        !rb_journal_each_event(journal, replay_event, r, err))
        return false;
    r->result->reason = RB_STOP_USER;
    r->result->outcome = rb_engine_outcome(r->engine, &r->result->reason);
    r->result->n_open = count_open(r);
    return true;
}

bool rb_replay_journal(struct rb_journal *journal, const struct rb_plan *plan, struct rb_replay *out,
                       struct rb_err *err)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct replay r = {.plan = plan, .result = out};
    *out = (struct rb_replay){0};
    if (!rb_engine_create(plan, &r.engine, err))
        return false;
    const bool ok = replay_all(journal, &r, &arena, err);
    rb_engine_destroy(r.engine);
    rb_actions_finish(&r.actions);
    free(r.n_starts);
    return ok;
}
