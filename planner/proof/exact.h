// The exact search: the plan of least mean cost among all that keep the constraints, and the proof. For requests whose
// stages have independent laws (planner/scores/score.h) and whose objective is min_cost.
//
// Prices of time give good plans (togo), every one of them scored exactly; then branch and bound (proof) looks at all that
// bounds do not exclude. Plans whose probability is within its own error of the confidence asked count as feasible for the
// bound and as infeasible for the answer, so neither claims more than is known.
// Source: planning study, section 5.
#ifndef RB_PLANNER_EXACT_H
#define RB_PLANNER_EXACT_H

#include "planner/proof/billed.h"
#include "planner/proof/labels.h"
#include "planner/proof/togo.h"
#include "planner/scores/on_time.h"

#define RB_MULTIPLIERS 6
#define RB_EXACT_SEEN  24
#define RB_EXACT_ROOMS 4

struct rb_exact_options {
    double accuracy;   // of stage times while searching
    bool samples;      // a few replicates raise a bound before it is made exact
    bool tilts;        // the tilted chance constraint as a Lagrangian bound
    bool adaptive;     // the chance constraint priced in, from the laws of the stages ...
    int patience;      // ... once so many beginnings of plans were looked at: it takes milliseconds
    bool envelope;     // the fastest remaining stages as a feasibility cut
    bool labels;       // label dominance
    bool bills;        // plans cost what they are billed; else the sum of their stages
    double told_accuracy; // of stage times that the nearest deadline is told from
};
struct rb_exact_options rb_exact_defaults(void);

struct rb_exact {
    struct rb_search *search;
    struct rb_exact_options opt;
    struct rb_lattice lattice;
    struct rb_togo *multipliers[RB_MULTIPLIERS]; // [n_multipliers], the first without a price
    int n_multipliers;
    bool has_best;
    struct rb_candidate best;      // its estimate filled
    struct rb_score best_score;
    struct rb_billed best_billed;
    double billed_uusd;            // the least that a plan may be billed which runs have told to be no cheaper; INFINITY
    double affordable_uusd;        // no plan that keeps the budget costs more on average; INFINITY
    double doubtful_uusd;          // least cost of a plan whose probability does not decide; INFINITY: none
    double open_uusd;              // least bound of what a limit left unexplored; INFINITY: nothing
    double root_uusd;              // no plan that keeps the constraints costs less, as the adaptive bound says; -INFINITY
    int64_t n_nodes, node_limit;
    int64_t n_ruled_out;
    bool is_settled;   // runs are sure that the best keeps the constraints
    bool cut, skipped; // by a limit; choices whose stage times would have to be sampled
    // [n_seen], plans at prices of time, then those with room for the budget: for the nearest constraints
    struct rb_candidate seen[RB_EXACT_SEEN + RB_EXACT_ROOMS];
    int n_seen;
    int n_detours;
};

// The best plan of a request into *out, with its certificate; or the nearest constraints.
bool rb_exact_plan(struct rb_search *search, const struct rb_exact_options *opt, struct rb_plan_result *out,
                   struct rb_err *err);

// Does a plan keep the constraints? More runs than the request asks for, where these are not sure: as many as it takes, within limits.
enum rb_side { RB_SIDE_FAILS, RB_SIDE_UNSETTLED, RB_SIDE_KEEPS };
bool rb_exact_tell_side(struct rb_exact *x, const struct rb_candidate *candidate, enum rb_side *out,
                        struct rb_err *err);
// Offers a plan: it becomes the best if it is feasible and cheaper.
bool rb_exact_offer(struct rb_exact *x, struct rb_candidate *candidate, struct rb_err *err);
double rb_exact_to_beat(const struct rb_exact *x); // mean cost; more than any plan costs if none was found
// What a multiplier's least sum is lowered by: its price times the tilt that a plan in time may have at most.
double rb_exact_allowance(const struct rb_exact *x, const struct rb_togo *multiplier);
bool rb_exact_out_of_time(struct rb_exact *x);     // sets cut
// When a plan has ended with the confidence asked, if times were normal and as replicates say.
double rb_exact_likely_s(const struct rb_exact *x, const struct rb_lattice_path *path);
// Makes exact what stands on a path. *out_new: something was not.
bool rb_exact_make_path(struct rb_exact *x, const struct rb_lattice_path *path, bool *out_new, struct rb_err *err);
// The shortest path whose values are all exact: bounds are made exact where it runs, until it stays.
bool rb_exact_settle(struct rb_exact *x, struct rb_togo *t, enum rb_delay delay, double price,
                     struct rb_lattice_path *out, struct rb_err *err);

#endif
