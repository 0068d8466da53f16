// What a plan demands of an account's quotas, and the sums that are compared with the quotas of every cloud.
#ifndef RB_PROVIDERS_QUOTA_H
#define RB_PROVIDERS_QUOTA_H

#include "profiles/catalog/catalog.h"

// A number of machines of a type. Demands of one moment add up; those of different moments do not.
struct rb_demand {
    int moment;
    int count;
    const char *instance_type, *accelerator; // of the catalogue; "CPU": none
    enum rb_market market;
    double gpus;                             // of one machine
    double vcpus;                            // likewise; negative: the provider has to find out
};

struct rb_quota {
    const char *name;  // the cloud's own name, by which the user finds it there
    const char *unit;  // "vCPUs"
    double limit;      // negative: the cloud does not report it
    double used;       // by all users of the account; negative: likewise
    double wanted;     // the largest sum over all moments
};

// Copies the demands with their texts.
struct rb_demand *rb_demands_copy(const struct rb_demand *demands, int n, struct rb_arena *arena);

// Returns how much one machine of the demand counts; 0: the quota does not apply to it.
typedef double rb_demand_units_fn(const struct rb_demand *d, const void *ctx);
double rb_demand_peak(const struct rb_demand *demands, int n, rb_demand_units_fn *units, const void *ctx);

#endif
