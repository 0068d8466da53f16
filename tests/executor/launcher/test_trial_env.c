// The environment a trial is started with (design section 7).
#include "executor/launcher/trial_env.h"

#include "profiles/store/save_interval.h"

#include "profiles/script/trial_variables.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// cmocka wants the four above first
#include <cmocka.h>

static const char job_yaml[] =
    "name: env\n"
    "seed: 11\n"
    "metric: {name: acc, goal: maximize}\n"
    "parameters: {learning-rate: {min: 0.1, max: 0.9}, opt: {values: [\"it's\"]}, layers: 3}\n"
    "scheduler: {type: random, num_trials: 4, max_resource: 20}\n"
    "envs: {DATA: /data, MASTER_ADDR: overridden}\n"
    "secrets: [TOKEN, UNSET]\n"
    "run: python train.py $RB_ARGS\n"
    "resources: {infra: [local]}\n";

struct fixture {
    struct rb_arena arena;
    struct rb_job job;
    struct rb_key_value *env;
    int n;
    int parent; // + 1; 0: none
};

static const char *secret(void *ctx, const char *name)
{
    (void)ctx;
    return strcmp(name, "TOKEN") == 0 ? "s3cret" : NULL;
}

static void make(struct fixture *f, int trial, int n_nodes, int64_t deadline_unix_us)
{
    static const char *const ips[] = {"10.0.0.1", "10.0.0.2"};
    struct rb_doc doc;
    struct rb_err err;
    rb_arena_init(&f->arena);
    if (!rb_doc_parse_yaml(&doc, "job.yaml", job_yaml, strlen(job_yaml), &err) ||
        !rb_job_read(doc.root, NULL, 0, &f->arena, &f->job, &err))
        fail_msg("%s", err.message);
    rb_doc_finish(&doc);
    const struct rb_trial_order order = {.job = &f->job, .parent = f->parent - 1,
                                         .run_id = "env-1",
                                         .trial = trial,
                                         .stage = 2,
                                         .attempt = 1,
                                         .resource_start = 3,
                                         .resource_end = 9,
                                         .node_ips = ips,
                                         .n_nodes = n_nodes,
                                         .checkpoint_every_s = 600,
                                         .deadline_unix_us = deadline_unix_us,
                                         .secret = secret};
    rb_trial_env(&order, &f->arena, &f->env, &f->n);
}

static const char *get(const struct fixture *f, const char *key)
{
    const char *found = NULL;
    for (int i = 0; i < f->n; i++) {
        if (strcmp(f->env[i].key, key) == 0) {
            assert_null(found); // once
            found = f->env[i].value;
        }
    }
    return found;
}

static void says_everything(void **state)
{
    (void)state;
    static const struct rb_key_value expected[] = {
        {"DATA", "/data"},
        {"RB_RUN_ID", "env-1"},
        {"RB_JOB_NAME", "env"},
        {"RB_TRIAL_ID", "2"},
        {"RB_RUNG", "2"},
        {"RB_ATTEMPT", "1"},
        {"RB_RESOURCE_START", "3"},
        {"RB_RESOURCE_END", "9"},
        {"RB_MAX_RESOURCE", "20"},
        {"RB_CHECKPOINT_EVERY_S", "600"},
        {"RB_NUM_NODES", "2"},
        {"RB_PARAM_OPT", "it's"},
        {"RB_PARAM_LAYERS", "3"},
        {"MASTER_ADDR", "10.0.0.1"},
        {"RB_NODE_IPS", "10.0.0.1,10.0.0.2"},
        {"RB_DEADLINE", "1800000000"},
        {"TOKEN", "s3cret"},
    };
    struct fixture f;
    make(&f, 2, 2, INT64_C(1800000000000000));
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        assert_non_null(get(&f, expected[i].key));
        assert_string_equal(get(&f, expected[i].key), expected[i].value);
    }
    assert_non_null(get(&f, "RB_PARAM_LEARNING_RATE"));
    assert_null(get(&f, "UNSET"));
    assert_non_null(strstr(get(&f, "RB_ARGS"), "--learning-rate="));
    assert_non_null(strstr(get(&f, "RB_ARGS"), "'\\''")); // the quote is safe in a shell
    assert_non_null(strstr(get(&f, "RB_PARAMS_JSON"), "\"opt\":\"it's\""));
    rb_arena_finish(&f.arena);
}

