// Computes the brackets of Hyperband and ASHA: bracket b = 0, 1, ... is Hyperband's s = s_max - b and starts at level b.
// Source: Li et al., "Hyperband", JMLR 18 (2018), algorithm 1.
#ifndef RB_ENGINE_TUNERS_BRACKETS_H
#define RB_ENGINE_TUNERS_BRACKETS_H

#include "base/limits.h"
#include "engine/core/rungs.h"

// The ends of all brackets' rungs: r eta^i, the last of them at R instead.
// asha by `stop` or `speculate` trains past its rungs without a pause: there r eta^s_max below R is one more level.
struct rb_levels {
    int64_t resource[RB_LIMIT_STAGES];
    int n;
};

void rb_levels_of(const struct rb_scheduler *s, struct rb_levels *out);

// The stages of brackets that share their levels, where n_trials begin in each bracket. Trials that reach each level:
// floor(n / eta^i) of each bracket's n, and at least one: a trial may get there.
void rb_levels_shared(const struct rb_scheduler *s, const int64_t *n_trials, struct rb_rung_table *out);

// r eta^b: the first resource_end of bracket b (but at most R).
int64_t rb_bracket_min_resource(const struct rb_scheduler *s, int bracket);
// Hyperband's number of configurations: ceil((s_max + 1) / (s + 1) eta^s).
int64_t rb_bracket_trials(const struct rb_scheduler *s, int bracket);

// Configurations divided among ASHA's brackets one by one, in the proportions of Hyperband's.
struct rb_bracket_shares {
    int64_t weight[RB_LIMIT_STAGES], sum;
    int64_t given[RB_LIMIT_STAGES], n_given;
    int n;
};

void rb_bracket_shares_init(struct rb_bracket_shares *b, const struct rb_scheduler *s);
// The bracket that is furthest behind its share; ties: the first.
int rb_bracket_shares_next(struct rb_bracket_shares *b);

#endif
