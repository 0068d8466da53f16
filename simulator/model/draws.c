#include "simulator/model/draws.h"

#include <assert.h>
#include <math.h>

#define LEAST_TAIL 1e-9 // beyond which doubles cannot tell quantiles apart

static int64_t duration_us(double seconds)
{
    const double longest_s = (double)(RB_SIM_LONGEST_US / RB_US_PER_S);
    return rb_us_from_seconds(seconds < longest_s ? seconds : longest_s);
}

static int64_t life_us(double seconds)
{
    return seconds < (double)(RB_SIM_LONGEST_US / RB_US_PER_S) ? rb_us_from_seconds(seconds) : INT64_MAX;
}

// A constant needs no random number, which saves most of a Philox block.
static bool is_constant(const struct rb_dist *d)
{
    return d->kind == RB_DIST_CONSTANT;
}

static struct rb_stream_key key_of(const struct rb_scenario *s, enum rb_purpose purpose, int stage, int index,
                                   int attempt, uint32_t replicate)
{
    return (struct rb_stream_key){
        .seed = s->seed,
        .purpose = purpose,
        .stage = (uint32_t)stage,
        .index = (uint32_t)index,
        .attempt = (uint32_t)attempt,
        .replicate = replicate,
    };
}

static double uniform(const struct rb_scenario *s, enum rb_purpose purpose, int stage, int index, int attempt,
                      uint32_t replicate)
{
    const struct rb_stream_key key = key_of(s, purpose, stage, index, attempt, replicate);
    return rb_stream_first_uniform(&key);
}

static double draw(const struct rb_dist *d, const struct rb_scenario *s, enum rb_purpose purpose, int stage, int index,
                   int attempt, uint32_t replicate)
{
    if (is_constant(d))
        return d->mean;
    return rb_dist_quantile(d, uniform(s, purpose, stage, index, attempt, replicate));
}

// Factor that all draws of a measured latency share in a replicate. index: a number for each separate measurement.
static double shared_error(const struct rb_dist *error, const struct rb_scenario *s, enum rb_purpose purpose, int index,
                           uint32_t replicate)
{
    return draw(error, s, purpose, 0, index, 0, replicate);
}

int rb_draw_provisioning_entry(const struct rb_scenario *s, int offer)
{
    return s->sim_offers[offer].entry;
}

static double node_error(const struct rb_scenario *s, int offer, const struct rb_dist *error, enum rb_purpose purpose,
                         uint32_t replicate)
{
    return is_constant(error) ? 1 : shared_error(error, s, purpose, rb_draw_provisioning_entry(s, offer), replicate);
}

int64_t rb_draw_queue_us(const struct rb_scenario *s, int offer, int stage, int ordinal, int attempt,
                         uint32_t replicate)
{
    const struct rb_sim_offer *o = &s->sim_offers[offer];
    return duration_us(node_error(s, offer, &o->queue_error, RB_DRAW_QUEUE_ERROR, replicate) *
                       draw(&o->provisioning->queue_s, s, RB_DRAW_QUEUE, stage, ordinal, attempt, replicate));
}

static int64_t draw_reading_us(const struct rb_scenario *s, int offer, int stage, int ordinal, int attempt,
                               uint32_t replicate)
{
    const struct rb_sim_offer *o = &s->sim_offers[offer];
    if (!o->reading)
        return o->data_us;
    const double error = is_constant(&o->reading_error) ? 1
                                                        : shared_error(&o->reading_error, s, RB_DRAW_READING_ERROR,
                                                                       (int)(o->reading - s->profile->readings), replicate);
    return duration_us(error * o->reading_scale *
                       draw(&o->reading->read_s, s, RB_DRAW_READING, stage, ordinal, attempt, replicate));
}

int64_t rb_draw_init_us(const struct rb_scenario *s, int offer, int stage, int ordinal, int attempt, uint32_t replicate)
{
    const struct rb_sim_offer *o = &s->sim_offers[offer];
    return duration_us(node_error(s, offer, &o->init_error, RB_DRAW_INIT_ERROR, replicate) *
                       draw(&o->provisioning->init_s, s, RB_DRAW_INIT, stage, ordinal, attempt, replicate)) +
           draw_reading_us(s, offer, stage, ordinal, attempt, replicate);
}

