#include "executor/report/shared_report.h"

#include "base/file.h"
#include "base/limits.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define MOST_NAME 127

bool rb_shared_report_is_name(const char *run)
{
    const size_t n = strlen(run);
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)run[i]) && !strchr("-_.", run[i]))
            return false;
    return n > 0 && n <= MOST_NAME && run[0] != '.';
}

static bool check_name(const char *folder, const char *run, struct rb_err *err)
{
    return rb_shared_report_is_name(run) ||
           rb_err_set(
               err, RB_E_SHARED_REPORT,
               "%s/%.130s: expected the name of a run (letters, digits, \"-\", \"_\" and \".\", at most %d): rename "
               "or remove it",
               folder, run, MOST_NAME);
}

// ---- writing

static bool make_readable_directory(const char *path, struct rb_err *err)
{
    if (mkdir(path, 0755) == 0)
        return chmod(path, 0755) == 0 || rb_err_set(err, RB_E_DIRECTORY, "%s: %s", path, strerror(errno));
    return errno == EEXIST ||
           rb_err_set(err, RB_E_DIRECTORY, "%s: cannot create the directory: %s", path, strerror(errno));
}

static bool write_readable(const char *dir, const char *name, const struct rb_buf *bytes, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    rb_buf_printf(&path, "%s/%s", dir, name);
    const mode_t before = umask(022);
    const bool ok = rb_write_file(rb_buf_str(&path), rb_buf_str(bytes), bytes->len, err);
    umask(before);
    return ok;
}

bool rb_shared_report_write(const char *folder, const char *run, const struct rb_buf *document,
                            const struct rb_buf *page, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf dir = RB_BUF_INIT;
    if (document->len > RB_LIMIT_SHARED_REPORT)
        return rb_err_set(
            err, RB_E_SHARED_REPORT,
            "the report of %s has %zu bytes, and `rbrun browse` reads at most %d: share the page alone, by "
            "rbrun report --html",
            run, document->len, RB_LIMIT_SHARED_REPORT);
    rb_buf_printf(&dir, "%s/%s", folder, run);
    return check_name(folder, run, err) && make_readable_directory(folder, err) &&
           make_readable_directory(rb_buf_str(&dir), err) &&
           write_readable(rb_buf_str(&dir), "report.html", page, err) &&
           write_readable(rb_buf_str(&dir), "report.json", document, err);
}

// ---- reading

static void auto_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

// No link is followed below the folder, and nothing is waited for, such as a writer of a pipe. -1: errno says why.
static int open_report(const char *folder, const char *run)
{
    RB_AUTO(auto_close) int all = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    RB_AUTO(auto_close) int dir = all < 0 ? -1 : openat(all, run, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return dir < 0 ? -1 : openat(dir, "report.json", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

static bool cannot_open(const char *folder, const char *run, struct rb_err *err)
{
    if (errno == ELOOP)
        return rb_err_set(err, RB_E_SHARED_REPORT,
                          "%s/%s: expected a file report.json in a folder, got a link: copy it", folder, run);
    return rb_err_set(err, errno == ENOENT || errno == ENOTDIR ? RB_E_FILE_MISSING : RB_E_FILE_READ,
                      "cannot read %s/%s/report.json: %s", folder, run, strerror(errno));
}

static bool check_file(int fd, const char *folder, const char *run, struct stat *st, struct rb_err *err)
{
    if (fstat(fd, st) != 0)
        return cannot_open(folder, run, err);
    if (!S_ISREG(st->st_mode))
        return rb_err_set(err, RB_E_SHARED_REPORT, "%s/%s/report.json: expected a file, got another kind: remove it",
                          folder, run);
    return st->st_size <= RB_LIMIT_SHARED_REPORT ||
           rb_err_set(err, RB_E_SHARED_REPORT, "%s/%s/report.json has %jd bytes, expected at most %d: remove it",
                      folder, run, (intmax_t)st->st_size, RB_LIMIT_SHARED_REPORT);
}

bool rb_shared_report_read(const char *folder, const char *run, char **out_bytes, size_t *out_n, struct rb_err *err)
{
    struct stat st;
    if (!check_name(folder, run, err))
        return false;
    RB_AUTO(auto_close) int fd = open_report(folder, run);
    if (fd < 0)
        return cannot_open(folder, run, err);
    if (!check_file(fd, folder, run, &st, err))
        return false;
    const size_t size = (size_t)st.st_size;
    RB_AUTO(rb_auto_free) char *bytes = rb_xcalloc(size + 1, 1);
    size_t n = 0;
    for (ssize_t got = 1; got > 0 && n < size; n += (size_t)got) {
        got = read(fd, bytes + n, size - n);
        if (got < 0)
            return cannot_open(folder, run, err);
    }
    *out_bytes = bytes;
    *out_n = n;
    bytes = NULL;
    return true;
}

bool rb_shared_report_stat(const char *folder, const char *run, struct stat *out)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    rb_buf_printf(&path, "%s/%s/report.json", folder, run);
    return lstat(rb_buf_str(&path), out) == 0;
}

static bool is_file(int dir, const char *name)
{
    struct stat st;
    return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
}

bool rb_shared_report_each(const char *folder, void (*fn)(void *ctx, const char *name), void *ctx, struct rb_err *err)
{
    DIR *dir = opendir(folder);
    int n = 0;
    if (!dir)
        return rb_err_set(err, RB_E_DIRECTORY, "cannot list the reports in %s: %s", folder, strerror(errno));
    for (const struct dirent *entry; n <= RB_LIMIT_SHARED_REPORTS && (entry = readdir(dir));) {
        if (entry->d_name[0] != '.' && !is_file(dirfd(dir), entry->d_name) && ++n <= RB_LIMIT_SHARED_REPORTS)
            fn(ctx, entry->d_name);
    }
    closedir(dir);
    return n <= RB_LIMIT_SHARED_REPORTS ||
           rb_err_set(err, RB_E_SHARED_REPORT, "%s has more than %d reports: move some into another folder", folder,
                      RB_LIMIT_SHARED_REPORTS);
}
