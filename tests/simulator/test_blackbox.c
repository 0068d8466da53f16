// Tables that stand for training: which rows are taken, what trials and samplers get from them, and files that are refused.
#include "small_scenario.h"

#include "base/file.h"
#include "samplers/history.h"
#include "simulator/blackbox/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

static const char family[] = "metric: {name: acc, goal: maximize}\n"
                             "unit: epoch\n"
                             "max_resource: 4\n"
                             "parameters:\n"
                             "  kind: {values: [a, b]}\n"
                             "  x: {min: 0.0, max: 10.0}\n"
                             "  k: {min: 1, max: 4, if: {kind: b}}\n";

// Row 5 is as near as row 0 to everything; row 4 diverges after its first unit; row 6 is lucky once, within a rung.
static const char rows[] = "p.kind,p.x,p.k,unit_s,1,2,3,4\n"
                           "a,2,,11,0.1,0.2,0.3,0.4\n"
                           "a,8,,20,0.2,0.3,0.4,0.5\n"
                           "b,2,1,13,0.3,0.4,0.5,0.6\n"
                           "b,8,4,40,0.4,0.5,0.6,0.9\n"
                           "b,5,2,14.5,0.35,,,\n"
                           "a,2,,17,0.1,0.1,0.1,0.2\n"
                           "b,2.5,1,19.25,0.3,0.4,0.97,0.6\n"
                           "a,5,,23,0.5,0.5,0.5,0.55\n";
#define N_ROWS 8

static void parse(const char *family_text, const char *text, struct rb_arena *arena, struct rb_blackbox *out)
{
    struct rb_err err;
    if (!rb_blackbox_parse("toy.yaml", family_text, strlen(family_text), "toy_1.csv", text, strlen(text), arena, out, &err))
        fail_msg("%s", err.message);
}

// ---- rows

static struct rb_value text_value(const char *s)
{
    return (struct rb_value){.kind = RB_VALUE_STRING, .string = s};
}

static void expect_rows(const struct rb_blackbox *t, const struct rb_value *values, const int *expected, int n)
{
    bool used[N_ROWS] = {false};
    double u[3];
    rb_coordinates_of(&t->coordinates, values, u);
    for (int i = 0; i < n; i++) {
        const int row = rb_blackbox_nearest(t, u, used);
        assert_int_equal(row, expected[i]);
        if (row >= 0)
            used[row] = true;
    }
}

// (a, 2): itself, its twin, then by x; b is two away, one for the category and one for k. (b, 2, k = 4): row 4 is
// .09 + .25 away, row 3 .36, row 2 .5625, row 6 a little more.
static void the_nearest_row_that_is_free(void **state)
{
    (void)state;
    struct rb_arena arena = {0};
    struct rb_blackbox t = {0};
    parse(family, rows, &arena, &t);
    const struct rb_value a[] = {text_value("a"), {.kind = RB_VALUE_FLOAT, .number = 2}, {.kind = RB_VALUE_ABSENT}};
    const struct rb_value b[] = {text_value("b"), {.kind = RB_VALUE_FLOAT, .number = 2}, {.kind = RB_VALUE_INT, .integer = 4, .number = 4}};
    expect_rows(&t, a, (const int[]){0, 5, 7, 1, 2, 6, 4, 3, -1}, N_ROWS + 1);
    expect_rows(&t, b, (const int[]){4, 3, 2, 6}, 4);
    rb_blackbox_finish(&t);
    rb_arena_finish(&arena);
}

