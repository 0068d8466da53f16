// Simulates the cloud: machines are launched, boot, run, end and are billed. Pure: it does no I/O, reads no clock and
// has no wire format. Fronts (mock_ec2.h) translate requests into its verbs; nodes.h carries out its orders and reports
// back; every call that may change something takes the time.
//
//   pending --queueing delay--> running --initialisation--> node boots (order) --> node ready (event)
//      |                           |  terminate, shutdown from inside, interruption, end of its allowed time
//      |no capacity                v
//      +----------------------> shutting-down (billing ended, order END) --> terminated
#ifndef RB_PROVIDERS_MOCK_CLOUD_H
#define RB_PROVIDERS_MOCK_CLOUD_H

#include "profiles/catalog/billing.h"
#include "providers/mock/cloud/chaos.h"
#include "providers/mock/cloud/cloud_config.h"
#include "providers/mock/cloud/cloud_regions.h"

enum rb_cloud_state {
    RB_CLOUD_PENDING,
    RB_CLOUD_RUNNING,
    RB_CLOUD_SHUTTING_DOWN,
    RB_CLOUD_TERMINATED,
    RB_CLOUD_STOPPING,
    RB_CLOUD_STOPPED, // the disk is still paid for; nothing here starts it again
};

// Why an instance ended.
enum rb_cloud_cause {
    RB_CLOUD_CAUSE_NONE,
    RB_CLOUD_CAUSE_USER,     // terminated through the API
    RB_CLOUD_CAUSE_GUEST,    // shut down from inside
    RB_CLOUD_CAUSE_CAPACITY, // the cloud had no machine at the end of the queueing delay
    RB_CLOUD_CAUSE_TAKEN,    // a spot instance that the cloud preempted
    RB_CLOUD_CAUSE_EXPIRED,  // its allowed time was over
};

// Events of a running instance; the first of two at one instant counts.
enum rb_cloud_due {
    RB_CLOUD_DUE_EXPIRE,
    RB_CLOUD_DUE_TAKEN,
    RB_CLOUD_DUE_SHUTDOWN, // requested from inside
    RB_CLOUD_DUE_DARK,     // its node dies, unnoticed by the cloud
    RB_CLOUD_DUE_BOOT,
    RB_CLOUD_N_DUE,
};

struct rb_cloud_tag {
    const char *key, *value;
};

// The parameters of an EC2 launch that descriptions repeat; they have no effect on the cloud.
struct rb_cloud_traits {
    const char *subnet;                 // NULL: the zone's default one
    const char *const *security_groups; // [n_security_groups]; none: the default one
    int n_security_groups;
    bool monitoring, ebs_optimized;
    const char *http_tokens, *http_endpoint, *metadata_tags; // of the metadata service
    int64_t hop_limit;
    const char *volume_type;            // where a disk was asked for
    int64_t volume_iops, volume_throughput; // throughput 0: that type has none
    const struct rb_cloud_tag *volume_tags;
    int n_volume_tags;
};

// A cluster placement group: while it has instances they are all in one zone.
struct rb_cloud_group {
    char id[20];                  // pg-0123456789abcdef0
    const char *name, *region;    // a name belongs to one group of the region at a time
    const struct rb_cloud_tag *tags;
    int n_tags;
    bool deleted;
};

