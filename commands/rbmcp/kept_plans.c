// A plan's time of change says until when it counts as new: when it was kept, or, once a person is asked, two days
// later.
#include "commands/rbmcp/kept_plans.h"

#include "base/arena.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/text/buf.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { HELD_S = 2 * 24 * 3600, STALE_S = 24 * 3600 }; // stale: a plan that a server never finished

struct kept {
    char name[80];
    time_t time_s;
};

static int newest_first(const void *a, const void *b)
{
    const struct kept *x = a, *y = b;
    return x->time_s != y->time_s ? (x->time_s < y->time_s) - (x->time_s > y->time_s) : strcmp(x->name, y->name);
}

static bool is_plan(const char *name)
{
    return strlen(name) == 64 + 5 && strspn(name, "0123456789abcdef") == 64 && strcmp(name + 64, ".json") == 0;
}

// The plans of the directory; what was left there unfinished is removed. The caller frees them.
static struct kept *list(DIR *dir, time_t now_s, int *out_n)
{
    struct kept *all = NULL;
    struct stat st;
    int n = 0;
    for (const struct dirent *e; (e = readdir(dir));) {
        if (fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
            continue;
        if (strncmp(e->d_name, "new-", 4) == 0 && st.st_mtim.tv_sec < now_s - STALE_S)
            unlinkat(dirfd(dir), e->d_name, 0);
        if (!is_plan(e->d_name))
            continue;
        all = rb_xrealloc(all, (size_t)n + 1, sizeof *all);
        all[n].time_s = st.st_mtim.tv_sec;
        strcpy(all[n++].name, e->d_name);
    }
    *out_n = n;
    return all;
}

static void remove_old(const char *path)
{
    const time_t now_s = time(NULL);
    DIR *dir = opendir(path);
    int n;
    if (!dir)
        return;
    RB_AUTO(rb_auto_free) struct kept *all = list(dir, now_s, &n);
    if (n)
        qsort(all, (size_t)n, sizeof *all, newest_first);
    for (int i = RB_LIMIT_MCP_PLANS; i < n; i++)
        if (all[i].time_s <= now_s)
            unlinkat(dirfd(dir), all[i].name, 0);
    closedir(dir);
}

// The same plan again counts as new again, but no shorter than before.
bool rb_mcp_plans_keep(const char *dir, const char *path, const char *sha256)
{
    RB_AUTO(rb_buf_finish) struct rb_buf kept = RB_BUF_INIT;
    struct stat st;
    rb_buf_printf(&kept, "%s/%s.json", dir, sha256);
    const bool held = stat(rb_buf_str(&kept), &st) == 0 && st.st_mtim.tv_sec > time(NULL);
    if (held ? unlink(path) != 0 : rename(path, rb_buf_str(&kept)) != 0)
        return false;
    remove_old(dir);
    return true;
}

void rb_mcp_plans_hold(const char *dir, const char *plan)
{
    const size_t n = strlen(dir);
    const struct timespec until[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = time(NULL) + HELD_S}};
    if (strncmp(plan, dir, n) == 0 && plan[n] == '/' && is_plan(plan + n + 1))
        (void)utimensat(AT_FDCWD, plan, until, 0);
}
