// rbrun replan: changes the limits of a run that is under way, and looks for nodes that keep them.
#include "base/errors/log.h"
#include "commands/rbrun/rbrun.h"
#include "engine/core/policy.h"
#include "executor/pool/pool_run.h"
#include "executor/run/limits_request.h"

#include <stdio.h>

static const struct rb_option replan_options[] = {
    {"deadline", 0, RB_OPT_STRING, false, "[+]D", "from the start of the run; +1h: one hour more", 0, 0},
    {"budget", 0, RB_OPT_STRING, false, "[+]USD", "of the whole run; +10: ten dollars more", 0, 0},
    RB_RUN_COMMON_OPTIONS,
    {0},
};

static bool check(const struct rb_run_files *f, const char *deadline, const char *budget, struct rb_err *err)
{
    const struct rb_policy *policy = rb_policy_find(f->plan.policy);
    if (!deadline && !budget)
        return rb_err_set(err, RB_E_OPTION_VALUE, "expected --deadline D or --budget USD, or both");
    if (rb_pool_is_one(f->dir) || f->plan.unpredicted)
        return rb_err_set(err, RB_E_LIMITS_FIXED,
                          "%s is a pool, whose jobs share its limits: stop it and go on: rbrun stop %s, rbrun resume %s "
                          "--deadline D --budget USD",
                          f->run_id, f->run_id, f->run_id);
    if (policy && policy->anytime && deadline)
        return rb_err_set(err, RB_E_LIMITS_FIXED,
                          "policy %s works towards the deadline that the run began with: stop it and go on: rbrun stop %s, "
                          "rbrun resume %s --deadline D",
                          f->plan.policy, f->run_id, f->run_id);
    return rb_pool_check_alone(f, "replan", err);
}

static bool print(const struct rb_run_files *f, const struct rb_limits_answer *a, bool json, struct rb_err *err)
{
    struct rb_buf out = RB_BUF_INIT;
    struct rb_json j = {.out = &out};
    if (json)
        rb_json_put(&j, "{format: 'rb-replan/1' run: %s deadline_us: %jd|null budget_uusd: %jd|null replanned: %i kept: %i "
                        "text: %s}",
                    f->run_id, a->deadline_us, a->budget_uusd, a->replanned, a->kept, a->text);
    else
        rb_buf_printf(&out, "%s%s", a->replanned ? "replanned: " : "", a->text);
    rb_buf_putc(&out, '\n');
    return rb_print(&out, err) &&
           (a->kept || rb_err_set(err, RB_E_LIMITS_LATE, "the limits hold from now on, and will probably be missed: %s", a->text));
}

static bool replan(const struct rb_args *args, struct rb_err *err)
{
    RB_AUTO(rb_run_files_finish) struct rb_run_files f = {0};
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    const char *deadline = rb_args_string(args, "deadline", NULL), *budget = rb_args_string(args, "budget", NULL);
    struct rb_limits_answer answer;
    return rb_run_files_open(&f, rb_run_state_dir(args), args->args[0], err) && check(&f, deadline, budget, err) &&
           rb_limits_ask(&f, deadline, budget, &arena, &answer, err) &&
           print(&f, &answer, rb_args_flag(args, "json"), err);
}

const struct rb_command rb_run_replan = {
    .name = "rbrun replan",
    .usage = "[options] RUN",
    .summary = "Changes deadline and budget of a run that is under way, and looks at once for other nodes for the stages that "
               "have not begun: those that keep the limits, or cheaper ones where they have been relaxed. Exit code 3: the "
               "limits hold, but no nodes keep them with the confidence asked.",
    .examples = "  rbrun replan digits-2026 --deadline 2h\n"
                "  rbrun replan digits-2026 --deadline +30m --budget +5\n",
    .options = replan_options,
    .min_args = 1,
    .max_args = 1,
    .run = replan,
};
