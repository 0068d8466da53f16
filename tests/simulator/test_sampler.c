// The sampler: the same bytes on every thread and processor, and the same distributions as replicates drawn one by one.
#include "random_plan.h"
#include "small_scenario.h"

#include "simulator/sampler/sampler.h"
#include "simulator/sampler/sampler_sort.h"
#include "simulator/stage/stage_run.h"

#include "tests/base/says.h"

#include <math.h>
#include <stdlib.h>

static struct rb_sampler *make_sampler(const struct rb_scenario *s, const struct rb_plan_stage *stages, int n_stages,
                                       const struct rb_sampler_options *opt)
{
    struct rb_err err;
    struct rb_sampler *sampler = rb_sampler_create(s, stages, n_stages, opt, &err);
    if (!sampler)
        fail_msg("%s", err.message);
    return sampler;
}

static bool has(enum rb_sampler_isa isa)
{
    struct small_scenario s;
    struct rb_sampler_options opt = rb_sampler_defaults();
    struct rb_err err;
    opt.isa = isa;
    small_scenario_make(&s);
    small_scenario_compile(&s, 1);
    struct rb_sampler *sampler = rb_sampler_create(&s.scenario, s.p.stages, s.p.plan.n_stages, &opt, &err);
    const bool has = sampler != NULL;
    rb_sampler_destroy(sampler);
    small_scenario_finish(&s);
    return has;
}

// What a stage gains of one offer is requested at some instant of the stage before.
static void request_early(struct random_plan *p, int stage, int64_t at_us)
{
    struct rb_plan_stage *now = &p->stages[stage];
    const struct rb_plan_stage *next = now + 1;
    int missing = next->nodes[0].count;
    for (int i = 0; i < now->n_nodes; i++)
        missing -= now->nodes[i].offer == next->nodes[0].offer ? now->nodes[i].count : 0;
    if (next->n_nodes > 1 || missing < 1)
        return;
    p->early[stage][0] = (struct rb_plan_early){.offer = next->nodes[0].offer, .count = missing, .at_us = at_us};
    now->early = p->early[stage];
    now->n_early = 1;
}

// A random plan without what is not sampled from tables.
static void make_plan(struct random_plan *p, struct rb_scenario *s, uint64_t seed)
{
    struct rb_err err;
    random_plan_make(p, seed);
    random_plan_forget_errors(p);
    for (int i = 0; i < p->plan.n_offers; i++) {
        p->provisioning[i].preemption_per_hour = 0;
        p->provisioning[i].spells = NULL;
    }
    for (int i = 0; i < p->plan.n_stages; i++)
        p->stages[i].n_early = 0;
    for (int i = 0; i + 1 < p->plan.n_stages && seed % 4 == 0; i++)
        request_early(p, i, (int64_t)(seed * 37 + (uint64_t)i * 11) % 200 * RB_US_PER_S);
    if (!rb_scenario_init(s, &p->job, &p->profile, p->offers, p->plan.n_offers, &p->catalog, seed, &err))
        fail_msg("%s", err.message);
}

// ---- the same bytes

#define BYTES_N 203 // no whole number of blocks

struct results {
    double time_s[BYTES_N], cost_usd[BYTES_N], linear_usd[BYTES_N];
};

static struct rb_sampler_runs results_from(struct results *out, int at)
{
    return (struct rb_sampler_runs){out->time_s + at, out->cost_usd + at, out->linear_usd + at};
}

static void run_whole(const struct random_plan *p, const struct rb_scenario *s, const struct rb_sampler_options *opt,
                      struct results *out)
{
    struct rb_sampler *sampler = make_sampler(s, p->stages, p->plan.n_stages, opt);
    const struct rb_sampler_runs runs = results_from(out, 0);
    rb_sampler_run_all(sampler, 5, BYTES_N, &runs);
    rb_sampler_destroy(sampler);
}

