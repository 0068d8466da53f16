// rbrun doctor: would a run work, and if not, what helps? Reads, changes nothing, launches nothing unless --exec asks for it.
#include "commands/rbrun/rbrun.h"

#include "executor/doctor/doctor.h"
#include "views/tables/doctor_table.h"

static const struct rb_option options[] = {
    {"infra", 0, RB_OPT_STRING, true, "aws/us-east-1", "look at this one, too (default: those of the plan)", 0, 0},
    {"exec", 0, RB_OPT_FLAG, false, NULL, "also start one pod in each cluster of Kubernetes, measure a command in it, delete it", 0, 0},
    RB_RUN_COMMON_OPTIONS,
    {0},
};

static bool examine(const struct rb_args *args, struct rb_err *err)
{
    RB_AUTO(rb_doctor_finish) struct rb_doctor d;
    const char *infra;
    rb_doctor_init(&d, rb_run_state_dir(args));
    if (args->n_args > 0 && !rb_doctor_read(&d, args->args[0], err))
        return false;
    for (int i = 0; (infra = rb_args_nth(args, "infra", i)); i++)
        if (!rb_doctor_add_infra(&d, infra, err))
            return false;
    rb_doctor_examine(&d);
    if (rb_args_flag(args, "exec"))
        rb_doctor_exec(&d);
    *args->out_code = rb_doctor_exit_code(&d);
    return rb_doctor_show(&d, rb_args_flag(args, "json"), err);
}

const struct rb_command rb_run_doctor = {
    .name = "rbrun doctor",
    .usage = "[options] [plan.json | job.yaml]",
    .summary = "Checks everything a run needs: ssh, credentials, permissions, images, quotas, clock, prices, left-over "
               "instances. Launches nothing without --exec.",
    .examples = "  rbrun doctor plan.json\n"
                "  rbrun doctor job.yaml          # before there is a plan: all but quotas and prices\n"
                "  rbrun doctor --infra aws/us-east-1\n"
                "  rbrun doctor plan.json --json\n"
                "  rbrun doctor plan.json --exec  # Kubernetes: also a command in a pod\n",
    .options = options,
    .max_args = 1,
    .run = examine,
};
