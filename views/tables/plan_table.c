#include "views/tables/plan_table.h"

#include "engine/core/policy.h"
#include "profiles/job/job_trial.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { STAGE_COLUMNS = 10 };
#define COLUMNS_WITH(per_trial)                                                                                       \
    {                                                                                                                 \
        {"stage", true, 0}, {"trials", true, 0}, {"trained to", true, 3}, {per_trial, true, 0}, {"nodes", false, 0},  \
            {"waves", true, 1}, {"time p50", true, 0}, {"(p95)", true, 2}, {"cost p50", true, 0}, {"(p95)", true, 2}, \
    }
static const struct rb_text_column columns_of_gpus[STAGE_COLUMNS] = COLUMNS_WITH("GPUs/trial");
static const struct rb_text_column columns_of_cpus[STAGE_COLUMNS] = COLUMNS_WITH("CPUs/trial");

// The one place of all stages; NULL: there are several.
static const char *one_infra(const struct rb_plan *plan)
{
    const char *infra = NULL;
    for (int i = 0; i < plan->n_stages; i++) {
        for (int k = 0; k < plan->stages[i].n_nodes; k++) {
            const char *other = plan->offers[plan->stages[i].nodes[k].offer].infra;
            if (infra && strcmp(infra, other) != 0)
                return NULL;
            infra = other;
        }
    }
    return infra;
}

static void nodes_text(const struct rb_plan *plan, const struct rb_plan_stage *stage, struct rb_buf *out)
{
    const bool here = one_infra(plan) != NULL; // the heading names the place
    for (int i = 0; i < stage->n_nodes; i++) {
        const struct rb_offer *offer = &plan->offers[stage->nodes[i].offer];
        rb_buf_printf(out, "%s%d x %s%s%s%s", i > 0 ? " + " : "", stage->nodes[i].count, offer->instance_type,
                      rb_market_mark(offer->market), here ? "" : " in ", here ? "" : offer->infra);
    }
}

const char *rb_plan_money(const struct rb_plan *plan, int64_t uusd, char out[static 32])
{
    const int64_t cents = (uusd + RB_UUSD / 200) / (RB_UUSD / 100);
    if (plan->estimate.cost_uusd.mean < RB_UUSD || (cents == 0 && uusd > 0))
        return rb_format_money(uusd, out);
    snprintf(out, 32, "$%lld.%02lld", (long long)(cents / 100), (long long)(cents % 100));
    return out;
}

static void stage_row(const struct rb_plan *plan, int index, struct rb_text_table *t)
{
    const struct rb_plan_stage *stage = &plan->stages[index];
    struct rb_buf nodes = RB_BUF_INIT;
    char text[32];
    nodes_text(plan, stage, &nodes);
    rb_text_table_cell(t, "%d", index);
    rb_text_table_cell(t, "%d", stage->trials);
    rb_text_table_cell(t, "%lld -> %lld %s", (long long)stage->resource_start, (long long)stage->resource_end,
                       plan->job->scheduler.unit);
    rb_text_table_cell(t, "%d", stage->gpus_per_trial * rb_trial_unit(&plan->job->trial).each);
    rb_text_table_cell(t, "%s", rb_buf_str(&nodes));
    rb_text_table_cell(t, "%d", stage->waves);
    rb_text_table_cell(t, "%s", rb_format_duration(stage->time_us.p50, text));
    rb_text_table_cell(t, "(%s)", rb_format_duration(stage->time_us.p95, text));
    rb_text_table_cell(t, "%s", rb_plan_money(plan, stage->cost_uusd.p50, text));
    rb_text_table_cell(t, "(%s)", rb_plan_money(plan, stage->cost_uusd.p95, text));
    rb_buf_finish(&nodes);
}

static void heading(const struct rb_plan *plan, struct rb_buf *out)
{
    char text[32];
    const char *infra = one_infra(plan);
    rb_buf_printf(out, "%s%s%s, planned by %s", plan->job->name, infra ? " on " : "", infra ? infra : "",
                  plan->planner);
    if (plan->deadline_us >= 0)
        rb_buf_printf(out, ", deadline %s", rb_format_duration(plan->deadline_us, text));
    if (plan->budget_uusd >= 0)
        rb_buf_printf(out, ", budget %s", rb_format_money(rb_plan_whole_budget_uusd(plan), text));
    if (plan->deadline_us >= 0 || plan->budget_uusd >= 0)
        rb_buf_printf(out, ", confidence %.10g", plan->confidence);
    rb_buf_puts(out, "\n\n");
}

