#include "engine/plan/plan_read.h"

#include "engine/core/placement.h"
#include "engine/core/rungs.h"
#include "profiles/catalog/infra.h"

#include <string.h>

static bool read_summary(struct rb_map *parent, const struct rb_plan *plan, const char *key, struct rb_quantiles *out,
                         struct rb_err *err)
{
    const struct rb_node *node;
    struct rb_map m;
    struct rb_quantiles q = {0};
    if (!rb_map_need(parent, key, &node, err))
        return false;
    if (plan->unpredicted)
        return node->kind == RB_NODE_NULL ||
               rb_node_refuse(node, err, RB_E_PLAN_ESTIMATE, "expected null, as the plan has no estimate");
    if (!rb_map_begin(&m, node, err) || !rb_map_need_int(&m, "mean", 0, INT64_MAX, &q.mean, err) ||
        !rb_map_need_int(&m, "p50", 0, INT64_MAX, &q.p50, err) ||
        !rb_map_need_int(&m, "p95", 0, INT64_MAX, &q.p95, err) || !rb_map_end(&m, err))
        return false;
    if (q.p50 > q.p95)
        return rb_node_refuse(node, err, RB_E_PLAN_ESTIMATE, "expected p50, p95 in ascending order");
    *out = q;
    return true;
}

static bool read_early(const struct rb_node *list, struct rb_arena *arena, const struct rb_plan *plan,
                       struct rb_plan_stage *stage, struct rb_err *err)
{
    struct rb_plan_early *early = rb_arena_array(arena, (size_t)list->n_children, sizeof *early);
    int n = 0;
    for (const struct rb_node *item = list->first; item; item = item->next, n++) {
        struct rb_map m;
        if (!rb_map_begin(&m, item, err) || !rb_plan_need_offer(&m, plan, &early[n].offer, err) ||
            !rb_map_need_count(&m, "count", 1, plan->job->resources.max_nodes, &early[n].count, err) ||
            !rb_map_need_int(&m, "at_us", 0, INT64_MAX / 4, &early[n].at_us, err) || !rb_map_end(&m, err))
            return false;
        if (n > 0 && early[n].at_us < early[n - 1].at_us)
            return rb_node_refuse(item, err, RB_E_ORDER, "expected at_us in ascending order");
    }
    stage->early = early;
    stage->n_early = n;
    return true;
}

static bool same_type_and_region(const struct rb_offer *a, const struct rb_offer *b)
{
    return strcmp(a->instance_type, b->instance_type) == 0 && a->gpus == b->gpus &&
           rb_infra_same_region(a->infra, b->infra);
}

static bool check_entry(const struct rb_node *item, const struct rb_plan *plan, const struct rb_plan_nodes *nodes,
                        int n, struct rb_err *err)
{
    for (int i = 0; i < n; i++) {
        if (nodes[i].offer == nodes[n].offer)
            return rb_node_refuse(item, err, RB_E_LIST_REPEATED,
                                  "nodes[%d] is the same offer: put the two counts together", i);
    }
    if (!same_type_and_region(&plan->offers[nodes[0].offer], &plan->offers[nodes[n].offer]))
        return rb_node_refuse(item, err, RB_E_PLAN_STAGES, "expected the instance type and region of nodes[0]");
    return true;
}

static bool read_nodes(const struct rb_node *list, struct rb_arena *arena, const struct rb_plan *plan,
                       struct rb_plan_stage *stage, struct rb_err *err)
{
    struct rb_plan_nodes *nodes = rb_arena_array(arena, (size_t)list->n_children, sizeof *nodes);
    const int max_nodes = plan->job->resources.max_nodes;
    int n = 0, total = 0;
    if (list->n_children < 1)
        return rb_node_refuse(list, err, RB_E_LIST_LENGTH, "expected at least one entry");
    for (const struct rb_node *item = list->first; item; item = item->next, n++) {
        struct rb_map m;
        if (!rb_map_begin(&m, item, err) || !rb_plan_need_offer(&m, plan, &nodes[n].offer, err) ||
            !rb_map_need_count(&m, "count", 1, max_nodes, &nodes[n].count, err) || !rb_map_end(&m, err) ||
            !check_entry(item, plan, nodes, n, err))
            return false;
        if (nodes[n].count > max_nodes - total)
            return rb_node_refuse(list, err, RB_E_PLAN_STAGES, "expected at most %d nodes in all (resources.max_nodes)",
                                  max_nodes);
        total += nodes[n].count;
    }
    stage->nodes = nodes;
    stage->n_nodes = n;
    return true;
}

