#include "bench/search/play.h"

#include "engine/core/tuner.h"
#include "samplers/recall.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_WORKERS 64

struct worker {
    int trial; // -1: idle
    int64_t start, end;
    double until;
};

struct round {
    const struct game *game;
    const struct rb_blackbox *table;
    struct rb_job job;
    const struct rb_tuner *tuner;
    void *state;
    int first_trial; // of the tuner's present round: hyperband and sha begin again when they are done
    struct rb_search *search;
    struct rb_arena arena;
    bool *used;  // [table->n_rows]
    int *row_of; // by trial, [rows]
    bool *drawn; // likewise
    int n_trials;
    struct {
        int trial;
        int64_t start, end;
    } waiting[4096];
    int n_waiting, at_waiting;
    struct worker workers[MAX_WORKERS];
    double now, spent, best, best_final, mean_unit_s;
    struct outcome *out;
};

// The scheduler's largest rung: the smallest 2 * 3^k or 3^k that is not below R, which then stands for R.
static int64_t least_resource(const struct rb_blackbox *t)
{
    return t->max_resource >= 50 ? 2 : 1;
}

static int64_t rung_top(const struct rb_blackbox *t)
{
    int64_t r = least_resource(t);
    while (r < t->max_resource)
        r *= 3;
    return r;
}

static int64_t trained_to(const struct rb_blackbox *t, int64_t resource)
{
    return resource < t->max_resource ? resource : t->max_resource;
}

static double score_at(const struct rb_blackbox *t, int row, int64_t resource)
{
    const double metric = rb_blackbox_metric(t, row, resource);
    return isnan(metric) ? -INFINITY : t->goal == RB_GOAL_MAXIMIZE ? metric : -metric;
}

static double unit_s(const struct round *r, int row)
{
    return r->table->unit_s ? r->table->unit_s[row] : 1;
}

static bool new_tuner(struct round *r, struct rb_err *err)
{
    if (r->state)
        r->tuner->destroy(r->state);
    r->state = NULL;
    r->first_trial = r->n_trials;
    return r->tuner->create(&r->job, &r->state, err);
}

static void set_job(struct round *r, uint64_t seed)
{
    const int64_t top = rung_top(r->table);
    r->job = (struct rb_job){
        .name = r->table->path,
        .seed = seed,
        .metric_name = "score",
        .space = r->table->space,
        .scheduler = {.type = r->game->scheduler,
                      .sampler = r->game->sampler,
                      .num_trials = r->game->num_trials,
                      .min_resource = least_resource(r->table),
                      .max_resource = strcmp(r->game->scheduler, "random") == 0 ? r->table->max_resource : top,
                      .eta = 3,
                      .unit = "unit",
                      .brackets = 1},
    };
    if (r->game->eta > 0) {
        r->job.scheduler.eta = r->game->eta;
        r->job.scheduler.min_resource = r->game->min_resource;
        r->job.scheduler.max_resource = r->table->max_resource;
    }
    if (strcmp(r->game->scheduler, "hyperband") == 0)
        for (int64_t k = r->job.scheduler.min_resource; k < top; k *= 3)
            r->job.scheduler.brackets++;
}

// ---- trials

static double budget_of(const struct round *r)
{
    return r->game->once ? INFINITY : r->game->budgets[N_BUDGETS - 1];
}

