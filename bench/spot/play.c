#include "bench/spot/play.h"

#include "base/arena.h"
#include "base/stream.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TRIALS = 64 };

struct trial {
    enum rb_spot_mode mode;
    int zone, slot;  // on spot
    int starting;    // minutes left of the cold start
    int work, saved; // minutes left, and as of the last save
    bool asks;       // at once
    bool to_the_end; // UP's safety net
};

struct play {
    const struct spot_job *job;
    const struct rb_spot_policy *policy;
    enum spot_rule rule;
    struct rb_stream draws;
    struct trial trials[MOST_TRIALS];
    int stage, now; // minutes since the start
    int held[MOST_ZONES];
    int lost[MOST_ZONES]; // when the capacity last fell, or long ago
    int later_min;        // work and cold starts of later stages
    double cost;          // minutes of a spot node
};

// On the table, which stays as it ends.
static int at(const struct play *p, int zone, int now)
{
    const int last = p->job->zones[zone].minutes - 1, minute = p->job->start_min + now;
    return minute < last ? minute : last;
}

static int capacity(const struct play *p, int zone, int now)
{
    return p->job->zones[zone].capacity[at(p, zone, now)];
}

static int slot_age(const struct play *p, int zone, int slot)
{
    const struct spot_zone *z = &p->job->zones[zone];
    const int most = z->n_slots - 1;
    const int minute = at(p, zone, p->now);
    return minute - z->since[(size_t)(slot < most ? slot : most) * (size_t)z->minutes + (size_t)minute];
}

// --- rules

static int slack_min(const struct play *p, const struct trial *t)
{
    return p->job->deadline_min - p->now - p->later_min - t->work;
}

// Work that a loss before the next decision destroys, at most.
static int at_risk_min(const struct play *p, const struct trial *t)
{
    return p->job->save_every_min == 0 ? 0 : t->saved - t->work + p->job->step_min * p->job->every;
}

static int oldest(const struct play *p)
{
    int best = -1, best_age = -1;
    for (int z = 0; z < p->job->n_zones; z++) {
        const int age = slot_age(p, z, p->held[z]);
        if (capacity(p, z, p->now) > p->held[z] && age > best_age) {
            best = z;
            best_age = age;
        }
    }
    return best;
}

// UP: work that should be left at `at_min` of the time that is this stage's.
static double on_schedule(const struct play *p, const struct trial *t, int ahead_min)
{
    const int work = p->job->stages[p->stage].work_min;
    const double span = slack_min(p, t) + t->work + p->now; // the stage's part of the deadline, from the job's start
    return work * (1 - (p->now + ahead_min) / span);
}

static enum rb_spot_mode greedy(const struct play *p, const struct trial *t, int zone)
{
    const int d = p->job->start_most_min;
    if (t->mode == RB_SPOT_ON_DEMAND)
        return RB_SPOT_ON_DEMAND;
    if (t->mode == RB_SPOT_ON_SPOT)
        return slack_min(p, t) < d + at_risk_min(p, t) ? RB_SPOT_ON_DEMAND : RB_SPOT_ON_SPOT;
    if (slack_min(p, t) < 2 * d + at_risk_min(p, t))
        return RB_SPOT_ON_DEMAND;
    return zone >= 0 ? RB_SPOT_ON_SPOT : RB_SPOT_IDLE;
}

static enum rb_spot_mode uniform(const struct play *p, struct trial *t, int zone)
{
    const int d = p->job->start_most_min;
    if (t->mode == RB_SPOT_ON_SPOT || t->to_the_end)
        return t->mode;
    if (t->mode == RB_SPOT_IDLE && slack_min(p, t) < 2 * d) {
        t->to_the_end = true;
        return RB_SPOT_ON_DEMAND;
    }
    if (t->mode == RB_SPOT_ON_DEMAND) {
        if (t->work > on_schedule(p, t, 2 * d) || slack_min(p, t) < 2 * d)
            return RB_SPOT_ON_DEMAND;
        return zone >= 0 ? RB_SPOT_ON_SPOT : RB_SPOT_IDLE;
    }
    if (zone >= 0)
        return RB_SPOT_ON_SPOT;
    return t->work > on_schedule(p, t, 0) ? RB_SPOT_ON_DEMAND : RB_SPOT_IDLE;
}

