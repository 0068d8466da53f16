// The independent simulator against closed forms, and against list scheduling by enumeration.
#include "case.h"
#include "every_plan.h"

#include "base/text/buf.h"
#include "profiles/catalog/reservation.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUNS 40000
#define SURE 5.0 // standard errors; draws are fixed, so a test that passes once always passes

struct text {
    const char *between, *startup, *queue, *init; // distributions in YAML; NULL: 1, 0, 0, 0
    const char *configuration;                    // likewise; NULL: none
    double base_s, relative_error, refused, losses_per_hour;
    int trials, max_resource, eta, sizes_to; // of one GPU a node; sizes 1..sizes_to
};

struct fixture {
    struct rb_case c;
    struct oracle o;
};

static const char *or_else(const char *text, const char *other)
{
    return text ? text : other;
}

static void open_fixture(struct fixture *f, const struct text *t)
{
    RB_AUTO(rb_buf_finish) struct rb_buf job = RB_BUF_INIT, profile = RB_BUF_INIT;
    rb_buf_printf(&job,
                  "name: oracle\nmetric: {name: acc, goal: maximize}\n"
                  "scheduler: {type: sha, num_trials: %d, min_resource: 1, max_resource: %d, eta: %d}\n"
                  "trial:\n  gpus: {min: 1, max: %d}\n  max_nodes: 2\n"
                  "resources: {infra: [aws/us-east-1], max_nodes: 8}\nrun: python train.py\n",
                  t->trials, t->max_resource, t->eta ? t->eta : 2, t->sizes_to ? t->sizes_to : 1);
    rb_buf_printf(&profile,
                  "format: rb-profile/1\nname: oracle\ntraining:\n  - accelerator: T4\n    base_s: %.9f\n"
                  "    relative_error: %.4f\n    layouts:\n      - {gpus: 1, nodes: 1, speedup: 1.0}\n"
                  "      - {gpus: 2, nodes: 2, speedup: 1.0}\n"
                  "noise:\n  between: %s\n  within: 1.0\n%s%s%sstartup_s: %s\ncheckpoint_s: 0.0\n",
                  t->base_s, t->relative_error, or_else(t->between, "1.0"), t->configuration ? "  configuration: " : "",
                  or_else(t->configuration, ""), t->configuration ? "\n" : "", or_else(t->startup, "0.0"));
    rb_buf_printf(&profile,
                  "provisioning:\n  - infra: aws\n    instance_type: \"*\"\n    market: \"*\"\n"
                  "    queue_s: %s\n    init_s: %s\n    capacity_failure: %.4f\n    preemption_per_hour: %.4f\n",
                  or_else(t->queue, "0.0"), or_else(t->init, "0.0"), t->refused, t->losses_per_hour);
    case_init(&f->c, rb_buf_str(&job), rb_buf_str(&profile),
              "infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour\n"
              "aws/us-east-1,m1.a,T4,1,16,4,16,on_demand,3.6\n");
    assert_true(oracle_init(&f->o, &f->c.job, &f->c.profile, f->c.catalog.offers, f->c.catalog.n_offers, 11));
}

// A plan of one offer: GPUs of a trial and nodes, stage by stage.
struct plan {
    struct rb_plan_stage stages[RB_LIMIT_STAGES];
    struct rb_plan_nodes nodes[RB_LIMIT_STAGES];
    int n;
};

static void add_stage(struct plan *p, int trials, int64_t from, int64_t to, int gpus, int nodes)
{
    p->nodes[p->n] = (struct rb_plan_nodes){0, nodes};
    p->stages[p->n] = (struct rb_plan_stage){
        .trials = trials, .resource_start = from, .resource_end = to, .gpus_per_trial = gpus, .trials_per_gpu = 1};
    p->stages[p->n].nodes = &p->nodes[p->n];
    p->stages[p->n].n_nodes = 1;
    p->n++;
}

struct sample {
    double time_s[RUNS], cost_uusd[RUNS];
};

