// Search over plans. A planner takes a request (job, profile, catalogue, constraints) and returns the best plan it
// finds with its estimate, or reports that none satisfies the constraints and what the nearest feasible ones are. One
// planner is one file under planners/ and one line in planner.c.
#ifndef RB_PLANNER_PLANNER_H
#define RB_PLANNER_PLANNER_H

#include "planner/questions/marginal.h"
#include "simulator/model/evaluate.h"
#include "simulator/model/scenario.h"
#include "simulator/laws/trial_laws.h"

struct rb_plan_request {
    const struct rb_job *job;
    const struct rb_profile *profile;
    const struct rb_catalog *catalog;
    int64_t deadline_us, budget_uusd; // -1: none
    double confidence;
    enum rb_objective objective;
    uint64_t seed;
    int samples;                      // replicates per estimate
    int samples_asked;                // the number asked for, if more than can be afforded (rb_planner_size)
    const char *offers_dropped;       // which offers were dropped as too many (rb_planner_offers_and_dropped); NULL: none
    int threads;
    // What a run with this deadline costs beside its nodes (-1: with none), which is not in budget_uusd; nearest budgets are with it.
    // NULL: nothing.
    int64_t (*beside_uusd)(void *ctx, int64_t deadline_us);
    void *beside_ctx;
    bool early;                       // also look for nodes to request before they are needed (planner/scores/early.h)
    bool marginal;                    // also compute what a little more time would save, if proved
                                      // (planner/questions/marginal.h)
    bool alone;                       // the published planners' plans are not reported beside it
    int64_t node_limit;               // search nodes; 0: the planner's own default. The reproducible cut
    bool (*out_of_time)(void *ctx);   // NULL: never. --time-limit, read by the main
    double (*time_used)(void *ctx);   // share of the limit used so far, same ctx: ends one phase and leaves
                                      // time for the next. NULL: every phase may use all of it
    void *out_of_time_ctx;            // of both
    int64_t time_limit_us;            // the limit behind out_of_time, from now on; estimates are sized to it; 0: no
                                      // limit
    void (*notice)(void *ctx, const char *text); // reports a limit that cannot be kept as soon as that is known; NULL:
                                                 // silent
    void *notice_ctx;
    double run_us;                    // the part of it that one run of a plan takes; 0: unknown
    int64_t memory_limit_bytes;       // for what grows with the search (planner/request/memory.h); 0: the planner's own
    struct rb_trial_laws *laws;      // shared by requests on the same profile (planner/scores/sharing.h); NULL: made
                                     // and freed for this one
    struct rb_run_store *runs;        // shared by those on the same scenario; NULL: likewise
    const struct rb_candidate *hints; // plans to start from, of a neighbouring request; [n_hints]
    int n_hints;
    // Receives every candidate considered and why it lost; NULL: silent. `text` is one line.
    void (*explain)(void *ctx, const char *text);
    void *explain_ctx;
};

// The job's own request: its constraints, its seed, early requests, the default number of samples for such jobs, one
// thread, no limits.
struct rb_plan_request rb_plan_request_of(const struct rb_job *job, const struct rb_profile *profile,
                                          const struct rb_catalog *catalog);

// A plan's decision for one stage.
struct rb_choice {
    int offer; // index into the scenario's offers
    int gpus;  // per trial
    int nodes; // of that offer, owned during the stage
};

static inline bool rb_choice_is_same(const struct rb_choice *a, const struct rb_choice *b)
{
    return a->offer == b->offer && a->gpus == b->gpus && a->nodes == b->nodes;
}

// A plan as the search sees it: a plain value.
struct rb_candidate {
    struct rb_choice stages[RB_LIMIT_STAGES];
    int n_stages;
    int64_t admit_until_us; // of an asynchronous job: no configuration is started after it; 0: no limit
    bool undecided;         // too near to the confidence to decide with affordable runs (rb_search_decide)
    struct rb_estimate estimate;
};

// Early requests: for all nodes that the next stage gains, counted from the start of the stage that makes them.
struct rb_early {
    bool any;                       // else at_us is meaningless
    int64_t at_us[RB_LIMIT_STAGES]; // -1: requested when they are needed
};

