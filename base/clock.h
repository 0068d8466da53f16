// These are the only functions that read the clock. Engine, simulator and planner never include this
// header: they get the time from events.
#ifndef RB_BASE_CLOCK_H
#define RB_BASE_CLOCK_H

#include <stdint.h>

int64_t rb_clock_unix_us(void);      // wall clock, microseconds since the Unix epoch
int64_t rb_clock_monotonic_us(void); // never goes back; includes sleep of the host (CLOCK_BOOTTIME)

#endif
