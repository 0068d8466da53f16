// The file's first line is a process id, the second "BOOT_ID PID_NAMESPACE HOST"; older versions wrote only the first.
#include "executor/journal/run_lock.h"

#include "base/arena.h"
#include "base/text/buf.h"
#include "base/file.h"
#include "base/text/number.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PLACE_BYTES = 64 };

// Which kernel and which pid namespace; "-" where /proc does not show it, which matches any.
struct place {
    char boot[PLACE_BYTES], pids[PLACE_BYTES];
};

static void read_boot_id(char out[static PLACE_BYTES])
{
    const int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? 0 : read(fd, out, PLACE_BYTES - 1);
    if (fd >= 0)
        close(fd);
    out[n > 0 ? n : 0] = '\0';
    out[strcspn(out, " \n")] = '\0';
    if (!out[0])
        strcpy(out, "-");
}

static void read_place(struct place *out)
{
    read_boot_id(out->boot);
    const ssize_t n = readlink("/proc/self/ns/pid", out->pids, sizeof out->pids - 1);
    out->pids[n > 0 ? n : 0] = '\0';
    if (!out->pids[0])
        strcpy(out->pids, "-");
}

static bool is_same(const char *a, const char *b)
{
    return strcmp(a, b) == 0 || strcmp(a, "-") == 0 || strcmp(b, "-") == 0;
}

static void lock_path(const char *path, struct rb_buf *out)
{
    rb_buf_printf(out, "%s.lock", path);
}

// Another process wrote this text, and it goes to terminals.
static void make_printable(char *s)
{
    for (; *s; s++)
        if (*s <= ' ' || *s >= 127)
            *s = '?';
}

// Returns whether it was taken under this kernel; an older version's file does not record that, and counts as such.
static bool read_holder(int fd, struct rb_run_lock *out)
{
    char text[320] = "";
    struct place here, there = {"-", "-"};
    int64_t pid = 0;
    const ssize_t n = pread(fd, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    char *line = strchr(text, '\n');
    if (line)
        *line++ = '\0';
    if (line && sscanf(line, "%63s %63s %71s", there.boot, there.pids, out->host) < 2)
        there = (struct place){"-", "-"};
    make_printable(out->host);
    read_place(&here);
    const bool same_kernel = is_same(here.boot, there.boot);
    if (same_kernel && is_same(here.pids, there.pids) && rb_parse_int(text, &pid) && pid > 0 && pid < INT32_MAX)
        out->pid = (int)pid;
    return same_kernel;
}

static bool write_holder(int fd)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    struct place here;
    char host[65] = "unknown";
    read_place(&here);
    gethostname(host, sizeof host - 1);
    rb_buf_printf(&text, "%d\n%s %s %s\n", (int)getpid(), here.boot, here.pids, host);
    return ftruncate(fd, 0) == 0 && pwrite(fd, rb_buf_str(&text), text.len, 0) == (ssize_t)text.len;
}

static bool refuse(int fd, struct rb_err *err)
{
    struct rb_run_lock lock = {.state = RB_RUN_LOCK_HELD};
    char who[160];
    read_holder(fd, &lock);
    return rb_err_set(err, RB_E_RUN_BUSY,
                      "another rbrun (%s) is carrying this run out; stop it first, or watch it with `rbrun status`",
                      rb_run_lock_words(&lock, who));
}

bool rb_run_lock_take(const char *path, int *out_fd, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf name = RB_BUF_INIT;
    lock_path(path, &name);
    const int fd = open(rb_buf_str(&name), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return rb_err_set(err, RB_E_JOURNAL_WRITE, "cannot make the lock %s: %s; make room, or allow writing there",
                          rb_buf_str(&name), strerror(errno));
    if (!rb_file_lock(fd)) {
        refuse(fd, err);
        close(fd);
        return false;
    }
    if (!write_holder(fd)) {
        rb_err_set(err, RB_E_JOURNAL_WRITE, "cannot write the lock %s: %s; make room", rb_buf_str(&name),
                   strerror(errno));
        close(fd);
        return false;
    }
    *out_fd = fd;
    return true;
}

bool rb_run_lock_look(const char *path, struct rb_run_lock *out, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf name = RB_BUF_INIT;
    *out = (struct rb_run_lock){.state = RB_RUN_LOCK_UNSURE};
    lock_path(path, &name);
    const int fd = open(rb_buf_str(&name), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return errno == ENOENT || rb_err_set(err, RB_E_JOURNAL_WRITE, "cannot read the lock %s: %s; allow reading it",
                                             rb_buf_str(&name), strerror(errno));
    const bool same_kernel = read_holder(fd, out);
    if (rb_file_is_locked(fd))
        out->state = RB_RUN_LOCK_HELD;
    else
        *out = (struct rb_run_lock){.state = same_kernel ? RB_RUN_LOCK_FREE : RB_RUN_LOCK_UNSURE};
    close(fd);
    return true;
}

const char *rb_run_lock_words(const struct rb_run_lock *lock, char out[static 160])
{
    if (lock->pid > 0)
        snprintf(out, 160, "process %d", lock->pid);
    else if (lock->host[0])
        snprintf(out, 160, "a process in another container or on another machine, %s", lock->host);
    else
        snprintf(out, 160, "a process that is just starting");
    return out;
}
