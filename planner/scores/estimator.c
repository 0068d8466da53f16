#include "planner/scores/estimator.h"

#include "planner/async/async_runs.h"
#include "planner/async/engine_runs.h"
#include "planner/proof/billed.h"
#include "planner/scores/draws.h"
#include "planner/scores/early_runs.h"
#include "simulator/model/summary.h"

#include <math.h>
#include <stdlib.h>

#define ACCURACY 1e-4 // of P, for what is told

// ---- parts

// A candidate with the laws of its stages.
struct parts {
    const struct rb_candidate *candidate;
    const struct rb_stage_time *time[RB_LIMIT_STAGES];
    int kept[RB_LIMIT_STAGES];
};

// A plan is told by what it was chosen by: by laws only if the search compared by them.
static bool laws_apply(const struct rb_search *search, const struct rb_candidate *c, const char **out_why)
{
    *out_why = search->why_not_by_laws ? search->why_not_by_laws : "candidates were compared by replicates";
    if (!search->by_laws)
        return false;
    for (int i = 0; i < c->n_stages; i++) {
        if (!rb_stage_times_apply(search->scenario, c->stages[i].offer, out_why))
            return false;
    }
    return true;
}

static bool collect(struct rb_search *search, const struct rb_candidate *c, double accuracy, struct parts *out,
                    struct rb_err *err)
{
    out->candidate = c;
    for (int i = 0; i < c->n_stages; i++) {
        out->time[i] = rb_score_stage_time(search, c, i, accuracy, false, &out->kept[i], err);
        if (!out->time[i])
            return false;
    }
    return true;
}

static int64_t rounded(double value)
{
    return (int64_t)llrint(fmax(0, value));
}

// ---- time, from the laws

static struct rb_time_law law_of_sum(const struct parts *p)
{
    const struct rb_law *laws[RB_LIMIT_STAGES];
    struct rb_time_law out = {.error = 0};
    const int n = p->candidate->n_stages;
    struct rb_arena arena;
    for (int i = 0; i < n; i++)
        laws[i] = &p->time[i]->law;
    rb_arena_init(&arena);
    const struct rb_law_sum sum = rb_law_sum_create(laws, n, &arena);
    out.error = sum.error;
    out.time_us.p5 = rounded(1e6 * rb_law_sum_quantile(&sum, 0.05));
    out.time_us.p50 = rounded(1e6 * rb_law_sum_quantile(&sum, 0.50));
    out.time_us.p95 = rounded(1e6 * rb_law_sum_quantile(&sum, 0.95));
    out.time_us.p99 = rounded(1e6 * rb_law_sum_quantile(&sum, 0.99));
    rb_arena_finish(&arena);
    return out;
}

// The same for every deadline and budget.
static struct rb_time_law time_law(struct rb_search *search, const struct parts *p)
{
    const struct rb_time_law *known = rb_run_store_find_law(search->runs, p->candidate);
    if (known)
        return *known;
    const struct rb_time_law made = law_of_sum(p);
    rb_run_store_keep_law(search->runs, p->candidate, &made);
    return made;
}

// Nodes that come late make it longer, as the draws say if any of them has seen it.
static void tell_time(const struct parts *p, const struct rb_plan_request *req, const struct rb_score *score,
                      const struct rb_time_law *law, const struct rb_runs *draws, struct rb_estimate *e)
{
    double error_s = 0, late_s = 0;
    for (int i = 0; i < p->candidate->n_stages; i++) {
        error_s += rb_stage_mean_error_s(p->time[i]);
        late_s += p->time[i]->late_mean_s;
    }
    e->time_us = law->time_us;
    e->time_us.mean = rounded(score->time_mean_us);
    e->p_deadline = score->p_deadline;
    e->time_method = RB_ESTIMATE_LAWS;
    e->error.time_mean_us = (int64_t)ceil(1e6 * error_s);
    e->error.p_deadline = fmin(1, score->finely ? score->p_error : fmax(score->p_error, law->error + score->unready));
    e->stderr_.time_mean_us = 0;
    e->stderr_.p_deadline = 0;
    if (!rb_draws_tell_delay(draws, e))
        e->error.time_mean_us += (int64_t)ceil(1e6 * late_s);
    rb_draws_tell_probability(draws, score, req->deadline_us, e);
}

