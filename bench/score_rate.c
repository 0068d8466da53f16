// What the score of one candidate plan takes once its stage times exist, and how far off its probability is. One line of
// `name value` pairs, which bench/scores reads:
//   score_rate FOLDER
// The candidates are the plan of the workload and its neighbours, some stages with one node more. A score is what branch
// and bound compares: the product of the stages' transforms with one dot product, and the sum of their mean costs.
#include "bench/workload.h"
#include "planner/scores/on_time.h"
#include "planner/scores/score.h"
#include "planner/scores/stage_samples.h"
#include "planner/search/search.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define N_PLANS     16
#define MEASURE_S   0.2  // of CPU time behind every rate
#define FINER       1e-7 // of the reference that probabilities are compared with
#define N_DEADLINES 5

struct plan {
    struct rb_candidate candidate;
    const struct rb_stage_time *times[RB_LIMIT_STAGES];
    const struct rb_transform *transforms[RB_LIMIT_STAGES];
    double cost_uusd[RB_LIMIT_STAGES];
};

struct bench {
    struct workload workload;
    struct rb_plan_request req;
    struct rb_search search;
    struct plan plans[N_PLANS];
};

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void die(const struct rb_err *err)
{
    fprintf(stderr, "score_rate: %s\n", err->message);
    exit(1);
}

// --- plans and their parts

static struct rb_candidate neighbour(const struct workload *w, int number)
{
    struct rb_candidate c = {.n_stages = w->n_stages};
    for (int i = 0; i < w->n_stages; i++) {
        int more = (number >> i % 4) & 1;
        c.stages[i] = (struct rb_choice){0, w->stages[i].gpus_per_trial, w->nodes[i].count + more};
    }
    return c;
}

static const struct rb_stage_time *stage_time(const struct bench *b, struct rb_stage_times *times,
                                              const struct rb_candidate *c, int stage, double accuracy)
{
    const struct rb_choice *choice = &c->stages[stage];
    const int kept = rb_choice_kept(stage > 0 ? choice - 1 : NULL, choice);
    const struct rb_stage_work work = {stage, choice->offer, choice->gpus, choice->nodes, kept};
    struct rb_err err;
    const struct rb_stage_time *t = rb_stage_times_get(times, &b->workload.scenario, &work, accuracy, &err);
    if (!t)
        die(&err);
    return t;
}

// P(the plan ends by then) from laws of the accuracy given, each sum on a grid of its own.
static struct rb_law_sum sum_of(const struct bench *b, struct rb_stage_times *times, const struct rb_candidate *c,
                                double accuracy, struct rb_arena *arena)
{
    const struct rb_law *laws[RB_LIMIT_STAGES];
    for (int i = 0; i < c->n_stages; i++)
        laws[i] = &stage_time(b, times, c, i, accuracy)->law;
    return rb_law_sum_create(laws, c->n_stages, arena);
}

static void begin(struct bench *b, struct rb_stage_times *times, double deadline_s)
{
    struct rb_err err;
    b->req.deadline_us = (int64_t)llround(1e6 * deadline_s);
    b->req.times = times;
    if (!rb_search_init(&b->search, &b->req, &b->workload.scenario, &err))
        die(&err);
    for (int n = 0; n < N_PLANS; n++) {
        struct plan *p = &b->plans[n];
        p->candidate = neighbour(&b->workload, n);
        for (int i = 0; i < p->candidate.n_stages; i++) {
            const struct rb_choice *choice = &p->candidate.stages[i];
            const int kept = rb_choice_kept(i > 0 ? choice - 1 : NULL, choice);
            p->times[i] = stage_time(b, times, &p->candidate, i, RB_SCORE_ACCURACY);
            p->transforms[i] = rb_on_time_transform(b->search.on_time, &p->times[i]->law);
            p->cost_uusd[i] = rb_stage_cost_mean_uusd(&b->workload.scenario, choice, kept, p->times[i]);
        }
    }
}

// --- the score

struct scored {
    double p_deadline, cost_uusd;
};

static struct scored score(const struct plan *p, const struct rb_limit_weights *deadline)
{
    struct scored s = {.p_deadline = rb_transforms_below(p->transforms, p->candidate.n_stages, deadline)};
    for (int i = 0; i < p->candidate.n_stages; i++)
        s.cost_uusd += p->cost_uusd[i];
    return s;
}

static double score_ns(const struct bench *b)
{
    const struct rb_limit_weights deadline = rb_on_time_deadline(b->search.on_time);
    double sum = 0, start_s = cpu_s(), passed_s = 0;
    int64_t n = 0;
    for (; passed_s < MEASURE_S; passed_s = cpu_s() - start_s) {
        for (int i = 0; i < 1024; i++) {
            struct scored s = score(&b->plans[i % N_PLANS], &deadline);
            sum += s.p_deadline + s.cost_uusd;
        }
        n += 1024;
    }
    return sum > 0 ? 1e9 * passed_s / (double)n : NAN;
}

