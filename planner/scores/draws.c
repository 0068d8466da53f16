#include "planner/scores/draws.h"

#include "simulator/model/summary.h"
#include "simulator/sampler/sampler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ATOM 0.01 // of probability at one instant; steps of sampled laws are far smaller

bool rb_draws_see_atoms(const struct rb_stage_time *const *times, int n_stages)
{
    for (int i = 0; i < n_stages; i++) {
        if (times[i]->law.jump > ATOM)
            return true;
    }
    return false;
}

// --- runs

// Runs known..n-1 behind those that are known, as micro-units. values [4][n].
static void convert(const struct rb_runs *known, const struct rb_sampler_runs *drawn, int n, int64_t *values)
{
    const double *const from[] = {drawn->time_s, drawn->cost_usd, drawn->alone_s, drawn->alone_usd};
    const int n_known = known ? known->n : 0;
    for (int k = 0; k < 4; k++) {
        int64_t *to = values + (size_t)k * (size_t)n;
        if (known) {
            const int64_t *const of[] = {known->time_us, known->cost_uusd, known->alone_us, known->alone_uusd};
            memcpy(to, of[k], (size_t)n_known * sizeof *to);
        }
        for (int i = n_known; i < n; i++)
            to[i] = (int64_t)llrint(1e6 * from[k][i - n_known]);
    }
}

static bool draw(struct rb_search *search, const struct rb_candidate *candidate, const struct rb_plan_stage *stages,
                 int n, const struct rb_runs **out, struct rb_err *err)
{
    const struct rb_runs *known = rb_run_store_longest(search->runs, RB_RUN_TABLES, candidate);
    struct rb_sampler_options opt = rb_sampler_defaults();
    opt.threads = search->req->threads;
    opt.seed = search->req->seed;
    opt.tables = rb_stage_times_tables(search->times);
    if (known && known->n > n)
        known = NULL;
    const int n_known = known ? known->n : 0, n_new = n - n_known;
    struct rb_sampler *sampler = rb_sampler_create(search->scenario, stages, candidate->n_stages, &opt, err);
    if (!sampler)
        return false;
    RB_AUTO(rb_auto_free) double *drawn = rb_xrealloc(NULL, 4 * (size_t)n_new, sizeof *drawn);
    int64_t *values = rb_xrealloc(NULL, 4 * (size_t)n, sizeof *values);
    const struct rb_sampler_runs to = {drawn, drawn + n_new, drawn + 2 * n_new, drawn + 3 * n_new};
    rb_sampler_run_beside(sampler, (uint32_t)n_known, n_new, &to);
    rb_sampler_destroy(sampler);
    convert(known, &to, n, values);
    *out = rb_run_store_take_tables(search->runs, candidate, n, values);
    return true;
}

bool rb_draws_from_tables(struct rb_search *search, const struct rb_candidate *candidate,
                          const struct rb_plan_stage *stages, int n, const struct rb_runs **out, struct rb_err *err)
{
    *out = rb_run_store_find(search->runs, RB_RUN_TABLES, candidate, n);
    return *out || draw(search, candidate, stages, n, out, err);
}

static bool sees_atoms(struct rb_search *search, const struct rb_candidate *c, bool *out, struct rb_err *err)
{
    const struct rb_stage_time *times[RB_LIMIT_STAGES];
    for (int i = 0; i < c->n_stages; i++) {
        int kept;
        times[i] = rb_score_stage_time(search, c, i, RB_SCORE_SEARCH_ACCURACY, false, &kept, err);
        if (!times[i])
            return false;
    }
    *out = rb_draws_see_atoms(times, c->n_stages);
    return true;
}

bool rb_draws_get(struct rb_search *search, const struct rb_candidate *candidate, int n, const struct rb_runs **out,
                  struct rb_err *err)
{
    struct rb_plan_stage stages[RB_LIMIT_STAGES];
    struct rb_plan_nodes nodes[RB_LIMIT_STAGES];
    bool atoms = !search->by_laws;
    if (search->by_laws && !sees_atoms(search, candidate, &atoms, err))
        return false;
    if (atoms)
        return rb_search_runs(search, candidate, n, out, err);
    rb_candidate_stages(search->scenario, candidate, stages, nodes);
    return rb_draws_from_tables(search, candidate, stages, n, out, err);
}

