#include "executor/search/search_child.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/text/buf.h"
#include "providers/wire/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define EXIT_US 200000 // between the end of its output and its exit

struct rb_search_child {
    struct rb_search_child_config config;
    pid_t pid;
    bool is_reaped;
    int status;             // of waitpid, once reaped
    int in, out;            // what it reads and what it writes
    struct rb_buf to, from; // not written yet; not a whole line yet
    uint64_t end_timer;
    bool is_writing; // the loop watches `in`
    bool *destroyed; // of a callback under way; NULL: none
};

// ---- its end

static bool reap(struct rb_search_child *c, int64_t patience_us)
{
    const int64_t until_us = rb_clock_monotonic_us() + patience_us;
    while (!c->is_reaped && waitpid(c->pid, &c->status, WNOHANG) == 0) {
        if (rb_clock_monotonic_us() >= until_us)
            return false;
        nanosleep(&(struct timespec){0, 2000000}, NULL);
    }
    c->is_reaped = true;
    return true;
}

static void close_input(struct rb_search_child *c)
{
    if (c->in < 0)
        return;
    if (c->is_writing)
        c->config.loop->watch(c->config.loop->ctx, c->in, 0, NULL, NULL);
    c->is_writing = false;
    close(c->in);
    c->in = -1;
}

static void close_output(struct rb_search_child *c)
{
    if (c->out < 0)
        return;
    c->config.loop->watch(c->config.loop->ctx, c->out, 0, NULL, NULL);
    close(c->out);
    c->out = -1;
}

void rb_search_child_destroy(struct rb_search_child *c, int64_t patience_us)
{
    if (!c)
        return;
    if (c->destroyed)
        *c->destroyed = true;
    close_input(c);
    close_output(c);
    if (c->end_timer)
        c->config.loop->timer_cancel(c->config.loop->ctx, c->end_timer);
    reap(c, patience_us);
    kill(-c->pid, SIGKILL); // also what it started and left behind
    reap(c, INT64_MAX / 2);
    rb_buf_finish(&c->to);
    rb_buf_finish(&c->from);
    free(c);
}

static void say_why(struct rb_search_child *c, char *out, size_t size)
{
    if (!reap(c, 0))
        snprintf(out, size, "it closed its output");
    else if (WIFSIGNALED(c->status))
        snprintf(out, size, "it was ended by signal %d", WTERMSIG(c->status));
    else
        snprintf(out, size, "it ended with exit code %d%s", WEXITSTATUS(c->status),
                 WEXITSTATUS(c->status) == 127 ? ", as if it was not found" : "");
}

// Its output is at its end: by now it has exited, or it never will.
static void on_end(void *arg)
{
    struct rb_search_child *c = arg;
    char why[96];
    c->end_timer = 0;
    say_why(c, why, sizeof why);
    c->config.ended(c->config.ctx, why);
}

// ---- reading

// False: the child was destroyed.
static bool pass_lines(struct rb_search_child *c)
{
    bool destroyed = false;
    char *newline;
    c->destroyed = &destroyed;
    while (c->from.len > 0 && (newline = memchr(c->from.data, '\n', c->from.len))) {
        const size_t n = (size_t)(newline - c->from.data);
        *newline = '\0';
        if (n > c->config.longest_line)
            break;
        c->config.line(c->config.ctx, c->from.data, n);
        if (destroyed)
            return false;
        rb_buf_consume(&c->from, n + 1);
    }
    c->destroyed = NULL;
    return true;
}

static void on_readable(void *arg, int fd, int ready)
{
    struct rb_search_child *c = arg;
    char chunk[16384], why[96];
    const ssize_t n = read(fd, chunk, sizeof chunk);
    (void)ready;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        close_output(c);
        c->end_timer = c->config.loop->timer_start(c->config.loop->ctx, EXIT_US, on_end, c);
        return;
    }
    rb_buf_append(&c->from, chunk, (size_t)n);
    if (!pass_lines(c) || c->from.len <= c->config.longest_line)
        return;
    close_output(c);
    snprintf(why, sizeof why, "it wrote a line of more than %zu bytes", c->config.longest_line);
    c->config.ended(c->config.ctx, why);
}

// ---- writing

static void on_writable(void *arg, int fd, int ready);

// A child that has closed its input explains that by its end.
static void flush(struct rb_search_child *c)
{
    const struct rb_loop *loop = c->config.loop;
    while (c->in >= 0 && c->to.len > 0) {
        const ssize_t n = send(c->in, c->to.data, c->to.len, MSG_NOSIGNAL);
        if (n > 0)
            rb_buf_consume(&c->to, (size_t)n);
        else if (n < 0 && errno != EINTR && errno != EAGAIN)
            close_input(c);
        else if (n < 0 && errno == EAGAIN)
            break;
    }
    const bool must_wait = c->in >= 0 && c->to.len > 0;
    if (must_wait != c->is_writing && c->in >= 0)
        loop->watch(loop->ctx, c->in, must_wait ? RB_LOOP_WRITE : 0, on_writable, c);
    c->is_writing = must_wait;
}

static void on_writable(void *arg, int fd, int ready)
{
    (void)fd;
    (void)ready;
    flush(arg);
}

void rb_search_child_write(struct rb_search_child *c, const char *bytes, size_t n)
{
    if (c->in < 0)
        return;
    rb_buf_append(&c->to, bytes, n);
    if (!c->is_writing)
        flush(c);
}

// ---- its start

// Its input is a socket: a write to a child that has gone must not raise a signal in this process.
static bool open_ends(int in[2], int out[2], int *log, const char *path)
{
    in[0] = in[1] = out[0] = out[1] = -1;
    *log = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600) : STDERR_FILENO;
    return *log >= 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in) == 0 && pipe2(out, O_CLOEXEC) == 0 &&
           fcntl(in[1], F_SETFL, O_NONBLOCK) == 0 && fcntl(out[0], F_SETFL, O_NONBLOCK) == 0;
}

static void close_fd(int fd)
{
    if (fd > STDERR_FILENO)
        close(fd);
}

static int start(const struct rb_search_child_config *config, const int fds[3], pid_t *out_pid)
{
    static const char in_its_folder[] = "cd -- \"$1\" && exec sh -c \"$2\"";
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    const char *const argv[] = {"sh", "-c", in_its_folder, "sh", config->workdir, config->command, NULL};
    char **env = rb_child_command_env(config->hidden, config->n_hidden, &arena);
    return rb_child_start_session(argv, env, fds, out_pid);
}

bool rb_search_child_start(const struct rb_search_child_config *config, struct rb_search_child **out,
                           struct rb_err *err)
{
    int in[2], outs[2], log;
    pid_t pid = -1;
    int why = open_ends(in, outs, &log, config->log) ? 0 : errno;
    if (!why)
        why = start(config, (const int[3]){in[0], outs[1], log}, &pid);
    close_fd(in[0]);
    close_fd(outs[1]);
    close_fd(log);
    if (why) {
        close_fd(in[1]);
        close_fd(outs[0]);
        return rb_err_set(err, RB_E_PROCESS_START, "cannot start it: %s", strerror(why));
    }
    struct rb_search_child *c = rb_xcalloc(1, sizeof *c);
    *c = (struct rb_search_child){.config = *config, .pid = pid, .in = in[1], .out = outs[0]};
    config->loop->watch(config->loop->ctx, c->out, RB_LOOP_READ, on_readable, c);
    *out = c;
    return true;
}
