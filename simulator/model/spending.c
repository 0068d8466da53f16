#include "simulator/model/spending.h"

static int64_t node_uusd(const struct rb_billing *billing, const struct rb_owned_node *n, int64_t now_us)
{
    if (n->state == RB_OWNED_REQUESTED)
        return rb_bill_node(billing, now_us, now_us).total_uusd;
    return rb_bill_node(billing, n->running_us, n->ended_us >= 0 ? n->ended_us : now_us).total_uusd;
}

typedef int64_t of_node(const struct rb_billing *billing, const struct rb_owned_node *n, int64_t now_us);

static int64_t bound_uusd(const struct rb_billing *billing, const struct rb_owned_node *n, int64_t now_us)
{
    return n->ended_us >= 0 ? rb_bill_node(billing, n->running_us, n->ended_us).total_uusd
                            : rb_bill_bound_uusd(billing, n->running_us, now_us);
}

static int64_t sum(const struct rb_scenario *s, const struct rb_engine *e, int64_t now_us, of_node *of)
{
    int64_t total = 0;
    for (int i = 0; i < rb_engine_n_nodes(e); i++) {
        const struct rb_owned_node *n = rb_engine_node(e, i);
        if (__builtin_add_overflow(total, of(&s->sim_offers[n->billed_offer].billing, n, now_us), &total))
            return -1;
    }
    return total;
}

int64_t rb_spending_at(const struct rb_scenario *s, const struct rb_engine *e, int64_t now_us)
{
    return sum(s, e, now_us, node_uusd);
}

// Cost incurred by everything even if the decision to end it is made at now_us (rb_bill_bound_uusd). A budget is
// compared with it, as in rbrun. -1: overflow.
static int64_t bound_at(const struct rb_scenario *s, const struct rb_engine *e, int64_t now_us)
{
    return sum(s, e, now_us, bound_uusd);
}

bool rb_spending_is_paid(const struct rb_scenario *s, const struct rb_engine *e, int64_t budget_uusd, int64_t at_us)
{
    const int64_t bound = bound_at(s, e, at_us);
    return bound >= 0 && bound <= budget_uusd;
}

bool rb_spending_exceeds(const struct rb_scenario *s, const struct rb_engine *e, int64_t budget_uusd, int64_t now_us,
                         int64_t next_us, int64_t *out_us)
{
    if (rb_spending_is_paid(s, e, budget_uusd, next_us))
        return false;
    int64_t paid_us = now_us, unpaid_us = next_us; // spending never falls
    while (unpaid_us - paid_us > 1) {
        const int64_t middle_us = paid_us + (unpaid_us - paid_us) / 2;
        if (rb_spending_is_paid(s, e, budget_uusd, middle_us))
            paid_us = middle_us;
        else
            unpaid_us = middle_us;
    }
    *out_us = paid_us;
    return true;
}
