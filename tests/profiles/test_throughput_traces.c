// The fit on measured iterations of six models (Pollux, OSDI'21; data outside this repository): within 10 % on average.
#include "base/csv.h"
#include "profiles/throughput.h"
#include "tests/profiles/measured.h"

#include <unistd.h>

#define TRACES RB_SOURCE_ROOT "/../shared/data/pollux/traces/"

// Mean |relative error| of the authors' own fit on the same rows.
static const struct {
    const char *name;
    double published_error;
} models[] = {{"bert", 0.072},     {"cifar10", 0.078},     {"ncf", 0.093},
              {"imagenet", 0.067}, {"deepspeech2", 0.079}, {"yolov3", 0.085}};

static double number(const struct rb_csv *csv, int row, const char *column)
{
    double value;
    struct rb_err err;
    assert_ok(rb_csv_double(csv, row, rb_csv_column(csv, column), 0, 1e9, &value, &err), &err);
    return value;
}

static struct rb_throughput_sample *load(const char *model, int *out_n)
{
    char path[512];
    struct rb_csv csv;
    struct rb_err err;
    snprintf(path, sizeof(path), TRACES "%s/placements.csv", model);
    assert_ok(rb_csv_read(&csv, path, &err), &err);
    struct rb_throughput_sample *samples = rb_xcalloc((size_t)csv.n_rows, sizeof(*samples));
    for (int i = 0; i < csv.n_rows; i++) {
        for (const char *digit = csv.cells[i][rb_csv_column(&csv, "placement")]; *digit; digit++) {
            samples[i].nodes++;
            samples[i].gpus += *digit - '0';
        }
        samples[i].local_batch = number(&csv, i, "local_bsz");
        samples[i].step_s = number(&csv, i, "step_time");
        samples[i].sync_s = number(&csv, i, "sync_time");
    }
    *out_n = csv.n_rows;
    rb_csv_finish(&csv);
    return samples;
}

static void every_model_is_fitted_within_ten_percent(void **state)
{
    (void)state;
    if (access(TRACES, R_OK) != 0) {
        print_message("skipped: no measured iterations at %s\n", TRACES);
        skip();
    }
    for (int i = 0; i < N_OF(models); i++) {
        int n;
        struct rb_throughput_sample *samples = load(models[i].name, &n);
        struct rb_throughput t;
        struct rb_err err;
        double error;
        assert_ok(rb_throughput_fit(samples, n, &t, &error, &err), &err);
        print_message("%-12s %5d rows: mean |relative error| %.4f (authors' fit %.3f)\n", models[i].name, n, error,
                      models[i].published_error);
        assert_true(error <= 0.10);
        assert_true(error <= models[i].published_error + 0.002);
        free(samples);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_model_is_fitted_within_ten_percent)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed == 0 && access(TRACES, R_OK) != 0 ? 77 : failed; // 77: meson says "skipped"
}
