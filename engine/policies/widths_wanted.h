// Keeps the widths that a packing wants for running trials, and which waiting trials have been sized. A change is made
// at the trial's next report, when a restart loses no work. For policies that pack (fluid, packing).
#ifndef RB_ENGINE_POLICIES_WIDTHS_WANTED_H
#define RB_ENGINE_POLICIES_WIDTHS_WANTED_H

#include "engine/core/policy.h"
#include "engine/policies/live_group.h"

// Zero-initialised is valid.
struct rb_widths_wanted {
    struct rb_wanted_width {
        int width;          // -1: as it is
        int place;          // in the last decided order; INT_MAX: never
        int stage, attempt; // of the wait in which it was last sized; attempt -1: never
    } *trials; // by id, [n]
    int n;
};
void rb_widths_wanted_finish(struct rb_widths_wanted *w);

void rb_widths_want(struct rb_widths_wanted *w, int trial, int width);
// true: since the last call a waiting trial has joined its stage or lost its place. n_joined [stages], may be NULL:
// counts trials that have reached another stage.
bool rb_widths_note_arrivals(struct rb_widths_wanted *w, const struct rb_engine *e, int *n_joined);

void rb_widths_note_place(struct rb_widths_wanted *w, int trial, int place);
int rb_widths_place(const struct rb_widths_wanted *w, int trial);

// The trial has just reported. It gives way if another width is wanted and available: growing needs idle GPUs.
void rb_widths_carry_out(struct rb_widths_wanted *w, const struct rb_live_widths *widths, const struct rb_engine *e,
                         int trial, const char *reason, struct rb_decisions *out);

#endif
