// rb-chaos/1: which files are refused and where, and when a rule strikes.
#include "clouds.h"
#include "providers/mock/cloud/chaos.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static struct rb_arena arena;
static struct rb_chaos chaos;

static int setup(void **state)
{
    (void)state;
    rb_arena_init(&arena);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    rb_arena_finish(&arena);
    return 0;
}

static void begin(const char *rules, uint64_t seed)
{
    struct rb_chaos_rules read;
    struct rb_err err;
    const char *yaml = rb_arena_printf(&arena, "format: rb-chaos/1\nrules:\n%s", rules);
    if (!rb_chaos_parse("chaos.yaml", yaml, strlen(yaml), &arena, &read, &err))
        fail_msg("%d: %s: %s", err.line, err.key, err.message);
    rb_chaos_init(&chaos, &read, seed, T0, &arena);
}

static const struct rb_chaos_subject launch = {.front = "ec2",
                                               .action = "RunInstances",
                                               .region = "us-east-1",
                                               .zone = "us-east-1a",
                                               .instance_type = "g5.xlarge",
                                               .has_market = true,
                                               .market = RB_MARKET_SPOT};

static const struct rb_chaos_rule *strike(enum rb_chaos_fault fault, const struct rb_chaos_subject *s, int64_t now_us)
{
    struct rb_chaos_verdict v;
    rb_chaos_request(&chaos, s, now_us, &v);
    return v.by[fault];
}

static void every_fault_is_read(void **state)
{
    (void)state;
    begin("  - what: lost_response\n"
          "  - {what: {error: {status: 503, code: Unavailable, message: gone, after_effect: true}}}\n"
          "  - {what: {html_502: {after_effect: true}}}\n"
          "  - {what: {truncated_body: {fraction: 0.25}}}\n"
          "  - {what: {partial_page: {items: 0}}}\n"
          "  - {what: {slow_drip: {bytes_per_s: 10}}}\n"
          "  - {what: connection_reset}\n"
          "  - {what: {clock_skew: {by: 1h}}}\n"
          "  - {what: throttle}\n"
          "  - {what: {unreachable: {zone: us-central1-b}}}\n"
          "  - {what: never_boots}\n"
          "  - {what: {boots_slowly: {factor: 3}}}\n"
          "  - {what: {dies_at: {after: 7m}}}\n"
          "  - {what: wrong_market}\n"
          "  - {what: {fails_to_start: {code: ZONE_RESOURCE_POOL_EXHAUSTED}}}\n"
          "  - {what: {interrupted: {after: 90s}}}\n"
          "  - {what: {dropped_field: {field: spec.nodeSelector}}}\n"
          "  - {what: {exec_cut: {bytes: 12}}}\n"
          "  - {what: no_status}\n"
          "  - {what: {replaced: {after: 3m}}}\n",
          1);
    assert_string_equal(chaos.rules.rules[16].field, "spec.nodeSelector");
    assert_int_equal(chaos.rules.rules[17].bytes, 12);
    assert_int_equal(chaos.rules.n, RB_CHAOS_N_FAULTS);
    struct rb_chaos_verdict request, instance;
    rb_chaos_request(&chaos, &launch, T0, &request);
    rb_chaos_instance(&chaos, &launch, T0, &instance);
    for (int k = 0; k < RB_CHAOS_N_FAULTS; k++) // each is about a request or about an instance, never both
        assert_int_equal((request.by[k] != NULL) + (instance.by[k] != NULL), 1);
    assert_int_equal(request.by[RB_CHAOS_ERROR]->status, 503);
    assert_string_equal(request.by[RB_CHAOS_ERROR]->code, "Unavailable");
    assert_true(request.by[RB_CHAOS_ERROR]->after_effect && request.by[RB_CHAOS_HTML_502]->after_effect);
    assert_int_equal(request.by[RB_CHAOS_PARTIAL_PAGE]->items, 0);
    assert_int_equal(request.by[RB_CHAOS_CLOCK_SKEW]->delay_us, 3600 * S);
    assert_true(request.by[RB_CHAOS_TRUNCATED_BODY]->fraction == 0.25);
    assert_int_equal(instance.by[RB_CHAOS_DIES_AT]->delay_us, 420 * S);
    assert_true(instance.by[RB_CHAOS_BOOTS_SLOWLY]->factor == 3);
    assert_string_equal(instance.by[RB_CHAOS_FAILS_TO_START]->code, "ZONE_RESOURCE_POOL_EXHAUSTED");
}

