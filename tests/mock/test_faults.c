// Faults as a client meets them on the wire, from a real rbmock: what arrives, and what was done all the same. And the
// metadata service that a node asks whether it is about to go.
#include "base/clock.h"
#include "running.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static struct running r;
static char chaos_path[] = "/tmp/rbmock-chaos-XXXXXX";

static void begin(const char *rules, const char *speed)
{
    struct rb_err err;
    char text[4096];
    snprintf(text, sizeof text, "format: rb-chaos/1\nrules:\n%s", rules);
    snprintf(chaos_path, sizeof chaos_path, "/tmp/rbmock-chaos-XXXXXX");
    close(mkstemp(chaos_path));
    assert_true(rb_write_file(chaos_path, text, strlen(text), &err));
    running_start(&r, (const char *const[]){"--chaos", chaos_path, "--speed", speed, NULL});
}

static void end(void)
{
    assert_int_equal(running_stop(&r), 0);
    unlink(chaos_path);
}

// curl's exit status for a request that awscli would sign; the front asks chaos before it looks at the signature.
static int curl(const char *body, struct rb_buf *out)
{
    char command[512];
    snprintf(command, sizeof command, "curl -sS -m 20 -o - -d '%s' http://127.0.0.1:%d/ 2>/dev/null", body, r.port);
    return run_shell(command, out);
}

enum { CURL_EMPTY_REPLY = 52, CURL_RECV_ERROR = 56, CURL_PARTIAL_FILE = 18 };

static void answers_are_lost_reset_and_cut(void **state)
{
    (void)state;
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    begin("  - {what: lost_response, where: {action: A}}\n"
          "  - {what: connection_reset, where: {action: B}}\n"
          "  - {what: {truncated_body: {fraction: 0.5}}, where: {action: C}}\n"
          "  - {what: html_502, where: {action: D}}\n",
          "1");
    assert_int_equal(curl("Action=A", &out), CURL_EMPTY_REPLY);
    assert_int_equal(curl("Action=B", &out), CURL_RECV_ERROR);
    assert_int_equal(out.len, 0);
    assert_int_equal(curl("Action=C", &out), CURL_PARTIAL_FILE);
    assert_non_null(strstr(rb_buf_str(&out), "<Response>"));
    assert_null(strstr(rb_buf_str(&out), "</Response>"));
    rb_buf_clear(&out);
    assert_int_equal(curl("Action=D", &out), 0);
    assert_non_null(strstr(rb_buf_str(&out), "<h1>502 Bad Gateway</h1>"));
    assert_int_equal(running_ec2(&r, "DescribeRegions", "").status, 200); // nothing of it lasts
    end();
}

static void an_answer_may_come_in_drops(void **state)
{
    (void)state;
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    begin("  - {what: {slow_drip: {bytes_per_s: 300}}, where: {action: A}}\n", "1");
    int64_t start_us = rb_clock_monotonic_us();
    assert_int_equal(curl("Action=A", &out), 0);
    int64_t took_us = rb_clock_monotonic_us() - start_us;
    assert_non_null(strstr(rb_buf_str(&out), "</Response>"));
    assert_true(took_us >= (int64_t)(out.len - 32) * 1000000 / 300);
    // One that drips when rbmock is asked to stop does not keep it.
    char command[160];
    snprintf(command, sizeof command, "curl -s -m 20 -d 'Action=A' http://127.0.0.1:%d/ >/dev/null 2>&1 & sleep 0.2",
             r.port);
    run_shell(command, NULL);
    end();
}

static void a_launch_whose_answer_is_lost_has_happened(void **state)
{
    (void)state;
    begin("  - {what: lost_response, where: {action: RunInstances}, times: 1}\n", "1");
    static const char launch[] =
        "ImageId=ami-00000000000000000&InstanceType=g5.xlarge&MinCount=1&MaxCount=1&ClientToken=t";
    assert_int_equal(running_ec2(&r, "RunInstances", launch).status, 0);
    assert_non_null(strstr(running_get(&r, "/_rbmock/ledger").body, "\"token\": \"t\""));
    assert_int_equal(running_ec2(&r, "RunInstances", launch).status, 200);
    const char *ledger = running_get(&r, "/_rbmock/ledger").body, *first = strstr(ledger, "\"token\": \"t\"");
    assert_null(strstr(first + 1, "\"token\": \"t\"")); // once
    assert_non_null(strstr(running_get(&r, "/_rbmock/chaos").body, "\"fired\": 1"));
    end();
}

// A minute of the cloud's clock is a second here. Two minutes before it is taken, the node can know.
static void a_spot_node_is_warned_and_taken(void **state)
{
    (void)state;
    begin("  - {what: {interrupted: {after: 5m}}, where: {market: spot}}\n", "60");
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    char user_data[8192], id[20];
    snprintf(user_data, sizeof user_data, "%s", running_cloud_config(&r, ""));
    running_launch_spot(&r, user_data, id);
    running_await(&r, id, "reachable", "true");
    static const char ask[] = "E=$AWS_EC2_METADATA_SERVICE_ENDPOINT; T=$(curl -s -X PUT -H "
                              "'x-aws-ec2-metadata-token-ttl-seconds: 60' ${E}latest/api/token); "
                              "curl -s -w ' %{http_code}' -H \"x-aws-ec2-metadata-token: $T\" "
                              "${E}latest/meta-data/spot/instance-action; curl -s -o /dev/null -w ' %{http_code}' "
                              "${E}latest/meta-data/instance-id";
    bool warned = false;
    for (int k = 0; k < 100 && !warned; k++) {
        rb_buf_clear(&out);
        assert_int_equal(running_ssh(&r, id, ask, &out), 0);
        warned = strstr(rb_buf_str(&out), "{\"action\": \"terminate\", \"time\": \"") != NULL;
        assert_true(warned || strcmp(rb_buf_str(&out), " 404 401") == 0); // v1, without a token, is refused
    }
    assert_true(warned);
    running_await(&r, id, "state", "terminated");
    assert_string_equal(running_ledger(&r, id, "cause"), "interrupted");
    struct reply described = running_ec2(&r, "DescribeInstances", rb_arena_printf(&r.arena, "InstanceId.1=%s", id));
    assert_non_null(strstr(described.body, "<code>Server.SpotInstanceTermination</code>"));
    end();
}

static void a_node_that_dies_goes_on_being_billed(void **state)
{
    (void)state;
    begin("  - {what: {dies_at: {after: 60s}}}\n", "60");
    char id[1][20];
    running_launch(&r, NULL, 1, id);
    running_await(&r, id[0], "reachable", "true");
    assert_true(process_exists(id[0]));
    assert_true(await_process(id[0], false));
    assert_string_equal(running_instance(&r, id[0], "state"), "running");
    running_terminate(&r, id[0]);
    running_await(&r, id[0], "state", "terminated");
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_lost_reset_and_cut),
        cmocka_unit_test(an_answer_may_come_in_drops),
        cmocka_unit_test(a_launch_whose_answer_is_lost_has_happened),
        cmocka_unit_test(a_spot_node_is_warned_and_taken),
        cmocka_unit_test(a_node_that_dies_goes_on_being_billed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