// --- beside what laws say

// How often is a run in time and its stages alone are not, or the other way round?
struct changes {
    int gained, lost;
};

static struct changes count_changes(const struct rb_runs *runs, int64_t deadline_us)
{
    struct changes changes = {0, 0};
    for (int i = 0; i < runs->n; i++) {
        const bool in_time = runs->time_us[i] <= deadline_us, alone = runs->alone_us[i] <= deadline_us;
        changes.gained += in_time && !alone;
        changes.lost += !in_time && alone;
    }
    return changes;
}

double rb_draws_delayed(const struct rb_runs *runs, int64_t deadline_us)
{
    const struct changes changes = count_changes(runs, deadline_us);
    return (double)(changes.lost - changes.gained) / runs->n;
}

void rb_draws_tell_probability(const struct rb_runs *runs, const struct rb_score *score, int64_t deadline_us,
                               struct rb_estimate *io)
{
    if (deadline_us < 0 || !runs->alone_us)
        return;
    const struct changes changes = count_changes(runs, deadline_us);
    const double n = runs->n, changed = (changes.gained + changes.lost) / n, by = (changes.gained - changes.lost) / n;
    const double error = score->p_error - score->unready + rb_share_error(changed, runs->n);
    if (error >= io->error.p_deadline)
        return;
    io->p_deadline = fmax(0, fmin(1, score->p_deadline + by));
    io->stderr_.p_deadline = sqrt(fmax(0, changed - by * by) / n);
    io->error.p_deadline = error;
}

static void shift(struct rb_quantiles *to, const struct rb_quantiles *from, const struct rb_quantiles *alone)
{
    to->p5 += from->p5 - alone->p5;
    to->p50 += from->p50 - alone->p50;
    to->p95 += from->p95 - alone->p95;
    to->p99 += from->p99 - alone->p99;
}

bool rb_draws_tell_delay(const struct rb_runs *runs, struct rb_estimate *io)
{
    double sum = 0, squares = 0;
    for (int i = 0; runs->alone_us && i < runs->n; i++) {
        const double delay_us = (double)(runs->time_us[i] - runs->alone_us[i]);
        sum += delay_us;
        squares += delay_us * delay_us;
    }
    if (!(squares > 0))
        return false;
    const double mean_us = sum / runs->n, variance = fmax(0, squares / runs->n - mean_us * mean_us);
    const double stderr_us = sqrt(variance / runs->n);
    const struct rb_quantiles alone = rb_quantiles_of(runs->alone_us, runs->n);
    shift(&io->time_us, &runs->estimate.time_us, &alone);
    io->time_us.mean += (int64_t)llrint(mean_us);
    io->stderr_.time_mean_us = (int64_t)ceil(stderr_us);
    io->error.time_mean_us += (int64_t)ceil(RB_SURE_SIGMA * stderr_us);
    return true;
}

bool rb_draws_estimate(struct rb_search *search, const struct rb_candidate *candidate, const struct rb_score *score,
                       int n, struct rb_estimate *out, struct rb_err *err)
{
    const struct rb_runs *runs;
    if (!rb_draws_get(search, candidate, n, &runs, err))
        return false;
    *out = rb_runs_estimate(runs, search->req->deadline_us, search->req->budget_uusd);
    out->time_method = out->cost_method = runs->alone_us ? RB_ESTIMATE_TABLES : RB_ESTIMATE_REPLICATES;
    if (search->req->budget_uusd >= 0 || !score)
        return true;
    rb_draws_tell_probability(runs, score, search->req->deadline_us, out);
    out->p_both = out->p_deadline;
    out->stderr_.p_both = out->stderr_.p_deadline;
    out->error.p_both = out->error.p_deadline;
    return true;
}
