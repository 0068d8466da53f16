// A packing whose length is bounded before it is made, whatever the table holds.
//
// Lists in turn, the widest first, leave no GPU idle while somebody waits, if every width divides the next wider one and
// nodes too (a chain) and GPUs are shared by one number of trials alone: whoever waits is no wider than all who run, so what
// is free would be a multiple of its width. So the last to end starts by load = areas / GPUs and takes no longer than
// `longest`: makespan <= load + longest <= 2 max(load, longest).
// Widths that are no chain leave less than half idle (who runs is as wide, what is free is narrower): <= 3 max(load, longest).
// Greedy lists on one node, nobody sharing: <= 2 max(load, longest) (Turek, Wolf, Yu; Ludwig, Tiwari): who runs a `longest`
// later did not fit now, so both together fill the node.
// `longest` counts tails. GPUs that others hold at first delay the first two by as long as the last of them; the third then
// promises nothing, nor with tails.
// The allotment bound minimises max(load, longest) over the widths admitted, and no packing is shorter than its value over all
// widths: the quotient is the ratio that is proved. With a chain of all widths and one number of sharers it is 2.
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