struct rb_cloud_instance {
    char id[40];                  // i-0123456789abcdef0; of a pod its uid
    char reservation[20];         // r-0123456789abcdef0
    int ordinal;                  // instances count from 0 in the order of launch
    int launch_index;             // position in its reservation
    const struct rb_offer *offer; // type, market, price
    const struct rb_cloud_reserved *reserved; // it runs in it, and is paid for until that ends; NULL: in none
    bool names_reserved;          // its launch named it
    int64_t paid_until_us;        // of `reserved`
    const char *region, *zone;
    const char *name;             // what the front calls it besides its id, NULL: nothing
    const struct rb_cloud_group *group; // NULL: none
    const char *token;            // "" if the caller gave none
    const char *image_id, *user_data;
    size_t user_data_len;
    int64_t disk_gb;              // 0: none is billed
    struct rb_rate disk_rate;
    int64_t release_s;            // the tail of its bill
    struct rb_price_path prices;  // of its pool; none where that has no price
    bool terminate_on_shutdown;   // else it stops
    bool stop_when_taken;         // interrupted or expired: it stops, else it terminates
    int64_t max_run_us;           // allowed time from running; 0: no end
    uint32_t address;             // host byte order, never given to another instance
    const struct rb_cloud_tag *tags;
    int n_tags;
    struct rb_cloud_traits traits; // of EC2

    enum rb_cloud_state state;
    enum rb_cloud_cause cause;
    int64_t requested_us;
    int64_t visible_us;           // listings know it from then on
    int64_t running_us;           // billing begins, as shown: EC2 whole seconds, GCP milliseconds; -1: not yet or never
    int64_t ready_us;             // when the node said that it takes logins; -1: not yet or never
    int64_t ended_us;             // billing of the machine ends here (EC2: whole seconds); -1: it continues
    int64_t terminated_us;        // as ended_us unless it was stopped first; billing of the disk ends here
    const char *node_failure;     // what went wrong with its boot, NULL: nothing
    const char *failure_code;     // RB_CLOUD_CAUSE_CAPACITY: the code to give, NULL: the front's usual one

    struct {                      // private to cloud*.c
        int64_t start_us, gone_us;
        int64_t due_us[RB_CLOUD_N_DUE]; // INT64_MAX: not planned
        bool lacks_capacity, boot_ordered, node_alive;
    } plan;
};

struct rb_cloud;

struct rb_cloud *rb_cloud_create(const struct rb_cloud_config *config); // config outlives the cloud
void rb_cloud_destroy(struct rb_cloud *c);
const struct rb_cloud_config *rb_cloud_config_of(const struct rb_cloud *c);

// --- time ---

// Carries out everything due by now_us, each thing at its own instant, in order of time.
void rb_cloud_advance(struct rb_cloud *c, int64_t now_us);
int64_t rb_cloud_next_us(const struct rb_cloud *c); // next instant at which something is due; INT64_MAX: nothing

// The next order for the nodes; false: none.
struct rb_cloud_order {
    enum { RB_CLOUD_BOOT, RB_CLOUD_END, RB_CLOUD_DARK } what;
    struct rb_cloud_instance *instance;
};
bool rb_cloud_next_order(struct rb_cloud *c, struct rb_cloud_order *out);

// --- verbs ---

// The outcome of a verb; the front puts it into its own format.
enum rb_cloud_answer {
    RB_CLOUD_OK,
    RB_CLOUD_NO_SUCH_INSTANCE,
    RB_CLOUD_NO_SUCH_ZONE,
    RB_CLOUD_NO_SUCH_TYPE,    // sold nowhere in this region
    RB_CLOUD_NOT_OFFERED,     // sold in this region, but not in this zone or on this market
    RB_CLOUD_NO_DISK_PRICE,   // a disk was asked for and the price list has no row for it: unknown is not free
    RB_CLOUD_NO_CAPACITY,
    RB_CLOUD_OVER_QUOTA,      // rb_cloud_quota_exceeded says which
    RB_CLOUD_NO_ADDRESS,
    RB_CLOUD_TOKEN_MISMATCH,  // token already used with other parameters
    RB_CLOUD_NO_SUCH_GROUP,
    RB_CLOUD_GROUP_EXISTS,
    RB_CLOUD_GROUP_IN_USE,    // it has an instance that is not terminated
    RB_CLOUD_GROUP_ELSEWHERE, // its instances are in another zone than the one asked for
    RB_CLOUD_NO_SUCH_RESERVED,
    RB_CLOUD_RESERVED_DIFFERS, // of another type, zone or kind
    RB_CLOUD_RESERVED_FULL,    // or closed
};

