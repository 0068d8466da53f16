#include "profiles/fit/market_fit.h"

#include "base/order.h"
#include "base/text/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_AGES = 4 };
static const double age_from_s[N_AGES + 1] = {0, 900, 3600, 14400, INFINITY};

#define CLOSE_S   1800.0 // after a loss in another zone
#define S_PER_DAY 86400.0

static double step_s(const struct rb_capacity *c, int step)
{
    return (double)(step < c->n_steps ? c->steps[step].at_us : c->end_us) / RB_US_PER_S;
}

static double end_s(const struct rb_capacity *c)
{
    return step_s(c, c->n_steps);
}

// --- hazard by age

struct exposure {
    double seconds[N_AGES];
    int losses[N_AGES];
};

static int age_of(double seconds)
{
    int age = 0;
    while (age_from_s[age + 1] <= seconds)
        age++;
    return age;
}

static void expose(struct exposure *e, double life_s, bool is_lost)
{
    for (int age = 0; age < N_AGES; age++)
        e->seconds[age] += fmax(0, fmin(life_s, age_from_s[age + 1]) - age_from_s[age]);
    if (is_lost)
        e->losses[age_of(life_s)]++;
}

// Nodes lie on a stack in the order of their births; unknown births are at the bottom.
static struct exposure expose_nodes(const struct rb_capacity *c)
{
    struct exposure e = {0};
    int most = 0;
    for (int i = 0; i < c->n_steps; i++)
        most = c->steps[i].up > most ? c->steps[i].up : most;
    RB_AUTO(rb_auto_free) double *born_s = rb_xcalloc((size_t)most + 1, sizeof *born_s);
    int n = c->steps[0].up, n_old = n; // up; of those, up at the beginning
    for (int i = 1; i < c->n_steps; i++) {
        for (; n > c->steps[i].up; n--) {
            if (n > n_old)
                expose(&e, step_s(c, i) - born_s[n - 1], true);
            else
                n_old--;
        }
        for (; n < c->steps[i].up; n++)
            born_s[n] = step_s(c, i);
    }
    for (; n > n_old; n--)
        expose(&e, end_s(c) - born_s[n - 1], false);
    return e;
}

static bool fit_hazard(const struct rb_capacity *c, struct rb_arena *arena, struct rb_hazard *out, struct rb_err *err)
{
    const struct exposure e = expose_nodes(c);
    double hours = 0, per_hour[N_AGES];
    int losses = 0;
    for (int age = 0; age < N_AGES; age++) {
        hours += e.seconds[age] / RB_S_PER_HOUR;
        losses += e.losses[age];
    }
    if (losses == 0)
        return rb_err_set(err, RB_E_FIT_SAMPLES,
                          "%s %s: no node that came up was lost again, so how soon they are lost is unknown; import a "
                          "longer table",
                          c->zone, c->instance_type);
    for (int age = 0; age < N_AGES; age++) {
        const double seen_h = e.seconds[age] / RB_S_PER_HOUR;
        per_hour[age] = e.losses[age] > 0 ? e.losses[age] / seen_h : 1 / (seen_h + hours / losses);
        if (per_hour[age] > RB_MAX_PREEMPTIONS)
            return rb_err_set(
                err, RB_E_FIT_SAMPLES,
                "%s %s: nodes are lost %.3g times an hour, more often than the %g that can be planned with", c->zone,
                c->instance_type, per_hour[age], RB_MAX_PREEMPTIONS);
    }
    struct rb_hazard_step *later = rb_arena_array(arena, N_AGES - 1, sizeof *later);
    for (int age = 1; age < N_AGES; age++)
        later[age - 1] = (struct rb_hazard_step){age_from_s[age], per_hour[age]};
    *out = (struct rb_hazard){.per_hour = per_hour[0], .later = later, .n_later = N_AGES - 1};
    return true;
}

// --- spells

// Times between two changes of "some node is up"; the first and the last are cut by the edges of the table.
static bool fit_spells(const struct rb_capacity *c, bool up, struct rb_arena *arena, struct rb_dist *out,
                       struct rb_err *err)
{
    double *values = rb_arena_array(arena, (size_t)c->n_steps, sizeof *values);
    double begun_s = -1;
    int n = 0;
    for (int i = 1; i < c->n_steps; i++) {
        if ((c->steps[i].up > 0) == (c->steps[i - 1].up > 0))
            continue;
        if (begun_s >= 0 && (c->steps[i].up > 0) != up)
            values[n++] = step_s(c, i) - begun_s;
        begun_s = step_s(c, i);
    }
    if (n == 0)
        return rb_err_set(err, RB_E_FIT_SAMPLES,
                          "%s %s: no spell %s has both its beginning and its end in the table; import a longer one",
                          c->zone, c->instance_type, up ? "with nodes" : "without any");
    qsort(values, (size_t)n, sizeof *values, rb_order_doubles);
    *out = (struct rb_dist){.kind = RB_DIST_EMPIRICAL, .values = values, .n_values = n};
    return rb_dist_prepare(out, err) || rb_err_prefix(err, "%s %s: spells", c->zone, c->instance_type);
}

// Of the falls from two nodes or more, those to none; < 0: there was none.
static double share_of_all(const struct rb_capacity *c)
{
    int falls = 0, all = 0;
    for (int i = 1; i < c->n_steps; i++) {
        const int before = c->steps[i - 1].up, up = c->steps[i].up;
        falls += before >= 2 && up < before;
        all += before >= 2 && up == 0;
    }
    return falls > 0 ? (double)all / falls : -1;
}

// --- losses in other zones of the region