static const struct rb_plan_baseline *find_baseline(const struct rb_plan *plan, const char *name)
{
    for (int i = 0; i < plan->n_baselines; i++) {
        if (strcmp(plan->baselines[i].name, name) == 0)
            return &plan->baselines[i];
    }
    return NULL;
}

// Made by a planner that searches all plans, and proves its plan or gives a reason why not.
static bool is_searched(const struct rb_plan *plan)
{
    return strcmp(plan->planner, "optimal") == 0 || strcmp(plan->planner, "mean") == 0;
}

const char *rb_plan_probability(const struct rb_estimate *e, double p, int digits, char out[static 32])
{
    if (e->spread_unknown)
        snprintf(out, 32, "not known");
    else
        snprintf(out, 32, "%.*f", digits, p);
    return out;
}

const char *rb_plan_on_what(const struct rb_plan *plan)
{
    if (plan->profile->n_basis > 0)
        return rb_job_is_asynchronous(plan->job) ? " from a guess, on made-up learning curves" : " from a guess";
    return rb_job_is_asynchronous(plan->job) ? " on made-up learning curves" : "";
}

// "P(on time) 0.970", "P(on time and in budget) 0.961", or nothing without constraints.
static void probability_text(const struct rb_plan *plan, struct rb_buf *out)
{
    const bool timed = plan->deadline_us >= 0, paid = plan->budget_uusd >= 0;
    char text[32];
    if (!timed && !paid)
        return;
    rb_buf_printf(out, ", P(%s) %s%s%s",
                  timed && paid ? "on time and in budget"
                  : timed       ? "on time"
                                : "in budget",
                  rb_plan_probability(&plan->estimate, plan->estimate.p_both, 3, text),
                  plan->estimate.spread_unknown ? ": the profile has no spread" : "", rb_plan_on_what(plan));
}

// Does it work until the deadline, at any cost?
static bool is_anytime(const struct rb_plan *plan)
{
    const struct rb_policy *policy = rb_policy_find(plan->policy);
    return policy && policy->anytime;
}

// In what the plan is best.
static const char *superlative(const struct rb_plan *plan)
{
    if (is_anytime(plan))
        return "largest pool";
    if (plan->admit_until_us > 0)
        return "most configurations";
    return plan->job->objective == RB_OBJECTIVE_MIN_TIME ? "fastest plan" : "cheapest plan";
}

void rb_plan_step_write(int64_t step_us, struct rb_buf *out)
{
    static const struct {
        int64_t us;
        const char *name;
    } units[] = {{3600 * RB_US_PER_S, "hour"}, {60 * RB_US_PER_S, "minute"}, {RB_US_PER_S, "second"}};
    size_t i = 0;
    while (i < 2 && step_us < units[i].us)
        i++;
    const int64_t n = step_us / units[i].us;
    rb_buf_printf(out, "%lld %s%s", (long long)n, units[i].name, n == 1 ? "" : "s");
}

static void slack_text(const struct rb_plan_slack *slack, struct rb_buf *out)
{
    char text[32];
    rb_buf_puts(out, "; ");
    rb_plan_step_write(slack->step_us, out);
    rb_buf_printf(out, " more would save %s",
                  slack->saved_uusd > 0 ? rb_format_money(slack->saved_uusd, text) : "nothing");
}

static void name_text(const struct rb_plan *plan, struct rb_buf *out)
{
    rb_buf_printf(out, "%s%s", is_searched(plan) ? superlative(plan) : plan->planner, is_searched(plan) ? "" : " plan");
}

// "; static needs $31.05"
static void baseline_text(const struct rb_plan *plan, struct rb_buf *out)
{
    char text[32];
    const struct rb_plan_baseline *fixed = find_baseline(plan, "static");
    if (!fixed || strcmp(plan->planner, "static") == 0 || is_anytime(plan))
        return;
    rb_buf_puts(out, "; static ");
    if (!fixed->exists)
        rb_buf_puts(out,
                    rb_plan_baseline_was_cut(plan, "static") ? "had no time to find a plan" : "cannot do it at all");
    else if (plan->job->objective == RB_OBJECTIVE_MIN_TIME)
        rb_buf_printf(out, "needs %s", rb_format_duration(fixed->estimate.time_us.mean, text));
    else
        rb_buf_printf(out, "needs %s", rb_format_money(fixed->estimate.cost_uusd.mean, text));
}

