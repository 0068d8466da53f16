// Which configuration a trial has; rbsim asks too, for what a run has recorded.
#include "executor/launcher/trial_env.h"

#include <string.h>

const struct rb_value *rb_trial_values(const struct rb_job *job, int trial, const struct rb_value *suggested,
                                       struct rb_arena *arena)
{
    if (suggested)
        return suggested;
    struct rb_value *values =
        rb_arena_array(arena, (size_t)(job->space.n_params ? job->space.n_params : 1), sizeof *values);
    if (job->scheduler.sampler.type) { // it has none yet
        for (int i = 0; i < job->space.n_params; i++)
            values[i] = (struct rb_value){.kind = RB_VALUE_ABSENT};
    } else if (strcmp(job->scheduler.type, "grid") == 0)
        rb_space_grid_point(&job->space, trial, values);
    else
        rb_space_sample(&job->space, job->seed, (uint32_t)trial, values);
    return values;
}

void rb_trial_params_write(const struct rb_job *job, int trial, const struct rb_value *suggested, struct rb_json *j)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    rb_space_json(&job->space, rb_trial_values(job, trial, suggested, &arena), j);
}
