// Grid search: every point of the grid (or the first num_trials of them) is trained to the end, in one stage.
#include "engine/tuners/rung_state.h"

#include "engine/tuners/tuners.h"

static bool grid_trials(const struct rb_job *job, int *out_n, struct rb_err *err)
{
    int64_t points;
    if (!rb_space_grid_size(&job->space, &points, err))
        return false;
    const int limit = job->scheduler.num_trials > 0 ? job->scheduler.num_trials : RB_LIMIT_TRIALS;
    if (points > limit && job->scheduler.num_trials == 0)
        return rb_err_set(err, RB_E_GRID,
                          "the grid has %lld points, at most %d can be trained: coarsen a parameter or set "
                          "scheduler.num_trials",
                          (long long)points, RB_LIMIT_TRIALS);
    *out_n = points < limit ? (int)points : limit;
    return true;
}

static bool grid_stages(const struct rb_job *job, struct rb_rung_table *out, struct rb_err *err)
{
    int n_trials = 0;
    if (!grid_trials(job, &n_trials, err))
        return false;
    rb_rungs_one(n_trials, job->scheduler.max_resource, out);
    return true;
}

const struct rb_tuner rb_tuner_grid = {
    .name = "grid",
    .stages = grid_stages,
    RB_RUNG_STATE_FUNCTIONS,
};
