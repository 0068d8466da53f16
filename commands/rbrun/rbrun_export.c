// rbrun export: the results of a run, to a tracker or into files of another program's format.
#include "commands/rbrun/rbrun.h"

#include "base/errors/log.h"
#include "executor/sinks/export.h"
#include "executor/sinks/sink_place.h"
#include "profiles/job/job_sinks.h"
#include "views/run/share.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static const struct rb_option export_options[] = {
    {"to", 0, RB_OPT_STRING, true, "SINK",
     "mlflow, tensorboard, optuna, csv or prometheus (default: the job's sinks); folder:DIR: the report, for others", 0,
     0},
    {"uri", 0, RB_OPT_STRING, false, "URL",
     "mlflow: the tracking server (default: the job's, else MLFLOW_TRACKING_URI)", 0, 0},
    {"experiment", 0, RB_OPT_STRING, false, "NAME", "mlflow: the experiment (default: the job's, else the job's name)",
     0, 0},
    {"dir", 0, RB_OPT_STRING, false, "DIR", "tensorboard, csv, prometheus: where to write", 0, 0},
    {"file", 0, RB_OPT_STRING, false, "FILE.db", "optuna: where to write", 0, 0},
    {"schema", 0, RB_OPT_STRING, false, "VERSION", "optuna: 3.2 (default), or 3.0 for Optuna 3.0 and 3.1", 0, 0},
    {"follow", 0, RB_OPT_FLAG, false, NULL, "go on until the run is over; what fails is tried again", 0, 0},
    RB_RUN_COMMON_OPTIONS,
    {0},
};

// --- which sinks

static bool find_kind(const char *name, int *out, struct rb_err *err)
{
    for (*out = 0; rb_sink_names[*out]; ++*out)
        if (strcmp(rb_sink_names[*out], name) == 0)
            return true;
    const char *meant = rb_closest(name, rb_sink_names, *out);
    return rb_err_set(err, RB_E_SINK_CHOICE,
                      "--to %.60s: expected mlflow, tensorboard, optuna, csv, prometheus or folder:DIR%s%s", name,
                      meant ? "; did you mean " : "", meant ? meant : "");
}

// The folder of "folder:DIR"; NULL: another sink.
static const char *folder_of(const char *name)
{
    return strncmp(name, "folder:", 7) == 0 && name[7] ? name + 7 : NULL;
}

static struct rb_sink_spec of_job(const struct rb_sink_list *sinks, int kind)
{
    for (int i = 0; i < sinks->n; i++)
        if ((int)sinks->items[i].kind == kind)
            return sinks->items[i];
    return (struct rb_sink_spec){.kind = (enum rb_sink_kind)kind};
}

static bool choose(const struct rb_args *args, const struct rb_run_files *f, struct rb_sink_spec *specs, int *out_n,
                   struct rb_err *err)
{
    const struct rb_sink_list *sinks = &f->plan.job->sinks;
    const char *name;
    int n = 0, kind, n_folders = 0;
    for (int i = 0; (name = rb_args_nth(args, "to", i)); i++) {
        n_folders += folder_of(name) != NULL;
        if (folder_of(name))
            continue;
        if (!find_kind(name, &kind, err))
            return false;
        bool again = false;
        for (int k = 0; k < n; k++)
            again = again || (int)specs[k].kind == kind;
        if (!again)
            specs[n++] = of_job(sinks, kind);
    }
    for (int i = 0; n == 0 && n_folders == 0 && i < sinks->n; i++)
        specs[i] = sinks->items[i];
    *out_n = n || n_folders ? n : sinks->n;
    return *out_n > 0 || n_folders > 0 ||
           rb_err_set(err, RB_E_SINK_CHOICE,
                      "where to? The job of %s names no sinks: say --to mlflow, tensorboard, optuna, csv, "
                      "prometheus or folder:DIR",
                      f->run_id);
}

// --- settings of the command line

struct setting {
    const char *option;
    unsigned kinds; // that have it
    size_t offset;
};
#define OF(kind) (1u << RB_SINK_##kind)
static const struct setting settings[] = {
    {"uri", OF(MLFLOW), offsetof(struct rb_sink_spec, uri)},
    {"experiment", OF(MLFLOW), offsetof(struct rb_sink_spec, experiment)},
    {"dir", OF(TENSORBOARD) | OF(CSV) | OF(PROMETHEUS), offsetof(struct rb_sink_spec, path)},
    {"file", OF(OPTUNA), offsetof(struct rb_sink_spec, path)},
    {"schema", OF(OPTUNA), offsetof(struct rb_sink_spec, schema)},
};

static bool apply_one(const struct setting *s, const struct rb_args *args, const char *cwd, struct rb_arena *arena,
                      struct rb_sink_spec *specs, int n, struct rb_err *err)
{
    const char *text = rb_args_string(args, s->option, NULL);
    bool used = false;
    if (text && s->offset == offsetof(struct rb_sink_spec, path) && text[0] != '/')
        text = rb_arena_printf(arena, "%s/%s", cwd, text);
    for (int i = 0; text && i < n; i++) {
        if (!(s->kinds >> specs[i].kind & 1))
            continue;
        *(const char **)((char *)&specs[i] + s->offset) = text;
        used = true;
    }
    return !text || used ||
           rb_err_set(err, RB_E_SINK_CHOICE, "--%s: %s has no such setting", s->option,
                      n ? rb_sink_names[specs[0].kind] : "folder:DIR");
}