// Trials, resources and order follow from the job: a plan with others was made for another job.
static bool read_rung(struct rb_map *m, int index, const struct rb_rung *rung, struct rb_plan_stage *out,
                      struct rb_err *err)
{
    const struct rb_node *node;
    int64_t stage;
    if (!rb_map_need(m, "stage", &node, err) || !rb_node_int(node, 0, RB_LIMIT_STAGES - 1, &stage, err))
        return false;
    if (stage != index)
        return rb_node_refuse(node, err, RB_E_PLAN_STAGES, "expected %d, got %d: stages must be in order", index,
                              (int)stage);
    if (!rb_map_need_count(m, "trials", 1, RB_LIMIT_TRIALS, &out->trials, err) ||
        !rb_map_need_int(m, "resource_start", 0, INT64_MAX, &out->resource_start, err) ||
        !rb_map_need_int(m, "resource_end", 0, INT64_MAX, &out->resource_end, err))
        return false;
    if (out->trials == rung->trials && out->resource_start == rung->resource_start &&
        out->resource_end == rung->resource_end)
        return true;
    return rb_node_refuse(m->node, err, RB_E_PLAN_STAGES,
                          "expected %d trials from %lld to %lld from the job's scheduler, got %d from %lld to %lld: "
                          "make the plan again with rbplan",
                          rung->trials, (long long)rung->resource_start, (long long)rung->resource_end, out->trials,
                          (long long)out->resource_start, (long long)out->resource_end);
}

static bool check_size(const struct rb_node *node, const struct rb_plan *plan, const struct rb_plan_stage *s,
                       struct rb_err *err)
{
    const int per_node = rb_plan_stage_gpus_per_node(plan, s);
    const int max_nodes = plan->job->trial.max_nodes;
    if ((int64_t)s->gpus_per_trial > (int64_t)per_node * max_nodes)
        return rb_node_refuse(node, err, RB_E_PLAN_STAGES,
                              "gpus_per_trial: expected at most %lld (trial.max_nodes x %d GPUs), got %d",
                              (long long)per_node * max_nodes, per_node, s->gpus_per_trial);
    const int slots = rb_placement_capacity(rb_plan_stage_node_count(s), per_node, s->gpus_per_trial);
    if (slots < 1)
        return rb_node_refuse(node, err, RB_E_PLAN_STAGES, "gpus_per_trial: %d do not fit %d nodes of %d GPUs",
                              s->gpus_per_trial, rb_plan_stage_node_count(s), per_node);
    const int waves = (s->trials + slots - 1) / slots;
    if (s->waves != waves)
        return rb_node_refuse(node, err, RB_E_PLAN_STAGES, "waves: expected %d (%d trials in %d slots), got %d", waves,
                              s->trials, slots, s->waves);
    return true;
}

static bool read_stage(const struct rb_node *node, int index, const struct rb_rung *rung, struct rb_arena *arena,
                       const struct rb_plan *plan, struct rb_plan_stage *out, struct rb_err *err)
{
    struct rb_map m;
    const struct rb_node *early, *nodes;
    struct rb_plan_stage s = {0};
    if (!rb_map_begin(&m, node, err) || !read_rung(&m, index, rung, &s, err) ||
        !rb_map_need_count(&m, "gpus_per_trial", 1, RB_LIMIT_NODES, &s.gpus_per_trial, err) ||
        !rb_map_need_count(&m, "trials_per_gpu", 1, 1, &s.trials_per_gpu, err) ||
        !rb_map_need_count(&m, "waves", 1, RB_LIMIT_TRIALS, &s.waves, err) ||
        !rb_map_need_list(&m, "early", &early, err) || !read_early(early, arena, plan, &s, err) ||
        !rb_map_need_list(&m, "nodes", &nodes, err) || !read_nodes(nodes, arena, plan, &s, err) ||
        !read_summary(&m, plan, "time_us", &s.time_us, err) ||
        !read_summary(&m, plan, "cost_uusd", &s.cost_uusd, err) || !rb_map_end(&m, err) ||
        !check_size(node, plan, &s, err))
        return false;
    *out = s;
    return true;
}

bool rb_plan_read_stages(const struct rb_node *list, struct rb_arena *arena, struct rb_plan *plan, struct rb_err *err)
{
    struct rb_rung_table table;
    struct rb_err why;
    if (!rb_node_list(list, err))
        return false;
    if (!rb_rungs_of_job(plan->job, &table, &why))
        return rb_node_refuse(list, err, RB_E_PLAN_STAGES, "the job's stages are unknown: %s", why.message);
    if (list->n_children != table.n)
        return rb_node_refuse(list, err, RB_E_PLAN_STAGES, "expected %d stages from the job's scheduler, got %d",
                              table.n, list->n_children);
    struct rb_plan_stage *stages = rb_arena_array(arena, (size_t)table.n, sizeof *stages);
    int n = 0;
    for (const struct rb_node *item = list->first; item; item = item->next, n++) {
        if (!read_stage(item, n, &table.rungs[n], arena, plan, &stages[n], err))
            return false;
    }
    plan->stages = stages;
    plan->n_stages = n;
    return true;
}
