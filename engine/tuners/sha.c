// Successive halving: the best floor(n / eta) of a rung continue after all of it has ended. Source: Jamieson and
// Talwalkar, "Non-stochastic best arm identification", AISTATS'16, algorithm 1; rung rule of engine/core/rungs.h.
#include "engine/tuners/rung_state.h"

#include "engine/tuners/tuners.h"

// Its rungs.
static bool sha_stages(const struct rb_job *job, struct rb_rung_table *out, struct rb_err *err)
{
    const struct rb_scheduler *s = &job->scheduler;
    if (s->brackets != 1)
        return rb_err_set(err, RB_E_SCHEDULER_KEYS,
                          "scheduler.brackets: %d: sha has one; use scheduler.type: hyperband", s->brackets);
    rb_rungs_sha(s->num_trials, s->min_resource, s->max_resource, s->eta, s->rungs, out);
    return true;
}

const struct rb_tuner rb_tuner_sha = {
    .name = "sha",
    .stages = sha_stages,
    RB_RUNG_STATE_FUNCTIONS,
};
