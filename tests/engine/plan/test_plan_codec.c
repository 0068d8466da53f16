// plan.json: read(write(x)) = x byte for byte over random plans, and everything that is not a plan of this job is refused
// with the path of the key.
#include "random_plan.h"

#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

// Not a cryptographic one: those are fenced to providers/. Four FNV-1a hashes with different beginnings.
static void digest(const void *bytes, size_t n, char out_hex[65])
{
    for (int k = 0; k < 4; k++) {
        uint64_t hash = UINT64_C(14695981039346656037) + (uint64_t)k;
        for (size_t i = 0; i < n; i++)
            hash = (hash ^ ((const unsigned char *)bytes)[i]) * UINT64_C(1099511628211);
        snprintf(out_hex + 16 * k, 17, "%016llx", (unsigned long long)hash);
    }
}

static void write_plan(const struct rb_plan *plan, struct rb_buf *out)
{
    struct rb_json j;
    rb_buf_clear(out);
    rb_json_init(&j, out, true);
    rb_plan_write(plan, &j);
}

static bool read_plan(const char *text, struct rb_arena *arena, struct rb_plan *out, struct rb_err *err)
{
    struct rb_doc doc;
    if (!rb_doc_parse_json(&doc, "plan.json", text, strlen(text), err))
        return false;
    const bool ok = rb_plan_read(doc.root, digest, arena, out, err);
    rb_doc_finish(&doc); // a plan borrows nothing from it
    return ok;
}

// ---- what a planner would have filled in

static struct rb_quantiles some_quantiles(struct rb_stream *s)
{
    const int64_t p5 = (int64_t)rb_stream_below(s, 1000000), p50 = p5 + (int64_t)rb_stream_below(s, 1000000);
    const int64_t p95 = p50 + (int64_t)rb_stream_below(s, 1000000);
    return (struct rb_quantiles){p50, p5, p50, p95, p95 + 7};
}

static struct rb_estimate some_estimate(struct rb_stream *s)
{
    return (struct rb_estimate){
        .time_us = some_quantiles(s),
        .cost_uusd = some_quantiles(s),
        .p_deadline = rb_stream_uniform(s),
        .p_budget = 1,
        .p_both = rb_stream_uniform(s),
        .samples = 4096,
        .stderr_ = {12, 34, rb_stream_uniform(s) / 100, 0, rb_stream_uniform(s) / 100},
        .time_method = rb_stream_below(s, 2) ? RB_ESTIMATE_LAWS : RB_ESTIMATE_REPLICATES,
        .cost_method = rb_stream_below(s, 2) ? RB_ESTIMATE_TABLES : RB_ESTIMATE_REPLICATES,
        .error = {56, 78, rb_stream_uniform(s) / 10, 0, rb_stream_uniform(s) / 10},
    };
}

// None, one of 0, which has no gap, and a proof.
static struct rb_plan_bound some_bound(uint64_t seed)
{
    static const char *const relaxations[] = {"stages are independent", "nodes are divisible"};
    struct rb_plan_bound b = {.nodes_explored = 1234, .relaxations = relaxations, .n_relaxations = 2};
    switch (seed % 3) {
    case 0:
        b.why_not = "stages share the error of what was measured";
        break;
    case 1:
        b.present = true;
        b.gap = INFINITY;
        b.why_not = "the search was cut at its time limit";
        break;
    default:
        b.present = b.proved = true;
        b.cost_uusd = 18400000;
        b.gap = 0.004;
    }
    return b;
}

static void seal(struct rb_plan *plan)
{
    struct rb_buf text = RB_BUF_INIT;
    struct rb_json j;
    rb_json_init(&j, &text, false);
    rb_job_write(plan->job, &j);
    digest(rb_buf_str(&text), text.len, plan->job_sha256);
    rb_buf_clear(&text);
    rb_json_init(&j, &text, false);
    rb_profile_write(plan->profile, &j);
    digest(rb_buf_str(&text), text.len, plan->profile_sha256);
    rb_buf_finish(&text);
}

