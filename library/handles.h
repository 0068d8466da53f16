// Defines the opaque structs of rubberband.h. Internal to library/.
#ifndef RB_LIBRARY_HANDLES_H
#define RB_LIBRARY_HANDLES_H

#include "include/rubberband.h"

#include "planner/request/given.h"
#include "planner/search/planner.h"

struct rubberband_error {
    struct rb_err err;
    int64_t nearest_deadline_us, nearest_budget_uusd; // -1: none
    double nearest_confidence;                        // -1: none
};

struct rubberband_job {
    struct rb_arena arena;
    struct rb_job job;
    const char *path; // absolute; "": from memory
    struct rb_buf json;
};

struct rubberband_profile {
    struct rb_arena arena;
    struct rb_profile profile;
};

struct rubberband_prices {
    struct rb_arena arena;
    struct rb_catalog catalog;
};

struct rubberband_request {
    const struct rubberband_job *job;
    struct rb_plan_request asked; // without a clock
    const char *planner;
    int64_t time_limit_us;        // 0: none
    struct rb_arena arena;        // the price list, where the profile has means of it
};

struct rubberband_allocation {
    struct rb_arena arena;
    struct rb_given_stage stages[RB_LIMIT_STAGES];
    int n_stages;
};

struct rubberband_estimate {
    struct rb_estimate estimate;
    struct rb_plan_stage stages[RB_LIMIT_STAGES]; // time and cost of each; their nodes are not kept
    int n_stages;
    struct rb_buf json;
};

struct rubberband_plan {
    struct rb_arena arena;
    struct rubberband_allocation *allocation;
    struct rubberband_estimate *estimate;
    int64_t bound_uusd; // -1: none
    const char **warnings;
    int n_warnings;
    struct rb_buf json;
};

// Copies err into the caller's error, which may be NULL. Returns the status.
int rb_library_fail(struct rubberband_error *error, const struct rb_err *err);

// `result` NULL: the nearest constraints are unknown.
int rb_library_infeasible(struct rubberband_error *error, const struct rb_err *err, const struct rb_plan_result *result);

struct rubberband_estimate *rb_library_estimate(const struct rb_estimate *estimate, const struct rb_plan_stage *stages,
                                                int n_stages);

#endif
