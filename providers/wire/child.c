// A tool gets only the variables listed here; a user's command gets all variables except those listed, because its
// needs are unknown.
#include "providers/wire/child.h"

#include "base/errors/full.h"
#include "base/text/closest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { NAME_BYTES = 128 };

// --- environments

static bool begins_with_any(const char *name, const char *const *prefixes)
{
    for (; *prefixes; prefixes++)
        if (strncmp(name, *prefixes, strlen(*prefixes)) == 0)
            return true;
    return false;
}

bool rb_child_is_credential(const char *name)
{
    static const char *const owners[] = {"AWS_", "GOOGLE_", "GCE_", "CLOUDSDK_", "SLURM_", "RB_", "MLFLOW_", NULL};
    static const char *const words[] = {"SECRET", "TOKEN", "KEY", "CREDENTIAL", "JWT", "PASSWORD", "AUTH"};
    if (!begins_with_any(name, owners))
        return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(name, words[i]))
            return true;
    return false;
}

static bool is_for_tools(const char *name)
{
    static const char *const names[] = {"PATH", "HOME",     "USER", "LOGNAME", "SHELL",
                                        "LANG", "LANGUAGE", "TZ",   "TMPDIR",  NULL};
    static const char *const prefixes[] = {"LC_", "LD_", "RB_", NULL};
    return (rb_is_one_of(name, names) || begins_with_any(name, prefixes)) && !rb_child_is_credential(name);
}

// False: no name before an equals sign, or one that is too long.
static bool name_of(const char *entry, char out[static NAME_BYTES])
{
    const size_t n = strcspn(entry, "=");
    if (entry[n] != '=' || n == 0 || n >= NAME_BYTES)
        return false;
    memcpy(out, entry, n);
    out[n] = '\0';
    return true;
}

static char **new_env(struct rb_arena *arena)
{
    size_t n = 0;
    while (environ && environ[n])
        n++;
    return rb_arena_array(arena, n + 1, sizeof(char *));
}

char **rb_child_tool_env(struct rb_arena *arena)
{
    char **env = new_env(arena), name[NAME_BYTES];
    int n = 0;
    for (char **entry = environ; entry && *entry; entry++)
        if (name_of(*entry, name) && is_for_tools(name))
            env[n++] = *entry;
    return env;
}

static char **env_without(const char *const *hidden, int n_hidden, bool credentials, struct rb_arena *arena)
{
    char **env = new_env(arena), name[NAME_BYTES];
    int n = 0;
    for (char **entry = environ; entry && *entry; entry++) {
        bool keep = name_of(*entry, name) && (credentials || !rb_child_is_credential(name));
        for (int i = 0; i < n_hidden && keep; i++)
            keep = strcmp(name, hidden[i]) != 0;
        if (keep)
            env[n++] = *entry;
    }
    return env;
}

char **rb_child_command_env(const char *const *hidden, int n_hidden, struct rb_arena *arena)
{
    return env_without(hidden, n_hidden, false, arena);
}

char **rb_child_cloud_env(const char *const *hidden, int n_hidden, struct rb_arena *arena)
{
    return env_without(hidden, n_hidden, true, arena);
}

// --- running

// Only what is safe between fork and exec.
static void become(const char *const *argv, char *const *env, const int fds[3], bool own_session, int report)
{
    if (own_session)
        setsid();
    for (int i = 0; i < 3; i++)
        if (fds[i] != i && dup2(fds[i], i) < 0)
            break;
    execvpe(argv[0], (char *const *)argv, env);
    const int why = errno;
    (void)!write(report, &why, sizeof why);
    _exit(127);
}

static int start(const char *const *argv, char *const *env, const int fds[3], bool own_session, pid_t *out_pid)
{
    int report[2], why = 0;
    if (pipe2(report, O_CLOEXEC) != 0)
        return errno;
    *out_pid = fork(); // not posix_spawn: what was registered for a child's sake is done in it (base/open_files.c)
    if (*out_pid == 0)
        become(argv, env, fds, own_session, report[1]);
    const int failed = *out_pid < 0 ? errno : 0;
    close(report[1]);
    while (!failed && read(report[0], &why, sizeof why) < 0 && errno == EINTR)
        ;
    close(report[0]);
    if (why) {
        waitpid(*out_pid, NULL, 0);
        *out_pid = -1;
    }
    return failed ? failed : why;
}

int rb_child_start(const char *const *argv, char *const *env, const int fds[3], pid_t *out_pid)
{
    return start(argv, env, fds, false, out_pid);
}

int rb_child_start_session(const char *const *argv, char *const *env, const int fds[3], pid_t *out_pid)
{
    return start(argv, env, fds, true, out_pid);
}

static int spawn(const char *const *argv, const struct rb_child_options *o, int out_fd, pid_t *out_pid)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        return errno;
    const int fds[3] = {null, out_fd >= 0 ? out_fd : null, o->quiet ? null : STDERR_FILENO};
    const int rc = rb_child_start(argv, rb_child_tool_env(&arena), fds, out_pid);
    close(null);
    return rc;
}

// Reads to the end, so that no process is left writing into a pipe, but keeps no more than the limit. False: there was
// more.
static bool read_all(int fd, const struct rb_child_options *o)
{
    char chunk[4096];
    bool whole = true;
    for (;;) {
        const ssize_t n = read(fd, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return whole && n == 0;
        whole = whole && o->out->len + (size_t)n <= o->max_output_bytes;
        if (whole)
            rb_buf_append(o->out, chunk, (size_t)n);
    }
}

static bool reap(const char *program, pid_t pid, struct rb_err *err)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return rb_err_set(err, RB_E_PROGRAM, "cannot wait for %s: %s", program, strerror(errno));
    if (WIFSIGNALED(status))
        return rb_err_set(err, RB_E_PROGRAM, "%s was ended by signal %d", program, WTERMSIG(status));
    return WEXITSTATUS(status) == 0 ||
           rb_err_set(err, RB_E_PROGRAM, "%s failed with exit code %d", program, WEXITSTATUS(status));
}

static bool cannot_run(const char *program, int why, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf what = RB_BUF_INIT;
    rb_buf_printf(&what, "cannot run %s", program);
    return rb_is_full(why) ? rb_err_set_full(err, why, rb_buf_str(&what))
                           : rb_err_set(err, RB_E_PROGRAM, "%s: %s", rb_buf_str(&what), strerror(why));
}

bool rb_child_run(const char *const *argv, const struct rb_child_options *o, struct rb_err *err)
{
    int ends[2] = {-1, -1};
    pid_t pid;
    if (o->out && pipe2(ends, O_CLOEXEC) != 0)
        return cannot_run(argv[0], errno, err);
    const int rc = spawn(argv, o, ends[1], &pid);
    if (o->out)
        close(ends[1]);
    const bool whole = rc != 0 || !o->out || read_all(ends[0], o);
    if (o->out)
        close(ends[0]);
    if (rc != 0)
        return cannot_run(argv[0], rc, err);
    if (!reap(argv[0], pid, err))
        return false;
    return whole || rb_err_set(err, RB_E_PROGRAM, "%s said more than %zu bytes", argv[0], o->max_output_bytes);
}
