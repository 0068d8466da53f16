// Prices of machines as sums of parts. The rates of 2026 in us-central1 give the prices that Google's own page shows.
#include "providers/gcp/gcp_prices.h"
#include "tests/base/check.h"

#include <stdio.h>
#include <stdlib.h>

#define SKU_AT(description, usage, regions, unit, price)                                                        \
    "{\"description\": \"" description "\", \"category\": {\"usageType\": \"" usage                             \
    "\"}, \"serviceRegions\": [" regions "], \"pricingInfo\": [{\"pricingExpression\": {\"usageUnit\": \"" unit \
    "\", \"tieredRates\": [{\"startUsageAmount\": 0, "                                                          \
    "\"unitPrice\": {\"currencyCode\": \"USD\", " price "}}]}}]}"
#define SKU(description, usage, unit, nanos) \
    SKU_AT(description, usage, "\"us-central1\", \"us-east1\"", unit, "\"units\": \"0\", \"nanos\": " nanos)
#define PAGE(skus, next) "{\"skus\": [" skus "], \"nextPageToken\": \"" next "\"}"

// What must not be taken for it stands beside each.
static const char page[] = PAGE(
    SKU("Commitment v1: A2 Cpu in Americas for 1 Year", "Commit1Yr", "h", "1") "," SKU(
        "A2 Instance Core running in Americas", "OnDemand", "h",
        "31611000") "," SKU("A2 Instance Ram running in Americas", "OnDemand", "GiBy.h",
                            "4237000") "," SKU("A2 Sole Tenancy Instance Core running in Americas", "OnDemand", "h",
                                               "2") "," SKU("DWS Calendar Mode A2 Instance Core running in Americas",
                                                            "OnDemand", "h",
                                                            "3") "," SKU_AT("A2 Instance Core running in Belgium",
                                                                            "OnDemand", "\"europe-west1\"", "h",
                                                                            "\"nanos\": 99000000") "," SKU_AT("Nvidia "
                                                                                                              "Tesla "
                                                                                                              "A100 "
                                                                                                              "GPU "
                                                                                                              "running "
                                                                                                              "in "
                                                                                                              "America"
                                                                                                              "s",
                                                                                                              "OnDeman"
                                                                                                              "d",
                                                                                                              "\"us-"
                                                                                                              "central1"
                                                                                                              "\"",
                                                                                                              "h",
                                                                                                              "\"units"
                                                                                                              "\": "
                                                                                                              "\"2\", "
                                                                                                              "\"nanos"
                                                                                                              "\": "
                                                                                                              "93390800"
                                                                                                              "0") "," SKU_AT("Nvidia Tesla A100 80GB GPU running in Americas",
                                                                                                                              "OnDemand",
                                                                                                                              "\"us-central1\"",
                                                                                                                              "h",
                                                                                                                              "\"units\": \"3\", \"nanos\": 928000000") "," SKU("Nvidia Tesla A100 GPU attached to Spot Preemptible VMs running in Americas",
                                                                                                                                                                                "Preemptible",
                                                                                                                                                                                "h",
                                                                                                                                                                                "880172400") "," SKU("Spot Preemptible A2 Instance Core running in Americas",
                                                                                                                                                                                                     "Preemptible",
                                                                                                                                                                                                     "h",
                                                                                                                                                                                                     "9484000") "," SKU("Spot Preemptible A2 Instance Ram running in Americas",
                                                                                                                                                                                                                        "Preemptible",
                                                                                                                                                                                                                        "GiBy.h",
                                                                                                                                                                                                                        "1271000"),
    "");

#define MACHINE(cpus, mib, rest)                                                                                     \
    "{\"items\": {\"zones/us-central10-a\": {\"machineTypes\": [{\"guestCpus\": 1, \"memoryMb\": 1}]}, "             \
    "\"zones/us-central1-a\": {\"warning\": {}}, \"zones/us-central1-f\": {\"machineTypes\": [{\"guestCpus\": " cpus \
    ", \"memoryMb\": " mib rest "}]}}}"
#define ONE_GPU ", \"accelerators\": [{\"guestAcceleratorType\": \"x\", \"guestAcceleratorCount\": 1}]"

static void take(struct rb_gcp_priced *p, const char *body)
{
    char next[512];
    struct rb_err err;
    if (!rb_gcp_priced_page(body, strlen(body), "us-central1", p, 1, next, &err))
        fail_msg("%s", err.message);
}

static void a_machine_is_the_sum_of_its_parts(void **state)
{
    (void)state;
    struct rb_gcp_priced p;
    struct rb_rate rate;
    const char machine[] = MACHINE("12", "87040", ONE_GPU);
    assert_true(rb_gcp_priced_begin("a2-highgpu-1g", &p, NULL));
    assert_true(rb_gcp_priced_machine(machine, strlen(machine), "us-central1", &p, NULL));
    take(&p, page);
    assert_true(rb_gcp_priced_rate(&p, RB_MARKET_ON_DEMAND, &rate, NULL));
    assert_int_equal(rate.uusd_per_hour, 3673385); // $3.673385, as on Google's page
    assert_true(rb_gcp_priced_rate(&p, RB_MARKET_SPOT, &rate, NULL));
    assert_int_equal(rate.uusd_per_hour, 1102016); // 0.8801724 + 12 x 0.009484 + 85 x 0.001271, rounded up
    assert_string_equal(p.accelerator, "A100");
    assert_int_equal(p.gpus, 1);
}

