#include "views/tables/plan_table.h"

#include "profiles/job/job_trial.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// Reasons that apply to many stages. Each is given where it first applies.
enum reason { KEPT, MORE_WORK, FEWER_TRIALS, OTHER_MACHINES, BOOT_MEANWHILE };

static const char *const reasons[] = {
    [KEPT] = ": they are up, a new one would have to boot",
    [MORE_WORK] = ": more work is left than the nodes at hand can do in time",
    [FEWER_TRIALS] = ": fewer trials are left than they can hold, and idle GPUs are paid for",
    [OTHER_MACHINES] = ": the next stage runs on other machines",
    [BOOT_MEANWHILE] = ": they boot while it still runs",
};

struct explanation {
    const struct rb_plan *plan;
    bool given[sizeof reasons / sizeof reasons[0]];
    struct rb_buf *out;
};

static const char *once(struct explanation *x, enum reason reason)
{
    const bool given = x->given[reason];
    x->given[reason] = true;
    return given ? "" : reasons[reason];
}

static int owned(const struct rb_plan *plan, int stage, int offer)
{
    int count = 0;
    for (int i = 0; stage >= 0 && stage < plan->n_stages && i < plan->stages[stage].n_nodes; i++) {
        if (plan->stages[stage].nodes[i].offer == offer)
            count += plan->stages[stage].nodes[i].count;
    }
    return count;
}

static bool has_one_infra(const struct rb_plan *plan)
{
    for (int i = 1; i < plan->n_offers; i++) {
        if (strcmp(plan->offers[i].infra, plan->offers[0].infra) != 0)
            return false;
    }
    return true;
}

// The infra only if there are several.
static const char *label(const struct rb_plan *plan, int offer, char *out, size_t size)
{
    const struct rb_offer *o = &plan->offers[offer];
    const bool one = has_one_infra(plan);
    snprintf(out, size, "%s%s%s%s", one ? "" : o->infra, one ? "" : " ", o->instance_type,
             rb_market_mark(o->market));
    return out;
}

// GPUs that the stage's trials occupy when as many as fit run at once.
static int busy_gpus(const struct rb_plan *plan, const struct rb_plan_stage *stage)
{
    int at_once = (stage->trials + stage->waves - 1) / stage->waves;
    (void)plan;
    return at_once * stage->gpus_per_trial;
}

static void explain_kept(struct explanation *x, int stage, int offer, int kept)
{
    char name[160], all[32];
    const struct rb_plan *plan = x->plan;
    const struct rb_plan_stage *s = &plan->stages[stage];
    struct rb_buf *out = x->out;
    int gpus = rb_plan_stage_gpus_per_node(plan, s) * rb_plan_stage_node_count(s);
    rb_buf_printf(out, "   keeps %d x %s%s", kept, label(plan, offer, name, sizeof name), once(x, KEPT));
    if (busy_gpus(plan, s) < gpus)
        rb_buf_printf(out, " (%d of %s are busy in the first wave)",
                      busy_gpus(plan, s) * rb_trial_unit(&plan->job->trial).each,
                      rb_trial_unit_text(&plan->job->trial, gpus, all));
    rb_buf_putc(out, '\n');
}

static int requested_ahead(const struct rb_plan *plan, int stage, int offer)
{
    int count = 0;
    for (int i = 0; stage >= 0 && i < plan->stages[stage].n_early; i++) {
        if (plan->stages[stage].early[i].offer == offer)
            count += plan->stages[stage].early[i].count;
    }
    return count;
}

static void explain_early(struct explanation *x, int stage)
{
    char name[160], text[32];
    const struct rb_plan *plan = x->plan;
    for (int i = 0; i < plan->stages[stage].n_early; i++) {
        const struct rb_plan_early *e = &plan->stages[stage].early[i];
        rb_buf_printf(x->out, "   requests %d x %s for stage %d ahead, %s after its start%s\n", e->count,
                      label(plan, e->offer, name, sizeof name), stage + 1, rb_format_duration(e->at_us, text),
                      once(x, BOOT_MEANWHILE));
    }
}

static void explain_offer(struct explanation *x, int stage, int offer)
{
    char name[160];
    const struct rb_plan *plan = x->plan;
    struct rb_buf *out = x->out;
    int before = owned(plan, stage - 1, offer), now = owned(plan, stage, offer);
    int kept = before < now ? before : now, ahead = requested_ahead(plan, stage - 1, offer);
    label(plan, offer, name, sizeof name);
    if (kept > 0)
        explain_kept(x, stage, offer, kept);
    if (now > kept && ahead >= now - kept)
        rb_buf_printf(out, "   finds %d x %s that were requested ahead\n", now - kept, name);
    if (now > kept + ahead)
        rb_buf_printf(out, "   requests %d x %s at its start%s\n", now - kept - ahead, name,
                      stage > 0 ? once(x, MORE_WORK) : "");
    if (before > kept)
        rb_buf_printf(out, "   releases %d x %s at the barrier%s\n", before - kept, name,
                      once(x, now > 0 ? FEWER_TRIALS : OTHER_MACHINES));
}

static void explain_stage(struct explanation *x, int index)
{
    const struct rb_plan *plan = x->plan;
    const struct rb_plan_stage *s = &plan->stages[index];
    char time[32], cost[32], each[32];
    rb_buf_printf(x->out, "stage %d: %d trial%s to %lld %s, %s each, %d wave%s, %s, %s\n", index, s->trials,
                  s->trials == 1 ? "" : "s", (long long)s->resource_end, plan->job->scheduler.unit,
                  rb_trial_unit_text(&plan->job->trial, s->gpus_per_trial, each), s->waves, s->waves == 1 ? "" : "s",
                  rb_format_duration(s->time_us.mean, time), rb_format_money(s->cost_uusd.mean, cost));
    for (int offer = 0; offer < plan->n_offers; offer++)
        explain_offer(x, index, offer);
    explain_early(x, index);
}

