// Statistics over replicates. Replicates are cut into one piece a thread and written where they belong, so that the
// result is the same for any number of threads.
#include "simulator/workspace.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef __int128 wide;

#define MAX_THREADS 64

struct rb_evaluate_options rb_evaluate_defaults(void)
{
    return (struct rb_evaluate_options){.samples = 4096, .deadline_us = -1, .budget_uusd = -1, .threads = 1};
}

// ---- samples

struct samples {
    int n, n_stages;
    int64_t *time_us, *cost_uusd;             // [n]
    int64_t *stage_time_us, *stage_cost_uusd; // [n_stages][n], NULL: not wanted
};

struct piece {
    const struct rb_program *program;
    struct samples *samples;
    int first, end; // replicates
    int failed_at;  // -1: none
    struct rb_err err;
};

static void *run_piece(void *arg)
{
    struct piece *p = arg;
    struct samples *s = p->samples;
    struct rb_workspace *ws = rb_workspace_create();
    struct rb_replicate replicate;
    for (int r = p->first; r < p->end; r++) {
        if (!rb_sim_run(ws, p->program, (uint32_t)r, &replicate, &p->err)) {
            p->failed_at = r;
            break;
        }
        s->time_us[r] = replicate.time_us;
        s->cost_uusd[r] = replicate.cost_uusd;
        for (int i = 0; i < s->n_stages && s->stage_time_us; i++) {
            s->stage_time_us[(size_t)i * (size_t)s->n + (size_t)r] = replicate.stage_time_us[i];
            s->stage_cost_uusd[(size_t)i * (size_t)s->n + (size_t)r] = replicate.stage_cost_uusd[i];
        }
    }
    rb_workspace_destroy(ws);
    return NULL;
}

static int clamp_threads(int threads, int n)
{
    const int most = n < MAX_THREADS ? n : MAX_THREADS;
    return threads < 1 ? 1 : threads > most ? most : threads;
}

// A thread that cannot be started does its piece here.
static bool run_all(const struct rb_program *program, struct samples *s, int threads, struct rb_err *err)
{
    struct piece pieces[MAX_THREADS];
    pthread_t ids[MAX_THREADS];
    bool started[MAX_THREADS] = {0};
    const int n_pieces = clamp_threads(threads, s->n);
    for (int i = 0; i < n_pieces; i++)
        pieces[i] = (struct piece){.program = program,
                                   .samples = s,
                                   .first = (int)((int64_t)s->n * i / n_pieces),
                                   .end = (int)((int64_t)s->n * (i + 1) / n_pieces),
                                   .failed_at = -1};
    for (int i = 1; i < n_pieces; i++)
        started[i] = pthread_create(&ids[i], NULL, run_piece, &pieces[i]) == 0;
    for (int i = 0; i < n_pieces; i++) {
        if (!started[i])
            run_piece(&pieces[i]);
    }
    for (int i = 1; i < n_pieces; i++) {
        if (started[i])
            pthread_join(ids[i], NULL);
    }
    for (int i = 0; i < n_pieces; i++) {
        if (pieces[i].failed_at < 0)
            continue;
        if (err)
            *err = pieces[i].err;
        return false;
    }
    return true;
}

// ---- statistics

static int compare_times(const void *pa, const void *pb)
{
    const int64_t a = *(const int64_t *)pa, b = *(const int64_t *)pb;
    return (a > b) - (a < b);
}

static int64_t mean_of(const int64_t *values, int n)
{
    wide sum = 0;
    for (int i = 0; i < n; i++)
        sum += values[i];
    return (int64_t)((sum + n / 2) / n);
}

// Smallest value with at least `percent` of the sample at or below it.
static int64_t percentile(const int64_t *sorted, int n, int percent)
{
    const int64_t rank = ((int64_t)n * percent + 99) / 100;
    return sorted[rank - 1];
}

struct rb_quantiles rb_quantiles_of(int64_t *values, int n)
{
    const int64_t mean = mean_of(values, n);
    qsort(values, (size_t)n, sizeof *values, compare_times);
    return (struct rb_quantiles){
        .mean = mean,
        .p5 = percentile(values, n, 5),
        .p50 = percentile(values, n, 50),
        .p95 = percentile(values, n, 95),
        .p99 = percentile(values, n, 99),
    };
}

