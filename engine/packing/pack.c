#include "engine/packing/pack.h"

#include "base/arena.h"
#include "engine/packing/certificate.h"
#include "engine/packing/branch.h"
#include "engine/packing/improve.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void rb_pack_answer_finish(struct rb_pack_answer *a)
{
    rb_packing_finish(&a->packing);
}

// Makes a list on these nodes from another algorithm's result, by the better of the rules, and keeps it if it is
// shorter.
static void take_list(struct rb_lister *l, const struct rb_pack_group *g, const int *widths, const int *order,
                      struct rb_best_list *best)
{
    for (int rule = RB_LIST_GREEDY; rule <= RB_LIST_IN_TURN; rule++) {
        const int64_t makespan_us = rb_pack_list(l, g, widths, order, (enum rb_list_rule)rule, NULL);
        if (makespan_us >= best->makespan_us)
            continue;
        best->makespan_us = makespan_us;
        best->rule = (enum rb_list_rule)rule;
        memcpy(best->widths, widths, (size_t)g->n_trials * sizeof *best->widths);
        memcpy(best->order, order, (size_t)g->n_trials * sizeof *best->order);
    }
}

static void search_exactly(struct rb_lister *l, const struct rb_pack_group *g, int64_t most_branches,
                           struct rb_best_list *best, struct rb_pack_answer *out)
{
    struct rb_branching exact;
    if (best->makespan_us <= out->bound_us ||
        !rb_pack_branch(g, best->makespan_us, out->bound_us, most_branches, &exact))
        return;
    if (exact.complete && exact.best_us > out->bound_us)
        out->bound_us = exact.best_us;
    if (exact.improved)
        take_list(l, g, exact.widths, exact.order, best);
}

void rb_pack(const struct rb_pack_group *g, const struct rb_pack_options *options, struct rb_pack_answer *out)
{
    struct rb_certificate certificate;
    RB_AUTO(rb_lister_finish) struct rb_lister lister = {0};
    *out = (struct rb_pack_answer){.bound_us = rb_pack_allotment_bound_us(g, NULL, NULL)};
    rb_certificate_make(g, &certificate);
    out->certified_us = certificate.within_us;
    out->certificate = certificate.how;
    struct rb_best_list best = {.rule = certificate.rule, .widths = certificate.widths, .order = certificate.order};
    best.makespan_us = rb_pack_list(&lister, g, best.widths, best.order, best.rule, NULL);
    assert(best.makespan_us <= certificate.within_us);
    if (options->widths)
        take_list(&lister, g, options->widths, options->order, &best);
    rb_pack_improve(&lister, g, out->bound_us, options->most_placements, &best);
    if (options->most_branches > 0)
        search_exactly(&lister, g, options->most_branches, &best, out);
    rb_pack_list(&lister, g, best.widths, best.order, best.rule, &out->packing);
    rb_certificate_finish(&certificate);
}