void rb_plan_headline_write(const struct rb_plan *plan, struct rb_buf *out)
{
    const char *infra = one_infra(plan);
    name_text(plan, out);
    rb_buf_printf(out, "%s%s", infra ? " on " : "", infra ? infra : "");
    baseline_text(plan, out);
}

void rb_plan_verdict_write(const struct rb_plan *plan, const struct rb_plan_slack *slack, struct rb_buf *out)
{
    char text[32];
    const struct rb_estimate *e = &plan->estimate;
    name_text(plan, out);
    rb_buf_printf(out, ": %s", rb_format_money(e->cost_uusd.mean, text));
    rb_buf_printf(out, " (95 %% <= %s)", rb_format_money(e->cost_uusd.p95, text));
    rb_buf_printf(out, ", %s", rb_format_duration(e->time_us.mean, text));
    rb_buf_printf(out, " (95 %% <= %s)", rb_format_duration(e->time_us.p95, text));
    probability_text(plan, out);
    baseline_text(plan, out);
    if (slack)
        slack_text(slack, out);
    rb_buf_putc(out, '\n');
}

void rb_plan_stages_table(const struct rb_plan *plan, struct rb_text_table *out)
{
    rb_text_table_init(out, plan->job->trial.cpus > 0 ? columns_of_cpus : columns_of_gpus, STAGE_COLUMNS);
    for (int i = 0; i < plan->n_stages; i++)
        stage_row(plan, i, out);
}

static void stages_table(const struct rb_plan *plan, const struct rb_text_style *style, struct rb_buf *out)
{
    struct rb_text_table t;
    rb_plan_stages_table(plan, &t);
    rb_text_table_write(&t, style, out);
    rb_text_table_finish(&t);
}

// Requests made ahead, stage by stage: "early: 4 x p3.2xlarge for stage 2, 6 m 27 s into stage 1"
static void early_lines(const struct rb_plan *plan, struct rb_buf *out)
{
    char text[32];
    for (int i = 0; i < plan->n_stages; i++) {
        for (int k = 0; k < plan->stages[i].n_early; k++) {
            const struct rb_plan_early *e = &plan->stages[i].early[k];
            rb_buf_printf(out, "early: %d x %s for stage %d, %s into stage %d\n", e->count,
                          plan->offers[e->offer].instance_type, i + 1, rb_format_duration(e->at_us, text), i);
        }
    }
}

static bool requests_early(const struct rb_plan *plan)
{
    for (int i = 0; i < plan->n_stages; i++) {
        if (plan->stages[i].n_early > 0)
            return true;
    }
    return false;
}

void rb_plan_certificate_write(const struct rb_plan *plan, struct rb_buf *out)
{
    char text[32];
    const struct rb_plan_bound *b = &plan->bound;
    if (!is_searched(plan))
        return;
    if (b->proved) {
        rb_buf_printf(
            out,
            "proved: no plan that keeps the constraints is cheaper by more than %.2g %% (risk of being wrong %.2g)\n",
            100 * b->tolerance, b->risk);
        return;
    }
    if (b->present && requests_early(plan)) {
        rb_buf_printf(out, "not proved: no plan without early requests costs less than %s, and this one makes some\n",
                      rb_format_money(b->cost_uusd, text));
        return;
    }
    if (b->present && b->cost_uusd > 0) // nothing is a share of nothing
        rb_buf_printf(out, "not proved: no plan costs less than %s, %.2g %% below", rb_format_money(b->cost_uusd, text),
                      100 * b->gap / (1 + b->gap));
    else
        rb_buf_puts(out, "not proved to be the best");
    rb_buf_printf(out, "%s%s\n", b->why_not ? ": " : "", b->why_not ? b->why_not : "");
}

void rb_plan_basis_write(const struct rb_plan *plan, struct rb_buf *out)
{
    if (plan->profile->has_measured) {
        rb_buf_puts(out, "measured: ");
        rb_measured_text(&plan->profile->measured, out);
        rb_buf_putc(out, '\n');
    }
    rb_plan_transfers_write(plan, out);
}

void rb_plan_drift_write(const struct rb_plan *plan, struct rb_buf *out)
{
    static const char *const does[] = {
        [RB_DRIFT_REPLAN] = "other nodes for the stages to come (on_drift: replan)",
        [RB_DRIFT_WARN] = "a warning (on_drift: warn)",
        [RB_DRIFT_STOP] = "the end, if no limit can be kept (on_drift: stop)",
        [RB_DRIFT_UNSET] = "a warning",
    };
    const char *why = plan->job->on_drift == RB_DRIFT_REPLAN ? NULL : rb_plan_why_not_replan(plan);
    rb_buf_printf(out, "where the run leaves the plan: %s%s%s", does[plan->job->on_drift], why ? ", because " : "",
                  why ? why : "");
}

