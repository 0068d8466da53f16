// Chooses the deadlines of a frontier. They range from 1 % above the tightest feasible deadline to 1 % above the one
// that the cheapest plan of all keeps. The range is halved where the least cost falls. The requested deadline and one
// step to either side are always included.
#ifndef RB_PLANNER_DEADLINES_H
#define RB_PLANNER_DEADLINES_H

#include <stdbool.h>
#include <stdint.h>

#define RB_DEADLINES_MOST 35 // landmarks included

struct rb_deadlines {
    int64_t first_us, last_us;
    int64_t landmarks_us[3]; // [n_landmarks]
    int n_landmarks;
};

// asked_us < 0: no deadline was asked for; a deadline that no plan keeps is no landmark.
struct rb_deadlines rb_deadlines_of(int64_t asked_us, int64_t tight_us, int64_t loose_us);
bool rb_deadlines_is_landmark(const struct rb_deadlines *d, int64_t deadline_us);

// One end of a stretch: a deadline and the least cost there; < 0: unknown.
struct rb_deadlines_end {
    int64_t deadline_us, least_uusd;
};
// The next deadline to ask for between two of n that are answered; -1: none.
int64_t rb_deadlines_between(const struct rb_deadlines *d, const struct rb_deadlines_end *tighter,
                             const struct rb_deadlines_end *looser, int n);

#endif
