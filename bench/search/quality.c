// What a search finds on tables, beside what the law of quality (planner/quality/) expects of it.
//   search_quality gain SEEDS TABLE...   normal scores of the best trained to R, by sampler and trials, and how many
//                                        random trials find as much
//   search_quality cover SEEDS TABLE...  do they lie in the 90 % band, under the prior and under the table's own law?
//   search_quality runs SEEDS TABLE...   the same under the law of earlier runs of the search, of other seeds: of the
//                                        normal score, and of the metric
//   search_quality rho SEEDS TABLE...    how far rho is off under the prior and after earlier runs, as the logarithm of a
//                                        power
//   search_quality choose SEEDS TABLE... what the search that is chosen for a budget of units of training finds, beside
//                                        every other that could have been chosen, and beside its 90 % band
#include "bench/search/play.h"

#include "base/arena.h"
#include "planner/quality/choose.h"
#include "planner/quality/runs.h"

#include "engine/core/rungs.h"
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

static double score_of_metric(const struct rb_blackbox *t, double metric)
{
    const double sign = t->goal == RB_GOAL_MINIMIZE ? -1 : 1, best = sign * metric;
    double below = 0;
    for (int i = 0; i < t->n_rows; i++) {
        const double score = sign * rb_blackbox_metric(t, i, t->max_resource);
        below += score < best || isnan(score) ? 1 : score > best ? 0 : 0.5;
    }
    return rb_normal_quantile(fmin(fmax(below, 0.5), t->n_rows - 0.5) / t->n_rows);
}

// The normal score of a row's metric at R among all rows.
static double score_of(const struct rb_blackbox *t, int row)
{
    return score_of_metric(t, rb_blackbox_metric(t, row, t->max_resource));
}