static bool has_safe_spot(const struct rb_plan *plan)
{
    bool has = false;
    for (int i = 0; i < plan->n_fallbacks; i++)
        has = has || plan->offers[plan->fallbacks[i]].market == RB_MARKET_SPOT;
    return has && plan->job->resources.spot == RB_SPOT_SAFE && plan->deadline_us >= 0;
}

static bool is_all_reserved(const struct rb_plan *plan)
{
    bool all = true;
    for (int i = 0; i < plan->n_stages; i++)
        all = all && plan->offers[plan->stages[i].nodes[0].offer].market == RB_MARKET_RESERVED;
    return all;
}

void rb_plan_spot_write(const struct rb_plan *plan, struct rb_buf *out)
{
    const struct rb_plan_safe_spot *s = plan->spot;
    char text[3][32];
    if (!has_safe_spot(plan))
        return;
    rb_buf_puts(out, "spot: used while the run could lose it and still be in time on demand; ");
    if (!s) {
        rb_buf_printf(out, "what it saves is unknown: %s\n",
                      rb_job_is_asynchronous(plan->job) ? "nothing predicts it for an asynchronous job"
                      : is_all_reserved(plan)           ? "every stage is in a reservation, and spot only stands in for that"
                                                        : "the profile has no spells of these markets");
        return;
    }
    rb_buf_printf(out, "on demand throughout: %s (95 %% <= %s), P(on time) %s\n",
                  rb_format_money(s->on_demand.cost_uusd.mean, text[0]),
                  rb_format_money(s->on_demand.cost_uusd.p95, text[1]),
                  rb_plan_probability(&s->on_demand, s->on_demand.p_deadline, 3, text[2]));
    rb_buf_printf(out, "spot: on demand is needed in %.0f %% of runs, for %.0f %% of the machines' time; waiting for spot "
                       "instead: %s, P(on time) %.3f\n",
                  100 * s->p_on_demand, 100 * s->share_on_demand, rb_format_money(s->alone_uusd, text[0]), s->p_alone);
}

void rb_plan_controller_write(const struct rb_plan *plan, struct rb_buf *out)
{
    const struct rb_plan_controller *c = plan->controller;
    char text[5][32];
    if (!c)
        return;
    rb_buf_puts(out, "controller: ");
    if (c->instance_type)
        rb_buf_printf(out, "%s in ", c->instance_type);
    rb_buf_puts(out, c->place);
    if (c->uusd_per_hour == 0) {
        rb_buf_puts(out, ", which costs nothing\n");
        return;
    }
    rb_buf_printf(out, " for %s (95 %% <= %s), of which %s after the run: %s (95 %% <= %s), beside the cost of the plan",
                  rb_format_duration(plan->estimate.time_us.p50 + c->keep_us, text[0]),
                  rb_format_duration(plan->estimate.time_us.p95 + c->keep_us, text[1]), rb_format_duration(c->keep_us, text[2]),
                  rb_format_money(c->cost_uusd.p50, text[3]), rb_format_money(c->cost_uusd.p95, text[4]));
    if (plan->budget_uusd >= 0)
        rb_buf_printf(out, "; %s of the budget is set aside for it", rb_format_money(c->set_aside_uusd, text[0]));
    rb_buf_putc(out, '\n');
}

void rb_plan_table_write(const struct rb_plan *plan, const struct rb_plan_slack *slack,
                         const struct rb_text_style *style, struct rb_buf *out)
{
    heading(plan, out);
    stages_table(plan, style, out);
    early_lines(plan, out);
    rb_buf_putc(out, '\n');
    rb_plan_verdict_write(plan, slack, out);
    rb_plan_controller_write(plan, out);
    rb_plan_certificate_write(plan, out);
    rb_plan_basis_write(plan, out);
    rb_plan_spot_write(plan, out);
    if ((plan->deadline_us >= 0 || plan->budget_uusd >= 0) && plan->job->on_drift != RB_DRIFT_REPLAN) {
        rb_plan_drift_write(plan, out);
        rb_buf_putc(out, '\n');
    }
    for (int i = 0; i < plan->n_warnings; i++)
        rb_buf_printf(out, "note: %s\n", plan->warnings[i]);
}
