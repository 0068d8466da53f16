// What a search finds on tables, beside what the law of quality (planner/quality/) expects of it.
//   search_quality gain SEEDS TABLE...   normal scores of the best trained to R, by sampler and trials, and how many
//                                        random trials find as much
//   search_quality cover SEEDS TABLE...  do they lie in the 90 % band, under the prior and under the table's own law?
#include "bench/search/play.h"

#include "base/arena.h"
#include "planner/quality/best.h"
#include "samplers/model/normal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TABLES 64

struct tables {
    struct rb_arena arena;
    struct rb_blackbox items[MAX_TABLES];
    int n, n_seeds;
};

static void die(const struct rb_err *err)
{
    rb_err_print(err, "search_quality", false);
    exit(1);
}

// ---- a search

static int64_t least_resource(const struct rb_blackbox *t)
{
    return t->max_resource >= 50 ? 2 : 1;
}

// The normal score of a row's metric at R among all rows.
static double score_of(const struct rb_blackbox *t, int row)
{
    const double sign = t->goal == RB_GOAL_MINIMIZE ? -1 : 1, best = sign * rb_blackbox_metric(t, row, t->max_resource);
    double below = 0;
    for (int i = 0; i < t->n_rows; i++) {
        const double score = sign * rb_blackbox_metric(t, i, t->max_resource);
        below += score < best || isnan(score) ? 1 : score > best ? 0 : 0.5;
    }
    return rb_normal_quantile(below / t->n_rows);
}

static double find_best(const struct rb_blackbox *t, const struct game *g, uint64_t seed)
{
    struct rb_err err;
    struct outcome o;
    if (!play(g, t, seed, &o, &err))
        die(&err);
    free(o.suggest_s);
    return o.best_row < 0 ? -INFINITY : score_of(t, o.best_row);
}

static struct game game_of(const char *sampler, const struct rb_blackbox *t, int n)
{
    return (struct game){.scheduler = "asha", .sampler = {.type = sampler}, .workers = 1, .num_trials = n, .eta = 3,
                         .min_resource = least_resource(t), .once = true};
}

static double mean_of(const struct tables *ts, const char *sampler, int n)
{
    double sum = 0;
    for (int i = 0; i < ts->n; i++) {
        const struct game g = game_of(sampler, &ts->items[i], n);
        for (int seed = 1; seed <= ts->n_seeds; seed++)
            sum += find_best(&ts->items[i], &g, (uint64_t)seed);
    }
    return sum / ts->n / ts->n_seeds;
}

// ---- gain

static const int random_trials[] = {5, 9, 16, 27, 47, 81, 140, 243, 420, 729};
#define N_RANDOM (int)(sizeof random_trials / sizeof random_trials[0])

// The number of random trials that find as good a best; INFINITY: more than were tried.
static double as_many(const double *scores, double score)
{
    int i = 1;
    while (i < N_RANDOM && scores[i] < score)
        i++;
    if (i == N_RANDOM)
        return INFINITY;
    const double part = (score - scores[i - 1]) / (scores[i] - scores[i - 1]);
    return random_trials[i - 1] * pow((double)random_trials[i] / random_trials[i - 1], part);
}

static void gain(struct tables *ts)
{
    static const char *const samplers[] = {"tpe", "bohb", "de", "sobol", "gp"};
    static const int trials[] = {9, 27, 81, 243};
    double random_scores[N_RANDOM];
    for (int i = 0; i < N_RANDOM; i++) {
        random_scores[i] = mean_of(ts, "random", random_trials[i]);
        printf("random %d: %.3f\n", random_trials[i], random_scores[i]);
        fflush(stdout);
    }
    for (size_t s = 0; s < sizeof samplers / sizeof samplers[0]; s++) {
        for (size_t i = 0; i < sizeof trials / sizeof trials[0]; i++) {
            const double score = mean_of(ts, samplers[s], trials[i]);
            printf("%s %d: %.3f, gain %.2f\n", samplers[s], trials[i], score, as_many(random_scores, score) / trials[i]);
            fflush(stdout);
        }
    }
}

// ---- cover

struct cover {
    double actual, expected;
    int inside, below, n;
};

static void add(struct cover *c, const struct rb_best *best, double score)
{
    c->actual += score;
    c->expected += best->z.mean;
    c->below += score < best->z.low;
    c->inside += score >= best->z.low && score <= best->z.high;
    c->n++;
}

static void expect(const struct rb_quality_law *law, const struct rb_blackbox *t, int n, struct rb_best *out)
{
    static struct rb_search_shape shape;
    const struct rb_job job = {.scheduler = {.type = "asha", .num_trials = n, .min_resource = least_resource(t),
                                             .max_resource = t->max_resource, .eta = 3, .brackets = 1}};
    struct rb_err err;
    if (!rb_search_shape_of(&job, &shape, &err))
        die(&err);
    rb_best_expect(law, &shape, 1, 2000, out);
}

static void print_cover(const char *name, const struct cover *c)
{
    printf(" %s: mean %.2f, expected %.2f, inside %.0f %%, below %.0f %%;", name, c->actual / c->n, c->expected / c->n,
           100.0 * c->inside / c->n, 100.0 * c->below / c->n);
}

static void cover(struct tables *ts)
{
    static struct rb_quality_law prior, own;
    static const int trials[] = {9, 27, 81, 243};
    rb_quality_law_prior(&prior);
    for (size_t k = 0; k < sizeof trials / sizeof trials[0]; k++) {
        struct cover by_prior = {0}, by_own = {0};
        for (int i = 0; i < ts->n; i++) {
            const struct rb_blackbox *t = &ts->items[i];
            const struct rb_job job = {.metric_name = t->metric_name, .goal = t->goal};
            const struct game g = game_of("random", t, trials[k]);
            struct rb_best best[2];
            struct rb_err err;
            if (!rb_quality_law_of_table(t, &job, &ts->arena, &own, &err))
                die(&err);
            expect(&prior, t, trials[k], &best[0]);
            expect(&own, t, trials[k], &best[1]);
            for (int seed = 1; seed <= ts->n_seeds; seed++) {
                const double score = find_best(t, &g, (uint64_t)seed);
                add(&by_prior, &best[0], score);
                add(&by_own, &best[1], score);
            }
        }
        printf("asha x random, %d trials:", trials[k]);
        print_cover("prior", &by_prior);
        print_cover("own table", &by_own);
        printf("\n");
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    static struct tables ts;
    struct rb_err err;
    if (argc < 4 || argc - 3 > MAX_TABLES) {
        fprintf(stderr, "usage: search_quality gain|cover SEEDS TABLE.csv.gz...\n");
        return 2;
    }
    ts.n_seeds = atoi(argv[2]);
    for (; ts.n < argc - 3; ts.n++)
        if (!rb_blackbox_read(argv[ts.n + 3], &ts.arena, &ts.items[ts.n], &err))
            die(&err);
    (strcmp(argv[1], "gain") == 0 ? gain : cover)(&ts);
    for (int i = 0; i < ts.n; i++)
        rb_blackbox_finish(&ts.items[i]);
    rb_arena_finish(&ts.arena);
    return 0;
}
