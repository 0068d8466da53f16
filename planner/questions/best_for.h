// The best model that a budget buys: which search of the job's tuner is expected to find the best model, among those
// with a plan that keeps budget and deadline; what that plan is; what more money and less time would change.
//
// Quality comes from planner/quality/ and is independent of machines; a search is affordable if the planner finds a
// plan that keeps the constraints with the confidence. Every probe is one plan.
#ifndef RB_PLANNER_BEST_FOR_H
#define RB_PLANNER_BEST_FOR_H

#include "planner/quality/choose.h"
#include "planner/quality/target.h"
#include "planner/search/planner.h"

#define RB_BEST_FOR_POINTS 9

// The best search under these limits. Not feasible: no search is affordable.
struct rb_best_for_answer {
    bool asked;                       // else the time limit ended before, or there is no deadline
    int64_t budget_uusd, deadline_us; // -1: none
    bool feasible;
    struct rb_search_choice choice;
    int trials; // of all brackets
    struct rb_best best;
    struct rb_estimate estimate;
};

struct rb_best_for {
    const struct rb_quality_law *law; // borrowed
    double gain;                      // of the job's sampler, at the number of trials chosen
    const char *gain_source;          // NULL: the sampler counts as random because nothing else is known
    const struct rb_job *asked, *job; // as given; with the search that was chosen
    struct rb_best_for_answer chosen;
    struct rb_search_choices choices;
    struct rb_plan plan;              // of the chosen job, with baselines and warnings; unsigned
    struct rb_plan_result result;
    struct rb_best_for_answer more_money; // a step more: the largest of 1, 2, 5 times a power of ten dollars that is at
                                          // most a fifth of the budget
    struct rb_best_for_answer less_time;  // a step less, at most a third of the deadline
    bool has_target;                  // the job has one, and the law is a table's:
    struct rb_to_target to_target;
    struct rb_best_for_answer frontier[RB_BEST_FOR_POINTS]; // by budget; only where it was asked for, [n_frontier]
    int n_frontier;
    int n_plans;                      // that were made
    bool cut;                         // at the time limit: a better search may exist
};

// req->budget_uusd >= 0: the money. frontier: also under other budgets, from an eighth of it to twice as much.
// Errors: a tuner without a law of quality; no search is affordable (RB_E_NO_PLAN, with the cheapest that was tried);
// nothing limits the search. *out lives in `arena`.
bool rb_best_for_find(const struct rb_plan_request *req, const char *planner, const struct rb_quality_law *law,
                      bool frontier, struct rb_arena *arena, struct rb_best_for *out, struct rb_err *err);

void rb_best_for_write(const struct rb_best_for *b, struct rb_json *j); // rb-best-for/1

#endif
