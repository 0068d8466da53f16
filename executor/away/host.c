#include "executor/away/host.h"

#include "base/arena.h"
#include "executor/host_script.h" // generated from host.sh: rb_host_script[]
#include "executor/transport/transport.h"
#include "providers/wire/child.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SSH_FAILED = 255, MAX_WORDS = 40 };

extern char **environ;

// What tools see, and how ssh finds the user's agent and the kind of terminal.
static char **ssh_env(struct rb_arena *arena)
{
    static const char *const more[] = {"SSH_AUTH_SOCK", "TERM"};
    char **tool = rb_child_tool_env(arena);
    int n = 0;
    while (tool[n])
        n++;
    char **env = rb_arena_array(arena, (size_t)n + 3, sizeof *env);
    memcpy(env, tool, (size_t)n * sizeof *env);
    for (int i = 0; i < 2; i++) {
        RB_AUTO(rb_buf_finish) struct rb_buf entry = RB_BUF_INIT;
        const char *value = getenv(more[i]);
        if (!value)
            continue;
        rb_buf_printf(&entry, "%s=%s", more[i], value);
        env[n++] = (char *)rb_arena_strdup(arena, rb_buf_str(&entry));
    }
    return env;
}

static void write_command(const struct rb_host_call *call, struct rb_buf *out)
{
    RB_AUTO(rb_buf_finish) struct rb_buf script = RB_BUF_INIT;
    rb_buf_append(&script, rb_host_script, rb_host_script_len);
    rb_buf_puts(out, "exec sh -c ");
    rb_buf_shell_quote(out, rb_buf_str(&script));
    rb_buf_puts(out, " rb");
    for (int i = 0; i < call->n_words; i++) {
        rb_buf_putc(out, ' ');
        rb_buf_shell_quote(out, call->words[i]);
    }
}

// Nothing of the user's own configuration, and no other host key than the one that was made for it.
static int add_keys(const struct rb_host *host, struct rb_arena *arena, const char **argv)
{
    static const char *const fixed[] = {"-F", "none", "-o", "StrictHostKeyChecking=yes", "-o",
                                        "GlobalKnownHostsFile=/dev/null", "-o", "HostKeyAlgorithms=ssh-ed25519", "-o",
                                        "IdentitiesOnly=yes", "-o", "IdentityAgent=none", "-o", "LogLevel=ERROR"};
    const int n_fixed = sizeof fixed / sizeof *fixed;
    int n = 0;
    if (!host->keys[0])
        return 0;
    for (int i = 0; i < n_fixed; i++)
        argv[n++] = fixed[i];
    argv[n++] = "-o";
    argv[n++] = rb_arena_printf(arena, "UserKnownHostsFile=\"%s/known_hosts\"", host->keys);
    argv[n++] = "-o";
    argv[n++] = rb_arena_printf(arena, "HostKeyAlias=%s", host->alias);
    argv[n++] = "-i";
    argv[n++] = rb_arena_printf(arena, "%s/keys/id_ed25519", host->keys);
    return n;
}

static const char *const *by_transport(const struct rb_host *host, const char *remote, struct rb_arena *arena)
{
    const struct rb_job job = {.resources = {.slurm.shared_dir = host->shared_dir,
                                             .kubernetes = {.context = host->context[0] ? host->context : NULL,
                                                            .namespace = host->namespace[0] ? host->namespace : NULL}}};
    const struct rb_launcher_config config = {.job = &job, .run_id = host->run_id};
    const struct rb_launch_node node = {.infra = host->infra, .instance_id = host->alias, .address = host->address};
    return host->by->argv_alone ? host->by->argv_alone(&job.resources, &node, remote, arena)
                                : host->by->argv(&config, &node, remote, arena);
}

static const char *const *by_ssh(const struct rb_host *host, const struct rb_host_call *call, const char *remote,
                                 struct rb_arena *arena)
{
    const char **argv = rb_arena_array(arena, MAX_WORDS, sizeof *argv);
    static const char *const fixed[] = {"ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=20", "-o",
                                        "ServerAliveInterval=15", "-o", "ServerAliveCountMax=4"};
    int n = sizeof fixed / sizeof *fixed;
    memcpy(argv, fixed, sizeof fixed);
    n += add_keys(host, arena, argv + n);
    if (call->compress)
        argv[n++] = "-C";
    argv[n++] = call->on_terminal ? "-t" : "-T";
    if (host->port[0]) {
        argv[n++] = "-p";
        argv[n++] = host->port;
    }
    argv[n++] = "--";
    argv[n++] = host->address;
    argv[n++] = rb_arena_strdup(arena, remote);
    return argv;
}

