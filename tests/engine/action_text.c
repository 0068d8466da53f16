#include "action_text.h"

static void one(const struct rb_action *a, const struct rb_plan *plan, struct rb_buf *out)
{
    switch (a->kind) {
    case RB_ACTION_PROVISION:
        rb_buf_printf(out, "request %d.%d %s%s", a->node, a->attempt, plan->offers[a->offer].instance_type,
                      plan->offers[a->offer].market == RB_MARKET_SPOT ? "/spot" : "");
        break;
    case RB_ACTION_TERMINATE:
        rb_buf_printf(out, "terminate %d", a->node);
        break;
    case RB_ACTION_START_TRIAL:
        rb_buf_printf(out, "start %d.%d on", a->trial, a->attempt);
        for (int i = 0; i < a->n_slots; i++)
            rb_buf_printf(out, " %d:%llx", a->slots[i].node, (unsigned long long)a->slots[i].gpus);
        if (a->sharers > 1)
            rb_buf_printf(out, "/%d", a->sharers);
        if (a->with.batch.per_gpu > 0)
            rb_buf_printf(out, " batch %dx%d lr %a", a->with.batch.per_gpu, a->with.batch.accumulation + 1,
                          a->with.lr_factor);
        break;
    case RB_ACTION_KILL_TRIAL:
        rb_buf_printf(out, "kill %d.%d", a->trial, a->attempt);
        break;
    case RB_ACTION_YIELD_TRIAL:
        rb_buf_printf(out, "yield %d.%d", a->trial, a->attempt);
        break;
    case RB_ACTION_WAKE:
        rb_buf_printf(out, "wake %g", (double)a->at_us / 1e6);
        break;
    case RB_ACTION_ADVISE:
        rb_buf_printf(out, "advise %d", a->stage);
        break;
    case RB_ACTION_SUGGEST:
        rb_buf_printf(out, "suggest %d to %lld", a->trial, (long long)a->resource_end);
        break;
    case RB_ACTION_DONE:
        rb_buf_puts(out, "done");
        break;
    }
}

void actions_text(const struct rb_actions *actions, const struct rb_plan *plan, struct rb_buf *out)
{
    for (int i = 0; i < actions->n; i++) {
        rb_buf_puts(out, i ? "; " : "");
        one(&actions->items[i], plan, out);
    }
}
