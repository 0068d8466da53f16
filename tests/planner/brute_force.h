// Brute force for the exact searches: every plan of a small job's space with its sums over stages, cheapest first, so that
// the first one that keeps the deadline is the optimum. Stage times come from the same objects as the search's, whose
// laws have tests of their own (tests/simulator); bounds, prices, labels and orders of search have no part in it.
#ifndef RB_TESTS_PLANNER_BRUTE_FORCE_H
#define RB_TESTS_PLANNER_BRUTE_FORCE_H

#include "case.h"

#include "planner/scores/score.h"

struct brute_plan {
    double cost_uusd, time_s, variance_s2; // means, and the variance of the time
    int32_t choice[RB_LIMIT_STAGES];       // of each stage's list
};

struct brute_choices {
    struct rb_choice *items;
    int n;
};

struct brute {
    struct brute_choices stages[RB_LIMIT_STAGES];
    int n_stages;
    struct brute_plan *plans; // by mean cost, ascending
    int n_plans;
    int soonest; // index: the least mean time
};

// A job and what searches over it need. Owns: brute_job_finish.
struct brute_job {
    struct rb_case c;
    struct rb_scenario scenario;
    struct rb_trial_laws *times;
    struct brute brute;
};

// Which jobs are wanted.
struct brute_filter {
    int min_plans, max_plans;
    bool several_types; // of instances
    bool holding;       // some plans own more nodes in a stage than its trials can use: they are held for a later one
};

// The numbered job of case_random with more nodes; every other one boots them slowly, so that it pays to hold them. false: not wanted,
// or no size fits any node.
bool brute_job_init(struct brute_job *job, uint32_t number, const struct brute_filter *filter);
void brute_job_finish(struct brute_job *job);

struct rb_candidate brute_candidate(const struct brute *b, int plan);
bool brute_holds_nodes(const struct rb_scenario *s, const struct rb_candidate *candidate);
bool brute_has_holding(const struct brute_job *job); // some plans of its space

// Index of the optimum; -1: no plan keeps the deadline of the search's request. By chance: with the confidence asked, as
// rb_search_feasible says of rb_search_score. On average: the mean time is not above it.
int brute_best_by_chance(const struct brute *b, struct rb_search *search);
int brute_best_on_average(const struct brute *b, double deadline_s);

#endif
