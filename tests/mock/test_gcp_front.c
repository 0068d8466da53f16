// The Compute Engine front without sockets, in virtual time: every request here is answered and read back as JSON.
#include "base/document/doc.h"
#include "clouds.h"
#include "providers/mock/gcp/mock_gcp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define INSTANCES "zones/us-central1-a/instances"
#define UUID_1    "00000000-0000-4000-8000-000000000001"
#define UUID_2    "00000000-0000-4000-8000-000000000002"

static struct rb_arena arena;
static struct rb_cloud_config config;
static struct rb_cloud *cloud;
static struct rb_mock_gcp *gcp;
static int64_t now_us;
static int status; // of the last answer
static struct rb_doc answer_doc;
static struct rb_exchange_answer answer;

static const char prices[] = "infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour\n"
                             "gcp/us-central1,g2-standard-4,L4,1,24,4,16,on_demand,0.707\n"
                             "gcp/us-central1,g2-standard-4,L4,1,24,4,16,spot,0.397\n"
                             "gcp/us-central1,n1-standard-8,CPU,1,0,8,30,on_demand,0.38\n"
                             "gcp/us-central1,n1-standard-8+nvidia-tesla-t4:2,T4,2,16,8,30,on_demand,1.08\n"
                             "gcp/us-central1/us-central1-b,a2-highgpu-1g,A100,1,40,12,85,on_demand,3.673\n"
                             "gcp/us-central1,disk,,,,,,,0.00014\n"
                             "aws/us-east-1,g5.xlarge,A10G,1,22.35,4,16,on_demand,1.006\n";

static void begin(const char *extra, const char *chaos)
{
    struct rb_err err;
    rb_arena_init(&arena);
    const char *yaml = rb_arena_printf(&arena,
                                       "format: rb-mock/1\nprices: prices.csv\nprovisioning:\n"
                                       "  - {infra: \"*\", instance_type: \"*\", market: \"*\", queue_s: 5.0, init_s: "
                                       "3.0, capacity_failure: 0.0}\n%s",
                                       extra);
    if (!rb_cloud_config_parse("cloud.yaml", yaml, prices, NULL, &arena, &config, &err))
        fail_msg("%s: %s", err.key, err.message);
    config.chaos = (struct rb_chaos_rules){0};
    if (*chaos && !rb_chaos_parse("chaos.yaml", chaos, strlen(chaos), &arena, &config.chaos, &err))
        fail_msg("%s: %s", err.key, err.message);
    config.seed = 1;
    config.epoch_us = T0;
    config.first_address = 0x7f010002;
    config.n_addresses = 1000;
    cloud = rb_cloud_create(&config);
    gcp = rb_mock_gcp_create(cloud, NULL, "test");
    now_us = T0;
    answer_doc = (struct rb_doc){0};
    answer = (struct rb_exchange_answer){0};
}

static int teardown(void **state)
{
    (void)state;
    rb_doc_finish(&answer_doc);
    rb_buf_finish(&answer.body);
    rb_mock_gcp_destroy(gcp);
    rb_cloud_destroy(cloud);
    rb_arena_finish(&arena);
    return 0;
}

static const struct rb_node *exchange(const char *method, const char *path, const char *query, const char *body,
                                      const char *token)
{
    const struct rb_sigv4_header headers[] = {{"Authorization", rb_arena_printf(&arena, "Bearer %s", token)}};
    const struct rb_exchange_request r = {.method = method,
                                          .path = rb_arena_printf(&arena, "/compute/v1/projects/%s", path),
                                          .query = query,
                                          .headers = headers,
                                          .n_headers = 1,
                                          .body = body,
                                          .body_len = strlen(body)};
    struct rb_err err;
    rb_doc_finish(&answer_doc);
    rb_buf_finish(&answer.body);
    answer_doc = (struct rb_doc){0};
    answer = (struct rb_exchange_answer){0};
    rb_mock_gcp_answer(gcp, &r, now_us, now_us, &answer);
    status = answer.status;
    if (answer.delivery == RB_EXCHANGE_RESET)
        return NULL;
    if (!rb_doc_parse_json(&answer_doc, "answer", rb_buf_str(&answer.body), answer.body.len, &err))
        fail_msg("not JSON (%s): %s", err.message, rb_buf_str(&answer.body));
    return answer_doc.root;
}

static const struct rb_node *ask(const char *method, const char *path, const char *query, const char *body)
{
    return exchange(method, rb_arena_printf(&arena, "test%s%s", *path ? "/" : "", path), query, body, "test");
}

static const struct rb_node *get(const char *path, const char *query)
{
    return ask("GET", path, query, "");
}

// A.B.0.C of an answer; NULL: not there.
static const struct rb_node *node_at(const struct rb_node *node, const char *path)
{
    while (node && *path) {
        size_t n = strcspn(path, ".");
        const struct rb_node *child = node->first;
        while (child &&
               (child->key ? strlen(child->key) != n || strncmp(child->key, path, n) != 0 : child->index != atoi(path)))
            child = child->next;
        node = child;
        path += n + (path[n] == '.');
    }
    return node;
}

static const char *text_at(const struct rb_node *node, const char *path)
{
    const struct rb_node *found = node_at(node, path);
    return found ? found->text : "(none)";
}

