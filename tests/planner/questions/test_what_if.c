// Scenarios: what they change and nothing else, that their rows are what planning the changed inputs gives, byte for byte,
// and that mistakes in them are reported by name.
#include "case.h"

#include "planner/questions/what_if.h"

#include <stdlib.h>
#include <string.h>

static const char job[] = "name: j\nmetric: {name: a, goal: maximize}\nparameters: {lr: {min: 0.1, max: 0.9}}\n"
                          "scheduler: {type: sha, num_trials: 8, min_resource: 1, max_resource: 4, eta: 2}\n"
                          "trial: {gpus: {min: 1, max: 4, sizes: [1, 2, 4]}, max_nodes: 1}\n"
                          "run: python t.py\n"
                          "resources: {infra: [aws/us-east-1], max_nodes: 3, spot: never}\n"
                          "deadline: 20m\nconfidence: 0.9\n";
static const char profile[] = "format: rb-profile/1\nname: p\nunit: epoch\nsource: test\ntraining:\n"
                              "  - accelerator: T4\n    base_s: 100\n    layouts:\n"
                              "      - {gpus: 1, nodes: 1, speedup: 1.0}\n"
                              "      - {gpus: 2, nodes: 1, speedup: 1.6}\n"
                              "      - {gpus: 4, nodes: 1, speedup: 2.5}\n"
                              "noise:\n  between: {distribution: lognormal, mean: 1.0, cv: 0.1}\n"
                              "  within: {distribution: lognormal, mean: 1.0, cv: 0.1}\n"
                              "startup_s: {distribution: lognormal, mean: 5.0, cv: 0.3}\ncheckpoint_s: 1.0\n"
                              "provisioning:\n"
                              "  - {infra: aws, instance_type: \"*\", market: \"*\","
                              " queue_s: {distribution: lognormal, mean: 10.0, cv: 0.4},"
                              " init_s: {distribution: lognormal, mean: 40.0, cv: 0.3},"
                              " capacity_failure: 0.0, preemption_per_hour: 0.0}\n";
static const char prices[] = "infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour\n"
                             "aws/us-east-1,four.big,T4,4,16,48,192,on_demand,14.4\n"
                             "aws/us-east-1,four.big,T4,4,16,48,192,spot,5.0\n"
                             "aws/us-east-1,one.small,T4,1,16,48,192,on_demand,4.000001\n";

static void init(struct rb_case *c)
{
    case_init(c, job, profile, prices);
}

static struct rb_plan_request request_of(struct rb_case *c, const char *text)
{
    struct rb_what_if scenario;
    struct rb_plan_request req = {0};
    struct rb_err err = {0};
    if (!rb_what_if_parse(text, &c->arena, &scenario, &err) ||
        !rb_what_if_request(&c->req, &scenario, &c->arena, &req, &err))
        fail_msg("%s: %s", text, err.message);
    return req;
}

static char *estimate_text(const struct rb_estimate *e)
{
    struct rb_buf text = RB_BUF_INIT;
    struct rb_json j;
    rb_json_init(&j, &text, false);
    rb_estimate_write(e, &j);
    return text.data;
}

// --- what a scenario changes

static char *job_text(const struct rb_job *j)
{
    struct rb_buf text = RB_BUF_INIT;
    struct rb_json json;
    rb_json_init(&json, &text, false);
    rb_job_write(j, &json);
    return text.data;
}

static void keys_change_the_job(void **state)
{
    struct rb_case c;
    (void)state;
    init(&c);
    assert_int_equal(request_of(&c, "deadline=3h").deadline_us, 3 * 3600 * RB_US_PER_S);
    assert_int_equal(request_of(&c, "deadline=none").deadline_us, -1);
    assert_int_equal(request_of(&c, "budget=$50").budget_uusd, 50 * RB_UUSD);
    assert_int_equal(request_of(&c, "budget=18.4").budget_uusd, 18400000);
    assert_true(request_of(&c, "confidence=0.5").confidence < 0.51);
    assert_int_equal(request_of(&c, "spot=only").job->resources.spot, RB_SPOT_ONLY);
    assert_int_equal(request_of(&c, "max_nodes=7").job->resources.max_nodes, 7);
    struct rb_plan_request req = request_of(&c, "num_trials=16,eta=4,max_resource=16");
    assert_int_equal(req.job->scheduler.num_trials, 16);
    assert_int_equal(req.job->scheduler.eta, 4);
    assert_int_equal(req.job->scheduler.max_resource, 16);
    assert_int_equal(req.deadline_us, c.req.deadline_us);
    assert_ptr_equal(req.profile, c.req.profile); // laws of trials are found again by it
    req = request_of(&c, "sizes=2|4");
    assert_int_equal(req.job->trial.n_sizes, 2);
    assert_int_equal(req.job->trial.sizes[0], 2);
    assert_int_equal(req.job->trial.min_gpus, 2);
    assert_int_equal(req.job->trial.max_gpus, 4);
    case_finish(&c);
}