static void run_in_parts(const struct random_plan *p, const struct rb_scenario *s, const struct rb_sampler_options *opt,
                         int part, struct results *out)
{
    struct rb_sampler *sampler = make_sampler(s, p->stages, p->plan.n_stages, opt);
    for (int at = 0; at < BYTES_N; at += part) {
        const int n = part < BYTES_N - at ? part : BYTES_N - at;
        const struct rb_sampler_runs runs = results_from(out, at);
        rb_sampler_run_all(sampler, 5 + (uint32_t)at, n, &runs);
    }
    rb_sampler_destroy(sampler);
}

static void the_same_bytes_on_any_thread(void **state)
{
    (void)state;
    static struct random_plan p; // large; remade every time
    static struct results expected, got;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct rb_scenario s;
        struct rb_sampler_options opt = rb_sampler_defaults();
        make_plan(&p, &s, seed);
        opt.waves = (enum rb_waves)(seed % 3 / 2);
        opt.wait_for_all = seed % 2 == 0;
        opt.by_stage = seed % 8 < 4;
        opt.seed = seed << 32 | 7;
        opt.isa = RB_SAMPLER_SCALAR;
        run_whole(&p, &s, &opt, &expected);
        if (has(RB_SAMPLER_AVX2)) {
            opt.isa = RB_SAMPLER_AVX2;
            run_whole(&p, &s, &opt, &got);
            assert_memory_equal(&got, &expected, sizeof got);
        }
        for (opt.threads = 1; opt.threads <= 3; opt.threads++) {
            run_in_parts(&p, &s, &opt, opt.threads == 1 ? 1 : (int)(seed % 50) + 3, &got);
            assert_memory_equal(&got, &expected, sizeof got);
        }
        rb_scenario_finish(&s);
    }
}

static void seeds_and_replicates_differ(void **state)
{
    (void)state;
    struct small_scenario s;
    struct rb_sampler_options opt = rb_sampler_defaults();
    double one[64], other[64];
    small_scenario_make(&s);
    s.p.profile.between = small_dist(RB_DIST_LOGNORMAL, 1, 0.2);
    small_scenario_compile(&s, 1);
    struct rb_sampler *a = make_sampler(&s.scenario, s.p.stages, s.p.plan.n_stages, &opt);
    opt.seed = UINT64_C(1) << 40;
    struct rb_sampler *b = make_sampler(&s.scenario, s.p.stages, s.p.plan.n_stages, &opt);
    rb_sampler_run(a, 0, 64, one, NULL);
    rb_sampler_run(b, 0, 64, other, NULL);
    for (int i = 0; i < 64; i++) {
        for (int k = 0; k < 64; k++)
            assert_true(one[i] != other[k] && (i == k || one[i] != one[k]));
    }
    rb_sampler_destroy(a);
    rb_sampler_destroy(b);
    small_scenario_finish(&s);
}

// ---- tables

static double quantile(const void *ctx, double u)
{
    return rb_dist_quantile(ctx, u);
}

static double quantile_of_word(const struct rb_dist *d, uint32_t word)
{
    const bool upper = word >> 31;
    const double tail = ((upper ? ~word : word) | 1) * 0x1p-32;
    return rb_dist_quantile(d, upper ? 1 - tail : tail);
}

// Words of every size: half of them anywhere, half in the tails.
static uint32_t any_word(struct rb_stream *random)
{
    const uint32_t word = rb_stream_u32(random);
    return word % 2 == 0 ? rb_stream_u32(random) : (rb_stream_u32(random) >> word % 31) ^ (word & 4 ? UINT32_MAX : 0);
}

