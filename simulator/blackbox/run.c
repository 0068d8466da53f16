#include "simulator/blackbox/run.h"

#include "samplers/follow.h"
#include "simulator/model/spending.h"

#include <math.h>
#include <stdlib.h>

struct run {
    const struct rb_blackbox_runs *runs;
    const struct rb_blackbox *table;
    const struct rb_plan *plan;
    struct rb_follower *follower;     // one of our samplers, NULL: a program
    struct rb_world_options program;  // what it was prepared with
    const struct rb_suggester *sampler;
    struct rb_suggester suggester;
    struct rb_blackbox_outcome *outcome, unwanted;
    bool *used;          // by row
    double *u;           // of a proposal
    struct rb_value *proposed;
    int *row_of;         // by trial
    int n_trials;
};

// ---- configurations

static void take_row(struct run *r, int trial, int row)
{
    r->used[row] = true;
    r->outcome->n_rows++;
    for (; r->n_trials <= trial; r->n_trials++) {
        r->row_of = rb_grow(r->row_of, r->n_trials, sizeof *r->row_of);
        r->row_of[r->n_trials] = -1;
    }
    r->row_of[trial] = row;
}

// Without a proposal or a row that is free there is no configuration, and the engine begins no such trial.
static bool suggest(void *ctx, const struct rb_engine *e, int trial, int64_t resource, struct rb_arena *arena,
                    struct rb_event *out)
{
    struct run *r = ctx;
    if (!r->sampler->suggest(r->sampler->ctx, e, trial, resource, arena, out))
        return false;
    if (out->n_values == 0)
        return true;
    rb_event_values(out, &r->table->space, r->proposed);
    rb_coordinates_of(&r->table->coordinates, r->proposed, r->u);
    const int row = rb_blackbox_nearest(r->table, r->u, r->used);
    if (row < 0) {
        r->outcome->ran_out = true;
        out->n_values = 0;
        return true;
    }
    take_row(r, trial, row);
    rb_suggested_event(&r->table->space, trial, rb_blackbox_values(r->table, row), out->origin, out->because, arena, out);
    return true;
}

// ---- what is reported

static double curve(void *ctx, uint32_t replicate, int trial, int64_t resource)
{
    const struct run *r = ctx;
    (void)replicate;
    return rb_blackbox_metric(r->table, r->row_of[trial], resource);
}

static double unit_s(void *ctx, int trial)
{
    const struct run *r = ctx;
    return r->table->unit_s[r->row_of[trial]];
}

// Any report, as the engine counts it.
static bool is_at_target(const struct run *r, double metric)
{
    const struct rb_job *job = r->plan->job;
    return job->has_target && isfinite(metric) &&
           (r->table->goal == RB_GOAL_MAXIMIZE ? metric >= job->target : metric <= job->target);
}

// What counts is a result that a trial is compared by and has saved: at the end of a rung, or where the run ends at its
// target. The best of all reports would be the luckiest one.
static bool is_result(const struct run *r, const struct rb_event *event)
{
    for (int i = 0; i < r->plan->n_stages; i++)
        if (r->plan->stages[i].resource_end == event->resource)
            return isfinite(event->metric);
    return is_at_target(r, event->metric);
}

static bool is_better(const struct run *r, double metric)
{
    const struct rb_blackbox_outcome *o = r->outcome;
    if (o->n_steps == 0)
        return true;
    const double best = o->steps[o->n_steps - 1].best;
    return r->table->goal == RB_GOAL_MAXIMIZE ? metric > best : metric < best;
}

