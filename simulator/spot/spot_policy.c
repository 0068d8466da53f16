#include "simulator/spot/spot_policy.h"

#include "base/arena.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = RB_MARKET_STATES, K = RB_MARKET_AGES };

#define ALMOST 1e-9 // of a tick: 360 s are two ticks of 180

// v of one stage in spot ticks, by slack and work.
struct table {
    int work, save_every; // ticks
    float (*idle)[N], (*demand)[N], (*spot)[K];
};

struct rb_spot_policy {
    struct rb_market_mix mix;
    int n_stages, slack, start, start_most; // ticks
    double ratio, billed;                   // price of on demand; ticks of a cold start that are billed
    struct rb_spot_stage *stages;
    struct table *tables;                                       // [n_stages]
    float next[N][N], kept[K][K], lost[K][N];                   // of one tick
    float next_start[N][N], kept_start[K][K], lost_start[K][N]; // of a cold start
};

double rb_spot_policy_tick_s(double deadline_s, double start_s, int steps)
{
    const double least_s = deadline_s / steps;
    return start_s >= least_s ? start_s / floor(start_s / least_s + ALMOST) : least_s;
}

static int ticks(double seconds, double tick_s)
{
    return (int)ceil(seconds / tick_s - ALMOST);
}

static int at_least(int least, int value)
{
    return value > least ? value : least;
}

// --- chances

static void multiply(int rows, int inner, int columns, const float *a, const float *b, float *out)
{
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < columns; j++) {
            double sum = 0;
            for (int k = 0; k < inner; k++)
                sum += (double)a[i * inner + k] * b[k * columns + j];
            out[i * columns + j] = (float)sum;
        }
    }
}

static void tick_chances(struct rb_spot_policy *p)
{
    for (int s = 0; s < N; s++)
        for (int to = 0; to < N; to++)
            p->next[s][to] = (float)p->mix.next[s][to];
    for (int k = 0; k < K; k++) {
        for (int to = 0; to < K; to++)
            p->kept[k][to] = (float)p->mix.kept[k][to];
        for (int to = 0; to < N; to++)
            p->lost[k][to] = (float)p->mix.lost[k][to];
    }
}

// A node that is lost while it starts is asked for again when the start would have been over.
static void start_chances(struct rb_spot_policy *p)
{
    memcpy(p->next_start, p->next, sizeof p->next);
    memcpy(p->kept_start, p->kept, sizeof p->kept);
    memcpy(p->lost_start, p->lost, sizeof p->lost);
    for (int i = 1; i < p->start; i++) {
        float next[N][N], kept[K][K], lost[K][N], lost_now[K][N];
        multiply(N, N, N, p->next_start[0], p->next[0], next[0]);
        multiply(K, N, N, p->lost_start[0], p->next[0], lost[0]);
        multiply(K, K, N, p->kept_start[0], p->lost[0], lost_now[0]);
        multiply(K, K, K, p->kept_start[0], p->kept[0], kept[0]);
        for (int k = 0; k < K; k++)
            for (int s = 0; s < N; s++)
                p->lost_start[k][s] = lost[k][s] + lost_now[k][s];
        memcpy(p->next_start, next, sizeof next);
        memcpy(p->kept_start, kept, sizeof kept);
    }
}

static float expect(int n, const float *chances, const float *values)
{
    float sum = 0;
    for (int i = 0; i < n; i++)
        sum += chances[i] * values[i];
    return sum;
}

// --- the choices of a state

static size_t cell(const struct table *t, int slack, int work)
{
    return (size_t)at_least(0, slack) * (size_t)(t->work + 1) + (size_t)work;
}

// Unsaved work after this many ticks of the stage.
static int unsaved_after(const struct table *t, int done)
{
    return done % t->save_every;
}

// The most that a loss within the next tick takes.
static int at_risk(const struct table *t, int work)
{
    return t->save_every == 1 ? 0 : (t->work - work) % t->save_every + 1;
}

static float wait(const struct rb_spot_policy *p, const struct table *t, int slack, int work, int state)
{
    if (slack - 1 < p->start_most)
        return INFINITY;
    return expect(N, p->next[state], t->idle[cell(t, slack - 1, work)]);
}

static float start_spot(const struct rb_spot_policy *p, const struct table *t, int slack, int work, int state)
{
    if (state >= K || slack < 2 * p->start_most + at_risk(t, t->work))
        return INFINITY;
    const size_t then = cell(t, slack - p->start, work);
    return (float)p->billed + expect(K, p->kept_start[state], t->spot[then]) +
           expect(N, p->lost_start[state], t->idle[then]);
}

// The last resort: it is always a choice.
static float start_demand(const struct rb_spot_policy *p, const struct table *t, int slack, int work, int state)
{
    return (float)(p->billed * p->ratio) + expect(N, p->next_start[state], t->demand[cell(t, slack - p->start, work)]);
}

