#include "executor/sinks/sink_file.h"

#include "base/arena.h"
#include "base/text/buf.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER_BYTES = 1 << 16 };

// Files are opened only while they are written: a run may have more trials than a process may have files.
struct rb_sink_file {
    char *path;
    int64_t flushed; // bytes that are in the file, compared or written
    int64_t length;  // of the file, as it was when it was opened
    struct rb_buf next;
};

static bool cannot(const char *what, const char *path, int why, struct rb_err *err)
{
    return rb_err_set(err, RB_E_SINK_FILE, "cannot %s %s: %s", what, path, strerror(why));
}

static bool make_dir(const char *path, struct rb_err *err)
{
    return mkdir(path, 0700) == 0 || errno == EEXIST || cannot("make the directory", path, errno, err);
}

bool rb_sink_make_dirs(const char *path, bool is_dir, struct rb_err *err)
{
    RB_AUTO(rb_auto_free) char *copy = rb_xstrdup(path);
    for (char *p = strchr(copy + 1, '/'); p; p = strchr(p + 1, '/')) {
        *p = '\0';
        const bool ok = make_dir(copy, err);
        *p = '/';
        if (!ok)
            return false;
    }
    return !is_dir || make_dir(copy, err);
}

bool rb_sink_file_open(const char *path, struct rb_sink_file **out, struct rb_err *err)
{
    struct stat st;
    if (!rb_sink_make_dirs(path, false, err))
        return false;
    const int64_t length = stat(path, &st) == 0 ? st.st_size : 0;
    if (length > 0 && !S_ISREG(st.st_mode))
        return rb_err_set(err, RB_E_SINK_OTHERS_FILE, "%s is no file; name another place", path);
    struct rb_sink_file *f = rb_xcalloc(1, sizeof *f);
    f->path = rb_xstrdup(path);
    f->length = length;
    *out = f;
    return true;
}

void rb_sink_file_close(struct rb_sink_file *f)
{
    if (!f)
        return;
    rb_buf_finish(&f->next);
    free(f->path);
    free(f);
}

static bool read_exactly(int fd, char *to, size_t n, int64_t at)
{
    while (n > 0) {
        const ssize_t got = pread(fd, to, n, at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        to += got;
        at += got;
        n -= (size_t)got;
    }
    return true;
}

static bool write_exactly(int fd, const char *bytes, size_t n, int64_t at)
{
    while (n > 0) {
        const ssize_t put = pwrite(fd, bytes, n, at);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return false;
        bytes += put;
        at += put;
        n -= (size_t)put;
    }
    return true;
}

// Of the bytes next in line, those that the file already had.
static bool compare(struct rb_sink_file *f, int fd, size_t n, struct rb_err *err)
{
    RB_AUTO(rb_auto_free) char *there = rb_xcalloc(n, 1);
    size_t same = 0;
    if (!read_exactly(fd, there, n, f->flushed))
        return cannot("read", f->path, errno, err);
    while (same < n && there[same] == f->next.data[same])
        same++;
    return same == n || rb_err_set(err, RB_E_SINK_OTHERS_FILE,
                                   "%s holds other results at byte %" PRId64 "; name another place, or move it away",
                                   f->path, f->flushed + (int64_t)same);
}

static bool flush_to(struct rb_sink_file *f, int fd, struct rb_err *err)
{
    const int64_t left = f->length - f->flushed;
    const size_t n_there = left <= 0 ? 0 : (size_t)left < f->next.len ? (size_t)left : f->next.len;
    if (n_there > 0 && !compare(f, fd, n_there, err))
        return false;
    if (!write_exactly(fd, f->next.data + n_there, f->next.len - n_there, f->flushed + (int64_t)n_there))
        return cannot("write", f->path, errno, err);
    f->flushed += (int64_t)f->next.len;
    rb_buf_clear(&f->next);
    return true;
}

bool rb_sink_file_flush(struct rb_sink_file *f, struct rb_err *err)
{
    if (f->next.len == 0)
        return true;
    const int fd = open(f->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return cannot("write", f->path, errno, err);
    const bool ok = flush_to(f, fd, err);
    close(fd);
    return ok;
}

bool rb_sink_file_put(struct rb_sink_file *f, const void *bytes, size_t n, struct rb_err *err)
{
    rb_buf_append(&f->next, bytes, n);
    return f->next.len < BUFFER_BYTES || rb_sink_file_flush(f, err);
}

static bool write_new(const char *path, const char *bytes, size_t n, int mode, struct rb_err *err)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return cannot("write", path, errno, err);
    const bool ok = write_exactly(fd, bytes, n, 0) && fchmod(fd, (mode_t)mode) == 0 && fsync(fd) == 0;
    const int why = errno;
    close(fd);
    return ok || cannot("write", path, why, err);
}

bool rb_sink_replace(const char *path, const char *bytes, size_t n, int mode, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf fresh = RB_BUF_INIT;
    rb_buf_printf(&fresh, "%s.tmp", path);
    if (!rb_sink_make_dirs(path, false, err) || !write_new(rb_buf_str(&fresh), bytes, n, mode, err))
        return false;
    return rename(rb_buf_str(&fresh), path) == 0 || cannot("write", path, errno, err);
}
