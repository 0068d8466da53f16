// Which trial trains next and how far. A tuner hands out trial groups and learns of results at any time; synchronous
// rungs are groups of many, asynchronous promotions groups of one. Pure: no clock, no random number (configurations
// are drawn by profiles/space from the job's seed). One tuner is one file under tuners/ and one line in tuners.c.
#ifndef RB_ENGINE_TUNER_H
#define RB_ENGINE_TUNER_H

#include "engine/rungs.h"
#include "profiles/job.h"

struct rb_group {
    int stage;              // 0, 1, ...: the rung, or a running number
    const int *trials;      // ascending trial ids, [n_trials]; borrowed from the tuner until its next call
    int n_trials;
    int64_t resource_start; // trained so far, all members alike
    int64_t resource_end;   // train to
};

enum rb_tuner_next { RB_TUNER_GROUP, RB_TUNER_WAIT, RB_TUNER_DONE };

struct rb_tuner {
    const char *name;
    bool synchronous;       // its stages are known before it runs: rb_rungs_of_job works
    // Heap state for one job; never NULL on success.
    bool (*create)(const struct rb_job *job, void **out_state, struct rb_err *err);
    void (*destroy)(void *state);
    // The next group to train, or WAIT until results arrive, or DONE.
    enum rb_tuner_next (*next)(void *state, struct rb_group *out);
    // Trial `trial` has finished its group's budget with `score` (higher is better; -INFINITY: failed or NaN, and then
    // it is never handed out again, even where that leaves a place empty).
    void (*told)(void *state, int trial, int64_t resource, double score);
};

const struct rb_tuner *rb_tuner_find(const char *name); // NULL: unknown
extern const struct rb_tuner *const rb_tuners[];         // sorted by name, NULL-terminated

// A metric turned into a score: higher is better; NaN and infinity are the worst value.
double rb_score(enum rb_goal goal, double metric);
// Order of trials at a rung: score descending, ties by trial id ascending. <0: a before b.
int rb_score_compare(double score_a, int trial_a, double score_b, int trial_b);

#endif
