// A run on a screen of any size: never larger than its terminal, and with what counts first.
#include "small_plan.h"

#include "base/document/doc.h"
#include "views/live/run_screen.h"
#include "views/live/terminal.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define FOOTER "q leaves; the run continues"

// Trials 0 and 1 train on node 0, 2 and 3 wait for node 1; 0 has reported.
struct scene {
    struct small_plan p;
    struct rb_engine *engine;
    struct rb_actions actions;
    struct rb_run_screen_node nodes[2];
    struct rb_run_screen_line lines[3];
    struct rb_run_screen screen;
};

static void step(struct scene *s, struct rb_event event)
{
    rb_engine_step(s->engine, &event, &s->actions);
}

static void make(struct scene *s)
{
    struct rb_err err;
    *s = (struct scene){0};
    small_plan_make(&s->p);
    assert_true(rb_engine_create(&s->p.plan, &s->engine, &err));
    step(s, (struct rb_event){.kind = RB_EVENT_START});
    step(s, (struct rb_event){.kind = RB_EVENT_NODE_RUNNING, .time_us = 5 * RB_US_PER_S});
    step(s, (struct rb_event){.kind = RB_EVENT_NODE_READY, .time_us = 15 * RB_US_PER_S});
    step(s, (struct rb_event){
                .kind = RB_EVENT_REPORT, .time_us = 27 * RB_US_PER_S, .trial = 0, .resource = 1, .metric = 0.5});
    s->nodes[0] =
        (struct rb_run_screen_node){0, "i-0001", "aws/us-east-1", "small", "on_demand", "ready", 22000, false};
    s->nodes[1] = (struct rb_run_screen_node){1, "", "aws/us-east-1", "small", "spot", "sent", 0, false};
    s->lines[0] = (struct rb_run_screen_line){15 * RB_US_PER_S, "node 0 is ready"};
    s->lines[1] = (struct rb_run_screen_line){20 * RB_US_PER_S, "fault: \033[2Jhostile\a \xff"};
    s->lines[2] = (struct rb_run_screen_line){27 * RB_US_PER_S, "trial 0: epoch 1, accuracy 0.5"};
    s->screen = (struct rb_run_screen){.run_id = "small-20260101-000000-abcdef",
                                       .state = "running",
                                       .pid = 42,
                                       .plan = &s->p.plan,
                                       .engine = s->engine,
                                       .nodes = s->nodes,
                                       .n_nodes = 2,
                                       .lines = s->lines,
                                       .n_lines = 3};
    rb_progress_of_engine(s->engine, &s->p.plan, &s->screen.progress);
    s->screen.progress.elapsed_us = 30 * RB_US_PER_S;
    s->screen.progress.spent_uusd = 22000;
    rb_progress_set_unknown(&s->screen.progress, "no one asked");
}

static void finish(struct scene *s)
{
    rb_engine_destroy(s->engine);
    rb_actions_finish(&s->actions);
}

static void a_screen_of_24_by_80(void **state)
{
    (void)state;
    struct scene s;
    struct rb_buf out = RB_BUF_INIT;
    make(&s);
    rb_run_screen_write(&s.screen, &(struct rb_text_style){.width = 80}, 24, FOOTER, &out);
    assert_string_equal(rb_buf_str(&out), "small-20260101-000000-abcdef: running, 30 s (executed by process 42)\n"
                                          "stage 0 of 0-2  0/4 trials  accuracy 0.5  1/2 nodes  $0.0220 of ?  ETA ?\n"
                                          "its end is not known: no one asked\n"
                                          "\n"
                                          "stage  trials                          trained to    time  planned\n"
                                          "    0     0/4  [#####...............]           1  30.0 s      0 s\n"
                                          "    1     0/2  [....................]           2       -      0 s\n"
                                          "    2     0/1  [....................]           4       -      0 s\n"
                                          "\n"
                                          "trial  state    trained  accuracy        node  restarts\n"
                                          "    0  running        1       0.5  best     0         0\n"
                                          "    1  running        0         -           0         0\n"
                                          "    2  waiting        0         -           -         0\n"
                                          "    3  waiting        0         -           -         0\n"
                                          "\n"
                                          "node  instance  type          infra          state     cost\n"
                                          "   0  i-0001    small         aws/us-east-1  ready  $0.0220\n"
                                          "   1  -         small (spot)  aws/us-east-1  sent     $0.00\n"
                                          "\n"
                                          "last events\n"
                                          "     27.0 s  trial 0: epoch 1, accuracy 0.5\n"
                                          "     20.0 s  fault: ?[2Jhostile? ?\n"
                                          "     15.0 s  node 0 is ready\n" FOOTER);
    rb_buf_finish(&out);
    finish(&s);
}

