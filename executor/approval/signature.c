#include "executor/approval/signature.h"

#include "base/arena.h"
#include "base/file.h"
#include "base/errors/log.h"
#include "providers/wire/child.h"
#include "providers/wire/digest.h"
#include "providers/wire/private_file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAMESPACE      "rubberband-approval"
#define SIGNERS_OF_ALL "/etc/rubberband/allowed_signers"

enum { KEY_BYTES = 32 };

// --- hmac-sha256

// The bytes of the key, without what an editor puts behind them.
static size_t key_len(const struct rb_private_file *file)
{
    size_t n = file->len;
    while (n > 0 && (file->text[n - 1] == '\n' || file->text[n - 1] == '\r'))
        n--;
    return n;
}

static bool read_key(struct rb_private_file *file, struct rb_err *err)
{
    file->path = rb_private_file_path("RB_APPROVAL_KEY_FILE", ".config/rubberband/approval.key");
    if (!rb_private_file_read(file, err))
        return false;
    if (!file->present)
        return rb_err_set(err, RB_E_APPROVAL_KEY,
                          "%s: there is no such key, so no approval can have been made with it; a person makes one "
                          "with `rbplan approve`",
                          file->path);
    if (!rb_private_file_check(file, err))
        return false;
    return key_len(file) >= KEY_BYTES ||
           rb_err_set(err, RB_E_APPROVAL_KEY,
                      "%s: expected a key of at least %d bytes, got %zu; remove the file, then "
                      "approve again",
                      file->path, KEY_BYTES, key_len(file));
}

static bool make_folder_of(const char *path, struct rb_err *err)
{
    RB_AUTO(rb_auto_free) char *copy = rb_xstrdup(path);
    char *folder = dirname(copy);
    for (char *at = folder + 1; *at; at++) {
        if (*at != '/')
            continue;
        *at = '\0';
        mkdir(folder, 0700);
        *at = '/';
    }
    return mkdir(folder, 0700) == 0 || errno == EEXIST ||
           rb_err_set(err, RB_E_DIRECTORY, "%s: cannot create the directory: %s", folder, strerror(errno));
}

// Never over one that is there: approvals that were made with it would stop to count.
static bool make_key(const char *path, struct rb_err *err)
{
    uint8_t bytes[KEY_BYTES];
    char hex[2 * KEY_BYTES + 2];
    if (!make_folder_of(path, err))
        return false;
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno == EEXIST || rb_err_set(err, RB_E_FILE_WRITE, "cannot write %s: %s", path, strerror(errno));
    rb_random_bytes(bytes, sizeof bytes);
    rb_digest_hex(bytes, sizeof bytes, hex);
    strcat(hex, "\n");
    const bool ok = write(fd, hex, strlen(hex)) == (ssize_t)strlen(hex) && fsync(fd) == 0;
    explicit_bzero(bytes, sizeof bytes);
    explicit_bzero(hex, sizeof hex);
    close(fd);
    if (ok)
        rb_info("made the key %s, with which you approve; keep it to yourself", path);
    return ok || rb_err_set(err, RB_E_FILE_WRITE, "cannot write %s: %s", path, strerror(errno));
}

static bool hmac(const struct rb_approval *a, char out[65], struct rb_err *err)
{
    RB_AUTO(rb_private_file_finish) struct rb_private_file file = {0};
    RB_AUTO(rb_buf_finish) struct rb_buf bytes = RB_BUF_INIT;
    uint8_t mac[32];
    if (!read_key(&file, err))
        return false;
    rb_approval_signed_bytes(a, &bytes);
    rb_digest_hmac_sha256(file.text, key_len(&file), rb_buf_str(&bytes), bytes.len, mac);
    rb_digest_hex(mac, sizeof mac, out);
    return true;
}

static bool hmac_sign(struct rb_approval *a, struct rb_err *err)
{
    RB_AUTO(rb_auto_free) char *path = rb_private_file_path("RB_APPROVAL_KEY_FILE", ".config/rubberband/approval.key");
    return (access(path, F_OK) == 0 || make_key(path, err)) && hmac(a, a->signature, err);
}

static bool not_signed(struct rb_err *err)
{
    return rb_err_set(err, RB_E_APPROVAL_SIGNATURE,
                      "the signature of the approval is wrong: it was changed after it was made, or was not made with "
                      "the key of this user; nothing was launched");
}

static bool hmac_verify(const struct rb_approval *a, struct rb_err *err)
{
    char expected[65];
    if (!hmac(a, expected, err))
        return false;
    unsigned differs = strlen(a->signature) != 64;
    for (int i = 0; i < 64 && !differs; i++) // a difference ends nothing early that could be timed from outside
        differs |= (unsigned)(expected[i] ^ a->signature[i]);
    return !differs || not_signed(err);
}

// --- ed25519-ssh

struct workshop { // a folder of our own for what ssh-keygen reads and writes
    char dir[64], message[96], signature[112];
};

static void close_workshop(struct workshop *w)
{
    unlink(w->message);
    unlink(w->signature);
    rmdir(w->dir);
}

