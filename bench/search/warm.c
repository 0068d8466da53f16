// Does a search that starts from an earlier one need less? ASHA with tpe on each table: a first run, then a second one, cold
// and warm, until it has the first's best regret; and a run that starts from a search of another table of the family.
// Usage: search_warm FOLDER FAMILY [seeds=10 [first=1 [sampler=tpe]]]
#include "bench/search/play.h"

#include "base/order.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TABLES 64
#define FIRST      1000.0 // units of the first run
#define MOST       2000.0 // of the second: without success it counts as these

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int read_tables(const char *folder, const char *family, struct rb_arena *arena, struct rb_blackbox *out)
{
    char *names[MAX_TABLES];
    int n = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));)
        if (n < MAX_TABLES && strncmp(e->d_name, family, strlen(family)) == 0 && strstr(e->d_name, ".csv.gz"))
            names[n++] = rb_arena_printf(arena, "%s/%s", folder, e->d_name);
    if (d)
        closedir(d);
    qsort(names, (size_t)n, sizeof names[0], compare_names);
    for (int i = 0; i < n; i++) {
        struct rb_err err;
        if (!rb_blackbox_read(names[i], arena, &out[i], &err)) {
            rb_err_print(&err, "search_warm", false);
            exit(1);
        }
    }
    return n;
}

static void search(const char *sampler, const struct rb_blackbox *t, uint64_t seed, double units, const struct outcome *from,
                   const bool *taken, struct outcome *out)
{
    struct game g = {.scheduler = "asha",
                     .sampler = {.type = sampler},
                     .workers = 1,
                     .num_trials = 1000,
                     .budgets = {units / 4, units / 2, units},
                     .taken = taken};
    struct rb_err err;
    if (from)
        g.earlier = (struct rb_earlier){.results = from->results, .n = from->n_results};
    if (!play(&g, t, seed, out, &err)) {
        rb_err_print(&err, "search_warm", false);
        exit(1);
    }
}

// Units until the regret is reached.
static double units_to(const struct outcome *o, double regret)
{
    for (int i = 0; i < o->n_steps; i++)
        if (o->steps[i].regret <= regret)
            return o->steps[i].spent;
    return MOST;
}

struct sums {
    double *ratios;
    int n;
    double regret[N_BUDGETS], base[N_BUDGETS];
};

static void add(struct sums *s, double ratio, const struct outcome *o, const struct outcome *base)
{
    s->ratios = rb_grow(s->ratios, s->n, sizeof *s->ratios);
    s->ratios[s->n++] = ratio;
    for (int b = 0; b < N_BUDGETS; b++) {
        s->regret[b] += o->regret[b];
        s->base[b] += base->regret[b];
    }
}

static void print(const char *what, struct sums *s)
{
    qsort(s->ratios, (size_t)s->n, sizeof *s->ratios, rb_order_doubles);
    printf("| %s | %.2f | %.2f to %.2f |", what, s->ratios[s->n / 2], s->ratios[s->n / 4], s->ratios[3 * s->n / 4]);
    for (int b = 0; b < N_BUDGETS; b++)
        printf(" %.3f (%.3f) |", s->regret[b] / s->n, s->base[b] / s->n);
    printf("\n");
    free(s->ratios);
}

int main(int argc, char **argv)
{
    struct rb_arena arena;
    struct rb_blackbox tables[MAX_TABLES];
    struct sums cold = {0}, same = {0}, others = {0}, foreign = {0};
    const int n_seeds = argc > 3 ? atoi(argv[3]) : 10, first_seed = argc > 4 ? atoi(argv[4]) : 1;
    const char *sampler = argc > 5 ? argv[5] : "tpe";
    if (argc < 3) {
        fprintf(stderr, "usage: search_warm FOLDER FAMILY [SEEDS [FIRST [SAMPLER]]]\n");
        return 2;
    }
    rb_arena_init(&arena);
    const int n = read_tables(argv[1], argv[2], &arena, tables);
    for (int t = 0; t < n; t++)
        for (int i = 0; i < n_seeds; i++) {
            const uint64_t seed = (uint64_t)(first_seed + i), second = seed + 1000;
            struct outcome first, plain, warm, plain_apart, apart, far, far_first;
            search(sampler, &tables[t], seed, FIRST, NULL, NULL, &first);
            search(sampler, &tables[(t + 1) % n], seed, FIRST, NULL, NULL, &far_first);
            search(sampler, &tables[t], second, MOST, NULL, NULL, &plain);
            search(sampler, &tables[t], second, MOST, &first, NULL, &warm);
            search(sampler, &tables[t], second, MOST, NULL, first.used, &plain_apart);
            search(sampler, &tables[t], second, MOST, &first, first.used, &apart);
            search(sampler, &tables[t], second, MOST, &far_first, NULL, &far);
            const double goal = first.regret[N_BUDGETS - 1], took = units_to(&first, goal), target = plain.regret[1];
            add(&cold, units_to(&plain, goal) / took, &plain, &plain);
            add(&same, units_to(&warm, goal) / took, &warm, &plain);
            add(&others, units_to(&apart, plain_apart.regret[1]) / units_to(&plain_apart, plain_apart.regret[1]), &apart,
                &plain_apart);
            add(&foreign, units_to(&far, target) / units_to(&plain, target), &far, &plain);
            struct outcome *all[] = {&first, &plain, &warm, &plain_apart, &apart, &far, &far_first};
            for (int k = 0; k < 7; k++)
                outcome_finish(all[k]);
        }
    printf("%s: %d tables of %s, seeds %d to %d\n\n| second run | units, as a share of the reference's: median | quartiles "
           "| regret after 500 (cold) | 1000 | 2000 |\n|---|---|---|---|---|---|\n",
           sampler, n, argv[2], first_seed, first_seed + n_seeds - 1);
    print("cold, to the first's best of 1000 units", &cold);
    print("warm, to the first's best", &same);
    print("warm, with none of the first's rows, to what a cold run without them had after 1000", &others);
    print("from another table's search, to what the cold run had after 1000", &foreign);
    for (int t = 0; t < n; t++)
        rb_blackbox_finish(&tables[t]);
    rb_arena_finish(&arena);
    return 0;
}
