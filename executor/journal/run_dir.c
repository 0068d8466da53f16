// Directories of runs. A run's name sorts by its start, so "newest first" is reverse alphabetical order of
// the time part.
#include "executor/journal/run_dir.h"

#include "base/arena.h"
#include "base/text/buf.h"
#include "base/clock.h"
#include "providers/wire/digest.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define STAMP_LEN 22 // yyyymmdd-hhmmss-xxxxxx
#define MAX_NAMED 5  // runs in an error

bool rb_run_dir_make(const char *path, struct rb_err *err)
{
    RB_AUTO(rb_auto_free) char *copy = rb_xstrdup(path);
    for (char *at = copy + 1;; at++) {
        if (*at != '/' && *at != '\0')
            continue;
        const char was = *at;
        *at = '\0';
        if (mkdir(copy, 0700) != 0 && errno != EEXIST)
            return rb_err_set(err, RB_E_DIRECTORY, "%s: cannot create the directory: %s", copy, strerror(errno));
        if (was == '\0')
            return true;
        *at = was;
    }
}

static bool absolute(const char *path, char *out, size_t size, struct rb_err *err)
{
    char cwd[PATH_MAX] = "";
    if (path[0] != '/' && !getcwd(cwd, sizeof cwd))
        return rb_err_set(err, RB_E_DIRECTORY, "the current directory cannot be named: %s", strerror(errno));
    const int n = snprintf(out, size, "%s%s%s", cwd, cwd[0] ? "/" : "", path);
    if (n < 0 || (size_t)n >= size)
        return rb_err_set(err, RB_E_PATH_TOO_LONG,
                          "this path is too long (%zu bytes at most; name a shorter one): %.80s...", size - 1, path);
    return true;
}

bool rb_run_dir_root(const char *state_dir, char *out, size_t size, struct rb_err *err)
{
    if (state_dir)
        return absolute(state_dir, out, size, err);
    const char *xdg = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    if (xdg && xdg[0] == '/')
        rb_buf_printf(&path, "%s/rubberband/runs", xdg);
    else if (home && home[0] == '/')
        rb_buf_printf(&path, "%s/.local/state/rubberband/runs", home);
    else
        return rb_err_set(err, RB_E_STATE_DIRECTORY, "neither XDG_STATE_HOME nor HOME is set: pass --state-dir DIR");
    return absolute(rb_buf_str(&path), out, size, err);
}

// 30 random bits in lower-case base32 (RFC 4648 alphabet).
static void random_suffix(char out[7])
{
    uint8_t bytes[6];
    rb_random_bytes(bytes, sizeof bytes);
    for (int i = 0; i < 6; i++)
        out[i] = "abcdefghijklmnopqrstuvwxyz234567"[bytes[i] & 31];
    out[6] = '\0';
}

void rb_run_dir_new_id(const char *job_name, char *out, size_t size)
{
    const time_t now = (time_t)(rb_clock_unix_us() / 1000000);
    struct tm utc;
    gmtime_r(&now, &utc);
    char stamp[32], suffix[7];
    strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &utc);
    random_suffix(suffix);
    snprintf(out, size, "%.40s-%s-%s", job_name, stamp, suffix);
}

bool rb_run_dir_create(const char *root, const char *job_name, char *run_id, size_t id_size, char *out_dir,
                       size_t dir_size, struct rb_err *err)
{
    if (!run_id[0])
        rb_run_dir_new_id(job_name, run_id, id_size);
    if (strlen(run_id) >= id_size || strlen(root) + 1 + strlen(run_id) >= dir_size)
        return rb_err_set(err, RB_E_PATH_TOO_LONG,
                          "this path is too long; name a shorter one with --state-dir: %.80s...", root);
    if (!rb_run_dir_make(root, err))
        return false;
    snprintf(out_dir, dir_size, "%s/%s", root, run_id);
    static const char *const parts[] = {"", "/keys", "/logs", "/checkpoints"};
    for (int i = 0; i < 4; i++) {
        RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
        rb_buf_printf(&path, "%s%s", out_dir, parts[i]);
        if (mkdir(rb_buf_str(&path), 0700) == 0)
            continue;
        rb_err_set(err, RB_E_DIRECTORY, "%s: cannot create the directory: %s", rb_buf_str(&path), strerror(errno));
        if (i > 0) // else it is another's
            rb_run_dir_forget(out_dir);
        return false;
    }
    return true;
}

static int take_away(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)at;
    return (type == FTW_DP ? rmdir(path) : unlink(path)) == 0 ? 0 : -1;
}

void rb_run_dir_forget(const char *dir)
{
    nftw(dir, take_away, 8, FTW_DEPTH | FTW_PHYS);
}

// Where the time part of a run id starts, NULL: not a run id.
static const char *stamp_of(const char *name)
{
    const size_t n = strlen(name);
    if (n < STAMP_LEN + 2 || name[n - STAMP_LEN - 1] != '-' || name[0] == '.')
        return NULL;
    const char *stamp = name + n - STAMP_LEN;
    for (int i = 0; i < 15; i++)
        if (i == 8 ? stamp[i] != '-' : stamp[i] < '0' || stamp[i] > '9')
            return NULL;
    return stamp[15] == '-' ? stamp : NULL;
}

int rb_run_dir_newest_first(const char *a, const char *b)
{
    const char *x = stamp_of(a), *y = stamp_of(b);
    const int by_time = strcmp(y ? y : "", x ? x : "");
    return by_time ? by_time : strcmp(a, b);
}

