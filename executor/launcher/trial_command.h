// Writes the configuration of a trial as a command to paste into a shell: the job's command with the trial's
// parameters.
#ifndef RB_EXECUTOR_TRIAL_COMMAND_H
#define RB_EXECUTOR_TRIAL_COMMAND_H

#include "base/text/buf.h"
#include "profiles/job/job.h"

// Appends the job's command without a newline at its end. An unquoted $RB_ARGS in it becomes the parameters, quoted as
// in a trial's RB_ARGS: "python train.py --lr=0.139 --momentum=0.54". A command without one reads the parameters from
// variables: RB_ARGS and the RB_PARAM_* are then set before it. So is every other variable that the command names and
// that does not depend on a node; RB_RESOURCE_END is the job's max_resource. Secrets and the folders of a node are
// never set.
// suggested: as in rb_trial_values.
void rb_trial_command_write(const struct rb_job *job, int trial, const struct rb_value *suggested, struct rb_buf *out);

#endif
