// What one random job shows about the planner: its figures beside the oracle's, its proof beside every plan of the
// space, its plans under other seeds.
#ifndef RB_TESTS_PLANNER_BATTERY_H
#define RB_TESTS_PLANNER_BATTERY_H

#include "battery_job.h"

enum battery_failure {
    BATTERY_ESTIMATE,   // a figure is further from the oracle's than both errors say
    BATTERY_KEEPS,      // the plan keeps the constraints with less than the confidence
    BATTERY_EXIT,       // a plan is returned as feasible that by its own figure is not
    BATTERY_ERROR,      // a stated error is negative, not a number, or larger than what it qualifies
    BATTERY_BOUND,      // a lower bound is above the plan's own cost
    BATTERY_UNDERCUT,   // another plan beats a proved one by more than the tolerance
    BATTERY_INFEASIBLE, // a job was called infeasible that has a plan
    BATTERY_SEEDS,      // proved plans of other seeds cost something else
    BATTERY_BROKEN,     // the planner or the oracle failed on it
    BATTERY_N_FAILURES
};
extern const char *const battery_failure_names[BATTERY_N_FAILURES];

struct battery_options {
    int runs;         // of the oracle, for every plan's figures
    int most_runs;    // of one plan of the space beside a proof
    double most_plans; // a larger space is not looked through
    int n_seeds, every_seeds; // one job in `every_seeds` is planned with n_seeds seeds; 0: none
    double sure;      // |z| that no figure of a true program reaches
    double sure_plan; // likewise, of each of the plans of the spaces
    bool verbose;
};

struct battery_result {
    bool known;                        // the job could be made
    bool feasible, proved;
    int n_figures;
    double worst_z;
    char worst[16];                    // name of that figure
    bool failed[BATTERY_N_FAILURES];
    bool space_checked;                // a proof or an infeasibility was held against every plan
    double undercut;                   // of a proved plan, by the cheapest that seems to keep the constraints
    bool seeds_checked;
    double seeds_spread;               // largest cost over the smallest, less 1, of proved plans
    double plan_s, oracle_s, space_s, seeds_s; // processor time
    struct rb_buf story;               // what failed, and with -v everything; battery_result_finish
};

void battery_run(char class_, uint32_t number, const struct battery_options *opt, struct battery_result *out);
void battery_result_finish(struct battery_result *r);
bool battery_result_failed(const struct battery_result *r);

// |z| that n independent comparisons of a true program reach once in 10,000 batteries.
double battery_bonferroni(double n);

#endif
