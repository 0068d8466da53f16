#include "simulator/forecast/forecast_pool.h"

bool rb_pool_look(const struct rb_scenario *s, const struct rb_plan *plan, const struct rb_engine *e,
                  struct rb_pool *out)
{
    if (plan->budget_uusd < 0 || plan->stages[0].n_nodes != 1)
        return false;
    const int offer = plan->stages[0].nodes[0].offer;
    const struct rb_provisioning *provisioning = s->sim_offers[offer].provisioning;
    struct rb_pool p = {
        .offer = offer,
        .n_most = plan->job->resources.max_nodes,
        .gpus_per_node = plan->offers[offer].gpus,
        .boot_us = (rb_dist_mean(&provisioning->queue_s) + rb_scenario_init_mean_s(s, offer)) * 1e6,
    };
    for (int i = 0; i < rb_engine_n_nodes(e); i++)
        p.n_owned += rb_engine_node(e, i)->state != RB_OWNED_ENDED;
    *out = p;
    return true;
}

// Bill of all nodes so far, with the owned ones until the deadline, as a hard budget counts them. -1: overflow.
static int64_t reserved_uusd(const struct rb_scenario *s, const struct rb_plan *plan, const struct rb_engine *e)
{
    int64_t total = 0;
    for (int i = 0; i < rb_engine_n_nodes(e); i++) {
        const struct rb_owned_node *n = rb_engine_node(e, i);
        const int64_t from_us = n->state == RB_OWNED_REQUESTED ? rb_engine_now_us(e) : n->running_us;
        const struct rb_billing *billing = &s->sim_offers[n->billed_offer].billing;
        const int64_t uusd = n->ended_us >= 0 ? rb_bill_node(billing, from_us, n->ended_us).total_uusd
                                              : rb_bill_bound_uusd(billing, from_us, plan->deadline_us);
        if (__builtin_add_overflow(total, uusd, &total))
            return -1;
    }
    return total;
}

int rb_pool_affordable(const struct rb_pool *p, const struct rb_scenario *s, const struct rb_plan *plan,
                       const struct rb_engine *e, int64_t at_us)
{
    const int64_t reserved = reserved_uusd(s, plan, e);
    const int64_t each = rb_bill_bound_uusd(&s->sim_offers[p->offer].billing, at_us, plan->deadline_us);
    if (reserved < 0 || reserved >= plan->budget_uusd || p->n_owned >= p->n_most)
        return p->n_owned;
    const int64_t more = each > 0 ? (plan->budget_uusd - reserved) / each : p->n_most;
    return more < p->n_most - p->n_owned ? p->n_owned + (int)more : p->n_most;
}
