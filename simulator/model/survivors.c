#include "simulator/model/survivors.h"

#include "base/arena.h"
#include "base/order.h"
#include "base/stream.h"
#include "samplers/model/normal.h"

#include <math.h>
#include <stdlib.h>

#define CORRELATION 0.9 // .75/.85, .85/.93 and .93 from rung to rung

void rb_survivors_make(struct rb_survivors *r, const struct rb_engine *e, enum rb_goal goal, uint64_t seed)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    const int n = rb_engine_n_trials(e);
    double *values = rb_arena_array(&arena, (size_t)n + 1, sizeof *values);
    double *scores = rb_arena_array(&arena, (size_t)n + 1, sizeof *scores);
    rb_survivors_finish(r);
    *r = (struct rb_survivors){.n = n, .minimizes = goal == RB_GOAL_MINIMIZE, .seed = seed};
    r->scores = rb_xcalloc((size_t)n + 1, sizeof *r->scores);
    r->metrics = rb_xcalloc((size_t)n + 1, sizeof *r->metrics);
    for (int i = 0; i < n; i++) {
        const double metric = rb_engine_trial(e, i)->metric;
        if (!isfinite(metric))
            continue;
        values[r->n_metrics] = r->minimizes ? -metric : metric;
        r->metrics[r->n_metrics++] = metric;
    }
    rb_normal_scores(values, r->n_metrics, &arena, scores);
    for (int i = 0, k = 0; i < n; i++)
        r->scores[i] = isfinite(rb_engine_trial(e, i)->metric) ? scores[k++] : NAN;
    qsort(r->metrics, (size_t)r->n_metrics, sizeof *r->metrics, rb_order_doubles);
}

void rb_survivors_finish(struct rb_survivors *r)
{
    free(r->scores);
    free(r->metrics);
    *r = (struct rb_survivors){0};
}

double rb_survivors_draw(const struct rb_survivors *r, uint32_t replicate, int trial)
{
    const struct rb_stream_key key = {
        .seed = r->seed, .purpose = RB_DRAW_SURVIVORS, .index = (uint32_t)trial, .replicate = replicate};
    const double by_chance = rb_normal_quantile(rb_stream_first_uniform(&key));
    const bool is_known = trial < r->n && !isnan(r->scores[trial]);
    const double score =
        is_known ? CORRELATION * r->scores[trial] + sqrt(1 - CORRELATION * CORRELATION) * by_chance : by_chance;
    if (r->n_metrics == 0)
        return 0;
    const int rank = (int)(rb_normal_cdf(r->minimizes ? -score : score) * r->n_metrics);
    return r->metrics[rank < r->n_metrics ? rank : r->n_metrics - 1];
}
