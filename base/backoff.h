// How long to wait before something that failed is tried again. Source: exponential backoff with full jitter (Brooker,
// "Exponential Backoff And Jitter", AWS Architecture Blog, 2015).
#ifndef RB_BASE_BACKOFF_H
#define RB_BASE_BACKOFF_H

#include <stdint.h>

int64_t rb_backoff_us(int tries); // 0.2 s doubling to 30 s; tries >= 0: earlier waits
// The same with full jitter: uniform between 0 and it. draw: 32 random bits.
int64_t rb_backoff_jittered_us(int tries, uint32_t draw);

#endif
