// The interface of a cloud: launch, list, look up, terminate and price machines. Every call is asynchronous on the loop
// and calls back exactly once. A call that may have had a side effect reports RB_ERR_UNKNOWN_OUTCOME when its outcome
// cannot be known: the caller repeats the identical request (same token) or looks the instance up; it never makes a new
// token. Any other error means that this call changed nothing and will change nothing later, whatever happened to
// earlier calls with the same token. Definite refusals: CAPACITY, DENIED (credentials, quota), INVALID (our fault),
// THROTTLED (no retries left). A provider keeps no list of instances: callers ask the cloud, by run tag. One provider
// is one file and one line in provider.c.
#ifndef RB_PROVIDERS_PROVIDER_H
#define RB_PROVIDERS_PROVIDER_H

#include "base/arena.h"
#include "base/errors/err.h"
#include "base/loop.h"
#include "profiles/catalog/catalog.h"
#include "profiles/catalog/reservation.h"
#include "providers/quota.h"

struct rb_http;
struct rb_resources;

struct rb_tag { const char *key, *value; };

// What every launch puts on all that it creates: by these, instances are found and recognised.
#define RB_TAG_NAME "Name"
#define RB_TAG_OWNER "rb:owner"
#define RB_TAG_RUN "rb:run-id"
#define RB_TAG_LAUNCH "rb:launch-id"
// The lease of an instance: an instant that the process which executes its run moves forward from time to time
// (executor/controller/lease.h). As long as the lease has not lapsed, some process, on this machine or another,
// executes the run.
#define RB_LEASE_TAG "rb:expires-at"

enum { RB_TAGS = 5 };
struct rb_tags { const char *name, *run_id, *launch_id, *owner, *expires_at; }; // NULL: without it
int rb_tags_list(const struct rb_tags *tags, struct rb_tag out[static RB_TAGS]); // those that are set, as they are written

struct rb_launch {
    const char *token;         // <= 64 ASCII characters: the idempotency key
    bool again;                // it was sent before, perhaps by a process that died; what it launched may have ended since
    const char *region, *zone; // zone NULL: the provider chooses
    const char *instance_type;
    int gpus;                  // of one machine, as the price list says; 0: none. For clouds where they are asked for by number
    enum rb_market market;
    const struct rb_reservation *reservation; // on this market: the one to launch into; NULL: on another market
    int count;                 // a gang: this many machines in one zone, all of them or none; 0: one
    const char *image_id;      // NULL: provider's default, error if it has none
    const char *user_data;     // raw, <= RB_LIMIT_USER_DATA
    int64_t disk_gb;           // 0: as the image says
    bool is_controller;        // its machine launches others: where rights come with a machine, it gets those of the launch
    bool may_move;             // the cloud may bring it to other hardware while it runs, where it can; else it ends then
    int64_t max_lifetime_s;    // the cloud itself ends the instance after this time, where it can; 0: no limit
    struct rb_tags tags;       // on everything the call creates
    const char *const *security_groups; int n_security_groups;
    const char *subnet, *instance_profile; // NULL: none
    // Instances of one group are placed close together, where the cloud has placement groups. The first launch that
    // names a group creates it, with the run's tags. NULL: anywhere.
    const char *placement_group;
};
// Sets what the job says of its network and rights: security groups, subnet, instance profile; borrowed.
void rb_launch_take(struct rb_launch *launch, const struct rb_resources *resources);
// Copies the launch and every text in it.
void rb_launch_copy(struct rb_arena *arena, const struct rb_launch *from, struct rb_launch *out);
void rb_launch_wipe(struct rb_launch *copy); // its user data, which may hold a host key: before the arena ends
int rb_launch_count(const struct rb_launch *launch); // how many machines it requests

enum rb_instance_state {
    RB_INSTANCE_PENDING,
    RB_INSTANCE_RUNNING,
    RB_INSTANCE_STOPPING,
    RB_INSTANCE_STOPPED,    // does not run, but its disk is billed until it is terminated
    RB_INSTANCE_TERMINATED,
};

// Strings are borrowed for the duration of the callback.
struct rb_instance {
    const char *id;
    enum rb_instance_state state;
    const char *address;          // for ssh: the public address if any, else the private one; NULL: none yet
    const char *private_address;  // for other nodes
    const char *instance_type, *zone, *region;
    enum rb_market market;
    bool market_unknown;          // the instance has ended and the cloud no longer reports its market
    const char *token;            // NULL: the cloud does not report it
    int member;                   // its index in its launch, from 0
    const char *run_id, *launch_id, *owner; // from its tags; NULL: the tag is gone
    const char *expires_at;       // from the tag RB_LEASE_TAG: the instant at which the lease lapses; NULL: no such tag
    int64_t running_at_us;        // unix; start of billing as the cloud reports it; -1: unknown
    int64_t pull_us;              // it runs: so much of the time since then its image was pulled; 0: not, or not by the cloud
    int64_t terminated_at_us;     // unix; -1: unknown, or not terminated
    const char *state_reason;     // e.g. "Server.SpotInstanceTermination"; of a pending one, why it waits. NULL: not said
    int64_t leaves_at_us;         // unix: it is being ended and its processes run until then at most; 0: it is not
    const struct rb_err *fault;   // it can never run as it was asked for: INVALID; NULL: none
    int64_t took_place_at_us;     // unix; an earlier instance of the same launch and member had ended by then; 0: both may live
    bool sold_out;                // the launch was accepted, but ended because the cloud had no machine for it
};

