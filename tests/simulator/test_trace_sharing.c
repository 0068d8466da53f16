// Pollux against its authors' run of one workload, and goodput against their runs of all four, by the published rules on the
// published data (outside this repository).
#include "base/document/csv.h"
#include "check.h"
#include "simulator/cluster/trace_summary.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define DATA RB_SOURCE_ROOT "/../shared/data/pollux"

static bool is_there(void)
{
    return access(DATA "/authors-jcts.csv", R_OK) == 0;
}

static double authors_mean_s(const struct rb_csv *jcts, const char *workload)
{
    double sum = 0;
    int n = 0;
    for (int row = 0; row < jcts->n_rows; row++) {
        const char *const *cells = (const char *const *)jcts->cells[row];
        if (strcmp(cells[rb_csv_column(jcts, "policy")], "pollux") == 0 &&
            strcmp(cells[rb_csv_column(jcts, "workload")], workload) == 0) {
            sum += atof(cells[rb_csv_column(jcts, "jct_s")]);
            n++;
        }
    }
    assert_int_equal(n, 160);
    return sum / n;
}

static double mean_s(const struct rb_apps *apps, const char *policy, const char *workload)
{
    char path[512];
    struct rb_err err;
    struct rb_trace trace;
    struct rb_trace_run run;
    struct rb_trace_options options;
    double sum = 0;
    rb_trace_options_defaults(&options);
    options.rules = RB_TRACE_OSDI21;
    options.policy = rb_sharing_find(policy);
    snprintf(path, sizeof path, DATA "/workloads/%s.csv", workload);
    if (!rb_trace_read(&trace, path, apps, &err) || !rb_trace_run_init(&run, &trace, &options, &err) ||
        !rb_trace_run_all(&run, &err))
        fail_msg("%s", err.message);
    for (int j = 0; j < trace.n; j++)
        sum += rb_trace_jct_s(&run.jobs[j]) / trace.n;
    rb_trace_run_finish(&run);
    rb_trace_finish(&trace);
    return sum;
}

static void means_are_the_authors_or_better(void **state)
{
    (void)state;
    static const struct {
        const char *policy, *workload;
        double low, high; // of the ratio to the authors' mean under Pollux
    } cases[] = {
        {"pollux", "workload-1", 0.97, 1.03}, {"goodput", "workload-1", 0.8, 1}, {"goodput", "workload-2", 0.8, 1},
        {"goodput", "workload-3", 0.8, 1},    {"goodput", "workload-6", 0.8, 1},
    };
    if (!is_there()) {
        print_message("skipped: no data at %s\n", DATA);
        skip();
    }
    struct rb_apps apps;
    struct rb_csv jcts;
    struct rb_err err;
    if (!rb_apps_load(&apps, DATA, &err) || !rb_csv_read(&jcts, DATA "/authors-jcts.csv", &err))
        fail_msg("%s", err.message);
    for (size_t i = 0; i < N_OF(cases); i++) {
        const double ratio =
            mean_s(&apps, cases[i].policy, cases[i].workload) / authors_mean_s(&jcts, cases[i].workload);
        print_message("%s, %s: %.3f of the authors' mean under Pollux\n", cases[i].policy, cases[i].workload, ratio);
        assert_true(ratio > cases[i].low && ratio < cases[i].high);
    }
    rb_csv_finish(&jcts);
    rb_apps_finish(&apps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(means_are_the_authors_or_better)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed == 0 && !is_there() ? 77 : failed; // 77: meson says "skipped"
}