static void expect_refusal(const struct rb_node *root, int http_status, const char *reason, const char *words)
{
    const char *got = text_at(root, "error.errors.0.reason"), *message = text_at(root, "error.message");
    if (status != http_status || strcmp(got, reason) != 0 || !strstr(message, words))
        fail_msg("expected %d %s (%s), got %d: %s", http_status, reason, words, status, rb_buf_str(&answer.body));
    assert_int_equal(node_at(root, "error.code")->integer, http_status);
}

// --- bodies ---

#define DISKS                                                                              \
    "\"disks\":[{\"boot\":true,\"autoDelete\":true,\"initializeParams\":{\"sourceImage\":" \
    "\"projects/rbmock/global/images/rbmock-linux\"}}]"
#define NETWORK   "\"networkInterfaces\":[{\"network\":\"global/networks/default\"}]"
#define ON_DEMAND "\"scheduling\":{\"onHostMaintenance\":\"TERMINATE\"}"
#define SPOT      "\"scheduling\":{\"provisioningModel\":\"SPOT\",\"instanceTerminationAction\":\"DELETE\"}"

static const char *body_of(const char *name, const char *type, const char *more)
{
    return rb_arena_printf(
        &arena, "{\"name\":\"%s\",\"machineType\":\"zones/us-central1-a/machineTypes/%s\"," DISKS "," NETWORK ",%s}",
        name, type, more);
}

static const struct rb_node *insert(const char *name, const char *more)
{
    return ask("POST", INSTANCES, "", body_of(name, "g2-standard-4", more));
}

static const char *insert_ok(const char *name, const char *more)
{
    const struct rb_node *o = insert(name, more);
    if (status != 200)
        fail_msg("%s", rb_buf_str(&answer.body));
    return rb_arena_strdup(&arena, text_at(o, "name"));
}

static const struct rb_node *operation(const char *name)
{
    return ask("POST", rb_arena_printf(&arena, "zones/us-central1-a/operations/%s/wait", name), "", "");
}

// --- tests ---

static void an_instance_lives_and_ends(void **state)
{
    (void)state;
    begin("", "");
    const char *o = insert_ok("rb-1", ON_DEMAND ",\"labels\":{\"rb-run\":\"r1\"}");
    assert_string_equal(text_at(answer_doc.root, "status"), "PENDING");
    assert_string_equal(text_at(get(INSTANCES "/rb-1", ""), "status"), "PROVISIONING");
    now_us = T0 + 2 * S;
    assert_string_equal(text_at(operation(o), "status"), "RUNNING");
    assert_string_equal(text_at(get(INSTANCES "/rb-1", ""), "status"), "STAGING");
    now_us = T0 + 5 * S;
    const struct rb_node *done = operation(o);
    assert_string_equal(text_at(done, "status"), "DONE");
    assert_null(node_at(done, "error"));
    assert_string_equal(text_at(done, "endTime"), "2025-12-31T17:00:05.000-07:00");
    const struct rb_node *i = get(INSTANCES "/rb-1", "");
    assert_string_equal(text_at(i, "status"), "RUNNING");
    assert_string_equal(text_at(i, "labels.rb-run"), "r1");
    assert_string_equal(text_at(i, "networkInterfaces.0.networkIP"), "127.1.0.2");

    now_us = T0 + 70 * S + 250000; // the end that the client learns, in three ways, is the one that is billed
    const struct rb_node *deletion = ask("DELETE", INSTANCES "/rb-1", "requestId=" UUID_1, "");
    const char *end = rb_arena_strdup(&arena, text_at(deletion, "name"));
    assert_string_equal(text_at(deletion, "insertTime"), "2025-12-31T17:01:10.250-07:00");
    assert_string_equal(text_at(get(INSTANCES "/rb-1", ""), "lastStopTimestamp"), "2025-12-31T17:01:10.250-07:00");
    assert_int_equal(rb_cloud_instance(cloud, 0)->ended_us, now_us);
    assert_int_equal(rb_cloud_bill(rb_cloud_instance(cloud, 0), now_us).billed_s, 66);
    assert_string_equal(text_at(get(INSTANCES "/rb-1", ""), "status"), "STOPPING");
    expect_refusal(insert("rb-1", ON_DEMAND), 409, "alreadyExists", "rb-1"); // the name is not free yet
    now_us += S;
    rb_cloud_advance(cloud, now_us);
    rb_cloud_node_gone(cloud, rb_cloud_instance(cloud, 0), now_us); // it booted at 8 s
    assert_string_equal(text_at(operation(end), "status"), "DONE");
    expect_refusal(get(INSTANCES "/rb-1", ""), 404, "notFound", "instances/rb-1");
    insert_ok("rb-1", ON_DEMAND);
}

static void a_request_id_means_one_request(void **state)
{
    (void)state;
    begin("", "");
    const char *body = body_of("rb-1", "g2-standard-4", ON_DEMAND),
               *other = body_of("rb-2", "g2-standard-4", ON_DEMAND);
    const char *first = rb_arena_strdup(&arena, text_at(ask("POST", INSTANCES, "requestId=" UUID_1, body), "name"));
    assert_string_equal(text_at(ask("POST", INSTANCES, "requestId=" UUID_1, body), "name"), first);
    assert_int_equal(rb_cloud_n_instances(cloud), 1);
    expect_refusal(ask("POST", INSTANCES, "requestId=" UUID_1, other), 400, "invalid", "requestId");
    expect_refusal(ask("POST", INSTANCES, "requestId=" UUID_2, body), 409, "alreadyExists", "rb-1");
    expect_refusal(ask("POST", INSTANCES, "requestId=1", body), 400, "invalid", "UUID");
    expect_refusal(ask("POST", INSTANCES, "requestId=00000000-0000-0000-0000-000000000000", body), 400, "invalid",
                   "not be zero");
    now_us += 3601 * S; // by then it is forgotten, and the name alone protects
    expect_refusal(ask("POST", INSTANCES, "requestId=" UUID_1, body), 409, "alreadyExists", "rb-1");
    assert_int_equal(rb_cloud_n_instances(cloud), 1);
}

