// Dead man's switches: what is sent to a node, what is made of its answers, and what a controller says before it knows.
#include "base/limits.h"
#include "executor/launcher/bootstrap.h"
#include "executor/transport/node_switch.h"
#include "fake_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
// cmocka wants the four above first
#include <cmocka.h>

#define SECOND_US INT64_C(1000000)

// --- what is sent

static void user_data_has_the_five_keys_and_room_to_spare(void **state)
{
    (void)state;
    static const char *const keys[] = {"bootcmd", "ssh_deletekeys", "ssh_keys", "ssh_authorized_keys", "runcmd"};
    const struct rb_host_key host = {"-----BEGIN\nx\n-----END\n", "ssh-ed25519 AAAA"};
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    struct rb_err err;
    int n_keys = 0;
    assert_true(rb_bootstrap_user_data("ssh-ed25519 BBBB", &host, 60, &out, &err));
    assert_in_range(out.len, 1, RB_LIMIT_USER_DATA / 2);
    for (const char *line = rb_buf_str(&out); *line; line += strcspn(line, "\n") + 1) {
        if (*line == ' ' || *line == '\n' || *line == '#')
            continue;
        assert_true(n_keys < 5 && strncmp(line, keys[n_keys], strlen(keys[n_keys])) == 0);
        n_keys++;
    }
    assert_int_equal(n_keys, 5);
    assert_non_null(strstr(rb_buf_str(&out), "/switch\" beat 3600 "));
    assert_null(strstr(rb_buf_str(&out), "shutdown -h +"));
}

// --- what comes back

static struct rb_switch_report read_text(const char *text)
{
    struct rb_switch_report report;
    rb_node_switch_read(text, strlen(text), "sudo: a password\x1b is required\n", &report);
    return report;
}

static void answers_are_read(void **state)
{
    (void)state;
    struct rb_switch_report r = read_text("rb-switch armed 1800\n");
    assert_int_equal(r.state, RB_SWITCH_ARMED);
    assert_int_equal(r.left_s, 1800);
    r = read_text("Welcome!\nrb-switch armed -3");
    assert_int_equal(r.state, RB_SWITCH_ARMED);
    assert_int_equal(r.left_s, -3);
    r = read_text("rb-switch not-armed its watchdog\x1b does not start\nrb-switch armed 5\n");
    assert_int_equal(r.state, RB_SWITCH_NOT_ARMED);
    assert_string_equal(r.why, "its watchdog  does not start");
}

static void what_is_no_answer_is_unknown(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "\n\n",
        "armed",
        "rb-switch",
        "rb-switch armed ",
        "rb-switch armed x",
        "rb-switch armed 18 00",
        "rb-switch armed 99999999999999999999999999999999999",
        "rb-switch armed 99999999999999999", // no microseconds of that fit
        "rb-switch armed -99999999999999999",
        "bash: rb-switch armed 5",
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        const struct rb_switch_report r = read_text(bad[k]);
        assert_int_equal(r.state, RB_SWITCH_UNKNOWN);
        assert_string_equal(r.why, "sudo: a password  is required");
    }
}

// --- what is said

static int count(const char *text, const char *what)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, what)); at++)
        n++;
    return n;
}

// A run whose heartbeats find that, cut off from everything after a minute. r->talk: what it said.
static void run_cut_off(struct fake_run *r, const struct rb_switch_report *report)
{
    fake_run_init(r, 1);
    r->machines.switch_report = *report;
    fake_run_open(r);
    fake_run_step_until(r, 60 * SECOND_US);
    r->cloud.faults.offline = true;
    fake_machines_set_offline(&r->machines, true);
    fake_run_step_until(r, 300 * SECOND_US);
    if (!strstr(r->talk, "is this machine's network gone?"))
        fail_msg("it was not cut off:\n%s", r->talk);
    fake_run_close(r);
}

static void nodes_that_are_armed_may_be_said_to_end(void **state)
{
    (void)state;
    struct fake_run r;
    run_cut_off(&r, &(struct rb_switch_report){.state = RB_SWITCH_ARMED});
    assert_non_null(strstr(r.talk, "nodes that hear nothing for 30 minutes end themselves"));
    assert_null(strstr(r.talk, "RB41"));
    fake_run_finish(&r);
}

static void of_others_nothing_is_promised(void **state)
{
    (void)state;
    static const struct rb_switch_report not_armed[] = {
        {.state = RB_SWITCH_NOT_ARMED, .why = "its watchdog does not start"},
        {.state = RB_SWITCH_UNKNOWN, .why = "sh: not found"},
    };
    for (int k = 0; k < 2; k++) {
        struct fake_run r;
        run_cut_off(&r, &not_armed[k]);
        assert_null(strstr(r.talk, "end themselves\n"));
        assert_non_null(strstr(r.talk, "and no node is known to end itself when it hears nothing"));
        assert_non_null(strstr(r.talk, not_armed[k].why));
        assert_int_equal(count(r.talk, "RB4106"), 3); // each node once
        fake_run_finish(&r);
    }
}

static void an_end_that_does_not_move_is_said(void **state)
{
    (void)state;
    static const int64_t left_s[] = {900, 3480}; // half an hour was asked for; the boot's deadline is later at first
    static const char *const said[] = {"ends itself in 15 m 0 s although rbrun is here", "ends itself in 58 m 0 s"};
    for (int k = 0; k < 2; k++) {
        struct fake_run r;
        run_cut_off(&r, &(struct rb_switch_report){.state = RB_SWITCH_ARMED, .left_s = left_s[k]});
        assert_non_null(strstr(r.talk, said[k]));
        assert_int_equal(count(r.talk, "RB4107"), 3);
        fake_run_finish(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(user_data_has_the_five_keys_and_room_to_spare),
        cmocka_unit_test(answers_are_read),
        cmocka_unit_test(what_is_no_answer_is_unknown),
        cmocka_unit_test(nodes_that_are_armed_may_be_said_to_end),
        cmocka_unit_test(of_others_nothing_is_promised),
        cmocka_unit_test(an_end_that_does_not_move_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
