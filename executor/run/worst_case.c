#include "executor/run/worst_case.h"

#include "engine/plan/stand_in.h"
#include "executor/controller/spend.h"

// The most expensive offer that may replace it, for the whole life of a node.
static bool most_of_node(const struct rb_plan *plan, int offer, int64_t life_us, int64_t *out_uusd, struct rb_err *err)
{
    int64_t most_uusd = 0;
    for (int k = 0, other; (other = rb_stand_in(plan, offer, k)) >= 0; k++) {
        struct rb_billing billing;
        if (!rb_spend_billing(plan, other, &billing, err)) {
            if (k == 0)
                return false;
            continue; // an offer without a price is not launched
        }
        billing.data_uusd = billing.release_s = 0; // due once, with or without our end
        const int64_t uusd = rb_bill_node(&billing, 0, life_us).total_uusd;
        most_uusd = uusd > most_uusd ? uusd : most_uusd;
    }
    *out_uusd = most_uusd;
    return true;
}

bool rb_run_worst_case(const struct rb_plan *plan, int64_t life_us, int64_t *out_uusd, struct rb_err *err)
{
    int64_t most_uusd = 0;
    for (int i = 0; i < plan->n_stages; i++) {
        int64_t stage_uusd = 0;
        for (int k = 0; k < plan->stages[i].n_nodes; k++) {
            const struct rb_plan_nodes *nodes = &plan->stages[i].nodes[k];
            int64_t node_uusd;
            if (!most_of_node(plan, nodes->offer, life_us, &node_uusd, err))
                return false;
            stage_uusd += nodes->count * node_uusd;
        }
        most_uusd = stage_uusd > most_uusd ? stage_uusd : most_uusd;
    }
    *out_uusd = most_uusd;
    return true;
}
