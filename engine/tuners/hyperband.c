// Hyperband: one successive halving for every trade-off between many short trials and few long ones, one after another
// or all at once. Trial ids continue from bracket to bracket. Source: Li et al., "Hyperband", JMLR 18 (2018), algorithm
// 1.
#include "engine/tuners/rung_state.h"

#include "base/arena.h"
#include "engine/tuners/brackets.h"
#include "engine/tuners/tuners.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct bracket {
    void *rungs;
    int first_trial;
    int first_stage;
    bool done;
};

struct hyperband {
    struct bracket brackets[RB_LIMIT_STAGES];
    int n;
    bool side_by_side;
};

// ---- stages

static bool append_bracket(const struct rb_scheduler *s, int bracket, struct rb_rung_table *table, struct rb_err *err)
{
    struct rb_rung_table own;
    rb_rungs_sha((int)rb_bracket_trials(s, bracket), rb_bracket_min_resource(s, bracket), s->max_resource, s->eta,
                 s->rungs, &own);
    if (table->n + own.n > RB_LIMIT_STAGES)
        return rb_err_set(err, RB_E_SCHEDULER_SIZE,
                          "scheduler.brackets: %d in turn have more than %d rungs, the most a plan has stages; use "
                          "brackets: %d, or brackets_run: side_by_side",
                          s->brackets, RB_LIMIT_STAGES, bracket);
    memcpy(&table->rungs[table->n], own.rungs, (size_t)own.n * sizeof *own.rungs);
    table->n += own.n;
    return true;
}

static bool check_hyperband_trials(const struct rb_scheduler *s, struct rb_err *err)
{
    int64_t n_trials = 0;
    for (int b = 0; b < s->brackets; b++)
        n_trials += rb_bracket_trials(s, b);
    return n_trials <= RB_LIMIT_TRIALS ||
           rb_err_set(
               err, RB_E_SCHEDULER_SIZE,
               "scheduler: the brackets from min_resource: %lld to max_resource: %lld by eta: %d need %lld trials, "
               "at most %d can be trained; raise min_resource",
               (long long)s->min_resource, (long long)s->max_resource, s->eta, (long long)n_trials, RB_LIMIT_TRIALS);
}

// In turn: the rungs of one bracket after another, each bracket's first rung from resource 0. Side by side: shared
// levels.
static bool hyperband_stages(const struct rb_job *job, struct rb_rung_table *out, struct rb_err *err)
{
    const struct rb_scheduler *s = &job->scheduler;
    struct rb_rung_table table = {0};
    int64_t n_trials[RB_LIMIT_STAGES];
    if (!check_hyperband_trials(s, err))
        return false;
    for (int b = 0; b < s->brackets; b++)
        n_trials[b] = rb_bracket_trials(s, b);
    if (s->brackets_run == RB_BRACKETS_SIDE_BY_SIDE) {
        rb_levels_shared(s, n_trials, out);
        return true;
    }
    for (int b = 0; b < s->brackets; b++)
        if (!append_bracket(s, b, &table, err))
            return false;
    *out = table;
    return true;
}

static bool hyperband_overlaps(const struct rb_scheduler *s)
{
    return s->brackets_run == RB_BRACKETS_SIDE_BY_SIDE;
}

// ---- a run

static bool hyperband_create(const struct rb_job *job, void **out_state, struct rb_err *err)
{
    const struct rb_scheduler *s = &job->scheduler;
    struct rb_rung_table table;
    if (!rb_rungs_of_job(job, &table, err)) // within the limits
        return false;
    struct hyperband *h = rb_xcalloc(1, sizeof *h);
    h->side_by_side = s->brackets_run == RB_BRACKETS_SIDE_BY_SIDE;
    int first_trial = 0, first_stage = 0;
    for (; h->n < s->brackets; h->n++) {
        const int n_trials = (int)rb_bracket_trials(s, h->n);
        rb_rungs_sha(n_trials, rb_bracket_min_resource(s, h->n), s->max_resource, s->eta, s->rungs, &table);
        h->brackets[h->n] = (struct bracket){
            .rungs = rb_rung_state_new(&table, first_trial),
            .first_trial = first_trial,
            .first_stage = h->side_by_side ? h->n : first_stage,
        };
        first_trial += n_trials;
        first_stage += table.n;
    }
    *out_state = h;
    return true;
}

static void hyperband_destroy(void *state)
{
    struct hyperband *h = state;
    if (!h)
        return;
    for (int b = 0; b < h->n; b++)
        rb_rung_state_destroy(h->brackets[b].rungs);
    free(h);
}

static enum rb_tuner_next hyperband_next(void *state, struct rb_group *out)
{
    struct hyperband *h = state;
    enum rb_tuner_next next = RB_TUNER_DONE;
    for (int b = 0; b < h->n; b++) {
        struct bracket *bracket = &h->brackets[b];
        if (bracket->done)
            continue;
        switch (rb_rung_state_next(bracket->rungs, out)) {
        case RB_TUNER_GROUP:
            out->stage += bracket->first_stage;
            return RB_TUNER_GROUP;
        case RB_TUNER_WAIT:
            next = RB_TUNER_WAIT;
            if (!h->side_by_side)
                return next;
            break;
        case RB_TUNER_DONE:
            bracket->done = true;
            break;
        }
    }
    return next;
}

static int hyperband_phase(const void *state)
{
    const struct hyperband *h = state;
    int lowest = -1, last = 0;
    for (int b = 0; b < h->n; b++) {
        const int stage = h->brackets[b].first_stage + rb_rung_state_phase(h->brackets[b].rungs);
        last = stage > last ? stage : last;
        if (!h->brackets[b].done && (lowest < 0 || stage < lowest))
            lowest = stage;
    }
    return lowest < 0 ? last : lowest;
}

static void *rungs_of(const struct hyperband *h, int trial)
{
    int b = h->n - 1;
    while (b > 0 && trial < h->brackets[b].first_trial)
        b--;
    return h->brackets[b].rungs;
}

static void hyperband_ended(void *state, int trial, int64_t resource, double score)
{
    rb_rung_state_ended(rungs_of(state, trial), trial, resource, score);
}

static void hyperband_failed(void *state, int trial)
{
    rb_rung_state_failed(rungs_of(state, trial), trial);
}

#define HYPERBAND(tuner_name) \
    { \
        .name = (tuner_name), .stages = hyperband_stages, .overlaps = hyperband_overlaps, .create = hyperband_create, \
        .destroy = hyperband_destroy, .next = hyperband_next, .phase = hyperband_phase, .ended = hyperband_ended, \
        .failed = hyperband_failed, \
    }

const struct rb_tuner rb_tuner_hyperband = HYPERBAND("hyperband");
const struct rb_tuner rb_tuner_dehb = HYPERBAND("dehb"); // its sampler evolves a population for each level (samplers/de.c)
