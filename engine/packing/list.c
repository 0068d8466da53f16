#include "engine/packing/list.h"

#include "base/arena.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void rb_packing_finish(struct rb_packing *p)
{
    free(p->trials);
    free(p->slots);
    *p = (struct rb_packing){0};
}

void rb_lister_finish(struct rb_lister *l)
{
    rb_places_finish(&l->places);
    rb_packing_finish(&l->scratch);
    free(l->rank);
    free(l->next);
    free(l->head);
    free(l->tail);
    free(l->ends);
    free(l->busy);
    *l = (struct rb_lister){0};
}

static void reserve(struct rb_lister *l, int n_trials, int n_widths)
{
    if (n_trials > l->trials_cap) {
        l->trials_cap = n_trials;
        l->rank = rb_xrealloc(l->rank, (size_t)n_trials, sizeof *l->rank);
        l->next = rb_xrealloc(l->next, (size_t)n_trials, sizeof *l->next);
        l->ends = rb_xrealloc(l->ends, (size_t)n_trials, sizeof *l->ends);
    }
    if (n_widths > l->widths_cap) {
        l->widths_cap = n_widths;
        l->head = rb_xrealloc(l->head, (size_t)n_widths, sizeof *l->head);
        l->tail = rb_xrealloc(l->tail, (size_t)n_widths, sizeof *l->tail);
    }
}

static void empty(struct rb_packing *p, int n_trials)
{
    if (n_trials > p->n_trials)
        p->trials = rb_xrealloc(p->trials, (size_t)n_trials, sizeof *p->trials);
    p->n_trials = n_trials;
    p->n_slots = 0;
    p->makespan_us = 0;
}

// ---- waiting trials: per width in the list's order, since trials of one width fit alike

static void wait_in_order(struct rb_lister *l, const struct rb_pack_group *g, const int *widths, const int *order)
{
    for (int w = 0; w < g->n_widths; w++)
        l->head[w] = l->tail[w] = -1;
    for (int i = 0; i < g->n_trials; i++) {
        const int trial = order[i], w = widths[trial];
        l->rank[trial] = i;
        l->next[trial] = -1;
        if (l->tail[w] >= 0)
            l->next[l->tail[w]] = trial;
        else
            l->head[w] = trial;
        l->tail[w] = trial;
    }
}

// Among the widths not yet refused at this instant, the one whose first trial is furthest ahead; -1: none.
static int first_width(const struct rb_lister *l, int n_widths, uint64_t refused)
{
    int best = -1;
    for (int w = 0; w < n_widths; w++) {
        if (l->head[w] >= 0 && !(refused >> w & 1) && (best < 0 || l->rank[l->head[w]] < l->rank[l->head[best]]))
            best = w;
    }
    return best;
}

// ---- running trials: a heap by end, ties by trial

static bool ends_before(const struct rb_packing *p, int a, int b)
{
    const int64_t a_us = p->trials[a].end_us, b_us = p->trials[b].end_us;
    return a_us != b_us ? a_us < b_us : a < b;
}

static void push_end(struct rb_lister *l, const struct rb_packing *p, int trial)
{
    int at = l->n_ends++;
    for (; at > 0 && ends_before(p, trial, l->ends[(at - 1) / 2]); at = (at - 1) / 2)
        l->ends[at] = l->ends[(at - 1) / 2];
    l->ends[at] = trial;
}

static int pop_end(struct rb_lister *l, const struct rb_packing *p)
{
    const int first = l->ends[0], last = l->ends[--l->n_ends];
    int at = 0;
    for (int child = 1; child < l->n_ends; child = 2 * at + 1) {
        if (child + 1 < l->n_ends && ends_before(p, l->ends[child + 1], l->ends[child]))
            child++;
        if (ends_before(p, last, l->ends[child]))
            break;
        l->ends[at] = l->ends[child];
        at = child;
    }
    l->ends[at] = last;
    return first;
}

// ---- starting and ending

static bool take(struct rb_lister *l, const struct rb_pack_group *g, int width, struct rb_packing *p, int *out_n)
{
    if (p->n_slots + g->n_nodes > p->slots_cap) {
        p->slots_cap = 2 * p->slots_cap + g->n_nodes + 16;
        p->slots = rb_xrealloc(p->slots, (size_t)p->slots_cap, sizeof *p->slots);
    }
    struct rb_slot *slots = p->slots + p->n_slots;
    return rb_places_take_width(&l->places, g->widths[width], slots, out_n);
}

static void give(struct rb_lister *l, const struct rb_pack_group *g, const struct rb_packing *p, int trial)
{
    const struct rb_packed *t = &p->trials[trial];
    for (int i = 0; i < t->n_slots; i++) {
        const struct rb_slot *slot = &p->slots[t->first_slot + i];
        if (g->widths[t->width].sharers > 1)
            rb_places_give_share(&l->places, slot);
        else
            rb_places_give(&l->places, slot->node, slot->gpus);
    }
}

