// Prices in a shared cluster: which nodes are asked for, filled and given up, and what a node may cost.
#include "check.h"
#include "sharing_jobs.h"

#include "engine/sharing/autoscales.h"
#include "engine/sharing/give_up.h"
#include "engine/sharing/size_price.h"

#include <math.h>
#include <string.h>

enum { GPUS = 4, NODES = 8, HOUR_S = 3600 };

// K GPUs are worth K^power of one, and more than eight no more than eight.
static double scales(const void *arg, int nodes, int gpus)
{
    (void)nodes;
    return pow(gpus < 8 ? gpus : 8, *(const double *)arg);
}

static const double linear = 1;

static struct rb_shared_job job(const double *power)
{
    return (struct rb_shared_job){.min_gpus = 1,
                                  .max_gpus = 64,
                                  .rate = scales,
                                  .arg = power,
                                  .age_us = HOUR_S * RB_US_PER_S,
                                  .deadline_us = INT64_MAX,
                                  .weight = 1};
}

static int decide(struct rb_autoscale_options options, const struct rb_shared_job *jobs, int n_jobs, int n_owned)
{
    struct rb_err err;
    void *state;
    options.gpus_per_node = GPUS;
    options.min_nodes = 1;
    options.round_us = 60 * RB_US_PER_S;
    options.least_worth = 0.25;
    assert_true(rb_autoscale_marginal.create(&options, &state, &err));
    const struct rb_autoscale_view view = {.n_owned = n_owned, .jobs = jobs, .n_jobs = n_jobs};
    const int nodes = rb_autoscale_marginal.decide(state, 0, &view);
    rb_autoscale_marginal.destroy(state);
    return nodes;
}

// ---- how many nodes: one job that runs eight times as fast on eight GPUs, and no faster; so S = 4, 8, 8 on 1, 2, 3 nodes

struct size_case {
    int64_t price[3]; // dollars an hour of each node
    int64_t value;    // of an hour sooner; -1: no one says
    int n_owned, wanted;
};

static void a_node_is_taken_only_where_it_is_worth_its_price(void **state)
{
    (void)state;
    static const struct size_case cases[] = {
        // A quarter of what the price buys on the first GPU: for p times the cheapest price the second node must add p, and
        // adds 4.
        {{1, 1, 1}, -1, 1, 2},
        {{10, 10, 10}, -1, 1, 2}, // a dollar less buys less everywhere: nothing changes
        {{1, 3, 3}, -1, 1, 2},
        {{1, 4, 4}, -1, 1, 1}, // neither gains nor loses: stays as it is,
        {{1, 4, 4}, -1, 2, 2}, // either way
        {{1, 5, 5}, -1, 1, 1},
        {{1, 5, 5}, -1, 2, 1}, // and is given back
        // With a value V: (V + p1)/4 against (V + p1 + p2)/8, so the second node pays below V + p1.
        {{1, 1, 1}, 1, 1, 2},
        {{1, 2, 2}, 1, 1, 1},
        {{1, 2, 2}, 2, 1, 2},
        {{10, 10, 10}, 1, 1, 2},   // (1 + 10)/4 = 2.75 a unit, (1 + 20)/8 = 2.625
        {{10, 12, 12}, 1, 1, 1},   // (1 + 22)/8 = 2.875
        {{10, 12, 12}, 100, 1, 2}, // an hour sooner is worth more than any node
        {{1, 1, 1}, 0, 1, 1},      // no one pays for time: both sizes cost the same
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct size_case *c = &cases[i];
        struct rb_shared_job jobs[] = {job(&linear)};
        struct rb_rate rates[3];
        for (int n = 0; n < 3; n++)
            rates[n].uusd_per_hour = c->price[n] * RB_UUSD;
        jobs[0].has_value = c->value >= 0;
        jobs[0].value.uusd_per_hour = c->value * RB_UUSD;
        const int nodes = decide((struct rb_autoscale_options){.max_nodes = 3, .rates = rates}, jobs, 1, c->n_owned);
        if (nodes != c->wanted)
            fail_msg("case %zu: expected %d nodes, got %d", i, c->wanted, nodes);
    }
}

