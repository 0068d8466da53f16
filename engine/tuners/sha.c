// Successive halving: the best floor(n / eta) of a rung train on, after all of it has ended. Source: Jamieson and
// Talwalkar, "Non-stochastic best arm identification", AISTATS'16, algorithm 1; rung rule of engine/rungs.h.
#include "engine/tuners/rung_state.h"

#include "engine/tuners/tuners.h"

const struct rb_tuner rb_tuner_sha = {
    .name = "sha",
    .create = rb_rung_state_create,
    .destroy = rb_rung_state_destroy,
    .next = rb_rung_state_next,
    .phase = rb_rung_state_phase,
    .told = rb_rung_state_told,
};
