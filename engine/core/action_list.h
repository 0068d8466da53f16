// Fills lists of actions; for engine/ only.
#ifndef RB_ENGINE_ACTION_LIST_H
#define RB_ENGINE_ACTION_LIST_H

#include "engine/core/action.h"

void rb_actions_clear(struct rb_actions *a);
void rb_actions_add(struct rb_actions *a, const struct rb_action *action);
// As add; the slots are copied. item->slots becomes valid with rb_actions_seal.
void rb_actions_add_with_slots(struct rb_actions *a, const struct rb_action *action, const struct rb_slot *slots,
                               int n_slots);
// The list is complete: slots no longer move, so every item may point to its own.
void rb_actions_seal(struct rb_actions *a);

#endif
