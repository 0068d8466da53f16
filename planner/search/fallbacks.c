#include "planner/search/fallbacks.h"

#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

static bool stands_in(const struct rb_offer *used, const struct rb_offer *other)
{
    return strcmp(used->accelerator, other->accelerator) == 0 && used->gpus == other->gpus;
}

static int compare(const struct rb_offer *used, const struct rb_offer *a, const struct rb_offer *b)
{
    const int same_a = strcmp(used->instance_type, a->instance_type) == 0;
    const int same_b = strcmp(used->instance_type, b->instance_type) == 0;
    if (same_a != same_b)
        return same_b - same_a;
    return (a->rate.uusd_per_hour > b->rate.uusd_per_hour) - (a->rate.uusd_per_hour < b->rate.uusd_per_hour);
}

int rb_best_fallback(const struct rb_offer *used, const struct rb_offer *offers, int n, const bool *taken)
{
    int best = -1;
    for (int i = 0; i < n; i++) {
        if (!taken[i] && stands_in(used, &offers[i]) && (best < 0 || compare(used, &offers[i], &offers[best]) < 0))
            best = i;
    }
    return best;
}

int rb_fallbacks_of(const struct rb_search *search, const struct rb_plan_stage *stages, int n_stages, int *out)
{
    const struct rb_scenario *s = search->scenario;
    bool *taken = rb_xcalloc((size_t)s->n_offers, sizeof *taken);
    int n = 0;
    for (int i = 0; i < s->n_offers; i++)
        taken[i] = search->sizes[i].n == 0; // the job cannot use it
    for (int i = 0; i < n_stages; i++) {
        for (int k = 0; k < stages[i].n_nodes; k++) {
            const int used = stages[i].nodes[k].offer;
            const bool was_taken = taken[used];
            taken[used] = true;
            for (int next; (next = rb_best_fallback(&s->offers[used], s->offers, s->n_offers, taken)) >= 0;)
                taken[out[n++] = next] = true;
            taken[used] = was_taken;
        }
    }
    free(taken);
    return n;
}
