// The command itself: options, exit codes, the ready line, HTTP that is not quite EC2, the ledger on disk, --speed.
#include "running.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static void expect_exit(const char *arguments, int status, const char *words)
{
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    char command[512];
    snprintf(command, sizeof command, "timeout 10 '%s' %s 2>&1", getenv("RBMOCK"), arguments);
    int got = run_shell(command, &out);
    if (got != status || !strstr(rb_buf_str(&out), words))
        fail_msg("rbmock %s: expected exit %d and \"%s\", got %d and: %s", arguments, status, words, got,
                 rb_buf_str(&out));
}

static void bad_usage_is_exit_2(void **state)
{
    (void)state;
    expect_exit("--help", 0, "/_rbmock/ledger");
    expect_exit("--gcp 70000", 2, "gcp");
    expect_exit("--chaos /nonexistent/x.yaml", 1, "/nonexistent/x.yaml");
    expect_exit("--service-account /dev/null", 2, "/dev/null");
    expect_exit("--ec3 1", 2, "did you mean");
    expect_exit("--ec2 70000", 2, "ec2");
    expect_exit("--speed 0", 2, "speed");
    expect_exit("--nodes jail", 2, "expected loopback or netns");
    expect_exit("--cloud /nonexistent/cloud.yaml", 1, "/nonexistent/cloud.yaml");
    expect_exit("--credentials /dev/null", 2, "no key");
    expect_exit("extra", 2, "extra");
    expect_exit("--key test", 2, "expected ACCESS_KEY:SECRET");
    expect_exit("--key a:b --credentials x.csv", 2, "use one");
    if (getuid() != 0)
        expect_exit("--nodes netns", 2, "needs root");
}

static void it_serves_and_keeps_its_ledger(void **state)
{
    (void)state;
    struct running r;
    char id[2][20];
    running_start(&r, NULL);
    assert_int_equal(running_ec2(&r, "DescribeRegions", "").status, 200);
    running_launch(&r, NULL, 2, id);
    running_await(&r, id[0], "state", "running");
    running_terminate(&r, id[0]);
    running_await(&r, id[0], "state", "terminated");
    assert_string_equal(running_ledger(&r, id[0], "billed_s"), "60");
    assert_string_equal(running_ledger(&r, id[0], "cost_uusd"), "16767");

    // The file follows within moments, without anybody asking.
    running_await_words(&r, "state/ledger.json", "\"state\": \"terminated\"");
    assert_int_equal(running_stop(&r), 0);
}

static void strange_requests_get_answers(void **state)
{
    (void)state;
    struct running r;
    running_start(&r, NULL);
    assert_int_equal(running_get(&r, "/").status, 403);
    assert_int_equal(running_get(&r, "/?Action=DescribeRegions&Version=2016-11-15").status, 403);
    assert_int_equal(running_get(&r, "/elsewhere").status, 404);
    assert_int_equal(running_get(&r, "/_rbmock/").status, 404);
    assert_int_equal(running_post(&r, "/_rbmock/ledger").status, 404);
    assert_int_equal(running_post(&r, "/_rbmock/nodes/i-00000000000000000/poweroff").status, 404);
    assert_int_equal(running_post(&r, "/_rbmock/nodes/i-00000000000000000/dance").status, 404);
    char *big = rb_arena_alloc(&r.arena, 2000001);
    memset(big, 'x', 2000000);
    assert_int_equal(running_ec2(&r, "DescribeRegions", big).status, 413);
    assert_int_equal(running_ec2(&r, "DescribeRegions", "").status, 200); // none of it left a mark
    assert_int_equal(running_stop(&r), 0);
}

// A page in the user's browser, and a name that was made to point here.
static void web_pages_are_refused(void **state)
{
    (void)state;
    struct running r;
    char command[512];
    running_start(&r, NULL);
    static const struct {
        const char *header;
        int status;
    } cases[] = {{"Host: evil.example", 421},
                 {"Origin: https://evil.example", 403},
                 {"Sec-Fetch-Site: cross-site", 403},
                 {"Host: localhost", 200}};
    for (int port = 0; port < 2; port++)
        for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
            RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
            snprintf(command, sizeof command,
                     "curl -s -o /dev/null -w '%%{http_code}' -H '%s' http://127.0.0.1:%d/_rbmock/ledger",
                     cases[c].header, port ? r.port : r.gcp_port);
            assert_int_equal(run_shell(command, &out), 0);
            assert_int_equal(atoi(rb_buf_str(&out)), cases[c].status);
        }
    assert_int_equal(running_stop(&r), 0);
}

// The key that everybody knows opens nothing unless it was asked for; the one that does is in a file of mode 0600.
static void keys_are_made_at_each_start(void **state)
{
    (void)state;
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    char command[1024];
    snprintf(command, sizeof command,
             "set -eu; d=$(mktemp -d); for n in 1 2; do '%s' --state $d/$n >$d/said.$n & p=$!\n"
             "until grep -q '^#' $d/said.$n; do sleep 0.05; done; head -n 1 $d/said.$n | grep -q '^ready ec2=http'\n"
             "! grep -q secret_access_key $d/said.$n; [ \"$(stat -c %%a $d/$n/credentials $d/$n/account.json $d/$n/env "
             "| tr '\\n' ' ')\" = "
             "'600 600 600 ' ]; cp $d/$n/credentials $d/$n.ini; kill $p; wait $p; ! test -e $d/$n/credentials; done\n"
             "! cmp -s $d/1.ini $d/2.ini; rm -r $d",
             getenv("RBMOCK"));
    if (run_shell(command, &out) != 0)
        fail_msg("%s", rb_buf_str(&out));
}

static void credentials_come_from_a_file(void **state)
{
    (void)state;
    struct running r;
    char path[] = "/tmp/rbmock-keys-XXXXXX";
    int fd = mkstemp(path);
    static const char text[] = "[default]\naws_access_key_id = other\naws_secret_access_key = secret\n";
    assert_int_equal(write(fd, text, sizeof text - 1), sizeof text - 1);
    close(fd);
    running_start(&r, (const char *const[]){"--credentials", path, NULL});
    assert_int_equal(running_ec2(&r, "DescribeRegions", "").status, 401); // signed by `test`
    assert_int_equal(running_stop(&r), 0);
    unlink(path);
}

// The clock of the cloud runs ahead; signatures dated by the host's clock still count.
static void speed_makes_time_pass_faster(void **state)
{
    (void)state;
    struct running r;
    char id[1][20];
    running_start(&r, (const char *const[]){"--speed", "3600", NULL});
    running_launch(&r, NULL, 1, id);
    running_await(&r, id[0], "reachable", "true");
    run_shell("sleep 0.5", NULL); // half an hour; nothing to wait for but time itself
    running_terminate(&r, id[0]);
    long long cost = atoll(running_ledger(&r, id[0], "cost_uusd"));
    assert_true(cost >= 503000); // 1.006 $/h
    assert_int_equal(running_stop(&r), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_usage_is_exit_2),          cmocka_unit_test(it_serves_and_keeps_its_ledger),
        cmocka_unit_test(strange_requests_get_answers), cmocka_unit_test(credentials_come_from_a_file),
        cmocka_unit_test(speed_makes_time_pass_faster), cmocka_unit_test(web_pages_are_refused),
        cmocka_unit_test(keys_are_made_at_each_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