// Its fields that come from tags. value: of the tag with this key, NULL: it has none.
void rb_instance_read_tags(struct rb_instance *i, const char *(*value)(void *from, const char *key), void *from);

// err NULL: all requested instances (rb_launch_count of the launch, in order of their members; one for look).
typedef void rb_launch_fn(void *arg, const struct rb_err *err, const struct rb_instance *instances);
// complete = false: some region, zone or page did not answer, so absence proves nothing.
typedef void rb_list_fn(void *arg, const struct rb_err *err, const struct rb_instance *instances, int n, bool complete);
// err NULL: the launch would be allowed. An error about the image has the key resources.image_id. image_id: the image
// to launch, where the launch named it by a parameter or family whose image changes.
typedef void rb_preflight_fn(void *arg, const struct rb_err *err, const char *image_id);
// The quotas that the demands count against, borrowed for the call.
typedef void rb_quotas_fn(void *arg, const struct rb_err *err, const struct rb_quota *quotas, int n);
typedef void rb_terminate_fn(void *arg, const struct rb_err *err);
// A right that we do not have and that runs do without.
struct rb_lack { const char *right, *loss; }; // "list events", what is lost without it
typedef void rb_lacks_fn(void *arg, const struct rb_err *err, const struct rb_lack *lacks, int n); // borrowed
typedef void rb_regions_fn(void *arg, const struct rb_err *err, const char *const *names, int n); // borrowed
// What a run's launches created beside its instances: a placement group, or the object that the instances belong to. Found
// by its tags. Strings are borrowed for the duration of the callback.
struct rb_placement_group {
    const char *name, *run_id, *owner;
    bool in_use; // it carries a lease, which has not lapsed
};
typedef void rb_groups_fn(void *arg, const struct rb_err *err, const struct rb_placement_group *groups, int n);
typedef void rb_offers_fn(void *arg, const struct rb_err *err, const struct rb_catalog *catalog);
// What a machine cost on the spot market, from an instant on (unix).
struct rb_spot_change {
    const char *instance_type, *zone;
    int64_t at_us, uusd_per_hour;
};
typedef void rb_spot_history_fn(void *arg, const struct rb_err *err, const struct rb_spot_change *all, int n);

// What is left of each reservation: what is free now of those that have begun, and those that are to begin.
typedef void rb_reservations_fn(void *arg, const struct rb_err *err, const struct rb_reservation *all, int n);

struct rb_provider_config {
    const struct rb_loop *loop;
    struct rb_http *http;         // NULL: the provider makes no requests
    const char *region;
    bool loopback_only;           // infra mock/REGION: any other endpoint is refused
    int local_slots;              // local: GPUs of this machine
    const struct rb_catalog *prices; // of clouds, for clusters whose machines are theirs; NULL: none
    const struct rb_resources *resources; // of the job: outlives the provider; NULL: only the environment configures it
};

struct rb_provider_ops;
struct rb_provider {
    const struct rb_provider_ops *ops;
    void *state;
};

