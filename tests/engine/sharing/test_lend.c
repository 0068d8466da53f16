// From counts to GPUs.
#include "check.h"

#include "base/stream.h"
#include "engine/sharing/lend.h"

static void what_is_free_is_lent_at_once(void **state)
{
    (void)state;
    struct rb_lending jobs[] = {{.want = 1}, {.want = 3}};
    assert_true(rb_lend(4, jobs, 2));
    assert_int_equal(jobs[0].usable, 1);
    assert_int_equal(jobs[1].usable, 14);
    assert_false(rb_lend(4, jobs, 2));
}

static void what_is_given_back_is_lent_on_when_nothing_trains_there(void **state)
{
    (void)state;
    struct rb_lending jobs[] = {{.want = 2, .busy = 13, .usable = 15}, {.want = 2}};
    assert_true(rb_lend(4, jobs, 2));
    assert_int_equal(jobs[0].usable, 5); // of those it trains on
    assert_int_equal(jobs[1].usable, 2); // GPU 3 is still at work
    jobs[0].busy = 5;
    jobs[1].busy = 2;
    assert_true(rb_lend(4, jobs, 2));
    assert_int_equal(jobs[0].usable, 5);
    assert_int_equal(jobs[1].usable, 10);
}

// Its own GPU, asked back a moment ago and still at work, is no one else's.
static void a_job_gets_its_own_back_first(void **state)
{
    (void)state;
    struct rb_lending jobs[] = {{.want = 2, .busy = 3, .usable = 1}, {.want = 2}};
    assert_true(rb_lend(4, jobs, 2));
    assert_int_equal(jobs[0].usable, 3);
    assert_int_equal(jobs[1].usable, 12);
}

// Whatever is wanted, and however often it changes: no GPU is lent twice or while another job trains on it, and once all
// have left what they may not use, all have what they want.
static void random_changes_end_where_they_should(void **state)
{
    (void)state;
    struct rb_stream s;
    rb_stream_init(&s, &(struct rb_stream_key){.seed = 11, .purpose = RB_DRAW_SEARCH});
    struct rb_lending jobs[4] = {{0}};
    for (int round = 0; round < 2000; round++) {
        int left = 8;
        for (int i = 0; i < 4; i++) {
            jobs[i].want = (int)rb_stream_below(&s, (uint64_t)left + 1);
            left -= jobs[i].want;
        }
        for (int step = 0; step < 3; step++) {
            rb_lend(8, jobs, 4);
            for (int i = 0; i < 4; i++) {
                for (int k = 0; k < 4; k++)
                    assert_true(k == i || (jobs[i].usable & (jobs[k].usable | jobs[k].busy)) == 0);
                // Some leave at once, some start on what they got.
                if (rb_stream_below(&s, 2) || step == 1)
                    jobs[i].busy &= jobs[i].usable;
                jobs[i].busy |= jobs[i].usable & rb_stream_below(&s, 256);
            }
        }
        for (int i = 0; i < 4; i++)
            assert_int_equal(__builtin_popcountll(jobs[i].usable), jobs[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_free_is_lent_at_once),
        cmocka_unit_test(what_is_given_back_is_lent_on_when_nothing_trains_there),
        cmocka_unit_test(a_job_gets_its_own_back_first),
        cmocka_unit_test(random_changes_end_where_they_should),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
