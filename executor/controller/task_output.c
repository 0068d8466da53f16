// What trials report: only whole lines count, and a stage of a trial has ended only when its checkpoint is safe.
#include "executor/controller/controller_private.h"

#include "base/backoff.h"
#include "base/errors/log.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_REACHED = 0, EXIT_YIELDED = 75 }; // the contract with training scripts

void rb_run_task_make_sure(struct rb_run_task *t, void (*verdict)(struct rb_run_task *t))
{
    t->verdict = verdict;
    t->c->launcher->ops->echo(t->c->launcher, t->row.trial, t->row.start);
}

void rb_run_task_echoed(void *ctx, int trial, int start)
{
    struct rb_controller *c = ctx;
    struct rb_run_task *t = rb_run_task_find(c, trial, start);
    void (*verdict)(struct rb_run_task *) = t ? t->verdict : NULL;
    if (c->dead || !verdict)
        return;
    t->verdict = NULL;
    verdict(t);
}

static void hung(struct rb_run_task *t)
{
    struct rb_controller *c = t->c;
    if (c->dead || t->row.state != RB_TASK_INTENT || !rb_controller_begin(c))
        return;
    const int trial = t->row.trial;
    const bool has_all = t->last_resource >= rb_engine_trial(c->engine, trial)->resource_end;
    char wait[320] = "; its checkpoint counts once it ends with 0: does it wait for a process of its own?";
    if (t->stopping)
        rb_run_task_describe_wait(t, wait, sizeof wait);
    rb_controller_note(c, "fault", "trial %d: %s for %" PRId64 " s (trial.timeout): hung, killed%s", trial,
                       has_all ? "it has reported all and does not end" : "no report",
                       c->config.plan->job->trial.timeout_us / RB_US_PER_S, has_all ? wait : "");
    rb_run_task_give_up(t, RB_OUTCOME_HUNG);
}

static void is_silent(void *arg)
{
    struct rb_run_task *t = arg;
    rb_run_task_await_report(t); // where no answer comes, the question is put again
    rb_run_task_make_sure(t, hung);
}

void rb_run_task_await_report(struct rb_run_task *t)
{
    const int64_t timeout_us = t->c->config.plan->job->trial.timeout_us;
    if (t->verdict == hung)
        t->verdict = NULL;
    if (t->row.state == RB_TASK_INTENT && timeout_us > 0)
        rb_silence_begin(&t->silence, t->c->config.loop, timeout_us, is_silent, t);
}

// The output of the trial cannot be followed, so no report is expected and the trial is not blamed. The run waits, and
// stops if the machine stays full.
void rb_run_task_held_up(void *ctx, int trial, const struct rb_err *err)
{
    struct rb_controller *c = ctx;
    const int64_t now = rb_attended_us(c->config.loop);
    struct rb_run_task *t = trial >= 0 ? rb_run_task_find_live(c, trial) : NULL;
    if (c->dead)
        return;
    if (t && rb_silence_counts(&t->silence))
        rb_run_task_await_report(t);
    if (t)
        t->verdict = NULL;
    if (t && rb_silence_counts(&t->yielding))
        rb_silence_begin(&t->yielding, c->config.loop, t->yielding.patience_us, t->yielding.fn, t);
    if (c->held_up_us < 0 || now - c->held_up_us > RB_CONTROLLER_HELD_UP_PAUSE_S * RB_US_PER_S) {
        c->held_up_since_us = now;
        rb_controller_note(c, "warning", "%s; waiting for room: no trial and no node is blamed for it", err->message);
    }
    c->held_up_us = now;
    if (now - c->held_up_since_us < RB_CONTROLLER_HELD_UP_S * RB_US_PER_S || c->failure.code ||
        !rb_controller_running(c))
        return;
    struct rb_err full = *err;
    rb_err_prefix(&full, "this machine has been full for %d minutes", RB_CONTROLLER_HELD_UP_S / 60);
    rb_controller_fail_run(c, &full);
}

// Samples of a step over those of the initial batch; 1 where the job does not tune it.
static double batch_scale(const struct rb_run_task *t)
{
    const struct rb_trial *trial = rb_engine_trial(t->c->engine, t->row.trial);
    const int64_t initial = t->c->config.plan->job->trial.batch_size;
    return initial > 0 ? rb_batch_total(&trial->with.batch, trial->gpus) / (double)initial : 1;
}

