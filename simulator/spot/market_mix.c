#include "simulator/spot/market_mix.h"

#include "base/order.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_TICKS = 100000, NEVER = 1 << 30 };
#define CLOSE_S 1800.0 // after a loss, in its region: profiles/fit/market_fit.h
#define ALMOST  1e-9   // of a tick

// --- classes of nodes

// Classes of equal numbers of (market, age), by mean life.
static void classify(struct rb_market_mix *mix)
{
    double lives[RB_MARKET_MOST * RB_MARKET_AGES];
    const int n = mix->n_markets * RB_MARKET_AGES;
    for (int i = 0; i < n; i++)
        lives[i] = mix->chains[i / RB_MARKET_AGES].life_s[i % RB_MARKET_AGES];
    qsort(lives, (size_t)n, sizeof *lives, rb_order_doubles);
    for (int m = 0; m < mix->n_markets; m++) {
        for (int age = 0; age < RB_MARKET_AGES; age++)
            mix->class_of[m][age] = rb_count_below(lives, n, mix->chains[m].life_s[age]) * RB_MARKET_AGES / n;
    }
}

// --- the path

static double hazard_factor(const struct rb_market_walk *w, int market)
{
    const struct rb_market_mix *mix = w->mix;
    bool close = false;
    for (int m = 0; m < mix->n_markets; m++)
        close = close || (m != market && mix->region[m] == mix->region[market] &&
                          (w->tick - w->lost_at[m]) * mix->tick_s <= CLOSE_S);
    return close ? mix->region_factor[market] : 1;
}

static void move(struct rb_market_walk *w, int market)
{
    const struct rb_market_chain *c = &w->mix->chains[market];
    const int up = w->up[market], age = w->age[market];
    const double leave = fmin(1, c->leave[up][age] * (up ? hazard_factor(w, market) : 1));
    const double u = rb_stream_uniform(&w->draws);
    if (u < leave) {
        w->lost_at[market] = up ? w->tick : w->lost_at[market];
        w->up[market] = !up;
        w->age[market] = 0;
        w->since[market] = w->tick;
    } else if (u < leave + c->ripen[up][age]) {
        w->age[market]++;
    }
}

void rb_market_walk_begin(struct rb_market_walk *w, const struct rb_market_mix *mix, uint32_t replicate)
{
    *w = (struct rb_market_walk){.mix = mix};
    rb_stream_init(&w->draws, &(struct rb_stream_key){.purpose = RB_DRAW_MARKETS, .replicate = replicate});
    for (int m = 0; m < mix->n_markets; m++) {
        w->lost_at[m] = -NEVER / 2;
        w->up[m] = true;
    }
}

void rb_market_walk_step(struct rb_market_walk *w)
{
    w->tick++;
    for (int m = 0; m < w->mix->n_markets; m++)
        move(w, m);
}

struct path {
    struct rb_market_mix *mix;
    struct rb_market_walk walk;
    int all_down; // ticks since none is up
    int holds;    // market of a node that is kept until it is lost; -1: none
};

// What a market is worth to those who may choose: its age counts in whole ticks, `life_s` among equals.
struct rank {
    double age, life_s;
};

static bool is_better(const struct rank *a, const struct rank *b)
{
    return a->age > b->age || (a->age == b->age && a->life_s > b->life_s);
}

static double whole_ticks(double seconds, double tick_s)
{
    return floor(seconds / tick_s + ALMOST);
}

static int best_on(const struct path *p)
{
    struct rank best = {0, 0};
    int market = -1;
    for (int m = 0; m < p->mix->n_markets; m++) {
        const struct rank r = {p->walk.tick - p->walk.since[m], p->mix->chains[m].life_s[p->walk.age[m]]};
        if (p->walk.up[m] && is_better(&r, &best)) {
            best = r;
            market = m;
        }
    }
    return market;
}

static int class_on(const struct path *p, int market)
{
    return p->mix->class_of[market][p->walk.age[market]];
}

static int state_on(const struct path *p)
{
    const int best = best_on(p);
    return best >= 0 ? class_on(p, best) : RB_MARKET_AGES + rb_market_age(p->all_down * p->mix->tick_s);
}

static void follow(struct path *p)
{
    struct rb_market_mix *mix = p->mix;
    const int before = state_on(p), held = p->holds >= 0 ? class_on(p, p->holds) : -1;
    rb_market_walk_step(&p->walk);
    p->all_down = best_on(p) >= 0 ? 0 : p->all_down + 1;
    const int now = state_on(p);
    mix->next[before][now]++;
    mix->share[now]++;
    if (held >= 0 && p->walk.up[p->holds])
        mix->kept[held][class_on(p, p->holds)]++;
    else if (held >= 0)
        mix->lost[held][now]++;
    if (p->holds < 0 || !p->walk.up[p->holds])
        p->holds = best_on(p);
}

