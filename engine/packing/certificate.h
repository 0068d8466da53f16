// Makes a packing whose length is bounded in advance, for every table of heights.
//
// Lists in turn, the widest first, leave no GPU idle while a trial waits, if every width divides the next wider one and the
// nodes (a chain) and all shared GPUs have the same number of sharers: a waiting trial is no wider than those that run, so the
// free GPUs would be a multiple of its width. So the last trial to end starts by load = areas / GPUs and takes no longer than
// `longest`: makespan <= load + longest <= 2 max(load, longest).
// Widths that are no chain leave less than half idle (running trials are as wide, the free part is narrower):
// <= 3 max(load, longest).
// Greedy lists on one node without sharing: <= 2 max(load, longest) (Turek, Wolf, Yu; Ludwig, Tiwari): a trial that runs a
// `longest` later did not fit now, so both together fill the node.
// `longest` counts tails. GPUs that others hold at first delay the first two by as long as the last of them; the third then
// guarantees nothing, nor with tails.
// The allotment bound minimises max(load, longest) over the admitted widths, and no packing is shorter than its value
// over all widths: the quotient is the proved ratio. With a chain of all widths and one number of sharers it is 2.
#ifndef RB_ENGINE_PACKING_CERTIFICATE_H
#define RB_ENGINE_PACKING_CERTIFICATE_H

#include "engine/packing/list.h"

struct rb_certificate {
    int64_t within_us;       // the list below ends by then; INT64_MAX: no theorem applies
    const char *how;         // static text: the theorem used; NULL: none
    enum rb_list_rule rule;
    int *widths, *order;     // [n_trials]
};
void rb_certificate_make(const struct rb_pack_group *g, struct rb_certificate *out);
void rb_certificate_finish(struct rb_certificate *c);

#endif