static double find_best(const struct rb_blackbox *t, const struct game *g, uint64_t seed)
{
    struct rb_err err;
    struct outcome o;
    if (!play(g, t, seed, &o, &err))
        die(&err);
    outcome_finish(&o);
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

// ---- runs

static int by_configuration(const void *pa, const void *pb)
{
    const struct rb_found_metric *a = pa, *b = pb;
    const int order = strcmp(a->config_json, b->config_json);
    return order ? order : (a->resource > b->resource) - (a->resource < b->resource);
}

// What searches with these seeds leave in a store. Rows are drawn without replacement in each, so two have some in common.
static void leave(const struct rb_blackbox *t, const struct game *g, int first_seed, int n_runs, struct rb_arena *arena,
                  struct rb_found_metrics *out)
{
    struct rb_found_metric *results = rb_arena_array(arena, (size_t)n_runs * 4 * (size_t)t->n_rows, sizeof *results);
    int n = 0, kept = 0;
    for (int k = 0; k < n_runs; k++) {
        struct outcome o;
        struct rb_err err;
        if (!play(g, t, (uint64_t)(first_seed + k), &o, &err))
            die(&err);
        for (int i = 0; i < o.n_results; i++)
            if (o.result_rows[i] >= 0)
                results[n++] = (struct rb_found_metric){
                rb_arena_printf(arena, "%04d", o.result_rows[i]), o.results[i].resource,
                rb_blackbox_metric(t, o.result_rows[i], (int)o.results[i].resource)};
        outcome_finish(&o);
    }
    qsort(results, (size_t)n, sizeof *results, by_configuration);
    for (int i = 0; i < n; i++)
        if (i == 0 || by_configuration(&results[i], &results[kept - 1]) != 0)
            results[kept++] = results[i];
    *out = (struct rb_found_metrics){results, kept, n_runs};
}

struct by_runs {
    struct cover prior, runs;
    double at_least_low, at_least_median; // runs that found so good a metric or a better one
    double low, median;                   // normal scores of these metrics in the table
    double open;                          // bands without an upper end
    double spread;
};

static void add_metric(struct by_runs *b, const struct rb_blackbox *t, const struct rb_best *best, int row)
{
    const double sign = t->goal == RB_GOAL_MINIMIZE ? -1 : 1, score = sign * rb_blackbox_metric(t, row, t->max_resource);
    b->at_least_low += score >= sign * best->metric.low;
    b->at_least_median += score >= sign * best->metric.median;
    b->low += score_of_metric(t, best->metric.low);
    b->median += score_of_metric(t, best->metric.median);
    b->open += isnan(best->metric.high);
}

static void play_again(struct tables *ts, const struct rb_blackbox *t, const char *sampler, int n_runs, int before,
                       int now, const struct rb_best *by_prior, struct by_runs *b)
{
    static struct rb_quality_law law;
    const struct game first = game_of(sampler, t, before), second = game_of("random", t, now);
    for (int seed = 1; seed <= ts->n_seeds; seed++) {
        const struct rb_job job = {.seed = (uint64_t)seed, .metric_name = t->metric_name, .goal = t->goal,
                                   .scheduler.max_resource = t->max_resource};
        struct rb_arena arena = {0};
        struct rb_found_metrics found;
        struct rb_best best;
        struct outcome o;
        struct rb_err err;
        leave(t, &first, 1000 + 10 * seed, n_runs, &arena, &found);
        rb_quality_law_of_runs(&found, &job, "a store", &arena, &law);
        expect(&law, t, now, &best);
        if (!play(&second, t, (uint64_t)seed, &o, &err))
            die(&err);
        add(&b->prior, by_prior, score_of(t, o.best_row));
        add(&b->runs, &best, score_of(t, o.best_row));
        add_metric(b, t, &best, o.best_row);
        b->spread += law.spread;
        outcome_finish(&o);
        rb_arena_finish(&arena);
    }
}

static void runs(struct tables *ts)
{
    static const struct {
        const char *sampler; // of the earlier runs
        int n_runs, before, now; // trials of each
    } cases[] = {{"random", 1, 9, 27},  {"random", 1, 27, 27}, {"random", 1, 81, 27},  {"random", 1, 27, 81},
                 {"random", 1, 81, 81}, {"random", 3, 81, 81}, {"random", 1, 243, 81}, {"random", 1, 81, 243},
                 {"tpe", 1, 81, 81},    {"tpe", 3, 81, 81}};
    struct rb_quality_law prior;
    rb_quality_law_prior(&prior);
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        struct by_runs b = {0};
        for (int i = 0; i < ts->n; i++) {
            struct rb_best by_prior;
            expect(&prior, &ts->items[i], cases[k].now, &by_prior);
            play_again(ts, &ts->items[i], cases[k].sampler, cases[k].n_runs, cases[k].before, cases[k].now, &by_prior, &b);
        }
        printf("asha x random, %d trials, after %d by %s of %d:", cases[k].now, cases[k].n_runs, cases[k].sampler,
               cases[k].before);
        print_cover("prior", &b.prior);
        print_cover("runs", &b.runs);
        printf(" spread %.2f; metric: at least low in %.0f %%, which has score %.2f, at least median in %.0f %%, which has "
               "score %.2f, without high %.0f %%\n",
               b.spread / b.runs.n, 100 * b.at_least_low / b.runs.n, b.low / b.runs.n, 100 * b.at_least_median / b.runs.n,
               b.median / b.runs.n, 100 * b.open / b.runs.n);
        fflush(stdout);
    }
}

// ---- rho

// ln of the power to which the prior's rho at a share is the table's, or that of a law.
static double power_at(const struct rb_quality_law *law, double share)
{
    struct rb_quality_law prior;
    rb_quality_law_prior(&prior);
    const double rho = fmin(0.995, fmax(0.02, rb_quality_correlation(law, share)));
    return log(log(rho) / log(rb_quality_correlation(&prior, share)));
}

