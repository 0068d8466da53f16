// Makes patterns of job.yaml (profiles/job/metric_pattern.h) from the lines that a script prints, as its source shows them.
#ifndef RB_PROFILES_SCRIPT_PATTERN_H
#define RB_PROFILES_SCRIPT_PATTERN_H

#include "base/arena.h"

#include <stdbool.h>

#define RB_SCRIPT_MARK '\x01' // stands for a value in such a line

// Reads the whole line: the value at `mark` under `name`, others under the names before them, the number of an epoch or step as
// {resource} (then *out_counts is true), everything else as {*}. begins_with_epoch: a count at the beginning of a line that names no
// unit, "[3/9] loss: ...", is one of epochs. NULL: no pattern does, as two values touch, or it is too long.
const char *rb_script_pattern(const char *line, const char *mark, const char *name, bool begins_with_epoch,
                              bool *out_counts, struct rb_arena *arena);

// Reads only the number of an epoch or a step: "Train Epoch: {resource} [". NULL: the line names none.
const char *rb_script_progress_pattern(const char *line, bool *out_steps, struct rb_arena *arena);

#endif
