// Leases show on any machine whether the run of an instance is alive. Every instance carries a time as a tag
// (RB_LEASE_TAG), half an hour ahead. The controller moves it forward every ten minutes for all instances that may
// exist. A lapsed lease means that the controller has gone: `rbrun gc` then ends the instance, on any machine or in any
// container. Leases are written and judged by the cloud's clock where the cloud shows one, because the clocks of
// machines differ.
#ifndef RB_EXECUTOR_LEASE_H
#define RB_EXECUTOR_LEASE_H

#include "base/loop.h"
#include "providers/provider.h"

enum {
    RB_LEASE_S = 1800,
    RB_LEASE_RENEWALS = 3, // within the length of a lease: two may fail
    RB_LEASE_RETRY_S = 60, // after one that failed
};

// The state of an instance's lease.
enum rb_lease_state {
    RB_LEASE_FRESH,   // its run is alive
    RB_LEASE_LAPSED,  // its controller has gone
    RB_LEASE_NONE,    // none, or one from a version without leases
    RB_LEASE_UNKNOWN, // the cloud does not show its clock: counts as fresh
};
// expires_at: as in struct rb_instance, NULL: none. clock_us: the cloud's, -1: unknown.
enum rb_lease_state rb_lease_state(const char *expires_at, int64_t clock_us);

// Writes the tag's text for a lease that ends at until_us, in whole seconds.
void rb_lease_format(int64_t until_us, char out[static 32]);

// Keeps the leases of one provider's instances.
struct rb_lease_keeper_config {
    const struct rb_loop *loop;
    struct rb_provider *provider;
    const char *infra;  // for people
    int64_t length_us;  // of a lease; 0: RB_LEASE_S
    // Calls add for every instance that may exist.
    void (*each)(void *ctx, void (*add)(void *to, const char *instance_id), void *to);
    // Reports a sentence about what went wrong; called at most once.
    void (*warn)(void *ctx, const char *text);
    void *ctx;
};
struct rb_lease_keeper;

// Renews at once, and then before each lease lapses. NULL: instances of this provider carry no lease.
struct rb_lease_keeper *rb_lease_keeper_create(const struct rb_lease_keeper_config *config);
void rb_lease_keeper_destroy(struct rb_lease_keeper *k); // NULL is fine; the provider must not call back any more
// An instance is known from now on; it was launched with a lease until until_us. The first instance, and one with
// little time left, is renewed at once. k may be NULL.
void rb_lease_keeper_add(struct rb_lease_keeper *k, int64_t until_us);

#endif
