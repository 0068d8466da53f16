// Fits the hyperparameters of a Gaussian process: the best of a few draws from their prior and around the last
// optimum. Fits are made for fixed numbers of results, 30 % apart, each from the results up to that number: a resumed search
// has the same. A fit is spread over several proposals.
#ifndef RB_SAMPLERS_GP_FIT_H
#define RB_SAMPLERS_GP_FIT_H

#include "samplers/model/gp_model.h"
#include "samplers/history.h"

#define RB_GP_KEPT 120 // results in the model

struct rb_gp_fit {
    uint64_t seed;
    struct rb_gp_hyper hyper;   // in effect
    int n_fits;                 // how many fits led to it
    int n;                      // results of the fit under way
    int n_tried;                // its draws so far
    struct rb_gp_hyper best;    // of these
    double best_value;
    struct rb_gp model;
};

void rb_gp_fit_init(struct rb_gp_fit *fit, const struct rb_coordinates *c, const int64_t *levels, int n_levels,
                    uint64_t seed);
void rb_gp_fit_finish(struct rb_gp_fit *fit);
// Does what is due by now, and some of what comes next.
void rb_gp_fit_update(struct rb_gp_fit *fit, const struct rb_history *h);

// Which of the first n results a model keeps, ascending: all, or half of RB_GP_KEPT the best at the highest levels
// and half chosen by the seed. out [RB_GP_KEPT]; returns how many.
int rb_gp_keep(const struct rb_history *h, int n, uint64_t seed, int *out);
// Normal scores of the first n results, all levels together, less what trials gain on average on the way to a level:
// what is left says how good a configuration is. out [n].
void rb_gp_scores(const struct rb_history *h, int n, struct rb_arena *arena, double *out);

#endif