static enum rb_spot_mode planned(const struct play *p, const struct trial *t, int *out_zone)
{
    const struct spot_job *job = p->job;
    struct rb_market_state markets[MOST_ZONES];
    double lost_ago_s[MOST_ZONES];
    for (int z = 0; z < job->n_zones; z++) {
        const bool is_held = t->mode == RB_SPOT_ON_SPOT && t->zone == z;
        const int slot = is_held ? t->slot : p->held[z];
        markets[z] = (struct rb_market_state){is_held || capacity(p, z, p->now) > slot, slot_age(p, z, slot) * 60.0};
        lost_ago_s[z] = (p->now - p->lost[z]) * 60.0;
    }
    const double d_s = job->start_most_min * 60.0;
    const struct rb_spot_guard guard = {.start_s = {0, d_s, d_s}, .budget = INFINITY};
    const struct rb_spot_question q = {
        .now = {.mode = t->mode,
                .slack_s = slack_min(p, t) * 60.0,
                .unsaved_s = at_risk_min(p, t) * 60.0,
                .ahead_s = job->step_min * job->every * 60.0},
        .stage = p->stage,
        .work_s = t->work * 60.0,
        .held = t->zone,
        .markets = markets,
        .lost_ago_s = lost_ago_s,
    };
    return rb_spot_policy_choose(p->policy, &guard, &q, out_zone);
}

// --- nodes

static void leave(struct play *p, struct trial *t)
{
    if (t->mode == RB_SPOT_ON_SPOT) {
        p->held[t->zone]--;
        for (int i = 0; i < p->job->stages[p->stage].trials; i++) {
            struct trial *o = &p->trials[i];
            if (o != t && o->mode == RB_SPOT_ON_SPOT && o->zone == t->zone && o->slot > t->slot)
                o->slot--;
        }
    }
    t->mode = RB_SPOT_IDLE;
    t->starting = 0;
}

static int draw_start(struct play *p)
{
    const struct spot_job *job = p->job;
    const int n = (job->start_most_min - job->start_least_min) / job->step_min + 1;
    return job->start_least_min + job->step_min * (int)(rb_stream_uniform(&p->draws) * n);
}

static void take(struct play *p, struct trial *t, enum rb_spot_mode mode, int zone)
{
    if (mode == t->mode)
        return;
    leave(p, t);
    t->saved = t->work; // a move is a save first
    t->mode = mode;
    if (mode == RB_SPOT_IDLE)
        return;
    t->starting = draw_start(p);
    if (mode == RB_SPOT_ON_SPOT) {
        t->zone = zone;
        t->slot = p->held[zone]++;
    }
}

static void decide(struct play *p, struct trial *t)
{
    int zone = oldest(p);
    enum rb_spot_mode mode = RB_SPOT_ON_DEMAND;
    if (p->rule == SPOT_GREEDY)
        mode = greedy(p, t, zone);
    else if (p->rule == SPOT_UNIFORM)
        mode = uniform(p, t, zone);
    else
        mode = planned(p, t, &zone);
    t->asks = false;
    take(p, t, mode, zone);
}

static void lose(struct play *p, int zone)
{
    for (int i = 0; i < p->job->stages[p->stage].trials; i++) {
        struct trial *t = &p->trials[i];
        if (t->mode != RB_SPOT_ON_SPOT || t->zone != zone || t->slot != p->held[zone] - 1)
            continue;
        t->work = t->saved;
        leave(p, t);
        t->asks = true;
        return;
    }
}

static void advance(struct play *p, struct trial *t)
{
    const struct spot_job *job = p->job;
    if (t->mode == RB_SPOT_IDLE)
        return;
    p->cost += job->step_min * (t->mode == RB_SPOT_ON_DEMAND ? job->ratio : 1);
    if (t->starting > 0) {
        t->starting -= job->step_min;
        t->asks = t->starting == 0;
        return;
    }
    t->work -= job->step_min;
    const int done = job->stages[p->stage].work_min - t->work;
    if (t->mode == RB_SPOT_ON_DEMAND || job->save_every_min == 0 ||
        (job->save_every_min > 0 && done % job->save_every_min == 0))
        t->saved = t->work;
    if (t->work == 0)
        leave(p, t);
}

static void begin_stage(struct play *p, int stage)
{
    const struct spot_job *job = p->job;
    p->stage = stage;
    p->later_min = 0;
    for (int j = stage + 1; j < job->n_stages; j++)
        p->later_min += job->stages[j].work_min + job->start_most_min;
    for (int i = 0; i < job->stages[stage].trials; i++)
        p->trials[i] =
            (struct trial){.work = job->stages[stage].work_min, .saved = job->stages[stage].work_min, .asks = true};
}

static bool is_done(const struct play *p)
{
    for (int i = 0; i < p->job->stages[p->stage].trials; i++)
        if (p->trials[i].work > 0)
            return false;
    return true;
}

