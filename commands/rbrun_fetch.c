// rbrun logs and rbrun fetch: what a run has left on this machine.
#include "commands/rbrun.h"

#include "base/log.h"
#include "base/number.h"
#include "executor/launcher.h"
#include "executor/report.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// --- logs

static const struct rb_option logs_options[] = {
    {"follow", 'f', RB_OPT_FLAG, false, NULL, "go on as more is written, until interrupted", 0, 0},
    RB_RUN_COMMON_OPTIONS,
    {0},
};

static const struct rb_command logs_command = {
    .name = "rbrun logs",
    .usage = "[options] RUN [TRIAL]",
    .summary = "Output of the trials, in order of their starts. RUN: its id or the beginning of it.",
    .examples = "  rbrun logs digits-2026\n  rbrun logs digits-2026 12 -f\n",
    .options = logs_options,
    .min_args = 1,
    .max_args = 2,
};

enum { MAX_LOGS = 4096, FOLLOW_US = 200000 };

// Output of one start, as far as it was printed.
struct log_file {
    char *name;
    off_t printed;
};

struct logs {
    char dir[4400], prefix[32];
    struct log_file *files;
    int n;
};

static int by_name(const void *a, const void *b)
{
    const struct log_file *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static bool find_logs(struct logs *l, struct rb_err *err)
{
    DIR *dir = opendir(l->dir);
    if (!dir)
        return rb_err_set(err, RB_E_DIRECTORY, "cannot list the outputs in %s: %s", l->dir, strerror(errno));
    const int before = l->n;
    for (const struct dirent *e; (e = readdir(dir)) && l->n < MAX_LOGS;) {
        bool known = strncmp(e->d_name, l->prefix, strlen(l->prefix)) != 0;
        for (int i = 0; i < before; i++)
            known = known || strcmp(l->files[i].name, e->d_name) == 0;
        if (known)
            continue;
        l->files = rb_xrealloc(l->files, (size_t)l->n + 1, sizeof *l->files);
        l->files[l->n++] = (struct log_file){.name = rb_xstrdup(e->d_name)};
    }
    closedir(dir);
    if (l->n > before)
        qsort(l->files + before, (size_t)(l->n - before), sizeof *l->files, by_name);
    return true;
}

// The bytes come from nodes: nothing in them reaches the terminal as a control sequence.
static void print_bytes(const char *bytes, size_t n)
{
    char line[4096];
    for (size_t at = 0; at < n;) {
        const char *end = memchr(bytes + at, '\n', n - at);
        size_t len = end ? (size_t)(end - (bytes + at)) : n - at;
        if (len > sizeof line - 1)
            len = sizeof line - 1;
        fputs(rb_log_sanitise(bytes + at, len, line, sizeof line), stdout);
        at += len;
        if (at < n && bytes[at] == '\n') {
            putchar('\n');
            at++;
        }
    }
}

static bool print_more(struct logs *l, struct log_file *f, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    char bytes[65536];
    ssize_t n;
    rb_buf_printf(&path, "%s/%s", l->dir, f->name);
    const int fd = open(rb_buf_str(&path), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return rb_err_set(err, RB_E_FILE_READ, "cannot read %s: %s", rb_buf_str(&path), strerror(errno));
    while ((n = pread(fd, bytes, sizeof bytes, f->printed)) > 0) {
        if (f->printed == 0)
            printf("== %s\n", f->name);
        print_bytes(bytes, (size_t)n);
        f->printed += n;
    }
    close(fd);
    return fflush(stdout) == 0 || rb_err_set(err, RB_E_STDOUT, "cannot write to stdout: %s", strerror(errno));
}

static bool print_logs(struct logs *l, bool follow, struct rb_err *err)
{
    do {
        if (!find_logs(l, err))
            return false;
        for (int i = 0; i < l->n; i++)
            if (!print_more(l, &l->files[i], err))
                return false;
        if (follow)
            usleep(FOLLOW_US);
    } while (follow);
    return l->n > 0 || rb_err_set(err, RB_E_TRIAL_UNKNOWN,
                                  "%s: no such output yet; `rbrun status` says which trials have begun", l->dir);
}

static bool parse_trial(const char *text, int *out, struct rb_err *err)
{
    int64_t trial;
    if (!rb_parse_int(text, &trial) || trial < 0 || trial >= RB_LIMIT_TRIALS)
        return rb_err_set(err, RB_E_OPERANDS, "expected the number of a trial, got \"%.60s\"", text);
    *out = (int)trial;
    return true;
}

static bool logs(const struct rb_args *args, int *out_code, struct rb_err *err)
{
    RB_AUTO(rb_run_files_finish) struct rb_run_files f;
    struct logs l = {.prefix = "trial-"};
    int trial = -1;
    (void)out_code;
    if (!rb_run_files_open(&f, args, args->args[0], err) ||
        (args->n_args > 1 && !parse_trial(args->args[1], &trial, err)))
        return false;
    snprintf(l.dir, sizeof l.dir, "%s/logs", f.dir);
    if (trial >= 0)
        snprintf(l.prefix, sizeof l.prefix, "trial-%04d.", trial);
    const bool ok = print_logs(&l, rb_args_flag(args, "follow"), err);
    for (int i = 0; i < l.n; i++)
        free(l.files[i].name);
    free(l.files);
    return ok;
}

int rb_run_logs(int argc, char **argv)
{
    return rb_run_carry_out(&logs_command, logs, argc, argv);
}

// --- fetch

static const struct rb_option fetch_options[] = {
    {"best", 0, RB_OPT_FLAG, false, NULL, "of the best trial", 0, 0},
    RB_RUN_COMMON_OPTIONS,
    {0},
};

static const struct rb_command fetch_command = {
    .name = "rbrun fetch",
    .usage = "[options] RUN [TRIAL] DIR",
    .summary = "Unpacks a trial's last checkpoint into a new directory.",
    .examples = "  rbrun fetch digits-2026 --best model/\n  rbrun fetch digits-2026 12 trial-12/\n",
    .options = fetch_options,
    .min_args = 2,
    .max_args = 3,
};

static const char *last_checkpoint(const struct rb_task_row *tasks, int n, int trial)
{
    const char *found = NULL;
    for (int i = 0; i < n; i++) // in order of starts
        if (tasks[i].trial == trial && tasks[i].state == RB_TASK_SAVED)
            found = tasks[i].checkpoint;
    return found;
}

static bool which_trial(const struct rb_args *args, struct rb_journal *journal, struct rb_run_files *f, int *out,
                        struct rb_err *err)
{
    struct rb_report report;
    if (rb_args_flag(args, "best") == (args->n_args == 3))
        return rb_err_set(err, RB_E_OPERANDS, "say either --best or the number of a trial (see rbrun fetch --help)");
    if (args->n_args == 3)
        return parse_trial(args->args[1], out, err);
    if (!rb_report_make(journal, &f->plan, &f->arena, &report, err))
        return false;
    *out = report.best_trial;
    return *out >= 0 || rb_err_set(err, RB_E_TRIAL_UNKNOWN, "no trial of %s has reported yet", f->run_id);
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
    printf("trial %d, %s -> %s\n", trial, checkpoint, dir);
    return true;
}

static bool fetch(const struct rb_args *args, int *out_code, struct rb_err *err)
{
    RB_AUTO(rb_run_files_finish) struct rb_run_files f;
    struct rb_journal *journal;
    (void)out_code;
    if (!rb_run_files_open(&f, args, args->args[0], err) || !rb_journal_open_reader(f.journal, &journal, err))
        return false;
    const bool ok = fetch_from(args, journal, &f, err);
    rb_journal_close(journal);
    return ok;
}

int rb_run_fetch(int argc, char **argv)
{
    return rb_run_carry_out(&fetch_command, fetch, argc, argv);
}
