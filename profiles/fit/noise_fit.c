// Variance components of log unit times: runs nested in cells, units nested in runs, nothing assumed about balance.
// Source: Searle, Casella & McCulloch, "Variance Components" (1992), chapter 3: the one-way classification. Runs of one
// configuration are classified likewise, by run means less their cells': the two-way crossed classification of that
// chapter, exact where every configuration ran in every cell.
#include "profiles/fit/noise_fit.h"

#include "base/arena.h"

#include <math.h>
#include <stdlib.h>

#define MIN_UNIT_S 1e-6 // the clock's resolution
#define MAX_UNIT_S 1e6  // eleven days for one unit of resource are a mistake

// Sums of squares of one nested layout.
struct anova {
    int n_units, n_runs, n_cells;
    double ss_within, ss_between;
    double sum_run_sq_over_cell; // sum over cells of (sum of squared run sizes) / cell size
    struct run_mean *runs;       // [n_runs]
};

struct run_mean {
    int configuration;
    double deviation; // of its mean from its cell's, whose runs all count the same
};

struct log_sample {
    int cell, run, configuration;
    double log_s;
};

static int by_cell_and_run(const void *a, const void *b)
{
    const struct log_sample *x = a, *y = b;
    if (x->cell != y->cell)
        return x->cell < y->cell ? -1 : 1;
    if (x->run != y->run)
        return x->run < y->run ? -1 : 1;
    return (x->log_s > y->log_s) - (x->log_s < y->log_s); // sums do not depend on the order of the input
}

static double mean_log(const struct log_sample *s, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += s[i].log_s;
    return sum / n;
}

static int run_length(const struct log_sample *s, int n)
{
    int length = 1;
    while (length < n && s[length].cell == s[0].cell && s[length].run == s[0].run)
        length++;
    return length;
}

static int cell_length(const struct log_sample *s, int n)
{
    int length = 1;
    while (length < n && s[length].cell == s[0].cell)
        length++;
    return length;
}

static void center(struct run_mean *runs, int n)
{
    double mean = 0;
    for (int i = 0; i < n; i++)
        mean += runs[i].deviation / n;
    for (int i = 0; i < n; i++)
        runs[i].deviation -= mean;
}

static void add_cell(struct anova *a, const struct log_sample *s, int n)
{
    const double cell_mean = mean_log(s, n);
    const int first = a->n_runs;
    double sum_run_sq = 0;
    for (int i = 0, length; i < n; i += length) {
        length = run_length(s + i, n - i);
        const double run_mean = mean_log(s + i, length);
        for (int u = i; u < i + length; u++)
            a->ss_within += (s[u].log_s - run_mean) * (s[u].log_s - run_mean);
        a->ss_between += length * (run_mean - cell_mean) * (run_mean - cell_mean);
        sum_run_sq += (double)length * length;
        a->runs[a->n_runs++] = (struct run_mean){s[i].configuration, run_mean};
    }
    center(a->runs + first, a->n_runs - first);
    a->sum_run_sq_over_cell += sum_run_sq / n;
    a->n_units += n;
    a->n_cells++;
}

// Variance of the log of a lognormal factor with mean 1 -> its coefficient of variation.
static double cv_of(double log_variance)
{
    return sqrt(expm1(log_variance));
}

static int by_configuration(const void *a, const void *b)
{
    const struct run_mean *x = a, *y = b;
    return (x->configuration > y->configuration) - (x->configuration < y->configuration);
}

// Variance between configurations in the logs of run means. NAN: one configuration, or none ran twice.
static double configuration_variance(const struct anova *a)
{
    double ss_between = 0, ss_rest = 0, sum_sq = 0;
    int n_configurations = 0;
    qsort(a->runs, (size_t)a->n_runs, sizeof *a->runs, by_configuration);
    for (int i = 0, n; i < a->n_runs; i += n) {
        double mean = 0;
        for (n = 0; i + n < a->n_runs && a->runs[i + n].configuration == a->runs[i].configuration; n++)
            mean += a->runs[i + n].deviation;
        mean /= n;
        for (int k = i; k < i + n; k++)
            ss_rest += (a->runs[k].deviation - mean) * (a->runs[k].deviation - mean);
        ss_between += n * mean * mean;
        sum_sq += (double)n * n;
        n_configurations++;
    }
    const int df_between = n_configurations - 1, df_rest = a->n_runs - n_configurations - a->n_cells + 1;
    if (df_between < 1 || df_rest < 1)
        return NAN;
    const double runs_each = (a->n_runs - sum_sq / a->n_runs) / df_between;
    return fmax(0.0, (ss_between / df_between - ss_rest / df_rest) / runs_each);
}

static void estimate(const struct anova *a, struct rb_noise_fit *out)
{
    const int df_within = a->n_units - a->n_runs, df_between = a->n_runs - a->n_cells;
    const double ms_within = a->ss_within / df_within;
    *out = (struct rb_noise_fit){
        .within_cv = cv_of(ms_within), .configuration_cv = NAN, .n_runs = a->n_runs, .n_units = a->n_units};
    if (df_between == 0) {
        out->between_se = INFINITY; // one run per cell: its deviation and the cell's mean cannot be separated
        return;
    }
    const double ms_between = a->ss_between / df_between;
    const double units_per_run = (a->n_units - a->sum_run_sq_over_cell) / df_between;
    const double variance = fmax(0.0, (ms_between - ms_within) / units_per_run);
    const double variance_se =
        sqrt(2 * ms_between * ms_between / df_between + 2 * ms_within * ms_within / df_within) / units_per_run;
    out->between_cv = cv_of(variance);
    out->between_se = cv_of(variance + variance_se) - out->between_cv;
    const double configurations = configuration_variance(a), kept = fmin(variance, configurations);
    out->configuration_cv = isnan(configurations) ? NAN : cv_of(kept);
    out->rest_cv = isnan(configurations) ? out->between_cv : cv_of(variance - kept);
}

bool rb_noise_fit(const struct rb_unit_sample *samples, int n, struct rb_noise_fit *out, struct rb_err *err)
{
    RB_AUTO(rb_auto_free) struct log_sample *logs = rb_xcalloc(n > 0 ? (size_t)n : 1, sizeof(*logs));
    for (int i = 0; i < n; i++) {
        if (!(samples[i].unit_s >= MIN_UNIT_S && samples[i].unit_s <= MAX_UNIT_S)) {
            return rb_err_set(err, RB_E_FIT_SAMPLES, "unit time of run %d: expected %g..%g seconds, got %g",
                              samples[i].run, MIN_UNIT_S, MAX_UNIT_S, samples[i].unit_s);
        }
        logs[i] = (struct log_sample){samples[i].cell, samples[i].run, samples[i].configuration, log(samples[i].unit_s)};
    }
    qsort(logs, (size_t)n, sizeof(*logs), by_cell_and_run);
    RB_AUTO(rb_auto_free) struct run_mean *runs = rb_xcalloc(n > 0 ? (size_t)n : 1, sizeof *runs);
    struct anova a = {.runs = runs};
    for (int i = 0, length; i < n; i += length) {
        length = cell_length(logs + i, n - i);
        add_cell(&a, logs + i, length);
    }
    if (a.n_units == a.n_runs) {
        return rb_err_set(
            err, RB_E_FIT_SAMPLES,
            "noise fit: no run has two units, so noise within a run cannot be separated from noise between "
            "runs: measure longer runs (`rbprofile train JOB.yaml --resource 3`)");
    }
    estimate(&a, out);
    return true;
}
