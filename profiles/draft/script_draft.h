// Drafts a job from a Python script: its options become parameters and words of `run`, its output becomes the metric.
// Comments say what was not found; nothing is invented.
#ifndef RB_PROFILES_SCRIPT_DRAFT_H
#define RB_PROFILES_SCRIPT_DRAFT_H

#include "profiles/job/job_draft.h"
#include "profiles/script/script.h"

// The purpose of an option; a name with a dot counts by its last part.
enum rb_option_role {
    RB_OPTION_PARAMETER,  // may be searched
    RB_OPTION_EPOCHS,     // how long it trains
    RB_OPTION_STEPS,
    RB_OPTION_ROUNDS,     // of boosting
    RB_OPTION_HORIZON,    // over how many steps the learning rate falls
    RB_OPTION_INTERVAL,   // steps between two evaluations
    RB_OPTION_SEED,
    RB_OPTION_LOGS,       // where it writes event files
    RB_OPTION_SAVE,       // a switch: that it saves at all
    RB_OPTION_RESUME,     // what it goes on from, or that it does
    RB_OPTION_CHECKPOINT, // where it writes checkpoints
    RB_OPTION_LEFT,       // not searched: seeds, devices, logging
};
enum rb_option_role rb_option_role(const struct rb_script_option *o);

// A guess at a search range, as YAML for `parameters`; NULL: no sensible one. Uniform below 1 for values that lie in
// 0..1 by their name, such as dropout and momentum; a factor of ten around other numbers, a factor of two around whole
// ones.
const char *rb_option_range(const struct rb_script_option *o, struct rb_arena *arena);

// How worth searching it is by its name: 1 is the most; 0: its name does not say that it is.
int rb_option_worth(const struct rb_script_option *o);

// Fills metric, parameters, scheduler, trial, envs, run and checkpoint. `path`: as it stands in `run`; `source`: its text.
void rb_draft_from_script(const char *path, const char *source, struct rb_job_draft *d);

#endif
