#include "views/run/dry_run.h"

#include "base/errors/log.h"
#include "simulator/forecast/forecast.h"
#include "simulator/world/world.h"
#include "views/live/progress.h"

#include <math.h>
#include <stdio.h>

struct dry_run {
    const struct rb_plan *plan;
    bool json;
};

static void print_event(const struct rb_event *event)
{
    RB_AUTO(rb_buf_finish) struct rb_buf line = RB_BUF_INIT;
    struct rb_json json;
    rb_json_init(&json, &line, false);
    rb_event_write(event, &json);
    printf("%s\n", rb_buf_str(&line));
}

static void observe(void *ctx, const struct rb_engine *e, const struct rb_event *event,
                    const struct rb_actions *actions)
{
    const struct dry_run *d = ctx;
    (void)e;
    if (d->json) {
        print_event(event);
        return;
    }
    RB_AUTO(rb_buf_finish) struct rb_buf line = RB_BUF_INIT;
    char at[32];
    rb_progress_event_write(event, d->plan, &line);
    printf("%12s  %s\n", rb_format_duration(event->time_us, at), rb_buf_str(&line));
    for (int i = 0; i < actions->n; i++) {
        rb_buf_clear(&line);
        rb_progress_action_write(&actions->items[i], d->plan, &line);
        if (line.len)
            printf("%12s  -> %s\n", "", rb_buf_str(&line));
    }
}

static void print_result(const struct rb_world_result *r, bool json)
{
    char time[32], cost[32];
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    struct rb_json j;
    if (!json) {
        printf("\nsimulated: %s, %s on %d node%s, %lld events; nothing was launched\n",
               rb_format_duration(r->time_us, time), rb_format_money(r->cost_uusd, cost), r->n_nodes,
               r->n_nodes == 1 ? "" : "s", (long long)r->n_events);
        return;
    }
    rb_json_init(&j, &text, false);
    rb_json_begin_object(&j);
    rb_json_kstring(&j, "format", "rb-dry-run/1");
    rb_json_kint(&j, "time_us", r->time_us);
    rb_json_kint(&j, "cost_uusd", r->cost_uusd);
    rb_json_kint(&j, "nodes", r->n_nodes);
    rb_json_kint(&j, "events", r->n_events);
    rb_json_end_object(&j);
    printf("%s\n", rb_buf_str(&text));
}

bool rb_run_dry(const struct rb_plan *plan, uint32_t replicate, bool json, struct rb_err *err)
{
    struct dry_run d = {.plan = plan, .json = json};
    struct rb_scenario scenario;
    struct rb_forecaster forecaster = {.scenario = &scenario, .plan = plan};
    struct rb_world_result result;
    const struct rb_world_options options = {
        .replicate = replicate,
        .observe = observe,
        .observe_ctx = &d,
        .deadline_us = plan->deadline_us,
        .budget_uusd = plan->budget_uusd,
        .advise = rb_forecast,
        .advise_ctx = &forecaster,
    };
    if (!rb_scenario_init(&scenario, plan->job, plan->profile, plan->offers, plan->n_offers, plan->catalog, plan->seed,
                          err))
        return false;
    if (!d.json)
        rb_info("virtual time: delays are drawn from the plan's profile, learning curves are made up");
    const bool ok = rb_world_run(&scenario, plan, &options, &result, err);
    rb_scenario_finish(&scenario);
    if (ok)
        print_result(&result, d.json);
    return ok && (fflush(stdout) == 0 || rb_err_set(err, RB_E_STDOUT, "cannot write to stdout"));
}
