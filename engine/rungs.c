#include "engine/rungs.h"

#include "engine/tuners/brackets.h"
#include "profiles/job_scheduler.h"

#include <assert.h>
#include <string.h>

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
        return rb_err_set(err, RB_E_GRID,
                          "the grid has %lld points, at most %d can be trained: coarsen a parameter or set "
                          "scheduler.num_trials",
                          (long long)points, RB_LIMIT_TRIALS);
    *out_n = points < limit ? (int)points : limit;
    return true;
}

// ---- of jobs

static bool append_bracket(const struct rb_scheduler *s, int bracket, struct rb_rung_table *table, struct rb_err *err)
{
    struct rb_rung_table own;
    rb_rungs_sha((int)rb_bracket_trials(s, bracket), rb_bracket_min_resource(s, bracket), s->max_resource, s->eta,
                 s->rungs, &own);
    if (table->n + own.n > RB_LIMIT_STAGES)
        return rb_err_set(err, RB_E_SCHEDULER_SIZE,
                          "scheduler.brackets: %d in turn have more than %d rungs, the most a plan has stages; use "
                          "brackets: %d, or brackets_run: side_by_side",
                          s->brackets, RB_LIMIT_STAGES, bracket);
    memcpy(&table->rungs[table->n], own.rungs, (size_t)own.n * sizeof *own.rungs);
    table->n += own.n;
    return true;
}

static bool check_hyperband_trials(const struct rb_scheduler *s, struct rb_err *err)
{
    int64_t n_trials = 0;
    for (int b = 0; b < s->brackets; b++)
        n_trials += rb_bracket_trials(s, b);
    return n_trials <= RB_LIMIT_TRIALS ||
           rb_err_set(
               err, RB_E_SCHEDULER_SIZE,
               "scheduler: the brackets from min_resource: %lld to max_resource: %lld by eta: %d need %lld trials, "
               "at most %d can be trained; raise min_resource",
               (long long)s->min_resource, (long long)s->max_resource, s->eta, (long long)n_trials, RB_LIMIT_TRIALS);
}

// Trials that come to each level, of brackets that share their levels: floor(n / eta^i) of each bracket's n, and at least
// one: somebody may get there.
static void shared_levels(const struct rb_scheduler *s, const int64_t *n_trials, struct rb_rung_table *out)
{
    struct rb_levels levels;
    rb_levels_of(s, &levels);
    *out = (struct rb_rung_table){.n = levels.n};
    for (int i = 0; i < levels.n; i++) {
        out->rungs[i].resource_start = i > 0 ? levels.resource[i - 1] : 0;
        out->rungs[i].resource_end = levels.resource[i];
    }
    for (int b = 0; b < s->brackets; b++) {
        int64_t n = n_trials[b];
        for (int i = b; i < levels.n; i++, n /= s->eta)
            out->rungs[i].trials += (int)n;
    }
    for (int i = 0; i < levels.n; i++)
        if (out->rungs[i].trials == 0)
            out->rungs[i].trials = 1;
}

static bool hyperband_rungs(const struct rb_scheduler *s, struct rb_rung_table *out, struct rb_err *err)
{
    struct rb_rung_table table = {0};
    int64_t n_trials[RB_LIMIT_STAGES];
    if (!check_hyperband_trials(s, err))
        return false;
    for (int b = 0; b < s->brackets; b++)
        n_trials[b] = rb_bracket_trials(s, b);
    if (s->brackets_run == RB_BRACKETS_SIDE_BY_SIDE) {
        shared_levels(s, n_trials, out);
        return true;
    }
    for (int b = 0; b < s->brackets; b++)
        if (!append_bracket(s, b, &table, err))
            return false;
    *out = table;
    return true;
}

static void asha_rungs(const struct rb_scheduler *s, struct rb_rung_table *out)
{
    struct rb_bracket_shares shares;
    rb_bracket_shares_init(&shares, s);
    for (int i = 0; i < s->num_trials; i++)
        rb_bracket_shares_next(&shares);
    shared_levels(s, shares.given, out);
}

static bool grid_rungs(const struct rb_job *job, struct rb_rung_table *out, struct rb_err *err)
{
    int n_trials = 0;
    if (!grid_trials(job, &n_trials, err))
        return false;
    one_rung(n_trials, job->scheduler.max_resource, out);
    return true;
}

static bool sha_rungs(const struct rb_scheduler *s, struct rb_rung_table *out, struct rb_err *err)
{
    if (s->brackets != 1)
        return rb_err_set(err, RB_E_SCHEDULER_KEYS,
                          "scheduler.brackets: %d: sha has one; use scheduler.type: hyperband", s->brackets);
    rb_rungs_sha(s->num_trials, s->min_resource, s->max_resource, s->eta, s->rungs, out);
    return true;
}

bool rb_rungs_of_job(const struct rb_job *job, struct rb_rung_table *out, struct rb_err *err)
{
    const struct rb_scheduler *s = &job->scheduler;
    if (strcmp(s->type, "sha") == 0)
        return sha_rungs(s, out, err);
    if (strcmp(s->type, "hyperband") == 0)
        return hyperband_rungs(s, out, err);
    if (strcmp(s->type, "grid") == 0)
        return grid_rungs(job, out, err);
    if (strcmp(s->type, "asha") == 0)
        asha_rungs(s, out);
    else if (strcmp(s->type, "random") == 0)
        one_rung(s->num_trials, s->max_resource, out);
    else
        return rb_err_set(err, RB_E_GRID,
                          "not supported yet: scheduler.type: %s; expected sha, hyperband, asha, random or grid",
                          s->type);
    return true;
}

bool rb_job_is_asynchronous(const struct rb_job *job)
{
    const struct rb_scheduler *s = &job->scheduler;
    return strcmp(s->type, "asha") == 0 ||
           (strcmp(s->type, "hyperband") == 0 && s->brackets_run == RB_BRACKETS_SIDE_BY_SIDE);
}
