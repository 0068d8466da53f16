#include "samplers/history.h"

#include "base/arena.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void rb_history_init(struct rb_history *h, int n_coordinates, const int64_t *levels, int n_levels)
{
    assert(n_levels > 0);
    *h = (struct rb_history){.n_coordinates = n_coordinates, .levels = levels, .n_levels = n_levels, .largest = -1};
}

void rb_history_finish(struct rb_history *h)
{
    for (int i = 0; i < h->n_trials; i++)
        free(h->trials[i].u);
    for (int i = 0; i < h->n_recalled; i++)
        free(h->recalled[i].u);
    free(h->trials);
    free(h->results);
    free(h->recalled);
    *h = (struct rb_history){0};
}

int rb_history_level_of(const struct rb_history *h, int64_t resource)
{
    int level = 0;
    while (level < h->n_levels - 1 && h->levels[level] < resource)
        level++;
    return level;
}

int rb_history_place_of(const struct rb_history *h, int trial)
{
    if (trial >= 0 && trial < h->n_trials && h->trials[trial].trial == trial)
        return trial; // trials begin in the order of their numbers, but for a few
    if (trial > h->largest)
        return -1;
    for (int i = h->n_trials - 1; i >= 0; i--)
        if (h->trials[i].trial == trial)
            return i;
    return -1;
}

int rb_history_begin(struct rb_history *h, int trial, const double *u, int64_t next_resource)
{
    const int known = rb_history_place_of(h, trial);
    if (known >= 0)
        return known;
    if (h->n_trials == h->trials_cap) {
        h->trials_cap = h->trials_cap ? 2 * h->trials_cap : 64;
        h->trials = rb_xrealloc(h->trials, (size_t)h->trials_cap, sizeof *h->trials);
    }
    double *copy = rb_xcalloc((size_t)h->n_coordinates + 1, sizeof *copy);
    memcpy(copy, u, (size_t)h->n_coordinates * sizeof *copy);
    h->largest = trial > h->largest ? trial : h->largest;
    h->trials[h->n_trials] = (struct rb_seen_trial){
        .trial = trial,
        .u = copy,
        .state = RB_SEEN_TRAINS,
        .next_level = rb_history_level_of(h, next_resource),
        .last_result = -1,
        .unit_s = NAN,
    };
    return h->n_trials++;
}

// Levels at or below it count as passed: each has one result.
static void add_result(struct rb_history *h, int place, int level, double score)
{
    struct rb_seen_trial *t = &h->trials[place];
    if (h->n_results == h->results_cap) {
        h->results_cap = h->results_cap ? 2 * h->results_cap : 128;
        h->results = rb_xrealloc(h->results, (size_t)h->results_cap, sizeof *h->results);
    }
    h->results[h->n_results] =
        (struct rb_seen_result){.place = place, .level = level, .score = score, .before = t->last_result};
    t->last_result = h->n_results++;
}

static int level_reached(const struct rb_history *h, int place)
{
    const int last = h->trials[place].last_result;
    return last < 0 ? -1 : h->results[last].level;
}

// A trial that is set back to a checkpoint reports again what it has reported before.
void rb_history_report(struct rb_history *h, int place, int64_t resource, double score)
{
    struct rb_seen_trial *t = &h->trials[place];
    if (resource <= t->resource)
        return;
    t->resource = resource;
    const int reached = level_reached(h, place);
    int level = rb_history_level_of(h, resource);
    if (score > -INFINITY && h->levels[level] > resource)
        level--;
    if (level > reached)
        add_result(h, place, level, score > -INFINITY ? score : -INFINITY);
}

void rb_history_change(struct rb_history *h, int place, enum rb_seen_state state, int64_t next_resource)
{
    struct rb_seen_trial *t = &h->trials[place];
    t->state = state;
    if (state == RB_SEEN_TRAINS)
        t->next_level = rb_history_level_of(h, next_resource);
    if (state == RB_SEEN_FAILED && level_reached(h, place) < t->next_level)
        add_result(h, place, t->next_level, -INFINITY);
}

int rb_history_result_at(const struct rb_history *h, int place, int level)
{
    int at = h->trials[place].last_result;
    while (at >= 0 && h->results[at].level > level)
        at = h->results[at].before;
    return at >= 0 && h->results[at].level == level ? at : -1;
}

int rb_history_count_at(const struct rb_history *h, int level)
{
    int n = 0;
    for (int i = 0; i < h->n_results; i++)
        n += h->results[i].level == level;
    return n;
}

int rb_history_compared_level(const struct rb_history *h, int least)
{
    int lowest = -1;
    for (int level = h->n_levels - 1; level >= 0; level--) {
        const int n = rb_history_count_at(h, level);
        if (n >= least)
            return level;
        lowest = n > 0 ? level : lowest;
    }
    return lowest;
}

int rb_history_count_compared(const struct rb_history *h)
{
    int n = 0;
    for (int i = 0; i < h->n_results; i++)
        n += h->results[i].before < 0;
    return n;
}

struct ranked {
    double score;
    int trial, place;
};

static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    return x->score > y->score ? -1 : x->score < y->score ? 1 : (x->trial > y->trial) - (x->trial < y->trial);
}

int rb_history_best(const struct rb_history *h, int level, int *out_places)
{
    struct ranked *order = rb_xcalloc((size_t)h->n_trials + 1, sizeof *order);
    int n = 0;
    for (int i = 0; i < h->n_results; i++)
        if (h->results[i].level == level)
            order[n++] =
                (struct ranked){h->results[i].score, h->trials[h->results[i].place].trial, h->results[i].place};
    qsort(order, (size_t)n, sizeof *order, compare_ranked);
    for (int i = 0; i < n; i++)
        out_places[i] = order[i].place;
    free(order);
    return n;
}
