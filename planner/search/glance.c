#include "planner/search/glance.h"

#include "planner/search/frontier.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROOM   0.7  // true cost or time of a choice, as a fraction of such a mean
#define ROOM_2 0.95 // the same for a table's mean
#define HULL   32   // plans on the hull of cost against time

// ---- lower bounds on the cost and time of a choice

// Of a choice, or the minimum over a stage's choices, each figure separately.
struct least {
    double objective;
    double time_us, cost_uusd; // means of the runs that may keep the limits: sums of these never exceed a limit that is
                               // kept
};

static double objective_of(const struct rb_options *o, const struct rb_stage_sample *s)
{
    return o->search->req->objective == RB_OBJECTIVE_MIN_COST ? s->cost_mean_uusd : s->time_mean_us;
}

static struct least least_of_both(struct least a, struct least b)
{
    return (struct least){fmin(a.objective, b.objective), fmin(a.time_us, b.time_us), fmin(a.cost_uusd, b.cost_uusd)};
}

static struct least least_of_sample(const struct rb_options *o, const struct rb_stage_sample *s)
{
    return (struct least){objective_of(o, s), s->time_low_us, s->cost_low_uusd};
}

// With all its nodes inherited or none, whichever is less.
static struct least least_of(const struct rb_options *o, int stage, const struct rb_option_entry *e)
{
    const struct least fresh = least_of_sample(o, e->by_kept[0]);
    return stage > 0 ? least_of_both(fresh, least_of_sample(o, e->by_kept[e->choice.nodes])) : fresh;
}

static struct least least_of_stage(const struct rb_options *o, int stage)
{
    struct least least = {INFINITY, INFINITY, INFINITY};
    for (int i = 0; i < o->stages[stage].n; i++)
        least = least_of_both(least, least_of(o, stage, &o->stages[stage].entries[i]));
    return least;
}

// Upper bound on one stage if every other takes its minimum; always at least the cheapest choice.
static struct least most_of_stage(const struct rb_options *o, int stage, const struct least *of, double room)
{
    const struct rb_plan_request *req = o->search->req;
    struct least most = {
        .objective = o->to_beat / room,
        .time_us = req->deadline_us < 0 ? INFINITY : (double)req->deadline_us / room,
        .cost_uusd = req->budget_uusd < 0 ? INFINITY : (double)req->budget_uusd / room,
    };
    for (int i = 0; i < o->n_stages; i++) {
        most.objective -= i == stage ? 0 : of[i].objective;
        most.time_us -= i == stage ? 0 : of[i].time_us;
        most.cost_uusd -= i == stage ? 0 : of[i].cost_uusd;
    }
    return most;
}

static bool is_within(const struct least *a, const struct least *most)
{
    return a->objective <= most->objective && a->time_us <= most->time_us && a->cost_uusd <= most->cost_uusd;
}

// Keeps choices of plans better than the known one. If these few runs leave nothing of a stage, they are ignored.
static void drop_beyond(struct rb_options *o, double room)
{
    struct least of[RB_LIMIT_STAGES];
    for (int stage = 0; stage < o->n_stages; stage++)
        of[stage] = least_of_stage(o, stage);
    for (int stage = 0; stage < o->n_stages; stage++) {
        struct rb_stage_options *list = &o->stages[stage];
        const struct least most = most_of_stage(o, stage, of, room);
        int n = 0;
        for (int i = 0; i < list->n; i++) {
            const struct least least = least_of(o, stage, &list->entries[i]);
            n += is_within(&least, &most);
        }
        if (n == 0)
            continue;
        n = 0;
        for (int i = 0; i < list->n; i++) {
            const struct least least = least_of(o, stage, &list->entries[i]);
            if (is_within(&least, &most))
                list->entries[n++] = list->entries[i];
            else
                free(list->entries[i].by_kept);
        }
        list->n = n;
    }
}

// ---- a plan to beat

// Samples only with all nodes inherited or none.
static bool sample(struct rb_options *o, struct rb_stage_samples *few, struct rb_err *err)
{
    for (int stage = 0; stage < o->n_stages; stage++) {
        for (int i = 0; i < o->stages[stage].n; i++) {
            struct rb_option_entry *e = &o->stages[stage].entries[i];
            const int all = e->choice.nodes;
            if (rb_options_out_of_time(o, RB_GLANCE_SAMPLES))
                return false;
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

void rb_glance_limit(const struct rb_options *o, struct rb_stage_samples *samples, int n_deadlines)
{
    const struct rb_plan_request *req = o->search->req;
    if (!isinf(o->to_beat) && req->deadline_us >= 0)
        rb_stage_samples_limit(samples, req->deadline_us, rb_search_confidence(o->search),
                               req->deadline_us * n_deadlines);
}

bool rb_glance(struct rb_options *o, struct rb_err *err)
{
    o->to_beat = INFINITY;
    if (o->search->asked_again)
        return true;
    o->to_beat = rb_search_to_beat(o->search);
    struct rb_stage_samples *few = rb_stage_samples_create(
        o->search, RB_GLANCE_SAMPLES,
        o->search->on_average ? RB_GLANCE_SAMPLES : rb_need_count(rb_search_confidence(o->search), RB_GLANCE_SAMPLES));
    rb_glance_limit(o, few, 1);
    const bool ok = sample(o, few, err) && find_plan(o, err);
    if (ok && !isinf(o->to_beat))
        drop_beyond(o, ROOM);
    forget(o);
    rb_stage_samples_destroy(few);
    return ok;
}

void rb_glance_again(struct rb_options *o)
{
    if (!isinf(o->to_beat))
        drop_beyond(o, ROOM_2);
}
