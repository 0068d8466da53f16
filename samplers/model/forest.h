// Regression trees on points of the unit cube, each grown on a bootstrap sample, kept as boxes, one a leaf: what is
// asked of them are integrals over the cube.
// Source: Breiman, "Random forests", Machine Learning 45, 2001; all coordinates are tried at every split.
#ifndef RB_SAMPLERS_FOREST_H
#define RB_SAMPLERS_FOREST_H

#include "base/arena.h"
#include "base/stream.h"

#include <stdbool.h>
#include <stdint.h>

#define RB_FOREST_CELLS 64 // most categories of a dimension

struct rb_forest_dim {
    int n_cells;            // categories without an order, <= RB_FOREST_CELLS; 0: ordered
    const double *shares;   // of the categories in the cube, [n_cells], their sum is 1
};

struct rb_forest_data {
    const struct rb_forest_dim *dims; // [n_dims]
    int n_dims;
    const double *x;        // [n][n_dims], in [0,1]; of categories the number; NAN: the dimension does not apply
    const double *y;        // [n], finite
    int n;
};

// One side of a leaf: low < x <= high, or the categories whose bits are set.
struct rb_box_side {
    double low, high;
    uint64_t cells;
};

struct rb_tree {
    struct rb_box_side *sides; // [n_leaves][n_dims]
    double *values;            // [n_leaves]
    int n_leaves;
    double *x;                 // [n][n_dims]: the data's, where a dimension does not apply a draw from the cube, so
                               // that nothing can be explained by it there
    int *n_drawn;              // [n]: how often the bootstrap sample has a point; 0: the tree has not seen it
};

// Everything lives in the arena.
void rb_tree_grow(const struct rb_forest_data *data, struct rb_stream *random, struct rb_arena *arena, struct rb_tree *out);
double rb_tree_value(const struct rb_tree *t, const struct rb_forest_data *data, const double *x);
// The share of the cube on a side, in its dimension.
double rb_box_side_share(const struct rb_box_side *side, const struct rb_forest_dim *dim);

#endif
