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

static const char *const kind_names[] = {
    [RB_ACTION_PROVISION] = "provision",     [RB_ACTION_TERMINATE] = "terminate",
    [RB_ACTION_START_TRIAL] = "start_trial", [RB_ACTION_KILL_TRIAL] = "kill_trial",
    [RB_ACTION_YIELD_TRIAL] = "yield_trial", [RB_ACTION_WAKE] = "wake",
    [RB_ACTION_ADVISE] = "advise",           [RB_ACTION_SUGGEST] = "suggest",
    [RB_ACTION_DONE] = "done",
};

const char *rb_action_kind_name(enum rb_action_kind kind)
{
    return kind_names[kind];
}