bool rb_run_dir_check_id(const char *text, struct rb_err *err)
{
    return (stamp_of(text) && strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(text) && strlen(text) < 80) ||
           rb_err_set(err, RB_E_OPERANDS, "expected the id of a run such as digits-20260801-120000-abcdef, got \"%.80s\"",
                      text);
}

static int newest_first(const void *a, const void *b)
{
    return rb_run_dir_newest_first(*(const char *const *)a, *(const char *const *)b);
}

struct names {
    char **items;
    int n;
};

static void names_finish(struct names *names)
{
    for (int i = 0; i < names->n; i++)
        free(names->items[i]);
    free(names->items);
}

// Every run below root. No root yet: no runs.
static bool list_runs(const char *root, struct names *out, struct rb_err *err)
{
    DIR *dir = opendir(root);
    if (!dir)
        return errno == ENOENT ||
               rb_err_set(err, RB_E_DIRECTORY, "cannot list the runs under %s: %s", root, strerror(errno));
    for (const struct dirent *entry; (entry = readdir(dir));) {
        if (!stamp_of(entry->d_name))
            continue;
        out->items = rb_xrealloc(out->items, (size_t)out->n + 1, sizeof *out->items);
        out->items[out->n++] = rb_xstrdup(entry->d_name);
    }
    closedir(dir);
    if (out->n)
        qsort(out->items, (size_t)out->n, sizeof *out->items, newest_first);
    return true;
}

static bool not_found(const char *root, const char *run, const struct names *names, struct rb_err *err)
{
    if (names->n == 0)
        return rb_err_set(err, RB_E_RUN_UNKNOWN, "no run under %s yet; start one with `rbrun plan.json`", root);
    RB_AUTO(rb_buf_finish) struct rb_buf newest = RB_BUF_INIT;
    for (int i = 0; i < names->n && i < 3; i++)
        rb_buf_printf(&newest, "%s%s", i ? ", " : "", names->items[i]);
    return rb_err_set(err, RB_E_RUN_UNKNOWN, "no run \"%.80s\" under %s; the newest: %s", run, root,
                      rb_buf_str(&newest));
}

// How well a run matches the given text.
enum fit { FIT_NONE, FIT_PREFIX, FIT_JOB, FIT_ID };

static enum fit fit_of(const char *run_id, const char *said)
{
    const size_t n = strlen(said);
    if (strncmp(run_id, said, n) != 0)
        return FIT_NONE;
    if (run_id[n] == '\0')
        return FIT_ID;
    return run_id[n] == '-' && run_id + n + 1 == stamp_of(run_id) ? FIT_JOB : FIT_PREFIX;
}

static bool ambiguous(const char *run, enum fit best, const struct names *names, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf fitting = RB_BUF_INIT;
    int n = 0;
    for (int i = 0; i < names->n; i++)
        if (fit_of(names->items[i], run) == best && n++ < MAX_NAMED)
            rb_buf_printf(&fitting, "%s%s", n > 1 ? ", " : "", names->items[i]);
    if (n > MAX_NAMED)
        rb_buf_printf(&fitting, " and %d more", n - MAX_NAMED);
    return rb_err_set(err, RB_E_RUN_AMBIGUOUS, "\"%.80s\" fits %d runs: %s; write more of the one you mean", run, n,
                      rb_buf_str(&fitting));
}

bool rb_run_dir_find(const char *root, const char *run, char *out_run_id, size_t id_size, char *out_dir,
                     size_t dir_size, int *out_n_others, struct rb_err *err)
{
    RB_AUTO(names_finish) struct names names = {0};
    if (!list_runs(root, &names, err)) // newest first
        return false;
    const bool newest = !run || !run[0];
    const char *found = newest && names.n ? names.items[0] : NULL;
    enum fit best = FIT_NONE;
    int n_best = 0;
    for (int i = 0; !newest && i < names.n; i++) {
        const enum fit fit = fit_of(names.items[i], run);
        n_best = fit > best ? 1 : n_best + (fit == best);
        found = fit > best ? names.items[i] : found;
        best = fit > best ? fit : best;
    }
    if (!found)
        return not_found(root, run ? run : "", &names, err);
    if (n_best > 1 && !(out_n_others && best == FIT_JOB))
        return ambiguous(run, best, &names, err);
    if (strlen(found) >= id_size || strlen(root) + 1 + strlen(found) >= dir_size)
        return rb_err_set(err, RB_E_PATH_TOO_LONG,
                          "this path is too long; name a shorter one with --state-dir: %.80s...", root);
    strcpy(out_run_id, found);
    snprintf(out_dir, dir_size, "%s/%s", root, found);
    if (out_n_others)
        *out_n_others = n_best > 1 ? n_best - 1 : 0;
    return true;
}

bool rb_run_dir_each(const char *root, void (*fn)(void *ctx, const char *run_id, const char *dir), void *ctx,
                     struct rb_err *err)
{
    RB_AUTO(names_finish) struct names names = {0};
    if (!list_runs(root, &names, err))
        return false;
    for (int i = 0; i < names.n; i++) {
        RB_AUTO(rb_buf_finish) struct rb_buf dir = RB_BUF_INIT;
        rb_buf_printf(&dir, "%s/%s", root, names.items[i]);
        fn(ctx, names.items[i], rb_buf_str(&dir));
    }
    return true;
}
