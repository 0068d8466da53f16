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
    RB_RUNG_STATE_FUNCTIONS,
};
