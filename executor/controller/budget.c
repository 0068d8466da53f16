#include "executor/controller/budget.h"

#include "executor/controller/controller_private.h"

static struct rb_spend_now present(const struct rb_controller *c)
{
    return (struct rb_spend_now){c->config.loop->unix_us(c->config.loop->ctx), rb_controller_now_us(c)};
}

void rb_controller_spend(const struct rb_controller *c, int64_t *out_spent_uusd, int64_t *out_reserved_uusd)
{
    const struct rb_spend_now now = present(c);
    int64_t spent = 0, reserved = 0;
    for (int i = 0; i < rb_controller_n_launches(c); i++) {
        const struct rb_run_node *n = rb_controller_launch_at(c, i);
        if (!rb_run_node_has_row(n))
            continue;
        spent +=
            n->row.state == RB_LAUNCH_GONE ? n->row.cost_uusd : rb_spend_bill(&n->billing, &n->row, &now).total_uusd;
        reserved += rb_spend_reserved_uusd(&n->billing, &n->row, c->meta.started_unix_us, &now);
    }
    *out_spent_uusd = spent;
    *out_reserved_uusd = reserved;
}

bool rb_controller_within_budget(const struct rb_controller *c, int64_t reserve_uusd)
{
    int64_t spent, reserved;
    rb_controller_spend(c, &spent, &reserved);
    return c->meta.budget_uusd < 0 || spent + reserved + reserve_uusd <= c->meta.budget_uusd;
}

int64_t rb_run_node_estimate_end(const struct rb_run_node *n)
{
    const struct rb_spend_now now = present(n->c);
    return n->row.running_unix_us >= 0 ? rb_spend_end_unix_us(&n->row, &now) : n->c->meta.started_unix_us + now.run_us;
}

void rb_run_node_bill(struct rb_run_node *n)
{
    const struct rb_spend_now now = present(n->c);
    if (n->row.terminated_unix_us < 0)
        n->row.terminated_unix_us = rb_run_node_estimate_end(n);
    if (!n->end_dated && n->row.terminated_unix_us < n->row.running_unix_us) // two clocks: it did not end before it ran
        n->row.terminated_unix_us = n->row.running_unix_us;
    n->row.cost_uusd = rb_spend_bill(&n->billing, &n->row, &now).total_uusd;
}

bool rb_run_node_rebill(struct rb_run_node *n)
{
    const struct rb_spend_now now = present(n->c);
    const int64_t before_uusd = n->row.cost_uusd;
    n->row.cost_uusd = rb_spend_bill(&n->billing, &n->row, &now).total_uusd;
    return n->row.cost_uusd == before_uusd || rb_run_node_write(n);
}