struct rb_plan_result {
    bool feasible;
    struct rb_candidate best;         // feasible: the plan; else the candidate nearest to feasible
    struct rb_early early;            // of `best`
    struct rb_plan_bound bound;
    // Infeasible: each changed alone. -1 / NaN: changing this one alone does not make it feasible.
    int64_t nearest_deadline_us;      // rounded up to 1 s
    int64_t nearest_budget_uusd;      // rounded up to 1 cent
    double nearest_confidence;        // rounded down to 0.001
    struct rb_marginal marginal;      // exists: it was asked for and is known
    int64_t n_evaluated;              // candidates that were estimated
    bool cut;                         // the search ended at its node, time or memory limit: a cheaper plan may exist
};

// State shared by the planners of one request: scenario, sizes, sampled stage times (planner/search/search.h).
struct rb_search;

struct rb_planner {
    const char *name;
    const char *summary;
    // Fails only on errors. If no plan of this planner satisfies the request, the result has feasible = false.
    bool (*plan)(struct rb_search *search, struct rb_plan_result *out, struct rb_err *err);
    bool on_average; // mean times keep the deadline; the confidence asked does not count, and the plan's own is
                     // reported
};

extern const struct rb_planner *const rb_planners[]; // sorted by name, NULL-terminated
const struct rb_planner *rb_planner_find(const char *name);
// The planner of a job that names none: `mean` if its confidence is `mean`, `static` if its policy is (which would keep
// the first stage's nodes whatever was planned), else `optimal`.
const char *rb_planner_default(const struct rb_job *job);
// Checks that this planner may plan the job. `confidence: mean` is no probability that another planner could work with,
// and a policy that keeps its cluster can execute only a static plan. many: the option that asks for plans of several
// planners or requests ("pareto", "what-if"); NULL: one plan.
bool rb_planner_check(const struct rb_job *job, const char *planner, const char *many, struct rb_err *err);

// Offers of the catalogue that the job allows (infra, types, accelerators, spot), and of its reservations, in canonical
// order. Errors: none is left (names the filter that removed the last), prices missing (exit 7).
bool rb_planner_offers(const struct rb_job *job, const struct rb_catalog *catalog, struct rb_arena *arena,
                       struct rb_offer **out, int *out_n, struct rb_err *err);
// The same; *out_dropped: how many were dropped as too many, and by which rule, as text for users. NULL: none.
bool rb_planner_offers_and_dropped(const struct rb_job *job, const struct rb_catalog *catalog, struct rb_arena *arena,
                                   struct rb_offer **out, int *out_n, const char **out_dropped, struct rb_err *err);

// Under resources.spot: safe, the spot offers that may stand in for a plan's; the number may be 0.
int rb_planner_spot_offers(const struct rb_job *job, const struct rb_catalog *catalog, struct rb_arena *arena,
                           struct rb_offer **out);

// Largest number of nodes of an offer that one plan may own: resources.max_nodes, except that this machine is one node,
// and a reservation has a count.
int rb_planner_max_nodes(const struct rb_job *job, const struct rb_offer *offer);

// Sets io->samples to the number of replicates that its estimates can afford, fewer than asked for if there are very
// many trials or little time. Without a time limit that number depends on the request alone, not on the machine. With
// one, io->laws must be set.
void rb_planner_size(struct rb_plan_request *io, const struct rb_scenario *s);

// Sizes of trial.gpus.sizes that fit the offer's nodes under trial.max_nodes, resources.max_nodes and the profile's
// layouts, ascending. Returns their number; 0 for an unusable offer.
int rb_planner_sizes(const struct rb_scenario *s, int offer, int out_sizes[static RB_LIMIT_GPUS_PER_NODE]);

// Makes a complete plan (of a job that stays in one place, out_plan->job names only the place chosen: questions about the
// plan are asked of that job): offers, scenario, the chosen planner, the baselines, fallbacks, warnings. The plan is ready to
// write except for tool, job_path and the two digests, which main fills in.
// Infeasible: RB_ERR_INFEASIBLE with *out_result filled in (nearest values). out_plan lives in `arena`.
bool rb_make_plan(const struct rb_plan_request *req, const char *planner, struct rb_arena *arena,
                  struct rb_plan *out_plan, struct rb_plan_result *out_result, struct rb_err *err);

// Order among feasible candidates: objective mean, then the other mean, then canonical order of stages. <0: a first.
int rb_candidate_compare(const struct rb_candidate *a, const struct rb_candidate *b, enum rb_objective objective);
// True if two plans for the same stages make the same choice for each.
bool rb_candidate_same_choices(const struct rb_candidate *a, const struct rb_candidate *b);

#endif