static struct sample *play(const struct fixture *f, const struct plan *p)
{
    struct sample *s = calloc(1, sizeof *s);
    for (int r = 0; r < RUNS; r++) {
        struct oracle_run run;
        assert_true(oracle_play(&f->o, NULL, p->stages, p->n, (uint32_t)r, &run));
        s->time_s[r] = (double)run.time_us / 1e6;
        s->cost_uusd[r] = (double)run.cost_uusd;
    }
    return s;
}

static void check_mean(const char *what, const double *values, double expected, double room)
{
    double mean = 0, square = 0;
    for (int r = 0; r < RUNS; r++)
        mean += values[r] / RUNS;
    for (int r = 0; r < RUNS; r++)
        square += (values[r] - mean) * (values[r] - mean) / RUNS;
    const double z = (fabs(mean - expected) - room) / sqrt(square / RUNS + 1e-18);
    if (!(z <= SURE))
        fail_msg("%s: mean %.6g, expected %.6g, z = %.1f", what, mean, expected, z);
}

static void check_squares(const char *what, const double *values, double expected)
{
    double *squares = calloc(RUNS, sizeof *squares);
    for (int r = 0; r < RUNS; r++)
        squares[r] = values[r] * values[r];
    check_mean(what, squares, expected, 1e-3 * expected);
    free(squares);
}

static void check_share(const char *what, const double *values, double limit, double expected)
{
    double count = 0;
    for (int r = 0; r < RUNS; r++)
        count += values[r] <= limit;
    const double z = (count / RUNS - expected) / sqrt(expected * (1 - expected) / RUNS);
    if (!(fabs(z) <= SURE))
        fail_msg("%s: share %.5f at most %.4g, expected %.5f, z = %.1f", what, count / RUNS, limit, expected, z);
}

static double harmonic(int n)
{
    return n ? 1.0 / n + harmonic(n - 1) : 0;
}

static double harmonic_squares(int n)
{
    return n ? 1.0 / n / n + harmonic_squares(n - 1) : 0;
}

static const char exponential_100[] = "{distribution: exponential, mean: 100}";

static void the_largest_of_exponential_trials(void **state)
{
    const struct text t = {.startup = exponential_100, .base_s = 1e-6, .trials = 6, .max_resource = 1};
    struct fixture f;
    struct plan p = {.n = 0};
    (void)state;
    open_fixture(&f, &t);
    add_stage(&p, 6, 0, 1, 1, 6);
    struct sample *s = play(&f, &p);
    check_mean("largest of 6", s->time_s, 100 * harmonic(6), 1e-5);
    for (double at = 50; at < 600; at *= 1.5)
        check_share("largest of 6", s->time_s, at, pow(1 - exp(-at / 100), 6));
    free(s);
    case_finish(&f.c);
}

// Without memory: the end is the sum of n - k gaps of mean 1/k and the largest of the k that run then.
static void a_list_schedule_of_exponential_trials(void **state)
{
    const struct text t = {.startup = exponential_100, .base_s = 1e-6, .trials = 11, .max_resource = 1};
    struct fixture f;
    struct plan p = {.n = 0};
    const double mean = 100 * (8 / 3.0 + harmonic(3)), variance = 1e4 * (8 / 9.0 + harmonic_squares(3));
    (void)state;
    open_fixture(&f, &t);
    add_stage(&p, 11, 0, 1, 1, 3);
    struct sample *s = play(&f, &p);
    check_mean("11 on 3", s->time_s, mean, 1e-4);
    check_squares("11 on 3", s->time_s, variance + mean * mean);
    free(s);
    case_finish(&f.c);
}

