// The value of a little more or less time at the requested deadline.
#ifndef RB_PLANNER_MARGINAL_H
#define RB_PLANNER_MARGINAL_H

#include "base/errors/err.h"

#include <stdbool.h>
#include <stdint.h>

// Change of the optimal plan's mean cost when the deadline moves by one step: the largest of 1, 5, 10, 30 s, 1, 5, 10,
// 30 min, 1, 2, 6, 12, 24 h that is at most a tenth of the deadline. It is the difference of two proved costs, because
// the cost of the best plan is a step function and has no slope. The value per minute is that difference divided by the
// minutes of the step.
struct rb_marginal {
    bool exists;                 // a deadline was asked for and some plan keeps it
    int64_t deadline_us, step_us;
    int64_t more_uusd;           // change of mean cost with one step more: <= 0
    bool has_less;               // some plan still keeps the deadline with one step less
    int64_t less_uusd;           // change with one step less: >= 0
};

int64_t rb_marginal_per_minute(const struct rb_marginal *marginal, int64_t change_uusd);
int64_t rb_marginal_step_us(int64_t deadline_us);

// For a search by laws that has found an optimal plan without a time limit. Searches again for a deadline one step
// later to find what more time would save (has_less stays false). exists: both plans are proved. The search can answer
// no other question afterwards. Takes about a fifth of the plan's own time; docs/decisions says when it is done.
struct rb_search;
bool rb_marginal_find(struct rb_search *search, struct rb_marginal *out, struct rb_err *err);

#endif
