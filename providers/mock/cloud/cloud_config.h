// Reads what a mock cloud sells and how it behaves: rb-mock/1, or the built-in default. Immutable after reading.
//
//   format: rb-mock/1
//   prices: prices.csv          # beside this file; the price CSV of `rbprofile import`; rows of aws/*, mock/* and gcp/*
//   provisioning:               # as in rb-profile/1; first match wins
//     - {infra: aws, instance_type: "*", market: "*", queue_s: 2, init_s: {distribution: lognormal, mean: 3, cv: 0.3}}
//   ssh_port: 2222              # every node's sshd
//   capacity: {g5.xlarge: 4}    # at most this many at a time; other types are never short
//   shutdown_s: 1               # from shutting-down to terminated
//   visible_after_s: 2          # from the launch to the first listing that shows the instance
//   tags_fade_s: 300            # a terminated instance loses one tag every so often
//   token_lifetime_s: 3600      # of an OAuth2 access token
//   images: [ami-0123456789abcdef0, projects/p/global/images/i]   # known besides the built-in ones
//   parameters: {/aws/service/x: ami-0123456789abcdef0}   # of Systems Manager: what images are published under
//   denied: [compute.instances.delete]   # permissions of Compute Engine that are refused
//   quotas, pools, market, throttle # cloud_limits.h
//   reservations                # cloud_reserved.h
//   kubernetes                  # cloud_kubernetes.h
#ifndef RB_PROVIDERS_MOCK_CLOUD_CONFIG_H
#define RB_PROVIDERS_MOCK_CLOUD_CONFIG_H

#include "base/arena.h"
#include "profiles/catalog/catalog.h"
#include "profiles/store/profile.h"
#include "providers/mock/cloud/chaos.h"
#include "providers/mock/cloud/cloud_kubernetes.h"
#include "providers/mock/cloud/cloud_limits.h"
#include "providers/mock/cloud/cloud_reserved.h"

struct rb_cloud_capacity {
    const char *instance_type;
    int max; // pending, running and stopping instances together
};

// A public parameter of AWS Systems Manager.
struct rb_cloud_parameter {
    const char *name, *image;
};

struct rb_cloud_config {
    uint64_t seed;
    int64_t epoch_us;                 // when this cloud began, unix; with the seed it makes ids unique across runs
    struct rb_catalog catalog;        // offers of EC2 and Compute Engine regions only
    struct rb_profile provisioning;   // only its provisioning list is filled
    struct rb_dist shutdown_s, visible_after_s;
    int64_t tags_fade_us;             // INT64_MAX: they stay
    int64_t token_lifetime_us;
    struct rb_cloud_limits limits;
    struct rb_cloud_reserved_list reserved;
    struct rb_cloud_kubernetes kubernetes;
    struct rb_chaos_rules chaos;      // the caller's, like the seed
    bool whole_seconds;               // the caller's: Compute Engine's instants, too, are shown and billed in whole seconds
    const struct rb_cloud_capacity *capacity;
    int n_capacity;
    const char *const *images;        // EC2's image ids, the first is the default
    int n_images;
    const char *const *gcp_images;    // projects/P/global/images/I, the first is the default
    int n_gcp_images;
    const struct rb_cloud_parameter *parameters;
    int n_parameters;
    const char *const *denied;        // Compute Engine's permissions
    int n_denied;
    int ssh_port;
    uint32_t first_address;           // IPv4, host byte order; instances take consecutive ones
    uint32_t n_addresses;
};

// Reads FILE.yaml and the price list it names; everything lives in `arena`. seed, epoch and addresses are the caller's.
// Errors: INVALID with file, line and key, an offer that no provisioning entry covers included.
bool rb_cloud_config_read(const char *path, struct rb_arena *arena, struct rb_cloud_config *out, struct rb_err *err);
// The same from text: `directory` is where a relative `prices:` is looked up, NULL: prices_csv is used instead of the
// file.
bool rb_cloud_config_parse(const char *name, const char *yaml, const char *prices_csv, const char *directory,
                           struct rb_arena *arena, struct rb_cloud_config *out, struct rb_err *err);
// A few GPU machines of us-east-1 and us-west-2 (default_cloud.c: figures and their sources).
bool rb_cloud_config_default(struct rb_arena *arena, struct rb_cloud_config *out, struct rb_err *err);

// The boot behaviour of an offer; never NULL for an offer of a config that was read without error.
const struct rb_provisioning *rb_cloud_config_provisioning(const struct rb_cloud_config *c,
                                                           const struct rb_offer *offer);

#endif
