// Measured applications: what is read, what is refused, and what lies between the measured points.
#include "small_apps.h"

#include "base/stream.h"
#include "check.h"
#include "simulator/cluster/apps_between.h"

#include <math.h>

static void step_is(const struct rb_app *app, const int *gpus, int n, int batch, double step_s, double sync_s)
{
    struct rb_app_step got;
    const struct rb_app_layout layout = rb_app_layout(app, gpus, n);
    if (!rb_app_step(app, &layout, batch, &got) || fabs(got.step_s - step_s) > 1e-12 ||
        fabs(got.sync_s - sync_s) > 1e-12)
        fail_msg("on %d nodes, %d GPUs, %d samples: %g %g, expected %g %g", layout.nodes, layout.gpus, batch,
                 got.step_s, got.sync_s, step_s, sync_s);
}

static bool is_measured(const struct rb_app *app, const int *gpus, int n, int batch)
{
    struct rb_app_step got;
    const struct rb_app_layout layout = rb_app_layout(app, gpus, n);
    return rb_app_step(app, &layout, batch, &got);
}

static void a_placement_is_a_ring(void **state)
{
    (void)state;
    struct small_apps s;
    small_apps_write(&s);
    small_apps_load(&s, "a,0,toy,1,10\n");
    const struct rb_app *app = rb_apps_find(&s.apps, "toy");
    step_is(app, (int[]){1}, 1, 5, 1, 0);
    step_is(app, (int[]){1, 2}, 2, 10, 0.5, 0.1);
    step_is(app, (int[]){2, 1}, 2, 1, 0.5, 0.1);
    step_is(app, (int[]){2, 2}, 2, 4, 0.5, 0.1); // from the grid
    assert_false(is_measured(app, (int[]){1}, 1, 11));
    assert_false(is_measured(app, (int[]){1, 1, 1}, 3, 5));
    assert_false(is_measured(app, (int[]){10}, 1, 5)); // no digit
    assert_null(rb_apps_find(&s.apps, "tpy"));
    small_apps_finish(&s);
}

static void times_and_gradients_are_interpolated(void **state)
{
    (void)state;
    struct small_apps s;
    small_apps_write(&s);
    small_apps_put(&s, "traces/toy/placements.csv",
                   "placement,local_bsz,step_time,sync_time\n1,10,3.0,0.5\n1,2,1.0,0.1\n");
    small_apps_put(&s, "traces/toy/validation-40.csv",
                   "progress,iteration,metric,grad_sqr,grad_var\n101,25,0.5,3,6\n201,50,0.6,1,0\n");
    small_apps_load(&s, "a,0,toy,1,10\n");
    const struct rb_app *app = &s.apps.apps[0];
    step_is(app, (int[]){1}, 1, 4, 1.5, 0.2);
    const struct rb_grad_noise noise = rb_app_noise(app, 20, 0);
    assert_float_equal(noise.sqr, 1 + 2 / 3.0, 1e-12);
    assert_float_equal(noise.var, 2, 1e-12);
    assert_float_equal(rb_app_noise(app, 400, 0).var, 6, 0); // beyond the largest as there
    assert_float_equal(rb_app_iteration(app, 20, 1), 150, 1e-12);
    assert_float_equal(app->progress[1], 100.5, 0); // the batch size that needs least
    small_apps_finish(&s);
}

static void a_batch_is_cut_for_the_gpus(void **state)
{
    (void)state;
    struct small_apps s;
    small_apps_write(&s);
    small_apps_load(&s, "a,0,toy,1,10\n");
    static const struct {
        int batch, gpus;
        bool accumulates;
        int per_gpu, accumulation;
    } cases[] = {{10, 1, false, 10, 0}, {20, 1, false, 10, 1}, {10, 1, true, 5, 1},  {25, 1, false, 9, 2},
                 {30, 4, false, 8, 0},  {40, 3, false, 6, 1},  {39, 4, false, 10, 0}};
    for (size_t i = 0; i < N_OF(cases); i++) {
        const struct rb_batch b = rb_app_cut(&s.apps.apps[0], cases[i].batch, cases[i].gpus, cases[i].accumulates);
        assert_int_equal(b.per_gpu, cases[i].per_gpu);
        assert_int_equal(b.accumulation, cases[i].accumulation);
    }
    small_apps_finish(&s);
}

