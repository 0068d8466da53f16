#include "planner/search/fallbacks.h"

#include <string.h>

bool rb_fallback_fits(const struct rb_offer *used, const struct rb_offer *other)
{
    return strcmp(used->accelerator, other->accelerator) == 0 && used->gpus == other->gpus;
}

int rb_fallback_compare(const struct rb_offer *used, const struct rb_offer *a, const struct rb_offer *b)
{
    const int same_a = strcmp(used->instance_type, a->instance_type) == 0;
    const int same_b = strcmp(used->instance_type, b->instance_type) == 0;
    if (same_a != same_b)
        return same_b - same_a;
    return (a->rate.uusd_per_hour > b->rate.uusd_per_hour) - (a->rate.uusd_per_hour < b->rate.uusd_per_hour);
}

static bool is_among(const int *offers, int n, int offer)
{
    for (int i = 0; i < n; i++) {
        if (offers[i] == offer)
            return true;
    }
    return false;
}

static int next_for(const struct rb_search *search, int used, const int *out, int n)
{
    const struct rb_scenario *s = search->scenario;
    int next = -1;
    for (int i = 0; i < s->n_offers; i++) {
        if (i == used || is_among(out, n, i) || search->sizes[i].n == 0 ||
            !rb_fallback_fits(&s->offers[used], &s->offers[i]))
            continue;
        if (next < 0 || rb_fallback_compare(&s->offers[used], &s->offers[i], &s->offers[next]) < 0)
            next = i;
    }
    return next;
}

int rb_fallbacks_of(const struct rb_search *search, const struct rb_plan_stage *stages, int n_stages, int *out)
{
    int n = 0;
    for (int s = 0; s < n_stages; s++) {
        for (int k = 0; k < stages[s].n_nodes; k++) {
            for (int next; (next = next_for(search, stages[s].nodes[k].offer, out, n)) >= 0; n++)
                out[n] = next;
        }
    }
    return n;
}
