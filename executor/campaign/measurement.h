// One measuring campaign from the options to the store: chooses place, machine and GPU counts, launches nodes, runs the
// user's command on them or only measures the nodes' own times, and stores the results.
#ifndef RB_EXECUTOR_MEASUREMENT_H
#define RB_EXECUTOR_MEASUREMENT_H

#include "base/arena.h"
#include "executor/campaign/campaign.h"
#include "profiles/job/job.h"
#include "profiles/store/store.h"
#include "providers/provider.h"

#define RB_GPU_COUNTS_MAX 16 // of --gpus

struct rb_http;
struct rb_loop_uv;

// As given on the command line; NULL or 0: the job's value, or the default.
struct rb_measurement_options {
    const char *db, *state_dir;
    const char *infra, *instance_type;
    const char *user;                 // login on the nodes
    int port;
    const char *gpus, *share;         // "1,2,4": ascending
    int configs, batches;
    int64_t resource;                 // units a run
    bool exclusive, fresh;
};

// Everything one campaign needs, from the command line to the store.
struct rb_measurement {
    struct rb_measurement_options options;
    struct rb_arena arena;
    struct rb_store *store;
    struct rb_job job;
    struct rb_catalog catalog;
    const struct rb_offer *offer;
    const struct rb_provider_ops *ops;
    const char *infra;
    const struct rb_transport *transport; // how its nodes are reached
    struct rb_birth birth;
    bool local, loopback;
    char region[64];
    char run_id[128], run_dir[4096], workdir[4096], owner[160];
    int gpus[RB_GPU_COUNTS_MAX];
    int shares[RB_GPU_COUNTS_MAX], n_shares; // trials at once on one GPU, each > 1
    struct rb_loop_uv *uv;
    struct rb_http *http;
    struct rb_provider provider;
    struct rb_campaign *campaign;
    struct rb_err outcome;
    bool finished, interrupted;
    int claim_fd; // its lock shows that we are at work; 0: not yet
};

// Each fails before anything is launched. m->job must be filled in; then call them in this order.
bool rb_measurement_choose_place(struct rb_measurement *m, struct rb_err *err);
bool rb_measurement_choose_offer(struct rb_measurement *m, struct rb_err *err);
bool rb_measurement_choose_gpus(struct rb_measurement *m, int *out_n, struct rb_err *err);
bool rb_measurement_choose_shares(struct rb_measurement *m, struct rb_err *err);
bool rb_measurement_find_workdir(struct rb_measurement *m, const char *job_path, struct rb_err *err);
bool rb_measurement_open_provider(struct rb_measurement *m, struct rb_err *err);
// Everything is checked and agreed to. From here on there are files on disk, and Ctrl-C cleans up.
bool rb_measurement_begin(struct rb_measurement *m, struct rb_err *err);
bool rb_measurement_empty_workdir(struct rb_measurement *m, struct rb_err *err); // without a job: an empty bundle
// n_gpus 0: only the nodes' own times.
bool rb_measurement_carry_out(struct rb_measurement *m, int n_nodes, int n_gpus, struct rb_err *err);
void rb_measurement_finish(struct rb_measurement *m);

int rb_measurement_count_ok(const struct rb_measurement *m); // runs
int rb_measurement_count_nodes(const struct rb_measurement *m, int n_nodes, enum rb_pool_outcome outcome);
// Sets err to the reason; always false.
bool rb_measurement_nothing(const struct rb_measurement *m, int n_nodes, struct rb_err *err);
// Writes into the profile store: the times of the first n_nodes nodes, and the runs under a profile's name (NULL: there
// are no runs).
bool rb_measurement_store(struct rb_measurement *m, const char *profile, int n_nodes, struct rb_err *err);

#endif
