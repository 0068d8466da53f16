// YAML: what plain and quoted scalars mean, where values stand, and everything that is refused.
#include "base/arena.h"
#include "base/text/buf.h"
#include "base/document/doc.h"
#include "base/limits.h"

#include "check.h"

#include <math.h>

static bool parse(struct rb_doc *doc, const char *text, struct rb_err *err)
{
    return rb_doc_parse_yaml(doc, "job.yaml", text, strlen(text), err);
}

static void scalars_follow_the_core_schema(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum rb_node_kind kind;
        double number; // of numbers; 1 or 0 of booleans
    } cases[] = {
        {"null", RB_NODE_NULL, 0},
        {"~", RB_NODE_NULL, 0},
        {"Null", RB_NODE_NULL, 0},
        {"NULL", RB_NODE_NULL, 0},
        {"nUll", RB_NODE_STRING, 0},
        {"true", RB_NODE_BOOL, 1},
        {"True", RB_NODE_BOOL, 1},
        {"FALSE", RB_NODE_BOOL, 0},
        {"no", RB_NODE_STRING, 0},
        {"yes", RB_NODE_STRING, 0},
        {"on", RB_NODE_STRING, 0},
        {"off", RB_NODE_STRING, 0},
        {"12", RB_NODE_INT, 12},
        {"-12", RB_NODE_INT, -12},
        {"+12", RB_NODE_INT, 12},
        {"010", RB_NODE_INT, 10},
        {"0x1F", RB_NODE_INT, 31},
        {"0o17", RB_NODE_INT, 15},
        {"0x", RB_NODE_STRING, 0},
        {"0o8", RB_NODE_STRING, 0},
        {"-0x1", RB_NODE_STRING, 0},
        {"0b11", RB_NODE_STRING, 0},
        {"1_000", RB_NODE_STRING, 0},
        {"1e-4", RB_NODE_FLOAT, 1e-4},
        {"1E4", RB_NODE_FLOAT, 1e4},
        {"1.", RB_NODE_FLOAT, 1},
        {".5", RB_NODE_FLOAT, 0.5},
        {"-.5", RB_NODE_FLOAT, -0.5},
        {"1.5e3", RB_NODE_FLOAT, 1500},
        {"18.40", RB_NODE_FLOAT, 18.4},
        {"1.2.3", RB_NODE_STRING, 0},
        {"12:30:45", RB_NODE_STRING, 0},
        {"2h", RB_NODE_STRING, 0},
        {"nan", RB_NODE_STRING, 0},
        {"inf", RB_NODE_STRING, 0},
        {"1e", RB_NODE_STRING, 0},
        {"2026-08-01", RB_NODE_STRING, 0},
        {"9223372036854775807", RB_NODE_INT, 9223372036854775807.0},
        {"9223372036854775808", RB_NODE_FLOAT, 9223372036854775808.0},
        {"0x7fffffffffffffff", RB_NODE_INT, 9223372036854775807.0},
        {"0x8000000000000000", RB_NODE_FLOAT, 9223372036854775808.0},
        {"\"12\"", RB_NODE_STRING, 0},
        {"'true'", RB_NODE_STRING, 0},
        {"''", RB_NODE_STRING, 0},
        {"\"\"", RB_NODE_STRING, 0},
        {"'.nan'", RB_NODE_STRING, 0},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct rb_doc doc;
        struct rb_err err;
        if (!parse(&doc, cases[i].text, &err))
            fail_msg("refused %s: %s", cases[i].text, err.message);
        const struct rb_node *n = doc.root;
        const double got = n->kind == RB_NODE_BOOL ? n->boolean : n->number;
        if (n->kind != cases[i].kind || fabs(got - cases[i].number) > 0)
            fail_msg("%s is of kind %d with value %g", cases[i].text, n->kind, got);
        rb_doc_finish(&doc);
    }
}

static void integers_come_from_the_text_exactly(void **state)
{
    (void)state;
    struct rb_doc doc;
    assert_true(parse(&doc, "9007199254740993", NULL)); // 2^53 + 1 is no double
    assert_int_equal(doc.root->integer, INT64_C(9007199254740993));
    assert_string_equal(doc.root->text, "9007199254740993");
    rb_doc_finish(&doc);
}

