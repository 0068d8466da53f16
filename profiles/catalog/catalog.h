// Lists instance types and their prices, from price CSV files or the store. An unknown price is a missing row, never 0.
#ifndef RB_PROFILES_CATALOG_H
#define RB_PROFILES_CATALOG_H

#include "base/arena.h"
#include "base/document/csv.h"
#include "base/document/json.h"
#include "base/text/units.h"

enum rb_market { RB_MARKET_ON_DEMAND, RB_MARKET_SPOT, RB_MARKET_RESERVED };
const char *rb_market_name(enum rb_market m); // "on_demand", "spot", "reserved"
const char *rb_market_mark(enum rb_market m); // behind a machine's name, for people: "", " (spot)", " (reserved)"
// A market on which machines are on sale: reservations are in jobs.
bool rb_market_parse(const char *s, enum rb_market *out, struct rb_err *err);

struct rb_reservation; // profiles/catalog/reservation.h

// An offer: one machine type in one region on one market, at one price. A reservation is a market of its own.
struct rb_offer {
    const char *infra;         // "aws/us-east-1", "aws/us-east-1/us-east-1a" where prices differ by zone, "local", ...
    const char *instance_type;
    const char *accelerator;   // "A10G"; "CPU" for machines without one
    int gpus;                  // GPUs, or slots
    double gpu_memory_gb, vcpus, memory_gb;
    enum rb_market market;
    struct rb_rate rate;
    bool declared_free;        // the only way a rate may be 0 (local, slurm, a reservation)
    int64_t release_s;         // seconds for which its machine is billed after the node's end; set in a plan, 0 in lists
    const char *source;        // the source of the price
    int64_t fetched_at_us;     // unix microseconds; -1 unknown
    struct rb_reservation *reservation; // RB_MARKET_RESERVED: what it is of; else NULL
};

// By infra, instance type, market and reservation. 0: one offer.
int rb_offer_compare(const struct rb_offer *a, const struct rb_offer *b);

// May the price have changed since it was fetched? On-demand prices change a few times a year (30 days), spot prices
// several times a day (1 day). False if it is declared free, or if the time of fetching is unknown.
enum { RB_OLD_ON_DEMAND_DAYS = 30, RB_OLD_SPOT_DAYS = 1 };
bool rb_offer_is_old(const struct rb_offer *o, int64_t now_us);

struct rb_catalog {
    struct rb_offer *offers;   // [n_offers], canonical order: rb_offer_compare
    int n_offers;
    // USD per GB-hour of disk per infra: rows with instance_type "disk".
    struct rb_disk_price { const char *infra; struct rb_rate per_gb; } *disks;
    int n_disks;
};

// Header: infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour[,source,fetched_at]
bool rb_catalog_from_csv(const struct rb_csv *csv, struct rb_arena *arena, struct rb_catalog *out, struct rb_err *err);
// Adds the built-in row for this machine: infra "local", instance_type "local", `slots` GPUs, price 0 declared. An
// existing row is kept.
void rb_catalog_add_local(struct rb_catalog *c, struct rb_arena *arena, const char *accelerator, int slots);

// Adds another list in `arena`; existing prices of *c stay. sort: restores the canonical order; call it after the last.
void rb_catalog_add(struct rb_catalog *c, const struct rb_catalog *more, struct rb_arena *arena);
void rb_catalog_sort(struct rb_catalog *c);

// Disk price for an infra (a zone without its own has its region's; local: 0), or an error RB_ERR_PRICE.
bool rb_catalog_disk_rate(const struct rb_catalog *c, const char *infra, struct rb_rate *out, struct rb_err *err);

#endif
