// Computes prices of machines from Google's price list, which prices parts: an hour of a core, of a GiB of memory, of a
// GPU. A machine is the sum of its parts. Only families whose parts we know by name have a price; any other is an
// error, as is a part that the list does not hold, or holds twice: unknown is never free. Pure. Source:
// services.skus.list of the Cloud Billing API; the SKUs' descriptions, as of 2026-08.
#ifndef RB_PROVIDERS_GCP_PRICES_H
#define RB_PROVIDERS_GCP_PRICES_H

#include "base/arena.h"
#include "base/document/doc.h"
#include "profiles/catalog/catalog.h"

enum rb_gcp_part { RB_GCP_CORE, RB_GCP_MEMORY, RB_GCP_GPU, RB_GCP_N_PARTS };

// A machine to be priced, and the parts found so far.
struct rb_gcp_priced {
    const char *instance_type;          // as in our price lists
    const char *accelerator;            // "L4"; "CPU": none
    double gpu_memory_gb;
    int64_t cpus, memory_mib, gpus;     // of the machine type; gpus 0: none
    const char *names[RB_GCP_N_PARTS];  // what their SKUs are called, NULL: it has no such part
    // Price of one unit for an hour in 10^-9 dollars, by market; -1: not found yet.
    int64_t nanos[2][RB_GCP_N_PARTS];
};

// PRICE: no rule for this family; the user needs a price list of their own.
bool rb_gcp_priced_begin(const char *instance_type, struct rb_gcp_priced *out, struct rb_err *err);
// From an answer of machineTypes.aggregatedList: cores, memory, GPUs. NOT_FOUND if no zone of the region has the type.
bool rb_gcp_priced_machine(const char *body, size_t n, const char *region, struct rb_gcp_priced *p, struct rb_err *err);
// From a page of SKUs: the parts of all n machines. out_next: page after this one, "" if it was the last (512 bytes).
bool rb_gcp_priced_page(const char *body, size_t size, const char *region, struct rb_gcp_priced *machines, int n,
                        char *out_next, struct rb_err *err);
// The sum, rounded up to the micro-dollar. PRICE: a part is missing, by the name its SKU should have.
bool rb_gcp_priced_rate(const struct rb_gcp_priced *p, enum rb_market market, struct rb_rate *out, struct rb_err *err);

#endif