struct rb_cloud_launch {
    const char *name;         // NULL: the id will do
    const char *token;        // NULL: none, the launch is not idempotent
    const char *fingerprint;  // of all parameters but token, region and zone
    const char *region;
    const char *zone;         // NULL: the cloud chooses, and the token holds for the whole region
    const char *group;        // NULL: none
    const char *instance_type;
    enum rb_market market;
    const char *reserved;     // the id of the reservation to launch into; NULL: none is named
    bool of_block;            // it is a Capacity Block
    int min_count, max_count; // as many as there is room for, at least min_count, or none
    const char *image_id;
    const void *user_data;
    size_t user_data_len;
    int64_t disk_gb;
    bool terminate_on_shutdown, stop_when_taken;
    int64_t max_run_us;       // 0: no end
    const struct rb_cloud_tag *tags;
    int n_tags;
    struct rb_cloud_traits traits;
    bool dry_run;             // checks only; *out stays untouched
};

// Instances of one launch are consecutive: [first, first + n).
struct rb_cloud_reservation {
    int first, n;
};

// A token that is repeated with the same parameters answers with the first launch's instances, whatever became of them.
// The token is remembered per region and zone, or per region when no zone was given, and never forgotten: how long EC2
// keeps one is not documented, and a client that counts on a token's end is wrong either way.
enum rb_cloud_answer rb_cloud_launch(struct rb_cloud *c, const struct rb_cloud_launch *launch, int64_t now_us,
                                     struct rb_cloud_reservation *out);
// Binds the instances of a new reservation together: unless this many of them find a machine, none does.
void rb_cloud_bind(struct rb_cloud *c, struct rb_cloud_reservation r, int min_count);
// All or nothing: one unknown id and none is touched (*out_bad is its position). Repeating is harmless.
enum rb_cloud_answer rb_cloud_terminate(struct rb_cloud *c, const char *region, const char *const *ids, int n,
                                        int64_t now_us, int *out_bad);
// Shuts it down and keeps its disk, which is billed on; one that is on its way out, or out, stays so.
void rb_cloud_stop(struct rb_cloud *c, struct rb_cloud_instance *i, int64_t now_us);
// The quota that the launch would exceed even at its min_count, NULL: none. Answers RB_CLOUD_OVER_QUOTA.
const struct rb_cloud_quota *rb_cloud_quota_exceeded(const struct rb_cloud *c, const struct rb_cloud_launch *launch);
// The present use of a quota in a region.
int64_t rb_cloud_quota_used(const struct rb_cloud *c, const struct rb_cloud_quota *q, const char *region);
// Takes one token out of the action's bucket in the region; false: the caller must slow down.
bool rb_cloud_admit(struct rb_cloud *c, const char *region, const char *action, int64_t now_us);
// Adds or replaces tags; all or nothing likewise.
enum rb_cloud_answer rb_cloud_set_tags(struct rb_cloud *c, const char *region, const char *const *ids, int n,
                                       const struct rb_cloud_tag *tags, int n_tags, int *out_bad);

// Takes tags away. A tag without value (NULL) means any value of that key; no tags at all: every tag. All or nothing.
enum rb_cloud_answer rb_cloud_delete_tags(struct rb_cloud *c, const char *region, const char *const *ids, int n,
                                          const struct rb_cloud_tag *tags, int n_tags, int *out_bad);

// Instances that the reservation still has room for now; 0 outside its time.
int rb_cloud_reserved_room(const struct rb_cloud *c, const struct rb_cloud_reserved *r, int64_t now_us);

// --- placement groups (cloud_groups.c) ---

enum rb_cloud_answer rb_cloud_create_group(struct rb_cloud *c, const char *region, const char *name,
                                           const struct rb_cloud_tag *tags, int n_tags);
