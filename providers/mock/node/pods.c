// The table of pods.
#include "providers/mock/node/pods.h"
#include "base/arena.h"
#include "providers/mock/node/pod_supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct pod {
    char id[40];
    char *dir;
    pid_t pid;
    int socket;
    bool is_silent, gone;
};

struct rb_pods {
    struct rb_pods_config config;
    int epoll;
    struct pod **pods; // [n], those not gone
    int n;
    int n_execs;                   // ever started
    struct rb_pod_report *reports; // queue, [n_reports]
    int n_reports, next_report;
};

static struct rb_pod_report *add_report(struct rb_pods *p, const char *id, struct rb_pod_report r)
{
    if (p->next_report == p->n_reports)
        p->next_report = p->n_reports = 0;
    snprintf(r.id, sizeof r.id, "%s", id);
    p->reports = rb_grow(p->reports, p->n_reports, sizeof *p->reports);
    p->reports[p->n_reports] = r;
    return &p->reports[p->n_reports++];
}

static struct pod *find(const struct rb_pods *p, const char *id)
{
    for (int k = 0; k < p->n; k++)
        if (!p->pods[k]->gone && strcmp(p->pods[k]->id, id) == 0)
            return p->pods[k];
    return NULL;
}

// --- directories ---

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    remove(path);
    return 0;
}

static int remove_all_but_log(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    return at->level == 1 && strcmp(path + at->base, "log") == 0 ? 0 : remove_entry(path, st, kind, at);
}

static bool make_dir(const char *path, mode_t mode, struct rb_err *err)
{
    return mkdir(path, mode) == 0 || rb_err_set(err, RB_E_MOCK_SYSTEM, "cannot make %s: %s", path, strerror(errno));
}

// Volumes without a directory get one.
static bool make_dirs(const struct pod *pod, struct rb_pod_scene *scene, struct rb_arena *arena, struct rb_err *err)
{
    struct rb_pod_volume *volumes = rb_arena_array(arena, (size_t)scene->start.n_volumes + 1, sizeof *volumes);
    scene->root = rb_arena_printf(arena, "%s/root", pod->dir);
    scene->log = rb_arena_printf(arena, "%s/log", pod->dir);
    if (!make_dir(pod->dir, 0700, err) || !make_dir(scene->root, 0755, err) ||
        !make_dir(rb_arena_printf(arena, "%s/volumes", pod->dir), 0700, err))
        return false;
    for (int k = 0; k < scene->start.n_volumes; k++) {
        volumes[k] = scene->start.volumes[k];
        if (volumes[k].directory)
            continue;
        volumes[k].directory = rb_arena_printf(arena, "%s/volumes/%d", pod->dir, k);
        if (!make_dir(volumes[k].directory, 0777, err))
            return false;
    }
    scene->start.volumes = volumes;
    return true;
}

// PATH, if it has none, and its clock.
static const char *const *complete_env(const struct rb_pods *p, const char *const *env, struct rb_arena *arena)
{
    int n = 0;
    bool has_path = false;
    for (; env[n]; n++)
        has_path |= strncmp(env[n], "PATH=", 5) == 0;
    const char **all = rb_arena_array(arena, (size_t)n + 3, sizeof *all);
    memcpy(all, env, (size_t)n * sizeof *all);
    if (!has_path)
        all[n++] = rb_arena_printf(arena, "PATH=%s", p->config.path);
    if (p->config.speed != 1.0)
        all[n++] = rb_arena_printf(arena, "RB_CLOCK_PERMILLE=%.0f", p->config.speed * 1000);
    return all;
}

// --- life ---

static void forget(struct rb_pods *p, struct pod *pod)
{
    for (int k = 0; k < p->n; k++)
        if (p->pods[k] == pod) {
            p->pods[k] = p->pods[--p->n];
            break;
        }
    if (pod->pid > 0)
        waitpid(pod->pid, NULL, 0);
    if (pod->socket >= 0)
        close(pod->socket);
    nftw(pod->dir, p->config.keep_logs ? remove_all_but_log : remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    free(pod->dir);
    free(pod);
}

void rb_pods_start(struct rb_pods *p, const struct rb_pod_start *start)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_pod_scene scene = {.start = *start};
    struct rb_err err;
    struct pod *pod = rb_xcalloc(1, sizeof *pod);
    snprintf(pod->id, sizeof pod->id, "%s", start->id);
    pod->dir = rb_xcalloc(1, strlen(p->config.directory) + sizeof pod->id + 2);
    sprintf(pod->dir, "%s/%s", p->config.directory, pod->id);
    pod->socket = -1;
    p->pods = rb_grow(p->pods, p->n, sizeof *p->pods);
    p->pods[p->n++] = pod;
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = pod};
    scene.start.env = complete_env(p, start->env, &arena);
    if (make_dirs(pod, &scene, &arena, &err) && rb_pod_supervisor_start(&scene, &pod->pid, &pod->socket, &err) &&
        epoll_ctl(p->epoll, EPOLL_CTL_ADD, pod->socket, &e) == 0)
        return;
    struct rb_pod_report *r = add_report(p, pod->id, (struct rb_pod_report){.what = RB_POD_FAILED});
    snprintf(r->text, sizeof r->text, "%.255s", err.message);
    forget(p, pod);
}