// The square root of twice the time of a save over the rate of losses: 20 s and one in ten hours are 20 minutes. Plans count on
// it where nodes are lost and the job says that its script saves.
static void how_often_a_trial_saves(void **state)
{
    (void)state;
    static const struct {
        int64_t every_us;
        bool starts_over;
        enum rb_market market;
        double checkpoint_s, per_hour;
        int64_t expected_s, planned_s;
    } rows[] = {
        {RB_CHECKPOINT_EVERY_AUTO, false, RB_MARKET_SPOT, 20, 0.1, 1200, 1200},
        {RB_CHECKPOINT_EVERY_AUTO, false, RB_MARKET_SPOT, 20, 1.3, 333, 333},
        {RB_CHECKPOINT_EVERY_AUTO, false, RB_MARKET_SPOT, 0.01, 1.3, RB_SAVE_INTERVAL_LEAST_S, RB_SAVE_INTERVAL_LEAST_S},
        {RB_CHECKPOINT_EVERY_AUTO, false, RB_MARKET_SPOT, 0, 1.3, RB_SAVE_INTERVAL_LEAST_S, RB_SAVE_INTERVAL_LEAST_S},
        {RB_CHECKPOINT_EVERY_AUTO, false, RB_MARKET_SPOT, 20, 0, 0, 0},
        {RB_CHECKPOINT_EVERY_AUTO, false, RB_MARKET_ON_DEMAND, 20, 0.1, 0, 0},
        {RB_CHECKPOINT_EVERY_AUTO, true, RB_MARKET_SPOT, 20, 0.1, 0, 0},
        {600000000, false, RB_MARKET_ON_DEMAND, 20, 0, 600, 0},
        {1500000, false, RB_MARKET_SPOT, 20, 0.1, 2, 2},
        {600000000, false, RB_MARKET_ON_DEMAND, 20, 0.1, 600, 600},
        {RB_CHECKPOINT_EVERY_UNSAID, false, RB_MARKET_SPOT, 20, 0.1, 1200, 0},
        {600000000, true, RB_MARKET_SPOT, 20, 0.1, 0, 0},
        {0, false, RB_MARKET_SPOT, 20, 0.1, 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct rb_provisioning p = {.infra = "*",
                                          .instance_type = "*",
                                          .market = "*",
                                          .has_preemption = true,
                                          .preemption_per_hour = rows[i].per_hour};
        const struct rb_profile profile = {
            .checkpoint_s = rb_dist_constant(rows[i].checkpoint_s), .provisioning = &p, .n_provisioning = 1};
        const struct rb_offer offer = {.infra = "aws/us-east-1", .instance_type = "g5.xlarge", .market = rows[i].market};
        const struct rb_job job = {.checkpoint_every_us = rows[i].every_us, .starts_over = rows[i].starts_over};
        assert_int_equal(rb_save_interval_s(&job, &profile, &offer), rows[i].expected_s);
        assert_int_equal(rb_planned_save_interval_s(&job, &profile, &offer), rows[i].planned_s);
    }
}

// profiles/script/trial_variables.h is what `rbplan --check` knows: every name that is set must be there.
static void every_variable_is_known(void **state)
{
    (void)state;
    static const char *const ips[] = {"10.0.0.1"};
    struct fixture f;
    make(&f, 0, 1, -1);
    const struct rb_trial_order order = {.job = &f.job, .parent = -1,
                                         .run_id = "env-1",
                                         .resource_end = 1,
                                         .node_ips = ips,
                                         .n_nodes = 1,
                                         .gpus = 1,
                                         .sharers = 2,
                                         .batch = {.batch = {.per_gpu = 40, .accumulation = 1}, .lr_factor = 1.5},
                                         .deadline_unix_us = -1};
    rb_trial_env(&order, &f.arena, &f.env, &f.n);
    for (int i = 0; i < f.n; i++)
        if (strncmp(f.env[i].key, "RB_", 3) == 0 && !rb_trial_variable_exists(&f.job.space, f.env[i].key, &f.arena))
            fail_msg("%s", f.env[i].key);
    assert_false(rb_trial_variable_exists(&f.job.space, "RB_PARAM_OTHER", &f.arena));
    rb_arena_finish(&f.arena);
}

// Written down nowhere unless the job lets it be tuned; the numbers are for a script to use as they are.
static void a_tuned_batch_is_reported(void **state)
{
    (void)state;
    static const char *const ips[] = {"10.0.0.1", "10.0.0.2"};
    struct fixture f;
    make(&f, 0, 2, -1);
    assert_null(get(&f, "RB_BATCH_SIZE"));
    assert_null(get(&f, "RB_LR_FACTOR"));
    const struct rb_trial_order order = {.job = &f.job, .parent = -1,
                                         .run_id = "env-1",
                                         .resource_end = 1,
                                         .node_ips = ips,
                                         .n_nodes = 2,
                                         .gpus = 6,
                                         .batch = {.batch = {.per_gpu = 40, .accumulation = 1}, .lr_factor = 1.5},
                                         .deadline_unix_us = -1};
    rb_trial_env(&order, &f.arena, &f.env, &f.n);
    assert_string_equal(get(&f, "RB_BATCH_SIZE"), "480");
    assert_string_equal(get(&f, "RB_BATCH_PER_GPU"), "40");
    assert_string_equal(get(&f, "RB_ACCUM_STEPS"), "1");
    assert_string_equal(get(&f, "RB_LR_FACTOR"), "1.5");
    rb_arena_finish(&f.arena);
}

static void a_share_of_a_gpu_is_reported(void **state)
{
    (void)state;
    static const struct {
        int sharers;
        const char *share, *percentage; // NULL: not set
    } cases[] = {{0, NULL, NULL}, {1, "1", NULL}, {2, "0.5", "50"}, {3, "0.333333", "33"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        static const char *const ips[] = {"10.0.0.1"};
        struct fixture f;
        make(&f, 0, 1, -1);
        const struct rb_trial_order order = {.job = &f.job, .parent = -1,
                                             .run_id = "env-1",
                                             .resource_end = 1,
                                             .node_ips = ips,
                                             .n_nodes = 1,
                                             .gpus = 1,
                                             .sharers = cases[i].sharers,
                                             .deadline_unix_us = -1};
        rb_trial_env(&order, &f.arena, &f.env, &f.n);
        const char *share = get(&f, "RB_GPU_SHARE"), *percentage = get(&f, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
        assert_string_equal(share ? share : "", cases[i].share ? cases[i].share : "");
        assert_string_equal(percentage ? percentage : "", cases[i].percentage ? cases[i].percentage : "");
        rb_arena_finish(&f.arena);
    }
}

static void no_deadline_is_empty(void **state)
{
    (void)state;
    struct fixture f;
    make(&f, 0, 1, -1);
    assert_string_equal(get(&f, "RB_DEADLINE"), "");
    assert_string_equal(get(&f, "RB_NODE_IPS"), "10.0.0.1");
    rb_arena_finish(&f.arena);
}

static void a_trial_always_gets_the_same_configuration_and_seed(void **state)
{
    (void)state;
    struct fixture a, b, other;
    make(&a, 3, 1, -1);
    make(&b, 3, 2, 5);
    make(&other, 1, 1, -1);
    assert_string_equal(get(&a, "RB_ARGS"), get(&b, "RB_ARGS"));
    assert_string_equal(get(&a, "RB_TRIAL_SEED"), get(&b, "RB_TRIAL_SEED"));
    assert_string_equal(get(&a, "MASTER_PORT"), get(&b, "MASTER_PORT"));
    assert_string_not_equal(get(&a, "RB_ARGS"), get(&other, "RB_ARGS"));
    assert_string_not_equal(get(&a, "RB_TRIAL_SEED"), get(&other, "RB_TRIAL_SEED"));
    assert_string_not_equal(get(&a, "MASTER_PORT"), get(&other, "MASTER_PORT"));
    rb_arena_finish(&a.arena);
    rb_arena_finish(&b.arena);
    rb_arena_finish(&other.arena);
}

// Two runs on one machine, each with its first trial.
static void the_ports_of_two_runs_differ(void **state)
{
    (void)state;
    const int port = rb_trial_master_port("gang-20261129-121145-etryp4", 0);
    assert_in_range(port, 20000, 31999);
    assert_int_not_equal(port, rb_trial_master_port("gang-20261129-121146-k2m5xa", 0));
    assert_in_range(rb_trial_master_port("gang-20261129-121145-etryp4", 11999), 20000, 31999);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_everything),
        cmocka_unit_test(how_often_a_trial_saves),       cmocka_unit_test(every_variable_is_known),
        cmocka_unit_test(a_tuned_batch_is_reported), cmocka_unit_test(a_share_of_a_gpu_is_reported),
        cmocka_unit_test(no_deadline_is_empty),  cmocka_unit_test(a_trial_always_gets_the_same_configuration_and_seed),
        cmocka_unit_test(the_ports_of_two_runs_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
