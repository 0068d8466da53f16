// Both launchers through the same table of cases; ssh against a real sshd started here as the current user.
#include "executor/launcher/bootstrap.h"
#include "executor/launcher/launcher.h"
#include "executor/transport/loop_uv.h"
#include "executor/transport/ssh_command.h"
#include "executor/transport/transport.h"

#include "base/arena.h"
#include "base/text/buf.h"
#include "base/clock.h"
#include "base/document/doc.h"
#include "base/text/units.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <netinet/in.h>
#include <arpa/inet.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/base/check.h"

enum { EXIT_SKIPPED = 77, MAX_TASKS = 8 };

struct seen {
    bool exited, killed, saved, save_failed;
    char link[64];
    int exit_code;
    int64_t exited_at_us;
    struct rb_buf lines;
    struct rb_buf file; // "NAME:bytes", and "NAME! " where it began
    int n_again;
    int n_echoed;
    size_t echoed_behind; // bytes of lines
    char checkpoint[4096];
    struct rb_buf kept; // "RESOURCE " of each midway checkpoint, "RESOURCE! " of those that failed
};

struct fixture {
    bool ssh;
    char dir[64];
    char meet[128]; // where scripts and tests meet: of the test's folders one that a container sees
    struct rb_loop_uv *uv;
    struct rb_launcher *launcher;
    struct rb_job job;
    struct rb_host_key host;
    char public_key[256];
    pid_t sshd;
    int port;
    bool prepared, prepare_failed, unreachable, armed;
    char waits_for[512]; // what it said last of a node that is not prepared
    struct rb_err prepare_err;
    bool fetching;
    int n_fetches;        // how often fetching began
    int64_t fetched_us;   // -1: not reported
    struct seen seen[MAX_TASKS]; // by trial
    bool (*until)(struct fixture *f);
    bool timed_out;
    int n_lines_wanted, reconnects;
    const char *kept_wanted; // resource of a midway checkpoint
    char small[256];         // a small disk that is mounted there; "": none
    int n_held_up;
    char no_room[512];       // "TRIAL: WHY" of the last node that had none
    bool forget_when_killed; // as a controller does that was only waiting for the kill
};

// Of each test another one: the keeper of an earlier test ends the container that bears its run's name.
static const char *run_id(const struct fixture *f)
{
    return strrchr(f->dir, '/') + 1;
}

static void check_done(struct fixture *f)
{
    if (f->until && f->until(f))
        rb_loop_uv_stop(f->uv);
}

static void on_prepared(void *ctx, int node, const struct rb_err *err)
{
    struct fixture *f = ctx;
    (void)node;
    f->prepared = !err;
    f->prepare_failed = err != NULL;
    if (err)
        f->prepare_err = *err;
    check_done(f);
}

static void on_fetching(void *ctx, int node, bool on)
{
    struct fixture *f = ctx;
    (void)node;
    f->fetching = on;
    f->n_fetches += on;
    check_done(f);
}

static void on_fetched(void *ctx, int node, int64_t us)
{
    struct fixture *f = ctx;
    (void)node;
    assert_false(f->prepared);
    f->fetched_us = us;
}

static void on_line(void *ctx, int trial, int attempt, const char *bytes, size_t n)
{
    struct fixture *f = ctx;
    (void)attempt;
    rb_buf_append(&f->seen[trial].lines, bytes, n);
    rb_buf_putc(&f->seen[trial].lines, '\n');
    check_done(f);
}

static void on_file(void *ctx, int trial, int attempt, const char *name, const char *bytes, size_t n, bool restart)
{
    struct fixture *f = ctx;
    (void)attempt;
    rb_buf_printf(&f->seen[trial].file, restart ? "%s! " : "%s:", name);
    rb_buf_append(&f->seen[trial].file, bytes, n);
    check_done(f);
}

static void on_again(void *ctx, int trial, int attempt)
{
    struct fixture *f = ctx;
    (void)attempt;
    f->seen[trial].n_again++;
    rb_buf_clear(&f->seen[trial].file);
}

static void on_echoed(void *ctx, int trial, int attempt)
{
    struct fixture *f = ctx;
    (void)attempt;
    f->seen[trial].n_echoed++;
    f->seen[trial].echoed_behind = f->seen[trial].lines.len;
    check_done(f);
}

static void on_exited(void *ctx, int trial, int attempt, int code)
{
    struct fixture *f = ctx;
    (void)attempt;
    assert_false(f->seen[trial].exited);
    f->seen[trial].exited = true;
    f->seen[trial].exit_code = code;
    f->seen[trial].exited_at_us = rb_clock_unix_us();
    check_done(f);
}

static void on_saved(void *ctx, int trial, int attempt, const char *checkpoint, const struct rb_err *err)
{
    struct fixture *f = ctx;
    (void)attempt;
    f->seen[trial].saved = !err;
    f->seen[trial].save_failed = err != NULL;
    if (checkpoint)
        snprintf(f->seen[trial].checkpoint, sizeof f->seen[trial].checkpoint, "%s", checkpoint);
    check_done(f);
}

static void on_kept(void *ctx, int trial, int attempt, int64_t resource, const char *checkpoint,
                    const struct rb_err *err)
{
    struct fixture *f = ctx;
    (void)attempt;
    rb_buf_printf(&f->seen[trial].kept, err ? "%d! " : "%d ", (int)resource);
    if (checkpoint)
        snprintf(f->seen[trial].checkpoint, sizeof f->seen[trial].checkpoint, "%s", checkpoint);
    check_done(f);
}

static void on_linked(void *ctx, int trial, const char *name)
{
    struct fixture *f = ctx;
    snprintf(f->seen[trial].link, sizeof f->seen[trial].link, "%s", name);
}

static void on_killed(void *ctx, int trial, int attempt)
{
    struct fixture *f = ctx;
    (void)attempt;
    f->seen[trial].killed = true;
    if (f->forget_when_killed)
        f->launcher->ops->forget(f->launcher, 0);
    check_done(f);
}

static void on_unreachable(void *ctx, int node, const char *why)
{
    struct fixture *f = ctx;
    (void)node;
    f->unreachable = why[0] != '\0';
    check_done(f);
}

static void on_held_up(void *ctx, int trial, const struct rb_err *err)
{
    struct fixture *f = ctx;
    (void)trial;
    assert_int_equal(rb_err_number(err), RB_E_MACHINE_FULL);
    f->n_held_up++;
    check_done(f);
}

static void on_no_room(void *ctx, int node, int trial, const char *why)
{
    struct fixture *f = ctx;
    assert_int_equal(node, 0);
    snprintf(f->no_room, sizeof f->no_room, "%d: %s", trial, why);
    check_done(f);
}

static void on_waiting(void *ctx, int node, const char *why)
{
    struct fixture *f = ctx;
    (void)node;
    snprintf(f->waits_for, sizeof f->waits_for, "%s", why);
    check_done(f);
}

static void on_switched(void *ctx, int node, const struct rb_switch_report *report)
{
    struct fixture *f = ctx;
    (void)node;
    f->armed = report->state == RB_SWITCH_ARMED;
    check_done(f);
}

static void on_timeout(void *arg)
{
    struct fixture *f = arg;
    f->timed_out = true;
    rb_loop_uv_stop(f->uv);
}

// Runs the loop until `until` holds; 20 s at most.
static void wait_until(struct fixture *f, bool (*until)(struct fixture *f))
{
    const struct rb_loop *loop = rb_loop_uv_loop(f->uv);
    if (until(f))
        return;
    f->until = until;
    f->timed_out = false;
    uint64_t timer = loop->timer_start(loop->ctx, 20 * RB_US_PER_S, on_timeout, f);
    rb_loop_uv_run(f->uv);
    loop->timer_cancel(loop->ctx, timer);
    f->until = NULL;
    assert_false(f->timed_out);
}

static void write_text(const char *dir, const char *name, const char *text)
{
    char path[512];
    const int n = snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_true(n > 0 && (size_t)n < sizeof path);
    assert_true(rb_write_file(path, text, strlen(text), NULL));
}

static int free_port(void)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    assert_return_code(bind(fd, (struct sockaddr *)&a, n), 0);
    getsockname(fd, (struct sockaddr *)&a, &n);
    close(fd);
    return ntohs(a.sin_port);
}

static void start_sshd(struct fixture *f)
{
    char text[2048], path[256];
    mkdir("/run/sshd", 0755); // as root sshd wants it; for others it fails and does not matter
    snprintf(path, sizeof path, "%s/home", f->dir);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/run", f->dir);
    mkdir(path, 0700);
    write_text(path, "ready", "");
    write_text(f->dir, "host_key", f->host.private_pem);
    snprintf(path, sizeof path, "%s/host_key", f->dir);
    chmod(path, 0600);
    write_text(f->dir, "authorized_keys", f->public_key);
    snprintf(
        text, sizeof text,
        "#!/bin/sh\nexport HOME=%s/home RB_RUN_DIR=%s/run\ncd \"$HOME\"\nexec /bin/sh -c \"$SSH_ORIGINAL_COMMAND\"\n",
        f->dir, f->dir);
    write_text(f->dir, "session", text);
    snprintf(path, sizeof path, "%s/session", f->dir);
    chmod(path, 0700);
    f->port = free_port();
    snprintf(
        text, sizeof text,
        "ListenAddress 127.0.0.1\nPort %d\nHostKey %s/host_key\nAuthorizedKeysFile %s/authorized_keys\nPidFile none\n"
        "UsePAM no\nPasswordAuthentication no\nStrictModes no\nMaxSessions 100\nUseDNS no\nKexAlgorithms -sntrup*\nForceCommand %s/session\n"
        "SetEnv HOME=%s/home\n", // already here: the login shell must not read this user's .bashrc
        f->port, f->dir, f->dir, f->dir, f->dir);
    write_text(f->dir, "sshd_config", text);
    snprintf(path, sizeof path, "%s/sshd_config", f->dir);
    f->sshd = fork();
    if (f->sshd == 0) {
        char log[256];
        snprintf(log, sizeof log, "%s/sshd.log", f->dir);
        execl("/usr/sbin/sshd", "/usr/sbin/sshd", "-D", "-f", path, "-E", log, (char *)NULL);
        _exit(127);
    }
}

