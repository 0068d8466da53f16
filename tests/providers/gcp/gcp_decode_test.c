// Answers of the Compute Engine API: what is taken from them, and what is not believed.
#include "providers/gcp/gcp_decode.h"
#include "tests/base/check.h"

#include <stdio.h>
#include <stdlib.h>

#define NOON_US INT64_C(1767268800000000) // 2026-01-01T12:00:00Z
#define LINK    "https://www.googleapis.com/compute/v1/projects/p/zones/us-central1-a"

// As the API documents it, shortened.
static const char whole[] =
    "{\"kind\": \"compute#instance\", \"id\": \"4233720368547758075\", \"name\": \"rb-1\", \"status\": \"RUNNING\","
    "\"creationTimestamp\": \"2026-01-01T03:59:00.000-08:00\", \"lastStartTimestamp\": "
    "\"2026-01-01T04:00:00.000-08:00\","
    "\"machineType\": \"" LINK "/machineTypes/n1-standard-8\", \"zone\": \"" LINK "\","
    "\"guestAccelerators\": [{\"acceleratorType\": \"" LINK
    "/acceleratorTypes/nvidia-tesla-t4\", \"acceleratorCount\": 2}],"
    "\"networkInterfaces\": [{\"networkIP\": \"10.128.0.2\", \"accessConfigs\": [{\"natIP\": \"203.0.113.7\"}]}],"
    "\"labels\": {\"rb-run\": \"r1\", \"rb-launch\": \"l1\", \"rb-owner\": \"ann_40lab\"},"
    "\"scheduling\": {\"provisioningModel\": \"SPOT\"}}";

static void an_instance(void **state)
{
    (void)state;
    struct rb_arena arena = {0};
    struct rb_instance i;
    assert_true(rb_gcp_decode_instance(whole, strlen(whole), "us-central1", &arena, &i, NULL));
    assert_string_equal(i.id, "rb-1.us-central1-a");
    assert_string_equal(i.zone, "us-central1-a");
    assert_string_equal(i.region, "us-central1");
    assert_string_equal(i.instance_type, "n1-standard-8+nvidia-tesla-t4:2");
    assert_string_equal(i.address, "203.0.113.7");
    assert_string_equal(i.private_address, "10.128.0.2");
    assert_string_equal(i.run_id, "r1");
    assert_string_equal(i.launch_id, "l1");
    assert_string_equal(i.owner, "ann@lab");
    assert_int_equal(i.state, RB_INSTANCE_RUNNING);
    assert_int_equal(i.market, RB_MARKET_SPOT);
    assert_true(i.running_at_us == NOON_US);
    assert_true(i.terminated_at_us == -1);
    assert_null(i.token);
    assert_null(i.state_reason);
    rb_arena_finish(&arena);
}

static void markets(void **state)
{
    (void)state;
    static const struct {
        const char *affinity;
        enum rb_market market;
    } rows[] = {
        {"{\"consumeReservationType\": \"ANY_RESERVATION\"}", RB_MARKET_ON_DEMAND},
        {"{\"consumeReservationType\": \"SPECIFIC_RESERVATION\", \"values\": [\"mine\"]}", RB_MARKET_RESERVED},
    };
    for (size_t k = 0; k < N_OF(rows); k++) {
        struct rb_arena arena = {0};
        struct rb_instance i;
        const char *body = rb_arena_printf(&arena,
                                           "{\"kind\": \"compute#instance\", \"name\": \"rb-1\", \"zone\": "
                                           "\"us-central1-a\", \"status\": \"RUNNING\", \"reservationAffinity\": %s}",
                                           rows[k].affinity);
        assert_true(rb_gcp_decode_instance(body, strlen(body), "us-central1", &arena, &i, NULL));
        assert_int_equal(i.market, rows[k].market);
        rb_arena_finish(&arena);
    }
}

#define AT(status, rest)                                                                                      \
    "{\"kind\": \"compute#instance\", \"name\": \"rb-1\", \"zone\": \"us-central1-a\", \"status\": \"" status \
    "\"" rest "}"

