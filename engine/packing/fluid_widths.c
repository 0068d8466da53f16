#include "engine/packing/fluid_widths.h"

#include "base/arena.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

double rb_fluid_marginal_benefit(const double *slowdowns, int p)
{
    assert(p >= 2);
    return 1 - (double)(p - 1) / p * slowdowns[p - 1] / slowdowns[p - 2];
}

int rb_fluid_most_sharers(const double *slowdowns, int n, double threshold)
{
    int c = 1;
    while (c < n && rb_fluid_marginal_benefit(slowdowns, c + 1) > threshold)
        c++;
    return c;
}

int rb_fluid_most_gpus(const int *sizes, const double *speedups, int n, double threshold)
{
    int d = 0;
    while (d + 1 < n && speedups[d + 1] - speedups[d] >= threshold * (sizes[d + 1] - sizes[d]))
        d++;
    return sizes[d];
}

int rb_pack_single_gpu(const struct rb_pack_group *g)
{
    for (int w = 0; w < g->n_widths; w++) {
        if (g->widths[w].gpus == 1 && g->widths[w].sharers == 1)
            return w;
    }
    return -1;
}

// ---- widths as fractions of a GPU, and as the group offers them

static double gpus_of(const struct rb_width *w)
{
    return (double)w->gpus / w->sharers;
}

static bool offered(const struct rb_pack_group *g, int trial, int width)
{
    return rb_pack_height_us(g, trial, width) != RB_PACK_NEVER && rb_pack_fits(g, width);
}

// The widest offered width that is not wider; if there is none, the narrowest offered.
static int width_of(const struct rb_pack_group *g, int trial, double gpus)
{
    int narrowest = -1, best = -1;
    for (int w = g->n_widths - 1; w >= 0; w--) {
        if (!offered(g, trial, w))
            continue;
        narrowest = w;
        if (best < 0 && gpus_of(&g->widths[w]) <= gpus)
            best = w;
    }
    return best >= 0 ? best : narrowest;
}

// ---- the list: the widest first

struct placed {
    double gpus;
    int64_t single_us;
    int trial;
};

static int wider_first(const void *pa, const void *pb)
{
    const struct placed *a = pa, *b = pb;
    if (a->gpus < b->gpus || a->gpus > b->gpus)
        return a->gpus > b->gpus ? -1 : 1;
    if (a->single_us != b->single_us)
        return a->single_us > b->single_us ? -1 : 1;
    return (a->trial > b->trial) - (a->trial < b->trial);
}

static void order_by_width(const struct rb_pack_group *g, const int *widths, int *out_order)
{
    const int single = rb_pack_single_gpu(g);
    RB_AUTO(rb_auto_free) struct placed *list = rb_xcalloc((size_t)g->n_trials, sizeof *list);
    for (int i = 0; i < g->n_trials; i++)
        list[i] = (struct placed){gpus_of(&g->widths[widths[i]]), rb_pack_height_us(g, i, single), i};
    qsort(list, (size_t)g->n_trials, sizeof *list, wider_first);
    for (int i = 0; i < g->n_trials; i++)
        out_order[i] = list[i].trial;
}

// ---- the algorithms

static double total_single_us(const struct rb_pack_group *g)
{
    const int single = rb_pack_single_gpu(g);
    double total = 0;
    assert(single >= 0);
    for (int i = 0; i < g->n_trials; i++)
        total += (double)rb_pack_height_us(g, i, single);
    return total;
}

static int static_width(const struct rb_pack_group *g, struct rb_fluid_caps caps, int n_gpus, int trial,
                        double total_us)
{
    const double single_us = (double)rb_pack_height_us(g, trial, rb_pack_single_gpu(g));
    const double whole = floor(single_us * n_gpus / total_us);
    return width_of(g, trial, fmin(fmax(whole, 1.0 / caps.most_sharers), caps.most_gpus));
}

void rb_fluid_static(const struct rb_pack_group *g, struct rb_fluid_caps caps, int n_gpus, int *out_widths,
                     int *out_order)
{
    const double total_us = total_single_us(g);
    for (int i = 0; i < g->n_trials; i++)
        out_widths[i] = static_width(g, caps, n_gpus, i, total_us);
    order_by_width(g, out_widths, out_order);
}

void rb_fluid_dynamic(const struct rb_pack_group *g, struct rb_fluid_caps caps, const int *held,
                      const int64_t *resize_us, int *out_widths, int *out_order)
{
    const double total_us = total_single_us(g);
    for (int i = 0; i < g->n_trials; i++) {
        const int to = static_width(g, caps, rb_pack_n_gpus(g), i, total_us), from = held[i];
        out_widths[i] = to;
        if (from < 0 || from == to)
            continue;
        const double to_us = (double)rb_pack_height_us(g, i, to) + (double)resize_us[i];
        const double from_us = (double)rb_pack_height_us(g, i, from);
        const bool pays =
            to > from ? to_us < from_us : gpus_of(&g->widths[to]) * to_us < gpus_of(&g->widths[from]) * from_us;
        out_widths[i] = pays ? to : from;
    }
    order_by_width(g, out_widths, out_order);
}

void rb_fluid_released(const struct rb_pack_group *g, const int64_t *unit_us, int *out_widths, int *out_order)
{
    double total_us = 0, total_width = 0;
    for (int i = 0; i < g->n_trials; i++)
        total_us += (double)unit_us[i];
    RB_AUTO(rb_auto_free) double *wanted = rb_xcalloc((size_t)g->n_trials, sizeof *wanted);
    for (int i = 0; i < g->n_trials; i++) {
        wanted[i] = fmin(fmax(floor((double)unit_us[i] * g->n_trials / total_us), 2), 4);
        total_width += wanted[i];
    }
    for (int i = 0; i < g->n_trials; i++)
        out_widths[i] = width_of(g, i, wanted[i] / total_width * rb_pack_n_gpus(g));
    order_by_width(g, out_widths, out_order);
}

void rb_pack_first_in_first_out(const struct rb_pack_group *g, int *out_widths, int *out_order)
{
    for (int i = 0; i < g->n_trials; i++) {
        out_widths[i] = rb_pack_single_gpu(g);
        out_order[i] = i;
    }
}
