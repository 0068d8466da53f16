// Runs of plans with early requests, side by side with the same draws, to decide whether one is better and sure enough.
#ifndef RB_PLANNER_EARLY_RUNS_H
#define RB_PLANNER_EARLY_RUNS_H

#include "planner/search/search.h"

#define RB_EARLY_NEVER (-1)
#define RB_EARLY_WORTH 1e-3 // of the objective: a smaller gain is none

struct rb_early_plan {
    struct rb_candidate candidate;
    struct rb_early early;
};

// Number of nodes that stage + 1 has to request.
int rb_early_gained(const struct rb_candidate *candidate, int stage);
// Adds the requests to the plan's stages. backing [n_stages].
void rb_early_apply(const struct rb_candidate *candidate, const struct rb_early *early, struct rb_plan_stage *stages,
                    struct rb_plan_early *backing);

struct rb_early_runs {
    int64_t *time_us, *cost_uusd; // [samples], of which the first n exist
    int n;
};
struct rb_early_runs rb_early_runs_create(int samples);
void rb_early_runs_free(struct rb_early_runs *runs);

// Share of the request's samples, from run `first` on, in which a plan keeps the constraints. Makes the missing runs.
bool rb_early_p_both(const struct rb_search *search, const struct rb_early_plan *plan,
                     uint32_t first, struct rb_early_runs *runs, double *out, struct rb_err *err);

enum rb_early_verdict { RB_EARLY_OPEN, RB_EARLY_DROPPED, RB_EARLY_KEPT };

struct rb_early_comparison {
    enum rb_early_verdict pays, holds; // OPEN: undecided. Once one is DROPPED, the other is left as it is
    double gain, stderr_;              // of the objective, from n runs
    int n;
    double p; // probability with which `to` keeps the constraints; OPEN: from all runs
};

// True if `to` is better than `from` and keeps the constraints. Makes only the runs needed to decide, after those that
// exist.
bool rb_early_compare(const struct rb_search *search, const struct rb_early_plan *from, const struct rb_early_plan *to,
                      uint32_t first, struct rb_early_runs *from_runs,
                      struct rb_early_runs *to_runs, struct rb_early_comparison *out, struct rb_err *err);

#endif
