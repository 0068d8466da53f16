#include "planner/scores/early_runs.h"

#include "planner/async/endless.h"
#include "planner/scores/stage_samples.h"

#include <math.h>
#include <stdlib.h>

#define FIRST_LOOK 32  // initial number of runs, then doubled each time; most exchanges are rejected early
#define SCREENING  256 // ... exchanges without a gain by then are dropped
#define DROP_SIGMA 3.0 // an exchange that just pays is dropped wrongly once in 700
#define SIGMA      4.0 // a gain of fewer standard errors is none

// ---- as plan stages

int rb_early_gained(const struct rb_candidate *c, int stage)
{
    if (stage + 1 >= c->n_stages)
        return 0;
    return c->stages[stage + 1].nodes - rb_choice_kept(&c->stages[stage], &c->stages[stage + 1]);
}

void rb_early_apply(const struct rb_candidate *candidate, const struct rb_early *early, struct rb_plan_stage *stages,
                    struct rb_plan_early *backing)
{
    for (int stage = 0; early->any && stage < candidate->n_stages; stage++) {
        if (early->at_us[stage] == RB_EARLY_NEVER || rb_early_gained(candidate, stage) == 0)
            continue;
        backing[stage] = (struct rb_plan_early){
            .offer = candidate->stages[stage + 1].offer,
            .count = rb_early_gained(candidate, stage),
            .at_us = early->at_us[stage],
        };
        stages[stage].early = &backing[stage];
        stages[stage].n_early = 1;
    }
}

// ---- runs

struct rb_early_runs rb_early_runs_create(int n)
{
    return (struct rb_early_runs){rb_xcalloc((size_t)n, sizeof(int64_t)), rb_xcalloc((size_t)n, sizeof(int64_t)), 0};
}

void rb_early_runs_free(struct rb_early_runs *r)
{
    free(r->time_us);
    free(r->cost_uusd);
}

// Makes the missing runs, after those that exist.
static bool simulate(const struct rb_search *search, const struct rb_early_plan *p, uint32_t first, int n,
                     struct rb_early_runs *io, struct rb_err *err)
{
    const int made = io->n;
    if (made >= n)
        return true;
    struct rb_plan_stage stages[RB_LIMIT_STAGES];
    struct rb_plan_nodes nodes[RB_LIMIT_STAGES];
    struct rb_plan_early early[RB_LIMIT_STAGES];
    const struct rb_evaluate_options opt = {.samples = n - made,
                                            .threads = search->req->threads,
                                            .first = first + (uint32_t)made,
                                            .tables = rb_trial_laws_tables(search->laws)};
    rb_candidate_stages(search->scenario, &p->candidate, stages, nodes);
    rb_early_apply(&p->candidate, &p->early, stages, early);
    io->n = n;
    struct rb_err why = {0};
    if (!rb_has_endless_stage(search, &p->candidate) &&
        rb_evaluate_runs(search->scenario, stages, p->candidate.n_stages, &opt, io->time_us + made,
                         io->cost_uusd + made, &why))
        return true;
    if (why.code != RB_ERR_NONE && why.code != RB_ERR_INFEASIBLE) {
        *err = why;
        return false;
    }
    for (int i = made; i < n; i++) // it does not finish
        io->time_us[i] = io->cost_uusd[i] = rb_endless_estimate(n).time_us.mean;
    return true;
}

static double p_both(const struct rb_search *search, const struct rb_early_runs *r, int n)
{
    return (double)rb_count_kept(r->time_us, r->cost_uusd, n, search->req->deadline_us, search->req->budget_uusd) / n;
}

bool rb_early_p_both(const struct rb_search *search, const struct rb_early_plan *plan, uint32_t first,
                     struct rb_early_runs *runs, double *out, struct rb_err *err)
{
    const int n = search->req->samples;
    if (!simulate(search, plan, first, n, runs, err))
        return false;
    *out = p_both(search, runs, n);
    return true;
}

// ---- verdicts

// The part of a look's error on n runs that more runs may change.
static double open_part(const struct rb_search *search, int n)
{
    return sqrt(fmax(0, 1 - (double)n / search->req->samples));
}

static const int64_t *objectives(const struct rb_search *search, const struct rb_early_runs *runs)
{
    return search->req->objective == RB_OBJECTIVE_MIN_TIME ? runs->time_us : runs->cost_uusd;
}

// Gain: difference of the objective, a minus b, with the same draws.
static void judge_gain(const struct rb_search *search, const struct rb_early_runs *a, const struct rb_early_runs *b,
                       int n, struct rb_early_comparison *io)
{
    const int64_t *from = objectives(search, a), *to = objectives(search, b);
    const struct rb_difference gain = rb_difference_of(from, to, n);
    double all = 0;
    for (int i = 0; i < n; i++)
        all += (double)from[i];
    const double least = RB_EARLY_WORTH * all / n;
    io->n = n;
    io->gain = gain.mean;
    io->stderr_ = gain.stderr_;
    const bool is_gain = io->gain > fmax(SIGMA * io->stderr_, least), is_last = n == search->req->samples;
    const double doubt = n < SCREENING ? DROP_SIGMA * open_part(search, n) * io->stderr_ : 0;
    if (io->gain + doubt <= least || (is_last && !is_gain))
        io->pays = RB_EARLY_DROPPED;
    else if (is_gain && (n >= SCREENING || is_last))
        io->pays = RB_EARLY_KEPT;
}

// KEPT: unless the remaining runs are very different. After all runs a probability below the confidence is DROPPED.
static void judge_p(const struct rb_search *search, const struct rb_early_runs *b, int n,
                    struct rb_early_comparison *io)
{
    const double c = search->req->confidence, doubt = DROP_SIGMA * open_part(search, n) * sqrt(c * (1 - c) / n);
    io->p = p_both(search, b, n);
    if (io->p < c - doubt)
        io->holds = RB_EARLY_DROPPED;
    else if (n >= SCREENING && n < search->req->samples && io->p > c + doubt)
        io->holds = RB_EARLY_KEPT;
}

bool rb_early_compare(const struct rb_search *search, const struct rb_early_plan *from, const struct rb_early_plan *to,
                      uint32_t first, struct rb_early_runs *a, struct rb_early_runs *b, struct rb_early_comparison *out,
                      struct rb_err *err)
{
    const int all = search->req->samples;
    *out = (struct rb_early_comparison){0};
    for (int n = FIRST_LOOK < all ? FIRST_LOOK : all;; n = 2 * n < all ? 2 * n : all) {
        if (!simulate(search, to, first, n, b, err))
            return false;
        if (out->pays == RB_EARLY_OPEN) {
            if (!simulate(search, from, first, n, a, err))
                return false;
            judge_gain(search, a, b, n, out);
        }
        if (out->holds == RB_EARLY_OPEN)
            judge_p(search, b, n, out);
        const bool is_decided = out->pays == RB_EARLY_KEPT && out->holds == RB_EARLY_KEPT;
        if (n == all || is_decided || out->pays == RB_EARLY_DROPPED || out->holds == RB_EARLY_DROPPED)
            return true;
    }
}
