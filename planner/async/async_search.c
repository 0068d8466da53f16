#include "planner/async/async_admission.h"
#include "planner/async/async_neighbours.h"
#include "planner/async/async_prices.h"
#include "planner/questions/async_nearest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WORTH      1e-3 // of the objective: minimum gain of an exchange
#define FIRST_PART 8    // divides the number of reporting runs: the first look at them
#define LATE_SIGMA 2    // standard deviations above the mean that hardly any run exceeds
#define NEAR       1.3  // multiple of the best objective: other plans are sought only beside plans within it
#define HOPE       1.02 // likewise: exchanges start only from plans within it

// ---- what a candidate is compared by

// Uses common random numbers, so the difference between two neighbours is far less uncertain than either value.
struct look {
    double objective;
    double tried;  // mean number of configurations started; only for candidates that stop starting them
    double p;      // probability of keeping both constraints
    double surety; // log(limit / value that hardly any run exceeds): orders plans of which no run keeps the constraints
};

static double deviation(const int64_t *values, int n, double mean)
{
    double squares = 0;
    for (int i = 0; i < n; i++)
        squares += ((double)values[i] - mean) * ((double)values[i] - mean);
    return n > 1 ? sqrt(squares / (n - 1)) : 0;
}

static double surety_of(const int64_t *values, int n, int64_t mean, int64_t limit)
{
    if (limit < 0)
        return INFINITY;
    return log((1 + (double)limit) / (1 + (double)mean + LATE_SIGMA * deviation(values, n, (double)mean)));
}

static bool count_tried(const struct rb_search *search, const struct rb_candidate *candidate, int n, double *out,
                        struct rb_err *err)
{
    RB_AUTO(rb_auto_free) struct rb_world_result *runs = rb_xcalloc((size_t)n, sizeof *runs);
    double sum = 0;
    if (!rb_async_play(search, candidate, 0, n, runs, NULL, err))
        return false;
    for (int i = 0; i < n; i++)
        sum += runs[i].n_trained;
    *out = sum / n;
    return true;
}

static bool look_at(struct rb_search *search, const struct rb_candidate *candidate, int n, struct look *out,
                    struct rb_err *err)
{
    const struct rb_plan_request *req = search->req;
    const struct rb_runs *runs;
    double tried = 0;
    search->n_evaluated++;
    if (candidate->admit_until_us > 0 && !count_tried(search, candidate, n, &tried, err))
        return false;
    if (!rb_async_compared(search, candidate, n, &runs, err))
        return false;
    const struct rb_estimate e = rb_runs_estimate(runs, req->deadline_us, req->budget_uusd);
    *out = (struct look){
        .objective = rb_search_objective(search, &e),
        .tried = tried,
        .p = e.p_both,
        .surety = fmin(surety_of(runs->time_us, runs->n, e.time_us.mean, req->deadline_us),
                       surety_of(runs->cost_uusd, runs->n, e.cost_uusd.mean, req->budget_uusd)),
    };
    return true;
}

// ---- exchanges

struct walk {
    struct rb_search *search;
    double least_tried;
};

static bool keeps(const struct walk *w, const struct look *l)
{
    return l->p >= rb_search_confidence(w->search) && l->tried >= w->least_tried;
}

static bool is_better(const struct walk *w, const struct look *a, const struct look *b)
{
    const bool a_keeps = keeps(w, a), b_keeps = keeps(w, b);
    if (a_keeps != b_keeps)
        return a_keeps;
    if (!a_keeps)
        return a->surety > b->surety + WORTH;
    return a->objective < b->objective * (1 - WORTH);
}

// True if it could be better on more runs than these few.
static bool may_be_better(const struct walk *w, const struct look *few, const struct look *best_few, bool best_keeps)
{
    if (!best_keeps)
        return few->surety > best_few->surety;
    return few->objective < best_few->objective && rb_async_may_keep(w->search, few->p, rb_async_n_screened(w->search));
}