// Three trials on two nodes that come late, all times uniform: every combination of a grid, scheduled by hand.
static void a_list_schedule_by_enumeration(void **state)
{
    enum { GRID = 20 };
    const struct text t = {.between = "{distribution: empirical, values: [0.2, 1.8]}",
                           .queue = "{distribution: empirical, values: [0, 150]}",
                           .base_s = 100,
                           .trials = 3,
                           .max_resource = 1};
    struct fixture f;
    struct plan p = {.n = 0};
    double sum = 0, squares = 0, cost = 0, n = pow(GRID, 5);
    (void)state;
    for (int i = 0; i < (int)n; i++) {
        double u[5];
        for (int k = 0, rest = i; k < 5; k++, rest /= GRID)
            u[k] = (rest % GRID + 0.5) / GRID;
        const double a = 150 * fmin(u[0], u[1]), b = 150 * fmax(u[0], u[1]); // arrivals
        double free_a = a, free_b = b, end = 0;
        for (int k = 0; k < 3; k++) {
            double *first = free_a <= free_b ? &free_a : &free_b;
            *first += 100 * (0.2 + 1.6 * u[2 + k]);
            end = fmax(end, *first);
        }
        sum += end / n;
        squares += end * end / n;
        cost += (1000 * (fmax(60, end - a + 0.5) + (b <= end ? fmax(60, end - b + 0.5) : 0))) / n;
    }
    open_fixture(&f, &t);
    add_stage(&p, 3, 0, 1, 1, 2);
    struct sample *s = play(&f, &p);
    check_mean("by enumeration", s->time_s, sum, 2e-3 * sum); // the grid errs by as much
    check_squares("by enumeration", s->time_s, squares);
    check_mean("its cost", s->cost_uusd, cost, 3e-3 * cost);
    free(s);
    case_finish(&f.c);
}

// Every node has one trial: the last arrival decides.
static void nodes_that_come_late(void **state)
{
    const struct text t = {.queue = exponential_100, .init = "30", .base_s = 200, .trials = 4, .max_resource = 1};
    struct fixture f;
    struct plan p = {.n = 0};
    (void)state;
    open_fixture(&f, &t);
    add_stage(&p, 4, 0, 1, 1, 4);
    struct sample *s = play(&f, &p);
    // As long as no node is free again before the last one comes: 200 s after the first trial began.
    for (double at = 231; at < 400; at += 40)
        check_share("four late nodes", s->time_s, at, pow(1 - exp(-(at - 230) / 100), 4));
    free(s);
    case_finish(&f.c);
}

static void gangs_wait_for_their_last_node(void **state)
{
    const struct text t = {.queue = exponential_100, .base_s = 50, .trials = 1, .max_resource = 1, .sizes_to = 2};
    struct fixture f;
    struct plan p = {.n = 0};
    (void)state;
    open_fixture(&f, &t);
    add_stage(&p, 1, 0, 1, 2, 3);
    struct sample *s = play(&f, &p);
    check_mean("the second of three", s->time_s, 50 + 100 * (1 / 3.0 + 1 / 2.0), 1e-5);
    free(s);
    case_finish(&f.c);
}

static void refused_requests_are_made_again(void **state)
{
    const struct text t = {.queue = exponential_100, .base_s = 50, .refused = 0.3, .trials = 1, .max_resource = 1};
    struct fixture f;
    struct plan p = {.n = 0};
    (void)state;
    open_fixture(&f, &t);
    add_stage(&p, 1, 0, 1, 1, 1);
    struct sample *s = play(&f, &p);
    check_mean("refused", s->time_s, 50 + 100 / 0.7, 1e-5);
    check_share("refused", s->time_s, 250, 1 - exp(-2 * 0.7)); // a sum of geometrically many exponentials is one, too
    assert_true(fabs(oracle_queue_mean_s(&f.o, 0) - 100 / 0.7) < 1e-9);
    free(s);
    case_finish(&f.c);
}

// Each loss begins the trial again: (e^(ht) - 1) / h on average.
static void lost_nodes_begin_trials_again(void **state)
{
    const struct text t = {.base_s = 600, .losses_per_hour = 6, .trials = 1, .max_resource = 1};
    struct fixture f;
    struct plan p = {.n = 0};
    (void)state;
    open_fixture(&f, &t);
    add_stage(&p, 1, 0, 1, 1, 1);
    struct sample *s = play(&f, &p);
    check_mean("lost nodes", s->time_s, 600 * (exp(1) - 1), 1e-4);
    check_share("lost nodes", s->time_s, 600.5, exp(-1));
    free(s);
    case_finish(&f.c);
}

