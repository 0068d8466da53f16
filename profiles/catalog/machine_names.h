// Suggests names of machine types for one that has no offer.
#ifndef RB_PROFILES_MACHINE_NAMES_H
#define RB_PROFILES_MACHINE_NAMES_H

#include "base/arena.h"

// Of n names (some may be listed twice), the closest by spelling if it is of the same family as `type`; else those of the same
// family; else those of families that begin with the same letter and digit; else the closest by spelling. A family ends at the
// first . or at a digit after a -. At most five, "a, b or c". NULL: none is similar.
const char *rb_machine_names_like(const char *type, const char *const *names, int n, struct rb_arena *arena);

#endif