static void make_launcher(struct fixture *f)
{
    struct rb_launcher_config config = {
        .loop = rb_loop_uv_loop(f->uv),
        .job = &f->job,
        .run_id = run_id(f),
        .run_dir = f->dir,
        .workdir = NULL,
        .reconnects = f->reconnects,
        .events = {.ctx = f,
                   .prepared = on_prepared,
                   .fetching = on_fetching,
                   .fetched = on_fetched,
                   .line = on_line,
                   .file = on_file,
                   .again = on_again,
                   .echoed = on_echoed,
                   .exited = on_exited,
                   .saved = on_saved,
                   .kept = on_kept,
                   .killed = on_killed,
                   .unreachable = on_unreachable,
                   .waiting = on_waiting,
                   .held_up = on_held_up,
                   .no_room = on_no_room,
                   .switched = on_switched,
                   .linked = on_linked},
    };
    char work[128];
    snprintf(work, sizeof work, "%s/src", f->dir);
    config.workdir = work;
    config.transport = rb_transport_find(f->ssh ? "ssh" : "local");
    static struct rb_key_value box = {.key = "*"};
    box.value = getenv("RB_TEST_IMAGE");
    config.containers = &box;
    config.n_containers = box.value != NULL;
    f->launcher = rb_launcher_create(&config);
}

static void prepare_node(struct fixture *f, const char *host_key)
{
    char user[64];
    snprintf(user, sizeof user, "%s", getenv("USER") ? getenv("USER") : "root");
    FILE *id = popen("id -un", "r");
    if (id && fgets(user, sizeof user, id))
        user[strcspn(user, "\n")] = '\0';
    pclose(id);
    struct rb_launch_node node = {.node = 0,
                                  .instance_id = "i-test",
                                  .address = "127.0.0.1",
                                  .user = user,
                                  .port = f->port,
                                  .host_key = host_key,
                                  .gpus = 4};
    f->launcher->ops->prepare(f->launcher, &node);
}

static bool is_prepared(struct fixture *f)
{
    return f->prepared;
}

static bool prepare_has_failed(struct fixture *f)
{
    return f->prepare_failed;
}

static struct fixture *create_fixture(bool ssh, int reconnects)
{
    struct fixture *f = rb_xcalloc(1, sizeof *f);
    struct rb_err err = {0};
    f->ssh = ssh;
    f->reconnects = reconnects;
    snprintf(f->dir, sizeof f->dir, "/tmp/rb-launcher-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    snprintf(f->meet, sizeof f->meet, "%s%s%s", f->dir, getenv("RB_TEST_IMAGE") ? "/local/node-0/rb/" : "",
             getenv("RB_TEST_IMAGE") ? run_id(f) : "");
    char src[128];
    snprintf(src, sizeof src, "%s/src", f->dir);
    mkdir(src, 0700);
    write_text(src, "hello.txt", "hello from the work directory\n");
    write_text(src, "secret.txt", "ignored\n");
    write_text(src, ".rbignore", "secret.txt\nnode*\n"); // the script that is packed beside them has that name
    f->job = (struct rb_job){.checkpoint_dir = "ckpt"};
    f->uv = rb_loop_uv_create();
    assert_true(rb_bootstrap_run_key(f->dir, f->public_key, &err));
    assert_true(rb_bootstrap_host_key(&f->host, &err));
    if (ssh)
        start_sshd(f);
    make_launcher(f);
    return f;
}

static int prepare_over_ssh(void **state, int reconnects)
{
    struct fixture *f = *state = create_fixture(true, reconnects);
    prepare_node(f, f->host.public_line);
    wait_until(f, is_prepared);
    return 0;
}

static int setup_ssh(void **state)
{
    return prepare_over_ssh(state, 0);
}

static int setup_ssh_impatient(void **state)
{
    return prepare_over_ssh(state, 2);
}

static int setup_ssh_unprepared(void **state)
{
    *state = create_fixture(true, 0);
    return 0;
}

static int setup_local_unprepared(void **state)
{
    *state = create_fixture(false, 0);
    return 0;
}

static int setup_local(void **state)
{
    struct fixture *f = *state = create_fixture(false, 0);
    prepare_node(f, NULL);
    wait_until(f, is_prepared);
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    f->launcher->ops->forget(f->launcher, 0);
    f->launcher->ops->destroy(f->launcher);
    rb_loop_uv_destroy(f->uv);
    rb_ssh_leave_control_dir(f->dir);
    if (f->sshd > 0) {
        kill(f->sshd, SIGTERM);
        waitpid(f->sshd, NULL, 0);
    }
    char command[128];
    if (f->small[0])
        umount2(f->small, MNT_DETACH);
    snprintf(command, sizeof command, "rm -rf '%s'", f->dir);
    if (!getenv("RB_TEST_KEEP") && system(command) != 0)
        return -1;
    for (int i = 0; i < MAX_TASKS; i++)
        rb_buf_finish(&f->seen[i].lines), rb_buf_finish(&f->seen[i].file), rb_buf_finish(&f->seen[i].kept);
    free(f);
    return 0;
}

static void start_words(struct fixture *f, int trial, const char *command, const char *args, const char *words,
                        const char *resume_from)
{
    const struct rb_key_value env[] = {
        {"RB_TRIAL_ID", "7"},
        {"RB_ARGS", args},
        {"QUOTED", "it's \"$HOME\" `x`\nsecond line"},
        {"RB_PARAMS_JSON", "{\"lr\":0.1}"},
    };
    struct rb_slot slot = {.node = 0, .gpus = 0x6};
    struct rb_task task = {.trial = trial,
                           .attempt = 0,
                           .slots = &slot,
                           .n_slots = 1,
                           .env = env,
                           .n_env = 4,
                           .command = command,
                           .words = words,
                           .resume_from = resume_from};
    f->launcher->ops->start(f->launcher, &task);
}

static void start_with(struct fixture *f, int trial, const char *command, const char *args, const char *resume_from)
{
    start_words(f, trial, command, args, NULL, resume_from);
}

static void start_from(struct fixture *f, int trial, const char *command, const char *resume_from)
{
    start_with(f, trial, command, "--opt='a b' --x=1", resume_from);
}

static void start(struct fixture *f, int trial, const char *command)
{
    start_from(f, trial, command, NULL);
}

static bool zero_exited(struct fixture *f)
{
    return f->seen[0].exited;
}

static bool zero_saved(struct fixture *f)
{
    return f->seen[0].saved || f->seen[0].save_failed;
}

static bool one_exited(struct fixture *f)
{
    return f->seen[1].exited;
}

static bool zero_has_line(struct fixture *f)
{
    return f->seen[0].lines.len > 0;
}

static bool one_has_line(struct fixture *f)
{
    return f->seen[1].lines.len > 0;
}

static bool zero_killed(struct fixture *f)
{
    return f->seen[0].killed;
}

static bool one_killed(struct fixture *f)
{
    return f->seen[1].killed;
}

static void assert_has_line(struct fixture *f, int trial, const char *line)
{
    struct rb_buf want = RB_BUF_INIT, have = RB_BUF_INIT;
    rb_buf_printf(&want, "\n%s\n", line);
    rb_buf_printf(&have, "\n%s", rb_buf_str(&f->seen[trial].lines));
    if (!strstr(have.data, want.data))
        fail_msg("no line '%s' in:\n%s", line, have.data);
    rb_buf_finish(&want);
    rb_buf_finish(&have);
}

// --- cases ------------------------------------------------------------------------------------------------------------

static void exit_code_and_output(void **state)
{
    struct fixture *f = *state;
    start(f, 0, "cat hello.txt; [ -e secret.txt ] || echo ignored; echo to stderr >&2; exit 7");
    wait_until(f, zero_exited);
    assert_int_equal(f->seen[0].exit_code, 7);
    assert_has_line(f, 0, "hello from the work directory");
    assert_has_line(f, 0, "ignored");
    assert_has_line(f, 0, "to stderr");
}

static void command_gets_words(void **state)
{
    struct fixture *f = *state;
    start_words(f, 0, "for w in \"$@\"; do echo \"<$w>\"; done; cat \"$RB_CHECKPOINT_DIR/h.yaml\"", "",
                "rb_words=\"'a b' '--o='\\\"\\$RB_CHECKPOINT_DIR\\\"'/x' '' --n=\\\"\\$RB_GPUS_PER_NODE\\\"\"\n"
                "rb_file_path=h.yaml rb_file_base=hello.yaml rb_file_values='lr 0.5\nnote \"a/b & \\c\"\n'\n",
                NULL);
    wait_until(f, zero_exited);
    assert_int_equal(f->seen[0].exit_code, 1); // no such file to copy
    char src[128];
    snprintf(src, sizeof src, "%s/src", f->dir);
    assert_non_null(strstr(rb_buf_str(&f->seen[0].lines), "hello.yaml"));
    start_words(f, 1, "for w in \"$@\"; do echo \"<$w>\"; done", "",
                "rb_words=\"'a b' '--o='\\\"\\$RB_CHECKPOINT_DIR\\\"'/x' '' --n=\\\"\\$RB_GPUS_PER_NODE\\\"\"\n", NULL);
    wait_until(f, one_exited);
    assert_has_line(f, 1, "<a b>");
    assert_has_line(f, 1, "<>");
    assert_has_line(f, 1, "<--n=2>");
    assert_non_null(strstr(rb_buf_str(&f->seen[1].lines), "/trials/1/0/ckpt/x>"));
}

