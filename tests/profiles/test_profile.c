// rb-profile/1: read from YAML, written as JSON and YAML and read back equal; speed-ups and provisioning
// asked of it; every way it can be wrong.
#include "check.h"

#include "profiles/store/profile.h"

// The example of the format, shortened.
static const char resnet[] =
    "format: rb-profile/1\n"
    "name: resnet50-cifar10\n"
    "unit: epoch\n"
    "source: \"speed-ups measured on one 8-GPU node, batch 128 per GPU\"\n"
    "training:\n"
    "  - accelerator: V100\n"
    "    base_s: 30.0\n"
    "    relative_error: 0.02\n"
    "    layouts:\n"
    "      - {gpus: 8, nodes: 2, speedup: 4.1}\n"
    "      - {gpus: 1, nodes: 1, speedup: 1.0}\n"
    "      - {gpus: 2, nodes: 1, speedup: 1.870}\n"
    "      - {gpus: 8, nodes: 1, speedup: 5.598}\n"
    "      - {gpus: 16, nodes: 2, speedup: 6.5}\n"
    "    sharing: [{trials: 2, slowdown: 1.3}, {trials: 4, slowdown: 2.5}]\n"
    "    goodput: {batch: 128, grad_sqr: 0.17, grad_var: 5.2, steps: {alpha_c: 0.02, beta_c: 0.001, alpha_n: 0.1,\n"
    "              beta_n: 0.01, alpha_r: 0.03, beta_r: 0.002, gamma: 2, max_per_gpu: 512}}\n"
    "  - accelerator: A100\n"
    "    throughput: {alpha_c: 0.02, beta_c: 0.001, alpha_n: 0.1, beta_n: 0.01, alpha_r: 0.03, beta_r: "
    "0.002,\n"
    "                 gamma: 2, batch: 128, units_per_epoch: 391}\n"
    "noise:\n"
    "  between: {distribution: lognormal, mean: 1.0, cv: 0.05}\n"
    "  within: {distribution: gamma, mean: 1.0, cv: 0.10}\n"
    "  configuration: {distribution: lognormal, mean: 1.0, cv: 0.6}\n"
    "startup_s: {distribution: empirical, values: [8.5, 7, 9]}\n"
    "checkpoint_s: {distribution: gamma, mean: 2, cv: 0.5, relative_error: 0.125}\n"
    "resumes: false\n"
    "exact: true\n"
    "measured: {configurations: 3, units: 6, at: 2026-11-23T16:12:50Z, load: 5.75, cpus: 2,\n"
    "           of: {command: 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef,\n"
    "                parameters: 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef,\n"
    "                files: [{path: train.py,\n"
    "                         sha256: 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef}]}}\n"
    "provisioning:\n"
    "  - {infra: aws/us-east-1, instance_type: p3.2xlarge, market: spot, queue_s: 30, init_s: 90,\n"
    "     capacity_failure: 0.2, preemption_per_hour: 0.05, release_s: 600}\n"
    "  - {infra: mock, instance_type: \"*\", market: \"*\", queue_s: 0.5, init_s: 1, capacity_failure: 0.0}\n"
    "  - {infra: aws, instance_type: \"*\", market: on_demand, queue_s: {distribution: weibull, mean: 18, "
    "cv: 0.4},\n"
    "     init_s: {distribution: exponential, mean: 60}, capacity_failure: 0.0}\n"
    "  - {infra: \"*\", instance_type: t, market: \"*\", queue_s: 1, init_s: 2, capacity_failure: 0}\n"
    "  - {infra: aws/us-east-1, instance_type: p3.16xlarge, market: spot, queue_s: 30, init_s: 90, capacity_failure: 0,\n"
    "     spells: {sampled_s: 195, days: 22.7, up_s: {distribution: empirical, values: [600, 9000, 60]}, down_s: 1200,\n"
    "              together: 0.7, region_factor: 4, hazard: [{from_s: 0, per_hour: 1.65}, {from_s: 900, per_hour: 0.5}],\n"
    "              price: {mean: 7.3437, p5: 6.9, p95: 8.123456}}}\n";

