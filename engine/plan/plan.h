// A plan says for each stage how many GPUs each trial gets and which nodes the cluster owns, with the prediction. It is
// a plain value; engine, simulator, planner and executor share this definition (design section 10).
#ifndef RB_ENGINE_PLAN_H
#define RB_ENGINE_PLAN_H

#include "base/arena.h"
#include "base/digest.h"
#include "base/document/doc.h"
#include "base/document/json.h"
#include "profiles/catalog/catalog.h"
#include "profiles/job/job.h"
#include "profiles/store/profile.h"

struct rb_quantiles {
    int64_t mean, p5, p50, p95, p99; // all microseconds or all micro-dollars
};

enum rb_estimate_method {
    RB_ESTIMATE_REPLICATES, // every latency drawn, replicate by replicate (simulator/model/evaluate.h)
    RB_ESTIMATE_LAWS,       // computed from distributions, nothing drawn: only in plans of older versions
    RB_ESTIMATE_TABLES,     // one sample per trial from its duration distribution (simulator/sampler/sampler.h)
};

// The errors of an estimate's figures.
struct rb_estimate_margin {
    int64_t time_mean_us, cost_mean_uusd;
    double p_deadline, p_budget, p_both;
};

struct rb_estimate {
    struct rb_quantiles time_us, cost_uusd;
    double p_deadline, p_budget, p_both; // an absent constraint has probability 1
    // The profile's times never vary (rb_profile_spread_is_unknown): the probabilities above say nothing about real
    // runs, and are written as null and shown as not known. Read back they are 1.
    bool spread_unknown;
    int64_t samples;
    struct rb_estimate_margin stderr_;   // written as "stderr": standard errors; 0 where nothing was sampled
    enum rb_estimate_method time_method, cost_method; // cost_method also stands for p_budget and p_both
    struct rb_estimate_margin error;     // bound of every figure's error: numerics, and sampling at 99.9 %
};

struct rb_plan_nodes {
    int offer;   // index into the plan's offers
    int count;   // > 0
};

struct rb_plan_early {
    int offer, count;
    int64_t at_us; // from the start of the stage that issues it
};

struct rb_plan_stage {
    int trials;
    int64_t resource_start, resource_end;
    int gpus_per_trial;
    int trials_per_gpu;                 // 1 unless GPUs are shared
    int waves;                          // ceil(trials / slots), for people
    const struct rb_plan_nodes *nodes;  // all of one instance type and region; [n_nodes]
    int n_nodes;
    const struct rb_plan_early *early;
    int n_early;
    struct rb_quantiles time_us, cost_uusd; // p5 and p99 are not written
};

struct rb_plan_baseline {
    const char *name;       // "static", "greedy", "naive"
    bool exists;
    struct rb_estimate estimate;
};

// Of a run under resources.spot: safe, beside its estimate, from as many replays as that.
struct rb_plan_safe_spot {
    struct rb_estimate on_demand; // of the plan as it stands, without a spot machine
    double p_on_demand;           // a machine on demand is needed
    double share_on_demand;       // of the time of all machines
    // If it waited for spot instead of ever going on demand:
    int64_t alone_uusd; // mean cost
    double p_alone;     // it is in time
};

struct rb_plan_bound {
    bool present;           // false: no bound is claimed, only nodes_explored and why_not count
    int64_t cost_uusd;      // proven lower bound over the search space
    double gap;             // (cost - bound) / bound
    // No plan of the space that clearly keeps the constraints is cheaper by more than the tolerance.
    bool proved;
    // tolerance: a share of the cost; risk: probability that the claim is wrong. 0 without a bound
    double tolerance, risk;
    const char *why_not;    // reason why not proved, or why no bound; NULL where proved
    int64_t nodes_explored;
    const char *const *relaxations;
    int n_relaxations;
};

// The controller of a run, beside its nodes: as long as the run, and as long as its machine is kept after that.
struct rb_plan_controller {
    const char *place;         // as rbrun --at names it; "here"
    const char *instance_type; // of the machine that is made for it; NULL: a host that is there, which costs nothing
    int64_t uusd_per_hour, keep_us;
    struct rb_quantiles cost_uusd; // p5 and p99 are not written
    int64_t set_aside_uusd;        // of the budget; 0 without one
};

