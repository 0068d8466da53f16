// Hyperband: a successive halving for every trade of many short trials against few long ones, one after another or all at
// once. Trial ids run on from bracket to bracket. Source: Li et al., "Hyperband", JMLR 18 (2018), algorithm 1.
#include "engine/tuners/rung_state.h"

#include "base/arena.h"
#include "engine/tuners/brackets.h"
#include "engine/tuners/tuners.h"

#include <assert.h>
#include <stdlib.h>

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

static void hyperband_told(void *state, int trial, int64_t resource, double score)
{
    struct hyperband *h = state;
    int b = h->n - 1;
    while (b > 0 && trial < h->brackets[b].first_trial)
        b--;
    rb_rung_state_told(h->brackets[b].rungs, trial, resource, score);
}

const struct rb_tuner rb_tuner_hyperband = {
    .name = "hyperband",
    .create = hyperband_create,
    .destroy = hyperband_destroy,
    .next = hyperband_next,
    .phase = hyperband_phase,
    .told = hyperband_told,
};
