#include "planner/questions/pareto.h"

#include "planner/async/endless.h"
#include "planner/questions/deadlines.h"
#include "planner/questions/spot_frontier.h"
#include "planner/questions/sweep.h"
#include "planner/scores/sharing.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define RUNS_PART    8   // divides the runs of a single plan: a point rests on these,
#define POINT_FEWEST 256 // but on at least this many

struct frontier {
    struct rb_sweep sweep;
    struct rb_deadlines deadlines;
    struct rb_sweep_answers *answers; // [n], in the order they were asked for, then by deadline
    int n;
};

// --- points

// A deadline that the plan keeps with the confidence, from the quantiles of its estimate.
static int64_t kept_deadline_us(const struct rb_estimate *e, double confidence)
{
    int64_t kept_us = confidence <= 0.95 ? e->time_us.p95 : e->time_us.p99;
    if (confidence > 0.99)
        kept_us += e->time_us.p99 - e->time_us.p95;
    return kept_us;
}

// From the tightest feasible deadline to the one that the cheapest plan of all keeps.
static bool find_range(struct frontier *f, int64_t *out_tight_us, int64_t *out_loose_us, struct rb_err *err)
{
    struct rb_sweep *sweep = &f->sweep;
    int64_t tight_us;
    char asked[32];
    if (!rb_sweep_ask_cheapest(sweep, err) || !rb_sweep_ask_soonest(sweep, &tight_us, err))
        return false;
    if (!sweep->cheapest.feasible || tight_us < 0)
        return rb_err_set(err, RB_E_NO_PLAN, "no plan%s keeps the budget with probability %s, however long it may take",
                          sweep->search.scorer->whole, rb_format_probability(sweep->req->confidence, asked));
    *out_tight_us = tight_us;
    *out_loose_us = kept_deadline_us(&sweep->cheapest.best.estimate, sweep->req->confidence);
    return true;
}

static bool ask(struct frontier *f, int64_t deadline_us, const struct rb_sweep_answers *tighter,
                const struct rb_sweep_answers *looser, const struct rb_sweep_answers **out, struct rb_err *err)
{
    struct rb_sweep_answers *here = &f->answers[f->n++];
    here->deadline_us = deadline_us;
    here->is_landmark = rb_deadlines_is_landmark(&f->deadlines, deadline_us);
    *out = here;
    return rb_sweep_ask_all(&f->sweep, tighter, looser, here, err);
}

static struct rb_deadlines_end end_of(const struct rb_sweep_answers *a)
{
    const struct rb_plan_result *optimal = rb_sweep_optimal(a);
    return (struct rb_deadlines_end){a->deadline_us, optimal->feasible ? optimal->best.estimate.cost_uusd.mean : -1};
}

// Splits a stretch: one of its ends gives a plan to start from, and the other's plan may still be optimal.
static bool ask_between(struct frontier *f, const struct rb_sweep_answers *tighter,
                        const struct rb_sweep_answers *looser, struct rb_err *err)
{
    const struct rb_deadlines_end low = end_of(tighter), high = end_of(looser);
    const int64_t deadline_us = rb_deadlines_between(&f->deadlines, &low, &high, f->n);
    const struct rb_sweep_answers *middle;
    return deadline_us < 0 || (ask(f, deadline_us, tighter, looser, &middle, err) &&
                               ask_between(f, tighter, middle, err) && ask_between(f, middle, looser, err));
}

static bool ask_everywhere(struct frontier *f, struct rb_err *err)
{
    const struct rb_deadlines *d = &f->deadlines;
    const struct rb_sweep_answers *tightest, *loosest;
    return ask(f, d->last_us, NULL, NULL, &loosest, err) &&
           (d->first_us == d->last_us ||
            (ask(f, d->first_us, NULL, loosest, &tightest, err) && ask_between(f, tightest, loosest, err)));
}

static int by_deadline(const void *pa, const void *pb)
{
    const struct rb_sweep_answers *a = pa, *b = pb;
    return (a->deadline_us > b->deadline_us) - (a->deadline_us < b->deadline_us);
}

// --- the frontier

const struct rb_pareto_point *rb_pareto_at(const struct rb_pareto *pareto, int64_t deadline_us, const char *planner)
{
    for (int i = 0; i < pareto->n_points; i++) {
        const struct rb_pareto_point *p = &pareto->points[i];
        if (p->deadline_us == deadline_us && strcmp(p->planner, planner) == 0)
            return p;
    }
    return NULL;
}

const struct rb_estimate *rb_pareto_beside(const struct rb_pareto *pareto, int64_t deadline_us)
{
    for (int i = 0; i < pareto->n_beside; i++)
        if (pareto->beside[i].deadline_us == deadline_us)
            return &pareto->beside[i].estimate;
    return NULL;
}

const char *rb_pareto_beside_name(const struct rb_pareto *pareto)
{
    static const char *const names[] = {
        [RB_PARETO_WITH_SPOT] = "with spot", [RB_PARETO_WITHOUT_SPOT] = "without spot"};
    return names[pareto->spot];
}

