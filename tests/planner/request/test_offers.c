// Which offers a job may use, and what is said when none is left.
#include "case.h"

#include "base/clock.h"
#include "planner/questions/verification.h"
#include "profiles/catalog/infra.h"
#include "profiles/inputs/spot_means.h"
#include "tests/base/says.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FACTOR 1.5 // times a limit: pilots are few runs, and runs vary

static const char profile[] = "format: rb-profile/1\nname: p\nunit: epoch\nsource: test\ntraining:\n"
                              "  - accelerator: T4\n    base_s: 60\n    layouts:\n"
                              "      - {gpus: 1, nodes: 1, speedup: 1.0}\n"
                              "      - {gpus: 4, nodes: 1, speedup: 3.4}\n"
                              "noise:\n  between: {distribution: constant, mean: 1.0}\n"
                              "  within: {distribution: constant, mean: 1.0}\n"
                              "startup_s: 1.0\ncheckpoint_s: 1.0\nprovisioning:\n"
                              "  - {infra: \"*\", instance_type: \"*\", market: on_demand, queue_s: 1.0, init_s: 1.0,"
                              " capacity_failure: 0.0, preemption_per_hour: 0.0}\n";

static const char prices[] = "infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour\n"
                             "aws/us-east-1,g4dn.xlarge,T4,1,16,4,16,on_demand,0.526\n"
                             "aws/us-east-1,g4dn.xlarge,T4,1,16,4,16,spot,0.19\n"
                             "aws/us-east-1,g4dn.12xlarge,T4,4,16,48,192,on_demand,3.912\n"
                             "aws/us-east-1,g5.xlarge,A10G,1,22,4,16,on_demand,1.006\n"
                             "aws/eu-west-1,g4dn.xlarge,T4,1,16,4,16,on_demand,0.587\n"
                             "mock/us-west-2,g4dn.xlarge,T4,1,16,4,16,on_demand,0.4\n"
                             "gcp/us-central1,g2-standard-4,L4,1,24,4,16,on_demand,0.7\n"
                             "gcp/us-central1/us-central1-a,g2-standard-4,L4,1,24,4,16,spot,0.3\n";

struct row {
    const char *resources, *trial; // YAML
    const char *offers;            // "infra/type/market" of each, in order; NULL: refused
    enum rb_err_code code;
    const char *key, *words; // of the refusal
};

#define RESERVED(id, type) "{infra: aws/us-east-1/us-east-1a, instance_type: " type ", id: " id ", count: 2}"

static const struct row rows[] = {
    {"infra: [aws/us-east-1], spot: never", "",
     "aws/us-east-1 g4dn.12xlarge on_demand;aws/us-east-1 g4dn.xlarge on_demand;aws/us-east-1 g5.xlarge on_demand;", 0,
     NULL, NULL},
    {"infra: [aws/us-east-1], spot: only", "", "aws/us-east-1 g4dn.xlarge spot;", 0, NULL, NULL},
    {"infra: [aws/us-east-1], spot: allow, accelerators: [T4], instance_types: [g4dn.xlarge]", "",
     "aws/us-east-1 g4dn.xlarge on_demand;aws/us-east-1 g4dn.xlarge spot;", 0, NULL, NULL},
    {"infra: [aws/eu-west-1, aws/us-east-1], instance_types: [g4dn.xlarge], spot: never", "",
     "aws/eu-west-1 g4dn.xlarge on_demand;aws/us-east-1 g4dn.xlarge on_demand;", 0, NULL, NULL},
    {"infra: [mock/us-east-1], accelerators: [A10G]", "", "mock/us-east-1 g5.xlarge on_demand;", 0, NULL, NULL},
    {"infra: [mock/us-west-2]", "", "mock/us-west-2 g4dn.xlarge on_demand;", 0, NULL, NULL},
    // A zone has its region's prices, and its own rows before them.
    {"infra: [aws/eu-west-1/eu-west-1b]", "", "aws/eu-west-1/eu-west-1b g4dn.xlarge on_demand;", 0, NULL, NULL},
    {"infra: [mock/us-west-2/us-west-2a]", "", "mock/us-west-2/us-west-2a g4dn.xlarge on_demand;", 0, NULL, NULL},
    {"infra: [mock/eu-west-1/eu-west-1a]", "", "mock/eu-west-1/eu-west-1a g4dn.xlarge on_demand;", 0, NULL, NULL},
    {"infra: [gcp/us-central1/us-central1-a], spot: allow", "",
     "gcp/us-central1/us-central1-a g2-standard-4 on_demand;gcp/us-central1/us-central1-a "
     "g2-standard-4 spot;",
     0, NULL, NULL},
    {"infra: [gcp/us-central1], spot: allow", "",
     "gcp/us-central1 g2-standard-4 on_demand;gcp/us-central1/us-central1-a g2-standard-4 spot;", 0, NULL, NULL},
    {"infra: [gcp/us-central1], spot: safe", "", "gcp/us-central1 g2-standard-4 on_demand;", 0, NULL, NULL},
    // Reservations, whatever `spot` says, and on no machine that is not described.
    {"infra: [aws/us-east-1], spot: never, accelerators: [A10G], reservations: [" RESERVED("cr-00000001", "g5.xlarge") "]", "",
     "aws/us-east-1 g5.xlarge on_demand;aws/us-east-1/us-east-1a g5.xlarge on_demand;"
     "aws/us-east-1/us-east-1a g5.xlarge reserved;", 0, NULL, NULL},
    {"infra: [aws/us-east-1], spot: only, instance_types: [g4dn.xlarge], reservations: [" RESERVED(
         "cr-00000002", "g4dn.xlarge") ", " RESERVED("cr-00000001", "g4dn.xlarge") "]",
     "", "aws/us-east-1 g4dn.xlarge spot;aws/us-east-1/us-east-1a g4dn.xlarge spot;"
     "aws/us-east-1/us-east-1a g4dn.xlarge reserved;"
     "aws/us-east-1/us-east-1a g4dn.xlarge reserved;", 0, NULL, NULL},
    {"infra: [aws/us-east-1], reservations: [" RESERVED("cr-00000001", "p5.48xlarge") "]", "", NULL, RB_ERR_INVALID,
     "resources.reservations[0]", "the price list has no p5.48xlarge"},
    {"infra: [aws/us-east-1], spot: only, accelerators: [A10G], reservations: [{infra: aws/us-east-1/us-east-1a, "
     "instance_type: g5.xlarge, id: cr-00000001, count: 2, end: '2200-01-01T00:00:00Z'}]", "", NULL, RB_ERR_INVALID,
     "resources.reservations", "nothing that the job allows has 1 A10G to stand in"},
    {"infra: [aws/us-west-1/us-west-1a]", "", NULL, RB_ERR_PRICE, "resources.infra[0]",
     "no price is known for aws/us-west-1/us-west-1a"},
    {"infra: [aws/us-west-1]", "", NULL, RB_ERR_PRICE, "resources.infra[0]", "no price is known for aws/us-west-1"},
    {"infra: [aws/us-east-1, aws/us-west-1]", "", NULL, RB_ERR_PRICE, "resources.infra[1]", "aws/us-west-1"},
    {"infra: [aws/us-east-1], instance_types: [g4dn.xlarg]", "", NULL, RB_ERR_PRICE, "resources.instance_types[0]",
     "did you mean g4dn.xlarge"},
    {"infra: [aws/us-east-1], accelerators: [H100]", "", NULL, RB_ERR_INVALID, "resources.accelerators",
     "accelerators"},
    {"infra: [aws/us-east-1], accelerators: [A10G], spot: only", "", NULL, RB_ERR_PRICE, "resources.spot", "market"},
};