static bool open_workshop(struct workshop *w, const struct rb_approval *a, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf bytes = RB_BUF_INIT;
    strcpy(w->dir, "/tmp/rb-approval-XXXXXX");
    if (!mkdtemp(w->dir))
        return rb_err_set(err, RB_E_DIRECTORY, "%s: cannot create the directory: %s", w->dir, strerror(errno));
    snprintf(w->message, sizeof w->message, "%s/approval", w->dir);
    snprintf(w->signature, sizeof w->signature, "%s.sig", w->message);
    rb_approval_signed_bytes(a, &bytes);
    return rb_write_file(w->message, rb_buf_str(&bytes), bytes.len, err);
}

// in_path: its stdin. The terminal and ssh-agent stay within its reach: it may ask for a passphrase or a touch.
static bool run_keygen(const char *const *argv, const char *in_path, bool quiet, int *out_status, struct rb_err *err)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    const int in = open(in_path, O_RDONLY | O_CLOEXEC), null = open("/dev/null", O_RDWR | O_CLOEXEC);
    const int fds[3] = {in, null, quiet ? null : STDERR_FILENO};
    pid_t pid;
    const int why = in < 0 || null < 0 ? errno : rb_child_start(argv, rb_child_command_env(NULL, 0, &arena), fds, &pid);
    if (in >= 0)
        close(in);
    if (null >= 0)
        close(null);
    if (why)
        return rb_err_set(err, RB_E_PROGRAM, "cannot run %s: %s", argv[0], strerror(why));
    while (waitpid(pid, out_status, 0) < 0 && errno == EINTR)
        ;
    return true;
}

static bool ssh_sign(struct rb_approval *a, const char *key, struct rb_err *err)
{
    RB_AUTO(close_workshop) struct workshop w = {0};
    RB_AUTO(rb_auto_free) char *text = NULL;
    size_t n;
    int status;
    if (!open_workshop(&w, a, err))
        return false;
    const char *argv[] = {"ssh-keygen", "-q", "-Y", "sign", "-f", key, "-n", NAMESPACE, w.message, NULL};
    if (!run_keygen(argv, "/dev/null", false, &status, err))
        return false;
    if (status != 0)
        return rb_err_set(err, RB_E_APPROVAL_KEY, "ssh-keygen did not sign with %s; it says why above", key);
    if (!rb_read_file(w.signature, sizeof a->signature - 1, &text, &n, err))
        return false;
    memcpy(a->signature, text, n + 1);
    return true;
}

// Who can change the file can approve: it must be ours or root's, and no one else's to write.
static bool check_signers(const char *path, struct rb_err *err)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return rb_err_set(err, RB_E_APPROVAL_KEY, "%s: %s; it says whose ssh keys may approve", path, strerror(errno));
    if ((st.st_uid != geteuid() && st.st_uid != 0) || (st.st_mode & (S_IWGRP | S_IWOTH)))
        return rb_err_set(err, RB_E_APPROVAL_KEY,
                          "%s: other users may change it, and so who may approve; run: chmod go-w %s", path, path);
    return true;
}

static char *signers_path(void)
{
    return access(SIGNERS_OF_ALL, F_OK) == 0
               ? rb_xstrdup(SIGNERS_OF_ALL)
               : rb_private_file_path("RB_APPROVAL_SIGNERS", ".config/rubberband/allowed_signers");
}

static bool ssh_verify(const struct rb_approval *a, const char *signers, struct rb_err *err)
{
    RB_AUTO(close_workshop) struct workshop w = {0};
    int status;
    if (!check_signers(signers, err) || !open_workshop(&w, a, err) ||
        !rb_write_file(w.signature, a->signature, strlen(a->signature), err))
        return false;
    const char *argv[] = {"ssh-keygen", "-Y", "verify",  "-f", signers,     "-I",
                          a->by,        "-n", NAMESPACE, "-s", w.signature, NULL};
    if (!run_keygen(argv, w.message, true, &status, err))
        return false;
    return status == 0 || rb_err_set(err, RB_E_APPROVAL_SIGNATURE,
                                     "the signature of the approval is wrong: %s does not let \"%s\" approve with that "
                                     "key, or the approval was changed after it was made; nothing was launched",
                                     signers, a->by);
}

// --- both

bool rb_approval_sign(struct rb_approval *a, const char *ssh_key, struct rb_err *err)
{
    a->kind = ssh_key ? RB_APPROVAL_ED25519_SSH : RB_APPROVAL_HMAC_SHA256;
    return ssh_key ? ssh_sign(a, ssh_key, err) : hmac_sign(a, err);
}

bool rb_approval_verify(const struct rb_approval *a, struct rb_err *err)
{
    RB_AUTO(rb_auto_free) char *signers = signers_path();
    if (a->kind == RB_APPROVAL_ED25519_SSH)
        return ssh_verify(a, signers, err);
    if (access(signers, F_OK) == 0)
        return rb_err_set(err, RB_E_APPROVAL_SIGNATURE,
                          "approvals need an ssh key here, because %s exists: approve again with `rbplan approve "
                          "--ssh-key`",
                          signers);
    return hmac_verify(a, err);
}
