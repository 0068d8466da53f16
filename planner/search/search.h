// What the planners of one request share: the scenario, the sizes each offer allows, exact scores of candidates, and
// the results of the baselines. Internal to planner/.
#ifndef RB_PLANNER_SEARCH_H
#define RB_PLANNER_SEARCH_H

#include "planner/questions/nearest.h"
#include "planner/scores/scorer.h"
#include "planner/search/planner.h"

struct rb_sizes {
    int gpus[RB_LIMIT_GPUS_PER_NODE]; // ascending
    int n;
};

// Plans of a frontier carry out the whole job; between its ends few runs do.
enum rb_search_place { RB_SEARCH_ALONE, RB_SEARCH_FRONTIER_END, RB_SEARCH_FRONTIER_BETWEEN };

struct rb_search {
    const struct rb_plan_request *req;
    const struct rb_scenario *scenario;
    struct rb_sizes *sizes;           // [n_offers]; n = 0: the offer cannot be used
    bool *left_out;                   // [n_offers]; it could, but only with replicates that a limit leaves no room for
    int n_left_out;
    const char *left_out_for;         // the limit: "time", "memory"
    const struct rb_scorer *scorer;   // how plans of the job are scored
    enum rb_search_place place;       // of the plan asked for
    double guard;                     // what a plan's probability must be above the confidence asked, because the last one
                                      // found turned out to keep less than that
    bool any_plan;                    // the time is up, and the first plan that keeps the constraints will do
    bool on_average;                  // the mean time keeps the deadline, and the confidence does not count
    bool undecided;                   // a plan was too near to the confidence for any affordable number of runs to decide
    struct rb_trial_laws *laws;       // the request's, or own: laws and tables of single latencies
    bool owns_laws;
    struct rb_run_store *runs;        // the request's, or own
    bool owns_runs;
    struct rb_plan_space *space;           // what depends on neither deadline nor budget (planner/request/plan_space.h)
    bool asked_again;                 // rb_search_ask_again will be called: then it is kept
    const struct rb_planner *asked;   // for its infeasible request the nearest constraints are worth the time they take
    struct rb_plan_result *results;   // [number of planners], in the order of rb_planners
    bool *has_result;
    struct rb_static_best {           // [n_offers], the best fixed cluster of each offer, found once
        bool known, exists;
        struct rb_candidate candidate;
    } *static_best;
    int64_t n_evaluated;              // exact scores made
    struct rb_engine_estimated *engine_estimated; // the last one (planner/async/engine_runs.c); NULL: none
    struct rb_explained *explained;   // the lines that req->explain got (planner/questions/explain.c)
};

// Errors: no offer is usable (says why), or no size of trial.gpus fits any of them.
bool rb_search_init(struct rb_search *search, const struct rb_plan_request *req, const struct rb_scenario *scenario,
                    struct rb_err *err);
void rb_search_finish(struct rb_search *search);
// Another question to the same search: `req` differs from the last one in its constraints, hints and clock only. Results are
// forgotten; scores, runs and the space stay.
void rb_search_ask_again(struct rb_search *search, const struct rb_plan_request *req);

// Forgets what planners have found; scores, runs and the space stay.
void rb_search_forget(struct rb_search *search);
// Result of one planner, found once a request.
bool rb_search_plan(struct rb_search *search, const struct rb_planner *planner, const struct rb_plan_result **out,
                    struct rb_err *err);

int rb_search_index_of(const struct rb_planner *planner); // in rb_planners
// From now on this is the result of one planner, whatever found it.
void rb_search_know(struct rb_search *search, const struct rb_planner *planner, const struct rb_plan_result *result);

// The least objective of any plan that was found so far, INFINITY: none was.
double rb_search_to_beat(const struct rb_search *search);

// The cheapest (or fastest) feasible fixed cluster of one offer; *out NULL: none.
bool rb_static_best(struct rb_search *search, int offer, const struct rb_candidate **out, struct rb_err *err);

// The nearest constraints that some fixed cluster keeps, into an infeasible result.
bool rb_static_nearest(struct rb_search *search, struct rb_plan_result *out, struct rb_err *err);

// What `optimal` finds where stages are sampled.
bool rb_stages_optimal(struct rb_search *search, struct rb_plan_result *out, struct rb_err *err);

extern const struct rb_planner rb_planner_greedy, rb_planner_mean, rb_planner_naive, rb_planner_optimal,
    rb_planner_static;

// --- facts about stages and offers

int rb_search_n_trials(const struct rb_search *search, int stage);
double rb_search_trials_in_all(const struct rb_search *search); // of all stages
double rb_search_affordable_runs(const struct rb_search *search); // of one plan, where more of them only make it surer
int rb_search_gpus_per_node(const struct rb_search *search, int offer);
// Another offer that is the same but for its price, and is not more expensive, stands for this one in every plan.
bool rb_search_is_outbid(const struct rb_search *search, int offer);
// Mean of what a trial of a stage takes with this many GPUs, if it is not interrupted; false: nothing is known of that size.
bool rb_search_trial_s(const struct rb_search *search, int stage, int offer, int gpus, double *out);
// Nodes one trial of this size needs.
int rb_nodes_per_trial(int gpus_per_node, int gpus);
// Smallest number of nodes on which n trials run at once.
int rb_nodes_to_hold(int gpus_per_node, int n_trials, int gpus);
// Most nodes of an offer worth owning from a stage on, at most resources.max_nodes: what the stage or any later one can
// use (a held node saves a later boot), and a few more (the first of them to be ready are used).
int rb_search_useful_nodes(const struct rb_search *search, int stage, int offer);

