#include "planner/quality/target.h"

#include "planner/quality/drawn.h"
#include "planner/quality/gain.h"

#include "base/order.h"

#include <math.h>
#include <stdlib.h>

struct race {
    const struct rb_plan *plan;
    const struct rb_search_shape *shape;
    double least[RB_LIMIT_STAGES][RB_LIMIT_STAGES]; // normal score that reaches the target, [bracket][rung]
    double spent_uusd; // when it is first reached in this draw; INFINITY: not yet
};

// Stages of brackets in turn are numbered one after the other.
static int stage_of(const struct rb_search_shape *shape, int bracket, int rung)
{
    int stage = rung;
    for (int b = 0; b < bracket; b++)
        stage += shape->brackets[b].n;
    return stage;
}

static double cost_before(const struct rb_plan *plan, int stage)
{
    double sum = 0;
    for (int i = 0; i < stage; i++)
        sum += (double)plan->stages[i].cost_uusd.mean;
    return sum;
}

// When the trial at place `at` of n reports at the end of its rung.
static double spent_at(const struct race *r, int bracket, int rung, int at, int n)
{
    const double share = (double)(at + 1) / n;
    if (r->shape->overlaps)
        return share * (double)r->plan->estimate.cost_uusd.mean;
    const int stage = stage_of(r->shape, bracket, rung);
    return cost_before(r->plan, stage) + share * (double)r->plan->stages[stage].cost_uusd.mean;
}

static void watch(void *ctx, int bracket, int rung, const struct rb_drawn_trial *trials, int n)
{
    struct race *r = ctx;
    for (int i = 0; i < n; i++) {
        if (trials[i].y >= r->least[bracket][rung]) {
            r->spent_uusd = fmin(r->spent_uusd, spent_at(r, bracket, rung, i, n));
            return;
        }
    }
}

static void summarise(double *spent, int n, int draws, struct rb_to_target *out)
{
    double sum = 0;
    *out = (struct rb_to_target){.reached = (double)n / draws, .draws = draws};
    if (n == 0)
        return;
    qsort(spent, (size_t)n, sizeof *spent, rb_order_doubles);
    for (int i = 0; i < n; i++)
        sum += spent[i];
    out->cost_uusd = (struct rb_quantiles){.mean = llround(sum / n), .p5 = llround(spent[(int)(0.05 * n)]),
                                           .p50 = llround(spent[n / 2]), .p95 = llround(spent[(int)(0.95 * n)]),
                                           .p99 = llround(spent[(int)(0.99 * n)])};
}

bool rb_target_expect(const struct rb_quality_law *law, const struct rb_plan *plan, int draws, struct rb_to_target *out,
                      struct rb_err *err)
{
    struct rb_search_shape shape;
    struct rb_drawn d;
    const char *ignored;
    if (!rb_search_shape_of(plan->job, &shape, err))
        return false;
    rb_search_shape_scale(&shape, rb_sampler_gain(plan->job->scheduler.sampler.type, rb_search_shape_trials(&shape),
                                                  &ignored));
    struct race *race = rb_xcalloc(1, sizeof *race);
    double *spent = rb_xcalloc((size_t)draws, sizeof *spent);
    int n = 0;
    race->plan = plan;
    race->shape = &shape;
    for (int b = 0; b < shape.n; b++)
        for (int i = 0; i < shape.brackets[b].n; i++)
            race->least[b][i] = rb_quality_score_of(law, shape.brackets[b].rungs[i].share, plan->job->target);
    rb_drawn_init(&d, law, &shape, plan->job->seed);
    for (int k = 0; k < draws; k++) {
        race->spent_uusd = INFINITY;
        rb_drawn_play(&d, (uint32_t)k, watch, race);
        if (isfinite(race->spent_uusd))
            spent[n++] = race->spent_uusd;
    }
    summarise(spent, n, draws, out);
    rb_drawn_finish(&d);
    free(spent);
    free(race);
    return true;
}
