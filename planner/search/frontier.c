#include "planner/search/frontier.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAME 1e-9 // relative: points that differ by less are the same

double rb_weigh(const struct rb_weights *w, const struct rb_stage_sample *sample)
{
    return w->cost_mean * sample->cost_mean_uusd + w->time_mean * sample->time_mean_us +
           w->cost_low * sample->cost_low_uusd + w->time_low * sample->time_low_us;
}

// --- one stage back

// Entries are grouped by offer: [first, end) of one group.
static int group_end(const struct rb_stage_options *list, int first)
{
    int end = first;
    while (end < list->n && list->entries[end].choice.offer == list->entries[first].choice.offer)
        end++;
    return end;
}

// Lower bound on a stage and all later ones when every node is new, over the groups: the best, and the best of other
// groups.
struct fresh {
    double least, least_elsewhere;
    int offer; // of the best
};

static struct fresh fresh_start(const struct rb_stage_options *list, const struct rb_weights *w, const double *togo)
{
    struct fresh f = {INFINITY, INFINITY, -1};
    for (int first = 0, end; first < list->n; first = end) {
        end = group_end(list, first);
        double least = INFINITY;
        for (int i = first; i < end; i++) {
            if (list->entries[i].by_kept[0])
                least = fmin(least, rb_weigh(w, list->entries[i].by_kept[0]) + togo[i]);
        }
        if (least < f.least) {
            f.least_elsewhere = f.least;
            f.least = least;
            f.offer = list->entries[first].choice.offer;
        } else {
            f.least_elsewhere = fmin(f.least_elsewhere, least);
        }
    }
    return f;
}

static void step_back(const struct rb_stage_options *before, const struct rb_stage_options *list,
                      const struct rb_weights *w, const double *togo, double *out)
{
    struct fresh f = fresh_start(list, w, togo);
    for (int i = 0; i < before->n; i++) {
        const struct rb_option_entry *b = &before->entries[i];
        double least = f.offer == b->choice.offer ? f.least_elsewhere : f.least;
        for (int j = 0; j < list->n; j++) {
            if (list->entries[j].choice.offer == b->choice.offer)
                least = fmin(least, rb_weigh(w, rb_option_sample(b, &list->entries[j])) + togo[j]);
        }
        out[i] = least;
    }
}

double **rb_rest_create(const struct rb_options *o, const struct rb_weights *w)
{
    double **togo = rb_xcalloc((size_t)o->n_stages, sizeof *togo);
    for (int stage = o->n_stages - 1; stage >= 0; stage--) {
        togo[stage] = rb_xcalloc((size_t)o->stages[stage].n + 1, sizeof **togo);
        if (stage < o->n_stages - 1)
            step_back(&o->stages[stage], &o->stages[stage + 1], w, togo[stage + 1], togo[stage]);
    }
    return togo;
}

void rb_rest_free(const struct rb_options *o, double **togo)
{
    for (int stage = 0; togo && stage < o->n_stages; stage++)
        free(togo[stage]);
    free(togo);
}

double rb_frontier_path(const struct rb_options *o, const struct rb_weights *w, struct rb_path *out)
{
    double **togo = rb_rest_create(o, w), sum = 0;
    const struct rb_option_entry *before = NULL;
    for (int stage = 0; stage < o->n_stages; stage++) {
        const struct rb_stage_options *list = &o->stages[stage];
        double least = INFINITY, step = 0;
        for (int i = 0; i < list->n; i++) {
            double here = rb_weigh(w, rb_option_sample(before, &list->entries[i]));
            if (here + togo[stage][i] < least) {
                least = here + togo[stage][i];
                step = here;
                out->entry[stage] = i;
            }
        }
        sum += step;
        before = &list->entries[out->entry[stage]];
    }
    rb_rest_free(o, togo);
    return sum;
}

// --- the hull

struct point {
    struct rb_path path;
    double cost, time, slope;
};

static struct point point_at(const struct rb_options *o, double cost_weight, double time_weight)
{
    struct rb_weights w = {.cost_mean = cost_weight, .time_mean = time_weight};
    struct point p = {.slope = time_weight / cost_weight};
    rb_frontier_path(o, &w, &p.path);
    const struct rb_option_entry *before = NULL;
    for (int stage = 0; stage < o->n_stages; stage++) {
        const struct rb_option_entry *entry = &o->stages[stage].entries[p.path.entry[stage]];
        const struct rb_stage_sample *s = rb_option_sample(before, entry);
        p.cost += s->cost_mean_uusd;
        p.time += s->time_mean_us;
        before = entry;
    }
    return p;
}

static bool same_point(const struct point *a, const struct point *b)
{
    return fabs(a->cost - b->cost) <= SAME * fabs(a->cost) && fabs(a->time - b->time) <= SAME * fabs(a->time);
}

// Points strictly between two neighbours, found by asking for the price of time at which they are equal.
static int between(const struct rb_options *o, const struct point *cheap, const struct point *fast, struct point *out,
                   int cap)
{
    if (cap <= 0 || rb_search_out_of_time(o->search) || fast->time >= cheap->time || fast->cost <= cheap->cost)
        return 0;
    double slope = (fast->cost - cheap->cost) / (cheap->time - fast->time);
    struct point p = point_at(o, 1, slope);
    double gain = cheap->cost + slope * cheap->time - (p.cost + slope * p.time);
    if (gain <= SAME * fabs(cheap->cost) || same_point(&p, cheap) || same_point(&p, fast))
        return 0;
    int n = between(o, cheap, &p, out, (cap - 1) / 2);
    out[n] = p;
    return n + 1 + between(o, &p, fast, out + n + 1, cap - n - 1);
}

int rb_frontier(const struct rb_options *o, struct rb_path *out, double *out_slopes, int cap)
{
    RB_AUTO(rb_auto_free) struct point *points = rb_xcalloc((size_t)cap, sizeof *points);
    struct point cheap = point_at(o, 1, RB_TIE_WEIGHT), fast = point_at(o, RB_TIE_WEIGHT, 1);
    int n = 0;
    points[n++] = cheap;
    if (!same_point(&cheap, &fast)) {
        n += between(o, &cheap, &fast, points + n, cap - 2);
        points[n++] = fast;
    }
    for (int i = 0; i < n; i++) {
        out[i] = points[i].path;
        out_slopes[i] = points[i].slope;
    }
    return n;
}
