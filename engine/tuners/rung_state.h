// Keeps the state of a tuner whose stages are a rung table: the trials of the current rung and their scores. Shared by sha
// (several rungs), random and grid (one), and the brackets of hyperband.
#ifndef RB_ENGINE_TUNERS_RUNG_STATE_H
#define RB_ENGINE_TUNERS_RUNG_STATE_H

#include "engine/core/tuner.h"

// Trials first_trial, first_trial + 1, ... Never NULL.
void *rb_rung_state_new(const struct rb_rung_table *table, int first_trial);
bool rb_rung_state_create(const struct rb_job *job, void **out_state, struct rb_err *err);
void rb_rung_state_destroy(void *state);
int rb_rung_state_phase(const void *state);
enum rb_tuner_next rb_rung_state_next(void *state, struct rb_group *out);
void rb_rung_state_ended(void *state, int trial, int64_t resource, double score);
void rb_rung_state_failed(void *state, int trial);
// The functions of a tuner that is its rung table and nothing else.
#define RB_RUNG_STATE_FUNCTIONS                                                          \
    .create = rb_rung_state_create, .destroy = rb_rung_state_destroy,                    \
    .next = rb_rung_state_next, .phase = rb_rung_state_phase,                            \
    .ended = rb_rung_state_ended, .failed = rb_rung_state_failed

#endif
