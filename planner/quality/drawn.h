// Draws a search under a law of quality: which trials each rung has, and their normal scores there and at the end.
#ifndef RB_PLANNER_QUALITY_DRAWN_H
#define RB_PLANNER_QUALITY_DRAWN_H

#include "planner/quality/law.h"
#include "planner/quality/shape.h"

struct rb_drawn_trial {
    int trial;
    double y; // at the end of its rung
    double z; // at R
};

struct rb_drawn {
    const struct rb_quality_law *law;
    const struct rb_search_shape *shape;
    uint64_t seed;
    double power; // of correlations in the present draw
    struct rb_drawn_trial *trials; // of the rung
};

// Borrows law and shape.
void rb_drawn_init(struct rb_drawn *d, const struct rb_quality_law *law, const struct rb_search_shape *shape,
                   uint64_t seed);
void rb_drawn_finish(struct rb_drawn *d);

// Plays draw k: the rungs of one bracket after another. `rung` gets each with its trials by number, an order that
// says nothing of their scores; NULL: the caller does not need them. Returns the best final normal score of the trials
// that reach R.
typedef void rb_drawn_rung(void *ctx, int bracket, int rung, const struct rb_drawn_trial *trials, int n);
double rb_drawn_play(struct rb_drawn *d, uint32_t k, rb_drawn_rung *rung, void *ctx);

#endif
