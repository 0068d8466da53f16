// These are the only functions that read the clock. Engine, simulator and planner never include this
// header: they get the time from events.
#ifndef RB_BASE_CLOCK_H
#define RB_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

int64_t rb_clock_unix_us(void);      // wall clock, microseconds since the Unix epoch
int64_t rb_clock_monotonic_us(void); // never goes back; includes sleep of the host (CLOCK_BOOTTIME)

// Processor time of one thread: on a busy machine it stands still while others compute. May be read by every thread of the process as
// long as that one lives.
struct rb_thread_clock {
    clockid_t id;
};

struct rb_thread_clock rb_thread_clock_of_caller(void);
int64_t rb_thread_clock_us(const struct rb_thread_clock *clock);

#endif