static void rho(struct tables *ts)
{
    static struct rb_quality_law own, law;
    static const double shares[] = {0.04, 0.12, 0.36};
    static const int n_runs[] = {1, 3};
    for (size_t r = 0; r < sizeof n_runs / sizeof n_runs[0]; r++) {
        double by_prior[3] = {0}, by_runs[3] = {0}, spread = 0;
        const int n = ts->n * ts->n_seeds;
        for (int i = 0; i < n; i++) {
            const struct rb_blackbox *t = &ts->items[i / ts->n_seeds];
            const struct game g = game_of("random", t, 81);
            const struct rb_job job = {.metric_name = t->metric_name, .goal = t->goal,
                                       .scheduler.max_resource = t->max_resource};
            struct rb_arena arena = {0};
            struct rb_found_metrics found;
            struct rb_err err;
            if (!rb_quality_law_of_table(t, &job, &arena, &own, &err))
                die(&err);
            leave(t, &g, 1000 + 10 * (i % ts->n_seeds), n_runs[r], &arena, &found);
            rb_quality_law_of_runs(&found, &job, "a store", &arena, &law);
            spread += law.spread / n;
            for (int k = 0; k < 3; k++) {
                by_prior[k] += pow(power_at(&own, shares[k]), 2) / n;
                by_runs[k] += pow(power_at(&law, shares[k]) - power_at(&own, shares[k]), 2) / n;
            }
            rb_arena_finish(&arena);
        }
        printf("after %d runs of 81: off at 4, 12, 36 %% of R by %.2f %.2f %.2f, under the prior %.2f %.2f %.2f; spread %.2f\n",
               n_runs[r], sqrt(by_runs[0]), sqrt(by_runs[1]), sqrt(by_runs[2]), sqrt(by_prior[0]), sqrt(by_prior[1]),
               sqrt(by_prior[2]), spread);
    }
}

// ---- choose

#define MOST_CHOICES 64

struct purse {
    double units;
    bool starts_over;
};

static double units_of(const struct rb_job *job, bool starts_over)
{
    struct rb_rung_table table;
    struct rb_err err;
    double sum = 0;
    if (!rb_rungs_of_job(job, &table, &err))
        die(&err);
    for (int i = 0; i < table.n; i++)
        sum += (double)table.rungs[i].trials *
               (double)(table.rungs[i].resource_end - (starts_over ? 0 : table.rungs[i].resource_start));
    return sum;
}

static bool is_in_purse(void *ctx, const struct rb_job *job, bool *out_fits, struct rb_estimate *out_estimate,
                        struct rb_err *err)
{
    const struct purse *p = ctx;
    (void)err;
    *out_estimate = (struct rb_estimate){0};
    *out_fits = units_of(job, p->starts_over) <= p->units;
    return true;
}

static struct rb_job job_for(const struct rb_blackbox *t, const char *sampler)
{
    return (struct rb_job){.metric_name = t->metric_name, .goal = t->goal, .starts_over = !t->resumable,
                           .scheduler = {.type = "asha", .sampler.type = sampler, .num_trials = 27, .min_resource = 1,
                                         .max_resource = t->max_resource, .eta = 3, .brackets = 1}};
}

// Shapes with the largest number of trials that the purse allows; the chosen one first.
static int list_choices(const struct rb_blackbox *t, const char *sampler, const struct purse *p, struct rb_arena *arena,
                        struct rb_search_choice out[MOST_CHOICES], struct rb_best *best)
{
    const struct rb_affordable afford = {is_in_purse, NULL, (void *)p};
    const struct rb_job job = job_for(t, sampler);
    struct rb_quality_law prior;
    struct rb_search_choices choices;
    struct rb_err err;
    int n = 0;
    rb_quality_law_prior(&prior);
    if (!rb_choose_search(&job, &prior, &afford, NULL, arena, &choices, &err))
        die(&err);
    *best = choices.rows[choices.chosen].best;
    for (int i = 0; i < choices.n; i++) {
        struct rb_search_choice c = choices.rows[i].choice;
        struct rb_job with;
        c.num_trials = 1;
        for (with = rb_job_with_choice(&job, &c); units_of(&with, p->starts_over) <= p->units && c.num_trials < 1000;
             with = rb_job_with_choice(&job, &c))
            c.num_trials++;
        c.num_trials = i == choices.chosen ? choices.rows[i].choice.num_trials : c.num_trials - 1;
        if (c.num_trials < 1)
            continue;
        out[n++] = c;
        if (i == choices.chosen) {
            const struct rb_search_choice swap = out[0];
            out[0] = c;
            out[n - 1] = swap;
        }
    }
    return n;
}

