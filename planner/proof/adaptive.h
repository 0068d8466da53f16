// A bound on what the rest of a plan adds, from the laws of its stages: the least of mean cost + price x P(late) if every
// later choice could still wait and see how much time is left. No fixed plan can do better, so with the chance constraint
// priced in this bounds every plan that keeps the deadline; it loses only what waiting and seeing is worth, where the tilted
// constraint (planner/proof/togo.h) loses about two standard deviations of the whole plan's time.
// Source: a dynamic programme over (stage, nodes, time left); Lagrangian relaxation of the chance constraint.
#ifndef RB_PLANNER_ADAPTIVE_H
#define RB_PLANNER_ADAPTIVE_H

#include "planner/proof/exact.h"

#define RB_ADAPTIVE_POINTS 256 // at most

struct rb_adaptive;

// Is there a deadline, time that has a price, and a lattice small enough?
bool rb_adaptive_applies(const struct rb_exact *x);
// For the lattice as it is now, choices left out that no plan cheaper than the best can make; at the prices of lateness
// that bound a whole plan best, searched from the best of the last one (NULL: from the price of time).
struct rb_adaptive *rb_adaptive_create(struct rb_exact *x, const struct rb_adaptive *last, struct rb_err *err);
void rb_adaptive_destroy(struct rb_adaptive *a); // NULL is fine

// A beginning of a plan by when it ends: probabilities of steps of a grid from 0 to the deadline, an end counted as if it
// came at the start of its step; what ends after the deadline is left out.
struct rb_adaptive_ends {
    double chance[RB_ADAPTIVE_POINTS];
    int first, end; // 0 elsewhere
};
void rb_adaptive_begin(struct rb_adaptive_ends *ends);
// Of one stage more.
void rb_adaptive_add(const struct rb_adaptive *a, const struct rb_adaptive_ends *before, const struct rb_law *law,
                     struct rb_adaptive_ends *ends);
// Of one stage more that took so many seconds, each of n as likely.
void rb_adaptive_add_samples(const struct rb_adaptive *a, const struct rb_adaptive_ends *before, const double *seconds,
                             int n, struct rb_adaptive_ends *ends);

// Least mean cost of a stage carried out by an entry, and of those after it, in a plan that begins so and is late with at
// most the probability `late`; a lower bound of it from `enough` on. INFINITY: the plan is dearer than the best.
double rb_adaptive_bound(struct rb_adaptive *a, int stage, int entry, int kept, const struct rb_adaptive_ends *ends,
                         double late, double enough);

#endif
