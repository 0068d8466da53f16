#include "planner/pareto.h"

#include "planner/endless.h"
#include "planner/estimator.h"
#include "planner/exact.h"
#include "planner/sharing.h"
#include "planner/time_share.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NARROW        0.1 // of the range, as ratios go: a stretch between two deadlines that is no longer is not split ...
#define FLAT          0.05 // ... nor one over which the least cost falls by no more: what is between costs something between
#define FLAT_BY_RUNS  0.15 // ... where plans are told by runs, and every deadline costs a search
#define ROOM          0.01 // at both ends of it, so that what estimates do not know decides nothing there
#define MAX_DEADLINES 32   // but for landmarks
#define MAX_LANDMARKS 3    // the deadline asked for, and one step to either side
#define TYPICAL       20   // deadlines that a time limit is shared by
#define RANGE_UNTIL   0.2  // of a time limit: both ends of the range
#define MAX_PLANNERS  8
#define N_HINTS       2    // of a tighter deadline, and of another planner
#define RUNS_PART     8    // of the runs that one plan is told by tell a point where runs compare plans,
#define POINT_FEWEST  256  // and not fewer
#define COST_PART     4    // of the draws that tell the quantiles of a plan's cost, where laws tell the rest
#define WORTH         0.02 // of a plan's cost, about what runs of a point err by: for less no planner searches again

// What every planner has found at one deadline.
struct answers {
    int64_t deadline_us;
    struct rb_plan_result of[MAX_PLANNERS]; // in the order of rb_planners
};

// What deadlines of one frontier share.
struct sweep {
    const struct rb_plan_request *req;
    struct rb_search search;        // asked for one deadline after the other
    struct rb_plan_result cheapest; // of all plans, however long it takes
    struct rb_candidate soonest;    // of what was asked for no time at all: where the frontier begins; n_stages 0: none
    double range;                   // logarithm of the loosest deadline over the tightest
    int64_t landmarks_us[MAX_LANDMARKS]; // [n_landmarks], points whatever is found around them
    int n_landmarks;
    struct answers *answers; // [n], in the order they were asked for, then by deadline
    int n;
};

// What the search is asked at one deadline.
struct question {
    struct rb_plan_request req;
    struct rb_time_share share;
    struct rb_candidate hints[N_HINTS];
};

// --- one deadline

// `until`: of the time limit.
static bool begin(struct sweep *sweep, int64_t deadline_us, double until, struct question *q, struct rb_err *err)
{
    q->req = *sweep->req;
    rb_time_share_begin(&q->share, sweep->req, until, &q->req);
    q->req.deadline_us = deadline_us;
    q->req.objective = RB_OBJECTIVE_MIN_COST;
    q->req.hints = q->hints;
    q->req.n_hints = 0;
    return rb_search_ask_again(&sweep->search, &q->req, err);
}

static bool ask_cheapest(struct sweep *sweep, struct rb_plan_result *out, struct rb_err *err)
{
    struct question q;
    const struct rb_plan_result *result;
    if (!begin(sweep, -1, RANGE_UNTIL / 2, &q, err) ||
        !rb_search_plan(&sweep->search, &rb_planner_optimal, &result, err))
        return false;
    *out = *result;
    return true;
}

// What is asked for no time at all. It is not a point: by laws, nobody reads its quantiles and bills.
static bool ask_soonest(struct sweep *sweep, double accuracy, struct rb_plan_result *out, struct rb_err *err)
{
    struct question q;
    const struct rb_plan_result *result;
    struct rb_exact_options opt = rb_exact_defaults();
    opt.told_accuracy = accuracy;
    if (!begin(sweep, 0, RANGE_UNTIL, &q, err))
        return false;
    if (sweep->search.by_laws)
        return rb_exact_plan(&sweep->search, &opt, out, err);
    if (!rb_search_plan(&sweep->search, &rb_planner_optimal, &result, err))
        return false;
    *out = *result;
    return true;
}

// What was found by laws is told with its quantiles, and where the search scores by all replicates these are the estimate.
static bool estimate(struct rb_search *search, struct rb_candidate *candidate, struct rb_err *err)
{
    if (search->by_laws || candidate->estimate.samples == search->req->samples)
        return true;
    return rb_estimate_candidate(search, candidate, NULL, err);
}

