// Price lists: exact decimals there and back, the order, and every way a row can be wrong.
#include "check.h"

#include "profiles/catalog/catalog.h"
#include "profiles/catalog/pods.h"

#define HEADER      "infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour"
#define LONG_HEADER HEADER ",source,fetched_at\n"

struct fixture {
    struct rb_csv csv;
    struct rb_arena arena;
    struct rb_catalog catalog;
};

static bool load(struct fixture *f, const char *text, struct rb_err *err)
{
    rb_arena_init(&f->arena);
    if (!rb_csv_parse(&f->csv, "prices.csv", text, strlen(text), err))
        return false;
    const bool ok = rb_catalog_from_csv(&f->csv, &f->arena, &f->catalog, err);
    rb_csv_finish(&f->csv);
    return ok;
}

static struct fixture loaded(const char *text)
{
    struct fixture f;
    struct rb_err err = {0};
    if (!load(&f, text, &err))
        fail_msg("%s:%d: %s: %s", err.file, err.line, err.key, err.message);
    return f;
}

static void test_rows_become_offers_in_canonical_order(void **state)
{
    (void)state;
    struct fixture f =
        loaded(LONG_HEADER "mock/us-east-1,g5.xlarge,A10G,1,24,4,16,spot,0.4024,list,2026-08-01T00:00:00Z\n"
                           "aws/us-east-1,disk,,,,,,,0.0001095891,,\n"
                           "aws/us-east-1,g5.xlarge,A10G,1,24,4,16,spot,0.4,,\n"
                           "aws/us-east-1,g5.xlarge,A10G,1,24,4,16,on_demand,1.006,,\n"
                           "aws/us-east-1,g5.12xlarge,A10G,4,24,48,192,on_demand,5.6720001,,\n");
    const struct rb_offer *o = f.catalog.offers;
    assert_int_equal(f.catalog.n_offers, 4);
    assert_string_equal(o[0].instance_type, "g5.12xlarge");
    assert_int_equal(o[0].rate.uusd_per_hour, 5672001); // rounded up
    assert_int_equal(o[0].gpus, 4);
    assert_int_equal(o[1].market, RB_MARKET_ON_DEMAND);
    assert_int_equal(o[2].market, RB_MARKET_SPOT);
    assert_string_equal(o[3].infra, "mock/us-east-1");
    assert_string_equal(o[3].source, "list");
    assert_int_equal(o[3].fetched_at_us, INT64_C(1785542400000000));
    assert_int_equal(o[0].fetched_at_us, -1);
    assert_int_equal(f.catalog.n_disks, 1);
    assert_int_equal(f.catalog.disks[0].per_gb.uusd_per_hour, 110);
    rb_arena_finish(&f.arena);
}

static void test_prices_grow_old_by_market(void **state)
{
    (void)state;
    const int64_t day_us = 86400 * RB_US_PER_S, now_us = 1000 * day_us;
    struct rb_offer o = {.market = RB_MARKET_ON_DEMAND, .fetched_at_us = now_us - 30 * day_us};
    assert_false(rb_offer_is_old(&o, now_us));
    assert_true(rb_offer_is_old(&o, now_us + 1));
    o.market = RB_MARKET_SPOT;
    o.fetched_at_us = now_us - day_us;
    assert_false(rb_offer_is_old(&o, now_us));
    assert_true(rb_offer_is_old(&o, now_us + 1));
    o.declared_free = true;
    assert_false(rb_offer_is_old(&o, now_us + day_us));
    o = (struct rb_offer){.fetched_at_us = -1}; // no one knows
    assert_false(rb_offer_is_old(&o, now_us));
}

static void test_this_machine_is_added_in_its_place_once(void **state)
{
    (void)state;
    struct fixture f =
        loaded(LONG_HEADER "aws/us-east-1,a,CPU,1,0,1,1,on_demand,1,,\nmock/us-east-1,b,CPU,1,0,1,1,on_demand,1,,\n");
    rb_catalog_add_local(&f.catalog, &f.arena, "CPU", 2);
    rb_catalog_add_local(&f.catalog, &f.arena, "CPU", 64);
    assert_int_equal(f.catalog.n_offers, 3);
    assert_string_equal(f.catalog.offers[1].infra, "local");
    assert_int_equal(f.catalog.offers[1].gpus, 2);
    assert_true(f.catalog.offers[1].declared_free);
    assert_string_equal(f.catalog.offers[1].source, "declared");
    assert_string_equal(f.catalog.offers[2].infra, "mock/us-east-1");
    rb_arena_finish(&f.arena);

    struct rb_catalog empty = {0};
    struct rb_arena arena;
    rb_arena_init(&arena);
    rb_catalog_add_local(&empty, &arena, "CPU", 1);
    assert_int_equal(empty.n_offers, 1);
    rb_arena_finish(&arena);
}