static bool apply(const struct rb_args *args, struct rb_arena *arena, struct rb_sink_spec *specs, int n,
                  struct rb_err *err)
{
    char cwd[PATH_MAX];
    const char *schema = rb_args_string(args, "schema", "3.2");
    if (!getcwd(cwd, sizeof cwd))
        strcpy(cwd, "/");
    if (strcmp(schema, "3.2") != 0 && strcmp(schema, "3.0") != 0)
        return rb_err_set(err, RB_E_SINK_CHOICE, "--schema %.20s: expected 3.2 or 3.0", schema);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (!apply_one(&settings[i], args, cwd, arena, specs, n, err))
            return false;
    for (int i = 0; i < n; i++)
        if (specs[i].kind == RB_SINK_PROMETHEUS && !specs[i].path)
            return rb_err_set(err, RB_E_SINK_CHOICE,
                              "prometheus: say --dir, the folder of node_exporter's textfile collector");
    return true;
}

// --- sending

static volatile sig_atomic_t asked_to_end;

static void on_term(int signal)
{
    (void)signal;
    asked_to_end = 1;
}

// By the process that started it, or because that one has died: a resumed run starts a follower of its own.
static bool is_asked_to_end(void *ctx)
{
    return asked_to_end || getppid() != *(const pid_t *)ctx;
}

// Of use to the run, but never at its cost: last in line for the processor, and deaf to the terminal's signals.
static bool follow(const struct rb_export *e, struct rb_err *err)
{
    struct sigaction term = {.sa_handler = on_term};
    sigaction(SIGTERM, &term, NULL);
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    (void)setpgid(0, 0);
    (void)setpriority(PRIO_PROCESS, 0, 10);
    return rb_export_follow(e, err);
}

static void print_one(const struct rb_sink_target *t, int64_t events, bool json)
{
    RB_AUTO(rb_buf_finish) struct rb_buf name = RB_BUF_INIT, text = RB_BUF_INIT;
    rb_sink_target_name(t, &name);
    if (!json) {
        printf("%s: %s\n", rb_sink_names[t->spec->kind], rb_buf_str(&name));
        return;
    }
    struct rb_json j = {.out = &text};
    rb_json_put(&j, "{format: 'rb-export/1', sink: %s, target: %s, events: %jd}", rb_sink_names[t->spec->kind],
                rb_buf_str(&name), events);
    printf("%s\n", rb_buf_str(&text));
}

static bool send_all(const struct rb_args *args, struct rb_run_files *f, struct rb_sink_spec *specs, int n,
                     struct rb_err *err)
{
    const bool follows = rb_args_flag(args, "follow");
    const char *base;
    if (follows && n > 1)
        return rb_err_set(err, RB_E_SINK_CHOICE, "--follow sends to one sink: say --to");
    if (!rb_sinks_base(f, &f->arena, &base, err))
        return false;
    pid_t parent = getppid();
    bool ok = true;
    for (int i = 0; i < n; i++) {
        struct rb_export e = {.files = f, .ended = follows ? is_asked_to_end : NULL, .ctx = &parent};
        struct rb_err why;
        int64_t events = 0;
        if (rb_sink_place(&specs[i], f, base, &f->arena, &e.target, &why) &&
            (follows ? follow(&e, &why) : rb_export_once(&e, &events, &why))) {
            if (!follows)
                print_one(&e.target, events, rb_args_flag(args, "json"));
            continue;
        }
        if (!ok && err)
            rb_warn("%s", err->message); // the last one is the command's error; each is said
        ok = false;
        *err = why;
    }
    return ok;
}

static void print_shared(const char *folder, const char *run_id, int64_t events, bool json)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    struct rb_json j;
    if (!json) {
        printf("folder: %s/%s\n", folder, run_id);
        return;
    }
    rb_json_init(&j, &text, false);
    rb_json_put(&j, "{format: 'rb-export/1', sink: 'folder', target: '%s/%s', events: %jd}", folder, run_id, events);
    printf("%s\n", rb_buf_str(&text));
}

static bool share_all(const struct rb_args *args, const struct rb_run_files *f, struct rb_err *err)
{
    const char *name;
    int64_t events;
    for (int i = 0; (name = rb_args_nth(args, "to", i)); i++) {
        const char *folder = folder_of(name);
        if (folder && rb_args_flag(args, "follow"))
            return rb_err_set(err, RB_E_SINK_CHOICE,
                              "--follow sends to a sink; export to a folder again when it is over");
        if (folder && !rb_run_share(f, folder, &events, err))
            return false;
        if (folder)
            print_shared(folder, f->run_id, events, rb_args_flag(args, "json"));
    }
    return true;
}

static bool export_run(const struct rb_args *args, struct rb_err *err)
{
    RB_AUTO(rb_run_files_finish) struct rb_run_files f = {0};
    struct rb_sink_spec specs[8];
    int n;
    return rb_run_files_open_newest(&f, rb_run_state_dir(args), args->n_args ? args->args[0] : NULL, err) &&
           choose(args, &f, specs, &n, err) && apply(args, &f.arena, specs, n, err) && share_all(args, &f, err) &&
           send_all(args, &f, specs, n, err);
}

const struct rb_command rb_run_export = {
    .name = "rbrun export",
    .usage = "[options] [RUN]",
    .summary =
        "Sends the results of a run to MLflow, or writes them for TensorBoard, Optuna, spreadsheets or Prometheus; or "
        "shares its report in a folder. What is there already is not sent again. RUN: its id, its job's name, or the "
        "beginning of either; the newest.",
    .examples = "  rbrun export digits-2026 --to tensorboard --dir tb\n"
                "  rbrun export --to mlflow --uri http://127.0.0.1:5000\n"
                "  rbrun export --to optuna --file study.db --schema 3.0\n"
                "  rbrun export digits-2026 --to folder:/mnt/team/reports\n"
                "  rbrun export digits-2026\n",
    .options = export_options,
    .max_args = 1,
    .run = export_run,
};
