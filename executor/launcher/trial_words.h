// Writes what the node script has to know of a start besides its environment: the words of trial.args, the files of `metric` and
// `checkpoint`, and how it ends. Lines of sh, to be read with `.`: no secrets are in them.
#ifndef RB_EXECUTOR_TRIAL_WORDS_H
#define RB_EXECUTOR_TRIAL_WORDS_H

#include "base/text/buf.h"
#include "executor/launcher/trial_env.h"

// resumes: the start goes on from a checkpoint. Nothing is written for a job without such keys.
void rb_trial_words(const struct rb_trial_order *order, bool resumes, struct rb_buf *out);

// An extended regular expression that matches the names of the files of the checkpoint, as find prints them below the
// folder: "./last.ckpt". "": all of them.
void rb_checkpoint_names(const struct rb_job *job, struct rb_buf *out);

#endif
