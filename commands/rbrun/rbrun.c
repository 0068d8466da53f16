// rbrun: executes a plan, and manages runs.
#include "commands/rbrun/rbrun_at.h"

#include "base/open_files.h"
#include "commands/program.h"
#include "executor/run/machine_keeper.h"
#include "executor/transport/transport_k8s.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

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
    {"attach", "follows a run until its end, and ends as it does", &rb_run_attach},
    {"browse", "shows many runs as a page, and compares two", &rb_run_browse},
    {"compare", "shows two runs side by side", &rb_run_compare},
    {"doctor", "checks everything a run needs, and launches nothing unless --exec asks for it", &rb_run_doctor},
    {"explain", "explains the number of an error", &rb_run_explain},
    {"export", "sends results to MLflow, TensorBoard, Optuna, CSV or Prometheus", &rb_run_export},
    {"fetch", "unpacks a checkpoint", &rb_run_fetch},
    {"gc", "finds instances whose run no process executes, and ends them", &rb_run_gc},
    {"list", "every run, newest first", &rb_run_list},
    {"logs", "output of the trials", &rb_run_logs},
    {"move", "moves the controller of a run to another host, or back", &rb_run_move},
    {"notify", "sends notices that hooks have not taken", &rb_run_notify},
    {"replan", "changes the limits of a run that is under way", &rb_run_replan},
    {"replay", "checks the journal of a run against a fresh engine", &rb_run_replay},
    {"report", "shows what a run did and cost, beside the prediction", &rb_run_report},
    {"resume", "resumes a run that was interrupted, stopped or killed", &rb_run_resume},
    {"status", "shows the state of a run", &rb_run_status},
    {"stop", "ends a run and its instances", &rb_run_stop},
    {"--pool", "executes several jobs on nodes that they share", &rb_run_pool},
    {0},
};

static void prepare(void)
{
    signal(SIGPIPE, SIG_IGN); // an ssh that died or a pager that was closed causes an error of that write, not our end
    signal(SIGXFSZ, SIG_IGN); // as does a file that may not grow
}

static bool conclude(struct rb_err *err, bool json)
{
    (void)json;
    if (err)
        rb_run_say_what_helps(err);
    return false;
}

int main(int argc, char **argv)
{
    int code;
    keep_private();
    if (rb_transport_k8s_helps(argc, argv, &code))
        return code;
    if (rb_machine_keeper_is(argc, argv))
        return 0;
    static const struct rb_program program = {
        .command = &rb_run_main,
        .open_files = RB_OPEN_FILES_TO_TALK,
        .prepare = prepare,
        .divert = rb_run_divert,
        .conclude = conclude,
    };
    return rb_program_run(&program, argc, argv);
}
