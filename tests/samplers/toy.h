// What tests of samplers share: a job from YAML, and searches of made-up functions.
#ifndef RB_TESTS_SAMPLERS_TOY_H
#define RB_TESTS_SAMPLERS_TOY_H

#include "base/document/doc.h"
#include "profiles/job/job.h"
#include "samplers/search.h"

#include "tests/profiles/check.h"

struct toy {
    struct rb_doc doc;
    struct rb_arena arena;
    struct rb_job job;
    struct rb_search *search;
};

// parameters: YAML of job.yaml's `parameters`, one a line. sampler: YAML of scheduler.sampler. Levels are 1, 3, 9.
void toy_open(struct toy *t, const char *parameters, const char *sampler, uint64_t seed);
void toy_close(struct toy *t);

// Four coordinates, one of them a choice, one only under a choice; best (0) in one place; the higher the resource the
// closer to it.
extern const char toy_parameters[];
double toy_score(const struct rb_space *space, const struct rb_value *values, int64_t resource);

const struct rb_value *toy_suggest(struct toy *t, int trial, struct rb_arena *arena, struct rb_suggestion *out);
// Trains a trial: begins, reports at 1, 3, 9, ends. Returns its last score.
double toy_train(struct toy *t, int trial, const struct rb_value *values);
// The best score of n_trials in turn.
double toy_search(const char *sampler, uint64_t seed, int n_trials);

#endif
