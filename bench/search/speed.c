// The processor time of a suggestion, refits of models included, by the number of trials seen: 8 parameters, every
// third trial promoted, 4 trials running. Usage: search_speed [TRIALS=1000 [SAMPLER]]
#include "base/order.h"
#include "profiles/job/job.h"
#include "samplers/search.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define N_RUNNING 4

static const struct rb_value kinds[] = {{.kind = RB_VALUE_STRING, .string = "sgd"},
                                        {.kind = RB_VALUE_STRING, .string = "adam"},
                                        {.kind = RB_VALUE_STRING, .string = "lion"}};
static const struct rb_param params[] = {
    {.name = "lr", .kind = RB_PARAM_LOG_UNIFORM, .min = 1e-5, .max = 1},
    {.name = "decay", .kind = RB_PARAM_LOG_UNIFORM, .min = 1e-6, .max = 1},
    {.name = "dropout", .kind = RB_PARAM_UNIFORM, .min = 0, .max = 0.5},
    {.name = "momentum", .kind = RB_PARAM_UNIFORM, .min = 0, .max = 1},
    {.name = "layers", .kind = RB_PARAM_INT_UNIFORM, .min = 1, .max = 12},
    {.name = "width", .kind = RB_PARAM_INT_UNIFORM, .min = 16, .max = 512},
    {.name = "optimiser", .kind = RB_PARAM_CHOICE, .values = kinds, .n_values = 3},
    {.name = "warmup", .kind = RB_PARAM_UNIFORM, .min = 0, .max = 1},
};

static double score(const struct rb_coordinates *c, const struct rb_value *values, int64_t resource)
{
    double u[8], sum = 0;
    rb_coordinates_of(c, values, u);
    for (int i = 0; i < 8; i++)
        sum += (u[i] - 0.1 * i) * (u[i] - 0.1 * i);
    return -sum - 0.5 / sqrt((double)resource);
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void finish_trial(struct rb_search *s, const struct rb_value *values, int trial)
{
    const struct rb_coordinates *c = rb_search_coordinates(s);
    int64_t resource = 1;
    for (int k = trial; resource <= 27; k /= 3, resource *= 3) {
        rb_search_reported(s, trial, resource, score(c, values, resource), 1);
        if (k % 3 != 0)
            break;
    }
    rb_search_changed(s, trial, RB_SEEN_PAUSED, 0);
}

static void print_times(double *times, int n, const char *what)
{
    qsort(times, (size_t)n, sizeof *times, rb_order_doubles);
    printf(" %s %.3f | %.3f | %.3f |", what, 1e3 * times[n / 2], 1e3 * times[n * 99 / 100], 1e3 * times[n - 1]);
}

static bool measure(const char *name, int n)
{
    struct rb_job job = {
        .name = "speed",
        .seed = 1,
        .space = {.params = params, .n_params = 8},
        .scheduler = {.type = "asha",
                      .sampler = {.type = name},
                      .num_trials = n,
                      .min_resource = 1,
                      .max_resource = 27,
                      .eta = 3,
                      .brackets = 1},
    };
    struct rb_search *s;
    struct rb_arena arena, kept;
    struct rb_err err;
    if (!rb_search_create(&job, &s, &err)) {
        rb_err_print(&err, "search_speed", false);
        return false;
    }
    rb_arena_init(&arena);
    rb_arena_init(&kept);
    double *times = rb_arena_array(&kept, (size_t)n, sizeof *times);
    struct rb_value(*values)[8] = rb_arena_array(&kept, (size_t)n, sizeof *values);
    for (int i = 0; i < n; i++, rb_arena_reset(&arena)) {
        const struct rb_ask ask = {.trial = i, .parent = -1, .resource = 1, .budget = 2 * n, .spent = i};
        struct rb_suggestion suggestion;
        const double from = seconds();
        rb_search_suggest(s, &ask, &arena, &suggestion);
        times[i] = seconds() - from;
        for (int j = 0; j < 8; j++)
            values[i][j] = suggestion.values[j];
        rb_search_began(s, i, values[i], 1);
        if (i >= N_RUNNING)
            finish_trial(s, values[i - N_RUNNING], i - N_RUNNING);
    }
    printf("| %s |", name);
    print_times(times + n - n / 4, n / 4, "");
    print_times(times, n, "");
    printf("\n");
    rb_arena_finish(&arena);
    rb_arena_finish(&kept);
    rb_search_destroy(s);
    return true;
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 1000;
    printf("| sampler | ms, last quarter of %d trials: median | p99 | most | all trials: median | p99 | most |\n", n);
    printf("|---|---|---|---|---|---|---|\n");
    for (int i = 0; rb_samplers[i]; i++)
        if ((argc < 3 || strcmp(argv[2], rb_samplers[i]->name) == 0) && !measure(rb_samplers[i]->name, n))
            return 1;
    return 0;
}
