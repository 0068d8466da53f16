#include "executor/away/elsewhere.h"

#include "base/arena.h"
#include "base/errors/log.h"
#include "base/file.h"
#include "base/text/buf.h"
#include "executor/journal/run_dir.h"
#include "providers/wire/child.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER "elsewhere"

static void path_of(const struct rb_elsewhere *e, const char *name, struct rb_buf *out)
{
    rb_buf_clear(out);
    rb_buf_printf(out, "%s/%s", e->dir, name);
}

static bool place_record(const char *root, const char *run_id, struct rb_elsewhere *out)
{
    *out = (struct rb_elsewhere){.lock = -1};
    return snprintf(out->run_id, sizeof out->run_id, "%s", run_id) < (int)sizeof out->run_id &&
           snprintf(out->dir, sizeof out->dir, "%s/" FOLDER "/%s", root, run_id) < (int)sizeof out->dir;
}

bool rb_elsewhere_find(const char *root, const char *run_id, struct rb_elsewhere *out)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    RB_AUTO(rb_auto_free) char *text = NULL;
    size_t n;
    if (!run_id[0] || run_id[0] == '.' || strchr(run_id, '/') || !place_record(root, run_id, out))
        return false;
    path_of(out, "asked", &path);
    if (!rb_read_file(rb_buf_str(&path), 1024, &text, &n, NULL) ||
        sscanf(text, "%319s %64s", out->place, out->plan_sha256) != 2)
        return false;
    path_of(out, "begun", &path);
    out->begun = access(rb_buf_str(&path), F_OK) == 0;
    return true;
}

bool rb_elsewhere_each(const char *root, void (*fn)(void *ctx, const struct rb_elsewhere *e), void *ctx,
                       struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    struct rb_elsewhere e;
    rb_buf_printf(&path, "%s/" FOLDER, root);
    DIR *dir = opendir(rb_buf_str(&path));
    if (!dir)
        return errno == ENOENT || errno == ENOTDIR ||
               rb_err_set(err, RB_E_DIRECTORY, "cannot list %s: %s", rb_buf_str(&path), strerror(errno));
    for (const struct dirent *entry; (entry = readdir(dir));)
        if (rb_elsewhere_find(root, entry->d_name, &e))
            fn(ctx, &e);
    closedir(dir);
    return true;
}

// --- asking

static bool lock(struct rb_elsewhere *e)
{
    e->lock = open(e->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (e->lock >= 0 && rb_file_lock(e->lock))
        return true;
    rb_elsewhere_finish(e);
    return false;
}

struct search {
    const char *place, *plan_sha256;
    struct rb_elsewhere found;
};

static void try_again(void *ctx, const struct rb_elsewhere *e)
{
    struct search *s = ctx;
    struct rb_elsewhere candidate = *e;
    if (s->found.lock < 0 && !e->begun && strcmp(e->place, s->place) == 0 &&
        strcmp(e->plan_sha256, s->plan_sha256) == 0 && lock(&candidate))
        s->found = candidate;
}

static bool begin_record(const char *root, const char *place, const char *job_name, const char *plan_sha256,
                         struct rb_elsewhere *out, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT, text = RB_BUF_INIT;
    char run_id[80];
    rb_run_dir_new_id(job_name, run_id, sizeof run_id);
    if (!place_record(root, run_id, out))
        return rb_err_set(err, RB_E_PATH_TOO_LONG,
                          "this path is too long; name a shorter one with --state-dir: %.80s...", root);
    if (!rb_run_dir_make(out->dir, err))
        return false;
    if (!lock(out))
        return rb_err_set(err, RB_E_DIRECTORY, "%s cannot be locked: %s", out->dir, strerror(errno));
    path_of(out, "asked", &path);
    rb_buf_printf(&text, "%s\n%s\n", place, plan_sha256);
    snprintf(out->place, sizeof out->place, "%s", place);
    snprintf(out->plan_sha256, sizeof out->plan_sha256, "%s", plan_sha256);
    return rb_write_file(rb_buf_str(&path), rb_buf_str(&text), text.len, err);
}

bool rb_elsewhere_ask(const char *root, const char *place, const char *job_name, const char *plan_sha256,
                      struct rb_elsewhere *out, struct rb_err *err)
{
    struct search s = {.place = place, .plan_sha256 = plan_sha256, .found = {.lock = -1}};
    if (!rb_elsewhere_each(root, try_again, &s, err))
        return false;
    if (s.found.lock < 0)
        return begin_record(root, place, job_name, plan_sha256, out, err);
    *out = s.found;
    return true;
}

void rb_elsewhere_confirm(struct rb_elsewhere *e)
{
    static const char *const sent[] = {"plan.json", "bundle.tar", "node"};
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    struct rb_err why;
    path_of(e, "begun", &path);
    if (!rb_write_file(rb_buf_str(&path), "", 0, &why))
        rb_warn("%s; `rbrun list` shows run %s as unconfirmed", why.message, e->run_id);
    for (size_t i = 0; i < sizeof sent / sizeof *sent; i++) {
        path_of(e, sent[i], &path);
        unlink(rb_buf_str(&path));
    }
    e->begun = true;
}

void rb_elsewhere_forget(struct rb_elsewhere *e)
{
    const char *const argv[] = {"rm", "-rf", "--", e->dir, NULL};
    struct rb_err why;
    e->forgotten = true;
    if (!rb_child_run(argv, &(struct rb_child_options){0}, &why))
        rb_warn("%s: %s; remove it", e->dir, why.message);
}

void rb_elsewhere_finish(struct rb_elsewhere *e)
{
    if (e->lock >= 0)
        close(e->lock);
    e->lock = -1;
}
