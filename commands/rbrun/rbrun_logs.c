// rbrun logs: prints the output of trials, from the files that the run keeps of it.
#include "commands/rbrun/rbrun.h"

#include "views/run/trial_logs.h"

static const struct rb_option logs_options[] = {
    {"follow", 'f', RB_OPT_FLAG, false, NULL, "continue with new output, until interrupted", 0, 0},
    RB_RUN_COMMON_OPTIONS,
    {0},
};

static bool logs(const struct rb_args *args, struct rb_err *err)
{
    RB_AUTO(rb_run_files_finish) struct rb_run_files f;
    int trial = -1;
    return rb_run_files_open(&f, rb_run_state_dir(args), args->args[0], err) &&
           (args->n_args < 2 || rb_run_parse_trial(args->args[1], &trial, err)) &&
           rb_trial_logs_print(f.dir, f.run_id, trial, rb_args_flag(args, "follow"), rb_args_flag(args, "json"), err);
}

const struct rb_command rb_run_logs = {
    .name = "rbrun logs",
    .usage = "[options] RUN [TRIAL]",
    .summary = "Prints the output of the trials, in order of their starts. RUN: its id, its job's name, or the "
               "beginning of either.",
    .examples = "  rbrun logs digits-2026\n  rbrun logs digits-2026 12 -f\n  rbrun logs digits-2026 --json\n",
    .options = logs_options,
    .min_args = 1,
    .max_args = 2,
    .run = logs,
};