static void job_text(const struct row *row, struct rb_buf *out)
{
    rb_buf_printf(out,
                  "name: j\nmetric: {name: a, goal: maximize}\nparameters: {lr: {min: 0.1, max: 0.9}}\n"
                  "scheduler: {type: sha, num_trials: 4, min_resource: 1, max_resource: 2, eta: 2}\n"
                  "run: python t.py\nresources: {%s}\n%s",
                  row->resources, row->trial);
}

static void offers_follow_the_filters(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct rb_buf job = RB_BUF_INIT, got = RB_BUF_INIT;
        struct rb_case c;
        struct rb_offer *offers = NULL;
        struct rb_err err = {0};
        int n = 0;
        job_text(&rows[i], &job);
        case_init(&c, rb_buf_str(&job), profile, prices);
        bool ok = rb_planner_offers(&c.job, &c.catalog, &c.arena, &offers, &n, &err);
        assert_int_equal(ok, rows[i].offers != NULL);
        for (int k = 0; k < n; k++)
            rb_buf_printf(&got, "%s %s %s;", offers[k].infra, offers[k].instance_type,
                          rb_market_name(offers[k].market));
        if (ok) {
            assert_string_equal(rb_buf_str(&got), rows[i].offers);
        } else {
            assert_int_equal(err.code, rows[i].code);
            assert_string_equal(err.key, rows[i].key);
            if (!strstr(err.message, rows[i].words))
                fail_msg("\"%s\" does not say \"%s\"", err.message, rows[i].words);
        }
        rb_buf_finish(&job);
        rb_buf_finish(&got);
        case_finish(&c);
    }
}

// The refusal that names trial.gpus, trial.max_nodes and the largest node.
static void no_size_fits(void **state)
{
    static const struct row row = {"infra: [aws/us-east-1], accelerators: [T4], spot: never",
                                   "trial: {gpus: {min: 8, max: 8, sizes: [8]}, max_nodes: 1}\n",
                                   NULL,
                                   0,
                                   NULL,
                                   NULL};
    struct rb_buf job = RB_BUF_INIT;
    struct rb_case c;
    struct rb_plan plan;
    struct rb_plan_result result;
    struct rb_err err = {0};
    (void)state;
    job_text(&row, &job);
    case_init(&c, rb_buf_str(&job), profile, prices);
    assert_false(rb_make_plan(&c.req, "optimal", &c.arena, &plan, &result, &err));
    assert_int_equal(err.code, RB_ERR_INVALID);
    assert_string_equal(err.key, "trial.gpus");
    assert_non_null(strstr(err.message, "trial.max_nodes is 1"));
    assert_non_null(strstr(err.message, "largest node has 4 GPUs"));
    rb_buf_finish(&job);
    case_finish(&c);
}

