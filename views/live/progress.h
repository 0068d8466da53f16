// Shows a run in progress: as one line that is redrawn, or as one line for every event.
#ifndef RB_VIEWS_PROGRESS_H
#define RB_VIEWS_PROGRESS_H

#include "executor/run/progress.h"

// "stage 1 of 0-3  5/9 trials  val_acc 0.9722  3/3 nodes  $0.21 of $0.60 (max $1.00)  ETA 12 m (95 % <= 15 m)  P(on time) 0.97".
// Stages count from 0 everywhere, as in plan.json and in a trial's RB_RUNG. On demand: "level 1 of 0-3  4 running, 3
// paused ...": the level is the lowest that may still get trials. At most `width` columns, 0: no limit: the least
// important parts are left out, then the line is cut. Unknown values are "?".
void rb_progress_write(const struct rb_progress *p, int width, struct rb_buf *out);

// Writes the members into an open object: for rb-status/1 and for pages. Unknown is null.
void rb_progress_members(const struct rb_progress *p, struct rb_json *j);

// The values as in the line: a duration in whole seconds, "12 s", "1 h 41 m"; the time left until an end; and a
// probability, "0.97", "> 0.99". "?" where unknown.
char *rb_progress_duration(int64_t us, char out[static 32]);
char *rb_progress_left(const struct rb_progress *p, int64_t end_us, char out[static 32]);
char *rb_progress_probability(double p, char out[static 32]);

// "training is 31 % slower than the profile says (26 to 36 %)", where that is sure. False: it is not; nothing is written.
bool rb_progress_pace_write(const struct rb_progress *p, struct rb_buf *out);

// "trial 3: epoch 4, val_acc 0.81", "node 2 is ready"; no newline.
void rb_progress_event_write(const struct rb_event *event, const struct rb_plan *plan, struct rb_buf *out);
// "start trial 3 on node 1 (2 GPUs), epochs 1 to 3", with the engine's reason; no newline. Wake-ups write
// nothing.
void rb_progress_action_write(const struct rb_action *action, const struct rb_plan *plan, struct rb_buf *out);

#endif
