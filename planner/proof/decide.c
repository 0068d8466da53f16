// Decides whether a plan keeps the constraints with the confidence asked. It is a sequential test: runs are made until
// they show, at a stated risk, that the plan keeps them with at least the confidence c, or with less than c +
// RB_DECIDED. A plan between the two may be decided either way.
// Source: Chernoff's bound. If the probability is at most c, a share of n runs reaches s > c with a probability of at
// most exp(-n KL(s, c)), KL(s, c) = s ln(s / c) + (1 - s) ln((1 - s) / (1 - c)); likewise below c + RB_DECIDED.
#include "planner/proof/decide.h"

#include "planner/async/endless.h"
#include "simulator/laws/trial_laws.h"
#include "simulator/sampler/table_runs.h"

#include <math.h>
#include <stdlib.h>

#define FIRST_RUN    (UINT32_C(1) << 22) // after those that compare plans, before those of the reported figures
#define FIRST_BATCH  256
#define MOST_RUNS    (1 << 18)
#define DECIDE_PART  4   // multiple of the runs of one estimate, if these are sized to a time limit
#define ROUGH_PART   192 // divisor of the affordable runs where a decision is rough
#define ROUGH_FEWEST 512 // runs after which a plan below the threshold is then given up
#define SAFE_SIGMA   2   // standard errors

static double divergence(double share, double p)
{
    const double hit = share > 0 ? share * log(share / p) : 0;
    const double missed = share < 1 ? (1 - share) * log((1 - share) / (1 - p)) : 0;
    return hit + missed;
}

enum rb_decision rb_decide_share(int hits, int n, double confidence, double risk)
{
    const double share = (double)hits / n, more = confidence + RB_DECIDED, enough = log(1 / risk) / n;
    if (confidence >= 1 - RB_DECIDED) // no number of runs shows that much: none may miss
        return hits < n ? RB_DECIDED_FALLS_SHORT : n >= RB_DECIDED_NO_MISS ? RB_DECIDED_KEEPS : RB_UNDECIDED;
    if (share >= confidence && divergence(share, confidence) >= enough)
        return RB_DECIDED_KEEPS;
    if (share <= more && divergence(share, more) >= enough)
        return RB_DECIDED_FALLS_SHORT;
    return RB_UNDECIDED;
}

// The decision threshold is the middle between the confidence and RB_DECIDED above it, so that the decision depends on
// the plan and hardly on the seed: only a plan within a thousandth of the middle may be decided either way.
static double middle_of(double confidence)
{
    return confidence >= 1 - RB_DECIDED ? 1 : confidence + RB_DECIDED / 2;
}

static bool is_above(int hits, int n, double confidence)
{
    return (double)hits / n >= middle_of(confidence);
}

static bool is_clear(int hits, int n, double confidence, double risk)
{
    const double middle = middle_of(confidence), share = (double)hits / n;
    if (middle >= 1)
        return hits < n || n >= RB_DECIDED_NO_MISS;
    return divergence(share, middle) >= log(1 / risk) / n;
}

bool rb_search_runs_from(struct rb_search *search, const struct rb_candidate *c, uint32_t first, int n,
                         int64_t *out_time_us, int64_t *out_cost_uusd, struct rb_err *err)
{
    struct rb_plan_stage stages[RB_LIMIT_STAGES];
    struct rb_plan_nodes nodes[RB_LIMIT_STAGES];
    const struct rb_evaluate_options opt = {
        .first = first,
        .samples = n,
        .threads = search->req->threads,
        .tables = rb_trial_laws_tables(search->laws),
    };
    rb_candidate_stages(search->scenario, c, stages, nodes);
    return rb_evaluate_runs(search->scenario, stages, c->n_stages, &opt, out_time_us, out_cost_uusd, err);
}

// The best of many plans that few runs put just above the confidence would be one that is late in more runs.
static bool is_safely_above(int hits, int n, double confidence)
{
    return (double)hits / n >= confidence + SAFE_SIGMA * sqrt(confidence * (1 - confidence) / n);
}

static bool run_batch(struct rb_search *search, const struct rb_candidate *c, int first, int n, int *io_kept,
                      struct rb_err *err)
{
    RB_AUTO(rb_auto_free) int64_t *values = rb_xcalloc(2 * (size_t)n, sizeof *values);
    if (!rb_search_runs_from(search, c, FIRST_RUN + (uint32_t)first, n, values, values + n, err))
        return false;
    *io_kept += rb_count_kept(values, values + n, n, search->req->deadline_us, search->req->budget_uusd);
    return true;
}

// A plan of a frontier whose runs are simulated event by event. There are many, so each gets few runs. One that these
// do not decide needs a margin, and is not proved.
static bool is_rough(const struct rb_search *search, const struct rb_candidate *c)
{
    struct rb_plan_stage stages[RB_LIMIT_STAGES];
    struct rb_plan_nodes nodes[RB_LIMIT_STAGES];
    rb_candidate_stages(search->scenario, c, stages, nodes);
    return search->place != RB_SEARCH_ALONE &&
           !rb_table_runs_apply(search->scenario, stages, c->n_stages, 0, rb_trial_laws_tables(search->laws));
}

static int most_runs(const struct rb_search *search, bool rough)
{
    const double affordable = rb_search_affordable_runs(search) / (rough ? ROUGH_PART : 1);
    if (search->req->time_limit_us > 0)
        return DECIDE_PART * search->req->samples;
    return affordable < MOST_RUNS ? (int)affordable : MOST_RUNS;
}

bool rb_search_decide(struct rb_search *search, struct rb_candidate *candidate, bool *out_keeps, struct rb_err *err)
{
    const struct rb_plan_request *req = search->req;
    const bool rough = is_rough(search, candidate);
    const int most = most_runs(search, rough);
    double risk = RB_DECIDED_RISK / 2;
    int n = 0, kept = 0;
    *out_keeps = rb_search_feasible(search, &candidate->estimate);
    candidate->undecided = search->any_plan;
    if (search->any_plan || search->on_average ||
        (req->deadline_us < 0 && req->budget_uusd < 0) || rb_has_endless_stage(search, candidate))
        return true;
    for (int batch = req->time_limit_us > 0 && req->samples < FIRST_BATCH ? req->samples : FIRST_BATCH;
         n + batch <= most && rb_search_has_time_for(search, batch); batch = n) {
        if (!run_batch(search, candidate, n, batch, &kept, err))
            return false;
        n += batch;
        *out_keeps = is_above(kept, n, rb_search_confidence(search));
        if (is_clear(kept, n, rb_search_confidence(search), risk))
            return true;
        risk /= 2; // the risk is divided among all looks
        if (rough && n >= ROUGH_FEWEST && !*out_keeps)
            break;
    }
    if (rough && n > 0)
        *out_keeps &= is_safely_above(kept, n, rb_search_confidence(search));
    const enum rb_decision decision = rb_decide_share(kept, n > 0 ? n : 1, rb_search_confidence(search), risk);
    candidate->undecided = decision != (*out_keeps ? RB_DECIDED_KEEPS : RB_DECIDED_FALLS_SHORT);
    return true;
}