// Six zones of fifty types are more than can be planned over: the costliest zone of each goes, and it is said.
static void costly_zones_are_left_out_aloud(void **state)
{
    (void)state;
    static const struct row row = {"infra: [aws/us-east-1], spot: never", "", NULL, 0, NULL, NULL};
    struct rb_buf job = RB_BUF_INIT, list = RB_BUF_INIT;
    struct rb_case c;
    struct rb_offer *offers = NULL;
    const char *dropped = NULL;
    int n = 0;
    rb_buf_printf(&list, "infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour\n");
    for (int type = 0; type < 50; type++) {
        for (int zone = 0; zone < 6; zone++)
            rb_buf_printf(&list, "aws/us-east-1/us-east-1%c,t%d,T4,4,16,16,64,on_demand,%d\n", 'a' + zone, type,
                          1 + (zone + type) % 6);
    }
    job_text(&row, &job);
    case_init(&c, rb_buf_str(&job), profile, rb_buf_str(&list));
    assert_true(rb_planner_offers_and_dropped(&c.job, &c.catalog, &c.arena, &offers, &n, &dropped, NULL));
    assert_int_equal(n, 250);
    for (int i = 0; i < n; i++)
        assert_true(offers[i].rate.uusd_per_hour < 6 * RB_UUSD);
    assert_non_null(dropped);
    assert_non_null(strstr(dropped, "50 of 300 offers"));
    case_finish(&c);

    case_init(&c, rb_buf_str(&job), profile, prices);
    assert_true(rb_planner_offers_and_dropped(&c.job, &c.catalog, &c.arena, &offers, &n, &dropped, NULL));
    assert_null(dropped);
    case_finish(&c);
    rb_buf_finish(&job);
    rb_buf_finish(&list);
}

// Spot without a hazard in the profile cannot be planned on: left out with a warning, an error where it is all there is.
static void spot_needs_a_hazard(void **state)
{
    static const struct row allow = {
        "infra: [aws/us-east-1], instance_types: [g4dn.xlarge], spot: allow", "", NULL, 0, NULL, NULL};
    static const struct row only = {
        "infra: [aws/us-east-1], instance_types: [g4dn.xlarge], spot: only", "", NULL, 0, NULL, NULL};
    const struct row *both[] = {&allow, &only};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct rb_buf job = RB_BUF_INIT;
        struct rb_case c;
        struct rb_plan plan;
        struct rb_plan_result result;
        struct rb_err err = {0};
        job_text(both[i], &job);
        case_init(&c, rb_buf_str(&job), profile, prices);
        bool ok = rb_make_plan(&c.req, "optimal", &c.arena, &plan, &result, &err), warned = false;
        assert_int_equal(ok, i == 0);
        for (int w = 0; ok && w < plan.n_warnings; w++)
            warned = warned || strstr(plan.warnings[w], "was not considered") != NULL;
        assert_true(ok ? warned : err.code == RB_ERR_INVALID);
        rb_buf_finish(&job);
        case_finish(&c);
    }
}

// Planned on demand; spot machines of the same kind stand in, if the profile knows how long they take to come.
static void safe_plans_are_on_demand_and_name_spot(void **state)
{
    static const struct row safe = {
        "infra: [aws/us-east-1], instance_types: [g4dn.xlarge], spot: safe", "", NULL, 0, NULL, NULL};
    static const char spot_line[] = "  - {infra: \"*\", instance_type: \"*\", market: spot, queue_s: 1.0, init_s: 1.0,"
                                    " capacity_failure: 0.0}\n";
    (void)state;
    for (int knows_spot = 0; knows_spot < 2; knows_spot++) {
        struct rb_buf job = RB_BUF_INIT, known = RB_BUF_INIT;
        struct rb_case c;
        struct rb_plan plan;
        struct rb_plan_result result;
        struct rb_err err = {0};
        job_text(&safe, &job);
        rb_buf_printf(&known, "%s%s", profile, knows_spot ? spot_line : "");
        case_init(&c, rb_buf_str(&job), rb_buf_str(&known), prices);
        assert_false(rb_make_plan(&c.req, "static", &c.arena, &plan, &result, &err));
        assert_string_equal(err.key, "deadline");
        c.req.deadline_us = 3600 * RB_US_PER_S;
        if (!rb_make_plan(&c.req, "static", &c.arena, &plan, &result, &err))
            fail_msg("%s", err.message);
        for (int i = 0; i < plan.n_stages; i++)
            assert_int_equal(plan.offers[plan.stages[i].nodes[0].offer].market, RB_MARKET_ON_DEMAND);
        assert_int_equal(plan.n_fallbacks, knows_spot);
        if (knows_spot)
            assert_int_equal(plan.offers[plan.fallbacks[0]].market, RB_MARKET_SPOT);
        bool warned = false;
        for (int w = 0; w < plan.n_warnings; w++)
            warned = warned || strstr(plan.warnings[w], "no spot machine is used") != NULL;
        assert_int_equal(warned, !knows_spot);
        rb_buf_finish(&job);
        rb_buf_finish(&known);
        case_finish(&c);
    }
}

