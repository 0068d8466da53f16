// Files of a node, written before it boots.
#include "providers/mock/node/node_dir.h"
#include "base/document/doc.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct rb_node_dir rb_node_dir_name(const char *parent, const char *id, uint32_t address, int ssh_port,
                                    const char *host_path, struct rb_arena *arena)
{
    char dotted[INET_ADDRSTRLEN];
    struct in_addr in = {.s_addr = htonl(address)};
    const char *root = rb_arena_printf(arena, "%s/%s", parent, id);
    inet_ntop(AF_INET, &in, dotted, sizeof dotted);
    return (struct rb_node_dir){
        .root = root,
        .home = rb_arena_printf(arena, "%s/home", root),
        .run = rb_arena_printf(arena, "%s/run/rb", root),
        .bin = rb_arena_printf(arena, "%s/bin", root),
        .tmp = rb_arena_printf(arena, "%s/tmp", root),
        .boot_log = rb_arena_printf(arena, "%s/boot.log", root),
        .sshd_log = rb_arena_printf(arena, "%s/sshd.log", root),
        .control = rb_arena_printf(arena, "%s/control", root),
        .sshd_config = rb_arena_printf(arena, "%s/sshd_config", root),
        .boot_script = rb_arena_printf(arena, "%s/bootcmd", root),
        .run_script = rb_arena_printf(arena, "%s/user-data", root),
        .no_bus = rb_arena_printf(arena, "%s/no-bus", root),
        .id = rb_arena_strdup(arena, id),
        .path = rb_arena_printf(arena, "%s/bin:%s", root, host_path),
        .address = rb_arena_strdup(arena, dotted),
        .ssh_port = ssh_port,
    };
}

static bool make_dir(const char *path, struct rb_err *err)
{
    if (mkdir(path, 0700) == 0 || errno == EEXIST)
        return true;
    return rb_err_set(err, RB_E_MOCK_SYSTEM, "cannot make the directory %s: %s", path, strerror(errno));
}

static bool write_text(const char *path, mode_t mode, const char *text, struct rb_err *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    size_t n = strlen(text);
    bool ok = fd >= 0 && write(fd, text, n) == (ssize_t)n && fchmod(fd, mode) == 0;
    int saved = errno;
    if (fd >= 0)
        close(fd);
    return ok || rb_err_set(err, RB_E_MOCK_SYSTEM, "cannot write %s: %s", path, strerror(saved));
}

static bool write_in(const char *dir, const char *name, mode_t mode, const char *text, struct rb_err *err)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return write_text(path, mode, text, err);
}

static bool make_dirs(const struct rb_node_dir *d, struct rb_err *err)
{
    char run[4096];
    snprintf(run, sizeof run, "%s/run", d->root);
    return make_dir(d->root, err) && make_dir(d->home, err) && make_dir(run, err) && make_dir(d->run, err) &&
           make_dir(d->bin, err) && make_dir(d->tmp, err);
}

static bool make_tools(const struct rb_node_dir *d, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    rb_node_tools_write(d->root, &text);
    if (!write_in(d->root, "node-tool", 0755, rb_buf_str(&text), err))
        return false;
    for (int i = 0; rb_user_data_tools[i]; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", d->bin, rb_user_data_tools[i]);
        if (symlink("../node-tool", path) != 0)
            return rb_err_set(err, RB_E_MOCK_SYSTEM, "cannot link %s: %s", path, strerror(errno));
    }
    return true;
}

static void put_variable(struct rb_buf *out, const char *name, const char *value)
{
    rb_buf_printf(out, "%s=", name);
    rb_buf_shell_quote(out, value);
    rb_buf_printf(out, "\nexport %s\n", name);
}

// sshd gives every session a fresh environment, so the scene is set here and not by inheritance.
static bool make_session(const struct rb_node_dir *d, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    rb_buf_puts(&text, "#!/bin/sh\n");
    put_variable(&text, "HOME", d->home);
    put_variable(&text, "RB_RUN_DIR", d->run);
    put_variable(&text, "TMPDIR", d->tmp);
    put_variable(&text, "PATH", d->path);
    put_variable(&text, "RB_MOCK_INSTANCE", d->id);
    if (d->clock_permille)
        put_variable(&text, "RB_CLOCK_PERMILLE", d->clock_permille);
    if (d->metadata_url)
        put_variable(&text, "AWS_EC2_METADATA_SERVICE_ENDPOINT", d->metadata_url);
    rb_buf_puts(&text, "cd \"$HOME\" || exit 1\n"
                       "[ -n \"$SSH_ORIGINAL_COMMAND\" ] && exec /bin/sh -c \"$SSH_ORIGINAL_COMMAND\"\n"
                       "exec /bin/sh -i\n");
    return write_in(d->root, "session", 0755, rb_buf_str(&text), err);
}

