// Grid search: every point of the grid (or the first num_trials of them) is trained to the end, in one stage.
#include "engine/tuners/rung_state.h"

#include "engine/tuners/tuners.h"

const struct rb_tuner rb_tuner_grid = {
    .name = "grid",
    .create = rb_rung_state_create,
    .destroy = rb_rung_state_destroy,
    .next = rb_rung_state_next,
    .phase = rb_rung_state_phase,
    .told = rb_rung_state_told,
};
