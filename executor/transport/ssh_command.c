#include "executor/transport/ssh_command.h"

#include "base/text/buf.h"
#include "base/document/doc.h"
#include "providers/wire/child.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

// How long a master may take to exit when it is asked to.
enum { EXIT_CHECKS = 200, EXIT_CHECK_NS = 5000000 };

// A socket's path is "<dir>/n<node>", and while ssh makes it, that with ".<16 characters>" behind it.
_Static_assert(sizeof((struct sockaddr_un *)0)->sun_path >= RB_SSH_CONTROL_DIR_BYTES + sizeof "/n99999" - 1 + 17,
               "a socket's path has room for the directory's");

const char *rb_ssh_user(const struct rb_resources *resources)
{
    const char *given = getenv("RB_SSH_USER");
    return given && given[0] ? given : resources->ssh_user;
}

int rb_ssh_port(const struct rb_resources *resources)
{
    const char *given = getenv("RB_SSH_PORT");
    return given && given[0] ? atoi(given) : resources->ssh_port;
}

enum { MAX_DIRS = 3 };
struct control_dirs {
    char items[MAX_DIRS][RB_SSH_CONTROL_DIR_BYTES];
    int n;
};

static void __attribute__((format(printf, 2, 3))) add_dir(struct control_dirs *dirs, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const int n = vsnprintf(dirs->items[dirs->n], RB_SSH_CONTROL_DIR_BYTES, fmt, ap);
    va_end(ap);
    dirs->n += n < RB_SSH_CONTROL_DIR_BYTES;
}

// In order of preference. Cleaners of /tmp remove sockets that are older than some days.
static void list_dirs(const char *run_dir, struct control_dirs *out)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    uint64_t hash = UINT64_C(14695981039346656037); // FNV-1a: only has to distinguish the runs of one user
    for (const char *c = run_dir; *c; c++)
        hash = (hash ^ (unsigned char)*c) * UINT64_C(1099511628211);
    const unsigned tag = (unsigned)(hash ^ hash >> 32);
    out->n = 0;
    if (runtime && runtime[0] == '/')
        add_dir(out, "%s/rb-%08x", runtime, tag);
    add_dir(out, "%s/ssh", run_dir);
    add_dir(out, "/tmp/rb-%ld-%08x", (long)geteuid(), tag);
}

// In /tmp others may have created this name: only a directory that no one else can read is ours.
static bool is_ours(const char *dir)
{
    struct stat st;
    return lstat(dir, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() && (st.st_mode & 077) == 0;
}

bool rb_ssh_control_dir(const char *run_dir, char out[static RB_SSH_CONTROL_DIR_BYTES], struct rb_err *err)
{
    struct control_dirs dirs;
    list_dirs(run_dir, &dirs);
    for (int i = 0; i < dirs.n; i++) {
        const bool made = mkdir(dirs.items[i], 0700) == 0 || errno == EEXIST;
        if (made && is_ours(dirs.items[i])) {
            strcpy(out, dirs.items[i]);
            return true;
        }
        rb_err_set(err, RB_E_SSH_FILES,
                   made ? "%s is not a private directory of this user: remove it%s"
                        : "cannot make %s for ssh's control sockets: %s",
                   dirs.items[i], made ? "" : strerror(errno));
    }
    return false;
}

// --- leaving it

static bool is_listened_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (snprintf(address.sun_path, sizeof address.sun_path, "%s", path) >= (int)sizeof address.sun_path)
        return false;
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool listened = fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof address) == 0;
    if (fd >= 0)
        close(fd);
    return listened;
}

// A master that is asked to exit answers first and removes its socket then; one that was killed never removes it.
static void end_master(const char *path)
{
    char control_path[160];
    snprintf(control_path, sizeof control_path, "ControlPath=%s", path);
    const char *const argv[] = {"ssh", "-F", "none", "-o", control_path, "-O", "exit", "--", "any", NULL};
    if (is_listened_at(path))
        rb_child_run(argv, &(struct rb_child_options){.quiet = true}, NULL);
    for (int i = 0; i < EXIT_CHECKS && is_listened_at(path); i++)
        nanosleep(&(struct timespec){.tv_nsec = EXIT_CHECK_NS}, NULL);
    unlink(path);
}

