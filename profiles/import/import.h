// Imports files into the profile store: measurements and prices as CSV, recognised by their header, and hand-written
// rb-profile/1. The whole file is read and checked before anything is stored, so a bad one changes nothing.
#ifndef RB_PROFILES_IMPORT_H
#define RB_PROFILES_IMPORT_H

#include "profiles/import/import_capacity.h"
#include "profiles/store/store.h"

enum rb_import_format {
    RB_IMPORT_DETECT,     // .csv and .csv.gz by their header, everything else is a profile
    RB_IMPORT_PROFILE,    // rb-profile/1, YAML or JSON
    RB_IMPORT_THROUGHPUT, // placement,local_bsz,step_time,sync_time
    RB_IMPORT_PRICES,     // infra,instance_type,accelerator,gpus,...,usd_per_hour[,source,fetched_at]
    RB_IMPORT_PROVISION,  // infra,instance_type,market,queue_s,init_s,outcome
    RB_IMPORT_SPOT,       // infra,instance_type,timestamp,usd_per_hour,preempted
    RB_IMPORT_CAPACITY,   // set,kind,zone,instance_type,start_min,capacity
};
const char *rb_import_format_name(enum rb_import_format format); // "throughput-csv", ...
bool rb_import_format_parse(const char *s, enum rb_import_format *out, struct rb_err *err);

// What a file does not contain itself. NULL or 0: not given.
struct rb_import_options {
    enum rb_import_format format;
    const char *name;        // profile; needed by THROUGHPUT and CAPACITY, overrides the one in a PROFILE
    const char *accelerator; // THROUGHPUT
    double batch;            // THROUGHPUT: per GPU, the batch a trial trains with
    double units_per_epoch;  // THROUGHPUT: iterations per unit of resource on one GPU
    struct rb_capacity_options capacity;
};

struct rb_spot_price {
    const char *infra, *instance_type;
    int64_t at_us;
    struct rb_rate rate;
    int preempted; // -1 unknown
};

// One file's content, checked. Which arrays are filled depends on the format.
struct rb_import {
    struct rb_arena arena;
    enum rb_import_format format;
    const char *source;       // absolute path where there is one
    const char *profile_name; // NULL: belongs to no profile
    int n_rows;
    struct rb_profile profile;
    struct rb_catalog prices;
    const char *accelerator;
    double batch, units_per_epoch;
    struct rb_throughput_sample *throughputs; // [n_rows]
    struct rb_provision_sample *provisions;   // [n_rows]
    struct rb_spot_price *spots;              // [n_rows]
    const struct rb_spot_market *markets;          // [n_markets], CAPACITY
    int n_markets;
};

// Owns: finish *out with rb_import_finish.
bool rb_import_read(const char *path, const struct rb_import_options *options, struct rb_import *out,
                    struct rb_err *err);
void rb_import_finish(struct rb_import *i); // accepts a zeroed one

// Adds it to the store, dated now_us; earlier rows from the same file are replaced. The caller's transaction.
bool rb_import_store(const struct rb_import *i, struct rb_store *s, int64_t now_us, struct rb_err *err);

#endif