struct position {
    struct rb_candidate at;
    struct look few, look;
};

static bool stand_at(struct rb_search *search, const struct rb_candidate *c, struct position *out, struct rb_err *err)
{
    out->at = *c;
    return look_at(search, c, rb_async_n_screened(search), &out->few, err) &&
           look_at(search, c, rb_async_n_compared(search), &out->look, err);
}

// If the current plan keeps the constraints, a neighbour is dropped once it cannot do so at a lower objective.
static bool settle_step(const struct walk *w, const struct position *now, struct position *next, bool *out_stands,
                        struct rb_err *err)
{
    struct rb_search *search = w->search;
    const int all = rb_async_n_compared(search);
    for (int n = 2 * rb_async_n_screened(search); n < all && keeps(w, &now->look); n *= 2) {
        if (!rb_async_score(search, &next->at, n, err))
            return false;
        *out_stands = rb_search_may_stand(search, RB_RUN_WORLDS, &next->at, &now->at, all);
        if (!*out_stands)
            return true;
    }
    *out_stands = true;
    return look_at(search, &next->at, all, &next->look, err);
}

// The first better neighbour, cyclically from `start`. *out_found: its index, -1: none.
static bool step(const struct walk *w, const struct rb_async_neighbours *list, int start, const struct position *now,
                 struct position *out, int *out_found, struct rb_err *err)
{
    struct rb_search *search = w->search;
    *out_found = -1;
    for (int k = 0; k < list->n && rb_search_has_time_for(search, rb_async_n_compared(search)); k++) {
        const int i = (start + k) % list->n;
        struct position next = {.at = list->items[i]};
        if (!look_at(search, &next.at, rb_async_n_screened(search), &next.few, err))
            return false;
        if (!may_be_better(w, &next.few, &now->few, keeps(w, &now->look)))
            continue;
        bool stands;
        if (!settle_step(w, now, &next, &stands, err))
            return false;
        if (!stands || !is_better(w, &next.look, &now->look))
            continue;
        *out = next;
        *out_found = i;
        return true;
    }
    return true;
}

static void append(struct rb_candidate *path, int *n, const struct rb_candidate *c)
{
    if (*n == RB_ASYNC_PATH)
        memmove(path, path + 1, (size_t)-- * n * sizeof *path);
    path[(*n)++] = *c;
}

bool rb_async_exchange(struct rb_search *search, const struct rb_candidate *from, double least_tried,
                       struct rb_candidate *out_path, int *out_n, struct rb_err *err)
{
    const struct walk w = {search, least_tried};
    struct position now, next;
    int start = 0, found = 0;
    *out_n = 0;
    append(out_path, out_n, from);
    if (!rb_search_has_time_for(search, rb_async_n_compared(search)))
        return true;
    if (!stand_at(search, from, &now, err))
        return false;
    while (found >= 0 && !rb_search_out_of_time(search)) {
        struct rb_async_neighbours list = {.search = search, .from = &now.at};
        rb_async_list_neighbours(&list);
        const bool ok = list.n == 0 || step(&w, &list, start % list.n, &now, &next, &found, err);
        found = list.n == 0 ? -1 : found;
        free(list.items);
        if (!ok)
            return false;
        if (found < 0)
            break;
        start = found; // what helped once may help again
        now = next;
        append(out_path, out_n, &now.at);
    }
    return true;
}

// ---- the whole

struct best {
    bool exists;
    struct rb_candidate candidate; // estimated on unseen runs, by which it keeps the constraints
};

// Looks at more and more of the runs used for reporting. They may reject it early; otherwise its reported figures
// decide.
static bool estimate_or_refuse(struct rb_search *search, const struct rb_candidate *best, struct rb_candidate *io,
                               bool *out_keeps, struct rb_err *err)
{
    const int all = search->req->samples;
    *out_keeps = false;
    for (int n = all / FIRST_PART; n > 0 && n < all; n *= 2) {
        if (!rb_async_guess(search, io, n, err))
            return false;
        if (!rb_search_may_stand(search, RB_RUN_UNSEEN, io, best, all))
            return true;
    }
    if (!rb_async_estimate(search, io, NULL, err))
        return false;
    *out_keeps = io->estimate.p_both >= rb_search_confidence(search);
    return true;
}

