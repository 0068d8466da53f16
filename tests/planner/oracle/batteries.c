// Batteries of random jobs against an independent simulator and brute force with it. One table, a line a class; each
// failing job is printed with the command that replays it.
#include "battery.h"

#include "base/options.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIGURES_PER_JOB 14 // 13 figures and whether the plan keeps what it must

static const struct rb_option options[] = {
    {"class", 0, RB_OPT_STRING, false, "X", "letters of abcdefg; default: all of them", 0, 0},
    {"jobs", 0, RB_OPT_INT, false, "N", "jobs of every class; default: 20", 1, 100000},
    {"seed", 0, RB_OPT_INT, false, "S", "number of the first job; default: 1", 0, 1e9},
    {"runs", 0, RB_OPT_INT, false, "N", "runs of the oracle for every plan; default: 20000", 1000, 1e7},
    {"space-runs", 0, RB_OPT_INT, false, "N", "most runs of one plan of a space; default: 16384", 256, 1e7},
    {"space", 0, RB_OPT_INT, false, "N", "most plans of a space that is looked through; default: 600", 0, 1e7},
    {"every-seeds", 0, RB_OPT_INT, false, "N", "one job in N is planned with 20 seeds, 0: none; default: 10", 0, 1e6},
    {"threads", 0, RB_OPT_INT, false, "N", "jobs at a time; default: 2", 1, 64},
    {"verbose", 'v', RB_OPT_FLAG, false, NULL, "print each job, its figures and its plan", 0, 0},
    {0},
};

static const struct rb_command command = {
    .name = "batteries",
    .usage = "[options]",
    .summary = "Holds plans of random jobs against an independent simulator and every plan of small spaces.",
    .examples = "  batteries --jobs 200 --runs 100000\n  batteries --class b --seed 17 --jobs 1 -v\n",
    .options = options,
};

struct battery {
    struct battery_options opt;
    const char *classes;
    int n_jobs;
    uint32_t first;
    struct battery_result *results; // [classes][n_jobs]
    atomic_int next;
};

static void *work(void *arg)
{
    struct battery *b = arg;
    const int n = (int)strlen(b->classes) * b->n_jobs;
    for (int i = atomic_fetch_add(&b->next, 1); i < n; i = atomic_fetch_add(&b->next, 1))
        battery_run(b->classes[i / b->n_jobs], b->first + (uint32_t)(i % b->n_jobs), &b->opt, &b->results[i]);
    return NULL;
}

static void run_all(struct battery *b, int n_threads)
{
    pthread_t threads[64];
    for (int i = 0; i < n_threads; i++) {
        if (pthread_create(&threads[i], NULL, work, b) != 0)
            abort();
    }
    for (int i = 0; i < n_threads; i++)
        pthread_join(threads[i], NULL);
}

static void print_stories(const struct battery *b, int class_)
{
    for (int k = 0; k < b->n_jobs; k++) {
        const struct battery_result *r = &b->results[class_ * b->n_jobs + k];
        if (!battery_result_failed(r) && !b->opt.verbose)
            continue;
        printf("%s: --class %c --seed %u --jobs 1 -v\n%s", battery_result_failed(r) ? "FAILED" : "job",
               b->classes[class_], b->first + (uint32_t)k, rb_buf_str(&r->story));
    }
}

struct totals {
    int n_known, n_feasible, n_proved, n_figures, n_proofs, n_infeasible_checked, n_seeds, n_failed;
    int failures[BATTERY_N_FAILURES];
    double worst_z, undercut, spread, plan_s, oracle_s, space_s, seeds_s;
    const char *worst;
};

static struct totals add_up(const struct battery *b, int class_)
{
    struct totals t = {.worst = "-"};
    for (int k = 0; k < b->n_jobs; k++) {
        const struct battery_result *r = &b->results[class_ * b->n_jobs + k];
        t.n_known += r->known;
        t.n_feasible += r->feasible;
        t.n_proved += r->proved;
        t.n_figures += r->n_figures;
        t.n_proofs += r->space_checked && r->proved;
        t.n_infeasible_checked += r->space_checked && !r->feasible;
        t.n_seeds += r->seeds_checked;
        t.n_failed += battery_result_failed(r);
        for (int i = 0; i < BATTERY_N_FAILURES; i++)
            t.failures[i] += r->failed[i];
        if (fabs(r->worst_z) > fabs(t.worst_z)) {
            t.worst_z = r->worst_z;
            t.worst = r->worst;
        }
        t.undercut = fmax(t.undercut, r->undercut);
        t.spread = fmax(t.spread, r->seeds_spread);
        t.plan_s += r->plan_s;
        t.oracle_s += r->oracle_s;
        t.space_s += r->space_s;
        t.seeds_s += r->seeds_s;
    }
    return t;
}

