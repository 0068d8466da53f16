#include "planner/questions/sweep.h"

#include "planner/questions/deadlines.h"
#include "planner/request/time_share.h"
#include "planner/scores/estimator.h"

#include <math.h>

#define TYPICAL     20   // deadlines that share a time limit
#define RANGE_UNTIL 0.2  // share of a time limit for both ends of the range
#define N_HINTS     2    // hints: of a tighter deadline, and of another planner
#define WORTH       0.02 // of a plan's cost, about the error of a point's runs: no planner searches again for less

// The request of the search at one deadline.
struct question {
    struct rb_plan_request req;
    struct rb_time_share share;
    struct rb_candidate hints[N_HINTS];
};

// until: of the time limit.
static void begin(struct rb_sweep *sweep, int64_t deadline_us, double until, struct question *q)
{
    q->req = *sweep->req;
    rb_time_share_begin(&q->share, sweep->req, until, &q->req);
    q->req.deadline_us = deadline_us;
    q->req.objective = RB_OBJECTIVE_MIN_COST;
    q->req.hints = q->hints;
    q->req.n_hints = 0;
    rb_search_ask_again(&sweep->search, &q->req);
}

// The question does not outlive its function, and the search does. Between two questions the whole time limit counts.
static bool end(struct rb_sweep *sweep, bool ok)
{
    rb_search_ask_again(&sweep->search, sweep->req);
    return ok;
}

bool rb_sweep_ask_cheapest(struct rb_sweep *sweep, struct rb_err *err)
{
    struct question q;
    const struct rb_plan_result *result;
    begin(sweep, -1, RANGE_UNTIL / 2, &q);
    const bool ok = rb_search_plan(&sweep->search, &rb_planner_optimal, &result, err);
    if (ok)
        sweep->cheapest = *result;
    return end(sweep, ok);
}

// The fastest plan, found with a deadline of 0. It is not a point.
bool rb_sweep_ask_soonest(struct rb_sweep *sweep, int64_t *out_nearest_us, struct rb_err *err)
{
    struct question q;
    const struct rb_plan_result *soonest;
    begin(sweep, 0, RANGE_UNTIL, &q);
    const bool ok = rb_search_plan(&sweep->search, &rb_planner_optimal, &soonest, err);
    if (ok) {
        sweep->soonest = soonest->best;
        *out_nearest_us = soonest->nearest_deadline_us;
    }
    return end(sweep, ok);
}

static bool estimate(struct rb_search *search, struct rb_candidate *candidate, struct rb_err *err)
{
    if (candidate->estimate.samples == search->req->samples)
        return true;
    return rb_estimate_candidate(search, candidate, NULL, err);
}

// On as many runs as a plan that is shown alone.
static bool estimate_well(struct rb_search *search, struct rb_candidate *candidate, struct rb_err *err)
{
    struct rb_plan_stage stages[RB_LIMIT_STAGES];
    struct rb_plan_nodes nodes[RB_LIMIT_STAGES];
    rb_candidate_stages(search->scenario, candidate, stages, nodes);
    return rb_estimate_candidate(search, candidate, stages, err);
}

// True if the best plan of a looser deadline keeps this one, whatever the error of its probability. It is then optimal
// here as well, since a tighter deadline only removes plans. It is proved if the looser one is. Greedy is a local
// search and may end elsewhere.
static bool carry_over(struct rb_search *search, const struct rb_planner *planner, const struct rb_plan_result *looser,
                       struct rb_plan_result *out, bool *out_carried, struct rb_err *err)
{
    *out_carried = false;
    if (planner == &rb_planner_greedy || looser->cut)
        return true;
    struct rb_plan_result result = *looser;
    if (looser->feasible && !search->scorer->score_again(search, &result.best, err))
        return false;
    const struct rb_estimate *e = &result.best.estimate;
    *out_carried = !looser->feasible || e->p_both - rb_search_p_off(e) >= search->req->confidence;
    if (*out_carried)
        *out = result;
    return true;
}

