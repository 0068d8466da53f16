// Scores by samples of stages: whole plans run by run, from tables if these apply.
#include "planner/async/endless.h"
#include "planner/questions/nearest.h"
#include "planner/request/memory.h"
#include "planner/scores/early.h"
#include "planner/scores/estimator.h"
#include "simulator/laws/trial_laws.h"
#include "simulator/sampler/table_runs.h"

#define SCREENED 64  // a standard error of 2.7 % in P at 0.95: enough to drop most candidates
#define SIGMA_P  3.0 // a candidate that is just good enough is dropped wrongly once in 700

static void keep_draws(struct rb_scenario *s, const struct rb_plan_request *req)
{
    rb_scenario_keep_noise(s, req->samples, rb_memory_for_draws(req, RB_KEPT_NOISE_BYTES));
}

static int n_screened(const struct rb_search *search)
{
    return search->req->samples < 2 * SCREENED ? search->req->samples : SCREENED;
}

static int n_compared(const struct rb_search *search)
{
    return search->req->samples;
}

static bool runs_of(struct rb_search *search, const struct rb_candidate *candidate, int samples,
                    const struct rb_runs **out, struct rb_err *err)
{
    struct rb_plan_stage stages[RB_LIMIT_STAGES];
    struct rb_plan_nodes nodes[RB_LIMIT_STAGES];
    *out = rb_run_store_find(search->runs, RB_RUN_REPLICATES, candidate, samples);
    if (*out)
        return true;
    RB_AUTO(rb_auto_free) int64_t *values = rb_xcalloc(2 * (size_t)samples, sizeof *values);
    const int made = rb_run_store_copy(search->runs, RB_RUN_REPLICATES, candidate, samples, values, values + samples);
    const struct rb_evaluate_options opt = {.first = (uint32_t)made,
                                            .samples = samples - made,
                                            .threads = search->req->threads,
                                            .tables = rb_trial_laws_tables(search->laws)};
    rb_candidate_stages(search->scenario, candidate, stages, nodes);
    if (made < samples && !rb_evaluate_runs(search->scenario, stages, candidate->n_stages, &opt, values + made,
                                            values + samples + made, err))
        return false;
    *out = rb_run_store_keep(search->runs, RB_RUN_REPLICATES, candidate, samples, values, values + samples);
    return true;
}

static bool run_replicates(struct rb_search *search, struct rb_candidate *candidate, int samples, struct rb_err *err)
{
    const struct rb_plan_request *req = search->req;
    const struct rb_runs *runs;
    if (!runs_of(search, candidate, samples, &runs, err))
        return false;
    candidate->estimate = rb_runs_estimate(runs, req->deadline_us, req->budget_uusd);
    return true;
}

static bool score(struct rb_search *search, struct rb_candidate *candidate, int samples, struct rb_err *err)
{
    search->n_evaluated++;
    if (!rb_has_endless_stage(search, candidate)) {
        struct rb_err why = {0};
        if (run_replicates(search, candidate, samples, &why))
            return true;
        if (why.code != RB_ERR_INFEASIBLE) {
            *err = why;
            return false;
        }
    }
    candidate->estimate = rb_endless_estimate(samples);
    return true;
}

static bool score_again(struct rb_search *search, struct rb_candidate *candidate, struct rb_err *err)
{
    return score(search, candidate, search->req->samples, err);
}

static bool ask(struct rb_search *search, const struct rb_planner *planner, struct rb_plan_result *out,
                struct rb_err *err)
{
    return planner->plan(search, out, err);
}

const struct rb_scorer rb_scorer_stages = {
    .name = "stages",
    .samples = 4096,
    .barriers = true,
    .whole = "",
    .compared = RB_RUN_REPLICATES,
    .sigma_p = SIGMA_P,
    .keep_draws = keep_draws,
    .n_screened = n_screened,
    .n_compared = n_compared,
    .runs = runs_of,
    .score = score,
    .score_again = score_again,
    .decide = rb_search_decide,
    .estimate = rb_stages_estimate,
    .nearest_of = rb_stages_nearest_of,
    .ask = ask,
    .optimal = rb_stages_optimal,
    .improve = rb_early_improve,
    .marginal = rb_marginal_find,
};

const struct rb_scorer *rb_scorer_of(const struct rb_job *job)
{
    return rb_job_is_asynchronous(job) ? &rb_scorer_engine : &rb_scorer_stages;
}
