// Finds a step along a descent direction that decreases a function enough and flattens its slope, by the search of More and
// Thuente (ACM TOMS 20, 1994) in the form of MINPACK-2's dcsrch, whose caller supplies values and slopes.
#ifndef RB_PROFILES_LINE_SEARCH_H
#define RB_PROFILES_LINE_SEARCH_H

#include <stdbool.h>

struct rb_line_point {
    double step, value, slope;
};

struct rb_line_search {
    struct rb_line_point start, best, other; // best and other enclose the minimum once bracketed
    double max_step;
    double low, high;            // bounds of the next step
    double width, width_before;  // of the bracket
    bool bracketed, below;       // below: enough decrease and a rising slope have been seen once
};

// A step is enough when value <= start + RB_LINE_DECREASE x step x start slope and
// |slope| <= RB_LINE_FLATNESS x |start slope|.
#define RB_LINE_DECREASE 1e-3
#define RB_LINE_FLATNESS 0.9
#define RB_LINE_TOLERANCE 0.1 // relative width of a bracket that is not narrowed further

// slope < 0, 0 < first_step <= max_step.
void rb_line_search_init(struct rb_line_search *s, double value, double slope, double first_step, double max_step);
// Adds the value and slope at the last step. True: sufficient, or no better one will be found. False: *step is the one
// to try next.
bool rb_line_search_next(struct rb_line_search *s, double value, double slope, double *step);

#endif
