// The profile store is one sqlite file with raw samples (and what they were measured on), prices, imported profiles,
// results of ended runs, and how their predictions fared (ended.h).
// Fits are made from raw samples on demand, so a better fit never needs a new measurement. A file from a newer version of the
// program is refused. Each command is one transaction, so a failed command changes nothing on disk.
#ifndef RB_PROFILES_STORE_H
#define RB_PROFILES_STORE_H

#include "base/arena.h"
#include "profiles/catalog/catalog.h"
#include "profiles/fit/dist_fit.h"
#include "profiles/fit/goodput_batches.h"
#include "profiles/fit/noise_fit.h"
#include "profiles/fit/step_stats.h"
#include "profiles/store/profile.h"

// 2: what a run reported about its steps; 3: metrics of what ended runs found; 4: what ended runs measured, and how their
// predictions fared; 5: how long nodes fetched the data of their job
#define RB_STORE_SCHEMA 6

struct rb_store;

// path NULL: RB_DB, else $XDG_DATA_HOME/rubberband/profiles.db (~/.local/share). Creates it unless read_only;
// read_only and absent: RB_ERR_NOT_FOUND.
bool rb_store_open(const char *path, bool read_only, struct rb_store **out, struct rb_err *err);
// The same, for a writer that gives up after half a second where another command holds the file.
bool rb_store_open_now(const char *path, struct rb_store **out, struct rb_err *err);
void rb_store_close(struct rb_store *s); // NULL is fine
const char *rb_store_path(const struct rb_store *s);
// Sets the date of later writes (unix microseconds, -1: unknown, the default) and their source (a file's path, "" by
// default). The store reads no clock.
void rb_store_stamp(struct rb_store *s, int64_t now_us, const char *source);

// One measured training run: a process trained `n_units` units with `gpus` over `nodes` nodes.
struct rb_run_sample {
    const char *accelerator, *infra, *instance_type;
    int gpus, nodes;
    const char *unit;            // label of the unit of resource; NULL: "epoch"
    const char *config_json;     // hyperparameters, {"lr":0.01,..}
    const char *command, *commit, *machine; // command, its version ("" unknown), machine
    int64_t measured_at_us;      // unix
    double startup_s;            // launch of the command to the start of the first unit
    double checkpoint_s;         // < 0: not measured
    const double *unit_s;        // [n_units]
    int n_units;
    bool probe;                  // of a larger batch: gives step times only, no unit times
    double initial_batch;        // trial.batch.size, 0: the job does not tune its batch
    struct rb_batch batch;       // the batch it trained with
    struct rb_step_stats steps;  // means over its reports; unreported values are absent
    double load;                 // median load average of the machine it ran on; cpus 0: unknown
    int cpus;
    bool restarts;               // it does not resume from a checkpoint
    struct rb_measured_of of;    // command NULL: unknown
    const char *of_run;          // the ended run that one of its trials trained in; its startup_s is unknown then, NAN.
                                 // NULL: rbprofile measured it
};
bool rb_store_add_run(struct rb_store *s, const char *profile, const struct rb_run_sample *run, struct rb_err *err);

// One run that shared its GPU with others during all of its measurement. An older program ignores it.
struct rb_shared_sample {
    const char *accelerator;
    int trials;                  // on the GPU, itself included; > 1
    const char *config_json, *command, *machine;
    int64_t measured_at_us;      // unix
    double unit_s;               // mean
};
bool rb_store_add_shared(struct rb_store *s, const char *profile, const struct rb_shared_sample *sample,
                         struct rb_err *err);

// One throughput sample (throughput-csv).
bool rb_store_add_throughput(struct rb_store *s, const char *profile, const char *accelerator, double batch,
                             double units_per_epoch, const struct rb_throughput_sample *sample, struct rb_err *err);

// One provisioning attempt. Times < 0: absent.
struct rb_provision_sample {
    const char *infra, *instance_type, *market;
    double queue_s, init_s;
    double pull_s;               // of init_s: the image of its container was pulled; 0: not known
    const char *outcome;         // "ok", "capacity", "timeout"
    int64_t measured_at_us;
};
bool rb_store_add_provision(struct rb_store *s, const struct rb_provision_sample *p, struct rb_err *err);

// One node that has carried out data.fetch.
struct rb_reading_sample {
    const char *fetch, *infra, *instance_type; // fetch: the command
    int64_t bytes;               // data.size
    double read_s;
    int64_t measured_at_us;
};
bool rb_store_add_reading(struct rb_store *s, const char *profile, const struct rb_reading_sample *r, struct rb_err *err);

