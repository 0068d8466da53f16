// The exact law of the time a stage takes under the dynamic schedule ("the first free slot takes the next trial"), without
// sampling and at a cost that does not grow with the number of trials.
//
// n independent durations with distribution function F and density f; R slots open at 0, and m nodes of c slots each,
// whose slots open together at independent times with distribution function G. Let w(z; x, t) be the generating function of
// the number of starts a slot makes by time x if trials never ran out, on the event that the trial running at x ends by t:
//     open since age a:  z * sum_k z^k [P(S_k <= a, S_k+1 <= a + y) - P(S_k+1 <= a)],   y = t - x, S_k sum of k durations
//     not yet open:      1
// and W its product over all slots (a node's c slots share one opening, so their product is averaged over it). Then
//     P(end > t) = 1 - F(t)^n + integral over y of f(y) * [z^(n-1)] W(z; t - y, t) / (1 - z F(y))^2.
// Proof: docs/MODEL.md, "The dynamic schedule without sampling".
#ifndef RB_SIMULATOR_LIST_SCHEDULE_H
#define RB_SIMULATOR_LIST_SCHEDULE_H

#include "simulator/one_wave/law.h"

#define RB_SCHEDULE_RANKED 12 // most slots that open by laws of their own: each is a factor at every root and time

struct rb_list_schedule {
    const struct rb_law *trial;   // one duration; jump must be 0
    int n_trials;
    int open_slots;               // at time 0
    int new_nodes, slots_per_node; // new_nodes may be 0
    const struct rb_law *arrival; // of one node; unused if new_nodes is 0
    const struct rb_law *ranked;  // NULL, or [new_nodes] in place of arrival: nodes of one slot that open by laws of their own
    bool plain;                   // without AVX2 even where the processor has it: same bits, slower; for tests
};

// Groups of new nodes that open by one law: one, or as many as are ranked; and the law.
int rb_schedule_n_late(const struct rb_list_schedule *s);
const struct rb_law *rb_schedule_opening(const struct rb_list_schedule *s, int group);

// Into *out. Its arrays and all that is needed on the way to them live in `arena`: megabytes, so copy the law and reset the
// arena. `accuracy` is the error in P aimed at (1e-4 for estimates, 2e-3 while searching);
// out->error is what it may err by, the errors of the laws given included. out->above is computed down to a fiftieth of
// the accuracy and continued from there. At 1e-3 a twelfth of a millisecond for open slots alone, whatever their number, two
// tenths for new nodes of one slot; some tenths to a millisecond for nodes of several, more where hundreds of slots wait.
// What errs by more, but no more than `worst`, is a law, too; *out_why then says so, and is NULL otherwise.
// false: outside what the method can do well (the reason in *out_why, a constant string): laws with atoms, too many grid
// points for a narrow law and a wide arrival, not even `worst` reached. *out is untouched then.
bool rb_list_schedule_law(const struct rb_list_schedule *s, double accuracy, double worst, struct rb_arena *arena,
                          struct rb_law *out, const char **out_why);

#endif
