// Runs of asynchronous jobs' plans (rb_job_is_asynchronous) by the engine in the virtual world. Plans are compared on a
// few hundred runs and reported from other runs that no choice has used. Promotions make runs differ so much that the
// best of many plans looks better than it is on the runs it was chosen by.
#ifndef RB_PLANNER_ASYNC_RUNS_H
#define RB_PLANNER_ASYNC_RUNS_H

#include "planner/async/engine_runs.h"

#define RB_ASYNC_COMPARED      256 // upper limit: P is within 0.028 at 0.95 (two standard errors); unseen runs decide
#define RB_ASYNC_COMPARED_PART 2   // divisor of the number of runs used to report a plan
#define RB_ASYNC_POINT_PART    4   // the same, for a point between the ends of a frontier
#define RB_ASYNC_FIRST_UNSEEN RB_ENGINE_FIRST_UNSEEN
#define RB_ASYNC_WHY "asynchronous: promotions depend on results"

// True if the policy works until the deadline (rb_policy.anytime). Its runs then depend on the deadline and the budget,
// so none is kept for other constraints.
bool rb_async_is_anytime(const struct rb_search *search);

// Approximate number of events in one run.
double rb_async_events(const struct rb_scenario *s);
// Number of runs used to compare plans, fewer if each has very many events. The second is the number of first-look
// runs, which suffice to reject most plans.
int rb_async_n_compared(const struct rb_search *search);
int rb_async_n_screened(const struct rb_search *search);
// True if a plan that kept the constraints in a share p of n runs may keep them with the job's confidence. A plan that
// does keep them is rejected once in 160 times.
bool rb_async_may_keep(const struct rb_search *search, double p, int n);
// Keeps and shares what trials draw in these runs, and in n_unseen of the runs used for reporting.
void rb_async_keep_draws(struct rb_scenario *s, int n_unseen, size_t most_bytes);

// Plays runs first..first+n-1 of a candidate under the job's policy, with common random numbers: each draw and each
// learning curve depends on the run's number and not on the plan. out [n]; out_phases NULL or [n x n_stages].
bool rb_async_play(const struct rb_search *search, const struct rb_candidate *candidate, uint32_t first, int n,
                   struct rb_world_result *out, struct rb_world_phase *out_phases, struct rb_err *err);

// Times and costs of the first n runs used for comparison (at most rb_async_n_compared) or for reporting. They are kept
// with the search and borrowed until the next call.
bool rb_async_compared(struct rb_search *search, const struct rb_candidate *candidate, int n,
                       const struct rb_runs **out, struct rb_err *err);
bool rb_async_unseen(struct rb_search *search, const struct rb_candidate *candidate, int n, const struct rb_runs **out,
                     struct rb_err *err);

// Writes the comparison estimate to candidate->estimate, from the first n comparison runs, at most rb_async_n_compared.
bool rb_async_score(struct rb_search *search, struct rb_candidate *candidate, int n, struct rb_err *err);
// A first look, from the first n of the runs used for reporting.
bool rb_async_guess(struct rb_search *search, struct rb_candidate *candidate, int n, struct rb_err *err);
// The estimate that the plan states: from the request's number of unseen runs, or as many as can be afforded, under the
// policy that will execute the plan and the hard budget (rb_engine_estimate). Quantiles of the phases go to out_stages
// if it is not NULL ([n_stages]).
bool rb_async_estimate(struct rb_search *search, struct rb_candidate *candidate, struct rb_plan_stage *out_stages,
                       struct rb_err *err);

#endif
