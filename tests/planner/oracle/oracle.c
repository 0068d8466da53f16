#include "oracle.h"

#include "profiles/catalog/reservation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NODES = 1024, MOST_TRIALS = 128, MOST_GANG = 16, MOST_ATTEMPTS = 60000, MOST_SAVES = 64 };

#define NEVER     INT64_MAX
#define MINIMUM_S 60
#define SOLD_OUT_US 180000000
#define TWO_PI    6.283185307179586

// ---- random numbers: a hash of what a draw is for begins a sequence of its own (splitmix64)

enum purpose {
    OF_TRIAL = 1,
    OF_NODE,
    OF_UNIT_ERROR,
    OF_STARTUP_ERROR,
    OF_CHECKPOINT_ERROR,
    OF_QUEUE_ERROR,
    OF_INIT_ERROR,
    OF_CONFIGURATION,
    OF_SURVIVORS,
    OF_STRIKES,
    OF_SPELLS,
    OF_PAUSES,
};

struct draws {
    uint64_t state;
};

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static struct draws draws_of(const struct oracle *o, enum purpose purpose, int stage, int index, int attempt,
                             uint32_t replicate)
{
    const uint64_t what =
        ((uint64_t)purpose << 56) ^ ((uint64_t)stage << 40) ^ ((uint64_t)attempt << 20) ^ (uint64_t)index;
    const uint64_t seeded = mix(o->seed * UINT64_C(0x9e3779b97f4a7c15) + 0x632be59bd9b4e019);
    return (struct draws){mix(mix(seeded ^ what) + (uint64_t)replicate * UINT64_C(0xd1342543de82ef95))};
}