static void folders_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *file, *text, *says;
    } cases[] = {
        {"reference_vectors.json", "{\"apps\": {}}", "expected a map `apps`"},
        {"reference_vectors.json", "{\"apps\": {\"toy\": {\"init_batch_size\": 10}}}", "expected the key"},
        {"traces/toy/placements.csv", "placement,local_bsz,step_time,sync_time\n1x,1,1,0\n", "1 to 9 digits"},
        {"traces/toy/placements.csv", "placement,local_bsz,step_time,sync_time\n1,1,1,1\n", "less than step_time"},
        {"traces/toy/placements.csv", "placement,local_bsz,step_time,sync_time\n1,1,1,0\n1,1,2,0\n", "RB5003 measured twice"},
        {"traces/toy/placements.csv", "placement,local_bsz,step_time\n1,1,1\n", "sync_time"},
        {"traces/toy/placements.csv", "placement,local_bsz,step_time,sync_time\n", "at least one row"},
        {"derived-throughput-grid/toy-grid.csv.gz", "num_nodes,num_replicas,local_bsz,step_time,sync_time\n2,1,1,1,0\n",
         "num_replicas"},
        {"traces/toy/validation-10.csv", "progress,iteration,metric,grad_sqr,grad_var\n1,1,0,1,0\n", "expected 2 rows"},
        {"traces/toy/validation-10.csv", "progress,iteration,metric,grad_sqr,grad_var\n2,1,0,1,0\n1,2,0,1,0\n",
         "that of the epoch before"},
        {"traces/toy/validation-10.csv", "progress,iteration,metric,grad_sqr,grad_var\n1,1,0,0,0\n2,2,0,1,0\n",
         "grad_sqr and grad_var"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct small_apps s;
        struct rb_err err = {0};
        struct rb_apps apps;
        small_apps_write(&s);
        small_apps_put(&s, cases[i].file, cases[i].text);
        assert_false(rb_apps_load(&apps, s.dir, &err));
        assert_says(&err, cases[i].says);
        small_apps_finish(&s);
    }
}

// A plane through all corners is met everywhere between them, whatever the triangulation; outside there is nothing.
static void between_measured_points_it_is_linear(void **state)
{
    (void)state;
    if (!rb_app_between_available()) {
        print_message("skipped: built without Qhull\n");
        skip();
    }
    struct rb_arena arena;
    struct rb_app_point points[60];
    int n = 0;
    rb_arena_init(&arena);
    for (int nodes = 1; nodes <= 3; nodes++) {
        for (int gpus = nodes; gpus <= 4 * nodes; gpus += nodes) {
            for (int batch = 10; batch <= 90; batch += 20)
                points[n++] =
                    (struct rb_app_point){nodes, gpus, batch, {1 + nodes + 0.5 * gpus + 0.01 * batch, 0.25 * nodes}};
        }
    }
    struct rb_err err;
    const struct rb_app_between *between;
    if (!rb_app_between_init(&arena, points, n, &between, &err))
        fail_msg("%s", err.message);
    struct rb_app_step got;
    for (int nodes = 1; nodes <= 3; nodes++) {
        for (int gpus = nodes; gpus <= 4 * nodes; gpus++) {
            for (int batch = 10; batch <= 90; batch++) {
                assert_true(rb_app_between_step(between, nodes, gpus, batch, &got));
                assert_float_equal(got.step_s, 1 + nodes + 0.5 * gpus + 0.01 * batch, 1e-9);
                assert_float_equal(got.sync_s, 0.25 * nodes, 1e-9);
            }
        }
    }
    assert_false(rb_app_between_step(between, 1, 5, 50, &got));
    assert_false(rb_app_between_step(between, 2, 4, 91, &got));
    assert_false(rb_app_between_step(between, 4, 4, 50, &got));
    assert_false(rb_app_between_init(&arena, points, 3, &between, &err));
    assert_says(&err, "expected more than 4");
    assert_false(rb_app_between_init(&arena, points, 5, &between, &err)); // five on a line
    assert_says(&err, "span no space");
    rb_arena_finish(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_placement_is_a_ring),
        cmocka_unit_test(times_and_gradients_are_interpolated),
        cmocka_unit_test(a_batch_is_cut_for_the_gpus),
        cmocka_unit_test(folders_that_make_no_sense_are_refused),
        cmocka_unit_test(between_measured_points_it_is_linear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
