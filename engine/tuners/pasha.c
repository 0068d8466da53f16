// Progressive ASHA: trials are promoted to the second level at first, and to one more whenever the two highest levels in
// use rank the trials that have reached both differently. Ranks of trials whose scores differ by no more than the noise
// do not count as different; the noise is estimated from pairs that overtook each other and were overtaken back.
// Source: Bohdal et al., "PASHA: efficient HPO and NAS with progressive resource allocation", ICLR'23. Its plan is that of
// asha to max_resource, which it may never reach.
#include "engine/tuners/asha.h"

#include "base/arena.h"
#include "engine/tuners/brackets.h"
#include "engine/tuners/tuners.h"

#include <math.h>
#include <stdlib.h>

#define NOISE_QUANTILE 0.9 // of the differences of such pairs; the paper's choice

struct point {
    int64_t resource;
    double score;
};

// What a trial has reported, ascending resource.
struct curve {
    struct point *points;
    int n, cap;
};

// A trial that has a result at the highest level in use.
struct member {
    int trial;
    double below, top; // its scores at the level below, and at the highest
};

struct pasha {
    void *asha;
    struct rb_levels levels;
    int cap;                  // the highest level in use
    struct curve *curves;     // [n_curves], by trial
    int n_curves;
    struct member *members;   // [n_members]
    int n_members, members_cap;
    double *swaps;            // differences at the highest level of pairs that swapped and swapped back, [n_swaps]
    int n_swaps, swaps_cap;
    struct member *by_below, *by_top; // for sorting, [members_cap]
};

static bool pasha_create(const struct rb_job *job, void **out_state, struct rb_err *err)
{
    struct pasha *p = rb_xcalloc(1, sizeof *p);
    if (!rb_tuner_asha.create(job, &p->asha, err)) {
        free(p);
        return false;
    }
    rb_levels_of(&job->scheduler, &p->levels);
    p->cap = p->levels.n > 1 ? 1 : 0;
    rb_asha_cap(p->asha, p->cap);
    *out_state = p;
    return true;
}

static void pasha_destroy(void *state)
{
    struct pasha *p = state;
    if (!p)
        return;
    rb_tuner_asha.destroy(p->asha);
    for (int i = 0; i < p->n_curves; i++)
        free(p->curves[i].points);
    free(p->curves);
    free(p->members);
    free(p->swaps);
    free(p->by_below);
    free(p->by_top);
    free(p);
}

// ---- curves

static struct curve *curve_of(struct pasha *p, int trial)
{
    if (trial >= p->n_curves) {
        const int n = trial >= 2 * p->n_curves ? trial + 1 : 2 * p->n_curves;
        p->curves = rb_xrealloc(p->curves, (size_t)n, sizeof *p->curves);
        for (; p->n_curves < n; p->n_curves++)
            p->curves[p->n_curves] = (struct curve){0};
    }
    return &p->curves[trial];
}

// A report that is repeated, after a node was lost, is no new one.
static void add_point(struct pasha *p, int trial, int64_t resource, double score)
{
    struct curve *c = curve_of(p, trial);
    if (c->n > 0 && resource <= c->points[c->n - 1].resource)
        return;
    if (c->n == c->cap) {
        c->cap = c->cap ? 2 * c->cap : 8;
        c->points = rb_xrealloc(c->points, (size_t)c->cap, sizeof *c->points);
    }
    c->points[c->n++] = (struct point){resource, score};
}

// The last score up to a level's resource.
static double score_at(const struct curve *c, int64_t resource)
{
    double score = -INFINITY;
    for (int i = 0; i < c->n && c->points[i].resource <= resource; i++)
        score = c->points[i].score;
    return score;
}

// Did one of them overtake the other, and was overtaken back, where both reported?
static bool swapped_back(const struct curve *a, const struct curve *b)
{
    int first = 0, changes = 0;
    for (int i = 0, k = 0; i < a->n && k < b->n;) {
        if (a->points[i].resource != b->points[k].resource) {
            if (a->points[i].resource < b->points[k].resource)
                i++;
            else
                k++;
            continue;
        }
        const double x = a->points[i++].score, y = b->points[k++].score;
        const int sign = (x > y) - (x < y);
        changes += sign != 0 && first != 0 && sign != first;
        first = sign != 0 ? sign : first;
    }
    return changes >= 2;
}

// ---- ranks

static void add_swap(struct pasha *p, double difference)
{
    if (p->n_swaps == p->swaps_cap) {
        p->swaps_cap = p->swaps_cap ? 2 * p->swaps_cap : 16;
        p->swaps = rb_xrealloc(p->swaps, (size_t)p->swaps_cap, sizeof *p->swaps);
    }
    p->swaps[p->n_swaps++] = difference;
}

