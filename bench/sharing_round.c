// One round of a policy that shares a cluster, by the size of the cluster: five jobs on eight GPUs of four-GPU nodes, models
// made up, every job there from the first round on.
//
//     bench/sharing_round POLICY GPUS ROUNDS
//
// Prints the CPU milliseconds of the first round, when no job holds anything, and the mean of the others.
#include "base/arena.h"
#include "engine/sharing/sharing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NODE_GPUS 4

struct model {
    double overhead, network;
};

static double rate(const void *arg, int nodes, int gpus)
{
    const struct model *m = arg;
    return gpus / (1 + m->overhead * (gpus - 1) + (nodes > 1 ? m->network : 0));
}

static double cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static void make_up(struct rb_shared_job *jobs, struct model *models, const int *held, int n_jobs, int n_nodes)
{
    for (int j = 0; j < n_jobs; j++) {
        models[j] = (struct model){0.01 * (j % 7), 0.05 * (j % 3)};
        jobs[j] = (struct rb_shared_job){
            .id = j,
            .age_us = INT64_C(600000000) * (j + 1),
            .attained_gpu_s = j,
            .max_gpus = 64,
            .held = held + (size_t)j * (size_t)n_nodes,
            .rate = rate,
            .left = 1000 + j,
            .arg = &models[j],
            .deadline_us = INT64_MAX,
            .weight = 1,
        };
    }
}

int main(int argc, char **argv)
{
    const struct rb_sharing *policy = argc == 4 ? rb_sharing_find(argv[1]) : NULL;
    const int n_gpus = argc == 4 ? atoi(argv[2]) : 0, n_rounds = argc == 4 ? atoi(argv[3]) : 0;
    if (!policy || policy->needs_oracle || n_gpus < 8 || n_rounds < 1) {
        fprintf(stderr, "usage: sharing_round POLICY GPUS ROUNDS; a policy without an oracle, at least 8 GPUs\n");
        return 2;
    }
    const int n_nodes = n_gpus / NODE_GPUS, n_jobs = n_gpus * 5 / 8;
    const size_t n_cells = (size_t)n_jobs * (size_t)n_nodes;
    int *gpus = rb_xcalloc((size_t)n_nodes, sizeof *gpus), *held = rb_xcalloc(n_cells, sizeof *held);
    int *division = rb_xcalloc(n_cells, sizeof *division);
    struct rb_shared_job *jobs = rb_xcalloc((size_t)n_jobs, sizeof *jobs);
    struct model *models = rb_xcalloc((size_t)n_jobs, sizeof *models);
    for (int n = 0; n < n_nodes; n++)
        gpus[n] = NODE_GPUS;
    make_up(jobs, models, held, n_jobs, n_nodes);
    const struct rb_shared_cluster cluster = {n_nodes, gpus};
    const struct rb_sharing_options options = {
        .seed = 1, .restart_us = 30000000, .round_us = 60000000, .fairness_p = NAN, .avoid_interference = true};
    struct rb_err err;
    void *state;
    if (!policy->create(&options, &state, &err)) {
        fprintf(stderr, "sharing_round: %s\n", err.message);
        return 1;
    }
    double first_ms = 0;
    const double started_ms = cpu_ms();
    for (int round = 0; round < n_rounds; round++) {
        memset(division, 0, n_cells * sizeof *division);
        policy->divide(state, round * options.round_us, &cluster, jobs, n_jobs, division);
        memcpy(held, division, n_cells * sizeof *held);
        first_ms = round == 0 ? cpu_ms() - started_ms : first_ms;
    }
    const double rest_ms = cpu_ms() - started_ms - first_ms;
    printf("%s, %d GPUs, %d jobs: first %.2f ms, then %.2f ms a round\n", policy->name, n_gpus, n_jobs, first_ms,
           n_rounds > 1 ? rest_ms / (n_rounds - 1) : 0);
    policy->destroy(state);
    free(gpus);
    free(held);
    free(division);
    free(jobs);
    free(models);
    return 0;
}
