// Against the published simulator, on its own data (outside this repository): the completion time of every job of four
// workloads under Optimus and Tiresias, iteration times between measured placements, and gradients between batch sizes.
#include "base/document/csv.h"
#include "base/document/doc.h"
#include "check.h"
#include "simulator/cluster/trace_summary.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define DATA RB_SOURCE_ROOT "/../shared/data/pollux"

struct published {
    struct rb_apps apps;
    struct rb_doc reference;
    struct rb_csv jcts;
};

static bool is_there(void)
{
    return access(DATA "/reference_vectors.json", R_OK) == 0;
}

static int load(void **state)
{
    struct published *p = rb_xcalloc(1, sizeof *p);
    struct rb_err err;
    *state = p;
    if (is_there() &&
        (!rb_apps_load(&p->apps, DATA, &err) || !rb_doc_read(&p->reference, DATA "/reference_vectors.json", &err) ||
         !rb_csv_read(&p->jcts, DATA "/authors-jcts.csv", &err)))
        fail_msg("%s", err.message);
    return 0;
}

static int unload(void **state)
{
    struct published *p = *state;
    rb_csv_finish(&p->jcts);
    rb_doc_finish(&p->reference);
    if (p->apps.apps)
        rb_apps_finish(&p->apps);
    free(p);
    return 0;
}

static void need_data(void)
{
    if (!is_there()) {
        print_message("skipped: no data at %s\n", DATA);
        skip();
    }
}

// ---- whole workloads

static double authors_jct_s(const struct published *p, const char *policy, const char *workload, const char *job)
{
    static const char *const columns[] = {"policy", "workload", "job"};
    const char *wanted[] = {policy, workload, job};
    for (int row = 0; row < p->jcts.n_rows; row++) {
        bool same = true;
        for (size_t c = 0; c < N_OF(columns) && same; c++)
            same = strcmp(p->jcts.cells[row][rb_csv_column(&p->jcts, columns[c])], wanted[c]) == 0;
        if (same)
            return atof(p->jcts.cells[row][rb_csv_column(&p->jcts, "jct_s")]);
    }
    fail_msg("no %s of %s under %s", job, workload, policy);
    return NAN;
}

static int count_different(const struct published *p, const char *policy, const char *workload)
{
    char path[512];
    struct rb_err err;
    struct rb_trace trace;
    struct rb_trace_run run;
    struct rb_trace_options options;
    int different = 0;
    rb_trace_options_defaults(&options);
    options.rules = RB_TRACE_OSDI21;
    options.policy = rb_sharing_find(policy);
    snprintf(path, sizeof path, DATA "/workloads/%s.csv", workload);
    if (!rb_trace_read(&trace, path, &p->apps, &err) || !rb_trace_run_init(&run, &trace, &options, &err) ||
        !rb_trace_run_all(&run, &err))
        fail_msg("%s", err.message);
    assert_int_equal(trace.n, 160);
    for (int j = 0; j < trace.n; j++)
        different += fabs(rb_trace_jct_s(&run.jobs[j]) - authors_jct_s(p, policy, workload, trace.jobs[j].name)) > 0;
    rb_trace_run_finish(&run);
    rb_trace_finish(&trace);
    return different;
}

static const char *const workloads[] = {"workload-1", "workload-2", "workload-3", "workload-6"};

static void every_job_of_tiresias_takes_as_long_as_the_authors_say(void **state)
{
    need_data();
    for (size_t w = 0; w < N_OF(workloads); w++)
        assert_int_equal(count_different(*state, "tiresias", workloads[w]), 0);
}

// Optimus asks for placements that only the triangulation knows exactly.
static void every_job_of_optimus_takes_as_long_as_the_authors_say(void **state)
{
    need_data();
    const struct published *p = *state;
    for (size_t w = 0; w < N_OF(workloads); w++) {
        const int different = count_different(p, "optimus", workloads[w]);
        print_message("%s: %d of 160 jobs differ\n", workloads[w], different);
        assert_true(p->apps.apps[0].between ? different == 0 : different <= 16);
    }
}

// ---- tables

static const struct rb_node *of_app(const struct published *p, int app, const char *key)
{
    const struct rb_node *apps = rb_node_member(p->reference.root, "apps");
    const struct rb_node *node = rb_node_member(rb_node_member(apps, p->apps.apps[app].name), key);
    assert_non_null(node);
    return node;
}

static int read_placement(const struct rb_node *list, int gpus[64])
{
    int n = 0;
    for (const struct rb_node *g = list->first; g; g = g->next)
        gpus[n++] = (int)g->integer;
    return n;
}

static bool is_close(double got, double expected)
{
    return fabs(got - expected) <= 1e-9 * fabs(expected);
}

static void iterations_take_as_long_as_published(void **state)
{
    need_data();
    const struct published *p = *state;
    int n_rows = 0, n_other = 0;
    for (int a = 0; a < p->apps.n; a++) {
        const struct rb_node *rows = of_app(p, a, "placement_localbsz_step_sync_measured");
        for (const struct rb_node *row = rows->first; row; row = row->next, n_rows++) {
            int gpus[64];
            const struct rb_node *batch = row->first->next, *step = batch->next, *sync = step->next;
            const int n = read_placement(row->first, gpus);
            const struct rb_app_layout layout = rb_app_layout(&p->apps.apps[a], gpus, n);
            struct rb_app_step got;
            assert_int_equal(layout.measured != NULL, sync->next->boolean);
            assert_true(rb_app_step(&p->apps.apps[a], &layout, (int)batch->integer, &got));
            n_other += !is_close(got.step_s, step->number) || !is_close(got.sync_s, sync->number);
        }
    }
    assert_true(n_rows >= 360);
    // The grid has nine digits, and another simplex's value on some faces.
    assert_true(p->apps.apps[0].between ? n_other == 0 : n_other < n_rows / 2);
}

static void gradients_and_epochs_are_as_published(void **state)
{
    need_data();
    const struct published *p = *state;
    for (int a = 0; a < p->apps.n; a++) {
        const struct rb_app *app = &p->apps.apps[a];
        int epoch = 0;
        for (const struct rb_node *e = of_app(p, a, "progress")->first; e; e = e->next)
            assert_true(fabs(app->progress[epoch++] - e->number) <= 1e-9 * e->number);
        assert_int_equal(epoch, app->n_epochs);
        const struct rb_node *rows = of_app(p, a, "batch_epoch_iteration_gradsqr_gradvar");
        for (const struct rb_node *row = rows->first; row; row = row->next) {
            const struct rb_node *at = row->first->next, *iteration = at->next, *sqr = iteration->next;
            const int batch = (int)row->first->integer;
            const struct rb_grad_noise noise = rb_app_noise(app, batch, (int)at->integer);
            assert_true(is_close(rb_app_iteration(app, batch, (int)at->integer), iteration->number));
            assert_true(is_close(noise.sqr, sqr->number) && is_close(noise.var, sqr->next->number));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(iterations_take_as_long_as_published),
        cmocka_unit_test(gradients_and_epochs_are_as_published),
        cmocka_unit_test(every_job_of_tiresias_takes_as_long_as_the_authors_say),
        cmocka_unit_test(every_job_of_optimus_takes_as_long_as_the_authors_say),
    };
    const int failed = cmocka_run_group_tests(tests, load, unload);
    return failed == 0 && !is_there() ? 77 : failed; // 77: meson says "skipped"
}
