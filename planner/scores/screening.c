// The best of a list of candidates without scoring every one in full: a lower bound of their cost, or a first few
// replicates, show which ones cannot win.
#include "planner/async/async_runs.h"
#include "planner/proof/candidate_floor.h"
#include "planner/scores/in_time.h"

#include <math.h>
#include <stdlib.h>

#define SCREEN_SAMPLES 64  // a standard error of 2.7 % in P at 0.95: enough to drop most candidates
#define SCREEN_SIGMA   3.0 // a candidate that is just good enough is dropped wrongly once in 700
#define LAST_LOOKS     4   // when the time is up and nothing is found
// Runs of asynchronous jobs are dear, and differ much by who is promoted.
#define ASYNC_SIGMA_P 2.5

static int n_first(const struct rb_search *search)
{
    const int samples = search->req->samples;
    if (search->asynchronous)
        return rb_async_n_screened(search);
    return samples < 2 * SCREEN_SAMPLES ? samples : SCREEN_SAMPLES;
}

static int n_all(const struct rb_search *search)
{
    return search->asynchronous ? rb_async_n_compared(search) : search->req->samples;
}

// The part of a standard error of n runs that the runs still to come can make good: all of them together decide.
static double still_open(int64_t n, int all)
{
    return sqrt(fmax(0, 1 - (double)n / all));
}

// A screened candidate that may yet be feasible on all replicates.
static bool may_be_feasible(const struct rb_search *search, const struct rb_estimate *screened, int all)
{
    const double c = search->req->confidence, se = sqrt(c * (1 - c) / (double)screened->samples);
    const double sigma = search->asynchronous ? ASYNC_SIGMA_P : SCREEN_SIGMA;
    return screened->p_both >= c - sigma * se * still_open(screened->samples, all);
}

static const int64_t *objectives(const struct rb_search *search, const struct rb_runs *runs)
{
    return search->req->objective == RB_OBJECTIVE_MIN_COST ? runs->cost_uusd : runs->time_us;
}

// Both plans drew the same, so that what tells them apart is their difference, run by run.
static bool may_be_better(const struct rb_search *search, enum rb_run_kind kind, const struct rb_candidate *candidate,
                          const struct rb_candidate *best, int all)
{
    const struct rb_runs *a = rb_run_store_longest(search->runs, kind, candidate);
    const struct rb_runs *b = rb_run_store_longest(search->runs, kind, best);
    if (!a || !b) // runs that a time limit may interrupt are not kept
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
    return rb_search_score(search, candidate, n_first(search), err);
}

bool rb_search_settle(struct rb_search *search, struct rb_candidate *candidate, const struct rb_candidate *best,
                      bool *out_stands, struct rb_err *err)
{
    const enum rb_run_kind kind = search->asynchronous ? RB_RUN_WORLDS : RB_RUN_REPLICATES;
    const int all = n_all(search), more = search->req->out_of_time ? 4 : 2; // runs are not kept where time is limited
    *out_stands = false;
    for (int n = n_first(search); n < all && !search->by_laws; n *= more) {
        if (!rb_search_score(search, candidate, n, err))
            return false;
        if (!rb_search_may_stand(search, kind, candidate, best, all))
            return true;
    }
    if (!rb_search_score(search, candidate, search->req->samples, err))
        return false;
    *out_stands = rb_search_feasible(search, &candidate->estimate) &&
                  (!best || rb_candidate_compare(candidate, best, search->req->objective) < 0);
    return true;
}

struct by_objective {
    double objective;
    int index;
    bool is_likely; // to be in time
};

static int compare_objectives(const void *pa, const void *pb)
{
    const struct by_objective *a = pa, *b = pb;
    if (a->objective < b->objective || a->objective > b->objective)
        return a->objective < b->objective ? -1 : 1;
    return a->index - b->index;
}

// Screens all candidates; order [n] is by the screened objective.
static bool screen(struct rb_search *search, struct rb_candidate *candidates, int n, struct by_objective *order,
                   struct rb_err *err)
{
    for (int i = 0; i < n; i++) {
        if (!rb_search_screen(search, &candidates[i], err))
            return false;
        order[i] = (struct by_objective){rb_search_objective(search, &candidates[i].estimate), i, true};
    }
    qsort(order, (size_t)n, sizeof *order, compare_objectives);
    return true;
}

