// How fast simulator/sampler/sampler.h is on a workload, and what it says of it. One line of `name value` pairs, which
// bench/sampling reads:
//   sampler_rate FOLDER dynamic|chains REPLICATES [scalar|avx2] [THREADS]
//   sampler_rate FOLDER describe
#include "bench/workload.h"
#include "simulator/model/evaluate.h"
#include "simulator/sampler/sampler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double seconds_on(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare(const void *pa, const void *pb)
{
    const double a = *(const double *)pa, b = *(const double *)pb;
    return (a > b) - (a < b);
}

static void print_statistics(const char *name, double *values, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += values[i];
    qsort(values, (size_t)n, sizeof *values, compare);
    printf(" %s_mean %.17g %s_p50 %.17g %s_p95 %.17g", name, sum / n, name, values[n / 2], name,
           values[(int)(0.95 * n)]);
}

static int choice(const char *text, const char *const *names, int n)
{
    for (int i = 0; i < n; i++) {
        if (strcmp(text, names[i]) == 0)
            return i;
    }
    fprintf(stderr, "sampler_rate: %s: expected %s, ...\n", text, names[0]);
    exit(2);
}

// The study's model for chains, the project's for the dynamic schedule: see bench/README.md.
static struct rb_sampler_options options_from(int argc, char **argv)
{
    static const char *const waves[] = {"dynamic", "chains"}, *const isas[] = {"auto", "scalar", "avx2"};
    struct rb_sampler_options opt = rb_sampler_defaults();
    opt.waves = (enum rb_waves)choice(argv[2], waves, 2);
    opt.wait_for_all = opt.waves != RB_WAVES_DYNAMIC;
    if (argc > 4)
        opt.isa = (enum rb_sampler_isa)choice(argv[4], isas, 3);
    if (argc > 5)
        opt.threads = atoi(argv[5]);
    return opt;
}

// Most that was resident since the program began; getrusage also counts what the caller's process had before exec.
static long peak_rss_kb(void)
{
    char line[256];
    long kb = -1;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && kb < 0 && fgets(line, sizeof line, status)) {
        if (sscanf(line, "VmHWM: %ld kB", &kb) != 1)
            kb = -1;
    }
    if (status)
        fclose(status);
    return kb;
}

#define WARM_UP 4096 // replicates before the clock starts, for caches and tables

// Written before the clock starts: the first touch of a page is the kernel's work, and callers use their memory again.
static double *results(int n)
{
    double *values = rb_xcalloc((size_t)n, sizeof *values);
    for (int i = 0; i < n; i++)
        values[i] = -1;
    return values;
}

static void measure(const struct workload *w, const struct rb_sampler *sampler, int n)
{
    double *time_s = results(n), *cost_usd = results(n);
    rb_sampler_run(sampler, 0, n < WARM_UP ? n : WARM_UP, time_s, cost_usd);
    const double wall_s = seconds_on(CLOCK_MONOTONIC), cpu_s = seconds_on(CLOCK_PROCESS_CPUTIME_ID);
    rb_sampler_run(sampler, 0, n, time_s, cost_usd);
    printf("replicates %d trials %lld cpu_s %.9g wall_s %.9g", n, (long long)w->n_trials,
           seconds_on(CLOCK_PROCESS_CPUTIME_ID) - cpu_s, seconds_on(CLOCK_MONOTONIC) - wall_s);
    print_statistics("time", time_s, n);
    print_statistics("cost", cost_usd, n);
    printf(" rss_kb %ld\n", peak_rss_kb());
    free(time_s);
    free(cost_usd);
}

int main(int argc, char **argv)
{
    struct workload w;
    struct rb_err err;
    if (argc < 3) {
        fprintf(stderr,
                "usage: sampler_rate FOLDER describe | FOLDER dynamic|chains REPLICATES [ISA] [THREADS]\n");
        return 2;
    }
    if (!workload_read(&w, argv[1], 1, &err)) {
        fprintf(stderr, "sampler_rate: %s\n", err.message);
        return 2;
    }
    if (strcmp(argv[2], "describe") == 0)
        return workload_describe(&w, &err) ? 0 : 2;
    const struct rb_sampler_options opt = options_from(argc, argv);
    struct rb_sampler *sampler = rb_sampler_create(&w.scenario, w.stages, w.n_stages, &opt, &err);
    if (!sampler) {
        fprintf(stderr, "sampler_rate: %s\n", err.message);
        return 2;
    }
    measure(&w, sampler, argc > 3 ? atoi(argv[3]) : 100000);
    rb_sampler_destroy(sampler);
    workload_finish(&w);
    return 0;
}