static void every_value_knows_its_place(void **state)
{
    (void)state;
    static const char text[] = "name: digits\n"
                               "resources:\n"
                               "  instance_types:\n"
                               "    - g5.xlarge\n"
                               "    - {name: \"g5.12xlarge\", \xc3\xa9t\xc3\xa9: 4}\n";
    struct rb_doc doc;
    assert_true(parse(&doc, text, NULL));
    const struct rb_node *resources = doc.root->first->next;
    assert_string_equal(resources->key, "resources");
    assert_int_equal(resources->key_line, 2);
    assert_int_equal(resources->key_column, 1);
    assert_int_equal(resources->line, 3);
    assert_int_equal(resources->column, 3);
    const struct rb_node *second = resources->first->first->next;
    assert_int_equal(second->kind, RB_NODE_MAP);
    assert_int_equal(second->index, 1);
    assert_int_equal(second->n_children, 2);
    const struct rb_node *four = second->first->next;
    assert_int_equal(four->line, 5);
    assert_int_equal(four->column, 34); // columns count characters, not bytes
    char path[64];
    assert_string_equal(rb_node_path(four, path, sizeof path), "resources.instance_types[1].\xc3\xa9t\xc3\xa9");
    assert_string_equal(rb_node_path(four, path, 12), "resources.i");
    assert_string_equal(rb_node_path(doc.root, path, sizeof path), "");
    assert_string_equal(rb_node_place(four).file, "job.yaml");
    rb_doc_finish(&doc);
    rb_doc_finish(&doc);
}

static void hostile_or_broken_documents_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int line, column; // 0: not checked
        const char *says;
    } cases[] = {
        {"", 1, 1, "empty"},
        {"# nothing but this\n", 0, 0, "empty"},
        {"---\n", 0, 0, "empty"},
        {"a: 1\nb: &x 2\n", 2, 4, "anchors"},
        {"a: 1\nb: *x\n", 2, 4, "aliases"},
        {"a: &x [1]\nb: [*x, *x]\n", 1, 4, "anchors"},
        {"&x a: 1\n", 1, 1, "anchors"},
        {"a: !!str 1\n", 1, 4, "tags"},
        {"a: !python/object:os.system [rm]\n", 1, 4, "tags"},
        {"a: ! x\n", 1, 4, "tags"},
        {"%TAG ! tag:x,2000:\n---\na: 1\n", 0, 0, "tags"},
        {"%YAML 1.1\n---\na: 1\n", 0, 0, "YAML 1.2"},
        {"a: 1\nb: 2\na: 3\n", 3, 1, "given before, at line 1"},
        {"a: {b: 1, c: 2, b: 3}\n", 1, 17, "given before"},
        {"a: .nan\n", 1, 4, "NaN"},
        {"a: -.inf\n", 1, 4, "infinity"},
        {"a: 1e999\n", 1, 4, "too large"},
        {"a: 1\n---\nb: 2\n", 2, 1, "second document"},
        {"a: 1\n...\nb: 2\n", 0, 0, "document"},
        {"[a, b]: 1\n", 1, 1, "key must be plain text"},
        {"{a: 1}: 2\n", 1, 1, "key must be plain text"},
        {"?\n: 1\n", 0, 0, "key is missing"},
        {": 1\n", 1, 1, "not valid YAML"},
        {"a: \"x\\0y\"\n", 1, 4, "NUL"},
        {"a: [1, 2\n", 0, 0, "not valid YAML"},
        {"a: \"open\n", 0, 0, "not valid YAML"},
        {"a:\n\t- 1\n", 2, 1, "indent with spaces"},
        {"a: 1\n b: 2\n", 2, 3, "not valid YAML"},
        {"a: \x01\n", 1, 4, "control characters"},
        {"a: 1\nb: x\xff\n", 2, 5, "not valid YAML"},
        {"a: @x\n", 1, 4, "put such a value in quotes"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct rb_doc doc = {.file = "untouched"};
        struct rb_err err = {0};
        if (parse(&doc, cases[i].text, &err))
            fail_msg("accepted %s", cases[i].text);
        assert_string_equal(doc.file, "untouched");
        assert_int_equal(err.code, RB_ERR_INVALID);
        assert_string_equal(err.file, "job.yaml");
        if (!strstr(err.message, cases[i].says))
            fail_msg("%s: expected \"%s\" in \"%s\"", cases[i].text, cases[i].says, err.message);
        if (cases[i].line && (err.line != cases[i].line || err.column != cases[i].column))
            fail_msg("%s: error at %d:%d, expected %d:%d", cases[i].text, err.line, err.column, cases[i].line,
                     cases[i].column);
    }
}

