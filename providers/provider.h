// A cloud in a few verbs. Every call is asynchronous on the loop and calls back exactly once. Calls that may have had a
// side effect answer RB_ERR_UNKNOWN_OUTCOME when nobody can know: the caller repeats the identical request (same token)
// or looks it up, never mints a new one. Any other error says that this call changed nothing and that nothing of it is on its
// way, whatever became of earlier calls with the same token. Definite refusals: CAPACITY, DENIED (credentials, quota), INVALID (our fault),
// THROTTLED (retries used up). A provider keeps no list of its own: truth is the cloud's, asked by run tag.
// One provider is one file and one line in provider.c.
#ifndef RB_PROVIDERS_PROVIDER_H
#define RB_PROVIDERS_PROVIDER_H

#include "base/arena.h"
#include "base/err.h"
#include "base/loop.h"
#include "profiles/catalog/catalog.h"
#include "providers/quota.h"

struct rb_http;
struct rb_slurm_spec;

struct rb_tag { const char *key, *value; };

// The lease of an instance: an instant that whoever carries its run out moves on from time to time (executor/controller/lease.h). A
// lease that has not lapsed says that somebody does, wherever that is.
#define RB_LEASE_TAG "rb:expires-at"

struct rb_launch {
    const char *token;         // <= 64 ASCII characters: the idempotency key
    bool again;                // it was sent before, perhaps by a process that died: what that made may have come and gone
    const char *region, *zone; // zone NULL: the provider chooses
    const char *instance_type;
    enum rb_market market;
    int count;                 // a gang: so many machines in one zone, all of them or none; 0: one
    const char *image_id;      // NULL: provider's default, error if it has none
    const char *user_data;     // raw, <= RB_LIMIT_USER_DATA
    int64_t disk_gb;           // 0: as the image says
    int64_t max_lifetime_s;    // after this the cloud itself ends it, where it can; 0: no bound
    const struct rb_tag *tags; // on everything the call creates
    int n_tags;
    const char *const *security_groups; int n_security_groups;
    const char *subnet, *instance_profile; // NULL: none
    // Instances of one group are placed close together, where the cloud knows such a thing. It is made, with the run's tags,
    // by the first launch that names it. NULL: anywhere.
    const char *placement_group;
};
// Copies the launch and every text in it.
void rb_launch_copy(struct rb_arena *arena, const struct rb_launch *from, struct rb_launch *out);
int rb_launch_count(const struct rb_launch *launch); // machines that it asks for

enum rb_instance_state {
    RB_INSTANCE_PENDING,
    RB_INSTANCE_RUNNING,
    RB_INSTANCE_STOPPING,
    RB_INSTANCE_STOPPED,    // at rest, its disk billed on: not over before somebody terminates it
    RB_INSTANCE_TERMINATED,
};

// Strings are borrowed for the duration of the callback.
struct rb_instance {
    const char *id;
    enum rb_instance_state state;
    const char *address;          // where ssh goes: public address if any, else private; NULL: not yet
    const char *private_address;  // what other nodes see
    const char *instance_type, *zone, *region;
    enum rb_market market;
    bool market_unknown;          // ended, and nobody says any more
    const char *token;            // NULL if the cloud does not say
    int member;                   // which one of its launch, from 0
    const char *run_id, *launch_id, *owner; // from tags rb:run-id, rb:launch-id, rb:owner; NULL if faded
    const char *expires_at;       // from the tag RB_LEASE_TAG: until when its run holds it, an instant; NULL: not said
    int64_t running_at_us;        // unix; billing start as the cloud says; -1 unknown
    int64_t terminated_at_us;     // unix; -1 unknown or not
    const char *state_reason;     // e.g. "Server.SpotInstanceTermination", NULL
    bool sold_out;                // ended because there was no machine for it, although it had been accepted
};

// err NULL: all that were asked for (rb_launch_count of the launch, in order of their members; of a look one).
typedef void rb_launch_fn(void *arg, const struct rb_err *err, const struct rb_instance *instances);
// complete = false: some region, zone or page did not answer; absence proves nothing.
typedef void rb_list_fn(void *arg, const struct rb_err *err, const struct rb_instance *instances, int n, bool complete);
// err NULL: it would be allowed. An error of the image has the key resources.image_id. image_id: the one to launch with, where the launch named it by something that moves.
typedef void rb_preflight_fn(void *arg, const struct rb_err *err, const char *image_id);
// The quotas that the demands count against, borrowed for the call.
typedef void rb_quotas_fn(void *arg, const struct rb_err *err, const struct rb_quota *quotas, int n);
typedef void rb_terminate_fn(void *arg, const struct rb_err *err);
typedef void rb_regions_fn(void *arg, const struct rb_err *err, const char *const *names, int n); // borrowed
// Of a run; by its tags. Strings are borrowed for the duration of the callback.
struct rb_placement_group { const char *name, *run_id, *owner; };
typedef void rb_groups_fn(void *arg, const struct rb_err *err, const struct rb_placement_group *groups, int n);
typedef void rb_offers_fn(void *arg, const struct rb_err *err, const struct rb_catalog *catalog);