enum rb_cloud_answer rb_cloud_delete_group(struct rb_cloud *c, const char *region, const char *name, int64_t now_us);
const struct rb_cloud_group *rb_cloud_find_group(const struct rb_cloud *c, const char *region, const char *name);
int rb_cloud_n_groups(const struct rb_cloud *c); // ever made, deleted ones included
const struct rb_cloud_group *rb_cloud_group(const struct rb_cloud *c, int k);
// The zone of its instances, including those that are ending; NULL: it has none.
const char *rb_cloud_group_zone(const struct rb_cloud *c, const struct rb_cloud_group *g);

// --- instances of another front ---

// Adds an instance that the caller keeps up to date, with rb_cloud_touch after each change: the cloud only lists it in
// its ledger and bills it. The model's texts outlive the cloud.
struct rb_cloud_instance *rb_cloud_adopt(struct rb_cloud *c, const struct rb_cloud_instance *model);
void rb_cloud_touch(struct rb_cloud *c);

// Puts these tags in the place of those that the instance has.
void rb_cloud_replace_tags(struct rb_cloud *c, struct rb_cloud_instance *i, const struct rb_cloud_tag *tags, int n_tags);

// --- what the nodes report ---

void rb_cloud_node_ready(struct rb_cloud *c, struct rb_cloud_instance *i, int64_t now_us);
// It will never be reachable; the instance runs on and is billed, as on a real cloud.
void rb_cloud_node_failed(struct rb_cloud *c, struct rb_cloud_instance *i, const char *why);
void rb_cloud_node_gone(struct rb_cloud *c, struct rb_cloud_instance *i, int64_t now_us); // after RB_CLOUD_END
void rb_cloud_guest_shutdown(struct rb_cloud *c, struct rb_cloud_instance *i, int64_t now_us, int64_t delay_us);
void rb_cloud_guest_cancel(struct rb_cloud *c, struct rb_cloud_instance *i); // `shutdown -c`

// --- looking ---

int rb_cloud_n_instances(const struct rb_cloud *c);                              // ever launched
struct rb_cloud_instance *rb_cloud_instance(const struct rb_cloud *c, int ordinal);
struct rb_cloud_instance *rb_cloud_find(const struct rb_cloud *c, const char *id); // NULL: none
// New instances are listed after a while, terminated ones for an hour; the ledger shows all.
bool rb_cloud_listed(const struct rb_cloud_instance *i, const char *region, int64_t now_us);
// The tags that are shown: those of terminated instances fade one by one.
const struct rb_cloud_tag *rb_cloud_tags(const struct rb_cloud *c, const struct rb_cloud_instance *i, int64_t now_us,
                                         int *out_n);
// Will it be taken back, and may it know already? EC2 gives notice of two minutes, Compute Engine of thirty seconds.
bool rb_cloud_notice(const struct rb_cloud_instance *i, int64_t now_us, int64_t *out_at_us);
const char *rb_cloud_state_name(enum rb_cloud_state state);                      // "shutting-down"
// The cost of the instance, as if it ended now.
// The prices over time of such a machine, by the instant, of the first pool with prices that holds it; none: it costs what the
// price list says.
struct rb_price_path rb_cloud_prices(const struct rb_cloud_config *config, const struct rb_offer *offer, const char *zone);
struct rb_bill rb_cloud_bill(const struct rb_cloud_instance *i, int64_t now_us);
uint64_t rb_cloud_version(const struct rb_cloud *c);                             // rises with every change
// A new name for request ids and the like; depends on seed, epoch and the number drawn before.
uint64_t rb_cloud_fresh_id(struct rb_cloud *c);

const struct rb_cloud_regions *rb_cloud_regions(const struct rb_cloud *c);
struct rb_chaos *rb_cloud_chaos(struct rb_cloud *c); // its faults, for the fronts to ask

#endif
