// rbrun fetch: the last checkpoint of a trial.
#include "commands/rbrun/rbrun.h"

#include "base/errors/log.h"
#include "executor/launcher/launcher.h"
#include "executor/report/report.h"

#include <stdio.h>
#include <string.h>

static const struct rb_option fetch_options[] = {
    {"best", 0, RB_OPT_FLAG, false, NULL, "of the best trial", 0, 0},
    RB_RUN_COMMON_OPTIONS,
    {0},
};

static const char *last_checkpoint(const struct rb_task_row *tasks, int n, int trial)
{
    const char *found = NULL;
    for (int i = 0; i < n; i++) // in order of starts
        if (tasks[i].trial == trial && tasks[i].checkpoint[0])
            found = tasks[i].checkpoint;
    return found;
}

static bool which_trial(const struct rb_args *args, struct rb_journal *journal, struct rb_run_files *f, int *out,
                        struct rb_err *err)
{
    struct rb_report report;
    if (rb_args_flag(args, "best") == (args->n_args == 3))
        return rb_err_set(err, RB_E_OPERANDS, "give either --best or the number of a trial (see rbrun fetch --help)");
    if (args->n_args == 3)
        return rb_run_parse_trial(args->args[1], out, err);
    if (!rb_report_make(journal, &f->plan, &f->arena, &report, err))
        return false;
    *out = report.best_trial;
    if (report.best_remark)
        rb_warn("trial %d: %s", report.best_trial, report.best_remark);
    return *out >= 0 || rb_err_set(err, RB_E_TRIAL_UNKNOWN, "no trial of %s has reported yet", f->run_id);
}

static bool print_json(const char *run_id, int trial, const char *checkpoint, const char *dir, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    struct rb_json j = {.out = &out};
    rb_json_put(&j, "{format: 'rb-fetch/1' run: %s trial: %d checkpoint: %s|null directory: %s}", run_id, trial,
                checkpoint, dir);
    rb_buf_putc(&out, '\n');
    return rb_print(&out, err);
}

static bool fetch_from(const struct rb_args *args, struct rb_journal *journal, struct rb_run_files *f,
                       struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf archive = RB_BUF_INIT;
    struct rb_task_row *tasks;
    int n = 0, trial = -1;
    if (!which_trial(args, journal, f, &trial, err) || !rb_journal_tasks(journal, &f->arena, &tasks, &n, err))
        return false;
    const char *checkpoint = last_checkpoint(tasks, n, trial), *dir = args->args[args->n_args - 1];
    if (!checkpoint)
        return rb_err_set(err, RB_E_TRIAL_UNKNOWN, "trial %d of %s has saved no checkpoint", trial, f->run_id);
    if (strstr(checkpoint, "://"))
        return rb_err_set(err, RB_E_CHECKPOINT_BUCKET, "the checkpoint of trial %d is at %s: get it with %s", trial,
                          checkpoint,
                          strncmp(checkpoint, "s3://", 5) == 0 ? "`aws s3 cp --recursive`" : "`gcloud storage cp -r`");
    rb_buf_printf(&archive, "%s/%s", f->dir, checkpoint);
    if (!rb_checkpoint_extract(rb_buf_str(&archive), dir, err))
        return false;
    if (rb_args_flag(args, "json"))
        return print_json(f->run_id, trial, checkpoint, dir, err);
    printf("trial %d, %s -> %s\n", trial, checkpoint, dir);
    return true;
}

static bool fetch(const struct rb_args *args, struct rb_err *err)
{
    RB_AUTO(rb_run_files_finish) struct rb_run_files f;
    struct rb_journal *journal;
    if (!rb_run_files_open_newest(&f, rb_run_state_dir(args), args->args[0], err) ||
        !rb_journal_open_reader(f.journal, &journal, err))
        return false;
    const bool ok = fetch_from(args, journal, &f, err);
    rb_journal_close(journal);
    return ok;
}

const struct rb_command rb_run_fetch = {
    .name = "rbrun fetch",
    .usage = "[options] RUN|JOB [TRIAL] DIR",
    .summary = "Unpacks a trial's last checkpoint into a new directory. Of several runs of a job the newest is taken.",
    .examples = "  rbrun fetch digits-2026 --best model/\n  rbrun fetch digits-2026 12 trial-12/\n",
    .options = fetch_options,
    .min_args = 2,
    .max_args = 3,
    .run = fetch,
};