// The same with half the losses from an age of 5 minutes on: the area under the chance to live on, over that chance.
static void old_nodes_are_lost_less_often(void **state)
{
    static const struct rb_hazard_step later = {300, 3};
    const struct rb_spells spells = {.hazard = {.per_hour = 6, .later = &later, .n_later = 1}};
    const struct text t = {.base_s = 600, .losses_per_hour = 6, .trials = 1, .max_resource = 1};
    const double young = exp(-0.5), kept = young * exp(-0.25);
    struct fixture f;
    struct plan p = {.n = 0};
    (void)state;
    open_fixture(&f, &t);
    ((struct rb_provisioning *)f.c.profile.provisioning)[0].spells = &spells;
    add_stage(&p, 1, 0, 1, 1, 1);
    struct sample *s = play(&f, &p);
    check_mean("by age", s->time_s, (600 * (1 - young) + 1200 * (young - kept)) / kept, 1e-4);
    check_share("by age", s->time_s, 600.5, kept);
    free(s);
    case_finish(&f.c);
}

static void a_measured_speed_is_off_for_all_stages(void **state)
{
    const struct text t = {.base_s = 100, .relative_error = 0.2, .trials = 2, .max_resource = 2, .eta = 2};
    struct fixture f;
    struct plan p = {.n = 0};
    const double sigma = sqrt(log(1.04));
    (void)state;
    open_fixture(&f, &t);
    add_stage(&p, 2, 0, 1, 1, 2);
    add_stage(&p, 1, 1, 2, 1, 1);
    struct sample *s = play(&f, &p);
    check_mean("measured speed", s->time_s, 200, 1e-4);
    check_squares("measured speed", s->time_s, 4e4 * 1.04);
    check_share("measured speed", s->time_s, 200, 0.5 * erfc(-sigma / 2 / sqrt(2)));
    free(s);
    case_finish(&f.c);
}

static void laws_have_their_means(void **state)
{
    static const char *const dists[] = {
        "{distribution: lognormal, mean: 100, cv: 1.2}",    "{distribution: gamma, mean: 100, cv: 1.4}",
        "{distribution: gamma, mean: 100, cv: 0.5}",        "{distribution: weibull, mean: 100, cv: 0.7}",
        "{distribution: empirical, values: [20, 30, 350]}",
    };
    static const double cvs[] = {1.2, 1.4, 0.5, 0.7, -1};
    (void)state;
    for (int i = 0; i < 5; i++) {
        const struct text t = {.startup = dists[i], .base_s = 1e-6, .trials = 1, .max_resource = 1};
        struct fixture f;
        struct plan p = {.n = 0};
        open_fixture(&f, &t);
        add_stage(&p, 1, 0, 1, 1, 1);
        struct sample *s = play(&f, &p);
        check_mean(dists[i], s->time_s, i == 4 ? (25 + 190) / 2.0 : 100, 1e-5);
        if (cvs[i] > 0)
            check_squares(dists[i], s->time_s, 1e4 * (1 + cvs[i] * cvs[i]));
        else
            check_share(dists[i], s->time_s, 30, 0.5);
        free(s);
        case_finish(&f.c);
    }
}

