// Estimates by rounds: summarise starts, solve for lambda, learn the noise. Each round is one step of expectation
// maximisation for the noise, and of expectation propagation for what still lasts.
// Source: linear mixed models by their normal equations (Henderson, Biometrics 31, 1975); Dempster, Laird and Rubin,
// J. R. Stat. Soc. B 39 (1977); Huber, Ann. Math. Stat. 35 (1964), for clipped residuals; Minka, UAI 2001.
#include "simulator/posterior/posterior_private.h"

#include "base/arena.h"
#include "base/normal.h"
#include "base/order.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 20 };

#define CLIP        2.5 // standard deviations
#define CONFLICT    2.5 // likewise: data further from the profile contradict it
#define MOST_SPREAD 2.2 // of ln; a cv of 10 (RB_DIST_MAX_CV)
#define DAMPED      0.5 // steps of what units under way say, since they are taken at once

// One fit's scratch memory.
struct fit {
    struct rb_posterior *p;
    double *precision; // of lambda by the data alone, [n_cells][n_cells]
    double *shift;     // precision times the estimate, [n_cells]
    double *row;       // [n]
    double *coefs;     // of a trial's c by lambda, [n_cells]
    double *alone, *alone_var; // lambda by the data alone, [n_cells]
    double *levels;    // of a cell's starts, [n_starts]
};

static double clip(double x, double centre, double sd)
{
    return fmin(fmax(x, centre - CLIP * sd), centre + CLIP * sd);
}

// ---- unknowns

static void resize(struct rb_posterior *p)
{
    const int n = p->profile->n_training + p->n_cells;
    if (n == p->n && p->mean)
        return;
    const size_t size = (size_t)n + 1, cells = (size_t)p->n_cells + 1;
    p->n = n;
    p->mean = rb_xrealloc(p->mean, size, sizeof *p->mean);
    p->drawn = rb_xrealloc(p->drawn, size, sizeof *p->drawn);
    p->covariance = rb_xrealloc(p->covariance, size * size, sizeof *p->covariance);
    p->speed_covariance = rb_xrealloc(p->speed_covariance, cells * cells, sizeof *p->speed_covariance);
    rb_factor_finish(&p->factor);
    rb_factor_init(&p->factor, n);
}

static double prior_var(const struct rb_posterior *p, int unknown)
{
    const int n = p->profile->n_training;
    return unknown < n ? p->alpha2[unknown] : p->beta2[p->cells[unknown - n].training];
}

// Is the cell among those whose lambda contains this unknown?
static bool has(const struct rb_posterior *p, int cell, int unknown)
{
    return rb_posterior_alpha(p, cell) == unknown || rb_posterior_beta(p, cell) == unknown;
}

static double precision_of(const struct fit *f, int a, int b)
{
    const struct rb_posterior *p = f->p;
    double sum = a == b ? 1 / prior_var(p, a) : 0;
    for (int i = 0; i < p->n_cells; i++)
        for (int j = 0; j < p->n_cells && has(p, i, a); j++)
            sum += has(p, j, b) ? f->precision[i * p->n_cells + j] : 0;
    return sum;
}

static double shift_of(const struct fit *f, int unknown)
{
    double sum = -0.5; // the prior mean, - variance / 2, over the variance
    for (int i = 0; i < f->p->n_cells; i++)
        sum += has(f->p, i, unknown) ? f->shift[i] : 0;
    return sum;
}

// The covariance of lambda.
static void find_speeds(struct rb_posterior *p)
{
    const int n = p->n;
    for (int i = 0; i < p->n_cells; i++) {
        for (int j = 0; j < p->n_cells; j++) {
            const double *alpha = p->covariance + (size_t)rb_posterior_alpha(p, i) * (size_t)n;
            const double *beta = p->covariance + (size_t)rb_posterior_beta(p, i) * (size_t)n;
            const int a = rb_posterior_alpha(p, j), b = rb_posterior_beta(p, j);
            p->speed_covariance[i * p->n_cells + j] = alpha[a] + alpha[b] + beta[a] + beta[b];
        }
    }
}

static void invert(struct rb_posterior *p)
{
    const int n = p->n;
    for (int i = 0; i < n; i++) {
        double *row = p->covariance + (size_t)i * (size_t)n;
        for (int j = 0; j < n; j++)
            row[j] = i == j;
        rb_factor_solve_lower(&p->factor, row);
        rb_factor_solve_upper(&p->factor, row);
    }
    find_speeds(p);
}

