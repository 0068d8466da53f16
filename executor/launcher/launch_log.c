// A line is "LAUNCH_ID INFRA".
#include "executor/launcher/launch_log.h"

#include "base/arena.h"
#include "base/text/buf.h"
#include "base/file.h"
#include "base/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MAX_BYTES = 64 << 20 }; // half a million launches

static void log_path(const char *run_dir, struct rb_buf *out)
{
    rb_buf_printf(out, "%s/launches", run_dir);
}

bool rb_launch_log_add(const char *run_dir, const char *launch_id, const char *infra, bool durable, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT, line = RB_BUF_INIT;
    log_path(run_dir, &path);
    rb_buf_printf(&line, "%s %s\n", launch_id, infra);
    const int fd = open(rb_buf_str(&path), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    const bool ok =
        fd >= 0 && write(fd, rb_buf_str(&line), line.len) == (ssize_t)line.len && (!durable || fdatasync(fd) == 0);
    if (!ok)
        rb_err_set(err, RB_E_JOURNAL_WRITE, "cannot write %s, which records the launches: %s; make room",
                   rb_buf_str(&path), strerror(errno));
    if (fd >= 0)
        close(fd);
    return ok;
}

static bool is_word(const char *s)
{
    const char *end = s;
    while (*end > ' ' && *end < 127)
        end++;
    return end > s && *end == '\0';
}

// line: of n bytes, which end with a NUL.
static bool read_line(const char *path, char *line, size_t n, rb_launch_log_fn *fn, void *ctx, struct rb_err *err)
{
    char *space = strchr(line, ' ');
    const size_t id = space ? (size_t)(space - line) : 0;
    if (id == 0 || id > RB_LAUNCH_ID_MAX || strspn(line, "0123456789abcdef") != id || !is_word(space + 1) ||
        strlen(line) != n)
        return rb_err_set(err, RB_E_JOURNAL_DAMAGED,
                          "%s is damaged: expected lines of a launch and its place, got \"%.40s\"", path, line);
    *space = '\0';
    return fn(ctx, line, space + 1, err);
}

bool rb_launch_log_each(const char *run_dir, rb_launch_log_fn *fn, void *ctx, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    RB_AUTO(rb_auto_free) char *text = NULL;
    size_t n = 0;
    log_path(run_dir, &path);
    if (access(rb_buf_str(&path), F_OK) != 0 && errno == ENOENT)
        return true;
    if (!rb_read_file(rb_buf_str(&path), MAX_BYTES, &text, &n, err))
        return false;
    for (char *line = text, *end; (end = memchr(line, '\n', n - (size_t)(line - text))); line = end + 1) {
        *end = '\0';
        if (!read_line(rb_buf_str(&path), line, (size_t)(end - line), fn, ctx, err))
            return false;
    }
    return true;
}