// Without any spread: to the microsecond and the micro-dollar.
static void what_is_certain(void **state)
{
    const struct text t = {
        .queue = "10", .init = "20", .base_s = 100, .trials = 5, .max_resource = 3, .eta = 3, .sizes_to = 2};
    const struct rb_plan_early early = {0, 1, 60000000};
    struct fixture f;
    struct plan p = {.n = 0};
    struct oracle_run run;
    (void)state;
    open_fixture(&f, &t);
    add_stage(&p, 5, 0, 1, 1, 2); // 30 + 3 x 100
    add_stage(&p, 1, 1, 3, 1, 1); // 200, one node of the two goes on
    assert_true(oracle_play(&f.o, NULL, p.stages, 2, 0, &run));
    assert_int_equal(run.time_us, 530000000);
    assert_int_equal(run.cost_uusd, 1000 * (520 + 320));
    p.stages[0].early = &early; // at 60, runs at 70, ready at 90; no trial uses it, and it ends at 330
    p.stages[0].n_early = 1;
    assert_true(oracle_play(&f.o, NULL, p.stages, 2, 0, &run));
    assert_int_equal(run.time_us, 530000000);
    assert_int_equal(run.cost_uusd, 1000 * (520 + 320 + 260));
    p.stages[0].n_early = 0;
    p.nodes[0].count = 5; // one wave; then four end
    assert_true(oracle_play(&f.o, NULL, p.stages, 2, 0, &run));
    assert_int_equal(run.time_us, 330000000);
    assert_int_equal(run.cost_uusd, 1000 * (320 + 4 * 120));
    case_finish(&f.c);
}

static void short_lives_are_billed_a_minute(void **state)
{
    const struct text t = {.base_s = 7.5, .trials = 3, .max_resource = 1};
    struct fixture f;
    struct plan p = {.n = 0};
    struct oracle_run run;
    (void)state;
    open_fixture(&f, &t);
    add_stage(&p, 3, 0, 1, 1, 3);
    assert_true(oracle_play(&f.o, NULL, p.stages, 1, 0, &run));
    assert_int_equal(run.time_us, 7500000);
    assert_int_equal(run.cost_uusd, 3 * 60 * 1000);
    case_finish(&f.c);
}

static void kept_draws_are_the_same(void **state)
{
    const struct text t = {.between = "{distribution: lognormal, mean: 1, cv: 1}",
                           .queue = exponential_100,
                           .base_s = 60,
                           .losses_per_hour = 3,
                           .refused = 0.1,
                           .trials = 6,
                           .max_resource = 4,
                           .eta = 2};
    struct fixture f;
    struct plan p = {.n = 0};
    (void)state;
    open_fixture(&f, &t);
    add_stage(&p, 6, 0, 1, 1, 3);
    add_stage(&p, 3, 1, 2, 1, 2);
    add_stage(&p, 1, 2, 4, 1, 3);
    struct oracle_worlds *w = oracle_worlds_create(&f.o, p.stages, p.n, 2, 200); // nodes of higher ordinals are drawn
    for (uint32_t r = 0; r < 300; r++) {
        struct oracle_run a, b;
        assert_true(oracle_play(&f.o, w, p.stages, p.n, r, &a) && oracle_play(&f.o, NULL, p.stages, p.n, r, &b));
        assert_int_equal(a.time_us, b.time_us);
        assert_int_equal(a.cost_uusd, b.cost_uusd);
    }
    oracle_worlds_destroy(w);
    case_finish(&f.c);
}

// A survivor keeps its factor in both stages, all on one node.
static void survivors_keep_their_configuration(void **state)
{
    const struct text t = {.configuration = "{distribution: lognormal, mean: 1, cv: 0.5}",
                           .base_s = 100,
                           .trials = 2,
                           .max_resource = 4};
    struct fixture f;
    struct plan p = {.n = 0};
    (void)state;
    open_fixture(&f, &t);
    add_stage(&p, 2, 0, 1, 1, 1);
    add_stage(&p, 1, 1, 4, 1, 1);
    struct sample *s = play(&f, &p);
    // 100 (c_0 + c_1) + 300 c of either: the survivor weighs 4, the other one 1
    check_mean("survivor", s->time_s, 500, 1e-4);
    check_squares("survivor", s->time_s, 500 * 500 + 1e4 * (16 + 1) * 0.25);
    free(s);
    case_finish(&f.c);
}