static void solve(struct fit *f)
{
    struct rb_posterior *p = f->p;
    rb_factor_truncate(&p->factor, 0);
    for (int i = 0; i < p->n; i++) {
        for (int j = 0; j < i; j++)
            f->row[j] = precision_of(f, i, j);
        const bool definite = rb_factor_append(&p->factor, f->row, precision_of(f, i, i));
        assert(definite); // the prior is, and data add to it
        (void)definite;
        p->mean[i] = shift_of(f, i);
    }
    rb_factor_solve_lower(&p->factor, p->mean);
    rb_factor_solve_upper(&p->factor, p->mean);
    invert(p);
}

static void believe_profile(struct rb_posterior *p)
{
    for (int i = 0; i < p->profile->n_training; i++) {
        p->alpha2[i] = rb_posterior_rho2(p->profile, i);
        p->beta2[i] = p->alpha2[i] / 4;
    }
}

void rb_posterior_expect_prior(struct rb_posterior *p)
{
    resize(p);
    believe_profile(p);
    for (int i = 0; i < p->n; i++) {
        p->mean[i] = -prior_var(p, i) / 2;
        for (int j = 0; j < p->n; j++)
            p->covariance[i * p->n + j] = i == j ? prior_var(p, i) : 0;
    }
    find_speeds(p);
}

static double speed_of(const struct rb_posterior *p, int cell)
{
    return p->mean[rb_posterior_alpha(p, cell)] + p->mean[rb_posterior_beta(p, cell)];
}

// ---- starts

// Variance of ln of the mean of `units` units, as if that were lognormal.
static double report_var(const struct rb_posterior *p, int64_t units)
{
    const double w2 = p->noise.within * p->noise.within;
    return units == 1 ? w2 : log1p(expm1(w2) / (double)units);
}

// Of n ascending values; of the two in the middle the one nearer to where it is expected: half of the values must
// agree before the median goes there.
static double median(double lower, double upper, double near)
{
    return fabs(lower - near) <= fabs(upper - near) ? lower : upper;
}

static double report_median(const struct rb_posterior_start *s, double near)
{
    return median(s->reports[(s->n - 1) / 2].log_ratio, s->reports[s->n / 2].log_ratio, near);
}

// How much less the mean of ln(c b) is than ln of its mean, 1: levels are without it.
static double skew(const struct rb_posterior *p)
{
    return (p->noise.between * p->noise.between + p->noise.configuration * p->noise.configuration) / 2;
}

// A report's ln, clipped, as if its mean were that of a factor with mean 1.
static double clipped(const struct rb_posterior_report *r, double centre, double variance)
{
    return clip(r->log_ratio, centre, sqrt(variance)) + variance / 2;
}

// ln(what the units under way have lasted / expected), clipped as others are; centred.
static double lasted(const struct rb_posterior *p, const struct rb_posterior_start *s, double mean, double sd)
{
    const double variance = report_var(p, s->lasts_units);
    const double log_ratio = log(s->lasts_s / ((double)s->lasts_units * s->expected_s)) + variance / 2;
    return fmin(log_ratio + skew(p), mean + CLIP * hypot(sd, sqrt(variance)));
}

// phi(z) / (1 - Phi(z)): the mean of a standard normal beyond z.
static double mills(double z)
{
    return exp(rb_normal_log_density(z)) / rb_normal_cdf(-z);
}

// ln X > e: as the normal observation that gives the level the mean and variance that it has given this, seen from all
// that is known otherwise (expectation propagation).
static void expect_longer(const struct rb_posterior *p, struct rb_posterior_start *s)
{
    const double precision = 1 / (s->there_sd * s->there_sd) - s->lasts_precision;
    if (!(precision > 0))
        return; // nothing else is known, to the last digit
    const double mean = (s->there / (s->there_sd * s->there_sd) - s->lasts_shift) / precision;
    const double sd = sqrt(report_var(p, s->lasts_units) + 1 / precision);
    const double z = (lasted(p, s, mean, sqrt(1 / precision)) - mean) / sd, beyond = mills(z);
    const double gain = beyond * (beyond - z) / (sd * sd); // of precision, seen from a distance
    const double known = gain / (1 - gain / precision);
    const double shift = known * mean + (1 + known / precision) * beyond / sd;
    s->lasts_precision += DAMPED * (known - s->lasts_precision);
    s->lasts_shift += DAMPED * (shift - s->lasts_shift);
}

