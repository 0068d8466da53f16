// The plain sampler that one writes first: GSL's generators and distributions, one replicate after the other, one trial
// after the other. Same model and same output as bench/sampler_rate.c, nothing of this project in it.
//   gsl_sampler chains|dynamic polar|ziggurat REPLICATES < description
// polar: mt19937, gsl_ran_lognormal and gsl_ran_gaussian; ziggurat: taus2 and gsl_ran_gaussian_ziggurat, the fastest
// that GSL has.
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_STAGES 64

struct law {
    bool is_normal; // truncated at 0, else lognormal
    double a, b;    // mean and standard deviation, of the logarithm if lognormal
};

struct stage {
    int trials, gpus, nodes, n_slots, nodes_per_slot;
    double mean_s;
};

struct model {
    struct law factor, queue, init;
    int gpus_per_node;
    double usd_per_hour;
    struct stage stages[MAX_STAGES];
    int n_stages, max_nodes, max_slots;
    long long n_trials;
    bool is_dynamic, is_ziggurat;
};

struct run {
    const struct model *m;
    gsl_rng *rng;
    double *running_s, *ready_s; // of each node owned; when it was billed first, and ready, since the job's start
    double *slots_s, *sorted_s;
};

// ---- reading

static struct law make_law(const char *kind, double mean, double cv)
{
    if (strcmp(kind, "normal") == 0)
        return (struct law){.is_normal = true, .a = mean, .b = mean * cv};
    if (strcmp(kind, "lognormal") != 0) {
        fprintf(stderr, "gsl_sampler: %s: expected lognormal or normal\n", kind);
        exit(2);
    }
    const double sigma2 = log1p(cv * cv);
    return (struct law){.a = log(mean) - sigma2 / 2, .b = sqrt(sigma2)};
}

static void add_stage(struct model *m, struct stage stage)
{
    const int per_node = m->gpus_per_node / stage.gpus;
    stage.nodes_per_slot = (stage.gpus + m->gpus_per_node - 1) / m->gpus_per_node;
    stage.n_slots = per_node > 0 ? stage.nodes * per_node : stage.nodes / stage.nodes_per_slot;
    if (stage.n_slots > stage.trials)
        stage.n_slots = stage.trials;
    if (stage.nodes > m->max_nodes)
        m->max_nodes = stage.nodes;
    if (stage.n_slots > m->max_slots)
        m->max_slots = stage.n_slots;
    m->n_trials += stage.trials;
    m->stages[m->n_stages++] = stage;
}

static void read_model(struct model *m)
{
    char word[32], kind[32];
    double x, y;
    while (scanf("%31s", word) == 1) {
        struct stage stage;
        if (strcmp(word, "node") == 0 && scanf("%d %lf", &m->gpus_per_node, &m->usd_per_hour) == 2)
            continue;
        if (strcmp(word, "stage") == 0 && m->n_stages < MAX_STAGES &&
            scanf("%d %lf %d %d", &stage.trials, &stage.mean_s, &stage.gpus, &stage.nodes) == 4) {
            add_stage(m, stage);
            continue;
        }
        if (scanf("%31s %lf %lf", kind, &x, &y) != 3) {
            fprintf(stderr, "gsl_sampler: \"%s\" is not a description\n", word);
            exit(2);
        }
        *(strcmp(word, "factor") == 0  ? &m->factor
          : strcmp(word, "queue") == 0 ? &m->queue
                                       : &m->init) = make_law(kind, x, y);
    }
}

// ---- one replicate

static double draw(const struct run *r, const struct law *law)
{
    const bool ziggurat = r->m->is_ziggurat;
    if (!law->is_normal)
        return ziggurat ? exp(law->a + gsl_ran_gaussian_ziggurat(r->rng, law->b))
                        : gsl_ran_lognormal(r->rng, law->a, law->b);
    double x;
    do
        x = law->a + (ziggurat ? gsl_ran_gaussian_ziggurat(r->rng, law->b) : gsl_ran_gaussian(r->rng, law->b));
    while (x < 0);
    return x;
}

static double bill(const struct model *m, double seconds)
{
    const double whole = ceil(seconds);
    return seconds < 0 ? 0 : m->usd_per_hour / 3600 * (whole > 60 ? whole : 60);
}

static double end_of_chains(struct run *r, const struct stage *stage, double start_s)
{
    double end_s = 0;
    for (int slot = 0; slot < stage->n_slots; slot++) {
        double at_s = start_s;
        for (int k = slot; k < stage->trials; k += stage->n_slots)
            at_s += stage->mean_s * draw(r, &r->m->factor);
        if (at_s > end_s)
            end_s = at_s;
    }
    return end_s;
}

