// The law of a stage of one wave, some of whose trials wait for new nodes: if none ends before the last of these nodes has
// come, n trials start, k at 0 and s_i at the i-th of M arrivals, and the stage ends with the largest of their ends:
//     P(end <= t) = F(t)^k * E prod_i F(t - A_(i))^s_i,   A_(1) <= A_(2) <= .. the arrivals, F a trial's time.
// What it errs by where a trial does end before, and its slot is taken over, is worked out and told.
// Source: order statistics as a Markov chain (David and Nagaraja, "Order Statistics", section 2.5); docs/MODEL.md.
#ifndef RB_SIMULATOR_ONE_WAVE_H
#define RB_SIMULATOR_ONE_WAVE_H

#include "simulator/one_wave/law.h"

struct rb_one_wave {
    const struct rb_law *trial;   // jump must be 0
    int n_trials, open_slots;     // n_trials > open_slots: these start at time 0
    const struct rb_law *arrival; // of one node; jump must be 0
    int new_nodes;                // those to spare included
    int nodes_per_slot;           // more than 1: gangs, each starts when its last node is there
    int nodes_left;               // ready at 0, too few for a slot: 0 .. nodes_per_slot - 1
    int slots_per_node;           // 1 for gangs
};

// P(a trial ends before all have started), as the wave has it: there, and only there, the wave is not the schedule.
double rb_one_wave_early(const struct rb_one_wave *w, struct rb_arena *arena);

// Into *out; its arrays live in `arena`. Numbers are made good to about `accuracy`. out->error holds them, the errors of the
// laws given, and rb_one_wave_early. 0.1 ms for slots, for gangs 0.4 ms on 16 new nodes and 1.5 ms on 64.
// false: an error of more than `worst`, laws with atoms, more trials than slots (the reason in *out_why, a constant string).
bool rb_one_wave_law(const struct rb_one_wave *w, double accuracy, double worst, struct rb_arena *arena,
                     struct rb_law *out, const char **out_why);

#endif
