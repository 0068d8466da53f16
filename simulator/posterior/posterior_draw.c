// Draws from a posterior: lambda as a whole, then each trial's own factors given lambda.
#include "simulator/posterior/posterior_private.h"

#include "base/stream.h"
#include "samplers/model/normal.h"

#include <assert.h>
#include <math.h>

static double score(const struct rb_posterior *p, enum rb_purpose purpose, int stage, int index, int attempt)
{
    const struct rb_stream_key key = {
        .seed = p->seed,
        .purpose = purpose,
        .stage = (uint32_t)stage,
        .index = (uint32_t)index,
        .attempt = (uint32_t)attempt,
        .replicate = p->replicate,
    };
    return rb_normal_quantile(rb_stream_first_uniform(&key));
}

// Of an accelerator, and of a layout on it: the same for all fits, so that predictions change with what they know only.
static double alpha_score(const struct rb_posterior *p, int training)
{
    return score(p, RB_DRAW_POSTERIOR_SPEED, 0, training, 0);
}

static double beta_score(const struct rb_posterior *p, int training, int layout)
{
    return score(p, RB_DRAW_POSTERIOR_SPEED, 1 + training, layout, 0);
}

void rb_posterior_draw(struct rb_posterior *p, uint32_t replicate)
{
    p->replicate = replicate;
    const int n_training = p->profile->n_training;
    for (int i = 0; i < n_training; i++)
        p->drawn[i] = alpha_score(p, i);
    for (int i = 0; i < rb_posterior_n_fitted(p); i++)
        p->drawn[n_training + i] = beta_score(p, p->cells[i].training, p->cells[i].layout);
    rb_factor_solve_upper(&p->factor, p->drawn); // the factor is of the precision
    for (int i = 0; i < p->n; i++)
        p->drawn[i] += p->mean[i];
}

static double drawn_speed(const struct rb_posterior *p, int cell)
{
    return p->drawn[rb_posterior_alpha(p, cell)] + p->drawn[rb_posterior_beta(p, cell)];
}

double rb_posterior_drawn_speed(const struct rb_posterior *p, int training, int layout)
{
    const int cell = rb_posterior_cell_of(p, training, layout);
    if (rb_posterior_is_fitted(p, cell))
        return exp(drawn_speed(p, cell));
    const double variance = p->beta2[training];
    return exp(p->drawn[training] - variance / 2 + sqrt(variance) * beta_score(p, training, layout));
}

// c given the drawn lambda, centred.
static double drawn_own(const struct rb_posterior *p, int trial)
{
    const double c2 = p->noise.configuration * p->noise.configuration;
    double weight = 0, sum = 0;
    for (int i = p->trials[trial].last; i >= 0; i = p->starts[i].before) {
        const struct rb_posterior_start *s = &p->starts[i];
        if (!(s->precision > 0))
            continue;
        weight += rb_posterior_weight(p, s);
        sum += rb_posterior_weight(p, s) * (s->level - drawn_speed(p, s->cell));
    }
    const double variance = c2 / (1 + c2 * weight);
    return variance * sum + sqrt(variance) * score(p, RB_DRAW_POSTERIOR_TRIAL, 0, trial, 0);
}

static bool was_seen(const struct rb_posterior *p, int trial)
{
    return trial < p->n_trials && p->trials[trial].last >= 0;
}

bool rb_posterior_drawn_configuration(const struct rb_posterior *p, int trial, double *out)
{
    const double c = p->noise.configuration;
    if (!was_seen(p, trial) || !p->profile->configuration)
        return false;
    *out = rb_dist_mean(p->profile->configuration) * exp(drawn_own(p, trial) - c * c / 2);
    return true;
}

static const struct rb_posterior_start *find_start(const struct rb_posterior *p, int trial, int stage, int attempt)
{
    for (int i = trial < p->n_trials ? p->trials[trial].last : -1; i >= 0; i = p->starts[i].before)
        if (p->starts[i].stage == stage && p->starts[i].attempt == attempt && p->starts[i].precision > 0)
            return &p->starts[i];
    return NULL;
}

bool rb_posterior_drawn_between(const struct rb_posterior *p, int trial, int stage, int attempt, int drawn, double *out)
{
    const struct rb_posterior_start *s = find_start(p, trial, stage, attempt);
    if (!s)
        return false;
    const double b = p->noise.between, share = rb_posterior_share(p, s);
    const double mean = share * (s->level - drawn_speed(p, s->cell) - drawn_own(p, trial));
    const double sd = b * sqrt(1 - share);
    *out = rb_dist_mean(&p->profile->between) *
           exp(mean + sd * score(p, RB_DRAW_POSTERIOR_TRIAL, 1 + stage, trial, drawn) - b * b / 2);
    return true;
}
