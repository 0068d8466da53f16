// The best metric of a run so far, over time and over dollars, from its rb-run-page/1.
#ifndef RB_VIEWS_COMPARE_CURVE_H
#define RB_VIEWS_COMPARE_CURVE_H

#include "base/document/doc.h"

struct rb_compare_curve {
    struct rb_compare_point {
        int64_t at_us, trial, resource;
        double metric;
    } *points;                       // each report that was better than all before it, [n]
    int n;
    bool minimize;
    struct rb_compare_spent {
        int64_t at_us, uusd;
    } *spent;                        // dollars so far, by time, [n_spent]
    int n_spent;
};

// What is malformed in the document is left out. Finish with rb_compare_curve_finish.
void rb_compare_curve_make(struct rb_compare_curve *out, const struct rb_node *document);
void rb_compare_curve_finish(struct rb_compare_curve *c);
double rb_compare_curve_best(const struct rb_compare_curve *c, int64_t at_us);   // by then; NaN: no report yet
int64_t rb_compare_curve_spent(const struct rb_compare_curve *c, int64_t at_us); // by then; -1: unknown

#endif