static void nonsense_is_refused_by_field(void **state)
{
    (void)state;
    static const char *const rows[][3] = {
        {"g2-standard-4", ON_DEMAND ",\"colour\":1", "resource.colour"},
        {"g2-standard-4", "\"scheduling\":{}", "live migration"},
        {"g2-standard-4", SPOT ",\"labels\":{\"Run\":\"r\"}", "labels.Run"},
        {"g2-standard-4", "\"scheduling\":{\"provisioningModel\":\"SPOT\",\"automaticRestart\":true}", "restart"},
        {"g2-standard-4",
         "\"scheduling\":{\"onHostMaintenance\":\"TERMINATE\",\"maxRunDuration\":{\"seconds\":\"60\"}}",
         "instanceTerminationAction"},
        {"g2-standard-4", "\"scheduling\":{\"maxRunDuration\":{\"seconds\":\"29\"}}", "maxRunDuration.seconds"},
        {"g2-standard-4", "\"scheduling\":{\"maxRunDuration\":{\"seconds\":\"\"}}", "maxRunDuration.seconds"},
        {"g2-standard-4", ON_DEMAND ",\"deletionProtection\":true", "deletionProtection"},
        {"g2-standard-4", ON_DEMAND ",\"metadata\":{\"items\":[{\"key\":\"a\"},{\"key\":\"a\"}]}", "duplicate"},
        {"g2-standard-4",
         ON_DEMAND ",\"metadata\":{\"items\":[{\"key\":\"user-data\",\"value\":\"x\"},{\"key\":"
                   "\"startup-script\",\"value\":\"y\"}]}",
         "either"},
        {"g2-standard-4",
         ON_DEMAND ",\"guestAccelerators\":[{\"acceleratorType\":\"zones/us-central1-a/acceleratorTypes/"
                   "nvidia-l4\",\"acceleratorCount\":1}]",
         "guest accelerators"},
        {"n1-standard-8",
         ON_DEMAND ",\"guestAccelerators\":[{\"acceleratorType\":\"zones/us-central1-a/acceleratorTypes/"
                   "nvidia-tesla-t4\",\"acceleratorCount\":1}]",
         "machineType"},                             // sold with two
        {"a2-highgpu-1g", ON_DEMAND, "machineType"}, // another zone
        {"n1-standard-8", SPOT, "machineType"},      // not as spot
    };
    begin("", "");
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        expect_refusal(ask("POST", INSTANCES, "", body_of("rb-1", rows[k][0], rows[k][1])), 400, "invalid", rows[k][2]);
    expect_refusal(insert("Rb", ON_DEMAND), 400, "invalid", "resource.name");
    expect_refusal(ask("POST", INSTANCES, "", "{"), 400, "parseError", "JSON");
    expect_refusal(ask("POST", INSTANCES, "", "[]"), 400, "invalid", "");
    expect_refusal(ask("POST", "zones/us-central1-z/instances", "", "{}"), 400, "invalid", "zone");
    expect_refusal(exchange("GET", "other/zones", "", "", "test"), 404, "notFound", "projects/other");
    expect_refusal(exchange("GET", "test/zones", "", "", "someone"), 401, "authError", "credential");
    expect_refusal(get("zones", "colour=red"), 400, "badRequest", "colour");
    expect_refusal(get("flowers", ""), 404, "notFound", "flowers");
    expect_refusal(ask("DELETE", "zones", "", ""), 405, "httpMethodNotAllowed", "zones");
    assert_int_equal(rb_cloud_n_instances(cloud), 0);
}

// A disk that does not go with its instance costs money for ever.
static void a_disk_that_would_stay_is_refused(void **state)
{
    (void)state;
    begin("", "");
    static const char body[] =
        "{\"name\":\"rb-1\",\"machineType\":\"zones/us-central1-a/machineTypes/g2-standard-4\"," NETWORK "," ON_DEMAND
        ",\"disks\":[{\"boot\":true,\"initializeParams\":{\"sourceImage\":"
        "\"projects/rbmock/global/images/rbmock-linux\"}}]}";
    expect_refusal(ask("POST", INSTANCES, "", body), 400, "invalid", "autoDelete");
}

static void guest_accelerators_are_part_of_the_offer(void **state)
{
    (void)state;
    begin("", "");
    ask("POST", INSTANCES, "",
        body_of("with", "n1-standard-8",
                ON_DEMAND ",\"guestAccelerators\":[{\"acceleratorType\":\"zones/us-central1-a/acceleratorTypes/"
                          "nvidia-tesla-t4\",\"acceleratorCount\":2}]"));
    assert_int_equal(status, 200);
    ask("POST", INSTANCES, "", body_of("without", "n1-standard-8", ON_DEMAND));
    assert_int_equal(status, 200);
    assert_string_equal(rb_cloud_instance(cloud, 0)->offer->instance_type, "n1-standard-8+nvidia-tesla-t4:2");
    assert_string_equal(rb_cloud_instance(cloud, 1)->offer->instance_type, "n1-standard-8");
}

