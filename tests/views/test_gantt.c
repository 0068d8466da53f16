// The picture of a run: what is on it, where, and that any name can be written on it.
#include "views/tables/gantt.h"

#include "base/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct rb_gantt_node nodes[] = {
    {.name = "two.gpus",
     .gpus = 2,
     .requested_us = 0,
     .running_us = 1000000,
     .ready_us = 2000000,
     .ended_us = 10000000},
    {.name = "1  <&\">",
     .gpus = 4,
     .requested_us = 0,
     .running_us = 1000000,
     .ready_us = -1,
     .ended_us = 5000000,
     .lost = true},
};

static struct rb_gantt small_run(const struct rb_gantt_bar *bars, int n_bars)
{
    static const struct rb_gantt_line lines[] = {{4000000, "", false}, {8000000, "deadline", true}};
    return (struct rb_gantt){.title = "job: asha",
                             .subtitle = "10 s",
                             .what = "trial",
                             .unit = "epoch",
                             .n_levels = 3,
                             .nodes = nodes,
                             .n_nodes = 2,
                             .bars = bars,
                             .n_bars = n_bars,
                             .lines = lines,
                             .n_lines = 2,
                             .end_us = 10000000};
}

static int count(const struct rb_buf *text, const char *part)
{
    int n = 0;
    for (const char *at = rb_buf_str(text); (at = strstr(at, part)); at += strlen(part))
        n++;
    return n;
}

// x and width of the rectangle that holds the title of this trial.
static void place_of(const struct rb_buf *svg, const char *title, double *out_x, double *out_width)
{
    const char *at = strstr(rb_buf_str(svg), title);
    assert_non_null(at);
    while (strncmp(at, "<rect x=\"", 9) != 0)
        at--;
    *out_x = strtod(at + 9, NULL);
    *out_width = strtod(strstr(at, "width=\"") + 7, NULL);
}

static void bars_lie_where_and_when_trials_ran(void **state)
{
    (void)state;
    const struct rb_gantt_bar bars[] = {
        {.node = 0, .gpus = 1, .trial = 3, .level = 0, .start_us = 2000000, .end_us = 4000000, .resource_end = 1},
        {.node = 0, .gpus = 1, .trial = 4, .level = 2, .start_us = 4000000, .end_us = 8000000, .end = RB_GANTT_STOPPED},
        // Two parts, because its GPUs do not lie side by side.
        {.node = 1, .gpus = 5, .trial = 5, .level = 1, .start_us = 2000000, .end_us = 5000000, .end = RB_GANTT_LOST},
    };
    const struct rb_gantt g = small_run(bars, 3);
    RB_AUTO(rb_buf_finish) struct rb_buf svg = RB_BUF_INIT;
    double x3, width3, x4, width4;
    rb_gantt_write_svg(&g, &svg);
    assert_int_equal(count(&svg, "class=\"bar s"), 2);
    assert_int_equal(count(&svg, "class=\"bar gone s"), 2);
    assert_int_equal(count(&svg, "<title>trial 5, level 1"), 2);
    place_of(&svg, "trial 3, level 0: epoch 0 to 1 on 1 GPU of node 0", &x3, &width3);
    place_of(&svg, "trial 4, level 2", &x4, &width4);
    assert_true(x4 - (x3 + width3) < 0.05 && x4 - (x3 + width3) > -0.05); // one begins where the other ends
    assert_true(width4 / width3 > 1.99 && width4 / width3 < 2.01);        // and takes twice as long
    assert_int_equal(count(&svg, "class=\"boot\""), 3);                   // of both nodes and the legend
    assert_int_equal(count(&svg, "class=\"lost\""), 1);
    assert_int_equal(count(&svg, "class=\"limit\""), 1);
    assert_int_equal(count(&svg, ">deadline<"), 1);
}

