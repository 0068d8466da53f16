#include "engine/core/rungs.h"

#include "engine/core/tuner.h"
#include "profiles/job/job_scheduler.h"

#include <assert.h>

void rb_rungs_sha(int n_trials, int64_t r, int64_t R, int eta, enum rb_rungs convention, struct rb_rung_table *out)
{
    assert(n_trials > 0 && r > 0 && r <= R && eta >= 2);
    const int n_rungs = rb_scheduler_s_max(r, R, eta) + 1;
    struct rb_rung_table table = {0};
    int64_t step = r, trained = 0;
    for (int n = n_trials; table.n < n_rungs; n /= eta) {
        const bool last = n == 0 || table.n == n_rungs - 1;
        // Steps before the last rung sum to less than the last step, hence to less than R.
        const int64_t end = last ? R : convention == RB_RUNGS_ADDITIONAL ? trained + step : step;
        table.rungs[table.n++] =
            (struct rb_rung){.trials = n > 0 ? n : 1, .resource_start = trained, .resource_end = end};
        if (last)
            break;
        trained = end;
        step *= eta;
    }
    *out = table;
}

void rb_rungs_one(int n_trials, int64_t R, struct rb_rung_table *out)
{
    *out = (struct rb_rung_table){.rungs = {{.trials = n_trials, .resource_start = 0, .resource_end = R}}, .n = 1};
}

bool rb_rungs_of_job(const struct rb_job *job, struct rb_rung_table *out, struct rb_err *err)
{
    const struct rb_tuner *tuner = rb_tuner_find(job->scheduler.type);
    if (!tuner)
        return rb_err_set(err, RB_E_NOT_SUPPORTED, "not supported yet: scheduler.type: %s", job->scheduler.type);
    double options[RB_SETTINGS_MAX];
    return rb_tuner_options(tuner, &job->scheduler, options, err) && tuner->stages(job, out, err);
}

bool rb_job_is_asynchronous(const struct rb_job *job)
{
    const struct rb_tuner *tuner = rb_tuner_find(job->scheduler.type);
    return tuner && tuner->overlaps && tuner->overlaps(&job->scheduler);
}
