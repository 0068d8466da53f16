#include "executor/approval/spent.h"

#include "base/arena.h"
#include "base/text/buf.h"
#include "base/file.h"
#include "executor/journal/run_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RUN_ID_BYTES = 128 };

// The folder, made if it does not exist; and the nonce's file in it.
static bool find(const char *nonce, char out_dir[static PATH_MAX], struct rb_buf *out_path, struct rb_err *err)
{
    if (!rb_run_dir_root(NULL, out_dir, PATH_MAX - 8, err))
        return false;
    strcpy(strrchr(out_dir, '/'), "/approvals"); // beside "/runs", and longer by 5
    for (char *at = out_dir + 1; *at; at++) {
        if (*at != '/')
            continue;
        *at = '\0';
        mkdir(out_dir, 0700);
        *at = '/';
    }
    if (mkdir(out_dir, 0700) != 0 && errno != EEXIST)
        return rb_err_set(err, RB_E_APPROVAL_STORE, "%s: cannot create the directory: %s", out_dir, strerror(errno));
    rb_buf_printf(out_path, "%s/%s", out_dir, nonce);
    return true;
}

static bool spent_by(const char *run, struct rb_err *err)
{
    return rb_err_set(err, RB_E_APPROVAL_SPENT,
                      "the approval was used by run %.100s; one approval is good for one run: "
                      "approve the plan again",
                      run[0] ? run : "(unknown)");
}

// False: another run has spent it, or that cannot be known.
static bool is_of(const char *path, const char *run_id, struct rb_err *err)
{
    RB_AUTO(rb_auto_free) char *owner = NULL;
    size_t n;
    return rb_read_file(path, RUN_ID_BYTES, &owner, &n, err) && (strcmp(owner, run_id) == 0 || spent_by(owner, err));
}

static bool cannot(const char *path, struct rb_err *err)
{
    return rb_err_set(err, RB_E_APPROVAL_STORE, "cannot record in %s that the approval is used: %s", path,
                      strerror(errno));
}

static bool write_whole(const char *path, const char *text, struct rb_err *err)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return cannot(path, err);
    const bool ok = write(fd, text, strlen(text)) == (ssize_t)strlen(text) && fsync(fd) == 0;
    close(fd);
    return ok || cannot(path, err);
}

static bool sync_folder(const char *dir, struct rb_err *err)
{
    const int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool ok = fd >= 0 && fsync(fd) == 0;
    if (fd >= 0)
        close(fd);
    return ok || cannot(dir, err);
}

bool rb_approval_spend(const char *nonce, const char *run_id, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT, fresh = RB_BUF_INIT;
    char dir[PATH_MAX];
    if (!find(nonce, dir, &path, err))
        return false;
    rb_buf_printf(&fresh, "%s.%d", rb_buf_str(&path), (int)getpid());
    unlink(rb_buf_str(&fresh)); // of one with our number, which was killed here
    if (!write_whole(rb_buf_str(&fresh), run_id, err))
        return false;
    const bool first = link(rb_buf_str(&fresh), rb_buf_str(&path)) == 0; // whole or not at all, and only once
    const int why = errno;
    unlink(rb_buf_str(&fresh));
    if (first)
        return sync_folder(dir, err);
    errno = why;
    return why == EEXIST ? is_of(rb_buf_str(&path), run_id, err) : cannot(rb_buf_str(&path), err);
}

bool rb_approval_is_unspent(const char *nonce, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    RB_AUTO(rb_auto_free) char *owner = NULL;
    char dir[PATH_MAX];
    size_t n;
    if (!find(nonce, dir, &path, err))
        return false;
    if (access(rb_buf_str(&path), F_OK) != 0 && errno == ENOENT)
        return true;
    return rb_read_file(rb_buf_str(&path), RUN_ID_BYTES, &owner, &n, err) && spent_by(owner, err);
}
