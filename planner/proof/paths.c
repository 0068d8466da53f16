#include "planner/proof/paths.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_STEPS 24   // of the search for one price
#define ENOUGH     1e-3 // of the best plan's cost: the bound is as good as the best price

static double least_of(double a, double b)
{
    return a < b ? a : b;
}

static double weigh(const struct rb_column *column, int tilt, double price)
{
    return column->dropped ? INFINITY : column->more_uusd + price * column->least_us[tilt];
}

double rb_columns_deadline_us(const struct rb_columns *c)
{
    return c->search->req->deadline_us < 0 ? 0 : (double)c->search->req->deadline_us;
}

static void clear(struct rb_column_group *g)
{
    for (int n = 0; n <= g->most; n++)
        g->some[n] = g->all[n] = INFINITY;
}

static const struct rb_column_group *group_of(const struct rb_column_stage *s, int offer)
{
    for (int g = 0; g < s->n_groups; g++)
        if (s->groups[g].offer == offer)
            return &s->groups[g];
    return NULL;
}

// Of all offers but this one.
static double least_of_others(const struct rb_column_stage *s, int offer)
{
    double least = INFINITY;
    for (int g = 0; g < s->n_groups; g++)
        least = s->groups[g].offer == offer ? least : least_of(least, s->groups[g].least);
    return least;
}

// ---- backwards

// some[n]: the least of the choices of a stage, and what follows, if n nodes of the offer were owned before. least: if
// none were.
static void fill_by_owned(const struct rb_column_stage *s, struct rb_column_group *g, int tilt, double price,
                          const double *after)
{
    clear(g);
    for (int i = g->first; i < g->end; i++) {
        const struct rb_column_choice *choice = &s->choices[i];
        const int nodes = choice->choice.nodes;
        for (int kept = choice->low; kept <= choice->high; kept++) {
            double *to = kept < nodes ? &g->some[kept] : &g->all[nodes];
            *to = least_of(*to, weigh(&choice->columns[kept], tilt, price) + after[i]);
        }
    }
    g->least = g->some[0];
    for (int n = 1; n <= g->most; n++) {
        g->all[n] = least_of(g->all[n], g->all[n - 1]);
        g->some[n] = least_of(g->some[n], g->all[n]);
    }
}

static void step_back(const struct rb_columns *c, int stage, int tilt, double price, const double *after, double *out)
{
    const struct rb_column_stage *s = &c->stages[stage], *next = &c->stages[stage + 1];
    for (int g = 0; g < next->n_groups; g++)
        fill_by_owned(next, &next->groups[g], tilt, price, after);
    for (int g = 0; g < s->n_groups; g++) {
        const struct rb_column_group *same = group_of(next, s->groups[g].offer);
        const double fresh = least_of_others(next, s->groups[g].offer);
        for (int i = s->groups[g].first; i < s->groups[g].end; i++) {
            const int nodes = s->choices[i].choice.nodes;
            out[i] = same ? least_of(fresh, same->some[nodes < same->most ? nodes : same->most]) : fresh;
        }
    }
}

// A price, the bound at it, and the time of the cheapest path beyond the deadline: what the bound gains per price.
struct priced {
    double price, bound, late_us;
};

// The time of the path that step_back found from a choice on.
static double time_from(const struct rb_columns *c, int stage, int choice, int tilt, double price,
                        double *const to_go[])
{
    double time_us = 0;
    for (; stage + 1 < c->n_stages && choice >= 0; stage++) {
        const struct rb_column_stage *next = &c->stages[stage + 1];
        double least = INFINITY;
        int found = -1;
        for (int i = 0; i < next->n; i++) {
            const double here =
                weigh(rb_columns_after(c, stage + 1, choice, &next->choices[i]), tilt, price) + to_go[stage + 1][i];
            found = here < least ? i : found;
            least = least_of(here, least);
        }
        if (found >= 0)
            time_us += rb_columns_after(c, stage + 1, choice, &next->choices[found])->least_us[tilt];
        choice = found;
    }
    return time_us;
}

static struct priced price_paths(const struct rb_columns *c, int tilt, double price, double *const to_go[])
{
    double least = INFINITY;
    int first = -1;
    memset(to_go[c->n_stages - 1], 0, (size_t)c->stages[c->n_stages - 1].n * sizeof **to_go);
    for (int stage = c->n_stages - 2; stage >= 0; stage--)
        step_back(c, stage, tilt, price, to_go[stage + 1], to_go[stage]);
    for (int i = 0; i < c->stages[0].n; i++) {
        const double here = weigh(&c->stages[0].choices[i].columns[0], tilt, price) + to_go[0][i];
        first = here < least ? i : first;
        least = least_of(here, least);
    }
    if (first < 0)
        return (struct priced){price, INFINITY, 0};
    const double time_us =
        c->stages[0].choices[first].columns[0].least_us[tilt] + time_from(c, 0, first, tilt, price, to_go);
    const double deadline_us = rb_columns_deadline_us(c);
    return (struct priced){price, least - price * deadline_us, time_us - deadline_us};
}

// ---- prices

