// Spot markets from tables of capacity: by hand, and the published figures of the traces where the data lies beside the
// repository.
#include "tests/profiles/store_world.h"

#include "profiles/fit/market_fit.h"
#include "profiles/import/import.h"

#include <unistd.h>

#define TRACES RB_SOURCE_ROOT "/../shared/data/spot/capacity.csv.gz"
#define MIN    60.0
#define MIN_US INT64_C(60000000)

static struct rb_spells fit(struct world *w, const struct rb_capacity *all, int n, double together)
{
    struct rb_spells s;
    assert_ok(rb_market_fit(all, n, 0, 195, together, &w->arena, &s, &w->err), &w->err);
    return s;
}

// One node: up 10 min (age unknown: it was up at the beginning), down 20, up 30, down 10, up for 2 h and still up.
static const struct rb_capacity_step one[] = {
    {0, 1}, {10 * MIN_US, 0}, {30 * MIN_US, 1}, {60 * MIN_US, 0}, {70 * MIN_US, 1},
};
static const struct rb_capacity zone_a = {"us-east-1a", "us-east-1", "t", one, 5, 190 * MIN_US, NULL};

static void losses_are_counted_over_hours_of_exposure(void **state)
{
    struct world *w = *state;
    const struct rb_spells s = fit(w, &zone_a, 1, 0.5);
    // One loss, at 30 min. Exposed: twice 15 min; 15 + 45 min; 60 min; never beyond 4 h. 2.5 h for one loss in all.
    assert_int_equal(s.hazard.n_later, 3);
    assert_close(s.hazard.later[0].per_hour, 1.0, 1e-12);
    assert_close(s.hazard.per_hour, 1 / (0.5 + 2.5), 1e-12); // no one was lost: the prior's one loss
    assert_close(s.hazard.later[1].per_hour, 1 / (1 + 2.5), 1e-12);
    assert_close(s.hazard.later[2].per_hour, 1 / (0 + 2.5), 1e-12);
    assert_close(s.hazard.later[0].from_s, 900, 0);
    assert_close(s.hazard.later[2].from_s, 14400, 0);
    // Complete spells only.
    assert_int_equal(s.up_s.n_values, 1);
    assert_close(s.up_s.values[0], 30 * MIN, 0);
    assert_int_equal(s.down_s.n_values, 2);
    assert_close(s.down_s.values[0], 10 * MIN, 0);
    assert_close(s.down_s.values[1], 20 * MIN, 0);
    assert_close(s.days, 190.0 / 1440, 1e-12);
    assert_close(s.sampled_s, 195, 0);
    assert_close(s.together, 0.5, 0);
    assert_true(s.region_factor < 0);
}

static void a_fall_takes_the_youngest(void **state)
{
    struct world *w = *state;
    static const struct rb_capacity_step steps[] = {
        {0, 0}, {10 * MIN_US, 1}, {20 * MIN_US, 3}, {30 * MIN_US, 2}, {40 * MIN_US, 0}, {50 * MIN_US, 2}, {60 * MIN_US, 0},
    };
    const struct rb_capacity zone = {"us-east-1a", "us-east-1", "t", steps, 7, 70 * MIN_US, NULL};
    const struct rb_spells s = fit(w, &zone, 1, -1);
    // Lives: 10, 20, 30 min; twice 10 min. Before 15 min: three losses in 3 x 10 + 2 x 15 min; then two in 5 + 15 min.
    assert_close(s.hazard.per_hour, 3, 1e-12);
    assert_close(s.hazard.later[0].per_hour, 6, 1e-12);
    assert_close(s.together, 2.0 / 3, 1e-12); // of three falls, two left none
}

// In 50 minutes of the 160 that zone a is up, another zone was lost in the last half hour; one of its two losses is then.
static void a_region_goes_together(void **state)
{
    struct world *w = *state;
    static const struct rb_capacity_step steps[] = {
        {0, 1},
        {40 * MIN_US, 0},
        {100 * MIN_US, 1},
        {160 * MIN_US, 0},
    };
    const struct rb_capacity all[] = {zone_a,
                                      {"us-east-1b", "us-east-1", "t", steps, 4, 190 * MIN_US, NULL},
                                      {"us-west-2a", "us-west-2", "t", one, 5, 190 * MIN_US, NULL},
                                      {"us-east-1c", "us-east-1", "other", one, 5, 190 * MIN_US, NULL}};
    const struct rb_spells s = fit(w, all, 4, 1);
    // Zone b is lost at 40 and 160 min: close are 40..60, and 160..190 min.
    assert_close(s.region_factor, (1.0 / 50) / (2.0 / 160), 1e-12);
}

