#include "planner/questions/way_out.h"

#include "planner/questions/nearest.h"
#include "planner/questions/what_if.h"
#include "planner/scores/scorer.h"

#include <math.h>

enum { CONFIRMATIONS = 5 };
#define LEAST_UUSD (RB_UUSD / 100) // of nodes
#define LOOSER 1.01 // factor for constraints that failed when asked for, because samples of plans differ

struct quest {
    struct rb_plan_request req;
    const char *planner;
    struct rb_arena *arena;
    double took; // of a time limit: what the plan took that was asked for; 0: there is no limit
};

// Budgets are those of the whole run. False: no plan, or an error, which is treated the same here.
static bool ask(const struct quest *q, int64_t deadline_us, int64_t budget_uusd, struct rb_plan_result *out,
                struct rb_plan *out_plan)
{
    struct rb_plan_request req = q->req;
    struct rb_err ignored = {0};
    *out = (struct rb_plan_result){.nearest_deadline_us = -1, .nearest_budget_uusd = -1, .nearest_confidence = NAN};
    req.deadline_us = deadline_us;
    req.budget_uusd = budget_uusd < 0 ? -1 : budget_uusd - rb_beside_uusd(&req);
    if (budget_uusd >= 0 && req.budget_uusd < LEAST_UUSD)
        req.budget_uusd = LEAST_UUSD;
    return rb_make_plan(&req, q->planner, q->arena, out_plan, out, &ignored);
}

static int64_t least_deadline_us(const struct quest *q, int64_t budget_uusd)
{
    struct rb_plan_result result;
    struct rb_plan plan;
    return ask(q, RB_US_PER_S, budget_uusd, &result, &plan) ? RB_US_PER_S : result.nearest_deadline_us;
}

static int64_t least_budget_uusd(const struct quest *q, int64_t deadline_us)
{
    struct rb_plan_result result;
    struct rb_plan plan;
    struct rb_plan_request req = q->req;
    req.deadline_us = deadline_us;
    return ask(q, deadline_us, LEAST_UUSD, &result, &plan) ? LEAST_UUSD + rb_beside_uusd(&req) : result.nearest_budget_uusd;
}

static int64_t loosen(int64_t value, int64_t unit)
{
    return ((int64_t)((double)value * LOOSER) + unit - 1) / unit * unit;
}

static bool add_pair(const struct quest *q, struct rb_way_out_pair pair, struct rb_way_out *out)
{
    struct rb_plan_result result;
    struct rb_plan plan;
    for (int i = 0; i < CONFIRMATIONS && pair.deadline_us >= 0 && pair.budget_uusd >= 0; i++) {
        if (ask(q, pair.deadline_us, pair.budget_uusd, &result, &plan)) {
            *(out->n_pairs++ == 0 ? &out->fastest : &out->cheapest) = pair;
            return true;
        }
        pair.deadline_us = loosen(pair.deadline_us, RB_US_PER_S);
        pair.budget_uusd = loosen(pair.budget_uusd, RB_UUSD / 100);
    }
    return false;
}

static void find_pairs(const struct quest *q, struct rb_way_out *out)
{
    struct rb_way_out_pair fastest = {.deadline_us = least_deadline_us(q, -1)};
    struct rb_way_out_pair cheapest = {.budget_uusd = least_budget_uusd(q, -1)};
    fastest.budget_uusd = fastest.deadline_us < 0 ? -1 : least_budget_uusd(q, fastest.deadline_us);
    cheapest.deadline_us = cheapest.budget_uusd < 0 ? -1 : least_deadline_us(q, cheapest.budget_uusd);
    add_pair(q, fastest, out);
    if (cheapest.deadline_us != fastest.deadline_us || cheapest.budget_uusd != fastest.budget_uusd)
        add_pair(q, cheapest, out);
}

// --- the limit that binds

static bool try_limit(const struct quest *q, const char *what, const char *set, struct rb_way_out *out)
{
    struct rb_plan_request req;
    struct rb_what_if scenario;
    struct rb_plan_result result;
    struct rb_plan plan;
    struct rb_err ignored = {0};
    if (!rb_what_if_parse(what, q->arena, &scenario, &ignored) ||
        !rb_what_if_request(&q->req, &scenario, q->arena, &req, &ignored) ||
        !rb_make_plan(&req, q->planner, q->arena, &plan, &result, &ignored))
        return false;
    out->limit = (struct rb_way_out_limit){
        .what = set, .time_us = plan.estimate.time_us.mean, .cost_uusd = plan.estimate.cost_uusd.mean};
    return true;
}

