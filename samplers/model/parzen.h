// The density of configurations around given ones, a Parzen estimator: a sum of kernels, one a given point and one
// for the prior, each a product over coordinates. Numbers: normals truncated to [0,1]; few whole numbers: the mass
// of the cell; choices: the given one with the rest spread by the prior.
// Source: Bergstra et al., "Algorithms for hyper-parameter optimization", NIPS'11; Bergstra, Yamins, Cox, ICML'13.
#ifndef RB_SAMPLERS_PARZEN_H
#define RB_SAMPLERS_PARZEN_H

#include "base/arena.h"
#include "base/stream.h"
#include "samplers/coordinates.h"

struct rb_parzen {
    const struct rb_coordinates *coordinates;
    const int *dims;            // the coordinates it is about, [n_dims]
    int n_dims;
    int n;                      // kernels; the last is the prior's
    double *mu;                 // [n_dims][n]; of a choice: its cell
    double *sd, *inverse_sd;    // [n_dims][n]
    double *log_weight;         // [n]; of continuous coordinates' normalisation, too
    double *share;              // [n]: weights that sum to 1
    double ***masses;           // [n_dims][n_cells]: ln of the mass in a cell [n], computed when first used
    double ***edges;            // [n_dims][n_cells + 1]: the mass below a cell's edge [n], likewise
    struct rb_arena *arena;
};

// Points oldest first, all coordinates in dims apply to them: newer than the last 25 weigh less and less. weights
// [n] multiply this; NULL: all 1. Everything lives in the arena.
void rb_parzen_init(struct rb_parzen *p, const struct rb_coordinates *c, const int *dims, int n_dims,
                    const double *const *points, const double *weights, int n, struct rb_arena *arena);
double rb_parzen_log_density(struct rb_parzen *p, const double *u);
// Draws the coordinates in dims; those with cells in the middle of one.
void rb_parzen_draw(const struct rb_parzen *p, struct rb_stream *s, double *u);

#endif