// Stopped is not over: the disk is billed on.
static void states(void **state)
{
    (void)state;
    static const struct {
        const char *status;
        enum rb_instance_state state;
    } cases[] = {
        {"PROVISIONING", RB_INSTANCE_PENDING}, {"STAGING", RB_INSTANCE_PENDING},
        {"PENDING", RB_INSTANCE_PENDING},      {"RUNNING", RB_INSTANCE_RUNNING},
        {"STOPPING", RB_INSTANCE_STOPPING},    {"PENDING_STOP", RB_INSTANCE_STOPPING},
        {"SUSPENDING", RB_INSTANCE_STOPPING},  {"DEPROVISIONING", RB_INSTANCE_STOPPING},
        {"STOPPED", RB_INSTANCE_STOPPED},      {"TERMINATED", RB_INSTANCE_STOPPED},
        {"SUSPENDED", RB_INSTANCE_STOPPED},    {"REPAIRING", RB_INSTANCE_STOPPED},
    };
    for (size_t c = 0; c < N_OF(cases); c++) {
        char body[256];
        struct rb_arena arena = {0};
        struct rb_instance i;
        snprintf(body, sizeof body, AT("%s", ", \"creationTimestamp\": \"2026-01-01T12:00:00Z\""), cases[c].status);
        assert_true(rb_gcp_decode_instance(body, strlen(body), "us-central1", &arena, &i, NULL));
        assert_int_equal(i.state, cases[c].state);
        assert_true(i.running_at_us == (i.state == RB_INSTANCE_RUNNING ? NOON_US : -1)); // the others may never have run
        if (i.state == RB_INSTANCE_STOPPED)
            assert_string_equal(i.state_reason, cases[c].status);
        assert_null(i.address);
        assert_null(i.owner);
        assert_int_equal(i.market, RB_MARKET_ON_DEMAND);
        rb_arena_finish(&arena);
    }
}

// GPUs that are part of the type are shown too, and are no addition to it.
static void types_with_their_own_gpus(void **state)
{
    (void)state;
    struct rb_arena arena = {0};
    struct rb_instance i;
    static const char body[] =
        AT("RUNNING", ", \"machineType\": \"x/machineTypes/a2-highgpu-1g\", \"guestAccelerators\": "
                      "[{\"acceleratorType\": \"x/nvidia-tesla-a100\", \"acceleratorCount\": 1}]");
    assert_true(rb_gcp_decode_instance(body, strlen(body), "us-central1", &arena, &i, NULL));
    assert_string_equal(i.instance_type, "a2-highgpu-1g");
    rb_arena_finish(&arena);
}

static void what_is_not_believed(void **state)
{
    (void)state;
    static const struct {
        const char *body, *reason;
    } cases[] = {
        {"", "the document is empty"},
        {"{}", "kind: expected compute#instance"},
        {"{\"kind\": \"compute#operation\"}", "kind"},
        {"{\"kind\": \"compute#instance\"}", "name"},
        {"{\"kind\": \"compute#instance\", \"name\": \"rb-1\"}", "zone"},
        {"{\"kind\": \"compute#instance\", \"name\": \"-oProxyCommand=x\", \"zone\": \"z\", \"status\": \"RUNNING\"}",
         "name"},
        {"{\"kind\": \"compute#instance\", \"name\": \"a/../b\", \"zone\": \"z\", \"status\": \"RUNNING\"}", "name"},
        {"{\"kind\": \"compute#instance\", \"name\": \"rb-1\", \"zone\": \"z z\", \"status\": \"RUNNING\"}", "name"},
        {AT("", ""), "status"},
        {AT("GONE", ""), "status"},
        {AT("RUNNING", ", \"networkInterfaces\": [{\"networkIP\": \"$(reboot)\"}]"), "networkIP"},
        {AT("RUNNING", ", \"networkInterfaces\": [{\"accessConfigs\": [{\"natIP\": \"evil.example.com\"}]}]"), "natIP"},
        {AT("RUNNING", ", \"lastStartTimestamp\": \"yesterday\""), "lastStartTimestamp"},
    };
    for (size_t c = 0; c < N_OF(cases); c++) {
        struct rb_arena arena = {0};
        struct rb_instance i;
        struct rb_err err = {0};
        assert_false(rb_gcp_decode_instance(cases[c].body, strlen(cases[c].body), "r", &arena, &i, &err));
        assert_int_equal(err.code, RB_ERR_IO);
        assert_says(&err, cases[c].reason);
        rb_arena_finish(&arena);
    }
}

