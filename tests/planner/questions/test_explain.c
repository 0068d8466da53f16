// What --explain says: every candidate once, clusters that differ in size only in one line, the reason of each end.
#include "case.h"

#include "planner/search/search.h"

#include "base/errors/err.h"

#include <string.h>

#define MOST_LINES 1000

static const char legend[] = "27x1 on 14 g5.xlarge: 27 trials with 1 GPU each on 14 nodes, one stage after the other; "
                             "more: than the best so far";

struct lines {
    char text[MOST_LINES][400];
    int n;
};

static void keep_line(void *ctx, const char *text)
{
    struct lines *lines = ctx;
    assert_true(lines->n < MOST_LINES && strlen(text) < sizeof lines->text[0]);
    strcpy(lines->text[lines->n++], text);
}

struct fixture {
    struct rb_case c;
    struct rb_scenario scenario;
    struct rb_search search;
    struct lines *lines;
};

static void open_search(struct fixture *f)
{
    struct rb_err err = {0};
    struct rb_offer *offers;
    int n;
    case_init(&f->c,
              "name: j\nmetric: {name: a, goal: maximize}\nparameters: {lr: {min: 0.1, max: 0.9}}\n"
              "scheduler: {type: sha, num_trials: 4, min_resource: 1, max_resource: 2, eta: 2}\n"
              "run: python t.py\nresources: {infra: [aws/us-east-1], max_nodes: 9}\n",
              "format: rb-profile/1\nname: p\nunit: epoch\nsource: test\ntraining:\n"
              "  - accelerator: T4\n    base_s: 100\n    layouts:\n      - {gpus: 1, nodes: 1, speedup: 1.0}\n"
              "noise:\n  between: {distribution: constant, mean: 1.0}\n  within: {distribution: constant, mean: 1.0}\n"
              "startup_s: 0.0\ncheckpoint_s: 0.0\nprovisioning:\n"
              "  - {infra: aws, instance_type: \"*\", market: \"*\", queue_s: 0.0, init_s: 0.0,"
              " capacity_failure: 0.0, preemption_per_hour: 0.0}\n",
              "infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour\n"
              "aws/us-east-1,a1,T4,1,16,48,192,on_demand,1.0\naws/us-east-1,b1,T4,1,16,48,192,on_demand,2.0\n");
    f->lines = rb_xcalloc(1, sizeof *f->lines);
    f->c.req.explain = keep_line;
    f->c.req.explain_ctx = f->lines;
    assert_true(rb_planner_offers(&f->c.job, &f->c.catalog, &f->c.arena, &offers, &n, &err));
    assert_true(rb_scenario_init(&f->scenario, &f->c.job, &f->c.profile, offers, n, &f->c.catalog, 1, &err));
    assert_true(rb_search_init(&f->search, &f->c.req, &f->scenario, &err));
}

static void close_search(struct fixture *f)
{
    rb_search_finish(&f->search);
    rb_scenario_finish(&f->scenario);
    case_finish(&f->c);
    rb_auto_free(&f->lines);
}

static struct rb_candidate cluster(int offer, int nodes)
{
    return (struct rb_candidate){.n_stages = 2, .stages = {{offer, 1, nodes}, {offer, 1, nodes}}};
}

static void clusters_share_a_line(void **state)
{
    struct fixture f;
    (void)state;
    open_search(&f);
    for (int nodes = 2; nodes <= 5; nodes++) {
        const struct rb_candidate c = cluster(0, nodes);
        rb_search_explain(&f.search, "static", &c, "costs $%d more", nodes);
    }
    const struct rb_candidate skipped = cluster(0, 7), other = cluster(1, 8), again = cluster(0, 3);
    rb_search_explain(&f.search, "static", &skipped, "costs $%d more", 7);
    rb_search_explain(&f.search, "static", &other, "costs $%d more", 8);
    rb_search_explain(&f.search, "static", &again, "costs $%d more", 99); // said before
    rb_search_explain(&f.search, "naive", &again, "costs $%d more", 1);   // by another planner
    rb_search_note(&f.search, "a note");
    rb_search_explain_rest(&f.search);
    const char *expected[] = {
        legend,
        "static: 2 to 5 a1 throughout: costs $2 more ... costs $5 more",
        "static: 4x1 on 7 a1, 2x1 on 7: costs $7 more",
        "static: 4x1 on 8 b1, 2x1 on 8: costs $8 more",
        "naive: 4x1 on 3 a1, 2x1 on 3: costs $1 more",
        "a note",
    };
    assert_int_equal(f.lines->n, 6);
    for (int i = 0; i < 6; i++)
        assert_string_equal(f.lines->text[i], expected[i]);
    close_search(&f);
}

static void what_is_beyond_the_cap_is_counted(void **state)
{
    struct fixture f;
    (void)state;
    open_search(&f);
    for (int i = 0; i < 100; i++) {
        struct rb_candidate c = cluster(0, 1);
        c.stages[1].nodes = 2 + i;
        rb_search_explain(&f.search, "greedy", &c, "costs more");
    }
    rb_search_explain_rest(&f.search);
    assert_int_equal(f.lines->n, 1 + 60 + 1);
    assert_string_equal(f.lines->text[61], "and 40 more lines about candidates that lost in the same ways");
    close_search(&f);
}

// Whole plans of random jobs, by every planner: no line twice.
static void nothing_is_said_twice(void **state)
{
    struct lines *lines = rb_xcalloc(1, sizeof *lines);
    (void)state;
    for (uint32_t number = 0; number < 8; number++) {
        struct rb_case c;
        struct rb_plan plan;
        struct rb_plan_result result;
        struct rb_err err = {0};
        case_random(&c, number);
        if (number % 2)
            case_make_uncertain(&c, 0.03);
        assert_true(rb_make_plan(&c.req, "optimal", &c.arena, &plan, &result, &err));
        c.req.deadline_us = plan.estimate.time_us.mean * 9 / 10;
        c.req.explain = keep_line;
        c.req.explain_ctx = lines;
        lines->n = 0;
        if (!rb_make_plan(&c.req, "optimal", &c.arena, &plan, &result, &err))
            assert_int_equal(err.code, RB_ERR_INFEASIBLE);
        assert_true(lines->n > 1);
        for (int i = 0; i < lines->n; i++) {
            for (int k = 0; k < i; k++)
                assert_string_not_equal(lines->text[i], lines->text[k]);
        }
        case_finish(&c);
    }
    rb_auto_free(&lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clusters_share_a_line),
        cmocka_unit_test(what_is_beyond_the_cap_is_counted),
        cmocka_unit_test(nothing_is_said_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
