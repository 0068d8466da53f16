// The status line of a pool: its jobs, its nodes, its bill, and when the last of its jobs will probably end.
#ifndef RB_VIEWS_POOL_LINE_H
#define RB_VIEWS_POOL_LINE_H

#include "executor/pool/pool_run.h"
#include "views/run/run_line.h"

struct rb_pool_line {
    struct rb_pool_run *pool;
    int foreseen; // the job whose end was predicted last
    struct rb_run_line line;
    struct rb_run_show show;
};

// Initialises l and makes it the pool's display: the line on a terminal, else (and with json) a line for every event.
// *l and the pool must not move.
void rb_pool_line_init(struct rb_pool_line *l, struct rb_pool_run *pool, bool json);

#endif
