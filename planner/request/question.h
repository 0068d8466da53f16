// A request prepared for planning: its offers chosen, its scenario compiled, its estimates sized to what is affordable,
// and a clock that phases can share. Both a search and the estimate of a given plan start from it. Internal to
// planner/.
#ifndef RB_PLANNER_QUESTION_H
#define RB_PLANNER_QUESTION_H

#include "planner/request/time_share.h"
#include "planner/request/windows.h"

struct rb_question {
    struct rb_plan_request req; // as asked, except for samples, clock and laws
    struct rb_scenario scenario;
    struct rb_time_share phase; // advances with the answer
    struct rb_windows windows;  // narrowed by it
    bool owns_laws;
};

// `q` must not move until rb_question_finish; offers live in `arena`. Errors: as rb_planner_offers and
// rb_scenario_init.
bool rb_question_init(struct rb_question *q, const struct rb_plan_request *req, struct rb_arena *arena,
                      struct rb_err *err);
void rb_question_finish(struct rb_question *q);

// True if every plan costs nothing, as on this machine. Cost then decides nothing, and ties go to the faster plan.
bool rb_question_is_free(const struct rb_question *q);

#endif