static void tables_are_close_to_their_law(void **state)
{
    (void)state;
    static const struct {
        enum rb_dist_kind kind;
        double cv;
    } cases[] = {
        {RB_DIST_LOGNORMAL, 0.05}, {RB_DIST_LOGNORMAL, 0.4}, {RB_DIST_LOGNORMAL, 2},   {RB_DIST_NORMAL, 0.25},
        {RB_DIST_GAMMA, 0.5},      {RB_DIST_WEIBULL, 0.7},   {RB_DIST_EXPONENTIAL, 1},
    };
    static struct rb_sampler_table table;
    struct rb_stream random;
    rb_stream_init(&random, &(struct rb_stream_key){.seed = 2, .purpose = RB_DRAW_SEARCH});
    for (size_t i = 0; i < N_OF(cases); i++) {
        const struct rb_dist d = small_dist(cases[i].kind, 10, cases[i].cv);
        const double sd = sqrt(rb_dist_variance(&d));
        rb_sampler_table_fill(&table, quantile, &d);
        for (int k = 0; k < 2000; k++) {
            const uint32_t word = any_word(&random);
            const double got = (double)table_look_up(&table, words_all(word)).v[0];
            const double expected = quantile_of_word(&d, word);
            const bool is_tail = word < UINT32_MAX / 100 || word > UINT32_MAX / 100 * 99;
            if (fabs(got - expected) > 3e-4 * (is_tail ? fabs(expected - 10) + sd : sd))
                fail_msg("%s, cv %g, word %08x: %.9g, expected %.9g", rb_dist_kind_name(d.kind), d.cv, word, got,
                         expected);
        }
    }
}

// ---- sorting

static void check_rows(const float *rows, int n, double sum)
{
    double got = 0;
    for (int i = 0; i < n; i++) {
        for (int lane = 0; lane < LANES; lane++) {
            got += (double)rows[i * LANES + lane];
            assert_true(i == 0 || rows[(i - 1) * LANES + lane] <= rows[i * LANES + lane]);
        }
    }
    assert_true(got == sum); // of small integers: exact
}

static void rows_are_sorted(void **state)
{
    (void)state;
    static float rows[150 * LANES];
    struct rb_stream random;
    rb_stream_init(&random, &(struct rb_stream_key){.seed = 1, .purpose = RB_DRAW_SEARCH});
    for (int n = 1; n <= 150; n++) {
        for (int first = 0; first <= n; first += 1 + n / 8) {
            double sum = 0;
            for (int i = 0; i < n * LANES; i++)
                sum += rows[i] = (float)rb_stream_below(&random, 100);
            sort_rows(rows + (size_t)first * LANES, n - first);
            sort_first_rows_in(rows, first, n);
            check_rows(rows, n, sum);
        }
    }
}

// ---- the same distributions

struct sample {
    double *values; // sorted
    int n;
    double mean, variance;
};

static int compare(const void *pa, const void *pb)
{
    const double a = *(const double *)pa, b = *(const double *)pb;
    return (a > b) - (a < b);
}

static struct sample summarise(double *values, int n)
{
    struct sample s = {.values = values, .n = n};
    for (int i = 0; i < n; i++)
        s.mean += values[i] / n;
    for (int i = 0; i < n; i++)
        s.variance += (values[i] - s.mean) * (values[i] - s.mean) / (n - 1);
    qsort(values, (size_t)n, sizeof *values, compare);
    return s;
}