static bool offer(struct rb_search *search, struct best *best, const struct rb_candidate *c, bool *out_better,
                  struct rb_err *err)
{
    struct rb_candidate offered = *c;
    bool keeps;
    *out_better = false;
    if (!estimate_or_refuse(search, best->exists ? &best->candidate : NULL, &offered, &keeps, err))
        return false;
    if (offered.estimate.p_both < rb_search_confidence(search)) {
        rb_search_explain(search, "optimal", &offered, "P=%.3f in runs that it was not chosen by",
                          offered.estimate.p_both);
        return true;
    }
    *out_better =
        keeps && (!best->exists || rb_candidate_compare(&offered, &best->candidate, search->req->objective) < 0);
    if (!*out_better)
        return true;
    if (best->exists)
        rb_search_explain_loss(search, "optimal", &best->candidate, &offered);
    *best = (struct best){true, offered};
    return true;
}

static bool offer_baselines(struct rb_search *search, struct best *best, struct rb_err *err)
{
    static const struct rb_planner *const baselines[] = {&rb_planner_static, &rb_planner_naive, &rb_planner_greedy};
    bool better;
    for (size_t i = 0; i < sizeof baselines / sizeof baselines[0]; i++) {
        const struct rb_plan_result *result;
        if (!rb_search_plan(search, baselines[i], &result, err) ||
            (result->feasible && !offer(search, best, &result->best, &better, err)))
            return false;
    }
    return true;
}

// Plans of neighbouring requests.
static bool offer_hints(struct rb_search *search, struct best *best, bool *out_better, struct rb_err *err)
{
    *out_better = false;
    for (int i = 0; i < search->req->n_hints; i++) {
        bool better = false;
        if (rb_async_fits(search, &search->req->hints[i]) && !offer(search, best, &search->req->hints[i], &better, err))
            return false;
        *out_better |= better;
    }
    return true;
}

// Proposes the last plan of the path that keeps the constraints in unseen runs.
static bool offer_path(struct rb_search *search, struct best *best, const struct rb_candidate *path, int n,
                       struct rb_err *err)
{
    bool better = false;
    for (int i = n - 1; i >= 0 && !better; i--) {
        if (best->exists && !rb_search_has_time_for(search, search->req->samples))
            break;
        struct look look; // no unseen runs are needed to reject it: the known ones already do
        if (!look_at(search, &path[i], rb_async_n_compared(search), &look, err))
            return false;
        if (rb_async_may_keep(search, look.p, rb_async_n_compared(search)) &&
            !offer(search, best, &path[i], &better, err))
            return false;
    }
    return true;
}

static int64_t nearer(int64_t a, int64_t b)
{
    return a < 0 || (b >= 0 && b < a) ? b : a;
}

// The needs of the path's end also count, and those for training only a part of the configurations.
static bool merge_nearest(struct rb_search *search, const struct rb_candidate *end, const struct rb_needs *part,
                          struct rb_plan_result *io, struct rb_err *err)
{
    struct rb_needs needs, both = *part;
    struct rb_plan_result own;
    if (!rb_async_needs(search, end, &needs, err))
        return false;
    rb_needs_merge(&both, &needs);
    rb_needs_round(&both, search->req, &own);
    io->nearest_deadline_us = nearer(io->nearest_deadline_us, own.nearest_deadline_us);
    io->nearest_budget_uusd = nearer(io->nearest_budget_uusd, own.nearest_budget_uusd);
    if (!isnan(own.nearest_confidence) && !(io->nearest_confidence >= own.nearest_confidence))
        io->nearest_confidence = own.nearest_confidence;
    if (needs.confidence > io->best.estimate.p_both)
        io->best = *end;
    return true;
}

