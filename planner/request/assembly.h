// A plan that is ready to write, of what a search has found: its offers, stages, fallbacks, images, the baselines beside it,
// and the notes that a reader of the plan must see. Internal to planner/request.
#ifndef RB_PLANNER_ASSEMBLY_H
#define RB_PLANNER_ASSEMBLY_H

#include "planner/search/search.h"

// Warnings and fallbacks are added while a plan is assembled.
struct rb_assembly {
    struct rb_search *search;
    struct rb_arena *arena;
    int *offer_of; // scenario offer -> plan offer, -1: not referred to
    struct rb_offer *offers;
    int n_offers;
    const char **warnings;
    int n_warnings, cap_warnings;
    int *fallbacks;
    int n_fallbacks;
    struct rb_offer *spot; // that may stand in, [n_spot]: resources.spot: safe
    bool *spot_taken;
    int n_spot;
};

// Everything in *out lives in the arena. The result's estimate may become more exact. A plan whose estimate misses the
// confidence is for no reader: it has its stages and their offers, and nothing beside them. Errors: of the baselines, and of a
// policy that cannot follow such a plan.
bool rb_plan_assemble(struct rb_search *search, const struct rb_planner *planner, struct rb_plan_result *result,
                      struct rb_arena *arena, struct rb_plan *out, struct rb_err *err);

// assembly_notes.c
void rb_assembly_note(struct rb_assembly *a, const char *text); // the text is the arena's
void rb_assembly_note_all(struct rb_assembly *a, const struct rb_plan_result *result, const struct rb_plan *plan,
                          bool on_average);
bool rb_assembly_note_caveats(struct rb_assembly *a, const struct rb_plan_result *result, struct rb_err *err);
// The plan keeps its deadline on average: its confidence becomes the probability of that.
void rb_assembly_promise_average(struct rb_assembly *a, struct rb_plan *plan);

#endif
