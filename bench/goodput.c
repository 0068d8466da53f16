// Goodput models on the measured iterations and reference fits of six models (Pollux, OSDI'21): how well and how fast
// they are fitted, and how fast the best batch of an allocation is found. Usage: goodput POLLUX_DATA
#include "base/document/csv.h"
#include "base/document/doc.h"
#include "profiles/fit/goodput.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_SAMPLES = 4096, REPEATS = 20 };

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fail(const struct rb_err *err)
{
    fprintf(stderr, "goodput: %s: %s\n", err->file, err->message);
    exit(1);
}

static double cell(const struct rb_csv *csv, int row, const char *column)
{
    double value;
    struct rb_err err;
    if (!rb_csv_double(csv, row, rb_csv_column(csv, column), 0, 1e9, &value, &err))
        fail(&err);
    return value;
}

static int read_placements(const char *dir, const char *app, struct rb_throughput_sample out[MAX_SAMPLES])
{
    char path[4096];
    struct rb_csv csv;
    struct rb_err err;
    snprintf(path, sizeof path, "%s/traces/%s/placements.csv", dir, app);
    if (!rb_csv_read(&csv, path, &err))
        fail(&err);
    const int n = csv.n_rows < MAX_SAMPLES ? csv.n_rows : MAX_SAMPLES;
    for (int i = 0; i < n; i++) {
        out[i] = (struct rb_throughput_sample){.local_batch = cell(&csv, i, "local_bsz"),
                                               .step_s = cell(&csv, i, "step_time"),
                                               .sync_s = cell(&csv, i, "sync_time")};
        for (const char *digit = csv.cells[i][rb_csv_column(&csv, "placement")]; *digit; digit++) {
            out[i].nodes++;
            out[i].gpus += *digit - '0';
        }
    }
    rb_csv_finish(&csv);
    return n;
}

static double fit(const struct rb_throughput_sample *samples, int n, struct rb_throughput *out, double *out_error)
{
    struct rb_err err;
    const double before = cpu_s();
    for (int i = 0; i < REPEATS; i++) {
        if (!rb_throughput_fit(samples, n, out, out_error, &err))
            fail(&err);
    }
    return (cpu_s() - before) / REPEATS;
}

static double number(const struct rb_node *app, const char *key)
{
    return rb_node_member(app, key)->number;
}

// As a run in its first minutes: a few placements each. Mean CPU time, and how many there were.
static double small_fits(const struct rb_node *app, int *out_n)
{
    double sum = 0, error;
    struct rb_throughput t;
    *out_n = 0;
    for (const struct rb_node *f = rb_node_member(app, "fits")->first; f; f = f->next) {
        static const char *const columns[] = {"num_nodes", "num_replicas", "local_bsz", "step_time", "sync_time"};
        struct rb_throughput_sample s[64] = {0};
        int n = 0;
        if (rb_node_member(f, "set"))
            continue;
        for (int c = 0; c < 5; c++) {
            n = 0;
            for (const struct rb_node *v = rb_node_member(f, columns[c])->first; v && n < 64; v = v->next, n++) {
                s[n].nodes = c == 0 ? (int)v->number : s[n].nodes;
                s[n].gpus = c == 1 ? (int)v->number : s[n].gpus;
                s[n].local_batch = c == 2 ? v->number : s[n].local_batch;
                s[n].step_s = c == 3 ? v->number : s[n].step_s;
                s[n].sync_s = c == 4 ? v->number : s[n].sync_s;
            }
        }
        sum += fit(s, n, &t, &error);
        ++*out_n;
    }
    return sum / *out_n;
}

// Microseconds a question, over every number of GPUs up to 64 on one node and on several.
static double ask(const struct rb_node *app, const struct rb_throughput *t)
{
    const struct rb_node *grad = rb_node_member(
        rb_node_member(app, "goodput_optimize_nodes_replicas_goodput_atomic_accum_speedup"), "grad_params");
    struct rb_goodput g = {.throughput = *t,
                           .noise = {grad->first->number, grad->first->next->number},
                           .limits = {(int)number(app, "init_batch_size"), (int)number(app, "max_batch_size"),
                                      (int)number(app, "min_local_bsz"), (int)number(app, "max_local_bsz")}};
    struct rb_goodput_batches *batches = rb_goodput_batches_create(&g.limits, 64);
    struct rb_batch best;
    double sum = 0;
    int n = 0;
    g.batches = batches;
    const double before = cpu_s();
    for (int i = 0; i < 200; i++) {
        for (int gpus = 1; gpus <= 64; gpus++, n += 2)
            sum += rb_goodput_best(&g, 1, gpus, &best) + rb_goodput_best(&g, gpus > 1 ? 2 : 1, gpus, &best);
    }
    const double us = 1e6 * (cpu_s() - before) / n;
    rb_goodput_batches_destroy(batches);
    return sum > 0 ? us : 0;
}

int main(int argc, char **argv)
{
    static struct rb_throughput_sample samples[MAX_SAMPLES];
    struct rb_doc doc;
    struct rb_err err;
    char path[4096];
    if (argc != 2) {
        fprintf(stderr, "usage: goodput POLLUX_DATA\n");
        return 2;
    }
    snprintf(path, sizeof path, "%s/reference_vectors.json", argv[1]);
    if (!rb_doc_read(&doc, path, &err))
        fail(&err);
    printf("| model | iterations | mean error | fit of all, ms | small fits | one of them, ms | best batch, us |\n");
    printf("|---|---|---|---|---|---|---|\n");
    for (const struct rb_node *app = rb_node_member(doc.root, "apps")->first; app; app = app->next) {
        struct rb_throughput t;
        double error;
        int n_small;
        const int n = read_placements(argv[1], app->key, samples);
        const double all_s = fit(samples, n, &t, &error), small_s = small_fits(app, &n_small);
        printf("| %s | %d | %.1f %% | %.1f | %d | %.2f | %.2f |\n", app->key, n, 100 * error, 1e3 * all_s, n_small,
               1e3 * small_s, ask(app, &t));
    }
    rb_doc_finish(&doc);
    return 0;
}
