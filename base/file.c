// Reading never trusts the size that stat reports; writing goes to a temporary name, fsync, rename.
#include "base/file.h"

#include "base/arena.h"
#include "base/errors/full.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static void auto_close(int *fd)
{
    if (*fd > STDERR_FILENO)
        close(*fd);
}

static bool too_big(const char *path, size_t max_bytes, struct rb_err *err)
{
    return rb_err_set_at(err, RB_E_FILE_TOO_LARGE, (struct rb_place){.file = path}, NULL,
                         "the file is larger than the limit of %zu bytes", max_bytes);
}

static bool cannot_read(const char *path, int why, struct rb_err *err)
{
    if (why == EMFILE || why == ENFILE)
        return rb_err_set_full(err, why, path);
    const bool missing = why == ENOENT || why == ENOTDIR;
    return rb_err_set(err, missing ? RB_E_FILE_MISSING : RB_E_FILE_READ, "cannot read %s: %s", path, strerror(why));
}

// Reads until the end, never more than max_bytes + 1: sizes from stat may be wrong (/proc, pipes, growing files).
static bool read_bounded(int fd, const char *path, size_t max_bytes, struct rb_buf *into, struct rb_err *err)
{
    char chunk[65536];
    for (;;) {
        const size_t left = max_bytes - into->len;
        const size_t want = left < sizeof chunk ? left + 1 : sizeof chunk;
        const ssize_t got = read(fd, chunk, want);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return cannot_read(path, errno, err);
        if (got == 0)
            return true;
        if ((size_t)got > left)
            return too_big(path, max_bytes, err);
        rb_buf_append(into, chunk, (size_t)got);
    }
}

bool rb_read_file(const char *path, size_t max_bytes, char **out_bytes, size_t *out_len, struct rb_err *err)
{
    const bool is_stdin = strcmp(path, "-") == 0;
    RB_AUTO(auto_close) int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return cannot_read(path, errno, err);
    struct stat st;
    if (fstat(fd, &st) != 0)
        return cannot_read(path, errno, err);
    if (S_ISDIR(st.st_mode))
        return cannot_read(path, EISDIR, err);
    if (S_ISREG(st.st_mode) && st.st_size > 0 && (unsigned long long)st.st_size > max_bytes)
        return too_big(path, max_bytes, err);
    RB_AUTO(rb_buf_finish) struct rb_buf bytes = RB_BUF_INIT;
    if (!read_bounded(fd, is_stdin ? "<stdin>" : path, max_bytes, &bytes, err))
        return false;
    rb_buf_append(&bytes, "", 0); // at least the NUL
    *out_bytes = bytes.data;
    *out_len = bytes.len;
    bytes = (struct rb_buf)RB_BUF_INIT;
    return true;
}

static bool write_all(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        const ssize_t put = write(fd, bytes, n);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return false;
        bytes += put;
        n -= (size_t)put;
    }
    return true;
}

static bool cannot_write(const char *path, struct rb_err *err)
{
    return rb_err_set(err, RB_E_FILE_WRITE, "cannot write %s: %s", path, strerror(errno));
}

// The rename itself survives a power cut only once the directory is on disk.
static void sync_directory_of(const char *path)
{
    RB_AUTO(rb_auto_free) char *dir = rb_xstrdup(path);
    char *slash = strrchr(dir, '/');
    if (slash == dir)
        slash[1] = '\0';
    else if (slash)
        *slash = '\0';
    RB_AUTO(auto_close) int fd = open(slash ? dir : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0)
        (void)fsync(fd); // some file systems refuse to sync a directory: the file itself is complete nevertheless
}

#define MOST_LOOKS 1000

static bool is_named(int fd, const char *name)
{
    struct stat mine, named;
    return fstat(fd, &mine) == 0 && stat(name, &named) == 0 && mine.st_dev == named.st_dev &&
           mine.st_ino == named.st_ino;
}

// One process at a time writes to the name, and keeps the lock until it has renamed the file: a process that waited for
// it looks again. A file that a killed process left is overwritten. Where locks or inodes do not work, each writes as
// if alone.
static int open_temporary(const char *tmp)
{
    for (int looks = 1;; looks++) {
        const int fd = open(tmp, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
        if (fd < 0)
            return -1;
        while (flock(fd, LOCK_EX) != 0 && errno == EINTR) {
        }
        if (is_named(fd, tmp) || looks == MOST_LOOKS)
            return fd;
        close(fd);
    }
}

// Errors name the requested file.
static bool write_and_rename(const char *tmp, const char *path, const char *bytes, size_t n, struct rb_err *err)
{
    RB_AUTO(auto_close) int fd = open_temporary(tmp);
    if (fd < 0)
        return cannot_write(path, err);
    if (ftruncate(fd, 0) == 0 && write_all(fd, bytes, n) && fsync(fd) == 0 && rename(tmp, path) == 0)
        return true;
    cannot_write(path, err);
    (void)unlink(tmp);
    return false;
}

bool rb_write_file(const char *path, const char *bytes, size_t n, struct rb_err *err)
{
    if (strcmp(path, "-") == 0) {
        if (fflush(stdout) != 0 || !write_all(STDOUT_FILENO, bytes, n))
            return cannot_write("standard output", err);
        return true;
    }
    struct stat st;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) { // /dev/stdout, a pipe: cannot be replaced by a rename
        RB_AUTO(auto_close) int fd = open(path, O_WRONLY | O_CLOEXEC);
        return (fd >= 0 && write_all(fd, bytes, n)) || cannot_write(path, err);
    }
    RB_AUTO(rb_buf_finish) struct rb_buf tmp = RB_BUF_INIT;
    rb_buf_printf(&tmp, "%s.tmp", path);
    if (!write_and_rename(tmp.data, path, bytes, n, err))
        return false;
    sync_directory_of(path);
    return true;
}

bool rb_print(struct rb_buf *out, struct rb_err *err)
{
    const bool ok = fwrite(rb_buf_str(out), 1, out->len, stdout) == out->len && fflush(stdout) == 0;
    rb_buf_finish(out);
    return ok || rb_err_set(err, RB_E_STDOUT, "cannot write to stdout: %s", strerror(errno));
}

// Testing takes a shared lock for a moment. Only a holder refuses to share.
bool rb_file_lock(int fd)
{
    while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK || flock(fd, LOCK_SH | LOCK_NB) != 0)
            return false;
    }
    return true;
}

bool rb_file_is_locked(int fd)
{
    if (flock(fd, LOCK_SH | LOCK_NB) != 0)
        return true;
    flock(fd, LOCK_UN);
    return false;
}

void rb_keep_standard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        // Opened the wrong way round on purpose: EBADF, as if it were still closed.
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
            return;
    }
}

bool rb_has_ending(const char *path, const char *ending)
{
    const size_t n = strlen(path), m = strlen(ending);
    return n >= m && strcmp(path + n - m, ending) == 0;
}
