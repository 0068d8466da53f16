// Reads and writes `scheduler:` of job.yaml: the tuner and its units.
#ifndef RB_PROFILES_JOB_SCHEDULER_H
#define RB_PROFILES_JOB_SCHEDULER_H

#include "profiles/job/job.h"

// What the reader of jobs must know of a tuner; engine/tuners/ has the rest. A test compares both lists.
struct rb_scheduler_kind {
    const char *name;
    enum { RB_TRIALS_NEEDED, RB_TRIALS_OPTIONAL, RB_TRIALS_DERIVED } num_trials; // derived: from its other keys
    bool has_brackets;
    bool has_rungs;              // trials pause at them, and some go on
    bool is_population;          // its trials copy each other in stages of equal length: it has no r, eta, rungs and brackets
    bool shares_levels;          // trials that began at different times are compared at the same resource
    bool admits_one_by_one;      // trials begin as GPUs become free: what hypersched and lookahead decide about
    const char *sampler;         // it chooses configurations by this sampler and by no other; NULL: by any
};
const struct rb_scheduler_kind *rb_scheduler_kind(const char *type); // NULL: unknown
extern const struct rb_scheduler_kind rb_scheduler_kinds[];          // in the order of messages, ends with a NULL name

// rule: asha's default rule.
bool rb_scheduler_read(const struct rb_node *node, enum rb_rule rule, struct rb_arena *arena,
                       struct rb_scheduler *out, struct rb_err *err);
void rb_scheduler_write(const struct rb_scheduler *s, struct rb_json *j);

// Hyperband's s_max = floor(log_eta(R/r)): the largest i with r eta^i <= R, by repeated multiplication.
int rb_scheduler_s_max(int64_t r, int64_t R, int eta);

#endif
