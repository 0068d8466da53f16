// A job file to begin with, for a script that need not exist yet.
#ifndef RB_PROFILES_JOB_OF_SCRIPT_H
#define RB_PROFILES_JOB_OF_SCRIPT_H

#include "profiles/job/job_draft.h"

// What is asked most often, with the words to change. Of a Python script that is there, its options become parameters and
// words of `run`, and what it prints becomes the metric: guesses, and called so.
void rb_draft_job(const char *script, struct rb_arena *arena, struct rb_job_draft *d);

#endif