static void leave_dir(const char *dir)
{
    char path[128];
    DIR *d = is_ours(dir) ? opendir(dir) : NULL;
    if (!d)
        return;
    for (const struct dirent *e; (e = readdir(d)) != NULL;) {
        if (e->d_name[0] == 'n' && snprintf(path, sizeof path, "%s/%s", dir, e->d_name) < (int)sizeof path)
            end_master(path);
    }
    closedir(d);
    rmdir(dir);
}

void rb_ssh_leave_control_dir(const char *run_dir)
{
    struct control_dirs dirs;
    list_dirs(run_dir, &dirs);
    for (int i = 0; i < dirs.n; i++)
        leave_dir(dirs.items[i]);
}

bool rb_ssh_know_host(const char *run_dir, const char *instance_id, const char *host_key, struct rb_err *err)
{
    struct rb_buf path RB_AUTO(rb_buf_finish) = RB_BUF_INIT, line RB_AUTO(rb_buf_finish) = RB_BUF_INIT;
    rb_buf_printf(&path, "%s/known_hosts", run_dir);
    rb_buf_printf(&line, "%s %s\n", instance_id, host_key);
    char *old RB_AUTO(rb_auto_free) = NULL;
    size_t old_len = 0;
    if (access(path.data, F_OK) == 0) {
        if (!rb_read_file(path.data, 16 << 20, &old, &old_len, err))
            return false;
        if (strstr(old, line.data))
            return true;
    }
    int fd = open(path.data, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return rb_err_set(err, RB_E_SSH_FILES, "cannot write %s: %s", path.data, strerror(errno));
    bool ok = write(fd, line.data, line.len) == (ssize_t)line.len;
    int why = errno;
    close(fd);
    return ok || rb_err_set(err, RB_E_SSH_FILES, "cannot write %s: %s", path.data, strerror(why));
}

static const char *const fixed_options[] = {
    "-F",
    "none",
    "-T",
    "-o",
    "BatchMode=yes",
    "-o",
    "StrictHostKeyChecking=yes",
    "-o",
    "GlobalKnownHostsFile=/dev/null",
    "-o",
    "UpdateHostKeys=no",
    "-o",
    "CheckHostIP=no",
    "-o",
    "HostKeyAlgorithms=ssh-ed25519",
    "-o",
    "IdentitiesOnly=yes",
    "-o",
    "IdentityAgent=none",
    "-o",
    "ForwardAgent=no",
    "-o",
    "PasswordAuthentication=no",
    "-o",
    "KbdInteractiveAuthentication=no",
    "-o",
    "ConnectTimeout=10",
    "-o",
    "ServerAliveInterval=5",
    "-o",
    "ServerAliveCountMax=3",
    "-o",
    "ControlMaster=auto",
    "-o",
    "ControlPersist=300",
    "-o",
    "LogLevel=ERROR",
};
enum { N_FIXED = sizeof fixed_options / sizeof *fixed_options };

const char *const *rb_ssh_argv(const struct rb_launch_node *node, const char *run_dir, const char *control_dir,
                               const char *control, const char *remote, struct rb_arena *arena)
{
    const char **argv = rb_arena_array(arena, N_FIXED + 24, sizeof *argv);
    int n = 0;
    argv[n++] = "ssh";
    for (int i = 0; i < N_FIXED; i++)
        argv[n++] = fixed_options[i];
    argv[n++] = "-o";
    argv[n++] = rb_arena_printf(arena, "UserKnownHostsFile=\"%s/known_hosts\"", run_dir);
    argv[n++] = "-o";
    argv[n++] = rb_arena_printf(arena, "HostKeyAlias=%s", node->instance_id);
    argv[n++] = "-o";
    argv[n++] = rb_arena_printf(arena, "ControlPath=%s/n%d", control_dir, node->node);
    argv[n++] = "-i";
    argv[n++] = rb_arena_printf(arena, "%s/keys/id_ed25519", run_dir);
    argv[n++] = "-p";
    argv[n++] = rb_arena_printf(arena, "%d", node->port);
    argv[n++] = "-l";
    argv[n++] = node->user;
    if (control) {
        argv[n++] = "-O";
        argv[n++] = control;
    }
    argv[n++] = "--";
    argv[n++] = node->address;
    if (!control)
        argv[n++] = remote;
    argv[n] = NULL;
    return argv;
}