static double uniform(struct draws *d)
{
    d->state += UINT64_C(0x9e3779b97f4a7c15);
    return ((double)(mix(d->state) >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(struct draws *d)
{
    const double radius = sqrt(-2 * log(uniform(d)));
    return radius * cos(TWO_PI * uniform(d));
}

// Marsaglia and Tsang, "A simple method for generating gamma variables", 2000.
static double gamma_of(struct draws *d, double shape)
{
    if (shape < 1)
        return gamma_of(d, shape + 1) * pow(uniform(d), 1 / shape);
    const double a = shape - 1.0 / 3, c = 1 / sqrt(9 * a);
    for (;;) {
        const double x = normal(d), v = (1 + c * x) * (1 + c * x) * (1 + c * x);
        if (v > 0 && log(uniform(d)) < x * x / 2 + a - a * v + a * log(v))
            return a * v;
    }
}

static double above_zero(struct draws *d, double mean, double sd)
{
    double x;
    do {
        x = mean + sd * normal(d);
    } while (x < 0);
    return x;
}

static double between_values(const struct oracle_dist *dist, double u)
{
    const double at = u * (dist->n_values - 1);
    const int i = (int)at;
    if (i + 1 >= dist->n_values)
        return dist->values[dist->n_values - 1];
    return dist->values[i] + (at - i) * (dist->values[i + 1] - dist->values[i]);
}

static double draw(const struct oracle_dist *dist, struct draws *d)
{
    switch (dist->kind) {
    case RB_DIST_NORMAL:
        return above_zero(d, dist->mean, dist->sigma);
    case RB_DIST_LOGNORMAL:
        return exp(dist->mu + dist->sigma * normal(d));
    case RB_DIST_GAMMA:
        return dist->scale * gamma_of(d, dist->shape);
    case RB_DIST_WEIBULL:
        return dist->scale * pow(-log(uniform(d)), 1 / dist->shape);
    case RB_DIST_EXPONENTIAL:
        return -dist->mean * log(uniform(d));
    case RB_DIST_EMPIRICAL:
        return between_values(dist, uniform(d));
    case RB_DIST_CONSTANT:
        break;
    }
    return dist->mean;
}

static double log_sigma(double cv)
{
    return sqrt(log(1 + cv * cv));
}

// The shape of a Weibull law with this cv, by bisection: its cv falls as the shape rises.
static double weibull_shape(double cv)
{
    double low = 0.1, high = 1000;
    for (int i = 0; i < 200; i++) {
        const double shape = (low + high) / 2, m1 = tgamma(1 + 1 / shape), m2 = tgamma(1 + 2 / shape);
        if (m2 / (m1 * m1) - 1 > cv * cv)
            low = shape;
        else
            high = shape;
    }
    return (low + high) / 2;
}

static struct oracle_dist compile_dist(const struct rb_dist *d)
{
    struct oracle_dist dist = {.kind = d->kind, .mean = d->mean, .values = d->values, .n_values = d->n_values};
    dist.error_sigma = log_sigma(d->relative_error);
    if (d->kind != RB_DIST_EMPIRICAL && d->kind != RB_DIST_EXPONENTIAL && (d->cv <= 0 || d->mean <= 0))
        dist.kind = RB_DIST_CONSTANT;
    switch (dist.kind) {
    case RB_DIST_NORMAL:
        dist.sigma = d->mean * d->cv;
        break;
    case RB_DIST_LOGNORMAL:
        dist.sigma = log_sigma(d->cv);
        dist.mu = log(d->mean) - dist.sigma * dist.sigma / 2;
        break;
    case RB_DIST_GAMMA:
        dist.shape = 1 / (d->cv * d->cv);
        dist.scale = d->mean / dist.shape;
        break;
    case RB_DIST_WEIBULL:
        dist.shape = weibull_shape(d->cv);
        dist.scale = d->mean / tgamma(1 + 1 / dist.shape);
        break;
    case RB_DIST_CONSTANT:
    case RB_DIST_EXPONENTIAL:
    case RB_DIST_EMPIRICAL:
        break;
    }
    return dist;
}

// Lognormal with mean 1, one draw a replicate.
static double error_factor(const struct oracle *o, double sigma, enum purpose purpose, int index, uint32_t replicate)
{
    if (!(sigma > 0))
        return 1;
    struct draws d = draws_of(o, purpose, 0, index, 0, replicate);
    return exp(sigma * normal(&d) - sigma * sigma / 2);
}

// ---- a job

static int find_entry(const struct rb_profile *p, const struct rb_offer *offer)
{
    const struct rb_provisioning *found = rb_profile_provisioning(p, offer->infra, offer->instance_type, offer->market);
    if (!found && offer->reservation)
        found = rb_profile_provisioning(p, offer->infra, offer->instance_type, RB_MARKET_ON_DEMAND);
    return found ? (int)(found - p->provisioning) : -1;
}

static double mean_s(const struct oracle_dist *d)
{
    double sum = 0;
    if (d->kind != RB_DIST_EMPIRICAL)
        return d->mean;
    for (int i = 0; i + 1 < d->n_values; i++)
        sum += (d->values[i] + d->values[i + 1]) / 2 / (d->n_values - 1);
    return sum;
}

// Losses in the first four hours of a node, minute by minute.
static double losses_in_4_hours(const struct rb_provisioning *p)
{
    double sum = 0;
    for (int minute = 0; minute < 240; minute++) {
        double per_hour = p->spells ? p->spells->hazard.per_hour : p->preemption_per_hour;
        for (int i = 0; p->spells && i < p->spells->hazard.n_later; i++) {
            const double from_s = p->spells->hazard.later[i].from_s, share = (60.0 * (minute + 1) - from_s) / 60;
            const double beyond = share < 0 ? 0 : share > 1 ? 1 : share;
            per_hour += beyond * (p->spells->hazard.later[i].per_hour - per_hour);
        }
        sum += per_hour / 60;
    }
    return sum;
}

// Only where nodes are lost, and the job's checkpoint.every says that the script saves. Young: the square root of twice the time
// of a save times the time between losses.
static double save_interval_s(const struct oracle *o, int offer)
{
    const struct rb_provisioning *p = o->entry_of[offer] < 0 ? NULL : o->entries[o->entry_of[offer]].losses;
    const double losses = p ? losses_in_4_hours(p) : 0;
    const int64_t every_us = o->job->checkpoint_every_us;
    if (!(losses > 0) || every_us == RB_CHECKPOINT_EVERY_UNSAID || o->job->starts_over || o->profile->restarts)
        return 0;
    if (every_us >= 0)
        return ceil((double)every_us / 1e6);
    if (o->offers[offer].market != RB_MARKET_SPOT)
        return 0;
    const double best_s = round(sqrt(2 * mean_s(&o->checkpoint_s) * 4 * 3600 / losses));
    return best_s < 60 ? 60 : best_s;
}

bool oracle_init(struct oracle *o, const struct rb_job *job, const struct rb_profile *profile,
                 const struct rb_offer *offers, int n_offers, uint64_t seed)
{
    *o = (struct oracle){
        .job = job, .profile = profile, .offers = offers, .n_offers = n_offers, .n_entries = profile->n_provisioning};
    o->seed = seed;
    if (n_offers > ORACLE_OFFERS || o->n_entries > ORACLE_ENTRIES || job->resources.disk_bytes > 0 ||
        job->data_bytes > 0)
        return false;
    for (int i = 0; i < n_offers; i++)
        o->entry_of[i] = find_entry(profile, &offers[i]);
    for (int i = 0; i < o->n_entries; i++) {
        const struct rb_provisioning *p = &profile->provisioning[i];
        o->entries[i] = (struct oracle_entry){
            .queue_s = compile_dist(&p->queue_s),
            .init_s = compile_dist(&p->init_s),
            .refused = p->capacity_failure,
            .release_s = p->release_s,
            .losses = p,
        };
        if (p->spells) {
            o->entries[i].up_s = compile_dist(&p->spells->up_s);
            o->entries[i].down_s = compile_dist(&p->spells->down_s);
        }
    }
    o->between = compile_dist(&profile->between);
    o->within = compile_dist(&profile->within);
    o->startup_s = compile_dist(&profile->startup_s);
    o->checkpoint_s = compile_dist(&profile->checkpoint_s);
    o->configuration = profile->configuration ? compile_dist(profile->configuration)
                                              : (struct oracle_dist){.kind = RB_DIST_CONSTANT, .mean = 1};
    for (int i = 0; i < n_offers; i++)
        o->every_s[i] = save_interval_s(o, i);
    return true;
}

bool oracle_unit_s(const struct oracle *o, int offer, int gpus, double *out_s)
{
    const struct rb_training *t = rb_profile_training(o->profile, o->offers[offer].accelerator);
    const int per_node = o->offers[offer].gpus, nodes = (gpus + per_node - 1) / per_node;
    struct rb_err err = {0};
    double speedup;
    if (!t || o->entry_of[offer] < 0 || nodes > o->job->trial.max_nodes ||
        !rb_training_speedup(t, gpus, nodes, &speedup, &err))
        return false;
    *out_s = t->base_s / speedup;
    return true;
}

double oracle_queue_mean_s(const struct oracle *o, int offer)
{
    const struct oracle_entry *e = &o->entries[o->entry_of[offer]];
    return mean_s(&e->queue_s) / (1 - e->refused);
}

// ---- draws of trials and nodes

struct trial_draw {
    double fixed_s, work; // start-up and checkpoint; between times the sum of within
};

struct node_draw { // after the request
    int64_t running_us, ready_us, lost_us;
    int attempt; // the one that was granted
};

static int64_t to_us(double seconds)
{
    return llround(seconds * 1e6);
}

static struct trial_draw draw_trial(const struct oracle *o, int stage, int position, int attempt, uint32_t replicate,
                                    int64_t units)
{
    struct draws d = draws_of(o, OF_TRIAL, stage, position, attempt, replicate);
    const double startup_s = draw(&o->startup_s, &d), checkpoint_s = draw(&o->checkpoint_s, &d);
    const double between = draw(&o->between, &d);
    double sum = 0;
    for (int64_t u = 0; u < units; u++)
        sum += draw(&o->within, &d);
    return (struct trial_draw){
        .fixed_s = startup_s * error_factor(o, o->startup_s.error_sigma, OF_STARTUP_ERROR, 0, replicate) +
                   checkpoint_s * error_factor(o, o->checkpoint_s.error_sigma, OF_CHECKPOINT_ERROR, 0, replicate),
        .work = between * sum,
    };
}

static double exponential(struct draws *d, double per_hour)
{
    return per_hour > 0 ? -log(uniform(d)) * 3600 / per_hour : INFINITY;
}

// The age at which a node of age from_s strikes next. A constant rate forgets, so every span of ages has an exponential
// wait of its own; one that outlasts its span is drawn again for the next.
static double draw_life_s(const struct oracle_entry *e, struct draws *d, double from_s)
{
    const struct rb_spells *spells = e->losses->spells;
    if (!spells)
        return from_s + exponential(d, e->losses->preemption_per_hour);
    double per_hour = spells->hazard.per_hour;
    for (int i = 0; i < spells->hazard.n_later; i++) {
        const double until_s = spells->hazard.later[i].from_s;
        const double life_s = from_s + exponential(d, per_hour);
        if (from_s < until_s && life_s < until_s)
            return life_s;
        from_s = from_s < until_s ? until_s : from_s;
        per_hour = spells->hazard.later[i].per_hour;
    }
    return from_s + exponential(d, per_hour);
}

// What is left of a spell that is met at a random instant: a uniform part of one that is longer than others are, with
// the density x f(x) / mean.
static double met_s(const struct oracle_dist *d, struct draws *draws)
{
    struct oracle_dist longer = *d;
    double x;
    switch (d->kind) {
    case RB_DIST_LOGNORMAL:
        longer.mu += d->sigma * d->sigma;
        return draw(&longer, draws);
    case RB_DIST_GAMMA:
        longer.shape += 1;
        return draw(&longer, draws);
    case RB_DIST_WEIBULL:
        return d->scale * pow(gamma_of(draws, 1 + 1 / d->shape), 1 / d->shape);
    case RB_DIST_EXPONENTIAL:
        return d->mean * gamma_of(draws, 2);
    case RB_DIST_EMPIRICAL:
    case RB_DIST_NORMAL: {
        const double most = d->kind == RB_DIST_NORMAL ? d->mean + 10 * d->sigma : d->values[d->n_values - 1];
        do {
            x = draw(d, draws);
        } while (uniform(draws) * most > x);
        return x;
    }
    case RB_DIST_CONSTANT:
        break;
    }
    return d->mean;
}

static double rest_s(const struct oracle_dist *d, struct draws *draws)
{
    const double whole_s = met_s(d, draws);
    return whole_s * uniform(draws);
}

// One request: its queue, and what it is if it is granted.
struct attempt_draw {
    int64_t queue_us, init_us, life_us;
    bool refused; // by chance
};

static struct attempt_draw draw_attempt(const struct oracle *o, int entry, int stage, int ordinal, int attempt,
                                        uint32_t replicate)
{
    const struct oracle_entry *e = &o->entries[entry];
    struct draws d = draws_of(o, OF_NODE, stage, ordinal, attempt, replicate);
    struct attempt_draw a = {.life_us = NEVER};
    a.queue_us = to_us(error_factor(o, e->queue_s.error_sigma, OF_QUEUE_ERROR, entry, replicate) * draw(&e->queue_s, &d));
    a.init_us = to_us(error_factor(o, e->init_s.error_sigma, OF_INIT_ERROR, entry, replicate) * draw(&e->init_s, &d));
    a.refused = e->refused > 0 && uniform(&d) < e->refused;
    const double life_s = draw_life_s(e, &d, 0);
    if (life_s < 1e9)
        a.life_us = to_us(life_s);
    return a;
}

static struct node_draw draw_node(const struct oracle *o, int entry, int stage, int ordinal, int attempt,
                                  uint32_t replicate)
{
    const struct oracle_entry *e = &o->entries[entry];
    const double queue_factor = error_factor(o, e->queue_s.error_sigma, OF_QUEUE_ERROR, entry, replicate);
    const double init_factor = error_factor(o, e->init_s.error_sigma, OF_INIT_ERROR, entry, replicate);
    int64_t running_us = 0;
    for (;; attempt++) {
        struct draws d = draws_of(o, OF_NODE, stage, ordinal, attempt, replicate);
        running_us += to_us(queue_factor * draw(&e->queue_s, &d));
        const double init_s = init_factor * draw(&e->init_s, &d);
        if (e->refused > 0 && uniform(&d) < e->refused && attempt < MOST_ATTEMPTS)
            continue;
        const double life_s = draw_life_s(e, &d, 0);
        return (struct node_draw){
            .running_us = running_us,
            .ready_us = running_us + to_us(init_s),
            .lost_us = life_s < 1e9 ? running_us + to_us(life_s) : NEVER,
            .attempt = attempt,
        };
    }
}

// ---- draws that are kept

struct oracle_worlds {
    int n, n_stages, n_entries, max_nodes, n_trials, first_trial[RB_LIMIT_STAGES];
    struct trial_draw *trials; // [n][n_trials]
    struct node_draw *nodes;   // [n][n_stages][n_entries][max_nodes]
};

static int64_t units_of(const struct oracle *o, const struct rb_plan_stage *stage)
{
    return o->profile->restarts ? stage->resource_end : stage->resource_end - stage->resource_start;
}

static struct node_draw *kept_node(const struct oracle_worlds *w, uint32_t replicate, int stage, int entry, int ordinal)
{
    return &w->nodes[(((size_t)replicate * (size_t)w->n_stages + (size_t)stage) * (size_t)w->n_entries +
                      (size_t)entry) *
                         (size_t)w->max_nodes +
                     (size_t)ordinal];
}

static bool is_used(const struct oracle *o, int entry)
{
    for (int i = 0; i < o->n_offers; i++) {
        if (o->entry_of[i] == entry)
            return true;
    }
    return false;
}

static void fill_world(struct oracle_worlds *w, const struct oracle *o, const struct rb_plan_stage *stages,
                       uint32_t replicate)
{
    struct trial_draw *trials = &w->trials[(size_t)replicate * (size_t)w->n_trials];
    for (int s = 0; s < w->n_stages; s++) {
        for (int k = 0; k < stages[s].trials; k++)
            trials[w->first_trial[s] + k] = draw_trial(o, s, k, 0, replicate, units_of(o, &stages[s]));
        for (int e = 0; e < w->n_entries; e++) {
            for (int k = 0; k < w->max_nodes && is_used(o, e); k++)
                *kept_node(w, replicate, s, e, k) = draw_node(o, e, s, k, 0, replicate);
        }
    }
}

struct oracle_worlds *oracle_worlds_create(const struct oracle *o, const struct rb_plan_stage *stages, int n_stages,
                                           int max_nodes, int n)
{
    struct oracle_worlds *w = rb_xcalloc(1, sizeof *w);
    *w = (struct oracle_worlds){.n = n, .n_stages = n_stages, .n_entries = o->n_entries, .max_nodes = max_nodes};
    for (int s = 0; s < n_stages; s++) {
        w->first_trial[s] = w->n_trials;
        w->n_trials += stages[s].trials;
    }
    w->trials = rb_xcalloc((size_t)n * (size_t)w->n_trials, sizeof *w->trials);
    w->nodes = rb_xcalloc((size_t)n * (size_t)(n_stages * w->n_entries * max_nodes), sizeof *w->nodes);
    for (int r = 0; r < n; r++)
        fill_world(w, o, stages, (uint32_t)r);
    return w;
}

void oracle_worlds_destroy(struct oracle_worlds *w)
{
    if (!w)
        return;
    free(w->trials);
    free(w->nodes);
    free(w);
}

// ---- a run

struct node {
    int offer, runs_as;   // the plan's, and what was requested
    int gpus_free, stage, ordinal, attempt;
    int64_t decides_us;   // on a market that goes down: the end of its queue, or of its pause; NEVER: granted
    bool pauses;
    int n_pauses;
    int64_t paused_us;
    int64_t running_us, ready_us, lost_us;
    struct draws strikes; // what they take; lost_us is the next
    bool up, allocated;   // ready; this stage's trials may use it
};

struct trial {
    bool running, ended;
    int attempt, n_nodes, nodes[MOST_GANG]; // numbers into run.owned
    int64_t end_us;
    int64_t done;      // units of the stage that were saved and are not trained again
    struct {
        int64_t at_us, done;
    } saves[MOST_SAVES]; // of this start
    int n_saves;
};

struct spot_market { // of an offer
    bool known, up;
    int64_t until_us, sold_out_us; // -1: not sold out yet
    struct draws spells;
};

struct run {
    const struct oracle *o;
    struct spot_market markets[ORACLE_OFFERS];
    const struct rb_plan_stage *stages; // all of the plan
    int n_stages;
    const struct oracle_worlds *worlds;
    const struct rb_plan_stage *plan; // of this stage
    int stage, next_ordinal, gang, per_node, n_early_made;
    uint32_t replicate;
    double unit_s;
    int64_t now_us, begin_us, cost_uusd;
    struct node owned[MOST_NODES]; // in the order in which they were requested
    int n_owned, n_requests;
    struct trial trials[MOST_TRIALS];
    int ids[MOST_TRIALS], n_begun; // of this stage's trials, ascending; trials of the brackets so far
    bool failed;
};

static int64_t up_to_whole(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static void bill(struct run *r, const struct node *n)
{
    if (n->running_us > r->now_us)
        return;
    int64_t seconds = up_to_whole(r->now_us - n->running_us, 1000000);
    if (seconds < MINIMUM_S)
        seconds = MINIMUM_S;
    const int64_t rate = r->o->offers[n->runs_as].rate.uusd_per_hour;
    const int entry = r->o->entry_of[n->runs_as];
    r->cost_uusd += up_to_whole(rate * seconds, 3600);
    if (entry >= 0)
        r->cost_uusd += up_to_whole(rate * r->o->entries[entry].release_s, 3600);
}

static struct node_draw node_draw_of(const struct run *r, int offer, int stage, int ordinal, int attempt)
{
    const int entry = r->o->entry_of[offer];
    const struct oracle_worlds *w = r->worlds;
    if (w && attempt == 0 && ordinal < w->max_nodes && r->replicate < (uint32_t)w->n)
        return *kept_node(w, r->replicate, stage, entry, ordinal);
    return draw_node(r->o, entry, stage, ordinal, attempt, r->replicate);
}

// ---- reservations, of machines that are neither refused nor lost on demand

static int64_t closes_us(const struct run *r, int offer)
{
    const struct rb_reservation *v = r->o->offers[offer].reservation;
    return v && v->closes_us >= 0 ? v->closes_us : NEVER;
}

static bool has_window(const struct run *r, int offer)
{
    const struct rb_reservation *v = r->o->offers[offer].reservation;
    return v && (v->opens_us > 0 || v->closes_us >= 0);
}

static bool is_closed(const struct run *r, int offer)
{
    const struct rb_reservation *v = r->o->offers[offer].reservation;
    return v && (r->now_us < v->opens_us || (v->closes_us >= 0 && r->now_us >= v->closes_us - v->notice_us));
}

// ---- markets that go down

static const struct oracle_entry *entry_of(const struct run *r, int offer)
{
    return &r->o->entries[r->o->entry_of[offer]];
}

static bool goes_down(const struct run *r, int offer)
{
    const struct oracle_entry *e = entry_of(r, offer);
    return e->losses->spells && e->losses->spells->down_s.mean > 0;
}

static bool is_held(const struct run *r, int offer)
{
    for (int k = 0; k < r->n_owned; k++) {
        if (r->owned[k].runs_as == offer && r->owned[k].running_us <= r->now_us)
            return true;
    }
    return false;
}

static void go(struct run *r, int offer, bool up, int64_t from_us, double seconds)
{
    struct spot_market *m = &r->markets[offer];
    m->known = true;
    m->up = up;
    m->until_us = from_us + to_us(seconds);
}

static bool is_up(struct run *r, int offer)
{
    const struct oracle_entry *e = entry_of(r, offer);
    struct spot_market *m = &r->markets[offer];
    if (is_held(r, offer))
        return true;
    if (!m->known) {
        m->spells = draws_of(r->o, OF_SPELLS, 0, offer, 0, r->replicate);
        const double up_s = e->losses->spells->up_s.mean, down_s = e->losses->spells->down_s.mean;
        const bool up = uniform(&m->spells) < up_s / (up_s + down_s);
        go(r, offer, up, 0, rest_s(up ? &e->up_s : &e->down_s, &m->spells));
    }
    while (m->until_us <= r->now_us)
        go(r, offer, !m->up, m->until_us, draw(m->up ? &e->down_s : &e->up_s, &m->spells));
    return m->up;
}

// A node has gone: no one knows how long the market has been up.
static void leave(struct run *r, int offer)
{
    if (goes_down(r, offer) && r->markets[offer].up && !is_held(r, offer))
        go(r, offer, true, r->now_us, rest_s(&entry_of(r, offer)->up_s, &r->markets[offer].spells));
}

static bool spans_nodes(const struct run *r, const char *type)
{
    for (int s = 0; s < r->n_stages; s++) {
        const struct rb_offer *o = &r->o->offers[r->stages[s].nodes[0].offer];
        if (strcmp(o->instance_type, type) == 0 && r->stages[s].gpus_per_trial > o->gpus)
            return true;
    }
    return false;
}

static bool may_replace(const struct run *r, int offer, int other)
{
    const struct rb_offer *a = &r->o->offers[offer], *b = &r->o->offers[other];
    return other != offer && a->gpus == b->gpus && strcmp(a->accelerator, b->accelerator) == 0 &&
           (!spans_nodes(r, a->instance_type) ||
            (strcmp(a->instance_type, b->instance_type) == 0 && strcmp(a->infra, b->infra) == 0));
}

// The offers to request in turn: the plan's, those of its type, others.
static int list_in_turn(const struct run *r, int offer, int out[])
{
    int n = 0;
    out[n++] = offer;
    for (int other_types = 0; other_types <= 1; other_types++) {
        for (int i = 0; i < r->o->n_fallbacks; i++) {
            const int other = r->o->fallbacks[i];
            const bool same = strcmp(r->o->offers[other].instance_type, r->o->offers[offer].instance_type) == 0;
            if (may_replace(r, offer, other) && same == !other_types)
                out[n++] = other;
        }
    }
    return n;
}

static bool is_sold_out(const struct run *r, const struct node *n, int offer)
{
    const int64_t at_us = r->markets[offer].sold_out_us;
    if (is_closed(r, offer))
        return true;
    return at_us >= 0 && at_us > n->paused_us && r->now_us - at_us < SOLD_OUT_US;
}

static int first_on_sale(const struct run *r, const struct node *n)
{
    int list[ORACLE_OFFERS + 1];
    const int n_list = list_in_turn(r, n->offer, list);
    for (int i = 0; i < n_list; i++) {
        if (!is_sold_out(r, n, list[i]))
            return list[i];
    }
    return -1;
}

static int least_recently_refused(const struct run *r, const struct node *n)
{
    int list[ORACLE_OFFERS + 1], best = 0;
    const int n_list = list_in_turn(r, n->offer, list);
    for (int i = 1; i < n_list; i++) {
        if (r->markets[list[i]].sold_out_us < r->markets[list[best]].sold_out_us)
            best = i;
    }
    return list[best];
}

static void ask(struct run *r, struct node *n)
{
    const int on_sale = first_on_sale(r, n);
    n->runs_as = on_sale >= 0 ? on_sale : least_recently_refused(r, n);
    n->decides_us = r->now_us + draw_attempt(r->o, r->o->entry_of[n->runs_as], n->stage, n->ordinal, n->attempt,
                                             r->replicate).queue_us;
    n->pauses = false;
}

static void pause_request(struct run *r, struct node *n)
{
    struct draws d = draws_of(r->o, OF_PAUSES, n->stage, n->ordinal, n->attempt, r->replicate);
    const double most_s = n->n_pauses < 8 ? 0.2 * (1 << n->n_pauses) : 30;
    n->n_pauses++;
    n->paused_us = r->now_us;
    n->decides_us = r->now_us + to_us(uniform(&d) * (most_s < 30 ? most_s : 30));
    n->pauses = true;
}

// The queue, or the pause, is over.
static void decide(struct run *r, struct node *n)
{
    if (n->pauses) {
        n->attempt++;
        ask(r, n);
        return;
    }
    const struct attempt_draw d =
        draw_attempt(r->o, r->o->entry_of[n->runs_as], n->stage, n->ordinal, n->attempt, r->replicate);
    if (!d.refused && (!goes_down(r, n->runs_as) || is_up(r, n->runs_as))) {
        n->decides_us = NEVER;
        n->running_us = r->now_us;
        n->ready_us = r->now_us + d.init_us;
        n->lost_us = d.life_us == NEVER ? closes_us(r, n->runs_as) : r->now_us + d.life_us;
        n->strikes = draws_of(r->o, OF_STRIKES, n->stage, n->ordinal, n->attempt, r->replicate);
        return;
    }
    r->markets[n->runs_as].sold_out_us = r->now_us;
    if (first_on_sale(r, n) < 0) {
        pause_request(r, n);
        return;
    }
    n->attempt++;
    ask(r, n);
}

static void request(struct run *r, int offer, int stage, int ordinal, int attempt, bool allocated)
{
    if (r->n_owned == MOST_NODES || ++r->n_requests > 16 * MOST_NODES) {
        r->failed = true;
        return;
    }
    if (goes_down(r, offer) || has_window(r, offer)) {
        r->owned[r->n_owned++] = (struct node){
            .offer = offer,
            .runs_as = offer,
            .gpus_free = r->o->offers[offer].gpus,
            .stage = stage,
            .ordinal = ordinal,
            .attempt = attempt,
            .running_us = NEVER,
            .ready_us = NEVER,
            .lost_us = NEVER,
            .paused_us = -1,
            .allocated = allocated,
        };
        ask(r, &r->owned[r->n_owned - 1]);
        return;
    }
    const struct node_draw d = node_draw_of(r, offer, stage, ordinal, attempt);
    r->owned[r->n_owned++] = (struct node){
        .offer = offer,
        .runs_as = offer,
        .decides_us = NEVER,
        .gpus_free = r->o->offers[offer].gpus,
        .stage = stage,
        .ordinal = ordinal,
        .attempt = d.attempt,
        .running_us = r->now_us + d.running_us,
        .ready_us = r->now_us + d.ready_us,
        .lost_us = d.lost_us == NEVER ? NEVER : r->now_us + d.lost_us,
        .strikes = draws_of(r->o, OF_STRIKES, stage, ordinal, d.attempt, r->replicate),
        .allocated = allocated,
    };
}

// Nodes of the listed kinds are kept, the first that were requested first; the others end; missing ones are requested.
static void allocate(struct run *r)
{
    int missing[16], n_kept = 0, ended[MOST_NODES], n_ended = 0;
    for (int i = 0; i < r->plan->n_nodes; i++)
        missing[i] = r->plan->nodes[i].count;
    for (int k = 0; k < r->n_owned; k++) {
        int i = 0;
        while (i < r->plan->n_nodes && !(r->plan->nodes[i].offer == r->owned[k].offer && missing[i] > 0))
            i++;
        if (i == r->plan->n_nodes) {
            bill(r, &r->owned[k]);
            if (r->owned[k].running_us <= r->now_us)
                ended[n_ended++] = r->owned[k].runs_as;
            continue;
        }
        missing[i]--;
        r->owned[k].allocated = true;
        r->owned[n_kept++] = r->owned[k];
    }
    r->n_owned = n_kept;
    for (int k = 0; k < n_ended; k++)
        leave(r, ended[k]);
    for (int i = 0; i < r->plan->n_nodes; i++) {
        while (missing[i]-- > 0)
            request(r, r->plan->nodes[i].offer, r->stage, r->next_ordinal++, 0, true);
    }
}

static bool is_usable(const struct node *n)
{
    return n->up && n->allocated;
}

// One node with room, as little as there is; else as many wholly free nodes as the trial spans.
static bool find_place(const struct run *r, struct trial *t)
{
    const int gpus = r->plan->gpus_per_trial;
    t->n_nodes = 0;
    for (int k = 0; k < r->n_owned; k++) {
        const struct node *n = &r->owned[k];
        if (!is_usable(n))
            continue;
        if (r->gang > 1) {
            if (n->gpus_free == r->per_node && t->n_nodes < r->gang)
                t->nodes[t->n_nodes++] = k;
        } else if (n->gpus_free >= gpus && (t->n_nodes == 0 || n->gpus_free < r->owned[t->nodes[0]].gpus_free)) {
            t->nodes[0] = k;
            t->n_nodes = 1;
        }
    }
    return t->n_nodes == r->gang;
}

static int gpus_taken(const struct run *r)
{
    return r->gang > 1 ? r->per_node : r->plan->gpus_per_trial;
}

static double configuration_of(const struct run *r, int position)
{
    if (r->o->configuration.kind == RB_DIST_CONSTANT)
        return r->o->configuration.mean;
    struct draws own = draws_of(r->o, OF_CONFIGURATION, 0, r->ids[position], 0, r->replicate);
    return draw(&r->o->configuration, &own);
}

static int64_t duration_us(const struct run *r, int position, int attempt)
{
    const struct oracle_worlds *w = r->worlds;
    const bool kept = w && attempt == 0 && r->replicate < (uint32_t)w->n;
    const struct trial_draw d =
        kept ? w->trials[(size_t)r->replicate * (size_t)w->n_trials + (size_t)(w->first_trial[r->stage] + position)]
             : draw_trial(r->o, r->stage, position, attempt, r->replicate, units_of(r->o, r->plan));
    return to_us(d.fixed_s + r->unit_s * configuration_of(r, position) * d.work);
}

// A start that trains what is not done yet, one unit after the other, and pauses for a save where one is due.
static int64_t duration_with_saves_us(struct run *r, int position, double every_s)
{
    const struct oracle *o = r->o;
    struct trial *t = &r->trials[position];
    struct draws d = draws_of(o, OF_TRIAL, r->stage, position, t->attempt, r->replicate);
    double at_s = draw(&o->startup_s, &d) *
                  error_factor(o, o->startup_s.error_sigma, OF_STARTUP_ERROR, 0, r->replicate);
    const double save_s = draw(&o->checkpoint_s, &d) *
                          error_factor(o, o->checkpoint_s.error_sigma, OF_CHECKPOINT_ERROR, 0, r->replicate);
    const double unit_s = r->unit_s * configuration_of(r, position) * draw(&o->between, &d);
    double since_s = 0;
    t->n_saves = 0;
    for (int64_t done = t->done + 1; done <= units_of(o, r->plan); done++) {
        const double took_s = unit_s * draw(&o->within, &d);
        at_s += took_s;
        since_s += took_s;
        if (done == units_of(o, r->plan) || since_s < every_s)
            continue;
        at_s += save_s;
        since_s = 0;
        r->failed |= t->n_saves == MOST_SAVES;
        if (r->failed)
            break;
        t->saves[t->n_saves].at_us = r->now_us + to_us(at_s);
        t->saves[t->n_saves++].done = done;
    }
    return to_us(at_s + save_s);
}

static int64_t start_us(struct run *r, int position)
{
    const struct trial *t = &r->trials[position];
    const double every_s = r->o->every_s[r->owned[t->nodes[0]].offer];
    return every_s > 0 || t->done > 0 ? duration_with_saves_us(r, position, every_s > 0 ? every_s : INFINITY)
                                      : duration_us(r, position, t->attempt);
}

// Those that wait start in order, until one does not fit.
static void start_waiting(struct run *r)
{
    for (int k = 0; k < r->plan->trials; k++) {
        struct trial *t = &r->trials[k];
        if (t->running || t->ended)
            continue;
        if (!find_place(r, t))
            return;
        for (int i = 0; i < t->n_nodes; i++)
            r->owned[t->nodes[i]].gpus_free -= gpus_taken(r);
        t->running = true;
        t->end_us = r->now_us + start_us(r, k);
    }
}

static void vacate(struct run *r, struct trial *t)
{
    for (int i = 0; i < t->n_nodes; i++)
        r->owned[t->nodes[i]].gpus_free += gpus_taken(r);
    t->running = false;
}

static bool runs_on(const struct trial *t, int node)
{
    for (int i = 0; t->running && i < t->n_nodes; i++) {
        if (t->nodes[i] == node)
            return true;
    }
    return false;
}

// The node is billed and forgotten, its trials wait again, and another node is requested in its place.
static void lose_node(struct run *r, int node)
{
    const struct node lost = r->owned[node];
    for (int k = 0; k < r->plan->trials; k++) {
        struct trial *t = &r->trials[k];
        if (runs_on(t, node)) {
            vacate(r, t);
            t->attempt++;
            for (int i = 0; i < t->n_saves && t->saves[i].at_us <= r->now_us; i++)
                t->done = t->saves[i].done;
            t->n_saves = 0;
        }
    }
    bill(r, &lost);
    memmove(&r->owned[node], &r->owned[node + 1], (size_t)(r->n_owned - node - 1) * sizeof r->owned[0]);
    r->n_owned--;
    for (int k = 0; k < r->plan->trials; k++) {
        for (int i = 0; r->trials[k].running && i < r->trials[k].n_nodes; i++)
            r->trials[k].nodes[i] -= r->trials[k].nodes[i] > node;
    }
    leave(r, lost.runs_as);
    request(r, lost.offer, lost.stage, lost.ordinal, lost.attempt + 1, lost.allocated);
}

static int find_running(const struct run *r, int offer, int nodes[])
{
    int n = 0;
    for (int k = 0; k < r->n_owned; k++) {
        if (r->owned[k].runs_as == offer && r->owned[k].running_us <= r->now_us)
            nodes[n++] = k;
    }
    return n;
}

// One of m nodes strikes: all are lost, it alone, or none, so that each node is lost at its hazard and the share
// `together` of losses takes all, after which the market is down.
static void strike(struct run *r, int node)
{
    struct node *n = &r->owned[node];
    const struct oracle_entry *e = entry_of(r, n->runs_as);
    const double together = e->losses->spells ? e->losses->spells->together : 0;
    int running[MOST_NODES];
    const int m = find_running(r, n->runs_as, running);
    if (has_window(r, n->runs_as)) {
        lose_node(r, node);
        return;
    }
    const double all = together / (1 - together + m * together), u = uniform(&n->strikes);
    if (u >= all) {
        if (u < 1 / (1 - together + m * together)) {
            lose_node(r, node);
            return;
        }
        const double at_s = (double)(r->now_us - n->running_us) / 1e6, next_s = draw_life_s(e, &n->strikes, at_s);
        n->lost_us = next_s < 1e9 ? n->running_us + to_us(next_s) : NEVER;
        return;
    }
    if (goes_down(r, n->runs_as))
        go(r, n->runs_as, false, r->now_us, draw(&e->down_s, &r->markets[n->runs_as].spells));
    for (int k = m - 1; k >= 0; k--) // what is lost leaves the list; what replaces it goes to its end
        lose_node(r, running[k]);
}

// ---- what happens next

struct next {
    int64_t at_us;
    int trial, node; // one of them, else -1; neither: an early request
};

static void sooner(struct next *next, int64_t at_us, int trial, int node)
{
    if (at_us < next->at_us)
        *next = (struct next){at_us, trial, node};
}

static struct next find_next(const struct run *r)
{
    struct next next = {NEVER, -1, -1};
    for (int k = 0; k < r->plan->trials; k++) {
        if (r->trials[k].running)
            sooner(&next, r->trials[k].end_us, k, -1);
    }
    for (int k = 0; k < r->n_owned; k++) {
        const struct node *n = &r->owned[k];
        sooner(&next, n->decides_us, -1, k);
        sooner(&next, !n->up && n->ready_us <= n->lost_us ? n->ready_us : n->lost_us, -1, k);
    }
    if (r->n_early_made < r->plan->n_early)
        sooner(&next, r->begin_us + r->plan->early[r->n_early_made].at_us, -1, -1);
    return next;
}

static void request_early(struct run *r)
{
    const struct rb_plan_early *early = &r->plan->early[r->n_early_made++];
    for (int k = 0; k < early->count; k++)
        request(r, early->offer, r->stage, r->next_ordinal++, 0, false);
}

// Returns how many trials ended.
static int happen(struct run *r, const struct next *next)
{
    if (next->at_us > r->now_us)
        r->now_us = next->at_us;
    if (next->trial >= 0) {
        vacate(r, &r->trials[next->trial]);
        r->trials[next->trial].ended = true;
        return 1;
    }
    if (next->node < 0)
        request_early(r);
    else if (r->owned[next->node].decides_us != NEVER)
        decide(r, &r->owned[next->node]);
    else if (!r->owned[next->node].up && r->owned[next->node].ready_us <= r->owned[next->node].lost_us)
        r->owned[next->node].up = true;
    else
        strike(r, next->node);
    return 0;
}

// Trials that were never trained begin a bracket; else the survivors are any of the last stage's trials.
static void choose_trials(struct run *r, const struct rb_plan_stage *plan, int stage)
{
    if (plan->resource_start == 0) {
        for (int k = 0; k < plan->trials; k++)
            r->ids[k] = r->n_begun + k;
        r->n_begun += plan->trials;
        return;
    }
    struct draws d = draws_of(r->o, OF_SURVIVORS, stage, 0, 0, r->replicate);
    for (int n = r->plan->trials; n > plan->trials; n--) {
        const int gone = (int)(uniform(&d) * n);
        memmove(&r->ids[gone], &r->ids[gone + 1], (size_t)(n - gone - 1) * sizeof r->ids[0]);
    }
}

static void begin_stage(struct run *r, const struct rb_plan_stage *plan, int stage)
{
    const struct oracle *o = r->o;
    const int offer = plan->nodes[0].offer;
    const struct rb_training *t = rb_profile_training(o->profile, o->offers[offer].accelerator);
    if (plan->trials <= MOST_TRIALS)
        choose_trials(r, plan, stage);
    r->plan = plan;
    r->stage = stage;
    r->next_ordinal = r->n_early_made = 0;
    r->begin_us = r->now_us;
    r->per_node = o->offers[offer].gpus;
    r->gang = (plan->gpus_per_trial + r->per_node - 1) / r->per_node;
    r->failed |= plan->trials > MOST_TRIALS || r->gang > MOST_GANG || plan->n_nodes > 16 ||
                 !oracle_unit_s(o, offer, plan->gpus_per_trial, &r->unit_s);
    if (r->failed)
        return;
    r->unit_s *= error_factor(o, log_sigma(t->relative_error), OF_UNIT_ERROR, 0, r->replicate);
    for (int k = 0; k < plan->trials; k++)
        r->trials[k] = (struct trial){0};
    for (int k = 0; k < r->n_owned; k++)
        r->owned[k].gpus_free = r->per_node;
    allocate(r);
}

static void play_stage(struct run *r, const struct rb_plan_stage *plan, int stage)
{
    begin_stage(r, plan, stage);
    for (int n_ended = 0; !r->failed && n_ended < plan->trials;) {
        start_waiting(r);
        const struct next next = find_next(r);
        r->failed |= next.at_us == NEVER;
        if (!r->failed)
            n_ended += happen(r, &next);
    }
}

bool oracle_play(const struct oracle *o, const struct oracle_worlds *w, const struct rb_plan_stage *stages,
                 int n_stages, uint32_t replicate, struct oracle_run *out)
{
    struct run r;
    r.o = o;
    r.worlds = w;
    r.replicate = replicate;
    r.now_us = r.cost_uusd = 0;
    r.stages = stages;
    r.n_stages = n_stages;
    for (int i = 0; i < ORACLE_OFFERS; i++)
        r.markets[i] = (struct spot_market){.sold_out_us = -1};
    r.n_owned = r.n_requests = r.n_begun = 0;
    r.failed = n_stages > RB_LIMIT_STAGES;
    for (int s = 0; s < n_stages && !r.failed; s++) {
        const int64_t begin_us = r.now_us;
        play_stage(&r, &stages[s], s);
        out->stage_us[s] = r.now_us - begin_us;
    }
    for (int k = 0; k < r.n_owned; k++)
        bill(&r, &r.owned[k]);
    out->time_us = r.now_us;
    out->cost_uusd = r.cost_uusd;
    return !r.failed;
}
