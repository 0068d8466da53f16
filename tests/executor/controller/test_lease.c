// Leases: how they are judged, and when they are renewed.
#include "executor/controller/lease.h"

#include "base/text/units.h"
#include "virtual_loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
// cmocka wants the four above first
#include <cmocka.h>

static int64_t at(const char *instant)
{
    int64_t us;
    assert_true(rb_parse_instant(instant, &us, NULL));
    return us;
}

static void judged_by_the_clouds_clock(void **state)
{
    (void)state;
    const int64_t noon = at("2026-01-01T12:00:00Z");
    assert_int_equal(rb_lease_state("2026-01-01T12:30:00Z", noon), RB_LEASE_FRESH);
    assert_int_equal(rb_lease_state("2026-01-01T12:00:00Z", noon), RB_LEASE_LAPSED);
    assert_int_equal(rb_lease_state("2026-01-01T12:30:00Z", -1), RB_LEASE_UNKNOWN);
    assert_int_equal(rb_lease_state(NULL, noon), RB_LEASE_NONE);
    assert_int_equal(rb_lease_state("tomorrow", noon), RB_LEASE_NONE);
    // When its launch was to be over, as older versions wrote: no lease.
    assert_int_equal(rb_lease_state("2026-01-08T12:00:00Z", noon), RB_LEASE_NONE);
}

struct cloud {
    struct virtual_loop v;
    struct rb_provider provider;
    int n_instances, n_renewals, n_warnings;
    int64_t ahead_us; // its clock minus ours
    struct rb_err err;
    char until[32], warning[900];
};

static void renew(struct rb_provider *p, const char *const *ids, int n, const struct rb_tag *lease, rb_terminate_fn *fn,
                  void *arg)
{
    struct cloud *c = p->state;
    assert_int_equal(n, c->n_instances);
    assert_string_equal(ids[0], "i-0");
    assert_string_equal(lease->key, "rb:expires-at");
    c->n_renewals++;
    snprintf(c->until, sizeof c->until, "%s", lease->value);
    fn(arg, c->err.code ? &c->err : NULL);
}

static int64_t clock_us(const struct rb_provider *p)
{
    const struct cloud *c = p->state;
    return c->v.loop.unix_us(c->v.loop.ctx) + c->ahead_us;
}

static const struct rb_provider_ops with_leases = {.name = "fake", .renew = renew, .clock_us = clock_us},
                                    without = {.name = "fake"};

static void each(void *ctx, void (*add)(void *to, const char *instance_id), void *to)
{
    const struct cloud *c = ctx;
    char id[16];
    for (int i = 0; i < c->n_instances; i++) {
        snprintf(id, sizeof id, "i-%d", i);
        add(to, id);
    }
}

static void warn(void *ctx, const char *text)
{
    struct cloud *c = ctx;
    c->n_warnings++;
    snprintf(c->warning, sizeof c->warning, "%s", text);
}

static struct rb_lease_keeper *begin(struct cloud *c, const struct rb_provider_ops *ops, int n_instances)
{
    *c = (struct cloud){.n_instances = n_instances};
    virtual_loop_init(&c->v);
    c->provider = (struct rb_provider){.ops = ops, .state = c};
    return rb_lease_keeper_create(&(struct rb_lease_keeper_config){
        .loop = &c->v.loop, .provider = &c->provider, .infra = "fake/here", .each = each, .warn = warn, .ctx = c});
}

static int64_t unix_us(const struct cloud *c)
{
    return c->v.loop.unix_us(c->v.loop.ctx);
}

static void run_s(struct cloud *c, int64_t seconds)
{
    const int64_t until_us = c->v.now_us + seconds * RB_US_PER_S;
    while (virtual_loop_step_until(&c->v, until_us))
        ;
}

static void end(struct cloud *c, struct rb_lease_keeper *k)
{
    rb_lease_keeper_destroy(k);
    virtual_loop_finish(&c->v);
}

static void renewed_three_times_within_its_length(void **state)
{
    (void)state;
    struct cloud c;
    struct rb_lease_keeper *k = begin(&c, &with_leases, 2);
    c.ahead_us = 7200 * RB_US_PER_S;
    run_s(&c, 1);
    assert_int_equal(c.n_renewals, 1); // of one who comes back: at once
    int64_t until_us = at(c.until);
    assert_true(until_us - clock_us(&c.provider) > (RB_LEASE_S - 10) * RB_US_PER_S);
    run_s(&c, 3600);
    assert_in_range(c.n_renewals, 6, 7);
    end(&c, k);
}

static void a_new_node_is_seen_to_only_if_that_is_needed(void **state)
{
    (void)state;
    struct cloud c;
    struct rb_lease_keeper *k = begin(&c, &with_leases, 0);
    run_s(&c, 60);
    assert_int_equal(c.n_renewals, 0); // there is none
    c.n_instances = 1;
    rb_lease_keeper_add(k, unix_us(&c) + RB_LEASE_S * RB_US_PER_S);
    run_s(&c, 5);
    assert_int_equal(c.n_renewals, 1); // the first shows whether we may
    rb_lease_keeper_add(k, unix_us(&c) + RB_LEASE_S * RB_US_PER_S - RB_US_PER_S);
    run_s(&c, 5);
    assert_int_equal(c.n_renewals, 1);
    rb_lease_keeper_add(k, unix_us(&c) + 60 * RB_US_PER_S); // its launch was undecided for long
    run_s(&c, 5);
    assert_int_equal(c.n_renewals, 2);
    end(&c, k);
}

static void failures_are_warned_of_once_and_tried_again(void **state)
{
    (void)state;
    struct cloud c;
    struct rb_lease_keeper *k = begin(&c, &with_leases, 1);
    rb_err_set(&c.err, RB_E_UNREACHABLE, "no route to host");
    run_s(&c, 1);
    run_s(&c, 200);
    assert_in_range(c.n_renewals, 3, 4); // every minute
    assert_int_equal(c.n_warnings, 1);
    assert_non_null(strstr(c.warning, "fake/here cannot be renewed (no route to host)"));
    rb_err_set(&c.err, RB_E_PERMISSION, "CreateTags");
    run_s(&c, 60);
    const int before = c.n_renewals;
    run_s(&c, 600);
    assert_in_range(c.n_renewals - before, 1, 2); // what is not allowed is not asked for every minute
    assert_int_equal(c.n_warnings, 1);
    end(&c, k);
}

static void some_clouds_have_none(void **state)
{
    (void)state;
    struct cloud c;
    struct rb_lease_keeper *k = begin(&c, &without, 1);
    assert_null(k);
    rb_lease_keeper_add(k, 0);
    end(&c, k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(judged_by_the_clouds_clock),
        cmocka_unit_test(renewed_three_times_within_its_length),
        cmocka_unit_test(a_new_node_is_seen_to_only_if_that_is_needed),
        cmocka_unit_test(failures_are_warned_of_once_and_tried_again),
        cmocka_unit_test(some_clouds_have_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
