// Fluid, as published: StaticFluid when a group of trials arrives, on the GPUs that are then idle; DynamicFluid on all
// GPUs when GPUs become free and no trial waits. A trial's change happens at its next report. The cost of a change is
// the profile's start-up and checkpoint. An asynchronous tuner starts groups of one, which get 1/c of a GPU;
// DynamicFluid lets them grow. Sources: Fluid (MLSys'21), Algorithms 1 and 2; docs/MODEL.md, "Trial groups as packing".
#include "engine/policies/policies.h"

#include "base/arena.h"
#include "engine/policies/live_group.h"
#include "engine/policies/pool.h"
#include "engine/policies/widths_wanted.h"

#include <stdlib.h>

struct fluid {
    const struct rb_plan *plan;
    struct rb_live_widths widths;
    struct rb_paces paces;
    struct rb_live_group group;
    struct rb_widths_wanted wanted;
    bool on_demand;
};

static bool create(const struct rb_plan *plan, void **out_state, struct rb_err *err)
{
    struct rb_live_widths widths;
    if (!rb_live_widths_make(plan, &widths, err))
        return false;
    struct fluid *f = rb_xcalloc(1, sizeof *f);
    f->plan = plan;
    f->widths = widths;
    f->on_demand = rb_tuner_find(plan->job->scheduler.type)->on_demand;
    *out_state = f;
    return true;
}

static void destroy(void *state)
{
    struct fluid *f = state;
    if (!f)
        return;
    rb_paces_finish(&f->paces);
    rb_live_group_finish(&f->group);
    rb_widths_wanted_finish(&f->wanted);
    free(f);
}

static int busy_gpus(const struct rb_engine *e)
{
    int busy = 0;
    for (int i = 0; i < rb_engine_n_nodes(e); i++)
        busy += __builtin_popcountll(rb_engine_node(e, i)->busy);
    return busy;
}

static void size_arrivals(struct fluid *f, const struct rb_engine *e, struct rb_decisions *out)
{
    if (!rb_live_group_collect(&f->group, f->plan, &f->widths, &f->paces, e, RB_LIVE_WAITING))
        return;
    const struct rb_pack_group *g = &f->group.pack;
    RB_AUTO(rb_auto_free) int *widths = rb_xcalloc((size_t)g->n_trials, sizeof *widths);
    RB_AUTO(rb_auto_free) int *order = rb_xcalloc((size_t)g->n_trials, sizeof *order);
    rb_fluid_static(g, f->widths.caps, rb_pack_n_gpus(g) - busy_gpus(e), widths, order);
    for (int i = 0; i < g->n_trials; i++)
        rb_decide_width(out, f->group.trials[order[i]], f->widths.widths[widths[order[i]]]);
    out->in_order = true;
    out->reason = "StaticFluid: the width that its share of the group's work is worth";
}

static void share_out_again(struct fluid *f, const struct rb_engine *e)
{
    if (!rb_live_group_collect(&f->group, f->plan, &f->widths, &f->paces, e, RB_LIVE_RUNNING))
        return;
    const struct rb_pack_group *g = &f->group.pack;
    RB_AUTO(rb_auto_free) int *widths = rb_xcalloc((size_t)g->n_trials, sizeof *widths);
    RB_AUTO(rb_auto_free) int *order = rb_xcalloc((size_t)g->n_trials, sizeof *order);
    rb_fluid_dynamic(g, f->widths.caps, f->group.held, f->group.resize_us, widths, order);
    for (int i = 0; i < g->n_trials; i++)
        rb_widths_want(&f->wanted, f->group.trials[i], widths[i] == f->group.held[i] ? -1 : widths[i]);
}

static void arrange(void *state, const struct rb_engine *e, struct rb_decisions *out)
{
    struct fluid *f = state;
    int n_waiting;
    rb_engine_waiting(e, &n_waiting);
    if (n_waiting == 0)
        share_out_again(f, e);
    else if (!f->on_demand && rb_widths_note_arrivals(&f->wanted, e, NULL))
        size_arrivals(f, e, out);
}

static void decide(void *state, const struct rb_engine *e, int trial, struct rb_decisions *out)
{
    struct fluid *f = state;
    if (rb_paces_see(&f->paces, &f->widths, e, trial))
        rb_widths_carry_out(&f->wanted, &f->widths, e, trial, "DynamicFluid: it ends sooner, or uses less", out);
}

// Synchronous groups are sized when they arrive.
static int sharers(const struct rb_plan *plan, const struct rb_group *group)
{
    struct rb_live_widths widths;
    (void)group;
    if (!rb_tuner_find(plan->job->scheduler.type)->on_demand || !rb_live_widths_make(plan, &widths, NULL))
        return 1;
    return widths.caps.most_sharers;
}

static void cluster(const struct rb_plan *plan, int phase, struct rb_allocation *out)
{
    (void)phase;
    rb_own_first_cluster(plan, "the group is packed onto the nodes of the first stage", out);
}

const struct rb_policy rb_policy_fluid = {
    .name = "fluid",
    .keeps_cluster = true,
    .size = rb_size_of_one,
    .sharers = sharers,
    .cluster = cluster,
    .create = create,
    .destroy = destroy,
    .decide = decide,
    .arrange = arrange,
};
