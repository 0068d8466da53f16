// State shared by the planners of one request: the scenario, the sizes each offer allows, exact scores of candidates,
// and the results of the baselines. Internal to planner/.
#ifndef RB_PLANNER_SEARCH_H
#define RB_PLANNER_SEARCH_H

#include "planner/questions/nearest.h"
#include "planner/scores/scorer.h"
#include "planner/search/planner.h"

struct rb_sizes {
    int gpus[RB_LIMIT_GPUS_PER_NODE]; // ascending
    int n;
};

// Plans of a frontier carry out the whole job; between its ends a small number of runs suffices.
enum rb_search_place { RB_SEARCH_ALONE, RB_SEARCH_FRONTIER_END, RB_SEARCH_FRONTIER_BETWEEN };

struct rb_search {
    const struct rb_plan_request *req;
    const struct rb_scenario *scenario;
    struct rb_sizes *sizes;           // [n_offers]; n = 0: the offer cannot be used
    bool *left_out;                   // [n_offers]; usable, but only with more replicates than a limit allows
    int n_left_out;
    const char *left_out_for;         // the limit: "time", "memory"; NULL: their markets go down
    int64_t left_out_uusd;            // then: what the cheapest plan found with them costs; 0: none keeps the confidence
    struct rb_stage_span {            // [n_offers], the stages that may use the offer; else its reservation is closed
        int first, end;
    } *spans;                         // planner/request/windows.h
    const struct rb_scorer *scorer;   // how plans of the job are scored
    enum rb_search_place place;       // of the plan asked for
    double guard;                     // margin of a plan's probability above the confidence, set because the last plan
                                      // found turned out to keep less than the confidence
    bool any_plan;                    // the time is up, and the first plan that keeps the constraints will do
    bool on_average;                  // the mean time keeps the deadline, and the confidence does not count
    struct rb_trial_laws *laws;       // the request's, or own: laws and tables of single latencies
    bool owns_laws;
    struct rb_run_store *runs;        // the request's, or own
    bool owns_runs;
    struct rb_plan_space *space;           // what does not depend on deadline or budget (planner/request/plan_space.h)
    bool asked_again;                 // rb_search_ask_again will be called, so it is kept
    const struct rb_planner *asked;   // if its request is infeasible, it is worth the time to find the nearest
                                      // constraints
    struct rb_plan_result *results;   // [number of planners], in the order of rb_planners
    bool *has_result;
    struct rb_static_best {           // [n_offers], the best fixed cluster of each offer, found once
        bool known, exists;
        struct rb_candidate candidate;
    } *static_best;
    int64_t n_evaluated;              // exact scores computed
    double slowest_look_us;           // of a time limit: the longest that the fewest runs of the engine have taken which an
                                      // estimate needs (RB_WORLD_LOOK); 0: none was made
    int *fallbacks;                   // [n_offers], of the last plan that was made for the engine
    struct rb_engine_estimated *engine_estimated; // the last one (planner/async/engine_runs.c); NULL: none
    struct rb_explained *explained;   // the lines written to req->explain (planner/questions/explain.c)
};

// Errors: no offer is usable (gives the reason), or no size of trial.gpus fits any of them.
bool rb_search_init(struct rb_search *search, const struct rb_plan_request *req, const struct rb_scenario *scenario,
                    struct rb_err *err);
void rb_search_finish(struct rb_search *search);
// Asks the same search another question: `req` differs from the last one only in its constraints, hints and clock.
// Results are forgotten; scores, runs and the space are kept.
void rb_search_ask_again(struct rb_search *search, const struct rb_plan_request *req);

// Leaves out the offers whose markets go down, as those are that a limit leaves out.
void rb_search_leave_out_markets(struct rb_search *search);
// Asks for plans without spot machines: other offers are all there is, and no proof counts those of spot. False, and nothing
// is left out: no spot machine can be planned, or nothing but them.
bool rb_search_leave_out_spot(struct rb_search *search);

