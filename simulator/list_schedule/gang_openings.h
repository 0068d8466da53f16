// When new nodes make up gangs: trials on several nodes each start at every so-manieth arrival, whichever nodes come first.
// What the dynamic schedule (simulator/list_schedule/list_schedule.h) takes for independent openings of single slots, and what it errs by,
// since later arrivals are later if earlier ones are.
#ifndef RB_SIMULATOR_GANG_OPENINGS_H
#define RB_SIMULATOR_GANG_OPENINGS_H

#include "simulator/one_wave/law.h"

struct rb_gang {
    int new_nodes, nodes_per_slot;
    int nodes_left; // ready at the start, too few for a gang: 0 .. nodes_per_slot - 1
};

// Which arrival opens the i-th slot, from 0: 1 is the first of all.
int rb_gang_rank(const struct rb_gang *gang, int slot);

// What P of the stage's end may err by if the openings of its first n_slots new slots count as independent. openings
// [n_slots]: their laws; slots: of the stage, open ones included; end_variance_s2: of the stage's end.
double rb_gang_dependence_error(const struct rb_gang *gang, const struct rb_law *const *openings, int n_slots, int slots,
                                double end_variance_s2);

#endif