// As a leaf of branch and bound: the stages before the last are a product already.
static double leaf_ns(const struct bench *b)
{
    const struct plan *p = &b->plans[0];
    const struct rb_limit_weights deadline = rb_on_time_deadline(b->search.on_time);
    double re[RB_ON_TIME_TERMS + 8], im[RB_ON_TIME_TERMS + 8], sum = 0, start_s = cpu_s(), passed_s = 0;
    struct rb_product product = {.re = re, .im = im};
    const int last = p->candidate.n_stages - 1;
    int64_t n = 0;
    rb_product_begin(&product, rb_on_time_terms(b->search.on_time));
    for (int i = 0; i < last; i++)
        rb_product_multiply(&product, &product, p->transforms[i]);
    for (; passed_s < MEASURE_S; passed_s = cpu_s() - start_s) {
        for (int i = 0; i < 1024; i++)
            sum += rb_product_below_with(&product, b->plans[i % N_PLANS].transforms[last], &deadline);
        n += 1024;
    }
    return sum > 0 ? 1e9 * passed_s / (double)n : NAN;
}

// With everything that planners say of a candidate: look-ups, errors, what the frequencies leave out.
static double whole_ns(struct bench *b)
{
    double start_s = cpu_s(), passed_s = 0;
    int64_t n = 0;
    for (; passed_s < MEASURE_S; passed_s = cpu_s() - start_s) {
        for (int i = 0; i < N_PLANS; i++) {
            struct rb_score s;
            struct rb_err err;
            if (!rb_score_candidate(&b->search, &b->plans[i].candidate, RB_SCORE_ACCURACY, &s, &err))
                die(&err);
        }
        n += N_PLANS;
    }
    return 1e9 * passed_s / (double)n;
}

// --- its error

// Largest distance between the score's probability and the reference's, over all plans.
static double farthest(const struct bench *b, struct rb_stage_times *fine)
{
    const struct rb_limit_weights deadline = rb_on_time_deadline(b->search.on_time);
    double error = 0;
    for (int n = 0; n < N_PLANS; n++) {
        struct rb_arena arena;
        rb_arena_init(&arena);
        struct rb_law_sum sum = sum_of(b, fine, &b->plans[n].candidate, FINER, &arena);
        double p = rb_law_sum_below(&sum, (double)b->req.deadline_us / 1e6);
        error = fmax(error, fabs(score(&b->plans[n], &deadline).p_deadline - p));
        rb_arena_finish(&arena);
    }
    return error;
}

static double largest_error(struct bench *b, struct rb_stage_times *times, const struct rb_law_sum *own)
{
    static const double levels[N_DEADLINES] = {0.5, 0.8, 0.9, 0.95, 0.99};
    struct rb_stage_times *fine = rb_stage_times_create(RB_PILOT_SAMPLES);
    double error = 0;
    for (int i = 0; i < N_DEADLINES; i++) {
        begin(b, times, rb_law_sum_quantile(own, levels[i]));
        error = fmax(error, farthest(b, fine));
        rb_search_finish(&b->search);
    }
    rb_stage_times_destroy(fine);
    return error;
}

// --- all of it

static void measure(struct bench *b)
{
    struct rb_stage_times *times = rb_stage_times_create(RB_PILOT_SAMPLES);
    const struct rb_candidate plan = neighbour(&b->workload, 0);
    struct rb_arena arena;
    rb_arena_init(&arena);
    double start_s = cpu_s();
    struct rb_law_sum own = sum_of(b, times, &plan, RB_SCORE_ACCURACY, &arena);
    double objects_ms = 1e3 * (cpu_s() - start_s);
    double error = largest_error(b, times, &own);
    begin(b, times, rb_law_sum_quantile(&own, 0.95));
    struct rb_score told;
    struct rb_err err;
    if (!rb_score_candidate(&b->search, &plan, RB_SCORE_ACCURACY, &told, &err))
        die(&err);
    printf("stages %d frequencies %d score_ns %.6g leaf_ns %.6g whole_ns %.6g objects_ms %.6g p_error %.3g "
           "p_error_told %.3g p_unready %.3g\n",
           plan.n_stages, rb_on_time_terms(b->search.on_time), score_ns(b), leaf_ns(b), whole_ns(b), objects_ms, error,
           told.p_error, told.unready);
    rb_search_finish(&b->search);
    rb_arena_finish(&arena);
    rb_stage_times_destroy(times);
}

int main(int argc, char **argv)
{
    struct rb_err err;
    if (argc != 2) {
        fprintf(stderr, "usage: score_rate FOLDER\n");
        return 2;
    }
    struct bench *b = rb_xcalloc(1, sizeof *b);
    if (!workload_read(&b->workload, argv[1], 1, &err))
        die(&err);
    b->req = (struct rb_plan_request){
        .job = &b->workload.job,
        .profile = &b->workload.profile,
        .catalog = &b->workload.catalog,
        .budget_uusd = -1,
        .confidence = 0.95,
        .seed = 1,
        .samples = 1000,
        .threads = 1,
    };
    measure(b);
    workload_finish(&b->workload);
    free(b);
    return 0;
}
