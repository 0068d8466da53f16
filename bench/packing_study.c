// Packings of random groups: Fluid as published and as released, one GPU each, and ours; their lengths over Fluid's lower bound,
// and whether what is promised holds. Prints tables for bench/results/packing.md; ends with 1 where a promise of ours is broken.
#include "packing_check.h"
#include "packing_groups.h"

#include "base/arena.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum method { FIFO, RELEASED, FLUID, OURS, N_METHODS };
static const char *const method_names[N_METHODS] = {"one GPU each", "Fluid, released", "Fluid, published", "ours"};

struct study {
    int n;
    struct rb_lister lister;   // reused by all groups
    double *ratios[N_METHODS]; // makespan over the simple bound, [n]
    double *reached, *proved;  // of ours, over the best bound proved
    int *curves;
    int n_optimal, n_small, n_small_optimal;
    int n_broken;                    // promises of ours that did not hold
    int n_fluid_above;               // StaticFluid at or above Theorem 2's bound
    int n_equal_area, n_above_twice; // areas equal at all widths: StaticFluid with c = 4, d = 8 above twice the optimum
    int n_longer;                    // ours longer than one of the others
    double worst_over_fluid;
};

static double clock_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int64_t list_method(struct rb_lister *l, const struct rb_study_group *s, enum method method)
{
    int widths[RB_STUDY_MOST_TRIALS], order[RB_STUDY_MOST_TRIALS];
    const struct rb_pack_group *g = &s->group;
    if (method == FIFO)
        rb_pack_first_in_first_out(g, widths, order);
    else if (method == RELEASED)
        rb_fluid_released(g, s->unit_us, widths, order);
    else
        rb_fluid_static(g, s->caps, rb_pack_n_gpus(g), widths, order);
    return rb_pack_list(l, g, widths, order, RB_LIST_GREEDY, NULL);
}

// Theorem 1 is about areas that do not depend on the width, and takes c as given. Twice ours is twice the optimum at least.
static void judge_equal_areas(struct study *study, const struct rb_study_group *drawn)
{
    struct rb_study_group s = *drawn;
    struct rb_pack_answer ours;
    const struct rb_pack_options options = rb_packing_study_options;
    int widths[RB_STUDY_MOST_TRIALS], order[RB_STUDY_MOST_TRIALS];
    s.group.n_widths = 0;
    for (int p = 4; p > 1; p--)
        s.widths[s.group.n_widths++] = (struct rb_width){1, p};
    for (int gpus = 1; gpus <= 8; gpus++)
        s.widths[s.group.n_widths++] = (struct rb_width){gpus, 1};
    for (int i = 0; i < s.group.n_trials * s.group.n_widths; i++) {
        const struct rb_width *w = &s.widths[i % s.group.n_widths];
        s.height_us[i] = s.unit_us[i / s.group.n_widths] * 840 * w->sharers / w->gpus;
    }
    s.group.widths = s.widths;
    s.group.height_us = s.height_us;
    rb_fluid_static(&s.group, (struct rb_fluid_caps){.most_sharers = 4, .most_gpus = 8}, rb_pack_n_gpus(&s.group),
                    widths, order);
    rb_pack(&s.group, &options, &ours);
    study->n_equal_area++;
    study->n_above_twice +=
        rb_pack_list(&study->lister, &s.group, widths, order, RB_LIST_GREEDY, NULL) > 2 * ours.packing.makespan_us;
    rb_pack_answer_finish(&ours);
}

static void judge(struct study *study, const struct rb_study_group *s, const struct rb_pack_answer *ours,
                  const int64_t *makespans_us)
{
    struct rb_err err;
    const bool sound = rb_packing_check(&s->group, &ours->packing, &err);
    const int64_t makespan_us = ours->packing.makespan_us;
    if (!sound || makespan_us > ours->certified_us || makespan_us < ours->bound_us ||
        ours->bound_us < rb_packing_simple_bound_us(&s->group)) {
        fprintf(stderr, "a promise is broken: %s\n", sound ? "bounds" : err.message);
        study->n_broken++;
    }
    for (int m = 0; m < OURS; m++)
        study->n_longer += makespan_us > makespans_us[m];
    // OPT is at most ours: above the bound computed with ours is above Theorem 2's.
    if (s->curve != RB_CURVE_NO_FREE_LUNCH)
        study->n_fluid_above += (double)makespans_us[FLUID] >=
                                rb_fluid_published_bound_us(&s->group, (double)makespan_us, s->alpha, s->beta);
    study->n_optimal += rb_packing_is_optimal(ours);
    study->n_small += s->group.n_trials <= 8;
    study->n_small_optimal += s->group.n_trials <= 8 && rb_packing_is_optimal(ours);
}