// An answer that broke off anywhere is no answer.
static void no_beginning_of_an_answer_is_one(void **state)
{
    (void)state;
    for (size_t n = 0; n < sizeof whole - 1; n++) {
        struct rb_arena arena = {0};
        struct rb_instance i;
        assert_false(rb_gcp_decode_instance(whole, n, "us-central1", &arena, &i, NULL));
        rb_arena_finish(&arena);
    }
}

static void operations(void **state)
{
    (void)state;
    static const struct {
        const char *rest;
        enum rb_gcp_progress progress;
    } cases[] = {
        {"\"status\": \"PENDING\"", RB_GCP_UNDER_WAY},
        {"\"status\": \"RUNNING\", \"progress\": 50", RB_GCP_UNDER_WAY},
        {"\"status\": \"DONE\", \"progress\": 100", RB_GCP_DONE},
        {"\"status\": \"DONE\", \"error\": {\"errors\": [{\"code\": \"QUOTA_EXCEEDED\"}]}", RB_GCP_FAILED},
        {"\"status\": \"DONE\", \"httpErrorStatusCode\": 400", RB_GCP_FAILED},
        {"\"status\": \"DONE\", \"error\": {\"errors\": [{\"code\": \"INTERNAL_ERROR\"}]}", RB_GCP_UNSETTLED},
    };
    for (size_t c = 0; c < N_OF(cases); c++) {
        char body[256];
        struct rb_arena arena = {0};
        struct rb_gcp_operation o;
        snprintf(body, sizeof body, "{\"kind\": \"compute#operation\", \"name\": \"operation-1\", %s}", cases[c].rest);
        assert_true(rb_gcp_decode_operation(body, strlen(body), &arena, &o, NULL));
        assert_int_equal(o.progress, cases[c].progress);
        assert_string_equal(o.name, "operation-1");
        rb_arena_finish(&arena);
    }
    static const char *const bad[] = {"{}", "{\"kind\": \"compute#operation\", \"name\": \"o\"}",
                                      "{\"kind\": \"compute#operation\", \"name\": \"o\", \"status\": \"ABORTED\"}",
                                      "{\"kind\": \"compute#operation\", \"name\": \"a/b\", \"status\": \"DONE\"}"};
    for (size_t c = 0; c < N_OF(bad); c++) {
        struct rb_arena arena = {0};
        struct rb_gcp_operation o;
        assert_false(rb_gcp_decode_operation(bad[c], strlen(bad[c]), &arena, &o, NULL));
        rb_arena_finish(&arena);
    }
}

static void zones_that_sell_a_type(void **state)
{
    (void)state;
    static const char body[] = "{\"kind\": \"compute#machineTypeAggregatedList\", \"items\": {"
                               "\"zones/us-central1-f\": {\"machineTypes\": [{\"name\": \"x\"}]},"
                               "\"zones/us-central1-b\": {\"machineTypes\": [{\"name\": \"x\"}]},"
                               "\"zones/us-central1-c\": {\"warning\": {\"code\": \"NO_RESULTS_ON_PAGE\"}},"
                               "\"zones/us-central10-a\": {\"machineTypes\": [{\"name\": \"x\"}]}," // another region
                               "\"global\": {\"machineTypes\": [{\"name\": \"x\"}]}}}";
    struct rb_arena arena = {0};
    struct rb_gcp_zones z;
    assert_true(rb_gcp_decode_sold(body, strlen(body), "us-central1", &arena, &z, NULL));
    assert_int_equal(z.n, 2);
    assert_string_equal(z.zones[0], "us-central1-b");
    assert_string_equal(z.zones[1], "us-central1-f");
    assert_true(z.complete);
    assert_false(rb_gcp_decode_sold("{\"kind\": \"x\"}", 13, "us-central1", &arena, &z, NULL));
    rb_arena_finish(&arena);
}

