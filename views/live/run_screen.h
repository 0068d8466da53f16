// A run at a glance: heading, the line of views/live/progress.h, stages with bars, trials, nodes with their cost, and
// the last events; for a pool, its jobs instead of stages and trials. As a screen that is never larger than its
// terminal, as a block of text, and as rb-status/1.
#ifndef RB_VIEWS_RUN_SCREEN_H
#define RB_VIEWS_RUN_SCREEN_H

#include "views/live/pool_progress.h"
#include "views/tables/text_table.h"

struct rb_run_screen_node {
    int node;
    const char *id, *infra, *instance_type, *market, *state; // id "": not known yet
    int64_t cost_uusd;                                       // so far
    bool ended;
};

struct rb_run_screen_line {
    int64_t time_us; // since the start of the run
    const char *text;
};

struct rb_run_screen_job {
    const char *job, *state; // job: its file before it has begun; state: "to come", "did not arrive", and those of a run
    const char *run_id;      // NULL: it has not begun
    int64_t arrives_us;      // since the start of the pool
    const struct rb_progress *progress; // NULL: it has not begun
    int gpus;                // lent to it now
    int64_t spent_uusd;      // its share of the pool's bill so far; -1: it had no GPUs yet
    int64_t deadline_us;     // after its arrival; -1: none
};

struct rb_run_screen {
    const char *run_id, *state;   // "running", "complete", "stopped: user", "interrupted"
    int pid;                      // of the process that executes it; 0: none, -1: one that has no number here
    const char *hint;             // what to do next; NULL: nothing
    const struct rb_plan *plan;
    const struct rb_engine *engine;
    struct rb_progress progress;
    const struct rb_run_screen_node *nodes; // by number, [n_nodes]
    int n_nodes;
    const struct rb_run_screen_line *lines; // events and faults, oldest first, [n_lines]
    int n_lines;
    const struct rb_pool_progress *pool;  // of a pool, which trains nothing itself; NULL: the run is no pool
    const struct rb_run_screen_job *jobs; // of a pool, in the order of its file, [n_jobs]
    int n_jobs;
};

// Writes heading, line and hint: for the normal screen, after the last redrawn one.
void rb_run_screen_summary(const struct rb_run_screen *r, const struct rb_text_style *style, struct rb_buf *out);
// Writes everything, however long.
void rb_run_screen_block(const struct rb_run_screen *r, const struct rb_text_style *style, struct rb_buf *out);
// At most style->width columns and `height` lines, the last of which is `footer`. Rows that do not fit are counted.
void rb_run_screen_write(const struct rb_run_screen *r, const struct rb_text_style *style, int height, const char *footer,
                         struct rb_buf *out);
void rb_run_screen_json(const struct rb_run_screen *r, struct rb_json *j); // rb-status/1

#endif
