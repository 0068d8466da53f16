// rbprofile prices history: what spot machines cost over time, as the `price` of a profile's spells.
#include "commands/rbprofile/rbprofile_command.h"

#include "base/clock.h"
#include "base/limits.h"
#include "executor/campaign/price_fetch.h"
#include "profiles/catalog/infra.h"
#include "profiles/fit/market_fit.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_DAYS 30
#define MOST_DAYS    90 // what EC2 keeps
#define US_PER_DAY   (24 * RB_S_PER_HOUR * RB_US_PER_S)

static const struct rb_option options[] = {
    {"infra", 0, RB_OPT_STRING, false, "INFRA", "the region to ask: aws/us-east-1, ...", 0, 0},
    {"instance-type", 0, RB_OPT_STRING, true, "T", "this machine (repeatable)", 0, 0},
    {"days", 0, RB_OPT_INT, false, "N", "that long until now (default 30)", 1, MOST_DAYS},
    RB_END_OPTIONS};

struct history {
    const char *infra;
    int64_t from_us, now_us;
};

static int by_market_and_time(const void *pa, const void *pb)
{
    const struct rb_spot_change *a = pa, *b = pb;
    const int type = strcmp(a->instance_type, b->instance_type), zone = strcmp(a->zone, b->zone);
    return type ? type : zone ? zone : (a->at_us > b->at_us) - (a->at_us < b->at_us);
}

static bool same_market(const struct rb_spot_change *a, const struct rb_spot_change *b)
{
    return strcmp(a->instance_type, b->instance_type) == 0 && strcmp(a->zone, b->zone) == 0;
}

// [n] changes of one market, ascending. The one before the beginning held then.
static void write_market(const struct history *h, const struct rb_spot_change *changes, int n, struct rb_buf *out)
{
    RB_AUTO(rb_auto_free) struct rb_capacity_step *steps = rb_xcalloc((size_t)n, sizeof *steps);
    struct rb_capacity c = {.steps = steps, .end_us = h->now_us};
    char mean[32], p5[32], p95[32], now[32];
    for (int i = 0; i < n; i++) {
        const int64_t at_us = changes[i].at_us > h->from_us ? changes[i].at_us : h->from_us;
        c.n_steps -= c.n_steps > 0 && steps[c.n_steps - 1].at_us == at_us;
        steps[c.n_steps++] = (struct rb_capacity_step){at_us, 1, changes[i].uusd_per_hour};
    }
    const struct rb_price_range r = rb_market_price(&c);
    rb_buf_printf(out, "%s/%s %s: price: {mean: %s, p5: %s, p95: %s}  # now %s, after %d change%s\n", h->infra, changes[0].zone,
                  changes[0].instance_type, rb_format_money_exact(r.mean_uusd, mean), rb_format_money_exact(r.p5_uusd, p5),
                  rb_format_money_exact(r.p95_uusd, p95), rb_format_money(changes[n - 1].uusd_per_hour, now), n - 1,
                  n == 2 ? "" : "s");
}

static bool print(void *ctx, const struct rb_spot_change *all, int n, struct rb_err *err)
{
    const struct history *h = ctx;
    struct rb_buf out = RB_BUF_INIT;
    RB_AUTO(rb_auto_free) struct rb_spot_change *sorted = rb_xcalloc((size_t)n + 1, sizeof *sorted);
    for (int i = 0; i < n; i++)
        sorted[i] = all[i];
    qsort(sorted, (size_t)n, sizeof *sorted, by_market_and_time);
    if (n == 0)
        rb_buf_printf(&out, "# %s: no spot price of such a machine in that time\n", h->infra);
    for (int i = 0, end; i < n; i = end) {
        end = i + 1;
        while (end < n && same_market(&sorted[i], &sorted[end]))
            end++;
        write_market(h, &sorted[i], end - i, &out);
    }
    return rb_print(&out, err);
}

static bool run(const struct rb_args *args, struct rb_err *err)
{
    const char *types[RB_LIMIT_INSTANCE_TYPES];
    const int64_t now_us = rb_clock_unix_us();
    struct history h = {.infra = rb_args_string(args, "infra", NULL), .now_us = now_us};
    int n = 0;
    h.from_us = now_us - rb_args_int(args, "days", DEFAULT_DAYS) * US_PER_DAY;
    while (n < RB_LIMIT_INSTANCE_TYPES && rb_args_nth(args, "instance-type", n)) {
        types[n] = rb_args_nth(args, "instance-type", n);
        n++;
    }
    if (!h.infra || n == 0)
        return rb_err_set(err, RB_E_WHERE_UNSAID,
                          "expected --infra INFRA, a region to ask, such as aws/us-east-1, and an --instance-type");
    if (!rb_infra_check(h.infra, err))
        return rb_err_prefix(err, "--infra");
    return rb_spot_history_fetch(h.infra, types, n, h.from_us, print, &h, err);
}

const struct rb_command rb_profile_history = {
    .name = "rbprofile prices history",
    .usage = "--infra INFRA --instance-type T [options]",
    .summary = "Asks the cloud what spot machines cost over time: the mean and the range of 90 % of the time in each zone, as `price` "
               "of a profile's `spells`.",
    .examples = "  rbprofile prices history --infra aws/us-east-1 --instance-type g5.xlarge --days 14\n",
    .options = options,
    .run = run,
};