static struct rb_marginal find_marginal(const struct rb_pareto *pareto, int64_t deadline_us)
{
    const char *optimal = rb_planner_optimal.name;
    int64_t step_us = deadline_us >= 0 ? rb_marginal_step_us(deadline_us) : 0;
    const struct rb_pareto_point *at = rb_pareto_at(pareto, deadline_us, optimal);
    const struct rb_pareto_point *more = rb_pareto_at(pareto, deadline_us + step_us, optimal);
    const struct rb_pareto_point *less = rb_pareto_at(pareto, deadline_us - step_us, optimal);
    if (deadline_us < 0 || !at || !more)
        return (struct rb_marginal){.exists = false};
    int64_t cost_uusd = at->estimate.cost_uusd.mean;
    return (struct rb_marginal){
        .exists = true,
        .deadline_us = deadline_us,
        .step_us = step_us,
        .more_uusd = more->estimate.cost_uusd.mean - cost_uusd,
        .has_less = less != NULL,
        .less_uusd = less ? less->estimate.cost_uusd.mean - cost_uusd : 0,
    };
}

static void list_points(const struct frontier *f, struct rb_pareto_point *points, struct rb_pareto *out)
{
    out->points = points;
    for (int i = 0; i < f->n; i++) {
        const struct rb_plan_result *optimal = rb_sweep_optimal(&f->answers[i]);
        out->n_deadlines += optimal->feasible;
        out->n_proved += optimal->feasible && optimal->bound.present && optimal->bound.proved;
        out->n_undecided += optimal->feasible && optimal->best.undecided;
        out->cut |= optimal->cut;
        for (int p = 0; rb_planners[p]; p++) {
            const struct rb_plan_result *r = &f->answers[i].of[p];
            if (r->feasible)
                points[out->n_points++] = (struct rb_pareto_point){
                    .deadline_us = f->answers[i].deadline_us,
                    .planner = rb_planners[p]->name,
                    .estimate = r->best.estimate,
                    .proved = r->bound.present && r->bound.proved,
                };
        }
    }
}

static bool find_points(struct frontier *f, struct rb_arena *arena, struct rb_pareto *out, struct rb_err *err)
{
    const struct rb_plan_request *req = f->sweep.req;
    int64_t tight_us = 0, loose_us = 0;
    int n_planners = 0;
    while (rb_planners[n_planners])
        n_planners++;
    assert(n_planners <= RB_SWEEP_PLANNERS);
    if (!find_range(f, &tight_us, &loose_us, err))
        return false;
    f->deadlines = rb_deadlines_of(req->deadline_us, tight_us, loose_us);
    f->answers = rb_arena_array(arena, RB_DEADLINES_MOST, sizeof *f->answers);
    if (!ask_everywhere(f, err))
        return false;
    qsort(f->answers, (size_t)f->n, sizeof *f->answers, by_deadline);
    if (!rb_sweep_level(&f->sweep, f->answers, f->n, err))
        return false;
    struct rb_pareto pareto = {.confidence = req->confidence, .tightest_us = tight_us};
    if (!rb_spot_frontier_find(&f->sweep, f->answers, f->n, arena, &pareto, err))
        return false;
    list_points(f, rb_arena_array(arena, (size_t)f->n * (size_t)n_planners, sizeof *pareto.points), &pareto);
    pareto.marginal = find_marginal(&pareto, req->deadline_us);
    *out = pareto;
    return true;
}

// There are many points, each on few runs; their estimates state the resulting errors.
static int point_samples(int samples)
{
    const int part = samples / RUNS_PART;
    return samples <= POINT_FEWEST ? samples : part < POINT_FEWEST ? POINT_FEWEST : part;
}

bool rb_pareto_find(const struct rb_plan_request *req, struct rb_arena *arena, struct rb_pareto *out,
                    struct rb_err *err)
{
    struct rb_scenario scenario;
    struct rb_offer *offers;
    int n_offers;
    if (!rb_planner_offers(req->job, req->catalog, arena, &offers, &n_offers, err) ||
        !rb_scenario_init(&scenario, req->job, req->profile, offers, n_offers, req->catalog, req->seed, err))
        return false;
    struct rb_plan_request timed = *req;
    struct rb_sharing sharing = {NULL, NULL};
    rb_sharing_begin(&sharing, &timed);
    rb_planner_size(&timed, &scenario);
    const bool keep_draws = timed.samples == req->samples;
    struct frontier frontier = {.sweep.req = &timed};
    struct rb_search *search = &frontier.sweep.search;
    bool ok = rb_search_init(search, &timed, &scenario, err);
    if (ok) {
        timed.samples = point_samples(timed.samples);
        if (keep_draws)
            rb_search_keep_draws(&scenario, &timed);
        search->place = RB_SEARCH_FRONTIER_END;
        search->asked_again = true;
        ok = rb_endless_check(search, err) && find_points(&frontier, arena, out, err);
        rb_search_finish(search);
    }
    rb_sharing_end(&sharing);
    rb_scenario_finish(&scenario);
    return ok;
}
