#include "engine/packing/group.h"

#include "base/arena.h"
#include "base/limits.h"
#include "base/order.h"

#include <assert.h>
#include <stdlib.h>

_Static_assert(RB_PACK_PARTS % 7 == 0 && RB_PACK_PARTS % 8 == 0 && RB_PACK_PARTS % 9 == 0 && RB_PACK_PARTS % 10 == 0 &&
                   RB_LIMIT_TRIALS_PER_GPU == 10,
               "a share of a GPU is a whole number of parts");

int64_t rb_pack_height_us(const struct rb_pack_group *g, int trial, int width)
{
    return g->height_us[(int64_t)trial * g->n_widths + width];
}

int rb_pack_n_gpus(const struct rb_pack_group *g)
{
    return g->n_nodes * g->node_gpus;
}

int64_t rb_pack_tail_us(const struct rb_pack_group *g, int trial, int width)
{
    return g->tail_us ? g->tail_us[(int64_t)trial * g->n_widths + width] : 0;
}

int64_t rb_pack_needs_us(const struct rb_pack_group *g, int trial, int width)
{
    return rb_pack_height_us(g, trial, width) + rb_pack_tail_us(g, trial, width);
}

int64_t rb_pack_last_free_us(const struct rb_pack_group *g)
{
    int64_t last_us = 0;
    for (int i = 0; g->free_us && i < rb_pack_n_gpus(g); i++)
        last_us = g->free_us[i] > last_us ? g->free_us[i] : last_us;
    return last_us;
}

static int gang(const struct rb_pack_group *g, int width)
{
    return (g->widths[width].gpus + g->node_gpus - 1) / g->node_gpus;
}

bool rb_pack_fits(const struct rb_pack_group *g, int width)
{
    return gang(g, width) <= g->n_nodes;
}

int64_t rb_pack_parts(const struct rb_pack_group *g, int width)
{
    const struct rb_width *w = &g->widths[width];
    if (gang(g, width) > 1)
        return (int64_t)gang(g, width) * g->node_gpus * RB_PACK_PARTS;
    return (int64_t)w->gpus * RB_PACK_PARTS / w->sharers;
}

static bool can_take(const struct rb_pack_group *g, int trial, int width)
{
    return rb_pack_height_us(g, trial, width) != RB_PACK_NEVER && rb_pack_fits(g, width);
}

static bool check_width(const struct rb_pack_group *g, int i, struct rb_err *err)
{
    const struct rb_width *w = &g->widths[i];
    if (w->gpus < 1 || w->sharers < 1 || w->sharers > RB_LIMIT_TRIALS_PER_GPU || (w->sharers > 1 && w->gpus > 1))
        return rb_err_set(err, RB_E_PACKING,
                          "widths[%d]: expected whole GPUs, or one GPU shared by up to %d trials; got %d GPUs for %d",
                          i, RB_LIMIT_TRIALS_PER_GPU, w->gpus, w->sharers);
    const struct rb_width *before = i > 0 ? &g->widths[i - 1] : NULL;
    if (before && (int64_t)before->gpus * w->sharers >= (int64_t)w->gpus * before->sharers)
        return rb_err_set(err, RB_E_PACKING, "widths[%d]: expected more than the width before", i);
    return true;
}

// Checks the largest sum that occurs: every trial at its largest area, times the parts of a GPU.
static bool check_trial(const struct rb_pack_group *g, int trial, int64_t *sum, struct rb_err *err)
{
    int64_t largest = 0;
    for (int w = 0; w < g->n_widths; w++) {
        int64_t height_us = rb_pack_height_us(g, trial, w), area;
        if (height_us <= 0)
            return rb_err_set(err, RB_E_PACKING, "trial %d: expected heights above 0, got %lld at widths[%d]", trial,
                              (long long)height_us, w);
        if (!can_take(g, trial, w))
            continue;
        if (__builtin_add_overflow(height_us, rb_pack_tail_us(g, trial, w), &height_us) ||
            __builtin_mul_overflow(height_us, rb_pack_parts(g, w), &area))
            return rb_err_set(err, RB_E_PACKING, "trial %d: its GPU time is too large to be counted", trial);
        largest = area > largest ? area : largest;
    }
    if (largest == 0)
        return rb_err_set(err, RB_E_PACKING, "trial %d: no width that it can take fits the nodes", trial);
    if (__builtin_add_overflow(*sum, largest, sum))
        return rb_err_set(err, RB_E_PACKING, "the group's GPU time is too large to be counted");
    return true;
}