static void read_log(const struct fixture *f, char *out, size_t size)
{
    char path[256];
    snprintf(path, sizeof path, "%s/logs/trial-0000.stage-0.attempt-0.log", f->dir);
    FILE *log = fopen(path, "r");
    assert_non_null(log);
    out[fread(out, 1, size - 1, log)] = '\0';
    fclose(log);
}

static const char follow_words[] = "rb_metric_file='\"$RB_CHECKPOINT_DIR\"/l'\n";

// Bytes of files come between those of the output, and never into its lines.
static void files_are_followed(void **state)
{
    struct fixture *f = *state;
    char log[4096];
    start_words(f, 0,
                "cd \"$RB_CHECKPOINT_DIR\"; mkdir -p l/d; printf 'epo'; printf 'a,b\\n1,2\\n' >l/d/x; sleep 1; "
                "printf 'ch=1\\n'; printf 'bar 1\\rbar 2\\r\\nend\\n'; printf 'c\\n' >l/d/x; sleep 1; "
                "printf 'last' >>l/d/x; printf 'no end'",
                "", follow_words, NULL);
    wait_until(f, zero_exited);
    assert_string_equal(rb_buf_str(&f->seen[0].lines), "epoch=1\nbar 1\nbar 2\nend\nno end\n");
    assert_string_equal(rb_buf_str(&f->seen[0].file), "d/x! d/x:a,b\n1,2\nd/x! d/x:c\nd/x:last");
    read_log(f, log, sizeof log);
    assert_string_equal(log, "epoch=1\nbar 1\rbar 2\r\nend\nno end\n");
}

// More than one line of base64, and bytes of every kind.
static void large_files_arrive_whole(void **state)
{
    struct fixture *f = *state;
    start_words(f, 0, "cd \"$RB_CHECKPOINT_DIR\"; seq 1 20000 >l; sleep 0.5; seq 20001 20500 >>l", "", follow_words,
                NULL);
    wait_until(f, zero_exited);
    struct rb_buf got = RB_BUF_INIT, want = RB_BUF_INIT;
    for (int i = 1; i <= 20500; i++)
        rb_buf_printf(&want, "%d\n", i);
    const char *bytes = rb_buf_str(&f->seen[0].file);
    assert_int_equal(strncmp(bytes, "! :", 3), 0);
    for (const char *s = bytes + 2; *s; s++)
        if (*s != ':')
            rb_buf_putc(&got, *s);
    assert_string_equal(rb_buf_str(&got), rb_buf_str(&want));
    rb_buf_finish(&got);
    rb_buf_finish(&want);
}

// It never ends itself, writes in two halves, and has other files beside its checkpoint.
static void stop_keeps_what_rested(void **state)
{
    struct fixture *f = *state;
    start_words(
        f, 0,
        "trap 'echo asked; exit 9' TERM; cd \"$RB_CHECKPOINT_DIR\"; i=0; while :; do i=$((i+1)); echo epoch=$i; "
        "echo $i >other; sleep 0.2; printf half >a; sleep 0.2; echo $i >>a; sleep 1.2; done",
        "", "rb_stop=saved\nrb_files='^\\./(a)$'\n", NULL);
    wait_until(f, zero_has_line);
    f->launcher->ops->stop(f->launcher, 0, 0, 0, 0.6);
    f->launcher->ops->stop(f->launcher, 0, 0, 75, 0.7); // 0 goes before 75
    wait_until(f, zero_exited);
    assert_int_equal(f->seen[0].exit_code, 0);
    assert_has_line(f, 0, "asked");
    char dest[128], command[2 * sizeof f->seen[0].checkpoint + 128];
    snprintf(dest, sizeof dest, "%s/checkpoints/x", f->dir);
    f->launcher->ops->save(f->launcher, 0, 0, dest);
    wait_until(f, zero_saved);
    assert_true(f->seen[0].saved);
    snprintf(command, sizeof command,
             "tar -tf '%s' | grep -v '/$' | tr -d '\\n' | grep -qx '\\./a' && tar -xOf '%s' ./a | "
             "grep -qx half1",
             f->seen[0].checkpoint, f->seen[0].checkpoint);
    assert_int_equal(system(command), 0);
}

// It replaces a file, and is without it for a while.
static void stop_keeps_no_file_less(void **state)
{
    struct fixture *f = *state;
    start_words(f, 0,
                "cd \"$RB_CHECKPOINT_DIR\"; echo 1 >a; echo 1 >b; while :; do sleep 1.4; echo 2 >new; rm b; "
                "echo epoch=1; sleep 0.6; mv new b; done",
                "", "rb_stop=saved\nrb_files='^\\./(a|b)$'\n", NULL);
    wait_until(f, zero_has_line);
    f->launcher->ops->stop(f->launcher, 0, 0, 75, 0.8);
    wait_until(f, zero_exited);
    char dest[128], command[sizeof f->seen[0].checkpoint + 128];
    snprintf(dest, sizeof dest, "%s/checkpoints/x", f->dir);
    f->launcher->ops->save(f->launcher, 0, 0, dest);
    wait_until(f, zero_saved);
    assert_true(f->seen[0].saved);
    snprintf(command, sizeof command, "tar -tf '%s' | grep -v '/$' | sort | tr -d '\\n' | grep -qx '\\./a\\./b'",
             f->seen[0].checkpoint);
    assert_int_equal(system(command), 0);
}

static void exit_is_seen_at_once(void **state)
{
    struct fixture *f = *state;
    start(f, 0, "sleep 0.3; date +%s%N");
    wait_until(f, zero_exited);
    int64_t ended_us = strtoll(rb_buf_str(&f->seen[0].lines), NULL, 10) / 1000;
    assert_true(ended_us > 0);
    assert_in_range(f->seen[0].exited_at_us - ended_us, 0, 250000);
}

static void environment_contract(void **state)
{
    struct fixture *f = *state;
    start(
        f, 0,
        "echo gpus=$CUDA_VISIBLE_DEVICES rank=$RB_NODE_RANK per_node=$RB_GPUS_PER_NODE; echo resume=[$RB_RESUME_FROM];"
        "eval set -- $RB_ARGS; echo args=$#; printf '%s\\n' \"$QUOTED\"; cat $RB_PARAMS_FILE; "
        "[ -d \"$RB_CHECKPOINT_DIR\" ] && echo ckpt; echo epoch=1 >>$RB_METRICS_FILE;"
        "[ \"$(ls -l $(dirname $RB_METRICS_FILE)/env 2>/dev/null)\" = '' ] && echo env deleted");
    wait_until(f, zero_exited);
    assert_int_equal(f->seen[0].exit_code, 0);
    assert_has_line(f, 0, "gpus=1,2 rank=0 per_node=2");
    assert_has_line(f, 0, "resume=[]");
    assert_has_line(f, 0, "args=2");
    assert_has_line(f, 0, "it's \"$HOME\" `x`");
    assert_has_line(f, 0, "second line");
    assert_has_line(f, 0, "{\"lr\":0.1}");
    assert_has_line(f, 0, "ckpt");
    assert_has_line(f, 0, "epoch=1");
    assert_has_line(f, 0, "env deleted");
}

// Values as a job file has them, and the word that the script finds.
static const struct {
    const char *yaml, *word;
} values[] = {
    {"0.01", "--a=0.01"},
    {"\"a b\"", "--b=a b"},
    {"\"two  blanks \"", "--c=two  blanks "},
    {"\"it's\"", "--d=it's"},
    {"'say \"hi\"'", "--e=say \"hi\""},
    {"\"[0.9, 0.999]\"", "--f=[0.9, 0.999]"},
    {"\"*\"", "--g=*"},
    {"\"\"", "--h="},
    {"\"\u00e9t\u00e9 \u4e2d\"", "--i=\xc3\xa9t\xc3\xa9 \xe4\xb8\xad"},
    {"\"-v --x\"", "--j=-v --x"},
    {"\"one\\ntwo\"", "--k=one\ntwo"},
    {"\"$HOME `id` $(id) \\\\ !x\"", "--l=$HOME `id` $(id) \\ !x"},
    {"\"a;b|c&d>e#f\"", "--m=a;b|c&d>e#f"},
    {"{values: [true], flag: true}", "--n"},
    {"{values: [false], flag: true}", NULL},
    {"true", "--p=true"},
    {"\"\\t\"", "--q=\t"},
};
#define N_VALUES ((int)(sizeof values / sizeof values[0]))

