// What the machine of a controller costs, for rbplan before it is asked for and for rbrun when it is.
#include "executor/away/machine.h"

#include "executor/run/infras.h"
#include "profiles/catalog/billing.h"
#include "profiles/catalog/infra.h"

#include <string.h>

bool rb_machine_price(const struct rb_catalog *prices, const char *infra, const char *instance_type, int64_t *out_uusd_per_hour,
                      struct rb_err *err)
{
    *out_uusd_per_hour = 0;
    for (int i = 0; i < prices->n_offers; i++) {
        const struct rb_offer *o = &prices->offers[i];
        if (o->market == RB_MARKET_ON_DEMAND && rb_infra_within(infra, o->infra) && strcmp(o->instance_type, instance_type) == 0) {
            *out_uusd_per_hour = o->rate.uusd_per_hour;
            return true;
        }
    }
    if (rb_infra_may_be_free(infra))
        return true; // no bill comes for it
    return rb_err_set(err, RB_E_MACHINE_PRICE,
                      "the controller's machine would be a %s in %s, whose price is unknown; fetch it with `rbprofile "
                      "prices update --infra %s --instance-type %s`",
                      instance_type, infra, infra, instance_type);
}

bool rb_machine_check_place(const struct rb_plan *plan, const char *infra, struct rb_err *err)
{
    char infras[RB_RUN_INFRAS][64];
    const int n = rb_run_infras(plan, infras, RB_RUN_INFRAS);
    for (int i = 0; i < n; i++)
        if (strcmp(infras[i], infra) == 0)
            return true;
    return rb_err_set(err, RB_E_PLACE,
                      "%.80s: the plan rents nothing there, and a controller's machine stands beside its nodes; name a place "
                      "of the plan, such as %s, or a host: ssh:HOST",
                      infra, n ? infras[0] : "none");
}

int64_t rb_machine_keep_us(const struct rb_resources *resources)
{
    return resources->controller.keep_us ? resources->controller.keep_us : RB_MACHINE_KEEP_S * RB_US_PER_S;
}

int64_t rb_machine_bill_uusd(int64_t uusd_per_hour, int64_t keep_us, int64_t run_us)
{
    const struct rb_billing billing = {.rate = {uusd_per_hour}};
    return rb_bill_node(&billing, 0, run_us + keep_us).total_uusd;
}

int64_t rb_machine_most_uusd(const struct rb_machine *m, const struct rb_plan *plan, int64_t deadline_us)
{
    return rb_machine_bill_uusd(m->uusd_per_hour, rb_machine_keep_us(&plan->job->resources),
                                deadline_us >= 0 ? deadline_us : plan->estimate.time_us.p95);
}

bool rb_machine_set_aside(int64_t most_uusd, int64_t *io_budget_uusd, struct rb_err *err)
{
    char most[32], budget[32];
    if (*io_budget_uusd < 0)
        return true;
    if (most_uusd > 0 && *io_budget_uusd <= most_uusd)
        return rb_err_set(err, RB_E_MACHINE_BUDGET,
                          "the budget of %s leaves nothing for nodes: the controller's machine may cost %s",
                          rb_format_money(*io_budget_uusd, budget), rb_format_money(most_uusd, most));
    *io_budget_uusd -= most_uusd;
    return true;
}
