// Pools: several jobs on nodes that they share.
#ifndef RB_COMMANDS_RBRUN_POOL_H
#define RB_COMMANDS_RBRUN_POOL_H

#include "commands/rbrun/rbrun.h"

int rb_run_pool(int argc, char **argv); // rbrun --pool pool.yaml [JOB.yaml ...]

// Takes ownership of files and journal.
bool rb_pool_resume(struct rb_run_files *files, struct rb_journal *journal, const struct rb_args *args, int *out_code,
                    struct rb_err *err);

#endif