// Of the law's tail, whose share is too small for a rejected draw to find it. -1: there is none.
static int64_t beyond_us(const struct rb_dist *d, double error, double u, int64_t least_us)
{
    const double below = rb_dist_cdf(d, (double)least_us / RB_US_PER_S / error);
    return below < 1 - LEAST_TAIL ? duration_us(error * rb_dist_quantile(d, below + (1 - below) * u)) : -1;
}

int64_t rb_draw_queue_beyond_us(const struct rb_scenario *s, int offer, int stage, int ordinal, int attempt,
                                uint32_t replicate, int64_t least_us)
{
    const struct rb_sim_offer *o = &s->sim_offers[offer];
    return beyond_us(&o->provisioning->queue_s, node_error(s, offer, &o->queue_error, RB_DRAW_QUEUE_ERROR, replicate),
                     uniform(s, RB_DRAW_QUEUE, stage, ordinal, attempt, replicate), least_us);
}

int64_t rb_draw_init_beyond_us(const struct rb_scenario *s, int offer, int stage, int ordinal, int attempt,
                               uint32_t replicate, int64_t least_us)
{
    const struct rb_sim_offer *o = &s->sim_offers[offer];
    const int64_t reading_us = draw_reading_us(s, offer, stage, ordinal, attempt, replicate);
    const int64_t init_us =
        beyond_us(&o->provisioning->init_s, node_error(s, offer, &o->init_error, RB_DRAW_INIT_ERROR, replicate),
                  uniform(s, RB_DRAW_INIT, stage, ordinal, attempt, replicate), least_us - reading_us);
    return init_us < 0 ? -1 : init_us + reading_us;
}

bool rb_draw_refused(const struct rb_scenario *s, int offer, int stage, int ordinal, int attempt, uint32_t replicate)
{
    const double probability = s->sim_offers[offer].provisioning->capacity_failure;
    if (!(probability > 0))
        return false;
    return uniform(s, RB_DRAW_CAPACITY, stage, ordinal, attempt, replicate) < probability;
}

int64_t rb_draw_preemption_us(const struct rb_scenario *s, int offer, int stage, int ordinal, int attempt,
                              uint32_t replicate)
{
    const struct rb_hazard hazard = rb_provisioning_hazard(s->sim_offers[offer].provisioning);
    if (rb_hazard_is_none(&hazard))
        return INT64_MAX;
    const double u = uniform(s, RB_DRAW_PREEMPTION, stage, ordinal, attempt, replicate);
    return life_us(rb_hazard_seconds(&hazard, 0, -log1p(-u)));
}

// Of one strike, in this order; consecutive draws of the clock's stream.
enum { OF_COUNTING, OF_TOGETHER, OF_NEXT, DRAWS_OF_STRIKE };

static void draw_strike(const struct rb_scenario *s, int stage, int ordinal, int attempt, uint32_t replicate,
                        int strike, double out[static DRAWS_OF_STRIKE])
{
    const struct rb_stream_key key = key_of(s, RB_DRAW_STRIKES, stage, ordinal, attempt, replicate);
    struct rb_stream stream;
    rb_stream_init(&stream, &key);
    for (int i = 0; i < (strike + 1) * DRAWS_OF_STRIKE; i++)
        out[i % DRAWS_OF_STRIKE] = rb_stream_uniform(&stream);
}

enum rb_strike rb_draw_strike(const struct rb_scenario *s, int offer, int stage, int ordinal, int attempt,
                              uint32_t replicate, int strike, int n_running)
{
    const double together = rb_provisioning_together(s->sim_offers[offer].provisioning);
    double u[DRAWS_OF_STRIKE];
    if (!(together > 0))
        return RB_STRIKE_ONE;
    draw_strike(s, stage, ordinal, attempt, replicate, strike, u);
    if (u[OF_COUNTING] * (1 + (n_running - 1) * together) >= 1)
        return RB_STRIKE_NONE;
    return u[OF_TOGETHER] < together ? RB_STRIKE_ALL : RB_STRIKE_ONE;
}

