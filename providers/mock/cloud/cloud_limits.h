// Limits a mock cloud: quotas, pools whose size changes over time, and request rates. Part of rb-mock/1; if several
// limits apply, the refusal names the first.
//
//   quotas:      # an account's: instances pending, running and stopping, summed over a region
//     - {name: G and VT Spot, code: L-3819A6DF, infra: aws, instance_type: "g*", market: spot, unit: vcpus, max: 64}
//   pools:       # the number of machines over the cloud's age; a spot pool that shrinks takes back the youngest
//     - {instance_type: g5.xlarge, zone: us-east-1a, market: spot, steps: [{after_s: 0, max: 4}, {after_s: 600, max: 1}]}
//                  # a spot pool may have a usd_per_hour in every step, which is billed from then on
//   market:      # a table of capacity (profiles/catalog/capacity.h) as pools: the cloud begins at from_s of its set
//     {table: capacity.csv, set: v100-9zones-2023-02, from_s: 0}
//   throttle:    # token buckets, per region and action; an action not named is never throttled
//     - {action: RunInstances, burst: 5, per_s: 2}
#ifndef RB_PROVIDERS_MOCK_CLOUD_LIMITS_H
#define RB_PROVIDERS_MOCK_CLOUD_LIMITS_H

#include "base/arena.h"
#include "base/document/doc.h"
#include "profiles/catalog/capacity.h"

enum rb_cloud_unit { RB_CLOUD_INSTANCES, RB_CLOUD_VCPUS, RB_CLOUD_GPUS };

// Which offers a limit is about.
struct rb_cloud_scope {
    const char *infra;         // as rb_infra_within; "*": all
    const char *instance_type; // a glob
    bool any_market;
    enum rb_market market;
};

struct rb_cloud_quota {
    const char *name;
    const char *code; // of Service Quotas, which lists it then; NULL: none
    struct rb_cloud_scope scope;
    bool all_regions; // summed over all regions of the infra's provider, as GPUS_ALL_REGIONS is
    enum rb_cloud_unit unit;
    int64_t max;
};

struct rb_cloud_pool {
    struct rb_cloud_scope scope;
    const char *zone; // NULL: all zones together
    const struct rb_capacity_step *steps; // [n_steps], by the cloud's age; before the first one the pool is never short
    int n_steps;
};

struct rb_cloud_bucket {
    const char *action;
    double burst, per_s;
};

struct rb_cloud_limits {
    const struct rb_cloud_quota *quotas;
    const struct rb_cloud_pool *pools;
    const struct rb_cloud_bucket *buckets;
    int n_quotas, n_pools, n_buckets;
};

// Each list may be NULL: none. Errors: INVALID with file, line and key.
bool rb_cloud_limits_read(const struct rb_node *quotas, const struct rb_node *pools, const struct rb_node *throttle,
                          struct rb_arena *arena, struct rb_cloud_limits *out, struct rb_err *err);
// Adds the pools of `market`. directory: the table's path is relative to it; NULL: to this process's.
bool rb_cloud_market_read(const struct rb_node *market, const char *directory, struct rb_arena *arena,
                          struct rb_cloud_limits *limits, struct rb_err *err);

bool rb_cloud_scope_holds(const struct rb_cloud_scope *s, const struct rb_offer *o);
int64_t rb_cloud_units_of(const struct rb_offer *o, enum rb_cloud_unit unit);

#endif