static void step(struct play *p)
{
    const struct spot_job *job = p->job;
    const bool regular = p->now % (job->step_min * job->every) == 0;
    for (int z = 0; z < job->n_zones; z++) {
        if (p->now > 0 && capacity(p, z, p->now) < capacity(p, z, p->now - job->step_min))
            p->lost[z] = p->now;
        while (p->held[z] > capacity(p, z, p->now))
            lose(p, z);
    }
    for (int i = 0; i < job->stages[p->stage].trials; i++) {
        struct trial *t = &p->trials[i];
        if (t->work > 0 && t->starting == 0 && (regular || t->asks))
            decide(p, t);
    }
    for (int i = 0; i < job->stages[p->stage].trials; i++)
        if (p->trials[i].work > 0)
            advance(p, &p->trials[i]);
    p->now += job->step_min;
}

struct spot_played spot_play(const struct spot_job *job, enum spot_rule rule, const struct rb_spot_policy *policy)
{
    struct play p = {.job = job, .policy = policy, .rule = rule};
    double all_min = 0;
    rb_stream_init(&p.draws,
                   &(struct rb_stream_key){.purpose = RB_DRAW_SEARCH, .stage = 1, .replicate = job->replicate});
    for (int z = 0; z < job->n_zones; z++)
        p.lost[z] = -1000000;
    for (int s = 0; s < job->n_stages; s++) {
        begin_stage(&p, s);
        all_min += job->stages[s].trials * (job->stages[s].work_min + (job->starts_count ? job->start_most_min : 0));
        while (!is_done(&p))
            step(&p);
    }
    return (struct spot_played){p.cost / (job->ratio * all_min), p.now > job->deadline_min};
}

// --- omniscient

// Costs at one instant by work left: idle, on demand, on spot in a zone.
struct layer {
    float *idle, *demand, *spot[MOST_ZONES];
};

struct known {
    const struct spot_job *job;
    int n, d;           // steps of work, of a cold start
    struct layer *ring; // [d + 1]
};

static struct layer *layer_at(const struct known *k, int step)
{
    return &k->ring[step % (k->d + 1)];
}

static bool up_for(const struct known *k, int zone, int step, int n)
{
    const struct spot_job *job = k->job;
    for (int i = 0; i < n; i++)
        if (job->zones[zone].capacity[job->start_min + (step + i) * job->step_min] == 0)
            return false;
    return true;
}

static void look_back(const struct known *k, int step, int last)
{
    const struct spot_job *job = k->job;
    struct layer *now = layer_at(k, step), *next = layer_at(k, step + 1), *started = layer_at(k, step + k->d);
    const bool in_time = step + k->d <= last;
    bool starts[MOST_ZONES], up[MOST_ZONES];
    for (int z = 0; z < job->n_zones; z++) {
        up[z] = up_for(k, z, step, 1);
        starts[z] = in_time && up_for(k, z, step, k->d);
    }
    for (int w = 1; w <= k->n; w++) {
        float idle = next->idle[w];
        if (in_time)
            idle = fminf(idle, (float)(job->ratio * k->d) + started->demand[w]);
        for (int z = 0; z < job->n_zones; z++)
            if (starts[z])
                idle = fminf(idle, (float)k->d + started->spot[z][w]);
        now->idle[w] = idle;
        now->demand[w] = fminf(idle, (float)job->ratio + next->demand[w - 1]);
        for (int z = 0; z < job->n_zones; z++)
            now->spot[z][w] = up[z] ? fminf(idle, 1 + next->spot[z][w - 1]) : idle;
    }
}

static float *costs(const struct known *k)
{
    float *c = rb_xcalloc((size_t)k->n + 1, sizeof *c);
    for (int w = 1; w <= k->n; w++)
        c[w] = INFINITY;
    return c;
}

double spot_play_omniscient(const struct spot_job *job)
{
    struct known k = {
        .job = job, .n = job->stages[0].work_min / job->step_min, .d = job->start_most_min / job->step_min};
    const int last = job->deadline_min / job->step_min;
    k.ring = rb_xcalloc((size_t)k.d + 1, sizeof *k.ring);
    for (int i = 0; i <= k.d; i++) {
        k.ring[i].idle = costs(&k);
        k.ring[i].demand = costs(&k);
        for (int z = 0; z < job->n_zones; z++)
            k.ring[i].spot[z] = costs(&k);
    }
    for (int step = last - 1; step >= 0; step--)
        look_back(&k, step, last);
    const double cost = layer_at(&k, 0)->idle[k.n];
    for (int i = 0; i <= k.d; i++) {
        free(k.ring[i].idle);
        free(k.ring[i].demand);
        for (int z = 0; z < job->n_zones; z++)
            free(k.ring[i].spot[z]);
    }
    free(k.ring);
    return cost / (job->ratio * k.n);
}