// ---- cost, from draws

// The mean is computed, and where runs are billed more than the sum of their stages that is told from them. Of p_both, what the
// budget does not decide is the deadline's, and that is not sampled either.
static void tell_cost(const struct rb_plan_request *req, const struct rb_score *score, const struct rb_billed *billed,
                      struct rb_estimate *e)
{
    const double above_uusd = billed->n > 0 ? RB_SURE_SIGMA * billed->error_uusd : score->above_sum_uusd;
    e->cost_method = RB_ESTIMATE_TABLES;
    e->cost_uusd.mean = rounded(billed->mean_uusd);
    e->stderr_.cost_mean_uusd = (int64_t)ceil(billed->error_uusd);
    e->error.cost_mean_uusd = (int64_t)ceil(score->cost_error_uusd - score->above_sum_uusd + above_uusd);
    if (req->budget_uusd < 0) {
        e->p_both = e->p_deadline;
        e->stderr_.p_both = e->stderr_.p_deadline;
        e->error.p_both = req->deadline_us < 0 ? 0 : e->error.p_deadline;
    }
}

// ---- stages

static void tell_stage(const struct rb_search *search, const struct parts *p, int stage, struct rb_plan_stage *out)
{
    const struct rb_choice *choice = &p->candidate->stages[stage];
    const struct rb_law *law = &p->time[stage]->law;
    const double mean_uusd = rb_stage_cost_mean_uusd(search->scenario, choice, p->kept[stage], p->time[stage]);
    struct rb_stage_time later = *p->time[stage];
    struct {
        double u;
        int64_t *time_us, *cost_uusd;
    } quantiles[] = {
        {0.05, &out->time_us.p5, &out->cost_uusd.p5},
        {0.50, &out->time_us.p50, &out->cost_uusd.p50},
        {0.95, &out->time_us.p95, &out->cost_uusd.p95},
        {0.99, &out->time_us.p99, &out->cost_uusd.p99},
    };
    out->time_us.mean = rounded(1e6 * law->mean_s);
    out->cost_uusd.mean = rounded(mean_uusd);
    for (size_t i = 0; i < sizeof quantiles / sizeof quantiles[0]; i++) {
        // Nodes cost by the second: what a stage costs if it takes that long and new nodes take their mean to come.
        later.law.mean_s = rb_law_quantile(law, quantiles[i].u);
        *quantiles[i].time_us = rounded(1e6 * later.law.mean_s);
        *quantiles[i].cost_uusd = rounded(rb_stage_cost_mean_uusd(search->scenario, choice, p->kept[stage], &later));
    }
}

static void explain_stage(struct rb_search *search, const struct parts *p, int stage)
{
    const struct rb_stage_time *t = p->time[stage];
    rb_search_note(search, "stage %d: time by %s%s%s; P off by at most %.1e", stage, rb_stage_method_name(t->method),
                   t->why ? ": " : "", t->why ? t->why : "", t->law.error + t->unready);
}

// ---- the whole

static bool from_replicates(struct rb_search *search, struct rb_candidate *c, const char *why,
                            struct rb_plan_stage *stages, struct rb_plan_stage *out_stages, struct rb_err *err)
{
    const struct rb_plan_request *req = search->req;
    const struct rb_evaluate_options opt = {
        .samples = req->samples,
        .deadline_us = req->deadline_us,
        .budget_uusd = req->budget_uusd,
        .threads = req->threads,
        .stop = req->out_of_time,
        .stop_ctx = req->out_of_time_ctx,
    };
    if (out_stages && rb_search_explains(search))
        rb_search_note(search, "stages 0..%d: time by replicates: %s", c->n_stages - 1, why);
    return rb_evaluate(search->scenario, stages, c->n_stages, &opt, &c->estimate, out_stages, err);
}