// $1 for ten minutes (nodes), $9 for 20 (none), $2 for 30, $9 for 10, $4 for 120.
static void prices_count_while_there_are_nodes(void **state)
{
    struct world *w = *state;
    static const struct rb_capacity_step steps[] = {
        {0, 1, 1000000},           {10 * MIN_US, 0, 9000000}, {30 * MIN_US, 1, 2000000},
        {60 * MIN_US, 0, 9000000}, {70 * MIN_US, 1, 4000000},
    };
    const struct rb_capacity zone = {"us-east-1a", "us-east-1", "t", steps, 5, 190 * MIN_US, NULL};
    const struct rb_spells s = fit(w, &zone, 1, 0.5);
    assert_int_equal(s.price.mean_uusd, (10 * 1000000 + 30 * 2000000 + INT64_C(120) * 4000000 + 159) / 160);
    assert_int_equal(s.price.p5_uusd, 1000000); // 10 of 160 minutes are more than 5 %
    assert_int_equal(s.price.p95_uusd, 4000000);
    assert_int_equal(fit(w, &zone_a, 1, 0.5).price.mean_uusd, 0); // not known
}

static void what_cannot_be_fitted_says_why(void **state)
{
    struct world *w = *state;
    static const struct rb_capacity_step up[] = {{0, 0}, {10 * MIN_US, 1}}, short_[] = {{0, 0}, {MIN_US, 1}, {2 * MIN_US, 0}},
                                         soon[] = {{0, 0}, {60000000, 1}, {80000000, 0}, {200000000, 1}};
    struct rb_spells s;
    struct rb_capacity zone = {"us-east-1a", "us-east-1", "t", up, 2, 60 * MIN_US, NULL};
    assert_false(rb_market_fit(&zone, 1, 0, 195, 1, &w->arena, &s, &w->err));
    assert_says(&w->err, "no node that came up was lost again");
    zone.steps = short_;
    zone.n_steps = 3;
    assert_false(rb_market_fit(&zone, 1, 0, 195, -1, &w->arena, &s, &w->err));
    assert_says(&w->err, "give --together");
    assert_false(rb_market_fit(&zone, 1, 0, 195, 1, &w->arena, &s, &w->err));
    assert_says(&w->err, "no spell without any");
    zone.steps = soon;
    zone.n_steps = 4;
    zone.end_us = 201000000;
    assert_false(rb_market_fit(&zone, 1, 0, 195, 1, &w->arena, &s, &w->err));
    assert_says(&w->err, "more often than the 60");
}

// ---- the file

#define HEADER "set,kind,zone,instance_type,start_min,capacity\n"
#define PRICED "set,kind,zone,instance_type,start_min,capacity,usd_per_hour\n"
#define ZONE   HEADER "s,availability,us-east-1a,t,0,1\ns,availability,us-east-1a,t,10,0\n"

static const struct rb_import_options options = {.name = "p", .capacity = {.sampled_s = 195, .has_together = true}};

static bool import(struct world *w, const char *text, const struct rb_import_options *o, struct rb_import *out)
{
    const char *path = rb_arena_printf(&w->arena, "%s/capacity.csv", w->dir);
    write_text(path, text);
    return rb_import_read(path, o, out, &w->err);
}