static void saw(void *ctx, const struct rb_engine *e, const struct rb_event *event, const struct rb_actions *actions)
{
    struct run *r = ctx;
    struct rb_blackbox_outcome *o = r->outcome;
    r->sampler->saw(r->sampler->ctx, e, event, actions);
    if (event->kind != RB_EVENT_REPORT)
        return;
    if (o->target_uusd < 0 && is_at_target(r, event->metric))
        o->target_uusd = rb_spending_at(r->runs->scenario, e, event->time_us);
    if (!is_result(r, event) || !is_better(r, event->metric))
        return;
    o->steps = rb_grow(o->steps, o->n_steps, sizeof *o->steps);
    o->steps[o->n_steps++] = (struct rb_blackbox_step){rb_spending_at(r->runs->scenario, e, event->time_us), event->metric};
}

// ---- one run

static void destroy(struct run *r)
{
    rb_follower_destroy(r->follower);
    rb_blackbox_outcome_finish(&r->unwanted);
    free(r->used);
    free(r->u);
    free(r->proposed);
    free(r->row_of);
    free(r);
}

static struct run *create(const struct rb_blackbox_runs *b, const struct rb_plan *plan, uint32_t replicate)
{
    const struct rb_blackbox *t = b->table;
    struct run *r = rb_xcalloc(1, sizeof *r);
    r->runs = b;
    r->table = t;
    r->plan = plan;
    r->used = rb_xcalloc((size_t)t->n_rows, sizeof *r->used);
    r->u = rb_xcalloc((size_t)t->coordinates.n + 1, sizeof *r->u);
    r->proposed = rb_xcalloc((size_t)t->space.n_params, sizeof *r->proposed);
    r->outcome = b->outcomes ? &b->outcomes[replicate - b->first] : &r->unwanted;
    *r->outcome = (struct rb_blackbox_outcome){.target_uusd = -1};
    r->suggester = (struct rb_suggester){.ctx = r, .saw = saw, .suggest = suggest};
    return r;
}

static bool open_sampler(struct run *r, uint32_t replicate, struct rb_err *err)
{
    const struct rb_blackbox_runs *b = r->runs;
    if (b->prepare) {
        r->program.replicate = replicate;
        if (!b->prepare(b->prepare_ctx, r->plan, replicate, &r->program, err))
            return false;
        r->sampler = r->program.suggester;
        return true;
    }
    if (!rb_follower_create(r->plan, &r->follower, err))
        return false;
    rb_follower_recall(r->follower, b->earlier);
    r->sampler = rb_follower_suggester(r->follower);
    return true;
}

static bool prepare(void *ctx, const struct rb_plan *plan, uint32_t replicate, struct rb_world_options *opt,
                    struct rb_err *err)
{
    struct run *r = create(ctx, plan, replicate);
    if (!open_sampler(r, replicate, err)) {
        destroy(r);
        return false;
    }
    opt->suggester = &r->suggester;
    opt->curve = curve;
    opt->unit_s = r->table->unit_s ? unit_s : NULL;
    opt->curve_ctx = opt->unit_s_ctx = r;
    return true;
}

static void finish(void *ctx, struct rb_world_options *opt)
{
    const struct rb_blackbox_runs *b = ctx;
    struct run *r = opt->suggester->ctx;
    if (b->prepare)
        b->finish(b->prepare_ctx, &r->program);
    destroy(r);
}

void rb_blackbox_play(struct rb_blackbox_runs *b, struct rb_world_runs *runs)
{
    runs->prepare = prepare;
    runs->finish = finish;
    runs->prepare_ctx = b;
    b->first = runs->first;
}

void rb_blackbox_outcome_finish(struct rb_blackbox_outcome *o)
{
    free(o->steps);
}

// ---- figures

double rb_blackbox_outcome_regret(const struct rb_blackbox *t, const struct rb_blackbox_outcome *o)
{
    return rb_blackbox_outcome_regret_at(t, o, INT64_MAX);
}

double rb_blackbox_outcome_regret_at(const struct rb_blackbox *t, const struct rb_blackbox_outcome *o, int64_t cost_uusd)
{
    int n = 0;
    while (n < o->n_steps && o->steps[n].cost_uusd <= cost_uusd)
        n++;
    return n > 0 ? rb_blackbox_regret(t, o->steps[n - 1].best) : 1;
}
