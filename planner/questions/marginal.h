// What a little more or less time is worth at the deadline that was asked for.
#ifndef RB_PLANNER_MARGINAL_H
#define RB_PLANNER_MARGINAL_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

// What the optimal plan's mean cost does when the deadline moves by one step, the largest of 1, 5, 10, 30 s, 1, 5, 10,
// 30 min, 1, 2, 6, 12, 24 h that is not above a tenth of it: a difference of two proved costs, because the cost of the
// best plan is a step function and has no slope. Per minute is that difference over the minutes of the step.
struct rb_marginal {
    bool exists;                 // a deadline was asked for and some plan keeps it
    int64_t deadline_us, step_us;
    int64_t more_uusd;           // change of mean cost with one step more: <= 0
    bool has_less;               // some plan still keeps one step less
    int64_t less_uusd;           // change with one step less: >= 0
};

int64_t rb_marginal_per_minute(const struct rb_marginal *marginal, int64_t change_uusd);
int64_t rb_marginal_step_us(int64_t deadline_us);

// Of a search by laws that has answered an optimal plan without a limit on time: asked once more, one step later, for what more
// time would save (has_less stays false). exists: both plans are proved. The search can be asked nothing else afterwards. A
// fifth of what the plan took; docs/decisions says when it is done.
struct rb_search;
bool rb_marginal_find(struct rb_search *search, struct rb_marginal *out, struct rb_err *err);

#endif
