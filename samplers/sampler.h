// A sampler proposes the hyperparameters of a new trial from what the search has seen so far. It is a pure function
// of the job (space, seed, options), the history and the question: its state is only a cache of the history, so a
// resumed run, which gives the same history again, gets the same proposals. Draws come from base/stream.h, keyed by
// the trial. A sampler is one file, one line in samplers.c, and its name among those that a job may use (rb_sampler_names).
#ifndef RB_SAMPLERS_SAMPLER_H
#define RB_SAMPLERS_SAMPLER_H

#include "base/arena.h"
#include "base/errors/err.h"
#include "profiles/job/settings.h"
#include "samplers/coordinates.h"
#include "samplers/history.h"

// What a sampler may know of its job. Borrowed; outlives the sampler.
struct rb_sampler_setup {
    const struct rb_coordinates *coordinates;
    uint64_t seed;
    const int64_t *levels;      // where trials are compared, ascending, [n_levels]; the last is max_resource
    int n_levels;
};

struct rb_ask {
    int trial;                  // its number; not in the history yet
    int parent;                 // the trial from whose checkpoint it goes on, -1: it begins from nothing
    int64_t resource;           // where it will first be compared
    // What the search may cost and has cost so far, both in the same unit (dollars of the plan's prices, or
    // seconds): the larger the rest, the less a cheap configuration is preferred to a good one. budget 0: unknown,
    // costs do not count.
    double budget, spent;
};

struct rb_proposal {
    double *u;                  // the caller's, [coordinates->n]; filled in
    bool is_prior_draw;         // take rb_space_sample(space, seed, trial) instead of u: the same under every sampler
    const char *origin;         // the sampler's name unless it sets another: "start", "random"
    const char *reason;         // why this one, for people; lives in the arena
};

struct rb_sampler {
    const char *name;
    const char *summary;        // one line of help
    bool recalls;               // it learns from earlier runs too (history->recalled)
    const struct rb_setting_rule *rules; // its options, [n_rules]
    int n_rules;
    // Heap state. options [n_rules], read by `rules`. Errors: options that do not fit together.
    bool (*create)(const struct rb_sampler_setup *setup, const double *options, void **out_state, struct rb_err *err);
    void (*destroy)(void *state);
    void (*propose)(void *state, const struct rb_history *history, const struct rb_ask *ask, struct rb_arena *arena,
                    struct rb_proposal *out);
};

const struct rb_sampler *rb_sampler_find(const char *name); // NULL: unknown, or name is NULL
extern const struct rb_sampler *const rb_samplers[];        // sorted by name, NULL-terminated

#endif
