#include "commands/rbmcp/calls.h"

#include "base/clock.h"
#include "providers/wire/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STDERR_BYTES = 256 << 10 }; // what is kept of it

// --- starting

// Not pipes for a run that begins: it must go on writing when we are gone.
static int open_file(void)
{
    char path[] = "/tmp/rbmcp-XXXXXX";
    const int fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    return fd;
}

static bool open_ends(const struct rb_mcp_call *call, int out[2], int err[2])
{
    if (!call->work.begins_run)
        return pipe2(out, O_CLOEXEC) == 0 && pipe2(err, O_CLOEXEC) == 0;
    out[0] = open_file();
    err[0] = open_file();
    out[1] = out[0];
    err[1] = err[0];
    return out[0] >= 0 && err[0] >= 0;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

bool rb_mcp_call_start(struct rb_mcp_call *call, struct rb_err *err)
{
    int out[2] = {-1, -1}, said[2] = {-1, -1}, why = 0;
    const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null < 0 || !open_ends(call, out, said))
        why = errno;
    const int fds[3] = {null, out[1], said[1]};
    if (!why)
        why = rb_child_start_session(call->work.argv, environ, fds, &call->pid);
    close_fd(&(int){null});
    if (!call->work.begins_run) {
        close_fd(&out[1]);
        close_fd(&said[1]);
    }
    call->out_fd = out[0];
    call->err_fd = said[0];
    call->started_us = rb_clock_monotonic_us();
    if (!why)
        return true;
    call->pid = 0;
    return rb_err_set(err, RB_E_PROGRAM, "cannot run %s: %s", call->work.argv[0], strerror(why));
}

// --- reading

static void take(int *fd, struct rb_buf *into, size_t most, bool *over)
{
    char chunk[65536];
    const ssize_t n = *fd < 0 ? 0 : read(*fd, chunk, sizeof chunk);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n <= 0) {
        close_fd(fd);
        return;
    }
    const size_t room = most - into->len;
    rb_buf_append(into, chunk, (size_t)n < room ? (size_t)n : room);
    *over = *over || (size_t)n > room;
}

static bool is_ready(int fd)
{
    struct timeval now = {0};
    fd_set set;
    if (fd < 0 || fd >= FD_SETSIZE)
        return fd >= 0;
    FD_ZERO(&set);
    FD_SET(fd, &set);
    return select(fd + 1, &set, NULL, NULL, &now) > 0;
}

bool rb_mcp_call_read(struct rb_mcp_call *call)
{
    bool surplus = false;
    if (is_ready(call->out_fd))
        take(&call->out_fd, &call->out, RB_LIMIT_MCP_OUTPUT, &call->too_long);
    if (is_ready(call->err_fd))
        take(&call->err_fd, &call->err, STDERR_BYTES, &surplus);
    if (call->too_long && !call->work.goes_on)
        kill(-call->pid, SIGKILL);
    return call->out_fd < 0 && call->err_fd < 0;
}

static void read_whole(int fd, struct rb_buf *into, size_t most)
{
    char chunk[65536];
    ssize_t n;
    rb_buf_clear(into);
    while (into->len < most && (n = pread(fd, chunk, sizeof chunk, (off_t)into->len)) > 0)
        rb_buf_append(into, chunk, (size_t)n);
}

// The line "run ID" among what it said.
static void find_run(const struct rb_buf *said, char out[static 128])
{
    const char *at = rb_buf_str(said);
    out[0] = '\0';
    for (; at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL) {
        const char *end = strchr(at, '\n');
        if (strncmp(at, "run ", 4) != 0 || !end || end - at - 4 >= 128)
            continue;
        snprintf(out, 128, "%.*s", (int)(end - at - 4), at + 4);
        if (rb_mcp_is_run_id(out))
            return;
        out[0] = '\0';
    }
}

void rb_mcp_call_look(struct rb_mcp_call *call, char out_run[static 128], bool *out_over, int *out_status)
{
    *out_over = waitpid(call->pid, out_status, WNOHANG) == call->pid;
    if (*out_over)
        call->pid = 0;
    read_whole(call->err_fd, &call->err, STDERR_BYTES);
    find_run(&call->err, out_run);
    if (*out_over && !out_run[0])
        read_whole(call->out_fd, &call->out, RB_LIMIT_MCP_OUTPUT);
}

// --- ending

void rb_mcp_call_end(struct rb_mcp_call *call)
{
    if (call->pid > 0 && !call->work.goes_on)
        kill(-call->pid, SIGKILL);
}

int rb_mcp_call_wait(struct rb_mcp_call *call)
{
    int status = 0;
    while (call->pid > 0 && waitpid(call->pid, &status, 0) < 0 && errno == EINTR)
        ;
    call->pid = 0;
    return status;
}

void rb_mcp_call_finish(struct rb_mcp_call *call)
{
    close_fd(&call->out_fd);
    close_fd(&call->err_fd);
    rb_buf_finish(&call->out);
    rb_buf_finish(&call->err);
    if (call->work.keep)
        unlink(call->work.keep); // where it was kept, it has another name by now
    rb_mcp_work_finish(&call->work);
}
