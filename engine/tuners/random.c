// Random search: every drawn configuration is trained to the end, in one stage.
#include "engine/tuners/rung_state.h"

#include "engine/tuners/tuners.h"

const struct rb_tuner rb_tuner_random = {
    .name = "random",
    .create = rb_rung_state_create,
    .destroy = rb_rung_state_destroy,
    .next = rb_rung_state_next,
    .phase = rb_rung_state_phase,
    .told = rb_rung_state_told,
};
