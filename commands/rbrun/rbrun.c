// rbrun: executes a plan, and manages runs.
#include "commands/rbrun/rbrun.h"

#include "base/text/closest.h"
#include "base/file.h"
#include "base/open_files.h"
#include "commands/rbrun/rbrun_pool.h"
#include "commands/version.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

// Secrets are in this process's environment and memory: no core file, and no file of ours that others can read.
static void keep_private(void)
{
    umask(077);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
#ifdef PR_SET_DUMPABLE
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#endif
}

const struct rb_subcommand rb_run_subcommands[] = {
    {"browse", "shows many runs as a page, and compares two", rb_run_browse},
    {"compare", "shows two runs side by side", rb_run_compare},
    {"doctor", "checks everything a run needs, and launches nothing", rb_run_doctor},
    {"explain", "explains the number of an error", rb_run_explain},
    {"export", "sends results to MLflow, TensorBoard, Optuna, CSV or Prometheus", rb_run_export},
    {"fetch", "unpacks a checkpoint", rb_run_fetch},
    {"gc", "finds instances whose run no process executes, and ends them", rb_run_gc},
    {"list", "every run, newest first", rb_run_list},
    {"logs", "output of the trials", rb_run_logs},
    {"replay", "checks the journal of a run against a fresh engine", rb_run_replay},
    {"report", "shows what a run did and cost, beside the prediction", rb_run_report},
    {"resume", "resumes a run that was interrupted, stopped or killed", rb_run_resume},
    {"status", "shows the state of a run", rb_run_status},
    {"stop", "ends a run and its instances", rb_run_stop},
    {"--pool", "executes several jobs on nodes that they share", rb_run_pool},
    {0},
};
#define N_SUBCOMMANDS ((int)(sizeof rb_run_subcommands / sizeof *rb_run_subcommands) - 1)

// "rbrun statsu": no file of that name, and close to a subcommand.
static const char *misspelt(const char *word)
{
    const char *names[N_SUBCOMMANDS];
    if (word[0] == '-' || access(word, F_OK) == 0)
        return NULL;
    for (int i = 0; i < N_SUBCOMMANDS; i++)
        names[i] = rb_run_subcommands[i].name;
    return rb_closest(word, names, N_SUBCOMMANDS);
}

int main(int argc, char **argv)
{
    rb_keep_standard_streams();
    rb_args_help_word(argc, argv);
    if (rb_version_asked("rbrun", argc, argv))
        return 0;
    const int refused = rb_open_files_begin("rbrun", RB_OPEN_FILES_TO_TALK);
    if (refused)
        return refused;
    keep_private();
    signal(SIGPIPE, SIG_IGN); // an ssh that died or a pager that was closed causes an error of that write, not our end
    signal(SIGXFSZ, SIG_IGN); // as does a file that may not grow
    for (const struct rb_subcommand *s = rb_run_subcommands; argc > 1 && s->name; s++) {
        if (strcmp(argv[1], s->name) == 0 && s->name[0] != '-')
            return s->run(argc - 1, argv + 1);
    }
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--pool") == 0 || strncmp(argv[i], "--pool=", 7) == 0)
            return rb_run_pool(argc, argv);
    }
    const char *meant = argc > 1 ? misspelt(argv[1]) : NULL;
    if (meant) {
        struct rb_err err;
        rb_err_set(&err, RB_E_SUBCOMMAND, "no subcommand and no file \"%.60s\"; did you mean %s?", argv[1], meant);
        rb_err_print(&err, "rbrun", false);
        return rb_err_exit_code(&err);
    }
    return rb_run_main(argc, argv);
}
