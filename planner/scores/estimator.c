#include "planner/scores/estimator.h"

#include "planner/async/engine_runs.h"
#include "planner/request/pace.h"
#include "planner/request/time_share.h"
#include "planner/scores/early_runs.h"
#include "simulator/laws/trial_laws.h"

#include <math.h>
#include <stdlib.h>

#define STAGE_RUNS  1024    // for the quantiles of single stages
#define STAGE_PART  0.04    // of a time limit, for these
#define FIGURE_RUNS 512     // of the engine, behind a figure that is shown of a plan far below the confidence
#define PILOT_RUNS  4       // of the engine, that show how long a look takes
#define HOPELESS    5.0      // standard errors below the confidence
#define MEAN_KNOWN  0.0015  // relative standard error of the mean cost
#define MOST_RUNS   1000000 // the range of run numbers that no search has used

// Runs whose numbers no search has used.
static struct rb_evaluate_options unseen_runs(const struct rb_search *search, int samples)
{
    const struct rb_plan_request *req = search->req;
    return (struct rb_evaluate_options){
        .first = RB_UNSEEN_RUNS,
        .samples = samples,
        .deadline_us = req->deadline_us,
        .budget_uusd = req->budget_uusd,
        .threads = req->threads,
        .tables = rb_trial_laws_tables(search->laws),
        .stop = req->out_of_time,
        .stop_ctx = req->out_of_time_ctx,
    };
}

// Enough to know the reported probability to half a per cent, if that many do not take too long.
static int fewest_runs(const struct rb_search *search)
{
    if (search->req->time_limit_us > 0)
        return search->req->samples; // as many as the limit allows
    const double affordable = rb_search_affordable_runs(search);
    const int more = affordable < RB_FEWEST_VERIFIED ? (int)affordable : RB_FEWEST_VERIFIED;
    return search->req->samples > more ? search->req->samples : more;
}

// Also enough to know the mean cost to MEAN_KNOWN, if that does not take too long either.
static int enough_runs(const struct rb_search *search, const struct rb_estimate *first)
{
    const double off = (double)first->stderr_.cost_mean_uusd / fmax(1, (double)first->cost_uusd.mean) / MEAN_KNOWN;
    const double wanted = (double)first->samples * off * off, affordable = rb_search_affordable_runs(search);
    const double n = fmin(fmin(wanted, affordable), (double)MOST_RUNS);
    if (search->req->time_limit_us > 0)
        return (int)first->samples;
    return n > (double)first->samples ? (int)n : (int)first->samples;
}

static bool runs(struct rb_search *search, struct rb_candidate *c, const struct rb_plan_stage *stages, int n,
                 struct rb_err *err)
{
    const struct rb_evaluate_options opt = unseen_runs(search, n);
    return rb_evaluate(search->scenario, stages, c->n_stages, &opt, &c->estimate, NULL, err);
}

// With a time limit they get a part of it: these runs are drawn part by part, and take several times as long as others.
static bool stage_quantiles(struct rb_search *search, struct rb_candidate *c, const struct rb_plan_stage *stages,
                            struct rb_plan_stage *out_stages, struct rb_err *err)
{
    const struct rb_plan_request *req = search->req;
    struct rb_evaluate_options opt = unseen_runs(search, STAGE_RUNS);
    struct rb_plan_request timed = *req;
    struct rb_time_share share;
    if (req->time_limit_us > 0 && req->time_used) {
        rb_time_share_begin(&share, req, fmin(1, req->time_used(req->out_of_time_ctx) + STAGE_PART), &timed);
        opt.stop = timed.out_of_time;
        opt.stop_ctx = timed.out_of_time_ctx;
    }
    return rb_evaluate(search->scenario, stages, c->n_stages, &opt, &c->estimate, out_stages, err);
}

// Only the engine knows markets that go down, and the stand-ins.
static bool is_by_engine(const struct rb_search *search, const struct rb_candidate *c,
                         const struct rb_plan_stage *stages)
{
    const struct rb_plan plan = rb_engine_plan(search, c, stages);
    return rb_plan_meets_down_markets(&plan);
}

struct judged {
    struct rb_search *search;
    int fewest;      // runs
    double since_us; // of the limit, when the last look ended
};

// A plan far below the confidence needs no more runs; those that wait for a market are the longest.
static bool is_hopeless(void *ctx, const struct rb_estimate *e)
{
    const struct judged *j = ctx;
    return !j->search->on_average && e->samples >= j->fewest &&
           e->p_both + HOPELESS * fmax(e->stderr_.p_both, 1e-3) < j->search->req->confidence;
}

// Another look may take as long as the slowest so far.
static bool has_no_time(void *ctx)
{
    struct judged *j = ctx;
    const struct rb_plan_request *req = j->search->req;
    const double now_us = rb_pace_used_us(req);
    j->search->slowest_look_us = fmax(j->search->slowest_look_us, now_us - j->since_us);
    j->since_us = now_us;
    return now_us + j->search->slowest_look_us > (double)req->time_limit_us;
}

