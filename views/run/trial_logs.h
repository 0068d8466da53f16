// Prints the output of a run's trials, from the files that the run keeps of it.
#ifndef RB_VIEWS_TRIAL_LOGS_H
#define RB_VIEWS_TRIAL_LOGS_H

#include "base/errors/err.h"

// Prints to stdout, in order of their starts; JSON: an rb-log/1 for every line. trial -1: all trials. follow: continues
// with new output, until interrupted.
bool rb_trial_logs_print(const char *run_dir, const char *run_id, int trial, bool follow, bool json, struct rb_err *err);

#endif