// At R: -inf .2 .4 .5 .55 .6 .6 .9, so the median is .525.
static void regret_by_hand(void **state)
{
    (void)state;
    struct rb_arena arena = {0};
    struct rb_blackbox t = {0};
    parse(family, rows, &arena, &t);
    assert_true(fabs(t.best - 0.9) < 1e-12 && fabs(t.median - 0.525) < 1e-12);
    assert_true(fabs(rb_blackbox_regret(&t, 0.6) - 0.8) < 1e-12);
    assert_true(rb_blackbox_regret(&t, 0.9) == 0 && rb_blackbox_regret(&t, 0.95) == 0);
    assert_true(rb_blackbox_regret(&t, 0.1) == 1 && rb_blackbox_regret(&t, NAN) == 1);
    assert_true(isnan(rb_blackbox_metric(&t, 4, 2)) && rb_blackbox_metric(&t, 3, 9) == 0.9);
    rb_blackbox_finish(&t);
    parse("metric: {name: loss, goal: minimize}\nmax_resource: 1\nparameters: {x: {min: 0.0, max: 1.0}}\n",
          "p.x,1\n0,4\n0.5,2\n1,1\n", &arena, &t);
    assert_true(t.best == 1 && t.median == 2 && !t.unit_s && t.resumable);
    assert_true(rb_blackbox_regret(&t, 1.5) == 0.5 && rb_blackbox_regret(&t, 7) == 1);
    rb_blackbox_finish(&t);
    rb_arena_finish(&arena);
}

// ---- files

static void files_plain_and_compressed(void **state)
{
    (void)state;
    char folder[] = "/tmp/rb-blackbox-XXXXXX";
    struct rb_arena arena = {0};
    struct rb_blackbox plain = {0}, packed = {0};
    struct rb_err err;
    assert_non_null(mkdtemp(folder));
    const char *yaml = rb_arena_printf(&arena, "%s/toy.yaml", folder), *csv = rb_arena_printf(&arena, "%s/toy_1.csv", folder);
    const char *gz = rb_arena_printf(&arena, "%s/toy_2_more.csv.gz", folder);
    assert_true(rb_write_file(yaml, family, strlen(family), &err) && rb_write_file(csv, rows, strlen(rows), &err));
    gzFile out = gzopen(gz, "wb");
    assert_int_equal(gzwrite(out, rows, (unsigned)strlen(rows)), (int)strlen(rows));
    gzclose(out);
    if (!rb_blackbox_read(csv, &arena, &plain, &err) || !rb_blackbox_read(gz, &arena, &packed, &err))
        fail_msg("%s", err.message);
    assert_int_equal(plain.n_rows, N_ROWS);
    assert_int_equal(packed.n_rows, N_ROWS);
    assert_memory_equal(plain.u, packed.u, N_ROWS * sizeof *plain.u);
    assert_string_equal(packed.family_path, yaml);
    assert_false(rb_blackbox_read(yaml, &arena, &plain, &err));
    assert_non_null(strstr(err.message, "FAMILY_TASK"));
    unlink(yaml);
    unlink(csv);
    unlink(gz);
    rmdir(folder);
    rb_blackbox_finish(&plain);
    rb_blackbox_finish(&packed);
    rb_arena_finish(&arena);
}

