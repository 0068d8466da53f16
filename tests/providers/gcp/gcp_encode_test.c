// Requests of the Compute Engine API, byte for byte.
#include "base/arena.h"
#include "providers/gcp/gcp_encode.h"
#include "providers/wire/percent.h"
#include "tests/base/check.h"

#include <stdlib.h>

#define IMAGE "projects/ubuntu-os-cloud/global/images/family/ubuntu-2404-lts-amd64"

static const char *const groups[] = {"rb-ssh", "rb-peers"};

static struct rb_launch plain(void)
{
    return (struct rb_launch){
        .token = "t",
        .region = "us-central1",
        .instance_type = "g2-standard-4",
        .image_id = IMAGE,
        .tags = {.name = "rb-cifar-0", .run_id = "r1", .launch_id = "l1"},
    };
}

static void expect_body(const struct rb_launch *l, const char *expected)
{
    struct rb_buf out = RB_BUF_INIT;
    struct rb_err err = {0};
    if (!rb_gcp_check_launch(l, "us-central1", &err) || !rb_gcp_encode_insert(l, "us-central1-a", "rb-1", &out, &err))
        fail_msg("%s", err.message);
    assert_string_equal(out.data, expected);
    rb_buf_finish(&out);
}

#define LABELS "\"labels\":{\"rb-run\":\"r1\",\"rb-launch\":\"l1\"}"

static void a_plain_machine(void **state)
{
    (void)state;
    const struct rb_launch l = plain();
    expect_body(&l, "{\"name\":\"rb-1\",\"description\":\"rb-cifar-0\","
                    "\"machineType\":\"zones/us-central1-a/machineTypes/g2-standard-4\"," LABELS ","
                    "\"disks\":[{\"boot\":true,\"autoDelete\":true,\"initializeParams\":{\"sourceImage\":\"" IMAGE "\","
                    "\"diskType\":\"zones/us-central1-a/diskTypes/pd-balanced\"," LABELS "}}],"
                    "\"networkInterfaces\":[{\"network\":\"global/networks/default\","
                    "\"accessConfigs\":[{\"type\":\"ONE_TO_ONE_NAT\",\"name\":\"External NAT\"}]}],"
                    "\"scheduling\":{\"provisioningModel\":\"STANDARD\",\"onHostMaintenance\":\"TERMINATE\","
                    "\"automaticRestart\":false},"
                    "\"metadata\":{\"items\":[{\"key\":\"block-project-ssh-keys\",\"value\":\"TRUE\"}]}}");
}

static const char *on_maintenance(const struct rb_launch *l)
{
    RB_AUTO(rb_buf_finish) struct rb_buf body = RB_BUF_INIT;
    struct rb_err err;
    assert_true(rb_gcp_encode_insert(l, "us-central1-a", "rb-1", &body, &err));
    return strstr(rb_buf_str(&body), "\"MIGRATE\"") ? "MIGRATE" : "TERMINATE";
}

static void what_may_move_survives_maintenance(void **state)
{
    (void)state;
    struct rb_launch l = plain();
    assert_string_equal(on_maintenance(&l), "TERMINATE");
    l.may_move = true;
    assert_string_equal(on_maintenance(&l), "MIGRATE");
    l.market = RB_MARKET_SPOT; // cannot
    assert_string_equal(on_maintenance(&l), "TERMINATE");
}