static void test_disk_prices_are_those_of_the_zone_or_its_region(void **state)
{
    (void)state;
    struct fixture f =
        loaded(LONG_HEADER "aws/us-east-1,disk,,,,,,,0.0001,,\naws/us-east-1/us-east-1b,disk,,,,,,,0.0002,,\n");
    struct rb_rate rate = {7};
    struct rb_err err = {0};
    assert_true(rb_catalog_disk_rate(&f.catalog, "aws/us-east-1/us-east-1a", &rate, &err));
    assert_int_equal(rate.uusd_per_hour, 100);
    assert_true(rb_catalog_disk_rate(&f.catalog, "aws/us-east-1/us-east-1b", &rate, &err));
    assert_int_equal(rate.uusd_per_hour, 200);
    assert_true(rb_catalog_disk_rate(&f.catalog, "local", &rate, &err));
    assert_int_equal(rate.uusd_per_hour, 0);
    rate.uusd_per_hour = 7;
    assert_false(rb_catalog_disk_rate(&f.catalog, "aws/us-east-10", &rate, &err));
    assert_int_equal(rb_err_number(&err), RB_E_DISK_PRICE);
    assert_int_equal(rate.uusd_per_hour, 7);
    rb_arena_finish(&f.arena);
}

static void test_bad_rows_name_line_and_column(void **state)
{
    (void)state;
#define GOOD "aws/us-east-1,g5.xlarge,A10G,1,24,4,16,on_demand,1.006\n"
    static const struct {
        const char *text;
        int line;
        const char *key, *says;
    } cases[] = {
        {HEADER "\n", 0, "", "at least one row"},
        {"infra,instance_type\naws/us-east-1,x\n", 1, "accelerator", "required and missing"},
        {HEADER ",sauce\n", 1, "sauce", "did you mean \"source\""},
        {HEADER ",infra\n", 1, "", "named twice"},
        {HEADER "\n" GOOD "aws/us-east-1,g5.xlarge,A10G,1,24,4,16,on_demand\n", 3, "", "expected 9 cells"},
        {HEADER "\naws,g5.xlarge,A10G,1,24,4,16,on_demand,1\n", 2, "infra", "expected a region"},
        {HEADER "\naws/mars,g5.xlarge,A10G,1,24,4,16,on_demand,1\n", 2, "infra", "is not a region of aws"},
        {HEADER "\nasw/us-east-1,g5.xlarge,A10G,1,24,4,16,on_demand,1\n", 2, "infra", "did you mean \"aws\""},
        {HEADER "\naws/us-east-1,,A10G,1,24,4,16,on_demand,1\n", 2, "instance_type", "empty cell"},
        {HEADER "\naws/us-east-1,x,,1,24,4,16,on_demand,1\n", 2, "accelerator", "\"CPU\" where there is none"},
        {HEADER "\naws/us-east-1,x,A10G,0,24,4,16,on_demand,1\n", 2, "gpus", "in 1..64, got"},
        {HEADER "\naws/us-east-1,x,A10G,65,24,4,16,on_demand,1\n", 2, "gpus", "in 1..64, got"},
        {HEADER "\naws/us-east-1,x,A10G,1.5,24,4,16,on_demand,1\n", 2, "gpus", "whole number"},
        {HEADER "\naws/us-east-1,x,A10G,1,nan,4,16,on_demand,1\n", 2, "gpu_memory_gb", "got \"nan\""},
        {HEADER "\naws/us-east-1,x,A10G,1,24,inf,16,on_demand,1\n", 2, "vcpus", "expected a number"},
        {HEADER "\naws/us-east-1,x,A10G,1,24,4,-16,on_demand,1\n", 2, "memory_gb", "got \"-16\""},
        {HEADER "\naws/us-east-1,x,A10G,1,24,4,,on_demand,1\n", 2, "memory_gb", "got \"\""},
        {HEADER "\naws/us-east-1,x,A10G,1,24,4,16,ondemand,1\n", 2, "market", "did you mean \"on_demand\""},
        {HEADER "\naws/us-east-1,x,A10G,1,24,4,16,on_demand,-1\n", 2, "usd_per_hour", "may not be negative"},
        {HEADER "\naws/us-east-1,x,A10G,1,24,4,16,on_demand,nan\n", 2, "usd_per_hour", "expected a price per hour"},
        {HEADER "\naws/us-east-1,x,A10G,1,24,4,16,on_demand,\n", 2, "usd_per_hour", "expected a price per hour"},
        {HEADER "\naws/us-east-1,x,A10G,1,24,4,16,on_demand,0\n", 2, "usd_per_hour", "above 0"},
        {HEADER "\naws/us-east-1,x,A10G,1,24,4,16,on_demand,0.00\n", 2, "usd_per_hour", "above 0"},
        {HEADER "\naws/us-east-1,x,A10G,1,24,4,16,on_demand,1e3\n", 2, "usd_per_hour", "expected a price per hour"},
        {HEADER "\naws/us-east-1,x,A10G,1,24,4,16,on_demand,99999999999999999999\n", 2, "usd_per_hour", "too large"},
        {HEADER "\n" GOOD "aws/us-east-2,x,A10G,1,24,4,16,spot,1\n" GOOD, 4, "instance_type", "on line 2 already"},
        {HEADER "\naws/us-east-1,disk,,,,,,,0.1\naws/us-east-1,disk,,,,,,,0.1\n", 3, "infra", "has a price already"},
        {HEADER "\naws/us-east-1,disk,,1,,,,,0.1\n", 2, "gpus", "expected an empty cell"},
        {HEADER "\naws/us-east-1,disk,,,,,,,0\n", 2, "usd_per_hour", "above 0"},
        {LONG_HEADER "aws/us-east-1,x,A10G,1,24,4,16,on_demand,1,,yesterday\n", 2, "fetched_at", "yesterday"},
        {LONG_HEADER "aws/us-east-1,x,A10G,1,24,4,16,on_demand,1,,1969-01-01T00:00:00Z\n", 2, "fetched_at",
         "after 1970"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct fixture f = {.catalog = {.n_offers = 42}};
        struct rb_err err = {0};
        if (load(&f, cases[i].text, &err))
            fail_msg("accepted: %s", cases[i].text);
        assert_string_equal(err.file, "prices.csv");
        if (err.line != cases[i].line || strcmp(err.key, cases[i].key) != 0)
            fail_msg("%s: expected line %d %s, got line %d %s", cases[i].text, cases[i].line, cases[i].key, err.line,
                     err.key);
        assert_says(&err, cases[i].says);
        assert_int_equal(f.catalog.n_offers, 42); // untouched
        rb_arena_finish(&f.arena);
    }
}

static void test_free_only_where_declared(void **state)
{
    (void)state;
    struct fixture f = loaded(HEADER "\nlocal,local,CPU,4,0,4,16,on_demand,0\n");
    assert_true(f.catalog.offers[0].declared_free);
    rb_arena_finish(&f.arena);
    f = loaded(HEADER "\nlocal,local,CPU,4,0,4,16,on_demand,0.05\n");
    assert_false(f.catalog.offers[0].declared_free);
    rb_arena_finish(&f.arena);
    f = loaded(HEADER "\nslurm/gpu,gpu:a100:8,A100,8,40,96,1000,on_demand,0\n");
    assert_true(f.catalog.offers[0].declared_free);
    rb_arena_finish(&f.arena);
}

static void test_pods_that_the_job_prices(void **state)
{
    (void)state;
    static const struct {
        const char *type, *accelerator; // accelerator NULL: none is named
        int64_t each_uusd, rate_uusd;
        int gpus;
        const char *key, *says; // of the refusal; NULL: it is priced
    } rows[] = {
        {"gpu/4", "T4", 540000, 2160000, 4, NULL, NULL},
        {"g5.12xlarge/2", "A10G", 0, 0, 2, NULL, NULL},
        {"cpu/16", NULL, 10000, 160000, 16, NULL, NULL},
        {"g5.12xlarge", "A10G", 1, 0, 0, "resources.instance_types[0]", "RB3540 \"g5.12xlarge\": expected TYPE/GPUS"},
        {"gpu/0", "T4", 1, 0, 0, "resources.instance_types[0]", "RB3540 \"gpu/0\""},
        {"gpu/4", NULL, 1, 0, 0, "resources.accelerators", "RB3540 the one GPU that pods of k8s/lab have"},
    };
    static const char *const infra[] = {"local", "k8s/lab"};
    for (size_t i = 0; i < N_OF(rows); i++) {
        RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
        struct rb_job job = {.resources = {.infra = {infra, 2},
                                           .instance_types = {&rows[i].type, 1},
                                           .accelerators = {&rows[i].accelerator, rows[i].accelerator != NULL}}};
        struct rb_catalog c = {0};
        struct rb_err err = {0};
        assert_true(rb_catalog_add_pods(&c, &job, &arena, &err)); // the job names no price
        assert_int_equal(c.n_offers, 0);
        job.resources.kubernetes.has_price = true;
        job.resources.kubernetes.uusd_per_gpu_hour = rows[i].each_uusd;
        assert_true(rb_catalog_add_pods(&c, &job, &arena, &err) == !rows[i].says);
        if (rows[i].says) {
            assert_says(&err, rows[i].says);
            assert_string_equal(err.key, rows[i].key);
            continue;
        }
        const struct rb_offer *o = &c.offers[0];
        assert_true(c.n_offers == 1 && o->gpus == rows[i].gpus && o->rate.uusd_per_hour == rows[i].rate_uusd);
        assert_string_equal(o->accelerator, rows[i].accelerator ? rows[i].accelerator : "CPU");
        assert_true(o->declared_free == (rows[i].each_uusd == 0));
        assert_true(rb_catalog_add_pods(&c, &job, &arena, &err)); // a price list's rows win
        assert_int_equal(c.n_offers, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_become_offers_in_canonical_order),
        cmocka_unit_test(test_prices_grow_old_by_market),
        cmocka_unit_test(test_this_machine_is_added_in_its_place_once),
        cmocka_unit_test(test_disk_prices_are_those_of_the_zone_or_its_region),
        cmocka_unit_test(test_bad_rows_name_line_and_column),
        cmocka_unit_test(test_free_only_where_declared),
        cmocka_unit_test(test_pods_that_the_job_prices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