struct rb_plan {
    const char *tool;                  // "rbplan 0.1.0"
    uint64_t seed;
    const char *job_path;              // relative to plan.json; "" if made from stdin
    char job_sha256[65];               // of the canonical JSON of the resolved config
    const struct rb_job *job;
    char profile_sha256[65];
    const struct rb_profile *profile;
    const struct rb_key_value *images; // infra -> image id, pinned
    int n_images;
    const struct rb_key_value *containers; // infra -> image of the container on each node there, pinned likewise
    int n_containers;
    const char *policy, *planner;
    int64_t deadline_us;               // relative to the start of rbrun; -1: none
    int64_t deadline_at_us;            // unix, -1: none
    int64_t budget_uusd;               // of the nodes, without what is set aside for the controller; -1: none
    int64_t admit_until_us;            // asynchronous: no configuration starts after this; 0: no limit
    double confidence;
    bool unpredicted;                  // no estimate was made, neither of the whole nor of its stages, as for the run
                                       // that owns the nodes of a pool
    struct rb_estimate estimate;
    const struct rb_plan_safe_spot *spot; // NULL: `estimate` is of the plan as it stands
    const struct rb_plan_controller *controller; // NULL: it was not asked for
    struct rb_plan_bound bound;
    const struct rb_plan_stage *stages;
    int n_stages;
    const struct rb_plan_baseline *baselines; // [n_baselines], order static, greedy, naive
    int n_baselines;
    const struct rb_offer *offers;     // everything any stage or fallback refers to: "prices"
    int n_offers;
    const struct rb_catalog *catalog;  // disk prices used; may be NULL if the job asks for no disk
    const int *fallbacks;              // offer indices, in order
    int n_fallbacks;
    const char *const *warnings;
    int n_warnings;
};

// What the plan's stages take and cost as they stand.
static inline const struct rb_estimate *rb_plan_as_it_stands(const struct rb_plan *plan)
{
    return plan->spot ? &plan->spot->on_demand : &plan->estimate;
}

// The budget that was asked for: of nodes and controller. -1: none.
static inline int64_t rb_plan_whole_budget_uusd(const struct rb_plan *plan)
{
    return plan->budget_uusd >= 0 && plan->controller ? plan->budget_uusd + plan->controller->set_aside_uusd : plan->budget_uusd;
}

// The digests of a plan's sources: of its job's and its profile's canonical JSON.
void rb_plan_digest_job(const struct rb_job *job, rb_digest_fn *digest, char out_hex[65]);
void rb_plan_digest_profile(const struct rb_profile *profile, rb_digest_fn *digest, char out_hex[65]);
void rb_plan_digest(struct rb_plan *plan, rb_digest_fn *digest); // both, into job_sha256 and profile_sha256

// Canonical rb-plan/1. read(write(x)) = x; read checks every number, that stages match the job's rungs, that offers
// referred to exist, and the digests. Everything is copied into `arena`.
void rb_plan_write(const struct rb_plan *plan, struct rb_json *j);
void rb_plan_write_prices(const struct rb_plan *plan, struct rb_json *j); // its members `prices` and, with disks, `disks`
bool rb_plan_read(const struct rb_node *root, rb_digest_fn *digest, struct rb_arena *arena, struct rb_plan *out,
                  struct rb_err *err);

// Sets when the plan's reservations open and close in a run that starts at this instant, which is later than the plan
// assumed.
void rb_plan_settle_reservations(const struct rb_plan *plan, int64_t start_unix_us);

void rb_quantiles_write(const struct rb_quantiles *q, struct rb_json *j); // mean, p5, p50, p95, p99
void rb_estimate_write(const struct rb_estimate *e, struct rb_json *j);
bool rb_estimate_read(const struct rb_node *node, struct rb_estimate *out, struct rb_err *err);

// GPUs of one node of the stage (all its entries are of one type).
int rb_plan_stage_gpus_per_node(const struct rb_plan *plan, const struct rb_plan_stage *stage);
int rb_plan_stage_node_count(const struct rb_plan_stage *stage);
// Does a stage spread one trial over several nodes of this type (NULL: of any)?
bool rb_plan_spreads_trials(const struct rb_plan *plan, const char *instance_type);

// The warning about a baseline whose search the time limit ended; the baseline says whether it exists.
#define RB_PLAN_WARNS_CUT "planner %s was cut at the time limit"
bool rb_plan_baseline_was_cut(const struct rb_plan *plan, const char *name);

// Does nothing cost money, as on the user's own machines?
bool rb_plan_is_free(const struct rb_plan *plan);

// Sets the plan's images and containers: what its job says about the places of its offers.
void rb_plan_set_images(struct rb_plan *plan, struct rb_arena *arena);

// Why other nodes for later stages are of no use or cannot be had where a run leaves the plan, a constant phrase; NULL:
// they are looked for unless the job says otherwise.
const char *rb_plan_why_not_replan(const struct rb_plan *plan);
// Gives a finished plan whose job leaves on_drift open a copy of the job that names what holds: replan, or warn.
void rb_plan_set_drift(struct rb_plan *plan, struct rb_arena *arena);

#endif