static float stay_on_demand(const struct rb_spot_policy *p, const struct table *t, int slack, int work, int state)
{
    return (float)p->ratio + expect(N, p->next[state], t->demand[cell(t, slack, work - 1)]);
}

static float stay_on_spot(const struct rb_spot_policy *p, const struct table *t, int slack, int work, int class_)
{
    if (slack < p->start_most + at_risk(t, work))
        return INFINITY;
    const int unsaved = unsaved_after(t, t->work - work + 1);
    return 1 + expect(K, p->kept[class_], t->spot[cell(t, slack, work - 1)]) +
           expect(N, p->lost[class_], t->idle[cell(t, slack - unsaved, work - 1 + unsaved)]);
}

// --- the tables

static void settle(const struct rb_spot_policy *p, struct table *t, int slack, int work)
{
    const size_t here = cell(t, slack, work);
    for (int s = 0; s < N; s++) {
        const float demand = slack >= p->start ? start_demand(p, t, slack, work, s)
                                               : (float)(p->ratio * (p->billed + work)) + t->idle[cell(t, 0, 0)][0];
        const float idle = fminf(demand, fminf(wait(p, t, slack, work, s), start_spot(p, t, slack, work, s)));
        t->idle[here][s] = idle;
        t->demand[here][s] = fminf(idle, stay_on_demand(p, t, slack, work, s));
        if (s < K)
            t->spot[here][s] = fminf(demand, stay_on_spot(p, t, slack, work, s));
    }
}

static void *rows(const struct rb_spot_policy *p, const struct table *t, size_t size)
{
    return rb_xcalloc((size_t)(p->slack + 1) * (size_t)(t->work + 1), size);
}

// after [slack + 1]: what a trial's end with that slack costs.
static void fill(const struct rb_spot_policy *p, struct table *t, const float *after)
{
    t->idle = rows(p, t, sizeof *t->idle);
    t->demand = rows(p, t, sizeof *t->demand);
    t->spot = rows(p, t, sizeof *t->spot);
    for (int slack = 0; slack <= p->slack; slack++) {
        for (int s = 0; s < N; s++)
            t->idle[cell(t, slack, 0)][s] = t->demand[cell(t, slack, 0)][s] = after[slack];
        for (int k = 0; k < K; k++)
            t->spot[cell(t, slack, 0)][k] = after[slack];
        for (int work = 1; work <= t->work; work++)
            settle(p, t, slack, work);
    }
}

// A trial of the stage, from its start on, the markets as they are on average.
static float value_at_start(const struct rb_spot_policy *p, const struct table *t, int slack)
{
    float share[N];
    for (int s = 0; s < N; s++)
        share[s] = (float)p->mix.share[s];
    return expect(N, share, t->idle[cell(t, slack < p->slack ? slack : p->slack, t->work)]);
}

struct rb_spot_policy *rb_spot_policy_create(const struct rb_spot_problem *problem)
{
    struct rb_spot_policy *p = rb_xcalloc(1, sizeof *p);
    const double tick_s = problem->mix->tick_s;
    p->mix = *problem->mix;
    p->n_stages = problem->n_stages;
    p->slack = at_least(0, (int)floor(problem->slack_s / tick_s + ALMOST));
    p->start = at_least(1, ticks(problem->start_s, tick_s));
    p->start_most = at_least(p->start, ticks(problem->start_most_s, tick_s));
    p->billed = problem->start_s / tick_s;
    p->ratio = problem->ratio;
    p->stages = rb_xcalloc((size_t)p->n_stages, sizeof *p->stages);
    memcpy(p->stages, problem->stages, (size_t)p->n_stages * sizeof *p->stages);
    p->tables = rb_xcalloc((size_t)p->n_stages, sizeof *p->tables);
    tick_chances(p);
    start_chances(p);
    RB_AUTO(rb_auto_free) float *after = rb_xcalloc((size_t)p->slack + 1, sizeof *after);
    for (int i = p->n_stages - 1; i >= 0; i--) {
        const struct rb_spot_stage *s = &p->stages[i];
        struct table *t = &p->tables[i];
        t->work = at_least(1, ticks(s->work_s, tick_s));
        t->save_every = s->save_every_s > s->work_s ? t->work + 1 : at_least(1, ticks(s->save_every_s, tick_s));
        fill(p, t, after);
        for (int slack = 0; slack <= p->slack && i > 0; slack++)
            after[slack] =
                value_at_start(p, t, slack + p->start_most) * (float)s->trials / (float)p->stages[i - 1].trials;
    }
    return p;
}

void rb_spot_policy_destroy(struct rb_spot_policy *p)
{
    if (!p)
        return;
    for (int i = 0; i < p->n_stages; i++) {
        free(p->tables[i].idle);
        free(p->tables[i].demand);
        free(p->tables[i].spot);
    }
    free(p->tables);
    free(p->stages);
    free(p);
}

