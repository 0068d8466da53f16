// Real nodes: they boot, are logged in to with strict host key checking, run things that try to outlive them, and end.
#include "base/document/json.h"
#include "running.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static struct running r;
static char mark[32]; // a word that only this test's processes carry

static int setup(void **state)
{
    (void)state;
    static int n;
    running_start(&r, NULL);
    snprintf(mark, sizeof mark, "7%05d%02d", (int)getpid() % 100000, n++ % 100);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    int status = running_stop(&r);
    return status == 0 && !process_exists(mark) ? 0 : -1;
}

static void expect_output(const char *id, const char *command, const char *expected)
{
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    int status = running_ssh(&r, id, command, &out);
    if (status != 0 || strcmp(rb_buf_str(&out), expected) != 0)
        fail_msg("%s: exit %d, got: %s", command, status, rb_buf_str(&out));
}

static void a_node_boots_and_is_a_world_of_its_own(void **state)
{
    (void)state;
    char id[1][20], expected[256];
    running_launch(&r,
                   running_cloud_config(&r, "bootcmd:\n  - echo booted >\"$RB_RUN_DIR/first\"\n"
                                            "runcmd:\n  - [touch, ready]\n"
                                            "  - cat \"$RB_RUN_DIR/first\" >>ready\n"),
                   1, id);
    running_await(&r, id[0], "reachable", "true");
    snprintf(expected, sizeof expected, "%s/home\n%s/run/rb\n%s\n%s/home\nbooted\n", running_instance(&r, id[0], "dir"),
             running_instance(&r, id[0], "dir"), id[0], running_instance(&r, id[0], "dir"));
    expect_output(id[0], "echo $HOME; echo $RB_RUN_DIR; echo $RB_MOCK_INSTANCE; pwd; cat ready", expected);
    assert_int_equal(running_ssh(&r, id[0], "exit 75", NULL), 75);
    expect_output(id[0], "printf 'a b' | cat; echo \"'$((6 * 7))'\"", "a b'42'\n");
    // What a login need not cost on loopback: the default exchange of keys, which takes longer, and compression.
    expect_output(id[0], "/usr/sbin/sshd -T -f ../sshd_config | grep -c -e '^compression no' -e '^kexalgorithms [^s]'", "2\n");
}

// bash reads ~/.bashrc when sshd starts it; the host user's must not run on a node, the node's own may.
static void the_host_users_start_files_are_not_read(void **state)
{
    (void)state;
    char id[1][20];
    running_launch(&r, running_cloud_config(&r, "runcmd:\n  - echo 'echo from the node' >.bashrc\n"), 1, id);
    running_await(&r, id[0], "reachable", "true");
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    run_shell("getent passwd $(id -un) | cut -d: -f7", &out);
    expect_output(id[0], "true", strstr(rb_buf_str(&out), "/bash") ? "from the node\n" : "");
}

static void a_wrong_host_key_is_noticed(void **state)
{
    (void)state;
    char id[1][20];
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    running_cloud_config(&r, ""); // makes the keys
    const char *without_host_key = rb_arena_printf(&r.arena, "#cloud-config\nssh_authorized_keys:\n  - x\n");
    running_launch(&r, without_host_key, 1, id);
    running_await(&r, id[0], "reachable", "true");
    assert_int_equal(running_ssh(&r, id[0], "true", &out), 255);
    assert_non_null(strstr(rb_buf_str(&out), "Host key verification failed"));
}

static void nothing_outlives_its_instance(void **state)
{
    (void)state;
    char id[2][20], command[512];
    running_launch(&r, running_cloud_config(&r, rb_arena_printf(&r.arena, "runcmd:\n  - setsid sleep %s5 &\n", mark)),
                   2, id);
    running_await(&r, id[0], "reachable", "true");
    running_await(&r, id[1], "reachable", "true");
    snprintf(command, sizeof command,
             "nohup setsid sleep %s1 >/dev/null 2>&1 & (setsid sh -c '(env -i sleep %s2 &) ; trap \"\" TERM "
             "HUP; sleep %s3' "
             ">/dev/null 2>&1 &); echo started",
             mark, mark, mark);
    expect_output(id[0], command, "started\n");
    snprintf(command, sizeof command, "nohup setsid sleep %s4 >/dev/null 2>&1 & echo started", mark);
    expect_output(id[1], command, "started\n");
    char words[4][40];
    for (int k = 0; k < 4; k++) {
        snprintf(words[k], sizeof words[k], "sleep %s%d", mark, k + 1);
        assert_true(await_process(words[k], true)); // `&` returns before the command is there
    }
    running_terminate(&r, id[0]);
    running_await(&r, id[0], "state", "terminated");
    // A caller that sees `terminated` finds nothing left, at once.
    for (int k = 0; k < 3; k++)
        assert_false(process_exists(words[k]));
    assert_true(process_exists(words[3])); // the neighbour lives
    expect_output(id[1], "echo still here", "still here\n");
}