struct fixture {
    struct rb_arena arena;
    struct rb_profile profile;
};

static bool load(struct fixture *f, const char *yaml, const char *name, const char *stem, struct rb_err *err)
{
    struct rb_doc doc;
    rb_arena_init(&f->arena);
    if (!rb_doc_parse_yaml(&doc, "profile.yaml", yaml, strlen(yaml), err))
        return false;
    const bool ok = rb_profile_read(doc.root, name, stem, &f->arena, &f->profile, err);
    rb_doc_finish(&doc); // the profile may not point into it
    return ok;
}

static struct fixture loaded(const char *yaml)
{
    struct fixture f;
    struct rb_err err = {0};
    if (!load(&f, yaml, NULL, NULL, &err))
        fail_msg("%d: %s: %s", err.line, err.key, err.message);
    return f;
}

static struct rb_buf as_json(const struct rb_profile *p)
{
    struct rb_buf out = RB_BUF_INIT;
    struct rb_json j;
    rb_json_init(&j, &out, false);
    rb_profile_write(p, &j);
    return out;
}

// --- there and back ---

static void test_what_is_read(void **state)
{
    (void)state;
    struct fixture f = loaded(resnet);
    const struct rb_training *v100 = rb_profile_training(&f.profile, "V100");
    const struct rb_training *a100 = rb_profile_training(&f.profile, "A100");
    assert_null(rb_profile_training(&f.profile, "v100"));
    assert_int_equal(v100->n_layouts, 5);
    assert_near(v100->relative_error, 0.02, 0);
    double slowdown;
    struct rb_err err;
    assert_true(rb_training_slowdown(v100, 1, &slowdown, &err));
    assert_near(slowdown, 1, 0);
    assert_true(rb_training_slowdown(v100, 4, &slowdown, &err));
    assert_near(slowdown, 2.5, 0);
    assert_false(rb_training_slowdown(v100, 3, &slowdown, &err)); // between two that were measured
    assert_false(rb_training_slowdown(a100, 2, &slowdown, &err));
    assert_true(a100->relative_error <= 0);
    assert_int_equal(v100->layouts[1].gpus, 2); // by nodes, then GPUs
    assert_int_equal(v100->layouts[3].nodes, 2);
    assert_int_equal(v100->max_gpus, 16);
    assert_int_equal(v100->max_nodes, 2);
    assert_true(a100->has_throughput);
    assert_int_equal(a100->max_gpus, 8);
    assert_int_equal(a100->max_nodes, 1);
    assert_near(a100->base_s, 391 * (0.02 + 0.001 * 128), 1e-12);
    assert_int_equal(f.profile.startup_s.n_values, 3);
    assert_near(f.profile.startup_s.values[0], 7, 0);
    assert_near(f.profile.checkpoint_s.relative_error, 0.125, 0);
    const struct rb_provisioning *constant = &f.profile.provisioning[0], *market = &f.profile.provisioning[4];
    assert_null(constant->spells);
    assert_near(rb_provisioning_hazard(constant).per_hour, 0.05, 0);
    assert_near(rb_provisioning_together(constant), 0, 0);
    assert_int_equal(constant->release_s, 600);
    assert_true(market->has_preemption && rb_provisioning_may_lose(market));
    assert_false(rb_provisioning_may_lose(&f.profile.provisioning[1]));
    assert_near(rb_provisioning_hazard(market).later[0].per_hour, 0.5, 0);
    assert_near(rb_provisioning_together(market), 0.7, 0);
    assert_near(market->spells->up_s.values[2], 9000, 0);
    assert_near(market->spells->region_factor, 4, 0);
    assert_int_equal(market->spells->price.mean_uusd, 7343700);
    assert_int_equal(market->spells->price.p95_uusd, 8123456);
    assert_true(f.profile.restarts);
    assert_true(f.profile.exact);
    assert_true(f.profile.has_measured);
    assert_int_equal(f.profile.measured.configurations, 3);
    assert_int_equal(f.profile.measured.units, 6);
    assert_near(f.profile.measured.load, 5.75, 0);
    assert_int_equal(f.profile.measured.cpus, 2);
    assert_int_equal(f.profile.measured.of.n_files, 1);
    assert_string_equal(f.profile.measured.of.files[0].path, "train.py");
    assert_true(f.profile.provisioning[0].has_preemption);
    assert_false(f.profile.provisioning[1].has_preemption);
    rb_arena_finish(&f.arena);
}