// RB_ARGS of those values, as trial_env makes it.
static void args_of_values(struct rb_buf *out)
{
    struct rb_buf yaml = RB_BUF_INIT;
    struct rb_doc doc;
    struct rb_arena arena;
    struct rb_space space;
    struct rb_value drawn[N_VALUES];
    struct rb_err err = {0};
    rb_arena_init(&arena);
    for (int i = 0; i < N_VALUES; i++)
        rb_buf_printf(&yaml, "%c: %s\n", 'a' + i, values[i].yaml);
    if (!rb_doc_parse_yaml(&doc, "values", yaml.data, yaml.len, &err) || !rb_space_read(doc.root, &arena, &space, &err))
        fail_msg("%s", err.message);
    rb_space_sample(&space, 1, 0, drawn);
    rb_space_args(&space, drawn, out);
    rb_doc_finish(&doc);
    rb_arena_finish(&arena);
    rb_buf_finish(&yaml);
}

// What a command prints that shows its words.
static void words_of_values(const char *before, const char *after, struct rb_buf *out)
{
    rb_buf_printf(out, "%s\n", before);
    for (int i = 0; i < N_VALUES; i++)
        if (values[i].word)
            rb_buf_printf(out, "<%s>\n", values[i].word);
    rb_buf_printf(out, "%s\n", after);
}

static void a_script_finds_exactly_the_parameters(void **state)
{
    static const char *const commands[] = {
        "./argv $RB_ARGS",
        "./argv ${RB_ARGS}",
        "./argv $RB_ARGS # not '$RB_ARGS",
        "set -- other words; ./argv $RB_ARGS",
        "f() { ./argv $RB_ARGS; }\nf other words",
        "true && (./argv $RB_ARGS) | cat",
        "echo \"$(./argv $RB_ARGS)\"",
        "cat <<'END' >/dev/null\nit's $RB_ARGS\nEND\n./argv \\\n  $RB_ARGS",
        "if true; then X=1 ./argv $RB_ARGS; fi",
        "eval \"./argv $RB_ARGS\"",
        "sh -c \"./argv $RB_ARGS\"",
        "eval \"set -- $RB_ARGS\"; ./argv \"$@\"",
    };
    enum { N_COMMANDS = sizeof commands / sizeof commands[0] };
    struct fixture *f = *state;
    struct rb_buf args = RB_BUF_INIT, run = RB_BUF_INIT, want = RB_BUF_INIT;
    args_of_values(&args);
    rb_buf_puts(&run, "printf '#!/bin/sh\\nprintf \"<%%s>\\\\n\" \"$@\"\\n' >argv; chmod +x argv\n");
    rb_buf_puts(&want, "begin\n");
    for (int i = 0; i < N_COMMANDS; i++) {
        rb_buf_printf(&run, "echo %d\n%s\necho over\n", i, commands[i]);
        char number[16];
        snprintf(number, sizeof number, "%d", i);
        words_of_values(number, "over", &want);
    }
    rb_buf_puts(&run, "./argv \"$RB_ARGS\" | head -n 1 | cut -c 1-8"); // one word
    rb_buf_puts(&want, "<--a=0.0\n");
    start_with(f, 0, rb_buf_str(&run), rb_buf_str(&args), NULL);
    wait_until(f, zero_exited);
    assert_int_equal(f->seen[0].exit_code, 0);
    assert_string_equal(rb_buf_str(&f->seen[0].lines), rb_buf_str(&want) + strlen("begin\n"));
    rb_buf_finish(&args);
    rb_buf_finish(&run);
    rb_buf_finish(&want);
}

static void no_parameters_are_no_words(void **state)
{
    struct fixture *f = *state;
    start_with(f, 0, "set -- $RB_ARGS; echo $#", "", NULL);
    wait_until(f, zero_exited);
    assert_string_equal(rb_buf_str(&f->seen[0].lines), "0\n");
}

static void checkpoint_goes_round(void **state)
{
    struct fixture *f = *state;
    char dest[128];
    snprintf(dest, sizeof dest, "%s/checkpoints/trial-0000/stage-0", f->dir);
    start(f, 0,
          "echo weights >$RB_CHECKPOINT_DIR/model; mkdir $RB_CHECKPOINT_DIR/sub; echo x >$RB_CHECKPOINT_DIR/sub/y;"
          "echo z >\"$RB_CHECKPOINT_DIR/gr\u00f6\u00dfe 1\"");
    wait_until(f, zero_exited);
    f->launcher->ops->save(f->launcher, 0, 0, dest);
    wait_until(f, zero_saved);
    assert_true(f->seen[0].saved);
    start_from(f, 1, "cat $RB_RESUME_FROM/model $RB_RESUME_FROM/sub/y", f->seen[0].checkpoint);
    wait_until(f, one_exited);
    assert_int_equal(f->seen[1].exit_code, 0);
    assert_has_line(f, 1, "weights");
    assert_has_line(f, 1, "x");
    char into[128];
    snprintf(into, sizeof into, "%s/fetched", f->dir);
    struct rb_err err = {0};
    setenv("LC_ALL", "C", 1); // as where cron or a container starts us
    if (!rb_checkpoint_extract(f->seen[0].checkpoint, into, &err))
        fail_msg("%s", err.message);
}

static bool two_exited(struct fixture *f)
{
    return f->seen[2].exited;
}

static bool zero_kept(struct fixture *f)
{
    return strstr(rb_buf_str(&f->seen[0].kept), f->kept_wanted) != NULL;
}

// By trial 0.
static void wait_until_kept(struct fixture *f, const char *resource)
{
    f->kept_wanted = resource;
    wait_until(f, zero_kept);
}

static void keep(struct fixture *f, const char *name, int resource)
{
    char dest[128];
    snprintf(dest, sizeof dest, "%s/checkpoints/trial-0000/stage-0.at-%d", f->dir, resource);
    f->launcher->ops->keep(f->launcher, 0, 0, name, resource, dest);
}

// Announced folders are archived while the script runs, the newest of those that wait; what is no folder there fails. None of
// them is part of what the script leaves.
static void midway_checkpoints_are_kept(void **state)
{
    struct fixture *f = *state;
    char dest[128], midway[4096], command[600];
    snprintf(dest, sizeof dest, "%s/checkpoints/trial-0000/stage-0", f->dir);
    snprintf(command, sizeof command,
             "cd $RB_CHECKPOINT_DIR; for i in 1 2 3; do mkdir new; echo weights $i >new/model; mv new at-$i; done;"
             "ln -s /etc at-4; mkdir at-9; echo mine >at-9/y; echo begun; until [ -e %s/go ]; do sleep 0.05; done; echo last >model",
             f->meet);
    start(f, 0, command);
    wait_until(f, zero_has_line);
    keep(f, "at-1", 1); // on its way
    keep(f, "at-2", 2); // waits, and the next takes its place
    keep(f, "at-3", 3);
    keep(f, "at-3", 3); // said twice
    wait_until_kept(f, "3");
    assert_string_equal(rb_buf_str(&f->seen[0].kept), "1 3 ");
    snprintf(midway, sizeof midway, "%s", f->seen[0].checkpoint);
    assert_non_null(strstr(midway, "stage-0.at-3.tar"));
    keep(f, "at-4", 4); // a link out
    wait_until_kept(f, "4");
    keep(f, "at-5", 5); // not there
    keep(f, "at-6", 6); // replaces it before that is known: only the last one is reported
    wait_until_kept(f, "6");
    assert_string_equal(rb_buf_str(&f->seen[0].kept), "1 3 4! 6! ");
    write_text(f->meet, "go", "");
    wait_until(f, zero_exited);
    f->launcher->ops->save(f->launcher, 0, 0, dest);
    wait_until(f, zero_saved);
    start_from(f, 1, "cd $RB_RESUME_FROM; echo $(ls) $(cat model)", midway);
    wait_until(f, one_exited);
    assert_has_line(f, 1, "model weights 3");
    start_from(f, 2, "cd $RB_RESUME_FROM; echo $(ls) $(cat model at-9/y)", f->seen[0].checkpoint);
    wait_until(f, two_exited);
    assert_has_line(f, 2, "at-9 model last mine");
}

// --- full disks

// Makes a disk of that size of the folder below the test's; without root the test is skipped.
static void make_small(struct fixture *f, const char *folder, const char *options)
{
    char command[600];
    snprintf(f->small, sizeof f->small, "%s/%s", f->dir, folder);
    snprintf(command, sizeof command, "mkdir -p '%s'", f->small);
    assert_int_equal(system(command), 0);
    if (mount("tmpfs", f->small, "tmpfs", 0, options) != 0) {
        f->small[0] = '\0';
        skip();
    }
}

// False: something of a checkpoint is there that is not whole.
static bool has_no_partial(const struct fixture *f)
{
    char command[600];
    snprintf(command, sizeof command, "test -z \"$(find '%s/checkpoints' -name '*.tmp')\"", f->dir);
    return system(command) == 0;
}

static bool was_held_up(struct fixture *f)
{
    return f->n_held_up > 1;
}

// Midway checkpoints that fill it are given up and leave nothing behind; what the script has left waits for room.
static void a_full_disk_here(void **state)
{
    struct fixture *f = *state;
    char dest[128], command[600];
    make_small(f, "checkpoints", "size=1m");
    snprintf(dest, sizeof dest, "%s/checkpoints/trial-0000/stage-0", f->dir);
    snprintf(command, sizeof command,
             "cd $RB_CHECKPOINT_DIR; for i in 1 2 3; do mkdir at-$i; echo weights >at-$i/model; done; head -c 3000000 /dev/zero >at-1/model;"
             "echo begun; until [ -e %s/go ]; do sleep 0.05; done; head -c 3000000 /dev/zero >model",
             f->meet);
    start(f, 0, command);
    wait_until(f, zero_has_line);
    keep(f, "at-1", 1);
    wait_until_kept(f, "1");
    assert_true(has_no_partial(f));
    keep(f, "at-2", 2);
    wait_until_kept(f, "2");
    snprintf(command, sizeof command, "head -c 950k /dev/zero >'%s/filler'", f->small); // less than a sixteenth is left
    assert_int_equal(system(command), 0);
    keep(f, "at-3", 3);
    wait_until_kept(f, "3");
    assert_string_equal(rb_buf_str(&f->seen[0].kept), "1! 2 3! ");
    assert_int_equal(f->n_held_up, 0);
    write_text(f->meet, "go", "");
    wait_until(f, zero_exited);
    f->launcher->ops->save(f->launcher, 0, 0, dest);
    wait_until(f, was_held_up);
    assert_true(has_no_partial(f));
    assert_false(zero_saved(f));
    assert_int_equal(mount(NULL, f->small, NULL, MS_REMOUNT, "size=8m"), 0);
    wait_until(f, zero_saved);
    assert_true(f->seen[0].saved);
}

