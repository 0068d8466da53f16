// Runs in a process of its own, forked from rbmock's single thread. Everything it waits for comes as a
// signal.
#include "providers/mock/node/node_supervisor.h"
#include "base/clock.h"
#include "providers/mock/node/node_shield.h"
#include "providers/mock/node/process_tree.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define SSHD               "/usr/sbin/sshd"
#define TICK_MS            10
#define USER_DATA_WAIT_US  (10 * INT64_C(1000000)) // user data that runs longer continues beside sshd, as on a real node
#define SSHD_START_WAIT_US (20 * INT64_C(1000000)) // a hundred nodes starting at once on two cores

struct supervisor {
    const struct rb_node_dir *dir;
    int report; // write end
    int proc;   // process_tree.h
    sigset_t signals;
    pid_t awaited; // the child being waited for
    bool awaited_ended;
    int awaited_status;
};

static void report(const struct supervisor *s, const char *line)
{
    ssize_t n = write(s->report, line, strlen(line));
    (void)n; // rbmock is gone: SIGTERM is on its way
}

// --- ending ---

static _Noreturn void end(const struct supervisor *s)
{
    rb_process_tree_end(s->proc, &s->signals);
    _exit(0);
}

// --- waiting ---

static void reap(struct supervisor *s)
{
    pid_t pid;
    int status;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        if (pid == s->awaited) {
            s->awaited_ended = true;
            s->awaited_status = status;
        }
}

// Handles what comes within timeout_ms; does not return when the node is to end.
static void wait_a_little(struct supervisor *s, int timeout_ms)
{
    struct timespec t = {.tv_sec = timeout_ms / 1000, .tv_nsec = timeout_ms % 1000 * 1000000L};
    int got = sigtimedwait(&s->signals, NULL, &t);
    if (got == SIGTERM)
        end(s);
    else if (got == SIGUSR1)
        rb_process_tree_signal(s->proc, SIGSTOP);
    else if (got == SIGUSR2)
        rb_process_tree_signal(s->proc, SIGCONT);
    reap(s);
}

// --- starting things on the node ---

static void set_scene(const struct rb_node_dir *d)
{
    const struct passwd *me = getpwuid(getuid());
    clearenv();
    setenv("HOME", d->home, 1);
    setenv("USER", me ? me->pw_name : "root", 1);
    setenv("LOGNAME", me ? me->pw_name : "root", 1);
    setenv("SHELL", "/bin/sh", 1);
    setenv("PATH", d->path, 1);
    setenv("TMPDIR", d->tmp, 1);
    setenv("RB_RUN_DIR", d->run, 1);
    setenv("RB_MOCK_INSTANCE", d->id, 1);
    if (d->clock_permille)
        setenv("RB_CLOCK_PERMILLE", d->clock_permille, 1);
    if (d->metadata_url)
        setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", d->metadata_url, 1);
}

static void redirect(const char *log)
{
    int in = open("/dev/null", O_RDONLY), out = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (in < 0 || out < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0)
        _exit(126);
    close_range(3, ~0U, 0);
}

// Starts argv on the node and makes it the awaited child.
static void start(struct supervisor *s, const char *const *argv)
{
    s->awaited_ended = false;
    s->awaited = fork();
    if (s->awaited != 0)
        return; // -1 is seen as a child that never ends well: await() gives up at its deadline
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    set_scene(s->dir);
    if (chdir(s->dir->home) != 0)
        _exit(126);
    redirect(s->dir->boot_log);
    execv(argv[0], (char *const *)argv);
    _exit(127);
}

static bool await(struct supervisor *s, int64_t limit_us)
{
    int64_t deadline_us = rb_clock_monotonic_us() + limit_us;
    while (!s->awaited_ended && rb_clock_monotonic_us() < deadline_us)
        wait_a_little(s, TICK_MS);
    return s->awaited_ended;
}

static void run_script(struct supervisor *s, const char *script)
{
    start(s, (const char *const[]){script, NULL});
    if (!await(s, USER_DATA_WAIT_US))
        rb_node_dir_log(s->dir, "%s still runs; the boot continues", script);
    else if (s->awaited_status != 0)
        rb_node_dir_log(s->dir, "%s ended with status %#x", script, (unsigned)s->awaited_status);
}

