// Pools: several jobs on nodes that they share.
#ifndef RB_COMMANDS_RBRUN_POOL_H
#define RB_COMMANDS_RBRUN_POOL_H

#include "commands/rbrun/rbrun.h"

// Takes ownership of files and journal. detached: as in struct rb_session_options.
bool rb_pool_resume(struct rb_run_files *files, struct rb_journal *journal, const struct rb_args *args, bool detached,
                    struct rb_err *err);

#endif
