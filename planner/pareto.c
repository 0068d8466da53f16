#include "planner/pareto.h"

#include "planner/estimator.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SPREAD        17 // deadlines spread over the range
#define MAX_DEADLINES (SPREAD + 3)

// What deadlines of one frontier share, and what the one before left for the next.
struct sweep {
    const struct rb_plan_request *req;
    const struct rb_scenario *scenario;
    struct rb_candidate hints[2]; // the cheapest plan of all, and the plan of the deadline before
    int n_hints;
    struct rb_pareto_point *points;
    struct rb_pareto pareto; // what is counted on the way
};

// --- one deadline

static bool search_at(const struct sweep *sweep, int64_t deadline_us, struct rb_plan_request *req,
                      struct rb_search *search, struct rb_err *err)
{
    *req = *sweep->req;
    req->deadline_us = deadline_us;
    req->objective = RB_OBJECTIVE_MIN_COST;
    req->hints = sweep->hints;
    req->n_hints = sweep->n_hints;
    return rb_search_init(search, req, sweep->scenario, err);
}

static bool ask_optimal(const struct sweep *sweep, int64_t deadline_us, struct rb_plan_result *out, struct rb_err *err)
{
    struct rb_plan_request req;
    struct rb_search search;
    const struct rb_plan_result *result;
    if (!search_at(sweep, deadline_us, &req, &search, err))
        return false;
    bool ok = rb_search_plan(&search, &rb_planner_optimal, &result, err);
    if (ok)
        *out = *result;
    rb_search_finish(&search);
    return ok;
}

// Where the search scores by all replicates, what it says of its best is the estimate already.
static bool estimate(struct rb_search *search, struct rb_candidate *candidate, struct rb_err *err)
{
    if (!search->by_laws && candidate->estimate.samples == search->req->samples)
        return true;
    return rb_estimate_candidate(search, candidate, NULL, err);
}

// A search that was cut may miss what its neighbour found, and whatever keeps the tighter deadline keeps this one.
static bool keep_neighbour(struct sweep *sweep, struct rb_search *search, struct rb_plan_result *result,
                           struct rb_err *err)
{
    if (sweep->n_hints < 2)
        return true;
    struct rb_candidate neighbour = sweep->hints[1];
    if (result->feasible && result->best.estimate.cost_uusd.mean <= neighbour.estimate.cost_uusd.mean)
        return true;
    if (!rb_estimate_candidate(search, &neighbour, NULL, err))
        return false;
    if (rb_search_feasible(search, &neighbour.estimate)) {
        result->feasible = true;
        result->best = neighbour;
    }
    return true;
}

static void note_optimal(struct sweep *sweep, const struct rb_plan_result *result)
{
    sweep->hints[1] = result->best;
    sweep->n_hints = 2;
    sweep->pareto.n_deadlines++;
    sweep->pareto.n_proved += result->bound.present && result->bound.proved;
    sweep->pareto.cut |= result->cut;
}

static bool ask_planner(struct sweep *sweep, struct rb_search *search, const struct rb_planner *planner,
                        struct rb_err *err)
{
    const struct rb_plan_result *found;
    if (!rb_search_plan(search, planner, &found, err))
        return false;
    struct rb_plan_result result = *found;
    if (result.feasible && !estimate(search, &result.best, err))
        return false;
    bool optimal = planner == &rb_planner_optimal;
    if (optimal && !keep_neighbour(sweep, search, &result, err))
        return false;
    if (!result.feasible)
        return true;
    if (optimal)
        note_optimal(sweep, &result);
    sweep->points[sweep->pareto.n_points++] = (struct rb_pareto_point){
        .deadline_us = search->req->deadline_us, .planner = planner->name, .estimate = result.best.estimate};
    return true;
}

static bool ask_all(struct sweep *sweep, int64_t deadline_us, struct rb_err *err)
{
    struct rb_plan_request req;
    struct rb_search search;
    if (!search_at(sweep, deadline_us, &req, &search, err))
        return false;
    bool ok = true;
    for (int p = 0; ok && rb_planners[p]; p++) // at one confidence: averages are another question
        ok = rb_planners[p]->on_average || ask_planner(sweep, &search, rb_planners[p], err);
    rb_search_finish(&search);
    return ok;
}

// --- which deadlines

// A deadline that the plan keeps with the confidence, from the quantiles of its estimate; a little above, so that what the
// estimate does not know decides nothing.
static int64_t kept_deadline_us(const struct rb_estimate *e, double confidence)
{
    int64_t kept_us = confidence <= 0.95 ? e->time_us.p95 : e->time_us.p99;
    if (confidence > 0.99)
        kept_us += e->time_us.p99 - e->time_us.p95;
    return kept_us + kept_us / 100;
}