static bool had_no_room(struct fixture *f)
{
    return f->no_room[0] != '\0';
}

// What the trial needs before its script begins: its checkpoint, or its files. It has not failed.
static void a_full_disk_of_a_node(void **state)
{
    struct fixture *f = *state;
    char archive[256], command[1200];
    snprintf(command, sizeof command, "%s/rb/%s/trials", f->ssh ? "home" : "local/node-0", run_id(f));
    make_small(f, command, "size=64k");
    snprintf(archive, sizeof archive, "%s/big.tar", f->dir);
    snprintf(command, sizeof command, "mkdir '%s/big' && head -c 200000 /dev/zero >'%s/big/model' && tar -C '%s/big' -cf '%s' .", f->dir,
             f->dir, f->dir, archive);
    assert_int_equal(system(command), 0);
    start_from(f, 1, "true", archive);
    wait_until(f, had_no_room);
    assert_memory_equal(f->no_room, "1: ", 3);
    assert_non_null(strstr(f->no_room, "No space left on device"));
    snprintf(command, sizeof command, "head -c 100k /dev/zero >'%s/filler' 2>/dev/null", f->small);
    assert_int_not_equal(system(command), 0);
    f->no_room[0] = '\0';
    start(f, 2, "true");
    wait_until(f, had_no_room);
    assert_memory_equal(f->no_room, "2: ", 3);
    assert_non_null(strstr(f->no_room, "No space left on device"));
    assert_false(f->seen[1].exited || f->seen[2].exited);
}

static void links_in_a_checkpoint_are_reported(void **state)
{
    struct fixture *f = *state;
    char dest[128];
    snprintf(dest, sizeof dest, "%s/checkpoints/trial-0000/stage-0", f->dir);
    start(f, 0, "cd $RB_CHECKPOINT_DIR; mkdir sub; echo weights >sub/epoch-1; ln -s epoch-1 'sub/the latest'");
    wait_until(f, zero_exited);
    f->launcher->ops->save(f->launcher, 0, 0, dest);
    wait_until(f, zero_saved);
    assert_true(f->seen[0].saved);
    assert_string_equal(f->seen[0].link, "./sub/the latest");
    start_from(f, 1, "cat \"$RB_RESUME_FROM/sub/the latest\"", f->seen[0].checkpoint);
    wait_until(f, one_exited);
    assert_has_line(f, 1, "weights");
}

static bool three_exited(struct fixture *f)
{
    return f->seen[0].exited && f->seen[1].exited && f->seen[2].exited;
}

// The file appears beside the one that is asked, and beside no one else.
static void who_is_asked_gives_way(void **state)
{
    struct fixture *f = *state;
    static const char looks[] = "echo started; while [ ! -e \"$RB_PREEMPT_FILE\" ]; do sleep 0.05; done; "
                                "cat \"$RB_PREEMPT_FILE\"; exit 75";
    start(f, 1, looks);
    start(f, 0, looks);
    wait_until(f, zero_has_line);
    f->launcher->ops->yield(f->launcher, 0, 0, "reason=pause seconds=61");
    f->launcher->ops->yield(f->launcher, 0, 0, "reason=resize seconds=1"); // said twice
    f->launcher->ops->yield(f->launcher, 7, 0, "reason=pause seconds=61"); // there is no such trial
    wait_until(f, zero_exited);
    assert_int_equal(f->seen[0].exit_code, 75);
    assert_has_line(f, 0, "reason=pause seconds=61");
    assert_false(f->seen[1].exited);
    f->launcher->ops->yield(f->launcher, 1, 0, "reason=pause seconds=61");
    wait_until(f, one_exited);
    assert_int_equal(f->seen[1].exit_code, 75);
}

static void start_gang(struct fixture *f, int trial, const char *command)
{
    static const struct rb_slot slots[] = {{.node = 0, .gpus = 1}, {.node = 1, .gpus = 1}};
    const struct rb_task task = {.trial = trial,
                                 .slots = slots,
                                 .n_slots = 2,
                                 .command = command,
                                 .words = "rb_stop=saved\n",
                                 .env = &(struct rb_key_value){"RB_PARAMS_JSON", "{}"},
                                 .n_env = 1};
    f->launcher->ops->start(f->launcher, &task);
}

// Its first rank's files count; whatever the others do without it is no failure.
static void a_gang_is_stopped_with_its_first_rank(void **state)
{
    struct fixture *f = *state;
    static const char *const others[] = {"sleep 300", "while kill -0 $(cat $1); do sleep 0.05; done; exit 7"};
    const struct rb_launch_node second = {
        .node = 1, .instance_id = "i-second", .address = "127.0.0.1", .user = "", .gpus = 4};
    f->prepared = false;
    f->launcher->ops->prepare(f->launcher, &second);
    wait_until(f, is_prepared);
    for (int i = 0; i < 2; i++) {
        char command[512];
        snprintf(command, sizeof command,
                 "set -- %s/first-%d; if [ $RB_NODE_RANK = 1 ]; then until [ -e $1 ]; do sleep 0.05; done; %s; fi; "
                 "echo $$ >$1; echo started; sleep 0.6; echo weights >$RB_CHECKPOINT_DIR/a; sleep 300",
                 f->dir, i, others[i]);
        start_gang(f, i, command);
    }
    wait_until(f, zero_has_line);
    wait_until(f, one_has_line);
    for (int i = 0; i < 2; i++)
        f->launcher->ops->stop(f->launcher, i, 0, 0, 0.3);
    wait_until(f, zero_exited);
    wait_until(f, one_exited);
    assert_int_equal(f->seen[0].exit_code, 0);
    assert_int_equal(f->seen[1].exit_code, 0);
}

// The first rank has the checkpoint: the others wait for it, and are not waited for.
static void a_gang_gives_way_with_its_first_rank(void **state)
{
    struct fixture *f = *state;
    static const char waits[] = "echo started; while [ ! -e \"$RB_PREEMPT_FILE\" ]; do sleep 0.05; done; ";
    static const struct {
        const char *then;
        int exit_code;
    } gangs[] = {
        {"[ $RB_NODE_RANK = 1 ] || { sleep 0.5; echo saved; }; exit 75", 75},
        {"[ $RB_NODE_RANK = 1 ] && sleep 300; echo saved; exit 75", 75},
        {"[ $RB_NODE_RANK = 1 ] && exit 75; sleep 0.5; echo saved; exit 3", 3},
    };
    const struct rb_launch_node second = {
        .node = 1, .instance_id = "i-second", .address = "127.0.0.1", .user = "", .gpus = 4};
    f->prepared = false;
    f->launcher->ops->prepare(f->launcher, &second);
    wait_until(f, is_prepared);
    for (int i = 0; i < 3; i++) {
        char command[512];
        snprintf(command, sizeof command, "%s%s", waits, gangs[i].then);
        start_gang(f, i, command);
    }
    wait_until(f, zero_has_line);
    for (int i = 0; i < 3; i++)
        f->launcher->ops->yield(f->launcher, i, 0, "reason=pause seconds=61");
    wait_until(f, three_exited);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(f->seen[i].exit_code, gangs[i].exit_code);
        assert_has_line(f, i, "saved");
    }
}

static void hostile_archives_stay_packed(void **state)
{
    struct fixture *f = *state;
    static const char *const scripts[] = {
        "ln -s /etc/passwd $RB_CHECKPOINT_DIR/model",
        "mkfifo $RB_CHECKPOINT_DIR/pipe",
        "echo a >$RB_CHECKPOINT_DIR/a; ln $RB_CHECKPOINT_DIR/a $RB_CHECKPOINT_DIR/b",
        "echo a >\"$RB_CHECKPOINT_DIR/$(printf 'a\\033[31m')\"",
    };
    enum { HARD_LINK = 2 };
    char dir[80], linked[84], command[512];
    snprintf(dir, sizeof dir, "%s/linked", f->dir);
    snprintf(linked, sizeof linked, "%s/linked.tar", f->dir);
    snprintf(command, sizeof command, "mkdir '%s' && echo a >'%s/a' && ln '%s/a' '%s/b'", dir, dir, dir, dir);
    assert_int_equal(system(command), 0);
    static const char *const says[] = {"\"./model -> /etc/passwd\"", "\"./pipe\"", " link to ./", "\"./a\\033[31m\""};
    for (int i = 0; i < 4; i++) {
        char dest[128], into[128];
        snprintf(dest, sizeof dest, "%s/checkpoints/hostile-%d", f->dir, i);
        snprintf(into, sizeof into, "%s/hostile-%d", f->dir, i);
        struct rb_slot slot = {.node = 0, .gpus = 1};
        struct rb_task task = {.trial = 0,
                               .attempt = i,
                               .slots = &slot,
                               .n_slots = 1,
                               .command = scripts[i],
                               .env = &(struct rb_key_value){"RB_PARAMS_JSON", "{}"},
                               .n_env = 1};
        f->seen[0].exited = f->seen[0].saved = false;
        f->launcher->ops->start(f->launcher, &task);
        wait_until(f, zero_exited);
        f->launcher->ops->save(f->launcher, 0, i, dest);
        wait_until(f, zero_saved);
        struct rb_err err = {0};
        if (i == HARD_LINK) { // each is packed as a file of its own; an archive with links is not one of our nodes'
            assert_true(rb_checkpoint_extract(f->seen[0].checkpoint, into, &err));
            snprintf(command, sizeof command, "tar -C '%s' -cf '%s' . && rm -r '%s'", dir, linked, into);
            assert_int_equal(system(command), 0);
        }
        assert_false(rb_checkpoint_extract(i == HARD_LINK ? linked : f->seen[0].checkpoint, into, &err));
        assert_non_null(strstr(err.message, says[i]));
        assert_int_not_equal(access(into, F_OK), 0);
    }
}

