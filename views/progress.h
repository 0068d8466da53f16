// What a run looks like while it goes on: one line that is redrawn, or one line for every event.
#ifndef RB_VIEWS_PROGRESS_H
#define RB_VIEWS_PROGRESS_H

#include "engine/engine.h"

struct rb_progress {
    int stage, n_stages;      // stage -1: not begun
    int trials_ended, trials; // of the stage; not for tuners that hand trials out on demand
    bool on_demand;           // a trial's place in the job is its own: what counts is how many stand how
    int n_by_state[RB_TRIAL_COMPLETED + 1];
    int nodes_ready, nodes;   // owned
    const char *metric_name;
    int best_trial; // -1: none yet
    double best_metric;
    int64_t spent_uusd, elapsed_us, deadline_us; // deadline -1: none
};

// "stage 2/4  trials 5/9  best val_acc 0.9722 (trial 12)  nodes 3/3  $0.21  42 s of 1 m 35 s", on demand:
// "level 2/4  trials: 4 running, 3 paused, 2 completed  best ..."; the level is the lowest that may still get trials
void rb_progress_write(const struct rb_progress *p, struct rb_buf *out);

// What the engine says of itself; nothing about money, time and names.
void rb_progress_of_engine(const struct rb_engine *e, const struct rb_plan *plan, struct rb_progress *out);

// "trial 3: epoch 4, val_acc 0.81", "node 2 is ready"; no newline.
void rb_progress_event_write(const struct rb_event *event, const struct rb_plan *plan, struct rb_buf *out);
// "start trial 3 on node 1 (2 GPUs), epochs 1 to 3", with the engine's reason; no newline. Wake-ups write
// nothing.
void rb_progress_action_write(const struct rb_action *action, const struct rb_plan *plan, struct rb_buf *out);

#endif
