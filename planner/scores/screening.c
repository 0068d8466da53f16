// Selects the best of a list of candidates without scoring every one in full: a few first runs show which ones cannot
// win.
#include "planner/search/reckon.h"

#include <math.h>
#include <stdlib.h>

#define SCREEN_TIMES 4.0 // the runs of a screening must fit this often: the best candidates need many more
#define SCREEN_SIGMA 3.0 // for means: a candidate that is just good enough is dropped wrongly once in 700

// The part of a standard error of n runs that the remaining runs can compensate: all of them together decide.
static double still_open(int64_t n, int all)
{
    return sqrt(fmax(0, 1 - (double)n / all));
}

// A screened candidate that may still be feasible on all runs, and on more than these.
static bool may_be_feasible(const struct rb_search *search, const struct rb_estimate *screened, int all)
{
    if (search->on_average)
        return (double)screened->time_us.mean - SCREEN_SIGMA * (double)screened->stderr_.time_mean_us <=
               (search->req->deadline_us < 0 ? INFINITY : (double)search->req->deadline_us);
    const double c = rb_search_confidence(search), se = sqrt(c * (1 - c) / (double)screened->samples);
    return screened->p_both >= c - search->scorer->sigma_p * se * still_open(screened->samples, all);
}

static const int64_t *objectives(const struct rb_search *search, const struct rb_runs *runs)
{
    return search->req->objective == RB_OBJECTIVE_MIN_COST ? runs->cost_uusd : runs->time_us;
}

// Both plans drew the same numbers, so they are compared by their difference, run by run.
static bool may_be_better(const struct rb_search *search, enum rb_run_kind kind, const struct rb_candidate *candidate,
                          const struct rb_candidate *best, int all)
{
    const struct rb_runs *a = rb_run_store_longest(search->runs, kind, candidate);
    const struct rb_runs *b = rb_run_store_longest(search->runs, kind, best);
    if (!a || !b)
        return true;
    const int n = a->n < b->n ? a->n : b->n;
    const int64_t *x = objectives(search, a), *y = objectives(search, b);
    double mean = 0, squares = 0;
    for (int i = 0; i < n; i++)
        mean += (double)(x[i] - y[i]) / n;
    for (int i = 0; i < n; i++)
        squares += ((double)(x[i] - y[i]) - mean) * ((double)(x[i] - y[i]) - mean);
    return mean <= SCREEN_SIGMA * sqrt(squares / n / fmax(1, n - 1)) * still_open(n, all);
}

bool rb_search_may_stand(const struct rb_search *search, enum rb_run_kind kind, const struct rb_candidate *screened,
                         const struct rb_candidate *best, int all)
{
    return may_be_feasible(search, &screened->estimate, all) &&
           (!best || may_be_better(search, kind, screened, best, all));
}

bool rb_search_screen(struct rb_search *search, struct rb_candidate *candidate, struct rb_err *err)
{
    return rb_search_score(search, candidate, search->scorer->n_screened(search), err);
}

bool rb_search_settle(struct rb_search *search, struct rb_candidate *candidate, const struct rb_candidate *best,
                      bool *out_stands, struct rb_err *err)
{
    const struct rb_scorer *scorer = search->scorer;
    const int all = scorer->n_compared(search);
    *out_stands = false;
    for (int n = scorer->n_screened(search); n < all; n *= 2) {
        if (!rb_search_score(search, candidate, n, err))
            return false;
        if (!rb_search_may_stand(search, scorer->compared, candidate, best, all))
            return true;
    }
    if (!rb_search_score(search, candidate, search->req->samples, err))
        return false;
    if (best && rb_candidate_compare(candidate, best, search->req->objective) >= 0)
        return true;
    return scorer->decide(search, candidate, out_stands, err);
}

struct by_objective {
    double objective;
    int index;
};

static int compare_objectives(const void *pa, const void *pb)
{
    const struct by_objective *a = pa, *b = pb;
    if (a->objective < b->objective || a->objective > b->objective)
        return a->objective < b->objective ? -1 : 1;
    return a->index - b->index;
}

// In the order of mean times: candidates for which there is no time are not screened.
static void reckon(const struct rb_search *search, const struct rb_candidate *candidates, int n,
                   struct by_objective *order)
{
    RB_AUTO(rb_auto_free) int *indices = rb_xcalloc((size_t)n + 1, sizeof *indices);
    rb_reckon_order(search, candidates, n, indices);
    for (int i = 0; i < n; i++)
        order[i] = (struct by_objective){0, indices[i]};
}

static bool has_time_for_all(const struct rb_search *search, int n)
{
    const double n_runs = SCREEN_TIMES * n * search->scorer->n_screened(search);
    return search->req->time_limit_us <= 0 || (!search->scorer->barriers && rb_search_has_time_for(search, n_runs));
}

// Screens all candidates if there is time; order [n] is by the screened objective.
static bool screen(struct rb_search *search, struct rb_candidate *candidates, int n, struct by_objective *order,
                   struct rb_err *err)
{
    if (!has_time_for_all(search, n)) {
        reckon(search, candidates, n, order);
        return true;
    }
    for (int i = 0; i < n; i++) {
        if (!rb_search_screen(search, &candidates[i], err))
            return false;
        order[i] = (struct by_objective){rb_search_objective(search, &candidates[i].estimate), i};
    }
    qsort(order, (size_t)n, sizeof *order, compare_objectives);
    return true;
}

// True if a limited time is used up. If there is no plan yet, one candidate is always examined, and the first plan is
// taken.
static bool is_enough(const struct rb_search *search, int best, int n_looked_at)
{
    if (search->req->time_limit_us <= 0 || (search->any_plan && n_looked_at == 0))
        return false;
    return (search->any_plan && best >= 0) || !rb_search_has_time_for(search, search->scorer->n_screened(search));
}

bool rb_search_best_of(struct rb_search *search, const char *planner, struct rb_candidate *candidates, int n,
                       int *out_best, struct rb_err *err)
{
    RB_AUTO(rb_auto_free) struct by_objective *order = rb_xcalloc((size_t)n + 1, sizeof *order);
    if (!screen(search, candidates, n, order, err))
        return false;
    int best = -1, looked_at = 0;
    for (int i = 0; i < n && !is_enough(search, best, i); i++, looked_at++) {
        bool stands;
        if (!rb_search_settle(search, &candidates[order[i].index], best < 0 ? NULL : &candidates[best], &stands, err))
            return false;
        best = stands ? order[i].index : best;
    }
    for (int i = 0; i < looked_at && rb_search_explains(search); i++) {
        if (order[i].index != best)
            rb_search_explain_loss(search, planner, &candidates[order[i].index], best < 0 ? NULL : &candidates[best]);
    }
    *out_best = best;
    return true;
}