// In a container numbers are others.
static void assert_nothing_is_left_of_zero(const struct fixture *f)
{
    char command[256];
    snprintf(command, sizeof command,
             "LC_ALL=C grep -lsF 'RB_PREEMPT_FILE=%s/local/node-0/rb/%s/trials/0/' /proc/[0-9]*/environ "
             ">/dev/null",
             f->dir, run_id(f));
    int left = system(command);
    for (int i = 0; i < 200 && left == 0; i++) {
        usleep(10000);
        left = system(command);
    }
    assert_int_not_equal(left, 0);
}

// The process whose number is in the file `child`.
static void assert_child_goes(const struct fixture *f)
{
    char path[160], *text;
    size_t n;
    if (getenv("RB_TEST_IMAGE")) {
        assert_nothing_is_left_of_zero(f);
        return;
    }
    snprintf(path, sizeof path, "%s/child", f->meet);
    assert_true(rb_read_file(path, 64, &text, &n, NULL));
    int gone = kill(atoi(text), 0);
    for (int i = 0; i < 200 && gone == 0; i++) { // a zombie until its new parent reaps it
        usleep(10000);
        char status[64], *stat = NULL;
        snprintf(status, sizeof status, "/proc/%d/stat", atoi(text));
        bool there = rb_read_file(status, 4096, &stat, &n, NULL);
        gone = !there || strstr(stat, ") Z ") ? -1 : 0;
        free(there ? stat : NULL);
    }
    free(text);
    assert_int_equal(gone, -1);
}

static void kill_ends_the_whole_group(void **state)
{
    struct fixture *f = *state;
    char command[512];
    snprintf(command, sizeof command,
             "trap '' TERM; sleep 300 & echo $! >%s/child; echo started; while :; do sleep 1; done", f->meet);
    start(f, 0, command);
    wait_until(f, zero_has_line);
    f->launcher->ops->kill(f->launcher, 0, 0);
    wait_until(f, zero_killed);
    assert_false(f->seen[0].exited);
    assert_child_goes(f);
}

// A worker that a script has left would hold its GPUs; on this machine, for ever.
static void what_a_script_leaves_ends_with_it(void **state)
{
    struct fixture *f = *state;
    char command[512];
    snprintf(command, sizeof command, "trap '' TERM; sleep 300 & echo $! >%s/child; exit 3", f->meet);
    start(f, 0, command);
    wait_until(f, zero_exited);
    assert_int_equal(f->seen[0].exit_code, 3);
    assert_child_goes(f);
}

// In a session of its own, its parent gone, no part of the task's process group.
#define LEAVES_THE_GROUP \
    "(setsid sh -c 'echo $$ >%s/child; exec sleep 300' &); while [ ! -s %s/child ]; do sleep 0.01; done; "

static void what_has_left_the_group_ends_with_its_script(void **state)
{
    struct fixture *f = *state;
    char command[512];
    start(f, 1, "echo started; setsid sleep 300"); // another's is left alone
    snprintf(command, sizeof command, LEAVES_THE_GROUP "exit 3", f->meet, f->meet);
    start(f, 0, command);
    wait_until(f, zero_exited);
    assert_int_equal(f->seen[0].exit_code, 3);
    assert_child_goes(f);
    assert_false(f->seen[1].exited);
    f->launcher->ops->kill(f->launcher, 1, 0);
    wait_until(f, one_killed);
}

static void what_has_left_the_group_is_killed_with_it(void **state)
{
    struct fixture *f = *state;
    char command[512];
    snprintf(command, sizeof command, LEAVES_THE_GROUP "echo started; sleep 300", f->meet, f->meet);
    start(f, 0, command);
    wait_until(f, zero_has_line);
    f->launcher->ops->kill(f->launcher, 0, 0);
    wait_until(f, zero_killed);
    assert_child_goes(f);
}

// The number of a task's group may be another's by the time that it is killed: this machine was restarted, say.
static void a_group_that_only_has_its_number_is_left_alone(void **state)
{
    struct fixture *f = *state;
    char dir[128], text[16];
    start(f, 0, "echo over");
    wait_until(f, zero_exited);
    const pid_t other = fork();
    if (other == 0) {
        setsid();
        pause();
        _exit(0);
    }
    while (getpgid(other) != other)
        usleep(1000);
    snprintf(dir, sizeof dir, "%s/%s/rb/%s/trials/0/0", f->dir, f->ssh ? "home" : "local/node-0", run_id(f));
    snprintf(text, sizeof text, "%d", (int)other);
    write_text(dir, "pid", text);
    f->launcher->ops->kill(f->launcher, 0, 0);
    wait_until(f, zero_killed);
    assert_int_equal(waitpid(other, NULL, WNOHANG), 0);
    kill(other, SIGKILL);
    waitpid(other, NULL, 0);
}

// Killed as by the kernel where memory is short: no one is left there to end what it has started, or to say how it ended.
static void what_outlives_its_supervisor_is_killed(void **state)
{
    struct fixture *f = *state;
    char command[512];
    snprintf(command, sizeof command, LEAVES_THE_GROUP "kill -s KILL 0", f->meet, f->meet);
    start(f, 0, command);
    wait_until(f, zero_exited);
    assert_int_equal(f->seen[0].exit_code, 137);
    assert_child_goes(f);
}

static bool is_armed(struct fixture *f)
{
    return f->armed;
}

static bool is_kept(const struct fixture *f)
{
    char command[128];
    snprintf(command, sizeof command, "pgrep -f ' %s/local/node-0/[.]keeper' >/dev/null", f->dir);
    return system(command) == 0;
}

static void begin_kept(struct fixture *f, int trial)
{
    char command[512];
    f->launcher->ops->heartbeat(f->launcher, 0, 1);
    wait_until(f, is_armed);
    f->armed = false;
    snprintf(command, sizeof command, LEAVES_THE_GROUP "echo started; sleep 300", f->meet, f->meet);
    start(f, trial, command);
    wait_until(f, trial ? one_has_line : zero_has_line);
    sleep(2);
    assert_true(is_kept(f));
    snprintf(command, sizeof command, "kill -0 $(cat %s/child)", f->meet);
    assert_int_equal(system(command), 0);
    f->launcher->ops->destroy(f->launcher);
    make_launcher(f);
}

static void assert_keeper_ends_them(struct fixture *f)
{
    for (int i = 0; i < 100 && is_kept(f); i++)
        usleep(100000);
    assert_false(is_kept(f));
    assert_child_goes(f);
    assert_nothing_is_left_of_zero(f);
}

// Trials of this machine train on for as long as their controller lives, whatever became of its heartbeats; then for their
// time, or until the run's folder is removed.
static void trials_do_not_outlive_their_controller_for_long(void **state)
{
    struct fixture *f = *state;
    char command[256];
    begin_kept(f, 0);
    // The number is this process's, the time when it began is another's.
    snprintf(command, sizeof command, "echo %d 1 1 >%s/local/node-0/.beat", (int)getpid(), f->dir);
    assert_int_equal(system(command), 0);
    assert_keeper_ends_them(f);
    snprintf(command, sizeof command, "rm %s/child", f->meet);
    assert_int_equal(system(command), 0);
    f->prepared = false;
    prepare_node(f, f->host.public_line);
    wait_until(f, is_prepared);
    begin_kept(f, 1);
    snprintf(command, sizeof command, "rm -r %s/local/node-0", f->dir);
    assert_int_equal(system(command), 0);
    assert_keeper_ends_them(f);
}

static bool all_killed(struct fixture *f)
{
    for (int i = 0; i < 4; i++)
        if (!f->seen[i].killed)
            return false;
    return true;
}

static bool all_have_lines(struct fixture *f)
{
    for (int i = 0; i < 4; i++)
        if (f->seen[i].lines.len == 0)
            return false;
    return true;
}

// A run that is stopped: every trial killed at once, the node forgotten as soon as the first of them is.
static void node_forgotten_while_its_trials_are_killed(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < 4; i++)
        start(f, i, "echo started; sleep 300");
    wait_until(f, all_have_lines);
    f->forget_when_killed = true;
    for (int i = 0; i < 4; i++)
        f->launcher->ops->kill(f->launcher, i, 0);
    wait_until(f, all_killed);
}