// Forgets the planners' results; scores, runs and the space are kept.
void rb_search_forget(struct rb_search *search);
// Result of one planner, computed once per request.
bool rb_search_plan(struct rb_search *search, const struct rb_planner *planner, const struct rb_plan_result **out,
                    struct rb_err *err);

int rb_search_index_of(const struct rb_planner *planner); // in rb_planners
// Sets the result of one planner, whichever planner found it.
void rb_search_know(struct rb_search *search, const struct rb_planner *planner, const struct rb_plan_result *result);

// The least objective over all plans found so far; INFINITY: none was found.
double rb_search_to_beat(const struct rb_search *search);

// The cheapest (or fastest) feasible fixed cluster of one offer; *out NULL: none.
bool rb_static_best(struct rb_search *search, int offer, const struct rb_candidate **out, struct rb_err *err);

// Writes the nearest constraints that some fixed cluster keeps to an infeasible result.
bool rb_static_nearest(struct rb_search *search, struct rb_plan_result *out, struct rb_err *err);

// The result of `optimal` if stages are sampled.
bool rb_stages_optimal(struct rb_search *search, struct rb_plan_result *out, struct rb_err *err);

extern const struct rb_planner rb_planner_greedy, rb_planner_mean, rb_planner_naive, rb_planner_optimal,
    rb_planner_static;

// --- facts about stages and offers

int rb_search_n_trials(const struct rb_search *search, int stage);
double rb_search_trials_in_all(const struct rb_search *search); // of all stages
double rb_search_affordable_runs(const struct rb_search *search); // of one plan, if more of them only reduce its errors
int rb_search_gpus_per_node(const struct rb_search *search, int offer);
// True if another offer differs only in its price and is not more expensive; it replaces this one in every plan.
bool rb_search_is_outbid(const struct rb_search *search, int offer);
// Mean time of a stage's trial with this many GPUs if it is not interrupted; false: no data for that size.
bool rb_search_trial_s(const struct rb_search *search, int stage, int offer, int gpus, double *out);
// Number of nodes that one trial of this size needs.
int rb_nodes_per_trial(int gpus_per_node, int gpus);
// Smallest number of nodes that can run n trials at once.
int rb_nodes_to_hold(int gpus_per_node, int n_trials, int gpus);
// Largest number of nodes of an offer worth owning from a stage on, at most resources.max_nodes: what this or any later
// stage can use (a held node saves a later boot), and a few more (the first ones ready are used).
int rb_search_useful_nodes(const struct rb_search *search, int stage, int offer);

// --- scores

// Keeps the draws of req->samples replicates with the scenario, as far as the memory limit allows.
void rb_search_keep_draws(struct rb_scenario *s, const struct rb_plan_request *req);

// Writes the comparison estimate to candidate->estimate, from the first `samples` runs.
bool rb_search_score(struct rb_search *search, struct rb_candidate *candidate, int samples, struct rb_err *err);
// Returns those runs, kept with the search. Borrowed until the next call.
bool rb_search_runs(struct rb_search *search, const struct rb_candidate *candidate, int samples,
                    const struct rb_runs **out, struct rb_err *err);
// True if a certificate proves the cheapest plan (planner/proof/certificate.h). The fastest is not proved by one, nor
// is a plan that only runs of the engine estimate.
bool rb_search_is_certified(const struct rb_search *search);

// Probability with which a plan has to keep the constraints: the confidence asked, or more once a plan found with just
// that confidence turned out to keep less.
double rb_search_confidence(const struct rb_search *search);
bool rb_search_feasible(const struct rb_search *search, const struct rb_estimate *estimate);
// Error bound of p_both: its stated error, or four standard errors if that is more (exceeded once in 30000).
double rb_search_p_off(const struct rb_estimate *estimate);
double rb_search_objective(const struct rb_search *search, const struct rb_estimate *estimate);
// Number of n samples that must meet the constraints: the smallest m with m / n >= confidence.
int rb_need_count(double confidence, int n);

// The best feasible of n candidates. All are screened on the first runs, and settled in the order of their screened
// objectives. *out_best: its index; -1: none is feasible.
bool rb_search_best_of(struct rb_search *search, const char *planner, struct rb_candidate *candidates, int n,
                       int *out_best, struct rb_err *err);

