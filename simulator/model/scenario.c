#include "simulator/model/scenario.h"

#include "profiles/catalog/infra.h"
#include "profiles/catalog/reservation.h"
#include "profiles/guess/guess.h"
#include "profiles/store/reading.h"
#include "profiles/store/save_interval.h"
#include "simulator/model/noise.h"
#include "simulator/stage/kept_trials.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES_PER_GB INT64_C(1000000000)
// Upper limit of a node's cost per hour, and of its data once: a million dollars. More is a typing error, and no sum
// overflows.
#define MAX_NODE_UUSD (1000000 * RB_UUSD)

// This machine already exists: nothing is requested and nothing boots.
static const struct rb_provisioning already_here = {
    .infra = "local",
    .instance_type = "*",
    .market = "*",
    .queue_s = {.kind = RB_DIST_CONSTANT},
    .init_s = {.kind = RB_DIST_CONSTANT},
};

// A reservation's nodes come as those on demand do, unless the profile knows better.
static const struct rb_provisioning *find_provisioning(const struct rb_profile *profile, const struct rb_offer *offer)
{
    const struct rb_provisioning *p =
        rb_profile_provisioning(profile, offer->infra, offer->instance_type, offer->market);
    if (!p && offer->reservation)
        p = rb_profile_provisioning(profile, offer->infra, offer->instance_type, RB_MARKET_ON_DEMAND);
    return p || !rb_infra_within(offer->infra, "local") ? p : &already_here;
}

// Its window is another matter: simulator/world/markets.h.
static struct rb_provisioning never_refused_or_lost(const struct rb_provisioning *p)
{
    struct rb_provisioning kept = *p;
    kept.capacity_failure = kept.preemption_per_hour = 0;
    kept.has_preemption = false;
    kept.spells = NULL;
    return kept;
}

static void take_provisioning(struct rb_scenario *s, int offer)
{
    struct rb_sim_offer *o = &s->sim_offers[offer];
    o->provisioning = find_provisioning(s->profile, o->offer);
    for (int i = 0; i < s->profile->n_provisioning; i++)
        o->entry = o->provisioning == &s->profile->provisioning[i] ? i : o->entry;
    if (!o->provisioning || !o->offer->reservation)
        return;
    s->reserved[offer] = never_refused_or_lost(o->provisioning);
    o->provisioning = &s->reserved[offer];
}

static void write_dist(struct rb_buf *out, const struct rb_dist *dist)
{
    static const struct rb_dist a_minute = {.kind = RB_DIST_CONSTANT, .mean = 60};
    struct rb_json j;
    rb_json_init(&j, out, false);
    rb_dist_write(dist ? dist : &a_minute, &j);
}

// A line to paste into the profile: as on demand, with occasional preemption. Editing it is easier than writing it.
static void write_spot_entry(const struct rb_profile *profile, const struct rb_offer *offer, struct rb_buf *out)
{
    const struct rb_provisioning *on_demand =
        rb_profile_provisioning(profile, offer->infra, offer->instance_type, RB_MARKET_ON_DEMAND);
    rb_buf_printf(out, "- {infra: %.*s, instance_type: \"*\", market: spot, queue_s: ", (int)strcspn(offer->infra, "/"),
                  offer->infra);
    write_dist(out, on_demand ? &on_demand->queue_s : NULL);
    rb_buf_puts(out, ", init_s: ");
    write_dist(out, on_demand ? &on_demand->init_s : NULL);
    rb_buf_puts(out, ", capacity_failure: 0.05, preemption_per_hour: 0.05}");
}

