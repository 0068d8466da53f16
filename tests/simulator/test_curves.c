// Learning curves from files, and the synthetic family with other parameters.
#include "simulator/forecast/curves.h"

#include "base/file.h"
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/rb-curves-XXXXXX";

static const char *put(struct rb_arena *arena, const char *name, const char *text)
{
    struct rb_err err;
    const char *path = rb_arena_printf(arena, "%s/%s", folder, name);
    if (!rb_write_file(path, text, strlen(text), &err))
        fail_msg("%s", err.message);
    return path;
}

static void open_curves(const char *spec, struct rb_arena *arena, struct rb_curves *out)
{
    struct rb_err err;
    if (!rb_curves_open(spec, 7, RB_GOAL_MAXIMIZE, arena, out, &err))
        fail_msg("%s", err.message);
}

static void refused(struct rb_arena *arena, const char *spec, const char *expected)
{
    struct rb_err err = {0};
    struct rb_curves c;
    assert_false(rb_curves_open(spec, 7, RB_GOAL_MAXIMIZE, arena, &c, &err));
    if (!strstr(err.message, expected))
        fail_msg("got \"%s\", expected \"%s\"", err.message, expected);
}

static void is(double got, double expected)
{
    if (!(fabs(got - expected) < 1e-12))
        fail_msg("got %.17g, expected %.17g", got, expected);
}

static void a_row_is_a_unit_unless_it_says_its_resource(void **state)
{
    (void)state;
    struct rb_arena arena;
    struct rb_curves c;
    rb_arena_init(&arena);
    open_curves(put(&arena, "rows.csv", "progress,iteration,metric\n391.0,390,0.4\n782.0,781,0.6\n"), &arena, &c);
    is(rb_curves_metric(&c, 0, 3, 1), 0.4);
    is(rb_curves_metric(&c, 0, 3, 2), 0.6);
    is(rb_curves_metric(&c, 0, 3, 9), 0.6); // beyond its end it stays
    assert_int_equal(c.shortest, 2);
    open_curves(put(&arena, "resource.csv", "resource,metric\n10,1.0\n20,2.0\n40,1.0\n"), &arena, &c);
    is(rb_curves_metric(&c, 0, 0, 1), 1);
    is(rb_curves_metric(&c, 0, 0, 15), 1.5);
    is(rb_curves_metric(&c, 0, 0, 20), 2);
    is(rb_curves_metric(&c, 0, 0, 35), 1.25);
    rb_arena_finish(&arena);
}

// Which curve a trial has depends on seed, replicate and trial alone, and every curve is somebody's.
static void the_seed_chooses_among_curves(void **state)
{
    (void)state;
    struct rb_arena arena;
    struct rb_curves c, again;
    int n[3] = {0}, n_moved = 0;
    rb_arena_init(&arena);
    const char *path = put(&arena, "three.csv", "trial,resource,metric\na,1,0\nb,1,1\nc,1,2\nc,5,2\n");
    open_curves(path, &arena, &c);
    open_curves(path, &arena, &again);
    assert_int_equal(c.n, 3);
    for (int trial = 0; trial < 300; trial++) {
        const double metric = rb_curves_metric(&c, 1, trial, 4);
        is(rb_curves_metric(&again, 1, trial, 4), metric);
        n[(int)metric]++;
        n_moved += fabs(rb_curves_metric(&c, 2, trial, 4) - metric) > 0.5;
    }
    for (int i = 0; i < 3; i++)
        assert_true(n[i] > 60 && n[i] < 140);
    assert_true(n_moved > 150);
    rb_arena_finish(&arena);
}