static void test_both_forms_read_back_equal(void **state)
{
    (void)state;
    struct fixture f = loaded(resnet);
    struct rb_buf json = as_json(&f.profile), yaml = RB_BUF_INIT;
    rb_profile_write_yaml(&f.profile, &yaml);

    struct fixture from_yaml = loaded(rb_buf_str(&yaml));
    struct rb_buf again = as_json(&from_yaml.profile);
    assert_string_equal(rb_buf_str(&again), rb_buf_str(&json));

    struct rb_doc doc = parse_json(rb_buf_str(&json));
    struct rb_profile from_json;
    assert_true(rb_profile_read(doc.root, NULL, NULL, &f.arena, &from_json, NULL));
    struct rb_buf third = as_json(&from_json);
    assert_string_equal(rb_buf_str(&third), rb_buf_str(&json));

    struct rb_buf yaml_again = RB_BUF_INIT;
    rb_profile_write_yaml(&from_json, &yaml_again);
    assert_string_equal(rb_buf_str(&yaml_again), rb_buf_str(&yaml));

    rb_doc_finish(&doc);
    rb_buf_finish(&json);
    rb_buf_finish(&yaml);
    rb_buf_finish(&again);
    rb_buf_finish(&third);
    rb_buf_finish(&yaml_again);
    rb_arena_finish(&f.arena);
    rb_arena_finish(&from_yaml.arena);
}

#define REST                                                                                \
    "training: [{accelerator: X, base_s: 1, layouts: [{gpus: 1, nodes: 1, speedup: 1}]}]\n" \
    "noise: {between: 1, within: 1}\nstartup_s: 0\ncheckpoint_s: 0\n"

static void test_the_name(void **state)
{
    (void)state;
    struct fixture f;
    struct rb_err err = {0};
    assert_true(load(&f, "format: rb-profile/1\nname: inside\n" REST, "flag", "stem", &err));
    assert_string_equal(f.profile.name, "flag");
    rb_arena_finish(&f.arena);
    assert_true(load(&f, "format: rb-profile/1\nname: inside\n" REST, NULL, "stem", &err));
    assert_string_equal(f.profile.name, "inside");
    rb_arena_finish(&f.arena);
    assert_true(load(&f, "format: rb-profile/1\n" REST, NULL, "stem", &err));
    assert_string_equal(f.profile.name, "stem");
    assert_string_equal(f.profile.unit, "epoch");
    assert_string_equal(f.profile.source, "");
    assert_int_equal(f.profile.n_provisioning, 0);
    rb_arena_finish(&f.arena);
    assert_false(load(&f, "format: rb-profile/1\n" REST, NULL, NULL, &err));
    assert_says(&err, "has no name");
    rb_arena_finish(&f.arena);
}

// --- questions ---

