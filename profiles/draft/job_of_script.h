// Drafts a first job file for a script that need not exist yet.
#ifndef RB_PROFILES_JOB_OF_SCRIPT_H
#define RB_PROFILES_JOB_OF_SCRIPT_H

#include "profiles/job/job_draft.h"

// Fills in the most frequent keys, with the words to change. If the Python script exists, its options become parameters
// and words of `run`, and its output becomes the metric. These are guesses, and marked as guesses.
void rb_draft_job(const char *script, struct rb_arena *arena, struct rb_job_draft *d);

#endif