// True if the request's time limit is reached.
bool rb_search_out_of_time(const struct rb_search *search);
// True if runs of this many trials, over all offers and sizes, take too long to be simulated event by event within a
// limit.
bool rb_search_is_slow(const struct rb_plan_request *req, double trials);
// The same, after this many runs of a plan.
bool rb_search_has_time_for(const struct rb_search *search, double n_runs);

// Scores one candidate on the first replicates only, into candidate->estimate.
bool rb_search_screen(struct rb_search *search, struct rb_candidate *candidate, struct rb_err *err);
// True if a candidate that was scored on its first estimate.samples runs may be feasible on all of them and better than
// `best` (NULL: there is none), whose runs are kept, too.
bool rb_search_may_stand(const struct rb_search *search, enum rb_run_kind kind, const struct rb_candidate *screened,
                         const struct rb_candidate *best, int all);
// Decides whether a candidate keeps the constraints with the confidence. Uses as many runs as needed, none of which the
// search has used to compare plans (planner/proof/decide.c). Sets candidate->undecided.
bool rb_search_decide(struct rb_search *search, struct rb_candidate *candidate, bool *out_keeps, struct rb_err *err);
// True if a candidate is feasible and better than `best` (NULL: there is none). Scores it on more and more replicates
// until these reject it with high probability or all have been used. estimate.samples is the number used.
bool rb_search_settle(struct rb_search *search, struct rb_candidate *candidate, const struct rb_candidate *best,
                      bool *out_stands, struct rb_err *err);

// Writes an infeasible result of the requested planner: the candidate with the highest p_both, and the nearest
// constraints that any candidate meets.
bool rb_search_nearest_of(struct rb_search *search, const struct rb_candidate *candidates, int n,
                          struct rb_plan_result *out, struct rb_err *err);
// An infeasible result without its nearest constraints, for a baseline beside the requested planner.
struct rb_plan_result rb_search_no_plan(const struct rb_search *search);
// An infeasible result: the candidate with the highest probability (NULL: there is none) and the nearest constraints.
bool rb_search_not_found(struct rb_search *search, const struct rb_candidate *surest, const struct rb_needs *nearest,
                         struct rb_plan_result *out, struct rb_err *err);
// What one candidate would need, from its simulated runs.
bool rb_search_needs(struct rb_search *search, const struct rb_candidate *candidate, struct rb_needs *out,
                     struct rb_err *err);
// Result of a planner whose best is a feasible candidate; cut if the time is up, unless the planner decides otherwise.
struct rb_plan_result rb_search_found(const struct rb_search *search, const struct rb_candidate *best);

// --- what was considered, and why it lost

struct rb_explained *rb_explained_create(void);
void rb_explained_destroy(struct rb_explained *explained); // NULL is allowed

bool rb_search_explains(const struct rb_search *search);
// One line: planner, candidate, reason.
void rb_search_explain(struct rb_search *search, const char *planner, const struct rb_candidate *candidate,
                       const char *fmt, ...) __attribute__((format(printf, 4, 5)));
// Writes why a scored candidate lost against the best (NULL: there is none).
void rb_search_explain_loss(struct rb_search *search, const char *planner, const struct rb_candidate *candidate,
                            const struct rb_candidate *best);
// Writes one line about many candidates; does not count towards the cap.
void rb_search_note(struct rb_search *search, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
// Writes the pending lines, and how many lines were dropped by the cap.
void rb_search_explain_rest(struct rb_search *search);
// "64 x 1 GPU on 16 g5.12xlarge (spot) > 21 x 2 on 11 > ..."
void rb_candidate_text(const struct rb_scenario *s, const struct rb_candidate *candidate, struct rb_buf *out);

// --- as plan stages

// Stages of the candidate: trials, resources, GPUs, waves, nodes. out_nodes [n_stages] backs stages[i].nodes.
void rb_candidate_stages(const struct rb_scenario *s, const struct rb_candidate *candidate,
                         struct rb_plan_stage *out_stages, struct rb_plan_nodes *out_nodes);

#endif
