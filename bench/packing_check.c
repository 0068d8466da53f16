#include "bench/packing_check.h"

#include "base/arena.h"

#include <math.h>
#include <stdlib.h>

static bool check_slots(const struct rb_pack_group *g, const struct rb_packing *p, int trial, struct rb_err *err)
{
    const struct rb_packed *t = &p->trials[trial];
    const struct rb_width *w = &g->widths[t->width];
    int gpus = 0;
    for (int i = 0; i < t->n_slots; i++) {
        const struct rb_slot *slot = &p->slots[t->first_slot + i];
        if (slot->node < 0 || slot->node >= g->n_nodes || (slot->gpus & ~rb_gpu_mask(g->node_gpus)))
            return rb_err_set(err, RB_E_PACKING, "trial %d: a place that is not there", trial);
        if (t->n_slots > 1 && slot->gpus != rb_gpu_mask(g->node_gpus))
            return rb_err_set(err, RB_E_PACKING, "trial %d: a gang that does not hold node %d whole", trial,
                              slot->node);
        gpus += __builtin_popcountll(slot->gpus);
    }
    if ((int64_t)gpus * RB_PACK_PARTS != rb_pack_parts(g, t->width) * w->sharers)
        return rb_err_set(err, RB_E_PACKING, "trial %d: holds %d GPUs", trial, gpus);
    return true;
}

static bool check_trial(const struct rb_pack_group *g, const struct rb_packing *p, int trial, struct rb_err *err)
{
    const struct rb_packed *t = &p->trials[trial];
    if (t->width < 0 || t->width >= g->n_widths || rb_pack_height_us(g, trial, t->width) == RB_PACK_NEVER)
        return rb_err_set(err, RB_E_PACKING, "trial %d: a width it cannot take", trial);
    if (t->start_us < 0 || t->end_us - t->start_us != rb_pack_height_us(g, trial, t->width) ||
        t->end_us + rb_pack_tail_us(g, trial, t->width) > p->makespan_us)
        return rb_err_set(err, RB_E_PACKING, "trial %d: it does not train for as long as it takes", trial);
    return check_slots(g, p, trial, err);
}

static bool on_gpu(const struct rb_packing *p, int trial, int node, int gpu, int64_t now_us)
{
    const struct rb_packed *t = &p->trials[trial];
    if (now_us < t->start_us || now_us >= t->end_us)
        return false;
    for (int i = 0; i < t->n_slots; i++) {
        const struct rb_slot *slot = &p->slots[t->first_slot + i];
        if (slot->node == node && (slot->gpus >> gpu & 1))
            return true;
    }
    return false;
}

// What holds when a trial starts holds until the next one does.
static bool check_gpu(const struct rb_pack_group *g, const struct rb_packing *p, int node, int gpu, int64_t now_us,
                      struct rb_err *err)
{
    int n = 0, sharers = 0;
    if (g->free_us && now_us < g->free_us[node * g->node_gpus + gpu])
        return rb_err_set(err, RB_E_PACKING, "node %d: others still hold GPU %d", node, gpu);
    for (int i = 0; i < g->n_trials; i++) {
        if (!on_gpu(p, i, node, gpu, now_us))
            continue;
        const int own = g->widths[p->trials[i].width].sharers;
        if (n > 0 && own != sharers)
            return rb_err_set(err, RB_E_PACKING, "node %d: GPU %d is shared by unequal trials", node, gpu);
        sharers = own;
        if (++n > sharers)
            return rb_err_set(err, RB_E_PACKING, "node %d: GPU %d has more than %d trials", node, gpu, sharers);
    }
    return true;
}

bool rb_packing_check(const struct rb_pack_group *g, const struct rb_packing *p, struct rb_err *err)
{
    if (p->n_trials != g->n_trials)
        return rb_err_set(err, RB_E_PACKING, "%d trials of %d", p->n_trials, g->n_trials);
    for (int i = 0; i < g->n_trials; i++) {
        if (!check_trial(g, p, i, err))
            return false;
    }
    for (int i = 0; i < g->n_trials; i++) {
        const struct rb_packed *t = &p->trials[i];
        for (int s = 0; s < t->n_slots; s++) {
            const struct rb_slot *slot = &p->slots[t->first_slot + s];
            for (int gpu = 0; gpu < g->node_gpus; gpu++) {
                if ((slot->gpus >> gpu & 1) && !check_gpu(g, p, slot->node, gpu, t->start_us, err))
                    return false;
            }
        }
    }
    return true;
}

int64_t rb_packing_simple_bound_us(const struct rb_pack_group *g)
{
    const int64_t parts = (int64_t)rb_pack_n_gpus(g) * RB_PACK_PARTS;
    int64_t area = 0, longest_us = 0;
    for (int i = 0; i < g->n_trials; i++) {
        const int least = rb_pack_least_area(g, i, RB_PACK_NEVER - 1, NULL);
        int64_t shortest_us = RB_PACK_NEVER;
        area += rb_pack_height_us(g, i, least) * rb_pack_parts(g, least);
        for (int w = 0; w < g->n_widths; w++) {
            if (rb_pack_height_us(g, i, w) != RB_PACK_NEVER && rb_pack_fits(g, w) &&
                rb_pack_needs_us(g, i, w) < shortest_us)
                shortest_us = rb_pack_needs_us(g, i, w);
        }
        longest_us = shortest_us > longest_us ? shortest_us : longest_us;
    }
    const int64_t load_us = area / parts + (area % parts > 0);
    return load_us > longest_us ? load_us : longest_us;
}

bool rb_packing_is_optimal(const struct rb_pack_answer *a)
{
    return a->packing.makespan_us == a->bound_us;
}

double rb_packing_proved_ratio(const struct rb_pack_answer *a)
{
    return a->certificate ? (double)a->certified_us / (double)a->bound_us : INFINITY;
}

double rb_packing_reached_ratio(const struct rb_pack_answer *a)
{
    return (double)a->packing.makespan_us / (double)a->bound_us;
}

double rb_fluid_published_bound_us(const struct rb_pack_group *g, double optimum_us, double alpha, double beta)
{
    const int single = rb_pack_single_gpu(g);
    double longest_us = 0;
    for (int i = 0; i < g->n_trials; i++)
        longest_us = fmax(longest_us, (double)rb_pack_height_us(g, i, single));
    // The limits of both powers at 1: alpha^(1/(alpha-1)) -> e.
    const double small = alpha > 1 ? pow(alpha, 1 / (alpha - 1)) : exp(1);
    const double large = beta > 1 ? pow(beta, 1 / (beta - 1) - 1) : exp(1);
    return fmax(2 * optimum_us + longest_us * small, 2 * optimum_us * large);
}