// Ends the trial where its stage ends, because training beyond it is not paid for. Its last checkpoint counts.
static void end_beyond(struct rb_run_task *t, int64_t resource)
{
    struct rb_controller *c = t->c;
    const char *unit = c->config.plan->job->scheduler.unit;
    if (t->beyond)
        return;
    t->beyond = true;
    rb_controller_disarm(c, &t->timer);
    if (rb_controller_says_first(&c->said, RB_SAID_BEYOND))
        rb_controller_note(
            c, "warning",
            "trial %d reported %s %" PRId64 ", but was to stop at %" PRId64
            " (RB_RESOURCE_END): it is ended there, as will be every trial that trains on, and continues "
            "from the checkpoint it has written by then; let the script end itself after RB_RESOURCE_END",
            t->row.trial, unit, resource, t->row.resource_end);
    c->launcher->ops->end(c->launcher, t->row.trial, t->row.start);
}

void rb_run_task_begin_output(struct rb_run_task *t)
{
    const struct rb_job *job = t->c->config.plan->job;
    rb_metric_reader_free(t->reader);
    t->reader = rb_metric_reader_new(&(struct rb_metric_reader_config){
        .form = &job->form,
        .unit = job->scheduler.unit,
        .metric_name = job->metric_name,
        .start = job->starts_over ? 0 : t->row.resource_start,
    });
    t->read = t->changed = (struct rb_read_reports){t->row.resource_start, t->row.resource_start};
}

static void take_line(struct rb_controller *c, int trial, int start, struct rb_metric_line line)
{
    struct rb_run_task *t = rb_run_task_find(c, trial, start); // the line before may have closed it
    const struct rb_job *job = c->config.plan->job;
    int64_t left_us;
    const char *why;
    if (c->dead || !t || !rb_run_task_is_live(t))
        return;
    if (t->row.state == RB_TASK_EXITED) { // after a restart: what it announced is no part of what it has left
        rb_run_task_announced(t, &line);
        return;
    }
    if (line.paced && rb_controller_says_first(&c->said, RB_SAID_PACED))
        rb_controller_note(c, "paced", "the trials report that their accelerator's speed is emulated");
    rb_step_lines_take(&t->steps, &line, batch_scale(t));
    if (line.is_report && line.resource > t->row.resource_end && t->last_resource >= t->row.resource_end) {
        if (t->stopping)
            rb_run_task_trained_on(t, line.resource);
        else
            end_beyond(t, line.resource);
        return;
    }
    if (!line.is_report || line.resource > job->scheduler.max_resource)
        return;
    if (line.resource > t->read.last)
        t->read = (struct rb_read_reports){line.resource, t->read.last};
    // A report is new if its resource rose: lines are replayed after a reconnect. What it announced may not be safe yet.
    if (line.resource <= t->last_resource) {
        rb_run_task_announced(t, &line);
        return;
    }
    t->last_resource = line.resource;
    rb_run_trial_at(c, trial)->last_resource = line.resource;
    rb_run_trial_at(c, trial)->full_nodes = 0;
    rb_run_task_measure_report(t);
    rb_run_task_await_report(t);
    rb_controller_turn(c, (struct rb_event){.kind = RB_EVENT_REPORT,
                                            .trial = trial,
                                            .attempt = t->row.attempt,
                                            .stage = t->row.stage,
                                            .resource = line.resource,
                                            .metric = line.metric,
                                            .steps = line.steps});
    t = rb_run_task_find(c, trial, start);
    if (!t)
        return;
    rb_run_task_announced(t, &line);
    if (rb_run_task_is_leaving(t, &left_us, &why)) // it had nothing to save before
        rb_run_task_yield(t);
    rb_run_task_stop(t);
}

// What a reader found, until it is at its end: what follows from a report may close the task, and the reader with it.
struct found {
    struct rb_metric_line *lines;
    int n;
};

static void keep_line(void *ctx, const struct rb_metric_line *line)
{
    struct found *f = ctx;
    f->lines = rb_xrealloc(f->lines, (size_t)f->n + 1, sizeof *f->lines);
    f->lines[f->n++] = *line;
}

static void take_found(struct rb_controller *c, int trial, int start, struct found *f)
{
    for (int i = 0; i < f->n; i++)
        take_line(c, trial, start, f->lines[i]);
    free(f->lines);
}

// NULL: nothing is read of it.
static struct rb_run_task *read_task(struct rb_controller *c, int trial, int start)
{
    struct rb_run_task *t = rb_run_task_find(c, trial, start);
    return c->dead || !t || !rb_run_task_is_live(t) ? NULL : t;
}

void rb_run_task_line(void *ctx, int trial, int start, const char *bytes, size_t n)
{
    struct rb_run_task *t = read_task(ctx, trial, start);
    struct found found = {0};
    if (!t)
        return;
    if (!rb_metric_reader_line(t->reader, bytes, n, keep_line, &found))
        rb_last_lines_take(&t->printed, bytes, n);
    take_found(ctx, trial, start, &found);
}

