// Runs that are kept: found by kind, plan and number, counted under any limits as if they had just been made, and forgotten
// in the order they came when there are too many.
#include "case.h"

#include "planner/scores/run_store.h"

#include <stdlib.h>
#include <string.h>

#define N 500

static struct rb_candidate plan_with(int nodes)
{
    return (struct rb_candidate){.stages = {{0, 1, nodes}, {0, 2, 1}}, .n_stages = 2};
}

static void fill(int64_t *time_us, int64_t *cost_uusd, int n)
{
    for (int i = 0; i < n; i++) {
        time_us[i] = (i * INT64_C(7919)) % 1000 + 1;
        cost_uusd[i] = (i * INT64_C(104729)) % 1000 + 1;
    }
}

static void limits_count_kept_runs_again(void **state)
{
    (void)state;
    static const int64_t limits[][2] = {{-1, -1}, {500, -1}, {-1, 300}, {700, 800}, {0, 0}};
    int64_t time_us[N], cost_uusd[N];
    struct rb_run_store *store = rb_run_store_create();
    const struct rb_candidate plan = plan_with(3);
    fill(time_us, cost_uusd, N);
    const struct rb_runs *runs = rb_run_store_keep(store, RB_RUN_REPLICATES, &plan, N, time_us, cost_uusd);
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        int64_t times[N], costs[N];
        memcpy(times, time_us, sizeof times);
        memcpy(costs, cost_uusd, sizeof costs);
        const struct rb_estimate made = rb_estimate_of_runs(times, costs, N, limits[i][0], limits[i][1]);
        const struct rb_estimate kept = rb_runs_estimate(runs, limits[i][0], limits[i][1]);
        assert_memory_equal(&made, &kept, sizeof made);
    }
    assert_memory_equal(runs->time_us, time_us, sizeof time_us);
    rb_run_store_destroy(store);
}

static void runs_are_found_by_what_they_are_of(void **state)
{
    (void)state;
    int64_t time_us[N], cost_uusd[N];
    struct rb_run_store *store = rb_run_store_create();
    const struct rb_candidate plan = plan_with(3), other = plan_with(4);
    fill(time_us, cost_uusd, N);
    rb_run_store_keep(store, RB_RUN_REPLICATES, &plan, N, time_us, cost_uusd);
    assert_non_null(rb_run_store_find(store, RB_RUN_REPLICATES, &plan, N));
    assert_null(rb_run_store_find(store, RB_RUN_UNSEEN, &plan, N));
    assert_null(rb_run_store_find(store, RB_RUN_REPLICATES, &plan, N - 1));
    assert_null(rb_run_store_find(store, RB_RUN_REPLICATES, &other, N));
    rb_run_store_destroy(store);
    rb_run_store_destroy(NULL);
}

static void a_few_are_part_of_the_longest(void **state)
{
    (void)state;
    int64_t time_us[N], cost_uusd[N], copied_us[N], copied_uusd[N];
    struct rb_run_store *store = rb_run_store_create();
    const struct rb_candidate plan = plan_with(3), other = plan_with(4);
    fill(time_us, cost_uusd, N);
    assert_null(rb_run_store_longest(store, RB_RUN_WORLDS, &plan));
    assert_int_equal(rb_run_store_copy(store, RB_RUN_WORLDS, &plan, N, copied_us, copied_uusd), 0);
    rb_run_store_keep(store, RB_RUN_WORLDS, &plan, N / 2, time_us, cost_uusd);
    rb_run_store_keep(store, RB_RUN_WORLDS, &plan, N / 4, time_us, cost_uusd);
    rb_run_store_keep(store, RB_RUN_UNSEEN, &plan, N, time_us, cost_uusd);
    rb_run_store_keep(store, RB_RUN_WORLDS, &other, N, time_us, cost_uusd);
    assert_int_equal(rb_run_store_longest(store, RB_RUN_WORLDS, &plan)->n, N / 2);
    assert_int_equal(rb_run_store_copy(store, RB_RUN_WORLDS, &plan, N, copied_us, copied_uusd), N / 2);
    assert_memory_equal(copied_us, time_us, sizeof *time_us * (N / 2));
    assert_memory_equal(copied_uusd, cost_uusd, sizeof *cost_uusd * (N / 2));
    assert_int_equal(rb_run_store_copy(store, RB_RUN_WORLDS, &plan, 3, copied_us, copied_uusd), 3);
    rb_run_store_destroy(store);
}

static void the_first_go_when_it_is_full(void **state)
{
    (void)state;
    const int n = 1 << 19; // four of them are all it holds
    int64_t *values = rb_xcalloc((size_t)n, sizeof *values);
    struct rb_run_store *store = rb_run_store_create();
    for (int i = 1; i <= 5; i++) {
        const struct rb_candidate plan = plan_with(i);
        rb_run_store_keep(store, RB_RUN_UNSEEN, &plan, n, values, values);
    }
    for (int i = 1; i <= 5; i++) {
        const struct rb_candidate plan = plan_with(i);
        assert_int_equal(rb_run_store_find(store, RB_RUN_UNSEEN, &plan, n) != NULL, i > 1);
    }
    rb_run_store_destroy(store);
    free(values);
}

static void every_kept_value_is_counted(void **state)
{
    (void)state;
    int64_t time_us[N], cost_uusd[N];
    struct rb_run_store *store = rb_run_store_create();
    const struct rb_candidate plan = plan_with(3);
    fill(time_us, cost_uusd, N);
    assert_int_equal(rb_run_store_bytes(store), 0);
    rb_run_store_keep(store, RB_RUN_REPLICATES, &plan, N, time_us, cost_uusd);
    assert_int_equal(rb_run_store_bytes(store), 2 * N * sizeof(int64_t));
    rb_run_store_destroy(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_count_kept_runs_again),  cmocka_unit_test(runs_are_found_by_what_they_are_of),
        cmocka_unit_test(a_few_are_part_of_the_longest), cmocka_unit_test(the_first_go_when_it_is_full),
        cmocka_unit_test(every_kept_value_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