struct rb_provider_config {
    const struct rb_loop *loop;
    struct rb_http *http;         // NULL: the provider makes no requests
    const char *region;
    bool loopback_only;           // infra mock/REGION: any other endpoint is refused
    int local_slots;              // local: GPUs of this machine
    const struct rb_slurm_spec *slurm; // slurm: outlives the provider; NULL: the environment says it all
};

struct rb_provider_ops;
struct rb_provider {
    const struct rb_provider_ops *ops;
    void *state;
};

struct rb_provider_ops {
    const char *name;             // "aws", "local", "mock", ...
    const char *summary;
    bool launches_gangs;          // a launch may be of more than one machine
    const char *transport;        // how its nodes are reached: a name of executor/transport/transport.h; NULL: ssh
    const char *priced_as;        // a provider whose prices hold in its regions; NULL: it has its own
    bool waits_in_queue;          // a launch may wait for a machine as long as it takes, at no cost
    bool is_in_process;           // asked by a call and not over a network: no copy of a request arrives after its answer
    bool (*create)(const struct rb_provider_config *config, struct rb_provider *out, struct rb_err *err);
    void (*destroy)(struct rb_provider *p); // before config.http; calls under way are dropped without an answer
    // Of a gang: an answer with some of its machines is none (UNKNOWN_OUTCOME), and a refusal is one of all of them.
    void (*launch)(struct rb_provider *p, const struct rb_launch *launch, rb_launch_fn *fn, void *arg);
    // Instances of a run (run_id NULL: of any run that carries our owner tag), terminated ones included while visible.
    void (*list)(struct rb_provider *p, const char *run_id, rb_list_fn *fn, void *arg);
    // One instance by its id, tags or not, ended ones for as long as the cloud remembers them (times as in list). NOT_FOUND:
    // the cloud does not know it, which of a new instance proves nothing. NULL: list says all there is to say.
    void (*look)(struct rb_provider *p, const char *id, rb_launch_fn *fn, void *arg);
    // Ask for the end of one instance. Success: accepted (billing ends). NOT_FOUND is not success: list again. A cloud that
    // finds instances by name where they are kept, not in a copy that lags, answers success for one that is not there.
    void (*terminate)(struct rb_provider *p, const char *id, rb_terminate_fn *fn, void *arg);
    // Writes that lease on all of these instances of ours; done twice it does no more than done once. Those that are not
    // there any more do not matter. DENIED names the right that is missing. NULL: instances carry no lease.
    void (*renew)(struct rb_provider *p, const char *const *ids, int n, const struct rb_tag *lease, rb_terminate_fn *fn,
                  void *arg);
    // What the cloud's own clock shows now, by what its last answer said (its Date header, whole seconds); unix, -1: it has
    // not said. NULL: it never does.
    int64_t (*clock_us)(const struct rb_provider *p);
    // Placement groups of a run (run_id NULL: of any run that carries our owner tag), and the end of one; one that is gone
    // already is success, one with instances in it is IO. NULL, both: launches make none.
    void (*groups)(struct rb_provider *p, const char *run_id, rb_groups_fn *fn, void *arg);
    void (*end_group)(struct rb_provider *p, const char *name, rb_terminate_fn *fn, void *arg);
    // Would this launch be allowed, and the end of what it launches? Launches nothing; user data and token do not matter.
    // NULL: the cloud cannot be asked.
    void (*preflight)(struct rb_provider *p, const struct rb_launch *launch, rb_preflight_fn *fn, void *arg);
    // Is there room for the demands in the account's quotas? NULL: the cloud has none, or cannot be asked.
    void (*quotas)(struct rb_provider *p, const struct rb_demand *demands, int n, rb_quotas_fn *fn, void *arg);
    // The URL of its API, which answers with a Date whoever asks. NULL: only those whom it knows get an answer.
    bool (*endpoint)(const char *region, char *out, size_t size, struct rb_err *err);
    // Are there credentials, and where from? NULL: that is known only once they are used.
    bool (*find_credentials)(char out_source[static 128], struct rb_err *err);
    // Would it buy nothing for real money: this machine, or a cloud on loopback?
    bool (*is_harmless)(const char *region);
    // The regions of this cloud that this account may use. NULL: a region sees all of them, or there are none.
    void (*regions)(struct rb_provider *p, rb_regions_fn *fn, void *arg);
    // Machine types and current prices; NULL if prices only come from files.
    void (*offers)(struct rb_provider *p, const char *const *types, int n_types, rb_offers_fn *fn, void *arg);
};

extern const struct rb_provider_ops *const rb_provider_table[]; // sorted by name, NULL-terminated
// infra "aws/us-east-1" -> ops and region (into out_region, 64 bytes). Unknown provider: INVALID with did-you-mean.
bool rb_provider_find(const char *infra, const struct rb_provider_ops **out, char out_region[static 64],
                      struct rb_err *err);

// This machine's GPUs, or 0 when it has none (nvidia-smi), and its CPU slots otherwise.
int rb_local_slots(const char **out_accelerator); // RB_LOCAL_SLOTS overrides

#endif