// Five GPU-hours of work: within an hour they take five GPUs, within three hours two.
static void a_deadline_pays_any_price(void **state)
{
    (void)state;
    const struct rb_rate rates[] = {{RB_UUSD}, {1000 * RB_UUSD}};
    const struct rb_autoscale_options options = {.max_nodes = 2, .rates = rates};
    struct rb_shared_job jobs[] = {job(&linear)};
    jobs[0].age_us = 0;
    jobs[0].left = 5 * HOUR_S;
    assert_int_equal(decide(options, jobs, 1, 1), 1); // no deadline
    jobs[0].deadline_us = HOUR_S * RB_US_PER_S;
    assert_int_equal(decide(options, jobs, 1, 1), 2);
    jobs[0].deadline_us = 3 * HOUR_S * RB_US_PER_S;
    assert_int_equal(decide(options, jobs, 1, 1), 1);
    assert_int_equal(decide(options, jobs, 1, 2), 1); // the costly one goes back
}

// ---- which node: an hour's stay, a round of a minute, half a minute of restart

struct give_up_case {
    int64_t price[4];
    char state[5]; // of each node: - not owned, w on its way, i idle, b busy
    int wanted;
};

static void the_node_that_saves_most_goes_first(void **state)
{
    (void)state;
    static const struct give_up_case cases[] = {
        {{1, 1, 1, 1}, "biwi", 2}, // one on its way before idle ones,
        {{1, 1, 1, 1}, "bib-", 1}, // idle before busy,
        {{1, 1, 1, 1}, "bbb-", 2}, // of equals the highest number
        {{1, 2, 3, 4}, "iiii", 3}, // the most expensive
        {{1, 2, 3, 4}, "iii-", 2},
        {{1, 2, 2, 4}, "wib-", 1},             // more expensive, though the other is only on its way
        {{1, 1, 1, 2}, "iiib", 3},             // half a minute of a restart costs less than an hour at twice the price,
        {{1000, 1000, 1000, 1001}, "iiib", 2}, // but more than an hour at a thousandth more
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct give_up_case *c = &cases[i];
        struct rb_shared_job jobs[] = {job(&linear)};
        struct rb_rate rates[4];
        int gpus[4], held[4];
        bool owned[4];
        for (int n = 0; n < 4; n++) {
            rates[n].uusd_per_hour = c->price[n] * RB_UUSD;
            owned[n] = c->state[n] != '-';
            gpus[n] = c->state[n] == 'i' || c->state[n] == 'b' ? GPUS : 0;
            held[n] = c->state[n] == 'b';
        }
        jobs[0].held = held;
        const struct rb_shared_cluster cluster = {.n_nodes = 4, .gpus = gpus, .rates = rates};
        const struct rb_autoscale_view view = {.cluster = &cluster, .owned = owned, .jobs = jobs, .n_jobs = 1};
        const int node = rb_give_up(&view, 30 * RB_US_PER_S, 60 * RB_US_PER_S);
        if (node != c->wanted)
            fail_msg("case %zu: expected node %d, got %d", i, c->wanted, node);
    }
}

// Nothing but the price distinguishes the nodes, and the cheap one has not the lowest number.
static void jobs_fill_the_cheaper_of_equal_nodes(void **state)
{
    (void)state;
    struct made_up m;
    struct rb_err err;
    void *policy;
    struct rb_rate rates[] = {{3 * RB_UUSD}, {2 * RB_UUSD}, {1 * RB_UUSD}};
    const struct rb_sharing *goodput = rb_sharing_find("goodput");
    const struct rb_sharing_options options = {.fairness_p = NAN, .avoid_interference = true};
    make_up(&m, 2, 3, GPUS);
    m.cluster.rates = rates;
    m.jobs[0].max_gpus = m.jobs[1].max_gpus = GPUS / 2;
    assert_true(goodput->create(&options, &policy, &err));
    divide(&m, goodput, policy, 0);
    assert_int_equal(m.division[0 * 3 + 2], GPUS / 2);
    assert_int_equal(m.division[1 * 3 + 2], GPUS / 2); // the two more expensive nodes stay idle, and may be given up
    make_up(&m, 2, 3, GPUS);
    m.cluster.rates = rates;
    m.jobs[0].max_gpus = m.jobs[1].max_gpus = GPUS;
    divide(&m, goodput, policy, 0);
    assert_int_equal(m.division[0 * 3 + 2] + m.division[1 * 3 + 2], GPUS);
    assert_int_equal(m.division[0 * 3 + 1] + m.division[1 * 3 + 1], GPUS);
    goodput->destroy(policy);
}

