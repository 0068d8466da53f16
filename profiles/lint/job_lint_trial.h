// Compares what a job says of its trials with the script that they start: the words that it gets, how it is ended and gone on from,
// and how it reports. Only what is certain is reported.
#ifndef RB_PROFILES_JOB_LINT_TRIAL_H
#define RB_PROFILES_JOB_LINT_TRIAL_H

#include "profiles/job/job.h"
#include "profiles/script/script.h"

// key: "trial.args.end"; needle: what is meant stands so in its value.
typedef void rb_lint_fn(void *ctx, int number, const char *key, const char *needle, const char *message);

struct rb_lint_subject {
    const struct rb_job *job;
    const struct rb_script *script;
    const char *source;   // of the script
    const char *written;  // its name in `run`
    bool is_alone;        // it imports nothing from beside it, and is the only script of `run`
    bool gets_words;      // "$@" is given to it
    struct rb_arena *arena;
    rb_lint_fn *warn;
    void *ctx;
};

void rb_lint_trial(const struct rb_lint_subject *s);
// Texts that should be secret and stand in the job: no script is needed.
void rb_lint_secrets(const struct rb_job *job, struct rb_arena *arena, rb_lint_fn *warn, void *ctx);

#endif
