// Label dominance: of two beginnings of plans that own the same nodes, the one that costs no less and is no sooner done at
// any time leads nowhere that the other does not. Valid because stages are independent: what comes after adds the same
// law to both; where late nodes couple them, the other one is taken at its worst. Distribution functions are compared at a
// fixed set of times.
#ifndef RB_PLANNER_LABELS_H
#define RB_PLANNER_LABELS_H

#include <stdbool.h>

#define RB_LABEL_TIMES 25

struct rb_label {
    double cost_uusd;              // at least ...
    double most_uusd;              // ... and at most, with whatever follows
    double error;                  // in any of the probabilities
    double unready;                // P(later than its laws say), at most
    double below[RB_LABEL_TIMES];  // P(time <= t_i), by laws
};

struct rb_labels; // of all stages and states

struct rb_labels *rb_labels_create(int n_lists);
void rb_labels_destroy(struct rb_labels *labels); // NULL is fine
// Is `label` dominated by one seen in the list? Else it is kept, and what it dominates is forgotten.
bool rb_labels_dominated(struct rb_labels *labels, int list, const struct rb_label *label);

#endif
