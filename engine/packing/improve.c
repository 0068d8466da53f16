#include "engine/packing/improve.h"

#include "base/arena.h"
#include "engine/packing/fluid_widths.h"

#include <stdlib.h>
#include <string.h>

struct ranked {
    int64_t first, second;
    int trial;
};

enum order { BY_HEIGHT, BY_WIDTH, BY_AREA, N_ORDERS };

struct improver {
    struct rb_lister *lister;
    const struct rb_pack_group *g;
    struct rb_best_list *best;
    struct rb_packing packing; // of the last list
    struct ranked *ranked;
    int *widths, *order;    // of the present list
    int64_t bound_us, left; // left: placements that may still be made
};

static int larger_first(const void *pa, const void *pb)
{
    const struct ranked *a = pa, *b = pb;
    if (a->first != b->first)
        return a->first > b->first ? -1 : 1;
    if (a->second != b->second)
        return a->second > b->second ? -1 : 1;
    return (a->trial > b->trial) - (a->trial < b->trial);
}

static void sort(struct improver *m, enum order by)
{
    for (int i = 0; i < m->g->n_trials; i++) {
        const int64_t height_us = rb_pack_needs_us(m->g, i, m->widths[i]), parts = rb_pack_parts(m->g, m->widths[i]);
        m->ranked[i] = (struct ranked){.first = by == BY_WIDTH  ? parts
                                                : by == BY_AREA ? parts * height_us
                                                                : height_us,
                                       .second = by == BY_HEIGHT ? parts : height_us,
                                       .trial = i};
    }
    qsort(m->ranked, (size_t)m->g->n_trials, sizeof *m->ranked, larger_first);
    for (int i = 0; i < m->g->n_trials; i++)
        m->order[i] = m->ranked[i].trial;
}

static bool may_go_on(const struct improver *m)
{
    return m->left > 0 && m->best->makespan_us > m->bound_us;
}

// Makes a list from m->widths in m->order and keeps it if it is better.
static bool list(struct improver *m)
{
    const size_t size = (size_t)m->g->n_trials * sizeof(int);
    m->left -= m->g->n_trials;
    const int64_t makespan_us = rb_pack_list(m->lister, m->g, m->widths, m->order, RB_LIST_GREEDY, NULL);
    if (makespan_us >= m->best->makespan_us)
        return false;
    m->best->makespan_us = makespan_us;
    m->best->rule = RB_LIST_GREEDY;
    memcpy(m->best->widths, m->widths, size);
    memcpy(m->best->order, m->order, size);
    return true;
}

static void list_in_all_orders(struct improver *m)
{
    for (int by = 0; by < N_ORDERS && may_go_on(m); by++) {
        sort(m, by);
        list(m);
    }
}

// ---- allotments whose trials end within a limit, for limits from the bound to the best known length

#define N_LIMITS 12

static bool allot(struct improver *m, int64_t limit_us)
{
    for (int i = 0; i < m->g->n_trials; i++) {
        m->widths[i] = rb_pack_least_area(m->g, i, limit_us, NULL);
        if (m->widths[i] < 0)
            return false;
    }
    return true;
}

static void try_allotments(struct improver *m)
{
    const int64_t first_us = m->bound_us, step_us = (m->best->makespan_us - first_us) / N_LIMITS;
    for (int i = 0; i < N_LIMITS && may_go_on(m); i++) {
        if (allot(m, first_us + i * step_us))
            list_in_all_orders(m);
    }
}

// ---- the lists of other algorithms: the result is never longer than theirs

static bool all_take_single(const struct improver *m)
{
    const int single = rb_pack_single_gpu(m->g);
    for (int i = 0; i < m->g->n_trials; i++) {
        if (single < 0 || rb_pack_height_us(m->g, i, single) == RB_PACK_NEVER)
            return false;
    }
    return true;
}

static void try_published(struct improver *m)
{
    const struct rb_pack_group *g = m->g;
    const int single = rb_pack_single_gpu(g);
    if (!all_take_single(m))
        return;
    rb_pack_first_in_first_out(g, m->widths, m->order);
    list(m);
    for (int c = 0; c <= single; c++) {
        for (int d = single; d < g->n_widths && may_go_on(m); d++) {
            const struct rb_fluid_caps caps = {.most_sharers = g->widths[c].sharers, .most_gpus = g->widths[d].gpus};
            rb_fluid_static(g, caps, rb_pack_n_gpus(g), m->widths, m->order);
            list(m);
        }
    }
}

