#include "executor/launcher/bootstrap.h"

#include "base/arena.h"
#include "base/document/doc.h"
#include "base/limits.h"
#include "executor/transport/node_switch.h"
#include "providers/wire/child.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// ssh-keygen takes about 10 ms; there is nothing else to do meanwhile.
static bool keygen(const char *path, const char *comment, struct rb_err *err)
{
    const char *const argv[] = {"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", path, NULL};
    return rb_child_run(argv, &(struct rb_child_options){0}, err) ||
           rb_err_prefix(err, "%s: no key was made; is openssh-client installed?", path);
}

// "ssh-ed25519 AAAA..." without comment and newline.
static bool read_public(const char *path, char *out, size_t size, struct rb_err *err)
{
    char *bytes RB_AUTO(rb_auto_free) = NULL;
    size_t len;
    if (!rb_read_file(path, 4096, &bytes, &len, err))
        return false;
    char *space = strchr(bytes, ' ');
    char *end = space ? strpbrk(space + 1, " \r\n") : NULL;
    if (end)
        *end = '\0';
    if (!space || strncmp(bytes, "ssh-ed25519 ", 12) != 0 || strlen(bytes) >= size)
        return rb_err_set(err, RB_E_SSH_FILES, "%s is not an ed25519 public key", path);
    strcpy(out, bytes);
    return true;
}

bool rb_bootstrap_run_key(const char *run_dir, char out_public[static 256], struct rb_err *err)
{
    struct rb_buf path RB_AUTO(rb_buf_finish) = RB_BUF_INIT;
    rb_buf_printf(&path, "%s/keys", run_dir);
    if (mkdir(path.data, 0700) != 0 && errno != EEXIST)
        return rb_err_set(err, RB_E_SSH_FILES, "cannot make %s: %s", path.data, strerror(errno));
    rb_buf_puts(&path, "/id_ed25519");
    if (access(path.data, F_OK) != 0 && !keygen(path.data, "rubberband", err))
        return false;
    rb_buf_puts(&path, ".pub");
    return read_public(path.data, out_public, 256, err);
}

bool rb_bootstrap_host_key(struct rb_host_key *out, struct rb_err *err)
{
    char dir[] = "/tmp/rb-key-XXXXXX";
    if (!mkdtemp(dir))
        return rb_err_set(err, RB_E_SSH_FILES, "cannot make a private directory in /tmp: %s", strerror(errno));
    char path[64], public_path[64];
    snprintf(path, sizeof path, "%s/key", dir);
    snprintf(public_path, sizeof public_path, "%s/key.pub", dir);
    struct rb_host_key key;
    char *pem = NULL;
    size_t len = 0;
    bool ok = keygen(path, "", err) && read_public(public_path, key.public_line, sizeof key.public_line, err) &&
              rb_read_file(path, sizeof key.private_pem - 1, &pem, &len, err);
    if (ok) {
        memcpy(key.private_pem, pem, len + 1);
        *out = key;
    }
    if (pem)
        explicit_bzero(pem, len);
    free(pem);
    explicit_bzero(&key, sizeof key);
    unlink(path);
    unlink(public_path);
    rmdir(dir);
    return ok;
}

// A block scalar: every line indented, the last one ended.
static void put_block(struct rb_buf *out, const char *text)
{
    for (const char *line = text; *line;) {
        size_t n = strcspn(line, "\n");
        rb_buf_puts(out, n > 0 ? "    " : "");
        rb_buf_append(out, line, n);
        rb_buf_putc(out, '\n');
        line += n + (line[n] == '\n');
    }
}

bool rb_bootstrap_user_data(const char *run_public_key, const struct rb_host_key *host, int64_t hard_limit_min,
                            struct rb_buf *out, struct rb_err *err)
{
    struct rb_buf b RB_AUTO(rb_buf_finish) = RB_BUF_INIT, boot RB_AUTO(rb_buf_finish) = RB_BUF_INIT;
    rb_node_switch_boot(hard_limit_min * 60, &boot);
    rb_buf_puts(&b, "#cloud-config\n"
                    "bootcmd:\n"
                    "  - |\n");
    put_block(&b, rb_buf_str(&boot));
    rb_buf_puts(&b, "ssh_deletekeys: true\n"
                    "ssh_keys:\n"
                    "  ed25519_private: |\n");
    put_block(&b, host->private_pem);
    rb_buf_printf(&b, "  ed25519_public: %s\n", host->public_line);
    rb_buf_printf(&b, "ssh_authorized_keys:\n  - %s\n", run_public_key);
    // RB_RUN_DIR lets a test cloud keep /run/rb of several nodes apart on one machine. World-writable like /tmp: the login
    // user keeps its heartbeat there.
    rb_buf_puts(&b, "runcmd:\n"
                    "  - mkdir -p \"${RB_RUN_DIR:-/run/rb}\"\n"
                    "  - chmod 1777 \"${RB_RUN_DIR:-/run/rb}\"\n"
                    "  - touch \"${RB_RUN_DIR:-/run/rb}/ready\"\n");
    bool fits = b.len <= RB_LIMIT_USER_DATA;
    if (fits)
        rb_buf_append(out, b.data, b.len);
    if (b.data)
        explicit_bzero(b.data, b.len); // holds the host's private key
    return fits || rb_err_set(err, RB_E_USER_DATA, "user data is larger than %d bytes", RB_LIMIT_USER_DATA);
}