static int count_below(const struct sample *s, double x)
{
    int low = 0, high = s->n;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (s->values[middle] < x)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// Scores that are standard normal if both samples are of one law. `grain` is how far rounding may move a value.
struct scores {
    int n, n_beyond_3;
    double largest;
};

static void add_score(struct scores *scores, double z)
{
    scores->n++;
    scores->n_beyond_3 += fabs(z) > 3;
    if (fabs(z) > fabs(scores->largest))
        scores->largest = z;
}

static void score_quantile(struct scores *scores, const struct sample *few, const struct sample *many, double q,
                           double grain)
{
    const double x = many->values[(int)(q * many->n)], expected = q * few->n;
    const int below = count_below(few, x - grain), up_to = count_below(few, x + grain);
    const double sd = sqrt(few->n * q * (1 - q) * (1 + (double)few->n / many->n));
    add_score(scores, below > expected ? (below - expected) / sd : up_to < expected ? (up_to - expected) / sd : 0);
}

static void score_samples(struct scores *scores, const struct sample *few, const struct sample *many, double grain)
{
    static const double levels[] = {0.05, 0.5, 0.95, 0.99};
    const double se = sqrt(few->variance / few->n + many->variance / many->n), apart = fabs(few->mean - many->mean);
    add_score(scores, apart <= grain ? 0 : (few->mean - many->mean) / (se + grain));
    for (size_t i = 0; i < N_OF(levels); i++)
        score_quantile(scores, few, many, levels[i], grain);
}

static void assert_chance(const struct scores *scores)
{
    if (fabs(scores->largest) > 5 || scores->n_beyond_3 > 5 + scores->n / 100)
        fail_msg("of %d scores %d are beyond 3, the largest is %.2f", scores->n, scores->n_beyond_3, scores->largest);
}

#define FEW  2000
#define MANY 16000

static void score_plan(struct scores *scores, const struct rb_scenario *s, const struct rb_plan_stage *stages,
                       int n_stages, struct rb_workspace *ws)
{
    static double few_s[FEW], few_usd[FEW], many_s[MANY], many_usd[MANY];
    struct rb_sampler_options opt = rb_sampler_defaults();
    struct rb_err err;
    opt.by_stage = s->seed % 3 == 0;
    for (int r = 0; r < FEW; r++) {
        struct rb_replicate replicate;
        if (!rb_replicate_run(s, stages, n_stages, (uint32_t)r, ws, &replicate, &err))
            fail_msg("%s", err.message);
        few_s[r] = (double)replicate.time_us / (double)RB_US_PER_S;
        few_usd[r] = (double)replicate.cost_uusd / (double)RB_UUSD;
    }
    struct rb_sampler *sampler = make_sampler(s, stages, n_stages, &opt);
    rb_sampler_run(sampler, 0, MANY, many_s, many_usd);
    rb_sampler_destroy(sampler);
    const struct sample time_few = summarise(few_s, FEW), time_many = summarise(many_s, MANY);
    const struct sample cost_few = summarise(few_usd, FEW), cost_many = summarise(many_usd, MANY);
    score_samples(scores, &time_few, &time_many, 1e-5 + 1e-6 * time_few.mean);
    // Each line item of each node is rounded up to a micro-dollar.
    score_samples(scores, &cost_few, &cost_many, 2e-4 + 2e-6 * cost_few.mean);
}

static void distributions_are_those_of_replicates(void **state)
{
    (void)state;
    static struct random_plan p;
    struct scores scores = {0};
    struct rb_workspace *ws = rb_workspace_create();
    for (uint64_t seed = 1000; seed < 1200; seed++) {
        struct rb_scenario s;
        make_plan(&p, &s, seed);
        score_plan(&scores, &s, p.stages, p.plan.n_stages, ws);
        rb_scenario_finish(&s);
    }
    rb_workspace_destroy(ws);
    assert_chance(&scores);
}

enum { MOST_OFFERS = 8 };

static void measure_readings(struct small_scenario *s, struct rb_reading *readings, double relative_error)
{
    assert_true(s->p.plan.n_offers <= MOST_OFFERS);
    for (int i = 0; i < s->p.plan.n_offers; i++) {
        readings[i] = (struct rb_reading){.fetch = "sync",
                                          .infra = s->p.offers[i].infra,
                                          .instance_type = s->p.offers[i].instance_type,
                                          .bytes = 1000,
                                          .read_s = small_dist(RB_DIST_GAMMA, 5 + i, 0.6),
                                          .nodes = 3};
        readings[i].read_s.relative_error = relative_error;
    }
    s->p.job.data_fetch = "sync";
    s->p.job.data_bytes = 3000;
    s->p.job.data_bytes_per_s = 0;
    s->p.profile.readings = readings;
    s->p.profile.n_readings = s->p.plan.n_offers;
}

// Every subset of the errors that runs may share, of a measured profile and of a guess, with tails light and heavy, and nodes that
// read data.
static void runs_share_errors_of_measurement(void **state)
{
    (void)state;
    static const struct rb_basis basis = {"a unit", "a feeling", 0.7};
    struct scores scores = {0};
    for (int i = 0; i < 64; i++) {
        struct small_scenario s;
        small_scenario_make(&s);
        s.provisioning.queue_s = small_dist(RB_DIST_LOGNORMAL, 3 + i % 3 * 10, 0.5);
        s.provisioning.init_s = small_dist(RB_DIST_GAMMA, 10, 0.4);
        s.p.profile.startup_s = i % 5 == 0 ? rb_dist_constant(2) : small_dist(RB_DIST_LOGNORMAL, 2, 0.7);
        s.p.profile.checkpoint_s = small_dist(RB_DIST_GAMMA, 1, 0.4);
        s.p.profile.between =
            i % 7 == 0 ? rb_dist_constant(1.5) : small_dist(RB_DIST_LOGNORMAL, 1, i % 4 == 0 ? 3 : 0.2);
        s.p.profile.within = i % 3 == 0 ? rb_dist_constant(1) : small_dist(RB_DIST_LOGNORMAL, 1, 0.3);
        s.p.training.relative_error = i & 1 ? 0.3 : 0;
        s.p.profile.startup_s.relative_error = i & 2 ? 0.5 : 0;
        s.p.profile.checkpoint_s.relative_error = i & 4 ? 0.5 : 0;
        s.provisioning.queue_s.relative_error = i & 8 ? 0.4 : 0;
        s.provisioning.init_s.relative_error = i & 16 ? 0.4 : 0;
        s.p.profile.basis = &basis;
        s.p.profile.n_basis = i & 32 ? 1 : 0;
        s.p.job.data_bytes = i % 2 ? 0 : 7000;
        s.p.job.data_bytes_per_s = 1000;
        struct rb_reading readings[MOST_OFFERS];
        if (i % 8 > 4) // measured instead of declared
            measure_readings(&s, readings, i & 1 ? 0.4 : 0);
        small_scenario_compile(&s, (uint64_t)i);
        score_plan(&scores, &s.scenario, s.p.stages, s.p.plan.n_stages, s.ws);
        small_scenario_finish(&s);
    }
    assert_chance(&scores);
}

// A trial is as slow in one stage as in the others: the spread of a whole plan's time shows whether it is.
static void configurations_keep_their_speed(void **state)
{
    (void)state;
    struct scores scores = {0};
    for (int i = 0; i < 16; i++) {
        struct rb_dist configuration = small_dist(RB_DIST_LOGNORMAL, 1, i % 4 == 0 ? 3 : 0.7);
        struct small_scenario s;
        small_scenario_make(&s);
        s.p.profile.startup_s = i % 2 ? rb_dist_constant(2) : small_dist(RB_DIST_LOGNORMAL, 2, 0.7);
        s.p.profile.between = i % 3 == 0 ? rb_dist_constant(1.5) : small_dist(RB_DIST_LOGNORMAL, 1, 0.2);
        s.p.profile.within = i % 5 == 0 ? rb_dist_constant(1) : small_dist(RB_DIST_LOGNORMAL, 1, 0.3);
        s.p.training.relative_error = i & 1 ? 0.3 : 0;
        s.p.profile.configuration = &configuration;
        s.p.nodes[0][0].count = 1 + i % 3;
        small_scenario_compile(&s, (uint64_t)i);
        score_plan(&scores, &s.scenario, s.p.stages, s.p.plan.n_stages, s.ws);
        small_scenario_finish(&s);
    }
    assert_chance(&scores);
}

// The second stage gains two nodes, which are asked for before it, during the first or never early, and come late or not.
static void nodes_that_are_requested_early(void **state)
{
    (void)state;
    struct scores scores = {0};
    for (int i = 0; i < 24; i++) {
        struct small_scenario s;
        small_scenario_make(&s);
        s.provisioning.queue_s = small_dist(RB_DIST_LOGNORMAL, 3 + i % 2 * 20, 0.5);
        s.provisioning.init_s = small_dist(RB_DIST_LOGNORMAL, 10, 0.4);
        s.p.profile.between = small_dist(RB_DIST_LOGNORMAL, 1, 0.2);
        s.p.nodes[0][0].count = 1;
        s.p.nodes[1][0] = (struct rb_plan_nodes){i % 3 == 0 ? LARGE : SMALL, i % 3 == 0 ? 2 : 3};
        s.p.early[0] = (struct rb_plan_early){.offer = s.p.nodes[1][0].offer, .count = 2, .at_us = i * 3 * RB_US_PER_S};
        s.p.stages[0].early = &s.p.early[0];
        s.p.stages[0].n_early = 1;
        small_scenario_compile(&s, (uint64_t)i);
        score_plan(&scores, &s.scenario, s.p.stages, s.p.plan.n_stages, s.ws);
        small_scenario_finish(&s);
    }
    assert_chance(&scores);
}

// A node more that no one needs changes no draw of anything else.
static void plans_that_draw_by_stage_share_draws(void **state)
{
    (void)state;
    static double first_s[FEW], other_s[FEW];
    struct rb_sampler_options opt = rb_sampler_defaults();
    struct small_scenario s;
    double spread[2] = {0};
    small_scenario_make(&s);
    s.p.profile.between = small_dist(RB_DIST_LOGNORMAL, 1, 0.2);
    s.provisioning.queue_s = small_dist(RB_DIST_LOGNORMAL, 3, 0.5);
    small_scenario_compile(&s, 1);
    for (int by_stage = 0; by_stage < 2; by_stage++) {
        opt.by_stage = by_stage;
        for (int nodes = 4; nodes < 6; nodes++) { // of the first stage, four trials: the fifth is idle
            s.p.nodes[0][0].count = nodes;
            struct rb_sampler *sampler = make_sampler(&s.scenario, s.p.stages, 3, &opt);
            rb_sampler_run(sampler, 0, FEW, nodes == 4 ? first_s : other_s, NULL);
            rb_sampler_destroy(sampler);
        }
        for (int r = 0; r < FEW; r++)
            spread[by_stage] += (first_s[r] - other_s[r]) * (first_s[r] - other_s[r]);
    }
    assert_true(spread[1] < spread[0] / 10);
    small_scenario_finish(&s);
}

// A thousand slots, and durations of which most are short and a few very long: trials are started on heaps.
static void many_slots_and_wide_durations(void **state)
{
    (void)state;
    struct small_scenario s;
    struct scores scores = {0};
    small_scenario_make(&s);
    small_scenario_one_stage(&s, 1500, 1, 500);
    s.p.profile.startup_s = s.p.profile.checkpoint_s = rb_dist_constant(0);
    s.p.profile.between = small_dist(RB_DIST_LOGNORMAL, 1, 10);
    small_scenario_compile(&s, 9);
    score_plan(&scores, &s.scenario, s.p.stages, 1, s.ws);
    small_scenario_finish(&s);
    assert_chance(&scores);
}

// ---- chains, against a plain loop

struct wave_case {
    bool wait_for_all;
    int trials[2], nodes[2]; // of two stages; nodes of two GPUs
};

static double draw(struct rb_stream *random, const struct rb_dist *d)
{
    return rb_dist_draw(d, random);
}

static double run_stage_plainly(const struct wave_case *c, int stage, const struct rb_profile *profile,
                                struct rb_stream *random)
{
    double slots[64] = {0}, end = 0;
    const int kept = stage == 0 ? 0 : c->nodes[0] < c->nodes[1] ? c->nodes[0] : c->nodes[1];
    const int n_slots = 2 * c->nodes[stage] < c->trials[stage] ? 2 * c->nodes[stage] : c->trials[stage];
    double ready[32] = {0}, latest = 0;
    for (int node = kept; node < c->nodes[stage]; node++) {
        ready[node] = draw(random, &profile->provisioning->queue_s) + draw(random, &profile->provisioning->init_s);
        latest = fmax(latest, ready[node]);
    }
    qsort(ready, (size_t)c->nodes[stage], sizeof *ready, compare);
    for (int k = 0; k < n_slots; k++)
        slots[k] = c->wait_for_all ? latest : ready[k / 2];
    for (int k = 0; k < c->trials[stage]; k++) {
        slots[k % n_slots] += 3 + 10 * draw(random, &profile->between);
        end = fmax(end, slots[k % n_slots]);
    }
    return end;
}

static void score_waves(struct scores *scores, const struct wave_case *c, uint64_t seed)
{
    static double few_s[FEW], many_s[MANY];
    struct small_scenario s;
    struct rb_sampler_options opt = rb_sampler_defaults();
    struct rb_stream random;
    small_scenario_make(&s);
    s.p.profile.between = small_dist(RB_DIST_LOGNORMAL, 1, 0.3);
    s.provisioning.queue_s = small_dist(RB_DIST_EXPONENTIAL, 2, 1);
    s.provisioning.init_s = small_dist(RB_DIST_GAMMA, 4, 0.5);
    for (int i = 0; i < 2; i++) {
        s.p.stages[i].trials = c->trials[i];
        s.p.nodes[i][0].count = c->nodes[i];
    }
    small_scenario_compile(&s, seed);
    opt.waves = RB_WAVES_CHAINS;
    opt.wait_for_all = c->wait_for_all;
    struct rb_sampler *sampler = make_sampler(&s.scenario, s.p.stages, 2, &opt);
    rb_sampler_run(sampler, 0, MANY, many_s, NULL);
    rb_sampler_destroy(sampler);
    rb_stream_init(&random, &(struct rb_stream_key){.seed = seed, .purpose = RB_DRAW_SEARCH});
    for (int r = 0; r < FEW; r++)
        few_s[r] = run_stage_plainly(c, 0, &s.p.profile, &random) + run_stage_plainly(c, 1, &s.p.profile, &random);
    const struct sample few = summarise(few_s, FEW), many = summarise(many_s, MANY);
    score_samples(scores, &few, &many, 0);
    small_scenario_finish(&s);
}

static void chains_are_what_they_say(void **state)
{
    (void)state;
    // Every node has a trial, so none is late when the next stage starts.
    static const struct wave_case cases[] = {
        {true, {7, 3}, {2, 3}},
        {false, {17, 9}, {3, 4}},
        {false, {25, 12}, {4, 2}},
        {true, {20, 10}, {10, 1}},
    };
    struct scores scores = {0};
    for (size_t i = 0; i < N_OF(cases); i++)
        score_waves(&scores, &cases[i], i + 1);
    assert_chance(&scores);
}

// ---- what is refused

static void expect_refusal(struct small_scenario *s, const struct rb_sampler_options *opt, const char *said)
{
    struct rb_err err;
    small_scenario_compile(s, 1);
    assert_null(rb_sampler_create(&s->scenario, s->p.stages, s->p.plan.n_stages, opt, &err));
    if (!error_says(&err, said))
        fail_msg("\"%s\" does not say \"%s\"", err.message, said);
    small_scenario_finish(s);
}

// --- single stages

// Boots take longer than stages, and every trial has a node of its own.
static void make_late_nodes(struct small_scenario *s)
{
    static const int counts[] = {3, 2, 1};
    small_scenario_make(s);
    s->provisioning.queue_s = small_dist(RB_DIST_LOGNORMAL, 3, 0.5);
    s->provisioning.init_s = small_dist(RB_DIST_LOGNORMAL, 40, 0.6);
    s->p.profile.between = small_dist(RB_DIST_LOGNORMAL, 1, 0.2);
    for (int i = 0; i < 3; i++) {
        s->p.nodes[i][0].count = counts[i];
        s->p.stages[i].gpus_per_trial = 2;
    }
    small_scenario_compile(s, 3);
}

// Every stage by itself, on nodes of which those that it keeps are ready, event by event and from tables.
static void single_stages_are_billed_linearly(void **state)
{
    (void)state;
    static double few_us[FEW], few_uusd[FEW], many_s[MANY], many_usd[MANY];
    struct scores scores = {0};
    struct small_scenario s;
    struct rb_err err;
    make_late_nodes(&s);
    for (int i = 0; i < 3; i++) {
        const int before = i > 0 ? s.p.nodes[i - 1][0].count : 0, now = s.p.nodes[i][0].count;
        const int n_kept = before < now ? before : now;
        const struct rb_stage_runs runs = {.n_kept = n_kept, .n = FEW, .until_us = RB_STAGE_RUN_TO_THE_END};
        const struct rb_sampler_runs out = {.time_s = many_s, .linear_usd = many_usd};
        const int64_t uusd_per_hour = rb_bill_uusd_per_hour(&s.scenario.sim_offers[s.p.nodes[i][0].offer].billing);
        struct rb_sampler_options opt = rb_sampler_defaults();
        opt.by_stage = true;
        opt.first_stage = i;
        opt.n_inherited = n_kept;
        if (!rb_stage_run(&s.scenario, i, &s.p.stages[i], &runs, s.ws, few_us, few_uusd, &err))
            fail_msg("%s", err.message);
        struct rb_sampler *sampler = make_sampler(&s.scenario, &s.p.stages[i], 1, &opt);
        rb_sampler_run_all(sampler, 0, MANY, &out);
        rb_sampler_destroy(sampler);
        for (int r = 0; r < FEW; r++) {
            few_us[r] /= 1e6;
            few_uusd[r] /= 1e6;
        }
        for (int r = 0; r < MANY; r++)
            many_usd[r] += n_kept * (double)uusd_per_hour / 1e6 / 3600 * many_s[r];
        const struct sample time_few = summarise(few_us, FEW), time_many = summarise(many_s, MANY);
        const struct sample cost_few = summarise(few_uusd, FEW), cost_many = summarise(many_usd, MANY);
        score_samples(&scores, &time_few, &time_many, 1e-4);
        score_samples(&scores, &cost_few, &cost_many, 1e-5);
    }
    if (fabs(scores.largest) > 4.5)
        fail_msg("the largest of %d scores is %.2f", scores.n, scores.largest);
    small_scenario_finish(&s);
}

static void what_tables_cannot_do_is_refused(void **state)
{
    (void)state;
    struct small_scenario s;
    const struct rb_sampler_options opt = rb_sampler_defaults();
    small_scenario_make(&s);
    s.provisioning.preemption_per_hour = 1;
    expect_refusal(&s, &opt, "RB2011 taken back");
    small_scenario_make(&s);
    s.p.early[1] = (struct rb_plan_early){.offer = LARGE, .count = 1};
    s.p.stages[1].early = &s.p.early[1];
    s.p.stages[1].n_early = 1;
    expect_refusal(&s, &opt, "stages[1]: nodes requested early");
    small_scenario_make(&s);
    s.p.early[0] = (struct rb_plan_early){.offer = s.p.nodes[2][0].offer, .count = 1};
    s.p.stages[2].early = &s.p.early[0];
    s.p.stages[2].n_early = 1;
    expect_refusal(&s, &opt, "stages[2]: nodes requested early");
    small_scenario_make(&s);
    s.p.stages[0].gpus_per_trial = 64;
    expect_refusal(&s, &opt, "RB2010 stages[0]: a trial with 64 GPUs does not fit");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_bytes_on_any_thread),  cmocka_unit_test(seeds_and_replicates_differ),
        cmocka_unit_test(tables_are_close_to_their_law),         cmocka_unit_test(rows_are_sorted),
        cmocka_unit_test(distributions_are_those_of_replicates), cmocka_unit_test(runs_share_errors_of_measurement),
        cmocka_unit_test(configurations_keep_their_speed),
        cmocka_unit_test(nodes_that_are_requested_early),        cmocka_unit_test(plans_that_draw_by_stage_share_draws),
        cmocka_unit_test(many_slots_and_wide_durations),         cmocka_unit_test(chains_are_what_they_say),
        cmocka_unit_test(what_tables_cannot_do_is_refused),      cmocka_unit_test(single_stages_are_billed_linearly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