// A plan that misses the confidence is looked at no further (rb_plan_assemble), so the fewest runs that show that will do.
// Without stages it is a baseline or the nearest plan, whose figures are shown.
static bool engine_runs(struct rb_search *search, struct rb_candidate *c, const struct rb_plan_stage *stages,
                        struct rb_plan_stage *out_stages, struct rb_err *err)
{
    const struct rb_plan plan = rb_engine_plan(search, c, stages);
    const struct rb_plan_request *req = search->req;
    const bool timed = req->time_limit_us > 0 && req->time_used;
    struct judged judged = {search, out_stages ? 0 : FIGURE_RUNS, timed ? rb_pace_used_us(req) : 0};
    const struct rb_world_runs asked = {
        .samples = req->samples,
        .first = RB_UNSEEN_RUNS,
        .threads = req->threads,
        .deadline_us = req->deadline_us,
        .budget_uusd = req->budget_uusd,
        .past_budget = true,
        .enough = is_hopeless,
        .enough_ctx = &judged,
        .stop = timed ? has_no_time : req->out_of_time,
        .stop_ctx = timed ? &judged : req->out_of_time_ctx,
    };
    return rb_world_evaluate(search->scenario, &plan, &asked, &c->estimate, out_stages, err);
}

// Quantiles of stages come from replicates: tables simulate only a plan as a whole.
bool rb_stages_estimate(struct rb_search *search, struct rb_candidate *c, struct rb_plan_stage *out_stages,
                        struct rb_err *err)
{
    struct rb_plan_stage stages[RB_LIMIT_STAGES];
    struct rb_plan_nodes nodes[RB_LIMIT_STAGES];
    rb_candidate_stages(search->scenario, c, stages, nodes);
    if (is_by_engine(search, c, stages))
        return engine_runs(search, c, stages, out_stages, err);
    if (!out_stages)
        return runs(search, c, stages, search->req->samples, err);
    if (!stage_quantiles(search, c, stages, out_stages, err) || !runs(search, c, stages, fewest_runs(search), err))
        return false;
    const int enough = enough_runs(search, &c->estimate);
    return enough == c->estimate.samples || runs(search, c, stages, enough, err);
}

bool rb_estimate_candidate(struct rb_search *search, struct rb_candidate *candidate, struct rb_plan_stage *out_stages,
                           struct rb_err *err)
{
    return search->scorer->estimate(search, candidate, out_stages, err);
}

// Runs of stages cover trials of one width. A policy that chooses widths during the run has other times, and so does a
// tuner that promotes during the run.
static bool decides_while_it_runs(const struct rb_search *search, const struct rb_candidate *candidate)
{
    const struct rb_plan plan = rb_engine_plan(search, candidate, NULL);
    return rb_plan_decides_while_it_runs(&plan);
}

bool rb_estimate_plan(struct rb_search *search, struct rb_plan_result *result, struct rb_plan_stage *out_stages,
                      struct rb_err *err)
{
    struct rb_plan_stage stages[RB_LIMIT_STAGES];
    struct rb_plan_nodes nodes[RB_LIMIT_STAGES];
    struct rb_plan_early early[RB_LIMIT_STAGES];
    if (decides_while_it_runs(search, &result->best))
        return rb_engine_estimate(search, &result->best, search->req->samples, false, &result->best.estimate,
                                  out_stages, err);
    if (!result->early.any)
        return rb_estimate_candidate(search, &result->best, out_stages, err);
    rb_candidate_stages(search->scenario, &result->best, stages, nodes);
    rb_early_apply(&result->best, &result->early, stages, early);
    if (is_by_engine(search, &result->best, stages))
        return engine_runs(search, &result->best, stages, out_stages, err);
    return stage_quantiles(search, &result->best, stages, out_stages, err) &&
           runs(search, &result->best, stages, fewest_runs(search), err);
}

// Runs of the engine take many times as long as those of the model by which a limit is paced, so they are timed themselves. What
// does not finish has no look: no plan will be made of it.
void rb_estimate_pace(struct rb_search *search)
{
    const struct rb_plan_request *req = search->req;
    const struct rb_scenario *s = search->scenario;
    for (int i = 0; i < s->n_offers && search->slowest_look_us == 0 && req->time_limit_us > 0 && req->time_used; i++) {
        struct rb_plan_stage stages[RB_LIMIT_STAGES];
        struct rb_plan_nodes nodes[RB_LIMIT_STAGES];
        struct rb_candidate c;
        struct rb_estimate ignored;
        struct rb_err endless;
        if (search->sizes[i].n == 0 || !rb_sim_offer_goes_down(&s->sim_offers[i]) || !rb_pace_pilot(req, s, i, &c))
            continue;
        rb_candidate_stages(s, &c, stages, nodes);
        const struct rb_plan plan = rb_engine_plan(search, &c, stages);
        const struct rb_world_runs few = {
            .samples = PILOT_RUNS, .first = RB_UNSEEN_RUNS, .deadline_us = -1, .budget_uusd = -1, .past_budget = true};
        const double before_us = rb_pace_used_us(req);
        if (rb_world_evaluate(s, &plan, &few, &ignored, NULL, &endless))
            search->slowest_look_us = (rb_pace_used_us(req) - before_us) * RB_WORLD_LOOK / PILOT_RUNS;
    }
}

bool rb_estimate_has_time(const struct rb_search *search)
{
    const struct rb_plan_request *req = search->req;
    return !rb_search_out_of_time(search) &&
           (search->slowest_look_us <= 0 || rb_pace_used_us(req) + search->slowest_look_us <= (double)req->time_limit_us);
}
