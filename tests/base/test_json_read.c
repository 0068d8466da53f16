// Reading JSON: strict RFC 8259, exact numbers, places, and everything that is refused.
#include "base/arena.h"
#include "base/text/buf.h"
#include "base/document/doc.h"
#include "base/limits.h"

#include "check.h"

#include <math.h>

static bool parse(struct rb_doc *doc, const char *text, size_t n, struct rb_err *err)
{
    return rb_doc_parse_json(doc, "plan.json", text, n, err);
}

static void values_keep_kind_text_and_place(void **state)
{
    (void)state;
    static const char text[] = "{\"a\": [1, -2.5e3, true, false, null],\n"
                               "  \"\xc3\xa9\": \"x\\n\\u00e9\\\"\", \"big\": 9007199254740993,\n"
                               "\t\"huge\": 9223372036854775808, \"empty\": {}, \"none\": []}\n";
    struct rb_doc doc;
    struct rb_err err;
    if (!parse(&doc, text, sizeof text - 1, &err))
        fail_msg("%d:%d %s", err.line, err.column, err.message);
    const struct rb_node *a = doc.root->first, *one = a->first, *e = a->next, *big = e->next, *huge = big->next;
    assert_int_equal(a->n_children, 5);
    assert_int_equal(one->kind, RB_NODE_INT);
    assert_int_equal(one->column, 8);
    assert_int_equal(one->next->kind, RB_NODE_FLOAT);
    assert_true(fabs(one->next->number + 2500) <= 0);
    assert_string_equal(one->next->text, "-2.5e3");
    assert_true(one->next->next->boolean);
    assert_int_equal(one->next->next->next->next->kind, RB_NODE_NULL);
    assert_string_equal(e->text, "x\n\xc3\xa9\"");
    assert_int_equal(e->key_line, 2);
    assert_int_equal(e->key_column, 3);
    assert_int_equal(e->column, 8);
    assert_int_equal(big->integer, INT64_C(9007199254740993));
    assert_int_equal(big->column, 30);
    assert_int_equal(huge->kind, RB_NODE_FLOAT);
    assert_int_equal(huge->line, 3);
    assert_int_equal(huge->next->n_children, 0);
    assert_int_equal(huge->next->next->kind, RB_NODE_LIST);
    rb_doc_finish(&doc);
}

static void integers_reach_both_ends(void **state)
{
    (void)state;
    static const char text[] = "[9223372036854775807,-9223372036854775808,0,-0]";
    struct rb_doc doc;
    assert_true(parse(&doc, text, sizeof text - 1, NULL));
    const struct rb_node *n = doc.root->first;
    assert_true(n->kind == RB_NODE_INT && n->integer == INT64_MAX);
    assert_true(n->next->kind == RB_NODE_INT && n->next->integer == INT64_MIN);
    rb_doc_finish(&doc);
}