static void summarise(const struct rb_posterior *p, struct rb_posterior_start *s)
{
    double sum = 0;
    s->precision = 0;
    const double centre = s->n > 0 ? report_median(s, speed_of(p, s->cell)) : 0;
    for (int i = 0; i < s->n; i++) {
        const double variance = report_var(p, s->reports[i].units);
        s->precision += 1 / variance;
        sum += clipped(&s->reports[i], centre, variance) / variance;
    }
    sum += s->precision * skew(p);
    if (s->lasts_s > 0) {
        expect_longer(p, s);
        s->precision += s->lasts_precision;
        sum += s->lasts_shift;
    }
    s->level = s->precision > 0 ? sum / s->precision : 0;
}

// One node's spike is not the accelerator's speed.
static void clip_levels(struct fit *f, int cell)
{
    struct rb_posterior *p = f->p;
    int n = 0;
    for (int i = 0; i < p->n_starts; i++)
        if (p->starts[i].cell == cell && p->starts[i].n > 0)
            f->levels[n++] = p->starts[i].level;
    if (n == 0)
        return;
    qsort(f->levels, (size_t)n, sizeof *f->levels, rb_order_doubles);
    const double centre = median(f->levels[(n - 1) / 2], f->levels[n / 2], speed_of(p, cell));
    for (int i = 0; i < p->n_starts; i++) {
        struct rb_posterior_start *s = &p->starts[i];
        const double c = p->noise.configuration;
        if (s->cell == cell && s->precision > 0)
            s->level = clip(s->level, centre, sqrt(1 / rb_posterior_weight(p, s) + c * c));
    }
}

// ---- trials, whose c is integrated out

// Variance of c given lambda.
static double own_variance(const struct rb_posterior *p, const struct rb_posterior_trial *t)
{
    const double c2 = p->noise.configuration * p->noise.configuration;
    double weight = 0;
    for (int i = t->last; i >= 0; i = p->starts[i].before)
        weight += rb_posterior_weight(p, &p->starts[i]);
    return c2 / (1 + c2 * weight);
}

static void add_trial(struct fit *f, const struct rb_posterior_trial *t)
{
    const struct rb_posterior *p = f->p;
    const double variance = own_variance(p, t);
    double weighted = 0;
    for (int i = t->last; i >= 0; i = p->starts[i].before)
        weighted += rb_posterior_weight(p, &p->starts[i]) * p->starts[i].level;
    for (int i = t->last; i >= 0; i = p->starts[i].before) {
        const struct rb_posterior_start *s = &p->starts[i];
        const double weight = rb_posterior_weight(p, s);
        f->precision[s->cell * p->n_cells + s->cell] += weight;
        f->shift[s->cell] += weight * (s->level - variance * weighted);
        for (int j = t->last; j >= 0; j = p->starts[j].before)
            f->precision[s->cell * p->n_cells + p->starts[j].cell] -=
                variance * weight * rb_posterior_weight(p, &p->starts[j]);
    }
}

static double variance_of(const struct rb_posterior *p, const double *coefs)
{
    double sum = 0;
    for (int i = 0; i < p->n_cells; i++)
        for (int j = 0; j < p->n_cells; j++)
            sum += coefs[i] * coefs[j] * p->speed_covariance[i * p->n_cells + j];
    return fmax(sum, 0);
}

// b of one start, given the trial's c; coefs: those of - c by lambda.
static void find_between(struct fit *f, struct rb_posterior_start *s, double own, double own_var)
{
    struct rb_posterior *p = f->p;
    const double share = rb_posterior_share(p, s), speed = speed_of(p, s->cell);
    const double b2 = p->noise.between * p->noise.between;
    f->coefs[s->cell] += 1;
    const double there_var = own_var + variance_of(p, f->coefs); // of lambda + c
    f->coefs[s->cell] -= 1;
    s->own = share * (s->level - speed - own);
    s->own_var = b2 * (1 - share) + share * share * there_var;
    s->there = speed + own + s->own;
    s->there_sd = sqrt(b2 * (1 - share) + (1 - share) * (1 - share) * there_var);
}