static bool make_sshd_config(const struct rb_node_dir *d, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    RB_AUTO(rb_buf_finish) struct rb_buf session = RB_BUF_INIT;
    char path[4096];
    snprintf(path, sizeof path, "%s/session", d->root);
    rb_buf_shell_quote(&session, path);
    rb_buf_printf(&text, "ListenAddress %s\nPort %d\n", d->address, d->ssh_port);
    rb_buf_printf(&text, "HostKey \"%s/host_key\"\nAuthorizedKeysFile \"%s/authorized_keys\"\n", d->root, d->root);
    // HOME already here, so that the login shell does not read the host user's .bashrc before it runs the session.
    rb_buf_printf(&text, "SetEnv HOME=\"%s\"\nForceCommand %s\n", d->home, rb_buf_str(&session));
    // StrictModes: the directory may be anywhere, under /tmp too. MaxSessions: a controller
    // multiplexes everything over one connection. Without PAM and DNS a login depends on nothing outside this
    // directory. KexAlgorithms, Compression: on loopback they only cost time of a processor. A list that begins with "-" is taken from the default one.
    rb_buf_puts(&text, "PidFile none\nUsePAM no\nStrictModes no\nUseDNS no\nPasswordAuthentication no\n"
                       "KbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\nPermitUserRC no\n"
                       "MaxSessions 1000\nMaxStartups 200\nPrintMotd no\nPrintLastLog no\nX11Forwarding no\n"
                       "KexAlgorithms -sntrup*\nCompression no\n"
                       "Subsystem sftp /usr/lib/openssh/sftp-server\n");
    return write_text(d->sshd_config, 0600, rb_buf_str(&text), err);
}

static bool make_keys(const struct rb_node_dir *d, const struct rb_user_data *u, struct rb_err *err)
{
    if (!write_in(d->root, "authorized_keys", 0600, u->authorized_keys, err))
        return false;
    if (!u->host_private)
        return true;
    // A key file without its final newline is refused by sshd; YAML's |- drops it.
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    rb_buf_puts(&text, u->host_private);
    if (text.len > 0 && text.data[text.len - 1] != '\n')
        rb_buf_putc(&text, '\n');
    return write_in(d->root, "host_key", 0600, rb_buf_str(&text), err) &&
           write_in(d->root, "host_key.pub", 0644, u->host_public, err);
}

static bool make_script(const char *path, const char *text, bool *out_has, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf whole = RB_BUF_INIT;
    *out_has = *text != '\0';
    if (!*out_has)
        return true;
    if (strncmp(text, "#!", 2) != 0)
        rb_buf_puts(&whole, "#!/bin/sh\n");
    rb_buf_puts(&whole, text);
    return write_text(path, 0700, rb_buf_str(&whole), err);
}

bool rb_node_dir_make(struct rb_node_dir *d, const struct rb_user_data *u, struct rb_err *err)
{
    if (!make_dirs(d, err) || !make_tools(d, err) || !make_session(d, err) || !make_sshd_config(d, err) ||
        !make_keys(d, u, err) || !make_script(d->boot_script, u->boot_script, &d->has_boot_script, err) ||
        !make_script(d->run_script, u->run_script, &d->has_run_script, err))
        return false;
    if (mkfifo(d->control, 0600) != 0)
        return rb_err_set(err, RB_E_MOCK_SYSTEM, "cannot make the pipe %s: %s", d->control, strerror(errno));
    return true;
}

void rb_node_dir_log(const struct rb_node_dir *d, const char *fmt, ...)
{
    FILE *f = fopen(d->boot_log, "ae");
    if (!f)
        return; // a log that cannot be written must not stop the node
    va_list ap;
    va_start(ap, fmt);
    fputs("rbmock: ", f);
    vfprintf(f, fmt, ap);
    fputc('\n', f);
    va_end(ap);
    fclose(f);
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    remove(path);
    return 0;
}

static int remove_all_but_logs(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    const char *name = path + at->base;
    bool is_log = at->level == 1 && (strcmp(name, "boot.log") == 0 || strcmp(name, "sshd.log") == 0);
    return is_log ? 0 : remove_entry(path, st, kind, at);
}

void rb_node_dir_remove(const struct rb_node_dir *d, bool keep_logs)
{
    nftw(d->root, keep_logs ? remove_all_but_logs : remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}