static const struct rb_text_column baseline_columns[] = {
    {"planner", false, 0}, {"cost", true, 0}, {"against this plan", true, 1}, {"time", true, 0}, {"P", true, 0},
};

static void baseline_row(const struct rb_plan *plan, const char *name, bool exists, const struct rb_estimate *e,
                         struct rb_text_table *t)
{
    char text[32];
    rb_text_table_cell(t, "%s", name);
    if (!exists) {
        for (int i = 0; i < 4; i++)
            rb_text_table_cell(t, "%s", i == 0 ? "no plan" : "-");
        return;
    }
    rb_text_table_cell(t, "%s", rb_format_money(e->cost_uusd.mean, text));
    if (plan->estimate.cost_uusd.mean > 0)
        rb_text_table_cell(t, "x %.3f", (double)e->cost_uusd.mean / (double)plan->estimate.cost_uusd.mean);
    else
        rb_text_table_cell(t, "-");
    rb_text_table_cell(t, "%s", rb_format_duration(e->time_us.mean, text));
    rb_text_table_cell(t, "%s", rb_plan_probability(e, e->p_both, 3, text));
}

static void explain_baselines(const struct rb_plan *plan, const struct rb_text_style *style, struct rb_buf *out)
{
    struct rb_text_table t;
    rb_text_table_init(&t, baseline_columns, sizeof baseline_columns / sizeof baseline_columns[0]);
    baseline_row(plan, "this plan", true, &plan->estimate, &t);
    for (int i = 0; i < plan->n_baselines; i++)
        baseline_row(plan, plan->baselines[i].name, plan->baselines[i].exists, &plan->baselines[i].estimate, &t);
    rb_text_table_write(&t, style, out);
    rb_text_table_finish(&t);
}

// What the figures rest on, and how large their errors can be.
static void explain_estimate(const struct rb_plan *plan, struct rb_buf *out)
{
    char time[32], cost[32];
    const struct rb_estimate *e = &plan->estimate;
    const bool computed = e->time_method == RB_ESTIMATE_LAWS;
    rb_buf_printf(out, "time %s, mean within %s",
                  computed ? "computed from the laws of the stages" : "from simulated runs",
                  rb_format_duration(e->error.time_mean_us, time));
    if (plan->deadline_us >= 0 && !e->spread_unknown)
        rb_buf_printf(out, ", P(on time) within %.2g", e->error.p_deadline);
    rb_buf_printf(out, "\ncost from %lld simulated runs, mean%s within %s", (long long)e->samples,
                  computed ? " computed and" : "", rb_format_money(e->error.cost_mean_uusd, cost));
    if (plan->budget_uusd >= 0 && !e->spread_unknown)
        rb_buf_printf(out, ", P(both) within %.2g", e->error.p_both);
    rb_buf_putc(out, '\n');
}

static void explain_bound(const struct rb_plan *plan, struct rb_buf *out)
{
    char text[32];
    const struct rb_plan_bound *b = &plan->bound;
    if (b->present) {
        rb_buf_printf(out, "lower bound %s", rb_format_money(b->cost_uusd, text));
        if (isfinite(b->gap))
            rb_buf_printf(out, ", gap %.2f %%", 100 * b->gap);
    } else {
        rb_buf_puts(out, "no lower bound");
    }
    if (b->proved)
        rb_buf_printf(out, ", proved to within %.2g %% with a risk of %.2g", 100 * b->tolerance, b->risk);
    else
        rb_buf_puts(out, ", not proved");
    rb_buf_printf(out, "%s%s\n", b->why_not ? ": " : "", b->why_not ? b->why_not : "");
    for (int i = 0; i < b->n_relaxations; i++)
        rb_buf_printf(out, "%s   %s\n", i == 0 ? "the bound rests on:\n" : "", b->relaxations[i]);
}

void rb_plan_explain_write(const struct rb_plan *plan, const struct rb_text_style *style, struct rb_buf *out)
{
    struct explanation x = {.plan = plan, .out = out};
    rb_plan_verdict_write(plan, NULL, out);
    rb_buf_putc(out, '\n');
    for (int i = 0; i < plan->n_stages; i++)
        explain_stage(&x, i);
    rb_buf_putc(out, '\n');
    explain_baselines(plan, style, out);
    explain_estimate(plan, out);
    explain_bound(plan, out);
    rb_plan_basis_write(plan, out);
    rb_plan_spot_write(plan, out);
    rb_plan_controller_write(plan, out);
    for (int i = 0; i < plan->n_fallbacks; i++) {
        char name[160];
        const bool is_safe_spot = plan->job->resources.spot == RB_SPOT_SAFE &&
                                  plan->offers[plan->fallbacks[i]].market == RB_MARKET_SPOT;
        rb_buf_printf(out, "%s: %s\n", is_safe_spot ? "while it cannot make the run late" : "if sold out",
                      label(plan, plan->fallbacks[i], name, sizeof name));
    }
    rb_plan_drift_write(plan, out);
    rb_buf_putc(out, '\n');
    for (int i = 0; i < plan->n_warnings; i++)
        rb_buf_printf(out, "note: %s\n", plan->warnings[i]);
}
