// Scores by runs of the engine: plans of asynchronous jobs.
#include "planner/async/async_admission.h"
#include "planner/async/async_pool.h"
#include "planner/questions/async_nearest.h"
#include "planner/request/memory.h"
#include "planner/request/pace.h"

#include <math.h>

#define SIGMA_P        2.5  // runs are expensive, and vary much with the promotions
#define GUARDS         4    // steps from the confidence to 1
#define MOST_EVENTS    1e8  // run for one estimate: some tens of seconds
#define FEWEST_SAMPLES 64   // with fewer, an estimate of a probability is too imprecise
#define AMPLE_PART     0.06 // of a time limit: if all runs of an estimate take no more, all are made; else
#define ESTIMATE_PART  0.02 // this part of it,
#define FIRST_PART     0.1  // or up to this if else they were fewer than FEWEST_SAMPLES,
#define LEAST_SAMPLES  2    // but at least these; the stated error is then large
#define FIRST_PLAN     4.0  // estimates behind the first plan: measured, compared, kept, shown

// Microseconds of one run by the engine, measured.
static double run_us_of(const struct rb_plan_request *req, const struct rb_scenario *s)
{
    const struct rb_search search = {.req = req, .scenario = s};
    double slowest_us = 0;
    bool known[2] = {false, false}; // offers that keep their nodes, and that may lose them
    for (int i = 0; i < s->n_offers; i++) {
        struct rb_world_result run;
        struct rb_candidate c;
        bool *done = &known[s->sim_offers[i].usable && rb_provisioning_may_lose(s->sim_offers[i].provisioning)];
        if (*done || !rb_pace_pilot(req, s, i, &c))
            continue;
        const double before_us = rb_pace_used_us(req);
        *done = rb_async_play(&search, &c, 0, 1, &run, NULL, NULL);
        slowest_us = fmax(slowest_us, rb_pace_used_us(req) - before_us);
    }
    return slowest_us;
}

static double samples_in_time(struct rb_plan_request *io, const struct rb_scenario *s)
{
    io->run_us = fmax(run_us_of(io, s), 1);
    const double in_all = (double)io->time_limit_us / io->run_us;
    rb_pace_check(io, FIRST_PLAN * LEAST_SAMPLES * io->run_us);
    if (AMPLE_PART * in_all >= io->samples)
        return io->samples; // the search is the one without a limit, and as fast
    return fmax(fmax(ESTIMATE_PART * in_all, fmin(FIRST_PART * in_all, FEWEST_SAMPLES)), LEAST_SAMPLES);
}

static int affordable(struct rb_plan_request *io, const struct rb_scenario *s)
{
    double samples = fmax(MOST_EVENTS / rb_async_events(s), FEWEST_SAMPLES);
    if (io->time_limit_us > 0 && io->time_used)
        samples = fmin(samples, samples_in_time(io, s));
    return samples < io->samples ? (int)samples : io->samples;
}

static void keep_draws(struct rb_scenario *s, const struct rb_plan_request *req)
{
    rb_async_keep_draws(s, req->samples, rb_memory_for_draws(req, RB_KEPT_TRIALS_BYTES));
}

static bool decide(struct rb_search *search, struct rb_candidate *candidate, bool *out_keeps, struct rb_err *err)
{
    (void)err;
    *out_keeps = rb_search_feasible(search, &candidate->estimate);
    return true;
}

static bool score_again(struct rb_search *search, struct rb_candidate *candidate, struct rb_err *err)
{
    return rb_async_estimate(search, candidate, NULL, err);
}

// A plan is found on some runs and reported from others. If these show less than the confidence, the planner searches
// again with a larger margin; runs are kept, so this is cheap.
static bool ask_for_surer(struct rb_search *search, const struct rb_planner *planner, struct rb_plan_result *result,
                          struct rb_err *err)
{
    const double before = search->guard, asked = rb_search_confidence(search);
    bool ok = true, stands = false;
    for (int step = 0; ok && !stands && step <= GUARDS && !(step > 0 && rb_search_out_of_time(search)); step++) {
        search->guard = before + (1 - asked) * step / GUARDS;
        for (int i = 0; i < search->scenario->n_offers; i++)
            search->static_best[i].known = false;
        ok = planner->plan(search, result, err) &&
             (result->best.n_stages == 0 || rb_async_estimate(search, &result->best, NULL, err));
        stands = !result->feasible || result->best.estimate.p_both >= asked;
    }
    search->guard = before;
    if (ok && result->best.n_stages > 0 && !(result->feasible && stands)) {
        const double reached = floor(1000 * result->best.estimate.p_both) / 1000;
        result->feasible = false;
        result->nearest_confidence =
            fmin(reached, isnan(result->nearest_confidence) ? reached : result->nearest_confidence);
        if (!(result->nearest_confidence > 0))
            result->nearest_confidence = NAN;
    }
    return ok;
}

static bool ask(struct rb_search *search, const struct rb_planner *planner, struct rb_plan_result *out,
                struct rb_err *err)
{
    return rb_async_is_anytime(search) ? rb_async_pool_plan(search, out, err)
                                       : ask_for_surer(search, planner, out, err);
}

static bool caveats(struct rb_search *search, const struct rb_candidate *plan, struct rb_arena *arena, const char **out,
                    struct rb_err *err)
{
    struct rb_async_tried tried;
    char text[32];
    rb_search_note(search, "stages 0..%d: time by runs of the engine: %s", plan->n_stages - 1, RB_ASYNC_WHY);
    out[0] =
        "who is promoted was simulated on made-up learning curves (the synthetic family): the job's own may promote "
        "others, sooner or later";
    if (plan->admit_until_us == 0)
        return true;
    if (!rb_async_tried(search, plan, &tried, err))
        return false;
    out[1] = rb_arena_printf(
        arena,
        "the whole job does not fit: no configuration is started after %s; %.1f of %d are expected "
        "to be tried, at least %d in 95 %% of the runs",
        rb_format_duration(plan->admit_until_us, text), tried.mean, search->req->job->scheduler.num_trials, tried.p5);
    return true;
}

const struct rb_scorer rb_scorer_engine = {
    .name = "engine",
    .samples = 1024,
    .slow = true,
    .whole = " that tries all configurations",
    .compared = RB_RUN_WORLDS,
    .sigma_p = SIGMA_P,
    .affordable = affordable,
    .keep_draws = keep_draws,
    .n_screened = rb_async_n_screened,
    .n_compared = rb_async_n_compared,
    .runs = rb_async_compared,
    .score = rb_async_score,
    .score_again = score_again,
    .decide = decide,
    .estimate = rb_async_estimate,
    .nearest_of = rb_async_nearest_of,
    .ask = ask,
    .optimal = rb_async_plan,
    .has_one_plan = rb_async_is_anytime,
    .caveats = caveats,
};
