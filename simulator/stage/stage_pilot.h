// One stage by itself on the fast sampler: samples of its time, where its law has no closed form.
#ifndef RB_SIMULATOR_STAGE_PILOT_H
#define RB_SIMULATOR_STAGE_PILOT_H

#include "simulator/sampler/sampler.h"

// Seconds of n replicates of `plan`, which is stage number `stage` and finds `n_kept` nodes of its only entry ready when it
// starts. Stages of one scenario draw independently of each other. tables: of the scenario's profile. Errors: the
// sampler's.
bool rb_stage_pilot(const struct rb_scenario *s, int stage, const struct rb_plan_stage *plan, int n_kept,
                    struct rb_sampler_tables *tables, int n, double *out_s, struct rb_err *err);

#endif
