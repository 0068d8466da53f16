#include "engine/rungs.h"

#include "engine/tuner.h"

#include <assert.h>
#include <string.h>

// r eta^i for i = 0, 1, ... while <= R: how many there are, at most as many as a table holds.
static int count_rungs(int64_t r, int64_t R, int eta)
{
    int n = 1;
    for (int64_t step = r; step <= R / eta && n < RB_LIMIT_STAGES; n++)
        step *= eta;
    return n;
}

void rb_rungs_sha(int n_trials, int64_t r, int64_t R, int eta, enum rb_rungs convention, struct rb_rung_table *out)
{
    assert(n_trials > 0 && r > 0 && r <= R && eta >= 2);
    const int n_rungs = count_rungs(r, R, eta);
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

static void one_rung(int n_trials, int64_t R, struct rb_rung_table *out)
{
    *out = (struct rb_rung_table){.rungs = {{.trials = n_trials, .resource_start = 0, .resource_end = R}}, .n = 1};
}

static bool grid_trials(const struct rb_job *job, int *out_n, struct rb_err *err)
{
    int64_t points;
    if (!rb_space_grid_size(&job->space, &points, err))
        return false;
    const int limit = job->scheduler.num_trials > 0 ? job->scheduler.num_trials : RB_LIMIT_TRIALS;
    if (points > limit && job->scheduler.num_trials == 0)
        return rb_err_set(err, RB_ERR_INVALID,
                          "the grid has %lld points, at most %d can be trained: coarsen a parameter or set "
                          "scheduler.num_trials",
                          (long long)points, RB_LIMIT_TRIALS);
    *out_n = points < limit ? (int)points : limit;
    return true;
}

bool rb_rungs_of_job(const struct rb_job *job, struct rb_rung_table *out, struct rb_err *err)
{
    const struct rb_scheduler *s = &job->scheduler;
    if (strcmp(s->type, "sha") == 0 && s->brackets == 1) {
        rb_rungs_sha(s->num_trials, s->min_resource, s->max_resource, s->eta, s->rungs, out);
        return true;
    }
    if (strcmp(s->type, "random") == 0) {
        one_rung(s->num_trials, s->max_resource, out);
        return true;
    }
    if (strcmp(s->type, "grid") == 0) {
        int n_trials = 0;
        if (!grid_trials(job, &n_trials, err))
            return false;
        one_rung(n_trials, s->max_resource, out);
        return true;
    }
    if (strcmp(s->type, "sha") == 0)
        return rb_err_set(err, RB_ERR_INVALID, "not supported yet: scheduler.brackets: %d; expected 1", s->brackets);
    return rb_err_set(err, RB_ERR_INVALID,
                      "not supported yet: scheduler.type: %s has no stages known before it runs; expected sha, random "
                      "or grid",
                      s->type);
}
