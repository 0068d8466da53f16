// rbplan --at PLACE: what the controller's machine adds to a plan, as `rbrun plan.json --at PLACE` counts it.
#include "commands/rbplan/rbplan.h"

#include "base/errors/log.h"
#include "executor/away/place.h"

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

// Nodes may cost what the controller leaves of the budget. With a deadline that is known; without one it depends on how long the
// plan takes, so it is planned again while the machine needs more than was set aside. That only grows, and ends at the budget.
bool rb_plan_at_make(struct rb_plan_request *req, const char *planner, const struct rb_plan_controller *controller,
                     struct rb_arena *arena, struct rb_plan *out, struct rb_plan_result *result, struct rb_err *err)
{
    const int64_t whole_uusd = req->budget_uusd;
    int64_t aside_uusd, most_uusd;
    if (!controller)
        return rb_make_plan(req, planner, arena, out, result, err);
    most_uusd = bill(controller, req->deadline_us >= 0 ? req->deadline_us : 0);
    do {
        aside_uusd = most_uusd;
        req->budget_uusd = whole_uusd;
        if (!rb_machine_set_aside(aside_uusd, &req->budget_uusd, err))
            return false;
        if (!rb_make_plan(req, planner, arena, out, result, err)) {
            char aside[32];
            rb_plan_wipe_line();
            if (err->code == RB_ERR_INFEASIBLE && req->budget_uusd >= 0)
                rb_info("%s of the budget is set aside for the controller in %s: budgets below are without it",
                        rb_format_money(aside_uusd, aside), controller->place);
            return false;
        }
        most_uusd = bill(controller, req->deadline_us >= 0 ? req->deadline_us : out->estimate.time_us.p95);
    } while (whole_uusd >= 0 && most_uusd > aside_uusd);
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