static void suggest(struct round *r, int trial, int64_t resource)
{
    struct rb_ask ask = {.trial = trial, .parent = -1, .resource = resource};
    struct rb_suggestion s;
    struct timespec from, to;
    if (r->game->in_seconds) {
        ask.budget = budget_of(r);
        ask.spent = r->spent;
    }
    rb_arena_reset(&r->arena);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    rb_search_suggest(r->search, &ask, &r->arena, &s);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    r->out->suggest_s[r->out->n_suggest++] =
        (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
    double *u = rb_arena_array(&r->arena, (size_t)r->table->coordinates.n, sizeof *u);
    rb_coordinates_of(&r->table->coordinates, s.values, u);
    const int row = rb_blackbox_nearest(r->table, u, r->used);
    r->used[row] = true;
    r->row_of[trial] = row;
    r->drawn[trial] = rb_origin_is_drawn(s.origin);
    rb_search_began(r->search, trial, rb_blackbox_values(r->table, row), resource);
}

static void start(struct round *r, struct worker *w, int trial, int64_t from, int64_t to)
{
    *w = (struct worker){.trial = trial, .start = from, .end = trained_to(r->table, to)};
    if (from > 0)
        rb_search_changed(r->search, trial, RB_SEEN_TRAINS, to);
    for (int ahead = 0; from == 0 && ahead <= r->game->ahead && trial + ahead < r->table->n_rows; ahead++)
        if (r->row_of[trial + ahead] < 0)
            suggest(r, trial + ahead, to);
    const int64_t units = r->table->resumable ? w->end - from : w->end;
    w->until = r->now + (double)units * unit_s(r, r->row_of[trial]);
}

// The next trial of a group, or of the next group. false: none now.
static bool next_trial(struct round *r, struct worker *w)
{
    while (r->at_waiting == r->n_waiting) {
        struct rb_group g;
        switch (r->tuner->next(r->state, &g)) {
        case RB_TUNER_WAIT:
            return false;
        case RB_TUNER_DONE:
            if (r->game->once || !new_tuner(r, NULL))
                return false;
            continue;
        case RB_TUNER_GROUP:
            break;
        }
        r->n_waiting = r->at_waiting = 0;
        for (int i = 0; i < g.n_trials; i++) {
            const int trial = r->first_trial + g.trials[i];
            r->waiting[r->n_waiting].trial = trial;
            r->waiting[r->n_waiting].start = g.resource_start;
            r->waiting[r->n_waiting++].end = g.resource_end;
            if (trial >= r->n_trials)
                r->n_trials = trial + 1;
        }
    }
    const int i = r->at_waiting++;
    if (r->waiting[i].trial >= r->table->n_rows)
        return false;
    start(r, w, r->waiting[i].trial, r->waiting[i].start, r->waiting[i].end);
    return true;
}

static double regret(const struct round *r)
{
    return rb_blackbox_regret(r->table, r->table->goal == RB_GOAL_MAXIMIZE ? r->best : -r->best);
}

static void finish(struct round *r, struct worker *w)
{
    const int row = r->row_of[w->trial];
    const double score = score_at(r->table, row, w->end);
    const double units = (double)(r->table->resumable ? w->end - w->start : w->end);
    const bool ends = w->end == r->table->max_resource || !(score > -INFINITY);
    r->now = w->until;
    const double before = r->spent;
    r->spent += r->game->in_seconds ? units * unit_s(r, row) / r->mean_unit_s : units;
    for (int b = 0; b < N_BUDGETS; b++)
        if (before <= r->game->budgets[b] && r->spent > r->game->budgets[b])
            r->out->regret[b] = regret(r);
    if (score > r->best) {
        r->best = score;
        r->out->steps = rb_grow(r->out->steps, r->out->n_steps, sizeof *r->out->steps);
        r->out->steps[r->out->n_steps++] = (struct step){r->spent, regret(r)};
    }
    if (w->end == r->table->max_resource && score > r->best_final) {
        r->best_final = score;
        r->out->best_row = row;
    }
    const int64_t resource = w->end == r->table->max_resource ? r->job.scheduler.max_resource : w->end;
    rb_search_reported(r->search, w->trial, resource, score,
                       r->table->unit_s ? r->table->unit_s[row] : NAN);
    rb_search_changed(r->search, w->trial, ends ? RB_SEEN_ENDED : RB_SEEN_PAUSED, 0);
    r->tuner->ended(r->state, w->trial - r->first_trial, resource, score);
    w->trial = -1;
}

static struct worker *first_to_finish(struct round *r)
{
    struct worker *first = NULL;
    for (int i = 0; i < r->game->workers; i++) {
        struct worker *w = &r->workers[i];
        if (w->trial >= 0 && (!first || w->until < first->until))
            first = w;
    }
    return first;
}

static void run(struct round *r)
{
    for (int i = 0; i < r->game->workers; i++)
        r->workers[i].trial = -1;
    while (r->spent <= budget_of(r)) {
        for (int i = 0; i < r->game->workers; i++)
            if (r->workers[i].trial < 0 && !next_trial(r, &r->workers[i]))
                break;
        struct worker *w = first_to_finish(r);
        if (!w)
            break;
        finish(r, w);
    }
    for (int b = 0; b < N_BUDGETS; b++)
        if (r->spent <= r->game->budgets[b] || r->game->once)
            r->out->regret[b] = regret(r);
    r->out->units = r->spent;
}

static void leave(const struct round *r)
{
    const struct rb_history *h = rb_search_history(r->search);
    double *quantiles = rb_xcalloc((size_t)h->n_results + 1, sizeof *quantiles);
    rb_recall_quantiles(h, quantiles);
    r->out->results = rb_xcalloc((size_t)h->n_results + 1, sizeof *r->out->results);
    r->out->result_rows = rb_xcalloc((size_t)h->n_results + 1, sizeof *r->out->result_rows);
    r->out->n_results = h->n_results;
    for (int i = 0; i < h->n_results; i++) {
        const struct rb_seen_trial *t = &h->trials[h->results[i].place];
        r->out->result_rows[i] = r->drawn[t->trial] ? r->row_of[t->trial] : -1;
        r->out->results[i] = (struct rb_earlier_result){.values = rb_blackbox_values(r->table, r->row_of[t->trial]),
                                                        .resource = h->levels[h->results[i].level],
                                                        .quantile = quantiles[i],
                                                        .unit_s = t->unit_s};
    }
    free(quantiles);
}

void outcome_finish(struct outcome *o)
{
    free(o->suggest_s);
    free(o->steps);
    free(o->results);
    free(o->result_rows);
    free(o->used);
}

static double mean_seconds(const struct rb_blackbox *t)
{
    double sum = 0;
    for (int i = 0; i < t->n_rows; i++)
        sum += t->unit_s ? t->unit_s[i] : 1;
    return sum / t->n_rows;
}

bool play(const struct game *g, const struct rb_blackbox *t, uint64_t seed, struct outcome *out, struct rb_err *err)
{
    struct round *r = rb_xcalloc(1, sizeof *r);
    *r = (struct round){.game = g, .table = t, .tuner = rb_tuner_find(g->scheduler), .best = -INFINITY, .best_final = -INFINITY, .out = out};
    assert(r->tuner && g->workers <= MAX_WORKERS);
    r->mean_unit_s = mean_seconds(t);
    set_job(r, seed);
    rb_arena_init(&r->arena);
    r->used = rb_xcalloc((size_t)t->n_rows, sizeof *r->used);
    r->row_of = rb_xcalloc((size_t)t->n_rows, sizeof *r->row_of);
    r->drawn = rb_xcalloc((size_t)t->n_rows, sizeof *r->drawn);
    for (int i = 0; i < t->n_rows; i++)
        r->row_of[i] = -1;
    *out = (struct outcome){.best_row = -1, .suggest_s = rb_xcalloc((size_t)t->n_rows, sizeof *out->suggest_s)};
    if (g->taken)
        memcpy(r->used, g->taken, (size_t)t->n_rows * sizeof *r->used);
    const bool ok = rb_search_create(&r->job, &r->search, err) && new_tuner(r, err);
    if (ok) {
        if (g->earlier.n > 0)
            rb_search_recall(r->search, g->earlier.results, g->earlier.n);
        run(r);
        leave(r);
    }
    rb_search_destroy(r->search);
    if (r->state)
        r->tuner->destroy(r->state);
    rb_arena_finish(&r->arena);
    out->used = r->used;
    free(r->row_of);
    free(r->drawn);
    free(r);
    return ok;
}
