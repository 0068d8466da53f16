// rbplan --with-replanning: runs of the job will leave their plan where that keeps its limits or costs less. So a plan may
// begin with fewer nodes than keep the limits by themselves.
#include "commands/rbplan/rbplan.h"

#include "base/errors/log.h"
#include "executor/rehearsal/worth.h"

#include <string.h>

static bool check(const struct rb_plan *plan, struct rb_err *err)
{
    if (strcmp(plan->policy, "elastic") != 0 || plan->job->on_drift != RB_DRIFT_REPLAN || plan->job->on_average)
        return rb_err_set(err, RB_E_OPTIONS_CONFLICT,
                          "--with-replanning: expected a job with policy elastic, on_drift: replan and a confidence; "
                          "otherwise its runs keep to their plan");
    if (plan->deadline_us < 0 && plan->budget_uusd < 0)
        return rb_err_set(err, RB_E_OPTION_ALONE,
                          "--with-replanning: expected a limit to keep: --deadline D, --budget USD or those keys");
    return true;
}

// Plans that keep the limits less often; those that there are not are left out. [RB_WORTH_OTHERS]
static int make_others(const struct rb_plan_request *req, const char *planner, const struct rb_plan *plan,
                       struct rb_arena *arena, struct rb_plan *others)
{
    int n = 0;
    for (int i = 0; i < RB_WORTH_OTHERS; i++) {
        struct rb_plan_request other = *req;
        struct rb_plan_result result;
        struct rb_err err;
        other.confidence = rb_worth_confidences[i];
        other.alone = true;
        if (rb_worth_confidences[i] >= req->confidence || !rb_make_plan(&other, planner, arena, &others[n], &result, &err))
            continue;
        others[n].confidence = plan->confidence;
        others[n].baselines = plan->baselines;
        others[n].n_baselines = plan->n_baselines;
        n++;
    }
    return n;
}

static void warn(struct rb_plan *plan, const char *text, struct rb_arena *arena)
{
    const char **warnings = rb_arena_array(arena, (size_t)plan->n_warnings + 1, sizeof *warnings);
    for (int i = 0; i < plan->n_warnings; i++)
        warnings[i] = plan->warnings[i];
    warnings[plan->n_warnings++] = text;
    plan->warnings = warnings;
}

static void count_on_it(struct rb_plan *plan, const struct rb_worth *w, struct rb_arena *arena)
{
    plan->bound.present = plan->bound.proved = false;
    plan->bound.why_not = "it counts on re-planning";
    warn(plan,
         rb_arena_printf(arena,
                         "this plan counts on re-planning: by itself it keeps its limits with %.3f, re-planned with %.3f "
                         "(%.3f to %.3f at 95 %%)",
                         plan->estimate.p_both, w->kept.share, w->kept.low, w->kept.high),
         arena);
}

bool rb_plan_with_replanning(const struct rb_plan_request *req, const char *planner, struct rb_arena *arena,
                             struct rb_plan *io, struct rb_buf *out, struct rb_err *err)
{
    struct rb_plan others[RB_WORTH_OTHERS];
    const struct rb_plan *plans[1 + RB_WORTH_OTHERS] = {io};
    struct rb_worth worth;
    int chosen;
    char mean[32], low[32], high[32];
    if (!check(io, err))
        return false;
    const int n = 1 + make_others(req, planner, io, arena, others);
    for (int i = 1; i < n; i++)
        plans[i] = &others[i - 1];
    const int ranked = req->samples < RB_WORTH_RANKED ? req->samples : RB_WORTH_RANKED;
    const int stated = req->samples < RB_WORTH_STATED ? req->samples : RB_WORTH_STATED;
    if (!rb_worth_choose(plans, n, ranked, stated, req->threads, &chosen, &worth, err))
        return false;
    if (chosen > 0) {
        *io = others[chosen - 1];
        count_on_it(io, &worth, arena);
    }
    rb_buf_printf(out, "with re-planning: %s (%s to %s), P(limits kept) %.3f (%.3f to %.3f), by %d simulated runs, at 95 %%\n",
                  rb_format_money((int64_t)worth.cost_uusd.mean, mean), rb_format_money((int64_t)worth.cost_uusd.low, low),
                  rb_format_money((int64_t)worth.cost_uusd.high, high), worth.kept.share, worth.kept.low, worth.kept.high,
                  stated);
    return true;
}
