// Shortest paths over the lattice: the least of cost + price x delay that the stages after a choice can still add, and the
// path that reaches it. With a tilted delay this is a Lagrangian bound of every plan that keeps the deadline.
#ifndef RB_PLANNER_TOGO_H
#define RB_PLANNER_TOGO_H

#include "planner/proof/lattice.h"

struct rb_togo {
    const struct rb_lattice *lattice;
    enum rb_delay delay;
    double price;                   // micro-dollars a second
    double *after[RB_LIMIT_STAGES]; // [n_offers * most_counts], by offer and count of the stage's choice
    double *before[RB_LIMIT_STAGES]; // the same, of the stages up to this one: rb_togo_compute_before
    double least;                   // of a whole plan
    int64_t n_changes[RB_LIMIT_STAGES]; // of the lattice's stages that `after` knows; -1: none
    double *scratch;
};

struct rb_togo *rb_togo_create(const struct rb_lattice *l);
void rb_togo_destroy(struct rb_togo *t); // NULL is fine
// From the values the lattice has now.
void rb_togo_compute(struct rb_togo *t, enum rb_delay delay, double price);
// The plan with the least sum; ties by the earlier entry.
void rb_togo_path(const struct rb_togo *t, struct rb_lattice_path *out);

// The least of all plans up to a choice; after rb_togo_compute.
void rb_togo_compute_before(struct rb_togo *t);
// The least sum of a plan that carries out a stage by this entry with so many nodes kept.
double rb_togo_through(const struct rb_togo *t, int stage, const struct rb_lattice_entry *entry, int kept);

// What the stages after one carried out by `entry` add at least.
static inline double rb_togo_after(const struct rb_togo *t, int stage, const struct rb_lattice_entry *entry)
{
    return t->after[stage][entry->choice.offer * t->lattice->most_counts + entry->count];
}

#endif
