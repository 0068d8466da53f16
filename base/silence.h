// Measures silences: "no report for this long", "no answer within that". A timer that fires late proves nothing about the
// other side, because this process did not read: messages that arrived meanwhile are still unread. So a silence
//   - counts attended time only (base/loop.h): it stands still while this process is stopped or too busy to look;
//   - starts again, in full, at the end of a long gap, because connections may have to be made again;
//   - is judged only after the loop has looked at its descriptors once more.
// Facts (a deadline, a budget, a heartbeat that is due) are plain timers: they do not wait for this process.
#ifndef RB_BASE_SILENCE_H
#define RB_BASE_SILENCE_H

#include "base/loop.h"

struct rb_silence {
    const struct rb_loop *loop; // NULL: never begun
    uint64_t timer;             // 0: not counting
    int64_t since_us;           // attended time
    int64_t patience_us;
    bool last_look;             // the time is over, and the loop looks at its descriptors once more
    rb_loop_fn *fn;
    void *arg;
};

// Counts from now, also if it counted before; fn is called from the loop after patience_us of silence, once. A zeroed
// struct is valid; it must not move until it has ended.
void rb_silence_begin(struct rb_silence *s, const struct rb_loop *loop, int64_t patience_us, rb_loop_fn *fn, void *arg);
void rb_silence_end(struct rb_silence *s); // may be called again
bool rb_silence_counts(const struct rb_silence *s);

// For callers that store an instant instead of a silence: attended time now, and attended time since that instant.
int64_t rb_attended_us(const struct rb_loop *loop);
int64_t rb_quiet_us(const struct rb_loop *loop, int64_t since_attended_us);

#endif
