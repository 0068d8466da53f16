// Compute Engine's price list has no machines, only their parts: an hour of a core, of a GiB of memory, of a GPU. This
// module computes prices of parts from the mock's own price list, so that the parts of each machine add up to its price
// to the micro-dollar, and reports the row that does not fit where no such prices exist. Pure.
#ifndef RB_PROVIDERS_MOCK_GCP_SKUS_H
#define RB_PROVIDERS_MOCK_GCP_SKUS_H

#include "base/arena.h"
#include "profiles/catalog/catalog.h"

enum rb_gcp_sku_kind { RB_GCP_SKU_CORE, RB_GCP_SKU_MEMORY, RB_GCP_SKU_GPU };

struct rb_gcp_sku {
    const char *part;       // "A2 Instance Core", "Nvidia L4 GPU"
    enum rb_gcp_sku_kind kind;
    const char *group;      // resource group: "CPU", "RAM", "GPU"
    const char *region;
    enum rb_market market;
    int64_t nanos;          // 10^-9 dollars for an hour of one
};
struct rb_gcp_skus {
    struct rb_gcp_sku *skus; // [n], by region, market and part
    int n;
};

// Prices of the parts of all gcp rows with known parts; other rows have none. Everything lives in the arena.
// Errors: PRICE, naming the row whose price is not the sum of the parts that the other rows of its region ask for.
bool rb_gcp_skus_of(const struct rb_catalog *catalog, struct rb_arena *arena, struct rb_gcp_skus *out,
                    struct rb_err *err);

#endif
