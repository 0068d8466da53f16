// Machines taken apart into cores, memory and GPUs: the sums are done here again, by hand, and must be the prices to the
// micro-dollar; a price list that is no sum is refused, row and all.
#include "base/arena.h"
#include "profiles/catalog/catalog.h"
#include "providers/mock/gcp/gcp_skus.h"
#include "tests/base/check.h"

#include <stdlib.h>

#define HEADER "infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour\n"

static bool take_apart(const char *rows, struct rb_arena *arena, struct rb_gcp_skus *out, struct rb_err *err)
{
    const char *text = rb_arena_printf(arena, HEADER "%s", rows);
    struct rb_csv csv;
    struct rb_catalog catalog;
    if (!rb_csv_parse(&csv, "prices", text, strlen(text), err) || !rb_catalog_from_csv(&csv, arena, &catalog, err))
        fail_msg("%s", err->message);
    const bool ok = rb_gcp_skus_of(&catalog, arena, out, err);
    rb_csv_finish(&csv);
    return ok;
}

static int64_t nanos_of(const struct rb_gcp_skus *s, const char *part, enum rb_market market)
{
    for (int i = 0; i < s->n; i++)
        if (strcmp(s->skus[i].part, part) == 0 && s->skus[i].market == market)
            return s->skus[i].nanos;
    fail_msg("no %s", part);
    return 0;
}

// Google's own prices of 2026-08 in us-central1, as their machines cost.
static void published_prices_come_back_as_they_are(void **state)
{
    (void)state;
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_gcp_skus s;
    struct rb_err err = {0};
    // 4 cores at 0.031611, 15 GiB at 0.004237 and so on: three machines say what three parts cost.
    if (!take_apart("gcp/us-central1,n1-standard-4,CPU,1,0,4,15,on_demand,0.189999\n"
                    "gcp/us-central1,n1-highmem-4,CPU,1,0,4,26,on_demand,0.236606\n"
                    "gcp/us-central1,n1-standard-8+nvidia-tesla-t4:2,T4,2,16,8,30,on_demand,1.079998\n",
                    &arena, &s, &err))
        fail_msg("%s", err.message);
    assert_int_equal(nanos_of(&s, "N1 Predefined Instance Core", RB_MARKET_ON_DEMAND), 31611000);
    assert_int_equal(nanos_of(&s, "N1 Predefined Instance Ram", RB_MARKET_ON_DEMAND), 4237000);
    assert_int_equal(nanos_of(&s, "Nvidia Tesla T4 GPU", RB_MARKET_ON_DEMAND), 350000000);
    assert_int_equal(s.n, 3);
}

static void parts_add_up_to_the_machine(void **state)
{
    (void)state;
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_gcp_skus s;
    struct rb_err err = {0};
    if (!take_apart("gcp/us-central1,a2-highgpu-1g,A100,1,40,12,85,on_demand,3.673\n"
                    "gcp/us-central1,a2-highgpu-1g,A100,1,40,12,85,spot,1.101\n"
                    "gcp/us-central1,a2-highgpu-2g,A100,2,40,24,170,on_demand,7.346\n"
                    "gcp/us-central1,g2-standard-4,L4,1,24,4,16,on_demand,0.707\n"
                    "gcp/us-central1,g2-standard-8,L4,1,24,8,32,on_demand,0.8537\n"
                    "aws/us-east-1,g5.xlarge,A10G,1,24,4,16,on_demand,1.006\n",
                    &arena, &s, &err))
        fail_msg("%s", err.message);
    const enum rb_market m = RB_MARKET_ON_DEMAND;
    const int64_t core = nanos_of(&s, "A2 Instance Core", m), ram = nanos_of(&s, "A2 Instance Ram", m),
                  gpu = nanos_of(&s, "Nvidia Tesla A100 GPU", m);
    assert_true(core > 0 && ram > 0 && gpu > 0);
    assert_int_equal((12 * core + 85 * ram + gpu + 999) / 1000, 3673000);
    assert_int_equal((24 * core + 170 * ram + 2 * gpu + 999) / 1000, 7346000);
    const int64_t g2 = nanos_of(&s, "G2 Instance Core", m), g2_ram = nanos_of(&s, "G2 Instance Ram", m),
                  l4 = nanos_of(&s, "Nvidia L4 GPU", m);
    assert_int_equal((4 * g2 + 16 * g2_ram + l4 + 999) / 1000, 707000);
    assert_int_equal((8 * g2 + 32 * g2_ram + l4 + 999) / 1000, 853700);
    const int64_t spot = 12 * nanos_of(&s, "A2 Instance Core", RB_MARKET_SPOT) +
                         85 * nanos_of(&s, "A2 Instance Ram", RB_MARKET_SPOT) +
                         nanos_of(&s, "Nvidia Tesla A100 GPU", RB_MARKET_SPOT);
    assert_int_equal((spot + 999) / 1000, 1101000);
}

static void what_is_no_sum_is_refused(void **state)
{
    (void)state;
    static const char *const lists[] = {
        // 29.39 is 29.384 to a cent: fine on a page for people, no sum of eight times the same
        "gcp/us-central1,a2-highgpu-1g,A100,1,40,12,85,on_demand,3.673\n"
        "gcp/us-central1,a2-highgpu-8g,A100,8,40,96,680,on_demand,29.39\n",
        // more memory for less money
        "gcp/us-central1,n1-standard-4,CPU,1,0,4,15,on_demand,0.2\n"
        "gcp/us-central1,n1-highmem-4,CPU,1,0,4,26,on_demand,0.1\n",
    };
    for (size_t i = 0; i < N_OF(lists); i++) {
        RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
        struct rb_gcp_skus s;
        struct rb_err err = {0};
        assert_false(take_apart(lists[i], &arena, &s, &err));
        assert_int_equal(err.code, RB_ERR_PRICE);
        assert_says(&err, "gcp/us-central1 ");
        assert_says(&err, "RB6012 is not the sum");
    }
}

static void families_without_known_parts_have_none(void **state)
{
    (void)state;
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_gcp_skus s;
    struct rb_err err;
    assert_true(take_apart("gcp/us-central1,a3-highgpu-8g,H100,8,80,208,1872,on_demand,88.49\n", &arena, &s, &err));
    assert_int_equal(s.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_prices_come_back_as_they_are),
        cmocka_unit_test(parts_add_up_to_the_machine),
        cmocka_unit_test(what_is_no_sum_is_refused),
        cmocka_unit_test(families_without_known_parts_have_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
