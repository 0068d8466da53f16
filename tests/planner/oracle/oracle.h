// An independent simulator of plans, for tests: one loop over events, every latency drawn from its distribution. It
// shares no code with simulator/ or planner/, nor their random numbers. docs/MODEL.md, "Stages", "Money" and "Noise",
// is what it follows.
//
// A draw depends on the seed, on what it is for and on the replicate, never on the plan, so plans that are played with
// the same seed share their draws (common random numbers). Times are microseconds, money micro-dollars.
#ifndef RB_TESTS_PLANNER_ORACLE_H
#define RB_TESTS_PLANNER_ORACLE_H

#include "base/limits.h"
#include "engine/plan/plan.h"

enum { ORACLE_OFFERS = 16, ORACLE_ENTRIES = 8 };

// What is drawn, with its parameters derived here. mean and cv of the profile's, whatever its key gave.
struct oracle_dist {
    enum rb_dist_kind kind;
    double mean, mu, sigma, shape, scale;
    const double *values; // EMPIRICAL, [n_values]
    int n_values;
    double error_sigma;   // of the factor that a measured mean may be off by; 0: none
};

struct oracle_entry { // of the profile's provisioning
    struct oracle_dist queue_s, init_s, up_s, down_s; // spells, where `losses` has them
    double refused;       // probability
    int release_s;        // the machine is billed for this long after its node
    const struct rb_provisioning *losses; // how soon nodes are taken back
};

// A job under a profile on offers; shared by all its plans.
struct oracle {
    const struct rb_job *job;
    const struct rb_profile *profile;
    const struct rb_offer *offers; // [n_offers]
    int n_offers;
    const int *fallbacks;          // offers that may stand in for what is sold out, [n_fallbacks]; none after oracle_init
    int n_fallbacks;
    int entry_of[ORACLE_OFFERS];   // of each offer; -1: the profile says nothing of its nodes
    struct oracle_entry entries[ORACLE_ENTRIES];
    int n_entries;
    double every_s[ORACLE_OFFERS]; // trials on the offer's nodes save this often in the middle of a stage; 0: they do not
    struct oracle_dist between, within, startup_s, checkpoint_s;
    struct oracle_dist configuration; // a trial's in all its stages; constant 1: none
    uint64_t seed;
};

// Borrows everything. Fails (false) on what it does not model: disks, data, asynchronous jobs, too many offers.
bool oracle_init(struct oracle *o, const struct rb_job *job, const struct rb_profile *profile,
                 const struct rb_offer *offers, int n_offers, uint64_t seed);

// Mean seconds of a unit of resource on this many GPUs of the offer's nodes; false: that layout is not allowed.
bool oracle_unit_s(const struct oracle *o, int offer, int gpus, double *out_s);
// Mean seconds a request waits.
double oracle_queue_mean_s(const struct oracle *o, int offer);

// The first attempts of `n` replicates of stages with these trials, drawn once for many plans. NULL stands for none:
// then each draw is made when it is needed, and is the same. Owns: oracle_worlds_destroy.
struct oracle_worlds;
struct oracle_worlds *oracle_worlds_create(const struct oracle *o, const struct rb_plan_stage *stages, int n_stages,
                                           int max_nodes, int n);
void oracle_worlds_destroy(struct oracle_worlds *w);

struct oracle_run {
    int64_t time_us, cost_uusd;
    int64_t stage_us[RB_LIMIT_STAGES];
};

// Plays one replicate of a plan whose stages refer to the oracle's offers. false: it takes more nodes, trials or time
// than the oracle can hold.
bool oracle_play(const struct oracle *o, const struct oracle_worlds *w, const struct rb_plan_stage *stages,
                 int n_stages, uint32_t replicate, struct oracle_run *out);

#endif