// --- counts to chances

static void normalise(double *row, double *other, int n, int n_other)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += row[i];
    for (int i = 0; i < n_other; i++)
        sum += other[i];
    for (int i = 0; i < n && sum > 0; i++)
        row[i] /= sum;
    for (int i = 0; i < n_other && sum > 0; i++)
        other[i] /= sum;
}

// What the path never met, and what it met without a loss: the least hazard that there is.
static void fill_gaps(struct rb_market_mix *mix)
{
    const double least = -expm1(-RB_MARKET_LEAST_PER_HOUR / 3600 * mix->tick_s);
    for (int s = 0; s < RB_MARKET_STATES; s++) {
        double *row = mix->next[s], sum = 0;
        for (int i = 0; i < RB_MARKET_STATES; i++)
            sum += row[i];
        row[s] += sum > 0 ? 0 : 1;
    }
    for (int k = 0; k < RB_MARKET_AGES; k++) {
        double kept = 0, lost = 0;
        for (int i = 0; i < RB_MARKET_AGES; i++)
            kept += mix->kept[k][i];
        for (int i = 0; i < RB_MARKET_STATES; i++)
            lost += mix->lost[k][i];
        if (kept + lost == 0)
            mix->kept[k][k] = kept = 1;
        const double missing = fmax(0, least * (kept + lost) - lost) / (1 - least);
        for (int s = 0; s < RB_MARKET_STATES; s++)
            mix->lost[k][s] += missing * mix->share[s];
    }
}

void rb_market_mix_init(struct rb_market_mix *mix, const struct rb_market_source *sources, int n, double tick_s)
{
    assert(n > 0 && n <= RB_MARKET_MOST);
    struct path p = {.mix = mix, .holds = -1};
    *mix = (struct rb_market_mix){.tick_s = tick_s, .n_markets = n};
    for (int m = 0; m < n; m++) {
        mix->chains[m] = rb_market_chain_of(sources[m].spells, tick_s);
        mix->region_factor[m] = fmax(1, sources[m].spells->region_factor);
        mix->region[m] = sources[m].region;
    }
    classify(mix);
    rb_market_walk_begin(&p.walk, mix, 0);
    for (int i = 0; i < PATH_TICKS; i++)
        follow(&p);
    normalise(mix->share, NULL, RB_MARKET_STATES, 0);
    fill_gaps(mix);
    for (int s = 0; s < RB_MARKET_STATES; s++)
        normalise(mix->next[s], NULL, RB_MARKET_STATES, 0);
    for (int k = 0; k < RB_MARKET_AGES; k++)
        normalise(mix->kept[k], mix->lost[k], RB_MARKET_AGES, RB_MARKET_STATES);
}

// --- look-ups

// If it is still as it was seen. One that has changed since, or was never seen, counts as new.
static double age_if(const struct rb_market_state *state, bool up)
{
    return state->up == up && isfinite(state->seen_ago_s) ? state->age_s + state->seen_ago_s : 0;
}

static bool is_close_to_loss(const struct rb_market_mix *mix, int market, const double *lost_ago_s)
{
    bool close = false;
    for (int m = 0; m < mix->n_markets && lost_ago_s; m++)
        close = close || (m != market && mix->region[m] == mix->region[market] && lost_ago_s[m] <= CLOSE_S);
    return close;
}

int rb_market_mix_best(const struct rb_market_mix *mix, const struct rb_market_state *states, const double *lost_ago_s)
{
    struct rank best = {0, 0};
    int market = -1;
    for (int m = 0; m < mix->n_markets; m++) {
        const struct rb_market_chain *c = &mix->chains[m];
        const double age_s = age_if(&states[m], true), chance = rb_market_chain_chance(c, &states[m]);
        const double factor = is_close_to_loss(mix, m, lost_ago_s) ? mix->region_factor[m] : 1;
        const struct rank r = {chance * whole_ticks(age_s, mix->tick_s),
                               chance * c->life_s[rb_market_age(age_s)] / factor};
        if (is_better(&r, &best)) {
            best = r;
            market = m;
        }
    }
    return market;
}

int rb_market_mix_state(const struct rb_market_mix *mix, const struct rb_market_state *states, int best)
{
    if (best >= 0)
        return mix->class_of[best][rb_market_age(age_if(&states[best], true))];
    double shortest_s = INFINITY;
    for (int m = 0; m < mix->n_markets; m++)
        shortest_s = fmin(shortest_s, age_if(&states[m], false));
    return RB_MARKET_AGES + rb_market_age(shortest_s);
}