static void no_provisioning(struct rb_sim_offer *o, const struct rb_profile *profile)
{
    const struct rb_offer *offer = o->offer;
    if (offer->market == RB_MARKET_SPOT) {
        RB_AUTO(rb_buf_finish) struct rb_buf entry = RB_BUF_INIT;
        write_spot_entry(profile, offer, &entry);
        snprintf(o->why_not, sizeof o->why_not,
                 "profile \"%.40s\" does not say how long spot nodes take to come, nor how often they are taken back; "
                 "to plan on an assumption, add this line to its provisioning and correct it: %s",
                 profile->name, rb_buf_str(&entry));
    } else {
        snprintf(o->why_not, sizeof o->why_not,
                 "profile \"%.40s\" has no provisioning entry for it: run `rbprofile provision --infra %.60s "
                 "--instance-type %.60s`",
                 profile->name, offer->infra, offer->instance_type);
    }
}

// The missing inputs for planning with the offer; "" if there are none.
static void judge(struct rb_sim_offer *o, const struct rb_profile *profile)
{
    const struct rb_offer *offer = o->offer;
    const char *measured = rb_guess_best_measured(profile);
    if (!o->training)
        snprintf(
            o->why_not, sizeof o->why_not,
            "profile \"%.60s\" has no training entry for %.40s: measure it with `rbprofile train` on such a node, or "
            "guess: --guess %s%.40s",
            profile->name, offer->accelerator,
            measured ? "measured=" : "unit=4m,on=", measured ? measured : offer->accelerator);
    else if (!o->provisioning)
        no_provisioning(o, profile);
    else if (offer->market == RB_MARKET_SPOT && !o->provisioning->has_preemption)
        snprintf(
            o->why_not, sizeof o->why_not,
            "profile \"%.60s\" does not say how often spot nodes are taken back: add preemption_per_hour (0.05 is "
            "once in 20 hours) to its provisioning entry, or import losses with `rbprofile import --format spot-csv`",
            profile->name);
    o->usable = o->why_not[0] == '\0';
}

static bool is_affordable(int64_t n, int64_t uusd_each)
{
    int64_t product;
    return !__builtin_mul_overflow(n, uusd_each, &product) && product <= MAX_NODE_UUSD;
}

static int64_t gigabytes(int64_t bytes)
{
    return bytes / BYTES_PER_GB + (bytes % BYTES_PER_GB > 0);
}

int64_t rb_scenario_release_s(const struct rb_job *job, const struct rb_profile *profile, const struct rb_offer *offer)
{
    const int64_t job_us = rb_infra_within(offer->infra, "k8s") ? job->resources.kubernetes.release_us : 0;
    const struct rb_provisioning *p = find_provisioning(profile, offer);
    return job_us > 0             ? (job_us + RB_US_PER_S - 1) / RB_US_PER_S
           : offer->release_s > 0 ? offer->release_s
           : p                    ? p->release_s
                                  : 0;
}

static bool bill_offer(const struct rb_job *job, const struct rb_profile *profile, const struct rb_offer *offer,
                       const struct rb_catalog *disk_prices, struct rb_billing *out, struct rb_err *err)
{
    if (offer->rate.uusd_per_hour <= 0 && !offer->declared_free)
        return rb_err_set(err, RB_E_PRICE_UNKNOWN,
                          "no price is known for %s %s on %s: import one with `rbprofile import`",
                          rb_market_name(offer->market), offer->instance_type, offer->infra);
    if (!is_affordable(1, offer->rate.uusd_per_hour))
        return rb_err_set(err, RB_E_PRICE_ABSURD, "%s on %s costs more than a million dollars an hour: check its price",
                          offer->instance_type, offer->infra);
    if (!is_affordable(gigabytes(job->data_bytes), job->data_uusd_per_gb))
        return rb_err_set(err, RB_E_DATA_PRICE,
                          "data: reading it costs more than a million dollars a node: check data.size "
                          "and data.price_per_gb");
    *out = (struct rb_billing){
        .rate = offer->rate,
        .release_s = rb_scenario_release_s(job, profile, offer),
        .data_uusd = rb_bill_data_uusd(job->data_bytes, job->data_uusd_per_gb),
    };
    const int64_t disk_bytes = job->resources.disk_bytes;
    if (disk_bytes == 0)
        return true;
    out->disk_gb = gigabytes(disk_bytes);
    if (!disk_prices)
        return rb_err_set(err, RB_E_DISK_PRICE, "no disk prices are known, but the job asks for resources.disk_size");
    if (!rb_catalog_disk_rate(disk_prices, offer->infra, &out->disk_rate, err))
        return false;
    return is_affordable(out->disk_gb, out->disk_rate.uusd_per_hour) ||
           rb_err_set(err, RB_E_DATA_PRICE,
                      "resources.disk_size: the disk costs more than a million dollars an hour: check "
                      "the size and its price");
}

