// Reading a parsed document strictly: kinds, ranges, known keys, and the words of the errors.
#include "base/document/doc.h"

#include "check.h"

#include <math.h>

static struct rb_doc parse(const char *text)
{
    struct rb_err err;
    struct rb_doc doc;
    if (!rb_doc_parse_yaml(&doc, "job.yaml", text, strlen(text), &err))
        fail_msg("%d:%d %s", err.line, err.column, err.message);
    return doc;
}

// The first value of a one-key map. The document is leaked into `doc` for the caller to finish.
#define WITH_VALUE(text, node)                                                  \
    struct rb_doc doc;                                                          \
    assert_true(rb_doc_parse_yaml(&doc, "job.yaml", text, strlen(text), NULL)); \
    const struct rb_node *node = doc.root->first

enum reader { STRING, BOOL, INT_1_10, INT_ANY, DOUBLE_0_1, DURATION, MONEY, LIST, MAP, CHOICE };

static bool read_as(enum reader reader, const struct rb_node *node, struct rb_err *err)
{
    static const char *const names[] = {"min_cost", "min_time", "balanced"};
    const char *s;
    bool b;
    int64_t i;
    double d;
    int choice;
    struct rb_map m;
    switch (reader) {
    case STRING:
        return rb_node_string(node, &s, err);
    case BOOL:
        return rb_node_bool(node, &b, err);
    case INT_1_10:
        return rb_node_int(node, 1, 10, &i, err);
    case INT_ANY:
        return rb_node_int(node, INT64_MIN, INT64_MAX, &i, err);
    case DOUBLE_0_1:
        return rb_node_double(node, 0, 1, &d, err);
    case DURATION:
        return rb_node_duration(node, &i, err);
    case MONEY:
        return rb_node_money(node, &i, err);
    case LIST:
        return rb_node_list(node, err);
    case MAP:
        return rb_map_begin(&m, node, err);
    case CHOICE:
        return rb_node_choice(node, names, 3, &choice, err);
    }
    return false;
}

