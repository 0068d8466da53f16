#include "planner/request/stay.h"
#include "planner/search/search.h"

#include "engine/core/policy.h"

#include <string.h>

const struct rb_planner *const rb_planners[] = {
    &rb_planner_greedy, &rb_planner_mean, &rb_planner_naive, &rb_planner_optimal, &rb_planner_static, NULL,
};

const struct rb_planner *rb_planner_find(const char *name)
{
    for (int i = 0; rb_planners[i]; i++) {
        if (strcmp(rb_planners[i]->name, name) == 0)
            return rb_planners[i];
    }
    return NULL;
}

const char *rb_planner_default(const struct rb_job *job)
{
    if (job->on_average)
        return rb_planner_mean.name;
    const struct rb_policy *policy = rb_policy_find(job->policy);
    return policy && policy->keeps_cluster ? rb_planner_static.name : rb_planner_optimal.name;
}

bool rb_planner_check(const struct rb_job *job, const char *planner, const char *many, struct rb_err *err)
{
    const struct rb_policy *policy = rb_policy_find(job->policy);
    const bool is_static = policy && policy->keeps_cluster, pareto = many && strcmp(many, "pareto") == 0;
    const bool other = strcmp(planner, rb_planner_default(job)) != 0;
    if (job->on_average && is_static)
        return rb_err_set(err, RB_E_OPTIONS_CONFLICT,
                          "confidence: mean has a planner of its own, and policy: %s another: "
                          "give a probability, or leave policy out",
                          job->policy);
    if (job->on_average && (other || many))
        return rb_err_set(err, RB_E_OPTIONS_CONFLICT,
                          "--confidence mean has a planner of its own, which plans once: leave out --planner, --pareto, "
                          "--what-if and --best-for, or give a probability: --confidence 0.95");
    if (is_static && (other || pareto))
        return rb_err_set(err, RB_E_OPTIONS_CONFLICT,
                          "policy: %s keeps the nodes of the first stage throughout, so only static plans are what "
                          "it will carry out: leave out --%s, or add --set policy=elastic",
                          job->policy, pareto ? "pareto" : "planner");
    if (many && rb_stay_n_places(job) > 1)
        return rb_err_set(err, RB_E_DATA_STAY,
                          "data.stay: --%s plans for one place, and resources.infra names several: name one of them, as "
                          "with --set resources.infra=[aws]",
                          many);
    return true;
}

struct rb_plan_request rb_plan_request_of(const struct rb_job *job, const struct rb_profile *profile,
                                          const struct rb_catalog *catalog)
{
    return (struct rb_plan_request){
        .job = job,
        .profile = profile,
        .catalog = catalog,
        .deadline_us = job->deadline_us,
        .budget_uusd = job->budget_uusd,
        .confidence = job->confidence,
        .objective = job->objective,
        .seed = job->seed,
        .samples = rb_scorer_of(job)->samples,
        .threads = 1,
        .early = true,
    };
}

static int compare_int64(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare_choices(const struct rb_candidate *a, const struct rb_candidate *b)
{
    for (int i = 0; i < a->n_stages && i < b->n_stages; i++) {
        const struct rb_choice *x = &a->stages[i], *y = &b->stages[i];
        if (x->offer != y->offer)
            return x->offer < y->offer ? -1 : 1;
        if (x->nodes != y->nodes)
            return x->nodes < y->nodes ? -1 : 1;
        if (x->gpus != y->gpus)
            return x->gpus < y->gpus ? -1 : 1;
    }
    return 0;
}

int rb_candidate_compare(const struct rb_candidate *a, const struct rb_candidate *b, enum rb_objective objective)
{
    int by_time = compare_int64(a->estimate.time_us.mean, b->estimate.time_us.mean);
    int by_cost = compare_int64(a->estimate.cost_uusd.mean, b->estimate.cost_uusd.mean);
    int first = objective == RB_OBJECTIVE_MIN_COST ? by_cost : by_time;
    int second = objective == RB_OBJECTIVE_MIN_COST ? by_time : by_cost;
    if (first != 0)
        return first;
    return second != 0 ? second : compare_choices(a, b);
}

bool rb_candidate_same_choices(const struct rb_candidate *a, const struct rb_candidate *b)
{
    return compare_choices(a, b) == 0;
}