static void bad_tables_are_refused_with_their_line(void **state)
{
    struct world *w = *state;
    static const struct {
        const char *text, *says;
        int line;
    } cases[] = {
        {ZONE, "expected `end` in the last row", 3},
        {ZONE "s,availability,us-east-1a,t,20,end\ns,availability,us-east-1a,t,30,1\n", "in no other", 4},
        {ZONE "s,availability,us-east-1a,t,10,end\n", "expected a later minute", 4},
        {ZONE "s,probed,us-east-1a,t,20,end\n", "expected availability (probes)", 4},
        {ZONE "s,availability,us-east-1a,t,20,many\n", "expected", 4},
        {ZONE "u,availability,us-east-1a,t,20,end\n", "choose one with --set", 4},
        {PRICED "s,availability,us-east-1a,t,0,1,\n", "expected dollars an hour of one node", 2},
        {PRICED "s,availability,us-east-1a,t,0,1,0\n", "expected dollars an hour of one node", 2},
        {PRICED "s,availability,us-east-1a,t,0,1,0.5\ns,availability,us-east-1a,t,9,end,0.5\n", "expected no price", 3},
        {HEADER "s,availability,dublin,t,0,end\n", "expected `end`", 2},
        {HEADER "s,availability,Z1,t,0,1\n", "expected a zone of AWS or Google", 2},
        {HEADER "s,availability,us-east-1a,,0,1\n", "expected an instance type", 2},
        {ZONE "s,availability,us-east-1a,t,20,end\ns,availability,us-east-1b,t,0,1\ns,availability,us-east-1b,t,9,end\n"
              "s,availability,us-east-1a,t,30,1\n",
         "in one piece", 7},
    };
    for (int i = 0; i < N_OF(cases); i++) {
        struct rb_import read = {.n_rows = 42};
        if (import(w, cases[i].text, &options, &read))
            fail_msg("accepted: %s", cases[i].text);
        assert_says(&w->err, cases[i].says);
        assert_int_equal(w->err.line, cases[i].line);
        assert_int_equal(read.n_rows, 42);
    }
}

static void a_table_needs_what_it_does_not_say(void **state)
{
    struct world *w = *state;
    struct rb_import_options o = options;
    struct rb_import read;
    o.name = NULL;
    assert_false(import(w, ZONE, &o, &read));
    assert_says(&w->err, "give --name P");
    o = options;
    o.capacity.sampled_s = 0;
    assert_false(import(w, ZONE, &o, &read));
    assert_says(&w->err, "give --sampled-every S");
    o = options;
    o.capacity.set = "v100";
    assert_false(import(w, ZONE, &o, &read));
    assert_says(&w->err, "expected rows of the set \"v100\"");
}

static const char profile_text[] =
    "format: rb-profile/1\nname: p\n"
    "training: [{accelerator: V100, base_s: 30, layouts: [{gpus: 1, nodes: 1, speedup: 1}]}]\n"
    "noise: {between: 1.0, within: 1.0}\nstartup_s: 8\ncheckpoint_s: 2\n"
    "provisioning:\n"
    "  - {infra: aws/us-east-1, instance_type: \"*\", market: spot, queue_s: 20, init_s: 60, capacity_failure: 0.1}\n";

static void import_profile(struct world *w, struct rb_store *s)
{
    const char *path = rb_arena_printf(&w->arena, "%s/p.yaml", w->dir);
    struct rb_import profile;
    write_text(path, profile_text);
    assert_ok(rb_import_read(path, &(struct rb_import_options){0}, &profile, &w->err), &w->err);
    assert_ok(rb_import_store(&profile, s, 1, &w->err), &w->err);
    rb_import_finish(&profile);
}

static void markets_come_before_what_answered_for_them(void **state)
{
    struct world *w = *state;
    struct rb_store *s = open_store(w, false);
    struct rb_import table;
    struct rb_profile p;
    assert_ok(import(w,
                     ZONE "s,availability,us-east-1a,t,20,1\ns,availability,us-east-1a,t,50,0\n"
                          "s,availability,us-east-1a,t,60,end\n",
                     &options, &table),
              &w->err);
    assert_false(rb_import_store(&table, s, 1, &w->err));
    assert_says(&w->err, "no profile p was imported");
    import_profile(w, s);
    for (int round = 0; round < 2; round++) { // the second import changes nothing
        assert_ok(rb_import_store(&table, s, 1, &w->err), &w->err);
        assert_ok(rb_store_profile(s, "p", &w->arena, &p, &w->err), &w->err);
        assert_int_equal(p.n_provisioning, 2);
        assert_string_equal(p.provisioning[0].infra, "aws/us-east-1/us-east-1a");
        assert_string_equal(p.provisioning[0].instance_type, "t");
        assert_close(p.provisioning[0].capacity_failure, 0.1, 0);
        assert_close(p.provisioning[0].queue_s.mean, 20, 0);
        assert_non_null(p.provisioning[0].spells);
        assert_close(p.provisioning[0].spells->hazard.later[0].per_hour, 4, 1e-12);
        assert_null(p.provisioning[1].spells);
    }
    rb_import_finish(&table);
    assert_ok(import(w,
                     HEADER "s,availability,us-east1-b,t,0,0\ns,availability,us-east1-b,t,20,1\n"
                            "s,availability,us-east1-b,t,50,0\ns,availability,us-east1-b,t,51,1\n"
                            "s,availability,us-east1-b,t,60,end\n",
                     &options, &table),
              &w->err);
    assert_string_equal(table.markets[0].infra, "gcp/us-east1/us-east1-b");
    assert_false(rb_import_store(&table, s, 1, &w->err));
    assert_says(&w->err, "does not say how long a spot t of gcp/us-east1/us-east1-b takes to come");
    rb_import_finish(&table);
    rb_store_close(s);
}