static void everything_at_once(void **state)
{
    (void)state;
    struct rb_launch l = plain();
    l.instance_type = "n1-standard-8+nvidia-tesla-t4:2";
    l.market = RB_MARKET_SPOT;
    l.user_data = "#cloud-config\nbootcmd:\n  - \"x\"\n";
    l.disk_gb = 200;
    l.max_lifetime_s = 7200;
    l.security_groups = groups;
    l.n_security_groups = 2;
    l.subnet = "lab";
    l.instance_profile = "node@p.iam.gserviceaccount.com";
    expect_body(&l, "{\"name\":\"rb-1\",\"description\":\"rb-cifar-0\","
                    "\"machineType\":\"zones/us-central1-a/machineTypes/n1-standard-8\"," LABELS ","
                    "\"disks\":[{\"boot\":true,\"autoDelete\":true,\"initializeParams\":{\"sourceImage\":\"" IMAGE "\","
                    "\"diskSizeGb\":\"200\",\"diskType\":\"zones/us-central1-a/diskTypes/pd-balanced\"," LABELS "}}],"
                    "\"networkInterfaces\":[{\"subnetwork\":\"regions/us-central1/subnetworks/lab\","
                    "\"accessConfigs\":[{\"type\":\"ONE_TO_ONE_NAT\",\"name\":\"External NAT\"}]}],"
                    "\"guestAccelerators\":[{\"acceleratorType\":"
                    "\"zones/us-central1-a/acceleratorTypes/nvidia-tesla-t4\",\"acceleratorCount\":2}],"
                    "\"scheduling\":{\"provisioningModel\":\"SPOT\",\"onHostMaintenance\":\"TERMINATE\","
                    "\"automaticRestart\":false,\"instanceTerminationAction\":\"DELETE\","
                    "\"maxRunDuration\":{\"seconds\":\"7200\"}},"
                    "\"metadata\":{\"items\":[{\"key\":\"block-project-ssh-keys\",\"value\":\"TRUE\"},"
                    "{\"key\":\"user-data\",\"value\":\"#cloud-config\\nbootcmd:\\n  - \\\"x\\\"\\n\"}]},"
                    "\"tags\":{\"items\":[\"rb-ssh\",\"rb-peers\"]},"
                    "\"serviceAccounts\":[{\"email\":\"node@p.iam.gserviceaccount.com\","
                    "\"scopes\":[\"https://www.googleapis.com/auth/cloud-platform\"]}]}");
}

// As in a template, what every zone has is named without the zone.
static void a_gang(void **state)
{
    (void)state;
    struct rb_launch l = plain();
    struct rb_buf out = RB_BUF_INIT;
    l.instance_type = "n1-standard-8+nvidia-tesla-t4:2";
    l.count = 2;
    assert_true(rb_gcp_check_launch(&l, "us-central1", NULL));
    assert_true(rb_gcp_encode_bulk_insert(&l, "us-central1-a", "rb-1", &out, NULL));
    assert_string_equal(
        out.data, "{\"count\":\"2\",\"minCount\":\"2\",\"perInstanceProperties\":{\"rb-1-0\":{},\"rb-1-1\":{}},"
                  "\"instanceProperties\":{\"description\":\"rb-cifar-0\",\"machineType\":\"n1-standard-8\"," LABELS ","
                  "\"disks\":[{\"boot\":true,\"autoDelete\":true,\"initializeParams\":{\"sourceImage\":\"" IMAGE "\","
                  "\"diskType\":\"pd-balanced\"," LABELS "}}],"
                  "\"networkInterfaces\":[{\"network\":\"global/networks/default\","
                  "\"accessConfigs\":[{\"type\":\"ONE_TO_ONE_NAT\",\"name\":\"External NAT\"}]}],"
                  "\"guestAccelerators\":[{\"acceleratorType\":\"nvidia-tesla-t4\",\"acceleratorCount\":2}],"
                  "\"scheduling\":{\"provisioningModel\":\"STANDARD\",\"onHostMaintenance\":\"TERMINATE\","
                  "\"automaticRestart\":false},"
                  "\"metadata\":{\"items\":[{\"key\":\"block-project-ssh-keys\",\"value\":\"TRUE\"}]}}}");
    rb_buf_finish(&out);
    l.count = 1001;
    assert_false(rb_gcp_check_launch(&l, "us-central1", NULL));
}

static void expect_part(const struct rb_launch *l, const char *part);

