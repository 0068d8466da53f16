// Any bytes as plan.json: refused with a place, or a plan that reads back from its own text to the same bytes, that an
// engine takes, and that (where it is small) virtual time carries out to the end or to an error. Digests are taken as zeros,
// so that changed jobs and profiles get through to the rest.
#include "doc_check.h"
#include "fuzz.h"

#include "engine/core/engine.h"
#include "simulator/model/evaluate.h"
#include "simulator/world/world.h"

#include <stdlib.h>
#include <string.h>

#define MAX_WORK 3000 // trials times units: more only takes longer

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void zeros(const void *bytes, size_t n, char out_hex[65])
{
    (void)bytes;
    (void)n;
    memset(out_hex, '0', 64);
    out_hex[64] = '\0';
}

static void write_plan(const struct rb_plan *plan, struct rb_buf *out)
{
    struct rb_json j;
    rb_json_init(&j, out, false);
    rb_plan_write(plan, &j);
}

static void check_fixed_point(const struct rb_plan *plan, struct rb_arena *arena)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    RB_AUTO(rb_buf_finish) struct rb_buf again = RB_BUF_INIT;
    struct rb_doc doc;
    struct rb_plan back;
    write_plan(plan, &text);
    require(rb_doc_parse_json(&doc, "again.json", rb_buf_str(&text), text.len, NULL));
    require(rb_plan_read(doc.root, zeros, arena, &back, NULL));
    rb_doc_finish(&doc);
    write_plan(&back, &again);
    require(strcmp(rb_buf_str(&text), rb_buf_str(&again)) == 0);
}

static bool is_small(const struct rb_plan *plan)
{
    int64_t work = 0;
    for (int i = 0; i < plan->n_stages; i++) {
        const struct rb_plan_stage *s = &plan->stages[i];
        const int64_t units = s->resource_end - s->resource_start;
        if (units > MAX_WORK || rb_plan_stage_node_count(s) > 100)
            return false;
        work += s->trials * (units + 1);
        for (int k = 0; k < s->n_early; k++)
            work += s->early[k].count;
    }
    return work <= MAX_WORK;
}

static void carry_out(const struct rb_plan *plan)
{
    const struct rb_world_options opt = {.deadline_us = plan->deadline_us, .budget_uusd = -1};
    struct rb_scenario scenario;
    struct rb_world_result world;
    struct rb_replicate fast;
    struct rb_err err = {0};
    if (!rb_scenario_init(&scenario, plan->job, plan->profile, plan->offers, plan->n_offers, plan->catalog, plan->seed,
                          &err)) {
        require(err.message[0]);
        return;
    }
    struct rb_workspace *ws = rb_workspace_create();
    const bool ran = rb_replicate_run(&scenario, plan->stages, plan->n_stages, 0, ws, &fast, &err);
    require(ran || err.message[0]);
    if (rb_world_run(&scenario, plan, &opt, &world, &err) && ran && world.outcome == RB_JOB_COMPLETE &&
        strcmp(plan->policy, "elastic") == 0)
        require(world.time_us == fast.time_us && world.cost_uusd == fast.cost_uusd);
    rb_workspace_destroy(ws);
    rb_scenario_finish(&scenario);
}

static void check_plan(const struct rb_plan *plan, struct rb_arena *arena)
{
    struct rb_engine *engine;
    check_fixed_point(plan, arena);
    require(rb_engine_create(plan, &engine, NULL));
    rb_engine_destroy(engine);
    if (is_small(plan))
        carry_out(plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct rb_doc doc;
    struct rb_err err = {0};
    if (!rb_doc_parse_json(&doc, "plan.json", (const char *)bytes, n, &err)) {
        check_error(&err, "plan.json");
        return 0;
    }
    struct rb_arena arena;
    struct rb_plan plan;
    rb_arena_init(&arena);
    if (rb_plan_read(doc.root, zeros, &arena, &plan, &err))
        check_plan(&plan, &arena);
    else
        check_error(&err, "plan.json");
    rb_arena_finish(&arena);
    rb_doc_finish(&doc);
    return 0;
}
