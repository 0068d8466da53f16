// Notices that a run leaves its plan: that it will probably miss its deadline or exceed its budget, although a plan with
// more confidence was asked for. It says so once for each of the two.
#ifndef RB_EXECUTOR_DRIFT_H
#define RB_EXECUTOR_DRIFT_H

#include "base/text/buf.h"
#include "executor/run/progress.h"
#include "simulator/model/prediction.h"

#define RB_DRIFT_NOTE   "drift" // kind of its notes in the journal
#define RB_DRIFT_MARGIN 0.03    // of probability: an estimate by 256 runs is off by less in two checks in a row
#define RB_DRIFT_CHECKS 2       // in a row; one at a barrier
#define RB_DRIFT_LOST   0.05    // a limit that is less probable is as good as missed

enum { RB_DRIFT_LIMITS = 2 }; // deadline, budget

// Zero at first, and when a run is resumed.
struct rb_drift_watch {
    int n_stages;               // that had begun at the last check
    int below[RB_DRIFT_LIMITS]; // checks in a row
    int lost[RB_DRIFT_LIMITS];  // likewise
    bool said[RB_DRIFT_LIMITS];
};

// One check, after a complete prediction that *now contains; stage: where the run was when that began. True: the run has
// left its plan by two checks in a row, or by one at a barrier; *out gets one line, without newline: "stage 1 took 31 %
// longer than expected (9 trials, +-4 %); P(on time) is 0.71, 0.95 was asked". pace NULL: unknown.
bool rb_drift_check(struct rb_drift_watch *d, const struct rb_progress *now, int stage,
                    const struct rb_prediction_pace *pace, double confidence, struct rb_buf *out);
// By the last two checks a limit is as good as missed: the end of a job with `on_drift: stop`.
bool rb_drift_is_lost(const struct rb_drift_watch *d);
// "training takes 31 % longer than expected (9 trials, +-4 %); ", or nothing where it is not slower for sure. stage: where
// the run is.
void rb_drift_write_reason(const struct rb_prediction_pace *pace, int stage, struct rb_buf *out);
// The line was said by an earlier process.
void rb_drift_recall(struct rb_drift_watch *d, const char *line);

#endif