// From the tightest deadline that any plan keeps to the one that the cheapest plan of all keeps.
static bool find_range(struct sweep *sweep, int64_t *out_tight_us, int64_t *out_loose_us, struct rb_err *err)
{
    struct rb_plan_result cheapest, fastest;
    if (!ask_optimal(sweep, -1, &cheapest, err))
        return false;
    if (cheapest.feasible) {
        sweep->hints[0] = cheapest.best;
        sweep->n_hints = 1;
    }
    if (!ask_optimal(sweep, 0, &fastest, err))
        return false;
    if (!cheapest.feasible || fastest.nearest_deadline_us < 0)
        return rb_err_set(err, RB_ERR_INFEASIBLE,
                          "no plan keeps the budget with probability %.3f, however long it may take",
                          sweep->req->confidence);
    *out_tight_us = fastest.nearest_deadline_us;
    *out_loose_us = kept_deadline_us(&cheapest.best.estimate, sweep->req->confidence);
    return true;
}

static int64_t step_of(int64_t deadline_us)
{
    static const int64_t steps_s[] = {86400, 43200, 21600, 7200, 3600, 1800, 600, 300, 60, 30, 10, 5, 1};
    size_t i = 0, last = sizeof steps_s / sizeof steps_s[0] - 1;
    while (i < last && steps_s[i] * RB_US_PER_S > deadline_us / 10)
        i++;
    return steps_s[i] * RB_US_PER_S;
}

static int compare_int64(const void *pa, const void *pb)
{
    int64_t a = *(const int64_t *)pa, b = *(const int64_t *)pb;
    return (a > b) - (a < b);
}

// Spread by equal ratios; then the deadline asked for and one step to either side. Ascending, each once.
static int list_deadlines(const struct rb_plan_request *req, int64_t tight_us, int64_t loose_us,
                          int64_t out[static MAX_DEADLINES])
{
    double ratio = loose_us > tight_us ? (double)loose_us / (double)tight_us : 1;
    int n = 0, kept = 0;
    for (int i = 0; i < SPREAD; i++) {
        double seconds = (double)tight_us / 1e6 * pow(ratio, (double)i / (SPREAD - 1));
        out[n++] = rb_us_from_seconds(ceil(seconds));
    }
    if (req->deadline_us >= tight_us) {
        int64_t step_us = step_of(req->deadline_us);
        out[n++] = req->deadline_us;
        out[n++] = req->deadline_us + step_us;
        if (req->deadline_us - step_us >= tight_us)
            out[n++] = req->deadline_us - step_us;
    }
    qsort(out, (size_t)n, sizeof *out, compare_int64);
    for (int i = 0; i < n; i++) {
        if (kept == 0 || out[i] != out[kept - 1])
            out[kept++] = out[i];
    }
    return kept;
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

static struct rb_marginal find_marginal(const struct rb_pareto *pareto, int64_t deadline_us)
{
    const char *optimal = rb_planner_optimal.name;
    int64_t step_us = deadline_us >= 0 ? step_of(deadline_us) : 0;
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

int64_t rb_marginal_per_minute(const struct rb_marginal *marginal, int64_t change_uusd)
{
    return llround((double)change_uusd * 60 * (double)RB_US_PER_S / (double)marginal->step_us);
}

static bool sweep_deadlines(struct sweep *sweep, struct rb_arena *arena, struct rb_pareto *out, struct rb_err *err)
{
    int64_t tight_us = 0, loose_us = 0, deadlines_us[MAX_DEADLINES];
    if (!find_range(sweep, &tight_us, &loose_us, err))
        return false;
    int n = list_deadlines(sweep->req, tight_us, loose_us, deadlines_us), n_planners = 0;
    while (rb_planners[n_planners])
        n_planners++;
    sweep->points = rb_arena_array(arena, (size_t)n * (size_t)n_planners, sizeof *sweep->points);
    for (int i = 0; i < n; i++) {
        if (!ask_all(sweep, deadlines_us[i], err))
            return false;
    }
    struct rb_pareto pareto = sweep->pareto;
    pareto.confidence = sweep->req->confidence;
    pareto.tightest_us = tight_us;
    pareto.points = sweep->points;
    pareto.marginal = find_marginal(&pareto, sweep->req->deadline_us);
    *out = pareto;
    return true;
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
    rb_scenario_keep_noise(&scenario, req->samples);
    struct rb_plan_request timed = *req;
    if (!req->times)
        timed.times = rb_stage_times_create(RB_PILOT_SAMPLES);
    struct sweep sweep = {.req = &timed, .scenario = &scenario};
    bool ok = sweep_deadlines(&sweep, arena, out, err);
    if (!req->times)
        rb_stage_times_destroy(timed.times);
    rb_scenario_finish(&scenario);
    return ok;
}
