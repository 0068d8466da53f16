// rbplan --at PLACE: what the controller's machine adds to a plan, as `rbrun plan.json --at PLACE` counts it.
#include "commands/rbplan/rbplan.h"

#include "base/errors/log.h"
#include "executor/away/place.h"
#include "planner/questions/nearest.h"

#include <string.h>

bool rb_plan_at_begin(const struct rb_args *args, struct rb_plan_inputs *in, const struct rb_plan_controller **out,
                      struct rb_err *err)
{
    const char *place = rb_args_string(args, "at", NULL), *own = in->job.resources.controller.instance_type;
    struct rb_controller_place parsed = {.machine_type = NULL};
    *out = NULL;
    if (!place)
        return true;
    if (strcmp(place, "here") != 0 && !rb_place_parse(place, &parsed, err))
        return rb_err_prefix(err, "--at");
    struct rb_plan_controller *c = rb_arena_alloc(&in->arena, sizeof *c);
    c->place = place;
    if (parsed.machine_type) {
        c->instance_type = own ? own : parsed.machine_type;
        c->keep_us = rb_machine_keep_us(&in->job.resources);
        if (!rb_machine_price(&in->catalog, place, c->instance_type, &c->uusd_per_hour, err))
            return false;
    }
    *out = c;
    return true;
}

static int64_t bill(const struct rb_plan_controller *c, int64_t run_us)
{
    return rb_machine_bill_uusd(c->uusd_per_hour, c->keep_us, run_us);
}

struct beside {
    const struct rb_plan_controller *controller;
    int64_t run_us; // without a deadline, as far as is known
};

static int64_t beside_uusd(void *ctx, int64_t deadline_us)
{
    const struct beside *b = ctx;
    return bill(b->controller, deadline_us >= 0 ? deadline_us : b->run_us);
}

// Without a deadline the nearest budget depends on how long a run takes that has it: 0 if no plan has it after all.
static int64_t nearest_run_us(const struct rb_plan_request *req, const char *planner, const struct rb_plan_result *refused,
                              struct rb_arena *arena)
{
    struct rb_plan_request near = *req;
    struct rb_plan plan;
    struct rb_plan_result result;
    struct rb_err ignored;
    near.budget_uusd = refused->nearest_budget_uusd - rb_beside_uusd(req);
    near.alone = true;
    return rb_make_plan(&near, planner, arena, &plan, &result, &ignored) ? plan.estimate.time_us.p95 : 0;
}

// Learns how long the nearest budget's run takes, without which the budgets that were named are too low. False: nothing was learnt.
static bool learn_nearest_run(const struct rb_plan_request *req, const char *planner, const struct rb_plan_result *refused,
                              struct beside *beside, struct rb_arena *arena)
{
    if (req->deadline_us >= 0 || beside->run_us > 0 || refused->nearest_budget_uusd < 0)
        return false;
    beside->run_us = nearest_run_us(req, planner, refused, arena);
    return beside->run_us > 0;
}

// Nodes may cost what the controller leaves of the budget. With a deadline that is known; without one it depends on how long the
// plan takes, so it is planned again while the machine needs more than was set aside. That only grows, and ends at the budget.
bool rb_plan_at_make(struct rb_plan_request *req, const char *planner, const struct rb_plan_controller *controller,
                     struct rb_arena *arena, struct rb_plan *out, struct rb_plan_result *result, struct rb_err *err)
{
    const int64_t whole_uusd = req->budget_uusd;
    if (!controller)
        return rb_make_plan(req, planner, arena, out, result, err);
    struct beside *beside = rb_arena_alloc(arena, sizeof *beside); // for questions that follow
    *beside = (struct beside){controller, 0};
    req->beside_uusd = beside_uusd;
    req->beside_ctx = beside;
    int64_t aside_uusd = beside_uusd(beside, req->deadline_us);
    for (;;) {
        req->budget_uusd = whole_uusd;
        if (!rb_machine_set_aside(aside_uusd, &req->budget_uusd, err))
            return false;
        if (!rb_make_plan(req, planner, arena, out, result, err)) {
            const bool names_budgets = err->code == RB_ERR_INFEASIBLE && whole_uusd >= 0;
            char text[32];
            if (names_budgets && learn_nearest_run(req, planner, result, beside, arena))
                continue; // the same question, and so the same answer, with the machine in its budgets
            rb_plan_wipe_line();
            if (names_budgets)
                rb_info("%s of the budget is set aside for the controller in %s: budgets below are with it",
                        rb_format_money(rb_beside_uusd(req), text), controller->place);
            return false;
        }
        beside->run_us = out->estimate.time_us.p95;
        const int64_t most_uusd = beside_uusd(beside, req->deadline_us);
        if (whole_uusd < 0 || most_uusd <= aside_uusd)
            break;
        aside_uusd = most_uusd;
    }
    struct rb_plan_controller *c = rb_arena_alloc(arena, sizeof *c);
    *c = *controller;
    c->set_aside_uusd = whole_uusd >= 0 ? aside_uusd : 0;
    out->controller = c;
    return !c->instance_type || rb_machine_check_place(out, c->place, err);
}

void rb_plan_at_count(const struct rb_plan_controller *controller, struct rb_plan *plan, struct rb_arena *arena)
{
    const struct rb_quantiles *time_us = &plan->estimate.time_us;
    if (!controller)
        return;
    struct rb_plan_controller *c = rb_arena_alloc(arena, sizeof *c);
    *c = *controller;
    c->cost_uusd.mean = bill(c, time_us->mean);
    c->cost_uusd.p50 = bill(c, time_us->p50);
    c->cost_uusd.p95 = bill(c, time_us->p95);
    plan->controller = c;
}
