// A cloud in virtual time, as bad as real ones: answers get lost after their side effect, requests before it,
// new instances show up late in listings, pages go missing, machines are taken away. It outlives any number
// of controllers.
#ifndef RB_TESTS_FAKE_CLOUD_H
#define RB_TESTS_FAKE_CLOUD_H

#include "fake_launcher.h"
#include "profiles/catalog/billing.h"
#include "profiles/catalog/capacity.h"
#include "providers/provider.h"
#include "virtual_loop.h"

struct fake_faults {
    double lost_request, lost_answer; // of launches and terminations
    double late_request; // of launches: arrives within a minute, when its answer is waited for no more
    double capacity;                  // launches refused
    double partial_listing;
    double half_gang;                 // of gangs: the last member is forgotten, and asking again does not help
    double preemption_per_hour;
    int64_t visible_after_us;    // at most; drawn per instance
    enum rb_err_code refuse_all; // every launch; RB_ERR_NONE: no
    enum rb_err_code unsent;     // every launch, by what is asked before it is sent; RB_ERR_NONE: no
    bool unsent_copy;            // of each of these, a copy arrives all the same, soon after: the network repeated the request
    int denied_launches;         // this many, as not permitted, whatever became of the token before
    int refused_ends;            // this many terminations, as not permitted
    bool never_boots;            // instances stay pending
    bool vanishing;              // terminated instances are listed no more
    bool other_market;           // gives spot whatever was asked for
    bool second_zone;            // the first has no machine after all: launches go on to the next, and answer when that runs
    bool offline;                // nothing arrives there, and nothing comes back
    bool unreachable;            // likewise, and who asks knows that nothing was sent
    bool silent;                 // machines do not answer logins, and no one says that they are gone
};

struct fake_instance {
    char id[32], token[65], launch_id[40], run_id[96], owner[96], name[64], type[64], zone[64];
    int member, count; // place in its launch, and how many that asked for
    enum rb_market market;
    enum rb_instance_state state;
    int64_t created_us, visible_us;              // loop time
    int64_t running_unix_us, terminated_unix_us; // -1: not
    const char *reason;
    struct fake_cloud *cloud;
    int index;
};

struct fake_cloud {
    struct virtual_loop *v;
    uint64_t seed;
    struct fake_faults faults;
    struct fake_instance **instances; // [n_instances], never removed
    int n_instances;
    int n_launch_calls; // requests that arrived
    char (*sent)[65];   // [n_sent] tokens of requests that were sent, by whichever controller
    int n_sent;
    int room;           // machines that may be alive at once, 0: any number
    // Asked about every launch; err set: it is refused. NULL: none is.
    void (*judge)(void *ctx, const struct fake_cloud *c, const struct fake_instance *wanted, struct rb_err *err);
    void *judge_ctx;
    uint64_t session;   // answers to earlier sessions are dropped
    uint64_t n_draws;
    int64_t queue_mean_us;
    void (*died)(void *ctx, int instance); // its processes end with it
    void *died_ctx;
    bool wakes;         // those who watch, when something changes
    rb_loop_fn *wake;   // NULL: no controller watches
    void *wake_arg;
    int n_listings;     // that were asked for
    // What spot machines cost over time (unix), as the cloud lists it; steps NULL: it does not. Before fake_run_open.
    struct rb_price_path prices;
    int refuse_prices;     // the error's number; RB_ERR_NONE: no
    int n_refused_prices;  // questions that are refused so; then there are answers. 0: all
    int n_price_questions;
};

void fake_cloud_init(struct fake_cloud *c, struct virtual_loop *v, uint64_t seed);
void fake_cloud_finish(struct fake_cloud *c);
struct rb_provider fake_cloud_provider(struct fake_cloud *c);
void fake_cloud_new_session(struct fake_cloud *c); // the controller died: no one listens any more
int fake_cloud_alive(const struct fake_cloud *c);  // instances that are not terminated
int64_t fake_cloud_bill_uusd(const struct fake_cloud *c, const struct rb_billing *billing);
struct fake_site fake_cloud_site(struct fake_cloud *c); // its running machines; the others are gone
// An instance that no journal knows, tagged like the run's.
void fake_cloud_add_stranger(struct fake_cloud *c, const char *run_id);
void fake_cloud_kill_instance(struct fake_cloud *c, int index, const char *reason);

#endif
