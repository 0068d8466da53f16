#include "views/progress.h"

#include "engine/advice.h"
#include "engine/tuner.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

void rb_progress_of_engine(const struct rb_engine *e, const struct rb_plan *plan, struct rb_progress *out)
{
    out->stage = rb_engine_stage(e);
    out->n_stages = plan->n_stages;
    out->trials = out->stage >= 0 ? plan->stages[out->stage].trials : 0;
    out->trials_ended = out->nodes = out->nodes_ready = 0;
    const struct rb_tuner *tuner = rb_tuner_find(plan->job->scheduler.type);
    out->on_demand = tuner && tuner->on_demand;
    memset(out->n_by_state, 0, sizeof out->n_by_state);
    for (int i = 0; i < rb_engine_n_trials(e); i++) {
        const struct rb_trial *t = rb_engine_trial(e, i);
        out->n_by_state[t->state]++;
        out->trials_ended += t->stage == out->stage && t->state != RB_TRIAL_WAITING && t->state != RB_TRIAL_RUNNING;
    }
    for (int i = 0; i < rb_engine_n_nodes(e); i++) {
        const struct rb_owned_node *n = rb_engine_node(e, i);
        out->nodes += n->state != RB_OWNED_ENDED;
        out->nodes_ready += n->state == RB_OWNED_READY;
    }
    out->metric_name = plan->job->metric_name;
    out->best_trial = rb_engine_best(e);
    out->best_metric = out->best_trial >= 0 ? rb_engine_trial(e, out->best_trial)->metric : NAN;
}

static void levels_write(const struct rb_progress *p, struct rb_buf *out)
{
    static const char *const names[] = {"waiting", "running", "paused", "stopped", "failed", "completed"};
    bool any = false;
    rb_buf_printf(out, "level %d/%d  trials:", p->stage + 1, p->n_stages);
    for (int i = RB_TRIAL_WAITING; i <= RB_TRIAL_COMPLETED; i++) {
        if (p->n_by_state[i] > 0)
            rb_buf_printf(out, "%s %d %s", any ? "," : "", p->n_by_state[i], names[i]);
        any = any || p->n_by_state[i] > 0;
    }
    rb_buf_puts(out, any ? "" : " none yet");
}

void rb_progress_write(const struct rb_progress *p, struct rb_buf *out)
{
    char text[32];
    if (p->on_demand)
        levels_write(p, out);
    else
        rb_buf_printf(out, "stage %d/%d  trials %d/%d", p->stage + 1, p->n_stages, p->trials_ended, p->trials);
    if (p->best_trial >= 0)
        rb_buf_printf(out, "  best %s %.4g (trial %d)", p->metric_name, p->best_metric, p->best_trial);
    rb_buf_printf(out, "  nodes %d/%d  %s", p->nodes_ready, p->nodes, rb_format_money(p->spent_uusd, text));
    rb_buf_printf(out, "  %s", rb_format_duration(p->elapsed_us, text));
    if (p->deadline_us >= 0)
        rb_buf_printf(out, " of %s", rb_format_duration(p->deadline_us, text));
}

void rb_progress_event_write(const struct rb_event *e, const struct rb_plan *plan, struct rb_buf *out)
{
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
        rb_buf_printf(out, "trial %d ended: %s", e->trial, rb_outcome_name(e->outcome));
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
        rb_buf_printf(out, "stop: %s", rb_stop_reason_name(e->reason));
        break;
    case RB_EVENT_RESUME:
        rb_buf_puts(out, "the run goes on");
        break;
    }
}

static void places_write(const struct rb_action *a, struct rb_buf *out)
{
    for (int i = 0; i < a->n_slots; i++)
        rb_buf_printf(out, "%s%d", i ? ", " : a->n_slots > 1 ? "nodes " : "node ", a->slots[i].node);
}

// Where the job lets it be tuned.
static void batch_write(const struct rb_action *a, struct rb_buf *out)
{
    if (a->with.batch.per_gpu > 0)
        rb_buf_printf(out, ", batch %.0f (%d a GPU%s), learning rate x %.3g", rb_batch_total(&a->with.batch, a->gpus),
                      a->with.batch.per_gpu, a->with.batch.accumulation > 0 ? ", accumulated" : "", a->with.lr_factor);
}

void rb_progress_action_write(const struct rb_action *a, const struct rb_plan *plan, struct rb_buf *out)
{
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
        rb_buf_printf(out, " (%d GPU%s), %s %" PRId64 " to %" PRId64, a->gpus, a->gpus == 1 ? "" : "s",
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
        return;
    case RB_ACTION_DONE:
        rb_buf_puts(out, "the job is over");
        break;
    }
    if (a->reason)
        rb_buf_printf(out, ": %s", a->reason);
}