static void no_machine_is_an_error_of_the_operation(void **state)
{
    (void)state;
    begin("pools: [{instance_type: g2-standard-4, market: on_demand, steps: [{after_s: 0, max: 0}]}]\n",
          "format: rb-chaos/1\nrules: [{what: {fails_to_start: {code: UNSUPPORTED_OPERATION}}, where: {market: "
          "spot}}]\n");
    const char *at_once = insert_ok("rb-1", ON_DEMAND), *later = insert_ok("rb-2", SPOT);
    assert_string_equal(text_at(get(INSTANCES "/rb-1", ""), "status"), "PROVISIONING");
    now_us = T0 + 60 * S;
    assert_string_equal(text_at(operation(at_once), "error.errors.0.code"), "ZONE_RESOURCE_POOL_EXHAUSTED");
    assert_string_equal(text_at(operation(later), "error.errors.0.code"), "UNSUPPORTED_OPERATION");
    assert_int_equal(node_at(operation(later), "httpErrorStatusCode")->integer, 503);
    expect_refusal(get(INSTANCES "/rb-1", ""), 404, "notFound", "rb-1");
    expect_refusal(get(INSTANCES "/rb-2", ""), 404, "notFound", "rb-2");
}

#define INTO(name)                                                                                          \
    ON_DEMAND ",\"reservationAffinity\":{\"consumeReservationType\":\"SPECIFIC_RESERVATION\","              \
              "\"key\":\"compute.googleapis.com/reservation-name\",\"values\":[\"" name "\"]}"

static void reservations_hold_what_names_them(void **state)
{
    (void)state;
    begin("reservations: [{id: mine, zone: us-central1-a, instance_type: g2-standard-4, count: 1, end_after_s: 7200}]\n", "");
    insert_ok("rb-1", INTO("projects/test/reservations/mine"));
    assert_string_equal(rb_cloud_instance(cloud, 0)->reserved->id, "mine");
    now_us = T0 + 60 * S;
    assert_string_equal(text_at(get(INSTANCES "/rb-1", ""), "reservationAffinity.consumeReservationType"),
                        "SPECIFIC_RESERVATION");
    expect_refusal(ask("POST", INSTANCES, "", body_of("rb-2", "g2-standard-4", INTO("mine"))), 400, "invalid",
                   "does not have available resources for the request");
    expect_refusal(ask("POST", INSTANCES, "", body_of("rb-2", "g2-standard-4", INTO("other"))), 400, "invalid",
                   "do not exist");
    const struct rb_node *listed = get("zones/us-central1-a/reservations", "");
    assert_int_equal(node_at(listed, "items")->n_children, 1);
    assert_string_equal(text_at(listed, "items.0.specificReservation.inUseCount"), "1");
    assert_string_equal(text_at(get("zones/us-central1-a/reservations/mine", ""), "status"), "READY");
    now_us = T0 + 7200 * S; // it is deleted; the machine stays, on demand
    rb_cloud_advance(cloud, now_us);
    expect_refusal(get("zones/us-central1-a/reservations/mine", ""), 404, "notFound", "mine");
    assert_int_equal(rb_cloud_bill(rb_cloud_instance(cloud, 0), now_us).total_uusd, 0);
    assert_true(rb_cloud_bill(rb_cloud_instance(cloud, 0), now_us + 3600 * S).total_uusd > 0);
}

// --- bulkInsert

static const char *bulk_of(const char *head, const char *type, const char *more)
{
    return rb_arena_printf(&arena,
                           "{%s,\"instanceProperties\":{\"machineType\":\"%s\"," DISKS "," NETWORK "," ON_DEMAND "%s}}",
                           head, type, more);
}

#define TWO "\"count\":\"2\",\"minCount\":\"2\",\"perInstanceProperties\":{\"rb-0\":{},\"rb-1\":{}}"

static const struct rb_node *bulk(const char *place, const char *query, const char *body)
{
    return ask("POST", rb_arena_printf(&arena, "%s/instances/bulkInsert", place), query, body);
}

static void a_bulk_is_one_operation_and_several_machines(void **state)
{
    (void)state;
    begin("", "");
    const char *body = bulk_of(TWO, "g2-standard-4", ",\"labels\":{\"rb-run\":\"r1\"}");
    const char *o = rb_arena_strdup(&arena, text_at(bulk("zones/us-central1-a", "requestId=" UUID_1, body), "name"));
    if (status != 200)
        fail_msg("%s", rb_buf_str(&answer.body));
    assert_string_equal(text_at(answer_doc.root, "operationType"), "bulkInsert");
    assert_string_equal(text_at(bulk("zones/us-central1-a", "requestId=" UUID_1, body), "name"), o);
    assert_int_equal(rb_cloud_n_instances(cloud), 2);
    assert_string_equal(text_at(get(INSTANCES "/rb-1", ""), "labels.rb-run"), "r1");
    now_us = T0 + 6 * S;
    const struct rb_node *done = operation(o);
    assert_string_equal(text_at(done, "status"), "DONE");
    assert_null(node_at(done, "error"));
    const struct rb_node *zone =
        node_at(done, "instancesBulkInsertOperationMetadata.perLocationStatus.zones/us-central1-a");
    assert_int_equal(node_at(zone, "createdVmCount")->integer, 2);
    const char *group = rb_arena_strdup(&arena, text_at(done, "operationGroupId"));
    const struct rb_node *all = get("zones/us-central1-a/operations", "");
    assert_int_equal(node_at(all, "items")->n_children, 3); // each machine's own insert besides
    for (int k = 0; k < 3; k++)
        assert_string_equal(text_at(node_at(all, rb_arena_printf(&arena, "items.%d", k)), "operationGroupId"), group);
    assert_string_equal(rb_cloud_instance(cloud, 0)->name, "rb-0");
    assert_string_equal(rb_cloud_instance(cloud, 1)->name, "rb-1");
    expect_refusal(bulk("zones/us-central1-a", "requestId=" UUID_2, body), 409, "alreadyExists", "rb-0");
}