static int compare(const void *pa, const void *pb)
{
    const double a = *(const double *)pa, b = *(const double *)pb;
    return (a > b) - (a < b);
}

static void sift_down(double *heap, int n, int at)
{
    const double moved = heap[at];
    for (int child = 2 * at + 1; child < n; child = 2 * at + 1) {
        if (child + 1 < n && heap[child + 1] < heap[child])
            child++;
        if (heap[child] >= moved)
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
}

// The first free slot takes the next trial. Sorted opening times are a heap already.
static double end_of_heap(struct run *r, const struct stage *stage, double start_s)
{
    const int per_node = r->m->gpus_per_node >= stage->gpus ? r->m->gpus_per_node / stage->gpus : 1;
    double end_s = 0;
    for (int i = 0; i < stage->nodes; i++)
        r->sorted_s[i] = r->ready_s[i] > start_s ? r->ready_s[i] : start_s;
    qsort(r->sorted_s, (size_t)stage->nodes, sizeof *r->sorted_s, compare);
    for (int slot = 0; slot < stage->n_slots; slot++)
        r->slots_s[slot] = stage->nodes_per_slot == 1 ? r->sorted_s[slot / per_node]
                                                      : r->sorted_s[(slot + 1) * stage->nodes_per_slot - 1];
    for (int k = 0; k < stage->trials; k++) {
        r->slots_s[0] += stage->mean_s * draw(r, &r->m->factor);
        if (r->slots_s[0] > end_s)
            end_s = r->slots_s[0];
        sift_down(r->slots_s, stage->n_slots, 0);
    }
    return end_s;
}

static void run_replicate(struct run *r, double *out_time_s, double *out_cost_usd)
{
    const struct model *m = r->m;
    double now_s = 0, cost_usd = 0;
    int owned = 0;
    for (int s = 0; s < m->n_stages; s++) {
        const struct stage *stage = &m->stages[s];
        double start_s = now_s;
        for (; owned > stage->nodes; owned--)
            cost_usd += bill(m, now_s - r->running_s[owned - 1]);
        for (; owned < stage->nodes; owned++) {
            r->running_s[owned] = now_s + draw(r, &m->queue);
            r->ready_s[owned] = r->running_s[owned] + draw(r, &m->init);
            if (r->ready_s[owned] > start_s)
                start_s = r->ready_s[owned];
        }
        now_s = m->is_dynamic ? end_of_heap(r, stage, now_s) : end_of_chains(r, stage, start_s);
    }
    for (; owned > 0; owned--)
        cost_usd += bill(m, now_s - r->running_s[owned - 1]);
    *out_time_s = now_s;
    *out_cost_usd = cost_usd;
}

// ---- all of them

static double seconds_on(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *allocate(int n)
{
    void *memory = calloc((size_t)n, sizeof(double));
    if (!memory)
        abort();
    return memory;
}

int main(int argc, char **argv)
{
    struct model m = {0};
    if (argc < 4) {
        fprintf(stderr, "usage: gsl_sampler chains|dynamic polar|ziggurat REPLICATES < description\n");
        return 2;
    }
    const int n = atoi(argv[3]);
    m.is_dynamic = strcmp(argv[1], "dynamic") == 0;
    m.is_ziggurat = strcmp(argv[2], "ziggurat") == 0;
    read_model(&m);
    struct run r = {.m = &m, .rng = gsl_rng_alloc(m.is_ziggurat ? gsl_rng_taus2 : gsl_rng_mt19937)};
    r.running_s = allocate(m.max_nodes);
    r.ready_s = allocate(m.max_nodes);
    r.sorted_s = allocate(m.max_nodes);
    r.slots_s = allocate(m.max_slots);
    double time_sum = 0, cost_sum = 0, *times_s = allocate(n);
    const double wall_s = seconds_on(CLOCK_MONOTONIC), cpu_s = seconds_on(CLOCK_PROCESS_CPUTIME_ID);
    for (int i = 0; i < n; i++) {
        double cost_usd;
        run_replicate(&r, &times_s[i], &cost_usd);
        time_sum += times_s[i];
        cost_sum += cost_usd;
    }
    printf("replicates %d trials %lld cpu_s %.9g wall_s %.9g", n, m.n_trials,
           seconds_on(CLOCK_PROCESS_CPUTIME_ID) - cpu_s, seconds_on(CLOCK_MONOTONIC) - wall_s);
    qsort(times_s, (size_t)n, sizeof *times_s, compare);
    printf(" time_mean %.9g time_p95 %.9g cost_mean %.9g\n", time_sum / n, times_s[(int)(0.95 * n)], cost_sum / n);
    gsl_rng_free(r.rng);
    free(r.running_s);
    free(r.ready_s);
    free(r.sorted_s);
    free(r.slots_s);
    free(times_s);
    return 0;
}
