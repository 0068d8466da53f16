// Plans of asynchronous jobs (rb_job_is_asynchronous), run by the engine in the virtual world. Plans are compared on a few
// hundred runs and reported by others, which no choice has seen. Promotions make runs differ so much that the best of many
// plans looks better than it is in the runs it was chosen by.
#ifndef RB_PLANNER_ASYNC_RUNS_H
#define RB_PLANNER_ASYNC_RUNS_H

#include "planner/async/engine_runs.h"

#define RB_ASYNC_COMPARED      256 // at most: P within 0.028 at 0.95, two standard errors; unseen runs decide
#define RB_ASYNC_COMPARED_PART 2   // divides the runs that a plan is reported by
#define RB_ASYNC_POINT_PART    4   // likewise, of a point between the ends of a frontier
#define RB_ASYNC_FIRST_UNSEEN RB_ENGINE_FIRST_UNSEEN
#define RB_ASYNC_WHY "asynchronous: promotions depend on results"

// Does its policy work until the deadline (rb_policy.anytime)? Then its runs depend on the deadline and the budget, and none
// is kept for others.
bool rb_async_is_anytime(const struct rb_search *search);

// About how many events one run has.
double rb_async_events(const struct rb_scenario *s);
// Runs that plans are compared by, fewer where each has very many events; and the first of them, which show most plans not
// to be worth the others.
int rb_async_n_compared(const struct rb_search *search);
int rb_async_n_screened(const struct rb_search *search);
// May a plan that kept the constraints in a share p of n runs keep them with the confidence asked? One that does is refused once
// in 160.
bool rb_async_may_keep(const struct rb_search *search, double p, int n);
// Keeps what trials draw in these runs, and in n_unseen of those that plans are reported by, and shares it.
void rb_async_keep_draws(struct rb_scenario *s, int n_unseen, size_t most_bytes);

// Runs first..first+n-1 of a candidate under the job's policy; common random numbers: each draw and each learning curve
// depends on the run's number and not on the plan. out [n]; out_phases NULL or [n x n_stages].
bool rb_async_play(const struct rb_search *search, const struct rb_candidate *candidate, uint32_t first, int n,
                   struct rb_world_result *out, struct rb_world_phase *out_phases, struct rb_err *err);

// Times and costs of the first n of the runs that plans are compared by (at most rb_async_n_compared), or are reported by; kept
// with the search, and borrowed until the next call.
bool rb_async_compared(struct rb_search *search, const struct rb_candidate *candidate, int n,
                       const struct rb_runs **out, struct rb_err *err);
bool rb_async_unseen(struct rb_search *search, const struct rb_candidate *candidate, int n, const struct rb_runs **out,
                     struct rb_err *err);

// How the candidate compares, into candidate->estimate: from the first n of those runs, at most rb_async_n_compared.
bool rb_async_score(struct rb_search *search, struct rb_candidate *candidate, int n, struct rb_err *err);
// A first look: from the first n of the runs that it would be reported by.
bool rb_async_guess(struct rb_search *search, struct rb_candidate *candidate, int n, struct rb_err *err);
// As the plan states it: by the request's number of unseen runs, or as many as can be afforded, under the policy that will
// carry it out and the hard budget (rb_engine_estimate); quantiles of the phases into out_stages if it is not NULL ([n_stages]).
bool rb_async_estimate(struct rb_search *search, struct rb_candidate *candidate, struct rb_plan_stage *out_stages,
                       struct rb_err *err);

#endif
