#include "executor/search/found.h"

#include "base/clock.h"
#include "engine/core/engine.h"
#include "engine/core/tuner.h"
#include "executor/launcher/trial_env.h"
#include "profiles/job/job_scheduler.h"
#include "profiles/store/found.h"
#include "providers/wire/digest.h"
#include "samplers/recall.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct run {
    struct rb_arena arena;
    struct rb_job job; // without its sampler, because no proposals are needed here
    const struct rb_plan *plan;
    struct rb_engine *engine;
    struct rb_search *search;
    struct rb_actions actions;
    int64_t *started_at; // resource at the last start of each trial, [n_started]
    int n_started;
};

static void finish(struct run *r)
{
    rb_engine_destroy(r->engine);
    rb_search_destroy(r->search);
    rb_actions_finish(&r->actions);
    rb_arena_finish(&r->arena);
    free(r->started_at);
}

// ---- the journal, again

static void note_starts(struct run *r)
{
    for (int i = 0; i < r->actions.n; i++) {
        const struct rb_action *a = &r->actions.items[i];
        if (a->kind != RB_ACTION_START_TRIAL)
            continue;
        for (; r->n_started <= a->trial; r->n_started++) {
            r->started_at = rb_grow(r->started_at, r->n_started, sizeof *r->started_at);
            r->started_at[r->n_started] = 0;
        }
        r->started_at[a->trial] = a->resource_start;
    }
}

// Mean seconds a unit since its last start, start-up included; NAN: unknown.
static double unit_s(const struct run *r, const struct rb_trial *t, int trial)
{
    const int64_t units = t->resource - (trial < r->n_started ? r->started_at[trial] : t->resource);
    return units > 0 && t->started_us >= 0 ? (double)(rb_engine_now_us(r->engine) - t->started_us) / 1e6 / (double)units
                                           : NAN;
}

static void take_report(struct run *r, const struct rb_event *event)
{
    const struct rb_trial *t = rb_engine_trial(r->engine, event->trial);
    if (t->resource != event->resource) // a late one
        return;
    if (rb_history_place_of(rb_search_history(r->search), event->trial) < 0)
        rb_search_began(r->search, event->trial, rb_trial_values(&r->job, event->trial, t->values, &r->arena),
                        t->resource_end);
    rb_search_reported(r->search, event->trial, event->resource, rb_score(r->job.goal, event->metric),
                       unit_s(r, t, event->trial));
}

static bool take(void *ctx, const struct rb_event *event, struct rb_err *err)
{
    struct run *r = ctx;
    (void)err;
    rb_engine_step(r->engine, event, &r->actions);
    note_starts(r);
    if (event->kind == RB_EVENT_REPORT && event->trial < rb_engine_n_trials(r->engine))
        take_report(r, event);
    if (event->kind == RB_EVENT_TRIAL_ENDED && event->trial < rb_engine_n_trials(r->engine) &&
        rb_engine_trial(r->engine, event->trial)->state == RB_TRIAL_FAILED)
        rb_search_changed(r->search, event->trial, RB_SEEN_FAILED, 0);
    return true;
}

// ---- for the store

static double metric_of(const struct rb_job *job, double score)
{
    return !isfinite(score) ? NAN : job->goal == RB_GOAL_MINIMIZE ? -score : score;
}

static bool is_drawn(const struct rb_job *job, const struct rb_trial *t)
{
    return t->origin ? rb_origin_is_drawn(t->origin) : strcmp(job->scheduler.type, "grid") != 0;
}

static struct rb_found_result *list(struct run *r, int *out_n)
{
    const struct rb_history *h = rb_search_history(r->search);
    double *quantiles = rb_arena_array(&r->arena, (size_t)h->n_results, sizeof *quantiles);
    struct rb_found_result *out = rb_arena_array(&r->arena, (size_t)h->n_results, sizeof *out);
    rb_recall_quantiles(h, quantiles);
    for (int i = 0; i < h->n_results; i++) {
        RB_AUTO(rb_buf_finish) struct rb_buf config = RB_BUF_INIT;
        struct rb_json j = {.out = &config};
        const struct rb_seen_trial *t = &h->trials[h->results[i].place];
        rb_trial_params_write(&r->job, t->trial, rb_engine_trial(r->engine, t->trial)->values, &j);
        out[i] = (struct rb_found_result){.trial = t->trial,
                                          .resource = h->levels[h->results[i].level],
                                          .config_json = rb_arena_strdup(&r->arena, rb_buf_str(&config)),
                                          .quantile = quantiles[i],
                                          .unit_s = t->unit_s,
                                          .metric = metric_of(&r->job, h->results[i].score),
                                          .drawn = is_drawn(&r->job, rb_engine_trial(r->engine, t->trial))};
    }
    *out_n = h->n_results;
    return out;
}

static bool put(struct run *r, const struct rb_run_files *f, struct rb_store *s, struct rb_err *err)
{
    char space[65], training[65];
    struct rb_found found = {.run = f->run_id, .job = r->job.name, .space = space, .training = training,
                             .ended_at_us = rb_clock_unix_us()};
    rb_found_space(&r->job, rb_digest_sha256, space);
    rb_found_training(&r->job, rb_digest_sha256, training);
    found.results = list(r, &found.n);
    return found.n == 0 || rb_store_put_found(s, &found, err);
}

bool rb_search_leave(const struct rb_run_files *f, struct rb_journal *j, struct rb_store *s, struct rb_err *err)
{
    RB_AUTO(finish) struct run r = {.job = *f->plan.job, .plan = &f->plan};
    rb_arena_init(&r.arena);
    r.job.scheduler.sampler = (struct rb_sampler_spec){0};
    // In a population a score is also due to what its trial's ancestors trained with.
    if (r.job.space.n_params == 0 || rb_scheduler_kind(r.job.scheduler.type)->is_population)
        return true;
    if (!rb_search_create(&r.job, &r.search, err))
        return false;
    return rb_search_coordinates(r.search)->n == 0 ||
           (rb_engine_create(&f->plan, &r.engine, err) && rb_journal_each_event(j, take, &r, err) &&
            put(&r, f, s, err));
}
