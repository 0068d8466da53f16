#include "engine/packing/branch.h"

#include "base/limits.h"

#include <string.h>

// The use of one GPU: none, one trial alone, or up to `sharers` that share it. Past ends count as free.
struct gpu {
    int sharers;
    int64_t ends_us[RB_LIMIT_TRIALS_PER_GPU]; // of its places, [sharers]
};

struct search {
    const struct rb_pack_group *g;
    int n_gpus;
    struct gpu gpus[RB_BRANCH_MOST_GPUS];
    int twin_before[RB_BRANCH_MOST_TRIALS]; // the nearest equal trial of lower index, -1: none
    unsigned placed;                        // bits of trials
    int n_placed;
    int path_trials[RB_BRANCH_MOST_TRIALS], path_widths[RB_BRANCH_MOST_TRIALS];
    int64_t enough_us, most_nodes;
    struct rb_branching *out;
    bool stop;
};

static void place_next(struct search *s, int64_t now_us, int last_trial, int64_t end_us);

static int64_t free_from_us(const struct gpu *gpu)
{
    int64_t free_us = 0;
    for (int i = 0; i < gpu->sharers; i++)
        free_us = gpu->ends_us[i] > free_us ? gpu->ends_us[i] : free_us;
    return free_us;
}

static int first_place(const struct gpu *gpu)
{
    int first = 0;
    for (int i = 1; i < gpu->sharers; i++)
        first = gpu->ends_us[i] < gpu->ends_us[first] ? i : first;
    return first;
}

// ---- the bound

// Area that others hold from `now` on, for at most limit_us.
static int64_t held_after(const struct search *s, int64_t now_us, int64_t limit_us)
{
    int64_t area = 0;
    for (int i = 0; i < s->n_gpus; i++) {
        for (int place = 0; place < s->gpus[i].sharers; place++) {
            int64_t left_us = s->gpus[i].ends_us[place] - now_us;
            left_us = left_us < limit_us ? left_us : limit_us;
            area += left_us > 0 ? left_us * (RB_PACK_PARTS / s->gpus[i].sharers) : 0;
        }
    }
    return area;
}

static bool may_be_shorter(const struct search *s, int64_t now_us)
{
    const int64_t limit_us = s->out->best_us - 1 - now_us;
    if (limit_us <= 0)
        return false;
    int64_t area = held_after(s, now_us, limit_us);
    const int64_t room = limit_us * s->n_gpus * RB_PACK_PARTS;
    for (int i = 0; i < s->g->n_trials; i++) {
        if (s->placed >> i & 1)
            continue;
        const int w = rb_pack_least_area(s->g, i, limit_us, NULL);
        if (w < 0)
            return false;
        area += rb_pack_height_us(s->g, i, w) * rb_pack_parts(s->g, w);
    }
    return area <= room;
}

// ---- placing one trial, and the consequences

static void keep_best(struct search *s, int64_t end_us)
{
    struct rb_branching *out = s->out;
    out->best_us = end_us;
    out->improved = true;
    for (int i = 0; i < s->n_placed; i++) {
        out->order[i] = s->path_trials[i];
        out->widths[s->path_trials[i]] = s->path_widths[i];
    }
    s->stop |= end_us <= s->enough_us;
}

static void go_on(struct search *s, int trial, int width, int64_t start_us, int64_t end_us)
{
    const int64_t own_end_us = start_us + rb_pack_needs_us(s->g, trial, width);
    s->placed |= 1u << trial;
    s->path_trials[s->n_placed] = trial;
    s->path_widths[s->n_placed++] = width;
    place_next(s, start_us, trial, own_end_us > end_us ? own_end_us : end_us);
    s->n_placed--;
    s->placed &= ~(1u << trial);
}

// The order of trials that start together does not matter: ascending.
static bool in_order(int64_t start_us, int64_t now_us, int trial, int last_trial)
{
    return start_us > now_us || trial > last_trial;
}

static bool ends_in_time(const struct search *s, int trial, int width, int64_t start_us)
{
    return start_us + rb_pack_needs_us(s->g, trial, width) < s->out->best_us;
}

