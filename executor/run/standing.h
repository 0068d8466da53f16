// Predicts how a running run will end, and keeps that up to date beside other work. It predicts in slices, so that
// other work never waits long.
#ifndef RB_EXECUTOR_STANDING_H
#define RB_EXECUTOR_STANDING_H

#include "executor/run/progress.h"
#include "simulator/model/prediction.h"

// Simulates runs for some milliseconds; when a prediction is complete, it begins the next one where that is worth its
// time. *now says where the run stands: elapsed time, dollars, limits.
struct rb_standing {
    struct rb_prediction *prediction; // the caller's
    int64_t begun_us, worked_us;      // of the prediction under way, by the monotonic clock
    int stage;                        // of the run when that began
};
// True: it has come to the end of a prediction.
bool rb_standing_work(struct rb_standing *s, const struct rb_progress *now);
// Drops the prediction under way for one of now, with other limits perhaps.
void rb_standing_begin(struct rb_standing *s, const struct rb_progress *now);
// Works until one prediction is complete: for a caller that shows it once.
void rb_standing_settle(struct rb_standing *s, const struct rb_progress *now);

// Fills in *out from the last complete prediction; before the first one, from the plan.
void rb_standing_report(const struct rb_standing *s, struct rb_progress *out);

#endif