// Room for one of two: none is made. Where one is enough, one is.
static void a_bulk_is_filled_as_far_as_its_least_allows(void **state)
{
    (void)state;
    static const char some[] = "\"count\":3,\"minCount\":1,\"namePattern\":\"vm-##\"";
    begin("pools: [{instance_type: g2-standard-4, steps: [{after_s: 0, max: 1}]}]\n", "");
    const char *none =
        rb_arena_strdup(&arena, text_at(bulk("zones/us-central1-a", "", bulk_of(TWO, "g2-standard-4", "")), "name"));
    assert_int_equal(rb_cloud_n_instances(cloud), 0);
    const char *one =
        rb_arena_strdup(&arena, text_at(bulk("zones/us-central1-a", "", bulk_of(some, "g2-standard-4", "")), "name"));
    assert_int_equal(rb_cloud_n_instances(cloud), 1);
    now_us = T0 + 60 * S;
    assert_string_equal(text_at(operation(none), "error.errors.0.code"), "VM_MIN_COUNT_NOT_REACHED");
    expect_refusal(get(INSTANCES "/rb-0", ""), 404, "notFound", "rb-0");
    assert_null(node_at(operation(one), "error"));
    assert_string_equal(text_at(get(INSTANCES "/vm-01", ""), "status"), "RUNNING");
    expect_refusal(get(INSTANCES "/vm-02", ""), 404, "notFound", "vm-02");
}

// One finds no machine after all: what was begun of the others is taken back, and nothing is billed.
static void a_bulk_that_fails_late_leaves_nothing(void **state)
{
    (void)state;
    begin("", "format: rb-chaos/1\nrules: [{what: {fails_to_start: {}}, times: 1}]\n");
    const char *o =
        rb_arena_strdup(&arena, text_at(bulk("zones/us-central1-a", "", bulk_of(TWO, "g2-standard-4", "")), "name"));
    assert_int_equal(rb_cloud_n_instances(cloud), 2);
    now_us = T0 + 60 * S;
    assert_string_equal(text_at(operation(o), "error.errors.0.code"), "VM_MIN_COUNT_NOT_REACHED");
    for (int k = 0; k < 2; k++) {
        expect_refusal(get(rb_arena_printf(&arena, INSTANCES "/rb-%d", k), ""), 404, "notFound", "rb-");
        assert_int_equal(rb_cloud_bill(rb_cloud_instance(cloud, k), now_us).total_uusd, 0);
    }
}

// Asked of a region, the cloud finds the zone: one that is allowed, sells the machine and has room for the least.
static void a_region_chooses_one_zone(void **state)
{
    (void)state;
    begin("pools: [{instance_type: g2-standard-4, zone: us-central1-a, steps: [{after_s: 0, max: 1}]}]\n", "");
    const char *o =
        rb_arena_strdup(&arena, text_at(bulk("regions/us-central1", "", bulk_of(TWO, "g2-standard-4", "")), "name"));
    if (status != 200)
        fail_msg("%s", rb_buf_str(&answer.body));
    assert_string_equal(rb_cloud_instance(cloud, 0)->zone, "us-central1-b");
    assert_string_equal(rb_cloud_instance(cloud, 1)->zone, "us-central1-b");
    now_us = T0 + 6 * S;
    const struct rb_node *done = get(rb_arena_printf(&arena, "regions/us-central1/operations/%s", o), "");
    assert_string_equal(text_at(done, "status"), "DONE");
    assert_non_null(strstr(text_at(done, "region"), "/regions/us-central1"));
    expect_refusal(operation(o), 404, "notFound", "operations/"); // it is no zone's
    bulk("regions/us-central1", "",
         bulk_of("\"count\":1,\"namePattern\":\"x-#\",\"locationPolicy\":{\"locations\":{\"zones/us-central1-a\":"
                 "{\"preference\":\"DENY\"},\"zones/us-central1-b\":{\"preference\":\"DENY\"}}}",
                 "g2-standard-4", ""));
    assert_string_equal(rb_cloud_instance(cloud, 2)->zone, "us-central1-c");
}