const struct rb_market_mix *rb_spot_policy_mix(const struct rb_spot_policy *p)
{
    return &p->mix;
}

// --- look-ups

// What is thought of the markets.
struct outlook {
    int market;           // the best; -1: none can have a node
    double chance;        // that it grants one
    int granted, refused; // states of the mix then
};

static struct outlook look(const struct rb_spot_policy *p, const struct rb_spot_question *q)
{
    struct outlook o = {.market = rb_market_mix_best(&p->mix, q->markets, q->lost_ago_s)};
    o.refused = rb_market_mix_state(&p->mix, q->markets, -1);
    o.granted = o.market < 0 ? o.refused : rb_market_mix_state(&p->mix, q->markets, o.market);
    o.chance = o.market < 0 ? 0 : rb_market_chain_chance(&p->mix.chains[o.market], &q->markets[o.market]);
    return o;
}

typedef float choice_fn(const struct rb_spot_policy *p, const struct table *t, int slack, int work, int state);

static float expect_choice(const struct rb_spot_policy *p, const struct table *t, int slack, int work,
                           const struct outlook *o, choice_fn *granted, choice_fn *refused)
{
    float sum = 0;
    if (o->chance > 0)
        sum += (float)o->chance * granted(p, t, slack, work, o->granted);
    if (o->chance < 1)
        sum += (float)(1 - o->chance) * refused(p, t, slack, work, o->refused);
    return sum;
}

// What the table says, whatever the guard says. A node that asks for spot and is refused waits for a tick, at least.
static enum rb_spot_mode cheapest(const struct rb_spot_policy *p, const struct rb_spot_question *q,
                                  const struct outlook *o, int held_class)
{
    const struct table *t = &p->tables[q->stage];
    const int all = (int)floor(q->now.slack_s / p->mix.tick_s + ALMOST), slack = all < p->slack ? all : p->slack;
    const int left = at_least(1, ticks(q->work_s, p->mix.tick_s)), work = left < t->work ? left : t->work;
    if (slack < p->start)
        return q->now.mode == RB_SPOT_ON_SPOT ? RB_SPOT_ON_SPOT : RB_SPOT_ON_DEMAND;
    const float demand = expect_choice(p, t, slack, work, o, start_demand, start_demand);
    if (q->now.mode == RB_SPOT_ON_SPOT)
        return stay_on_spot(p, t, slack, work, held_class) <= demand ? RB_SPOT_ON_SPOT : RB_SPOT_ON_DEMAND;
    float stay = demand;
    if (q->now.mode == RB_SPOT_ON_DEMAND)
        stay = expect_choice(p, t, slack, work, o, stay_on_demand, stay_on_demand);
    const float spot = o->market < 0 ? INFINITY : expect_choice(p, t, slack, work, o, start_spot, wait);
    const float idle = expect_choice(p, t, slack, work, o, wait, wait);
    if (fminf(stay, demand) <= fminf(spot, idle))
        return RB_SPOT_ON_DEMAND;
    return spot <= idle ? RB_SPOT_ON_SPOT : RB_SPOT_IDLE;
}

enum rb_spot_mode rb_spot_policy_choose(const struct rb_spot_policy *p, const struct rb_spot_guard *g,
                                        const struct rb_spot_question *q, int *out_market)
{
    const bool holds = q->now.mode == RB_SPOT_ON_SPOT;
    const struct outlook o = look(p, q);
    const int class_ = holds ? p->mix.class_of[q->held][rb_market_age(q->markets[q->held].age_s)] : -1;
    const enum rb_spot_mode choice = cheapest(p, q, &o, class_);
    *out_market = holds ? q->held : o.market;
    if (choice == RB_SPOT_ON_DEMAND || rb_spot_guard_permits(g, &q->now, choice))
        return choice;
    // Where a cold start would come too late already, the node that there is has the better chance.
    return holds && !rb_spot_guard_permits(g, &q->now, RB_SPOT_ON_DEMAND) ? RB_SPOT_ON_SPOT : RB_SPOT_ON_DEMAND;
}

double rb_spot_policy_cost(const struct rb_spot_policy *p, double slack_s)
{
    const int slack = at_least(0, (int)floor(slack_s / p->mix.tick_s + ALMOST));
    return value_at_start(p, &p->tables[0], slack) * p->stages[0].trials * p->mix.tick_s / p->ratio;
}

double rb_spot_policy_value(const struct rb_spot_policy *p, int stage, int slack, int work, enum rb_spot_mode mode,
                            int state)
{
    const struct table *t = &p->tables[stage];
    const size_t at = cell(t, slack, work);
    const float v =
        mode == RB_SPOT_ON_SPOT ? t->spot[at][state] : (mode == RB_SPOT_ON_DEMAND ? t->demand : t->idle)[at][state];
    return v * p->mix.tick_s / p->ratio;
}
