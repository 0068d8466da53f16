#include "simulator/spot/market_chain.h"

#include "base/text/units.h"

#include <math.h>
#include <string.h>

// Finer than the ages at which hazards are fitted (profiles/fit/market_fit.h), so that geometric stays do not blur them.
static const double age_from_s[RB_MARKET_AGES + 1] = {0, 360, 900, 1800, 3600, 7200, 14400, 28800, INFINITY};

int rb_market_age(double age_s)
{
    int age = 0;
    while (age + 1 < RB_MARKET_AGES && age_from_s[age + 1] <= age_s)
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

// --- what was seen a while ago

enum { EACH = 16, A_DOUBLING = 4 }; // instants: every tick at first, then four for each doubling of the time

static int ticks_at(int instant)
{
    return instant < EACH ? instant : (int)(EACH * exp2((double)(instant - EACH) / A_DOUBLING));
}

static int instant_of(double ticks)
{
    if (ticks < EACH)
        return (int)ticks;
    return (int)fmin(EACH + A_DOUBLING * log2(ticks / EACH), RB_MARKET_MEMORY - 1);
}

static void look_back(const struct rb_market_chain *c, double up_later[2][RB_MARKET_AGES])
{
    double before[2][RB_MARKET_AGES];
    for (int up = 0; up < 2; up++)
        for (int age = 0; age < RB_MARKET_AGES; age++) {
            const double leave = c->leave[up][age], ripen = c->ripen[up][age];
            const int older = age + 1 < RB_MARKET_AGES ? age + 1 : age; // the last never ripens
            before[up][age] = leave * up_later[!up][0] + ripen * up_later[up][older] +
                              (1 - leave - ripen) * up_later[up][age];
        }
    memcpy(up_later, before, sizeof before);
}

static void remember(struct rb_market_chain *c)
{
    double up_later[2][RB_MARKET_AGES];
    for (int age = 0; age < RB_MARKET_AGES; age++) {
        up_later[false][age] = 0;
        up_later[true][age] = 1;
    }
    for (int i = 0, ticks = 0; i < RB_MARKET_MEMORY; i++) {
        for (; ticks < ticks_at(i); ticks++)
            look_back(c, up_later);
        for (int state = 0; state < RB_MARKET_STATES; state++)
            c->later[i][state / RB_MARKET_AGES][state % RB_MARKET_AGES] =
                (float)up_later[state / RB_MARKET_AGES][state % RB_MARKET_AGES];
    }
}

double rb_market_chain_chance(const struct rb_market_chain *c, const struct rb_market_state *state)
{
    return c->later[instant_of(state->seen_ago_s / c->tick_s)][state->up][rb_market_age(state->age_s)];
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
    remember(&c);
    return c;
}