// known: an exchange that ends no better, on the runs used to choose both, is not estimated. NULL: every one is
// estimated.
static bool exchange_from(struct rb_search *search, const struct rb_candidate *start, const struct look *known,
                          struct best *best, struct rb_candidate *out_end, struct rb_err *err)
{
    struct rb_candidate path[RB_ASYNC_PATH];
    struct look end;
    int n;
    if (!rb_async_exchange(search, start, 0, path, &n, err))
        return false;
    *out_end = path[n - 1];
    if (known && !look_at(search, out_end, rb_async_n_compared(search), &end, err))
        return false;
    return (known && end.objective >= known->objective) || offer_path(search, best, path, n, err);
}

// ---- plans that no small step leads to

// Exchanges from the plans beside `beside`, unless it is far from the best known.
static bool explore_beside(struct rb_search *search, const struct rb_candidate *beside, struct best *best,
                           struct rb_err *err)
{
    struct rb_candidate priced[RB_ASYNC_PRICED], end;
    struct position known;
    struct look look;
    int n;
    if (!rb_async_fits(search, beside))
        return true;
    if (!stand_at(search, &best->candidate, &known, err) ||
        !look_at(search, beside, rb_async_n_screened(search), &look, err))
        return false;
    if (look.objective > NEAR * known.few.objective)
        return true;
    if (!rb_async_priced(search, beside, priced, &n, err))
        return false;
    for (int i = 0; i < n; i++) {
        if (!look_at(search, &priced[i], rb_async_n_compared(search), &look, err))
            return false;
        if (look.objective <= HOPE * known.look.objective &&
            !exchange_from(search, &priced[i], &known.look, best, &end, err))
            return false;
    }
    return true;
}

// Searches beside the best fixed cluster of every offer, and beside the best plan so far moved to that offer.
static bool explore(struct rb_search *search, struct best *best, struct rb_err *err)
{
    for (int i = 0; i < search->scenario->n_offers && rb_search_has_time_for(search, search->req->samples); i++) {
        const struct rb_candidate *fixed;
        if (!rb_async_is_worth_owning(search, i))
            continue;
        if (!rb_static_best(search, i, &fixed, err) || (fixed && !explore_beside(search, fixed, best, err)))
            return false;
        const struct rb_candidate moved = rb_async_moved_to(search, &best->candidate, 0, i);
        if (!explore_beside(search, &moved, best, err))
            return false;
    }
    return true;
}

bool rb_async_plan(struct rb_search *search, struct rb_plan_result *out, struct rb_err *err)
{
    struct best best = {.exists = false};
    struct rb_plan_result infeasible;
    struct rb_needs part = rb_needs_none();
    struct rb_candidate end;
    bool hinted;
    if (!offer_baselines(search, &best, err) || !offer_hints(search, &best, &hinted, err))
        return false;
    const bool from_best = best.exists;
    if (!from_best && !rb_static_nearest(search, &infeasible, err))
        return false;
    const struct rb_candidate start = from_best ? best.candidate : infeasible.best;
    if (start.n_stages > 0 && !exchange_from(search, &start, NULL, &best, &end, err))
        return false;
    // A what-if's hint was explored before. At each deadline of a frontier few runs decide, so exploring again pays.
    if (from_best && (!hinted || search->place != RB_SEARCH_ALONE) && !explore(search, &best, err))
        return false;
    if (!best.exists && search->place == RB_SEARCH_ALONE && !rb_search_out_of_time(search) &&
        !rb_async_admission(search, &best.candidate, &best.exists, &part, err))
        return false;
    if (best.exists)
        *out = rb_search_found(search, &best.candidate);
    else if (start.n_stages > 0 && !merge_nearest(search, &end, &part, &infeasible, err))
        return false;
    else
        *out = infeasible;
    out->bound = (struct rb_plan_bound){.why_not = RB_ASYNC_WHY};
    return true;
}