static bool is_loss(const struct rb_capacity *c, int step)
{
    return step > 0 && c->steps[step].up < c->steps[step - 1].up;
}

static bool is_neighbour(const struct rb_capacity *c, const struct rb_capacity *other)
{
    return other != c && strcmp(other->region, c->region) == 0 && strcmp(other->instance_type, c->instance_type) == 0;
}

// Instants of losses in other zones of the region, ascending.
struct losses {
    double *at_s; // heap
    int n;
};

static struct losses losses_nearby(const struct rb_capacity *all, int n, const struct rb_capacity *c)
{
    struct losses l = {0};
    int n_steps = 0;
    for (int k = 0; k < n; k++)
        n_steps += is_neighbour(c, &all[k]) ? all[k].n_steps : 0;
    l.at_s = rb_xcalloc((size_t)n_steps + 1, sizeof *l.at_s);
    for (int k = 0; k < n; k++) {
        for (int i = 1; is_neighbour(c, &all[k]) && i < all[k].n_steps; i++) {
            if (is_loss(&all[k], i))
                l.at_s[l.n++] = step_s(&all[k], i);
        }
    }
    qsort(l.at_s, (size_t)l.n, sizeof *l.at_s, rb_order_doubles);
    return l;
}

static bool is_close(const struct losses *l, double at_s)
{
    const int n = rb_count_up_to(l->at_s, l->n, at_s);
    return n > 0 && at_s - l->at_s[n - 1] <= CLOSE_S;
}

// Seconds from `from_s` to `to_s` that are close to a loss.
static double close_s(const struct losses *l, double from_s, double to_s)
{
    double sum_s = 0, at_s = from_s;
    for (int i = rb_count_up_to(l->at_s, l->n, from_s); at_s < to_s; i++) {
        const double until_s = i < l->n ? fmin(to_s, l->at_s[i]) : to_s;
        sum_s += i > 0 ? fmax(0, fmin(until_s, l->at_s[i - 1] + CLOSE_S) - at_s) : 0;
        at_s = until_s;
    }
    return sum_s;
}

// < 0: there is no other zone, or none was lost while nodes were up.
static double fit_region(const struct rb_capacity *all, int n, const struct rb_capacity *c)
{
    struct losses nearby = losses_nearby(all, n, c);
    double up_s = 0, up_close_s = 0;
    int losses = 0, losses_close = 0;
    for (int i = 0; i < c->n_steps; i++) {
        const double at_s = step_s(c, i);
        losses += is_loss(c, i);
        losses_close += is_loss(c, i) && is_close(&nearby, at_s);
        if (c->steps[i].up > 0) {
            up_s += step_s(c, i + 1) - at_s;
            up_close_s += close_s(&nearby, at_s, step_s(c, i + 1));
        }
    }
    free(nearby.at_s);
    return losses > 0 && up_close_s > 0 ? (losses_close / up_close_s) / (losses / up_s) : -1;
}

// --- price

struct priced {
    double price, seconds;
};

static int by_price(const void *pa, const void *pb)
{
    const struct priced *a = pa, *b = pb;
    return (a->price > b->price) - (a->price < b->price);
}

// The price that at most the share p of the time is below.
static int64_t price_quantile(const struct priced *sorted, int n, double all_s, double p)
{
    double sum_s = 0;
    int i = 0;
    while (i < n - 1 && (sum_s += sorted[i].seconds) < p * all_s)
        i++;
    return (int64_t)sorted[i].price;
}

struct rb_price_range rb_market_price(const struct rb_capacity *c)
{
    double all_s = 0, sum = 0;
    int n = 0;
    if (!rb_capacity_has_prices(c->steps, c->n_steps))
        return (struct rb_price_range){0};
    RB_AUTO(rb_auto_free) struct priced *times = rb_xcalloc((size_t)c->n_steps, sizeof *times);
    for (int i = 0; i < c->n_steps; i++) {
        if (c->steps[i].up == 0)
            continue;
        times[n] = (struct priced){(double)c->steps[i].uusd_per_hour, step_s(c, i + 1) - step_s(c, i)};
        all_s += times[n].seconds;
        sum += times[n].price * times[n].seconds;
        n++;
    }
    if (all_s <= 0)
        return (struct rb_price_range){0};
    qsort(times, (size_t)n, sizeof *times, by_price);
    return (struct rb_price_range){(int64_t)ceil(sum / all_s), price_quantile(times, n, all_s, 0.05),
                                  price_quantile(times, n, all_s, 0.95)};
}

bool rb_market_fit(const struct rb_capacity *all, int n, int which, double sampled_s, double together,
                   struct rb_arena *arena, struct rb_spells *out, struct rb_err *err)
{
    const struct rb_capacity *c = &all[which];
    const double seen_together = share_of_all(c);
    struct rb_spells s = {
        .sampled_s = sampled_s,
        .days = (end_s(c) - step_s(c, 0)) / S_PER_DAY,
        .together = seen_together >= 0 ? seen_together : together,
        .region_factor = fit_region(all, n, c),
        .price = rb_market_price(c),
    };
    if (s.together < 0)
        return rb_err_set(err, RB_E_FIT_SAMPLES,
                          "%s %s: never were two nodes up, so how often a loss takes all nodes is unknown: give "
                          "--together, 0 (never) to 1 (always)",
                          c->zone, c->instance_type);
    if (!fit_hazard(c, arena, &s.hazard, err) || !fit_spells(c, true, arena, &s.up_s, err) ||
        !fit_spells(c, false, arena, &s.down_s, err))
        return false;
    *out = s;
    return true;
}
