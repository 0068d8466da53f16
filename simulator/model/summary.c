#include "simulator/model/summary.h"

#include "base/arena.h"

#include <math.h>

__extension__ typedef __int128 wide;

// ---- one figure

#define BUCKETS 2048
#define FEW     32 // values that are sorted one by one

// Counts of a sample over equal parts of its range.
struct buckets {
    int64_t least;
    int shift;              // a part is 2^shift wide
    int begin[BUCKETS + 1]; // values below each part
};

static int bucket_of(const struct buckets *b, int64_t value)
{
    return (int)(((uint64_t)value - (uint64_t)b->least) >> b->shift);
}

static void count_buckets(const int64_t *values, int n, struct buckets *out)
{
    int64_t least = values[0], most = values[0];
    for (int i = 1; i < n; i++) {
        least = values[i] < least ? values[i] : least;
        most = values[i] > most ? values[i] : most;
    }
    *out = (struct buckets){.least = least};
    while (((uint64_t)most - (uint64_t)least) >> out->shift >= BUCKETS)
        out->shift++;
    for (int i = 0; i < n; i++)
        out->begin[bucket_of(out, values[i]) + 1]++;
    for (int k = 1; k <= BUCKETS; k++)
        out->begin[k] += out->begin[k - 1];
}

static void sort_few(int64_t *values, int n)
{
    for (int i = 1; i < n; i++) {
        const int64_t value = values[i];
        int at = i;
        for (; at > 0 && values[at - 1] > value; at--)
            values[at] = values[at - 1];
        values[at] = value;
    }
}

// The value with `rank` others before it, in order; b: the buckets of these values. Only the values of its part are
// examined.
static int64_t value_at(const int64_t *values, int n, const struct buckets *b, int rank)
{
    int k = 0, n_members = 0;
    while (b->begin[k + 1] <= rank)
        k++;
    if (b->shift == 0)
        return b->least + k;
    const int most = b->begin[k + 1] - b->begin[k];
    RB_AUTO(rb_auto_free) int64_t *members = rb_xcalloc((size_t)most, sizeof *members);
    for (int i = 0; i < n && n_members < most; i++) {
        if (bucket_of(b, values[i]) == k)
            members[n_members++] = values[i];
    }
    rank -= b->begin[k];
    if (most <= FEW) {
        sort_few(members, most);
        return members[rank];
    }
    struct buckets finer;
    count_buckets(members, most, &finer);
    return value_at(members, most, &finer, rank);
}

static int64_t mean_of(const int64_t *values, int n)
{
    wide sum = 0;
    for (int i = 0; i < n; i++)
        sum += values[i];
    return (int64_t)((sum + n / 2) / n);
}

// Smallest value with at least `percent` of the sample at or below it.
static int64_t percentile(const int64_t *values, int n, const struct buckets *b, int percent)
{
    return value_at(values, n, b, (int)(((int64_t)n * percent + 99) / 100 - 1));
}

struct rb_quantiles rb_quantiles_of(const int64_t *values, int n)
{
    struct buckets b;
    count_buckets(values, n, &b);
    return (struct rb_quantiles){
        .mean = mean_of(values, n),
        .p5 = percentile(values, n, &b, 5),
        .p50 = percentile(values, n, &b, 50),
        .p95 = percentile(values, n, &b, 95),
        .p99 = percentile(values, n, &b, 99),
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

// Binomial. A sample without a single hit or miss does not show that the probability is 0: then Laplace's rule is used.
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

int rb_count_kept(const int64_t *time_us, const int64_t *cost_uusd, int n, int64_t deadline_us, int64_t budget_uusd)
{
    int kept = 0;
    for (int i = 0; i < n; i++)
        kept += (deadline_us < 0 || time_us[i] <= deadline_us) && (budget_uusd < 0 || cost_uusd[i] <= budget_uusd);
    return kept;
}

struct rb_difference rb_difference_of(const int64_t *a, const int64_t *b, int n)
{
    double sum = 0, squares = 0;
    for (int i = 0; i < n; i++)
        sum += (double)(a[i] - b[i]);
    for (int i = 0; i < n; i++) {
        const double off = (double)(a[i] - b[i]) - sum / n;
        squares += off * off;
    }
    return (struct rb_difference){sum / n, sqrt(squares / n / fmax(1, n - 1))};
}

// ---- a whole estimate

void rb_estimate_count(const int64_t *time_us, const int64_t *cost_uusd, int n, int64_t deadline_us,
                       int64_t budget_uusd, struct rb_estimate *e)
{
    const bool timed = deadline_us >= 0, costed = budget_uusd >= 0;
    const int in_time = rb_count_kept(time_us, cost_uusd, n, deadline_us, -1);
    const int in_budget = rb_count_kept(time_us, cost_uusd, n, -1, budget_uusd);
    const int both = rb_count_kept(time_us, cost_uusd, n, deadline_us, budget_uusd);
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

struct rb_estimate rb_estimate_of_runs(const int64_t *time_us, const int64_t *cost_uusd, int n, int64_t deadline_us,
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
