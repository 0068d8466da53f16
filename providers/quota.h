// What a plan asks of an account's quotas: values, and the sums that every cloud's quotas are compared by.
#ifndef RB_PROVIDERS_QUOTA_H
#define RB_PROVIDERS_QUOTA_H

#include "profiles/catalog/catalog.h"

// So many machines of a type. Demands of one moment add up, those of different moments do not.
struct rb_demand {
    int moment;
    int count;
    const char *instance_type, *accelerator; // of the catalogue; "CPU": none
    enum rb_market market;
    double gpus;                             // of one machine
    double vcpus;                            // likewise; negative: the provider has to ask
};

struct rb_quota {
    const char *name;  // as the cloud calls it, and how to find it there
    const char *unit;  // "vCPUs"
    double limit;      // negative: the cloud did not say
    double used;       // by everybody in the account; negative: likewise
    double wanted;     // at the worst of all moments
};

// With their texts.
struct rb_demand *rb_demands_copy(const struct rb_demand *demands, int n, struct rb_arena *arena);

// What one machine of the demand counts: 0 if the quota is not about it.
typedef double rb_demand_units_fn(const struct rb_demand *d, const void *ctx);
double rb_demand_peak(const struct rb_demand *demands, int n, rb_demand_units_fn *units, const void *ctx);

#endif