// Another controller's launcher, or the same one after the network was gone: it learns of the node, then of the start.
static void follows_again_from_the_first_line(struct fixture *f, void (*leave)(struct fixture *f))
{
    char command[512];
    snprintf(command, sizeof command,
             "echo first; while [ ! -e %s/go ]; do sleep 0.05; done; echo second; echo ran >>%s/runs", f->meet, f->meet);
    start(f, 0, command);
    wait_until(f, zero_has_line);
    leave(f);
    rb_buf_clear(&f->seen[0].lines);
    f->prepared = false;
    prepare_node(f, f->host.public_line);
    wait_until(f, is_prepared);
    start(f, 0, command);
    write_text(f->meet, "go", "");
    wait_until(f, zero_exited);
    assert_has_line(f, 0, "first");
    assert_has_line(f, 0, "second");
    char path[160], *text;
    size_t n;
    snprintf(path, sizeof path, "%s/runs", f->meet);
    assert_true(rb_read_file(path, 64, &text, &n, NULL));
    assert_string_equal(text, "ran\n"); // started once only
    free(text);
}

static bool zero_echoed(struct fixture *f)
{
    return f->seen[0].n_echoed > 0;
}

static void an_echo_comes_and_the_script_goes_on(void **state)
{
    struct fixture *f = *state;
    char command[512];
    snprintf(command, sizeof command, "echo first; printf par; while [ ! -e %s/go ]; do sleep 0.05; done; echo tial",
             f->meet);
    start(f, 0, command);
    wait_until(f, zero_has_line);
    f->launcher->ops->echo(f->launcher, 0, 0);
    wait_until(f, zero_echoed);
    write_text(f->meet, "go", "");
    wait_until(f, zero_exited);
    assert_has_line(f, 0, "partial");
    assert_int_equal(f->seen[0].n_echoed, 1);
}

static void die_and_come_back(struct fixture *f)
{
    f->launcher->ops->destroy(f->launcher);
    make_launcher(f);
}

static void restarted_controller_follows_from_the_first_line(void **state)
{
    follows_again_from_the_first_line(*state, die_and_come_back);
}

static void forget_the_node(struct fixture *f)
{
    f->launcher->ops->forget(f->launcher, 0);
}

static void node_forgotten_and_reached_again_goes_on(void **state)
{
    follows_again_from_the_first_line(*state, forget_the_node);
}

static void hostile_output(void **state)
{
    struct fixture *f = *state;
    start(f, 0,
          "head -c 10000000 /dev/zero | tr '\\0' a; echo; head -c 100000 /dev/urandom; echo; "
          "echo '@rb-exit 00000000000000000000000000000000 0'; printf '\\033]0;title\\007\\n'; echo epoch=1");
    wait_until(f, zero_exited);
    assert_int_equal(f->seen[0].exit_code, 0);
    assert_true(f->seen[0].lines.len < 400000); // the long line was cut
}

static void wrong_host_key_is_refused(void **state)
{
    struct fixture *f = *state;
    struct rb_host_key other;
    assert_true(rb_bootstrap_host_key(&other, NULL));
    prepare_node(f, other.public_line);
    wait_until(f, prepare_has_failed);
    assert_int_equal(rb_err_number(&f->prepare_err), RB_E_SSH_DENIED);
    assert_non_null(strstr(f->prepare_err.message, ": Host key verification failed; it does not have the host key"));
}

static void wrong_key_of_ours_is_refused(void **state)
{
    struct fixture *f = *state;
    write_text(f->dir, "authorized_keys", "");
    prepare_node(f, f->host.public_line);
    wait_until(f, prepare_has_failed);
    assert_int_equal(rb_err_number(&f->prepare_err), RB_E_SSH_DENIED);
    assert_non_null(strstr(f->prepare_err.message, "Permission denied (publickey"));
    assert_non_null(strstr(f->prepare_err.message, "resources.ssh.user"));
}

// --- the job's data

static void prepare_again(struct fixture *f)
{
    f->launcher->ops->forget(f->launcher, 0);
    f->prepared = f->prepare_failed = false;
    prepare_node(f, f->host.public_line);
}

static void data_is_fetched_once(void **state)
{
    struct fixture *f = *state;
    f->job.data_bytes = 4;
    f->job.data_fetch = "echo one >>count; sleep 0.3; echo got >\"$RB_DATA_DIR/it\"; cat hello.txt >>\"$RB_DATA_DIR/it\"";
    f->fetched_us = -1;
    prepare_node(f, f->host.public_line);
    wait_until(f, is_prepared);
    assert_int_equal(f->n_fetches, 1);
    assert_false(f->fetching);
    const int64_t first_us = f->fetched_us;
    assert_true(first_us >= 300000);
    start(f, 0, "cat \"$RB_DATA_DIR/it\"; case $RB_DATA_DIR in /*/rb/rb-launcher-*/data) echo in the home ;; esac");
    wait_until(f, zero_exited);
    assert_has_line(f, 0, "got");
    assert_has_line(f, 0, "hello from the work directory");
    assert_has_line(f, 0, "in the home");
    prepare_again(f); // as a restarted controller does
    wait_until(f, is_prepared);
    assert_true(f->fetched_us == first_us);
    start(f, 1, "wc -l <count");
    wait_until(f, one_exited);
    assert_has_line(f, 1, "1");
}

static void failed_fetch_is_reported(void **state)
{
    struct fixture *f = *state;
    f->job.data_bytes = 4;
    f->job.data_fetch = "echo no such bucket >&2; exit 255";
    prepare_node(f, NULL);
    wait_until(f, prepare_has_failed);
    assert_false(f->fetching);
    assert_says(&f->prepare_err, "RB4460 data.fetch on node 0 failed with exit code 1: no such bucket");
    f->job.data_fetch = "echo ok";
    prepare_again(f);
    wait_until(f, is_prepared);
}

static void mounted_data_must_be_there(void **state)
{
    struct fixture *f = *state;
    char mount[128];
    snprintf(mount, sizeof mount, "%s/it's data", f->dir);
    f->job.data_mount = mount;
    prepare_node(f, NULL);
    wait_until(f, prepare_has_failed);
    assert_int_equal(rb_err_number(&f->prepare_err), RB_E_DATA_MOUNT);
    assert_non_null(strstr(f->prepare_err.message, mount));
    assert_int_equal(mkdir(mount, 0700), 0);
    prepare_again(f);
    wait_until(f, is_prepared);
    assert_int_equal(f->n_fetches, 0);
    write_text(mount, "it", "was here\n");
    start(f, 0, "cat \"$RB_DATA_DIR/it\"");
    wait_until(f, zero_exited);
    assert_has_line(f, 0, "was here");
}

// The connection is lost in the middle: the command goes on, and the next try waits for it.
static void fetching_outlives_its_connection(void **state)
{
    struct fixture *f = *state;
    char command[256];
    snprintf(command, sizeof command, "echo one >>count; pkill -KILL -P %d; sleep 1", (int)f->sshd);
    f->job.data_bytes = 4;
    f->job.data_fetch = command;
    f->fetched_us = -1;
    prepare_node(f, f->host.public_line);
    wait_until(f, is_prepared);
    assert_int_equal(f->n_fetches, 2);
    assert_true(f->fetched_us >= 1000000);
    start(f, 0, "wc -l <count");
    wait_until(f, zero_exited);
    assert_has_line(f, 0, "1");
}

static bool waits(struct fixture *f)
{
    return f->waits_for[0] != '\0';
}

static void says_what_it_waits_for(void **state)
{
    struct fixture *f = *state;
    f->port = free_port(); // where no one listens
    prepare_node(f, f->host.public_line);
    wait_until(f, waits);
    assert_non_null(strstr(f->waits_for, "Connection refused; no sshd listens on that port: check resources.ssh.port"));
    assert_false(f->prepare_failed);
}

static bool master_drop(struct fixture *f)
{
    return f->seen[0].lines.len >= strlen("first\n");
}

static void lost_connection_is_made_again(void **state)
{
    struct fixture *f = *state;
    char command[256];
    snprintf(command, sizeof command,
             "echo one >$RB_CHECKPOINT_DIR/l; echo first; while [ ! -e %s/go ]; do sleep 0.05; "
             "done; echo second",
             f->dir);
    start_words(f, 0, command, "", follow_words, NULL);
    wait_until(f, master_drop);
    // Every connection of the node's sshd dies; the trial must not notice.
    snprintf(command, sizeof command, "pkill -KILL -P %d", (int)f->sshd);
    assert_return_code(system(command), 0);
    write_text(f->meet, "go", "");
    wait_until(f, zero_exited);
    assert_int_equal(f->seen[0].exit_code, 0);
    assert_has_line(f, 0, "second");
    assert_true(f->seen[0].n_again > 0);
    assert_string_equal(rb_buf_str(&f->seen[0].file), "! :one\n"); // again from its first byte
}

// Its node cannot be heard: the echo comes once it can, behind what was printed meanwhile. An echo of before is none.
static void an_echo_waits_for_its_connection(void **state)
{
    struct fixture *f = *state;
    char command[256], said[96];
    snprintf(said, sizeof said, "%s/said", f->dir);
    snprintf(command, sizeof command,
             "echo first; while [ ! -e %s/go ]; do sleep 0.05; done; echo second; touch %s; sleep 60", f->dir, said);
    start(f, 0, command);
    wait_until(f, zero_has_line);
    f->launcher->ops->echo(f->launcher, 0, 0);
    wait_until(f, zero_echoed);
    snprintf(command, sizeof command, "pkill -STOP -P %d", (int)f->sshd);
    assert_return_code(system(command), 0);
    f->seen[0].n_echoed = 0;
    f->launcher->ops->echo(f->launcher, 0, 0);
    write_text(f->meet, "go", "");
    while (access(said, F_OK) != 0)
        usleep(20000);
    rb_buf_clear(&f->seen[0].lines);
    snprintf(command, sizeof command, "pkill -KILL -P %d", (int)f->sshd);
    assert_return_code(system(command), 0);
    wait_until(f, zero_echoed);
    assert_int_equal(f->seen[0].echoed_behind, strlen("first\nsecond\n"));
    f->launcher->ops->kill(f->launcher, 0, 0);
    wait_until(f, zero_killed);
    assert_int_equal(f->seen[0].n_echoed, 1);
}

