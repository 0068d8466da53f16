// Keeps the widths that a packing wants running trials to have, and which waiting trials have been sized. A change is carried
// out at the trial's next report, when a restart loses no work. For policies that pack (fluid, packing).
#ifndef RB_ENGINE_POLICIES_WIDTHS_WANTED_H
#define RB_ENGINE_POLICIES_WIDTHS_WANTED_H

#include "engine/core/policy.h"
#include "engine/policies/live_group.h"

// Zero-initialised is valid.
struct rb_widths_wanted {
    struct rb_wanted_width {
        int width;          // -1: as it is
        int place;          // in the order that was last decided; INT_MAX: never
        int stage, attempt; // of the wait it was last sized in; attempt -1: never
    } *trials; // by id, [n]
    int n;
};
void rb_widths_wanted_finish(struct rb_widths_wanted *w);

void rb_widths_want(struct rb_widths_wanted *w, int trial, int width);
// true: a trial waits that has joined its stage or lost its place since the last call.
// n_joined [stages], may be NULL: counts those that have come to another stage.
bool rb_widths_note_arrivals(struct rb_widths_wanted *w, const struct rb_engine *e, int *n_joined);

void rb_widths_note_place(struct rb_widths_wanted *w, int trial, int place);
int rb_widths_place(const struct rb_widths_wanted *w, int trial);

// The trial has just reported. It gives way if another width is wanted, and can be had: growing needs idle GPUs.
void rb_widths_carry_out(struct rb_widths_wanted *w, const struct rb_live_widths *widths, const struct rb_engine *e,
                         int trial, const char *reason, struct rb_decisions *out);

#endif