static void nonsense_in_a_bulk_is_refused_by_field(void **state)
{
    (void)state;
    static const char *const heads[][2] = {
        {"\"minCount\":1,\"namePattern\":\"x-#\"", "count"},
        {"\"count\":1,\"minCount\":2,\"namePattern\":\"x-#\"", "minCount"},
        {"\"count\":2", "namePattern"},
        {"\"count\":2,\"namePattern\":\"x\"", "hash signs"},
        {"\"count\":2,\"namePattern\":\"X-#\"", "namePattern"},
        {"\"count\":2,\"perInstanceProperties\":{\"a\":{}}", "as many names"},
        {"\"count\":1,\"perInstanceProperties\":{\"a\":{\"colour\":1}}", "colour"},
        {"\"count\":1,\"namePattern\":\"x-#\",\"locationPolicy\":{}", "locationPolicy"},
    };
    begin("", "");
    for (size_t k = 0; k < sizeof heads / sizeof *heads; k++) {
        bulk("zones/us-central1-a", "", bulk_of(heads[k][0], "g2-standard-4", ""));
        if (status != 400 || !strstr(text_at(answer_doc.root, "error.message"), heads[k][1]))
            fail_msg("expected a refusal that says %s, got %d: %s", heads[k][1], status, rb_buf_str(&answer.body));
    }
    expect_refusal(bulk("zones/us-central1-a", "", bulk_of(TWO, "zones/us-central1-a/machineTypes/g2-standard-4", "")),
                   400, "invalid", "machineType"); // as in a template: a name
    expect_refusal(bulk("regions/us-central1", "",
                        bulk_of("\"count\":1,\"namePattern\":\"x-#\",\"locationPolicy\":"
                                "{\"targetShape\":\"BALANCED\"}",
                                "g2-standard-4", "")),
                   400, "invalid", "targetShape");
    expect_refusal(bulk("regions/us-central1", "", bulk_of(TWO, "g9-standard-4", "")), 400, "invalid", "machineType");
    assert_int_equal(rb_cloud_n_instances(cloud), 0);
}

static void an_instance_deleted_while_it_is_made_conflicts(void **state)
{
    (void)state;
    begin("", "");
    const char *o = insert_ok("rb-1", ON_DEMAND);
    now_us = T0 + S;
    ask("DELETE", INSTANCES "/rb-1", "", "");
    now_us = T0 + 10 * S;
    assert_string_equal(text_at(operation(o), "error.errors.0.code"), "CONFLICT");
    assert_int_equal(rb_cloud_bill(rb_cloud_instance(cloud, 0), now_us).total_uusd, 0);
}

static void quotas_and_throttles_speak_of_usage(void **state)
{
    (void)state;
    begin("quotas: [{name: NVIDIA_L4_GPUS, infra: gcp, instance_type: \"g2-*\", unit: gpus, max: 1}]\n"
          "throttle: [{action: zones.list, burst: 1, per_s: 0}]\n",
          "");
    insert_ok("rb-1", ON_DEMAND);
    expect_refusal(insert("rb-2", ON_DEMAND), 403, "quotaExceeded", "'NVIDIA_L4_GPUS' exceeded.  Limit: 1.0 in region");
    const struct rb_node *region = get("regions/us-central1", "");
    assert_string_equal(text_at(region, "quotas.0.metric"), "NVIDIA_L4_GPUS");
    assert_true(node_at(region, "quotas.0.usage")->number == 1);
    assert_string_equal(text_at(get("zones", ""), "kind"), "compute#zoneList");
    expect_refusal(get("zones", ""), 403, "rateLimitExceeded", "Rate Limit");
    assert_string_equal(text_at(answer_doc.root, "error.errors.0.domain"), "usageLimits");
}

static void lists_are_filtered_and_paged(void **state)
{
    (void)state;
    static const struct {
        const char *filter;
        int n;
    } rows[] = {{"", 5},
                {"filter=labels.rb-run%3Dr1", 3},
                {"filter=labels.rb-run%3D%22r1%22+AND+status%3DRUNNING", 3},
                {"filter=(labels.rb-run=r1)+(name=rb-0)", 1},
                {"filter=labels.rb-run:*", 5},
                {"filter=labels.other:*", 0},
                {"filter=name=rb-0+OR+name=rb-4", 2},
                {"filter=NOT+name=rb-0", 4},
                {"filter=-name=rb-0+name!=rb-1", 3},
                {"filter=name=rb-*", 5},
                {"filter=scheduling.provisioningModel=SPOT", 0},
                {"filter=zone:us-central1-a", 5},
                {"filter=name+eq+rb-.*", 5}, // the older language: a whole match of an expression
                {"filter=name+eq+rb-", 0},
                {"filter=name+ne+rb-0", 4},
                {"filter=name+eq+%22.*%5Cbrb%5C-0%5Cb.*%22", 1},
                {"filter=name+eq+%22.*%5Cbr%5Cb.*%22", 0}};
    begin("", "");
    for (int k = 0; k < 5; k++)
        insert_ok(rb_arena_printf(&arena, "rb-%d", k),
                  rb_arena_printf(&arena, ON_DEMAND ",\"labels\":{\"rb-run\":\"r%d\"}", k % 2 + 1));
    now_us = T0 + 10 * S;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        const struct rb_node *items = node_at(get(INSTANCES, rows[k].filter), "items");
        if (!items || items->n_children != rows[k].n)
            fail_msg("%s: expected %d, got %s", rows[k].filter, rows[k].n, rb_buf_str(&answer.body));
    }
    expect_refusal(get(INSTANCES, "filter=name+eq+%22(a%7Cb)%22"), 400, "invalid", "filter expression at 'name eq");
    expect_refusal(get(INSTANCES, "filter=name+eq+a**"), 400, "invalid", "filter expression at 'name eq");
    expect_refusal(get(INSTANCES, "filter=name+eq+%22.*.*.*.*%22"), 400, "invalid", "filter expression at 'name eq");
    expect_refusal(get(INSTANCES, "filter=colour=red"), 400, "invalid", "filter");
    expect_refusal(get(INSTANCES, "filter=(name=a"), 400, "invalid", "filter");

    int n = 0, pages = 0;
    const char *token = "";
    for (; token; pages++) {
        const struct rb_node *page =
            get("aggregated/instances", rb_arena_printf(&arena, "maxResults=2&pageToken=%s", token));
        const struct rb_node *items = node_at(page, "items.zones/us-central1-a.instances");
        n += items ? items->n_children : 0;
        assert_string_equal(text_at(page, "items.zones/us-central1-b.warning.code"), "NO_RESULTS_ON_PAGE");
        token = node_at(page, "nextPageToken") ? rb_arena_strdup(&arena, text_at(page, "nextPageToken")) : NULL;
    }
    assert_int_equal(n, 5);
    assert_int_equal(pages, 3);
    expect_refusal(get(INSTANCES, "pageToken=mine"), 400, "invalid", "pageToken");
    expect_refusal(get(INSTANCES, "maxResults=501"), 400, "invalid", "maxResults");
}

