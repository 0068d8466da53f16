// A sampler proposes the hyperparameters of a new trial from what the search has seen so far. It is a pure function of the
// job (space, seed, options), the history and the number of the trial: its state is only a cache of the history, so a
// resumed run, which gives the same history again, gets the same proposals. Draws come from base/stream.h, keyed by the trial.
// A sampler is one file and one line in samplers.c.
#ifndef RB_SAMPLERS_SAMPLER_H
#define RB_SAMPLERS_SAMPLER_H

#include "base/arena.h"
#include "samplers/coordinates.h"
#include "samplers/history.h"

// What a sampler may know of its job. Borrowed; outlives the sampler.
struct rb_sampler_setup {
    const struct rb_coordinates *coordinates;
    const struct rb_settings *options; // `scheduler.sampler`'s own keys
    uint64_t seed;
    int64_t min_resource, max_resource;
    int n_trials;               // most that the search may start; 0: unknown
};

struct rb_ask {
    int trial;                  // its number; not in the history yet
    int64_t resource;           // where it will first be compared
};

struct rb_proposal {
    double *u;                  // the caller's, [coordinates->n]; filled in
    const char *reason;         // why this one, for people: "expected improvement 0.012 at lr 3e-4"; lives in the arena
};

struct rb_sampler {
    const char *name;
    const char *summary;        // one line of help
    // Heap state. Errors: an option that it does not know or that is out of range, naming its line.
    bool (*create)(const struct rb_sampler_setup *setup, void **out_state, struct rb_err *err);
    void (*destroy)(void *state);
    void (*propose)(void *state, const struct rb_history *history, const struct rb_ask *ask, struct rb_arena *arena,
                    struct rb_proposal *out);
};

const struct rb_sampler *rb_sampler_find(const char *name); // NULL: unknown
extern const struct rb_sampler *const rb_samplers[];        // sorted by name, NULL-terminated

#endif
