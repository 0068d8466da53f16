// What is known while a job is drafted of a script; shared by the parts of the draft.
#ifndef RB_PROFILES_DRAFTING_H
#define RB_PROFILES_DRAFTING_H

#include "profiles/script/frameworks.h"
#include "profiles/draft/script_draft.h"

struct rb_drafting {
    const char *path, *source;
    struct rb_script s;
    struct rb_job_draft *d;
    struct rb_arena *arena;
    const struct rb_framework *framework; // NULL: none
    struct rb_script_habits habits;
    // The first option of each role; NULL: no such option.
    const struct rb_script_option *length, *horizon, *interval, *seed, *resume, *checkpoint, *logs, *save;
    bool resumes;        // it can go on from a checkpoint
    bool in_place;       // in the folder to which it saves
    bool needs_save;     // its report is followed by its checkpoint, and it trains on: stop: saved
    bool has_parameters;
};

// Fills `metric` of the draft; the unit of the resource.
const char *rb_draft_metric(struct rb_drafting *w);

#endif
