// What a run shows of its speed: recording, and what follows from the last fit.
#include "simulator/posterior/posterior_private.h"

#include "base/arena.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FEW_BEHIND = 4 }; // runs and units behind a noise of unknown origin

#define LEAST_SPREAD 0.01 // of any noise: what never varied in a measurement varies in a run
#define BURST        0.01 // a report after less than this part of the expected time is of a burst

// ---- life

// Of ln X for a factor X of this distribution, as if it were lognormal.
static double log_spread(const struct rb_dist *d)
{
    const double mean = rb_dist_mean(d);
    return fmax(LEAST_SPREAD, sqrt(log1p(rb_dist_variance(d) / (mean * mean))));
}

double rb_posterior_rho2(const struct rb_profile *profile, int training)
{
    const double rho = profile->training[training].relative_error;
    return rho > 0 ? rho * rho : RB_POSTERIOR_EXACT * RB_POSTERIOR_EXACT;
}

struct rb_posterior *rb_posterior_create(const struct rb_profile *profile, uint64_t seed)
{
    struct rb_posterior *p = rb_xcalloc(1, sizeof *p);
    const struct rb_measured *m = profile->has_measured ? &profile->measured : NULL;
    p->profile = profile;
    p->seed = seed;
    p->mean_factor = rb_profile_mean_factor(profile);
    p->prior_noise = (struct rb_posterior_noise){
        .configuration = profile->configuration ? log_spread(profile->configuration) : 0,
        .between = log_spread(&profile->between),
        .within = log_spread(&profile->within),
    };
    p->noise = p->prior_noise;
    p->runs_behind = m && m->configurations > 0 ? m->configurations : FEW_BEHIND;
    p->units_behind = m && m->units > 0 ? m->units : FEW_BEHIND;
    p->alpha2 = rb_xcalloc((size_t)profile->n_training + 1, sizeof *p->alpha2);
    p->beta2 = rb_xcalloc((size_t)profile->n_training + 1, sizeof *p->beta2);
    rb_posterior_expect_prior(p);
    return p;
}

void rb_posterior_destroy(struct rb_posterior *p)
{
    if (!p)
        return;
    for (int i = 0; i < p->n_starts; i++)
        free(p->starts[i].reports);
    free(p->starts);
    free(p->trials);
    free(p->cells);
    free(p->alpha2);
    free(p->beta2);
    free(p->mean);
    free(p->covariance);
    free(p->speed_covariance);
    rb_factor_finish(&p->factor);
    free(p->drawn);
    free(p);
}

// ---- recording

int rb_posterior_cell_of(const struct rb_posterior *p, int training, int layout)
{
    for (int i = 0; i < p->n_cells; i++)
        if (p->cells[i].training == training && p->cells[i].layout == layout)
            return i;
    return -1;
}

static int need_cell(struct rb_posterior *p, int training, int layout)
{
    const int known = rb_posterior_cell_of(p, training, layout);
    if (known >= 0)
        return known;
    p->cells = rb_xrealloc(p->cells, (size_t)p->n_cells + 1, sizeof *p->cells);
    p->cells[p->n_cells] = (struct rb_posterior_cell){training, layout};
    return p->n_cells++;
}

static struct rb_posterior_trial *need_trial(struct rb_posterior *p, int trial)
{
    if (trial >= p->n_trials) {
        p->trials = rb_xrealloc(p->trials, (size_t)trial + 1, sizeof *p->trials);
        while (p->n_trials <= trial)
            p->trials[p->n_trials++] =
                (struct rb_posterior_trial){.last = -1, .own_var = p->noise.configuration * p->noise.configuration};
    }
    return &p->trials[trial];
}

static bool is_of(const struct rb_posterior_start *s, const struct rb_posterior_units *u)
{
    return s->stage == u->stage && s->attempt == u->attempt;
}

static struct rb_posterior_start *need_start(struct rb_posterior *p, const struct rb_posterior_units *u)
{
    struct rb_posterior_trial *t = need_trial(p, u->trial);
    if (t->last >= 0 && is_of(&p->starts[t->last], u))
        return &p->starts[t->last];
    if (p->n_starts == p->starts_cap) {
        p->starts_cap = p->starts_cap ? 2 * p->starts_cap : 64;
        p->starts = rb_xrealloc(p->starts, (size_t)p->starts_cap, sizeof *p->starts);
    }
    struct rb_posterior_start *s = &p->starts[p->n_starts];
    *s = (struct rb_posterior_start){
        .trial = u->trial,
        .stage = u->stage,
        .attempt = u->attempt,
        .cell = need_cell(p, u->training, u->layout),
        .before = t->last,
        .expected_s = u->unit_s * p->mean_factor,
        .own_var = p->noise.between * p->noise.between,
    };
    t->last = p->n_starts++;
    return s;
}

static void insert(struct rb_posterior_start *s, double seconds, int64_t units)
{
    const double log_ratio = log(seconds / ((double)units * s->expected_s));
    if (s->n == s->cap) {
        s->cap = s->cap ? 2 * s->cap : 8;
        s->reports = rb_xrealloc(s->reports, (size_t)s->cap, sizeof *s->reports);
    }
    int at = s->n;
    while (at > 0 && s->reports[at - 1].log_ratio > log_ratio)
        at--;
    memmove(&s->reports[at + 1], &s->reports[at], (size_t)(s->n - at) * sizeof *s->reports);
    s->reports[at] = (struct rb_posterior_report){log_ratio, seconds, units};
    s->newest = at;
    s->n++;
}