static void the_path_of_a_duplicate_is_named(void **state)
{
    (void)state;
    struct rb_doc doc;
    struct rb_err err;
    assert_false(parse(&doc, "scheduler:\n  eta: 3\n  eta: 4\n", &err));
    assert_string_equal(err.key, "scheduler.eta");
    assert_int_equal(err.line, 3);
}

static void billion_laughs_end_at_the_first_anchor(void **state)
{
    (void)state;
    static const char text[] = "a: &a [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n"
                               "b: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a]\n"
                               "c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b]\n";
    struct rb_doc doc;
    struct rb_err err;
    assert_false(parse(&doc, text, &err));
    assert_int_equal(err.line, 1);
    assert_says(&err, "anchors");
}

static void depth_is_limited(void **state)
{
    (void)state;
    for (int depth = RB_LIMIT_DOC_DEPTH; depth <= RB_LIMIT_DOC_DEPTH + 1; depth++) {
        RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
        for (int i = 0; i < depth; i++)
            rb_buf_putc(&text, '[');
        for (int i = 0; i < depth; i++)
            rb_buf_putc(&text, ']');
        struct rb_doc doc = {0};
        struct rb_err err;
        assert_int_equal(parse(&doc, text.data, &err), depth == RB_LIMIT_DOC_DEPTH);
        if (depth > RB_LIMIT_DOC_DEPTH)
            assert_says(&err, "64 deep");
        rb_doc_finish(&doc);
    }
}

static void a_hundred_thousand_brackets_are_refused_quickly(void **state)
{
    (void)state;
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    for (int i = 0; i < 100000; i++)
        rb_buf_putc(&text, '[');
    struct rb_doc doc;
    struct rb_err err;
    assert_false(parse(&doc, text.data, &err));
    assert_says(&err, "deep");
}

static void hexadecimal_past_the_largest_double_is_refused(void **state)
{
    (void)state;
    char text[303] = "0x";
    memset(text + 2, 'f', 300);
    struct rb_doc doc;
    struct rb_err err;
    assert_false(parse(&doc, text, &err));
    assert_says(&err, "too large");
}

static void directives_of_1_2_and_a_byte_order_mark_are_accepted(void **state)
{
    (void)state;
    struct rb_doc doc;
    assert_true(parse(&doc, "%YAML 1.2\n---\na: 1\n", NULL));
    rb_doc_finish(&doc);
    assert_true(parse(&doc,
                      "\xEF\xBB\xBF"
                      "a: 1\n",
                      NULL));
    assert_string_equal(doc.root->first->key, "a");
    rb_doc_finish(&doc);
}

static void wide_maps_are_checked_without_squaring(void **state)
{
    (void)state;
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    for (int i = 0; i < 50000; i++)
        rb_buf_printf(&text, "key%d: %d\n", i, i);
    struct rb_doc doc;
    assert_true(parse(&doc, text.data, NULL));
    assert_int_equal(doc.root->n_children, 50000);
    rb_doc_finish(&doc);
    rb_buf_puts(&text, "key49998: again\nkey7: again\n");
    struct rb_err err;
    assert_false(parse(&doc, text.data, &err));
    assert_int_equal(err.line, 50001); // the first repetition in the file
    assert_string_equal(err.key, "key49998");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scalars_follow_the_core_schema),
        cmocka_unit_test(integers_come_from_the_text_exactly),
        cmocka_unit_test(every_value_knows_its_place),
        cmocka_unit_test(hostile_or_broken_documents_are_refused),
        cmocka_unit_test(the_path_of_a_duplicate_is_named),
        cmocka_unit_test(billion_laughs_end_at_the_first_anchor),
        cmocka_unit_test(depth_is_limited),
        cmocka_unit_test(a_hundred_thousand_brackets_are_refused_quickly),
        cmocka_unit_test(hexadecimal_past_the_largest_double_is_refused),
        cmocka_unit_test(directives_of_1_2_and_a_byte_order_mark_are_accepted),
        cmocka_unit_test(wide_maps_are_checked_without_squaring),
    };
    return cmocka_run_group_tests_name("yaml", tests, NULL, NULL);
}
