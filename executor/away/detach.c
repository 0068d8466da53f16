// The new process has one end of a socket as its standard input, and writes two bytes to it.
#include "executor/away/detach.h"

#include "base/arena.h"
#include "base/errors/exit_codes.h"
#include "base/errors/log.h"
#include "providers/wire/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define MARK "RB_DETACHED" // in the environment of the new process, until it has read it

enum { STARTED = 's', BEGUN = 'b', MAX_WORDS = 32 };

extern char **environ;

// --- the service manager

static enum rb_linger ask_linger(void)
{
    RB_AUTO(rb_buf_finish) struct rb_buf said = RB_BUF_INIT;
    char uid[16];
    snprintf(uid, sizeof uid, "%u", (unsigned)getuid());
    const char *const argv[] = {"loginctl", "show-user", "--property=Linger", uid, NULL};
    if (!rb_child_run(argv, &(struct rb_child_options){.out = &said, .max_output_bytes = 256, .quiet = true}, NULL))
        return RB_LINGER_UNKNOWN;
    return strstr(rb_buf_str(&said), "Linger=yes")  ? RB_LINGER_ON
           : strstr(rb_buf_str(&said), "Linger=no") ? RB_LINGER_OFF
                                                    : RB_LINGER_UNKNOWN;
}

// --- starting

struct words {
    const char *items[MAX_WORDS];
    int n;
};

static void add_words(struct words *w, const char *const *items, int n)
{
    for (int i = 0; i < n && w->n + 1 < MAX_WORDS; i++)
        w->items[w->n++] = items[i];
}

static int start(const struct words *w, int theirs, pid_t *out_pid)
{
    const int fds[3] = {theirs, STDOUT_FILENO, STDERR_FILENO};
    setenv(MARK, "1", 1);
    const int why = rb_child_start_session(w->items, environ, fds, out_pid);
    unsetenv(MARK);
    return why;
}

// What it wrote until its run had begun or it ended.
static void listen_to(int ours, bool *out_started, bool *out_begun)
{
    char bytes[8];
    *out_started = *out_begun = false;
    while (!*out_begun) {
        const ssize_t n = read(ours, bytes, sizeof bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return;
        *out_started = *out_started || memchr(bytes, STARTED, (size_t)n);
        *out_begun = memchr(bytes, BEGUN, (size_t)n) != NULL;
    }
}

static bool reap(pid_t pid, const char *run_id, int *out_code, struct rb_err *err)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return rb_err_set(err, RB_E_DETACH, "cannot wait for process %d: %s", (int)pid, strerror(errno));
    if (WIFEXITED(status) && WEXITSTATUS(status) != 0) {
        *out_code = WEXITSTATUS(status);
        return true;
    }
    return rb_err_set(
        err, RB_E_DETACH,
        "process %d ended before run %s had begun%s; nothing was launched: continue with `rbrun resume %s`", (int)pid,
        run_id, WIFSIGNALED(status) ? ", by a signal" : "", run_id);
}

// False in *out_started: the program that was to start ours did not.
static bool try_start(const struct words *w, const char *run_id, struct rb_detached *out, bool *out_started,
                      int *out_code, struct rb_err *err)
{
    int ends[2];
    pid_t pid;
    bool begun = false;
    *out_started = false;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return rb_err_set(err, RB_E_DETACH, "no socket to talk to the new process: %s", strerror(errno));
    const int why = start(w, ends[1], &pid);
    close(ends[1]);
    if (why == 0)
        listen_to(ends[0], out_started, &begun);
    close(ends[0]);
    if (why != 0)
        return rb_err_set(err, RB_E_DETACH, "cannot start %s: %s", w->items[0], strerror(why));
    out->pid = (int)pid;
    *out_code = 0;
    return begun || reap(pid, run_id, out_code, err);
}

static bool start_in_scope(const struct words *program, const char *run_id, struct rb_detached *out, bool *out_started,
                           int *out_code, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf unit = RB_BUF_INIT;
    snprintf(out->unit, sizeof out->unit, "rb-%s.scope", run_id);
    rb_buf_printf(&unit, "--unit=%s", out->unit);
    struct words w = {.n = 0};
    add_words(
        &w, (const char *const[]){"systemd-run", "--user", "--scope", "--collect", "--quiet", rb_buf_str(&unit), "--"},
        7);
    add_words(&w, program->items, program->n);
    const bool ok = try_start(&w, run_id, out, out_started, out_code, err);
    if (!*out_started)
        out->unit[0] = '\0';
    return ok;
}

bool rb_detach(const struct rb_run_files *f, const char *const *options, int n, struct rb_detached *out, int *out_code,
               struct rb_err *err)
{
    char program[4096];
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0)
        return rb_err_set(err, RB_E_DETACH, "/proc/self/exe: %s; mount /proc", strerror(errno));
    program[length] = '\0';
    bool started = false;
    struct words w = {.n = 0};
    // What is in a Slurm job ends with it, and may not hide from it in a unit of its own.
    *out = (struct rb_detached){.linger = getenv("SLURM_JOB_ID") ? RB_LINGER_UNKNOWN : ask_linger()};
    add_words(&w, (const char *const[]){program, "resume", f->run_id}, 3);
    add_words(&w, options, n);
    if (out->linger == RB_LINGER_ON) {
        const bool ok = start_in_scope(&w, f->run_id, out, &started, out_code, err);
        if (started)
            return ok;
        rb_warn("the user's service manager took no unit for this run; it gets a session of its own instead");
    }
    return try_start(&w, f->run_id, out, &started, out_code, err);
}

// --- in the new process

bool rb_detached_take(void)
{
    const char started = STARTED;
    if (!getenv(MARK))
        return false;
    unsetenv(MARK);
    setenv("TERM", "dumb", 1); // what it prints is for a file
    close_range(3, ~0U, 0);    // what our shell had open is not ours to keep
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (write(STDIN_FILENO, &started, 1) != 1)
        _exit(RB_CODE_FAILED); // no one waits for us any more
    return true;
}

void rb_detached_begun(const char *run_dir)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    const char begun = BEGUN;
    rb_buf_printf(&path, "%s/" RB_DETACHED_LOG, run_dir);
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int log = open(rb_buf_str(&path), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (log < 0)
        rb_warn("cannot write %s: %s; what the run says is lost, its journal is not", rb_buf_str(&path),
                strerror(errno));
    fflush(NULL);
    prctl(PR_SET_PDEATHSIG, 0);
    (void)!write(STDIN_FILENO, &begun, 1); // the one that waited may be gone; the run has begun nevertheless
    dup2(null, STDIN_FILENO);
    dup2(log < 0 ? null : log, STDOUT_FILENO);
    dup2(log < 0 ? null : log, STDERR_FILENO);
    close(null);
    if (log >= 0)
        close(log);
}