static void bad_tables_are_refused_with_their_place(void **state)
{
    (void)state;
    static const struct {
        const char *family, *rows, *file, *says;
        int line;
    } cases[] = {
        {family, "p.kind,p.x,unit_s,1,2,3,4\na,2,10,1,2,3,4\n", "toy_1.csv", "p.k", 1},
        {family, "p.kind,p.x,p.k,1,2,3\na,2,,1,2,3\n", "toy_1.csv", "4", 1},
        {family, "p.kind,p.x,p.k,p.y,1,2,3,4\na,2,,1,1,2,3,4\n", "toy_1.csv", "p.y", 1},
        {family, "p.kind,p.x,p.k,1,2,3,4\na,2,,1,2,3,4\nc,2,,1,2,3,4\n", "toy_1.csv", "values of kind", 3},
        {family, "p.kind,p.x,p.k,1,2,3,4\na,2,3,1,2,3,4\n", "toy_1.csv", "does not apply", 2},
        {family, "p.kind,p.x,p.k,1,2,3,4\nb,2,,1,2,3,4\n", "toy_1.csv", "the parameter applies", 2},
        {family, "p.kind,p.x,p.k,1,2,3,4\nb,2,9,1,2,3,4\n", "toy_1.csv", "1..4", 2},
        {family, "p.kind,p.x,p.k,1,2,3,4\na,11,,1,2,3,4\n", "toy_1.csv", "expected", 2},
        {family, "p.kind,p.x,p.k,1,2,3,4\na,2,,1,2,x,4\n", "toy_1.csv", "expected", 2},
        {family, "p.kind,p.x,p.k,unit_s,1,2,3,4\na,2,,0,1,2,3,4\n", "toy_1.csv", "expected", 2},
        {family, "p.kind,p.x,p.k,1,2,3,4\na,2,,1,2,3,4\na,3,,1,2,3,4\n", "toy_1.csv", "differs from the median", 1},
        {"metric: {name: acc, goal: up}\nmax_resource: 1\nparameters: {x: {min: 0.0, max: 1.0}}\n", "p.x,1\n0,1\n", "toy.yaml", "goal", 1},
        {"metric: {name: acc, goal: maximize}\nmax_resource: 0\nparameters: {x: {min: 0.0, max: 1.0}}\n", "p.x,1\n0,1\n", "toy.yaml", "1..", 2},
        {"metric: {name: acc, goal: maximize}\nmax_resource: 1\nparameters: {x: {low: 0.0, max: 1.0}}\n", "p.x,1\n0,1\n", "toy.yaml", "low", 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rb_arena arena = {0};
        struct rb_blackbox t = {0};
        struct rb_err err = {0};
        assert_false(rb_blackbox_parse("toy.yaml", cases[i].family, strlen(cases[i].family), "toy_1.csv", cases[i].rows,
                                       strlen(cases[i].rows), &arena, &t, &err));
        RB_AUTO(rb_buf_finish) struct rb_buf whole = RB_BUF_INIT;
        rb_buf_printf(&whole, "%s %s", err.key, err.message);
        if (!strstr(rb_buf_str(&whole), cases[i].says) || strcmp(err.file, cases[i].file) != 0 || err.line != cases[i].line)
            fail_msg("case %zu: %s:%d: %s", i, err.file, err.line, rb_buf_str(&whole));
        rb_blackbox_finish(&t);
        rb_arena_finish(&arena);
    }
}

// ---- runs

#define N_RUNS 16

struct seen {
    const struct rb_blackbox *table;
    int row_of[N_RUNS][N_ROWS + 1], n_suggested[N_RUNS];
    int64_t last_report_us[N_RUNS][N_ROWS + 1];
    int n_wrong[N_RUNS]; // asserted afterwards: a failure must not leave a thread of the runs
};

static int row_with(const struct rb_blackbox *t, const struct rb_value *values, const bool *taken)
{
    for (int row = 0; row < t->n_rows; row++) {
        const struct rb_value *of_row = rb_blackbox_values(t, row);
        bool same = !taken[row];
        for (int i = 0; i < t->space.n_params; i++)
            same = same && (values[i].kind == RB_VALUE_ABSENT ? of_row[i].kind == RB_VALUE_ABSENT
                                                              : rb_value_equal(&values[i], &of_row[i]));
        if (same)
            return row;
    }
    return -1;
}

// A trial has a row's values to the bit, which no other trial has; it reports that row's metrics, as many seconds apart.
static void observe(void *ctx, uint32_t replicate, const struct rb_engine *e, const struct rb_event *event,
                    const struct rb_actions *actions)
{
    struct seen *s = ctx;
    (void)actions;
    if (event->kind == RB_EVENT_SUGGESTED && event->n_values > 0) {
        bool taken[N_ROWS] = {false};
        for (int i = 0; i < s->n_suggested[replicate]; i++)
            taken[s->row_of[replicate][i]] = true;
        const int row = row_with(s->table, rb_engine_trial(e, event->trial)->values, taken);
        s->n_wrong[replicate] += row < 0 || event->trial != s->n_suggested[replicate];
        s->row_of[replicate][s->n_suggested[replicate]++] = row;
    }
    if (event->kind != RB_EVENT_REPORT)
        return;
    const int row = s->row_of[replicate][event->trial];
    const double expected = rb_blackbox_metric(s->table, row, event->resource);
    // The twins 0 and 5 have the same values; which of them it is shows in the metric.
    if (row != 0 && row != 5)
        s->n_wrong[replicate] += isnan(expected) ? !isnan(event->metric) : event->metric != expected;
    if (event->resource == 4) // of a start that began at 2, or at 0
        s->n_wrong[replicate] +=
            event->time_us - s->last_report_us[replicate][event->trial] != (int64_t)(s->table->unit_s[row] * 1e6);
    s->last_report_us[replicate][event->trial] = event->time_us;
}

struct played {
    struct rb_blackbox_outcome outcomes[N_RUNS];
    struct rb_world_result results[N_RUNS];
    struct seen seen;
};

static void make_asha(struct small_scenario *s, int n_trials)
{
    static const int ends[] = {1, 2, 4};
    for (int i = 0, n = n_trials; i < 3; i++, n /= 2) {
        s->p.nodes[i][0] = (struct rb_plan_nodes){.offer = SMALL, .count = 1};
        s->p.stages[i].trials = n > 0 ? n : 1;
        s->p.stages[i].resource_end = ends[i];
    }
    s->p.job.scheduler = (struct rb_scheduler){.type = "asha", .num_trials = n_trials, .max_resource = 4, .brackets = 1};
}

static void play(const struct rb_blackbox *t, const char *tuner, const char *sampler, int n_trials, int threads,
                 struct played *out)
{
    struct small_scenario s;
    struct rb_err err;
    *out = (struct played){.seen = {.table = t}};
    small_scenario_make(&s);
    if (strcmp(tuner, "asha") == 0)
        make_asha(&s, n_trials);
    else
        small_scenario_one_stage(&s, n_trials, 4, 1);
    s.p.job.scheduler.sampler.type = sampler;
    s.p.job.scheduler.min_resource = 1;
    s.p.job.scheduler.eta = 2;
    s.p.job.goal = RB_GOAL_MAXIMIZE;
    s.p.job.space = t->space;
    small_scenario_compile(&s, 1);
    struct rb_blackbox_runs box = {.table = t, .scenario = &s.scenario, .outcomes = out->outcomes};
    struct rb_world_runs runs = {.samples = N_RUNS, .threads = threads, .deadline_us = -1, .budget_uusd = -1,
                                 .observe = observe, .observe_ctx = &out->seen};
    rb_blackbox_play(&box, &runs);
    if (!rb_world_replicates(&s.scenario, &s.p.plan, &runs, out->results, NULL, &err))
        fail_msg("%s: %s", sampler, err.message);
    for (int r = 0; r < N_RUNS; r++)
        assert_int_equal(out->seen.n_wrong[r], 0);
    small_scenario_finish(&s);
}

static void forget(struct played *p)
{
    for (int i = 0; i < N_RUNS; i++)
        rb_blackbox_outcome_finish(&p->outcomes[i]);
}

static void trials_have_rows_and_no_row_twice(void **state)
{
    (void)state;
    static const char *const samplers[] = {"random", "sobol", "tpe", "gp"};
    struct rb_arena arena = {0};
    struct rb_blackbox t = {0};
    struct played p;
    parse(family, rows, &arena, &t);
    for (size_t i = 0; i < sizeof samplers / sizeof samplers[0]; i++) {
        bool differ = false;
        play(&t, "asha", samplers[i], N_ROWS, 1, &p);
        for (int r = 0; r < N_RUNS; r++) {
            assert_int_equal(p.outcomes[r].n_rows, N_ROWS);
            assert_int_equal(p.seen.n_suggested[r], N_ROWS);
            assert_false(p.outcomes[r].ran_out);
            differ = differ || memcmp(p.seen.row_of[r], p.seen.row_of[0], sizeof p.seen.row_of[r]) != 0;
        }
        assert_true(differ); // replicates draw for themselves
        forget(&p);
    }
    rb_blackbox_finish(&t);
    rb_arena_finish(&arena);
}

// All rows are tried; the best report is that of row 3 at R if it got there, and each step is better than the one before.
static void a_run_without_free_rows_ends(void **state)
{
    (void)state;
    struct rb_arena arena = {0};
    struct rb_blackbox t = {0};
    struct played p;
    parse(family, rows, &arena, &t);
    play(&t, "asha", "random", N_ROWS + 5, 1, &p);
    for (int r = 0; r < N_RUNS; r++) {
        const struct rb_blackbox_outcome *o = &p.outcomes[r];
        assert_true(o->ran_out);
        assert_int_equal(o->n_rows, N_ROWS);
        assert_true(o->n_steps >= 1 && p.results[r].n_trained == N_ROWS);
        for (int i = 1; i < o->n_steps; i++)
            assert_true(o->steps[i].best > o->steps[i - 1].best && o->steps[i].cost_uusd >= o->steps[i - 1].cost_uusd);
        const double best = o->steps[o->n_steps - 1].best;
        assert_true(best <= 0.9); // never .97
        assert_true(rb_blackbox_outcome_regret(&t, o) == rb_blackbox_regret(&t, best));
        assert_true(rb_blackbox_outcome_regret_at(&t, o, o->steps[0].cost_uusd - 1) == 1);
        assert_true(rb_blackbox_outcome_regret_at(&t, o, o->steps[0].cost_uusd) == rb_blackbox_regret(&t, o->steps[0].best));
    }
    forget(&p);
    rb_blackbox_finish(&t);
    rb_arena_finish(&arena);
}

struct result {
    double at_s, metric;
};

static int by_time(const void *a, const void *b)
{
    const struct result *x = a, *y = b;
    return x->at_s < y->at_s ? -1 : x->at_s > y->at_s;
}

// All rows to R on two GPUs that are ready at 15 s: 2 s to start, 4 units, 1 s to save; the node costs 1000 micro-dollars a
// second from 5 s on, for a minute at least. Nothing of this comes from the engine but the order of the rows.
static void dollars_of_every_better_result(void **state)
{
    (void)state;
    struct rb_arena arena = {0};
    struct rb_blackbox t = {0};
    struct played p;
    parse(family, rows, &arena, &t);
    play(&t, "random", "random", N_ROWS, 2, &p);
    for (int r = 0; r < N_RUNS; r++) {
        struct result results[N_ROWS];
        double free_s[2] = {15, 15}, best = -INFINITY;
        int n = 0;
        for (int i = 0; i < N_ROWS; i++) {
            double *gpu = free_s[1] < free_s[0] ? &free_s[1] : &free_s[0];
            const int row = p.seen.row_of[r][i];
            results[i] = (struct result){*gpu + 2 + 4 * t.unit_s[row], rb_blackbox_metric(&t, row, 4)};
            *gpu = results[i].at_s + 1;
        }
        qsort(results, N_ROWS, sizeof *results, by_time);
        for (int i = 0; i < N_ROWS; i++) {
            if (!(results[i].metric > best))
                continue;
            best = results[i].metric;
            assert_true(n < p.outcomes[r].n_steps);
            assert_true(p.outcomes[r].steps[n].best == best);
            assert_int_equal(p.outcomes[r].steps[n++].cost_uusd, (int64_t)(fmax(60, results[i].at_s - 5) * 1000 + 0.5));
        }
        assert_int_equal(n, p.outcomes[r].n_steps);
    }
    forget(&p);
    rb_blackbox_finish(&t);
    rb_arena_finish(&arena);
}

static void threads_change_nothing(void **state)
{
    (void)state;
    struct rb_arena arena = {0};
    struct rb_blackbox t = {0};
    struct played one, two;
    parse(family, rows, &arena, &t);
    play(&t, "asha", "tpe", N_ROWS, 1, &one);
    play(&t, "asha", "tpe", N_ROWS, 2, &two);
    assert_memory_equal(one.results, two.results, sizeof one.results);
    assert_memory_equal(&one.seen, &two.seen, sizeof one.seen);
    for (int r = 0; r < N_RUNS; r++) {
        assert_int_equal(one.outcomes[r].n_steps, two.outcomes[r].n_steps);
        assert_memory_equal(one.outcomes[r].steps, two.outcomes[r].steps,
                            (size_t)one.outcomes[r].n_steps * sizeof *one.outcomes[r].steps);
    }
    forget(&one);
    forget(&two);
    rb_blackbox_finish(&t);
    rb_arena_finish(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_nearest_row_that_is_free),
        cmocka_unit_test(regret_by_hand),
        cmocka_unit_test(files_plain_and_compressed),
        cmocka_unit_test(bad_tables_are_refused_with_their_place),
        cmocka_unit_test(trials_have_rows_and_no_row_twice),
        cmocka_unit_test(a_run_without_free_rows_ends),
        cmocka_unit_test(dollars_of_every_better_result),
        cmocka_unit_test(threads_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
