#include "battery.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BATTERY_RISK 1e-4
#define DELTA \
    0.005 // plans that keep the constraints with less than this above the confidence are not excluded by a proof
#define TOLERANCE   0.005 // by which a proved plan may be undercut
#define SEEDS_AGREE 0.01
#define SURE_SIGMA  3.2905267314919255 // stated errors are at 99.9 %

const char *const battery_failure_names[BATTERY_N_FAILURES] = {
    "estimate", "keeps", "exit", "error", "bound", "undercut", "infeasible", "seeds", "broken",
};

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

double battery_bonferroni(double n)
{
    double low = 0, high = 40;
    for (int i = 0; i < 100; i++) {
        const double z = (low + high) / 2;
        if (erfc(z / sqrt(2)) * n > BATTERY_RISK)
            low = z;
        else
            high = z;
    }
    return high;
}

static void fail(struct battery_result *r, enum battery_failure kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void fail(struct battery_result *r, enum battery_failure kind, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    r->failed[kind] = true;
    rb_buf_printf(&r->story, "  %s: %s\n", battery_failure_names[kind], text);
}

// ---- what the oracle saw

struct seen {
    int64_t *time_us, *cost_uusd; // [n]
    int n;
};

static bool play(const struct oracle *o, const struct rb_plan *plan, int n, struct seen *out)
{
    *out = (struct seen){.n = n};
    out->time_us = rb_xcalloc((size_t)n, sizeof *out->time_us);
    out->cost_uusd = rb_xcalloc((size_t)n, sizeof *out->cost_uusd);
    for (int r = 0; r < n; r++) {
        struct oracle_run run;
        // Replicates beyond those from which the job's constraints were chosen.
        if (!oracle_play(o, NULL, plan->stages, plan->n_stages, (uint32_t)(1 << 20) + (uint32_t)r, &run))
            return false;
        out->time_us[r] = run.time_us;
        out->cost_uusd[r] = run.cost_uusd;
    }
    return true;
}

static double share_at_most(const int64_t *values, int n, double limit)
{
    int count = 0;
    for (int i = 0; i < n; i++)
        count += (double)values[i] <= limit;
    return (double)count / n;
}

// ---- figures: how many standard errors of both sides they are apart

// Variance and third central moment of an average.
struct part {
    double variance, third;
};

static struct part share_part(double p, double n)
{
    return (struct part){.variance = (n * p * (1 - p) + 1) / (n * n), .third = p * (1 - p) * fabs(1 - 2 * p) / (n * n)};
}

// What few samples of a skewed law say has longer tails than the normal law: |z| is reduced by what that is worth (the
// first term of Edgeworth's expansion of a studentised mean: Hall, "The Bootstrap and Edgeworth Expansion", section
// 2.6).
static double z_of(double difference, struct part a, struct part b)
{
    const double variance = a.variance + b.variance;
    if (!(variance > 0))
        return fabs(difference) > 0 ? INFINITY : 0;
    const double z = fabs(difference) / sqrt(variance), skew = (a.third + b.third) / pow(variance, 1.5);
    return copysign(fmax(0, z - fmin(skew, 1) / 6 * (2 * z * z + 1)), difference);
}

static void compare(struct battery_result *r, const struct battery_options *opt, const char *name, double stated,
                    double seen, double z)
{
    r->n_figures++;
    if (opt->verbose)
        rb_buf_printf(&r->story, "    %-12s stated %.6g, oracle %.6g, z = %+.2f\n", name, stated, seen, z);
    if (fabs(z) > fabs(r->worst_z) || isnan(z)) {
        r->worst_z = z;
        snprintf(r->worst, sizeof r->worst, "%s", name);
    }
    if (!(fabs(z) <= opt->sure))
        fail(r, BATTERY_ESTIMATE, "%s stated %.6g, oracle %.6g, z = %+.1f", name, stated, seen, z);
}

// A mean with a sampling error carries the skewness of as many runs as were behind it.
static void compare_mean(struct battery_result *r, const struct battery_options *opt, const char *name, double stated,
                         double error, double samples, const int64_t *values, int n)
{
    double mean = 0, square = 0, cube = 0;
    for (int i = 0; i < n; i++)
        mean += (double)values[i] / n;
    for (int i = 0; i < n; i++) {
        const double d = (double)values[i] - mean;
        square += d * d / n;
        cube += d * d * d / n;
    }
    const double own = error / SURE_SIGMA;
    const struct part seen = {square / n, fabs(cube) / n / n};
    const struct part own_part = {own * own + 1, samples > 0 ? fabs(cube) / samples / samples : 0};
    compare(r, opt, name, stated, mean, z_of(stated - mean, own_part, seen));
}

static void compare_share(struct battery_result *r, const struct battery_options *opt, const char *name, double stated,
                          double error, double samples, double seen, double n)
{
    const double own = error / SURE_SIGMA;
    struct part own_part = {own * own, 0};
    if (samples > 0)
        own_part.third = share_part(seen, samples).third;
    compare(r, opt, name, stated, seen, z_of(stated - seen, own_part, share_part(seen, n)));
}

// A quantile is compared by its level. Bills are rounded, and tables are cut: what lies closer than that counts on
// either side.
static void compare_quantile(struct battery_result *r, const struct battery_options *opt, const char *name, double x,
                             double level, double level_error, double samples, const int64_t *values, int n)
{
    const double room = fabs(x) * 3e-5 + 20;
    const double below = share_at_most(values, n, x - room), up_to = share_at_most(values, n, x + room);
    const double nearest = fmin(fmax(level, below), up_to), own = level_error / SURE_SIGMA;
    const struct part own_part = samples > 0 ? share_part(level, samples) : (struct part){own * own, 0};
    compare(r, opt, name, level, nearest, z_of(nearest - level, own_part, share_part(level, n)));
}

static void compare_quantiles(struct battery_result *r, const struct battery_options *opt, const char *prefix,
                              const struct rb_quantiles *q, double level_error, double samples, const int64_t *values,
                              int n)
{
    const int64_t x[] = {q->p5, q->p50, q->p95, q->p99};
    static const double levels[] = {0.05, 0.5, 0.95, 0.99};
    for (int i = 0; i < 4; i++) {
        char name[16];
        snprintf(name, sizeof name, "%s_p%.0f", prefix, levels[i] * 100);
        compare_quantile(r, opt, name, (double)x[i], levels[i], level_error, samples, values, n);
    }
}

static void compare_figures(struct battery_result *r, const struct battery_options *opt, const struct rb_plan *plan,
                            const struct seen *seen)
{
    const struct rb_estimate *e = &plan->estimate;
    const int n = seen->n;
    const double samples = (double)e->samples, time_samples = e->time_method == RB_ESTIMATE_LAWS ? 0 : samples;
    const double deadline = plan->deadline_us < 0 ? INFINITY : (double)plan->deadline_us;
    const double budget = plan->budget_uusd < 0 ? INFINITY : (double)plan->budget_uusd;
    int n_both = 0;
    for (int i = 0; i < n; i++)
        n_both += (double)seen->time_us[i] <= deadline && (double)seen->cost_uusd[i] <= budget;
    compare_mean(r, opt, "time_mean", (double)e->time_us.mean, (double)e->error.time_mean_us, time_samples,
                 seen->time_us, n);
    compare_mean(r, opt, "cost_mean", (double)e->cost_uusd.mean, (double)e->error.cost_mean_uusd, samples,
                 seen->cost_uusd, n);
    compare_quantiles(r, opt, "time", &e->time_us, fmax(e->error.p_deadline, 1e-4), time_samples, seen->time_us, n);
    compare_quantiles(r, opt, "cost", &e->cost_uusd, 0, samples, seen->cost_uusd, n);
    compare_share(r, opt, "p_deadline", e->p_deadline, e->error.p_deadline, time_samples,
                  share_at_most(seen->time_us, n, deadline), n);
    compare_share(r, opt, "p_budget", e->p_budget, e->error.p_budget, samples,
                  share_at_most(seen->cost_uusd, n, budget), n);
    compare_share(r, opt, "p_both", e->p_both, e->error.p_both, samples, (double)n_both / n, n);
    const double p = (double)n_both / n, c = plan->confidence;
    const double short_of = z_of(c - p, (struct part){0}, share_part(c, n));
    if (short_of > opt->sure)
        fail(r, BATTERY_KEEPS, "keeps the constraints with %.4f, asked %.4f, z = %.1f", p, c, short_of);
}

// ---- what a plan says of itself

static void check_error(struct battery_result *r, const char *name, double error, double figure)
{
    if (!(error >= 0) || error > fabs(figure))
        fail(r, BATTERY_ERROR, "%s is %.6g, and its error %.6g", name, figure, error);
}

static void check_itself(struct battery_result *r, const struct rb_plan *plan)
{
    const struct rb_estimate *e = &plan->estimate;
    check_error(r, "time_mean", (double)e->error.time_mean_us, (double)e->time_us.mean);
    check_error(r, "cost_mean", (double)e->error.cost_mean_uusd, (double)e->cost_uusd.mean);
    check_error(r, "p_deadline", e->error.p_deadline, e->p_deadline);
    check_error(r, "p_budget", e->error.p_budget, e->p_budget);
    check_error(r, "p_both", e->error.p_both, e->p_both);
    if (!(e->p_both >= plan->confidence))
        fail(r, BATTERY_EXIT, "feasible, and p_both is %.5f, asked %.4f", e->p_both, plan->confidence);
    if (plan->bound.present && plan->bound.cost_uusd > e->cost_uusd.mean)
        fail(r, BATTERY_BOUND, "costs %lld, and its lower bound is %lld", (long long)e->cost_uusd.mean,
             (long long)plan->bound.cost_uusd);
}

// ---- proofs

static void put_plan(struct rb_buf *out, const struct battery_job *b, const struct every_found *found)
{
    struct rb_plan_stage stages[RB_LIMIT_STAGES];
    struct rb_plan_nodes nodes[RB_LIMIT_STAGES];
    every_space_plan(&b->space, found->number, stages, nodes);
    rb_buf_puts(out, "    the other plan:");
    for (int s = 0; s < b->space.n_stages; s++)
        rb_buf_printf(out, "%s %d x %d GPUs on %d %s", s ? "," : "", stages[s].trials, stages[s].gpus_per_trial,
                      nodes[s].count, b->catalog.offers[nodes[s].offer].instance_type);
    rb_buf_puts(out, "\n");
}

// Does a run of it pay for stand-ins? The plans of the space are played without, and so for less.
static bool has_stand_ins(const struct battery_job *b)
{
    bool goes_down = false;
    for (int i = 0; i < b->profile.n_provisioning; i++)
        goes_down = goes_down || rb_provisioning_goes_down(&b->profile.provisioning[i]);
    return goes_down && b->catalog.n_offers > 1;
}

// plan NULL: none was found.
static void check_space(struct battery_result *r, const struct battery_options *opt, const struct battery_job *b,
                        const struct rb_plan *plan, const struct oracle *own)
{
    struct every_asked asked = {
        .deadline_us = b->req.deadline_us,
        .budget_uusd = b->req.budget_uusd,
        .probability = b->req.confidence + DELTA,
        .tolerance = TOLERANCE,
        .most_runs = opt->most_runs,
        .sure = opt->sure_plan,
    };
    struct every_found found;
    if (b->space.n_plans > opt->most_plans || asked.probability >= 1 || (!plan && has_stand_ins(b)))
        return;
    if (!every_plan_undercuts(&b->space, &asked, plan ? own : NULL, plan ? plan->stages : NULL, &found)) {
        fail(r, BATTERY_BROKEN, "the oracle cannot play the plan");
        return;
    }
    r->space_checked = true;
    r->undercut = plan ? found.undercut : 0;
    if (opt->verbose)
        rb_buf_printf(&r->story, "    %lld plans of the space, undercut by %.2f %% at P %.4f\n",
                      (long long)found.n_plans, found.undercut * 100, found.p);
    if (found.surely && plan)
        fail(r, BATTERY_UNDERCUT, "proved, and another plan costs %.2f %% less and keeps the constraints with %.4f",
             found.undercut * 100, found.p);
    else if (found.surely)
        fail(r, BATTERY_INFEASIBLE, "called infeasible, and a plan keeps the constraints with %.4f (asked %.4f)",
             found.p, b->req.confidence);
    if (found.surely || (opt->verbose && found.number >= 0))
        put_plan(&r->story, b, &found);
}

// ---- seeds

static void check_seeds(struct battery_result *r, const struct battery_options *opt, const struct battery_job *b)
{
    double least = INFINITY, most = 0;
    for (int i = 0; i < opt->n_seeds; i++) {
        struct rb_plan_request req = b->req;
        struct rb_plan_result result;
        struct rb_arena arena;
        struct rb_plan plan;
        struct rb_err err = {0};
        rb_arena_init(&arena);
        req.seed = 1000 + (uint64_t)i;
        if (rb_make_plan(&req, rb_planner_default(&b->job), &arena, &plan, &result, &err) && plan.bound.proved) {
            least = fmin(least, (double)plan.estimate.cost_uusd.mean);
            most = fmax(most, (double)plan.estimate.cost_uusd.mean);
        }
        rb_arena_finish(&arena);
    }
    r->seeds_checked = most > 0;
    r->seeds_spread = most > 0 ? most / least - 1 : 0;
    if (r->seeds_spread > SEEDS_AGREE)
        fail(r, BATTERY_SEEDS, "over %d seeds proved plans cost from %.0f to %.0f", opt->n_seeds, least, most);
}

// ---- a job

static void put_found(struct rb_buf *out, const struct rb_plan *plan)
{
    rb_buf_puts(out, "    the plan:");
    for (int s = 0; s < plan->n_stages; s++)
        rb_buf_printf(out, "%s %d x %d GPUs on %d %s%s", s ? "," : "", plan->stages[s].trials,
                      plan->stages[s].gpus_per_trial, plan->stages[s].nodes[0].count,
                      plan->offers[plan->stages[s].nodes[0].offer].instance_type,
                      plan->stages[s].n_early ? " (requests early)" : "");
    rb_buf_printf(out, "; %s\n", plan->bound.proved ? "proved" : plan->bound.why_not ? plan->bound.why_not : "");
}

static void check_plan(struct battery_result *r, const struct battery_options *opt, const struct battery_job *b,
                       const struct rb_plan *plan)
{
    struct oracle own;
    struct seen seen = {0};
    double from = cpu_s();
    r->feasible = true;
    r->proved = plan->bound.proved;
    check_itself(r, plan);
    const bool known = oracle_init(&own, &b->job, &b->profile, plan->offers, plan->n_offers, b->oracle.seed);
    own.fallbacks = plan->fallbacks;
    own.n_fallbacks = plan->n_fallbacks;
    if (!known || !play(&own, plan, opt->runs, &seen))
        fail(r, BATTERY_BROKEN, "the oracle cannot play the plan");
    else
        compare_figures(r, opt, plan, &seen);
    r->oracle_s = cpu_s() - from;
    from = cpu_s();
    if (r->proved && b->req.objective == RB_OBJECTIVE_MIN_COST && !r->failed[BATTERY_BROKEN])
        check_space(r, opt, b, plan, &own);
    r->space_s = cpu_s() - from;
    free(seen.time_us);
    free(seen.cost_uusd);
    if (battery_result_failed(r) || opt->verbose)
        put_found(&r->story, plan);
}

static void check_job(struct battery_result *r, const struct battery_options *opt, const struct battery_job *b)
{
    struct rb_plan_result result;
    struct rb_arena arena;
    struct rb_plan plan;
    struct rb_err err = {0};
    double from = cpu_s();
    rb_arena_init(&arena);
    const bool ok = rb_make_plan(&b->req, rb_planner_default(&b->job), &arena, &plan, &result, &err);
    r->plan_s = cpu_s() - from;
    if (ok) {
        check_plan(r, opt, b, &plan);
    } else if (err.code == RB_ERR_INFEASIBLE) {
        from = cpu_s();
        check_space(r, opt, b, NULL, NULL);
        r->space_s = cpu_s() - from;
    } else {
        fail(r, BATTERY_BROKEN, "%s", err.message);
    }
    from = cpu_s();
    if (opt->every_seeds > 0 && b->number % (uint32_t)opt->every_seeds == 0)
        check_seeds(r, opt, b);
    r->seeds_s = cpu_s() - from;
    rb_arena_finish(&arena);
}

void battery_run(char class_, uint32_t number, const struct battery_options *opt, struct battery_result *out)
{
    struct battery_job *b = rb_xcalloc(1, sizeof *b);
    struct rb_err err = {0};
    *out = (struct battery_result){0};
    out->known = battery_job_init(b, class_, number, &err);
    if (out->known)
        check_job(out, opt, b);
    else if (err.message[0])
        fail(out, BATTERY_BROKEN, "%s:%d: %s", err.file, err.line, err.message);
    if (opt->verbose)
        rb_buf_printf(&out->story, "%s", rb_buf_str(&b->text));
    battery_job_finish(b);
    free(b);
}

void battery_result_finish(struct battery_result *r)
{
    rb_buf_finish(&r->story);
}

bool battery_result_failed(const struct battery_result *r)
{
    for (int i = 0; i < BATTERY_N_FAILURES; i++) {
        if (r->failed[i])
            return true;
    }
    return false;
}