static void find_trial(struct fit *f, struct rb_posterior_trial *t)
{
    struct rb_posterior *p = f->p;
    const double variance = own_variance(p, t);
    t->own = 0;
    memset(f->coefs, 0, (size_t)p->n_cells * sizeof *f->coefs);
    for (int i = t->last; i >= 0; i = p->starts[i].before) {
        const struct rb_posterior_start *s = &p->starts[i];
        const double weight = variance * rb_posterior_weight(p, s);
        t->own += weight * (s->level - speed_of(p, s->cell));
        f->coefs[s->cell] -= weight;
    }
    t->own_var = variance + variance_of(p, f->coefs);
    for (int i = t->last; i >= 0; i = p->starts[i].before)
        find_between(f, &p->starts[i], t->own, variance);
}

// ---- learning

// Of a variance known from `behind` and n squares. Less 1, between where it is most likely and its mean: with that,
// intervals of lambda cover as often as they say (tests/simulator/test_posterior.c).
static double learned(double prior, double behind, double squares, double n)
{
    return n > 0 ? fmin(sqrt((behind * prior * prior + squares) / (behind + n - 1)), fmax(prior, MOST_SPREAD)) : prior;
}

// Expected squares of w in a start's reports, and in what is under way.
static double within_squares(const struct rb_posterior *p, const struct rb_posterior_start *s)
{
    const double w2 = p->noise.within * p->noise.within, there = s->there - skew(p);
    const double centre = s->n > 0 ? report_median(s, speed_of(p, s->cell)) : 0;
    double sum = 0;
    for (int i = 0; i < s->n; i++) {
        const struct rb_posterior_report *r = &s->reports[i];
        const double variance = report_var(p, r->units), off = clipped(r, centre, variance) - there;
        sum += w2 / variance * (off * off + s->there_sd * s->there_sd);
    }
    if (s->lasts_s > 0) {
        const double variance = report_var(p, s->lasts_units), sd = hypot(sqrt(variance), s->there_sd);
        const double z = (lasted(p, s, s->there, s->there_sd) - s->there) / sd;
        sum += w2 * (1 + z * mills(z) * variance / (sd * sd));
    }
    return sum;
}

static void learn(struct rb_posterior *p)
{
    double configurations = 0, betweens = 0, withins = 0, n_trials = 0, n_starts = 0, n_reports = 0;
    for (int i = 0; i < p->n_trials; i++) {
        const struct rb_posterior_trial *t = &p->trials[i];
        if (t->last < 0)
            continue;
        configurations += t->own * t->own + t->own_var;
        n_trials++;
    }
    for (int i = 0; i < p->n_starts; i++) {
        const struct rb_posterior_start *s = &p->starts[i];
        if (!(s->precision > 0))
            continue;
        betweens += s->own * s->own + s->own_var;
        withins += within_squares(p, s);
        n_starts++;
        n_reports += s->n + (s->lasts_s > 0);
    }
    p->noise = (struct rb_posterior_noise){
        .configuration = learned(p->prior_noise.configuration, p->runs_behind, configurations, n_trials),
        .between = learned(p->prior_noise.between, p->runs_behind, betweens, n_starts),
        .within = learned(p->prior_noise.within, p->units_behind, withins, n_reports),
    };
    if (!p->profile->configuration)
        p->noise.configuration = 0;
}

// ---- conflict

// What the run shows of an accelerator without the profile: lambda of its layouts, as one number.
static double common_level(const struct fit *f, int training, double *out_variance)
{
    double precision = 0, sum = 0;
    for (int i = 0; i < f->p->n_cells; i++) {
        if (f->p->cells[i].training != training)
            continue;
        precision += 1 / f->alone_var[i];
        sum += f->alone[i] / f->alone_var[i];
    }
    *out_variance = 1 / precision;
    return precision > 0 ? sum / precision : 0;
}