static void shutdown_from_user_data_ends_only_its_instance(void **state)
{
    (void)state;
    char doomed[1][20], other[1][20];
    running_launch(&r, running_cloud_config(&r, ""), 1, other);
    running_await(&r, other[0], "reachable", "true");
    running_launch(&r, "#!/bin/sh\nshutdown -h now\n", 1, doomed);
    running_await(&r, doomed[0], "state", "terminated");
    assert_string_equal(running_ledger(&r, doomed[0], "cause"), "guest");
    assert_string_not_equal(running_ledger(&r, doomed[0], "cost_uusd"), "0");
    assert_string_equal(running_instance(&r, other[0], "state"), "running");
    // Later shutdowns can be called off; `poweroff` from a session ends the instance.
    expect_output(other[0], "shutdown -h +1 && shutdown -c && sudo -n echo fine", "fine\n");
    running_ssh(&r, other[0], "systemctl poweroff; sleep 5", NULL);
    running_await(&r, other[0], "state", "terminated");
}

// As on a real machine, where bootcmd runs before D-Bus is up: what is scheduled there is not, and rbmock must not do it.
static void during_bootcmd_there_is_no_bus(void **state)
{
    (void)state;
    char id[1][20];
    running_launch(&r,
                   running_cloud_config(&r,
                                        "bootcmd:\n  - shutdown -h +1 || echo refused\n  - shutdown -c || echo still\n"
                                        "  - systemctl start x || echo alone\n"),
                   1, id);
    running_await(&r, id[0], "reachable", "true");
    expect_output(id[0],
                  "grep -c 'Failed to connect to bus: No such file' ../boot.log; grep -x refused ../boot.log; "
                  "grep -x still ../boot.log; grep -x alone ../boot.log; shutdown -h +60 && shutdown -c && echo later",
                  "4\nrefused\nstill\nalone\nlater\n"); // each is printed and noted
}

