// A few nodes for a measuring campaign: launched together, followed until they are ready, ended, and confirmed gone.
// There is no engine and no journal: a campaign that is killed leaves nodes that end themselves if their switch is
// armed, and that `rbrun gc` finds by their tags.
#ifndef RB_EXECUTOR_NODE_POOL_H
#define RB_EXECUTOR_NODE_POOL_H

#include "executor/transport/transport.h"
#include "profiles/catalog/catalog.h"
#include "providers/provider.h"

struct rb_pool_config {
    const struct rb_loop *loop;
    struct rb_provider *provider;
    const char *infra;              // "aws/us-east-1"
    const struct rb_offer *offer;
    const struct rb_job *job;       // image, disk, subnets, ...
    const char *run_id, *owner;
    const char *user;
    int port;
    int64_t poll_us;                // listing period
    int64_t boot_timeout_us;
    const struct rb_transport *transport; // how the nodes are reached
    const struct rb_birth *birth;   // what they are launched with
    int n_nodes;
    // A node is ready, or never will be (err set). The pool continues either way.
    void (*ready)(void *ctx, int node, const struct rb_err *err);
    // Every instance of the run was seen terminated; err set: that could not be confirmed, and what to do.
    void (*gone)(void *ctx, const struct rb_err *err);
    void *ctx;
};

enum rb_pool_outcome { RB_POOL_WAITING, RB_POOL_READY, RB_POOL_CAPACITY, RB_POOL_TIMEOUT, RB_POOL_FAILED };

struct rb_pool_node {
    enum rb_pool_outcome outcome;
    char instance_id[128], address[128];
    // Loop time; running: as the cloud reports it, if it does; -1: not yet.
    int64_t requested_us, running_us, prepared_us;
    int64_t pull_us; // so long the image of its container was pulled; 0: it was not, or that is not known
    int64_t data_us; // so long it has fetched the job's data before it was prepared
};

struct rb_pool;

struct rb_pool *rb_pool_create(const struct rb_pool_config *config);
void rb_pool_destroy(struct rb_pool *p); // NULL is fine; ends nothing: call rb_pool_end first
bool rb_pool_start(struct rb_pool *p, struct rb_launcher *launcher, struct rb_err *err);
// Pass the launcher's events of these names to them.
void rb_pool_prepared(struct rb_pool *p, int node, const struct rb_err *err);
void rb_pool_waiting(struct rb_pool *p, int node, const char *why);
void rb_pool_fetching(struct rb_pool *p, int node, bool on);
void rb_pool_fetched(struct rb_pool *p, int node, int64_t us);
void rb_pool_pulled(struct rb_pool *p, int node, int64_t us);
void rb_pool_end(struct rb_pool *p); // terminates all, then calls `gone`; a second call does nothing
const struct rb_pool_node *rb_pool_node(const struct rb_pool *p, int node);

#endif
