// Random search: every drawn configuration is trained to the end, in one stage.
#include "engine/tuners/rung_state.h"

#include "engine/tuners/tuners.h"

const struct rb_tuner rb_tuner_random = {
    .name = "random",
    .synchronous = true,
    .create = rb_rung_state_create,
    .destroy = rb_rung_state_destroy,
    .next = rb_rung_state_next,
    .told = rb_rung_state_told,
};
