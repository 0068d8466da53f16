// Trials of scripts that train on until the job's max_resource (trial.stop: saved): each is ended once it has reported its stage's
// end and saved after that. The node looks at the files, because only there it is known what has changed and rested.
#include "executor/controller/controller_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool wanted(const struct rb_run_task *t)
{
    return t->c->config.plan->job->trial.stop == RB_STOP_SAVED;
}

// Within a unit that is shorter than twice the usual rest the files would never rest for that long.
static double rest_s(int64_t unit_us)
{
    const int64_t most = RB_CONTROLLER_REST_MS * 1000, least = RB_CONTROLLER_LEAST_REST_MS * 1000;
    const int64_t us = unit_us >= 0 && unit_us / 2 < most ? unit_us / 2 : most;
    return (double)(us > least ? us : least) / 1e6;
}

static void ask(struct rb_run_task *t, int exit_code, int64_t unit_us)
{
    struct rb_launcher *launcher = t->c->launcher;
    launcher->ops->stop(launcher, t->row.trial, t->row.start, exit_code, rest_s(unit_us));
}

void rb_run_task_stop(struct rb_run_task *t)
{
    if (!wanted(t) || t->c->dead || t->stopping || t->row.state != RB_TASK_INTENT || t->process < RB_PROCESS_FOLLOWED ||
        t->last_resource < t->row.resource_end)
        return;
    t->stopping = true;
    t->trained_to = t->last_resource;
    t->trained_us = rb_attended_us(t->c->config.loop);
    ask(t, 0, t->longest_unit_us);
}

void rb_run_task_trained_on(struct rb_run_task *t, int64_t resource)
{
    const int64_t now = rb_attended_us(t->c->config.loop);
    if (resource <= t->trained_to)
        return;
    if ((now - t->trained_us) / 2 < RB_CONTROLLER_REST_MS * 1000)
        ask(t, 0, now - t->trained_us);
    t->trained_to = resource;
    t->trained_us = now;
}

void rb_run_task_ask_to_save(struct rb_run_task *t, const char *why)
{
    if (wanted(t))
        ask(t, 75, t->longest_unit_us);
    else
        t->c->launcher->ops->yield(t->c->launcher, t->row.trial, t->row.start, why);
}

bool rb_run_task_overran(const struct rb_run_task *t)
{
    const int64_t most = t->c->config.plan->job->scheduler.max_resource;
    return t->stopping && t->row.resource_end < most && t->trained_to >= most;
}

void rb_run_task_describe_wait(const struct rb_run_task *t, char *out, size_t size)
{
    const struct rb_job *job = t->c->config.plan->job;
    snprintf(out, size,
             "; it was to be ended once it had saved, and no file that matches checkpoint.files (%s%s) has changed and "
             "then rested for %.1f s since it reported %s %" PRId64,
             job->checkpoint_files.n > 0 ? job->checkpoint_files.items[0] : "**",
             job->checkpoint_files.n > 1 ? ", ..." : "", rest_s(t->longest_unit_us), job->scheduler.unit,
             t->row.resource_end);
}