// A trial that reports a resource again has started again from below it: what it says last counts.
static void reports_of_a_run_are_curves(void **state)
{
    (void)state;
    struct rb_arena arena;
    struct rb_curves c;
    rb_arena_init(&arena);
    open_curves(put(&arena, "events.jsonl",
                    "{\"time_us\":0,\"event\":\"start\"}\n"
                    "{\"time_us\":5,\"event\":\"report\",\"trial\":4,\"attempt\":0,\"resource\":1,\"metric\":0.25}\n"
                    "{\"time_us\":6,\"event\":\"report\",\"trial\":4,\"attempt\":0,\"resource\":2,\"metric\":0.5}\n"
                    "{\"time_us\":7,\"event\":\"report\",\"trial\":2,\"attempt\":0,\"resource\":1,\"metric\":\"nan\"}\n"
                    "{\"time_us\":8,\"event\":\"report\",\"trial\":4,\"attempt\":1,\"resource\":2,\"metric\":0.75}\n"),
                &arena, &c);
    assert_int_equal(c.n, 1);
    is(rb_curves_metric(&c, 0, 11, 1), 0.25);
    is(rb_curves_metric(&c, 0, 11, 2), 0.75);
    rb_arena_finish(&arena);
}

static void a_directory_is_read_by_name(void **state)
{
    (void)state;
    struct rb_arena arena;
    struct rb_curves c;
    rb_arena_init(&arena);
    assert_int_equal(mkdir(rb_arena_printf(&arena, "%s/several", folder), 0700), 0);
    put(&arena, "several/b.csv", "metric\n2\n");
    put(&arena, "several/a.csv", "metric\n1\n3\n");
    put(&arena, "several/notes.txt", "no curve\n");
    open_curves(rb_arena_printf(&arena, "%s/several", folder), &arena, &c);
    assert_int_equal(c.n, 2);
    is(c.points[0].metric[0], 1);
    is(c.points[1].metric[0], 2);
    assert_int_equal(c.shortest, 1);
    rb_arena_finish(&arena);
}

static void what_is_no_curve_is_refused(void **state)
{
    (void)state;
    struct rb_arena arena;
    rb_arena_init(&arena);
    refused(&arena, put(&arena, "none.csv", "loss\n1\n"), "expected a column `metric`");
    refused(&arena, put(&arena, "empty.csv", "metric\n"), "at least one row");
    refused(&arena, put(&arena, "mixed.csv", "trial,metric\n1,1\n"), "expected a column `resource`");
    refused(&arena, put(&arena, "falls.csv", "resource,metric\n2,1\n1,1\n"), "expected more than 2");
    refused(&arena, put(&arena, "text.csv", "metric\nhigh\n"), "number");
    refused(&arena, put(&arena, "quiet.jsonl", "{\"time_us\":0,\"event\":\"start\"}\n"), "no event says");
    refused(&arena, put(&arena, "bad.jsonl", "{\"time_us\":0,\n"), "line 1");
    refused(&arena, put(&arena, "report.json", "{}"), "events.jsonl");
    refused(&arena, folder, "line 1 of the file"); // bad.jsonl comes first
    refused(&arena, "synthetic:b0", "expected b0, b1, b2 or noise");
    refused(&arena, "synthetic:b0=-1", "expected b0, b1, b2 or noise");
    rb_arena_finish(&arena);
}

static void the_family_takes_parameters(void **state)
{
    (void)state;
    struct rb_arena arena;
    struct rb_curves c;
    rb_arena_init(&arena);
    open_curves(NULL, &arena, &c);
    for (int trial = 0; trial < 20; trial++)
        is(rb_curves_metric(&c, 3, trial, 8), rb_synthetic_curve(7, 3, RB_GOAL_MAXIMIZE, trial, 8));
    open_curves("synthetic:b0=0,b1=0,b2=0,noise=0", &arena, &c);
    is(rb_curves_metric(&c, 0, 5, 100), 0); // loss 1 / 0.5
    open_curves("synthetic:b1=0,b2=0,noise=0", &arena, &c);
    assert_true(rb_curves_metric(&c, 0, 5, 100) > 0);
    rb_arena_finish(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_is_a_unit_unless_it_says_its_resource),
        cmocka_unit_test(the_seed_chooses_among_curves),
        cmocka_unit_test(reports_of_a_run_are_curves),
        cmocka_unit_test(a_directory_is_read_by_name),
        cmocka_unit_test(what_is_no_curve_is_refused),
        cmocka_unit_test(the_family_takes_parameters),
    };
    if (!mkdtemp(folder))
        return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command) == 0 ? failed : 1;
}
