// Reads the clocks of the host.
#include "base/clock.h"

#include <assert.h>
#include <pthread.h>
#include <time.h>

static int64_t read_us(clockid_t id)
{
    struct timespec ts;
    const int rc = clock_gettime(id, &ts);
    assert(rc == 0);
    (void)rc;
    return (int64_t)ts.tv_sec * INT64_C(1000000) + ts.tv_nsec / 1000;
}

int64_t rb_clock_unix_us(void)
{
    return read_us(CLOCK_REALTIME);
}

int64_t rb_clock_monotonic_us(void)
{
#ifdef CLOCK_BOOTTIME
    return read_us(CLOCK_BOOTTIME);
#else
    return read_us(CLOCK_MONOTONIC); // macOS: its monotonic clock counts sleep already
#endif
}

struct rb_thread_clock rb_thread_clock_of_caller(void)
{
    struct rb_thread_clock clock = {CLOCK_PROCESS_CPUTIME_ID};
#ifdef __linux__
    clockid_t id;
    if (pthread_getcpuclockid(pthread_self(), &id) == 0)
        clock.id = id;
#endif
    return clock;
}

int64_t rb_thread_clock_us(const struct rb_thread_clock *clock)
{
    return read_us(clock->id);
}