static void complete(struct random_plan *p, uint64_t seed)
{
    static const char *const warnings[] = {"public IPv4 is not \"modelled\""};
    static const struct rb_key_value images[] = {{"aws/us-east-1", "ami-123"}};
    static const struct rb_key_value containers[] = {{"local", "docker.io/library/python@sha256:00"}};
    static const int fallbacks[] = {1, 0};
    static struct rb_plan_baseline baselines[3];
    static struct rb_plan_safe_spot spot;
    struct rb_stream s;
    rb_stream_init(&s, &(struct rb_stream_key){.seed = seed, .purpose = RB_DRAW_SEARCH, .stage = 2});
    for (int i = 0; i < p->plan.n_stages; i++) {
        p->stages[i].time_us = some_quantiles(&s);
        p->stages[i].cost_uusd = some_quantiles(&s);
    }
    baselines[0] = (struct rb_plan_baseline){.name = "static", .exists = true, .estimate = some_estimate(&s)};
    baselines[1] = (struct rb_plan_baseline){.name = "greedy"};
    baselines[2] = (struct rb_plan_baseline){.name = "naive", .exists = seed % 2, .estimate = some_estimate(&s)};
    p->plan.baselines = baselines;
    p->plan.n_baselines = 3;
    p->plan.estimate = some_estimate(&s);
    spot = (struct rb_plan_safe_spot){some_estimate(&s), rb_stream_uniform(&s), rb_stream_uniform(&s), 123456,
                                      rb_stream_uniform(&s)};
    p->plan.spot = seed % 3 ? NULL : &spot;
    static struct rb_plan_controller controller;
    controller = (struct rb_plan_controller){.place = seed % 4 ? "aws/us-east-1" : "ssh:me@box",
                                             .instance_type = seed % 4 ? "t3.small" : NULL,
                                             .uusd_per_hour = seed % 4 ? 20800 : 0,
                                             .keep_us = 3600000000,
                                             .cost_uusd = some_quantiles(&s),
                                             .set_aside_uusd = (int64_t)seed};
    p->plan.controller = seed % 2 ? NULL : &controller;
    p->plan.bound = some_bound(seed);
    p->plan.images = images;
    p->plan.n_images = (int)(seed % 2);
    p->plan.containers = containers;
    p->plan.n_containers = (int)(seed % 3 == 0);
    p->plan.fallbacks = fallbacks;
    p->plan.n_fallbacks = 2;
    p->plan.warnings = warnings;
    p->plan.n_warnings = 1;
    p->plan.deadline_us = seed % 2 ? 7200000000 : -1;
    p->plan.deadline_at_us = seed % 4 == 1 ? INT64_C(1785585600123456) : -1;
    p->plan.budget_uusd = seed % 5 ? 40000000 : -1;
    p->offers[0].fetched_at_us = seed % 2 ? INT64_C(1785585600000000) : -1;
    seal(&p->plan);
}

static void what_is_written_is_read_back(void **state)
{
    (void)state;
    static struct random_plan p; // large; remade every time
    struct rb_buf once = RB_BUF_INIT, twice = RB_BUF_INIT;
    for (uint64_t seed = 1; seed <= 500; seed++) {
        struct rb_arena arena;
        struct rb_plan back;
        struct rb_err err;
        random_plan_make(&p, seed);
        complete(&p, seed);
        rb_arena_init(&arena);
        write_plan(&p.plan, &once);
        if (!read_plan(rb_buf_str(&once), &arena, &back, &err))
            fail_msg("seed %llu: line %d: %s: %s", (unsigned long long)seed, err.line, err.key, err.message);
        write_plan(&back, &twice);
        assert_string_equal(rb_buf_str(&once), rb_buf_str(&twice));
        assert_int_equal(back.n_offers, p.plan.n_offers);
        assert_int_equal(back.bound.present, p.plan.bound.present);
        assert_int_equal(back.estimate.time_method, p.plan.estimate.time_method);
        assert_int_equal(back.estimate.cost_method, p.plan.estimate.cost_method);
        assert_int_equal(back.estimate.error.cost_mean_uusd, p.plan.estimate.error.cost_mean_uusd);
        assert_int_equal(back.deadline_at_us, p.plan.deadline_at_us);
        rb_arena_finish(&arena);
    }
    rb_buf_finish(&once);
    rb_buf_finish(&twice);
}

// ---- refusals

// The text with the first `from` after `anchor` replaced. Both must occur.
static char *edited(const char *text, const char *anchor, const char *from, const char *to)
{
    const char *at = strstr(text, anchor);
    at = at ? strstr(at, from) : NULL;
    if (!at)
        fail_msg("\"%s\" after \"%s\" is not in the plan", from, anchor);
    struct rb_buf out = RB_BUF_INIT;
    rb_buf_append(&out, text, (size_t)(at - text));
    rb_buf_puts(&out, to);
    rb_buf_puts(&out, at + strlen(from));
    return out.data;
}

