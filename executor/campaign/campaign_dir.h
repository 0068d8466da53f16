// Where measuring campaigns keep keys and logs, campaigns/ID/ below the runs, and what others may know of one: its cloud, and
// whether it is at work. `rbrun gc` looks there, so that nodes of an `rbprofile` that was killed are found, and those of one
// that lives are left alone.
#ifndef RB_EXECUTOR_CAMPAIGN_DIR_H
#define RB_EXECUTOR_CAMPAIGN_DIR_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define RB_CAMPAIGN_INFRA_BYTES 160

// runs_root: rb_run_dir_root.
void rb_campaign_dir_root(const char *runs_root, char *out, size_t size);
// Writes down where the campaign in `dir` buys, and holds a lock on that as long as *out_fd is open.
bool rb_campaign_dir_claim(const char *dir, const char *infra, int *out_fd, struct rb_err *err);
// False: nothing was bought by it, or it is not a campaign's directory.
bool rb_campaign_dir_infra(const char *dir, char out[static RB_CAMPAIGN_INFRA_BYTES]);
// Does a process hold the lock of that campaign?
bool rb_campaign_dir_at_work(const char *runs_root, const char *run_id);

#endif
