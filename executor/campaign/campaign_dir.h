// Where measuring campaigns keep keys and logs (campaigns/ID/ beside the runs), and what other processes may know of
// one: its cloud, and whether it is at work. `rbrun gc` reads this: it finds the nodes of an `rbprofile` that was
// killed, and leaves those of a live one alone.
#ifndef RB_EXECUTOR_CAMPAIGN_DIR_H
#define RB_EXECUTOR_CAMPAIGN_DIR_H

#include "base/errors/err.h"

#include <stdbool.h>
#include <stddef.h>

#define RB_CAMPAIGN_INFRA_BYTES 160

// runs_root: rb_run_dir_root.
void rb_campaign_dir_root(const char *runs_root, char *out, size_t size);
// Writes down where the campaign in `dir` launches instances, and holds a lock on that file as long as *out_fd is open.
bool rb_campaign_dir_claim(const char *dir, const char *infra, int *out_fd, struct rb_err *err);
// False: the campaign launched nothing, or `dir` is not a campaign's directory.
bool rb_campaign_dir_infra(const char *dir, char out[static RB_CAMPAIGN_INFRA_BYTES]);
// Does a process hold the campaign's lock?
bool rb_campaign_dir_at_work(const char *runs_root, const char *run_id);

#endif