int64_t rb_draw_next_strike_us(const struct rb_scenario *s, int offer, int stage, int ordinal, int attempt,
                               uint32_t replicate, int strike, int64_t running_us, int64_t at_us)
{
    const struct rb_hazard hazard = rb_provisioning_hazard(s->sim_offers[offer].provisioning);
    double u[DRAWS_OF_STRIKE];
    draw_strike(s, stage, ordinal, attempt, replicate, strike, u);
    const double age_s = (double)(at_us - running_us) / RB_US_PER_S;
    const int64_t after_us = life_us(age_s + rb_hazard_seconds(&hazard, age_s, -log1p(-u[OF_NEXT])));
    return after_us == INT64_MAX ? INT64_MAX : running_us + after_us;
}

double rb_draw_unit_s(const struct rb_scenario *s, int offer, double unit_s, uint32_t replicate)
{
    return unit_s * draw(&s->sim_offers[offer].measurement, s, RB_DRAW_MEASUREMENT, 0, 0, 0, replicate);
}

struct rb_arrival rb_draw_arrival(const struct rb_scenario *s, int offer, int stage, int ordinal, int attempt,
                                  uint32_t replicate)
{
    int64_t at_us = 0;
    for (; attempt < RB_SIM_ATTEMPTS && at_us <= RB_SIM_LONGEST_US; attempt++) {
        at_us += rb_draw_queue_us(s, offer, stage, ordinal, attempt, replicate);
        if (rb_draw_refused(s, offer, stage, ordinal, attempt, replicate))
            continue;
        const int64_t life_us = rb_draw_preemption_us(s, offer, stage, ordinal, attempt, replicate);
        return (struct rb_arrival){
            .running_us = at_us,
            .ready_us = at_us + rb_draw_init_us(s, offer, stage, ordinal, attempt, replicate),
            .lost_us = life_us == INT64_MAX ? INT64_MAX : at_us + life_us,
            .attempt = attempt,
        };
    }
    return (struct rb_arrival){.attempt = -1};
}

// The only expression for a trial's time: both functions end here, so they round alike.
int64_t rb_trial_noise_us(const struct rb_trial_noise *noise, double unit_s)
{
    return duration_us(noise->fixed_s + unit_s * noise->units_drawn);
}

static int64_t trial_us(double fixed_s, double unit_s, double between, double units_drawn)
{
    return rb_trial_noise_us(&(struct rb_trial_noise){fixed_s, between * units_drawn}, unit_s);
}

void rb_trial_progress_begin(struct rb_trial_progress *p, const struct rb_scenario *s, int stage, int position,
                             int attempt, uint32_t replicate, double unit_s)
{
    const struct rb_profile *profile = s->profile;
    *p = (struct rb_trial_progress){
        .within = &profile->within,
        .startup_s = draw(&profile->startup_s, s, RB_DRAW_STARTUP, stage, position, attempt, replicate) *
                     shared_error(&s->startup_error, s, RB_DRAW_STARTUP_ERROR, 0, replicate),
        .between = draw(&profile->between, s, RB_DRAW_BETWEEN, stage, position, attempt, replicate),
        .checkpoint_s = draw(&profile->checkpoint_s, s, RB_DRAW_CHECKPOINT, stage, position, attempt, replicate) *
                        shared_error(&s->checkpoint_error, s, RB_DRAW_CHECKPOINT_ERROR, 0, replicate),
        .unit_s = unit_s,
    };
    const struct rb_stream_key key = key_of(s, RB_DRAW_WITHIN, stage, position, attempt, replicate);
    if (!is_constant(p->within))
        rb_stream_init(&p->stream, &key);
}

void rb_drawn_trial_init(struct rb_drawn_trial *d, const struct rb_scenario *s, int stage, int position,
                         uint32_t replicate, double *units_drawn, int64_t cap)
{
    struct rb_trial_progress p;
    rb_trial_progress_begin(&p, s, stage, position, 0, replicate, 0);
    *d = (struct rb_drawn_trial){
        .startup_s = p.startup_s,
        .between = p.between,
        .checkpoint_s = p.checkpoint_s,
        .stream = p.stream,
        .units_drawn = units_drawn,
        .cap = cap,
    };
}

void rb_trial_progress_follow(struct rb_trial_progress *p, const struct rb_scenario *s, struct rb_drawn_trial *drawn,
                              double unit_s)
{
    *p = (struct rb_trial_progress){
        .within = &s->profile->within,
        .drawn = drawn,
        .startup_s = drawn->startup_s,
        .between = drawn->between,
        .checkpoint_s = drawn->checkpoint_s,
        .unit_s = unit_s,
    };
}

