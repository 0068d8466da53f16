// A plan ready to write: what it holds, and that writing and reading it again changes nothing.
#include "case.h"

#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <string.h>

#define STAGE_RUNS 1024 // as in planner/scores/estimator.c

// Not cryptography: the planner only needs some digest of the right shape.
static void toy_digest(const void *bytes, size_t n, char out_hex[65])
{
    const unsigned char *p = bytes;
    uint64_t h = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * UINT64_C(1099511628211);
    snprintf(out_hex, 65, "%016llx%016llx%016llx%016llx", (unsigned long long)h, (unsigned long long)h,
             (unsigned long long)h, (unsigned long long)h);
}

static void sign(struct rb_plan *plan)
{
    struct rb_buf text = RB_BUF_INIT;
    struct rb_json j;
    plan->tool = "test";
    plan->job_path = "job.yaml";
    rb_json_init(&j, &text, false);
    rb_job_write(plan->job, &j);
    toy_digest(rb_buf_str(&text), text.len, plan->job_sha256);
    rb_buf_clear(&text);
    rb_json_init(&j, &text, false);
    rb_profile_write(plan->profile, &j);
    toy_digest(rb_buf_str(&text), text.len, plan->profile_sha256);
    rb_buf_finish(&text);
}

static char *plan_text(const struct rb_plan *plan)
{
    struct rb_buf text = RB_BUF_INIT;
    struct rb_json j;
    rb_json_init(&j, &text, false);
    rb_plan_write(plan, &j);
    return text.data;
}

static void written_plans_read_back(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 20; i++) {
        struct rb_case c;
        struct rb_plan plan, again;
        struct rb_plan_result result;
        struct rb_doc doc;
        struct rb_err err = {0};
        case_random(&c, i);
        assert_true(rb_make_plan(&c.req, "optimal", &c.arena, &plan, &result, &err));
        sign(&plan);
        char *text = plan_text(&plan);
        if (!rb_doc_parse_json(&doc, "plan.json", text, strlen(text), &err) ||
            !rb_plan_read(doc.root, toy_digest, &c.arena, &again, &err))
            fail_msg("%s: %s\n%s", err.key, err.message, text);
        char *text_again = plan_text(&again);
        assert_string_equal(text, text_again);
        free(text);
        free(text_again);
        rb_doc_finish(&doc);
        case_finish(&c);
    }
}

// Means of stages come from STAGE_RUNS runs, whose standard error is that of the plan's own runs, scaled.
static bool is_near(int64_t sum, int64_t mean, int64_t standard_error, const struct rb_estimate *e)
{
    const double of_stages = (double)standard_error * sqrt((double)e->samples / STAGE_RUNS);
    return fabs((double)(sum - mean)) <= 4 * hypot((double)standard_error, of_stages) + 10;
}

static void stages_follow_the_rungs(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 20; i++) {
        struct rb_case c;
        struct rb_plan plan;
        struct rb_plan_result result;
        struct rb_rung_table rungs;
        struct rb_err err = {0};
        case_random(&c, i);
        assert_true(rb_rungs_of_job(&c.job, &rungs, &err));
        assert_true(rb_make_plan(&c.req, "static", &c.arena, &plan, &result, &err));
        assert_int_equal(plan.n_stages, rungs.n);
        int64_t cost = 0, time = 0;
        for (int s = 0; s < rungs.n; s++) {
            assert_int_equal(plan.stages[s].trials, rungs.rungs[s].trials);
            assert_int_equal(plan.stages[s].resource_end, rungs.rungs[s].resource_end);
            assert_true(plan.stages[s].nodes[0].offer < plan.n_offers);
            assert_int_equal(plan.stages[s].nodes[0].count, plan.stages[0].nodes[0].count);
            cost += plan.stages[s].cost_uusd.mean;
            time += plan.stages[s].time_us.mean;
        }
        assert_true(is_near(cost, plan.estimate.cost_uusd.mean, plan.estimate.stderr_.cost_mean_uusd, &plan.estimate));
        assert_true(is_near(time, plan.estimate.time_us.mean, plan.estimate.stderr_.time_mean_us, &plan.estimate));
        case_finish(&c);
    }
}

static void unknown_planner_is_refused(void **state)
{
    struct rb_case c;
    struct rb_plan plan;
    struct rb_plan_result result;
    struct rb_err err = {0};
    (void)state;
    case_random(&c, 1);
    assert_false(rb_make_plan(&c.req, "clever", &c.arena, &plan, &result, &err));
    assert_int_equal(err.code, RB_ERR_INVALID);
    assert_non_null(strstr(err.message, "clever"));
    case_finish(&c);
}

static void node_limit_cuts_and_says_so(void **state)
{
    int n_cut = 0;
    (void)state;
    for (uint32_t i = 0; i < 40; i++) {
        struct rb_case c;
        struct rb_plan plan;
        struct rb_plan_result result;
        struct rb_err err = {0};
        bool warned = false;
        case_random(&c, i);
        c.req.node_limit = 1;
        assert_true(rb_make_plan(&c.req, "optimal", &c.arena, &plan, &result, &err));
        c.req.deadline_us = plan.estimate.time_us.p50; // tight: there is something to search
        if (rb_make_plan(&c.req, "optimal", &c.arena, &plan, &result, &err)) {
            for (int w = 0; w < plan.n_warnings; w++)
                warned = warned || strstr(plan.warnings[w], "search was cut") != NULL;
            assert_int_equal(warned, result.cut);
            n_cut += result.cut;
        }
        case_finish(&c);
    }
    assert_true(n_cut > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_plans_read_back),
        cmocka_unit_test(stages_follow_the_rungs),
        cmocka_unit_test(unknown_planner_is_refused),
        cmocka_unit_test(node_limit_cuts_and_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
