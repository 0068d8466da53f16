// Runs in a process of its own, forked from rbmock's single thread.
#include "providers/mock/node/pod_supervisor.h"
#include "base/arena.h"
#include "providers/mock/node/pod_root.h"
#include "providers/mock/node/process_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_WORDS 1024
#define MAX_EXECS 1024
#define SOCKET_FD 3
#define ERROR_FD  4 // of a child until it executes its command

struct supervisor {
    const struct rb_pod_scene *scene;
    const char *const *env;
    bool is_namespace;
    int log, signal_fd;
    int proc; // process_tree.h
    sigset_t signals;
    pid_t first; // process 1; 0: not started
    struct {
        pid_t pid;
        int number;
    } execs[MAX_EXECS];
    int n_execs;
};

static void report(const struct rb_pod_report *r)
{
    ssize_t n = send(SOCKET_FD, r, sizeof *r, MSG_NOSIGNAL);
    (void)n; // rbmock is gone: SIGTERM is on its way
}

static int exit_code(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// --- starting ---

// In the child. What fails before the command runs goes to ERROR_FD as text.
static _Noreturn void become(const struct supervisor *s, const char *const *argv, const int fds[3], bool is_first)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setsid();
    const char *what = "streams";
    bool ok = true;
    if (is_first && s->is_namespace)
        rb_pod_root_mount_proc();
    for (int k = 0; ok && k < 3; k++)
        ok = dup2(fds[k], k) == k;
    if (ok) {
        what = "workingDir";
        ok = chdir(s->scene->start.workdir) == 0;
    }
    if (ok) {
        what = argv[0];
        environ = (char **)s->env;
        close_range(ERROR_FD + 1, ~0U, 0);
        execvp(argv[0], (char *const *)argv);
    }
    const char *why = errno == ENOENT ? "no such file or directory" : strerror(errno);
    dprintf(ERROR_FD, "exec: \"%.120s\": %s", what, why);
    _exit(errno == ENOENT ? 127 : 126);
}

// 0: it did not start, and *why says why.
static pid_t start(const struct supervisor *s, const char *const *argv, const int fds[3], bool is_first,
                   char why[static 256])
{
    int ends[2];
    *why = '\0';
    if (pipe2(ends, O_CLOEXEC) != 0) {
        snprintf(why, 256, "pipe: %s", strerror(errno));
        return 0;
    }
    const pid_t pid = fork();
    if (pid == 0) {
        close(SOCKET_FD);
        if (ends[1] != ERROR_FD)
            dup3(ends[1], ERROR_FD, O_CLOEXEC);
        become(s, argv, fds, is_first);
    }
    close(ends[1]);
    ssize_t n = pid > 0 ? read(ends[0], why, 255) : 0;
    if (pid < 0)
        n = snprintf(why, 256, "fork: %s", strerror(errno));
    why[n > 0 ? n : 0] = '\0';
    close(ends[0]);
    if (pid > 0 && *why)
        waitpid(pid, NULL, 0);
    return pid > 0 && !*why ? pid : 0;
}

// --- the end ---

static _Noreturn void end(struct supervisor *s, int status)
{
    rb_process_tree_end(s->proc, &s->signals);
    for (int k = 0; k < s->n_execs; k++)
        report(&(struct rb_pod_report){.what = RB_POD_EXEC_ENDED, .number = s->execs[k].number, .status = 137});
    report(&(struct rb_pod_report){.what = RB_POD_EXITED, .status = status});
    _exit(0);
}

static void reap(struct supervisor *s)
{
    pid_t pid;
    int status;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid == s->first)
            end(s, exit_code(status));
        for (int k = 0; k < s->n_execs; k++)
            if (s->execs[k].pid == pid) {
                report(&(struct rb_pod_report){
                    .what = RB_POD_EXEC_ENDED, .number = s->execs[k].number, .status = exit_code(status)});
                s->execs[k] = s->execs[--s->n_execs];
                break;
            }
    }
}

// --- orders ---

static void run_command(struct supervisor *s, int number, char *words, size_t n, const int fds[3])
{
    const char *argv[MAX_WORDS + 1];
    int n_words = 0;
    for (size_t at = 0; at < n && n_words < MAX_WORDS; at += strlen(words + at) + 1)
        argv[n_words++] = words + at;
    argv[n_words] = NULL;
    struct rb_pod_report failed = {.what = RB_POD_EXEC_FAILED, .number = number};
    if (s->n_execs == MAX_EXECS)
        snprintf(failed.text, sizeof failed.text, "%d commands run already", MAX_EXECS);
    const pid_t pid = s->n_execs < MAX_EXECS ? start(s, argv, fds, false, failed.text) : 0;
    if (pid == 0) {
        report(&failed);
        return;
    }
    s->execs[s->n_execs].pid = pid;
    s->execs[s->n_execs++].number = number;
}

static void take_signal(const struct supervisor *s, int signal_number)
{
    if (signal_number == SIGSTOP || signal_number == SIGCONT)
        rb_process_tree_signal(s->proc, signal_number);
    else if (s->first > 0)
        kill(s->first, signal_number);
}