// data.stay: the cheapest of the places, and only it; what the others would cost is said.
static void plans_stay_in_one_place(void **state)
{
    static const struct {
        const char *data, *resources;
        double base_s; // of an L4: how long a unit takes there
        const char *place, *said;
    } stays[] = {
        {"{stay: true}", "infra: [aws/us-east-1, gcp/us-central1, aws/eu-west-1]", 600, "aws",
         "data.stay: all nodes are in aws; in gcp it would cost $"},
        {"{stay: true}", "infra: [aws/us-east-1, gcp/us-central1]", 6, "gcp",
         "data.stay: all nodes are in gcp; in aws it would cost $"},
        {"{stay: true}", "infra: [aws/us-east-1, gcp/us-central1], accelerators: [T4]", 6, "aws",
         "in gcp it cannot be planned (no instance type on the listed infra"},
        {"{stay: true}", "infra: [aws/us-east-1, aws/eu-west-1]", 6, "aws", NULL},
        {"{stay: false}", "infra: [aws/us-east-1, gcp/us-central1]", 6, NULL, NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof stays / sizeof stays[0]; i++) {
        RB_AUTO(rb_buf_finish) struct rb_buf job = RB_BUF_INIT, known = RB_BUF_INIT;
        struct rb_case c;
        struct rb_plan plan;
        struct rb_plan_result result;
        struct rb_err err = {0};
        job_text(&(struct row){.resources = stays[i].resources, .trial = ""}, &job);
        rb_buf_printf(&job, "data: %s\n", stays[i].data);
        const char *noise = strstr(profile, "noise:");
        rb_buf_append(&known, profile, (size_t)(noise - profile));
        rb_buf_printf(&known, "  - accelerator: L4\n    base_s: %g\n    layouts: [{gpus: 1, nodes: 1, speedup: 1.0}]\n%s",
                      stays[i].base_s, noise);
        case_init(&c, rb_buf_str(&job), rb_buf_str(&known), prices);
        if (!rb_make_plan(&c.req, "optimal", &c.arena, &plan, &result, &err))
            fail_msg("%s", err.message);
        for (int k = 0; k < plan.n_offers && stays[i].place; k++)
            assert_true(rb_infra_within(plan.offers[k].infra, stays[i].place));
        for (int k = 0; k < plan.job->resources.infra.n && stays[i].place; k++)
            assert_true(rb_infra_within(plan.job->resources.infra.items[k], stays[i].place));
        const bool has_note = strncmp(plan.warnings[0], "data.stay:", strlen("data.stay:")) == 0;
        assert_int_equal(has_note, stays[i].said != NULL);
        if (has_note && !strstr(plan.warnings[0], stays[i].said))
            fail_msg("\"%s\" does not say \"%s\"", plan.warnings[0], stays[i].said);
        const bool several = stays[i].said != NULL;
        assert_int_equal(rb_planner_check(&c.job, "optimal", "pareto", &err), !several);
        if (several)
            assert_true(error_says(&err, "RB4462 data.stay: --pareto plans for one place"));
        case_finish(&c);
    }
}

// Where no place has a plan, the one that comes nearest is named.
static void a_job_that_stays_nowhere_is_infeasible(void **state)
{
    RB_AUTO(rb_buf_finish) struct rb_buf job = RB_BUF_INIT;
    struct rb_case c;
    struct rb_plan plan;
    struct rb_plan_result result;
    struct rb_err err = {0};
    (void)state;
    job_text(&(struct row){.resources = "infra: [gcp/us-central1, aws/us-east-1]", .trial = ""}, &job);
    rb_buf_puts(&job, "data: {stay: true}\ndeadline: 30s\n");
    case_init(&c, rb_buf_str(&job), profile, prices);
    assert_false(rb_make_plan(&c.req, "optimal", &c.arena, &plan, &result, &err));
    assert_int_equal(err.code, RB_ERR_INFEASIBLE);
    assert_true(error_says(&err, "data.stay: in aws"));
    assert_true(result.nearest_deadline_us > 30 * RB_US_PER_S);
    case_finish(&c);
}

// What earlier runs have measured is planned with, and named; without it the plan says what is missing.
static void measured_readings_are_named(void **state)
{
    static const char measured[] =
        "data:\n  - {fetch: sync, infra: aws/us-east-1, instance_type: g4dn.xlarge, size: 10GB, read_s: 100, nodes: 6}\n";
    static const struct {
        const char *data, *said;
        double more_s; // than without data
    } readings[] = {
        {"{size: 20GB, fetch: sync}", "a new g4dn.xlarge in aws/us-east-1 fetches 20GB of data in 3 m 20 s on average "
         "(100 MB/s, measured on 6 nodes)", 200},
        {"{size: 20GB, fetch: other}", "fetches 20GB of data is not charged: the first run measures it", 0},
        {"{size: 20GB, fetch: sync, bandwidth: 1GB/s}", NULL, 20},
        {"{size: 20GB}", "reads 20GB of data is not charged: declare data.bandwidth", 0},
        {"{size: 20GB, mount: /mnt/data}", NULL, 0},
    };
    double without_s = 0;
    (void)state;
    for (int i = -1; i < (int)(sizeof readings / sizeof readings[0]); i++) {
        RB_AUTO(rb_buf_finish) struct rb_buf job = RB_BUF_INIT, known = RB_BUF_INIT;
        struct rb_case c;
        struct rb_plan plan;
        struct rb_plan_result result;
        struct rb_err err = {0};
        bool said = false;
        job_text(&(struct row){.resources = "infra: [aws/us-east-1], instance_types: [g4dn.xlarge], max_nodes: 1",
                               .trial = ""}, &job);
        rb_buf_printf(&job, "data: %s\n", i < 0 ? "null" : readings[i].data);
        rb_buf_printf(&known, "%s%s", profile, measured);
        case_init(&c, rb_buf_str(&job), rb_buf_str(&known), prices);
        if (!rb_make_plan(&c.req, "static", &c.arena, &plan, &result, &err))
            fail_msg("%s", err.message);
        const double time_s = (double)plan.estimate.time_us.mean / (double)RB_US_PER_S;
        for (int w = 0; w < plan.n_warnings && i >= 0; w++)
            said = said || (readings[i].said ? strstr(plan.warnings[w], readings[i].said)
                                             : strstr(plan.warnings[w], "of data")) != NULL;
        if (i < 0)
            without_s = time_s;
        else if (said != (readings[i].said != NULL) || time_s < without_s + readings[i].more_s - 0.01 ||
                 time_s > without_s + readings[i].more_s + 0.01)
            fail_msg("%s: %g s longer, expected %g; said: %s", readings[i].data, time_s - without_s, readings[i].more_s,
                     plan.n_warnings ? plan.warnings[plan.n_warnings > 1] : "");
        case_finish(&c);
    }
}

static const char spot_prices[] = ", price: {mean: 0.3, p5: 0.25, p95: 0.4}";

// On a market that the profile knows; price: what its spells say of prices.
static void ask_for_spot_at(struct rb_case *c, const char *spot, int64_t deadline_s, const char *price)
{
    static const char known[] =
        "format: rb-profile/1\nname: p\nunit: epoch\nsource: test\ntraining:\n"
        "  - {accelerator: T4, base_s: 600, layouts: [{gpus: 1, nodes: 1, speedup: 1.0}]}\n"
        "noise:\n  between: {distribution: lognormal, mean: 1.0, cv: 0.03}\n"
        "  within: {distribution: lognormal, mean: 1.0, cv: 0.03}\n"
        "startup_s: 5\ncheckpoint_s: 1.0\nprovisioning:\n"
        "  - {infra: \"*\", instance_type: \"*\", market: on_demand, queue_s: 10, init_s: 60, capacity_failure: 0.0,"
        " preemption_per_hour: 0.0}\n"
        "  - {infra: \"*\", instance_type: \"*\", market: spot, queue_s: 10, init_s: 60, capacity_failure: 0.0,"
        " spells: {sampled_s: 60, days: 9, up_s: 36000, down_s: 1200, together: 1,"
        " hazard: [{from_s: 0, per_hour: 0.1}]";
    RB_AUTO(rb_buf_finish) struct rb_buf job = RB_BUF_INIT, profile_text = RB_BUF_INIT;
    rb_buf_printf(&profile_text, "%s%s}}\n", known, price);
    rb_buf_printf(&job,
                  "name: j\nmetric: {name: a, goal: maximize}\nparameters: {lr: {min: 0.1, max: 0.9}}\n"
                  "scheduler: {type: sha, num_trials: 4, min_resource: 1, max_resource: 2, eta: 2}\n"
                  "run: python t.py\nresources: {infra: [aws/us-east-1], instance_types: [g4dn.xlarge], spot: %s}\n",
                  spot);
    case_init(c, rb_buf_str(&job), rb_buf_str(&profile_text), prices);
    c->req.deadline_us = deadline_s * RB_US_PER_S;
}

static void ask_for_spot(struct rb_case *c, const char *spot, int64_t deadline_s)
{
    ask_for_spot_at(c, spot, deadline_s, "");
}

static void make_plan_for_spot(struct rb_case *c, const char *spot, int64_t deadline_s, struct rb_plan *out)
{
    struct rb_plan_result result;
    struct rb_err err = {0};
    ask_for_spot(c, spot, deadline_s);
    if (!rb_make_plan(&c->req, "optimal", &c->arena, out, &result, &err))
        fail_msg("%s", err.message);
}

// The cheapest on demand takes an hour, which leaves no time for spot; the one chosen ends earlier, and costs less with it.
static void a_safe_plan_leaves_time_for_spot(void **state)
{
    (void)state;
    struct rb_case c;
    struct rb_plan plan;
    make_plan_for_spot(&c, "safe", 4200, &plan);
    const struct rb_estimate *on_demand = rb_plan_as_it_stands(&plan);
    assert_non_null(plan.spot);
    assert_ptr_not_equal(on_demand, &plan.estimate);
    assert_true(on_demand->time_us.p95 < 3000 * RB_US_PER_S);
    assert_true(on_demand->p_both >= plan.confidence && plan.estimate.p_both >= plan.confidence);
    assert_true((double)plan.estimate.cost_uusd.mean < 0.6 * (double)on_demand->cost_uusd.mean);
    assert_true(plan.estimate.cost_uusd.p95 >= on_demand->cost_uusd.p95);
    assert_false(plan.bound.present);
    for (int i = 0; i < plan.n_stages; i++)
        assert_int_equal(plan.offers[plan.stages[i].nodes[0].offer].market, RB_MARKET_ON_DEMAND);
    case_finish(&c);
}

static const char two_machines[] = "infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour\n"
                                   "aws/us-east-1,p3.2xlarge,V100,1,16,8,61,on_demand,3.06\n"
                                   "aws/us-east-1,p3.2xlarge,V100,1,16,8,61,spot,0.6\n"
                                   "aws/us-east-1,g4dn.xlarge,T4,1,16,4,16,on_demand,0.8\n";

struct limit {
    struct rb_thread_clock clock;
    int64_t start_us, limit_us;
};

static double time_used(void *ctx)
{
    const struct limit *l = ctx;
    return (double)(rb_thread_clock_us(&l->clock) - l->start_us) / (double)l->limit_us;
}

static bool out_of_time(void *ctx)
{
    return time_used(ctx) >= 1;
}

static void start_limit(struct limit *limit, int64_t limit_us, struct rb_plan_request *req)
{
    *limit = (struct limit){.clock = rb_thread_clock_of_caller(), .limit_us = limit_us};
    limit->start_us = rb_thread_clock_us(&limit->clock);
    req->out_of_time = out_of_time;
    req->time_used = time_used;
    req->out_of_time_ctx = limit;
    req->time_limit_us = limit_us;
}

static void begin_down(struct rb_case *c, int up_s, int down_s, const char *noise, int n_trials, int eta, const char *spot)
{
    RB_AUTO(rb_buf_finish) struct rb_buf known = RB_BUF_INIT, job = RB_BUF_INIT;
    rb_buf_printf(&known,
                  "format: rb-profile/1\nname: p\nunit: epoch\nsource: test\ntraining:\n"
                  "  - {accelerator: V100, base_s: 300, layouts: [{gpus: 1, nodes: 1, speedup: 1.0}]}\n"
                  "  - {accelerator: T4, base_s: 450, layouts: [{gpus: 1, nodes: 1, speedup: 1.0}]}\n"
                  "noise: {between: %s, within: %s}\n"
                  "startup_s: 5\ncheckpoint_s: 1.0\nprovisioning:\n"
                  "  - {infra: \"*\", instance_type: \"*\", market: on_demand, queue_s: 10, init_s: 60,"
                  " capacity_failure: 0.0, preemption_per_hour: 0.0}\n"
                  "  - {infra: \"*\", instance_type: \"*\", market: spot, queue_s: 10, init_s: 60,"
                  " capacity_failure: 0.0, spells: {sampled_s: 60, days: 9, up_s: %d, down_s: %d, together: 1,"
                  " hazard: [{from_s: 0, per_hour: %g}]}}\n",
                  noise, noise, up_s, down_s, n_trials > 4 ? 2 : 0.1);
    rb_buf_printf(&job,
                  "name: j\nmetric: {name: a, goal: maximize}\nparameters: {lr: {min: 0.1, max: 0.9}}\n"
                  "scheduler: {type: sha, num_trials: %d, min_resource: 1, max_resource: %d, eta: %d}\n"
                  "run: python t.py\nresources: {infra: [aws/us-east-1], spot: %s, max_nodes: %d}\n",
                  n_trials, n_trials > 4 ? n_trials : 2, eta, spot, n_trials);
    case_init(c, rb_buf_str(&job), rb_buf_str(&known), two_machines);
}

static bool says_left_out(const struct rb_plan *plan)
{
    bool says = false;
    for (int w = 0; w < plan->n_warnings; w++)
        says = says || strstr(plan->warnings[w], "spot offers whose markets go down were left out: with them the "
                                                 "cheapest plan found costs $") != NULL;
    return says;
}

// The search takes a market as always up. One that is down for most of the time costs what stands in for it, here more than
// a plan that would do without it. A time limit that leaves the time for it changes nothing.
static void markets_that_would_cost_more_are_left_out(void **state)
{
    (void)state;
    static const struct {
        int up_s, down_s;
        int64_t limit_us; // 0: none
        bool left_out;
    } cases[] = {{1200, 24000, 0, true}, {24000, 1200, 0, false}, {1200, 24000, 30 * RB_US_PER_S, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rb_case c;
        struct rb_plan plan;
        struct rb_plan_result result;
        struct rb_err err = {0};
        struct limit limit;
        begin_down(&c, cases[i].up_s, cases[i].down_s, "{distribution: constant, mean: 1.0}", 4, 2, "allow");
        c.req.deadline_us = 7200 * RB_US_PER_S;
        if (cases[i].limit_us > 0)
            start_limit(&limit, cases[i].limit_us, &c.req);
        if (!rb_make_plan(&c.req, "optimal", &c.arena, &plan, &result, &err))
            fail_msg("%s", err.message);
        assert_int_equal(says_left_out(&plan), cases[i].left_out);
        for (int s = 0; s < plan.n_stages; s++)
            assert_int_equal(plan.offers[plan.stages[s].nodes[0].offer].market,
                             cases[i].left_out ? RB_MARKET_ON_DEMAND : RB_MARKET_SPOT);
        assert_false(plan.bound.proved);
        case_finish(&c);
    }
}

// Figures of such plans rest on runs of the engine, the fewest of which take most of these limits: of this thread's own time, so
// a busy machine changes nothing.
static void a_time_limit_is_kept_where_markets_are_down(void **state)
{
    (void)state;
    static const char *const spots[] = {"allow", "only"};
    for (size_t i = 0; i < sizeof spots / sizeof *spots; i++) {
        struct rb_case c;
        struct rb_plan plan;
        struct rb_plan_result result;
        struct rb_err err = {0};
        struct limit limit;
        begin_down(&c, 1200, 24000, "{distribution: lognormal, mean: 1.0, cv: 0.1}", 27, 3, spots[i]);
        c.req.deadline_us = 48 * 3600 * RB_US_PER_S;
        start_limit(&limit, RB_US_PER_S / 5, &c.req);
        rb_make_plan(&c.req, "optimal", &c.arena, &plan, &result, &err); // it may find none in that time
        if (c.req.time_used(c.req.out_of_time_ctx) > FACTOR)
            fail_msg("%s: %.2f times the limit", spots[i], c.req.time_used(c.req.out_of_time_ctx));
        case_finish(&c);
    }
}

// What a plan says of its run holds in replays that it does not rest on; a figure that is a fifth off does not.
static void the_run_of_a_safe_plan_is_verified(void **state)
{
    (void)state;
    struct rb_case c;
    struct rb_plan plan;
    struct rb_verified_spot v;
    make_plan_for_spot(&c, "safe", 4200, &plan);
    assert_true(rb_verify_spot(&plan, &v));
    assert_int_equal(v.replayed.samples, 1024);
    assert_true(v.replayed.cost_uusd.mean != plan.estimate.cost_uusd.mean); // other replays
    assert_true(fabs(v.cost_z) < 4 && fabs(v.time_z) < 4 && fabs(v.p_both_z) < 4);
    plan.estimate.cost_uusd.mean += plan.estimate.cost_uusd.mean / 5;
    assert_true(rb_verify_spot(&plan, &v));
    assert_true(v.cost_z > 4);
    plan.spot = NULL;
    assert_false(rb_verify_spot(&plan, &v));
    case_finish(&c);
}

// Chosen as the plan of one deadline is: from plans that end earlier, and by the same replays.
static void the_frontier_has_the_run_with_spot_beside_the_plans(void **state)
{
    (void)state;
    struct rb_case c;
    struct rb_plan plan;
    int n_saves = 0;
    make_plan_for_spot(&c, "safe", 3000, &plan);
    const struct rb_pareto pareto = case_frontier(&c);
    const struct rb_estimate *with = rb_pareto_beside(&pareto, c.req.deadline_us);
    assert_int_equal(pareto.spot, RB_PARETO_WITH_SPOT);
    assert_non_null(with);
    assert_true(llabs(with->cost_uusd.mean - plan.estimate.cost_uusd.mean) < plan.estimate.cost_uusd.mean / 50);
    for (int i = 0; i < pareto.n_beside; i++) {
        const struct rb_pareto_point *p = &pareto.beside[i];
        const struct rb_pareto_point *without = rb_pareto_at(&pareto, p->deadline_us, "optimal");
        assert_non_null(without);
        assert_true(p->estimate.p_both >= c.req.confidence && without->estimate.p_both >= c.req.confidence);
        n_saves += p->estimate.cost_uusd.mean < 6 * without->estimate.cost_uusd.mean / 10;
    }
    assert_true(n_saves > 1);
    case_finish(&c);
}

static void no_other_frontier_has_spot_beside_it(void **state)
{
    (void)state;
    static const char *const others[] = {"never", "only"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct rb_case c;
        ask_for_spot(&c, others[i], 3000);
        const struct rb_pareto pareto = case_frontier(&c);
        assert_true(pareto.n_points > 0);
        assert_int_equal(pareto.spot, RB_PARETO_ALONE);
        assert_int_equal(pareto.n_beside, 0);
        case_finish(&c);
    }
}

// The same plans as those of a job that forbids spot machines, to the error of their runs, and never less than with them.
static void the_frontier_of_allowed_spot_has_the_plans_without_it(void **state)
{
    (void)state;
    struct rb_case allowed, forbidden;
    int n_saves = 0;
    ask_for_spot(&allowed, "allow", 3000);
    ask_for_spot(&forbidden, "never", 3000);
    const struct rb_pareto both = case_frontier(&allowed), alone = case_frontier(&forbidden);
    const struct rb_estimate *without = rb_pareto_beside(&both, 3000 * RB_US_PER_S);
    const struct rb_pareto_point *expected = rb_pareto_at(&alone, 3000 * RB_US_PER_S, "optimal");
    assert_int_equal(both.spot, RB_PARETO_WITHOUT_SPOT);
    assert_string_equal(rb_pareto_beside_name(&both), "without spot");
    assert_non_null(without);
    assert_non_null(expected);
    assert_true(llabs(without->cost_uusd.mean - expected->estimate.cost_uusd.mean) <
                expected->estimate.cost_uusd.mean / 50);
    assert_true(both.n_beside > 2);
    for (int i = 0; i < both.n_beside; i++) {
        const struct rb_pareto_point *p = &both.beside[i];
        const struct rb_pareto_point *with = rb_pareto_at(&both, p->deadline_us, "optimal");
        assert_non_null(with);
        assert_true(p->estimate.p_both >= allowed.req.confidence && with->estimate.p_both >= allowed.req.confidence);
        assert_true((double)with->estimate.cost_uusd.mean <= 1.005 * (double)p->estimate.cost_uusd.mean);
        assert_true(i == 0 || p->estimate.cost_uusd.mean <= both.beside[i - 1].estimate.cost_uusd.mean);
        n_saves += with->estimate.cost_uusd.mean < 6 * p->estimate.cost_uusd.mean / 10;
    }
    assert_true(n_saves > 1);
    case_finish(&allowed);
    case_finish(&forbidden);
}

// Another price than the list's, with its range; other offers stay as they are.
static void a_mean_of_prices_is_planned_with_and_named(void **state)
{
    (void)state;
    struct rb_case c;
    struct rb_plan plan;
    struct rb_plan_result result;
    struct rb_err err = {0};
    int n, n_at_mean = 0;
    bool said = false;
    ask_for_spot_at(&c, "allow", 9000, spot_prices);
    const struct rb_catalog *listed = c.req.catalog;
    c.req.catalog = rb_catalog_at_means(listed, &c.profile, &c.arena, &n);
    assert_true(n > 0 && c.req.catalog != listed);
    if (!rb_make_plan(&c.req, "optimal", &c.arena, &plan, &result, &err))
        fail_msg("%s", err.message);
    for (int i = 0; i < plan.n_offers; i++)
        n_at_mean += plan.offers[i].market == RB_MARKET_SPOT && plan.offers[i].rate.uusd_per_hour == 300000;
    for (int i = 0; i < listed->n_offers; i++)
        if (listed->offers[i].market != RB_MARKET_SPOT)
            assert_int_equal(c.req.catalog->offers[i].rate.uusd_per_hour, listed->offers[i].rate.uusd_per_hour);
    for (int i = 0; i < plan.n_warnings; i++)
        said = said || strstr(plan.warnings[i], "is a mean, $0.3000 an hour: it was between $0.2500 and $0.4000 for 90 %");
    assert_int_equal(n_at_mean, 1);
    assert_true(said);
    case_finish(&c);
    ask_for_spot(&c, "allow", 9000);
    assert_ptr_equal(rb_catalog_at_means(c.req.catalog, &c.profile, &c.arena, &n), c.req.catalog);
    case_finish(&c);
}

static void a_plan_on_demand_says_what_spot_would_save(void **state)
{
    (void)state;
    static const struct {
        const char *spot;
        int64_t deadline_s;
        bool says;
    } cases[] = {{"never", 9000, true}, {"never", 1400, false}, {"allow", 9000, false}, {"safe", 9000, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rb_case c;
        struct rb_plan plan;
        bool says = false;
        make_plan_for_spot(&c, cases[i].spot, cases[i].deadline_s, &plan);
        for (int w = 0; w < plan.n_warnings; w++)
            says = says || strstr(plan.warnings[w], "under resources.spot: safe this plan would cost about $") != NULL;
        assert_int_equal(says, cases[i].says);
        case_finish(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(offers_follow_the_filters),
        cmocka_unit_test(plans_stay_in_one_place),
        cmocka_unit_test(a_job_that_stays_nowhere_is_infeasible),
        cmocka_unit_test(measured_readings_are_named),
        cmocka_unit_test(no_size_fits),
        cmocka_unit_test(costly_zones_are_left_out_aloud),
        cmocka_unit_test(spot_needs_a_hazard),
        cmocka_unit_test(safe_plans_are_on_demand_and_name_spot),
        cmocka_unit_test(a_safe_plan_leaves_time_for_spot),
        cmocka_unit_test(markets_that_would_cost_more_are_left_out),
        cmocka_unit_test(a_time_limit_is_kept_where_markets_are_down),
        cmocka_unit_test(the_run_of_a_safe_plan_is_verified),
        cmocka_unit_test(the_frontier_has_the_run_with_spot_beside_the_plans),
        cmocka_unit_test(no_other_frontier_has_spot_beside_it),
        cmocka_unit_test(the_frontier_of_allowed_spot_has_the_plans_without_it),
        cmocka_unit_test(a_mean_of_prices_is_planned_with_and_named),
        cmocka_unit_test(a_plan_on_demand_says_what_spot_would_save),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