// A search that was cut may miss its neighbour's plan; a plan that keeps the tighter deadline keeps this one, too.
static bool keep_neighbour(struct rb_search *search, const struct rb_plan_result *tighter,
                           struct rb_plan_result *result, struct rb_err *err)
{
    if (!tighter || !tighter->feasible)
        return true;
    struct rb_candidate neighbour = tighter->best;
    if (result->feasible && result->best.estimate.cost_uusd.mean <= neighbour.estimate.cost_uusd.mean)
        return true;
    const bool well = neighbour.estimate.samples > search->req->samples; // as there: other runs have another mean cost
    if (!(well ? estimate_well(search, &neighbour, err) : rb_estimate_candidate(search, &neighbour, NULL, err)))
        return false;
    if (rb_search_feasible(search, &neighbour.estimate)) {
        result->feasible = true;
        result->best = neighbour;
    }
    return true;
}

// True if a planner may find a plan between two deadlines that is worth a search.
static bool falls_between(const struct rb_plan_result *tighter, const struct rb_plan_result *looser)
{
    const double most = (double)tighter->best.estimate.cost_uusd.mean,
                 least = (double)looser->best.estimate.cost_uusd.mean;
    return !tighter->feasible || !looser->feasible || most - least > WORTH * least;
}

// If not: the looser deadline's plan if it keeps this one by its estimate, else the tighter deadline's.
static bool stay_between(struct rb_search *search, const struct rb_plan_result *tighter,
                         const struct rb_plan_result *looser, struct rb_plan_result *out, bool *out_stays,
                         struct rb_err *err)
{
    *out_stays = !falls_between(tighter, looser);
    if (!*out_stays)
        return true;
    *out = *looser;
    if (!search->scorer->score_again(search, &out->best, err))
        return false;
    if (rb_search_feasible(search, &out->best.estimate))
        return true;
    *out = *tighter;
    return search->scorer->score_again(search, &out->best, err);
}

// A point rests on few runs. If these show less than the confidence, more runs decide.
static bool hold_to_it(struct rb_search *search, struct rb_plan_result *io, struct rb_err *err)
{
    if (!io->feasible || io->best.estimate.p_both >= search->req->confidence)
        return true;
    if (!estimate_well(search, &io->best, err))
        return false;
    io->feasible = io->best.estimate.p_both >= search->req->confidence;
    return true;
}

// tighter, looser: its answers at neighbouring deadlines; NULL: there are none.
static bool ask_planner(struct rb_sweep *sweep, const struct rb_planner *planner, bool is_landmark,
                        const struct rb_plan_result *tighter, const struct rb_plan_result *looser,
                        struct rb_plan_result *out, struct rb_err *err)
{
    struct rb_search *search = &sweep->search;
    const struct rb_plan_result *found;
    bool known = false;
    if (looser && !carry_over(search, planner, looser, out, &known, err))
        return false;
    if (!known && looser && tighter && !is_landmark && !stay_between(search, tighter, looser, out, &known, err))
        return false;
    if (known) {
        rb_search_know(search, planner, out);
        return hold_to_it(search, out, err);
    }
    if (!rb_search_plan(search, planner, &found, err))
        return false;
    *out = *found;
    if ((out->feasible && !estimate(search, &out->best, err)) || !hold_to_it(search, out, err))
        return false;
    return planner != &rb_planner_optimal || keep_neighbour(search, tighter, out, err);
}

static struct rb_plan_result *optimal_of(struct rb_sweep_answers *a)
{
    return &a->of[rb_search_index_of(&rb_planner_optimal)];
}

const struct rb_plan_result *rb_sweep_optimal(const struct rb_sweep_answers *a)
{
    return &a->of[rb_search_index_of(&rb_planner_optimal)];
}

