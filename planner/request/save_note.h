// What a plan says where it counts on scripts that save: how often, and what a lost machine costs.
#ifndef RB_PLANNER_SAVE_NOTE_H
#define RB_PLANNER_SAVE_NOTE_H

#include "planner/search/search.h"

// One sentence about the offer's nodes, in the arena. NULL: the plan does not use the offer, or trials on it do not save.
const char *rb_save_note(const struct rb_search *search, const struct rb_candidate *plan, int offer,
                         struct rb_arena *arena);

#endif