bool rb_pack_group_check(const struct rb_pack_group *g, struct rb_err *err)
{
    int64_t sum = 0;
    if (g->n_trials < 1 || g->n_widths < 1 || g->n_widths > RB_PACK_MOST_WIDTHS || g->n_nodes < 1 ||
        g->n_nodes > RB_LIMIT_NODES || g->node_gpus < 1 || g->node_gpus > RB_LIMIT_GPUS_PER_NODE)
        return rb_err_set(err, RB_E_PACKING, "expected trials, 1..%d widths and nodes of 1..%d GPUs",
                          RB_PACK_MOST_WIDTHS, RB_LIMIT_GPUS_PER_NODE);
    for (int i = 0; i < g->n_widths; i++) {
        if (!check_width(g, i, err))
            return false;
    }
    for (int i = 0; i < g->n_trials; i++) {
        if (!check_trial(g, i, &sum, err))
            return false;
    }
    return true;
}

int rb_pack_least_area(const struct rb_pack_group *g, int trial, int64_t limit_us, const bool *allowed)
{
    int best = -1;
    int64_t least = INT64_MAX;
    for (int w = 0; w < g->n_widths; w++) {
        if ((allowed && !allowed[w]) || !can_take(g, trial, w) || rb_pack_needs_us(g, trial, w) > limit_us)
            continue;
        const int64_t area = rb_pack_height_us(g, trial, w) * rb_pack_parts(g, w);
        if (area < least) {
            least = area;
            best = w;
        }
    }
    return best;
}

// The areas of the narrowest choices within limit_us over all GPUs, rounded up; INT64_MAX: some trial has none.
static int64_t mean_load_us(const struct rb_pack_group *g, int64_t limit_us, const bool *allowed)
{
    const int64_t parts = (int64_t)rb_pack_n_gpus(g) * RB_PACK_PARTS;
    int64_t area = 0;
    for (int i = 0; i < g->n_trials; i++) {
        const int w = rb_pack_least_area(g, i, limit_us, allowed);
        if (w < 0)
            return INT64_MAX;
        area += rb_pack_height_us(g, i, w) * rb_pack_parts(g, w);
    }
    return area / parts + (area % parts > 0);
}

static int64_t at_least(int64_t a_us, int64_t b_us)
{
    return a_us > b_us ? a_us : b_us;
}

// The longer trials may take, the less area they need: the best limit is where load and limit cross, or the one before.
int64_t rb_pack_allotment_bound_us(const struct rb_pack_group *g, const bool *allowed, int *out_widths)
{
    const int n = g->n_trials * g->n_widths;
    RB_AUTO(rb_auto_free) int64_t *limits = rb_xcalloc((size_t)n, sizeof *limits);
    for (int i = 0; i < n; i++) {
        const int trial = i / g->n_widths, width = i % g->n_widths;
        limits[i] = can_take(g, trial, width) ? rb_pack_needs_us(g, trial, width) : RB_PACK_NEVER;
    }
    qsort(limits, (size_t)n, sizeof *limits, rb_order_int64s);
    int low = 0, high = n - 1;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (mean_load_us(g, limits[middle], allowed) <= limits[middle])
            high = middle;
        else
            low = middle + 1;
    }
    int64_t limit_us = limits[low], bound_us = at_least(mean_load_us(g, limit_us, allowed), limit_us);
    for (int before = low - 1; before >= 0; before--) {
        if (limits[before] == limit_us)
            continue;
        const int64_t load_us = mean_load_us(g, limits[before], allowed);
        if (load_us < bound_us) {
            bound_us = load_us;
            limit_us = limits[before];
        }
        break;
    }
    for (int i = 0; out_widths && i < g->n_trials; i++)
        out_widths[i] = rb_pack_least_area(g, i, limit_us, allowed);
    return bound_us;
}
