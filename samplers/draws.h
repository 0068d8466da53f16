// What samplers share: their random numbers, how a search starts, and the proposals that stay random.
#ifndef RB_SAMPLERS_DRAWS_H
#define RB_SAMPLERS_DRAWS_H

#include "base/stream.h"
#include "samplers/model/quasi.h"
#include "samplers/sampler.h"

// What a draw is for. Part of reproducibility: append, never renumber.
enum rb_draws_for { RB_FOR_SHIFT = 0, RB_FOR_TURN = 1, RB_FOR_PROPOSAL = 2, RB_FOR_FIT = 3, RB_FOR_KEPT = 4,
                    RB_FOR_REPLICATE = 5, RB_FOR_FOREST = 6 };

void rb_draws_init(struct rb_stream *s, uint64_t seed, enum rb_draws_for use, uint32_t index);
double rb_draws_normal(struct rb_stream *s); // standard normal

// One trial of every `period`, at a place in the period that the seed keys, is a draw from the prior: a model that is
// wrong about a region is corrected only by results from there.
bool rb_draws_is_random_turn(uint64_t seed, int trial, int period);
void rb_draws_propose_random(struct rb_arena *arena, struct rb_proposal *out, const char *reason);

// Until `least` trials have results, points that fill the space evenly. false: the model has enough.
bool rb_draws_propose_start(struct rb_quasi *q, const struct rb_sampler_setup *setup, const struct rb_history *h,
                            const struct rb_ask *ask, int least, struct rb_arena *arena, struct rb_proposal *out);

#define RB_START_RESULTS 10
#define RB_RULE_START \
    {.key = "start", .kind = RB_SETTING_INT, .min = 2, .max = 1000, .fallback = RB_START_RESULTS, \
     .summary = "trials with a result before the model proposes; until then points that fill the space evenly"}
#define RB_RANDOM_PERIOD 8

#endif