static bool order(const struct pod *pod, const struct rb_pod_order *o, const char *words, size_t n, const int fds[3])
{
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(3 * sizeof(int))];
    } control = {0};
    struct iovec parts[] = {{.iov_base = (void *)o, .iov_len = sizeof *o}, {.iov_base = (void *)words, .iov_len = n}};
    struct msghdr m = {.msg_iov = parts, .msg_iovlen = n > 0 ? 2 : 1};
    if (fds) {
        m.msg_control = &control;
        m.msg_controllen = sizeof control;
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(3 * sizeof(int));
        memcpy(CMSG_DATA(c), fds, 3 * sizeof(int));
    }
    return sendmsg(pod->socket, &m, MSG_NOSIGNAL) >= 0;
}

bool rb_pods_signal(struct rb_pods *p, const char *id, int signal_number)
{
    const struct pod *pod = find(p, id);
    const struct rb_pod_order o = {.what = RB_POD_ORDER_SIGNAL, .number = signal_number};
    return pod && order(pod, &o, NULL, 0, NULL);
}

void rb_pods_vanish(struct rb_pods *p, const char *id)
{
    struct pod *pod = find(p, id);
    if (!pod)
        return;
    pod->is_silent = true;
    kill(pod->pid, SIGTERM);
}

bool rb_pods_exec(struct rb_pods *p, const char *id, const char *const *argv, const int fds[3], int *out_number)
{
    const struct pod *pod = find(p, id);
    char words[RB_POD_MAX_COMMAND];
    size_t n = 0;
    for (int k = 0; argv[k]; k++) {
        const size_t length = strlen(argv[k]) + 1;
        if (n + length > sizeof words)
            return false;
        memcpy(words + n, argv[k], length);
        n += length;
    }
    const struct rb_pod_order o = {.what = RB_POD_ORDER_EXEC, .number = p->n_execs + 1};
    if (!pod || pod->is_silent || !order(pod, &o, words, n, fds))
        return false;
    *out_number = ++p->n_execs;
    return true;
}

// --- listening ---

static void listen_to(struct rb_pods *p, struct pod *pod)
{
    struct rb_pod_report r;
    ssize_t n;
    while ((n = recv(pod->socket, &r, sizeof r, 0)) == (ssize_t)sizeof r)
        if (!pod->is_silent)
            add_report(p, pod->id, r);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        pod->gone = true;
}

static bool poll_pods(struct rb_pods *p, int timeout_ms)
{
    struct epoll_event events[64];
    const int got = epoll_wait(p->epoll, events, 64, timeout_ms);
    for (int k = 0; k < got; k++)
        listen_to(p, events[k].data.ptr);
    for (int k = p->n - 1; k >= 0; k--)
        if (p->pods[k]->gone)
            forget(p, p->pods[k]);
    return got > 0;
}

int rb_pods_fd(const struct rb_pods *p)
{
    return p->epoll;
}

bool rb_pods_next_report(struct rb_pods *p, struct rb_pod_report *out)
{
    while (p->next_report == p->n_reports)
        if (!poll_pods(p, 0))
            return false;
    *out = p->reports[p->next_report++];
    return true;
}

// --- all of them ---

bool rb_pods_create(const struct rb_pods_config *config, struct rb_pods **out, struct rb_err *err)
{
    const int epoll = epoll_create1(EPOLL_CLOEXEC);
    if (epoll < 0)
        return rb_err_set(err, RB_E_MOCK_SYSTEM, "epoll: %s", strerror(errno));
    *out = rb_xcalloc(1, sizeof **out);
    **out = (struct rb_pods){.config = *config, .epoll = epoll};
    return true;
}

void rb_pods_destroy(struct rb_pods *p)
{
    if (!p)
        return;
    for (int k = 0; k < p->n; k++)
        kill(p->pods[k]->pid, SIGTERM);
    while (p->n > 0)
        poll_pods(p, 1000);
    close(p->epoll);
    free(p->pods);
    free(p->reports);
    free(p);
}
