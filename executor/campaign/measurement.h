// What one measuring campaign holds, shared by the file that runs it and the file that stores and shows what it found.
#ifndef RB_COMMANDS_RBPROFILE_MEASUREMENT_H
#define RB_COMMANDS_RBPROFILE_MEASUREMENT_H

#include "base/arena.h"
#include "base/buf.h"
#include "executor/campaign/campaign.h"
#include "profiles/job/job.h"
#include "profiles/store/store.h"
#include "providers/provider.h"

#define RB_GPU_COUNTS_MAX 16 // of --gpus

struct rb_args;
struct rb_http;
struct rb_loop_uv;

// Everything one campaign needs, from the command line to the store.
struct rb_measurement {
    const struct rb_args *args;
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
    int claim_fd; // tells others that we are at work; 0: not yet
};

// Into the profile store: nodes of the first n_nodes, and the runs under a profile's name (NULL: there are none).
bool rb_measurement_store(struct rb_measurement *m, const char *profile, int n_nodes, struct rb_err *err);

// For people, and as one rb-campaign/1 document.
void rb_measurement_print_runs(const struct rb_measurement *m, struct rb_buf *out);
// What was noticed of the training script, with what to do about it; nothing where nothing was.
void rb_measurement_print_script(const struct rb_measurement *m, struct rb_buf *out);
void rb_measurement_print_nodes(const struct rb_measurement *m, int n_nodes, struct rb_buf *out);
void rb_measurement_write(const struct rb_measurement *m, int n_nodes, struct rb_buf *out);

#endif