static void gpus_may_be_attached(void **state)
{
    (void)state;
    struct rb_gcp_priced p;
    struct rb_rate rate;
    const char machine[] = MACHINE("8", "30720", "");
    assert_true(rb_gcp_priced_begin("n1-standard-8+nvidia-tesla-t4:2", &p, NULL));
    assert_true(rb_gcp_priced_machine(machine, strlen(machine), "us-central1", &p, NULL));
    take(&p, PAGE(SKU("N1 Predefined Instance Core running in Americas", "OnDemand", "h", "31611000") "," SKU(
                      "N1 Predefined Instance Ram running in Americas", "OnDemand", "GiBy.h",
                      "4237000") "," SKU("Nvidia Tesla T4 GPU running in Americas", "OnDemand", "h", "350000000"),
                  ""));
    assert_true(rb_gcp_priced_rate(&p, RB_MARKET_ON_DEMAND, &rate, NULL));
    assert_int_equal(rate.uusd_per_hour, 1079998); // 8 x 0.031611 + 30 x 0.004237 + 2 x 0.35
    assert_false(rb_gcp_priced_rate(&p, RB_MARKET_SPOT, &rate, NULL));
    assert_true(rb_gcp_priced_begin("n1-standard-8", &p, NULL));
    assert_string_equal(p.accelerator, "CPU");
    assert_null(p.names[RB_GCP_GPU]);
}

static void unknown_is_never_free(void **state)
{
    (void)state;
    struct rb_gcp_priced p;
    struct rb_rate rate = {7};
    struct rb_err err;
    static const char *const types[] = {"a3-highgpu-8g", "a2-ultragpu-1g", "n1-standard-8+nvidia-tesla-k80:1",
                                        "c4-standard-8"};
    for (size_t i = 0; i < N_OF(types); i++) {
        assert_false(rb_gcp_priced_begin(types[i], &p, &err));
        assert_int_equal(err.code, RB_ERR_PRICE);
        assert_says(&err, "import a price list");
    }
    const char machine[] = MACHINE("12", "87040", ONE_GPU), no_gpu[] = MACHINE("12", "87040", "");
    assert_true(rb_gcp_priced_begin("a2-highgpu-1g", &p, NULL));
    assert_false(rb_gcp_priced_machine(no_gpu, strlen(no_gpu), "us-central1", &p, &err));
    assert_int_equal(err.code, RB_ERR_PRICE);
    assert_false(rb_gcp_priced_machine(machine, strlen(machine), "us-east1", &p, &err));
    assert_int_equal(err.code, RB_ERR_NOT_FOUND);
    assert_true(rb_gcp_priced_machine(machine, strlen(machine), "us-central1", &p, NULL));
    take(&p, PAGE(SKU("A2 Instance Core running in Americas", "OnDemand", "h", "31611000"), ""));
    assert_false(rb_gcp_priced_rate(&p, RB_MARKET_ON_DEMAND, &rate, &err));
    assert_int_equal(err.code, RB_ERR_PRICE);
    assert_says(&err, "\"A2 Instance Ram running in ...\"");
    assert_int_equal(rate.uusd_per_hour, 7); // untouched
}

static void prices_that_make_no_sense(void **state)
{
    (void)state;
#define CORE "A2 Instance Core running in Americas"
    static const char *const pages[] = {
        PAGE(SKU(CORE, "OnDemand", "h", "0"), ""),
        PAGE(SKU(CORE, "OnDemand", "mo", "31611000"), ""),
        PAGE(SKU(CORE, "OnDemand", "h", "-5"), ""),
        PAGE(SKU(CORE, "OnDemand", "h", "1000000000"), ""),
        PAGE(SKU(CORE, "OnDemand", "h", "1") "," SKU(CORE, "OnDemand", "h", "2"), ""),
        PAGE(SKU_AT(CORE, "OnDemand", "\"us-central1\"", "h", "\"units\": \"x\""), ""),
        "{\"skus\": [{\"description\": \"" CORE "\", \"category\": {\"usageType\": \"OnDemand\"}, \"serviceRegions\": "
        "[\"us-central1\"], \"pricingInfo\": []}]}",
    };
    for (size_t i = 0; i < N_OF(pages); i++) {
        struct rb_gcp_priced p;
        struct rb_err err;
        char next[512];
        assert_true(rb_gcp_priced_begin("a2-highgpu-1g", &p, NULL));
        assert_false(rb_gcp_priced_page(pages[i], strlen(pages[i]), "us-central1", &p, 1, next, &err));
        assert_int_equal(err.code, RB_ERR_PRICE);
    }
}

static void pages_have_a_next_one(void **state)
{
    (void)state;
    struct rb_gcp_priced p;
    char next[512];
    static const char body[] = PAGE("", "abc=");
    assert_true(rb_gcp_priced_begin("g2-standard-4", &p, NULL));
    assert_true(rb_gcp_priced_page(body, strlen(body), "r", &p, 1, next, NULL));
    assert_string_equal(next, "abc=");
    assert_true(rb_gcp_priced_page("{\"skus\": []}", 12, "r", &p, 1, next, NULL));
    assert_string_equal(next, "");
    struct rb_err err;
    assert_false(rb_gcp_priced_page("{}", 2, "r", &p, 1, next, &err)); // not an empty list
    assert_int_equal(err.code, RB_ERR_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_machine_is_the_sum_of_its_parts),
        cmocka_unit_test(gpus_may_be_attached),
        cmocka_unit_test(unknown_is_never_free),
        cmocka_unit_test(prices_that_make_no_sense),
        cmocka_unit_test(pages_have_a_next_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