void rb_run_task_file(void *ctx, int trial, int start, const char *name, const char *bytes, size_t n, bool restart)
{
    struct rb_run_task *t = read_task(ctx, trial, start);
    struct found found = {0};
    if (!t)
        return;
    if (restart)
        rb_metric_reader_file_restart(t->reader, name);
    else
        rb_metric_reader_file(t->reader, name, bytes, n, keep_line, &found);
    take_found(ctx, trial, start, &found);
}

void rb_run_task_again(void *ctx, int trial, int start)
{
    struct rb_run_task *t = read_task(ctx, trial, start);
    if (t)
        rb_run_task_begin_output(t);
}

static void end_output(struct rb_controller *c, int trial, int start)
{
    struct rb_run_task *t = read_task(c, trial, start);
    struct found found = {0};
    if (!t)
        return;
    rb_metric_reader_end(t->reader, keep_line, &found);
    take_found(c, trial, start, &found);
}

// signature, said: of a failure that the script caused; else 0 (engine/events/event.h).
static void trial_ended(struct rb_run_task *t, enum rb_task_state state, enum rb_outcome outcome, uint64_t signature,
                        const char *said)
{
    struct rb_controller *c = t->c;
    const struct rb_event event = {.kind = RB_EVENT_TRIAL_ENDED,
                                   .trial = t->row.trial,
                                   .attempt = t->row.attempt,
                                   .stage = t->row.stage,
                                   .resource = t->last_resource > 0 ? t->last_resource : 0,
                                   .outcome = outcome,
                                   .signature = signature,
                                   .said = said};
    if (!c->in_transaction && !rb_controller_begin(c))
        return;
    rb_run_task_record_over(t, state);
    rb_run_task_close(t);
    rb_controller_turn(c, event);
}

// Not for a trial whose restarts were used up.
static void say_failed_alike(struct rb_controller *c, int trial)
{
    if (!c->dead && rb_engine_failed_alike(c->engine, trial))
        rb_controller_note(c, "fault", "trial %d failed twice in a row in the same way: it is not started again",
                           trial);
}

// script: it ended by itself, with its exit code in the row. Otherwise something around it failed.
static void failed(struct rb_run_task *t, const char *why, bool script)
{
    struct rb_controller *c = t->c;
    const int trial = t->row.trial;
    char said[RB_CONTROLLER_TAIL], last[RB_CONTROLLER_TAIL / 2], printed[RB_CONTROLLER_TAIL];
    if (!rb_controller_begin(c))
        return;
    rb_last_lines_text(&t->printed, said, sizeof said);
    rb_controller_note(c, "fault", "trial %d, attempt %d of stage %d: %s%s%s", trial, t->row.attempt, t->row.stage, why,
                       said[0] ? "; its last output: " : "", said);
    rb_last_lines_text(&t->printed, last, sizeof last);
    snprintf(printed, sizeof printed, "%s%s%s", why, last[0] ? ": " : "", last);
    const uint64_t signature = script ? rb_last_lines_signature(&t->printed, t->row.exit_code) : 0;
    trial_ended(t, RB_TASK_ENDED, RB_OUTCOME_FAILED, signature, printed);
    say_failed_alike(c, trial);
}

static void save(void *arg)
{
    struct rb_run_task *t = arg;
    struct rb_controller *c = t->c;
    RB_AUTO(rb_buf_finish) struct rb_buf dest = RB_BUF_INIT;
    t->timer = 0;
    RB_ENTER(rb_process_states, t->process, RB_PROCESS_SAVING);
    rb_buf_printf(&dest, "%s/checkpoints/trial-%04d/stage-%d", c->config.run_dir, t->row.trial, t->row.stage);
    // Beside the checkpoint it started from, never over it: the old one counts until the new one is journalled.
    if (t->row.exit_code == EXIT_YIELDED)
        rb_buf_printf(&dest, RB_CHECKPOINT_MIDWAY "%" PRId64, t->last_resource);
    c->launcher->ops->save(c->launcher, t->row.trial, t->row.start, rb_buf_str(&dest));
}

static bool reached(const struct rb_run_task *t)
{
    const int64_t known = rb_engine_trial(t->c->engine, t->row.trial)->resource;
    return t->last_resource >= t->row.resource_end || known >= t->row.resource_end;
}

