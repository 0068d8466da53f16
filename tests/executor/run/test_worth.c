// What a plan is worth with the freedom to leave it, and which of two plans is begun with.
#include "fake_run.h"
#include "known_profile.h"

#include "executor/rehearsal/worth.h"
#include "tests/base/check.h"

#include <string.h>

enum { FEW = 32, MORE = 64 };

// Two plans of one job: six GPUs in its first stage, or two.
struct two_plans {
    struct known known;
    struct fake_run r;
    struct rb_plan_nodes one;
    struct rb_plan_stage stages[3];
    struct rb_plan many, few;
};

static void begin(struct two_plans *t, int64_t deadline_us)
{
    *t = (struct two_plans){.one = {.offer = 0, .count = 1}};
    know(&t->known);
    t->known.training.relative_error = 0.25;
    fake_run_init(&t->r, 5);
    t->many = *t->r.plan;
    t->many.profile = &t->known.profile;
    t->many.confidence = 0.95;
    t->many.deadline_us = deadline_us;
    memcpy(t->stages, t->many.stages, sizeof t->stages);
    t->stages[0].nodes = t->stages[1].nodes = &t->one;
    t->few = t->many;
    t->few.stages = t->stages;
}

static int choose(struct two_plans *t, int64_t deadline_us, struct rb_worth *out)
{
    struct rb_err err;
    int chosen;
    begin(t, deadline_us);
    const struct rb_plan *const plans[] = {&t->many, &t->few};
    if (!rb_worth_choose(plans, 2, FEW, MORE, 2, &chosen, out, &err))
        fail_msg("%s", err.message);
    print_message("%lld s: plan %d, $%.4f, %.3f kept\n", (long long)(deadline_us / RB_US_PER_S), chosen,
                  out->cost_uusd.mean / 1e6, out->kept.share);
    fake_run_finish(&t->r);
    return chosen;
}

static void a_cheaper_plan_is_begun_with_where_its_runs_keep_the_limits(void **state)
{
    (void)state;
    static struct two_plans t;
    struct rb_worth worth;
    assert_int_equal(choose(&t, 3000 * RB_US_PER_S, &worth), 1);
    assert_true(worth.kept.share >= 0.95 && worth.kept.low < worth.kept.share);
    assert_int_equal(choose(&t, 420 * RB_US_PER_S, &worth), 0); // too late for it, whatever is bought afterwards
}

static void what_is_stated_does_not_depend_on_threads(void **state)
{
    (void)state;
    static struct two_plans t;
    struct rb_worth one, three;
    struct rb_err err;
    begin(&t, 500 * RB_US_PER_S);
    assert_true(rb_worth_of(&t.many, 7, FEW, 1, &one, &err) && rb_worth_of(&t.many, 7, FEW, 3, &three, &err));
    const struct rb_mean *a = &one.cost_uusd, *b = &three.cost_uusd; // their padding may differ
    assert_memory_equal(&one.kept, &three.kept, sizeof one.kept);
    assert_true(a->n == b->n && a->mean == b->mean && a->sd == b->sd && a->low == b->low && a->high == b->high);
    fake_run_finish(&t.r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cheaper_plan_is_begun_with_where_its_runs_keep_the_limits),
        cmocka_unit_test(what_is_stated_does_not_depend_on_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
