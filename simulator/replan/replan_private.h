// The state of a search, between which exchanges there are (replan_exchanges.c) and what they are worth (replan.c).
#ifndef RB_SIMULATOR_REPLAN_PRIVATE_H
#define RB_SIMULATOR_REPLAN_PRIVATE_H

#include "simulator/replan/replan.h"

enum {
    RB_REPLAN_STEP = 8,          // runs of one step, of which each takes milliseconds
    RB_REPLAN_RANKED_RUNS = 64,
    RB_REPLAN_JUDGED_RUNS = 1024, // a probability within .05 at 99.9 %, a difference on common draws far better
};

// How the stages to come are carried out.
struct rb_replan_choices {
    struct rb_stage_change stages[RB_LIMIT_STAGES]; // by stage, from `first` on
    int64_t admit_until_us;                         // 0: as before
};

// Of the runs so far.
struct rb_replan_score {
    double p, time_us, cost_uusd;
};

struct rb_replan_exchange {
    struct rb_replan_choices choices;
    struct rb_replan_score score;
};

// By runs that no search has used.
struct rb_replan_judged {
    int64_t time_us[RB_REPLAN_JUDGED_RUNS], cost_uusd[RB_REPLAN_JUDGED_RUNS];
    int n;
    double p;
};

struct rb_replan {
    struct rb_prediction *prediction;
    struct rb_replan_limits limits;
    const struct rb_plan *plan; // in force when it began
    int stage, first, n_stages; // first: that may be changed, the one under way or the next
    bool overlaps;              // its stages
    int64_t end_us;             // by when it should have ended
    struct rb_replan_exchange *singles; // the plan in force, and that with one stage changed, [n_singles]
    int n_singles, n_screened;          // the first n_screened have scores
    struct rb_replan_exchange *listed; // the plan in force first, in the order in which they are ranked, [n_listed]
    int n_listed, most_listed;
    int n_ranked, n_runs;    // of them; runs of the next one
    int best, best_of_round; // index
    int round;
    double surest; // of all that were ranked
    int64_t ranked_cost_uusd[RB_REPLAN_RANKED_RUNS]; // of the next one
    int64_t best_cost_uusd[RB_REPLAN_RANKED_RUNS];   // of best_of_round
    bool searched, base_judged, failed, concluded;
    struct rb_replan_judged judged[2]; // the plan in force, and the best
    int n_finalists;                   // that were judged before it
    struct rb_replan_found found;
    struct rb_stage_change changes[RB_LIMIT_STAGES];
};

void rb_replan_list(struct rb_replan *r, const struct rb_replan_choices *c);
// Each lists what is not listed yet.
void rb_replan_close_admission(struct rb_replan *r);   // of the plan in force
void rb_replan_exchange_near(struct rb_replan *r);     // of the best so far
// Every layout of one stage, on as many nodes as let all its trials train in one turn, two, three, ...
void rb_replan_make_singles(struct rb_replan *r);
// After these were screened: for each of some prices of time, of every stage the layout that is then the cheapest.
void rb_replan_combine(struct rb_replan *r);

#endif