// ---- the price of one kind of node rises, all else equal

struct kinds {
    int n, n_nodes[3];
    int64_t uusd_per_hour[3];
};

// Cheapest first; out_kinds: of which kind each node is. Returns how many.
static int list_nodes(const struct kinds *k, struct rb_rate *out_rates, int *out_kinds)
{
    int n = 0;
    for (int i = 0; i < k->n; i++) {
        for (int node = 0; node < k->n_nodes[i]; node++, n++) {
            int at = n;
            for (; at > 0 && out_rates[at - 1].uusd_per_hour > k->uusd_per_hour[i]; at--) {
                out_rates[at] = out_rates[at - 1];
                out_kinds[at] = out_kinds[at - 1];
            }
            out_rates[at].uusd_per_hour = k->uusd_per_hour[i];
            out_kinds[at] = i;
        }
    }
    return n;
}

static int use_of(const struct kinds *k, int kind, const struct rb_shared_job *jobs, int n_jobs)
{
    struct rb_rate rates[3 * NODES];
    int kinds[3 * NODES], used = 0;
    const int n = list_nodes(k, rates, kinds);
    const int wanted = decide((struct rb_autoscale_options){.max_nodes = n, .rates = rates}, jobs, n_jobs, 1);
    for (int node = 0; node < wanted; node++)
        used += kinds[node] == kind;
    return used;
}

// Holds where another GPU never helps more than the one before, and nothing is owned yet that a change would have to pay for: a
// whole trace may well use more of what has become more expensive, since it then runs at other times.
static void what_becomes_costlier_is_never_used_more(void **state)
{
    (void)state;
    int n_fewer = 0;
    for (uint64_t seed = 0; seed < 4000; seed++) {
        struct rb_stream draws;
        rb_stream_init(&draws, &(struct rb_stream_key){.seed = seed, .purpose = RB_DRAW_SEARCH});
        struct rb_shared_job jobs[6];
        double powers[6];
        const int n_jobs = 1 + (int)rb_stream_below(&draws, 6);
        const bool have_values = rb_stream_below(&draws, 2);
        for (int j = 0; j < n_jobs; j++) {
            powers[j] = 0.2 + 0.8 * rb_stream_uniform(&draws);
            jobs[j] = job(&powers[j]);
            jobs[j].has_value = have_values;
            jobs[j].value.uusd_per_hour = (int64_t)rb_stream_below(&draws, 20 * RB_UUSD);
        }
        struct kinds k = {.n = 1 + (int)rb_stream_below(&draws, 3)};
        for (int i = 0; i < k.n; i++) {
            k.n_nodes[i] = 1 + (int)rb_stream_below(&draws, NODES);
            k.uusd_per_hour[i] = RB_UUSD + (int64_t)rb_stream_below(&draws, 9 * RB_UUSD);
        }
        const int kind = (int)rb_stream_below(&draws, (uint64_t)k.n);
        const int before = use_of(&k, kind, jobs, n_jobs);
        k.uusd_per_hour[kind] += 1 + (int64_t)rb_stream_below(&draws, 9 * RB_UUSD);
        const int after = use_of(&k, kind, jobs, n_jobs);
        if (after > before)
            fail_msg("seed %llu: %d nodes before, %d when they cost more", (unsigned long long)seed, before, after);
        n_fewer += after < before;
    }
    assert_true(n_fewer > 400); // it does matter
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_is_taken_only_where_it_is_worth_its_price),
        cmocka_unit_test(a_deadline_pays_any_price),
        cmocka_unit_test(the_node_that_saves_most_goes_first),
        cmocka_unit_test(jobs_fill_the_cheaper_of_equal_nodes),
        cmocka_unit_test(what_becomes_costlier_is_never_used_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
