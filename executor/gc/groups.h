// Deletes placement groups that runs left behind: finds them by tag, and deletes them once their instances are gone.
// They cost nothing, so a group that cannot be deleted is reported and is no error.
#ifndef RB_EXECUTOR_GROUPS_H
#define RB_EXECUTOR_GROUPS_H

#include "executor/transport/loop_uv.h"
#include "providers/provider.h"

// May this group be deleted?
typedef bool rb_run_group_fn(void *ctx, const struct rb_placement_group *g);

struct rb_run_groups {
    struct rb_loop_uv *uv;             // runs until every answer has come
    struct rb_provider *providers;     // [n]
    const char *const *infras;         // [n], for people
    int n;
    const char *run_id;                // NULL: of any run
    rb_run_group_fn *may;              // NULL: all
    void *ctx;
    bool dry;                          // only report which
};
// Sends nothing to clouds that have no groups.
void rb_run_groups_delete(const struct rb_run_groups *what);

#endif