// Apart from what it names, a scenario's job is the base's.
static void nothing_else_changes(void **state)
{
    struct rb_case c;
    (void)state;
    init(&c);
    char *before = job_text(&c.job), *after = job_text(request_of(&c, "price=+5%").job);
    assert_string_equal(before, after);
    free(after);
    struct rb_job eta = *request_of(&c, "eta=4").job;
    eta.scheduler.eta = c.job.scheduler.eta;
    after = job_text(&eta);
    assert_string_equal(before, after);
    free(before);
    free(after);
    case_finish(&c);
}

// What the request asks for wins over its job: --what-if compares with the request as it was made.
static void the_request_is_the_base(void **state)
{
    struct rb_case c;
    (void)state;
    init(&c);
    c.req.deadline_us = 1234567;
    c.req.budget_uusd = 3;
    c.req.confidence = 0.25;
    struct rb_plan_request req = request_of(&c, "max_nodes=2");
    assert_int_equal(req.deadline_us, 1234567);
    assert_int_equal(req.budget_uusd, 3);
    assert_true(req.confidence > 0.249 && req.confidence < 0.251);
    case_finish(&c);
}

static void prices_are_rounded_up(void **state)
{
    struct rb_case c;
    (void)state;
    init(&c);
    struct rb_plan_request req = request_of(&c, "price=-20%");
    assert_int_equal(req.catalog->offers[0].rate.uusd_per_hour, 11520000);
    assert_int_equal(req.catalog->offers[1].rate.uusd_per_hour, 4000000);
    assert_int_equal(req.catalog->offers[2].rate.uusd_per_hour, 3200001); // 3.2000008
    req = request_of(&c, "price.four.big=+12.5%");
    assert_int_equal(req.catalog->offers[0].rate.uusd_per_hour, 16200000);
    assert_int_equal(req.catalog->offers[1].rate.uusd_per_hour, 5625000);
    assert_int_equal(req.catalog->offers[2].rate.uusd_per_hour, 4000001);
    req = request_of(&c, "price=-50%,price.four.big=+100%");
    assert_int_equal(req.catalog->offers[0].rate.uusd_per_hour, 14400000);
    assert_int_equal(req.catalog->offers[2].rate.uusd_per_hour, 2000001);
    assert_int_equal(c.catalog.offers[0].rate.uusd_per_hour, 14400000); // the base's own stay
    case_finish(&c);
}

// --- mistakes

static void mistakes_are_reported(void **state)
{
    static const struct {
        const char *text, *key, *words;
    } table[] = {
        {"prise=-20%", "", "unknown key \"prise\"; did you mean \"price\"?; known are price, price.TYPE"},
        {"deadline", "", "expected key=value, got \"deadline\""},
        {"deadline=", "", "expected key=value"},
        {"eta=4,", "", "expected key=value, got \"\""},
        {"eta=4,eta=3", "", "eta is given twice"},
        {"price=20", "", "price: expected a percentage"},
        {"price=-100%", "", "above -100%"},
        {"price=+1000.01%", "", "at most +1000%"},
        {"price=+1.234%", "", "no more than two decimals"},
        {"price=+.5%", "", "expected a percentage"},
        {"training=10", "", "training: expected a percentage"},
        {"provisioning=-100%", "", "above -100%"},
        {"provisoning=+1%", "", "did you mean \"provisioning\"?"},
        {"price.four.bag=+1%", "", "no price of this instance type is known; did you mean \"four.big\"?"},
        {"sizes=1|x", "", "expected GPUs per trial such as 1|2|4, got \"1|x\""},
        {"sizes=1|", "", "expected GPUs per trial"},
        {"sizes=0", "", "expected GPUs per trial"},
        {"sizes=2|2", "trial.gpus.sizes[1]", "listed twice"},
        {"eta=1", "scheduler.eta", "expected"},
        {"deadline=soon", "deadline", "expected"},
        {"deadline=2030-01-01T00:00:00Z", "", "expected a duration"},
        {"spot=maybe", "resources.spot", "expected"},
        {"confidence=2", "confidence", "expected"},
    };
    struct rb_case c;
    (void)state;
    init(&c);
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct rb_what_if_table out;
        struct rb_err err = {0};
        assert_false(rb_what_if_plan(&c.req, "optimal", &table[i].text, 1, &c.arena, &out, &err));
        assert_int_equal(err.code, RB_ERR_INVALID);
        assert_string_equal(err.file, "");
        if (!strstr(err.message, table[i].words) || !strstr(err.message, table[i].text) ||
            strcmp(err.key, table[i].key) != 0)
            fail_msg("%s: got [%s] %s", table[i].text, err.key, err.message);
    }
    case_finish(&c);
}