static void partial_responses_hold_what_was_asked_for(void **state)
{
    (void)state;
    begin("", "");
    insert_ok("rb-1", ON_DEMAND ",\"labels\":{\"a\":\"b\"}");
    const struct rb_node *list = get(
        "aggregated/instances", "fields=kind,items/*/instances(name,networkInterfaces/networkIP),items/*/warning/code");
    assert_int_equal(list->n_children, 2);
    const struct rb_node *i = node_at(list, "items.zones/us-central1-a.instances.0");
    assert_int_equal(i->n_children, 2);
    assert_int_equal(node_at(i, "networkInterfaces.0")->n_children, 1);
    assert_string_equal(text_at(list, "items.zones/us-central1-b.warning.code"), "NO_RESULTS_ON_PAGE");
    assert_null(node_at(list, "items.zones/us-central1-b.warning.message"));
    expect_refusal(get("zones", "fields=items(name"), 400, "invalidParameter", "field selection");
    expect_refusal(get("zones", "fields="), 400, "invalidParameter", "field selection");
}

static void labels_are_replaced_under_their_fingerprint(void **state)
{
    (void)state;
    begin("", "");
    insert_ok("rb-1", ON_DEMAND ",\"labels\":{\"a\":\"1\",\"b\":\"2\"}");
    const char *body = rb_arena_printf(&arena, "{\"labels\":{\"c\":\"3\"},\"labelFingerprint\":\"%s\"}",
                                       text_at(get(INSTANCES "/rb-1", ""), "labelFingerprint"));
    ask("POST", INSTANCES "/rb-1/setLabels", "", body);
    assert_int_equal(status, 200);
    const struct rb_node *labels = node_at(get(INSTANCES "/rb-1", ""), "labels");
    assert_int_equal(labels->n_children, 1);
    assert_string_equal(text_at(labels, "c"), "3");
    expect_refusal(ask("POST", INSTANCES "/rb-1/setLabels", "", body), 412, "conditionNotMet", "fingerprint");
    expect_refusal(ask("POST", INSTANCES "/rb-1/setLabels", "", "{\"labels\":{}}"), 400, "required",
                   "labelFingerprint");
}

static void what_the_cloud_does_unasked_is_an_operation(void **state)
{
    (void)state;
    begin("", "format: rb-chaos/1\nrules: [{what: {interrupted: {after: 100s}}, where: {front: gcp}}]\n");
    insert_ok("taken", SPOT);
    insert_ok("expired", "\"scheduling\":{\"onHostMaintenance\":\"TERMINATE\",\"instanceTerminationAction\":\"DELETE\","
                         "\"maxRunDuration\":{\"seconds\":\"50\"}}");
    now_us = T0 + 200 * S;
    rb_cloud_advance(cloud, now_us);
    for (int k = 0; k < 2; k++) // both booted at 8 s and take their nodes with them
        rb_cloud_node_gone(cloud, rb_cloud_instance(cloud, k), now_us);
    expect_refusal(get(INSTANCES "/taken", ""), 404, "notFound", "taken");
    expect_refusal(get(INSTANCES "/expired", ""), 404, "notFound", "expired");
    const struct rb_node *items = node_at(
        get("zones/us-central1-a/operations", "filter=operationType%3D%22compute.instances.preempted%22"), "items");
    assert_int_equal(items->n_children, 1);
    assert_string_equal(text_at(items, "0.user"), "system");
    assert_non_null(strstr(text_at(items, "0.targetLink"), "/instances/taken"));
    assert_int_equal(rb_cloud_bill(rb_cloud_instance(cloud, 1), now_us).billed_s, 60); // 50 s, and the minimum
    insert_ok("from-inside", ON_DEMAND);
    now_us += 100 * S;
    rb_cloud_advance(cloud, now_us);
    rb_cloud_guest_shutdown(cloud, rb_cloud_instance(cloud, 2), now_us, 0);
    items =
        node_at(get("zones/us-central1-a/operations", "filter=operationType%3D%22compute.instances.guestTerminate%22"),
                "items");
    assert_int_equal(items->n_children, 1);
    assert_non_null(strstr(text_at(items, "0.targetLink"), "/instances/from-inside"));
}

