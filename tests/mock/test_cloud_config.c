// rb-mock/1 and credentials files: good ones, and the error that each bad one gets.
#include "providers/mock/cloud/cloud_config.h"
#include "providers/mock/server/mock_keys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define HEADER "infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour\n"
#define ROW    "aws/us-east-1,g5.xlarge,A10G,1,22.35,4,16,on_demand,1.006\n"
#define RULE                                                                                       \
    "provisioning: [{infra: aws, instance_type: \"*\", market: \"*\", queue_s: 1.0, init_s: 1.0, " \
    "capacity_failure: 0}]\n"
#define GOOD "format: rb-mock/1\nprices: p.csv\n" RULE

#define EVERYWHERE                                                                                                    \
    "format: rb-mock/1\nprices: p.csv\n"                                                                              \
    "provisioning: [{infra: \"*\", instance_type: \"*\", market: \"*\", queue_s: 1.0, init_s: 1.0, capacity_failure: 0}]\n"

static void the_built_in_cloud_is_valid(void **state)
{
    (void)state;
    struct rb_arena arena;
    struct rb_cloud_config c;
    struct rb_err err;
    rb_arena_init(&arena);
    if (!rb_cloud_config_default(&arena, &c, &err))
        fail_msg("%s:%d: %s: %s", err.file, err.line, err.key, err.message);
    assert_int_equal(c.catalog.n_offers, 2 * 2 * 8 + 2 * 4); // EC2 and Compute Engine
    assert_int_equal(c.catalog.n_disks, 3);
    assert_int_equal(c.ssh_port, 2222);
    rb_arena_finish(&arena);
}

static void every_key_is_read(void **state)
{
    (void)state;
    struct rb_arena arena;
    struct rb_cloud_config c;
    struct rb_err err;
    rb_arena_init(&arena);
    if (!rb_cloud_config_parse("c.yaml",
                               GOOD "ssh_port: 2200\ncapacity: {g5.xlarge: 3}\nimages: [ami-1, ami-2]\n"
                                    "shutdown_s: {distribution: empirical, values: [4, 2]}\n",
                               HEADER ROW "gcp/us-central1,g2-standard-4,L4,1,24,4,16,on_demand,0.7\n", NULL, &arena,
                               &c, &err))
        fail_msg("%s:%d: %s: %s", err.file, err.line, err.key, err.message);
    assert_int_equal(c.catalog.n_offers, 1); // EC2 sells nothing of Google's
    assert_int_equal(c.ssh_port, 2200);
    assert_int_equal(c.n_capacity, 1);
    assert_int_equal(c.capacity[0].max, 3);
    assert_int_equal(c.n_images, 3);
    assert_string_equal(c.images[2], "ami-2");
    assert_int_equal(c.shutdown_s.n_values, 2);
    assert_true(c.shutdown_s.values[0] == 2.0);
    rb_arena_finish(&arena);
}

static void a_cluster_is_read(void **state)
{
    (void)state;
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_cloud_config c;
    struct rb_err err;
    if (!rb_cloud_config_parse("c.yaml",
                               EVERYWHERE "capacity: {big: 3}\nkubernetes: {namespace: ml, version: \"1.20\", pod_security: baseline, "
                                          "denied: [get pods/log], quota: {requests.cpu: 500m}, limits: {nvidia.com/gpu: 4}, "
                                          "queue: {name: q, gpus: 8}, sidecar: proxy, release_s: 0.5}\n",
                               HEADER ROW "k8s/lab,big,T4,8,16,64,256,on_demand,4\nk8s/lab,big/2,T4,2,16,16,64,on_demand,1\n",
                               NULL, &arena, &c, &err))
        fail_msg("%s:%d: %s: %s", err.file, err.line, err.key, err.message);
    const struct rb_cloud_kubernetes *k = &c.kubernetes;
    assert_int_equal(c.catalog.n_offers, 1); // EC2 sells no machine of the cluster
    assert_int_equal(k->catalog.n_offers, 2);
    assert_string_equal(k->name, "lab");
    assert_string_equal(k->space, "ml");
    assert_int_equal(k->minor, 20);
    assert_int_equal(k->pod_security, RB_POD_BASELINE);
    assert_string_equal(k->denied[0], "get pods/log");
    assert_null(k->granted[0]);
    assert_int_equal(k->quota.list[0].milli, 500);
    assert_int_equal(k->limits.list[0].milli, 4000);
    assert_int_equal(k->queue_gpus, 8);
    assert_int_equal(k->release_us, 500000);
    assert_true(k->exec_while_terminating);
}