static int64_t stderr_of_mean(const int64_t *values, int n)
{
    const int64_t mean = mean_of(values, n);
    double squares = 0;
    for (int i = 0; i < n; i++)
        squares += (double)(values[i] - mean) * (double)(values[i] - mean);
    return n < 2 ? 0 : (int64_t)llrint(sqrt(squares / (n - 1) / n));
}

// Binomial. A sample without a single hit or miss has not shown that there is none: then by Laplace's rule.
static double stderr_of_probability(int hits, int n)
{
    const double p = hits == 0 || hits == n ? (hits + 1.0) / (n + 2.0) : (double)hits / n;
    return sqrt(p * (1 - p) / n);
}

static void count_hits(const struct samples *s, const struct rb_evaluate_options *opt, struct rb_estimate *out)
{
    const bool timed = opt->deadline_us >= 0, costed = opt->budget_uusd >= 0;
    int in_time = 0, in_budget = 0, both = 0;
    for (int i = 0; i < s->n; i++) {
        const bool time_kept = !timed || s->time_us[i] <= opt->deadline_us;
        const bool budget_kept = !costed || s->cost_uusd[i] <= opt->budget_uusd;
        in_time += time_kept;
        in_budget += budget_kept;
        both += time_kept && budget_kept;
    }
    out->p_deadline = (double)in_time / s->n;
    out->p_budget = (double)in_budget / s->n;
    out->p_both = (double)both / s->n;
    out->stderr_.p_deadline = timed ? stderr_of_probability(in_time, s->n) : 0;
    out->stderr_.p_budget = costed ? stderr_of_probability(in_budget, s->n) : 0;
    out->stderr_.p_both = timed || costed ? stderr_of_probability(both, s->n) : 0;
}

static void summarise(struct samples *s, const struct rb_evaluate_options *opt, struct rb_estimate *out)
{
    struct rb_estimate e = {.samples = s->n};
    count_hits(s, opt, &e);
    e.stderr_.time_mean_us = stderr_of_mean(s->time_us, s->n);
    e.stderr_.cost_mean_uusd = stderr_of_mean(s->cost_uusd, s->n);
    e.time_us = rb_quantiles_of(s->time_us, s->n);
    e.cost_uusd = rb_quantiles_of(s->cost_uusd, s->n);
    *out = e;
}

bool rb_evaluate(const struct rb_scenario *s, const struct rb_plan_stage *stages, int n_stages,
                 const struct rb_evaluate_options *opt, struct rb_estimate *out, struct rb_plan_stage *out_stages,
                 struct rb_err *err)
{
    struct rb_program program;
    if (opt->samples < 1)
        return rb_err_set(err, RB_ERR_INVALID, "expected at least one sample, got %d", opt->samples);
    if (!rb_program_compile(s, stages, n_stages, &program, err))
        return false;
    const size_t n = (size_t)opt->samples, n_staged = out_stages ? n * (size_t)n_stages : 0;
    RB_AUTO(rb_auto_free) int64_t *memory = rb_xcalloc(2 * (n + n_staged), sizeof *memory);
    struct samples samples = {
        .n = opt->samples,
        .n_stages = n_stages,
        .time_us = memory,
        .cost_uusd = memory + n,
        .stage_time_us = out_stages ? memory + 2 * n : NULL,
        .stage_cost_uusd = out_stages ? memory + 2 * n + n_staged : NULL,
    };
    if (!run_all(&program, &samples, opt->threads, err))
        return false;
    for (int i = 0; i < n_stages && out_stages; i++) {
        out_stages[i].time_us = rb_quantiles_of(samples.stage_time_us + (size_t)i * n, opt->samples);
        out_stages[i].cost_uusd = rb_quantiles_of(samples.stage_cost_uusd + (size_t)i * n, opt->samples);
    }
    summarise(&samples, opt, out);
    return true;
}