static void times_and_the_legend_say_no_more_than_there_is(void **state)
{
    (void)state;
    struct rb_gantt g = small_run(NULL, 0);
    RB_AUTO(rb_buf_finish) struct rb_buf trials = RB_BUF_INIT, jobs = RB_BUF_INIT;
    rb_gantt_write_svg(&g, &trials);
    assert_int_equal(count(&trials, ">5 s<"), 1);
    assert_int_equal(count(&trials, ">stage 0<") + count(&trials, ">stage 1<") + count(&trials, ">stage 2<"), 3);
    assert_int_equal(count(&trials, ">stage 3<") + count(&trials, ">a colour a job"), 0);
    assert_int_equal(count(&trials, ">ends of stages<"), 1);
    g.what = "job";
    g.has_colours = true;
    g.n_lines = 0;
    g.end_us = 7200000000;
    rb_gantt_write_svg(&g, &jobs);
    assert_int_equal(count(&jobs, ">45 m<") + count(&jobs, ">1 h<") + count(&jobs, ">1 h 30 m<"), 3);
    assert_int_equal(count(&jobs, ">a colour a job, stronger the further trained<"), 1);
    assert_int_equal(count(&jobs, ">ends of stages<") + count(&jobs, ">stage 0<"), 0);
}

static void names_are_escaped(void **state)
{
    (void)state;
    struct rb_gantt g = small_run(NULL, 0);
    RB_AUTO(rb_buf_finish) struct rb_buf page = RB_BUF_INIT;
    g.title = "a<script>";
    rb_gantt_write_html(&g, 1, &page);
    assert_int_equal(count(&page, "<script>"), 0);
    assert_int_equal(count(&page, "a&lt;script&gt;"), 3); // of the page, of the picture, and read aloud
    assert_int_equal(count(&page, "1  &lt;&amp;&quot;&gt;"), 1);
    assert_int_equal(count(&page, "http"), 1); // the name of SVG's namespace: nothing is loaded from elsewhere
}

static void several_pictures_make_a_page(void **state)
{
    (void)state;
    const struct rb_gantt g[] = {small_run(NULL, 0), small_run(NULL, 0)};
    RB_AUTO(rb_buf_finish) struct rb_buf page = RB_BUF_INIT;
    rb_gantt_write_html(g, 2, &page);
    assert_int_equal(count(&page, "<svg "), 2);
    assert_int_equal(count(&page, "</html>"), 1);
    assert_int_equal(count(&page, "<style>"), 1);
    assert_int_equal(count(&page, "prefers-color-scheme:dark"), 1);
}

// The palette of views/charts/frame.js, light and dark; a picture in a file is on white.
static void colours_are_those_of_the_other_charts(void **state)
{
    (void)state;
    static const char *const both[][2] = {{"#1b1f24", "#e6e8eb"}, {"#5d6670", "#9aa3ad"}, {"#d9dde2", "#333a43"},
                                          {"#b3261e", "#ff7b72"}, {"#0072b2", "#56b4e9"}, {"#6a717a", "#a0a7b0"}};
    const struct rb_gantt g = small_run(NULL, 0);
    RB_AUTO(rb_buf_finish) struct rb_buf svg = RB_BUF_INIT, page = RB_BUF_INIT;
    rb_gantt_write_svg(&g, &svg);
    rb_gantt_write_html(&g, 1, &page);
    for (size_t i = 0; i < sizeof both / sizeof *both; i++) {
        assert_true(count(&svg, both[i][0]) > 0 && count(&svg, both[i][1]) == 0);
        assert_true(count(&page, both[i][0]) > 0 && count(&page, both[i][1]) > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bars_lie_where_and_when_trials_ran),
        cmocka_unit_test(times_and_the_legend_say_no_more_than_there_is),
        cmocka_unit_test(names_are_escaped),
        cmocka_unit_test(several_pictures_make_a_page),
        cmocka_unit_test(colours_are_those_of_the_other_charts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
