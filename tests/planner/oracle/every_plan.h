// Brute force with the oracle: every plan of a small job's space, played on shared draws. Which of them keep the
// constraints, and does one that surely does cost less than a plan that was called the cheapest?
//
// The space is the documented one (docs/MODEL.md, "The exact search"): for every stage an offer, a size of
// trial.gpus.sizes and a number of nodes that holds a trial, up to what this stage or a later one can use and a few
// more. No early requests, no mixed zones, and no stage whose new nodes on average only run once it has ended.
#ifndef RB_TESTS_PLANNER_EVERY_PLAN_H
#define RB_TESTS_PLANNER_EVERY_PLAN_H

#include "oracle.h"

enum { EVERY_CHOICES = 64 };

struct every_choice {
    int offer, gpus, nodes;
};

struct every_space {
    const struct oracle *o;
    struct rb_plan_stage stages[RB_LIMIT_STAGES]; // trials and resources; no nodes
    int n_stages;
    struct every_choice choices[RB_LIMIT_STAGES][EVERY_CHOICES];
    int n_choices[RB_LIMIT_STAGES];
    double n_plans;
    int max_nodes; // of any choice
};

// false: a stage has no choice, or more than EVERY_CHOICES.
bool every_space_init(struct every_space *space, const struct oracle *o);

// Plan number i, 0 <= i < n_plans. out_nodes [n_stages] backs out_stages [n_stages].
void every_space_plan(const struct every_space *space, int64_t i, struct rb_plan_stage *out_stages,
                      struct rb_plan_nodes *out_nodes);

struct every_asked {
    int64_t deadline_us, budget_uusd; // -1: none
    double probability;               // that a plan must surely keep them with
    double tolerance;                 // share of the plan's cost by which another one may be cheaper
    int most_runs;                    // of one plan; a power of 4 times 256; 16 times as many if it seems to undercut
    double sure;                      // standard errors
};

struct every_found {
    int64_t n_plans;
    bool surely;     // one keeps the constraints and costs less by more than the tolerance: both for sure
    double undercut; // 1 - its cost / the plan's, of the cheapest that seems to keep them; 0: none is cheaper
    double p;        // of that one
    int64_t number;  // likewise; -1: none
};

// Of the plan with stages [n_stages] on its own oracle, which must have the seed of the space's; NULL: no plan was
// found, and any that surely keeps the constraints undercuts it. false: the oracle cannot play it.
bool every_plan_undercuts(const struct every_space *space, const struct every_asked *asked, const struct oracle *own,
                          const struct rb_plan_stage *stages, struct every_found *out);

#endif
