#include "simulator/summary.h"

#include "base/arena.h"

#include <math.h>
#include <string.h>

__extension__ typedef __int128 wide;

// ---- one figure

#define DIGIT_BITS 11
#define DIGITS     (1 << DIGIT_BITS)

// One digit of what the values are above the least, kept in order.
static void sort_by_digit(const int64_t *from, int64_t *to, int n, int64_t least, int shift)
{
    int start[DIGITS + 1] = {0};
    for (int i = 0; i < n; i++)
        start[((((uint64_t)from[i] - (uint64_t)least) >> shift) & (DIGITS - 1)) + 1]++;
    for (int d = 1; d <= DIGITS; d++)
        start[d] += start[d - 1];
    for (int i = 0; i < n; i++)
        to[start[(((uint64_t)from[i] - (uint64_t)least) >> shift) & (DIGITS - 1)]++] = from[i];
}

// Digit by digit, the least first: estimates are made of thousands of runs, and by thousands.
static void sort_values(int64_t *values, int n)
{
    int64_t least = values[0], most = values[0];
    for (int i = 1; i < n; i++) {
        least = values[i] < least ? values[i] : least;
        most = values[i] > most ? values[i] : most;
    }
    const uint64_t span = (uint64_t)most - (uint64_t)least;
    RB_AUTO(rb_auto_free) int64_t *other = rb_xcalloc((size_t)n, sizeof *other);
    int64_t *from = values, *to = other;
    for (int shift = 0; shift < 64 && span >> shift > 0; shift += DIGIT_BITS) {
        sort_by_digit(from, to, n, least, shift);
        int64_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != values)
        memcpy(values, from, (size_t)n * sizeof *values);
}

static int64_t mean_of(const int64_t *values, int n)
{
    wide sum = 0;
    for (int i = 0; i < n; i++)
        sum += values[i];
    return (int64_t)((sum + n / 2) / n);
}

// Smallest value with at least `percent` of the sample at or below it.
static int64_t percentile(const int64_t *sorted, int n, int percent)
{
    const int64_t rank = ((int64_t)n * percent + 99) / 100;
    return sorted[rank - 1];
}

struct rb_quantiles rb_quantiles_of(int64_t *values, int n)
{
    const int64_t mean = mean_of(values, n);
    sort_values(values, n);
    return (struct rb_quantiles){
        .mean = mean,
        .p5 = percentile(values, n, 5),
        .p50 = percentile(values, n, 50),
        .p95 = percentile(values, n, 95),
        .p99 = percentile(values, n, 99),
    };
}

static int64_t stderr_of_mean(const int64_t *values, int n)
{
    const int64_t mean = mean_of(values, n);
    double squares = 0;
    for (int i = 0; i < n; i++)
        squares += (double)(values[i] - mean) * (double)(values[i] - mean);
    return n < 2 ? 0 : (int64_t)llrint(sqrt(squares / (n - 1) / n));
}

// Binomial. A sample without a single hit or miss has not shown that there is none: then by Laplace's rule.
static double stderr_of_share(int hits, int n)
{
    const double p = hits == 0 || hits == n ? (hits + 1.0) / (n + 2.0) : (double)hits / n;
    return sqrt(p * (1 - p) / n);
}

double rb_share_error(double share, int64_t n)
{
    const double z2_n = RB_SURE_SIGMA * RB_SURE_SIGMA / (double)n;
    const double centre = (share + z2_n / 2) / (1 + z2_n);
    const double half = sqrt(z2_n * share * (1 - share) + z2_n * z2_n / 4) / (1 + z2_n);
    return fmin(1, fabs(centre - share) + half);
}

// ---- a whole estimate

void rb_estimate_count(const int64_t *time_us, const int64_t *cost_uusd, int n, int64_t deadline_us,
                       int64_t budget_uusd, struct rb_estimate *e)
{
    const bool timed = deadline_us >= 0, costed = budget_uusd >= 0;
    int in_time = 0, in_budget = 0, both = 0;
    for (int i = 0; i < n; i++) {
        const bool time_kept = !timed || time_us[i] <= deadline_us;
        const bool budget_kept = !costed || cost_uusd[i] <= budget_uusd;
        in_time += time_kept;
        in_budget += budget_kept;
        both += time_kept && budget_kept;
    }
    e->p_deadline = (double)in_time / n;
    e->p_budget = (double)in_budget / n;
    e->p_both = (double)both / n;
    e->stderr_.p_deadline = timed ? stderr_of_share(in_time, n) : 0;
    e->stderr_.p_budget = costed ? stderr_of_share(in_budget, n) : 0;
    e->stderr_.p_both = timed || costed ? stderr_of_share(both, n) : 0;
    e->error.p_deadline = timed ? rb_share_error(e->p_deadline, n) : 0;
    e->error.p_budget = costed ? rb_share_error(e->p_budget, n) : 0;
    e->error.p_both = timed || costed ? rb_share_error(e->p_both, n) : 0;
}

struct rb_estimate rb_estimate_of_runs(int64_t *time_us, int64_t *cost_uusd, int n, int64_t deadline_us,
                                       int64_t budget_uusd)
{
    struct rb_estimate e = {.samples = n};
    rb_estimate_count(time_us, cost_uusd, n, deadline_us, budget_uusd, &e);
    e.stderr_.time_mean_us = stderr_of_mean(time_us, n);
    e.stderr_.cost_mean_uusd = stderr_of_mean(cost_uusd, n);
    e.error.time_mean_us = (int64_t)ceil(RB_SURE_SIGMA * (double)e.stderr_.time_mean_us);
    e.error.cost_mean_uusd = (int64_t)ceil(RB_SURE_SIGMA * (double)e.stderr_.cost_mean_uusd);
    e.time_us = rb_quantiles_of(time_us, n);
    e.cost_uusd = rb_quantiles_of(cost_uusd, n);
    return e;
}