// ---- GPUs that others hold

struct held_gpu {
    int64_t free_us;
    int gpu;
};

static int latest_first(const void *pa, const void *pb)
{
    const struct held_gpu *a = pa, *b = pb;
    if (a->free_us != b->free_us)
        return a->free_us > b->free_us ? -1 : 1;
    return (a->gpu < b->gpu) - (a->gpu > b->gpu);
}

static void set_nodes(struct rb_lister *l, const struct rb_pack_group *g)
{
    const int n_gpus = rb_pack_n_gpus(g);
    rb_places_clear(&l->places);
    for (int i = 0; i < g->n_nodes; i++) {
        uint64_t free_gpus = rb_gpu_mask(g->node_gpus);
        for (int gpu = 0; g->free_us && gpu < g->node_gpus; gpu++)
            free_gpus &= ~((uint64_t)(g->free_us[i * g->node_gpus + gpu] > 0) << gpu);
        rb_places_set(&l->places, i, g->node_gpus, free_gpus);
    }
    l->n_busy = 0;
    if (!g->free_us)
        return;
    RB_AUTO(rb_auto_free) struct held_gpu *held = rb_xcalloc((size_t)n_gpus, sizeof *held);
    for (int i = 0; i < n_gpus; i++) {
        if (g->free_us[i] > 0)
            held[l->n_busy++] = (struct held_gpu){g->free_us[i], i};
    }
    qsort(held, (size_t)l->n_busy, sizeof *held, latest_first);
    if (l->n_busy > l->busy_cap) {
        l->busy_cap = l->n_busy;
        l->busy = rb_xrealloc(l->busy, (size_t)l->busy_cap, sizeof *l->busy);
    }
    for (int i = 0; i < l->n_busy; i++)
        l->busy[i] = held[i].gpu;
}

// When the next GPU that others hold becomes free; INT64_MAX: all are free.
static int64_t next_us(const struct rb_lister *l, const struct rb_pack_group *g, const struct rb_packing *p)
{
    const int64_t trial_us = l->n_ends > 0 ? p->trials[l->ends[0]].end_us : INT64_MAX;
    const int64_t other_us = l->n_busy > 0 ? g->free_us[l->busy[l->n_busy - 1]] : INT64_MAX;
    return trial_us < other_us ? trial_us : other_us;
}

static void free_until(struct rb_lister *l, const struct rb_pack_group *g, struct rb_packing *p, int64_t now_us)
{
    while (l->n_ends > 0 && p->trials[l->ends[0]].end_us == now_us)
        give(l, g, p, pop_end(l, p));
    for (; l->n_busy > 0 && g->free_us[l->busy[l->n_busy - 1]] == now_us; l->n_busy--) {
        const int gpu = l->busy[l->n_busy - 1];
        rb_places_give(&l->places, gpu / g->node_gpus, UINT64_C(1) << gpu % g->node_gpus);
    }
}

static void start_fitting(struct rb_lister *l, const struct rb_pack_group *g, enum rb_list_rule rule, int64_t now_us,
                          struct rb_packing *p)
{
    uint64_t refused = 0;
    for (int w, n_slots; (w = first_width(l, g->n_widths, refused)) >= 0;) {
        if (!take(l, g, w, p, &n_slots)) {
            if (rule == RB_LIST_IN_TURN)
                return;
            refused |= UINT64_C(1) << w;
            continue;
        }
        const int trial = l->head[w];
        l->head[w] = l->next[trial];
        p->trials[trial] = (struct rb_packed){.width = w,
                                              .start_us = now_us,
                                              .end_us = now_us + rb_pack_height_us(g, trial, w),
                                              .first_slot = p->n_slots,
                                              .n_slots = n_slots};
        p->n_slots += n_slots;
        push_end(l, p, trial);
    }
}

int64_t rb_pack_list(struct rb_lister *l, const struct rb_pack_group *g, const int *widths, const int *order,
                     enum rb_list_rule rule, struct rb_packing *out)
{
    struct rb_packing *p = out ? out : &l->scratch;
    reserve(l, g->n_trials, g->n_widths);
    empty(p, g->n_trials);
    set_nodes(l, g);
    wait_in_order(l, g, widths, order);
    l->n_ends = 0;
    start_fitting(l, g, rule, 0, p);
    for (int64_t now_us; first_width(l, g->n_widths, 0) >= 0;) {
        now_us = next_us(l, g, p);
        free_until(l, g, p, now_us);
        start_fitting(l, g, rule, now_us, p);
    }
    for (int i = 0; i < g->n_trials; i++) {
        const int64_t done_us = p->trials[i].end_us + rb_pack_tail_us(g, i, p->trials[i].width);
        p->makespan_us = done_us > p->makespan_us ? done_us : p->makespan_us;
    }
    return p->makespan_us;
}