// --- scores

// Keeps with the scenario what plans draw in req->samples replicates, as far as the memory limit has room for it.
void rb_search_keep_draws(struct rb_scenario *s, const struct rb_plan_request *req);

// What a search compares, into candidate->estimate: from the first `samples` runs.
bool rb_search_score(struct rb_search *search, struct rb_candidate *candidate, int samples, struct rb_err *err);
// Those runs themselves, kept with the search. Borrowed until the next call.
bool rb_search_runs(struct rb_search *search, const struct rb_candidate *candidate, int samples,
                    const struct rb_runs **out, struct rb_err *err);
// Is the cheapest plan proved by a certificate (planner/proof/certificate.h)? Not the fastest.
bool rb_search_is_certified(const struct rb_search *search);

// What a plan has to keep the constraints with: the confidence asked, and more once a plan that was found with just that turned
// out to keep less.
double rb_search_confidence(const struct rb_search *search);
bool rb_search_feasible(const struct rb_search *search, const struct rb_estimate *estimate);
// p_both is not further off: what its error says, and four standard errors (once in 30000) where these are more.
double rb_search_p_off(const struct rb_estimate *estimate);
double rb_search_objective(const struct rb_search *search, const struct rb_estimate *estimate);
// How many of n samples must meet the constraints: the smallest m with m / n >= confidence.
int rb_need_count(double confidence, int n);

// The best feasible of n candidates. All are screened by the first runs, and settled in the order of their screened objectives.
// *out_best: its index; -1: none is feasible.
bool rb_search_best_of(struct rb_search *search, const char *planner, struct rb_candidate *candidates, int n,
                       int *out_best, struct rb_err *err);

// Is the time limit of the request reached?
bool rb_search_out_of_time(const struct rb_search *search);
// Do runs of this many trials, over all offers and sizes, take too long to be played event by event within a limit?
bool rb_search_is_slow(const struct rb_plan_request *req, double trials);
// And would it be, after this many runs of a plan?
bool rb_search_has_time_for(const struct rb_search *search, double n_runs);

// One candidate on the first replicates only, into candidate->estimate.
bool rb_search_screen(struct rb_search *search, struct rb_candidate *candidate, struct rb_err *err);
// May a candidate that was scored on its first estimate.samples runs be feasible on all of them, and better than `best` (NULL:
// there is none), whose runs are kept, too?
bool rb_search_may_stand(const struct rb_search *search, enum rb_run_kind kind, const struct rb_candidate *screened,
                         const struct rb_candidate *best, int all);
// Does a candidate keep the constraints with the confidence? Decided by as many runs as that takes, none of which the search has
// compared plans by (planner/proof/decide.c).
bool rb_search_decide(struct rb_search *search, struct rb_candidate *candidate, bool *out_keeps, struct rb_err *err);
// Is it feasible, and better than `best` (NULL: there is none)? Scores it on more and more replicates until these say that it is
// not, but for bad luck, or it is scored on all. estimate.samples tells how many there were.
bool rb_search_settle(struct rb_search *search, struct rb_candidate *candidate, const struct rb_candidate *best,
                      bool *out_stands, struct rb_err *err);

// Fills an infeasible result of the planner asked: the candidate with the highest p_both, and the nearest constraints that any
// of them meets.
bool rb_search_nearest_of(struct rb_search *search, const struct rb_candidate *candidates, int n,
                          struct rb_plan_result *out, struct rb_err *err);
// An infeasible result without its nearest constraints: of a baseline beside the planner asked.
struct rb_plan_result rb_search_no_plan(const struct rb_search *search);
// An infeasible result: the surest candidate (NULL: there is none at all) and the nearest constraints.
bool rb_search_not_found(struct rb_search *search, const struct rb_candidate *surest, const struct rb_needs *nearest,
                         struct rb_plan_result *out, struct rb_err *err);
// What one candidate would need, from simulated runs of it.
bool rb_search_needs(struct rb_search *search, const struct rb_candidate *candidate, struct rb_needs *out,
                     struct rb_err *err);
// Result of a planner whose best is a feasible candidate; cut if the time is up, unless the planner knows better.
struct rb_plan_result rb_search_found(const struct rb_search *search, const struct rb_candidate *best);

// --- what was considered, and why it lost

struct rb_explained *rb_explained_create(void);
void rb_explained_destroy(struct rb_explained *explained); // NULL is fine

bool rb_search_explains(const struct rb_search *search);
// One line: planner, candidate, reason.
void rb_search_explain(struct rb_search *search, const char *planner, const struct rb_candidate *candidate,
                       const char *fmt, ...) __attribute__((format(printf, 4, 5)));
// Why a scored candidate lost against the best (NULL: there is none).
void rb_search_explain_loss(struct rb_search *search, const char *planner, const struct rb_candidate *candidate,
                            const struct rb_candidate *best);
// A line about many candidates at once; not capped.
void rb_search_note(struct rb_search *search, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
// What was not said yet, and how many lines there would be beyond the cap.
void rb_search_explain_rest(struct rb_search *search);
// "64 x 1 GPU on 16 g5.12xlarge (spot) > 21 x 2 on 11 > ..."
void rb_candidate_text(const struct rb_scenario *s, const struct rb_candidate *candidate, struct rb_buf *out);

// --- as plan stages

// Stages of the candidate: trials, resources, GPUs, waves, nodes. out_nodes [n_stages] backs stages[i].nodes.
void rb_candidate_stages(const struct rb_scenario *s, const struct rb_candidate *candidate,
                         struct rb_plan_stage *out_stages, struct rb_plan_nodes *out_nodes);

#endif
