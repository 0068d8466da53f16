// Reservations that open or close while a plan is carried out: the stages that may be planned on them. The search takes
// every offer as always there; runs of the engine show which stages of its plan begin before their reservation opens or
// go on after its notice, and the search is asked again without these. The plan of least objective is kept, whether or
// not its last stages outlive a reservation: what moves on demand is in its estimate.
#ifndef RB_PLANNER_WINDOWS_H
#define RB_PLANNER_WINDOWS_H

#include "planner/search/search.h"

struct rb_windows {
    struct rb_stage_span *spans; // [n_offers]; NULL: no reservation opens or closes
    bool narrowed;               // by the last plan
};

void rb_windows_init(struct rb_windows *w, const struct rb_scenario *s);
void rb_windows_finish(struct rb_windows *w);
// Finds the plan's first stage that misses its reservation's window in more runs than the confidence allows, and takes
// the stage, and those on the far side of it, from the reservation.
bool rb_windows_narrow(struct rb_windows *w, struct rb_search *search, const struct rb_plan_result *result,
                       struct rb_err *err);

// The first stage of the plan that outlives its reservation in any run, as text for users; *out NULL: none does.
bool rb_windows_note(struct rb_search *search, const struct rb_candidate *c, struct rb_arena *arena, const char **out,
                     struct rb_err *err);

// Which stages of the plan could not use the offer, and why, as text for users; NULL: all could.
const char *rb_windows_warning(const struct rb_search *search, int offer, struct rb_arena *arena);

#endif