// Brute force finds that a plan is beaten, by how much, and that the best one is not.
static void every_plan_is_looked_at(void **state)
{
    const struct text t = {.between = "{distribution: lognormal, mean: 1, cv: 0.3}",
                           .queue = "20",
                           .base_s = 200,
                           .trials = 4,
                           .max_resource = 2};
    const struct every_asked asked = {.deadline_us = INT64_C(1500000000),
                                      .budget_uusd = -1,
                                      .probability = 0.9,
                                      .tolerance = 0.005,
                                      .most_runs = 4096,
                                      .sure = 5};
    struct every_asked hopeless = asked;
    struct fixture f;
    struct every_space space;
    struct every_found found;
    struct plan p = {.n = 0}, best = {.n = 2};
    (void)state;
    open_fixture(&f, &t);
    assert_true(every_space_init(&space, &f.o));
    assert_int_equal(space.n_stages, 2);
    assert_int_equal(space.stages[1].trials, 2);
    assert_int_equal(space.n_plans, 6 * 4); // useful: 4 + 2 and 2 + 2
    add_stage(&p, 4, 0, 1, 1, 6);
    add_stage(&p, 2, 1, 2, 1, 4);
    assert_true(every_plan_undercuts(&space, &asked, &f.o, p.stages, &found));
    assert_true(found.surely && found.undercut > 0.2 && found.p > 0.9);
    every_space_plan(&space, found.number, best.stages, best.nodes);
    assert_true(every_plan_undercuts(&space, &asked, &f.o, best.stages, &found));
    assert_false(found.surely);
    assert_true(every_plan_undercuts(&space, &asked, NULL, NULL, &found));
    assert_true(found.surely);
    hopeless.deadline_us = 300000000;
    assert_true(every_plan_undercuts(&space, &hopeless, NULL, NULL, &found));
    assert_true(!found.surely && found.number == -1);
    case_finish(&f.c);
}

// ---- reservations

#define MINUTE_US (60 * RB_US_PER_S)

struct agreed {
    double of_plan, of_oracle, error;
};

static void check_agreed(const char *what, int row, struct agreed a)
{
    if (!(fabs(a.of_plan - a.of_oracle) <= SURE * a.error + 1e-9))
        fail_msg("row %d: the plan's %s is %.6g, the oracle's %.6g +- %.3g", row, what, a.of_plan, a.of_oracle, a.error);
}

// The plan's figures are those of the oracle that plays it, stand-ins included.
static void play_plan(struct fixture *f, const struct rb_plan *plan, int row)
{
    enum { N = 4000 };
    struct agreed cost = {0}, time = {0};
    double cost_squares = 0, time_squares = 0;
    assert_true(oracle_init(&f->o, &f->c.job, &f->c.profile, plan->offers, plan->n_offers, 11));
    f->o.fallbacks = plan->fallbacks;
    f->o.n_fallbacks = plan->n_fallbacks;
    for (int r = 0; r < N; r++) {
        struct oracle_run run;
        assert_true(oracle_play(&f->o, NULL, plan->stages, plan->n_stages, (uint32_t)r, &run));
        cost.of_oracle += (double)run.cost_uusd / N;
        time.of_oracle += (double)run.time_us / N;
        cost_squares += (double)run.cost_uusd * (double)run.cost_uusd / N;
        time_squares += (double)run.time_us * (double)run.time_us / N;
    }
    const struct rb_estimate *e = &plan->estimate;
    cost.of_plan = (double)e->cost_uusd.mean;
    time.of_plan = (double)e->time_us.mean;
    cost.error = hypot(sqrt(fabs(cost_squares - cost.of_oracle * cost.of_oracle) / N), (double)e->stderr_.cost_mean_uusd);
    time.error = hypot(sqrt(fabs(time_squares - time.of_oracle * time.of_oracle) / N), (double)e->stderr_.time_mean_us);
    check_agreed("cost", row, cost);
    check_agreed("time", row, time);
}

static bool is_reserved(const struct rb_plan *plan, int stage)
{
    return plan->offers[plan->stages[stage].nodes[0].offer].reservation != NULL;
}

