// The best of a list of candidates without scoring every one in full: a lower bound of their cost, or a first few
// replicates, show which ones cannot win.
#include "planner/async_runs.h"
#include "planner/candidate_floor.h"

#include <math.h>
#include <stdlib.h>

#define SCREEN_SAMPLES 256 // a standard error of 1.4 % in P at 0.95: enough to drop most candidates
#define SCREEN_SIGMA   4.0 // a candidate dropped wrongly once in 30000
#define LAST_LOOKS     4   // when the time is up and nothing is found
// Runs of asynchronous jobs are dear and differ much by who is promoted, which shared runs have in common: differences between
// plans are far surer than either plan.
#define ASYNC_SIGMA_P    2.5
#define ASYNC_SIGMA_MEAN 0.5

static double objective_stderr(const struct rb_search *search, const struct rb_estimate *estimate)
{
    return (double)(search->req->objective == RB_OBJECTIVE_MIN_COST ? estimate->stderr_.cost_mean_uusd
                                                                    : estimate->stderr_.time_mean_us);
}

// A screened candidate that may yet be feasible on all replicates.
static bool may_be_feasible(const struct rb_search *search, const struct rb_estimate *screened)
{
    double c = search->req->confidence, se = sqrt(c * (1 - c) / (double)screened->samples);
    return screened->p_both >= c - (search->asynchronous ? ASYNC_SIGMA_P : SCREEN_SIGMA) * se;
}

