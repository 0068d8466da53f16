#include "executor/sinks/sink_place.h"

#include "base/file.h"
#include "executor/sinks/sink_file.h"
#include "profiles/job/job_sinks.h"
#include "providers/wire/http.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct rb_sink_ops *rb_sink_find(enum rb_sink_kind kind)
{
    static const struct rb_sink_ops *const sinks[] = {[RB_SINK_MLFLOW] = &rb_sink_mlflow,
                                                      [RB_SINK_TENSORBOARD] = &rb_sink_tensorboard,
                                                      [RB_SINK_OPTUNA] = &rb_sink_optuna,
                                                      [RB_SINK_CSV] = &rb_sink_csv,
                                                      [RB_SINK_PROMETHEUS] = &rb_sink_prometheus};
    return sinks[kind];
}

// --- paths

// An absolute path without ".", ".." and double slashes.
static const char *clean(const char *path, struct rb_arena *arena)
{
    char *out = rb_arena_alloc(arena, strlen(path) + 2);
    size_t n = 0;
    while (*path) {
        const size_t len = strcspn(path, "/");
        if (len == 2 && path[0] == '.' && path[1] == '.') {
            while (n > 0 && out[--n] != '/')
                ;
        } else if (len > 0 && !(len == 1 && path[0] == '.')) {
            out[n++] = '/';
            memcpy(out + n, path, len);
            n += len;
        }
        path += len + (path[len] == '/');
    }
    if (n == 0)
        out[n++] = '/';
    out[n] = '\0';
    return out;
}

static const char *below(const char *base, const char *path, struct rb_arena *arena)
{
    return clean(path[0] == '/' ? path : rb_arena_printf(arena, "%s/%s", base, path), arena);
}

// Of several runs of a job each has its own folder; an Optuna file and Prometheus' folder hold them side by side.
static bool has_folder(enum rb_sink_kind kind)
{
    return kind == RB_SINK_TENSORBOARD || kind == RB_SINK_CSV;
}

static const char *path_of(const struct rb_sink_spec *spec, const struct rb_run_files *files, const char *base,
                           struct rb_arena *arena)
{
    if (!spec->path)
        return rb_arena_printf(arena, "%s/sinks/%s", files->dir,
                               spec->kind == RB_SINK_OPTUNA ? "optuna.db" : rb_sink_names[spec->kind]);
    const char *path = below(base, spec->path, arena);
    return has_folder(spec->kind) ? rb_arena_printf(arena, "%s/%s", path, files->run_id) : path;
}

// --- servers

static bool find_server(const struct rb_sink_spec *spec, struct rb_arena *arena, const char **out, struct rb_err *err)
{
    const char *uri = spec->uri ? spec->uri : getenv("MLFLOW_TRACKING_URI");
    if (!uri || !uri[0])
        return rb_err_set(
            err, RB_E_SINK_URI,
            "mlflow: no tracking server is named; set MLFLOW_TRACKING_URI, say --uri, or write uri: in the "
            "job's sinks");
    if (!rb_sink_check_uri(uri, err))
        return rb_err_prefix(err, "mlflow");
    if (strncmp(uri, "http://", 7) == 0 && !rb_http_is_loopback(uri))
        return rb_err_set(err, RB_E_SINK_URI,
                          "mlflow: %s: plain http is used on this machine only; use https, or a tunnel to a port here: "
                          "ssh -N -L 5000:localhost:5000 HOST",
                          uri);
    char *copy = rb_arena_strdup(arena, uri);
    for (size_t n = strlen(copy); n > 0 && copy[n - 1] == '/'; n--)
        copy[n - 1] = '\0';
    *out = copy;
    return true;
}

bool rb_sink_place(const struct rb_sink_spec *spec, const struct rb_run_files *files, const char *base,
                   struct rb_arena *arena, struct rb_sink_target *out, struct rb_err *err)
{
    struct rb_sink_target t = {.spec = spec};
    if (spec->kind == RB_SINK_MLFLOW) {
        if (!find_server(spec, arena, &t.uri, err))
            return false;
        t.experiment = spec->experiment ? spec->experiment : files->plan.job->name;
    } else {
        t.path = path_of(spec, files, base, arena);
    }
    *out = t;
    return true;
}