static const char reserved_form[] =
    "{\"kind\": \"compute#reservationAggregatedList\", %s \"items\": {"
    "\"zones/us-central1-a\": {\"reservations\": ["
    "{\"name\": \"named\", \"zone\": \"https://x/zones/us-central1-a\", \"status\": \"READY\", "
    "\"specificReservationRequired\": true, \"deleteAtTime\": \"2026-01-01T12:00:07.000Z\", "
    "\"specificReservation\": {\"count\": \"%s\", \"inUseCount\": \"1\", \"instanceProperties\": {"
    "\"machineType\": \"n1-standard-8\", \"guestAccelerators\": [{\"acceleratorType\": \"nvidia-tesla-t4\", "
    "\"acceleratorCount\": 2}]}}},"
    "{\"name\": \"open\", \"zone\": \"z/us-central1-a\", \"status\": \"READY\", \"specificReservationRequired\": false, "
    "\"specificReservation\": {\"count\": \"5\", \"instanceProperties\": {\"machineType\": \"g2-standard-4\"}}},"
    "{\"name\": \"coming\", \"zone\": \"z/us-central1-a\", \"status\": \"CREATING\", \"specificReservationRequired\": true, "
    "\"specificReservation\": {\"count\": \"5\", \"instanceProperties\": {\"machineType\": \"g2-standard-4\"}}},"
    "{\"name\": \"tpus\", \"zone\": \"z/us-central1-a\", \"status\": \"READY\", \"specificReservationRequired\": true, "
    "\"aggregateReservation\": {}}]},"
    "\"zones/us-central1-b\": {\"warning\": {\"code\": \"%s\"}},"
    "\"zones/us-east1-b\": {\"reservations\": [{\"name\": \"elsewhere\"}]}}}";

// Only what can be named is free: a reservation that must be named, and is ready.
static void reservations(void **state)
{
    (void)state;
    struct rb_arena arena = {0};
    struct rb_reservation_page page;
    struct rb_err err;
    const char *body = rb_arena_printf(&arena, reserved_form, "\"nextPageToken\": \"t\",", "4", "NO_RESULTS_ON_PAGE");
    assert_true(rb_gcp_decode_reservations(body, strlen(body), "us-central1", &arena, &page, &err));
    assert_int_equal(page.n, 4);
    assert_string_equal(page.next_page, "t");
    assert_false(page.incomplete);
    const struct rb_reservation *r = page.reservations;
    assert_string_equal(r[0].id, "named");
    assert_string_equal(r[0].infra, "gcp/us-central1/us-central1-a");
    assert_string_equal(r[0].instance_type, "n1-standard-8+nvidia-tesla-t4:2");
    assert_int_equal(r[0].count, 3); // what no machine uses
    assert_int_equal(r[0].starts_at_us, -1);
    assert_int_equal(r[0].ends_at_us, INT64_C(1767268807000000));
    for (int i = 1; i < 4; i++)
        assert_int_equal(r[i].count, 0);
    assert_int_equal(r[1].ends_at_us, -1);

    body = rb_arena_printf(&arena, reserved_form, "", "4", "UNREACHABLE");
    assert_true(rb_gcp_decode_reservations(body, strlen(body), "us-central1", &arena, &page, &err));
    assert_true(page.incomplete);
    assert_null(page.next_page);
    body = rb_arena_printf(&arena, reserved_form, "", "many", "UNREACHABLE");
    assert_false(rb_gcp_decode_reservations(body, strlen(body), "us-central1", &arena, &page, &err));
    assert_says(&err, "named: answer: count: expected a number of machines");
    rb_arena_finish(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_instance),
        cmocka_unit_test(markets), cmocka_unit_test(states),
        cmocka_unit_test(types_with_their_own_gpus),
        cmocka_unit_test(what_is_not_believed),
        cmocka_unit_test(no_beginning_of_an_answer_is_one),
        cmocka_unit_test(operations),
        cmocka_unit_test(zones_that_sell_a_type),
        cmocka_unit_test(reservations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