static void bad_files_are_refused_at_their_place(void **state)
{
    (void)state;
#define F "format: rb-chaos/1\n"
    static const struct {
        const char *yaml, *key, *words;
        int line;
    } rows[] = {
        {"format: rb-chaos/2\nrules: []\n", "format", "rb-chaos/1", 1},
        {F, "rules", "required", 1},
        {F "rules: {}\n", "rules", "", 2},
        {F "rules: []\ncolour: red\n", "colour", "", 3},
        {F "rules:\n  - {where: {}}\n", "rules[0].what", "required", 3},
        {F "rules:\n  - what: lost_respones\n", "rules[0].what", "did you mean lost_response", 3},
        {F "rules:\n  - what: {explode: {}}\n", "rules[0].what.explode", "unknown fault", 3},
        {F "rules:\n  - what: error\n", "rules[0].what", "parameters", 3},
        {F "rules:\n  - what: {error: {status: 500}}\n", "rules[0].what.error.code", "required", 3},
        {F "rules:\n  - what: {error: {code: X, status: 200}}\n", "rules[0].what.error.status", "400", 3},
        {F "rules:\n  - what: {throttle: {for: 5s}}\n", "rules[0].what.throttle.for", "", 3},
        {F "rules:\n  - what: {slow_drip: {bytes_per_s: 0}}\n", "rules[0].what.slow_drip.bytes_per_s", "", 3},
        {F "rules:\n  - what: {throttle: {}, never_boots: {}}\n", "rules[0].what", "one fault", 3},
        {F "rules:\n  - {what: throttle, where: {front: azure}}\n", "rules[0].where.front", "", 3},
        {F "rules:\n  - {what: throttle, where: {zone: \"\"}}\n", "rules[0].where.zone", "leave the key out", 3},
        {F "rules:\n  - {what: throttle, when: {probability: 1.5}}\n", "rules[0].when.probability", "", 3},
        {F "rules:\n  - {what: throttle, when: {after: 5m, until: 1m}}\n", "rules[0].when", "later", 3},
        {F "rules:\n  - {what: throttle, times: 0}\n", "rules[0].times", "", 3},
    };
#undef F
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        struct rb_chaos_rules read;
        struct rb_err err = {0};
        if (rb_chaos_parse("chaos.yaml", rows[k].yaml, strlen(rows[k].yaml), &arena, &read, &err))
            fail_msg("accepted: %s", rows[k].yaml);
        if (strcmp(err.key, rows[k].key) != 0 || !strstr(err.message, rows[k].words) || err.line != rows[k].line)
            fail_msg("%s: expected %d: %s (%s), got %d: %s (%s)", rows[k].yaml, rows[k].line, rows[k].key,
                     rows[k].words, err.line, err.key, err.message);
        assert_string_equal(err.file, "chaos.yaml");
    }
}

static void a_rule_strikes_only_where_it_says(void **state)
{
    (void)state;
    begin("  - {what: throttle, where: {front: ec2, action: RunInstances, zone: us-east-1a, market: spot}}\n", 1);
    assert_non_null(strike(RB_CHAOS_THROTTLE, &launch, T0));
    struct rb_chaos_subject others[6];
    for (int k = 0; k < 6; k++)
        others[k] = launch;
    others[0].front = "gcp";
    others[1].action = "TerminateInstances";
    others[2].zone = "us-east-1b";
    others[3].zone = NULL; // says nothing of a zone: not meant
    others[4].market = RB_MARKET_ON_DEMAND;
    others[5].has_market = false;
    for (int k = 0; k < 6; k++)
        assert_null(strike(RB_CHAOS_THROTTLE, &others[k], T0));
    assert_int_equal(chaos.counts[0].seen, 1);
}

static void a_rule_strikes_only_when_it_says(void **state)
{
    (void)state;
    begin("  - {what: throttle, when: {after: 10s, until: 20s}}\n", 1);
    assert_null(strike(RB_CHAOS_THROTTLE, &launch, T0 + 10 * S - 1));
    assert_non_null(strike(RB_CHAOS_THROTTLE, &launch, T0 + 10 * S));
    assert_non_null(strike(RB_CHAOS_THROTTLE, &launch, T0 + 20 * S - 1));
    assert_null(strike(RB_CHAOS_THROTTLE, &launch, T0 + 20 * S));

    begin("  - {what: throttle, when: {call: 2, every: 3}, times: 2}\n", 1);
    char got[12] = {0};
    for (int k = 0; k < 11; k++)
        got[k] = strike(RB_CHAOS_THROTTLE, &launch, T0) ? 'x' : '.';
    assert_string_equal(got, ".x..x......");
    assert_int_equal(chaos.counts[0].seen, 11);
    assert_int_equal(chaos.counts[0].fired, 2);
}

static int strikes_of(uint64_t seed, char out[static 1001])
{
    int n = 0;
    begin("  - {what: throttle, when: {probability: 0.3}}\n", seed);
    for (int k = 0; k < 1000; k++) {
        out[k] = strike(RB_CHAOS_THROTTLE, &launch, T0) ? 'x' : '.';
        n += out[k] == 'x';
    }
    out[1000] = '\0';
    return n;
}

static void chance_depends_on_the_seed_alone(void **state)
{
    (void)state;
    char first[1001], again[1001], other[1001];
    int n = strikes_of(7, first);
    assert_in_range(n, 240, 360); // four standard deviations around 300
    strikes_of(7, again);
    assert_string_equal(first, again);
    strikes_of(8, other);
    assert_string_not_equal(first, other);
}

static void of_two_rules_the_first_wins_and_both_count(void **state)
{
    (void)state;
    begin("  - {what: {error: {code: One}}, times: 1}\n"
          "  - {what: {error: {code: Two}}}\n",
          1);
    assert_string_equal(strike(RB_CHAOS_ERROR, &launch, T0)->code, "One");
    assert_string_equal(strike(RB_CHAOS_ERROR, &launch, T0)->code, "Two");
    assert_int_equal(chaos.counts[1].fired, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_fault_is_read, setup, teardown),
        cmocka_unit_test_setup_teardown(bad_files_are_refused_at_their_place, setup, teardown),
        cmocka_unit_test_setup_teardown(a_rule_strikes_only_where_it_says, setup, teardown),
        cmocka_unit_test_setup_teardown(a_rule_strikes_only_when_it_says, setup, teardown),
        cmocka_unit_test_setup_teardown(chance_depends_on_the_seed_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(of_two_rules_the_first_wins_and_both_count, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
