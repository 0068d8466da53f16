// Planners on random jobs: how far from the proved optimum, and how long they take.
//
//     bench/planning gaps  [N] [SEED]...            Markdown tables for bench/results/gaps.md
//     bench/planning speed [N] [SEED] [TYPES] [MARKETS]     and the slowest jobs, with what was made for them
//
// The deadline of a job lies between the tightest that any plan keeps at 95 % (Dmin) and the one that the cheapest plan
// keeps (Dcheap): Dmin (Dcheap / Dmin)^u. All planners are scored by the same runs.
#include "random_job.h"

#include "planner/scores/estimator.h"
#include "simulator/laws/trial_laws.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *const planners[] = {"static", "naive", "greedy"};
enum { N_PLANNERS = 3, MOST_ROWS = 20 };

static double cpu_s(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

static _Noreturn void die(const struct rb_err *err)
{
    fprintf(stderr, "planning: %s\n", err->message);
    exit(1);
}

static int compare_doubles(const void *pa, const void *pb)
{
    double a = *(const double *)pa, b = *(const double *)pb;
    return (a > b) - (a < b);
}

// Smallest value with at least q of the sorted sample at or below it.
static double quantile(double *values, int n, double q)
{
    if (n == 0)
        return NAN;
    qsort(values, (size_t)n, sizeof *values, compare_doubles);
    int i = (int)ceil(q * n) - 1;
    return values[i < 0 ? 0 : i];
}

// --- one request

struct answer {
    struct rb_plan_result result;
    long long n_scored;
    double cpu_s, cost_uusd, quantile_s; // mean cost, and the time kept at the confidence asked
};

static struct answer ask(const struct random_job *j, const struct rb_scenario *s, const char *planner,
                         int64_t deadline_us)
{
    struct rb_plan_request req = j->req;
    struct rb_search search;
    const struct rb_plan_result *result;
    struct rb_err err = {0};
    struct answer a = {0};
    req.deadline_us = deadline_us;
    double start_s = cpu_s();
    if (!rb_search_init(&search, &req, s, &err) || !rb_search_plan(&search, rb_planner_find(planner), &result, &err))
        die(&err);
    a.cpu_s = cpu_s() - start_s;
    a.result = *result;
    a.n_scored = (long long)search.n_evaluated;
    struct rb_candidate best = result->best;
    if (result->feasible && !rb_estimate_candidate(&search, &best, NULL, &err))
        die(&err);
    a.quantile_s = (double)best.estimate.time_us.p95 / 1e6;
    a.cost_uusd = (double)best.estimate.cost_uusd.mean;
    rb_search_finish(&search);
    return a;
}

static void open_scenario(struct random_job *j, struct rb_scenario *s)
{
    struct rb_offer *offers;
    struct rb_err err = {0};
    int n_offers;
    if (!rb_planner_offers(&j->job, &j->catalog, &j->arena, &offers, &n_offers, &err) ||
        !rb_scenario_init(s, &j->job, &j->profile, offers, n_offers, &j->catalog, j->req.seed, &err))
        die(&err);
    rb_search_keep_draws(s, &j->req); // as rb_make_plan does
}

static int64_t choose_deadline(struct random_job *j, const struct rb_scenario *s)
{
    struct answer cheapest = ask(j, s, "optimal", -1), fastest = ask(j, s, "optimal", 0);
    double low_s = (double)fastest.result.nearest_deadline_us / 1e6, high_s = fmax(cheapest.quantile_s, low_s);
    return (int64_t)(1e6 * low_s * pow(high_s / low_s, j->tightness));
}

// --- gaps

struct gaps {
    double gap[N_PLANNERS][1000]; // over the optimum, where the planner found a plan
    int n[N_PLANNERS], n_missed[N_PLANNERS], n_jobs, n_proved;
    double worst_bound;
};

static void measure_job(struct gaps *g, uint64_t seed, uint32_t number)
{
    struct random_job j;
    struct rb_scenario s;
    random_job_init(&j, seed, number, 1, 1);
    j.req.laws = rb_trial_laws_create();
    open_scenario(&j, &s);
    int64_t deadline_us = choose_deadline(&j, &s);
    struct answer best = ask(&j, &s, "optimal", deadline_us);
    if (best.result.feasible) {
        g->n_jobs++;
        g->n_proved += best.result.bound.proved;
        g->worst_bound = fmax(g->worst_bound, best.result.bound.gap);
        for (int i = 0; i < N_PLANNERS; i++) {
            struct answer a = ask(&j, &s, planners[i], deadline_us);
            if (a.result.feasible)
                g->gap[i][g->n[i]++] = a.cost_uusd / best.cost_uusd - 1;
            else
                g->n_missed[i]++;
        }
    }
    rb_scenario_finish(&s);
    rb_trial_laws_destroy(j.req.laws);
    random_job_finish(&j);
}

static void print_gaps(struct gaps *g, uint64_t seed)
{
    printf("\nSeed %llu: %d jobs, %d optima proved, largest gap between bound and plan %.2f %%\n\n",
           (unsigned long long)seed, g->n_jobs, g->n_proved, 100 * g->worst_bound);
    printf(
        "| planner | no plan found though one exists | gap to the optimum: mean | median | p95 | max | optimum hit |\n"
        "|---|---|---|---|---|---|---|\n");
    for (int i = 0; i < N_PLANNERS; i++) {
        double sum = 0;
        int hit = 0;
        for (int k = 0; k < g->n[i]; k++) {
            sum += g->gap[i][k];
            hit += g->gap[i][k] < 1e-6;
        }
        double *v = g->gap[i];
        printf("| %s | %d/%d | %.1f %% | %.1f %% | %.1f %% | %.1f %% | %d/%d |\n", planners[i], g->n_missed[i],
               g->n_jobs, 100 * sum / g->n[i], 100 * quantile(v, g->n[i], 0.5), 100 * quantile(v, g->n[i], 0.95),
               100 * quantile(v, g->n[i], 1), hit, g->n[i]);
    }
}

// --- speed

struct row {
    int job, stages, trials, gpus_per_node;
    double ms;
    struct answer answer;
};

static int slowest_first(const void *pa, const void *pb)
{
    const struct row *a = pa, *b = pb;
    return (a->ms < b->ms) - (a->ms > b->ms);
}

// Every stage time computed again, except those used for finding the deadline.
static struct row plan_job(uint64_t seed, int i, int types, int markets)
{
    struct random_job j;
    struct rb_scenario s;
    random_job_init(&j, seed, (uint32_t)i, types, markets);
    open_scenario(&j, &s);
    struct rb_trial_laws *times = rb_trial_laws_create();
    j.req.laws = times;
    const int64_t deadline_us = choose_deadline(&j, &s);
    rb_trial_laws_destroy(times);
    j.req.laws = NULL;
    struct row row = {
        i, s.stages.n, s.stages.rungs[0].trials, s.offers[0].gpus, 0, ask(&j, &s, "optimal", deadline_us)};
    row.ms = 1000 * row.answer.cpu_s;
    const struct rb_plan_bound *b = &row.answer.result.bound;
    fprintf(stderr, "job %d: %.1f ms, nodes %lld, stages %d trials %d feasible %d proved %d gap %.4f: %s\n", i, row.ms,
            (long long)b->nodes_explored, row.stages, row.trials, row.answer.result.feasible, b->proved, b->gap,
            b->why_not ? b->why_not : "");
    rb_scenario_finish(&s);
    random_job_finish(&j);
    return row;
}

static void print_slowest(struct row *rows, int n)
{
    printf("\n| job | ms | stages | trials | GPUs a node | beginnings | plans scored | gap |\n"
           "|---|---|---|---|---|---|---|---|\n");
    qsort(rows, (size_t)n, sizeof *rows, slowest_first);
    for (int i = 0; i < n && i < MOST_ROWS; i++) {
        const struct row *r = &rows[i];
        const struct rb_plan_bound *b = &r->answer.result.bound;
        printf("| %d | %.1f | %d | %d | %d | %lld | %lld | %s%.2f %% |\n", r->job, r->ms, r->stages, r->trials,
               r->gpus_per_node, (long long)b->nodes_explored, r->answer.n_scored, b->proved ? "proved, " : "",
               100 * b->gap);
    }
}

static void measure_speed(int n, uint64_t seed, int types, int markets)
{
    struct row *rows = calloc((size_t)n, sizeof *rows);
    double *ms = calloc((size_t)n, sizeof *ms), *nodes = calloc((size_t)n, sizeof *nodes);
    int n_proved = 0, n_feasible = 0;
    for (int i = 0; i < n; i++) {
        rows[i] = plan_job(seed, i, types, markets);
        ms[i] = rows[i].ms;
        nodes[i] = (double)rows[i].answer.result.bound.nodes_explored;
        n_feasible += rows[i].answer.result.feasible;
        n_proved += rows[i].answer.result.bound.proved;
    }
    printf(
        "%d jobs, %d instance types x %d markets: %d feasible, %d proved; search nodes median %.0f, p95 %.0f\n"
        "optimal plan with proof, every stage time computed again: median %.2f ms, p95 %.2f ms, max %.2f ms of CPU\n",
        n, types, markets, n_feasible, n_proved, quantile(nodes, n, 0.5), quantile(nodes, n, 0.95),
        quantile(ms, n, 0.5), quantile(ms, n, 0.95), quantile(ms, n, 1));
    print_slowest(rows, n);
    free(rows);
    free(ms);
    free(nodes);
}

static int number(int argc, char **argv, int i, int otherwise)
{
    return argc > i ? atoi(argv[i]) : otherwise;
}

int main(int argc, char **argv)
{
    int n = number(argc, argv, 2, 200);
    if (argc > 1 && strcmp(argv[1], "speed") == 0) {
        measure_speed(n, (uint64_t)number(argc, argv, 3, 1), number(argc, argv, 4, 1), number(argc, argv, 5, 1));
        return 0;
    }
    if (argc < 2 || strcmp(argv[1], "gaps") != 0 || n < 1 || n > 1000) {
        fprintf(stderr, "usage: planning gaps [N <= 1000] [SEED]... | planning speed [N] [SEED] [TYPES] [MARKETS]\n");
        return 2;
    }
    for (int i = 3; i < (argc > 3 ? argc : 5); i++) {
        struct gaps *g = calloc(1, sizeof *g);
        uint64_t seed = argc > 3 ? (uint64_t)atoi(argv[i]) : (uint64_t)(i - 2);
        for (int k = 0; k < n; k++)
            measure_job(g, seed, (uint32_t)k);
        print_gaps(g, seed);
        free(g);
    }
    return 0;
}
