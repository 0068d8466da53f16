// A Gaussian process over (configuration, level): how good a configuration is at a level.
//   k = M(|x - x'| / l) ((1 - c) + c M(|t - t'| / l_t)),  M Matern 5/2, t = ln r / ln R,
// on a diagonal that noise^2 is added to. The scale s^2 multiplies all of it and is profiled out: y' K^-1 y / n.
// Rows are appended to the Cholesky factor, so a model that has grown equals one that was built at once, to the bit.
#ifndef RB_SAMPLERS_GP_MODEL_H
#define RB_SAMPLERS_GP_MODEL_H

#include "base/limits.h"
#include "samplers/coordinates.h"
#include "samplers/model/linear.h"

struct rb_gp_hyper {
    double length[RB_LIMIT_PARAMETERS]; // of each coordinate
    double level_length;
    double level_share;         // c: how much of a score depends on the level
    double noise;
};

struct rb_gp {
    const struct rb_coordinates *coordinates;
    struct rb_gp_hyper hyper;
    double times[RB_LIMIT_STAGES];   // t of each level
    double levels_alike[RB_LIMIT_STAGES][RB_LIMIT_STAGES]; // the kernel's second factor
    int n_levels, n_features, cap;
    double *x;                  // features divided by their lengths, by features: [n_features][cap]
    int *level_of;              // [cap]
    int *keys;                  // [cap]: what each row is, the caller's numbers
    struct rb_factor factor;    // factor.n rows
    double *alpha;              // [n_known]: K^-1 y
    int n_known;                // rows with a known score; later ones only say where something is being tried
    double scale;               // s
    double *scratch;            // [cap]
};

void rb_gp_init(struct rb_gp *gp, const struct rb_coordinates *c, const int64_t *levels, int n_levels, int cap);
void rb_gp_finish(struct rb_gp *gp);
// Removes all rows.
void rb_gp_set(struct rb_gp *gp, const struct rb_gp_hyper *hyper);
// A row; its noise variance is divided by `weight`. False: it is too close to another row, and left out.
bool rb_gp_add(struct rb_gp *gp, int key, const double *u, int level, double weight);
// Removes the rows from the first on whose key is not that of the list.
void rb_gp_keep_common(struct rb_gp *gp, const int *keys, int n);
// The scores y [n] of the first n rows, with mean 0 a priori.
void rb_gp_condition(struct rb_gp *gp, const double *y, int n);
// ln p(y | hyper) up to a constant; the first n rows are all rows.
double rb_gp_log_likelihood(const struct rb_gp *gp);
// Mean and standard deviation of the score without noise at points [m] u at a level.
void rb_gp_predict(const struct rb_gp *gp, const double *const *u, int m, int level, double *out_mean, double *out_sd);

#endif
