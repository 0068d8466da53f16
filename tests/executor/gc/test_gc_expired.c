// What a watchdog ends: by owner, lease and the cloud's clock, and nothing else.
#include "executor/gc/gc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#define NOON_US INT64_C(1788523200000000) // 2026-09-04T12:00:00Z
#define MINUTE_US (60 * RB_US_PER_S)

static int64_t clock_us = NOON_US;

static int64_t show_clock(const struct rb_provider *p)
{
    (void)p;
    return clock_us;
}

static const struct rb_provider_ops ops = {.name = "aws", .clock_us = show_clock};

// Judges one instance; returns what was found, by value. id "": nothing.
static struct rb_gc_instance judge(struct rb_instance i)
{
    struct rb_err err;
    struct rb_gc gc = {.by_lease = true, .grace_us = RB_GC_DEFAULT_LAPSE_US, .n_infras = 1, .infras = {"aws/r"}};
    struct rb_gc_instance found = {0};
    gc.providers[0].ops = &ops;
    assert_true(rb_gc_add_owner(&gc, "ann@laptop", &err));
    assert_true(rb_gc_add_owner(&gc, "bob@desk", &err));
    i.id = "i-1";
    i.running_at_us = NOON_US - 60 * MINUTE_US;
    rb_gc_judge_by_lease(&gc, 0, &i);
    assert_true(gc.n_found <= 1);
    if (gc.n_found == 1)
        found = gc.found[0];
    rb_gc_finish(&gc);
    return found;
}

static struct rb_instance with_lease(const char *owner, int64_t until_us, char text[static 32])
{
    rb_lease_format(until_us, text);
    return (struct rb_instance){.owner = owner, .run_id = "run", .state = RB_INSTANCE_RUNNING, .expires_at = text};
}

static bool ends_at(const char *owner, int64_t until_us)
{
    char text[32];
    const struct rb_gc_instance f = judge(with_lease(owner, until_us, text));
    return f.id[0] && rb_gc_ends(&f);
}

static void a_lease_must_have_lapsed_ten_minutes_ago(void **state)
{
    (void)state;
    assert_false(ends_at("ann@laptop", NOON_US + 30 * MINUTE_US));
    assert_false(ends_at("ann@laptop", NOON_US));
    assert_false(ends_at("ann@laptop", NOON_US - 9 * MINUTE_US));
    assert_true(ends_at("ann@laptop", NOON_US - 10 * MINUTE_US));
    assert_true(ends_at("bob@desk", NOON_US - 48 * 60 * MINUTE_US));
}

static void one_that_just_lapsed_is_marked(void **state)
{
    char text[32];
    (void)state;
    assert_true(judge(with_lease("ann@laptop", NOON_US - MINUTE_US, text)).lapsed);
    assert_false(judge(with_lease("ann@laptop", NOON_US + MINUTE_US, text)).lapsed);
}

static void others_are_left_alone(void **state)
{
    char text[32];
    (void)state;
    assert_string_equal(judge(with_lease("ann@desk", NOON_US - 60 * MINUTE_US, text)).id, "");
    struct rb_instance no_run = with_lease("ann@laptop", NOON_US - 60 * MINUTE_US, text);
    no_run.run_id = NULL;
    assert_string_equal(judge(no_run).id, "");
    struct rb_instance ended = with_lease("ann@laptop", NOON_US - 60 * MINUTE_US, text);
    ended.state = RB_INSTANCE_TERMINATED;
    assert_string_equal(judge(ended).id, "");
}

// None, one that cannot be read, and the planned end that a version without leases wrote.
static void without_a_lease_it_is_spared(void **state)
{
    char text[32];
    const char *const none[] = {NULL, "", "soon"};
    (void)state;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        struct rb_instance instance = with_lease("ann@laptop", 0, text);
        instance.expires_at = none[i];
        const struct rb_gc_instance f = judge(instance);
        assert_false(rb_gc_ends(&f));
        assert_string_equal(f.expires_at, "");
    }
    assert_false(ends_at("ann@laptop", NOON_US + 24 * 60 * MINUTE_US));
}

static void without_a_clock_nothing_is_ended(void **state)
{
    (void)state;
    clock_us = -1;
    assert_false(ends_at("ann@laptop", NOON_US - 48 * 60 * MINUTE_US));
    clock_us = NOON_US;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lease_must_have_lapsed_ten_minutes_ago),
        cmocka_unit_test(one_that_just_lapsed_is_marked),
        cmocka_unit_test(others_are_left_alone),
        cmocka_unit_test(without_a_lease_it_is_spared),
        cmocka_unit_test(without_a_clock_nothing_is_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
