#include "simulator/model/program.h"

#include "engine/core/placement.h"

static bool check_offer(const struct rb_scenario *s, int offer, const struct rb_plan_stage *stage, bool same_size,
                        struct rb_err *err)
{
    if (offer < 0 || offer >= s->n_offers)
        return rb_err_set(err, RB_E_SCENARIO_SIZE, "offer %d is not one of %d", offer, s->n_offers);
    if (!s->sim_offers[offer].usable)
        return rb_err_set(err, RB_E_NO_OFFER, "%s", s->sim_offers[offer].why_not);
    if (same_size && s->offers[offer].gpus != s->offers[stage->nodes[0].offer].gpus)
        return rb_err_set(err, RB_E_SCENARIO_SIZE, "expected nodes of one instance type");
    return true;
}

static bool check_nodes(const struct rb_scenario *s, const struct rb_plan_stage *stage, struct rb_err *err)
{
    if (stage->n_nodes < 1)
        return rb_err_set(err, RB_E_SCENARIO_SIZE, "expected at least one node");
    for (int i = 0; i < stage->n_nodes; i++) {
        if (!check_offer(s, stage->nodes[i].offer, stage, i > 0, err))
            return false;
        if (stage->nodes[i].count < 1)
            return rb_err_set(err, RB_E_SCENARIO_SIZE, "expected a node count above 0");
    }
    for (int i = 0; i < stage->n_early; i++) {
        const struct rb_plan_early *early = &stage->early[i];
        if (!check_offer(s, early->offer, stage, false, err))
            return false;
        if (early->count < 1 || early->at_us < 0 || (i > 0 && early->at_us < stage->early[i - 1].at_us))
            return rb_err_set(err, RB_E_SCENARIO_SIZE,
                              "expected early requests of at least one node, in order of at_us");
    }
    return true;
}

static bool may_be_lost(const struct rb_scenario *s, const struct rb_plan_stage *stage)
{
    for (int i = 0; i < stage->n_nodes; i++) {
        if (rb_provisioning_may_lose(s->sim_offers[stage->nodes[i].offer].provisioning))
            return true;
    }
    for (int i = 0; i < stage->n_early; i++) {
        if (rb_provisioning_may_lose(s->sim_offers[stage->early[i].offer].provisioning))
            return true;
    }
    return false;
}

static double save_every_s(const struct rb_scenario *s, const struct rb_plan_stage *stage)
{
    const double every_s = s->sim_offers[stage->nodes[0].offer].save_every_s;
    for (int i = 1; i < stage->n_nodes; i++) {
        const double other_s = s->sim_offers[stage->nodes[i].offer].save_every_s;
        if (other_s < every_s || other_s > every_s)
            return RB_SAVES_DIFFER;
    }
    return every_s;
}

// The stage's offers are of one type, hence of one accelerator; otherwise the slowest would be ambiguous.
static bool compile_stage(const struct rb_scenario *s, const struct rb_plan_stage *stage, struct rb_stage_program *out,
                          struct rb_err *err)
{
    if (!check_nodes(s, stage, err))
        return false;
    const int offer = stage->nodes[0].offer, per_node = s->offers[offer].gpus, gpus = stage->gpus_per_trial;
    if (gpus < 1 || stage->trials < 1 || stage->resource_end < stage->resource_start)
        return rb_err_set(err, RB_E_SCENARIO_SIZE, "expected trials, GPUs for each and resource to train");
    int n_nodes = 0;
    for (int i = 0; i < stage->n_nodes; i++)
        n_nodes += stage->nodes[i].count;
    if (rb_placement_capacity(n_nodes, per_node, gpus) < 1)
        return rb_err_set(err, RB_E_SCENARIO_SIZE, "a trial with %d GPUs does not fit %d nodes of %d GPUs", gpus,
                          n_nodes, per_node);
    *out = (struct rb_stage_program){
        .plan = stage,
        .n_trials = stage->trials,
        .units = rb_scenario_units(s, stage->resource_start, stage->resource_end),
        .save_every_s = save_every_s(s, stage),
        .gpus_per_node = per_node,
        .trials_per_node = per_node / gpus,
        .nodes_per_trial = (gpus + per_node - 1) / per_node,
    };
    return rb_scenario_unit_s(s, offer, gpus, &out->unit_s, err);
}

static bool add_stage(struct rb_program *p, int index, const struct rb_plan_stage *plan, struct rb_err *err)
{
    struct rb_stage_program *stage = &p->stages[index];
    if (!compile_stage(p->scenario, plan, stage, err))
        return rb_err_prefix(err, "stages[%d]", index);
    p->loses_nodes |= may_be_lost(p->scenario, plan);
    if (stage->n_trials > p->max_trials)
        p->max_trials = stage->n_trials;
    if (stage->nodes_per_trial > p->max_nodes_per_trial)
        p->max_nodes_per_trial = stage->nodes_per_trial;
    return true;
}

static void begin(struct rb_program *p, const struct rb_scenario *s, int n_stages)
{
    p->scenario = s;
    p->n_stages = n_stages;
    p->loses_nodes = false;
    p->max_trials = p->max_nodes_per_trial = 1;
}

bool rb_program_compile(const struct rb_scenario *s, const struct rb_plan_stage *stages, int n_stages,
                        struct rb_program *out, struct rb_err *err)
{
    if (n_stages < 1 || n_stages > RB_LIMIT_STAGES)
        return rb_err_set(err, RB_E_SCENARIO_SIZE, "expected 1..%d stages, got %d", RB_LIMIT_STAGES, n_stages);
    begin(out, s, n_stages);
    for (int i = 0; i < n_stages; i++) {
        if (!add_stage(out, i, &stages[i], err))
            return false;
    }
    return true;
}

bool rb_program_compile_stage(const struct rb_scenario *s, int stage, const struct rb_plan_stage *plan,
                              struct rb_program *out, struct rb_err *err)
{
    begin(out, s, stage + 1);
    return add_stage(out, stage, plan, err);
}
