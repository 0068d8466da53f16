#include "replicate_oracle.h"

#include <stdlib.h>

struct choices {
    struct rb_choice items[256];
    int n;
};

static struct choices list_choices(const struct rb_scenario *s)
{
    struct choices list = {.n = 0};
    for (int offer = 0; offer < s->n_offers; offer++) {
        int sizes[RB_LIMIT_GPUS_PER_NODE], n = rb_planner_sizes(s, offer, sizes), per_node = s->offers[offer].gpus;
        for (int nodes = 1; nodes <= s->job->resources.max_nodes; nodes++) {
            for (int i = 0; i < n; i++) {
                if ((sizes[i] + per_node - 1) / per_node <= nodes)
                    list.items[list.n++] = (struct rb_choice){offer, sizes[i], nodes};
            }
        }
    }
    return list;
}

static void run_plan(struct replicate_oracle *o, const struct rb_scenario *s, int plan, struct rb_workspace *ws)
{
    struct rb_plan_stage stages[RB_LIMIT_STAGES] = {0};
    struct rb_plan_nodes nodes[RB_LIMIT_STAGES];
    struct rb_replicate r;
    struct rb_err err;
    const struct rb_candidate *c = &o->plans[plan];
    for (int i = 0; i < c->n_stages; i++) {
        nodes[i] = (struct rb_plan_nodes){c->stages[i].offer, c->stages[i].nodes};
        stages[i].trials = s->stages.rungs[i].trials;
        stages[i].resource_start = s->stages.rungs[i].resource_start;
        stages[i].resource_end = s->stages.rungs[i].resource_end;
        stages[i].gpus_per_trial = c->stages[i].gpus;
        stages[i].trials_per_gpu = 1;
        stages[i].nodes = &nodes[i];
        stages[i].n_nodes = 1;
    }
    for (int k = 0; k < o->n_samples; k++) {
        if (!rb_replicate_run(s, stages, c->n_stages, (uint32_t)k, ws, &r, &err))
            fail_msg("%s", err.message);
        o->time_us[plan * o->n_samples + k] = r.time_us;
        o->cost_uusd[plan * o->n_samples + k] = r.cost_uusd;
    }
}

bool replicate_oracle_init(struct replicate_oracle *o, const struct rb_case *c, int max_plans, int n_samples)
{
    struct rb_offer *offers;
    struct rb_scenario s;
    struct rb_arena arena;
    struct rb_err err;
    int n_offers;
    rb_arena_init(&arena);
    if (!rb_planner_offers(&c->job, &c->catalog, &arena, &offers, &n_offers, &err) ||
        !rb_scenario_init(&s, &c->job, &c->profile, offers, n_offers, &c->catalog, c->req.seed, &err))
        fail_msg("%s", err.message);
    struct choices list = list_choices(&s);
    double n = 1;
    for (int i = 0; i < s.stages.n; i++)
        n *= list.n;
    *o = (struct replicate_oracle){.n_samples = n_samples};
    bool small = n >= 1 && n <= max_plans;
    if (small) {
        size_t n_plans = (size_t)n, n_values = n_plans * (size_t)o->n_samples;
        struct rb_workspace *ws = rb_workspace_create();
        o->plans = calloc(n_plans, sizeof *o->plans);
        o->time_us = calloc(n_values, sizeof *o->time_us);
        o->cost_uusd = calloc(n_values, sizeof *o->cost_uusd);
        for (o->n_plans = 0; o->n_plans < (int)n; o->n_plans++) {
            struct rb_candidate *plan = &o->plans[o->n_plans];
            plan->n_stages = s.stages.n;
            for (int i = 0, rest = o->n_plans; i < s.stages.n; i++, rest /= list.n)
                plan->stages[i] = list.items[rest % list.n];
            run_plan(o, &s, o->n_plans, ws);
        }
        rb_workspace_destroy(ws);
    }
    rb_scenario_finish(&s);
    rb_arena_finish(&arena);
    return small;
}

void replicate_oracle_finish(struct replicate_oracle *o)
{
    free(o->plans);
    free(o->time_us);
    free(o->cost_uusd);
}

static bool keeps(const struct rb_plan_request *req, int64_t time_us, int64_t cost_uusd)
{
    return (req->deadline_us < 0 || time_us <= req->deadline_us) &&
           (req->budget_uusd < 0 || cost_uusd <= req->budget_uusd);
}

static bool feasible(const struct replicate_oracle *o, int plan, const struct rb_plan_request *req)
{
    int kept = 0;
    for (int k = 0; k < o->n_samples; k++)
        kept += keeps(req, o->time_us[plan * o->n_samples + k], o->cost_uusd[plan * o->n_samples + k]);
    return (double)kept / o->n_samples >= req->confidence;
}

int64_t replicate_oracle_best(const struct replicate_oracle *o, const struct rb_plan_request *req)
{
    const int64_t *values = req->objective == RB_OBJECTIVE_MIN_COST ? o->cost_uusd : o->time_us;
    double best = -1;
    for (int plan = 0; plan < o->n_plans; plan++) {
        double sum = 0;
        for (int k = 0; k < o->n_samples; k++)
            sum += (double)values[plan * o->n_samples + k];
        if (feasible(o, plan, req) && (best < 0 || sum < best))
            best = sum;
    }
    return best < 0 ? -1 : (int64_t)(best / o->n_samples);
}

int64_t replicate_oracle_least_deadline(const struct replicate_oracle *o, const struct rb_plan_request *req)
{
    struct rb_plan_request at = *req;
    int64_t best = -1;
    for (int plan = 0; plan < o->n_plans; plan++) {
        for (int k = 0; k < o->n_samples; k++) {
            int64_t value = o->time_us[plan * o->n_samples + k];
            at.deadline_us = value;
            if ((best < 0 || value < best) && feasible(o, plan, &at))
                best = value;
        }
    }
    return best;
}

int64_t replicate_oracle_least_budget(const struct replicate_oracle *o, const struct rb_plan_request *req)
{
    struct rb_plan_request at = *req;
    int64_t best = -1;
    for (int plan = 0; plan < o->n_plans; plan++) {
        for (int k = 0; k < o->n_samples; k++) {
            int64_t value = o->cost_uusd[plan * o->n_samples + k];
            at.budget_uusd = value;
            if ((best < 0 || value < best) && feasible(o, plan, &at))
                best = value;
        }
    }
    return best;
}