static void explain_bound(struct rb_search *search, const char *planner, const struct rb_candidate *c,
                          double bound_uusd, const struct rb_candidate *best)
{
    char text[32];
    int64_t more_uusd = (int64_t)bound_uusd - best->estimate.cost_uusd.mean;
    if (rb_search_explains(search))
        rb_search_explain(search, planner, c, "costs at least %s more", rb_format_money(more_uusd, text));
}

static void explain_late(struct rb_search *search, const char *planner, const struct rb_candidate *c)
{
    char asked[32];
    if (rb_search_explains(search))
        rb_search_explain(search, planner, c, "infeasible: P < %s, by a bound",
                          rb_format_probability(search->req->confidence, asked));
}

// The order in which a sorted list is scored.
struct walk {
    int up, down, n; // next of either direction
    int n_late;      // looks when the time was up
};

// Up from the cheapest that is likely in time to the first that is: of cheaper ones, which most likely are not, the dearest comes
// next, for where that is late its laws rule out what takes longer. When the time is up and nothing is found, a few of the
// dearest; -1: none is left.
static int next_of(const struct rb_search *search, struct walk *w, bool found)
{
    if (rb_search_out_of_time(search))
        return found || w->n_late == LAST_LOOKS || w->n_late == w->n ? -1 : w->n - ++w->n_late;
    if (w->up < w->n && !found)
        return w->up++;
    if (w->down >= 0)
        return w->down--;
    return w->up < w->n ? w->up++ : -1;
}

// What cannot be in time is not scored. Candidates are listed from few nodes to many: the last are in time, if any, and when
// the time is up no more than a few of these are looked at. *out_n are left, the cheapest first.
static bool sort_out(struct rb_search *search, const char *planner, const struct rb_candidate *candidates, int n,
                     struct by_objective *order, int *out_n, struct rb_err *err)
{
    const double deadline_s = search->req->deadline_us < 0 ? INFINITY : (double)search->req->deadline_us / 1e6;
    int left = 0;
    for (int i = n - 1; i >= 0 && !(left >= LAST_LOOKS && rb_search_out_of_time(search)); i--) {
        struct rb_candidate_floor floor;
        if (!rb_candidate_floor(search, &candidates[i], false, &floor, err))
            return false;
        if (floor.may_be_in_time)
            order[left++] = (struct by_objective){floor.cost_uusd, i, floor.likely_s <= deadline_s};
        else
            explain_late(search, planner, &candidates[i]);
    }
    qsort(order, (size_t)left, sizeof *order, compare_objectives);
    *out_n = left;
    return true;
}

static struct walk start_walk(const struct by_objective *order, int n)
{
    int first = 0;
    while (first < n && !order[first].is_likely)
        first++;
    return (struct walk){.up = first, .down = first - 1, .n = n};
}

// From laws a score is exact, and what a lower bound of its cost excludes is not scored.
static bool best_by_laws(struct rb_search *search, const char *planner, struct rb_candidate *candidates, int n,
                         int *out_best, struct rb_err *err)
{
    RB_AUTO(rb_auto_free) struct by_objective *order = rb_xcalloc((size_t)n + 1, sizeof *order);
    int best = -1, left, i;
    if (!sort_out(search, planner, candidates, n, order, &left, err))
        return false;
    struct walk walk = start_walk(order, left);
    while ((i = next_of(search, &walk, best >= 0)) >= 0) {
        struct rb_candidate *c = &candidates[order[i].index];
        if (best >= 0 && order[i].objective > (double)candidates[best].estimate.cost_uusd.mean + 1) {
            explain_bound(search, planner, c, order[i].objective, &candidates[best]);
            continue;
        }
        bool may_be_in_time;
        if (!rb_may_be_in_time(search, c, &may_be_in_time, err))
            return false;
        if (!may_be_in_time) {
            explain_late(search, planner, c);
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
    for (int i = 0; i < n; i++) {
        bool stands;
        if (!rb_search_settle(search, &candidates[order[i].index], best < 0 ? NULL : &candidates[best], &stands, err))
            return false;
        best = stands ? order[i].index : best;
    }
    for (int i = 0; i < n && rb_search_explains(search); i++) {
        if (order[i].index != best)
            rb_search_explain_loss(search, planner, &candidates[order[i].index], best < 0 ? NULL : &candidates[best]);
    }
    *out_best = best;
    return true;
}
