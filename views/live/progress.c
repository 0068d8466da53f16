#include "views/live/progress.h"

#include "engine/core/advice.h"
#include "profiles/job/job_trial.h"
#include "views/tables/report_table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void trials_members(const struct rb_progress *p, struct rb_json *j)
{
    rb_json_put(j, "trials: {");
    for (int i = RB_TRIAL_WAITING; i <= RB_TRIAL_COMPLETED; i++)
        rb_json_kint(j, rb_trial_state_name(i), p->n_by_state[i]);
    rb_json_put(j, "} best:");
    if (p->best_trial < 0) {
        rb_json_null(j);
        return;
    }
    rb_json_put(j, "{trial: %d metric: %g|null}", p->best_trial, p->best_metric);
}

void rb_progress_members(const struct rb_progress *p, struct rb_json *j)
{
    rb_json_put(j, "stage: %d|null n_stages: %d stage_trials: %d|null stage_trials_ended: %d|null", p->stage,
                p->n_stages, p->on_demand ? -1 : p->trials, p->on_demand ? -1 : p->trials_ended);
    trials_members(p, j);
    rb_json_put(j, "nodes: %d nodes_ready: %d elapsed_us: %jd|null deadline_us: %jd|null end_p50_us: %jd|null",
                p->nodes, p->nodes_ready, p->elapsed_us, p->deadline_us, p->end_p50_us);
    rb_json_put(j, "end_p95_us: %jd|null p_on_time: %g|null spent_uusd: %jd|null budget_uusd: %jd|null", p->end_p95_us,
                p->p_on_time, p->spent_uusd, p->budget_uusd);
    rb_json_put(j, "cost_mean_uusd: %jd|null cost_p95_uusd: %jd|null p_in_budget: %g|null pace: %g|null",
                p->cost_mean_uusd, p->cost_p95_uusd, p->p_in_budget, p->pace);
    rb_json_put(j, "pace_low: %g|null pace_high: %g|null", p->pace_low, p->pace_high);
    rb_json_kstring(j, "why_unknown", p->why_unknown);
    rb_json_kstring(j, "forecast", p->why_unknown ? NULL : p->is_planned ? "plan" : "run");
}

static double percent_off(double pace)
{
    return fabs(100 * (pace - 1));
}

bool rb_progress_pace_write(const struct rb_progress *p, struct rb_buf *out)
{
    const bool slow = p->pace_low > 1;
    if (!slow && !(p->pace_high < 1))
        return false;
    rb_buf_printf(out, "training is %.0f %% %s than the profile says (%.0f to %.0f %%)", percent_off(p->pace),
                  slow ? "slower" : "faster", percent_off(slow ? p->pace_low : p->pace_high),
                  percent_off(slow ? p->pace_high : p->pace_low));
    return true;
}

// The same as in views/charts/run_gantt.js.
static const char *outcome_words(enum rb_outcome outcome)
{
    switch (outcome) {
    case RB_OUTCOME_REACHED:
        return "trained as far as this stage goes";
    case RB_OUTCOME_YIELDED:
        return "gave way, resumes later";
    case RB_OUTCOME_FAILED:
        return "failed";
    case RB_OUTCOME_HUNG:
        return "killed, it did not report or end in time";
    case RB_OUTCOME_EVICTED:
        return "killed, it was asked to give way and did not in time";
    }
    return "outcome unknown";
}

static void suggestion_write(const struct rb_event *e, struct rb_buf *out)
{
    rb_buf_printf(out, "trial %d:", e->trial);
    for (int i = 0; i < e->n_values; i++) {
        rb_buf_printf(out, "%s%s=", i ? ", " : " ", e->values[i].name);
        rb_value_text(&e->values[i].value, out);
    }
    rb_buf_printf(out, e->n_values ? " (%s" : " no further configuration (%s", e->origin);
    rb_buf_printf(out, e->because ? ": %s)" : ")", e->because);
}