static int by_first_free(const struct search *s, int *order)
{
    int n = 0;
    for (int i = 0; i < s->n_gpus; i++) {
        const int64_t free_us = free_from_us(&s->gpus[i]);
        int at = n++;
        for (; at > 0 && free_from_us(&s->gpus[order[at - 1]]) > free_us; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    return n;
}

static void place_whole(struct search *s, int trial, int width, int64_t now_us, int last_trial, int64_t end_us)
{
    const int n_wanted = (int)(rb_pack_parts(s->g, width) / RB_PACK_PARTS);
    int order[RB_BRANCH_MOST_GPUS];
    struct gpu before[RB_BRANCH_MOST_GPUS];
    if (n_wanted > s->n_gpus)
        return;
    by_first_free(s, order);
    const int64_t free_us = free_from_us(&s->gpus[order[n_wanted - 1]]);
    const int64_t start_us = free_us > now_us ? free_us : now_us;
    if (!in_order(start_us, now_us, trial, last_trial) || !ends_in_time(s, trial, width, start_us))
        return;
    for (int i = 0; i < n_wanted; i++) {
        before[i] = s->gpus[order[i]];
        s->gpus[order[i]] = (struct gpu){.sharers = 1, .ends_us = {start_us + rb_pack_height_us(s->g, trial, width)}};
    }
    go_on(s, trial, width, start_us, end_us);
    for (int i = 0; i < n_wanted; i++)
        s->gpus[order[i]] = before[i];
}

static void place_on(struct search *s, int gpu, int place, int trial, int width, int64_t start_us, int64_t now_us,
                     int last_trial, int64_t end_us)
{
    if (!in_order(start_us, now_us, trial, last_trial) || !ends_in_time(s, trial, width, start_us))
        return;
    const struct gpu before = s->gpus[gpu];
    if (place < 0) {
        s->gpus[gpu] = (struct gpu){.sharers = s->g->widths[width].sharers};
        place = 0;
    }
    s->gpus[gpu].ends_us[place] = start_us + rb_pack_height_us(s->g, trial, width);
    go_on(s, trial, width, start_us, end_us);
    s->gpus[gpu] = before;
}

// Do both have the same use from `now` on?
static bool alike(const struct gpu *a, const struct gpu *b)
{
    return a->sharers == b->sharers && memcmp(a->ends_us, b->ends_us, (size_t)a->sharers * sizeof *a->ends_us) == 0;
}

// Tries both: beside others on each GPU that is shared so, and first on a free one.
static void place_share(struct search *s, int trial, int width, int64_t now_us, int last_trial, int64_t end_us)
{
    const int sharers = s->g->widths[width].sharers;
    int freest = 0;
    for (int i = 0; i < s->n_gpus && !s->stop; i++) {
        const struct gpu *gpu = &s->gpus[i];
        if (free_from_us(gpu) < free_from_us(&s->gpus[freest]))
            freest = i;
        if (gpu->sharers != sharers || free_from_us(gpu) <= now_us)
            continue;
        bool seen = false;
        for (int other = 0; other < i && !seen; other++)
            seen = alike(&s->gpus[other], gpu);
        const int place = first_place(gpu);
        const int64_t start_us = gpu->ends_us[place] > now_us ? gpu->ends_us[place] : now_us;
        if (!seen)
            place_on(s, i, place, trial, width, start_us, now_us, last_trial, end_us);
    }
    const int64_t free_us = free_from_us(&s->gpus[freest]);
    if (!s->stop)
        place_on(s, freest, -1, trial, width, free_us > now_us ? free_us : now_us, now_us, last_trial, end_us);
}

static void place_next(struct search *s, int64_t now_us, int last_trial, int64_t end_us)
{
    const struct rb_pack_group *g = s->g;
    if (s->n_placed == g->n_trials) {
        if (end_us < s->out->best_us)
            keep_best(s, end_us);
        return;
    }
    if (++s->out->n_explored > s->most_nodes) {
        s->stop = true;
        s->out->complete = false;
    }
    if (s->stop || !may_be_shorter(s, now_us))
        return;
    for (int i = 0; i < g->n_trials && !s->stop; i++) {
        const int twin = s->twin_before[i];
        if ((s->placed >> i & 1) || (twin >= 0 && !(s->placed >> twin & 1)))
            continue;
        for (int w = g->n_widths - 1; w >= 0 && !s->stop; w--) {
            if (rb_pack_height_us(g, i, w) == RB_PACK_NEVER || !rb_pack_fits(g, w))
                continue;
            if (g->widths[w].sharers > 1)
                place_share(s, i, w, now_us, last_trial, end_us);
            else
                place_whole(s, i, w, now_us, last_trial, end_us);
        }
    }
}

static bool same_row(const struct rb_pack_group *g, const int64_t *table, int a, int b)
{
    const size_t row = (size_t)g->n_widths;
    return !table || memcmp(table + (size_t)a * row, table + (size_t)b * row, row * sizeof *table) == 0;
}

static int twin_before(const struct rb_pack_group *g, int trial)
{
    for (int i = trial - 1; i >= 0; i--) {
        if (same_row(g, g->height_us, i, trial) && same_row(g, g->tail_us, i, trial))
            return i;
    }
    return -1;
}

bool rb_pack_branch(const struct rb_pack_group *g, int64_t within_us, int64_t enough_us, int64_t most_nodes,
                    struct rb_branching *out)
{
    if (g->n_trials > RB_BRANCH_MOST_TRIALS || rb_pack_n_gpus(g) > RB_BRANCH_MOST_GPUS)
        return false;
    *out = (struct rb_branching){.best_us = within_us, .complete = true};
    struct search s = {
        .g = g, .n_gpus = rb_pack_n_gpus(g), .enough_us = enough_us, .most_nodes = most_nodes, .out = out};
    for (int i = 0; i < s.n_gpus; i++)
        s.gpus[i] = (struct gpu){.sharers = 1, .ends_us = {g->free_us ? g->free_us[i] : 0}};
    for (int i = 0; i < g->n_trials; i++)
        s.twin_before[i] = twin_before(g, i);
    place_next(&s, 0, -1, 0);
    return true;
}