// False: rbmock is gone.
static bool take_order(struct supervisor *s)
{
    static char bytes[sizeof(struct rb_pod_order) + RB_POD_MAX_COMMAND];
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(3 * sizeof(int))];
    } control;
    struct iovec part = {.iov_base = bytes, .iov_len = sizeof bytes};
    struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    const ssize_t n = recvmsg(SOCKET_FD, &m, MSG_CMSG_CLOEXEC);
    struct rb_pod_order order;
    if (n < (ssize_t)sizeof order)
        return n < 0 && (errno == EAGAIN || errno == EINTR);
    memcpy(&order, bytes, sizeof order);
    const struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    if (order.what == RB_POD_ORDER_SIGNAL) {
        take_signal(s, order.number);
    } else if (c && c->cmsg_len == CMSG_LEN(3 * sizeof(int))) {
        int fds[3];
        memcpy(fds, CMSG_DATA(c), sizeof fds);
        run_command(s, order.number, bytes + sizeof order, (size_t)n - sizeof order, fds);
        for (int k = 0; k < 3; k++)
            close(fds[k]);
    }
    return true;
}

// --- the whole life of a container ---

// Without a root of its own the pod's paths are this machine's.
static const char *const *map_env(const struct rb_pod_start *p)
{
    int n = 0;
    while (p->env[n])
        n++;
    char **out = rb_xcalloc((size_t)n + 1, sizeof *out);
    for (int k = 0; k < n; k++) {
        out[k] = (char *)p->env[k];
        const char *value = strchr(p->env[k], '=');
        for (int v = 0; value && v < p->n_volumes; v++) {
            const size_t length = strlen(p->volumes[v].path);
            const char *rest = value + 1 + length;
            if (strncmp(value + 1, p->volumes[v].path, length) != 0 || (*rest && *rest != '/'))
                continue;
            const size_t size = strlen(p->env[k]) + strlen(p->volumes[v].directory) + 1;
            out[k] = rb_xcalloc(1, size);
            snprintf(out[k], size, "%.*s%s%s", (int)(value + 1 - p->env[k]), p->env[k], p->volumes[v].directory, rest);
            break;
        }
    }
    return (const char *const *)out;
}

static _Noreturn void fail(const char *text)
{
    struct rb_pod_report r = {.what = RB_POD_FAILED};
    snprintf(r.text, sizeof r.text, "%s", text);
    report(&r);
    _exit(0);
}

static void begin(struct supervisor *s)
{
    const struct rb_pod_start *p = &s->scene->start;
    const char *what;
    char why[256];
    s->is_namespace = rb_pod_root_unshare();
    if (s->is_namespace && !rb_pod_root_enter(s->scene->root, p->volumes, p->n_volumes, &what)) {
        snprintf(why, sizeof why, "%s: %s", what, strerror(errno));
        fail(why);
    }
    s->env = s->is_namespace ? p->env : map_env(p);
    const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    s->first = start(s, p->argv, (const int[]){null, s->log, s->log}, true, why);
    close(null);
    if (s->first == 0)
        fail(why);
    report(&(struct rb_pod_report){.what = RB_POD_STARTED});
}

static _Noreturn void live(struct supervisor *s)
{
    struct pollfd fds[] = {{.fd = SOCKET_FD, .events = POLLIN}, {.fd = s->signal_fd, .events = POLLIN}};
    begin(s);
    for (;;) {
        poll(fds, 2, -1);
        if (fds[1].revents) {
            struct signalfd_siginfo info;
            ssize_t n = read(s->signal_fd, &info, sizeof info);
            if (n == sizeof info && info.ssi_signo == SIGTERM)
                end(s, 137);
            reap(s);
        }
        if (fds[0].revents && !take_order(s))
            end(s, 137);
    }
}

static _Noreturn void become_supervisor(const struct rb_pod_scene *scene, int socket_fd, pid_t parent)
{
    struct supervisor s = {.scene = scene};
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_NAME, "rbmock-pod");
    sigemptyset(&s.signals);
    sigaddset(&s.signals, SIGTERM);
    sigaddset(&s.signals, SIGCHLD);
    sigprocmask(SIG_SETMASK, &s.signals, NULL);
    signal(SIGINT, SIG_IGN); // Ctrl-C is for rbmock, which then ends us
    signal(SIGPIPE, SIG_IGN);
    if (socket_fd != SOCKET_FD)
        dup3(socket_fd, SOCKET_FD, O_CLOEXEC);
    close_range(SOCKET_FD + 1, ~0U, 0);
    const int reserved = open("/dev/null", O_RDONLY | O_CLOEXEC); // ERROR_FD
    (void)reserved;
    s.log = open(scene->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    s.proc = rb_process_tree_open();
    s.signal_fd = signalfd(-1, &s.signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (getppid() != parent) // it died before the death signal was asked for
        _exit(0);
    live(&s);
}

bool rb_pod_supervisor_start(const struct rb_pod_scene *scene, pid_t *out_pid, int *out_socket, struct rb_err *err)
{
    int ends[2];
    const pid_t parent = getpid();
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return rb_err_set(err, RB_E_MOCK_SYSTEM, "socketpair: %s", strerror(errno));
    const pid_t pid = fork();
    if (pid == 0)
        become_supervisor(scene, ends[1], parent);
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return rb_err_set(err, RB_E_MOCK_SYSTEM, "fork: %s", strerror(errno));
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    *out_pid = pid;
    *out_socket = ends[0];
    return true;
}
