// A job on a catalogue under a profile, compiled: every (stage, offer, GPUs per trial) has its distributions ready. The
// stage DAG of design section 10 is implemented here and in replicate.c; no other module knows durations.
#ifndef RB_SIMULATOR_SCENARIO_H
#define RB_SIMULATOR_SCENARIO_H

#include "engine/core/placement.h"
#include "engine/core/rungs.h"
#include "engine/plan/plan.h"
#include "profiles/catalog/billing.h"

// One offer as the simulator needs it.
struct rb_sim_offer {
    const struct rb_offer *offer;
    const struct rb_provisioning *provisioning; // of a reservation: never refused, never lost
    int entry;                                  // the profile's that it is or is made from; 0 also where it is none
    const struct rb_training *training;
    struct rb_billing billing;
    // Error factors of measured means: on unit times, queueing delays, initialisations and readings. Drawn once per
    // replicate (draws.h).
    struct rb_dist measurement, queue_error, init_error, reading_error;
    double save_every_s;     // trials on its nodes save this often in the middle of a stage; 0: they do not
    // A new node reads the job's data after its initialisation and before it is ready; billed. Either data.bandwidth
    // says how long, or what was measured does, times reading_scale.
    int64_t data_us;
    const struct rb_reading *reading; // NULL: data_us
    double reading_scale;
    bool usable;             // else `why_not` gives the reason (accelerator not in the profile, no provisioning, no
                             // spot hazard)
    char why_not[640];
};

struct rb_scenario {
    const struct rb_job *job;
    const struct rb_profile *profile;
    const struct rb_offer *offers;   // borrowed: the plan's or the catalogue's
    struct rb_sim_offer *sim_offers; // [n_offers], same order
    struct rb_provisioning *reserved; // [n_offers], those of reservations
    int n_offers;
    struct rb_rung_table stages;
    struct rb_dist startup_error, checkpoint_error; // likewise, of the profile's start-up and checkpoint
    uint64_t seed;
    struct rb_noise *noise;          // NULL: everything is drawn again; see noise.h
    struct rb_kept_trials *kept_trials; // likewise, for runs of the engine; see kept_trials.h
};

// Everything borrowed must outlive the scenario. Errors: no stage table (asynchronous tuner), price missing.
bool rb_scenario_init(struct rb_scenario *s, const struct rb_job *job, const struct rb_profile *profile,
                      const struct rb_offer *offers, int n_offers, const struct rb_catalog *disk_prices,
                      uint64_t seed, struct rb_err *err);
void rb_scenario_finish(struct rb_scenario *s);
// For how long a machine of this offer is billed after its node's end: as the job says of its cluster, else the plan that
// the offer is of, else the profile.
int64_t rb_scenario_release_s(const struct rb_job *job, const struct rb_profile *profile, const struct rb_offer *offer);
// For many plans on the same replicates 0..n-1: keeps and shares what their trials draw. The scenario must not move
// until it is finished. Results depend neither on this nor on the amount kept.
#define RB_KEPT_NOISE_BYTES  ((size_t)128 << 20) // justified size: 512 trials in the first of ten stages, 4096
                                                 // replicates: 67 MB
#define RB_KEPT_TRIALS_BYTES ((size_t)64 << 20)  // likewise: 1280 runs of 64 trials take 15 MB
void rb_scenario_keep_noise(struct rb_scenario *s, int n_replicates, size_t most_bytes);
struct rb_run_range;
void rb_scenario_keep_trials(struct rb_scenario *s, const struct rb_run_range *ranges, int n_ranges,
                             size_t most_bytes); // of an asynchronous job
size_t rb_scenario_kept_bytes(const struct rb_scenario *s); // of both, so far

// Is its market at times without nodes: by its spells, or as a reservation that opens or closes?
bool rb_sim_offer_goes_down(const struct rb_sim_offer *o);

// A stage of the job as a plan executes it: its rung's trials and resource, `gpus_per_trial` each, on one entry of
// nodes (borrowed). `waves` is left 0.
struct rb_plan_stage rb_scenario_stage(const struct rb_scenario *s, int stage, int gpus_per_trial,
                                       const struct rb_plan_nodes *nodes);

// Mean seconds per unit with g GPUs per trial on nodes of this offer: base / speedup(g, ceil(g/G)). Error: a layout
// that the profile does not cover or trial.max_nodes does not allow.
bool rb_scenario_unit_s(const struct rb_scenario *s, int offer, int gpus_per_trial, double *out_s, struct rb_err *err);
// The same for any width: on a share of a GPU the time is multiplied by the profile's slowdown, however many trials
// share the GPU.
bool rb_scenario_width_unit_s(const struct rb_scenario *s, int offer, struct rb_width width, double *out_s,
                              struct rb_err *err);

// True if a trial's time is not one draw from its law: the trials of a replicate share a measurement error, or a trial
// keeps its configuration's factor over stages.
bool rb_scenario_draws_in_parts(const struct rb_scenario *s, int offer);

// True if every stage trains from the beginning, because the script does not resume or the job does not want it to.
bool rb_scenario_starts_over(const struct rb_scenario *s);
// Units that a trial of this rung trains in a stage: from its last state, or from the beginning if the script does not
// resume.
int64_t rb_scenario_units(const struct rb_scenario *s, int64_t resource_start, int64_t resource_end);
int64_t rb_scenario_rung_units(const struct rb_scenario *s, int stage);
// A trial that may be at this position of the stage: in the stages of a bracket a position is the same trial, as if
// survivors were chosen in order. Which ones survive is unknown to a plan, and is taken not to depend on their speed.
int rb_scenario_trial(const struct rb_scenario *s, int stage, int position);
// Mean seconds from running to ready, the reading of data included.
double rb_scenario_init_mean_s(const struct rb_scenario *s, int offer);

#endif