// A sampler proposed trial 0, and another program why; trial 1 waits for its configuration.
static void why_a_trial_has_its_configuration_comes_last(void **state)
{
    (void)state;
    static const struct rb_param param = {.name = "lr", .kind = RB_PARAM_UNIFORM, .min = 0, .max = 1};
    struct rb_named_value lr = {"lr", {.kind = RB_VALUE_FLOAT, .number = 0.5}};
    struct scene s = {0};
    struct rb_buf out = RB_BUF_INIT;
    struct rb_err err;
    make(&s);
    rb_engine_destroy(s.engine);
    s.p.job.space = (struct rb_space){&param, 1};
    s.p.job.scheduler.sampler.type = "tpe";
    assert_true(rb_engine_create(&s.p.plan, &s.engine, &err));
    s.screen.engine = s.engine;
    step(&s, (struct rb_event){.kind = RB_EVENT_START});
    step(&s, (struct rb_event){.kind = RB_EVENT_NODE_RUNNING, .time_us = 5 * RB_US_PER_S});
    step(&s, (struct rb_event){.kind = RB_EVENT_NODE_READY, .time_us = 15 * RB_US_PER_S});
    step(&s, (struct rb_event){.kind = RB_EVENT_SUGGESTED, .time_us = 16 * RB_US_PER_S, .values = &lr, .n_values = 1,
                               .origin = "tpe", .because = "as\033[2J\ndense"});
    rb_run_screen_block(&s.screen, &(struct rb_text_style){0}, &out);
    assert_non_null(strstr(rb_buf_str(&out), "restarts  suggested because\n"));
    assert_non_null(strstr(rb_buf_str(&out), "0         0  tpe: as?[2J?dense\n"));
    assert_non_null(strstr(rb_buf_str(&out), "0         0  -\n"));
    rb_buf_finish(&out);
    rb_run_screen_block(&s.screen, &(struct rb_text_style){.width = 60}, &out);
    assert_null(strstr(rb_buf_str(&out), "suggested"));
    rb_buf_finish(&out);
    finish(&s);
}

static void check_size(const char *text, int width, int height)
{
    int lines = 1;
    for (const char *p = text; *p;) {
        const size_t n = strcspn(p, "\n");
        char line[512];
        assert_true(n < sizeof line);
        memcpy(line, p, n);
        line[n] = '\0';
        assert_true(rb_text_columns(line) <= width);
        p += n;
        lines += *p == '\n';
        p += *p == '\n';
    }
    assert_true(lines <= height);
}

static void no_terminal_is_too_small(void **state)
{
    (void)state;
    struct scene s;
    make(&s);
    for (int height = 1; height < 40; height++) {
        for (int width = 1; width < 130; width++) {
            struct rb_buf out = RB_BUF_INIT;
            rb_run_screen_write(&s.screen, &(struct rb_text_style){.width = width}, height, FOOTER, &out);
            check_size(rb_buf_str(&out), width, height);
            const char *last = strrchr(rb_buf_str(&out), '\n');
            assert_int_equal(strncmp(last ? last + 1 : rb_buf_str(&out), FOOTER, (size_t)(width < 25 ? width : 25)), 0);
            rb_buf_finish(&out);
        }
    }
    finish(&s);
}

