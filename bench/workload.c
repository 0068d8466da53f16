#include "bench/workload.h"

#include "base/document/doc.h"
#include "profiles/job/keys.h"

#include <stdio.h>
#include <string.h>

static bool open_doc(const char *folder, const char *name, struct rb_doc *out, struct rb_err *err)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return rb_doc_read(out, path, err);
}

static bool read_profile(struct workload *w, const char *folder, struct rb_err *err)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    return open_doc(folder, "profile.yaml", &doc, err) &&
           rb_profile_read(doc.root, NULL, "profile", &w->arena, &w->profile, err);
}

static bool read_prices(struct workload *w, const char *folder, struct rb_err *err)
{
    char path[4096];
    struct rb_csv csv;
    snprintf(path, sizeof path, "%s/prices.csv", folder);
    if (!rb_csv_read(&csv, path, err))
        return false;
    const bool ok = rb_catalog_from_csv(&csv, &w->arena, &w->catalog, err);
    rb_csv_finish(&csv);
    return ok;
}

static bool read_stage(struct workload *w, const struct rb_node *node, struct rb_err *err)
{
    static const char *const keys[] = {"trials", "iterations", "gpus_per_trial", "nodes", NULL};
    struct rb_map m;
    int iterations;
    struct rb_plan_stage *stage = &w->stages[w->n_stages];
    struct rb_plan_nodes *nodes = &w->nodes[w->n_stages];
    *stage = (struct rb_plan_stage){.trials_per_gpu = 1, .nodes = nodes, .n_nodes = 1};
    if (!rb_keys_begin(&m, node, keys, err) ||
        !rb_keys_count(&m, "trials", 1, RB_LIMIT_TRIALS, 1, &stage->trials, err) ||
        !rb_keys_count(&m, "iterations", 1, RB_LIMIT_RESOURCE, 1, &iterations, err) ||
        !rb_keys_count(&m, "gpus_per_trial", 1, RB_LIMIT_NODES, 1, &stage->gpus_per_trial, err) ||
        !rb_keys_count(&m, "nodes", 1, RB_LIMIT_NODES, 1, &nodes->count, err))
        return false;
    if (w->n_stages > 0)
        stage->resource_start = stage[-1].resource_end;
    stage->resource_end = stage->resource_start + iterations;
    w->n_stages++;
    w->n_trials += stage->trials;
    return true;
}

static bool read_plan(struct workload *w, const char *folder, struct rb_err *err)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    struct rb_map m;
    const struct rb_node *list;
    if (!open_doc(folder, "plan.yaml", &doc, err) || !rb_map_begin(&m, doc.root, err) ||
        !rb_map_need(&m, "stages", &list, err) || !rb_map_end(&m, err) || !rb_node_list(list, err))
        return false;
    if (list->n_children < 1 || list->n_children > RB_LIMIT_STAGES)
        return rb_node_refuse(list, err, RB_E_PLAN_STAGES, "expected 1..%d stages, got %d", RB_LIMIT_STAGES,
                              list->n_children);
    for (const struct rb_node *node = list->first; node; node = node->next) {
        if (!read_stage(w, node, err))
            return false;
    }
    return true;
}

// The plan's stages stand for the job's rungs, whose resources the study's workloads do not follow.
static bool adopt_stages(struct workload *w, struct rb_err *err)
{
    if (w->scenario.stages.n != w->n_stages)
        return rb_err_set(err, RB_E_PLAN_STAGES, "plan.yaml has %d stages, job.yaml %d", w->n_stages,
                          w->scenario.stages.n);
    for (int i = 0; i < w->n_stages; i++) {
        const struct rb_plan_stage *stage = &w->stages[i];
        w->scenario.stages.rungs[i] = (struct rb_rung){stage->trials, stage->resource_start, stage->resource_end};
    }
    return true;
}

bool workload_read(struct workload *w, const char *folder, uint64_t seed, struct rb_err *err)
{
    char path[4096];
    *w = (struct workload){0};
    rb_arena_init(&w->arena);
    snprintf(path, sizeof path, "%s/job.yaml", folder);
    if (rb_job_load(path, NULL, 0, &w->arena, &w->job, err) && read_profile(w, folder, err) &&
        read_prices(w, folder, err) && read_plan(w, folder, err) &&
        rb_scenario_init(&w->scenario, &w->job, &w->profile, w->catalog.offers, w->catalog.n_offers, &w->catalog, seed,
                         err)) {
        if (adopt_stages(w, err))
            return true;
        rb_scenario_finish(&w->scenario);
    }
    rb_arena_finish(&w->arena);
    return false;
}

void workload_finish(struct workload *w)
{
    rb_scenario_finish(&w->scenario);
    rb_arena_finish(&w->arena);
}

static void describe_dist(const char *name, const struct rb_dist *d)
{
    printf("%s %s %.17g %.17g\n", name, rb_dist_kind_name(d->kind), d->mean, d->cv);
}

bool workload_describe(const struct workload *w, struct rb_err *err)
{
    const struct rb_offer *offer = &w->scenario.offers[0];
    describe_dist("factor", &w->profile.between);
    describe_dist("queue", &w->scenario.sim_offers[0].provisioning->queue_s);
    describe_dist("init", &w->scenario.sim_offers[0].provisioning->init_s);
    printf("node %d %.6f\n", offer->gpus, (double)offer->rate.uusd_per_hour / (double)RB_UUSD);
    for (int i = 0; i < w->n_stages; i++) {
        const struct rb_plan_stage *stage = &w->stages[i];
        double unit_s;
        if (!rb_scenario_unit_s(&w->scenario, 0, stage->gpus_per_trial, &unit_s, err))
            return false;
        printf("stage %d %.17g %d %d\n", stage->trials, unit_s * (double)(stage->resource_end - stage->resource_start),
               stage->gpus_per_trial, stage->nodes[0].count);
    }
    return true;
}
