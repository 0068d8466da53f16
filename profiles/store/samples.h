// Holds all measurements of one profile in memory, and fits them. Nothing here uses sqlite.
#ifndef RB_PROFILES_SAMPLES_H
#define RB_PROFILES_SAMPLES_H

#include "profiles/store/store.h"

// Throughput samples of one accelerator; batch and units_per_epoch as of the latest import.
struct rb_throughput_set {
    const char *accelerator;
    double batch, units_per_epoch;
    struct rb_throughput_sample *samples;
    int n;
};

// A point of a spot price history. preempted: the observed node was lost since the previous point; -1 unknown.
struct rb_spot_sample {
    const char *infra, *instance_type;
    int64_t at_us;
    int preempted;
};

struct rb_samples {
    const char *profile;
    struct rb_run_sample *runs;             // [n_runs] by accelerator, nodes, gpus, then order of measurement
    int n_runs;
    struct rb_shared_sample *shared;        // [n_shared] by accelerator, trials, order of measurement
    int n_shared;
    struct rb_run_sample *probes;           // [n_probes] in the same order: runs with a larger batch
    int n_probes;
    struct rb_throughput_set *throughputs;  // [n_throughputs] by accelerator
    int n_throughputs;
    struct rb_provision_sample *provisions; // [n_provisions] by infra, instance type, market; shared by all profiles
    int n_provisions;
    struct rb_reading_sample *readings;     // [n_readings] by command, infra, instance type, order of measurement
    int n_readings;
    struct rb_spot_sample *spots;           // [n_spots] by infra, instance type, time; shared by all profiles
    int n_spots;
};

bool rb_store_load_samples(struct rb_store *s, const char *profile, struct rb_arena *arena, struct rb_samples *out,
                           struct rb_err *err);

// Puts cells, training entries, noise, start-up and checkpoint times into the report. Errors: one GPU was not measured,
// ...
bool rb_training_fit(const struct rb_samples *s, struct rb_arena *arena, struct rb_fit_report *report,
                     struct rb_err *err);

// Makes `sharing` of each training entry, for every measured number of trials. entries [n]: with their base_s.
void rb_gpu_sharing_fit(const struct rb_samples *s, struct rb_training *entries, int n, struct rb_arena *arena);

// Puts the runs' reports about their steps into the entries' `goodput` and report->goodputs. Without reports both stay
// empty.
void rb_goodput_fit(const struct rb_samples *s, struct rb_training *entries, struct rb_arena *arena,
                    struct rb_fit_report *report);

// Puts provisioning per (infra, instance type, market) into report->provisions.
bool rb_provision_fit(const struct rb_samples *s, struct rb_arena *arena, struct rb_fit_report *report,
                      struct rb_err *err);
// The entries that can be used for planning, as entries of a profile. [*out_n], in the arena.
struct rb_provisioning *rb_provision_entries(const struct rb_fit_report *report, struct rb_arena *arena, int *out_n);

// How long data is fetched, by command and machine, into the report's profile: after what an imported one says itself.
bool rb_reading_fit(const struct rb_samples *s, struct rb_arena *arena, struct rb_fit_report *report, struct rb_err *err);

// Finds the hyperparameter that explains most of the spread between runs, for dominant_param and dominant_share.
// log_deviation[i]: log of run i's mean unit time over its cell's mean.
bool rb_dominant_fit(const struct rb_samples *s, const double *log_deviation, struct rb_arena *arena,
                     struct rb_fit_report *report, struct rb_err *err);

// Adds limits and warnings to the finished report. s NULL: an imported profile without samples.
void rb_fit_judge(const struct rb_samples *s, struct rb_arena *arena, struct rb_fit_report *report);

#endif