// The price with the largest bound. The bound is concave in the price, so where the tangents at two prices meet, it is
// at most as high as they are (Kelley).
static struct priced best_price(const struct rb_columns *c, int tilt, double guess, double enough)
{
    double *const *scratch = c->to_go[0];
    struct priced low = price_paths(c, tilt, 0, scratch), high = price_paths(c, tilt, guess, scratch), best = low;
    if (low.late_us <= 0)
        return low;
    for (int i = 0; i < MOST_STEPS && high.late_us > 0; i++) {
        low = high;
        high = price_paths(c, tilt, 4 * high.price, scratch);
    }
    best = low.bound > high.bound ? low : high;
    for (int i = 0; i < MOST_STEPS && low.late_us > high.late_us; i++) {
        const double price = (high.bound - low.bound + low.late_us * low.price - high.late_us * high.price) /
                             (low.late_us - high.late_us);
        const double at_most = low.bound + low.late_us * (price - low.price);
        if (!(at_most > best.bound + enough))
            break;
        const struct priced middle = price_paths(c, tilt, price, scratch);
        best = middle.bound > best.bound ? middle : best;
        if (middle.late_us > 0)
            low = middle;
        else
            high = middle;
    }
    return best;
}

double rb_paths_price(struct rb_columns *c)
{
    double best_uusd = 0, most;
    for (int stage = 0; stage < c->n_stages; stage++)
        best_uusd += c->stages[stage].best->cost_mean_uusd;
    most = price_paths(c, 0, 0, c->to_go[0]).bound;
    for (int t = 0; t < RB_COLUMNS_TILTS && c->search->req->deadline_us >= 0; t++) {
        const double known = c->prices[2 * t + 1].uusd_per_us;
        const double guess = known > 0 ? known : best_uusd / rb_columns_deadline_us(c);
        const struct priced best = best_price(c, t, guess, ENOUGH * best_uusd);
        for (int k = 1; k <= 2; k++) { // and a higher price, because columns are dropped from above
            c->prices[2 * t + k].tilt = t;
            c->prices[2 * t + k].uusd_per_us = k * best.price;
        }
        most = fmax(most, best.bound);
    }
    for (int k = 0; k < RB_COLUMNS_PRICES; k++)
        price_paths(c, c->prices[k].tilt, c->prices[k].uusd_per_us, c->to_go[k]);
    return most;
}

// ---- forwards

// some[n]: the least of the beginnings of plans that hand over n nodes; all[n]: n or more; least: any.
static void fill_by_handed_over(const struct rb_column_stage *s, struct rb_column_group *g, const double *from)
{
    clear(g);
    for (int i = g->first; i < g->end; i++) {
        double *some = &g->some[s->choices[i].choice.nodes];
        *some = least_of(*some, from[i]);
    }
    g->all[g->most] = g->some[g->most];
    for (int n = g->most - 1; n >= 0; n--)
        g->all[n] = least_of(g->some[n], g->all[n + 1]);
    g->least = g->all[0];
}

static double before_of(const struct rb_column_group *same, double fresh, int nodes, int kept)
{
    double before = kept == 0 ? fresh : INFINITY;
    if (same && kept > 0 && kept <= same->most)
        before = least_of(before, kept < nodes ? same->some[kept] : same->all[kept]);
    return before;
}

static void drop_from_choice(struct rb_columns *c, int k, int stage, int i, const struct rb_column_group *same,
                             double fresh, double *out_from)
{
    struct rb_column_choice *choice = &c->stages[stage].choices[i];
    const double price = c->prices[k].uusd_per_us, most = c->allowed_uusd + price * rb_columns_deadline_us(c);
    *out_from = INFINITY;
    for (int kept = choice->low; kept <= choice->high; kept++) {
        struct rb_column *column = &choice->columns[kept];
        const double before = stage == 0 ? 0 : before_of(same, fresh, choice->choice.nodes, kept);
        const double here = before + weigh(column, c->prices[k].tilt, price);
        column->dropped = column->dropped || here + c->to_go[k][stage][i] >= most;
        column->sample = column->dropped ? NULL : column->sample;
        *out_from = column->dropped ? *out_from : least_of(*out_from, here);
    }
    while (choice->low <= choice->high && choice->columns[choice->low].dropped)
        choice->low++;
    while (choice->low <= choice->high && choice->columns[choice->high].dropped)
        choice->high--;
}

static void drop_at_price(struct rb_columns *c, int k, double *const from[])
{
    for (int stage = 0; stage < c->n_stages; stage++) {
        const struct rb_column_stage *s = &c->stages[stage], *before = stage > 0 ? s - 1 : NULL;
        for (int g = 0; before && g < before->n_groups; g++)
            fill_by_handed_over(before, &before->groups[g], from[stage - 1]);
        for (int g = 0; g < s->n_groups; g++) {
            const struct rb_column_group *same = before ? group_of(before, s->groups[g].offer) : NULL;
            const double fresh = before ? least_of_others(before, s->groups[g].offer) : 0;
            for (int i = s->groups[g].first; i < s->groups[g].end; i++)
                drop_from_choice(c, k, stage, i, same, fresh, &from[stage][i]);
        }
    }
}

void rb_paths_drop(struct rb_columns *c)
{
    double *from[RB_LIMIT_STAGES];
    for (int stage = 0; stage < c->n_stages; stage++)
        from[stage] = rb_xcalloc((size_t)c->stages[stage].n + 1, sizeof **from);
    for (int k = 0; k < RB_COLUMNS_PRICES; k++)
        drop_at_price(c, k, from);
    for (int stage = 0; stage < c->n_stages; stage++)
        free(from[stage]);
}