static void make_canary(const char *dir, const char *name)
{
    struct rb_err err;
    char path[128], text[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    snprintf(text, sizeof text, "#!/bin/sh\necho \"${0##*/} $*\" >>%s/called\n", dir);
    assert_true(rb_write_file(path, text, strlen(text), &err));
    assert_int_equal(chmod(path, 0755), 0);
}

// Canaries with the names of the host's tools stand first in the PATH that rbmock itself was given: whatever
// of the node reaches past the node's own tools would call them.
static void the_hosts_tools_are_never_called(void **state)
{
    (void)state;
    static const char *const tools[] = {"shutdown",    "poweroff", "reboot", "halt", "systemctl",
                                        "systemd-run", "apt-get",  "apt",    "dpkg", "yum",
                                        "dnf",         "snap",     "sudo",   "init", "telinit"};
    const size_t n_tools = sizeof tools / sizeof *tools;
    char canaries[] = "/tmp/rbmock-canary-XXXXXX", id[1][20], text[256];
    RB_AUTO(rb_buf_finish) struct rb_buf more = RB_BUF_INIT;
    RB_AUTO(rb_auto_free) char *old_path = rb_xstrdup(getenv("PATH"));
    running_stop(&r);
    assert_non_null(mkdtemp(canaries));
    for (size_t k = 0; k < n_tools; k++)
        make_canary(canaries, tools[k]);
    make_canary(canaries, "tool-of-the-host");
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    rb_buf_printf(&path, "%s:%s", canaries, old_path);
    setenv("PATH", rb_buf_str(&path), 1);
    running_start(&r, NULL);
    setenv("PATH", old_path, 1);

    rb_buf_puts(&more, "bootcmd:\n  - shutdown -h +600\n  - shutdown -c\nruncmd:\n");
    for (size_t k = 0; k < n_tools; k++)
        if (strcmp(tools[k], "poweroff") != 0 && strcmp(tools[k], "halt") != 0)
            rb_buf_printf(&more, "  - \"%s --version || true\"\n  - sh -c '%s -x; exec %s -y' || true\n", tools[k],
                          tools[k], tools[k]);
    running_launch(&r, running_cloud_config(&r, rb_buf_str(&more)), 1, id);
    running_await(&r, id[0], "reachable", "true");
    // Every name leads into the node's own bin.
    RB_AUTO(rb_buf_finish) struct rb_buf command = RB_BUF_INIT;
    rb_buf_puts(&command, "for tool in");
    for (size_t k = 0; k < n_tools; k++)
        rb_buf_printf(&command, " %s", tools[k]);
    rb_buf_puts(&command, "; do [ \"$(command -v $tool)\" = \"${HOME%/home}/bin/$tool\" ] || echo $tool; done");
    expect_output(id[0], rb_buf_str(&command), "");
    // The canaries do sing: one that the node has no stand-in for.
    assert_int_equal(running_ssh(&r, id[0], "tool-of-the-host", NULL), 0);
    running_ssh(&r, id[0], "apt-get install -y python3; systemctl status; poweroff", NULL);
    running_await(&r, id[0], "state", "terminated");
    snprintf(text, sizeof text, "cat %s/called; rm -r %s", canaries, canaries);
    RB_AUTO(rb_buf_finish) struct rb_buf called = RB_BUF_INIT;
    run_shell(text, &called);
    assert_string_equal(rb_buf_str(&called), "tool-of-the-host \n");
}

// Where rbmock is root and the kernel lets it, absolute paths lead to the stand-ins too.
static void absolute_paths_are_covered_for_root(void **state)
{
    (void)state;
    char id[1][20];
    if (getuid() != 0 || run_shell("unshare -m true 2>/dev/null", NULL) != 0 || access("/usr/bin/dpkg", X_OK) != 0)
        skip();
    running_launch(&r, running_cloud_config(&r, ""), 1, id);
    running_await(&r, id[0], "reachable", "true");
    expect_output(id[0], "cmp /usr/bin/dpkg \"$HOME/../node-tool\" && echo covered", "covered\n");
    expect_output(id[0], "test -f /proc/sysrq-trigger || echo covered", "covered\n"); // /dev/null, or no such key
    assert_int_not_equal(
        run_shell(rb_arena_printf(&r.arena, "cmp -s /usr/bin/dpkg %s/node-tool", running_instance(&r, id[0], "dir")),
                  NULL),
        0); // only on the node
    expect_output(id[0], "/usr/bin/dpkg --version; tail -n1 ../boot.log", "dpkg: --version\n");
}

static void broken_user_data_leaves_the_node_unreachable(void **state)
{
    (void)state;
    char id[1][20];
    running_launch(&r, "#cloud-config\npackages: [curl]\n", 1, id);
    running_await(&r, id[0], "state", "running");
    running_await_change(&r, id[0], "node_failure", "null");
    assert_string_equal(running_instance(&r, id[0], "reachable"), "false");
    running_await_words(&r, rb_arena_printf(&r.arena, "state/nodes/%s/boot.log", id[0]), "packages");
    running_terminate(&r, id[0]);
    running_await(&r, id[0], "state", "terminated");
}

static void frozen_nodes_hang_and_dead_ones_stay_billed(void **state)
{
    (void)state;
    char id[1][20];
    running_launch(&r, running_cloud_config(&r, ""), 1, id);
    running_await(&r, id[0], "reachable", "true");
    assert_int_equal(running_post(&r, rb_arena_printf(&r.arena, "/_rbmock/nodes/%s/freeze", id[0])).status, 200);
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    char command[256];
    snprintf(command, sizeof command,
             "timeout 1 ssh -F none -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null "
             "-p %s x@%s true 2>&1",
             running_instance(&r, id[0], "ssh_port"), running_instance(&r, id[0], "address"));
    assert_int_equal(run_shell(command, &out), 124); // the kernel answers the connect, no one the rest
    assert_int_equal(running_post(&r, rb_arena_printf(&r.arena, "/_rbmock/nodes/%s/thaw", id[0])).status, 200);
    expect_output(id[0], "echo awake", "awake\n");
    assert_int_equal(running_post(&r, rb_arena_printf(&r.arena, "/_rbmock/nodes/%s/cut", id[0])).status, 409);
    assert_int_equal(running_post(&r, rb_arena_printf(&r.arena, "/_rbmock/nodes/%s/poweroff", id[0])).status, 200);
    for (int tries = 0; running_ssh(&r, id[0], "true", NULL) != 255; tries++)
        assert_true(tries < 20); // each takes a login's time
    assert_string_equal(running_instance(&r, id[0], "state"), "running");
    running_terminate(&r, id[0]);
    running_await(&r, id[0], "state", "terminated");
}

static void even_a_killed_rbmock_leaves_nothing(void **state)
{
    (void)state;
    char id[1][20], command[128], word[40];
    running_launch(&r, running_cloud_config(&r, ""), 1, id);
    running_await(&r, id[0], "reachable", "true");
    snprintf(command, sizeof command, "setsid nohup sleep %s1 >/dev/null 2>&1 & echo started", mark);
    expect_output(id[0], command, "started\n");
    snprintf(word, sizeof word, "sleep %s1", mark);
    assert_true(await_process(word, true));
    kill(r.pid, SIGKILL);
    waitpid(r.pid, NULL, 0);
    assert_true(await_process(word, false));
    assert_true(await_process(rb_arena_printf(&r.arena, "%s/state/nodes", r.dir), false)); // its sshd
    running_stop(&r);
    running_start(&r, NULL); // for teardown
}

// The id that rbmock's own door knows the only, or else the newest, instance by.
static void newest_id(char out[static 20])
{
    const char *at = running_get(&r, "/_rbmock/instances").body;
    for (const char *next; (next = strstr(at, "\"id\": \"")); at = next + 1)
        snprintf(out, 20, "%.19s", next + strlen("\"id\": \""));
}

static void insert(const char *name, const char *key, const char *value, const char *more)
{
    RB_AUTO(rb_buf_finish) struct rb_buf body = RB_BUF_INIT;
    struct rb_json j;
    rb_buf_printf(
        &body,
        "{\"name\":\"%s\",\"machineType\":\"zones/us-central1-a/machineTypes/g2-standard-4\",\"disks\":[{\"boot\":true,"
        "\"autoDelete\":true,\"initializeParams\":{\"sourceImage\":\"projects/rbmock/global/images/rbmock-linux\"}}],"
        "\"networkInterfaces\":[{}],\"scheduling\":{\"onHostMaintenance\":\"TERMINATE\"},\"metadata\":{\"items\":[%s"
        "{\"key\":\"%s\",\"value\":",
        name, more, key);
    rb_json_init(&j, &body, false);
    rb_json_string(&j, value);
    rb_buf_puts(&body, "}]}}");
    struct reply reply = running_gcp(&r, "POST", "zones/us-central1-a/instances", rb_buf_str(&body));
    if (reply.status != 200)
        fail_msg("%s", reply.body);
}

static void compute_engines_instances_are_nodes_too(void **state)
{
    (void)state;
    char id[20], path[160];
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    insert("one", "user-data", running_cloud_config(&r, "runcmd:\n  - [touch, ready]\n"), "");
    newest_id(id);
    running_await(&r, id, "reachable", "true");
    expect_output(id, "ls", "ready\n");
    assert_int_equal(running_gcp(&r, "DELETE", "zones/us-central1-a/instances/one", "").status, 200);
    running_await(&r, id, "state", "terminated");
    assert_int_equal(running_gcp(&r, "GET", "zones/us-central1-a/instances/one", "").status, 404);

    insert("two", "startup-script", "#!/bin/bash\n[[ a == a ]] && echo \"it's $((6 * 7))\" >said\n",
           "{\"key\":\"ssh-keys\",\"value\":\"u:ssh-ed25519 AAAA c\"},");
    newest_id(id);
    running_await(&r, id, "reachable", "true");
    snprintf(path, sizeof path, "cat %s/home/said", running_instance(&r, id, "dir"));
    run_shell(path, &out);
    assert_string_equal(rb_buf_str(&out), "it's 42\n");

    insert("three", "startup-script", "#!/bin/sh\nshutdown -h now\n", "");
    newest_id(id);
    running_await(&r, id, "state", "stopped"); // shut down from inside it stays, and so does its disk
    assert_non_null(strstr(running_gcp(&r, "GET", "zones/us-central1-a/instances/three", "").body, "\"TERMINATED\""));
}

static void many_nodes_at_once(void **state)
{
    (void)state;
    char id[40][20];
    running_launch(&r, running_cloud_config(&r, ""), 40, id);
    for (int k = 0; k < 40; k++)
        running_await(&r, id[k], "reachable", "true");
    for (int k = 0; k < 40; k++)
        running_terminate(&r, id[k]);
    for (int k = 0; k < 40; k++)
        running_await(&r, id[k], "state", "terminated");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_node_boots_and_is_a_world_of_its_own, setup, teardown),
        cmocka_unit_test_setup_teardown(the_host_users_start_files_are_not_read, setup, teardown),
        cmocka_unit_test_setup_teardown(a_wrong_host_key_is_noticed, setup, teardown),
        cmocka_unit_test_setup_teardown(nothing_outlives_its_instance, setup, teardown),
        cmocka_unit_test_setup_teardown(shutdown_from_user_data_ends_only_its_instance, setup, teardown),
        cmocka_unit_test_setup_teardown(the_hosts_tools_are_never_called, setup, teardown),
        cmocka_unit_test_setup_teardown(absolute_paths_are_covered_for_root, setup, teardown),
        cmocka_unit_test_setup_teardown(during_bootcmd_there_is_no_bus, setup, teardown),
        cmocka_unit_test_setup_teardown(broken_user_data_leaves_the_node_unreachable, setup, teardown),
        cmocka_unit_test_setup_teardown(frozen_nodes_hang_and_dead_ones_stay_billed, setup, teardown),
        cmocka_unit_test_setup_teardown(even_a_killed_rbmock_leaves_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(compute_engines_instances_are_nodes_too, setup, teardown),
        cmocka_unit_test_setup_teardown(many_nodes_at_once, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