static void pack_one(struct study *study, uint64_t seed, int i, int most_trials)
{
    struct rb_study_group s;
    struct rb_pack_answer ours;
    int64_t makespans_us[N_METHODS];
    const struct rb_pack_options options = rb_packing_study_options;
    rb_study_group_draw(seed, (uint32_t)i, most_trials, &s);
    rb_pack(&s.group, &options, &ours);
    for (int m = 0; m < OURS; m++)
        makespans_us[m] = list_method(&study->lister, &s, (enum method)m);
    makespans_us[OURS] = ours.packing.makespan_us;
    for (int m = 0; m < N_METHODS; m++)
        study->ratios[m][i] = (double)makespans_us[m] / (double)rb_packing_simple_bound_us(&s.group);
    study->reached[i] = rb_packing_reached_ratio(&ours);
    study->proved[i] = rb_packing_proved_ratio(&ours);
    study->curves[i] = s.curve;
    judge(study, &s, &ours, makespans_us);
    if (i % 10 == 0)
        judge_equal_areas(study, &s);
    rb_pack_answer_finish(&ours);
}

// ---- tables

static int ascending(const void *pa, const void *pb)
{
    const double *a = pa, *b = pb;
    return (*a > *b) - (*a < *b);
}

// Of those with this curve; -1: of all.
static void print_row(const struct study *study, const char *name, const double *values, int curve)
{
    RB_AUTO(rb_auto_free) double *kept = rb_xcalloc((size_t)study->n, sizeof *kept);
    double sum = 0;
    int n = 0;
    for (int i = 0; i < study->n; i++) {
        if (curve >= 0 && study->curves[i] != curve)
            continue;
        sum += kept[n++] = values[i];
    }
    if (n == 0)
        return;
    qsort(kept, (size_t)n, sizeof *kept, ascending);
    printf("| %s | %s | %d | %.3f | %.3f | %.3f | %.3f |\n",
           curve < 0 ? "all" : rb_study_curve_name((enum rb_study_curve)curve), name, n, sum / n, kept[n / 2],
           kept[(n - 1) * 99 / 100], kept[n - 1]);
}

static void print_study(const struct study *study, double took_s)
{
    printf("| curves | packing | groups | mean | median | p99 | max |\n|---|---|---|---|---|---|---|\n");
    for (int curve = -1; curve < RB_N_CURVES; curve++) {
        for (int m = 0; m < N_METHODS; m++)
            print_row(study, method_names[m], study->ratios[m], curve);
    }
    print_row(study, "ours over the best bound proved", study->reached, -1);
    print_row(study, "what was proved before packing, over the same", study->proved, -1);
    printf("\nProved shortest: %d of %d; of up to 8 trials %d of %d. Ours longer than another: %d. Broken promises of "
           "ours: %d. "
           "Fluid at or above the bound of its Theorem 2: %d. Areas equal at all widths, c = 4, d = 8: above twice the "
           "optimum (Theorem 1) in %d of %d groups. %.1f s.\n",
           study->n_optimal, study->n, study->n_small_optimal, study->n_small, study->n_longer, study->n_broken,
           study->n_fluid_above, study->n_above_twice, study->n_equal_area, took_s);
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 10000, most_trials = argc > 2 ? atoi(argv[2]) : RB_STUDY_MOST_TRIALS;
    const uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    if (n < 1 || most_trials < 1 || most_trials > RB_STUDY_MOST_TRIALS) {
        fprintf(stderr, "usage: packing_study [GROUPS [MOST_TRIALS [SEED]]], at most %d trials\n",
                RB_STUDY_MOST_TRIALS);
        return 2;
    }
    struct study study = {.n = n};
    const double start_s = clock_s();
    for (int m = 0; m < N_METHODS; m++)
        study.ratios[m] = rb_xcalloc((size_t)n, sizeof(double));
    study.reached = rb_xcalloc((size_t)n, sizeof(double));
    study.proved = rb_xcalloc((size_t)n, sizeof(double));
    study.curves = rb_xcalloc((size_t)n, sizeof(int));
    for (int i = 0; i < n; i++)
        pack_one(&study, seed, i, most_trials);
    print_study(&study, clock_s() - start_s);
    for (int m = 0; m < N_METHODS; m++)
        free(study.ratios[m]);
    free(study.reached);
    free(study.proved);
    free(study.curves);
    rb_lister_finish(&study.lister);
    return study.n_broken > 0;
}