// Budgets, late nodes and short lives are told by all draws.
static int n_draws(const struct rb_search *search, const struct rb_score *score)
{
    const bool all = search->told_part == 1 || search->req->budget_uusd >= 0 || rb_billed_may_differ(score);
    return all ? search->req->samples : search->req->samples / search->told_part;
}

static bool from_laws(struct rb_search *search, struct rb_candidate *c, struct rb_plan_stage *stages,
                      struct rb_plan_stage *out_stages, struct rb_err *err)
{
    struct parts parts;
    struct rb_score score;
    struct rb_billed billed;
    const struct rb_runs *draws;
    if (!collect(search, c, ACCURACY, &parts, err))
        return false;
    if (rb_draws_see_atoms(parts.time, c->n_stages))
        return from_replicates(search, c, "times fall on few values, and bills round up to seconds", stages, out_stages,
                               err);
    if (!rb_score_candidate(search, c, ACCURACY, &score, err) || !rb_billed_mean(search, c, &score, &billed, err) ||
        !rb_draws_from_tables(search, c, stages, n_draws(search, &score), &draws, err))
        return false;
    struct rb_estimate e = rb_runs_estimate(draws, search->req->deadline_us, search->req->budget_uusd);
    const struct rb_time_law law = time_law(search, &parts);
    tell_time(&parts, search->req, &score, &law, draws, &e);
    tell_cost(search->req, &score, &billed, &e);
    for (int i = 0; i < c->n_stages && out_stages; i++) {
        tell_stage(search, &parts, i, &out_stages[i]);
        if (rb_search_explains(search))
            explain_stage(search, &parts, i);
    }
    e.spread_unknown = rb_profile_spread_is_unknown(search->scenario->profile);
    c->estimate = e;
    return true;
}

static bool estimate(struct rb_search *search, struct rb_candidate *candidate, struct rb_plan_stage *out_stages,
                     struct rb_err *err)
{
    struct rb_plan_stage stages[RB_LIMIT_STAGES];
    struct rb_plan_nodes nodes[RB_LIMIT_STAGES];
    const char *why;
    rb_candidate_stages(search->scenario, candidate, stages, nodes);
    return laws_apply(search, candidate, &why) ? from_laws(search, candidate, stages, out_stages, err)
                                               : from_replicates(search, candidate, why, stages, out_stages, err);
}

bool rb_estimate_candidate(struct rb_search *search, struct rb_candidate *candidate, struct rb_plan_stage *out_stages,
                           struct rb_err *err)
{
    if (search->asynchronous)
        return rb_async_estimate(search, candidate, out_stages, err);
    struct rb_stage_times *lent = search->times;
    struct rb_stage_times *own = lent || search->req->times ? NULL : rb_stage_times_create(RB_PILOT_SAMPLES);
    if (!lent)
        search->times = own ? own : search->req->times;
    const bool ok = estimate(search, candidate, out_stages, err);
    search->times = lent;
    rb_stage_times_destroy(own);
    return ok;
}

// Laws and replicates know trials of one width a stage: a policy that chooses widths while it runs takes other times.
static bool decides_while_it_runs(const struct rb_search *search, const struct rb_candidate *candidate)
{
    const struct rb_plan plan = rb_engine_plan(search, candidate, NULL);
    return rb_plan_is_by_engine(&plan);
}

bool rb_estimate_plan(struct rb_search *search, struct rb_plan_result *result, struct rb_plan_stage *out_stages,
                      struct rb_err *err)
{
    struct rb_plan_stage stages[RB_LIMIT_STAGES];
    struct rb_plan_nodes nodes[RB_LIMIT_STAGES];
    struct rb_plan_early early[RB_LIMIT_STAGES];
    if (out_stages && !search->asynchronous && decides_while_it_runs(search, &result->best))
        return rb_engine_estimate(search, &result->best, search->req->samples, false, &result->best.estimate,
                                  out_stages, err);
    if (!result->early.any)
        return rb_estimate_candidate(search, &result->best, out_stages, err);
    rb_candidate_stages(search->scenario, &result->best, stages, nodes);
    rb_early_apply(&result->best, &result->early, stages, early);
    return from_replicates(search, &result->best, "nodes are requested before they are needed", stages, out_stages,
                           err);
}