// Both were screened on the same replicates, so their errors go together, and the sum of the two standard errors is a
// cautious measure of their difference.
static bool may_be_better(const struct rb_search *search, const struct rb_estimate *screened,
                          const struct rb_estimate *best_screened)
{
    const double sigma = search->asynchronous ? ASYNC_SIGMA_MEAN : SCREEN_SIGMA;
    double margin = sigma * (objective_stderr(search, screened) + objective_stderr(search, best_screened));
    return rb_search_objective(search, screened) <= rb_search_objective(search, best_screened) + margin;
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

bool rb_search_may_win(const struct rb_search *search, const struct rb_estimate *screened,
                       const struct rb_estimate *best_screened)
{
    if (search->by_laws)
        return rb_search_feasible(search, screened);
    return may_be_feasible(search, screened) && may_be_better(search, screened, best_screened);
}

bool rb_search_screen(struct rb_search *search, struct rb_candidate *candidate, struct rb_err *err)
{
    if (search->asynchronous)
        return rb_search_score(search, candidate, rb_async_n_screened(search), err);
    int samples = search->req->samples < 2 * SCREEN_SAMPLES ? search->req->samples : SCREEN_SAMPLES;
    return rb_search_score(search, candidate, samples, err);
}

// Screens all candidates; order [n] is by the screened objective.
static bool screen(struct rb_search *search, struct rb_candidate *candidates, int n, struct by_objective *order,
                   struct rb_err *err)
{
    for (int i = 0; i < n; i++) {
        if (!rb_search_screen(search, &candidates[i], err))
            return false;
        order[i] = (struct by_objective){rb_search_objective(search, &candidates[i].estimate), i};
    }
    qsort(order, (size_t)n, sizeof *order, compare_objectives);
    return true;
}

static void explain_bound(struct rb_search *search, const char *planner, const struct rb_candidate *c,
                          double bound_uusd, const struct rb_candidate *best)
{
    char text[32];
    int64_t more_uusd = (int64_t)bound_uusd - best->estimate.cost_uusd.mean;
    rb_search_explain(search, planner, c, "costs at least %s more", rb_format_money(more_uusd, text));
}

// What cannot be in time is not scored. Candidates are listed from few nodes to many: the last are in time, if any, and when
// the time is up no more than a few of these are looked at. *out_n are left, the cheapest first.
static bool sort_out(struct rb_search *search, const char *planner, const struct rb_candidate *candidates, int n,
                     struct by_objective *order, int *out_n, struct rb_err *err)
{
    int left = 0;
    for (int i = n - 1; i >= 0 && !(left >= LAST_LOOKS && rb_search_out_of_time(search)); i--) {
        struct rb_candidate_floor floor;
        if (!rb_candidate_floor(search, &candidates[i], false, &floor, err))
            return false;
        if (floor.may_be_in_time)
            order[left++] = (struct by_objective){floor.cost_uusd, i};
        else
            rb_search_explain(search, planner, &candidates[i], "infeasible: P < %g, by a bound",
                              search->req->confidence);
    }
    qsort(order, (size_t)left, sizeof *order, compare_objectives);
    *out_n = left;
    return true;
}

// The next to be scored: the cheapest; when the time is up and nothing is found the dearest, a few of them. -1: none.
static int next_of(const struct rb_search *search, int n_scored, int left, bool found, int *late_looks)
{
    if (n_scored == left)
        return -1;
    if (!rb_search_out_of_time(search))
        return n_scored;
    return found || *late_looks == LAST_LOOKS ? -1 : left - ++*late_looks;
}

// From laws a score is exact: in order of a lower bound of their cost, until the bound passes the best.
static bool best_by_laws(struct rb_search *search, const char *planner, struct rb_candidate *candidates, int n,
                         int *out_best, struct rb_err *err)
{
    RB_AUTO(rb_auto_free) struct by_objective *order = rb_xcalloc((size_t)n + 1, sizeof *order);
    int best = -1, left, late_looks = 0;
    if (!sort_out(search, planner, candidates, n, order, &left, err))
        return false;
    for (int scored = 0, i; (i = next_of(search, scored, left, best >= 0, &late_looks)) >= 0; scored++) {
        struct rb_candidate *c = &candidates[order[i].index];
        if (best >= 0 && order[i].objective > (double)candidates[best].estimate.cost_uusd.mean + 1) {
            explain_bound(search, planner, c, order[i].objective, &candidates[best]);
            continue;
        }
        if (!rb_search_score(search, c, search->req->samples, err))
            return false;
        bool wins = rb_search_feasible(search, &c->estimate) &&
                    (best < 0 || rb_candidate_compare(c, &candidates[best], search->req->objective) < 0);
        if (!wins)
            rb_search_explain_loss(search, planner, c, best < 0 ? NULL : &candidates[best]);
        else if (best >= 0)
            rb_search_explain_loss(search, planner, &candidates[best], c);
        best = wins ? order[i].index : best;
    }
    *out_best = best;
    return true;
}

bool rb_search_best_of(struct rb_search *search, const char *planner, struct rb_candidate *candidates, int n,
                       int *out_best, struct rb_err *err)
{
    if (search->by_laws)
        return best_by_laws(search, planner, candidates, n, out_best, err);
    RB_AUTO(rb_auto_free) struct by_objective *order = rb_xcalloc((size_t)n + 1, sizeof *order);
    if (!screen(search, candidates, n, order, err))
        return false;
    int best = -1;
    struct rb_estimate best_screened = {0};
    for (int i = 0; i < n; i++) {
        struct rb_candidate *c = &candidates[order[i].index];
        struct rb_estimate screened = c->estimate;
        if (!may_be_feasible(search, &screened) || (best >= 0 && !may_be_better(search, &screened, &best_screened)))
            continue;
        if (screened.samples < search->req->samples && !rb_search_score(search, c, search->req->samples, err))
            return false;
        if (!rb_search_feasible(search, &c->estimate))
            continue;
        if (best < 0 || rb_candidate_compare(c, &candidates[best], search->req->objective) < 0) {
            best = order[i].index;
            best_screened = screened;
        }
    }
    for (int i = 0; i < n && rb_search_explains(search); i++) {
        if (order[i].index != best)
            rb_search_explain_loss(search, planner, &candidates[order[i].index], best < 0 ? NULL : &candidates[best]);
    }
    *out_best = best;
    return true;
}
