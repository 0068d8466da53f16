// The state of a posterior, between recording (posterior.c), estimating (posterior_fit.c) and drawing
// (posterior_draw.c).
#ifndef RB_SIMULATOR_POSTERIOR_PRIVATE_H
#define RB_SIMULATOR_POSTERIOR_PRIVATE_H

#include "samplers/model/linear.h"
#include "simulator/posterior/posterior.h"

// One report: its units, and ln(what one took on average / expected).
struct rb_posterior_report {
    double log_ratio, seconds;
    int64_t units;
};

// One start of a trial: its b is one number. What follows `lasts_units` is of the last fit.
struct rb_posterior_start {
    int trial, stage, attempt, cell;
    int before;                          // the trial's start before this one, -1: none
    double expected_s;                   // of one unit, all factors at their means
    double sum_expected_s;               // of all its units
    struct rb_posterior_report *reports; // ascending by log_ratio, [n]
    int n, cap, newest;                  // newest: index of the last report
    double lasts_s;                      // of the units under way; 0: none
    int64_t lasts_units;
    double lasts_precision,
        lasts_shift;        // what these say of `level`: a normal observation, shift = precision times mean
    double precision;       // of `level` given the true one: by within alone; 0: nothing is known
    double level;           // lambda + c + b as its units show it
    double own, own_var;    // posterior of b, centred
    double there, there_sd; // posterior of lambda + c + b
};

struct rb_posterior_trial {
    int last;            // start, -1: none
    double own, own_var; // posterior of c, centred
};

struct rb_posterior_cell {
    int training, layout;
};

// ln of the spreads: of c, b and w.
struct rb_posterior_noise {
    double configuration, between, within;
};

struct rb_posterior {
    const struct rb_profile *profile;
    uint64_t seed;
    double mean_factor;
    struct rb_posterior_noise prior_noise, noise;
    double runs_behind, units_behind; // the prior noise counts as this many
    struct rb_posterior_start *starts;
    int n_starts, starts_cap;
    struct rb_posterior_trial *trials; // by id
    int n_trials;
    struct rb_posterior_cell *cells;
    int n_cells;

    // Unknowns: alpha of every entry of profile->training, then beta of every cell; n in all.
    int n;
    double *alpha2, *beta2;   // their prior variances, by accelerator, [n_training]; the profile's, or wider where the run
                              // contradicts it
    double *mean;             // [n]
    double *covariance;       // [n][n]
    double *speed_covariance; // of lambda, [n_cells][n_cells]
    struct rb_factor factor;  // of the precision

    uint32_t replicate; // of the draw
    double *drawn;      // [n]
};

// A start's b given everything: how far it follows what its own units show. 0..1.
static inline double rb_posterior_share(const struct rb_posterior *p, const struct rb_posterior_start *s)
{
    const double b2 = p->noise.between * p->noise.between;
    return b2 * s->precision / (1 + b2 * s->precision);
}

// Precision with which a start shows lambda + c.
static inline double rb_posterior_weight(const struct rb_posterior *p, const struct rb_posterior_start *s)
{
    const double b2 = p->noise.between * p->noise.between;
    return s->precision / (1 + b2 * s->precision);
}

int rb_posterior_cell_of(const struct rb_posterior *p, int training, int layout); // -1: never seen
// Cells of the last fit, the first ones: later ones are unseen to those who ask.
static inline int rb_posterior_n_fitted(const struct rb_posterior *p)
{
    return p->n - p->profile->n_training;
}
static inline bool rb_posterior_is_fitted(const struct rb_posterior *p, int cell)
{
    return cell >= 0 && cell < rb_posterior_n_fitted(p);
}
void rb_posterior_expect_prior(struct rb_posterior *p); // sets the unknowns to their prior
void rb_posterior_take_under_way(struct rb_posterior *p, const struct rb_posterior_units *under_way, int n);

static inline int rb_posterior_alpha(const struct rb_posterior *p, int cell)
{
    return p->cells[cell].training;
}
static inline int rb_posterior_beta(const struct rb_posterior *p, int cell)
{
    return p->profile->n_training + cell;
}

#endif
