// Names of machine types beside one that is not on offer.
#ifndef RB_PROFILES_MACHINE_NAMES_H
#define RB_PROFILES_MACHINE_NAMES_H

#include "base/arena.h"

// Of n names (some may be there twice) the one that is misspelt, if it is of the same family; else those of the same family as `type`, which ends at its first . or digit behind a -; where
// there is none, of families that begin with the same letter and digit; else the closest by spelling. At most five, "a, b or c".
// NULL: none is like it.
const char *rb_machine_names_like(const char *type, const char *const *names, int n, struct rb_arena *arena);

#endif
