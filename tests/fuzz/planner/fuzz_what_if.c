// Any text behind --what-if: refused in one line that names it, or changes whose keys and values come from the text; and a
// request with them, or an error.
#include "planner/questions/what_if.h"

#include "fuzz.h"
#include "require.h"

#include <string.h>

static const char job_text[] = "name: j\nmetric: {name: a, goal: maximize}\nparameters: {lr: {min: 0.1, max: 0.9}}\n"
                               "scheduler: {type: sha, num_trials: 8, min_resource: 1, max_resource: 4, eta: 2}\n"
                               "trial: {gpus: {min: 1, max: 4, sizes: [1, 2, 4]}}\nrun: python t.py\n"
                               "resources: {infra: [aws/us-east-1], max_nodes: 3}\ndeadline: 20m\nconfidence: 0.9\n";
static const char profile_text[] =
    "format: rb-profile/1\nname: p\nunit: epoch\nsource: test\ntraining:\n"
    "  - {accelerator: T4, base_s: 100, layouts: [{gpus: 1, nodes: 1, speedup: 1.0}]}\n"
    "noise: {between: {distribution: constant, mean: 1}, within: {distribution: constant, mean: 1}}\n"
    "startup_s: {distribution: constant, mean: 5}\ncheckpoint_s: 1.0\n"
    "provisioning:\n  - {infra: aws, instance_type: \"*\", market: \"*\", queue_s: 1, init_s: 1, capacity_failure: "
    "0.0}\n";
static const char prices_text[] =
    "infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour\n"
    "aws/us-east-1,four.big,T4,4,16,48,192,on_demand,14.4\n";

static struct base {
    struct rb_arena arena;
    struct rb_job job;
    struct rb_profile profile;
    struct rb_catalog catalog;
    struct rb_plan_request req;
    struct rb_doc job_doc, profile_doc; // what was read borrows from these
    struct rb_csv csv;
} base;

static void make_base(void)
{
    rb_arena_init(&base.arena);
    require(rb_doc_parse_yaml(&base.job_doc, "job.yaml", job_text, sizeof job_text - 1, NULL) &&
            rb_job_read(base.job_doc.root, NULL, 0, &base.arena, &base.job, NULL));
    require(rb_doc_parse_yaml(&base.profile_doc, "profile.yaml", profile_text, sizeof profile_text - 1, NULL) &&
            rb_profile_read(base.profile_doc.root, NULL, "profile", &base.arena, &base.profile, NULL));
    require(rb_csv_parse(&base.csv, "prices.csv", prices_text, sizeof prices_text - 1, NULL) &&
            rb_catalog_from_csv(&base.csv, &base.arena, &base.catalog, NULL));
    base.req = rb_plan_request_of(&base.job, &base.profile, &base.catalog);
}

static void check_line(const struct rb_err *err)
{
    require(err->code != RB_ERR_NONE && err->message[0]);
    for (const char *c = err->message; *c; c++)
        require((unsigned char)*c >= 0x20);
}

static void check(const struct rb_what_if *scenario, const char *text, struct rb_arena *arena)
{
    struct rb_plan_request req;
    struct rb_err err = {0};
    require(scenario->n_changes > 0);
    for (int i = 0; i < scenario->n_changes; i++) {
        require(scenario->changes[i].key[0] && strstr(text, scenario->changes[i].key));
        require(scenario->changes[i].value[0] && strstr(text, scenario->changes[i].value));
    }
    if (rb_what_if_request(&base.req, scenario, arena, &req, &err)) {
        require(req.job && req.profile && req.catalog && req.confidence > 0 && req.confidence < 1);
        require(req.deadline_us == -1 || req.deadline_us > 0);
        require(req.budget_uusd >= -1);
    } else {
        check_line(&err);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct rb_arena arena;
    struct rb_what_if scenario;
    struct rb_err err = {0};
    if (!base.job.name)
        make_base();
    rb_arena_init(&arena);
    const char *text =
        rb_arena_printf(&arena, "%.*s", (int)(n < 4096 ? n : 4096), (const char *)bytes); // as of an argv
    if (rb_what_if_parse(text, &arena, &scenario, &err))
        check(&scenario, text, &arena);
    else
        check_line(&err);
    rb_arena_finish(&arena);
    return 0;
}