static double regret_of(const struct rb_blackbox *t, int row)
{
    return row < 0 ? 1 : rb_blackbox_regret(t, rb_blackbox_metric(t, row, t->max_resource));
}

struct chosen {
    double regret, hindsight, all; // mean regret; of the best of all on each table; of the best one on all tables
    int near, n;                   // tables on which it is within 10 % of the table's best
    struct cover cover;
    double by_choice[MOST_CHOICES];
};

static void play_choices(const struct tables *ts, int table, const char *sampler, const struct rb_search_choice *choices,
                         int n, const struct rb_best *best, struct chosen *c)
{
    const struct rb_blackbox *t = &ts->items[table];
    double mean[MOST_CHOICES] = {0}, least = INFINITY;
    for (int i = 0; i < n; i++) {
        const struct game g = {.scheduler = "asha", .sampler = {.type = sampler}, .workers = 1,
                               .num_trials = choices[i].num_trials, .eta = choices[i].eta,
                               .min_resource = choices[i].min_resource, .once = true};
        for (int seed = 1; seed <= ts->n_seeds; seed++) {
            struct outcome o;
            struct rb_err err;
            if (!play(&g, t, (uint64_t)seed, &o, &err))
                die(&err);
            outcome_finish(&o);
            mean[i] += regret_of(t, o.best_row) / ts->n_seeds;
            if (i == 0)
                add(&c->cover, best, o.best_row < 0 ? -INFINITY : score_of(t, o.best_row));
        }
        c->by_choice[i] += mean[i];
        least = fmin(least, mean[i]);
    }
    c->regret += mean[0];
    c->hindsight += least;
    c->near += mean[0] <= 1.1 * least + 1e-9;
    c->n++;
}

static void choose(struct tables *ts)
{
    static const char *const samplers[] = {"random", "tpe"};
    static const double units[] = {500, 1000, 2000};
    for (size_t s = 0; s < 2; s++) {
        for (size_t u = 0; u < 3; u++) {
            struct rb_search_choice choices[MOST_CHOICES];
            struct rb_best best;
            struct chosen c = {0};
            const struct purse p = {units[u], !ts->items[0].resumable};
            const int n = list_choices(&ts->items[0], samplers[s], &p, &ts->arena, choices, &best);
            int least = 0;
            for (int i = 0; i < ts->n; i++)
                play_choices(ts, i, samplers[s], choices, n, &best, &c);
            for (int i = 1; i < n; i++)
                if (c.by_choice[i] < c.by_choice[least])
                    least = i;
            printf("asha x %s, %g units: chosen eta %d, from %lld, %d trials: regret %.3f; best of %d on all tables: eta "
                   "%d, from %lld, %d trials: %.3f; best on each: %.3f; within 10 %% of it on %d of %d;",
                   samplers[s], units[u], choices[0].eta, (long long)choices[0].min_resource, choices[0].num_trials,
                   c.regret / c.n, n, choices[least].eta, (long long)choices[least].min_resource,
                   choices[least].num_trials, c.by_choice[least] / c.n, c.hindsight / c.n, c.near, c.n);
            print_cover("band", &c.cover);
            printf("\n");
            fflush(stdout);
        }
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(struct tables *ts);
    } modes[] = {{"gain", gain}, {"cover", cover}, {"runs", runs}, {"rho", rho}, {"choose", choose}};
    static struct tables ts;
    struct rb_err err;
    if (argc < 4 || argc - 3 > MAX_TABLES) {
        fprintf(stderr, "usage: search_quality gain|cover|runs|rho|choose SEEDS TABLE.csv.gz...\n");
        return 2;
    }
    ts.n_seeds = atoi(argv[2]);
    for (; ts.n < argc - 3; ts.n++)
        if (!rb_blackbox_read(argv[ts.n + 3], &ts.arena, &ts.items[ts.n], &err))
            die(&err);
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)
        if (strcmp(argv[1], modes[i].name) == 0)
            modes[i].run(&ts);
    for (int i = 0; i < ts.n; i++)
        rb_blackbox_finish(&ts.items[i]);
    rb_arena_finish(&ts.arena);
    return 0;
}