static void broken_or_lenient_json_is_refused(void **state)
{
    (void)state;
#define T(text) text, sizeof text - 1
    static const struct {
        const char *text;
        size_t n;
        int line, column; // 0: not checked
        const char *says;
    } cases[] = {
        {T(""), 1, 1, "empty"},
        {T(" \n\t"), 2, 2, "empty"},
        {T("{\"a\":1,\"b\":2,\"a\":3}"), 1, 14, "given before"},
        {T("[{\"a\":{\"x\":1,\"\\u0078\":2}}]"), 1, 14, "given before"}, // the same key, spelt differently
        {T("[NaN]"), 0, 0, "not valid JSON"},
        {T("[Infinity]"), 0, 0, "not valid JSON"},
        {T("[1e999]"), 1, 2, "too large"},
        {T("[01]"), 1, 2, "not a JSON number"},
        {T("[-01]"), 1, 2, "not a JSON number"},
        {T("[1.]"), 1, 2, "not a JSON number"},
        {T("[.5]"), 0, 0, "not valid JSON"},
        {T("[+1]"), 0, 0, "not valid JSON"},
        {T("[-]"), 0, 0, "not"},
        {T("[1e]"), 0, 0, "not"},
        {T("[1-2]"), 0, 0, "not"},
        {T("{} x"), 1, 4, "expected the end"},
        {T("{}{}"), 1, 3, "expected the end"},
        {T("[1]\0"), 1, 4, "expected the end"},
        {T("[1\0]"), 0, 0, "expected"},
        {T("[\0001]"), 0, 0, "not"},
        {T("[1,]"), 0, 0, "not valid JSON"},
        {T("{\"a\":1,}"), 0, 0, "not valid JSON"},
        {T("{\"1\":1,"), 0, 0, "ends too early"},
        {T("{a:1}"), 0, 0, "not valid JSON"},
        {T("{'a':1}"), 0, 0, "not valid JSON"},
        {T("// c\n[1]"), 0, 0, "not valid JSON"},
        {T("[1 2]"), 0, 0, "not valid JSON"},
        {T("[tru]"), 0, 0, "not valid JSON"},
        {T("{\"a\":\n [1,2"), 2, 6, "ends too early"},
        {T("\"open"), 0, 0, "not valid JSON"},
        {T("[\"a\nb\"]"), 1, 4, "control characters"},
        {T("[\"a\\u0000b\"]"), 1, 4, "NUL"},
        {T("[\"\\ud800\"]"), 0, 0, "not valid JSON"},
        {T("[\"\\x\"]"), 0, 0, "not valid JSON"},
        {T("[\"\xff\"]"), 1, 3, "UTF-8"},
        {T("[\"\xc0\x80\"]"), 1, 3, "UTF-8"},
        {T("[\"\xed\xa0\x80\"]"), 1, 3, "UTF-8"},
        {T("\f[1]"), 1, 1, "expected"},
        {T("\xEF\xBB\xBF[1]"), 1, 1, "expected"}, // RFC 8259, 8.1: no byte order mark
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct rb_doc doc = {.file = "untouched"};
        struct rb_err err = {0};
        if (parse(&doc, cases[i].text, cases[i].n, &err))
            fail_msg("accepted %s", cases[i].text);
        assert_string_equal(doc.file, "untouched");
        assert_int_equal(err.code, RB_ERR_INVALID);
        if (!strstr(err.message, cases[i].says))
            fail_msg("%s: expected \"%s\" in \"%s\"", cases[i].text, cases[i].says, err.message);
        if (cases[i].line && (err.line != cases[i].line || err.column != cases[i].column))
            fail_msg("%s: error at %d:%d, expected %d:%d", cases[i].text, err.line, err.column, cases[i].line,
                     cases[i].column);
    }
}

// Every prefix of a valid document is an error, never a crash and never half a document.
static void a_truncated_plan_is_refused_at_any_length(void **state)
{
    (void)state;
    static const char text[] =
        "{\"format\":\"rb-plan/1\",\"seed\":7,\"p\":[0.5,1e-05,null,true],\"s\":\"a\\u00e9\\\\\",\"m\":{\"k\":{}}}";
    for (size_t n = 0; n < sizeof text - 1; n++) {
        struct rb_doc doc;
        struct rb_err err;
        char exact[sizeof text]; // the sanitizer sees a read past the end
        memcpy(exact, text, n);
        if (parse(&doc, exact, n, &err))
            fail_msg("accepted the first %zu bytes", n);
        assert_string_equal(err.file, "plan.json");
        assert_true(err.line > 0);
    }
}

static void depth_is_limited(void **state)
{
    (void)state;
    for (int depth = RB_LIMIT_DOC_DEPTH; depth <= 5000; depth += 2468) {
        RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
        for (int i = 0; i < depth; i++)
            rb_buf_putc(&text, '[');
        for (int i = 0; i < depth; i++)
            rb_buf_putc(&text, ']');
        struct rb_doc doc = {0};
        struct rb_err err;
        assert_int_equal(parse(&doc, text.data, text.len, &err), depth == RB_LIMIT_DOC_DEPTH);
        if (depth > RB_LIMIT_DOC_DEPTH) {
            assert_says(&err, "64 deep");
            assert_int_equal(err.column, RB_LIMIT_DOC_DEPTH + 1);
        }
        rb_doc_finish(&doc);
    }
}

static void the_number_of_values_is_limited(void **state)
{
    (void)state;
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    rb_buf_putc(&text, '[');
    for (int i = 0; i < RB_LIMIT_DOC_NODES; i++)
        rb_buf_puts(&text, "1,");
    rb_buf_puts(&text, "1]");
    struct rb_doc doc;
    struct rb_err err;
    assert_false(parse(&doc, text.data, text.len, &err));
    assert_says(&err, "more than 2000000 values");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_keep_kind_text_and_place),
        cmocka_unit_test(integers_reach_both_ends),
        cmocka_unit_test(broken_or_lenient_json_is_refused),
        cmocka_unit_test(a_truncated_plan_is_refused_at_any_length),
        cmocka_unit_test(depth_is_limited),
        cmocka_unit_test(the_number_of_values_is_limited),
    };
    return cmocka_run_group_tests_name("json_read", tests, NULL, NULL);
}
