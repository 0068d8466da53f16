// Reaches the inside of a Slurm allocation: slurmrestd can start a job but no process in it. So the job is an agent
// that takes commands from a mailbox on the shared filesystem: <resources.slurm.shared_dir>/<run>/<job>.
//   slurm_agent.sh  the allocation's side; slurm_relay.sh: ours, one process per command
#ifndef RB_EXECUTOR_SLURM_MAILBOX_H
#define RB_EXECUTOR_SLURM_MAILBOX_H

#include "base/text/buf.h"
#include "base/errors/err.h"

#include <stdint.h>

// Makes <shared_dir>/<run_id>, which no one else may enter, unless it exists. Errors: IO, DENIED (another user's).
bool rb_slurm_mailbox_make(const char *shared_dir, const char *run_id, struct rb_err *err);
// The batch script. The job ends itself hard_limit_s after its start unless the launcher's heartbeats move that.
void rb_slurm_mailbox_script(const char *shared_dir, const char *run_id, int64_t hard_limit_s, struct rb_buf *out);

#endif
