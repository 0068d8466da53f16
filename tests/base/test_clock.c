// Processor time of a thread: it counts what the thread computes, and nothing else.
#include "base/clock.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#define SLEEP_MS 50
#define SPIN_US  20000

static void spin_until(const struct rb_thread_clock *clock, int64_t us)
{
    while (rb_thread_clock_us(clock) < us)
        ;
}

static void sleep_is_not_counted(void **state)
{
    (void)state;
    const struct rb_thread_clock clock = rb_thread_clock_of_caller();
    const struct timespec nap = {0, SLEEP_MS * 1000000};
    const int64_t before = rb_thread_clock_us(&clock);
    nanosleep(&nap, NULL);
    assert_true(rb_thread_clock_us(&clock) - before < SLEEP_MS * 1000 / 2);
}

static void computing_is_counted(void **state)
{
    (void)state;
    const struct rb_thread_clock clock = rb_thread_clock_of_caller();
    const int64_t before = rb_thread_clock_us(&clock), passed = rb_clock_monotonic_us();
    spin_until(&clock, before + SPIN_US);
    assert_true(rb_clock_monotonic_us() - passed >= SPIN_US - 1000);
}

static void *compute(void *arg)
{
    (void)arg;
    const struct rb_thread_clock mine = rb_thread_clock_of_caller();
    spin_until(&mine, rb_thread_clock_us(&mine) + SPIN_US);
    return NULL;
}

static void *read_other(void *arg)
{
    const struct rb_thread_clock *clock = arg;
    return (void *)(intptr_t)rb_thread_clock_us(clock);
}

static void others_are_not_counted_and_may_ask(void **state)
{
    (void)state;
#ifdef __linux__
    const struct rb_thread_clock clock = rb_thread_clock_of_caller();
    pthread_t thread;
    void *answer;
    const int64_t before = rb_thread_clock_us(&clock);
    assert_int_equal(pthread_create(&thread, NULL, compute, NULL), 0);
    pthread_join(thread, NULL);
    assert_true(rb_thread_clock_us(&clock) - before < SPIN_US / 2);
    assert_int_equal(pthread_create(&thread, NULL, read_other, (void *)&clock), 0);
    pthread_join(thread, &answer);
    assert_true((intptr_t)answer >= before && (intptr_t)answer <= rb_thread_clock_us(&clock));
#else
    skip();
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sleep_is_not_counted),
        cmocka_unit_test(computing_is_counted),
        cmocka_unit_test(others_are_not_counted_and_may_ask),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