static const struct window {
    int opens_min, closes_min; // -1: never
    bool first;                // is the first stage on the reservation?
    int n;                     // stages that are; -1: any number
} windows[] = {{0, -1, true, 3},    {0, 2, false, 0},   {0, 26, true, -1}, {0, 45, true, -1},
               {600, -1, false, 0}, {20, -1, false, -1}, {0, 600, true, 3}};

static const struct text noisy = {.between = "{distribution: lognormal, mean: 1.0, cv: 0.2}",
                                  .queue = "{distribution: lognormal, mean: 10, cv: 0.5}",
                                  .init = "{distribution: lognormal, mean: 30, cv: 0.3}",
                                  .startup = "5.0",
                                  .base_s = 200,
                                  .trials = 16,
                                  .max_resource = 4};

static int64_t plan_and_play(const struct window *w, int row)
{
    struct rb_reservation r = {
        .infra = "aws/us-east-1/us-east-1a", .instance_type = "m1.a", .id = "cr-00000001", .count = 3, .notice_us = MINUTE_US};
    struct fixture f;
    struct rb_plan plan;
    struct rb_plan_result result;
    struct rb_err err;
    int n = 0;
    open_fixture(&f, &noisy);
    f.c.req.deadline_us = 90 * MINUTE_US;
    f.c.req.samples = 2000;
    if (w) {
        r.opens_us = w->opens_min * MINUTE_US;
        r.closes_us = w->closes_min < 0 ? -1 : w->closes_min * MINUTE_US;
        f.c.job.resources.reservations = &r;
        f.c.job.resources.n_reservations = 1;
    }
    if (!rb_make_plan(&f.c.req, "optimal", &f.c.arena, &plan, &result, &err))
        fail_msg("row %d: %s", row, err.message);
    play_plan(&f, &plan, row);
    assert_true(plan.estimate.p_both >= f.c.req.confidence);
    for (int s = 0; s < plan.n_stages; s++) {
        n += is_reserved(&plan, s);
        assert_true(!is_reserved(&plan, s) || plan.stages[s].nodes[0].count <= r.count);
    }
    if (w && (is_reserved(&plan, 0) != w->first || (w->n >= 0 && n != w->n)))
        fail_msg("row %d: %d stages on the reservation, the first %s", row, n, is_reserved(&plan, 0) ? "too" : "not");
    const int64_t cost_uusd = plan.estimate.cost_uusd.mean;
    case_finish(&f.c);
    return cost_uusd;
}

static void plans_on_reservations_are_what_the_oracle_plays(void **state)
{
    (void)state;
    const int64_t without_uusd = plan_and_play(NULL, -1);
    for (int i = 0; i < (int)(sizeof windows / sizeof windows[0]); i++) {
        const int64_t cost_uusd = plan_and_play(&windows[i], i);
        if ((double)cost_uusd > 1.005 * (double)without_uusd)
            fail_msg("row %d: it costs %lld, and %lld without the reservation", i, (long long)cost_uusd,
                     (long long)without_uusd);
        assert_true(windows[i].n != 3 || cost_uusd == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_largest_of_exponential_trials),
        cmocka_unit_test(a_list_schedule_of_exponential_trials),
        cmocka_unit_test(a_list_schedule_by_enumeration),
        cmocka_unit_test(nodes_that_come_late),
        cmocka_unit_test(gangs_wait_for_their_last_node),
        cmocka_unit_test(refused_requests_are_made_again),
        cmocka_unit_test(lost_nodes_begin_trials_again),
        cmocka_unit_test(old_nodes_are_lost_less_often),
        cmocka_unit_test(a_measured_speed_is_off_for_all_stages),
        cmocka_unit_test(laws_have_their_means),
        cmocka_unit_test(what_is_certain),
        cmocka_unit_test(short_lives_are_billed_a_minute),
        cmocka_unit_test(kept_draws_are_the_same),
        cmocka_unit_test(survivors_keep_their_configuration),
        cmocka_unit_test(every_plan_is_looked_at),
        cmocka_unit_test(plans_on_reservations_are_what_the_oracle_plays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