static bool try_max_nodes(const struct quest *q, int n, struct rb_way_out *out)
{
    return try_limit(q, rb_arena_printf(q->arena, "max_nodes=%d", n),
                     rb_arena_printf(q->arena, "resources.max_nodes=%d", n), out);
}

static double used(const struct rb_plan_request *req)
{
    return req->time_used ? req->time_used(req->out_of_time_ctx) : 0;
}

// Another plan may take as long as the first.
static bool is_late(const struct quest *q)
{
    return q->req.out_of_time && (used(&q->req) + q->took > 1 || q->req.out_of_time(q->req.out_of_time_ctx));
}

// Doubles until there is a plan, then bisects between the last two: the smallest sufficient value, unless time is up.
static bool find_max_nodes(const struct quest *q, struct rb_way_out *out)
{
    const struct rb_job *job = q->req.job;
    int none = job->resources.max_nodes, some = none;
    const int64_t most = (int64_t)job->scheduler.num_trials * job->trial.sizes[job->trial.n_sizes - 1];
    do {
        none = some;
        some *= 2;
    } while (none < most && !is_late(q) && !try_max_nodes(q, some, out));
    if (!out->limit.what)
        return false;
    while (some - none > 1 && !is_late(q)) {
        const int middle = none + (some - none) / 2;
        *(try_max_nodes(q, middle, out) ? &some : &none) = middle;
    }
    return true;
}

void rb_way_out_find(const struct rb_plan_request *req, const char *planner, const struct rb_plan_result *result,
                     struct rb_arena *arena, struct rb_way_out *out)
{
    struct quest q = {.req = *req, .planner = planner, .arena = arena, .took = used(req)};
    const bool alone = result->nearest_deadline_us >= 0 || result->nearest_budget_uusd >= 0;
    *out = (struct rb_way_out){0};
    q.req.alone = true;
    q.req.explain = NULL;
    q.req.marginal = false;
    q.req.hints = NULL;
    q.req.n_hints = 0;
    if (!alone && req->deadline_us >= 0 && req->budget_uusd >= 0)
        find_pairs(&q, out);
    if (is_late(&q) || rb_scorer_of(req->job)->slow)
        return;
    if (!find_max_nodes(&q, out) && req->job->resources.spot == RB_SPOT_NEVER && !is_late(&q))
        try_limit(&q, "spot=allow", "resources.spot=allow", out);
}

// --- as words, and as JSON

void rb_way_out_say(const struct rb_way_out *out, struct rb_buf *text)
{
    const struct rb_way_out_pair *pairs[] = {&out->fastest, &out->cheapest};
    char a[32], b[32];
    for (int i = 0; i < out->n_pairs; i++)
        rb_buf_printf(text, "%s --deadline %s --budget %s", i ? ", or" : "; both changed together would do:",
                      rb_format_duration_exact(pairs[i]->deadline_us, a),
                      rb_format_money_exact(pairs[i]->budget_uusd, b));
    if (out->limit.what)
        rb_buf_printf(text, "; with --set %s a plan keeps them as they are: %s, %s", out->limit.what,
                      rb_format_duration(out->limit.time_us, a), rb_format_money(out->limit.cost_uusd, b));
}

void rb_way_out_write(const struct rb_way_out *out, struct rb_json *j)
{
    const struct rb_way_out_pair *pairs[] = {&out->fastest, &out->cheapest};
    rb_json_key(j, "together");
    rb_json_begin_array(j);
    for (int i = 0; i < out->n_pairs; i++) {
        rb_json_begin_object(j);
        rb_json_kint(j, "deadline_us", pairs[i]->deadline_us);
        rb_json_kint(j, "budget_uusd", pairs[i]->budget_uusd);
        rb_json_end_object(j);
    }
    rb_json_end_array(j);
    rb_json_key(j, "limit");
    if (!out->limit.what) {
        rb_json_null(j);
        return;
    }
    rb_json_begin_object(j);
    rb_json_kstring(j, "set", out->limit.what);
    rb_json_kint(j, "time_us", out->limit.time_us);
    rb_json_kint(j, "cost_uusd", out->limit.cost_uusd);
    rb_json_end_object(j);
}