// Its stage counts, and the checkpoint that it went on from stays the trial's.
static void keep_checkpoint_before(struct rb_run_task *t)
{
    struct rb_controller *c = t->c;
    if (rb_controller_says_first(&c->said, RB_SAID_OVERRAN))
        rb_controller_note(c, "warning",
                           "trial %d trained to %s %" PRId64 " and ended before the checkpoint of %s %" PRId64
                           " had rested: it goes on from the one before, as others may that train so fast",
                           t->row.trial, c->config.plan->job->scheduler.unit, t->trained_to,
                           c->config.plan->job->scheduler.unit, t->row.resource_end);
    snprintf(t->row.checkpoint, sizeof t->row.checkpoint, "%s", rb_run_trial_at(c, t->row.trial)->checkpoint);
    trial_ended(t, RB_TASK_SAVED, RB_OUTCOME_REACHED, 0, NULL);
}

static void never_reported(struct rb_run_task *t)
{
    const struct rb_job *job = t->c->config.plan->job;
    char why[400], seen[256];
    snprintf(why, sizeof why, "ended with 0 but never reported %s=%" PRId64 " with %s; %s", job->scheduler.unit,
             t->row.resource_end, job->metric_name, rb_metric_reader_seen(t->reader, seen, sizeof seen));
    failed(t, why, true);
}

void rb_run_task_exited(void *ctx, int trial, int start, int exit_code)
{
    struct rb_controller *c = ctx;
    end_output(c, trial, start);
    struct rb_run_task *t = rb_run_task_find(c, trial, start);
    if (c->dead || !t || !rb_run_task_is_live(t) ||
        (t->process != RB_PROCESS_FOLLOWED && t->process != RB_PROCESS_YIELDING))
        return;
    char why[160];
    rb_run_task_disarm(t);
    if (t->beyond)
        exit_code = EXIT_REACHED; // we ended it
    t->row.exit_code = exit_code;
    if (t->row.exited_us < 0)
        t->row.exited_us = rb_controller_now_us(c);
    if (exit_code == EXIT_REACHED && !reached(t)) {
        never_reported(t);
    } else if (exit_code == EXIT_YIELDED && t->last_resource <= t->row.resource_start) {
        trial_ended(t, RB_TASK_ENDED, RB_OUTCOME_YIELDED, 0, NULL); // its checkpoint is still the one it started from
    } else if (exit_code == EXIT_REACHED || exit_code == EXIT_YIELDED) {
        const bool known = t->row.state == RB_TASK_EXITED;
        RB_ENTER(rb_task_states, t->row.state, RB_TASK_EXITED);
        if (!known && !rb_run_task_write(t))
            return;
        if (exit_code == EXIT_REACHED && rb_run_task_overran(t))
            keep_checkpoint_before(t);
        else
            save(t);
    } else {
        snprintf(why, sizeof why, "ended with exit code %d", exit_code);
        failed(t, why, true);
    }
}

// Noted once: all trials run the same script.
void rb_run_task_linked(void *ctx, int trial, const char *name)
{
    struct rb_controller *c = ctx;
    if (c->dead || !rb_controller_says_first(&c->said, RB_SAID_LINKS))
        return;
    rb_controller_note(
        c, "warning",
        "the checkpoint of trial %d holds a symbolic link (%s), as others may: trials resume from it, but "
        "`rbrun fetch` will not unpack it; let the script save a copy instead of a link",
        trial, name);
}

void rb_run_task_saved(void *ctx, int trial, int start, const char *checkpoint, const struct rb_err *err)
{
    struct rb_controller *c = ctx;
    struct rb_run_task *t = rb_run_task_find(c, trial, start);
    if (c->dead || !t || t->row.state != RB_TASK_EXITED || (err && t->process != RB_PROCESS_SAVING))
        return;
    if (err && ++t->save_tries < RB_CONTROLLER_SAVE_TRIES) {
        rb_controller_arm(c, &t->timer, rb_backoff_us(t->save_tries), save, t);
        return;
    }
    if (err) {
        char why[512];
        snprintf(why, sizeof why, "its checkpoint could not be saved: %.400s", err->message);
        failed(t, why, false);
        return;
    }
    char before[sizeof t->row.checkpoint];
    memcpy(before, rb_run_trial_at(c, trial)->checkpoint, sizeof before);
    rb_run_task_use_checkpoint(t, checkpoint);
    rb_run_task_measure_save(t);
    trial_ended(t, RB_TASK_SAVED, t->row.exit_code == EXIT_YIELDED ? RB_OUTCOME_YIELDED : RB_OUTCOME_REACHED, 0, NULL);
    if (!c->dead)
        rb_run_task_drop_midway(c, trial, start, before);
}