static void bad_files_are_refused_by_key(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *csv, *key;
    } rows[] = {
        {"", HEADER ROW, ""},
        {"format: rb-mock/2\nprices: p.csv\n" RULE, HEADER ROW, "format"},
        {"prices: p.csv\n" RULE, HEADER ROW, ""},
        {"format: rb-mock/1\n" RULE, HEADER ROW, ""},
        {"format: rb-mock/1\nprices: p.csv\n", HEADER ROW, ""},
        {GOOD "colour: red\n", HEADER ROW, "colour"},
        {GOOD "ssh_port: 0\n", HEADER ROW, "ssh_port"},
        {GOOD "ssh_port: 70000\n", HEADER ROW, "ssh_port"},
        {GOOD "capacity: {p99.huge: 1}\n", HEADER ROW, "capacity.p99.huge"},
        {GOOD "capacity: {g5.xlarge: -1}\n", HEADER ROW, "capacity"},
        {GOOD "capacity: 4\n", HEADER ROW, "capacity"},
        {GOOD "images: [debian]\n", HEADER ROW, "images[0]"},
        {GOOD "shutdown_s: -1\n", HEADER ROW, "shutdown_s"},
        {GOOD "tags_fade_s: -1\n", HEADER ROW, "tags_fade_s"},
        {GOOD "token_lifetime_s: soon\n", HEADER ROW, "token_lifetime_s"},
        {GOOD "quotas: [{name: G, unit: vcpus}]\n", HEADER ROW, "quotas[0].max"},
        {GOOD "quotas: [{name: G, unit: cores, max: 1}]\n", HEADER ROW, "quotas[0].unit"},
        {GOOD "pools: [{zone: z, steps: [{after_s: 5, max: 1}, {after_s: 5, max: 0}]}]\n", HEADER ROW,
         "pools[0].steps"},
        {GOOD "pools: [{zone: z}]\n", HEADER ROW, "pools[0].steps"},
        {GOOD "throttle: [{action: RunInstances, burst: 0, per_s: 1}]\n", HEADER ROW, "throttle[0].burst"},
        {GOOD "kubernetes: {colour: red}\n", HEADER ROW, "kubernetes.colour"},
        {GOOD "kubernetes: {version: \"2.0\"}\n", HEADER ROW, "kubernetes.version"},
        {GOOD "kubernetes: {pod_security: lax}\n", HEADER ROW, "kubernetes.pod_security"},
        {GOOD "kubernetes: {denied: [pods]}\n", HEADER ROW, "kubernetes.denied[0]"},
        {GOOD "kubernetes: {quota: {pods: many}}\n", HEADER ROW, "kubernetes.quota.pods"},
        {GOOD "kubernetes: {queue: {name: q}}\n", HEADER ROW, "kubernetes.queue.gpus"},
        {GOOD "kubernetes: {release_s: -1}\n", HEADER ROW, "kubernetes.release_s"},
        {EVERYWHERE, HEADER ROW "k8s/a,x,T4,1,16,4,16,on_demand,1\nk8s/b,x,T4,1,16,4,16,on_demand,1\n", "prices"},
        {GOOD, HEADER, ""}, // nothing sold: an error of the CSV itself
        {GOOD, HEADER "gcp/us-central1,g2-standard-4,L4,1,24,4,16,on_demand,0.7\n", "prices"}, // nothing of EC2
        {GOOD, HEADER "aws/us-east-1,g5.xlarge,A10G,1,22.35,4,16,on_demand,-1\n", ""},
        {"format: rb-mock/1\nprices: p.csv\nprovisioning: []\n", HEADER ROW, "provisioning"}, // nothing matches
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        struct rb_arena arena;
        struct rb_cloud_config c = {.ssh_port = 7};
        struct rb_err err = {0};
        rb_arena_init(&arena);
        if (rb_cloud_config_parse("c.yaml", rows[k].yaml, rows[k].csv, NULL, &arena, &c, &err))
            fail_msg("accepted: %s", rows[k].yaml);
        assert_int_equal(err.code, RB_ERR_INVALID);
        assert_true(err.file[0] && err.message[0]);
        assert_int_equal(c.ssh_port, 7); // untouched
        if (*rows[k].key && !strstr(err.key, rows[k].key))
            fail_msg("%s: expected key %s, got %s (%s)", rows[k].yaml, rows[k].key, err.key, err.message);
        rb_arena_finish(&arena);
    }
}

// --- credentials ---

static bool read_keys(const char *text, struct rb_arena *arena, struct rb_mock_keys *out, struct rb_err *err)
{
    char path[] = "/tmp/rbmock-keys-XXXXXX";
    int fd = mkstemp(path);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    bool ok = rb_mock_keys_read(path, arena, out, err);
    unlink(path);
    return ok;
}

static void keys_are_read_from_csv_and_ini(void **state)
{
    (void)state;
    struct rb_arena arena;
    struct rb_mock_keys keys;
    struct rb_err err;
    rb_arena_init(&arena);
    assert_true(read_keys("\xef\xbb\xbf"
                          "Access key ID,Secret access key\r\nAKIA1,s3cr=et/+\r\n",
                          &arena, &keys, &err));
    assert_int_equal(keys.n, 1);
    assert_string_equal(keys.keys[0].access_key, "AKIA1");
    assert_string_equal(keys.keys[0].secret_key, "s3cr=et/+");
    assert_true(read_keys("# mine\n[default]\naws_access_key_id = A\naws_secret_access_key=b=c\nregion = x\n\n[two]\n"
                          "aws_secret_access_key = d\naws_access_key_id = C\n",
                          &arena, &keys, &err));
    assert_int_equal(keys.n, 2);
    assert_string_equal(keys.keys[0].secret_key, "b=c");
    assert_string_equal(keys.keys[1].access_key, "C");
    rb_arena_finish(&arena);
}

static void bad_credentials_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "[default]\n",
                                      "nonsense\n",
                                      "[default]\naws_access_key_id = A\n",
                                      "Access key ID,Secret access key\nA\n",
                                      "Access key ID,Secret access key\nA,\n"};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        struct rb_arena arena;
        struct rb_mock_keys keys;
        struct rb_err err = {0};
        rb_arena_init(&arena);
        assert_false(read_keys(bad[k], &arena, &keys, &err));
        assert_int_equal(err.code, RB_ERR_INVALID);
        rb_arena_finish(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_built_in_cloud_is_valid),  cmocka_unit_test(every_key_is_read),
        cmocka_unit_test(a_cluster_is_read),
        cmocka_unit_test(bad_files_are_refused_by_key), cmocka_unit_test(keys_are_read_from_csv_and_ini),
        cmocka_unit_test(bad_credentials_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
