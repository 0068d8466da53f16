#include "planner/glance.h"

#include "planner/frontier.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLES 16   // a mean within a fourth or so
#define ROOM    0.7  // of such a mean is what a choice may cost in truth
#define ROOM_2  0.95 // of a table's
#define HULL    32   // plans on the hull of cost against time

// ---- what a choice costs at least

static double objective_of(const struct rb_options *o, const struct rb_stage_sample *s)
{
    return o->search->req->objective == RB_OBJECTIVE_MIN_COST ? s->cost_mean_uusd : s->time_mean_us;
}

// With all its nodes inherited or none, whichever is less.
static double least_objective(const struct rb_options *o, int stage, const struct rb_option_entry *e)
{
    const double fresh = objective_of(o, e->by_kept[0]);
    return stage > 0 ? fmin(fresh, objective_of(o, e->by_kept[e->choice.nodes])) : fresh;
}

static double cheapest_of(const struct rb_options *o, int stage)
{
    double least = INFINITY;
    for (int i = 0; i < o->stages[stage].n; i++)
        least = fmin(least, least_objective(o, stage, &o->stages[stage].entries[i]));
    return least;
}

static void drop_above(struct rb_options *o, int stage, double most)
{
    struct rb_stage_options *list = &o->stages[stage];
    int n = 0;
    for (int i = 0; i < list->n; i++) {
        if (least_objective(o, stage, &list->entries[i]) > most)
            free(list->entries[i].by_kept);
        else
            list->entries[n++] = list->entries[i];
    }
    list->n = n;
}

// A plan costs at least what one of its choices does and the cheapest of every other stage.
static void drop_dear(struct rb_options *o, double room)
{
    double cheapest[RB_LIMIT_STAGES], all = 0;
    for (int stage = 0; stage < o->n_stages; stage++)
        all += cheapest[stage] = cheapest_of(o, stage);
    for (int stage = 0; stage < o->n_stages; stage++)
        drop_above(o, stage, o->to_beat / room - (all - cheapest[stage]));
}

// ---- a plan to beat

// Nodes are inherited all or none, as if that were all there is.
static bool sample(struct rb_options *o, struct rb_stage_samples *few, struct rb_err *err)
{
    for (int stage = 0; stage < o->n_stages; stage++) {
        for (int i = 0; i < o->stages[stage].n; i++) {
            struct rb_option_entry *e = &o->stages[stage].entries[i];
            const int all = e->choice.nodes;
            for (int kept = 0; kept <= (stage > 0 ? all : 0); kept++)
                e->by_kept[kept] =
                    kept > 0 && kept < all ? e->by_kept[0] : rb_stage_samples_get(few, stage, &e->choice, kept, err);
            if (!e->by_kept[0] || (stage > 0 && !e->by_kept[all]))
                return false;
        }
    }
    return true;
}

static void forget(struct rb_options *o)
{
    for (int stage = 0; stage < o->n_stages; stage++) {
        for (int i = 0; i < o->stages[stage].n; i++) {
            struct rb_option_entry *e = &o->stages[stage].entries[i];
            memset(e->by_kept, 0, ((size_t)e->choice.nodes + 1) * sizeof *e->by_kept);
        }
    }
}

static bool find_plan(struct rb_options *o, struct rb_err *err)
{
    const bool by_time = o->search->req->objective == RB_OBJECTIVE_MIN_TIME;
    struct rb_path paths[HULL];
    double slopes[HULL];
    const int n = rb_frontier(o, paths, slopes, HULL);
    for (int k = 0; k < n && !o->found && !rb_search_out_of_time(o->search); k++) {
        o->plan = rb_options_candidate(o, &paths[by_time ? n - 1 - k : k]);
        if (!rb_search_settle(o->search, &o->plan, NULL, &o->found, err))
            return false;
    }
    if (o->found)
        o->to_beat = fmin(o->to_beat, rb_search_objective(o->search, &o->plan.estimate));
    return true;
}

bool rb_glance(struct rb_options *o, struct rb_err *err)
{
    o->to_beat = INFINITY;
    if (o->search->asked_again)
        return true;
    o->to_beat = rb_search_to_beat(o->search);
    struct rb_stage_samples *few = rb_stage_samples_create(o->search->scenario, SAMPLES, SAMPLES);
    const bool ok = sample(o, few, err) && find_plan(o, err);
    if (ok && !isinf(o->to_beat))
        drop_dear(o, ROOM);
    forget(o);
    rb_stage_samples_destroy(few);
    return ok;
}

void rb_glance_again(struct rb_options *o)
{
    if (!isinf(o->to_beat))
        drop_dear(o, ROOM_2);
}