static void take_errors(struct rb_sim_offer *o)
{
    o->measurement = rb_dist_error(o->training ? o->training->relative_error : 0);
    o->queue_error = rb_dist_error(o->provisioning ? o->provisioning->queue_s.relative_error : 0);
    o->init_error = rb_dist_error(o->provisioning ? o->provisioning->init_s.relative_error : 0);
    o->reading_error = rb_dist_error(o->reading ? o->reading->read_s.relative_error : 0);
}

static void take_reading(struct rb_sim_offer *o, const struct rb_job *job, const struct rb_profile *profile)
{
    o->data_us = rb_reading_declared_us(job, o->offer);
    o->reading = rb_reading_measured(job, profile, o->offer);
    o->reading_scale = o->reading ? rb_reading_scale(job, o->reading) : 0;
}

bool rb_scenario_draws_in_parts(const struct rb_scenario *s, int offer)
{
    return rb_dist_variance(&s->sim_offers[offer].measurement) > 0 || rb_dist_variance(&s->startup_error) > 0 ||
           rb_dist_variance(&s->checkpoint_error) > 0 || s->profile->configuration;
}

bool rb_scenario_init(struct rb_scenario *s, const struct rb_job *job, const struct rb_profile *profile,
                      const struct rb_offer *offers, int n_offers, const struct rb_catalog *disk_prices, uint64_t seed,
                      struct rb_err *err)
{
    struct rb_scenario made = {.job = job, .profile = profile, .offers = offers, .n_offers = n_offers, .seed = seed};
    if (!rb_rungs_of_job(job, &made.stages, err))
        return false;
    made.startup_error = rb_dist_error(profile->startup_s.relative_error);
    made.checkpoint_error = rb_dist_error(profile->checkpoint_s.relative_error);
    made.sim_offers = rb_xcalloc((size_t)n_offers, sizeof *made.sim_offers);
    made.reserved = rb_xcalloc((size_t)n_offers, sizeof *made.reserved);
    for (int i = 0; i < n_offers; i++) {
        struct rb_sim_offer *o = &made.sim_offers[i];
        o->offer = &offers[i];
        o->training = rb_profile_training(profile, offers[i].accelerator);
        take_provisioning(&made, i);
        judge(o, profile);
        take_reading(o, job, profile);
        take_errors(o);
        o->save_every_s = (double)rb_planned_save_interval_s(job, profile, &offers[i]);
        if (!bill_offer(job, profile, &offers[i], disk_prices, &o->billing, err)) {
            free(made.sim_offers);
            free(made.reserved);
            return false;
        }
    }
    *s = made;
    return true;
}

bool rb_scenario_starts_over(const struct rb_scenario *s)
{
    return s->profile->restarts || s->job->starts_over;
}

int64_t rb_scenario_units(const struct rb_scenario *s, int64_t resource_start, int64_t resource_end)
{
    return rb_scenario_starts_over(s) ? resource_end : resource_end - resource_start;
}

int64_t rb_scenario_rung_units(const struct rb_scenario *s, int stage)
{
    const struct rb_rung *rung = &s->stages.rungs[stage];
    return rb_scenario_units(s, rung->resource_start, rung->resource_end);
}

