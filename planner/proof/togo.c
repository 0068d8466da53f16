#include "planner/proof/togo.h"

#include "base/larger.h"

#include <math.h>
#include <stdlib.h>

struct rb_togo *rb_togo_create(const struct rb_lattice *l)
{
    struct rb_togo *t = rb_xcalloc(1, sizeof *t);
    size_t n = (size_t)l->search->scenario->n_offers * (size_t)l->most_counts + 1;
    t->lattice = l;
    for (int stage = 0; stage < l->n_stages; stage++) {
        t->after[stage] = rb_xcalloc(n, sizeof *t->after[stage]);
        t->before[stage] = rb_xcalloc(n, sizeof *t->before[stage]);
        t->n_changes[stage] = -1;
    }
    t->scratch = rb_xcalloc(2 * ((size_t)l->most_counts + 2), sizeof *t->scratch);
    return t;
}

void rb_togo_destroy(struct rb_togo *t)
{
    if (!t)
        return;
    for (int stage = 0; stage < t->lattice->n_stages; stage++) {
        free(t->after[stage]);
        free(t->before[stage]);
    }
    free(t->scratch);
    free(t);
}

static double weigh(const struct rb_togo *t, const struct rb_lattice_entry *e, int kept)
{
    return rb_lattice_costs(e, t->delay)[kept] + t->price * rb_lattice_delays(e, t->delay)[kept];
}

// The best that the entries of one offer offer to nodes that come from the stage before: some[k], by entries that need
// more nodes than the k there are, and all[c], by entries whose c-th count is there already. Returns the best with new
// nodes only.
static double best_of_offer(const struct rb_togo *t, int stage, int offer, double *restrict some, double *restrict all)
{
    const struct rb_lattice_stage *list = &t->lattice->stages[stage];
    int n = t->lattice->counts[offer].n;
    double fresh = INFINITY;
    for (int k = 0; k <= n; k++)
        some[k] = all[k] = INFINITY;
    for (int i = list->first[offer]; i < list->first[offer + 1]; i++) {
        const struct rb_lattice_entry *e = &list->entries[i];
        const double *cost = rb_lattice_costs(e, t->delay), *delay = rb_lattice_delays(e, t->delay);
        const double after = rb_togo_after(t, stage, e), price = t->price;
        fresh = rb_smaller(fresh, weigh(t, e, 0) + after);
        for (int k = 1; k <= e->count; k++) {
            double sum = cost[k] + price * delay[k] + after;
            some[k] = sum < some[k] ? sum : some[k];
        }
        all[e->count] = rb_smaller(all[e->count], weigh(t, e, e->count + 1) + after);
    }
    return fresh;
}

// The best with new nodes of any offer but this one.
static double fresh_elsewhere(const double *fresh, int n_offers, int offer)
{
    double best = INFINITY;
    for (int i = 0; i < n_offers; i++)
        best = i == offer ? best : rb_smaller(best, fresh[i]);
    return best;
}

static void step_back(struct rb_togo *t, int stage)
{
    int n_offers = t->lattice->search->scenario->n_offers, most = t->lattice->most_counts;
    double *some = t->scratch, *all = t->scratch + most + 1, fresh[RB_LIMIT_INSTANCE_TYPES];
    double *before = t->after[stage - 1];
    for (int offer = 0; offer < n_offers; offer++) {
        fresh[offer] = best_of_offer(t, stage, offer, some, all);
        double least_all = INFINITY;
        for (int c = 0; c < t->lattice->counts[offer].n; c++) {
            least_all = rb_smaller(least_all, all[c]);
            before[offer * most + c] = rb_smaller(least_all, some[c + 1]);
        }
    }
    for (int offer = 0; offer < n_offers; offer++) {
        double elsewhere = fresh_elsewhere(fresh, n_offers, offer);
        for (int c = 0; c < t->lattice->counts[offer].n; c++)
            before[offer * most + c] = rb_smaller(before[offer * most + c], elsewhere);
    }
}

void rb_togo_compute(struct rb_togo *t, enum rb_delay delay, double price)
{
    const struct rb_lattice_stage *first = &t->lattice->stages[0];
    bool changed = t->delay != delay || t->price < price || t->price > price;
    t->delay = delay;
    t->price = price;
    for (int stage = t->lattice->n_stages - 1; stage >= 1; stage--) { // what follows the last change is as it was
        changed |= t->n_changes[stage] != t->lattice->n_changes[stage];
        t->n_changes[stage] = t->lattice->n_changes[stage];
        if (changed)
            step_back(t, stage);
    }
    t->least = INFINITY;
    for (int i = 0; i < first->n; i++)
        t->least = rb_smaller(t->least, weigh(t, &first->entries[i], 0) + rb_togo_after(t, 0, &first->entries[i]));
}

// The least up to the stage before a choice that finds so many nodes kept.
static double before_of(const struct rb_togo *t, int stage, const struct rb_lattice_entry *e, int kept)
{
    const int most = t->lattice->most_counts, n_offers = t->lattice->search->scenario->n_offers;
    double least = INFINITY;
    if (stage == 0)
        return kept == 0 ? 0 : INFINITY;
    const double *before = t->before[stage - 1];
    if (kept > 0 && kept <= e->count)
        return before[e->choice.offer * most + kept - 1];
    for (int offer = 0; offer < n_offers; offer++) {
        const bool same = offer == e->choice.offer;
        for (int c = same ? e->count : 0; c < t->lattice->counts[offer].n && same == (kept > 0); c++)
            least = rb_smaller(least, before[offer * most + c]);
    }
    return least;
}

void rb_togo_compute_before(struct rb_togo *t)
{
    const int most = t->lattice->most_counts, n_offers = t->lattice->search->scenario->n_offers;
    for (int stage = 0; stage < t->lattice->n_stages; stage++) {
        const struct rb_lattice_stage *list = &t->lattice->stages[stage];
        for (int i = 0; i < n_offers * most; i++)
            t->before[stage][i] = INFINITY;
        for (int i = 0; i < list->n; i++) {
            const struct rb_lattice_entry *e = &list->entries[i];
            double *least = &t->before[stage][e->choice.offer * most + e->count];
            for (int kept = 0; kept < (stage > 0 ? e->count + 2 : 1); kept++)
                *least = rb_smaller(*least, before_of(t, stage, e, kept) + weigh(t, e, kept));
        }
    }
}

double rb_togo_through(const struct rb_togo *t, int stage, const struct rb_lattice_entry *e, int kept)
{
    return before_of(t, stage, e, kept) + weigh(t, e, kept) + rb_togo_after(t, stage, e);
}

void rb_togo_path(const struct rb_togo *t, struct rb_lattice_path *out)
{
    const struct rb_lattice_entry *before = NULL;
    for (int stage = 0; stage < t->lattice->n_stages; stage++) {
        const struct rb_lattice_stage *list = &t->lattice->stages[stage];
        double best = INFINITY;
        out->entry[stage] = 0;
        for (int i = 0; i < list->n; i++) {
            const struct rb_lattice_entry *e = &list->entries[i];
            double sum = weigh(t, e, rb_lattice_kept(before, e)) + rb_togo_after(t, stage, e);
            if (sum < best) {
                best = sum;
                out->entry[stage] = i;
            }
        }
        before = &list->entries[out->entry[stage]];
    }
}