static void kinds_and_ranges_are_checked(void **state)
{
    (void)state;
    static const struct {
        enum reader reader;
        const char *text, *says; // NULL: accepted
    } cases[] = {
        {STRING, "a: x", NULL},
        {STRING, "a: '12'", NULL},
        {STRING, "a: ''", NULL},
        {STRING, "a: 12", "in quotes"},
        {STRING, "a: true", "got true"},
        {STRING, "a:", "expected text, got nothing"},
        {STRING, "a: [x]", "got a list"},
        {BOOL, "a: true", NULL},
        {BOOL, "a: no", "expected true or false, got \"no\""},
        {BOOL, "a: 1", "expected true or false, got 1"},
        {INT_1_10, "a: 10", NULL},
        {INT_1_10, "a: 0", "expected a whole number in 1..10, got 0"},
        {INT_1_10, "a: 11", "got 11"},
        {INT_1_10, "a: 1.0", "got 1.0"},
        {INT_1_10, "a: '1'", "got \"1\""},
        {INT_ANY, "a: 9223372036854775807", NULL},
        {INT_ANY, "a: 9223372036854775808", "expected a whole number, got 9223372036854775808"},
        {DOUBLE_0_1, "a: 0.5", NULL},
        {DOUBLE_0_1, "a: 1", NULL},
        {DOUBLE_0_1, "a: 1e-4", NULL},
        {DOUBLE_0_1, "a: 1.5", "expected a number in 0..1, got 1.5"},
        {DOUBLE_0_1, "a: -1e-9", "got -1e-9"},
        {DOUBLE_0_1, "a: nan", "got \"nan\""},
        {DOUBLE_0_1, "a: {b: 1}", "got a map"},
        {DURATION, "a: 2h", NULL},
        {DURATION, "a: 90", "no unit"},
        {DURATION, "a: -2h", "expected a duration"},
        {DURATION, "a: true", "expected a duration"},
        {DURATION, "a: [2h]", "got a list"},
        {MONEY, "a: 40", NULL},
        {MONEY, "a: 18.4", NULL},
        {MONEY, "a: '$18.40'", NULL},
        {MONEY, "a: -1", "may not be negative"},
        {MONEY, "a: much", "expected an amount"},
        {MONEY, "a: ~", "got nothing"},
        {LIST, "a: []", NULL},
        {LIST, "a: x", "expected a list, got \"x\""},
        {MAP, "a: {}", NULL},
        {MAP, "a: [1]", "expected a map"},
        {CHOICE, "a: min_time", NULL},
        {CHOICE, "a: min_tine",
         "expected min_cost, min_time or balanced, got \"min_tine\"; did you mean \"min_time\"?"},
        {CHOICE, "a: zzzzz", "or balanced, got \"zzzzz\""},
        {CHOICE, "a: 3", "got 3"},
        {CHOICE, "a: [min_cost]", "got a list"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        WITH_VALUE(cases[i].text, node);
        struct rb_err err = {0};
        const bool ok = read_as(cases[i].reader, node, &err);
        if (ok != (cases[i].says == NULL) || (!ok && !strstr(err.message, cases[i].says)))
            fail_msg("%s: gave %d, \"%s\"", cases[i].text, ok, err.message);
        if (!ok) {
            assert_string_equal(err.key, "a");
            assert_string_equal(err.file, "job.yaml");
            assert_int_equal(err.line, node->line);
            assert_int_equal(err.code, RB_ERR_INVALID);
        }
        rb_doc_finish(&doc);
    }
}

static void values_arrive(void **state)
{
    (void)state;
    struct rb_doc doc = parse("s: x y\nb: true\ni: -3\nd: 0x10\nt: 1h30m\nm: 18.40\nc: min_time\n");
    static const char *const names[] = {"min_cost", "min_time"};
    const struct rb_node *n = doc.root->first;
    const char *s;
    bool b;
    int64_t i;
    double d;
    int c;
    assert_true(rb_node_string(n, &s, NULL));
    assert_string_equal(s, "x y");
    assert_true(rb_node_bool(n = n->next, &b, NULL) && b);
    assert_true(rb_node_int(n = n->next, -5, 5, &i, NULL) && i == -3);
    assert_true(rb_node_double(n = n->next, 0, INFINITY, &d, NULL) && fabs(d - 16) <= 0);
    assert_true(rb_node_duration(n = n->next, &i, NULL) && i == INT64_C(5400000000));
    assert_true(rb_node_money(n = n->next, &i, NULL) && i == 18400000);
    assert_true(rb_node_choice(n = n->next, names, 2, &c, NULL) && c == 1);
    rb_doc_finish(&doc);
}

static void nothing_at_all_is_an_error_too(void **state)
{
    (void)state;
    for (enum reader reader = STRING; reader <= CHOICE; reader++) {
        struct rb_err err = {0};
        assert_false(read_as(reader, NULL, &err));
        assert_says(&err, "got nothing");
    }
}

static void maps_are_read_strictly(void **state)
{
    (void)state;
    struct rb_doc doc = parse("name: x\nscheduler:\n  type: sha\n  etta: 4\n");
    struct rb_map root, scheduler;
    struct rb_err err = {0};
    const struct rb_node *node;
    assert_true(rb_map_begin(&root, doc.root, &err));
    assert_non_null(rb_map_get(&root, "name"));
    assert_null(rb_map_get(&root, "deadline"));
    assert_true(rb_map_need(&root, "scheduler", &node, &err));
    assert_true(rb_map_begin(&scheduler, node, &err));
    assert_string_equal(rb_map_get(&scheduler, "type")->text, "sha");
    assert_null(rb_map_get(&scheduler, "eta"));

    assert_false(rb_map_end(&scheduler, &err));
    assert_string_equal(err.message, "unknown key; did you mean \"eta\"?");
    assert_string_equal(err.key, "scheduler.etta");
    assert_int_equal(err.line, 4);
    assert_int_equal(err.column, 3); // of the key, not of its value

    const struct rb_node *untouched = node;
    assert_false(rb_map_need(&scheduler, "metric", &untouched, &err));
    assert_ptr_equal(untouched, node);
    assert_string_equal(err.key, "scheduler.metric");
    assert_says(&err, "required");
    assert_int_equal(err.line, 3);

    assert_true(rb_map_end(&root, &err));
    rb_doc_finish(&doc);
}

static void the_first_unknown_key_is_reported(void **state)
{
    (void)state;
    struct rb_doc doc = parse("zzz: 1\nname: x\nyyy: 2\n");
    struct rb_map m;
    struct rb_err err;
    assert_true(rb_map_begin(&m, doc.root, &err));
    rb_map_get(&m, "name");
    assert_false(rb_map_end(&m, &err));
    assert_string_equal(err.key, "zzz");
    assert_says(&err, "remove it");
    rb_doc_finish(&doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_and_ranges_are_checked),      cmocka_unit_test(values_arrive),
        cmocka_unit_test(nothing_at_all_is_an_error_too),    cmocka_unit_test(maps_are_read_strictly),
        cmocka_unit_test(the_first_unknown_key_is_reported),
    };
    return cmocka_run_group_tests_name("doc", tests, NULL, NULL);
}