static int start(const struct rb_host *host, const struct rb_host_call *call, const int fds[3], pid_t *out_pid)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    RB_AUTO(rb_buf_finish) struct rb_buf command = RB_BUF_INIT;
    write_command(call, &command);
    const char *remote = rb_buf_str(&command);
    return rb_child_start(host->by ? by_transport(host, remote, &arena) : by_ssh(host, call, remote, &arena),
                          host->by && host->by->argv_alone ? environ : ssh_env(&arena), fds, out_pid);
}

// False: there was more than the limit.
static bool read_all(int fd, struct rb_buf *out, size_t max_bytes)
{
    char chunk[65536];
    for (;;) {
        const ssize_t n = read(fd, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n == 0;
        if (out->len + (size_t)n > max_bytes)
            return false;
        rb_buf_append(out, chunk, (size_t)n);
    }
}

static bool reap(const struct rb_host *host, pid_t pid, int *out_code, struct rb_err *err)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return rb_err_set(err, RB_E_HOST_FAILED, "cannot wait for ssh: %s", strerror(errno));
    if ((WIFSIGNALED(status) || WEXITSTATUS(status) == SSH_FAILED) && host->by)
        return rb_err_set(err, RB_E_HOST_UNREACHABLE,
                          "the controller's machine %s in %s does not answer: it has ended%s%s", host->alias, host->name,
                          host->shared_dir[0] ? ", or this machine does not share with it the directory " : "",
                          host->shared_dir);
    if ((WIFSIGNALED(status) || WEXITSTATUS(status) == SSH_FAILED) && host->keys[0])
        return rb_err_set(err, RB_E_HOST_UNREACHABLE,
                          "the controller's machine %s in %s cannot be reached by ssh at %s, or the connection broke; it "
                          "has ended, or its security groups do not admit this machine on port %s",
                          host->alias, host->name, host->address, host->port);
    if (WIFSIGNALED(status) || WEXITSTATUS(status) == SSH_FAILED)
        return rb_err_set(
            err, RB_E_HOST_UNREACHABLE,
            "%s cannot be reached by ssh, or the connection broke; `ssh -o BatchMode=yes %s true` must work "
            "without a question",
            host->name, host->address);
    *out_code = WEXITSTATUS(status);
    return true;
}

bool rb_host_call(const struct rb_host *host, const struct rb_host_call *call, int *out_code, struct rb_err *err)
{
    int input[2] = {-1, -1}, output[2] = {-1, -1};
    const bool on_terminal = call->on_terminal && !host->by;
    pid_t pid;
    if (host->by && call->input_fd < 0)
        input[0] = open("/dev/null", O_RDONLY | O_CLOEXEC); // what it reads is sent whole, before the verb begins
    if ((!host->by && !on_terminal && call->input_fd < 0 && pipe2(input, O_CLOEXEC) != 0) ||
        (call->out && pipe2(output, O_CLOEXEC) != 0))
        return rb_err_set(err, RB_E_HOST_FAILED, "no pipe for ssh: %s", strerror(errno));
    const int nowhere = call->quiet ? open("/dev/null", O_WRONLY | O_CLOEXEC) : -1;
    const int fds[3] = {on_terminal           ? STDIN_FILENO
                        : call->input_fd >= 0 ? call->input_fd
                                              : input[0],
                        call->out         ? output[1]
                        : call->output_fd ? call->output_fd
                                          : STDOUT_FILENO,
                        nowhere >= 0 ? nowhere : STDERR_FILENO};
    const int why = start(host, call, fds, &pid);
    if (input[0] >= 0)
        close(input[0]);
    if (nowhere >= 0)
        close(nowhere);
    if (call->out)
        close(output[1]);
    const bool whole = why != 0 || !call->out || read_all(output[0], call->out, call->max_output_bytes);
    if (call->out)
        close(output[0]);
    const bool ended = why == 0 && reap(host, pid, out_code, err);
    if (input[1] >= 0)
        close(input[1]);
    if (why != 0)
        return rb_err_set(err, RB_E_HOST_FAILED, "cannot run ssh: %s; install an ssh client", strerror(why));
    return ended && (whole || rb_err_set(err, RB_E_HOST_FAILED, "%s said more than %zu bytes", host->name,
                                         call->max_output_bytes));
}

int rb_memory_file(const void *bytes, size_t n)
{
    const int fd = memfd_create("rb", MFD_CLOEXEC);
    const char *at = bytes;
    while (fd >= 0 && n > 0) {
        const ssize_t written = write(fd, at, n);
        if (written <= 0) {
            close(fd);
            return -1;
        }
        at += written;
        n -= (size_t)written;
    }
    if (fd >= 0)
        lseek(fd, 0, SEEK_SET);
    return fd;
}
