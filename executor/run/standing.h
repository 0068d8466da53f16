// How a run that is going on will end, kept up to date beside other work: predicted in slices, so that whoever waits for
// something else is never kept waiting.
#ifndef RB_EXECUTOR_STANDING_H
#define RB_EXECUTOR_STANDING_H

#include "executor/run/progress.h"
#include "simulator/model/prediction.h"

// Makes runs of the prediction for some milliseconds; when all are made, begins the next where it was worth its time. *now
// says where the run stands: elapsed time, dollars, limits.
struct rb_standing {
    struct rb_prediction *prediction; // the caller's
    int64_t begun_us, worked_us;      // of the prediction under way, by the monotonic clock
};
void rb_standing_work(struct rb_standing *s, const struct rb_progress *now);
// The same until one prediction is complete: for who shows it once.
void rb_standing_settle(struct rb_standing *s, const struct rb_progress *now);

// Into *out, from the last complete prediction; before the first one from the plan.
void rb_standing_tell(const struct rb_standing *s, struct rb_progress *out);

#endif
