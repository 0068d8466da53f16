// What a plan's cost depends on: each input is changed alone by a small amount in both directions, and everything is
// planned again. The scenarios are those of a what-if, planned in one run.
#ifndef RB_PLANNER_SENSITIVITY_H
#define RB_PLANNER_SENSITIVITY_H

#include "planner/questions/what_if.h"

// One input with its scenarios, which are scenarios[first .. first + n - 1] of the table.
struct rb_sensitivity {
    const char *input; // a key of what-if: "price", "deadline", ...
    int first, n;
    bool has_effect;     // the base has a plan, and so has every scenario
    int64_t effect_uusd; // the largest change of mean cost in either direction
};

struct rb_sensitivities {
    struct rb_what_if_table what_if;
    const struct rb_sensitivity *inputs; // by effect, inputs without a plan on some side first; [n]
    int n;
};

// Changes: deadline and budget -10 and +10 %, prices -20 and +20 %, trials -25 and +25 %, provisioning times doubled,
// training times -10 and +10 %, for the inputs that the job has. A deadline is rounded to the second, a budget to the
// cent, trials to whole numbers. The table's scenarios are in the order of the inputs. *out lives in `arena`; errors as
// of rb_what_if_plan.
bool rb_sensitivity_plan(const struct rb_plan_request *base, const char *planner, struct rb_arena *arena,
                         struct rb_sensitivities *out, struct rb_err *err);

void rb_sensitivity_write(const struct rb_sensitivities *s, struct rb_json *j); // rb-sensitivity/1

#endif
