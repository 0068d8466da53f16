#include "executor/run/progress.h"

#include "engine/core/policy.h"
#include "engine/core/tuner.h"

#include <math.h>

bool rb_progress_has_ended(const struct rb_trial *t, int64_t resource_end)
{
    return t->state == RB_TRIAL_PAUSED ? t->resource >= resource_end
                                       : t->state != RB_TRIAL_WAITING && t->state != RB_TRIAL_RUNNING;
}

bool rb_progress_has_price(const struct rb_plan *plan)
{
    for (int i = 0; i < plan->n_offers; i++)
        if (plan->offers[i].rate.uusd_per_hour != 0)
            return true;
    return false;
}

void rb_progress_of_engine(const struct rb_engine *e, const struct rb_plan *plan, struct rb_progress *out)
{
    const struct rb_tuner *tuner = rb_tuner_find(plan->job->scheduler.type);
    const struct rb_policy *policy = rb_policy_find(plan->policy);
    *out = (struct rb_progress){
        .over = rb_engine_outcome(e, NULL) != RB_JOB_RUNNING,
        .stage = rb_engine_stage(e),
        .n_stages = plan->n_stages,
        .on_demand = tuner && tuner->on_demand,
        .is_free = !rb_progress_has_price(plan),
        .is_lent = policy && policy->on_lent_gpus,
        .foreseen_if = policy ? policy->foreseen_if : NULL,
        .metric_name = plan->job->metric_name,
        .best_trial = rb_engine_best(e),
        .spent_uusd = -1,
        .elapsed_us = -1,
        .deadline_us = -1,
        .budget_uusd = -1,
    };
    rb_progress_set_unknown(out, "it was not asked for");
    out->trials = out->stage >= 0 ? plan->stages[out->stage].trials : 0;
    for (int i = 0; i < rb_engine_n_trials(e); i++) {
        const struct rb_trial *t = rb_engine_trial(e, i);
        out->n_by_state[t->state]++;
        out->trials_ended += out->stage >= 0 && t->stage == out->stage &&
                             rb_progress_has_ended(t, plan->stages[out->stage].resource_end);
    }
    for (int i = 0; i < rb_engine_n_nodes(e); i++) {
        const struct rb_owned_node *n = rb_engine_node(e, i);
        out->nodes += n->state != RB_OWNED_ENDED;
        out->nodes_ready += n->state == RB_OWNED_READY;
    }
    out->best_metric = out->best_trial >= 0 ? rb_engine_trial(e, out->best_trial)->metric : NAN;
}

void rb_progress_set_unknown(struct rb_progress *p, const char *why)
{
    p->end_p50_us = p->end_p95_us = p->cost_mean_uusd = p->cost_p95_uusd = -1;
    p->p_on_time = p->p_in_budget = p->pace = p->pace_low = p->pace_high = NAN;
    p->is_planned = false;
    p->why_unknown = why;
}
