// The age of a plan's prices. A plan does not depend on the day on which it was made, so this is reported beside it.
#include "commands/rbplan/rbplan.h"

#include "base/clock.h"
#include "base/errors/log.h"

#include <stdio.h>
#include <string.h>

static bool check_offer(const struct rb_offer *offer, int64_t now_us, const char *max_text, int64_t max_us,
                        struct rb_err *err)
{
    char fetched[32];
    if (offer->declared_free || (offer->fetched_at_us >= 0 && now_us - offer->fetched_at_us <= max_us))
        return true;
    return rb_err_set(
        err, RB_E_PRICE_OLD,
        "the price of %s %s (%s) is %s%s, and --max-price-age is %s: fetch it again with `rbprofile prices "
        "update --infra %s`, or allow more",
        offer->infra, offer->instance_type, rb_market_name(offer->market),
        offer->fetched_at_us < 0 ? "of unknown age" : "of ",
        offer->fetched_at_us < 0 ? "" : rb_format_instant(offer->fetched_at_us, fetched), max_text, offer->infra);
}

static void warn_old(const struct rb_plan *plan, int64_t now_us)
{
    const struct rb_offer *oldest = NULL;
    int n_old = 0;
    for (int i = 0; i < plan->n_offers; i++) {
        const struct rb_offer *o = &plan->offers[i];
        if (!rb_offer_is_old(o, now_us))
            continue;
        n_old++;
        oldest = !oldest || o->fetched_at_us < oldest->fetched_at_us ? o : oldest;
    }
    char fetched[32], which[64] = "the price behind this plan is old";
    if (!oldest)
        return;
    rb_format_instant(oldest->fetched_at_us, fetched);
    fetched[strcspn(fetched, "T")] = '\0'; // the day is enough
    if (plan->n_offers > 1)
        snprintf(which, sizeof which, "%d of %d prices behind this plan are old", n_old, plan->n_offers);
    rb_warn("%s (over %d days on demand, %d day spot): %s %s, %s, of %s; fetch again with `rbprofile prices update "
            "--infra %s`",
            which, RB_OLD_ON_DEMAND_DAYS, RB_OLD_SPOT_DAYS, oldest->instance_type, rb_market_name(oldest->market),
            oldest->infra, fetched, oldest->infra);
}

bool rb_plan_check_prices(const struct rb_args *args, const struct rb_plan *plan, struct rb_err *err)
{
    const char *text = rb_args_string(args, "max-price-age", NULL);
    const int64_t now_us = rb_clock_unix_us();
    int64_t max_us;
    if (!text) {
        warn_old(plan, now_us);
        return true;
    }
    if (!rb_parse_duration(text, &max_us, err))
        return rb_err_prefix(err, "--max-price-age");
    for (int i = 0; i < plan->n_offers; i++) {
        if (!check_offer(&plan->offers[i], now_us, text, max_us, err))
            return false;
    }
    return true;
}