// ---- the traces behind "Can't Be Late" (NSDI'24)

static const struct rb_spells *market_of(const struct rb_import *table, const char *infra)
{
    for (int i = 0; i < table->n_markets; i++) {
        if (strcmp(table->markets[i].infra, infra) == 0)
            return &table->markets[i].spells;
    }
    fail_msg("no market %s", infra);
    return NULL;
}

static void assert_hazard(const struct rb_spells *s, double a, double b, double c, double d)
{
    const double expected[] = {a, b, c, d};
    assert_close(s->hazard.per_hour, expected[0], 0.012); // minutes in the table are rounded
    for (int i = 0; i < 3; i++)
        assert_close(s->hazard.later[i].per_hour, expected[i + 1], 0.006);
}

static void the_traces_have_their_published_hazards(void **state)
{
    struct world *w = *state;
    struct rb_import_options o = options;
    struct rb_import table;
    if (access(TRACES, R_OK) != 0)
        skip();
    o.capacity.set = "v100-9zones-2023-02";
    assert_ok(rb_import_read(TRACES, &o, &table, &w->err), &w->err);
    assert_int_equal(table.n_markets, 9);
    const struct rb_spells *east = market_of(&table, "aws/us-east-1/us-east-1c");
    const struct rb_spells *west = market_of(&table, "aws/us-west-2/us-west-2b");
    assert_hazard(east, 1.65, 1.30, 0.56, 0.36);
    assert_hazard(west, 1.18, 0.36, 0.20, 0.05);
    assert_int_equal(east->up_s.n_values, 174);
    assert_close(east->up_s.mean / 60, 62, 3);
    assert_close(west->region_factor, 4, 0.5);
    assert_close(market_of(&table, "aws/us-east-2/us-east-2b")->region_factor, 5.9, 0.5);
    assert_true(east->region_factor < 1.9);
    rb_import_finish(&table);
}

static void in_the_traces_nodes_go_together(void **state)
{
    struct world *w = *state;
    struct rb_import_options o = options;
    struct rb_import table;
    if (access(TRACES, R_OK) != 0)
        skip();
    o.capacity = (struct rb_capacity_options){.set = "v100-16nodes-2023-08", .sampled_s = 300};
    assert_ok(rb_import_read(TRACES, &o, &table, &w->err), &w->err);
    assert_int_equal(table.n_markets, 3);
    for (int i = 0; i < 3; i++) {
        assert_true(table.markets[i].spells.together > 0.2 && table.markets[i].spells.together < 0.72);
        assert_true(table.markets[i].spells.hazard.per_hour > 0); // also where no one died so young
    }
    rb_import_finish(&table);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)
    const struct CMUnitTest tests[] = {
        TEST(losses_are_counted_over_hours_of_exposure),
        TEST(a_fall_takes_the_youngest),
        TEST(a_region_goes_together),
        TEST(prices_count_while_there_are_nodes),
        TEST(what_cannot_be_fitted_says_why),
        TEST(bad_tables_are_refused_with_their_line),
        TEST(a_table_needs_what_it_does_not_say),
        TEST(markets_come_before_what_answered_for_them),
        TEST(the_traces_have_their_published_hazards),
        TEST(in_the_traces_nodes_go_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