static void a_block_leaves_nothing_out(void **state)
{
    (void)state;
    struct scene s;
    struct rb_buf out = RB_BUF_INIT;
    make(&s);
    rb_run_screen_block(&s.screen, &(struct rb_text_style){0}, &out);
    assert_null(strstr(rb_buf_str(&out), " more "));
    assert_non_null(strstr(rb_buf_str(&out), "\n    3  waiting "));
    assert_null(strchr(rb_buf_str(&out), '\033'));
    rb_buf_finish(&out);
    rb_run_screen_block(&s.screen, &(struct rb_text_style){.colour = true}, &out);
    assert_non_null(strstr(rb_buf_str(&out), "\033[1mtrial  state"));
    assert_non_null(strstr(rb_buf_str(&out), "\033[1msmall-2026"));
    rb_buf_clear(&out);
    s.screen.state = "incomplete";
    s.screen.pid = 0;
    rb_run_screen_block(&s.screen, &(struct rb_text_style){.colour = true}, &out);
    assert_non_null(strstr(rb_buf_str(&out),
                           "\033[1;31msmall-20260101-000000-abcdef: incomplete, no trial was trained to the end"));
    rb_buf_finish(&out);
    finish(&s);
}

static void a_slow_run_says_so(void **state)
{
    (void)state;
    struct scene s;
    struct rb_buf out = RB_BUF_INIT;
    make(&s);
    s.screen.progress.why_unknown = NULL;
    s.screen.progress.pace = 1.31;
    s.screen.progress.pace_low = 1.26;
    s.screen.progress.pace_high = 1.36;
    rb_run_screen_summary(&s.screen, &(struct rb_text_style){0}, &out);
    assert_non_null(strstr(rb_buf_str(&out), "\ntraining is 31 % slower than the profile says (26 to 36 %)\n"));
    rb_buf_clear(&out);
    s.screen.progress.pace = 0.88;
    s.screen.progress.pace_low = 0.85;
    s.screen.progress.pace_high = 0.92;
    rb_run_screen_summary(&s.screen, &(struct rb_text_style){0}, &out);
    assert_non_null(strstr(rb_buf_str(&out), "\ntraining is 12 % faster than the profile says (8 to 15 %)\n"));
    rb_buf_clear(&out);
    s.screen.progress.pace_high = 1.01; // it may be as planned
    rb_run_screen_summary(&s.screen, &(struct rb_text_style){0}, &out);
    assert_null(strstr(rb_buf_str(&out), "training is"));
    rb_buf_clear(&out);
    s.screen.progress.foreseen_if = "no one decides otherwise";
    rb_run_screen_summary(&s.screen, &(struct rb_text_style){0}, &out);
    assert_non_null(strstr(rb_buf_str(&out), "\nthis is how it will end if no one decides otherwise\n"));
    rb_buf_finish(&out);
    finish(&s);
}

// The end of the run has paused them all where they were: at epoch 1 of 1, and not begun.
static void who_was_stopped_midway_is_not_through(void **state)
{
    (void)state;
    struct scene s;
    struct rb_buf out = RB_BUF_INIT;
    make(&s);
    step(&s, (struct rb_event){.kind = RB_EVENT_STOP, .time_us = 30 * RB_US_PER_S, .reason = RB_STOP_USER});
    rb_progress_of_engine(s.engine, &s.p.plan, &s.screen.progress);
    rb_run_screen_block(&s.screen, &(struct rb_text_style){.width = 80}, &out);
    assert_non_null(strstr(rb_buf_str(&out), "stage 0 of 0-2  1/4 trials"));
    assert_non_null(strstr(rb_buf_str(&out), "    0     1/4  [#####...............]"));
    rb_buf_finish(&out);
    finish(&s);
}

static void unknown_is_null_in_json(void **state)
{
    (void)state;
    struct scene s;
    struct rb_buf out = RB_BUF_INIT;
    struct rb_json j;
    make(&s);
    s.screen.pid = 0;
    rb_json_init(&j, &out, false);
    rb_run_screen_json(&s.screen, &j);
    assert_non_null(strstr(rb_buf_str(&out), "\"process\":null"));
    assert_non_null(strstr(rb_buf_str(&out), "\"end_p50_us\":null,\"end_p95_us\":null,\"p_on_time\":null"));
    assert_non_null(strstr(rb_buf_str(&out), "\"trial\":1,\"state\":\"running\",\"resource\":0,\"metric\":null"));
    assert_non_null(strstr(rb_buf_str(&out), "\"node\":1,\"id\":null"));
    rb_buf_finish(&out);
    finish(&s);
}

