// Chooses the search that finds the best model among those that can be afforded: eta, min_resource, brackets and the
// number of trials. What can be afforded is asked of the caller.
#ifndef RB_PLANNER_QUALITY_CHOOSE_H
#define RB_PLANNER_QUALITY_CHOOSE_H

#include "planner/quality/best.h"

#include "engine/plan/plan.h"

struct rb_search_choice {
    int eta;
    int64_t min_resource;
    int brackets;
    int num_trials; // 0: hyperband, its brackets determine it
};

// Is this job affordable? *out_estimate: of its plan, where it is.
struct rb_affordable {
    bool (*fits)(void *ctx, const struct rb_job *job, bool *out_fits, struct rb_estimate *out_estimate,
                 struct rb_err *err);
    bool (*out_of_time)(void *ctx); // then the best so far is taken
    void *ctx;
};

// A shape (eta, min_resource, brackets) with the largest number of trials that is affordable.
struct rb_choice_row {
    struct rb_search_choice choice;
    bool fits;                  // choice.num_trials trials are affordable, and `best` and `estimate` are theirs;
    struct rb_best best;        // else no affordable number was found that would be better than the chosen search, and
    struct rb_estimate estimate; // both are of a number that is not affordable (n 0: not even the smallest)
};

struct rb_search_choices {
    const struct rb_choice_row *rows; // in the order in which they were tried, [n]
    int n, chosen;                    // chosen -1: nothing is affordable
    int n_asked;                      // how often `fits` was called
    bool cut;                         // out of time: a better one may exist
};

// The job with this search.
struct rb_job rb_job_with_choice(const struct rb_job *job, const struct rb_search_choice *choice);

// What the job's search is expected to find, its sampler's gain included.
bool rb_job_expect(const struct rb_job *job, const struct rb_quality_law *law, int draws, struct rb_best *out,
                   struct rb_err *err);

// Tries eta 2, 3, 4 and every min_resource = floor(R / eta^k) that is not below the job's own; the job's own shape
// first; hyperband with every number of brackets, asha with one, and its own shape with the job's. max_resource and the
// tuner are the job's. Maximises the mean final normal score. From a shape that was tried the budget in units of
// training is known, and begins the bisection of the next; one that would not win with half as many units again, which
// are not affordable, is done with. Numbers of trials are found to 3 %.
// start: a choice to begin with, of a neighbouring request, and its trials; NULL: the job's own.
// Errors: of rb_search_shape_of and `fits`.
bool rb_choose_search(const struct rb_job *job, const struct rb_quality_law *law, const struct rb_affordable *afford,
                      const struct rb_search_choice *start, struct rb_arena *arena, struct rb_search_choices *out,
                      struct rb_err *err);

#endif
