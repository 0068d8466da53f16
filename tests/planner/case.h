// One planning problem made from text, and random small ones: what the planner's tests work on.
#ifndef RB_TESTS_PLANNER_CASE_H
#define RB_TESTS_PLANNER_CASE_H

#include "planner/questions/pareto.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct rb_case {
    struct rb_arena arena;
    struct rb_doc job_doc, profile_doc;
    struct rb_csv prices_csv;
    struct rb_job job;
    struct rb_profile profile;
    struct rb_catalog catalog;
    struct rb_plan_request req; // 1 thread, 128 samples, the job's constraints
};

// Fails the test if a text is refused. Owns: case_finish.
void case_init(struct rb_case *c, const char *job_yaml, const char *profile_yaml, const char *prices_csv);
void case_finish(struct rb_case *c);

// Fails the test if there is none.
struct rb_pareto case_frontier(struct rb_case *c);

// A small random problem: 1 to 3 stages, at most 3 nodes, 1 or 2 offers, noise and boots of all sizes, no preemption.
// The same number gives the same case.
void case_random(struct rb_case *c, uint32_t number);

// The measured speed becomes uncertain: stages share its error, so that plans are compared by replicates.
void case_make_uncertain(struct rb_case *c, double relative_error);

#endif
