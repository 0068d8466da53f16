#include "base/backoff.h"

#include "base/text/units.h"

#define FIRST_US INT64_C(200000)
#define MOST_US  (30 * RB_US_PER_S)

int64_t rb_backoff_us(int tries)
{
    const int64_t wait_us = tries < 16 ? FIRST_US << tries : MOST_US;
    return wait_us < MOST_US ? wait_us : MOST_US;
}

int64_t rb_backoff_jittered_us(int tries, uint32_t draw)
{
    return (int64_t)((uint64_t)rb_backoff_us(tries) * draw >> 32);
}