// One spot price point (spot-csv); preempted: -1 unknown, else 0 or 1.
bool rb_store_add_spot(struct rb_store *s, const char *infra, const char *instance_type, int64_t at_us,
                       struct rb_rate rate, int preempted, struct rb_err *err);

// Forgets the throughput samples of `profile` and the provisioning samples that were stamped with `source`, so that
// importing a file again replaces its samples instead of counting them twice. profile NULL: provisioning only.
bool rb_store_forget(struct rb_store *s, const char *profile, const char *source, struct rb_err *err);

// Forgets every measured run of `profile`, including those that shared a GPU, but not imported samples.
bool rb_store_forget_runs(struct rb_store *s, const char *profile, struct rb_err *err);

// A hand-written profile replaces one of the same name. Raw samples of that name are kept beside it.
bool rb_store_put_profile(struct rb_store *s, const struct rb_profile *p, struct rb_err *err);
// Puts markets before the provisioning of an imported profile, in place of earlier ones of the same machine. Delays and
// refusals are those of the entry that answered for such a machine before. NOT_FOUND: there is no such profile, it was not
// imported, or none of its entries answers.
struct rb_spot_market { const char *infra, *instance_type; struct rb_spells spells; };
bool rb_store_put_markets(struct rb_store *s, const char *name, const struct rb_spot_market *markets, int n,
                          struct rb_err *err);
bool rb_store_put_prices(struct rb_store *s, const struct rb_catalog *c, struct rb_err *err); // same key replaces
bool rb_store_prices(struct rb_store *s, struct rb_arena *arena, struct rb_catalog *out, struct rb_err *err);

struct rb_profile_name { const char *name; bool imported; int n_runs, n_units, n_throughput; int64_t changed_at_us; };
bool rb_store_list(struct rb_store *s, struct rb_arena *arena, struct rb_profile_name **out, int *out_n,
                   struct rb_err *err);

// The profile to plan with: the imported one, or the fit of the raw samples, followed by the shared measured
// provisioning. Missing: RB_ERR_NOT_FOUND with the existing names and how to measure.
bool rb_store_profile(struct rb_store *s, const char *name, struct rb_arena *arena, struct rb_profile *out,
                      struct rb_err *err);

// The quality of the fit and its limits: for `rbprofile show`.
struct rb_fit_report {
    struct rb_profile profile;
    bool imported;
    struct rb_fit_cell { const char *accelerator; int gpus, nodes, n_runs, n_units, n_configurations; double mean_s, se_s; } *cells;
    int n_cells;                      // sorted by accelerator, nodes, gpus; mean_s is the mean over runs
    int n_learned_from, n_learned; // ended runs whose units are in the cells, and starts of their trials
    struct rb_noise_fit noise;
    struct rb_dist_fit startup, checkpoint;
    struct rb_fit_provision {
        const char *infra, *instance_type, *market;
        struct rb_dist_fit queue, init;   // n = 0: no request succeeded, nothing could be fitted
        struct rb_dist_fit pull;          // of init, where the image of a container was pulled; n = 0: nowhere
        int n_capacity, n_timeout;
        double exposure_h;                // observed node hours; 0: none
        int n_preempted;
    } *provisions;
    int n_provisions;
    double throughput_error;          // mean |relative error|, < 0: no throughput fit
    struct rb_fit_goodput {
        const char *accelerator;
        int n_placements;             // placements and batches with timed steps, to which `goodput.steps` was fitted
        double step_error;            // mean |relative error| of that fit
        bool several_batches;         // else only a prior separates the fixed time from the time per sample
        int n_noises;                 // runs that reported their gradients' noise
    } *goodputs;
    int n_goodputs;                   // one for each accelerator that has any
    const char *dominant_param;       // hyperparameter that explains most of `between`; NULL: none
    double dominant_share;            // of the variance between configurations
    const char *const *limits;        // what it cannot answer: "more than 4 CPU GPUs on one node", ...
    int n_limits;
    const char *const *warnings;      // "only 3 runs", "poor fit", ...
    int n_warnings;
};
bool rb_store_fit(struct rb_store *s, const char *name, struct rb_arena *arena, struct rb_fit_report *out,
                  struct rb_err *err);

// The same, from the raw samples only, even if planning would use an imported profile of that name.
bool rb_store_fit_samples(struct rb_store *s, const char *name, struct rb_arena *arena, struct rb_fit_report *out,
                          struct rb_err *err);

bool rb_store_begin(struct rb_store *s, struct rb_err *err);  // one transaction per command
bool rb_store_commit(struct rb_store *s, struct rb_err *err);
void rb_store_rollback(struct rb_store *s);

#endif
