#include "planner/search/branch.h"

#include "planner/search/frontier.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MULTIPLIERS 6

// A Lagrangian bound. If `need` replicates keep the limit, so does the mean of the `need` smallest sums. That mean is
// at least the sum over stages of the means of their own `need` smallest: a separable relaxation, priced at `slope`.
struct multiplier {
    double slope;
    double **togo; // lower bound on objective + slope x low mean of the stages after an entry
};

struct branch {
    struct rb_optimum *op;
    int n; // replicates
    struct multiplier multipliers[MULTIPLIERS];
    int n_multipliers;
    double low_limit;                // of the priced low mean; INFINITY: none
    bool heeds_cost;                 // of each replicate; else its sums stay 0
    double *least_time, *least_cost; // [n_stages + 1][n] lower bounds on the stages from i on, by replicate
    double *time, *cost;             // [n_stages + 1][n] sums before stage i
    double *test_time, *test_cost;   // [n]
    struct rb_path path;
};

struct prefix {
    double objective, low; // sums of the stages before
};

// The child entries of one partial plan, most promising first.
struct child {
    double bound;
    int entry;
};

static double low_of(const struct branch *b, const struct rb_stage_sample *s)
{
    return b->op->search->req->objective == RB_OBJECTIVE_MIN_COST ? s->time_low_us : s->cost_low_uusd;
}

static struct rb_weights weights(const struct branch *b, double slope)
{
    if (b->op->search->req->objective == RB_OBJECTIVE_MIN_COST)
        return (struct rb_weights){.cost_mean = 1, .time_mean = RB_TIE_WEIGHT, .time_low = slope};
    return (struct rb_weights){.time_mean = 1, .cost_mean = RB_TIE_WEIGHT, .cost_low = slope};
}

// --- lower bounds of every completion

static void least_of_stage(const struct branch *b, int stage, double *time, double *cost)
{
    const struct rb_stage_options *list = &b->op->options.stages[stage];
    for (int r = 0; r < b->n; r++)
        time[r] = cost[r] = INFINITY;
    for (int i = 0; i < list->n; i++) {
        for (int kept = 0; kept <= list->entries[i].choice.nodes; kept++) {
            const struct rb_stage_sample *s = list->entries[i].by_kept[kept];
            for (int r = 0; s && r < b->n; r++) {
                time[r] = fmin(time[r], s->time_us[r]);
                cost[r] = fmin(cost[r], s->cost_uusd[r]);
            }
        }
    }
}

static void fill_least(struct branch *b)
{
    int n_stages = b->op->options.n_stages, n = b->n;
    for (int stage = n_stages - 1; stage >= 0; stage--) {
        double *time = b->least_time + stage * n, *cost = b->least_cost + stage * n;
        least_of_stage(b, stage, time, cost);
        for (int r = 0; r < n; r++) {
            time[r] += time[n + r];
            cost[r] += cost[n + r];
        }
    }
}

static void init(struct branch *b, struct rb_optimum *op, const double *slopes, int n_slopes)
{
    size_t n = (size_t)op->options.n_samples, rows = (size_t)op->options.n_stages + 1;
    *b = (struct branch){.op = op, .n = (int)n};
    b->low_limit =
        op->search->req->objective == RB_OBJECTIVE_MIN_COST ? op->aim.time_limit_us : op->aim.cost_limit_uusd;
    b->heeds_cost = !isinf(op->aim.cost_limit_uusd) || op->aim.kind == RB_AIM_BUDGET;
    b->multipliers[b->n_multipliers++] = (struct multiplier){.slope = 0};
    for (int i = 0; i < n_slopes && b->n_multipliers < MULTIPLIERS && !isinf(b->low_limit); i++)
        b->multipliers[b->n_multipliers++] = (struct multiplier){.slope = slopes[i]};
    for (int i = 0; i < b->n_multipliers; i++) {
        struct rb_weights w = weights(b, b->multipliers[i].slope);
        b->multipliers[i].togo = rb_rest_create(&op->options, &w);
    }
    b->least_time = rb_xcalloc(rows * n, sizeof *b->least_time);
    b->least_cost = rb_xcalloc(rows * n, sizeof *b->least_cost);
    b->time = rb_xcalloc(rows * n, sizeof *b->time);
    b->cost = rb_xcalloc(rows * n, sizeof *b->cost);
    b->test_time = rb_xcalloc(n, sizeof *b->test_time);
    b->test_cost = rb_xcalloc(n, sizeof *b->test_cost);
    fill_least(b);
}

static void finish(struct branch *b)
{
    for (int i = 0; i < b->n_multipliers; i++)
        rb_rest_free(&b->op->options, b->multipliers[i].togo);
    free(b->least_time);
    free(b->least_cost);
    free(b->time);
    free(b->cost);
    free(b->test_time);
    free(b->test_cost);
}

// --- bounds of one child

