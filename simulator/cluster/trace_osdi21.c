// The rules of the simulator that Pollux (OSDI'21) was compared in: a grid of rounds. All jobs first train through one
// round, then the policy is asked. An epoch ends on a whole second. A job that is resized first pauses for the restart.
// The batch size is tuned again at the end of every epoch and of every round.
#include "simulator/cluster/trace_run.h"

#include "base/text/units.h"

#include <assert.h>
#include <math.h>
#include <string.h>

// One application trains best on one GPU; that simulator gave it exactly one, and its largest batch, whenever it chose
// GPUs for jobs.
#define PINNED_APP   "ncf"
#define PINNED_GPUS  1
#define PINNED_BATCH 32768

void rb_trace_pin_osdi21(struct rb_trace_run *run)
{
    const struct rb_sharing *policy = run->options.policy;
    const bool gpus_as_submitted = policy->as_submitted && !policy->needs_oracle;
    for (int j = 0; j < run->trace->n; j++)
        run->jobs[j].as_published = true;
    for (int j = 0; !gpus_as_submitted && j < run->trace->n; j++) {
        struct rb_trace_training *t = &run->jobs[j];
        if (strcmp(t->job->app->name, PINNED_APP) != 0)
            continue;
        t->tunes = false;
        t->max_gpus = PINNED_GPUS;
        t->batch = PINNED_BATCH < t->job->app->max_batch ? PINNED_BATCH : t->job->app->max_batch;
    }
}

// Whole seconds, ties to even.
static int64_t whole_seconds_us(double seconds)
{
    return (int64_t)rint(seconds) * RB_US_PER_S;
}

// Advances through a round from `now_us` on, or to its end.
static bool train(struct rb_trace_training *t, int64_t now_us, int64_t span_us, double undisturbed, bool learns,
                  struct rb_err *err)
{
    const int64_t delay_us = t->restart_left_us < span_us ? t->restart_left_us : span_us;
    int64_t left_us = span_us - delay_us;
    t->restart_left_us -= delay_us;
    rb_trace_training_hold(t, delay_us);
    while (left_us > 0 && t->ended_us < 0) {
        if (learns && !rb_trace_training_learn(t, err))
            return false;
        const double rate = t->rate * undisturbed, left_s = (double)left_us / (double)RB_US_PER_S;
        if (t->progress + rate * left_s < rb_trace_training_epoch_end(t)) {
            t->progress += rate * left_s;
            rb_trace_training_hold(t, left_us);
            left_us = 0;
        } else {
            const int64_t used_us = whole_seconds_us((rb_trace_training_epoch_end(t) - t->progress) / rate);
            assert(used_us <= left_us);
            rb_trace_training_hold(t, used_us);
            left_us -= used_us;
            rb_trace_training_end_epoch(t, now_us + span_us - left_us);
        }
        if (t->ended_us < 0 && !rb_trace_training_tune(t, err))
            return false;
    }
    return true;
}

static void train_all(struct rb_trace_run *run, int64_t span_us)
{
    const bool learns = !run->options.policy->as_submitted;
    for (int i = 0; i < run->n_active; i++) {
        const int job = run->active[i];
        struct rb_trace_training *t = &run->jobs[job];
        const int64_t executed_us = t->executed_us;
        struct rb_err why;
        const bool trained =
            t->gpus == 0 || train(t, run->now_us, span_us, rb_trace_undisturbed(run, job), learns, &why);
        rb_trace_charge(run, job, t->executed_us - executed_us);
        if (!trained)
            rb_trace_skip(run, job, why.message);
    }
}

bool rb_trace_run_osdi21(struct rb_trace_run *run, struct rb_err *err)
{
    const int64_t span_us = run->options.sharing.round_us;
    while (run->n_ended < run->trace->n) {
        train_all(run, span_us);
        run->now_us += span_us;
        rb_trace_remove_ended(run);
        rb_trace_arrivals(run);
        rb_trace_divide(run);
        if (!rb_trace_check_end(run, err))
            return false;
    }
    return true;
}