static struct rb_posterior_report take_newest(struct rb_posterior_start *s)
{
    const struct rb_posterior_report r = s->reports[s->newest];
    s->n--;
    memmove(&s->reports[s->newest], &s->reports[s->newest + 1], (size_t)(s->n - s->newest) * sizeof *s->reports);
    return r;
}

void rb_posterior_saw(struct rb_posterior *p, const struct rb_posterior_units *u)
{
    assert(u->units > 0);
    struct rb_posterior_start *s = need_start(p, u);
    double seconds = u->seconds;
    int64_t units = u->units;
    if (u->seconds < BURST * (double)u->units * s->expected_s) {
        if (s->n == 0)
            return; // of a burst that its first report is in, too
        const struct rb_posterior_report before = take_newest(s);
        seconds += before.seconds;
        units += before.units;
    }
    s->sum_expected_s += (double)u->units * s->expected_s;
    insert(s, seconds, units);
}

// ---- what follows

bool rb_posterior_has_data(const struct rb_posterior *p)
{
    for (int i = 0; i < p->n_starts; i++)
        if (p->starts[i].n > 0 || p->starts[i].lasts_s > 0)
            return true;
    return false;
}

// Mean and variance of a sum over cells with these weights.
static struct rb_posterior_log weighted(const struct rb_posterior *p, const double *weights)
{
    double mean = 0, variance = 0;
    const int n = rb_posterior_n_fitted(p);
    for (int i = 0; i < n; i++) {
        mean += weights[i] * (p->mean[rb_posterior_alpha(p, i)] + p->mean[rb_posterior_beta(p, i)]);
        for (int j = 0; j < n; j++)
            variance += weights[i] * weights[j] * p->speed_covariance[i * n + j];
    }
    return (struct rb_posterior_log){mean, sqrt(fmax(variance, 0))};
}

struct rb_posterior_log rb_posterior_speed(const struct rb_posterior *p, int training, int layout)
{
    const int cell = rb_posterior_cell_of(p, training, layout);
    if (rb_posterior_is_fitted(p, cell))
        return (struct rb_posterior_log){p->mean[training] + p->mean[rb_posterior_beta(p, cell)],
                                         sqrt(p->speed_covariance[cell * (rb_posterior_n_fitted(p) + 1)])};
    const double variance = p->beta2[training];
    return (struct rb_posterior_log){p->mean[training] - variance / 2,
                                     sqrt(p->covariance[training * p->n + training] + variance)};
}

struct rb_posterior_log rb_posterior_speed_in(const struct rb_posterior *p, int stage, int *out_n_trials)
{
    double *weights = rb_xcalloc((size_t)p->n_cells + 1, sizeof *weights), sum = 0;
    bool *is_counted = rb_xcalloc((size_t)p->n_trials + 1, sizeof *is_counted);
    int n_trials = 0;
    for (int i = 0; i < p->n_starts; i++) {
        const struct rb_posterior_start *s = &p->starts[i];
        if ((stage >= 0 && s->stage != stage) || s->n == 0 || !rb_posterior_is_fitted(p, s->cell))
            continue;
        weights[s->cell] += s->sum_expected_s;
        sum += s->sum_expected_s;
        n_trials += !is_counted[s->trial];
        is_counted[s->trial] = true;
    }
    for (int i = 0; i < p->n_cells && sum > 0; i++)
        weights[i] /= sum;
    const struct rb_posterior_log speed = sum > 0 ? weighted(p, weights) : (struct rb_posterior_log){NAN, NAN};
    if (out_n_trials)
        *out_n_trials = n_trials;
    free(is_counted);
    free(weights);
    return speed;
}

// A factor with mean 1 has half its variance less as the mean of its logarithm.
static struct rb_posterior_log of_factor(double centred, double variance, double spread)
{
    return (struct rb_posterior_log){centred - spread * spread / 2, sqrt(variance)};
}

struct rb_posterior_log rb_posterior_configuration(const struct rb_posterior *p, int trial)
{
    const double spread = p->noise.configuration;
    if (trial >= p->n_trials || p->trials[trial].last < 0)
        return of_factor(0, spread * spread, spread);
    return of_factor(p->trials[trial].own, p->trials[trial].own_var, spread);
}

struct rb_posterior_log rb_posterior_between(const struct rb_posterior *p, int trial)
{
    const double spread = p->noise.between;
    if (trial >= p->n_trials || p->trials[trial].last < 0)
        return of_factor(0, spread * spread, spread);
    const struct rb_posterior_start *s = &p->starts[p->trials[trial].last];
    return of_factor(s->own, s->own_var, spread);
}

double rb_posterior_between_sd(const struct rb_posterior *p)
{
    return p->noise.between;
}

double rb_posterior_within_sd(const struct rb_posterior *p)
{
    return p->noise.within;
}

// ---- units under way

static void take_under_way(struct rb_posterior *p, const struct rb_posterior_units *u)
{
    struct rb_posterior_start *s = need_start(p, u);
    s->lasts_s = u->seconds;
    s->lasts_units = u->units;
}

void rb_posterior_take_under_way(struct rb_posterior *p, const struct rb_posterior_units *under_way, int n)
{
    for (int i = 0; i < p->n_starts; i++)
        p->starts[i].lasts_s = 0;
    for (int i = 0; i < n; i++)
        if (under_way[i].seconds > 0)
            take_under_way(p, &under_way[i]);
}