// Lower bound on the objective of any plan that continues from here: the best over the multipliers.
static double objective_bound(const struct branch *b, int stage, int entry, const struct prefix *p)
{
    double bound = -INFINITY;
    for (int i = 0; i < b->n_multipliers; i++) {
        const struct multiplier *m = &b->multipliers[i];
        double priced = m->slope > 0 ? m->slope * (p->low - b->low_limit) : 0;
        bound = fmax(bound, p->objective + priced + m->togo[stage][entry]);
    }
    return bound;
}

// With the remaining stages at their minimum in every replicate, checks whether it can still beat the best. Leaves the
// sums up to and including this stage in row stage + 1.
static bool replicates_allow(struct branch *b, int stage, const struct rb_stage_sample *s, double bound)
{
    int n = b->n;
    if (b->op->aim.kind == RB_AIM_OBJECTIVE && bound >= b->op->aim.best) // which may have been found in the meantime
        return false;
    const double *time = b->time + stage * n, *cost = b->cost + stage * n;
    const double *least_time = b->least_time + (stage + 1) * n, *least_cost = b->least_cost + (stage + 1) * n;
    double *next_time = b->time + (stage + 1) * n, *next_cost = b->cost + (stage + 1) * n;
    for (int r = 0; r < n; r++) {
        next_time[r] = time[r] + s->time_us[r];
        b->test_time[r] = next_time[r] + least_time[r];
    }
    for (int r = 0; r < n && b->heeds_cost; r++) {
        next_cost[r] = cost[r] + s->cost_uusd[r];
        b->test_cost[r] = next_cost[r] + least_cost[r];
    }
    return rb_aim_may_beat(&b->op->aim, b->test_time, b->test_cost, n, bound);
}

// --- the search

static int compare_children(const void *pa, const void *pb)
{
    const struct child *a = pa, *b = pb;
    if (a->bound < b->bound || a->bound > b->bound)
        return a->bound < b->bound ? -1 : 1;
    return a->entry - b->entry;
}

static const struct rb_stage_sample *sample_of(const struct branch *b, int stage, int entry)
{
    const struct rb_options *o = &b->op->options;
    const struct rb_option_entry *before = NULL;
    if (stage > 0)
        before = &o->stages[stage - 1].entries[b->path.entry[stage - 1]];
    return rb_option_sample(before, &o->stages[stage].entries[entry]);
}

// For the aims that look for the nearest constraints, the order follows the quantity that matters there.
static double promise(const struct branch *b, const struct rb_stage_sample *s, double bound)
{
    switch (b->op->aim.kind) {
    case RB_AIM_OBJECTIVE:
        return bound;
    case RB_AIM_BUDGET:
        return s->cost_mean_uusd;
    case RB_AIM_DEADLINE:
    case RB_AIM_CONFIDENCE:
        break;
    }
    return s->time_mean_us;
}

static struct prefix add(const struct branch *b, const struct prefix *p, const struct rb_stage_sample *s)
{
    return (struct prefix){p->objective + rb_sample_objective(b->op, s), p->low + low_of(b, s)};
}

static int list_children(const struct branch *b, int stage, const struct prefix *p, struct child *out)
{
    int n = 0;
    for (int i = 0; i < b->op->options.stages[stage].n; i++) {
        const struct rb_stage_sample *s = sample_of(b, stage, i);
        struct prefix next = add(b, p, s);
        double bound = objective_bound(b, stage, i, &next);
        if (b->op->aim.kind == RB_AIM_OBJECTIVE && bound >= b->op->aim.best)
            continue;
        out[n++] = (struct child){promise(b, s, bound), i};
    }
    qsort(out, (size_t)n, sizeof *out, compare_children);
    return n;
}

static bool out_of_limits(struct rb_optimum *op)
{
    if (op->n_nodes >= op->node_limit)
        op->cut = true;
    return op->cut || (op->n_nodes % 64 == 0 && rb_optimum_out_of_time(op));
}

static bool visit(struct branch *b, int stage, const struct prefix *p, struct rb_err *err)
{
    struct rb_optimum *op = b->op;
    bool better;
    if (stage == op->options.n_stages)
        return rb_optimum_offer(op, &b->path, &better, err);
    RB_AUTO(rb_auto_free)
    struct child *children = rb_xcalloc((size_t)op->options.stages[stage].n + 1, sizeof *children);
    int n = list_children(b, stage, p, children);
    op->n_ruled_out += op->options.stages[stage].n - n;
    for (int i = 0; i < n && !out_of_limits(op); i++) {
        const struct rb_stage_sample *s = sample_of(b, stage, children[i].entry);
        struct prefix next = add(b, p, s);
        op->n_nodes++;
        if (!replicates_allow(b, stage, s, objective_bound(b, stage, children[i].entry, &next))) {
            op->n_ruled_out++;
            continue;
        }
        b->path.entry[stage] = children[i].entry;
        if (!visit(b, stage + 1, &next, err))
            return false;
    }
    return true;
}

bool rb_branch(struct rb_optimum *op, const double *slopes, int n_slopes, struct rb_err *err)
{
    struct branch b;
    struct prefix none = {0};
    init(&b, op, slopes, n_slopes);
    bool ok = visit(&b, 0, &none, err);
    finish(&b);
    return ok;
}