// Of a plan found for another deadline: runs are kept, and only counted anew.
static bool estimate_anew(struct rb_search *search, struct rb_candidate *candidate, struct rb_err *err)
{
    return search->by_laws || search->asynchronous ? rb_estimate_candidate(search, candidate, NULL, err)
                                                   : rb_search_score(search, candidate, search->req->samples, err);
}

// Does the best plan of a looser deadline keep this one, whatever the errors of its probability hide? Greedy climbs, and may
// arrive elsewhere; the others' best is the best of a set of plans that shrinks with the deadline, and so it still is: proved
// where laws prove it, and as far as was searched where nothing is proved of either deadline.
static bool carry_over(struct rb_search *search, const struct rb_planner *planner, const struct rb_plan_result *looser,
                       struct rb_plan_result *out, bool *out_carried, struct rb_err *err)
{
    *out_carried = false;
    if (planner == &rb_planner_greedy || looser->cut ||
        (planner == &rb_planner_optimal && search->by_laws && !looser->bound.proved))
        return true;
    struct rb_plan_result result = *looser;
    if (looser->feasible && !estimate_anew(search, &result.best, err))
        return false;
    const struct rb_estimate *e = &result.best.estimate;
    *out_carried = !looser->feasible || e->p_both - rb_search_p_off(e) >= search->req->confidence;
    if (*out_carried)
        *out = result;
    return true;
}

