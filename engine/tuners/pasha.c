// Progressive ASHA: trials are promoted to the second level at first, and to one more whenever the two highest levels in
// use rank the trials that have reached both differently. Ranks of trials whose scores differ by no more than the noise
// do not count as different; the noise is estimated from pairs that overtook each other and were overtaken back.
// Source: Bohdal et al., "PASHA: efficient HPO and NAS with progressive resource allocation", ICLR'23. Its plan is that of
// asha to max_resource, which it may never reach.
#include "engine/tuners/asha.h"

#include "base/arena.h"
#include "base/order.h"
#include "engine/tuners/brackets.h"
#include "engine/tuners/tuners.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NOISE_QUANTILE 0.9 // of the differences of such pairs; the paper's choice

struct point {
    int64_t resource;
    double score;
};

// What a trial has reported, ascending resource.
struct curve {
    struct point *points;
    int n;
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
    int n_members;
    double *swaps;            // differences at the highest level of pairs that swapped and swapped back, [n_swaps]
    int n_swaps;
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
    free(p);
}

// ---- curves

static struct curve *curve_of(struct pasha *p, int trial)
{
    for (; p->n_curves <= trial; p->n_curves++) {
        p->curves = rb_grow(p->curves, p->n_curves, sizeof *p->curves);
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
    c->points = rb_grow(c->points, c->n, sizeof *c->points);
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

static void add_member(struct pasha *p, int trial)
{
    const struct curve *c = curve_of(p, trial);
    const struct member m = {.trial = trial,
                             .below = score_at(c, p->levels.resource[p->cap - 1]),
                             .top = score_at(c, p->levels.resource[p->cap])};
    for (int i = 0; i < p->n_members; i++) {
        if (!swapped_back(c, &p->curves[p->members[i].trial]))
            continue;
        p->swaps = rb_grow(p->swaps, p->n_swaps, sizeof *p->swaps);
        p->swaps[p->n_swaps++] = fabs(p->members[i].top - m.top);
    }
    p->members = rb_grow(p->members, p->n_members, sizeof *p->members);
    p->members[p->n_members++] = m;
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
    qsort(p->swaps, (size_t)p->n_swaps, sizeof *p->swaps, rb_order_doubles);
    const double at = NOISE_QUANTILE * (p->n_swaps - 1);
    const int low = (int)at, high = low + 1 < p->n_swaps ? low + 1 : low;
    return p->swaps[low] + (at - low) * (p->swaps[high] - p->swaps[low]);
}

// Does every place of the ranking below belong to a trial that could have it above, but for noise? The order of members
// does not matter otherwise, so they are sorted in place.
static bool ranks_agree(struct pasha *p)
{
    const double tolerance = noise(p);
    RB_AUTO(rb_auto_free) struct member *above = rb_xcalloc((size_t)p->n_members, sizeof *above);
    bool agree = true;
    memcpy(above, p->members, (size_t)p->n_members * sizeof *above);
    qsort(p->members, (size_t)p->n_members, sizeof *p->members, compare_below);
    qsort(above, (size_t)p->n_members, sizeof *above, compare_top);
    for (int i = 0; i < p->n_members; i++)
        agree = agree && fabs(p->members[i].top - above[i].top) <= tolerance;
    return agree;
}

static void reached_highest(struct pasha *p, int trial)
{
    add_member(p, trial);
    if (ranks_agree(p))
        return;
    p->cap++;
    rb_asha_cap(p->asha, p->cap);
    p->n_members = p->n_swaps = 0; // no trial has a result at the new level yet
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
