// State of one optimal search: the tables, the aim and the best plan so far. A plan becomes the best only after the
// exact evaluator has scored it on all replicates.
#ifndef RB_PLANNER_OPTIMUM_H
#define RB_PLANNER_OPTIMUM_H

#include "planner/request/options.h"
#include "planner/search/aim.h"

#define RB_OPTIMUM_REFUSED 1024

struct rb_optimum {
    struct rb_search *search;
    struct rb_options options;
    int n_doubts;                     // plans that the pilot accepted and more replicates rejected
    struct rb_aim aim;                // on the tables
    bool has_path, has_best;
    struct rb_path path;              // the best, as entries of the tables; has_path false: it is not among them
    struct rb_candidate best;         // scored exactly
    struct rb_needs nearest;          // infeasible requests: the minimum any candidate would need
    struct rb_candidate surest;       // the one that keeps the constraints most often; n_stages 0: none was run
    uint64_t refused[RB_OPTIMUM_REFUSED]; // paths that the tables accepted and the evaluator rejected
    int n_refused;
    int64_t n_nodes, node_limit;      // explored under the present aim
    int64_t n_ruled_out;              // plans and partial plans excluded by means and bounds alone
    bool cut;
    double *time_us, *cost_uusd, *scratch; // sums of the path under test [req->samples]
};

bool rb_optimum_init(struct rb_optimum *op, struct rb_search *search, struct rb_err *err);
void rb_optimum_finish(struct rb_optimum *op);

// Starts on an aim with nothing found. The caller offers already scored candidates again.
void rb_optimum_aim(struct rb_optimum *op, enum rb_aim_kind kind);
// Tests a path: on the tables, with more replicates, then with the exact evaluator. *out_better: it is the new best.
bool rb_optimum_offer(struct rb_optimum *op, const struct rb_path *path, bool *out_better, struct rb_err *err);
// Tests a candidate of any planner that was scored on all replicates.
bool rb_optimum_offer_scored(struct rb_optimum *op, const struct rb_candidate *candidate, struct rb_err *err);

// The mean that is minimised: cost or time, plus a small share of the other as a tie-breaker.
#define RB_TIE_WEIGHT 1e-8
double rb_sample_objective(const struct rb_optimum *op, const struct rb_stage_sample *sample);

// True once the time is up (sets cut).
bool rb_optimum_out_of_time(struct rb_optimum *op);

#endif
