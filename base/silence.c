#include "base/silence.h"

// The last look at the descriptors: the loop fires no timer before it has looked at them since the timer was started.
enum { LAST_LOOK_US = 20000 };

int64_t rb_attended_us(const struct rb_loop *loop)
{
    return loop->attended_us ? loop->attended_us(loop->ctx) : loop->now_us(loop->ctx);
}

int64_t rb_quiet_us(const struct rb_loop *loop, int64_t since_us)
{
    int64_t gap_us;
    const int64_t back_us = loop->back_us ? loop->back_us(loop->ctx, &gap_us) : INT64_MIN;
    return rb_attended_us(loop) - (since_us > back_us ? since_us : back_us);
}

static void is_due(void *arg);

static void wait_for(struct rb_silence *s, int64_t us)
{
    s->timer = s->loop->timer_start(s->loop->ctx, us, is_due, s);
}

static void is_due(void *arg)
{
    struct rb_silence *s = arg;
    const int64_t left_us = s->patience_us - rb_quiet_us(s->loop, s->since_us);
    s->timer = 0;
    if (left_us > 0) { // something arrived, or the loop did not look at its descriptors for a time
        s->last_look = false;
        wait_for(s, left_us);
    } else if (!s->last_look) {
        s->last_look = true;
        wait_for(s, LAST_LOOK_US);
    } else {
        s->last_look = false;
        s->fn(s->arg);
    }
}

void rb_silence_begin(struct rb_silence *s, const struct rb_loop *loop, int64_t patience_us, rb_loop_fn *fn, void *arg)
{
    const bool goes_on = s->timer && patience_us >= s->patience_us; // else its timer would come too late
    if (!goes_on)
        rb_silence_end(s);
    s->loop = loop;
    s->since_us = rb_attended_us(loop);
    s->patience_us = patience_us;
    s->last_look = false;
    s->fn = fn;
    s->arg = arg;
    if (!goes_on)
        wait_for(s, patience_us > 0 ? patience_us : 0);
}

void rb_silence_end(struct rb_silence *s)
{
    if (s->timer)
        s->loop->timer_cancel(s->loop->ctx, s->timer);
    s->timer = 0;
    s->last_look = false;
}

bool rb_silence_counts(const struct rb_silence *s)
{
    return s->timer != 0;
}
