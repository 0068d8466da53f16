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

// A shape (eta, min_resource, brackets) and a number of trials. fits: the largest number that is affordable. Else a
// number that is not affordable, and with which it would be no better than the best search so far; 1: it would take one.
struct rb_choice_row {
    struct rb_search_choice choice;
    bool fits;
    struct rb_best best;         // with that number
    struct rb_estimate estimate; // where it fits
    double behind;               // mean normal score that it lacks at as many units of training as the best so far
};

struct rb_search_choices {
    const struct rb_choice_row *rows; // in the order in which they were tried, [n]
    int n, chosen;                    // chosen -1: nothing is affordable
    int n_asked;                      // how often `fits` was called
    bool cut;                         // out of time: a better one may exist
};

// The job with this search.
struct rb_job rb_job_with_choice(const struct rb_job *job, const struct rb_search_choice *choice);

int rb_job_trials(const struct rb_job *job); // of all brackets; of a job with a shape

// What the job's search is expected to find, its sampler's gain included.
bool rb_job_expect(const struct rb_job *job, const struct rb_quality_law *law, int draws, struct rb_best *out,
                   struct rb_err *err);

// Maximises the mean final normal score over eta 2, 3, 4 and every min_resource = floor(R / eta^k) from the least one
// on, which is the job's own or, if that is more, where the law begins to know anything; over the numbers of brackets of hyperband; over the number of trials, which is found to 3 %. asha has
// one bracket, and the job's own shape the job's; max_resource and the tuner are the job's. The job's own shape is tried
// first. A later one is asked about with as many trials as would make it the best, and is done with where these are not
// affordable.
// before: the answer under other limits, to begin with; shapes that were far behind are not tried again. NULL: none.
// Errors: of rb_search_shape_of and `fits`.
bool rb_choose_search(const struct rb_job *job, const struct rb_quality_law *law, const struct rb_affordable *afford,
                      const struct rb_search_choices *before, struct rb_arena *arena, struct rb_search_choices *out,
                      struct rb_err *err);

#endif
