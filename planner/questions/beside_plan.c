#include "planner/questions/beside_plan.h"

#include "base/text/units.h"
#include "engine/core/policy.h"

#include <stdlib.h>
#include <string.h>

#define MOST_WHAT_IFS  8
#define CUT            "searches were cut at a limit: cheaper plans may exist"
#define SPOT_NOTE      "the planners' plans are on demand throughout; with spot: the run uses spot machines while it could lose them and " \
                       "still be in time on demand, at the same confidence"
#define FRONTIER_PLANS 20 // deadlines, about

// ---- planned: what if

// "deadline=1h30m", this percentage of what was asked for.
static const char *duration_change(const char *key, int64_t us, int percent, struct rb_arena *arena)
{
    char text[32];
    const int64_t whole_s = us / 100 * percent / RB_US_PER_S;
    return rb_arena_printf(arena, "%s=%s", key, rb_format_duration_exact(whole_s * RB_US_PER_S, text));
}

static const char *money_change(const char *key, int64_t uusd, int percent, struct rb_arena *arena)
{
    char text[32];
    return rb_arena_printf(arena, "%s=%s", key, rb_format_money_exact(uusd / 100 * percent, text));
}

// Default scenarios. Returns their number.
static int usual_questions(const struct rb_plan_request *req, struct rb_arena *arena, const char **out)
{
    int n = 0;
    const bool by_budget = req->deadline_us < 0 && req->budget_uusd >= 0;
    for (int i = 0; i < 3; i++) {
        static const int percents[] = {75, 125, 150};
        if (req->deadline_us >= 4 * RB_US_PER_S)
            out[n++] = duration_change("deadline", req->deadline_us, percents[i], arena);
        else if (by_budget)
            out[n++] = money_change("budget", req->budget_uusd, percents[i], arena);
    }
    out[n++] = "price=-20%";
    out[n++] = "price=+20%";
    out[n++] = req->job->resources.spot == RB_SPOT_NEVER ? "spot=allow" : "spot=never";
    if (req->job->scheduler.num_trials > 0)
        out[n++] = rb_arena_printf(arena, "num_trials=%lld", 2LL * req->job->scheduler.num_trials);
    return n;
}

// True if the scenario applies to this job.
static bool makes_sense(const struct rb_plan_request *req, const char *text, struct rb_arena *arena)
{
    struct rb_what_if scenario;
    struct rb_plan_request changed;
    struct rb_offer *offers;
    int n_offers;
    struct rb_err why;
    return rb_what_if_parse(text, arena, &scenario, &why) &&
           rb_what_if_request(req, &scenario, arena, &changed, &why) &&
           rb_planner_offers(changed.job, changed.catalog, arena, &offers, &n_offers, &why);
}

static int sensible_questions(const struct rb_plan_request *req, struct rb_arena *arena, const char **out)
{
    const char *usual[MOST_WHAT_IFS];
    const int n_usual = usual_questions(req, arena, usual);
    int n = 0;
    for (int i = 0; i < n_usual; i++) {
        if (makes_sense(req, usual[i], arena))
            out[n++] = usual[i];
    }
    return n;
}

static bool any_was_cut(const struct rb_what_if_table *table)
{
    for (int i = 0; i < table->n; i++) {
        if (table->rows[i].result.cut)
            return true;
    }
    return false;
}

// The base is the plan itself.
static bool ask_what_if(const struct rb_plan_request *req, const struct rb_plan *plan,
                        const struct rb_plan_result *result, const char *const *texts, int n, bool are_usual,
                        struct rb_arena *arena, struct rb_beside_plan *out, struct rb_err *err)
{
    struct rb_what_if_table *table = rb_arena_array(arena, 1, sizeof *table);
    struct rb_plan_request asked = *req;
    asked.hints = &result->best;
    asked.n_hints = 1;
    if (!rb_what_if_plan(&asked, plan->planner, texts, n, arena, table, err)) {
        if (!are_usual)
            return false;
        out->what_if_note = rb_arena_printf(arena, "left out: %s", err->message);
        return true;
    }
    table->base.feasible = true;
    table->base.estimate = plan->estimate;
    table->base.result = *result;
    out->what_if = table;
    out->what_if_note = any_was_cut(table) ? CUT : NULL;
    return true;
}

// ---- planned: the frontier

static const char *why_no_frontier(const struct rb_plan *plan)
{
    const struct rb_policy *policy = rb_policy_find(plan->policy);
    if (plan->job->on_average)
        return "left out: confidence: mean has a planner of its own, which plans once";
    if (rb_plan_is_free(plan))
        return "left out: nothing costs anything here";
    if (policy && policy->keeps_cluster)
        return "left out: the policy keeps the nodes of the first stage, so there is one planner only";
    return NULL;
}

static void find_frontier(const struct rb_plan_request *req, struct rb_arena *arena, struct rb_beside_plan *out)
{
    struct rb_pareto *frontier = rb_arena_array(arena, 1, sizeof *frontier);
    struct rb_err why;
    if (!rb_pareto_find(req, arena, frontier, &why)) {
        out->frontier_note = rb_arena_printf(arena, "left out: %s", why.message);
        return;
    }
    out->frontier = frontier;
    out->frontier_note = frontier->cut ? CUT : NULL;
}

// --time-limit is for each plan: planning n more takes n times as long.
struct longer {
    const struct rb_plan_request *of; // has the clock
    double from, times;
};

static double longer_used(void *ctx)
{
    const struct longer *l = ctx;
    return (l->of->time_used(l->of->out_of_time_ctx) - l->from) / l->times;
}

static bool longer_is_over(void *ctx)
{
    return longer_used(ctx) >= 1;
}

// The same request again, silent, on a clock of its own from now on.
static struct rb_plan_request ask_more(const struct rb_plan_request *req, int n_plans, struct longer *clock)
{
    struct rb_plan_request more = *req;
    more.explain = NULL; // it is about one plan
    if (!req->time_used)
        return more;
    *clock = (struct longer){.of = req, .from = req->time_used(req->out_of_time_ctx), .times = n_plans};
    more.time_used = longer_used;
    more.out_of_time = longer_is_over;
    more.out_of_time_ctx = clock;
    more.time_limit_us = n_plans * req->time_limit_us;
    return more;
}

bool rb_plan_beside(const struct rb_plan_request *req, const struct rb_plan *plan, const struct rb_plan_result *result,
                    const char *const *what_ifs, int n, struct rb_arena *arena, struct rb_beside_plan *out,
                    struct rb_err *err)
{
    struct longer clock;
    const char *usual[MOST_WHAT_IFS];
    const bool are_usual = n == 0;
    *out = (struct rb_beside_plan){.frontier_note = why_no_frontier(plan)};
    if (plan->job->on_average) {
        out->what_if_note = out->frontier_note;
    } else {
        if (are_usual)
            n = sensible_questions(req, arena, usual);
        const struct rb_plan_request more = ask_more(req, n + 1, &clock);
        if (!ask_what_if(&more, plan, result, are_usual ? usual : what_ifs, n, are_usual, arena, out, err))
            return false;
    }
    if (!out->frontier_note) {
        const struct rb_plan_request more = ask_more(req, FRONTIER_PLANS, &clock);
        find_frontier(&more, arena, out);
        if (plan->spot && out->frontier && !out->frontier_note)
            out->frontier_note = out->frontier->spot_cut ? CUT : SPOT_NOTE;
    }
    return true;
}
