// Quantile tables of a profile's laws, each made once and shared by all samplers of that profile.
#ifndef RB_SIMULATOR_SAMPLER_TABLES_H
#define RB_SIMULATOR_SAMPLER_TABLES_H

#include "profiles/store/profile.h"
#include "simulator/sampler/sampler_table.h"

struct rb_trial_laws;
struct rb_sampler_tables;

// times: where the laws of trials are known already; NULL: they are made for the tables. Not thread-safe.
struct rb_sampler_tables *rb_sampler_tables_create(struct rb_trial_laws *times);
void rb_sampler_tables_destroy(struct rb_sampler_tables *tables); // NULL is fine

// Borrowed until destroy. Profile and distribution are compared by address.
const struct rb_sampler_table *rb_sampler_tables_trial(struct rb_sampler_tables *tables, const struct rb_profile *profile,
                                                       int64_t units, double unit_s);
// Is the law of such a trial known to RB_TABLES_ERROR? Not with heavy tails, for which a grid is too coarse, and not with atoms.
#define RB_TABLES_ERROR 1e-4 // of P(time <= t)
bool rb_sampler_tables_are_exact(struct rb_sampler_tables *tables, const struct rb_profile *profile, int64_t units,
                                 double unit_s);
const struct rb_sampler_table *rb_sampler_tables_dist(struct rb_sampler_tables *tables, const struct rb_dist *dist);

#endif