static double drawn_after(struct rb_drawn_trial *d, const struct rb_dist *within, int64_t n_units)
{
    assert(n_units <= d->cap);
    for (; d->n_drawn < n_units; d->n_drawn++) {
        const double before = d->n_drawn > 0 ? d->units_drawn[d->n_drawn - 1] : 0;
        d->units_drawn[d->n_drawn] = before + rb_dist_draw(within, &d->stream);
    }
    return d->units_drawn[n_units - 1];
}

static void draw_unit(struct rb_trial_progress *p)
{
    p->n_units++;
    if (is_constant(p->within))
        p->units_drawn = p->within->mean * (double)p->n_units; // rounding errors do not accumulate
    else if (p->drawn)
        p->units_drawn = drawn_after(p->drawn, p->within, p->n_units);
    else
        p->units_drawn += rb_dist_draw(p->within, &p->stream);
}

int64_t rb_trial_progress_next_us(struct rb_trial_progress *p)
{
    draw_unit(p);
    return trial_us(p->startup_s + p->saves_s, p->unit_s, p->between, p->units_drawn);
}

bool rb_trial_progress_save(struct rb_trial_progress *p, int64_t *out_us)
{
    const double trained_s = p->unit_s * (p->between * p->units_drawn);
    if (p->every_s <= 0 || trained_s - p->trained_s < p->every_s)
        return false;
    p->trained_s = trained_s;
    p->saves_s += p->checkpoint_s;
    *out_us = trial_us(p->startup_s + p->saves_s, p->unit_s, p->between, p->units_drawn);
    return true;
}

int64_t rb_trial_progress_end_us(const struct rb_trial_progress *p)
{
    return trial_us(p->startup_s + p->checkpoint_s + p->saves_s, p->unit_s, p->between, p->units_drawn);
}

int64_t rb_trial_progress_checkpoint_us(const struct rb_trial_progress *p)
{
    return trial_us(p->checkpoint_s, 0, 0, 0);
}

double rb_draw_configuration(const struct rb_scenario *s, int trial, uint32_t replicate)
{
    const struct rb_dist *factor = s->profile->configuration;
    return factor ? draw(factor, s, RB_DRAW_CONFIGURATION, 0, trial, 0, replicate) : 1;
}

struct rb_trial_noise rb_draw_trial_noise(const struct rb_scenario *s, int stage, int position, int attempt,
                                          uint32_t replicate, int64_t units)
{
    struct rb_trial_progress p;
    rb_trial_progress_begin(&p, s, stage, position, attempt, replicate, 0);
    if (is_constant(p.within)) {
        p.n_units = units;
        p.units_drawn = p.within->mean * (double)units;
    } else {
        for (int64_t u = 0; u < units; u++)
            draw_unit(&p);
    }
    if (s->profile->configuration)
        p.between *= rb_draw_configuration(s, rb_scenario_trial(s, stage, position), replicate);
    return (struct rb_trial_noise){p.startup_s + p.checkpoint_s, p.between * p.units_drawn};
}

int64_t rb_draw_trial_us(const struct rb_scenario *s, int stage, int position, int attempt, uint32_t replicate,
                         int64_t units, double unit_s)
{
    const struct rb_trial_noise noise = rb_draw_trial_noise(s, stage, position, attempt, replicate, units);
    return rb_trial_noise_us(&noise, unit_s);
}

int64_t rb_draw_saving_trial_us(const struct rb_scenario *s, int stage, int position, int attempt, uint32_t replicate,
                                int64_t units, double unit_s, double every_s, int64_t by_us, int64_t *out_safe)
{
    struct rb_trial_progress p;
    int64_t safe_us;
    rb_trial_progress_begin(&p, s, stage, position, attempt, replicate, unit_s);
    p.every_s = every_s;
    if (s->profile->configuration)
        p.between *= rb_draw_configuration(s, rb_scenario_trial(s, stage, position), replicate);
    *out_safe = 0;
    for (int64_t u = 1; u <= units; u++) {
        draw_unit(&p);
        if (u < units && rb_trial_progress_save(&p, &safe_us) && safe_us <= by_us)
            *out_safe = u;
    }
    return rb_trial_progress_end_us(&p);
}