void rb_sink_target_name(const struct rb_sink_target *t, struct rb_buf *out)
{
    if (t->uri)
        rb_buf_printf(out, "%s, experiment %s", t->uri, t->experiment);
    else
        rb_buf_puts(out, t->path);
}

// --- of a run that begins

static const char *base_of(const char *job_path, const char *plan_path, struct rb_arena *arena)
{
    char real[PATH_MAX];
    const char *path = job_path;
    if (!path[0])
        path = realpath(plan_path, real) ? real : "/";
    const char *slash = strrchr(path, '/');
    return slash && slash > path ? rb_arena_strndup(arena, path, (size_t)(slash - path)) : "/";
}

// NULL: not below the work directory; "": the work directory itself.
static const char *within(const char *workdir, const char *path)
{
    const size_t n = strlen(workdir);
    if (strncmp(path, workdir, n) != 0 || (path[n] != '/' && path[n] != '\0'))
        return NULL;
    return path[n] ? path + n + 1 : "";
}

bool rb_sinks_check(const struct rb_run_files *f, const char *job_path, const char *plan_path, struct rb_err *err)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    const struct rb_sink_list *sinks = &f->plan.job->sinks;
    const char *base = base_of(job_path, plan_path, &arena);
    for (int i = 0; i < sinks->n; i++) {
        const struct rb_sink_spec *s = &sinks->items[i];
        struct rb_sink_target target;
        if (!rb_sink_place(s, f, base, &arena, &target, err))
            return false;
        const char *inside = s->path ? within(f->workdir, below(base, s->path, &arena)) : NULL;
        if (inside && !inside[0])
            return rb_err_set(err, RB_E_SINK_CHOICE,
                              "sinks: %s: %s is the work directory, which is copied to every node; name a folder in it",
                              rb_sink_names[s->kind], f->workdir);
    }
    return true;
}

// A pattern of tar that means just this name.
static void put_pattern(const char *name, struct rb_buf *out)
{
    rb_buf_puts(out, "./");
    for (; *name; name++) {
        if (strchr("*?[\\", *name))
            rb_buf_putc(out, '\\');
        rb_buf_putc(out, *name);
    }
}

static bool keep(const struct rb_run_files *f, const char *name, const struct rb_buf *text, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    rb_buf_printf(&path, "%s/%s", f->dir, name);
    return rb_sink_make_dirs(rb_buf_str(&path), false, err) &&
           rb_write_file(rb_buf_str(&path), rb_buf_str(text), text->len, err);
}

bool rb_sinks_keep_places(const struct rb_run_files *f, const char *job_path, const char *plan_path, struct rb_err *err)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    RB_AUTO(rb_buf_finish) struct rb_buf directory = RB_BUF_INIT, patterns = RB_BUF_INIT;
    const struct rb_sink_list *sinks = &f->plan.job->sinks;
    if (sinks->n == 0)
        return true;
    const char *base = base_of(job_path, plan_path, &arena);
    for (int i = 0; i < sinks->n; i++) {
        const struct rb_sink_spec *s = &sinks->items[i];
        const char *inside = s->path ? within(f->workdir, below(base, s->path, &arena)) : NULL;
        if (!inside || !inside[0])
            continue;
        put_pattern(inside, &patterns);
        rb_buf_puts(&patterns, s->kind == RB_SINK_OPTUNA ? "*\n" : "\n"); // sqlite's own files lie beside it
    }
    rb_buf_puts(&directory, base);
    return keep(f, "sinks/base", &directory, err) && (patterns.len == 0 || keep(f, "sinks/not-sent", &patterns, err));
}

bool rb_sinks_base(const struct rb_run_files *f, struct rb_arena *arena, const char **out, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    RB_AUTO(rb_auto_free) char *bytes = NULL;
    size_t n;
    rb_buf_printf(&path, "%s/sinks/base", f->dir);
    if (access(rb_buf_str(&path), F_OK) != 0) {
        *out = rb_arena_strdup(arena, f->workdir);
        return true;
    }
    if (!rb_read_file(rb_buf_str(&path), PATH_MAX, &bytes, &n, err))
        return false;
    *out = rb_arena_strdup(arena, bytes);
    return true;
}