// --- rows

static const char *const scenarios[] = {"price=-20%",    "price.four.big=+300%",
                                        "deadline=12m",  "deadline=none",
                                        "budget=$100",   "confidence=0.99",
                                        "spot=allow",    "num_trials=5",
                                        "eta=4",         "max_resource=2,eta=2",
                                        "sizes=1|2",     "max_nodes=2",
                                        "training=-10%", "provisioning=+100%,price=-5%",
                                        "spot=only",     "deadline=15m,price=+10%",
                                        "deadline=10s",  "budget=$0.01"};
#define N_SCENARIOS ((int)(sizeof scenarios / sizeof scenarios[0]))

// The scenario planned by itself, as if its inputs had been written into the files.
static void check_row(struct rb_case *c, const struct rb_plan_request *req, const char *text,
                      const struct rb_what_if_row *row)
{
    struct rb_plan plan;
    struct rb_plan_result result;
    struct rb_err err = {0};
    bool feasible = rb_make_plan(req, "optimal", &c->arena, &plan, &result, &err);
    if (feasible != row->feasible)
        fail_msg("%s: feasible %d: %s", text, feasible, err.message);
    char *alone = estimate_text(feasible ? &plan.estimate : &result.best.estimate);
    char *together = estimate_text(&row->estimate);
    if (strcmp(alone, together) != 0)
        fail_msg("%s:\n%s\n%s", text, alone, together);
    assert_int_equal(result.nearest_deadline_us, row->result.nearest_deadline_us);
    assert_int_equal(result.nearest_budget_uusd, row->result.nearest_budget_uusd);
    free(alone);
    free(together);
}

static void rows_equal_planning_from_scratch(void **state)
{
    struct rb_case c;
    struct rb_what_if_table table;
    struct rb_err err = {0};
    int n_feasible = 0;
    (void)state;
    init(&c);
    if (!rb_what_if_plan(&c.req, "optimal", scenarios, N_SCENARIOS, &c.arena, &table, &err))
        fail_msg("%s", err.message);
    assert_int_equal(table.n, N_SCENARIOS);
    check_row(&c, &c.req, "the base", &table.base);
    for (int i = 0; i < table.n; i++) {
        struct rb_plan_request req = request_of(&c, scenarios[i]);
        check_row(&c, &req, scenarios[i], &table.rows[i]);
        n_feasible += table.rows[i].feasible;
    }
    assert_int_equal(n_feasible, N_SCENARIOS - 2);
    assert_true(table.rows[0].estimate.cost_uusd.mean < table.base.estimate.cost_uusd.mean);
    assert_true(table.rows[N_SCENARIOS - 2].result.nearest_deadline_us > 10 * RB_US_PER_S);
    assert_true(table.rows[N_SCENARIOS - 1].result.nearest_budget_uusd > 10000);
    case_finish(&c);
}

