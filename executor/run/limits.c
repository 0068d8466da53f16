#include "executor/run/limits.h"

#include "base/clock.h"
#include "base/errors/log.h"
#include "executor/run/drift.h"
#include "simulator/model/evaluate.h"
#include "simulator/world/world_evaluate.h"

#define ASYNC_RUNS 1024 // of the engine: some tenths of a second

// --- a run that begins

static bool estimate_again(const struct rb_scenario *s, const struct rb_plan *plan, int64_t deadline_us,
                          int64_t budget_uusd, struct rb_estimate *out, struct rb_err *err)
{
    struct rb_evaluate_options options = rb_evaluate_defaults();
    options.deadline_us = deadline_us;
    options.budget_uusd = budget_uusd;
    if (!rb_plan_is_by_engine(plan))
        return rb_evaluate(s, plan->stages, plan->n_stages, &options, out, NULL, err);
    struct rb_plan limited = *plan; // policies read the deadline they work towards
    limited.deadline_us = deadline_us;
    limited.budget_uusd = budget_uusd;
    const struct rb_world_runs runs = {
        .samples = rb_world_affordable_runs(&limited, ASYNC_RUNS),
        .threads = 1,
        .deadline_us = deadline_us,
        .budget_uusd = budget_uusd,
        .past_budget = !rb_plan_decides_while_it_runs(plan),
    };
    return rb_world_evaluate(s, &limited, &runs, out, NULL, err);
}

static bool still_fits(const struct rb_plan *plan, const struct rb_machine *machine, int64_t deadline_us, int64_t budget_uusd,
                       struct rb_err *err)
{
    struct rb_scenario scenario;
    struct rb_estimate estimate;
    char remaining[32], p95[32], kept[32], asked[32];
    if (!rb_scenario_init(&scenario, plan->job, plan->profile, plan->offers, plan->n_offers, plan->catalog, plan->seed,
                          err))
        return false;
    const bool ok = estimate_again(&scenario, plan, deadline_us, budget_uusd, &estimate, err);
    rb_scenario_finish(&scenario);
    // A plan that counts on re-planning keeps its limits less often by itself.
    const double promised = plan->estimate.p_both, c = plan->confidence;
    const double asked_p = promised < c ? promised - RB_DRIFT_MARGIN : c;
    if (!ok || estimate.p_both >= asked_p)
        return ok;
    rb_format_probabilities(estimate.p_both, asked_p, kept, asked);
    return rb_err_set(err, RB_E_PLAN_LATE,
                      "the plan no longer fits: it keeps deadline (%s from now) and budget with probability %s, %s is "
                      "asked for, and 95 %% of its runs take up to %s; plan again with `rbplan%s%s`",
                      deadline_us < 0 ? "none" : rb_format_duration(deadline_us, remaining), kept, asked,
                      rb_format_duration(estimate.time_us.p95, p95), machine ? " --at " : "",
                      machine ? machine->infra : "");
}

// What a controller's machine may cost is not there for nodes.
static bool set_aside(const struct rb_plan *plan, const struct rb_machine *machine, int64_t deadline_us, int64_t *budget_uusd,
                      int64_t *max_uusd, struct rb_err *err)
{
    if (!machine)
        return true;
    if (deadline_us < 0 && plan->unpredicted)
        return rb_err_set(err, RB_E_PLACE,
                          "nothing says how long the run takes, so neither what its controller's machine costs: give "
                          "--deadline");
    const int64_t most_uusd = rb_machine_most_uusd(machine, plan, deadline_us);
    return rb_machine_set_aside(most_uusd, budget_uusd, err) && rb_machine_set_aside(most_uusd, max_uusd, err);
}

