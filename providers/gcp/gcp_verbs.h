// Inside the provider of Compute Engine only: its state, its verbs (as provider.h has them; one file each, which says
// how), and what they share.
#ifndef RB_PROVIDERS_GCP_VERBS_H
#define RB_PROVIDERS_GCP_VERBS_H

#include "providers/gcp/google_client.h"
#include "providers/listing.h"
#include "providers/provider.h"

struct rb_gcp {
    const struct rb_loop *loop;
    struct rb_google_client *client;
    const char *project;
    char region[64];
};

void rb_gcp_launch(struct rb_provider *p, const struct rb_launch *what, rb_launch_fn *fn, void *arg);
void rb_gcp_look(struct rb_provider *p, const char *id, rb_launch_fn *fn, void *arg);
void rb_gcp_preflight(struct rb_provider *p, const struct rb_launch *what, rb_preflight_fn *fn, void *arg);
void rb_gcp_renew(struct rb_provider *p, const char *const *ids, int n, const struct rb_tag *lease, rb_terminate_fn *fn,
                  void *arg);
void rb_gcp_quotas(struct rb_provider *p, const struct rb_demand *demands, int n, rb_quotas_fn *fn, void *arg);
void rb_gcp_reservations(struct rb_provider *p, rb_reservations_fn *fn, void *arg);
void rb_gcp_offers(struct rb_provider *p, const char *const *types, int n_types, rb_offers_fn *fn, void *arg);

// When an instance that is known not to exist ran, according to the operations on it. fn and NOT_FOUND as in look; drop
// instead of fn if the client is destroyed first.
void rb_gcp_look_back(const struct rb_gcp *gcp, const char *id, rb_launch_fn *fn, rb_loop_fn *drop, void *arg);

// --- what happened to the machines of one launch in one zone, one by one, by their names (gcp_members.c) ---

struct rb_gcp_members_question {
    const char *zone, *launch_id; // outlive the question, as all of it
    const char *const *names;     // [n]
    int n;
    bool over; // the operation that creates them has ended: missing ones will not come
};

// For each that does not exist, the operations show whether it was created and ended, or never created.
struct rb_gcp_members {
    struct rb_instance *instances; // [n], those that were never created have no id
    int n;
    int n_there, n_ended;
    bool forgotten; // we may not read what happened to some that do not exist
};

// err: the outcome is unknown. NOT_FOUND: one does not exist, and the operation is not over. INVALID: an instance of
// that name exists and belongs to another launch.
typedef void rb_gcp_members_fn(void *arg, const struct rb_err *err, const struct rb_gcp_members *members);

// Decoded values live in the arena. fn is called once, from the loop; or drop if the client is destroyed first.
void rb_gcp_members(const struct rb_gcp *gcp, const struct rb_gcp_members_question *question, struct rb_arena *arena,
                    rb_gcp_members_fn *fn, rb_loop_fn *drop, void *arg);

// --- permissions ---

// Those that preflight checks: those of the role file (docs/policies/gcp-role.yaml), in its order. NULL-terminated.
extern const char *const rb_gcp_permissions[];

#endif