static void into_a_reservation(void **state)
{
    (void)state;
    struct rb_reservation r = {.id = "projects/my-project/reservations/mine"};
    struct rb_launch l = plain();
    l.market = RB_MARKET_RESERVED;
    l.reservation = &r;
    expect_part(&l, "\"provisioningModel\":\"STANDARD\"");
    expect_part(&l, "\"reservationAffinity\":{\"consumeReservationType\":\"SPECIFIC_RESERVATION\","
                    "\"key\":\"compute.googleapis.com/reservation-name\","
                    "\"values\":[\"projects/my-project/reservations/mine\"]}");
}

static void expect_part(const struct rb_launch *l, const char *part)
{
    struct rb_buf out = RB_BUF_INIT;
    assert_true(rb_gcp_check_launch(l, "us-central1", NULL));
    assert_true(rb_gcp_encode_insert(l, "us-central1-a", "rb-1", &out, NULL));
    if (!strstr(out.data, part))
        fail_msg("expected %s in %s", part, out.data);
    rb_buf_finish(&out);
}

static void particulars(void **state)
{
    (void)state;
    struct rb_launch l = plain();
    l.user_data = "#!/bin/sh\n";
    expect_part(&l, "{\"key\":\"startup-script\",\"value\":\"#!/bin/sh\\n\"}");
    l.max_lifetime_s = 3600; // on demand too, the cloud ends it
    expect_part(&l, "\"instanceTerminationAction\":\"DELETE\",\"maxRunDuration\":{\"seconds\":\"3600\"}");
    l.instance_type = "a4-highgpu-8g";
    expect_part(&l, "diskTypes/hyperdisk-balanced");
    expect_part(&l, "\"nicType\":\"GVNIC\"");
    l.instance_type = "a3-highgpu-8g";
    expect_part(&l, "diskTypes/pd-balanced");
    l.subnet = "projects/host/regions/us-central1/subnetworks/shared";
    expect_part(&l, "\"subnetwork\":\"projects/host/regions/us-central1/subnetworks/shared\"");
    l.instance_type = "n1-standard-4+nvidia-tesla-v100";
    expect_part(&l, "\"acceleratorCount\":1");
}

static void what_is_refused(void **state)
{
    (void)state;
    enum { N = 19 };
    struct rb_launch l[N];
    for (int i = 0; i < N; i++)
        l[i] = plain();
    char too_long[17000];
    memset(too_long, 'x', sizeof too_long);
    too_long[sizeof too_long - 1] = '\0';
    static const char *const bad_group[] = {"sg-1_2"};
    l[0].token = "";
    l[1].token = NULL;
    l[2].instance_type = NULL;
    l[3].instance_type = "g5.xlarge";
    l[4].instance_type = "g2-standard-4+nvidia-l4:1"; // the type says it already
    l[5].instance_type = "n1-standard-8+nvidia-tesla-t4:0";
    l[6].instance_type = "n1-standard-8+nvidia-tesla-t4:99";
    l[7].image_id = "ami-1";
    l[8].image_id = "projects/p/global/images/../x";
    l[9].disk_gb = -1;
    l[10].user_data = too_long;
    l[11].subnet = "projects/p/../x";
    l[12].security_groups = bad_group;
    l[12].n_security_groups = 1;
    l[13].instance_profile = "rb-node";
    l[14].max_lifetime_s = 29;
    l[15].max_lifetime_s = INT64_C(121) * 86400;
    l[16].zone = "us-central1";
    l[17].zone = "us-central2-a";
    l[18].region = "us-east1";
    static const char *const reasons[N] = {"launch token",
                                           "launch token",
                                           "instance type ''",
                                           "instance type 'g5.xlarge'",
                                           "n1-standard-8+nvidia-tesla-t4:1",
                                           "instance type",
                                           "instance type",
                                           "resources.image_id",
                                           "resources.image_id",
                                           "disk size",
                                           "RB3027 user-data",
                                           "RB3203 resources.subnets",
                                           "resources.security_groups",
                                           "resources.instance_profile",
                                           "29 s",
                                           "RB3204 30..10368000 s",
                                           "is no zone of it",
                                           "is no zone of it",
                                           "asked to launch in region us-east1"};
    for (int i = 0; i < N; i++) {
        struct rb_err err = {0};
        assert_false(rb_gcp_check_launch(&l[i], "us-central1", &err));
        assert_int_equal(err.code, RB_ERR_INVALID);
        assert_says(&err, reasons[i]);
    }
}

