// Inferences from silence: "no report for this long", "no answer within that". A timer that fires late says nothing about
// who was silent, because nobody listened: what was said meanwhile is still unread. So a silence
//   - counts attended time only (base/loop.h): it stands still while this process is stopped or too busy to look;
//   - starts again, in full, at the end of a long gap, because connections may have to be made again;
//   - is judged only after the loop has looked at its descriptors once more.
// Facts about the world (a deadline, a budget, a heartbeat that is due) are plain timers: they do not wait for us.
#ifndef RB_BASE_SILENCE_H
#define RB_BASE_SILENCE_H

#include "base/loop.h"

struct rb_silence {
    const struct rb_loop *loop; // NULL: never begun
    uint64_t timer;             // 0: not counting
    int64_t since_us;           // attended time
    int64_t patience_us;
    bool last_look;             // the time is over, and the descriptors are looked at once more
    rb_loop_fn *fn;
    void *arg;
};

// Counts from now, whether it counted before or not; fn is called from the loop after patience_us of silence, once.
// A zeroed struct may be begun; it must stay where it is until it has ended.
void rb_silence_begin(struct rb_silence *s, const struct rb_loop *loop, int64_t patience_us, rb_loop_fn *fn, void *arg);
void rb_silence_end(struct rb_silence *s); // as often as wanted
bool rb_silence_counts(const struct rb_silence *s);

// For who keeps a moment instead of a silence: the clock, and how long it has been quiet since a moment on it.
int64_t rb_attended_us(const struct rb_loop *loop);
int64_t rb_quiet_us(const struct rb_loop *loop, int64_t since_attended_us);

#endif
