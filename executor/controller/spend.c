// Spending: bills of ended nodes, bills of running nodes until now, and the reserved rest.
#include "executor/controller/spend.h"

#include <string.h>

bool rb_spend_billing(const struct rb_plan *plan, int offer, struct rb_billing *out, struct rb_err *err)
{
    const struct rb_offer *o = &plan->offers[offer];
    const struct rb_job *job = plan->job;
    struct rb_billing b = {.rate = o->rate, .release_s = o->release_s};
    if (o->rate.uusd_per_hour <= 0 && !o->declared_free)
        return rb_err_set(err, RB_E_PRICE_UNKNOWN, "%s %s (%s): its price is unknown; run `rbprofile prices update`",
                          o->infra, o->instance_type, rb_market_name(o->market));
    if ((!o->declared_free || o->reservation) && job->resources.disk_bytes > 0) {
        const int64_t gb = 1000000000;
        b.disk_gb = (job->resources.disk_bytes + gb - 1) / gb;
        if (!plan->catalog)
            return rb_err_set(err, RB_E_DISK_PRICE,
                              "the plan holds no price of disks, but resources.disk_size is given; "
                              "plan again with `rbplan`");
        if (!rb_catalog_disk_rate(plan->catalog, o->infra, &b.disk_rate, err))
            return false;
    }
    b.data_uusd = rb_bill_data_uusd(job->data_bytes, job->data_uusd_per_gb);
    *out = b;
    return true;
}

int64_t rb_spend_end_unix_us(const struct rb_launch_row *row, const struct rb_spend_now *now)
{
    const int64_t least_us = row->running_us >= 0 ? now->run_us - row->running_us : 0;
    const int64_t most_us = now->run_us - row->intent_us;
    int64_t life_us = now->unix_us - row->running_unix_us;
    life_us = life_us < most_us ? life_us : most_us;
    life_us = life_us > least_us ? life_us : least_us;
    life_us = life_us > 0 ? life_us : 0;
    return row->running_unix_us + life_us;
}

struct rb_billing rb_spend_priced(const struct rb_billing *billing, const struct rb_launch_row *row)
{
    struct rb_billing priced = *billing;
    if (strcmp(row->market, rb_market_name(RB_MARKET_SPOT)) == 0) // the cloud may have given another
        priced.prices = row->prices;
    return priced;
}

struct rb_bill rb_spend_bill(const struct rb_billing *billing, const struct rb_launch_row *row,
                             const struct rb_spend_now *now)
{
    const struct rb_billing priced = rb_spend_priced(billing, row);
    if (row->running_unix_us < 0)
        return (struct rb_bill){0};
    return rb_bill_node(&priced, row->running_unix_us,
                        row->terminated_unix_us >= 0 ? row->terminated_unix_us : rb_spend_end_unix_us(row, now));
}

int64_t rb_spend_reserved_uusd(const struct rb_billing *billing, const struct rb_launch_row *row,
                               int64_t started_unix_us, const struct rb_spend_now *now)
{
    const struct rb_billing priced = rb_spend_priced(billing, row);
    struct rb_launch_row later = *row;
    switch (row->state) {
    case RB_LAUNCH_REFUSED:
    case RB_LAUNCH_GONE:
        return 0;
    case RB_LAUNCH_INTENT:
    case RB_LAUNCH_SENT:
    case RB_LAUNCH_AMBIGUOUS:
        later.running_unix_us = started_unix_us + row->intent_us; // it may have been running since
        later.running_us = row->intent_us;
        break;
    case RB_LAUNCH_ACKED:
        if (row->running_unix_us < 0)
            return row->reserved_uusd;
        break;
    case RB_LAUNCH_RUNNING:
    case RB_LAUNCH_READY:
    case RB_LAUNCH_TERMINATING:
        break;
    }
    if (later.running_unix_us < 0 || later.terminated_unix_us >= 0)
        return 0;
    return rb_bill_bound_uusd(&priced, later.running_unix_us, rb_spend_end_unix_us(&later, now)) -
           rb_spend_bill(billing, row, now).total_uusd;
}