static void machine_types(void **state)
{
    (void)state;
    struct rb_gcp_machine_type t;
    assert_true(rb_gcp_machine_type_parse("g2-standard-4", &t, NULL));
    assert_string_equal(t.name, "g2-standard-4");
    assert_int_equal(t.n_accelerators, 0);
    assert_true(rb_gcp_machine_type_parse("n1-custom-8-16384+nvidia-tesla-t4:4", &t, NULL));
    assert_string_equal(t.name, "n1-custom-8-16384");
    assert_string_equal(t.accelerator, "nvidia-tesla-t4");
    assert_int_equal(t.n_accelerators, 4);
}

#define FIELDS_START "&fields=kind%2C"

static void expect_target(struct rb_buf *out, const char *start, bool whole)
{
    if (whole)
        assert_string_equal(out->data, start);
    else if (strncmp(out->data, start, strlen(start)) != 0)
        fail_msg("expected %s..., got %s", start, out->data);
    rb_buf_finish(out);
}

static void targets(void **state)
{
    (void)state;
    struct rb_buf out = RB_BUF_INIT;
    const struct rb_gcp_machine_type t4 = {
        .name = "n1-standard-8", .accelerator = "nvidia-tesla-t4", .n_accelerators = 1};
    rb_percent_put(&out, RB_GCP_INSTANCE, "example.com:p", "us-central1-a", "rb-1");
    expect_target(&out, "/projects/example.com%3Ap/zones/us-central1-a/instances/rb-1", true);
    rb_percent_put(&out, RB_GCP_INSTANCE, "p", "z/../../x?y", "rb-1");
    expect_target(&out, "/projects/p/zones/z%2F..%2F..%2Fx%3Fy/instances/rb-1", true);
    rb_gcp_target_look("p", "z", "rb-1", &out);
    expect_target(&out, "/projects/p/zones/z/instances/rb-1?fields=kind%2Cname%2Cstatus%2C", false);
    rb_gcp_target_list("p", "rb:run-id", "r1", "a=b", &out);
    expect_target(&out,
                  "/projects/p/aggregated/instances?filter=labels.rb-run%3Dr1&maxResults=500&"
                  "returnPartialSuccess=true&pageToken=a%3Db" FIELDS_START,
                  false);
    rb_gcp_target_list("p", "rb:launch-id", "l1", NULL, &out);
    expect_target(&out, "/projects/p/aggregated/instances?filter=labels.rb-launch%3Dl1&", false);
    rb_gcp_target_reservations("p", NULL, &out);
    expect_target(&out, "/projects/p/aggregated/reservations?maxResults=500&returnPartialSuccess=true", true);
    rb_gcp_target_reservations("p", "a=b", &out);
    expect_target(&out, "/projects/p/aggregated/reservations?maxResults=500&returnPartialSuccess=true&pageToken=a%3Db", true);
    rb_gcp_target_sold("p", &t4, &out);
    expect_target(&out,
                  "/projects/p/aggregated/acceleratorTypes?filter=name%3Dnvidia-tesla-t4&maxResults=500&"
                  "returnPartialSuccess=true",
                  true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_machine), cmocka_unit_test(what_may_move_survives_maintenance),
        cmocka_unit_test(everything_at_once), cmocka_unit_test(into_a_reservation), cmocka_unit_test(a_gang),
        cmocka_unit_test(particulars),     cmocka_unit_test(what_is_refused),    cmocka_unit_test(machine_types),
        cmocka_unit_test(targets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