// Where the level is too far from the profile, alpha gives way; beta only where layouts differ too much from each
// other: a training set of twice the size is no reason to doubt how training scales.
static void widen(struct fit *f, int training)
{
    struct rb_posterior *p = f->p;
    const double alpha2 = p->alpha2[training], beta2 = p->beta2[training], all = alpha2 + beta2;
    double variance;
    const double level = common_level(f, training, &variance);
    if (fabs(level + all / 2) > CONFLICT * sqrt(all + variance))
        p->alpha2[training] = fmax(alpha2, level * level);
    for (int i = 0; i < p->n_cells; i++) {
        const double off = f->alone[i] - level;
        if (p->cells[i].training == training && fabs(off) > CONFLICT * sqrt(beta2 + f->alone_var[i]))
            p->beta2[training] = fmax(p->beta2[training], off * off);
    }
}

// False: not every layout's is known by the data alone.
static bool find_alone(struct fit *f)
{
    const struct rb_posterior *p = f->p;
    struct rb_factor alone;
    rb_factor_init(&alone, p->n_cells);
    bool known = true;
    for (int i = 0; i < p->n_cells && known; i++)
        known =
            rb_factor_append(&alone, f->precision + (size_t)i * (size_t)p->n_cells, f->precision[i * p->n_cells + i]);
    for (int i = 0; i < p->n_cells && known; i++) {
        for (int j = 0; j < p->n_cells; j++)
            f->row[j] = i == j;
        rb_factor_solve_lower(&alone, f->row);
        rb_factor_solve_upper(&alone, f->row);
        f->alone[i] = 0;
        for (int j = 0; j < p->n_cells; j++)
            f->alone[i] += f->row[j] * f->shift[j];
        f->alone_var[i] = f->row[i];
    }
    rb_factor_finish(&alone);
    return known;
}

static void find_conflicts(struct fit *f)
{
    believe_profile(f->p);
    if (!find_alone(f))
        return;
    for (int i = 0; i < f->p->profile->n_training; i++)
        widen(f, i);
}

// ---- the fit

static void make_round(struct fit *f)
{
    struct rb_posterior *p = f->p;
    const size_t n_cells = (size_t)p->n_cells;
    for (int i = 0; i < p->n_starts; i++)
        summarise(p, &p->starts[i]);
    for (int i = 0; i < p->n_cells; i++)
        clip_levels(f, i);
    memset(f->precision, 0, n_cells * n_cells * sizeof *f->precision);
    memset(f->shift, 0, n_cells * sizeof *f->shift);
    for (int i = 0; i < p->n_trials; i++)
        add_trial(f, &p->trials[i]);
    find_conflicts(f);
    solve(f);
    for (int i = 0; i < p->n_trials; i++)
        find_trial(f, &p->trials[i]);
}

static void expect_nothing(const struct rb_posterior *p, struct rb_posterior_start *s)
{
    const struct rb_posterior_noise *n = &p->noise;
    const double lambda = p->speed_covariance[s->cell * (p->n_cells + 1)];
    s->there = speed_of(p, s->cell);
    s->there_sd = sqrt(lambda + n->between * n->between + n->configuration * n->configuration);
    s->lasts_precision = s->lasts_shift = 0;
}

void rb_posterior_fit(struct rb_posterior *p, const struct rb_posterior_units *under_way, int n)
{
    rb_posterior_take_under_way(p, under_way, n);
    rb_posterior_expect_prior(p);
    const size_t n_cells = (size_t)p->n_cells + 1;
    struct fit f = {
        .p = p,
        .precision = rb_xcalloc(n_cells * n_cells, sizeof *f.precision),
        .shift = rb_xcalloc(n_cells, sizeof *f.shift),
        .row = rb_xcalloc((size_t)p->n + 1, sizeof *f.row),
        .coefs = rb_xcalloc(n_cells, sizeof *f.coefs),
        .alone = rb_xcalloc(n_cells, sizeof *f.alone),
        .alone_var = rb_xcalloc(n_cells, sizeof *f.alone_var),
        .levels = rb_xcalloc((size_t)p->n_starts + 1, sizeof *f.levels),
    };
    p->noise = p->prior_noise;
    for (int i = 0; i < p->n_starts; i++)
        expect_nothing(p, &p->starts[i]);
    for (int i = 0; i < ROUNDS; i++) {
        make_round(&f);
        if (i < ROUNDS - 1)
            learn(p);
    }
    free(f.precision);
    free(f.shift);
    free(f.row);
    free(f.coefs);
    free(f.alone);
    free(f.alone_var);
    free(f.levels);
}
