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

// Eight trials of ten minutes at $3.60 an hour a GPU. Where machines go at once, eight cost as much as one and are the
// fastest; where each stays for ten minutes more, $0.60 of it, the fewest that keep the deadline are the cheapest.
static struct rb_plan plan_with_release(struct rb_case *c, const char *release_s, const char *kubernetes)
{
    struct rb_buf job = RB_BUF_INIT, profile = RB_BUF_INIT;
    struct rb_plan plan;
    struct rb_plan_result result;
    struct rb_err err = {0};
    rb_buf_printf(&job,
                  "name: j\nmetric: {name: a, goal: maximize}\nparameters: {lr: {min: 0.1, max: 0.9}}\n"
                  "scheduler: {type: sha, num_trials: 8, min_resource: 10, max_resource: 10, eta: 2}\n"
                  "run: python t.py\ntrial: {gpus: 1}\ndeadline: 45m\nresources: {infra: k8s/lab, max_nodes: 8%s}\n",
                  kubernetes);
    rb_buf_printf(&profile,
                  "format: rb-profile/1\nname: p\nexact: true\n"
                  "training: [{accelerator: T4, base_s: 60, layouts: [{gpus: 1, nodes: 1, speedup: 1}]}]\n"
                  "noise: {between: 1, within: 1}\nstartup_s: 0\ncheckpoint_s: 0\n"
                  "provisioning: [{infra: k8s, instance_type: '*', market: '*', queue_s: 0, init_s: 0, "
                  "capacity_failure: 0%s}]\n",
                  release_s);
    case_init(c, rb_buf_str(&job), rb_buf_str(&profile),
              "infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour\n"
              "k8s/lab,gpu/1,T4,1,16,4,16,on_demand,3.6\n");
    rb_buf_finish(&job);
    rb_buf_finish(&profile);
    if (!rb_make_plan(&c->req, "optimal", &c->arena, &plan, &result, &err))
        fail_msg("%s", err.message);
    return plan;
}

static void a_machine_that_outlives_its_node_changes_the_plan(void **state)
{
    (void)state;
    static const struct {
        const char *profile, *job;
        int nodes;
        int64_t release_s, cost_uusd;
    } rows[] = {
        {"", "", 8, 0, 8 * 600000},
        {", release_s: 600", "", 2, 600, (8 + 2) * 600000},
        {"", ", kubernetes: {release: 10m}", 2, 600, (8 + 2) * 600000},
        {", release_s: 60", ", kubernetes: {release: 20m}", 2, 1200, (8 + 2 * 2) * 600000}, // the job's word
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct rb_case c;
        const struct rb_plan plan = plan_with_release(&c, rows[i].profile, rows[i].job);
        assert_int_equal(plan.stages[0].nodes[0].count, rows[i].nodes);
        assert_int_equal(plan.offers[0].release_s, rows[i].release_s);
        assert_int_equal(plan.estimate.cost_uusd.mean, rows[i].cost_uusd);
        assert_true(!plan.bound.present || plan.bound.cost_uusd <= plan.estimate.cost_uusd.mean);
        case_finish(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_plans_read_back),
        cmocka_unit_test(stages_follow_the_rungs),
        cmocka_unit_test(unknown_planner_is_refused),
        cmocka_unit_test(node_limit_cuts_and_says_so),
        cmocka_unit_test(a_machine_that_outlives_its_node_changes_the_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
