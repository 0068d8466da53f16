// Sources: proc(5), /proc/PID/stat and /proc/PID/cgroup; major numbers of terminals: Linux, devices.txt.
#include "executor/away/whereabouts.h"

#include "base/arena.h"
#include "base/file.h"
#include "base/text/buf.h"

#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/types.h>
#include <unistd.h>

enum { PTS_MAJOR = 136, PTS_MAJORS = 8, PTS_PER_MAJOR = 256, TTY_MAJOR = 4, PROC_BYTES = 65536 };

// False: no such process, or /proc does not show it.
static bool read_proc(int pid, const char *name, char **out)
{
    char path[64];
    size_t n;
    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    return rb_read_file(path, PROC_BYTES, out, &n, NULL);
}

// Device number of its controlling terminal; 0: none, -1: unknown.
static int terminal_of(int pid)
{
    RB_AUTO(rb_auto_free) char *text = NULL;
    int tty;
    if (!read_proc(pid, "stat", &text))
        return -1;
    const char *rest = strrchr(text, ')'); // the name before it may hold anything
    return rest && sscanf(rest, ") %*c %*d %*d %*d %d", &tty) == 1 ? tty : -1;
}

static bool is_in_unit(int pid, const char *unit)
{
    RB_AUTO(rb_auto_free) char *text = NULL;
    return read_proc(pid, "cgroup", &text) && strstr(text, unit);
}

static void name_terminal(int tty, char out[static RB_WHEREABOUTS_BYTES])
{
    const int pts = (int)major((dev_t)tty) - PTS_MAJOR;
    if (pts >= 0 && pts < PTS_MAJORS)
        snprintf(out, RB_WHEREABOUTS_BYTES, "terminal pts/%d", pts * PTS_PER_MAJOR + (int)minor((dev_t)tty));
    else if (major((dev_t)tty) == TTY_MAJOR)
        snprintf(out, RB_WHEREABOUTS_BYTES, "terminal tty%d", (int)minor((dev_t)tty));
    else
        snprintf(out, RB_WHEREABOUTS_BYTES, "another terminal");
}

void rb_whereabouts(const struct rb_run_lock *lock, const char *run_id, char out[static RB_WHEREABOUTS_BYTES])
{
    char unit[RB_WHEREABOUTS_BYTES - 8];
    out[0] = '\0';
    if (lock->state != RB_RUN_LOCK_HELD)
        return;
    if (lock->pid == 0) {
        if (lock->host[0])
            snprintf(out, RB_WHEREABOUTS_BYTES, "host %s", lock->host);
        return;
    }
    const int tty = terminal_of(lock->pid);
    snprintf(unit, sizeof unit, "rb-%s.scope", run_id);
    if (is_in_unit(lock->pid, unit))
        snprintf(out, RB_WHEREABOUTS_BYTES, "unit %s", unit);
    else if (tty == 0)
        snprintf(out, RB_WHEREABOUTS_BYTES, "detached");
    else if (tty > 0 && tty == terminal_of((int)getpid()))
        snprintf(out, RB_WHEREABOUTS_BYTES, "this terminal");
    else if (tty > 0)
        name_terminal(tty, out);
}
