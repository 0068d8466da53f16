// What the line of a pool says: its jobs, its nodes, its bill, and when the last of its jobs will probably end.
#ifndef RB_VIEWS_POOL_LINE_H
#define RB_VIEWS_POOL_LINE_H

#include "executor/pool/pool_run.h"
#include "views/run/run_line.h"

struct rb_pool_line {
    struct rb_pool_run *pool;
    int foreseen; // whose end was worked at last
    struct rb_run_line line;
    struct rb_run_show show;
};

// Becomes what the pool is shown by: the line on a terminal, else (and with json) a line for every event. *l and the pool
// stay where they are.
void rb_pool_line_init(struct rb_pool_line *l, struct rb_pool_run *pool, bool json);

#endif