static bool has_another_line(struct fixture *f)
{
    const struct rb_buf *lines = &f->seen[0].lines;
    char want[32];
    snprintf(want, sizeof want, "line %d\n", f->n_lines_wanted);
    return lines->len > 0 && strstr(rb_buf_str(lines), want) != NULL;
}

// More often than a node that never answers is tried: each time it was heard again.
static void connections_may_be_lost_again_and_again(void **state)
{
    struct fixture *f = *state;
    char command[256];
    snprintf(command, sizeof command,
             "i=0; while [ $i -lt 4 ]; do echo line $i; i=$((i+1)); "
             "while [ ! -e %s/go$i ]; do sleep 0.02; done; done",
             f->dir);
    start(f, 0, command);
    for (int i = 0; i < 4; i++) {
        char go[16];
        f->n_lines_wanted = i;
        wait_until(f, has_another_line);
        assert_false(f->unreachable);
        snprintf(command, sizeof command, "pkill -KILL -P %d", (int)f->sshd);
        assert_return_code(system(command), 0);
        snprintf(go, sizeof go, "go%d", i + 1);
        write_text(f->meet, go, "");
    }
    wait_until(f, zero_exited);
    assert_int_equal(f->seen[0].exit_code, 0);
}

static bool is_unreachable(struct fixture *f)
{
    return f->unreachable;
}

// Its last words are what one wants to read.
static void the_log_of_a_node_that_is_lost_stays(void **state)
{
    struct fixture *f = *state;
    char command[256], log[256];
    snprintf(command, sizeof command, "echo first; while [ ! -e %s/go ]; do sleep 0.02; done", f->dir);
    start(f, 0, command);
    wait_until(f, zero_has_line);
    snprintf(command, sizeof command, "pkill -KILL -P %d; kill -KILL %d", (int)f->sshd, (int)f->sshd);
    assert_return_code(system(command), 0);
    wait_until(f, is_unreachable);
    write_text(f->meet, "go", "");
    read_log(f, log, sizeof log);
    assert_string_equal(log, "first\n");
}

// A cleaner of temporary files, or the end of a login, takes the sockets away, and their directory with them.
static void a_control_directory_that_vanished_is_made_again(void **state)
{
    struct fixture *f = *state;
    struct rb_err err = {0};
    char dir[RB_SSH_CONTROL_DIR_BYTES], command[256];
    assert_true(rb_ssh_control_dir(f->dir, dir, &err));
    start(f, 0, "echo started; while [ ! -e \"$RB_PREEMPT_FILE\" ]; do sleep 0.02; done; exit 75");
    wait_until(f, zero_has_line);
    snprintf(command, sizeof command, "rm -r %s && pkill -KILL -P %d", dir, (int)f->sshd);
    assert_return_code(system(command), 0);
    f->launcher->ops->yield(f->launcher, 0, 0, "reason=pause seconds=61"); // by a connection of its own
    wait_until(f, zero_exited);
    assert_int_equal(f->seen[0].exit_code, 75);
    assert_false(f->unreachable);
    assert_int_equal(access(dir, F_OK), 0);
}

// As by a controller that was killed: its master stays behind, and no one has asked it to go.
static void a_master_that_was_left_is_ended(void **state)
{
    struct fixture *f = *state;
    struct rb_err err = {0};
    char dir[RB_SSH_CONTROL_DIR_BYTES], command[256];
    assert_true(rb_ssh_control_dir(f->dir, dir, &err));
    snprintf(command, sizeof command, "ssh -F none -o ControlPath=%s/n0 -O check -- any 2>/dev/null", dir);
    assert_return_code(system(command), 0);
    snprintf(command, sizeof command, "cp -l %s/n0 %s/master", dir, f->dir); // another name of its socket
    assert_return_code(system(command), 0);
    rb_ssh_leave_control_dir(f->dir);
    assert_int_equal(access(dir, F_OK), -1);
    snprintf(command, sizeof command, "ssh -F none -o ControlPath=%s/master -O check -- any 2>/dev/null", f->dir);
    assert_int_not_equal(system(command), 0);
}

// What a container must not change; the image is there. By tests/executor/images/image_runs.py.
static int run_boxed(void)
{
#define BOXED(fn) cmocka_unit_test_setup_teardown(fn, setup_local, teardown)
    const struct CMUnitTest tests[] = {
        BOXED(exit_code_and_output),
        BOXED(environment_contract),
        BOXED(command_gets_words),
        BOXED(files_are_followed),
        BOXED(stop_keeps_what_rested),
        BOXED(checkpoint_goes_round),
        BOXED(midway_checkpoints_are_kept),
        BOXED(who_is_asked_gives_way),
        BOXED(kill_ends_the_whole_group),
        BOXED(what_has_left_the_group_is_killed_with_it),
        BOXED(what_outlives_its_supervisor_is_killed),
        BOXED(restarted_controller_follows_from_the_first_line),
        BOXED(an_echo_comes_and_the_script_goes_on),
        BOXED(hostile_output),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    if (getenv("RB_TEST_IMAGE"))
        return run_boxed();
    if (access("/usr/sbin/sshd", X_OK) != 0) {
        printf("skipped: /usr/sbin/sshd is not installed (openssh-server)\n");
        return EXIT_SKIPPED;
    }
    const struct CMUnitTest tests[] = {
#define BOTH(fn) \
    cmocka_unit_test_setup_teardown(fn, setup_local, teardown), cmocka_unit_test_setup_teardown(fn, setup_ssh, teardown)
        BOTH(exit_code_and_output),
        BOTH(exit_is_seen_at_once),
        BOTH(environment_contract),
        BOTH(a_script_finds_exactly_the_parameters),
        BOTH(command_gets_words),
        BOTH(files_are_followed),
        cmocka_unit_test_setup_teardown(large_files_arrive_whole, setup_local, teardown),
        BOTH(stop_keeps_what_rested),
        BOTH(stop_keeps_no_file_less),
        cmocka_unit_test_setup_teardown(no_parameters_are_no_words, setup_local, teardown),
        BOTH(checkpoint_goes_round),
        BOTH(midway_checkpoints_are_kept),
        BOTH(a_full_disk_here),
        BOTH(a_full_disk_of_a_node),
        BOTH(links_in_a_checkpoint_are_reported),
        BOTH(who_is_asked_gives_way),
        cmocka_unit_test_setup_teardown(a_gang_gives_way_with_its_first_rank, setup_local, teardown),
        cmocka_unit_test_setup_teardown(a_gang_is_stopped_with_its_first_rank, setup_local, teardown),
        cmocka_unit_test_setup_teardown(failed_fetch_is_reported, setup_local_unprepared, teardown),
        cmocka_unit_test_setup_teardown(mounted_data_must_be_there, setup_local_unprepared, teardown),
        BOTH(hostile_archives_stay_packed),
        BOTH(kill_ends_the_whole_group),
        BOTH(what_a_script_leaves_ends_with_it),
        BOTH(what_has_left_the_group_ends_with_its_script),
        BOTH(what_has_left_the_group_is_killed_with_it),
        BOTH(a_group_that_only_has_its_number_is_left_alone),
        BOTH(what_outlives_its_supervisor_is_killed),
        cmocka_unit_test_setup_teardown(trials_do_not_outlive_their_controller_for_long, setup_local, teardown),
        BOTH(node_forgotten_while_its_trials_are_killed),
        BOTH(restarted_controller_follows_from_the_first_line),
        BOTH(node_forgotten_and_reached_again_goes_on),
        BOTH(an_echo_comes_and_the_script_goes_on),
        BOTH(hostile_output),
        cmocka_unit_test_setup_teardown(wrong_host_key_is_refused, setup_ssh_unprepared, teardown),
        cmocka_unit_test_setup_teardown(wrong_key_of_ours_is_refused, setup_ssh_unprepared, teardown),
        cmocka_unit_test_setup_teardown(data_is_fetched_once, setup_ssh_unprepared, teardown),
        cmocka_unit_test_setup_teardown(fetching_outlives_its_connection, setup_ssh_unprepared, teardown),
        cmocka_unit_test_setup_teardown(says_what_it_waits_for, setup_ssh_unprepared, teardown),
        cmocka_unit_test_setup_teardown(lost_connection_is_made_again, setup_ssh, teardown),
        cmocka_unit_test_setup_teardown(an_echo_waits_for_its_connection, setup_ssh, teardown),
        cmocka_unit_test_setup_teardown(connections_may_be_lost_again_and_again, setup_ssh_impatient, teardown),
        cmocka_unit_test_setup_teardown(the_log_of_a_node_that_is_lost_stays, setup_ssh_impatient, teardown),
        cmocka_unit_test_setup_teardown(a_control_directory_that_vanished_is_made_again, setup_ssh_impatient, teardown),
        cmocka_unit_test_setup_teardown(a_master_that_was_left_is_ended, setup_ssh, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