static void print_table(const struct battery *b, int *out_n_failed)
{
    printf("class  jobs  feasible  proved  figures  worst z (figure)      proofs  undercut by  no plan  seeds  spread  "
           "failed  failures\n");
    *out_n_failed = 0;
    for (int c = 0; b->classes[c]; c++) {
        const struct totals t = add_up(b, c);
        printf("%-5c  %4d  %8d  %6d  %7d  %+7.1f (%-11s)  %6d  %9.2f %%  %7d  %5d  %4.2f %%  %6d ", b->classes[c],
               t.n_known, t.n_feasible, t.n_proved, t.n_figures, t.worst_z, t.worst, t.n_proofs, t.undercut * 100,
               t.n_infeasible_checked, t.n_seeds, t.spread * 100, t.n_failed);
        for (int i = 0; i < BATTERY_N_FAILURES; i++) {
            if (t.failures[i] > 0)
                printf(" %s %d", battery_failure_names[i], t.failures[i]);
        }
        printf("%s\n", t.n_failed ? "" : " none");
        *out_n_failed += t.n_failed;
    }
    printf("A figure fails beyond |z| = %.2f, which a true program reaches once in 10,000 batteries.\n", b->opt.sure);
    for (int c = 0; b->classes[c]; c++) {
        const struct totals s = add_up(b, c);
        printf(
            "%c: %s; %.0f ms a plan; seconds of processor: plans %.1f, their figures %.1f, spaces %.1f, seeds %.1f\n",
            b->classes[c], battery_class_says(b->classes[c]), 1000 * s.plan_s / b->n_jobs, s.plan_s, s.oracle_s,
            s.space_s, s.seeds_s);
    }
}

static int run(const struct rb_args *args)
{
    struct battery b = {
        .classes = rb_args_string(args, "class", BATTERY_CLASSES),
        .n_jobs = (int)rb_args_int(args, "jobs", 20),
        .first = (uint32_t)rb_args_int(args, "seed", 1),
        .opt = {.runs = (int)rb_args_int(args, "runs", 20000),
                .most_runs = (int)rb_args_int(args, "space-runs", 16384),
                .most_plans = (double)rb_args_int(args, "space", 600),
                .n_seeds = 20,
                .every_seeds = (int)rb_args_int(args, "every-seeds", 10),
                .verbose = rb_args_flag(args, "verbose")},
    };
    const int n_classes = (int)strlen(b.classes);
    int n_failed;
    if (n_classes == 0 || strspn(b.classes, BATTERY_CLASSES) != (size_t)n_classes) {
        fprintf(stderr, "batteries: --class %s: expected letters of %s\n", b.classes, BATTERY_CLASSES);
        return 2;
    }
    b.opt.sure = battery_bonferroni((double)FIGURES_PER_JOB * n_classes * b.n_jobs);
    b.opt.sure_plan = battery_bonferroni(b.opt.most_plans * n_classes * b.n_jobs);
    b.results = rb_xcalloc((size_t)(n_classes * b.n_jobs), sizeof *b.results);
    run_all(&b, (int)rb_args_int(args, "threads", 2));
    for (int c = 0; c < n_classes; c++)
        print_stories(&b, c);
    print_table(&b, &n_failed);
    for (int i = 0; i < n_classes * b.n_jobs; i++)
        battery_result_finish(&b.results[i]);
    free(b.results);
    return n_failed > 0;
}

int main(int argc, char **argv)
{
    struct rb_args args;
    struct rb_err err = {0};
    if (!rb_args_parse(&args, &command, argc, argv, &err)) {
        fprintf(stderr, "batteries: %s\n", err.message);
        return 2;
    }
    if (args.help) {
        rb_args_help(&args);
        rb_args_finish(&args);
        return 0;
    }
    const int code = run(&args);
    rb_args_finish(&args);
    return code;
}