static void a_changed_plan_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *anchor, *from, *to, *says;
    } cases[] = {
        {"{", "rb-plan/1", "rb-plan/2", "rb-plan/1"},
        {"{", "\"tool\"", "\"tools\"", "tool"},
        {"{", "\"seed\": ", "\"seed\": -", "seed"},
        {"\"config\"", "\"eta\": ", "\"eta\": 1", "sha256"},
        {"\"config\"", "\"max_nodes\": 64", "\"max_nodes\": 63", "sha256"},
        {"\"model\"", "\"speedup\": 4.5", "\"speedup\": 4.6", "profile.sha256"},
        {"\"job\"", "\"name\": \"random\"", "\"name\": \"other\"", "job.name"},
        {"\"policy\": \"elastic\",\n  \"planner\"", "elastic", "psychic", "psychic"},
        {"\"confidence\": 0.95,\n  \"estimate\"", "0.95", "1.5", "confidence"},
        {"\"estimate\"", "\"p_deadline\"", "\"p_dead\"", "p_deadline"},
        {"\"estimate\"", "\"samples\": 4096", "\"samples\": 4096.5", "samples"},
        {"\"estimate\"", "\"method\"", "\"methods\"", "method"},
        {"\"method\"", "\"time\": \"", "\"time\": \"il", "laws"},
        {"\"error\"", "\"cost_mean_uusd\": ", "\"cost_mean_uusd\": -", "error.cost_mean_uusd"},
        {"\"bound\"", "\"cost_uusd\": 18400000", "\"cost_uusd\": null", "RB1505 no bound, no distance"},
        {"\"bound\"", "\"cost_uusd\": 18400000,\n    \"gap\": 0.004", "\"cost_uusd\": null,\n    \"gap\": null",
         "the bound that proves"},
        {"\"bound\"", "\"why_not\": null", "\"why_not\": \"tired\"", "why_not null"},
        {"\"bound\"", "\"why_not\": null", "\"why\": null", "why"},
        {"\"stages\"", "\"stage\": 0", "\"stage\": 1", "stages[0].stage"},
        {"\"stages\"", "\"stage\": 1", "\"stage\": 0", "stages[1].stage"},
        {"\"stages\"", "\"trials\": ", "\"trials\": 1", "scheduler"},
        {"\"stages\"", "\"resource_end\": ", "\"resource_end\": 9", "scheduler"},
        {"\"stages\"", "\"gpus_per_trial\": ", "\"gpus_per_trial\": 9", "RB1503 gpus_per_trial"},
        {"\"stages\"", "\"trials_per_gpu\": 1", "\"trials_per_gpu\": 2", "trials_per_gpu"},
        {"\"stages\"", "\"waves\": ", "\"waves\": 7", "waves"},
        {"\"stages\"", "\"count\": ", "\"count\": 99", "count"},
        {"\"stages\"", "\"market\": \"on_demand\"", "\"market\": \"gift\"", "market"},
        {"\"stages\"", "us-east-1a", "us-east-1c", "prices"},
        {"\"prices\"", "\"gpus\": ", "\"gpus\": 99", "gpus"},
        {"\"prices\"", "\"uusd_per_hour\": ", "\"uusd_per_hour\": -", "uusd_per_hour"},
        {"\"prices\"", "us-east-1b", "us-east-1a", "RB1504 has a price already"},
        {"\"prices\"", "aws/", "acme/", "prices[0]"},
        {"\"prices\"", "\"fetched_at\": ", "\"fetched_at\": 5, \"x\": ", "fetched_at"},
        {"\"fallbacks\"", "us-east-1", "us-east-2", "fallbacks[0]"},
        {"\"warnings\"", "[", "[1, ", "warnings[0]"},
        {"\"warnings\"", "]", "], \"extra\": 1", "extra"},
    };
    static struct random_plan p;
    struct rb_buf text = RB_BUF_INIT;
    uint64_t seed = 1;
    do
        random_plan_make(&p, seed++);
    while (p.plan.n_stages < 2 || seed % 3 < 2); // some_bound: proved
    complete(&p, seed);
    write_plan(&p.plan, &text);
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct rb_arena arena;
        struct rb_plan out = {.n_stages = -5};
        struct rb_err err = {0};
        char *changed = edited(rb_buf_str(&text), cases[i].anchor, cases[i].from, cases[i].to);
        rb_arena_init(&arena);
        if (read_plan(changed, &arena, &out, &err))
            fail_msg("\"%s\" for \"%s\" was read", cases[i].to, cases[i].from);
        assert_says(&err, cases[i].says);
        assert_string_equal(err.file, "plan.json");
        assert_int_equal(out.n_stages, -5); // untouched
        rb_arena_finish(&arena);
        free(changed);
    }
    rb_buf_finish(&text);
}

static void a_job_of_an_unknown_tuner_is_refused(void **state)
{
    (void)state;
    static struct random_plan p;
    struct rb_buf text = RB_BUF_INIT;
    struct rb_arena arena;
    struct rb_plan out;
    struct rb_err err;
    random_plan_make(&p, 3);
    p.job.scheduler.type = "stranger";
    complete(&p, 3);
    write_plan(&p.plan, &text);
    rb_arena_init(&arena);
    assert_false(read_plan(rb_buf_str(&text), &arena, &out, &err));
    assert_says(&err, "stranger");
    assert_string_equal(err.file, "plan.json");
    rb_arena_finish(&arena);
    rb_buf_finish(&text);
}

static void a_truncated_plan_is_refused(void **state)
{
    (void)state;
    static struct random_plan p;
    struct rb_buf text = RB_BUF_INIT;
    random_plan_make(&p, 3);
    complete(&p, 3);
    write_plan(&p.plan, &text);
    for (size_t n = 0; n < text.len; n += 37) {
        struct rb_arena arena;
        struct rb_plan out;
        struct rb_err err;
        char *cut = strndup(rb_buf_str(&text), n);
        rb_arena_init(&arena);
        assert_false(read_plan(cut, &arena, &out, &err));
        rb_arena_finish(&arena);
        free(cut);
    }
    rb_buf_finish(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_back),
        cmocka_unit_test(a_changed_plan_is_refused),
        cmocka_unit_test(a_job_of_an_unknown_tuner_is_refused),
        cmocka_unit_test(a_truncated_plan_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
