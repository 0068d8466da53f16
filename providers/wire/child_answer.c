// A child process, its output and a deadline.
#include "providers/wire/child_answer.h"

#include "base/clock.h"
#include "base/text/units.h"
#include "providers/wire/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_OUTPUT_BYTES = 64 << 10 };
static const int64_t timeout_us = 60 * RB_US_PER_S; // long enough to touch a security key

// Starts the command with stdout at out_fd and stdin empty.
static bool spawn(const struct rb_child_question *q, pid_t *out_pid, int *out_fd, struct rb_err *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return rb_err_set(err, RB_E_PROGRAM, "%s: no pipe: %s", q->setting, strerror(errno));
    const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    const int fds[3] = {null, ends[1], STDERR_FILENO};
    const int rc = null < 0 ? errno : rb_child_start(q->argv, q->env, fds, out_pid);
    if (null >= 0)
        close(null);
    close(ends[1]);
    if (rc != 0) {
        close(ends[0]);
        return rb_err_set(err, RB_E_CREDENTIAL_PROCESS, "%s: cannot run '%s': %s", q->setting, q->argv[0],
                          strerror(rc));
    }
    *out_fd = ends[0];
    return true;
}

// Until the end of the output. False: too late, too much, or unreadable.
static bool read_output(int fd, int64_t deadline_us, struct rb_buf *out)
{
    char chunk[4096];
    bool ok = false;
    for (;;) {
        const int64_t left_us = deadline_us - rb_clock_monotonic_us();
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (out->len > MAX_OUTPUT_BYTES)
            break;
        const int n_ready = poll(&p, 1, left_us > 0 ? (int)(left_us / 1000) + 1 : 0);
        if (n_ready <= 0 && left_us <= 0)
            break; // late, and there is nothing: what came while this process was stopped counts
        if (n_ready <= 0)
            continue;
        const ssize_t n = read(fd, chunk, sizeof chunk);
        if (n <= 0) {
            ok = n == 0;
            break;
        }
        rb_buf_append(out, chunk, (size_t)n);
    }
    explicit_bzero(chunk, sizeof chunk);
    return ok;
}

// Exit status as from waitpid; the child is killed at the deadline.
static int reap(pid_t pid, int64_t deadline_us)
{
    int status = 0;
    for (;;) {
        const pid_t done = waitpid(pid, &status, WNOHANG);
        if (done == pid)
            return status;
        if (done < 0 && errno != EINTR)
            return -1;
        if (rb_clock_monotonic_us() >= deadline_us)
            kill(pid, SIGKILL);
        poll(NULL, 0, 5);
    }
}

bool rb_child_answer(const struct rb_child_question *q, struct rb_buf *out, struct rb_err *err)
{
    pid_t pid = -1;
    int fd = -1;
    if (!spawn(q, &pid, &fd, err))
        return false;
    const int64_t deadline_us = rb_clock_monotonic_us() + timeout_us;
    const bool whole = read_output(fd, deadline_us, out);
    close(fd);
    const int status = reap(pid, whole ? deadline_us : 0);
    if (!whole)
        return rb_err_set(err, RB_E_CREDENTIAL_PROCESS, "%s '%s': expected at most %d KiB within a minute", q->setting,
                          q->argv[0], MAX_OUTPUT_BYTES >> 10);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127) // as a shell says it, and posix_spawn where it cannot
        return rb_err_set(err, RB_E_CREDENTIAL_PROCESS, "%s: cannot run '%s'", q->setting, q->argv[0]);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return rb_err_set(err, RB_E_CREDENTIAL_PROCESS, "%s '%s' failed; run it by hand to see why", q->setting,
                          q->argv[0]);
    return true;
}