// Known plans: one that keeps a tighter deadline, and the best of the other planners, else the soonest.
static void give_hints(const struct rb_sweep *sweep, const struct rb_sweep_answers *here,
                       const struct rb_plan_result *left, struct question *q)
{
    const struct rb_candidate *best = NULL;
    for (int p = 0; rb_planners[p]; p++) {
        const struct rb_plan_result *r = &here->of[p];
        if (r->feasible && (!best || rb_candidate_compare(&r->best, best, RB_OBJECTIVE_MIN_COST) < 0))
            best = &r->best;
    }
    if (left && left->feasible)
        q->hints[q->req.n_hints++] = left->best;
    else if (!best && sweep->soonest.n_stages > 0)
        best = &sweep->soonest;
    if (best)
        q->hints[q->req.n_hints++] = *best;
}

// Without proofs, another planner may have found a cheaper plan than the one that was carried over.
static void take_cheapest(struct rb_sweep_answers *here)
{
    struct rb_plan_result *optimal = optimal_of(here);
    for (int p = 0; rb_planners[p]; p++) {
        const struct rb_plan_result *other = &here->of[p];
        if (other->feasible &&
            (!optimal->feasible || rb_candidate_compare(&other->best, &optimal->best, RB_OBJECTIVE_MIN_COST) < 0)) {
            optimal->feasible = true;
            optimal->best = other->best;
        }
    }
}

// At the deadline of the question.
static bool ask_planners(struct rb_sweep *sweep, const struct rb_sweep_answers *tighter,
                         const struct rb_sweep_answers *looser, struct rb_sweep_answers *here, struct question *q,
                         struct rb_err *err)
{
    const struct rb_plan_result *left = tighter ? rb_sweep_optimal(tighter) : NULL;
    for (int p = 0; rb_planners[p]; p++) { // only planners with a confidence: `mean` answers another question
        if (!rb_planners[p]->on_average && rb_planners[p] != &rb_planner_optimal &&
            !ask_planner(sweep, rb_planners[p], here->is_landmark, tighter ? &tighter->of[p] : NULL,
                         looser ? &looser->of[p] : NULL, &here->of[p], err))
            return false;
    }
    give_hints(sweep, here, left, q);
    return ask_planner(sweep, &rb_planner_optimal, here->is_landmark, left,
                       looser ? rb_sweep_optimal(looser) : &sweep->cheapest, optimal_of(here), err);
}

bool rb_sweep_ask_all(struct rb_sweep *sweep, const struct rb_sweep_answers *tighter,
                      const struct rb_sweep_answers *looser, struct rb_sweep_answers *here, struct rb_err *err)
{
    struct question q;
    const double until = RANGE_UNTIL + (1 - RANGE_UNTIL) * fmin(1, (double)++sweep->n_asked / TYPICAL);
    // Plans accepted by few runs at the tightest deadline are often late in more runs.
    sweep->search.place = tighter ? RB_SEARCH_FRONTIER_BETWEEN : RB_SEARCH_FRONTIER_END;
    begin(sweep, here->deadline_us, until, &q);
    if (!end(sweep, ask_planners(sweep, tighter, looser, here, &q, err)))
        return false;
    take_cheapest(here);
    return true;
}

bool rb_sweep_level(struct rb_sweep *sweep, struct rb_sweep_answers *answers, int n, struct rb_err *err)
{
    for (int i = 1; i < n; i++) {
        const struct rb_plan_result *tighter = rb_sweep_optimal(&answers[i - 1]);
        struct rb_plan_result *here = optimal_of(&answers[i]);
        struct question q;
        if (!tighter->feasible ||
            (here->feasible && here->best.estimate.cost_uusd.mean <= tighter->best.estimate.cost_uusd.mean))
            continue;
        begin(sweep, answers[i].deadline_us, 1, &q);
        if (!end(sweep, keep_neighbour(&sweep->search, tighter, here, err)))
            return false;
    }
    return true;
}