static void test_speedups_of_a_table(void **state)
{
    (void)state;
    struct fixture f = loaded(resnet);
    const struct rb_training *t = rb_profile_training(&f.profile, "V100");
    static const struct {
        int gpus, nodes;
        double speedup;
        const char *refused;
    } cases[] = {
        {1, 1, 1.0, NULL},
        {2, 1, 1.870, NULL},
        {8, 1, 5.598, NULL},
        {8, 2, 4.1, NULL},
        {4, 1, 3.235469054094012, NULL},  // half-way between 2 and 8 in log-log: sqrt(1.870 x 5.598)
        {12, 2, 5.368489517731261, NULL}, // 4.1 x (6.5/4.1)^(ln 1.5 / ln 2)
        {16, 1, 0, "RB1311 on 1 node: 1, 2, 8"},
        {4, 2, 0, "on 2 nodes: 8, 16"},
        {32, 2, 0, "on 2 nodes: 8, 16"},
        {3, 3, 0, "on 3 nodes: nothing"},
        {1, 2, 0, "cannot be spread"},
        {0, 1, 0, "cannot be spread"},
        {1, 0, 0, "cannot be spread"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        double speedup = -1;
        struct rb_err err = {0};
        const bool ok = rb_training_speedup(t, cases[i].gpus, cases[i].nodes, &speedup, &err);
        assert_int_equal(ok, cases[i].refused == NULL);
        if (ok)
            assert_near(speedup, cases[i].speedup, 1e-12);
        else
            assert_says(&err, cases[i].refused);
        if (!ok)
            assert_near(speedup, -1, 0);
    }
    rb_arena_finish(&f.arena);
}

// By hand with gamma = 2: T(1) = 0.148; T(4, one node) = sqrt(0.148^2 + (0.03 + 2 x 0.002)^2).
static void test_speedups_of_the_throughput_model(void **state)
{
    (void)state;
    struct fixture f = loaded(resnet);
    const struct rb_training *t = rb_profile_training(&f.profile, "A100");
    double speedup;
    struct rb_err err = {0};
    assert_true(rb_training_speedup(t, 1, 1, &speedup, NULL));
    assert_near(speedup, 1, 1e-12);
    assert_true(rb_training_speedup(t, 4, 1, &speedup, NULL));
    assert_near(speedup, 4 * 0.148 / sqrt(0.148 * 0.148 + 0.034 * 0.034), 1e-12);
    assert_false(rb_training_speedup(t, 16, 1, &speedup, &err));
    assert_says(&err, "up to 8 GPUs on 1 node");
    assert_false(rb_training_speedup(t, 4, 2, &speedup, &err));
    rb_arena_finish(&f.arena);
}

static void test_provisioning_first_match_wins(void **state)
{
    (void)state;
    struct fixture f = loaded(resnet);
    const struct rb_profile *p = &f.profile;
    const struct rb_provisioning *row = p->provisioning;
    assert_ptr_equal(rb_profile_provisioning(p, "aws/us-east-1", "p3.2xlarge", RB_MARKET_SPOT), &row[0]);
    assert_ptr_equal(rb_profile_provisioning(p, "aws/us-east-1/us-east-1a", "p3.2xlarge", RB_MARKET_SPOT), &row[0]);
    assert_ptr_equal(rb_profile_provisioning(p, "aws/us-east-1", "p3.2xlarge", RB_MARKET_ON_DEMAND), &row[2]);
    assert_ptr_equal(rb_profile_provisioning(p, "aws/eu-west-1", "x", RB_MARKET_ON_DEMAND), &row[2]);
    assert_null(rb_profile_provisioning(p, "aws/us-east-10", "p3.2xlarge", RB_MARKET_SPOT));
    assert_ptr_equal(rb_profile_provisioning(p, "mock/us-east-1", "t", RB_MARKET_SPOT), &row[1]);
    assert_ptr_equal(rb_profile_provisioning(p, "gcp/us-central1", "t", RB_MARKET_SPOT), &row[3]);
    assert_null(rb_profile_provisioning(p, "local", "local", RB_MARKET_ON_DEMAND));
    rb_arena_finish(&f.arena);
}

// --- what is known of the spread ---

static void test_constants_say_nothing_of_the_spread(void **state)
{
    (void)state;
    static const struct {
        const char *noise, *startup, *more;
        bool unknown;
    } cases[] = {
        {"{between: 1, within: 1}", "0", "", true},
        {"{between: {distribution: constant, mean: 1}, within: 1}", "8", "", true}, // written out, and still not known
        {"{between: {distribution: lognormal, mean: 1, cv: 0}, within: 1}", "8", "", true},
        {"{between: 1, within: {distribution: lognormal, mean: 1, cv: 0.1}}", "8", "", false},
        {"{between: 1, within: 1}", "{distribution: gamma, mean: 8, cv: 0.2}", "", false},
        {"{between: 1, within: 1}", "{distribution: constant, mean: 8, relative_error: 0.1}", "", false},
        {"{between: 1, within: 1}", "8", "exact: true\n", false},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct rb_buf text = RB_BUF_INIT;
        rb_buf_printf(&text,
                      "format: rb-profile/1\nname: x\n"
                      "training: [{accelerator: X, base_s: 1, layouts: [{gpus: 1, nodes: 1, speedup: 1}]}]\n"
                      "noise: %s\nstartup_s: %s\ncheckpoint_s: 0\n%s",
                      cases[i].noise, cases[i].startup, cases[i].more);
        struct fixture f = loaded(rb_buf_str(&text));
        if (rb_profile_spread_is_unknown(&f.profile) != cases[i].unknown)
            fail_msg("case %zu: expected %s", i, cases[i].unknown ? "unknown" : "known");
        rb_arena_finish(&f.arena);
        rb_buf_finish(&text);
    }
}

// --- bad input ---

// A line of a small profile is replaced; its number is where the error must be.
static const char *const small[] = {
    "format: rb-profile/1",
    "name: x",
    "training: [{accelerator: X, base_s: 1, layouts: [{gpus: 1, nodes: 1, speedup: 1}]}]",
    "noise: {between: 1, within: 1}",
    "startup_s: 0",
    "checkpoint_s: 0",
    "provisioning: [{infra: aws, instance_type: t, market: spot, queue_s: 1, init_s: 1, capacity_failure: 0}]",
};

#define TRAINING(rest) "training: [{accelerator: X, " rest "}]"
#define TABLE(rest)    TRAINING("base_s: 1, layouts: [" rest "]")
#define GOODPUT(rest)  TRAINING("base_s: 1, layouts: [{gpus: 1, nodes: 1, speedup: 1}], goodput: {" rest "}")
#define SHARING(rest)  TRAINING("base_s: 1, layouts: [{gpus: 1, nodes: 1, speedup: 1}], sharing: [" rest "]")
#define MODEL(rest) \
    TRAINING("throughput: {alpha_c: 1, beta_c: 1, alpha_n: 1, beta_n: 1, alpha_r: 1, beta_r: 1, " rest "}")
#define PROVISION(rest) "provisioning: [{instance_type: t, queue_s: 1, init_s: 1, " rest "}]"
#define SPELLS(rest)                                                                                                   \
    PROVISION("infra: aws, market: spot, capacity_failure: 0, spells: {sampled_s: 195, days: 22, up_s: 1, down_s: 1, " \
              rest "}")

static void test_bad_profiles_name_line_and_key(void **state)
{
    (void)state;
    static const struct {
        int line;
        const char *text, *key, *says;
    } cases[] = {
        {1, "format: rb-profile/2", "format", "expected rb-profile/1"},
        {1, "formt: rb-profile/1", "formt", "did you mean \"format\""},
        {1, "unit: epoch", "format", "required and missing"},
        {2, "name: ''", "name", "expected text"},
        {2, "nam: x", "nam", "did you mean \"name\""},
        {3, "training: []", "training", "one for each accelerator"},
        {3, "training: {}", "training", "expected a list"},
        {3, "training: [3]", "training[0]", "expected a map"},
        {3, "training: [{base_s: 1}]", "training[0].accelerator", "required and missing"},
        {3, TRAINING("base_s: 1"), "training[0]", "RB1127 either `layouts` or `throughput`"},
        {3, TRAINING("base_s: 1, layouts: [], throughput: {}"), "training[0]", "either `layouts` or `throughput`"},
        {3, TRAINING("base: 1, layouts: []"), "training[0].base", "did you mean \"base_s\""},
        {3, TRAINING("layouts: [{gpus: 1, nodes: 1, speedup: 1}]"), "training[0].base_s", "required and missing"},
        {3, TRAINING("base_s: 0, layouts: [{gpus: 1, nodes: 1, speedup: 1}]"), "training[0].base_s", "above 0"},
        {3, TRAINING("base_s: 1, relative_error: 2, layouts: []"), "training[0].relative_error", "in 0..1"},
        {3, SHARING("{trials: 1, slowdown: 1}"), "training[0].sharing[0].trials", "in 2..10"},
        {3, GOODPUT("grad_sqr: 1, grad_var: 2"), "training[0].goodput.batch", "required"},
        {3, GOODPUT("batch: 0.5, grad_sqr: 1, grad_var: 2"), "training[0].goodput.batch", "in 1.."},
        {3, GOODPUT("batch: 8"), "training[0].goodput", "grad_sqr with grad_var, or steps"},
        {3, GOODPUT("batch: 8, grad_sqr: 1"), "training[0].goodput.grad_var", "required"},
        {3, GOODPUT("batch: 8, grad_sqr: -1, grad_var: 1"), "training[0].goodput.grad_sqr", "in 0.."},
        {3, GOODPUT("batch: 8, grad_squ: 1"), "training[0].goodput.grad_squ", "grad_sqr"},
        {3, GOODPUT("batch: 8, steps: {alpha_c: 1}"), "training[0].goodput.steps.beta_c", "required"},
        {3, GOODPUT("batch: 8, steps: {alpha_c: 0, beta_c: 0, alpha_n: 1, beta_n: 0, alpha_r: 1, beta_r: 0, gamma: 1}"),
         "training[0].goodput.steps", "a step takes time"},
        {3, SHARING("{trials: 2, slowdown: 0}"), "training[0].sharing[0].slowdown", "above 0"},
        {3, SHARING("{trials: 3, slowdown: 2}, {trials: 3, slowdown: 2}"), "training[0].sharing[1].trials",
         "RB1126 more trials"},
        {3, TABLE(""), "training[0].layouts", "expected 1..256"},
        {3, TABLE("{gpus: 2, nodes: 1, speedup: 1}"), "training[0].layouts", "{gpus: 1, nodes: 1, speedup: 1.0}"},
        {3, TABLE("{gpus: 1, nodes: 1, speedup: 1.1}"), "training[0].layouts[0]", "expected speedup 1.0"},
        {3, TABLE("{gpus: 1, nodes: 1, speedup: 1}, {gpus: 2, nodes: 1, speedup: 0}"), "training[0].layouts[1].speedup",
         "above 0"},
        {3, TABLE("{gpus: 1, nodes: 1, speedup: 1}, {gpus: 2, nodes: 1, speedup: -1}"),
         "training[0].layouts[1].speedup", "expected a number"},
        {3, TABLE("{gpus: 1, nodes: 1, speedup: 1}, {gpus: 2, nodes: 3, speedup: 1}"), "training[0].layouts[1].nodes",
         "in 1..2"},
        {3, TABLE("{gpus: 1, nodes: 1, speedup: 1}, {gpus: 1, nodes: 1, speedup: 1}"), "training[0].layouts[1]",
         "listed twice"},
        {3, TABLE("{gpus: 1, nodes: 1, speedup: 1, x: 1}"), "training[0].layouts[0].x", "unknown key"},
        {3, MODEL("batch: 1, units_per_epoch: 1"), "training[0].throughput.gamma", "required and missing"},
        {3, MODEL("gamma: 11, batch: 1, units_per_epoch: 1"), "training[0].throughput.gamma", "in 1..10"},
        {3, MODEL("gamma: 1, batch: 0, units_per_epoch: 1"), "training[0].throughput.batch", "above 0"},
        {3, MODEL("gamma: 1, batch: 1"), "training[0].throughput.units_per_epoch", "required and missing"},
        {3, MODEL("gamma: 1, batch: 1, units_per_epoch: 1, max_gpus: 2, max_nodes: 3"),
         "training[0].throughput.max_nodes", "in 1..2"},
        {3, MODEL("gamma: 1, batch: 1, units_per_epoch: 100000000"), "training[0]", "one unit on one GPU would take"},
        {3,
         TRAINING("throughput: {alpha_c: 0, beta_c: 0, alpha_n: 1, beta_n: 1, alpha_r: 1, beta_r: 1, gamma: "
                  "1, batch: 1, "
                  "units_per_epoch: 1}"),
         "training[0].throughput", "an iteration takes time"},
        {3,
         "training: [{accelerator: X, base_s: 1, layouts: [{gpus: 1, nodes: 1, speedup: 1}]}, "
         "{accelerator: X, base_s: 1, layouts: [{gpus: 1, nodes: 1, speedup: 1}]}]",
         "training[1]", "has an entry already"},
        {4, "noise: {between: {distribution: constant, mean: 1, relative_error: 0.1}, within: 1}",
         "noise.between.relative_error", "unknown key"},
        {5, "startup_s: {distribution: constant, mean: 1, relative_error: 2}", "startup_s.relative_error", "in 0..1"},
        {7, "resumes: maybe", "resumes", "expected true or false"},
        {7, "measured: {configurations: 3, units: 6, at: 2026-11-23T16:12:50Z, load: 5}", "measured",
         "both `load` and `cpus`"},
        {7, "measured: {configurations: 0, units: 6, at: 2026-11-23T16:12:50Z}", "measured.configurations", "in 1.."},
        {7, "measured: {configurations: 3, units: 6, at: yesterday}", "measured.at", "expected"},
        {7,
         "measured: {configurations: 3, units: 6, at: 2026-11-23T16:12:50Z, of: {command: abc, parameters: abc, files: "
         "[]}}",
         "measured.of.command", "64 hex digits"},
        {4, "noise: {between: 1}", "noise.within", "required and missing"},
        {4, "noise: {between: 1, within: 0}", "noise.within", "mean above 0"},
        {4, "noise: {between: 1, within: 1, configuration: 0}", "noise.configuration", "mean above 0"},
        {4, "noise: {between: -1, within: 1}", "noise.between", "expected a number"},
        {4, "noise: {between: {distribution: lognormal, mean: 1, cv: 11}, within: 1}", "noise.between.cv", "in 0..10"},
        {4, "unit: epoch", "noise", "required and missing"},
        {5, "startup_s: fast", "startup_s", "expected a map"},
        {6, "checkpoint_s: {distribution: normall, mean: 1, cv: 1}", "checkpoint_s.distribution",
         "did you mean \"normal\""},
        {7, "provisioning: {}", "provisioning", "expected a list"},
        {7, PROVISION("infra: azure, market: spot, capacity_failure: 0"), "provisioning[0].infra",
         "(or \"*\" for all)"},
        {7, PROVISION("infra: aws, market: spto, capacity_failure: 0"), "provisioning[0].market",
         "did you mean \"spot\""},
        {7, PROVISION("infra: aws, market: spot"), "provisioning[0].capacity_failure", "required and missing"},
        {7, PROVISION("infra: aws, market: spot, capacity_failure: 1"), "provisioning[0].capacity_failure",
         "in 0..0.99"},
        {7, PROVISION("infra: aws, market: spot, capacity_failure: 0, preemption_per_hour: -1"),
         "provisioning[0].preemption_per_hour", "in 0..60"},
        {7, PROVISION("infra: aws, market: spot, capacity_failure: 0, preemption_per_hour: 1, spells: {}"),
         "provisioning[0].spells", "got both"},
        {7, SPELLS("hazard: [{from_s: 0, per_hour: 1}]"), "provisioning[0].spells.together", "required and missing"},
        {7, SPELLS("together: 1.5, hazard: [{from_s: 0, per_hour: 1}]"), "provisioning[0].spells.together", "in 0..1"},
        {7, SPELLS("together: 1"), "provisioning[0].spells.hazard", "required and missing"},
        {7,
         PROVISION("infra: aws, market: spot, capacity_failure: 0, spells: {sampled_s: 195, days: 22, up_s: 0.5, "
                   "down_s: 1, together: 1, hazard: [{from_s: 0, per_hour: 1}]}"),
         "provisioning[0].spells.up_s", "at least 1 second"},
        {7, SPELLS("together: 1, hazard: 0.5"), "provisioning[0].spells.hazard", "expected a list"},
        {7, SPELLS("together: 1, hazard: []"), "provisioning[0].spells.hazard", "expected 1..64 entries"},
        {7, SPELLS("together: 1, hazard: [{from_s: 60, per_hour: 1}]"), "provisioning[0].spells.hazard[0]",
         "expected from_s 0 first"},
        {7, SPELLS("together: 1, hazard: [{from_s: 0, per_hour: 61}]"), "provisioning[0].spells.hazard[0].per_hour",
         "in 0..60"},
        {7, SPELLS("together: 1, hazard: [{from_s: 0, per_hour: 1}, {from_s: 0, per_hour: 1}]"),
         "provisioning[0].spells.hazard[1]", "expected a from_s above 0"},
        {7, SPELLS("together: 1, hazard: [{from_s: 0, per_hour: 1}], price: {mean: 1, p5: 2, p95: 1}"),
         "provisioning[0].spells.price.p95", "RB3551 expected 0 < p5 <= p95"},
        {7, SPELLS("together: 1, hazard: [{from_s: 0, per_hour: 1}], price: {mean: 0, p5: 2, p95: 3}"),
         "provisioning[0].spells.price.mean", "expected 0 < p5 <= p95"},
        {7, SPELLS("together: 1, hazzard: []"), "provisioning[0].spells.hazzard", "did you mean \"hazard\""},
        {7, "provisioning: [{infra: aws, market: spot, queue_s: 1, init_s: 1, capacity_failure: 0}]",
         "provisioning[0].instance_type", "required and missing"},
        {7, "provisioning: [{infra: aws, instance_type: t, market: spot, init_s: 1, capacity_failure: 0}]",
         "provisioning[0].queue_s", "required and missing"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct fixture f = {.profile = {.n_training = 42}};
        struct rb_err err = {0};
        struct rb_buf yaml = RB_BUF_INIT;
        for (int line = 1; line <= (int)N_OF(small); line++)
            rb_buf_printf(&yaml, "%s\n", line == cases[i].line ? cases[i].text : small[line - 1]);
        if (load(&f, rb_buf_str(&yaml), NULL, NULL, &err))
            fail_msg("accepted: %s", cases[i].text);
        const int line =
            strcmp(cases[i].says, "required and missing") == 0 && !strpbrk(cases[i].key, ".[") ? 1 : cases[i].line;
        if (strcmp(err.key, cases[i].key) != 0 || err.line != line)
            fail_msg("%s: expected line %d key %s, got line %d key %s: %s", cases[i].text, line, cases[i].key, err.line,
                     err.key, err.message);
        assert_string_equal(err.file, "profile.yaml");
        assert_says(&err, cases[i].says);
        assert_int_equal(f.profile.n_training, 42);
        rb_buf_finish(&yaml);
        rb_arena_finish(&f.arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_read),
        cmocka_unit_test(test_both_forms_read_back_equal),
        cmocka_unit_test(test_the_name),
        cmocka_unit_test(test_speedups_of_a_table),
        cmocka_unit_test(test_speedups_of_the_throughput_model),
        cmocka_unit_test(test_provisioning_first_match_wins),
        cmocka_unit_test(test_constants_say_nothing_of_the_spread),
        cmocka_unit_test(test_bad_profiles_name_line_and_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
