#include "simulator/spot/market_chain.h"

#include "base/text/units.h"

#include <math.h>
#include <string.h>

// Finer than the ages at which hazards are fitted (profiles/fit/market_fit.h), so that geometric stays do not blur them.
static const double age_from_s[RB_MARKET_AGES + 1] = {0, 360, 900, 1800, 3600, 7200, 14400, 28800, INFINITY};

int rb_market_age(double age_s)
{
    int age = 0;
    while (age_from_s[age + 1] <= age_s)
        age++;
    return age;
}

static double width_s(int age)
{
    return age_from_s[age + 1] - age_from_s[age];
}

static double chance(double per_s, double tick_s)
{
    return -expm1(-fmax(per_s, RB_MARKET_LEAST_PER_HOUR / RB_S_PER_HOUR) * tick_s);
}

static double loss_per_s(const struct rb_spells *spells, int age)
{
    const double over_s = isfinite(width_s(age)) ? width_s(age) : RB_S_PER_HOUR;
    return rb_hazard_over(&spells->hazard, age_from_s[age], over_s) / over_s;
}

// The share of spells without nodes that last longer than `age_s`.
static double still_down(const struct rb_spells *spells, double age_s)
{
    return 1 - rb_dist_cdf(&spells->down_s, age_s);
}

// Ends over exposure, as for hazards; the mean rate counts as one spell more, so that an age never seen has a rate.
static double rise_per_s(const struct rb_spells *spells, int age)
{
    const double mean_s = fmax(rb_dist_mean(&spells->down_s), 1), from_s = age_from_s[age];
    const double to_s = fmin(age_from_s[age + 1], fmax(from_s, 30 * mean_s));
    const double n = spells->down_s.kind == RB_DIST_EMPIRICAL ? spells->down_s.n_values : 1e6;
    enum { PARTS = 64 };
    double exposed_s = 0;
    for (int i = 0; i < PARTS; i++)
        exposed_s += still_down(spells, from_s + (to_s - from_s) * (i + .5) / PARTS) * (to_s - from_s) / PARTS;
    return (n * (still_down(spells, from_s) - still_down(spells, to_s)) + 1) / (n * exposed_s + mean_s);
}

struct rb_market_chain rb_market_chain_of(const struct rb_spells *spells, double tick_s)
{
    struct rb_market_chain c = {.tick_s = tick_s};
    for (int age = RB_MARKET_AGES - 1; age >= 0; age--) {
        c.leave[true][age] = chance(loss_per_s(spells, age), tick_s);
        c.leave[false][age] = chance(rise_per_s(spells, age), tick_s);
        for (int up = 0; up < 2; up++)
            c.ripen[up][age] = (1 - c.leave[up][age]) * fmin(1, tick_s / width_s(age));
        const double older_s = age + 1 < RB_MARKET_AGES ? c.life_s[age + 1] : 0;
        c.life_s[age] = (tick_s + c.ripen[true][age] * older_s) / (c.leave[true][age] + c.ripen[true][age]);
    }
    return c;
}

enum { FORGOTTEN = 2000 }; // ticks after which it does not matter how a market was

static void move_on(const struct rb_market_chain *c, double share[2][RB_MARKET_AGES])
{
    double next[2][RB_MARKET_AGES] = {{0}};
    for (int up = 0; up < 2; up++)
        for (int age = 0; age < RB_MARKET_AGES; age++) {
            next[!up][0] += share[up][age] * c->leave[up][age];
            next[up][age] += share[up][age] * (1 - c->leave[up][age] - c->ripen[up][age]);
            next[up][age + 1 < RB_MARKET_AGES ? age + 1 : age] += share[up][age] * c->ripen[up][age];
        }
    memcpy(share, next, sizeof next);
}

double rb_market_chain_chance(const struct rb_market_chain *c, const struct rb_market_state *state)
{
    double share[2][RB_MARKET_AGES] = {{0}}, chance = 0;
    share[state->up][rb_market_age(state->age_s)] = 1;
    for (int ticks = (int)fmin(state->seen_ago_s / c->tick_s, FORGOTTEN); ticks > 0; ticks--)
        move_on(c, share);
    for (int age = 0; age < RB_MARKET_AGES; age++)
        chance += share[true][age];
    return chance;
}