int rb_scenario_trial(const struct rb_scenario *s, int stage, int position)
{
    int first = 0, n_bracket = 0;
    for (int i = 0; i <= stage && i < s->stages.n; i++) {
        const struct rb_rung *rung = &s->stages.rungs[i];
        if (rung->resource_start > 0)
            continue;
        first += n_bracket;
        n_bracket = rung->trials;
    }
    return first + position;
}

double rb_scenario_init_mean_s(const struct rb_scenario *s, int offer)
{
    const struct rb_sim_offer *o = &s->sim_offers[offer];
    return rb_dist_mean(&o->provisioning->init_s) + rb_reading_mean_s(s->job, s->profile, o->offer);
}

void rb_scenario_keep_noise(struct rb_scenario *s, int n_replicates, size_t most_bytes)
{
    rb_noise_destroy(s->noise);
    s->noise = rb_noise_create(s, n_replicates, most_bytes);
}

void rb_scenario_keep_trials(struct rb_scenario *s, const struct rb_run_range *ranges, int n_ranges, size_t most_bytes)
{
    rb_kept_trials_destroy(s->kept_trials);
    s->kept_trials = rb_kept_trials_create(s, ranges, n_ranges, most_bytes);
}

size_t rb_scenario_kept_bytes(const struct rb_scenario *s)
{
    return rb_noise_bytes(s->noise) + rb_kept_trials_bytes(s->kept_trials);
}

void rb_scenario_finish(struct rb_scenario *s)
{
    rb_kept_trials_destroy(s->kept_trials);
    rb_noise_destroy(s->noise);
    free(s->sim_offers);
    free(s->reserved);
    *s = (struct rb_scenario){0};
}

bool rb_sim_offer_goes_down(const struct rb_sim_offer *o)
{
    return rb_offer_closes(o->offer) || rb_provisioning_goes_down(o->provisioning);
}

struct rb_plan_stage rb_scenario_stage(const struct rb_scenario *s, int stage, int gpus_per_trial,
                                       const struct rb_plan_nodes *nodes)
{
    const struct rb_rung *rung = &s->stages.rungs[stage];
    return (struct rb_plan_stage){
        .trials = rung->trials,
        .resource_start = rung->resource_start,
        .resource_end = rung->resource_end,
        .gpus_per_trial = gpus_per_trial,
        .trials_per_gpu = 1,
        .nodes = nodes,
        .n_nodes = 1,
    };
}

bool rb_scenario_unit_s(const struct rb_scenario *s, int offer, int gpus_per_trial, double *out_s, struct rb_err *err)
{
    const struct rb_sim_offer *o = &s->sim_offers[offer];
    if (!o->usable)
        return rb_err_set(err, RB_E_NO_OFFER, "%s", o->why_not);
    const int per_node = o->offer->gpus;
    const int n_nodes = (gpus_per_trial + per_node - 1) / per_node;
    if (n_nodes > s->job->trial.max_nodes)
        return rb_err_set(err, RB_E_TRIAL_GPUS,
                          "%d GPUs are %d nodes of %s (%d GPUs each), but trial.max_nodes is %d: raise it, or lower "
                          "trial.gpus",
                          gpus_per_trial, n_nodes, o->offer->instance_type, per_node, s->job->trial.max_nodes);
    double speedup;
    if (!rb_training_speedup(o->training, gpus_per_trial, n_nodes, &speedup, err))
        return false;
    *out_s = o->training->base_s / speedup;
    return true;
}

bool rb_scenario_width_unit_s(const struct rb_scenario *s, int offer, struct rb_width width, double *out_s,
                              struct rb_err *err)
{
    double unit_s, slowdown;
    if (!rb_scenario_unit_s(s, offer, width.gpus, &unit_s, err) ||
        !rb_training_slowdown(s->sim_offers[offer].training, width.sharers, &slowdown, err))
        return false;
    *out_s = unit_s * slowdown;
    return true;
}