// Nothing is left of the screen before, nothing scrolls.
// Jobs in place of stages and trials, which a pool's own run only pretends to have.
static void a_pool_shows_its_jobs(void **state)
{
    (void)state;
    struct scene s;
    struct rb_buf out = RB_BUF_INIT;
    struct rb_json j;
    const struct rb_pool_progress pool = {.jobs = 2,
                                          .n_training = 1,
                                          .n_to_come = 1,
                                          .nodes = 2,
                                          .nodes_ready = 1,
                                          .spent_uusd = 22000,
                                          .budget_uusd = -1,
                                          .end_us = -1,
                                          .why_unknown = "jobs are to come"};
    make(&s);
    struct rb_progress job = s.screen.progress;
    job.nodes = 1;
    job.best_trial = 0;
    job.best_metric = 0.5;
    const struct rb_run_screen_job jobs[] = {
        {"wide", "running", "wide-run", 0, &job, 2, 22000, -1},
        {"/home/ann/deep.yaml", "to come", NULL, 60 * RB_US_PER_S, NULL, 0, -1, 3600 * RB_US_PER_S}};
    s.screen.pool = &pool;
    s.screen.jobs = jobs;
    s.screen.n_jobs = 2;
    s.screen.n_lines = 0;
    rb_run_screen_block(&s.screen, &(struct rb_text_style){.width = 100}, &out);
    assert_string_equal(rb_buf_str(&out),
                        "small-20260101-000000-abcdef: running, 30 s (executed by process 42)\n"
                        "0/2 jobs  1 training, 1 to come  1/2 nodes  $0.0220  ETA ? (jobs are to come)\n"
                        "\n"
                        "job        state             nodes  GPUs    time  deadline     cost  best          run\n"
                        "wide       running               1     2  30.0 s         -  $0.0220  accuracy 0.5  wide-run\n"
                        "deep.yaml  comes at 1 m 0 s      -     -       -   1 h 0 m        -  -             -\n"
                        "\n"
                        "node  instance  type          infra          state     cost\n"
                        "   0  i-0001    small         aws/us-east-1  ready  $0.0220\n"
                        "   1  -         small (spot)  aws/us-east-1  sent     $0.00\n");
    rb_buf_clear(&out);
    rb_json_init(&j, &out, false);
    rb_run_screen_json(&s.screen, &j);
    assert_non_null(strstr(rb_buf_str(&out),
                           "\"jobs\":[{\"job\":\"wide\",\"run\":\"wide-run\",\"state\":\"running\",\"arrives_us\":0,"
                           "\"nodes\":1,\"gpus\":2,\"elapsed_us\":30000000,\"deadline_us\":null,\"end_p50_us\":null,"
                           "\"spent_uusd\":22000},{\"job\":\"/home/ann/deep.yaml\",\"run\":null,"));
    rb_buf_finish(&out);
    finish(&s);
}

static void painting_wipes_and_does_not_scroll(void **state)
{
    (void)state;
    struct rb_buf out = RB_BUF_INIT;
    rb_terminal_paint("one\ntwo\nthree", 2, &out);
    assert_string_equal(rb_buf_str(&out), "\033[Hone\033[K\r\ntwo\033[K\033[J");
    rb_buf_clear(&out);
    rb_terminal_paint("one\n", 2, &out);
    assert_string_equal(rb_buf_str(&out), "\033[Hone\033[K\033[J");
    rb_buf_finish(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_screen_of_24_by_80),
        cmocka_unit_test(why_a_trial_has_its_configuration_comes_last),
        cmocka_unit_test(no_terminal_is_too_small),
        cmocka_unit_test(a_block_leaves_nothing_out),
        cmocka_unit_test(a_slow_run_says_so),
        cmocka_unit_test(who_was_stopped_midway_is_not_through),
        cmocka_unit_test(unknown_is_null_in_json),
        cmocka_unit_test(a_pool_shows_its_jobs),
        cmocka_unit_test(painting_wipes_and_does_not_scroll),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