// Compared by replicates: runs that constraints share, and those that a price does not, whatever came before.
static void shared_runs_are_those_of_their_own_plans(void **state)
{
    static const char *const texts[] = {"deadline=12m", "price=+20%", "confidence=0.8", "budget=$100,deadline=20m"};
    struct rb_case c;
    struct rb_what_if_table table;
    struct rb_err err = {0};
    (void)state;
    init(&c);
    case_make_uncertain(&c, 0.1);
    // Samples of measurements are drawn one by one where runs share an error.
    static const double values[] = {0.8, 1, 1.2};
    c.profile.between = (struct rb_dist){.kind = RB_DIST_EMPIRICAL, .values = values, .n_values = 3};
    assert_true(rb_dist_prepare(&c.profile.between, NULL));
    if (!rb_what_if_plan(&c.req, "optimal", texts, 4, &c.arena, &table, &err))
        fail_msg("%s", err.message);
    assert_int_equal(table.base.estimate.time_method, RB_ESTIMATE_REPLICATES);
    check_row(&c, &c.req, "the base", &table.base);
    for (int i = 0; i < table.n; i++) {
        struct rb_plan_request req = request_of(&c, texts[i]);
        check_row(&c, &req, texts[i], &table.rows[i]);
    }
    case_finish(&c);
}

// A base that nothing keeps still has scenarios, only no differences.
static void infeasible_base(void **state)
{
    static const char *const texts[] = {"deadline=20m", "price=-10%"};
    struct rb_case c;
    struct rb_what_if_table table;
    struct rb_buf text = RB_BUF_INIT;
    struct rb_json j;
    struct rb_err err = {0};
    (void)state;
    init(&c);
    c.req.deadline_us = RB_US_PER_S;
    assert_true(rb_what_if_plan(&c.req, "optimal", texts, 2, &c.arena, &table, &err));
    assert_false(table.base.feasible);
    assert_true(table.rows[0].feasible);
    assert_false(table.rows[1].feasible);
    rb_json_init(&j, &text, false);
    rb_what_if_write(&table, &j);
    const char *start = "{\"format\":\"rb-what-if/1\",\"base\":null,\"nearest\":{\"deadline_us\":";
    assert_memory_equal(rb_buf_str(&text), start, strlen(start));
    assert_non_null(strstr(rb_buf_str(&text), "\"difference\":null,\"nearest\":null,\"warnings\":["));
    rb_buf_finish(&text);
    case_finish(&c);
}

static void document(void **state)
{
    static const char *const text_of[] = {"price.four.big=+10%,deadline=19m", "deadline=10s"};
    struct rb_case c;
    struct rb_what_if_table table;
    struct rb_buf text = RB_BUF_INIT;
    struct rb_json j;
    struct rb_doc doc;
    struct rb_map root, row, changes, difference;
    struct rb_err err = {0};
    (void)state;
    init(&c);
    assert_true(rb_what_if_plan(&c.req, "optimal", text_of, 2, &c.arena, &table, &err));
    rb_json_init(&j, &text, false);
    rb_what_if_write(&table, &j);
    assert_true(rb_doc_parse_json(&doc, "what-if.json", rb_buf_str(&text), text.len, &err));
    assert_true(rb_map_begin(&root, doc.root, &err));
    const struct rb_node *first = rb_map_get(&root, "scenarios")->first;
    assert_true(rb_map_begin(&row, first, &err));
    assert_true(rb_map_begin(&changes, rb_map_get(&row, "changes"), &err));
    assert_string_equal(rb_map_get(&changes, "price.four.big")->text, "+10%");
    assert_string_equal(rb_map_get(&changes, "deadline")->text, "19m");
    assert_true(rb_map_begin(&difference, rb_map_get(&row, "difference"), &err));
    assert_int_equal(rb_map_get(&difference, "cost_uusd")->integer,
                     table.rows[0].estimate.cost_uusd.mean - table.base.estimate.cost_uusd.mean);
    assert_true(rb_map_begin(&row, first->next, &err));
    assert_false(rb_map_get(&row, "feasible")->boolean);
    assert_int_equal(rb_map_get(&row, "estimate")->kind, RB_NODE_NULL);
    assert_int_equal(rb_map_get(&row, "nearest")->kind, RB_NODE_MAP);
    rb_doc_finish(&doc);
    rb_buf_finish(&text);
    case_finish(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_change_the_job),
        cmocka_unit_test(nothing_else_changes),
        cmocka_unit_test(the_request_is_the_base),
        cmocka_unit_test(prices_are_rounded_up),
        cmocka_unit_test(mistakes_are_reported),
        cmocka_unit_test(rows_equal_planning_from_scratch),
        cmocka_unit_test(shared_runs_are_those_of_their_own_plans),
        cmocka_unit_test(infeasible_base),
        cmocka_unit_test(document),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