// ---- one trial at a time

static bool can_take(const struct improver *m, int trial, int width)
{
    return rb_pack_height_us(m->g, trial, width) != RB_PACK_NEVER && rb_pack_fits(m->g, width);
}

static void start_from_best(struct improver *m)
{
    const size_t size = (size_t)m->g->n_trials * sizeof(int);
    memcpy(m->widths, m->best->widths, size);
    memcpy(m->order, m->best->order, size);
}

// Tries the trial first in the list, or wider, or narrower, or with all others in another order.
static bool try_trial(struct improver *m, int trial)
{
    for (int w = -1; w < m->g->n_widths && may_go_on(m); w++) {
        if (w == m->best->widths[trial] || (w >= 0 && !can_take(m, trial, w)))
            continue;
        start_from_best(m);
        if (w >= 0) {
            m->widths[trial] = w;
            if (list(m))
                return true;
            sort(m, BY_HEIGHT);
        } else {
            int at = 0;
            while (m->order[at] != trial)
                at++;
            memmove(m->order + 1, m->order, (size_t)at * sizeof *m->order);
            m->order[0] = trial;
        }
        if (list(m))
            return true;
    }
    return false;
}

// First the trials that end last, then, latest start first, those that may block them.
static bool try_neighbours(struct improver *m)
{
    const int n = m->g->n_trials;
    RB_AUTO(rb_auto_free) struct ranked *suspects = rb_xcalloc((size_t)n, sizeof *suspects);
    rb_pack_list(m->lister, m->g, m->best->widths, m->best->order, m->best->rule, &m->packing);
    m->left -= n;
    for (int i = 0; i < n; i++)
        suspects[i] =
            (struct ranked){m->packing.trials[i].end_us + rb_pack_tail_us(m->g, i, m->packing.trials[i].width),
                            m->packing.trials[i].start_us, i};
    qsort(suspects, (size_t)n, sizeof *suspects, larger_first);
    for (int i = 0; i < n && may_go_on(m); i++) {
        if (try_trial(m, suspects[i].trial))
            return true;
    }
    return false;
}

static void copy_list(struct rb_best_list *to, const struct rb_best_list *from, int n)
{
    to->makespan_us = from->makespan_us;
    to->rule = from->rule;
    memcpy(to->widths, from->widths, (size_t)n * sizeof *to->widths);
    memcpy(to->order, from->order, (size_t)n * sizeof *to->order);
}

static void descend(struct improver *m)
{
    while (may_go_on(m) && try_neighbours(m))
        continue;
}

// The best start does not always lead furthest: the search descends from each allotment.
static void descend_from_allotments(struct improver *m)
{
    struct rb_best_list *const overall = m->best;
    const int64_t first_us = m->bound_us, step_us = (overall->makespan_us - first_us) / N_LIMITS + 1;
    RB_AUTO(rb_auto_free) int *widths = rb_xcalloc((size_t)m->g->n_trials, sizeof *widths);
    RB_AUTO(rb_auto_free) int *order = rb_xcalloc((size_t)m->g->n_trials, sizeof *order);
    for (int i = 0; i <= N_LIMITS && m->left > 0 && overall->makespan_us > m->bound_us; i++) {
        struct rb_best_list own = {.makespan_us = INT64_MAX, .widths = widths, .order = order};
        m->best = &own;
        if (allot(m, first_us + i * step_us)) {
            list_in_all_orders(m);
            descend(m);
        }
        if (own.makespan_us < overall->makespan_us)
            copy_list(overall, &own, m->g->n_trials);
    }
    m->best = overall;
}

void rb_pack_improve(struct rb_lister *l, const struct rb_pack_group *g, int64_t bound_us, int64_t most_placements,
                     struct rb_best_list *best)
{
    const size_t n = (size_t)g->n_trials;
    RB_AUTO(rb_auto_free) struct ranked *ranked = rb_xcalloc(n, sizeof *ranked);
    RB_AUTO(rb_auto_free) int *widths = rb_xcalloc(n, sizeof *widths);
    RB_AUTO(rb_auto_free) int *order = rb_xcalloc(n, sizeof *order);
    struct improver m = {.lister = l,
                         .g = g,
                         .best = best,
                         .ranked = ranked,
                         .widths = widths,
                         .order = order,
                         .bound_us = bound_us,
                         .left = most_placements};
    try_published(&m);
    try_allotments(&m);
    descend(&m);
    descend_from_allotments(&m);
    rb_packing_finish(&m.packing);
}
