// Where a pool stands, in one struct, and the one line that is redrawn while it goes on.
#ifndef RB_VIEWS_POOL_PROGRESS_H
#define RB_VIEWS_POOL_PROGRESS_H

#include "base/buf.h"
#include "views/live/progress.h"

#include <stdbool.h>
#include <stdint.h>

struct rb_pool_progress {
    bool over;              // its jobs are, or are being stopped
    int jobs;               // in all, of which:
    int n_over, n_training; // at work on at least one GPU
    int n_waiting;          // for GPUs to be lent
    int n_to_come, n_not_begun; // not begun: they could not, or the pool is being stopped
    int nodes_ready, nodes; // owned
    bool is_free;           // nobody asks money for the nodes
    int64_t spent_uusd, budget_uusd, elapsed_us; // budget -1: none
    int64_t end_us;         // of its last job, if every job keeps the GPUs it is lent now; -1: unknown, and
    const char *why_unknown; // a phrase that says why; NULL: known
};

// Of the run that owns the nodes; the jobs are counted by the caller and by what follows.
struct rb_pool_progress rb_pool_progress_of_owner(const struct rb_progress *owner, const struct rb_plan *plan, int n_jobs);
// One job that has begun, and may use so many GPUs now.
void rb_pool_progress_add(struct rb_pool_progress *p, const struct rb_progress *job, int gpus);
// After all of them: whoever is to come or waits has an end that nobody knows.
void rb_pool_progress_settle(struct rb_pool_progress *p);

// "1/4 jobs  2 training, 1 to come  3/3 nodes  $0.21 (max $1.00)  ETA ? (jobs are to come)". No wider than `width` columns, 0:
// no limit.
void rb_pool_progress_write(const struct rb_pool_progress *p, int width, struct rb_buf *out);

#endif
