// Random search: every drawn configuration is trained to the end, in one stage.
#include "engine/tuners/rung_state.h"

#include "engine/tuners/tuners.h"

static bool random_stages(const struct rb_job *job, struct rb_rung_table *out, struct rb_err *err)
{
    (void)err;
    rb_rungs_one(job->scheduler.num_trials, job->scheduler.max_resource, out);
    return true;
}

const struct rb_tuner rb_tuner_random = {
    .name = "random",
    .stages = random_stages,
    .create = rb_rung_state_create,
    .destroy = rb_rung_state_destroy,
    .next = rb_rung_state_next,
    .phase = rb_rung_state_phase,
    .ended = rb_rung_state_ended,
    .failed = rb_rung_state_failed,
};