static void a_stopped_instance_stays_and_is_billed(void **state)
{
    (void)state;
    begin("", "");
    insert_ok("rb-1", "\"scheduling\":{\"onHostMaintenance\":\"TERMINATE\",\"instanceTerminationAction\":\"STOP\","
                      "\"maxRunDuration\":{\"seconds\":\"50\"}}");
    now_us = T0 + 60 * S;
    rb_cloud_advance(cloud, now_us);
    rb_cloud_node_gone(cloud, rb_cloud_instance(cloud, 0), now_us);
    assert_string_equal(text_at(get(INSTANCES "/rb-1", ""), "status"), "TERMINATED"); // Google's word for stopped
    ask("DELETE", INSTANCES "/rb-1", "", "");
    now_us += 2 * S;
    expect_refusal(get(INSTANCES "/rb-1", ""), 404, "notFound", "rb-1");
}

static void a_zone_may_be_unreachable(void **state)
{
    (void)state;
    begin(
        "",
        "format: rb-chaos/1\nrules:\n"
        "  - {what: {unreachable: {zone: us-central1-a}}, where: {action: instances.aggregatedList}}\n"
        "  - {what: {partial_page: {items: 0}}, where: {action: instances.list}, times: 1}\n"
        "  - {what: {error: {status: 503, code: backendError, after_effect: true}}, where: {action: instances.insert}, "
        "times: 1}\n"
        "  - {what: throttle, where: {action: zones.list}, times: 1}\n"
        "  - {what: connection_reset, where: {action: regions.list}}\n");
    expect_refusal(insert("rb-1", ON_DEMAND), 503, "backendError", "sorry");
    assert_int_equal(rb_cloud_n_instances(cloud), 1); // done all the same
    expect_refusal(get("aggregated/instances", ""), 503, "backendError", "us-central1-a");
    const struct rb_node *list = get("aggregated/instances", "returnPartialSuccess=true");
    assert_string_equal(text_at(list, "unreachables.0"), "projects/test/zones/us-central1-a");
    assert_string_equal(text_at(list, "items.zones/us-central1-a.warning.code"), "UNREACHABLE");
    const struct rb_node *page = get(INSTANCES, "");
    assert_int_equal(node_at(page, "items")->n_children, 0); // an empty page, and yet there is more
    const char *token = rb_arena_printf(&arena, "pageToken=%s", text_at(page, "nextPageToken"));
    assert_int_equal(node_at(get(INSTANCES, token), "items")->n_children, 1);
    expect_refusal(get("zones", ""), 403, "rateLimitExceeded", "Rate");
    assert_null(get("regions", ""));
    assert_int_equal(answer.delivery, RB_EXCHANGE_RESET);
}

static void what_is_sold_can_be_looked_up(void **state)
{
    (void)state;
    begin("", "");
    assert_int_equal(node_at(get("zones", ""), "items")->n_children, 3);
    assert_int_equal(node_at(get("regions", ""), "items")->n_children, 1); // EC2's are not Google's
    assert_int_equal(node_at(get("zones/us-central1-a/machineTypes", ""), "items")->n_children, 2);
    assert_int_equal(node_at(get("zones/us-central1-b/machineTypes", ""), "items")->n_children, 3);
    const struct rb_node *type = get("zones/us-central1-a/machineTypes/g2-standard-4", "");
    assert_string_equal(text_at(type, "accelerators.0.guestAcceleratorType"), "nvidia-l4");
    assert_null(node_at(get("zones/us-central1-a/machineTypes/n1-standard-8", ""), "accelerators"));
    assert_int_equal(node_at(get("zones/us-central1-b/acceleratorTypes", ""), "items")->n_children, 3);
    expect_refusal(get("zones/us-central1-a/machineTypes/a2-highgpu-1g", ""), 404, "notFound", "a2-highgpu-1g");
    expect_refusal(get("zones/us-central1-a/acceleratorTypes/nvidia-h100-80gb", ""), 404, "notFound", "h100");
    assert_string_equal(text_at(exchange("GET", "rbmock/global/images/rbmock-linux", "", "", "test"), "status"),
                        "READY");
    expect_refusal(exchange("GET", "rbmock/global/images/other", "", "", "test"), 404, "notFound", "other");
}

int main(void)
{
#define T(test) cmocka_unit_test_teardown(test, teardown)
    const struct CMUnitTest tests[] = {
        T(an_instance_lives_and_ends),
        T(a_request_id_means_one_request),
        T(nonsense_is_refused_by_field),
        T(a_disk_that_would_stay_is_refused),
        T(guest_accelerators_are_part_of_the_offer),
        T(reservations_hold_what_names_them), T(no_machine_is_an_error_of_the_operation),
        T(a_bulk_is_one_operation_and_several_machines),
        T(a_bulk_is_filled_as_far_as_its_least_allows),
        T(a_bulk_that_fails_late_leaves_nothing),
        T(a_region_chooses_one_zone),
        T(nonsense_in_a_bulk_is_refused_by_field),
        T(an_instance_deleted_while_it_is_made_conflicts),
        T(quotas_and_throttles_speak_of_usage),
        T(lists_are_filtered_and_paged),
        T(partial_responses_hold_what_was_asked_for),
        T(labels_are_replaced_under_their_fingerprint),
        T(what_the_cloud_does_unasked_is_an_operation),
        T(a_stopped_instance_stays_and_is_billed),
        T(a_zone_may_be_unreachable),
        T(what_is_sold_can_be_looked_up),
    };
#undef T
    return cmocka_run_group_tests(tests, NULL, NULL);
}
