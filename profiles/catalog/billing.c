// Exact integer arithmetic: no product of a rate and a lifetime is ever a double.
#include "profiles/catalog/billing.h"

#include "profiles/catalog/capacity.h"

#include <assert.h>

__extension__ typedef __int128 wide;

#define BYTES_PER_GB INT64_C(1000000000)

// a x b x c / divisor, rounded up, never in the customer's favour. All arguments >= 0.
static int64_t product_ceil(int64_t a, int64_t b, int64_t c, int64_t divisor)
{
    wide product;
    assert(a >= 0 && b >= 0 && c >= 0);
    const bool overflow = __builtin_mul_overflow((wide)a * b, c, &product);
    assert(!overflow && product / divisor < INT64_MAX);
    return (int64_t)((product + divisor - 1) / divisor);
}

static int64_t seconds_ceil(int64_t us)
{
    return us / RB_US_PER_S + (us % RB_US_PER_S > 0);
}

static int64_t at_rate_uusd(const struct rb_billing *b, int64_t seconds)
{
    return product_ceil(b->rate.uusd_per_hour, seconds, 1, RB_S_PER_HOUR);
}

// How many of the node's first `seconds` seconds begin before an instant.
static int64_t seconds_before(int64_t running_us, int64_t seconds, int64_t at_us)
{
    const int64_t n = at_us > running_us ? seconds_ceil(at_us - running_us) : 0;
    return n < seconds ? n : seconds;
}

static int64_t machine_uusd(const struct rb_billing *b, int64_t running_us, int64_t seconds)
{
    const struct rb_price_path *p = &b->prices;
    if (!p->steps)
        return at_rate_uusd(b, seconds);
    int64_t price = b->rate.uusd_per_hour, from_s = 0;
    wide sum = 0; // of micro-dollars an hour times seconds
    for (int i = 0; i <= p->n; i++) {
        const int64_t until_s =
            i < p->n ? seconds_before(running_us, seconds, p->steps[i].at_us - p->ahead_us) : seconds;
        sum += (wide)price * (until_s - from_s);
        from_s = until_s;
        price = i < p->n ? p->steps[i].uusd_per_hour : 0;
    }
    assert((sum + RB_S_PER_HOUR - 1) / RB_S_PER_HOUR < INT64_MAX);
    return (int64_t)((sum + RB_S_PER_HOUR - 1) / RB_S_PER_HOUR);
}

struct rb_bill rb_bill_node(const struct rb_billing *b, int64_t running_us, int64_t terminated_us)
{
    struct rb_bill bill = {0};
    if (running_us < 0 || terminated_us < running_us)
        return bill;
    const int64_t lifetime_s = seconds_ceil(terminated_us - running_us);
    const int64_t minimum_s = RB_BILLING_MINIMUM_US / RB_US_PER_S;
    bill.billed_s = lifetime_s > minimum_s ? lifetime_s : minimum_s;
    bill.machine_uusd = machine_uusd(b, running_us, bill.billed_s);
    bill.minimum_uusd = bill.machine_uusd - machine_uusd(b, running_us, lifetime_s);
    bill.disk_uusd = product_ceil(b->disk_rate.uusd_per_hour, b->disk_gb, bill.billed_s, RB_S_PER_HOUR);
    bill.data_uusd = b->data_uusd;
    bill.tail_uusd = at_rate_uusd(b, b->release_s);
    int64_t total;
    const bool overflow = __builtin_add_overflow(bill.machine_uusd, bill.disk_uusd, &total) ||
                          __builtin_add_overflow(total, bill.data_uusd, &total) ||
                          __builtin_add_overflow(total, bill.tail_uusd, &total);
    assert(!overflow);
    bill.total_uusd = total;
    return bill;
}

int64_t rb_bill_uusd_per_hour(const struct rb_billing *b)
{
    return b->rate.uusd_per_hour + b->disk_rate.uusd_per_hour * b->disk_gb;
}

int64_t rb_bill_uusd_per_hour_at(const struct rb_billing *b, int64_t at_us)
{
    struct rb_billing then = *b;
    for (int i = 0; i < b->prices.n && b->prices.steps[i].at_us - b->prices.ahead_us <= at_us; i++)
        then.rate.uusd_per_hour = b->prices.steps[i].uusd_per_hour;
    return rb_bill_uusd_per_hour(&then);
}

int64_t rb_bill_uusd_per_node(const struct rb_billing *b)
{
    return b->data_uusd + at_rate_uusd(b, b->release_s);
}

int64_t rb_bill_least_uusd(const struct rb_billing *b)
{
    struct rb_billing at_rate = *b; // when it will run is not known
    at_rate.prices = (struct rb_price_path){0};
    return rb_bill_node(&at_rate, 0, RB_BILLING_MINIMUM_US).total_uusd;
}

int64_t rb_bill_bound_uusd(const struct rb_billing *b, int64_t running_us, int64_t now_us)
{
    return running_us < 0 ? rb_bill_least_uusd(b)
                          : rb_bill_node(b, running_us, now_us + RB_BILLING_GRACE_US).total_uusd;
}

int64_t rb_bill_data_uusd(int64_t data_bytes, int64_t uusd_per_gb)
{
    return product_ceil(data_bytes, uusd_per_gb, 1, BYTES_PER_GB);
}