// bootcmd, which real machines run before their D-Bus is up.
static void run_boot_script(struct supervisor *s)
{
    int fd = open(s->dir->no_bus, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
    run_script(s, s->dir->boot_script);
    unlink(s->dir->no_bus);
}

static void make_host_key(struct supervisor *s)
{
    char key[4096];
    snprintf(key, sizeof key, "%s/host_key", s->dir->root);
    if (access(key, F_OK) == 0)
        return;
    start(s, (const char *const[]){"/usr/bin/ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", s->dir->id, "-f", key,
                                   NULL});
    await(s, SSHD_START_WAIT_US);
}

// A process listens there if and only if we cannot bind there; this check costs sshd no connection. With SO_REUSEADDR,
// which sshd sets as well, it keeps sshd from binding for no instant either.
static bool is_taken(const struct rb_node_dir *d)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)d->ssh_port)};
    inet_pton(AF_INET, d->address, &at.sin_addr);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    bool taken = bind(fd, (struct sockaddr *)&at, sizeof at) != 0 && errno == EADDRINUSE;
    close(fd);
    return taken;
}

static bool start_sshd(struct supervisor *s)
{
    if (is_taken(s->dir)) {
        rb_node_dir_log(s->dir, "port %d of %s is in use by another process", s->dir->ssh_port, s->dir->address);
        return false;
    }
    start(s, (const char *const[]){SSHD, "-D", "-f", s->dir->sshd_config, "-E", s->dir->sshd_log, NULL});
    int64_t deadline_us = rb_clock_monotonic_us() + SSHD_START_WAIT_US;
    while (!s->awaited_ended && !is_taken(s->dir) && rb_clock_monotonic_us() < deadline_us)
        wait_a_little(s, TICK_MS);
    return !s->awaited_ended && is_taken(s->dir);
}

// --- the whole life of a node ---

static bool enter_namespaces(const char *netns)
{
    char path[256];
    snprintf(path, sizeof path, "/run/netns/%s", netns);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool ok = fd >= 0 && setns(fd, CLONE_NEWNET) == 0 && unshare(CLONE_NEWUTS) == 0;
    if (fd >= 0)
        close(fd);
    return ok;
}

static _Noreturn void live(struct supervisor *s, const char *netns)
{
    if (netns && !enter_namespaces(netns)) {
        rb_node_dir_log(s->dir, "cannot enter network namespace %s: %s", netns, strerror(errno));
        report(s, "failed no network\n");
    } else {
        if (netns)
            sethostname(s->dir->id, strlen(s->dir->id));
        if (s->dir->has_boot_script)
            run_boot_script(s);
        make_host_key(s);
        if (s->dir->has_run_script)
            run_script(s, s->dir->run_script);
        report(s, start_sshd(s) ? "ready\n" : "failed sshd did not start: see boot.log and sshd.log\n");
    }
    for (bool said = false;;) {
        wait_a_little(s, 3600 * 1000);
        if (s->awaited_ended && !said)
            report(s, "failed sshd ended: see sshd.log\n");
        said = s->awaited_ended;
    }
}

static _Noreturn void become_supervisor(const struct rb_node_dir *d, const char *netns, int report, pid_t parent)
{
    struct supervisor s = {.dir = d, .report = report};
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_NAME, "rbmock-node");
    rb_node_shield_raise(d);
    sigemptyset(&s.signals);
    sigaddset(&s.signals, SIGTERM);
    sigaddset(&s.signals, SIGCHLD);
    sigaddset(&s.signals, SIGUSR1);
    sigaddset(&s.signals, SIGUSR2);
    sigprocmask(SIG_SETMASK, &s.signals, NULL);
    signal(SIGINT, SIG_IGN); // Ctrl-C is for rbmock, which then ends us
    signal(SIGPIPE, SIG_IGN);
    // Keeps only stderr and the report of rbmock's files; the others are its sockets.
    if (report != 3 && dup2(report, 3) == 3)
        s.report = 3;
    fcntl(s.report, F_SETFD, FD_CLOEXEC);
    close_range(4, ~0U, 0);
    s.proc = rb_process_tree_open();
    if (getppid() != parent) // it died before the death signal was asked for
        _exit(0);
    live(&s, netns);
}

bool rb_node_supervisor_start(const struct rb_node_dir *d, const char *netns, pid_t *out_pid, int *out_report,
                              struct rb_err *err)
{
    int ends[2];
    pid_t parent = getpid();
    if (pipe2(ends, O_CLOEXEC) != 0)
        return rb_err_set(err, RB_E_MOCK_SYSTEM, "pipe: %s", strerror(errno));
    pid_t pid = fork();
    if (pid == 0)
        become_supervisor(d, netns, ends[1], parent);
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return rb_err_set(err, RB_E_MOCK_SYSTEM, "fork: %s", strerror(errno));
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    *out_pid = pid;
    *out_report = ends[0];
    return true;
}
