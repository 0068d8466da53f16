// The event-driven rules, without a time grid. A round is held when a job arrives or ends, when a node is ready, and
// one round length after the last one; epochs end when they end. The batch size is tuned again at the end of every
// epoch and at every round.
#include "simulator/cluster/trace_run.h"

#include "base/text/units.h"

#include <math.h>
#include <stdlib.h>

struct events {
    struct rb_trace_run *run;
    int64_t *known_us;     // each job's progress is valid at this instant
    int64_t *epoch_end_us; // INT64_MAX: none in the current state
    double *undisturbed;   // share of progress kept beside the neighbours of the last round
    int64_t next_round_us;
};

static void finish(struct events *e)
{
    free(e->known_us);
    free(e->epoch_end_us);
    free(e->undisturbed);
}

// ---- one job

static void expect_epoch_end(struct events *e, int job)
{
    const struct rb_trace_training *t = &e->run->jobs[job];
    const double rate = t->rate * e->undisturbed[job];
    e->epoch_end_us[job] = INT64_MAX;
    if (t->gpus == 0 || !(rate > 0))
        return;
    const double left_s = (rb_trace_training_epoch_end(t) - t->progress) / rate;
    if (left_s < RB_TRACE_LONGEST_S)
        e->epoch_end_us[job] = e->known_us[job] + t->restart_left_us + (int64_t)ceil(left_s * (double)RB_US_PER_S);
}

// Advances to now, which is not after the end of its epoch.
static void catch_up(struct events *e, int job)
{
    struct rb_err why;
    struct rb_trace_training *t = &e->run->jobs[job];
    const int64_t span_us = e->run->now_us - e->known_us[job];
    const int64_t delay_us = t->restart_left_us < span_us ? t->restart_left_us : span_us;
    e->known_us[job] = e->run->now_us;
    if (t->gpus == 0 || span_us == 0)
        return;
    rb_trace_training_hold(t, span_us);
    rb_trace_charge(e->run, job, span_us);
    t->restart_left_us -= delay_us;
    if (span_us == delay_us)
        return;
    t->progress += t->rate * e->undisturbed[job] * ((double)(span_us - delay_us) / (double)RB_US_PER_S);
    if (t->tunes && !rb_trace_training_learn(t, &why))
        rb_trace_skip(e->run, job, why.message);
}

static void end_epochs(struct events *e, bool *out_job_ended)
{
    struct rb_trace_run *run = e->run;
    for (int i = 0; i < run->n_active; i++) {
        const int job = run->active[i];
        struct rb_trace_training *t = &run->jobs[job];
        if (e->epoch_end_us[job] != run->now_us)
            continue;
        catch_up(e, job);
        if (!t->skipped)
            rb_trace_training_end_epoch(t, run->now_us);
        if (t->ended_us >= 0 || !rb_trace_tune(run, job))
            *out_job_ended = true;
        else
            expect_epoch_end(e, job);
    }
}

// ---- a round

static void hold_round(struct events *e)
{
    struct rb_trace_run *run = e->run;
    for (int i = 0; i < run->n_active; i++) {
        const int job = run->active[i];
        catch_up(e, job);
        if (!run->jobs[job].skipped)
            rb_trace_tune(run, job);
    }
    rb_trace_remove_ended(run);
    rb_trace_scale(run);
    rb_trace_divide(run);
    for (int i = 0; i < run->n_active; i++) {
        const int job = run->active[i];
        e->undisturbed[job] = rb_trace_undisturbed(run, job);
        expect_epoch_end(e, job);
    }
    e->next_round_us = run->now_us + run->options.sharing.round_us;
}

// ---- time

static int64_t earlier(int64_t a_us, int64_t b_us)
{
    return a_us < b_us ? a_us : b_us;
}

static int64_t next_instant(const struct events *e)
{
    const struct rb_trace_run *run = e->run;
    int64_t next_us = rb_trace_nodes_next_us(&run->nodes);
    next_us = earlier(next_us, rb_trace_next_arrival_us(run));
    if (run->n_active > 0)
        next_us = earlier(next_us, e->next_round_us);
    for (int i = 0; i < run->n_active; i++)
        next_us = earlier(next_us, e->epoch_end_us[run->active[i]]);
    return next_us;
}

static void step(struct events *e)
{
    struct rb_trace_run *run = e->run;
    run->now_us = next_instant(e);
    bool due = run->n_active > 0 && run->now_us >= e->next_round_us;
    end_epochs(e, &due);
    rb_trace_remove_ended(run);
    due |= rb_trace_nodes_arrive(&run->nodes, run->now_us);
    const int n_arrived = run->n_arrived;
    rb_trace_arrivals(run);
    for (int job = n_arrived; job < run->n_arrived; job++)
        e->known_us[job] = run->now_us;
    if (due || n_arrived < run->n_arrived)
        hold_round(e);
}

bool rb_trace_run_events(struct rb_trace_run *run, struct rb_err *err)
{
    const size_t n = (size_t)run->trace->n;
    RB_AUTO(finish)
    struct events e = {
        .run = run,
        .known_us = rb_xcalloc(n, sizeof *e.known_us),
        .epoch_end_us = rb_xcalloc(n, sizeof *e.epoch_end_us),
        .undisturbed = rb_xcalloc(n, sizeof *e.undisturbed),
    };
    while (run->n_ended < run->trace->n) {
        step(&e);
        if (!rb_trace_check_end(run, err))
            return false;
    }
    return true;
}