static void add_member(struct pasha *p, int trial)
{
    const struct curve *c = curve_of(p, trial);
    const struct member m = {.trial = trial,
                             .below = score_at(c, p->levels.resource[p->cap - 1]),
                             .top = score_at(c, p->levels.resource[p->cap])};
    for (int i = 0; i < p->n_members; i++)
        if (swapped_back(c, &p->curves[p->members[i].trial]))
            add_swap(p, fabs(p->members[i].top - m.top));
    if (p->n_members == p->members_cap) {
        p->members_cap = p->members_cap ? 2 * p->members_cap : 16;
        p->members = rb_xrealloc(p->members, (size_t)p->members_cap, sizeof *p->members);
        p->by_below = rb_xrealloc(p->by_below, (size_t)p->members_cap, sizeof *p->by_below);
        p->by_top = rb_xrealloc(p->by_top, (size_t)p->members_cap, sizeof *p->by_top);
    }
    p->members[p->n_members++] = m;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int compare_below(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    return rb_score_compare(x->below, x->trial, y->below, y->trial);
}

static int compare_top(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    return rb_score_compare(x->top, x->trial, y->top, y->trial);
}

// The quantile between neighbours by linear interpolation; 0 without pairs.
static double noise(struct pasha *p)
{
    if (p->n_swaps == 0)
        return 0;
    qsort(p->swaps, (size_t)p->n_swaps, sizeof *p->swaps, compare_doubles);
    const double at = NOISE_QUANTILE * (p->n_swaps - 1);
    const int low = (int)at, high = low + 1 < p->n_swaps ? low + 1 : low;
    return p->swaps[low] + (at - low) * (p->swaps[high] - p->swaps[low]);
}

// Does every place of the ranking below belong to a trial that could have it above, but for noise?
static bool ranks_agree(struct pasha *p)
{
    const double tolerance = noise(p);
    for (int i = 0; i < p->n_members; i++)
        p->by_below[i] = p->by_top[i] = p->members[i];
    qsort(p->by_below, (size_t)p->n_members, sizeof *p->by_below, compare_below);
    qsort(p->by_top, (size_t)p->n_members, sizeof *p->by_top, compare_top);
    for (int i = 0; i < p->n_members; i++)
        if (fabs(p->by_below[i].top - p->by_top[i].top) > tolerance)
            return false;
    return true;
}

static void reached_highest(struct pasha *p, int trial)
{
    add_member(p, trial);
    if (ranks_agree(p))
        return;
    p->cap++;
    rb_asha_cap(p->asha, p->cap);
    p->n_members = p->n_swaps = 0; // nobody has been there yet
}

// ---- the interface

static enum rb_tuner_next pasha_next(void *state, struct rb_group *out)
{
    return rb_tuner_asha.next(((struct pasha *)state)->asha, out);
}

static int pasha_phase(const void *state)
{
    return rb_tuner_asha.phase(((const struct pasha *)state)->asha);
}

static enum rb_verdict pasha_reported(void *state, int id, int64_t resource, double score)
{
    struct pasha *p = state;
    add_point(p, id, resource, score);
    return rb_tuner_asha.reported(p->asha, id, resource, score);
}

// The last level is R, beyond which nothing grows.
static void pasha_ended(void *state, int id, int64_t resource, double score)
{
    struct pasha *p = state;
    rb_tuner_asha.ended(p->asha, id, resource, score);
    if (!(score > -INFINITY))
        return;
    add_point(p, id, resource, score);
    if (p->cap > 0 && p->cap < p->levels.n - 1 && resource == p->levels.resource[p->cap])
        reached_highest(p, id);
}

static void pasha_failed(void *state, int id)
{
    rb_tuner_asha.failed(((struct pasha *)state)->asha, id);
}

static void pasha_close(void *state, enum rb_tuner_close what)
{
    rb_tuner_asha.close(((struct pasha *)state)->asha, what);
}

static bool pasha_stages(const struct rb_job *job, struct rb_rung_table *out, struct rb_err *err)
{
    return rb_tuner_asha.stages(job, out, err);
}

static bool pasha_overlaps(const struct rb_scheduler *s)
{
    return rb_tuner_asha.overlaps(s);
}

const struct rb_tuner rb_tuner_pasha = {
    .name = "pasha",
    .on_demand = true,
    .stages = pasha_stages,
    .overlaps = pasha_overlaps,
    .create = pasha_create,
    .destroy = pasha_destroy,
    .next = pasha_next,
    .phase = pasha_phase,
    .reported = pasha_reported,
    .ended = pasha_ended,
    .failed = pasha_failed,
    .close = pasha_close,
};