// A search that was cut may miss what its neighbour found, and whatever keeps the tighter deadline keeps this one.
static bool keep_neighbour(struct rb_search *search, const struct rb_plan_result *tighter,
                           struct rb_plan_result *result, struct rb_err *err)
{
    if (!tighter || !tighter->feasible)
        return true;
    struct rb_candidate neighbour = tighter->best;
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

// What the marginal is told from is always searched for.
static bool is_landmark(const struct sweep *sweep, int64_t deadline_us)
{
    for (int i = 0; i < sweep->n_landmarks; i++) {
        if (sweep->landmarks_us[i] == deadline_us)
            return true;
    }
    return false;
}

// May a planner find anything between two deadlines that is worth a search?
static bool falls_between(const struct rb_plan_result *tighter, const struct rb_plan_result *looser)
{
    const double most = (double)tighter->best.estimate.cost_uusd.mean,
                 least = (double)looser->best.estimate.cost_uusd.mean;
    return !tighter->feasible || !looser->feasible || most - least > WORTH * least;
}

// Where it may not, and plans are told by runs: the looser one's plan if it keeps this deadline as told, else the tighter one's.
static bool stay_between(struct rb_search *search, const struct rb_plan_result *tighter,
                         const struct rb_plan_result *looser, struct rb_plan_result *out, bool *out_stays,
                         struct rb_err *err)
{
    *out_stays = !search->by_laws && !falls_between(tighter, looser);
    if (!*out_stays)
        return true;
    *out = *looser;
    if (!estimate_anew(search, &out->best, err))
        return false;
    if (rb_search_feasible(search, &out->best.estimate))
        return true;
    *out = *tighter;
    return estimate_anew(search, &out->best, err);
}

// tighter, looser: its answers at neighbouring deadlines; NULL: there are none.
static bool ask_planner(struct sweep *sweep, const struct rb_planner *planner, const struct rb_plan_result *tighter,
                        const struct rb_plan_result *looser, struct rb_plan_result *out, struct rb_err *err)
{
    struct rb_search *search = &sweep->search;
    const struct rb_plan_result *found;
    bool known = false;
    if (looser && !carry_over(search, planner, looser, out, &known, err))
        return false;
    if (!known && looser && tighter && !is_landmark(sweep, search->req->deadline_us) &&
        !stay_between(search, tighter, looser, out, &known, err))
        return false;
    if (known) {
        rb_search_know(search, planner, out);
        return true;
    }
    if (!rb_search_plan(search, planner, &found, err))
        return false;
    *out = *found;
    if (out->feasible && !estimate(search, &out->best, err))
        return false;
    return planner != &rb_planner_optimal || keep_neighbour(search, tighter, out, err);
}

static struct rb_plan_result *optimal_of(struct answers *a)
{
    return a ? &a->of[rb_search_index_of(&rb_planner_optimal)] : NULL;
}

// Plans that are told already: what keeps a tighter deadline, and the best of the other planners, else the soonest.
static void give_hints(const struct sweep *sweep, const struct answers *here, struct answers *tighter,
                       struct question *q)
{
    const struct rb_plan_result *left = optimal_of(tighter);
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

// Where nothing is proved, another planner may have found a cheaper plan than the one that was carried over.
static void take_cheapest(const struct sweep *sweep, struct answers *here)
{
    struct rb_plan_result *optimal = optimal_of(here);
    for (int p = 0; rb_planners[p] && !sweep->search.by_laws; p++) {
        const struct rb_plan_result *other = &here->of[p];
        if (other->feasible &&
            (!optimal->feasible || rb_candidate_compare(&other->best, &optimal->best, RB_OBJECTIVE_MIN_COST) < 0)) {
            optimal->feasible = true;
            optimal->best = other->best;
        }
    }
}

// All planners at one deadline, between neighbours that are answered. NULL: there is none.
static bool ask_all(struct sweep *sweep, int64_t deadline_us, struct answers *tighter, struct answers *looser,
                    struct answers **out, struct rb_err *err)
{
    struct question q;
    struct answers *here = &sweep->answers[sweep->n++];
    const double until = RANGE_UNTIL + (1 - RANGE_UNTIL) * fmin(1, (double)sweep->n / TYPICAL);
    here->deadline_us = deadline_us;
    if (!begin(sweep, deadline_us, until, &q, err))
        return false;
    for (int p = 0; rb_planners[p]; p++) { // at one confidence: averages are another question
        if (!rb_planners[p]->on_average && rb_planners[p] != &rb_planner_optimal &&
            !ask_planner(sweep, rb_planners[p], tighter ? &tighter->of[p] : NULL, looser ? &looser->of[p] : NULL,
                         &here->of[p], err))
            return false;
    }
    give_hints(sweep, here, tighter, &q);
    *out = here;
    if (!ask_planner(sweep, &rb_planner_optimal, optimal_of(tighter), looser ? optimal_of(looser) : &sweep->cheapest,
                     optimal_of(here), err))
        return false;
    take_cheapest(sweep, here);
    return true;
}

// Between two deadlines the least cost is between their costs: where these are close, nothing is left to ask for.
static bool is_flat(const struct sweep *sweep, struct answers *tighter, struct answers *looser)
{
    const double flat = sweep->search.by_laws ? FLAT : FLAT_BY_RUNS;
    const struct rb_plan_result *dearer = optimal_of(tighter), *cheaper = optimal_of(looser);
    return dearer->feasible && cheaper->feasible &&
           (double)dearer->best.estimate.cost_uusd.mean <= (1 + flat) * (double)cheaper->best.estimate.cost_uusd.mean;
}

// The next deadline to ask for between two that are answered; -1: none.
static int64_t middle_us(const struct sweep *sweep, struct answers *tighter, struct answers *looser)
{
    const int64_t low_us = tighter->deadline_us, high_us = looser->deadline_us;
    const double width = log((double)high_us / (double)low_us);
    for (int i = 0; i < sweep->n_landmarks; i++) {
        if (sweep->landmarks_us[i] > low_us && sweep->landmarks_us[i] < high_us)
            return sweep->landmarks_us[i];
    }
    if (width <= NARROW * sweep->range || is_flat(sweep, tighter, looser) || sweep->n >= MAX_DEADLINES)
        return -1;
    const int64_t middle = rb_us_from_seconds(ceil((double)low_us / 1e6 * exp(width / 2)));
    return middle < high_us ? middle : -1;
}

// Splits a stretch: one of its ends gives a plan to start from, and the other one that may still be the best.
static bool ask_between(struct sweep *sweep, struct answers *tighter, struct answers *looser, struct rb_err *err)
{
    const int64_t deadline_us = middle_us(sweep, tighter, looser);
    struct answers *middle;
    return deadline_us < 0 || (ask_all(sweep, deadline_us, tighter, looser, &middle, err) &&
                               ask_between(sweep, tighter, middle, err) && ask_between(sweep, middle, looser, err));
}

static bool ask_everywhere(struct sweep *sweep, int64_t tight_us, int64_t loose_us, struct rb_err *err)
{
    struct answers *tightest, *loosest;
    sweep->range = log((double)loose_us / (double)tight_us);
    return ask_all(sweep, loose_us, NULL, NULL, &loosest, err) &&
           (tight_us == loose_us ||
            (ask_all(sweep, tight_us, NULL, loosest, &tightest, err) && ask_between(sweep, tightest, loosest, err)));
}

// Where nothing is proved a tighter deadline that was answered later may have found a cheaper plan.
static bool never_rises(struct sweep *sweep, struct rb_err *err)
{
    for (int i = 1; i < sweep->n; i++) {
        const struct rb_plan_result *tighter = optimal_of(&sweep->answers[i - 1]);
        struct rb_plan_result *here = optimal_of(&sweep->answers[i]);
        struct question q;
        if (!tighter->feasible ||
            (here->feasible && here->best.estimate.cost_uusd.mean <= tighter->best.estimate.cost_uusd.mean))
            continue;
        if (!begin(sweep, sweep->answers[i].deadline_us, 1, &q, err) ||
            !keep_neighbour(&sweep->search, tighter, here, err))
            return false;
    }
    return true;
}

// --- which deadlines

// A deadline that the plan keeps with the confidence, from the quantiles of its estimate.
static int64_t kept_deadline_us(const struct rb_estimate *e, double confidence)
{
    int64_t kept_us = confidence <= 0.95 ? e->time_us.p95 : e->time_us.p99;
    if (confidence > 0.99)
        kept_us += e->time_us.p99 - e->time_us.p95;
    return kept_us;
}

// Where no plan keeps the deadline asked for, or perhaps none, the tightest one that is kept is told or decides.
static bool find_soonest(struct sweep *sweep, struct rb_plan_result *out, struct rb_err *err)
{
    const int64_t asked_us = sweep->req->deadline_us;
    if (!ask_soonest(sweep, RB_SCORE_SEARCH_ACCURACY, out, err))
        return false;
    const bool matters = asked_us >= 0 && (double)asked_us < (1 + ROOM) * (double)out->nearest_deadline_us;
    return !matters || ask_soonest(sweep, RB_SCORE_ACCURACY, out, err);
}

// From the tightest deadline that any plan keeps to the one that the cheapest plan of all keeps.
static bool find_range(struct sweep *sweep, int64_t *out_tight_us, int64_t *out_loose_us, struct rb_err *err)
{
    struct rb_plan_result fastest;
    if (!ask_cheapest(sweep, &sweep->cheapest, err) || !find_soonest(sweep, &fastest, err))
        return false;
    if (!sweep->cheapest.feasible || fastest.nearest_deadline_us < 0)
        return rb_err_set(err, RB_E_NO_PLAN,
                          "no plan%s keeps the budget with probability %.3f, however long it may take",
                          sweep->search.asynchronous ? " that tries all configurations" : "", sweep->req->confidence);
    sweep->soonest = fastest.best;
    *out_tight_us = fastest.nearest_deadline_us;
    *out_loose_us = kept_deadline_us(&sweep->cheapest.best.estimate, sweep->req->confidence);
    return true;
}

// The deadline asked for and one step to either side.
static void list_landmarks(struct sweep *sweep, int64_t tight_us)
{
    const int64_t asked_us = sweep->req->deadline_us;
    if (asked_us < tight_us)
        return;
    const int64_t step_us = rb_marginal_step_us(asked_us);
    sweep->landmarks_us[sweep->n_landmarks++] = asked_us;
    sweep->landmarks_us[sweep->n_landmarks++] = asked_us + step_us;
    if (asked_us - step_us >= tight_us)
        sweep->landmarks_us[sweep->n_landmarks++] = asked_us - step_us;
}

static int64_t first_deadline_us(const struct sweep *sweep, int64_t tight_us)
{
    int64_t first = rb_us_from_seconds(ceil((1 + ROOM) * (double)tight_us / 1e6));
    for (int i = 0; i < sweep->n_landmarks; i++)
        first = sweep->landmarks_us[i] < first ? sweep->landmarks_us[i] : first;
    return first;
}

// The last landmark that the cheapest plan keeps, if any, has room enough.
static int64_t last_deadline_us(const struct sweep *sweep, int64_t first_us, int64_t loose_us)
{
    int64_t last = 0;
    for (int i = 0; i < sweep->n_landmarks; i++) {
        if (sweep->landmarks_us[i] >= loose_us && sweep->landmarks_us[i] > last)
            last = sweep->landmarks_us[i];
    }
    if (last == 0)
        last = rb_us_from_seconds(ceil((1 + ROOM) * (double)loose_us / 1e6));
    return last > first_us ? last : first_us;
}

static int by_deadline(const void *pa, const void *pb)
{
    const struct answers *a = pa, *b = pb;
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

static void list_points(const struct sweep *sweep, struct rb_pareto_point *points, struct rb_pareto *out)
{
    out->points = points;
    for (int i = 0; i < sweep->n; i++) {
        const struct rb_plan_result *optimal = optimal_of(&sweep->answers[i]);
        out->n_deadlines += optimal->feasible;
        out->n_proved += optimal->feasible && optimal->bound.present && optimal->bound.proved;
        out->cut |= optimal->cut;
        for (int p = 0; rb_planners[p]; p++) {
            const struct rb_plan_result *r = &sweep->answers[i].of[p];
            if (r->feasible)
                points[out->n_points++] = (struct rb_pareto_point){
                    .deadline_us = sweep->answers[i].deadline_us,
                    .planner = rb_planners[p]->name,
                    .estimate = r->best.estimate,
                    .proved = r->bound.present && r->bound.proved,
                };
        }
    }
}

static bool sweep_deadlines(struct sweep *sweep, struct rb_arena *arena, struct rb_pareto *out, struct rb_err *err)
{
    int64_t tight_us = 0, loose_us = 0;
    int n_planners = 0;
    while (rb_planners[n_planners])
        n_planners++;
    assert(n_planners <= MAX_PLANNERS);
    if (!find_range(sweep, &tight_us, &loose_us, err))
        return false;
    list_landmarks(sweep, tight_us);
    const int64_t first_us = first_deadline_us(sweep, tight_us), last_us = last_deadline_us(sweep, first_us, loose_us);
    sweep->answers = rb_arena_array(arena, MAX_DEADLINES + MAX_LANDMARKS, sizeof *sweep->answers);
    if (!ask_everywhere(sweep, first_us, last_us, err))
        return false;
    qsort(sweep->answers, (size_t)sweep->n, sizeof *sweep->answers, by_deadline);
    if (!never_rises(sweep, err))
        return false;
    struct rb_pareto pareto = {.confidence = sweep->req->confidence, .tightest_us = tight_us};
    list_points(sweep, rb_arena_array(arena, (size_t)sweep->n * (size_t)n_planners, sizeof *pareto.points), &pareto);
    pareto.marginal = find_marginal(&pareto, sweep->req->deadline_us);
    *out = pareto;
    return true;
}

// Points are many; how few runs they are told by, and what these err by, their estimates say. Where laws compare plans, runs settle
// only what late nodes spoil: with fewer of them a point would be another plan than its deadline's own, and proved less often.
static int point_samples(const struct rb_search *search, int samples)
{
    const int part = samples / RUNS_PART;
    return search->by_laws || samples <= POINT_FEWEST ? samples : part < POINT_FEWEST ? POINT_FEWEST : part;
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
    timed.samples = rb_planner_samples(req, &scenario);
    timed.samples_asked = req->samples;
    const bool keep_draws = timed.samples == req->samples;
    struct rb_sharing sharing = {NULL, NULL};
    struct sweep sweep = {.req = &timed};
    bool ok = rb_sharing_begin(&sharing, &timed, err) && rb_search_init(&sweep.search, &timed, &scenario, err);
    if (ok) {
        timed.samples = point_samples(&sweep.search, timed.samples);
        if (keep_draws)
            rb_search_keep_draws(&scenario, &timed);
        sweep.search.told_part = COST_PART;
        sweep.search.whole_job = true;
        sweep.search.asked_again = true;
        ok = rb_endless_check(&sweep.search, err) && sweep_deadlines(&sweep, arena, out, err);
        rb_search_finish(&sweep.search);
    }
    rb_sharing_end(&sharing);
    rb_scenario_finish(&scenario);
    return ok;
}