void rb_progress_event_write(const struct rb_event *e, const struct rb_plan *plan, struct rb_buf *out)
{
    char stopped[64];
    switch (e->kind) {
    case RB_EVENT_START:
        rb_buf_puts(out, "the run begins");
        break;
    case RB_EVENT_NODE_RUNNING:
        rb_buf_printf(out, "node %d runs: billing has begun", e->node);
        break;
    case RB_EVENT_NODE_READY:
        rb_buf_printf(out, "node %d is ready", e->node);
        break;
    case RB_EVENT_NODE_REFUSED:
        rb_buf_printf(out, "node %d: no capacity (try %d)", e->node, e->attempt + 1);
        break;
    case RB_EVENT_NODE_LOST:
        rb_buf_printf(out, "node %d was lost", e->node);
        break;
    case RB_EVENT_REPORT:
        rb_buf_printf(out, "trial %d: %s %" PRId64 ", %s %.6g", e->trial, plan->job->scheduler.unit, e->resource,
                      plan->job->metric_name, e->metric);
        break;
    case RB_EVENT_TRIAL_ENDED:
        rb_buf_printf(out, "trial %d ended: %s", e->trial, outcome_words(e->outcome));
        break;
    case RB_EVENT_TIME:
        rb_buf_puts(out, "wake-up");
        break;
    case RB_EVENT_ADVICE:
        rb_buf_printf(out, "a new plan from stage %d on", e->stage);
        break;
    case RB_EVENT_FORECAST:
        rb_buf_printf(out, "a forecast for %d trials", e->advice->n_trials);
        break;
    case RB_EVENT_LENT:
        rb_buf_printf(out, "node %d: %d GPUs are lent to this job now", e->node, __builtin_popcountll(e->gpus));
        break;
    case RB_EVENT_STOP:
        snprintf(stopped, sizeof stopped, "stopped: %s", rb_stop_reason_name(e->reason));
        rb_buf_puts(out, rb_report_outcome_words(stopped));
        break;
    case RB_EVENT_RESUME:
        rb_buf_puts(out, "the run continues");
        break;
    case RB_EVENT_SUGGESTED:
        suggestion_write(e, out);
        break;
    case RB_EVENT_TRIAL_SAVED:
        rb_buf_printf(out, "trial %d: its checkpoint of %s %" PRId64 " is safe", e->trial, plan->job->scheduler.unit,
                      e->resource);
        break;
    }
}

static void places_write(const struct rb_action *a, struct rb_buf *out)
{
    for (int i = 0; i < a->n_slots; i++)
        rb_buf_printf(out, "%s%d", i ? ", " : a->n_slots > 1 ? "nodes " : "node ", a->slots[i].node);
}

// If the job lets it be tuned.
static void batch_write(const struct rb_action *a, struct rb_buf *out)
{
    if (a->with.batch.per_gpu > 0)
        rb_buf_printf(out, ", batch %.0f (%d a GPU%s), learning rate x %.3g", rb_batch_total(&a->with.batch, a->gpus),
                      a->with.batch.per_gpu, a->with.batch.accumulation > 0 ? ", accumulated" : "", a->with.lr_factor);
}

void rb_progress_action_write(const struct rb_action *a, const struct rb_plan *plan, struct rb_buf *out)
{
    char each[32];
    switch (a->kind) {
    case RB_ACTION_PROVISION:
        rb_buf_printf(out, "request node %d: %s in %s", a->node, plan->offers[a->offer].instance_type,
                      plan->offers[a->offer].infra);
        break;
    case RB_ACTION_TERMINATE:
        rb_buf_printf(out, "release node %d", a->node);
        break;
    case RB_ACTION_START_TRIAL:
        rb_buf_printf(out, "start trial %d on ", a->trial);
        places_write(a, out);
        rb_buf_printf(out, " (%s), %s %" PRId64 " to %" PRId64, rb_trial_unit_text(&plan->job->trial, a->gpus, each),
                      plan->job->scheduler.unit, a->resource_start, a->resource_end);
        batch_write(a, out);
        break;
    case RB_ACTION_KILL_TRIAL:
        rb_buf_printf(out, "end trial %d", a->trial);
        break;
    case RB_ACTION_YIELD_TRIAL:
        rb_buf_printf(out, "ask trial %d to give way", a->trial);
        break;
    case RB_ACTION_WAKE:
    case RB_ACTION_ADVISE:
    case RB_ACTION_SUGGEST:
        return;
    case RB_ACTION_DONE:
        rb_buf_puts(out, "the job is over");
        break;
    }
    if (a->reason)
        rb_buf_printf(out, ": %s", a->reason);
}
