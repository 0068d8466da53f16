#include "engine/core/action_list.h"

#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

void rb_actions_finish(struct rb_actions *a)
{
    free(a->items);
    free(a->slots);
    *a = (struct rb_actions){0};
}

void rb_actions_clear(struct rb_actions *a)
{
    a->n = 0;
    a->n_slots = 0;
}

void rb_actions_add(struct rb_actions *a, const struct rb_action *action)
{
    if (a->n == a->cap) {
        a->cap = a->cap ? 2 * a->cap : 16;
        a->items = rb_xrealloc(a->items, (size_t)a->cap, sizeof *a->items);
    }
    a->items[a->n++] = *action;
}

void rb_actions_add_with_slots(struct rb_actions *a, const struct rb_action *action, const struct rb_slot *slots,
                               int n_slots)
{
    if (a->slots_cap - a->n_slots < n_slots) {
        a->slots_cap = 2 * a->slots_cap + n_slots + 16;
        a->slots = rb_xrealloc(a->slots, (size_t)a->slots_cap, sizeof *a->slots);
    }
    memcpy(a->slots + a->n_slots, slots, (size_t)n_slots * sizeof *slots);
    a->n_slots += n_slots;
    rb_actions_add(a, action);
    a->items[a->n - 1].n_slots = n_slots;
}

void rb_actions_seal(struct rb_actions *a)
{
    int at = 0;
    for (int i = 0; i < a->n; i++) {
        if (a->items[i].n_slots == 0)
            continue;
        a->items[i].slots = a->slots + at;
        at += a->items[i].n_slots;
    }
}

const char *rb_action_kind_name(enum rb_action_kind kind)
{
    switch (kind) {
    case RB_ACTION_PROVISION:
        return "provision";
    case RB_ACTION_TERMINATE:
        return "terminate";
    case RB_ACTION_START_TRIAL:
        return "start_trial";
    case RB_ACTION_KILL_TRIAL:
        return "kill_trial";
    case RB_ACTION_YIELD_TRIAL:
        return "yield_trial";
    case RB_ACTION_WAKE:
        return "wake";
    case RB_ACTION_ADVISE:
        return "advise";
    case RB_ACTION_DONE:
        return "done";
    }
    return "unknown";
}
