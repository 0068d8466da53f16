#include "planner/questions/measuring.h"

#include "profiles/catalog/billing.h"
#include "profiles/guess/guess.h"
#include "simulator/model/evaluate.h"
#include "simulator/world/world_evaluate.h"

#define UNITS   3
#define SAMPLES 4096

// The offer of the first stage on a GPU that was not measured; -1: the plan uses none.
static int first_guessed(const struct rb_plan *plan)
{
    const bool is_transfer = rb_profile_transferred_from(plan->profile) != NULL;
    for (int i = 0; i < plan->n_stages; i++) {
        const int offer = plan->stages[i].nodes[0].offer;
        const struct rb_training *t = rb_profile_training(plan->profile, plan->offers[offer].accelerator);
        if (t->transfer.from || !is_transfer)
            return offer;
    }
    return -1;
}

// Measures on one new machine.
static void price(const struct rb_scenario *s, const struct rb_plan *plan, int offer, struct rb_measuring *m)
{
    const struct rb_sim_offer *o = &s->sim_offers[offer];
    const struct rb_profile *p = s->profile;
    const struct rb_training *t = rb_profile_training(p, plan->offers[offer].accelerator);
    const double billed_s = rb_scenario_init_mean_s(s, offer) + rb_dist_mean(&p->startup_s) + UNITS * t->base_s +
                            rb_dist_mean(&p->checkpoint_s);
    const int64_t billed_us = rb_us_from_seconds(billed_s);
    m->instance_type = plan->offers[offer].instance_type;
    m->units = UNITS;
    m->time_us = billed_us + rb_us_from_seconds(rb_dist_mean(&o->provisioning->queue_s));
    m->cost_uusd = rb_bill_node(&o->billing, 0, billed_us).total_uusd;
}

static bool run(const struct rb_scenario *s, const struct rb_plan *plan, int threads, struct rb_measuring *m,
                struct rb_err *err)
{
    struct rb_estimate after;
    struct rb_evaluate_options opt = rb_evaluate_defaults();
    const int offer = first_guessed(plan);
    if (offer < 0)
        return true;
    opt.samples = SAMPLES;
    opt.threads = threads;
    if (!rb_evaluate(s, plan->stages, plan->n_stages, &opt, &after, NULL, err))
        return false;
    price(s, plan, offer, m);
    m->cost_p5_uusd = after.cost_uusd.p5;
    m->cost_p95_uusd = after.cost_uusd.p95;
    m->exists = true;
    return true;
}

bool rb_measuring_find(const struct rb_plan *plan, int threads, struct rb_measuring *out, struct rb_err *err)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena;
    struct rb_measuring m = {0};
    struct rb_profile measured;
    struct rb_scenario s;
    rb_arena_init(&arena);
    *out = m;
    if (plan->profile->n_basis == 0 || rb_plan_is_by_engine(plan))
        return true;
    rb_guess_as_measured(plan->profile, &arena, &measured);
    if (!rb_scenario_init(&s, plan->job, &measured, plan->offers, plan->n_offers, plan->catalog, plan->seed, err))
        return false;
    const bool ok = run(&s, plan, threads, &m, err);
    rb_scenario_finish(&s);
    if (ok)
        *out = m;
    return ok;
}
