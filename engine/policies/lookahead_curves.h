// Keeps the reports of trials as the sums that least squares need, for each of a few shapes of a learning curve. It
// takes O(1) memory per trial and O(1) time per report.
//
// A shape h(r) = -(r/R + s)^-c rises ever more slowly; scaled to x(r) = (h(r) - h(1)) / (h(R) - h(1)) it goes from 0 at the
// first unit to 1 at R. A curve of that shape is u + v x(r): it begins at u and has risen by v at R.
#ifndef RB_ENGINE_POLICIES_LOOKAHEAD_CURVES_H
#define RB_ENGINE_POLICIES_LOOKAHEAD_CURVES_H

#include <stdbool.h>
#include <stdint.h>

enum { RB_CURVE_SHAPES = 12 };

// Scores are relative to the job's first score, so that large metrics lose no digits.
struct rb_curve_sums {
    int64_t last_resource;           // of the last report that counted, 0: none
    int n;                           // reports that counted
    double y, yy;                    // sums of scores and their squares
    double x[RB_CURVE_SHAPES], xx[RB_CURVE_SHAPES], xy[RB_CURVE_SHAPES];
    // Weighted mean of scores: the newest report has weight 1/4, the earlier ones together the rest;.
    double recent_y;
    double recent_x[RB_CURVE_SHAPES]; // of x, likewise
    bool diverged;                   // its last report was no finite number
};

struct rb_seen_curves {
    int64_t max_resource;            // R
    double origin;                   // the score that others are relative to
    bool has_origin;
    struct rb_curve_sums *trials;    // by id
    struct rb_curve_sums *past;      // by id: as of the last power of two of reports, to check forecasts
    int n_trials;
};

void rb_seen_curves_init(struct rb_seen_curves *c, int64_t max_resource);
void rb_seen_curves_finish(struct rb_seen_curves *c);
// Trial `trial` reported `score` (-INFINITY: it diverged) after `resource` units. A report that is repeated after a
// restart counts once.
void rb_seen_curves_add(struct rb_seen_curves *c, int trial, int64_t resource, double score);

// x(resource) of every shape.
void rb_curve_shapes_at(double resource, int64_t max_resource, double out[RB_CURVE_SHAPES]);

#endif
