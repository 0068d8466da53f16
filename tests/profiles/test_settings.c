// Settings that only their owner understands: collected from a map, read by the owner's rules.
#include "check.h"

#include "profiles/job/settings.h"

static const char *const modes[] = {"fast", "slow", NULL};
static const struct rb_setting_rule rules[] = {
    {"interval", RB_SETTING_INT, .min = 1, .max = 100, .fallback = 10},
    {"quantile", RB_SETTING_NUMBER, .min = 0, .max = 1, .fallback = 0.25},
    {"mode", RB_SETTING_CHOICE, .choices = modes, .fallback = 1},
    {"warm", RB_SETTING_BOOL, .fallback = 1},
};

static bool read(const char *yaml, double *out, struct rb_err *err)
{
    static const char *const known[] = {"type", NULL};
    struct rb_doc doc = parse_yaml(yaml);
    struct rb_arena arena;
    struct rb_settings settings;
    rb_arena_init(&arena);
    const bool ok = rb_settings_collect(doc.root, known, &arena, &settings, err) &&
                    rb_settings_read(&settings, "toy", rules, N_OF(rules), out, err);
    rb_arena_finish(&arena);
    rb_doc_finish(&doc);
    return ok;
}

static void test_what_is_not_given_has_its_default(void **state)
{
    (void)state;
    double v[N_OF(rules)];
    struct rb_err err = {0};
    assert_true(read("type: toy\nquantile: 1\nmode: fast\nwarm: false\n", v, &err));
    assert_near(v[0], 10, 0);
    assert_near(v[1], 1, 0);
    assert_near(v[2], 0, 0);
    assert_near(v[3], 0, 0);
}

static void test_errors_name_place_and_key(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *key, *says;
        int line;
    } cases[] = {
        {"type: toy\nintervall: 3\n", "intervall", "did you mean interval?", 2},
        {"type: toy\n\ninterval: 0\n", "interval", "a whole number from 1 to 100, got 0", 3},
        {"type: toy\ninterval: 2.5\n", "interval", "got 2.5", 2},
        {"type: toy\nquantile: high\n", "quantile", "a number from 0 to 1, got high", 2},
        {"type: toy\nmode: medium\n", "mode", "one of fast | slow, got medium", 2},
        {"type: toy\nwarm: 1\n", "warm", "true or false, got 1", 2},
        {"type: toy\nwarm: [true]\n", "warm", "expected a number, a text", 2},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        double v[N_OF(rules)];
        struct rb_err err = {0};
        assert_false(read(cases[i].yaml, v, &err));
        assert_string_equal(err.key, cases[i].key);
        assert_int_equal(err.line, cases[i].line);
        if (!strstr(err.message, cases[i].says))
            fail_msg("%s: %s", cases[i].yaml, err.message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_not_given_has_its_default),
        cmocka_unit_test(test_errors_name_place_and_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