struct rb_provider_ops {
    const char *name;             // "aws", "local", "mock", ...
    const char *summary;
    bool launches_gangs;          // a launch may have more than one machine
    bool keeps_lifetimes;         // the cloud itself ends a machine after the max_lifetime_s of its launch
    bool grants_profiles;         // the instance profile of a launch is what its machine may do in this cloud
    const char *transport;        // how its nodes are reached: a name of executor/transport/transport.h; NULL: ssh
    const char *priced_as;        // a provider whose prices hold in its regions; NULL: it has its own
    const char *group_word;       // for people, what `groups` lists: "lease"; NULL: "placement group"
    bool groups_every_run;        // each run has such a group there; false: only one whose trials span nodes
    bool waits_in_queue;          // a launch may wait for a machine as long as it takes, at no cost
    bool lists_at_once;           // complete listings show every instance whose launch was answered before they were asked for
    bool keeps_addresses;         // an instance never gets another address: what answers at another is another machine
    bool is_in_process;           // called directly, not over a network: no copy of a request arrives after its answer
    bool (*create)(const struct rb_provider_config *config, struct rb_provider *out, struct rb_err *err);
    void (*destroy)(struct rb_provider *p); // before config.http; pending calls are dropped without an answer
    // For a gang: an answer with only some of its machines counts as UNKNOWN_OUTCOME; a refusal refuses all of them.
    void (*launch)(struct rb_provider *p, const struct rb_launch *launch, rb_launch_fn *fn, void *arg);
    // Lists the instances of a run (run_id NULL: of any run that carries our owner tag), terminated ones while they are
    // visible.
    void (*list)(struct rb_provider *p, const char *run_id, rb_list_fn *fn, void *arg);
    // Calls wake, from the loop and until destroy, when something of the run's instances may have changed: what, only a
    // listing says. It may miss changes, come for none, or never come. NULL: there is no such thing.
    void (*watch)(struct rb_provider *p, const char *run_id, rb_loop_fn *wake, void *arg);
    // Looks one instance up by its id, with or without tags; ended ones as long as the cloud remembers them (times as
    // in list). NOT_FOUND: the cloud does not know it, which proves nothing for a new instance. NULL: list reports
    // everything.
    void (*look)(struct rb_provider *p, const char *id, rb_launch_fn *fn, void *arg);
    // Terminates one instance. Success: the cloud accepted it and billing ends. NOT_FOUND is not success: list again. A
    // cloud that looks instances up where they are kept, not in a copy that lags, reports success for one that does not
    // exist.
    void (*terminate)(struct rb_provider *p, const char *id, rb_terminate_fn *fn, void *arg);
    // Writes this lease on all of these instances, which are of one run; writing it again changes nothing. Instances that no longer exist are
    // ignored. DENIED names the missing right. NULL: instances carry no lease.
    void (*renew)(struct rb_provider *p, const char *const *ids, int n, const struct rb_tag *lease, rb_terminate_fn *fn,
                  void *arg);
    // The cloud's own clock now, derived from its last answer (its Date header, whole seconds); unix, -1: no answer
    // yet. NULL: the cloud does not report its clock.
    int64_t (*clock_us)(const struct rb_provider *p);
    // Lists the placement groups of a run (run_id NULL: of any run that carries our owner tag), and deletes one; a
    // group that no longer exists is success, one with instances in it is IO, unless these end with it. NULL, both:
    // launches create no groups.
    void (*groups)(struct rb_provider *p, const char *run_id, rb_groups_fn *fn, void *arg);
    void (*end_group)(struct rb_provider *p, const char *name, rb_terminate_fn *fn, void *arg);
    // Dry run: may we launch this and terminate it? It launches nothing and ignores user data and token.
    // NULL: the cloud has no dry run.
    void (*preflight)(struct rb_provider *p, const struct rb_launch *launch, rb_preflight_fn *fn, void *arg);
    // Compares the demands with the account's quotas. NULL: the cloud has no quotas, or none that can be read.
    void (*quotas)(struct rb_provider *p, const struct rb_demand *demands, int n, rb_quotas_fn *fn, void *arg);
    // Lists the rights that we lack and do without. NULL: the cloud cannot be asked, or knows no such rights.
    void (*lacks)(struct rb_provider *p, rb_lacks_fn *fn, void *arg);
    // Where the job, too, says what a region's name stands for: do both jobs mean the same place? NULL: the name says it.
    bool (*same_place)(const struct rb_resources *a, const struct rb_resources *b);
    // The URL of its API, which answers with a Date without credentials. NULL: it answers only with them.
    bool (*endpoint)(const char *region, char *out, size_t size, struct rb_err *err);
    // Are there credentials, and where from? NULL: that is known only once they are used.
    bool (*find_credentials)(char out_source[static 128], struct rb_err *err);
    // When our credentials end, where nothing here renews them and only the user can: a token of the environment, a
    // certificate in a file, a login of single sign-on. unix, -1: never, or it is not known. NULL: likewise.
    int64_t (*credentials_end_us)(const struct rb_provider *p);
    // True if launches cost no real money: this machine, or a cloud on loopback.
    bool (*is_harmless)(const char *region);
    // Lists the regions that this account may use. NULL: one region shows all instances, or there are no regions.
    void (*regions)(struct rb_provider *p, rb_regions_fn *fn, void *arg);
    // Lists machine types and their current prices; NULL: prices only come from files.
    void (*offers)(struct rb_provider *p, const char *const *types, int n_types, rb_offers_fn *fn, void *arg);
    // Lists the region's spot prices of these types since an instant, and the one that held then, in no order. NULL: the cloud does
    // not tell what they were.
    void (*spot_history)(struct rb_provider *p, const char *const *types, int n_types, int64_t from_unix_us,
                         rb_spot_history_fn *fn, void *arg);
    // Lists the account's reservations of the region; makes and changes none. NULL: the cloud has none, or they cannot
    // be listed.
    void (*reservations)(struct rb_provider *p, rb_reservations_fn *fn, void *arg);
};

// Is it another machine than the one that was seen at this address ("": at none)? Only where addresses are kept.
bool rb_instance_is_another(const struct rb_provider *p, const char *address, const struct rb_instance *now);

extern const struct rb_provider_ops *const rb_provider_table[]; // sorted by name, NULL-terminated
// Splits infra "aws/us-east-1" into ops and region (out_region, 64 bytes). Unknown provider: INVALID with did-you-mean.
bool rb_provider_find(const char *infra, const struct rb_provider_ops **out, char out_region[static 64],
                      struct rb_err *err);

// The number of this machine's GPUs (nvidia-smi), or of its CPUs where it has none or of_cpus. RB_LOCAL_SLOTS overrides it.
int rb_local_slots(bool of_cpus, const char **out_accelerator);

#endif
