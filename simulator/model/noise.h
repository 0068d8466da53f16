// Stores the draws of trials and nodes. A draw depends on its key and not on the plan, so a search that runs the same
// replicates for thousands of plans draws each number once. Stores first attempts and, if nodes may be lost, as many
// later ones as memory allows.
#ifndef RB_SIMULATOR_NOISE_H
#define RB_SIMULATOR_NOISE_H

#include "simulator/model/draws.h"

struct rb_noise;

// For replicates 0..n-1 of the scenario's own stages; filled in on demand. NULL if the draws that plans need first do
// not fit into most_bytes.
struct rb_noise *rb_noise_create(const struct rb_scenario *s, int n_replicates, size_t most_bytes);
void rb_noise_destroy(struct rb_noise *noise); // NULL is allowed
size_t rb_noise_bytes(const struct rb_noise *noise); // filled so far; call between runs; does not depend on the number
                                                     // of threads

// True if it holds this replicate of a stage with these trials and units. noise may be NULL.
bool rb_noise_covers(const struct rb_noise *noise, int stage, int n_trials, int64_t units, uint32_t replicate);

// rb_draw_trial_noise of the stage's units. Different threads may ask for different replicates at once.
struct rb_trial_noise rb_noise_trial(struct rb_noise *noise, int stage, int position, int attempt, uint32_t replicate);

// rb_draw_arrival.
bool rb_noise_covers_node(const struct rb_noise *noise, int stage, int ordinal, uint32_t replicate);
struct rb_arrival rb_noise_arrival(struct rb_noise *noise, int offer, int stage, int ordinal, int attempt,
                                   uint32_t replicate);

#endif
