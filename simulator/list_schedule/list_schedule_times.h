// P(end > t) at some lattice times, and the law in between: by normal scores, in which the ends of stages are nearly
// straight, so that few times tell the law.
#ifndef RB_SIMULATOR_LIST_SCHEDULE_TIMES_H
#define RB_SIMULATOR_LIST_SCHEDULE_TIMES_H

#include "simulator/one_wave/law.h"

#define RB_SCHEDULE_TIMES 128 // most of them: 15 for a smooth law

struct rb_schedule_times {
    double dust; // P(end <= t) is a difference, known to this and no better
    int n;
    int at[RB_SCHEDULE_TIMES]; // ascending
    double score[RB_SCHEDULE_TIMES];
};

// z with P(Z > z) = above, and how P(end <= t) is told where it is small: dust is added, lest its errors be magnified.
double rb_schedule_score(double above, double dust);
double rb_schedule_above(double score, double dust);

// Keeps the order. false: full.
bool rb_schedule_times_add(struct rb_schedule_times *times, int t, double above);
// At any t between the first and the last: degree 5 among the six nearest, within the nearest two. Straight beyond.
double rb_schedule_times_above(const struct rb_schedule_times *times, double t);
// By how much P at the i-th time, neither the first nor the last, is missed by the others: at least four times what
// interpolation beside it errs by.
double rb_schedule_times_missed(const struct rb_schedule_times *times, int i);

// Into *out, but for its errors, to a few hundredths of the accuracy; arrays in `arena`.
void rb_schedule_times_table(const struct rb_schedule_times *times, double step_s, double accuracy,
                             struct rb_arena *arena, struct rb_law *out);

#endif
