// Quantile tables of a profile's laws, each made once and shared by all samplers of that profile.
#ifndef RB_SIMULATOR_SAMPLER_TABLES_H
#define RB_SIMULATOR_SAMPLER_TABLES_H

#include "profiles/store/profile.h"
#include "simulator/sampler/sampler_table.h"

struct rb_trial_laws;
struct rb_sampler_tables;

// times: an existing cache of the laws of trials; NULL: they are made for the tables. Not thread-safe.
struct rb_sampler_tables *rb_sampler_tables_create(struct rb_trial_laws *times);
void rb_sampler_tables_destroy(struct rb_sampler_tables *tables); // NULL is allowed

// A trial's time: one look-up, or startup + work_s * configuration * between * within + checkpoint with one look-up
// each. A NULL table is a constant: startup_s, checkpoint_s, or a part of work_s.
struct rb_trial_tables {
    const struct rb_sampler_table *whole; // NULL: in parts
    const struct rb_sampler_table *configuration, *between, *within, *startup, *checkpoint;
    double work_s, startup_s, checkpoint_s;
};

// Tables are borrowed until destroy; profile and distributions are compared by address. in_parts: request separate
// parts, needed if rb_scenario_draws_in_parts. Otherwise parts are used if the law of the whole is not accurate
// enough: a tail too heavy for its grid. Returns whether P(time <= t) is known to RB_TABLES_ERROR. It is not with
// atoms, whose bills round up to whole seconds.
#define RB_TABLES_ERROR 1e-4
bool rb_sampler_tables_of_trial(struct rb_sampler_tables *tables, const struct rb_profile *profile, int64_t units,
                                double unit_s, bool in_parts, struct rb_trial_tables *out);
const struct rb_sampler_table *rb_sampler_tables_dist(struct rb_sampler_tables *tables, const struct rb_dist *dist);

#endif