bool rb_run_limits(const struct rb_plan *plan, const char *text, int64_t budget_uusd, int64_t max_uusd,
                   const struct rb_machine *machine, int64_t *out_deadline_us, int64_t *out_budget_uusd, struct rb_err *err)
{
    int64_t deadline_us = plan->deadline_us, at_us = text ? -1 : plan->deadline_at_us;
    if (text && !rb_parse_instant(text, &at_us, NULL) && !rb_parse_duration(text, &deadline_us, err))
        return rb_err_prefix(err, "--deadline");
    if (at_us >= 0)
        deadline_us = at_us - rb_clock_unix_us();
    if (at_us >= 0 && deadline_us <= 0)
        return rb_err_set(err, RB_E_PLAN_LATE, "the deadline has passed; plan again with `rbplan --deadline`");
    if (!set_aside(plan, machine, deadline_us, &budget_uusd, &max_uusd, err))
        return false;
    const bool tighter = at_us >= 0 || deadline_us != plan->deadline_us || budget_uusd != plan->budget_uusd;
    if (tighter && !still_fits(plan, machine, deadline_us, budget_uusd, err))
        return false;
    *out_deadline_us = deadline_us;
    *out_budget_uusd = max_uusd >= 0 && (budget_uusd < 0 || max_uusd < budget_uusd) ? max_uusd : budget_uusd;
    return true;
}

// --- a run that is resumed

static bool raise_deadline(const char *text, int64_t now_us, int64_t *deadline_us, struct rb_err *err)
{
    int64_t given;
    if (!text)
        return true;
    if (!rb_parse_duration(text + (text[0] == '+'), &given, err))
        return rb_err_prefix(err, "--deadline");
    const int64_t from = *deadline_us > now_us ? *deadline_us : now_us;
    *deadline_us = text[0] == '+' ? from + given : given;
    return true;
}

static bool raise_budget(const char *text, int64_t *budget_uusd, struct rb_err *err)
{
    int64_t given;
    if (!text)
        return true;
    if (!rb_parse_money(text + (text[0] == '+'), &given, err))
        return rb_err_prefix(err, "--budget");
    *budget_uusd = text[0] == '+' && *budget_uusd >= 0 ? *budget_uusd + given : given;
    return true;
}

static bool check_approved(int64_t budget_uusd, int64_t approved_uusd, struct rb_err *err)
{
    char most[32];
    if (approved_uusd < 0 || (budget_uusd >= 0 && budget_uusd <= approved_uusd))
        return true;
    return rb_err_set(err, RB_E_APPROVAL_COST,
                      "at most %s was approved for this run; more needs a plan and an approval of its own",
                      rb_format_money(approved_uusd, most));
}

bool rb_run_change_limits(const char *deadline, const char *budget, int64_t now_us, int64_t approved_uusd,
                          int64_t *deadline_us, int64_t *budget_uusd, struct rb_err *err)
{
    int64_t new_deadline_us = *deadline_us, new_budget_uusd = *budget_uusd;
    if (!raise_deadline(deadline, now_us, &new_deadline_us, err) || !raise_budget(budget, &new_budget_uusd, err) ||
        !check_approved(new_budget_uusd, approved_uusd, err))
        return false;
    *deadline_us = new_deadline_us;
    *budget_uusd = new_budget_uusd;
    return true;
}

bool rb_run_raise_limits(struct rb_journal *journal, const char *deadline, const char *budget, int64_t approved_uusd,
                         struct rb_err *err)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_journal_meta meta;
    if (!rb_journal_meta(journal, &arena, &meta, err))
        return false;
    const int64_t now_us = rb_clock_unix_us() - meta.started_unix_us;
    if (!rb_run_change_limits(deadline, budget, now_us, approved_uusd, &meta.deadline_us, &meta.budget_uusd, err))
        return false;
    if (meta.deadline_us >= 0 && meta.deadline_us <= now_us)
        rb_warn("the deadline of this run has passed: the rest of it will be cleaned up; more time: "
                "--deadline +1h");
    return rb_journal_set_limits(journal, meta.deadline_us, meta.budget_uusd, err);
}
