// Where a pool stands, in one struct, and the line that is redrawn meanwhile.
#ifndef RB_VIEWS_POOL_PROGRESS_H
#define RB_VIEWS_POOL_PROGRESS_H

#include "base/text/buf.h"
#include "views/live/progress.h"

#include <stdbool.h>
#include <stdint.h>

struct rb_pool_progress {
    bool over;              // its jobs are over, or are being stopped
    int jobs;               // all of them, of which:
    int n_over, n_training; // training: on at least one GPU
    int n_waiting;          // for GPUs to be lent
    int n_to_come, n_not_begun; // not begun: they failed to begin, or the pool is being stopped
    int nodes_ready, nodes; // owned
    bool is_free;           // the nodes have no price
    int64_t spent_uusd, budget_uusd, elapsed_us; // budget -1: none
    int64_t end_us;         // of its last job, if every job keeps the GPUs that it has now; -1: unknown, and
    const char *why_unknown; // a phrase with the reason; NULL: known
};

// Fills in the run that owns the nodes. The caller counts the jobs, with its fields and rb_pool_progress_add.
struct rb_pool_progress rb_pool_progress_of_owner(const struct rb_progress *owner, const struct rb_plan *plan, int n_jobs);
// Adds a job that has begun and may use `gpus` GPUs now.
void rb_pool_progress_add(struct rb_pool_progress *p, const struct rb_progress *job, int gpus);
// After all of them: the end is unknown while a job is to come or waits.
void rb_pool_progress_settle(struct rb_pool_progress *p);

// "1/4 jobs  2 training, 1 to come  3/3 nodes  $0.21 (max $1.00)  ETA ? (jobs are to come)". At most `width` columns,
// 0: no limit.
void rb_pool_progress_write(const struct rb_pool_progress *p, int width, struct rb_buf *out);

#endif
