// rbrun stop: stops runs.
#include "commands/rbrun/rbrun.h"

#include "executor/pool/pool_run.h"
#include "executor/run/stop.h"
#include "views/run/run_document.h"
#include "views/run/terminal_run.h"

static const struct rb_option stop_options[] = {RB_RUN_COMMON_OPTIONS, {0}};

static bool end_by_process(const struct rb_run_files *f, int pid, bool json, struct rb_err *err)
{
    struct rb_journal *journal;
    if (!rb_run_stop_process(f, pid, err) || !rb_journal_open_reader(f->journal, &journal, err))
        return false;
    const bool ok = rb_run_report_print(journal, &f->plan, rb_run_is_carried_out(f->root, f->run_id), json, err);
    rb_journal_close(journal);
    return ok;
}

static bool stop(const struct rb_args *args, struct rb_err *err)
{
    RB_AUTO(rb_run_files_finish) struct rb_run_files f;
    const bool json = rb_args_flag(args, "json");
    struct rb_journal *journal;
    int pid;
    if (!rb_run_files_open(&f, rb_run_state_dir(args), args->args[0], err) || !rb_pool_check_alone(&f, "stop", err) ||
        !rb_run_find_process(&f, &pid, err))
        return false;
    if (pid > 0)
        return end_by_process(&f, pid, json, err);
    if (!rb_journal_open(f.journal, &journal, err))
        return false;
    const struct rb_session_options options = {.end_it = true, .json = json};
    const bool ok = rb_terminal_run(&f, journal, &options, args->out_code, err);
    rb_journal_close(journal);
    return ok;
}

const struct rb_command rb_run_stop = {
    .name = "rbrun stop",
    .usage = "[options] RUN",
    .summary = "Ends a run: its trials, its instances, and proves that none is left. It can be resumed later.",
    .examples = "  rbrun stop digits-2026\n",
    .options = stop_options,
    .min_args = 1,
    .max_args = 1,
    .run = stop,
};
