// XML trees: what is kept of a document, and which documents are refused.
#include "base/text/buf.h"
#include "base/limits.h"
#include "providers/wire/xml.h"
#include "tests/base/check.h"

static void trees_keep_names_and_text(void **state)
{
    (void)state;
    static const char text[] = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                               "<R xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\">\n"
                               "  <id>a&amp;b&#x20;<![CDATA[<c>]]></id>\n"
                               "  <set><item>1</item><other/><item>2</item></set><n:q xmlns:n=\"u\"> x </n:q>\n"
                               "</R>";
    struct rb_arena arena = {0};
    const struct rb_xml *root = NULL;
    assert_true(rb_xml_parse(text, sizeof text - 1, &arena, &root, NULL));
    assert_string_equal(root->name, "R");
    assert_string_equal(root->text, "");
    assert_string_equal(rb_xml_text(root, "id"), "a&b <c>");
    assert_string_equal(rb_xml_text(root, "q"), " x ");
    const struct rb_xml *item = rb_xml_child(rb_xml_child(root, "set"), "item");
    assert_string_equal(item->text, "1");
    item = rb_xml_next(item, "item");
    assert_string_equal(item->text, "2");
    assert_null(rb_xml_next(item, "item"));
    assert_null(rb_xml_text(root, "absent"));
    assert_null(rb_xml_child(NULL, "any"));
    rb_arena_finish(&arena);
}

static void nested(struct rb_buf *out, int depth)
{
    for (int i = 0; i < depth; i++)
        rb_buf_puts(out, "<a>");
    for (int i = 0; i < depth; i++)
        rb_buf_puts(out, "</a>");
}

static bool parses(const char *text, size_t n, struct rb_err *err)
{
    struct rb_arena arena = {0};
    const struct rb_xml *root;
    const bool ok = rb_xml_parse(text, n, &arena, &root, err);
    rb_arena_finish(&arena);
    return ok;
}

static void hostile_documents_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *reason;
    } cases[] = {
        {"", "no element found"},
        {"not xml", "line 1"},
        {"<a>\n<b></a>", "line 2: mismatched tag"},
        {"<a/><b/>", "junk after document element"},
        {"<a>&unknown;</a>", "undefined entity"},
        {"<a>\x01</a>", "not well-formed"},
        {"<a>\xff</a>", "not well-formed"},
        {"<html><body>502 Bad Gateway<br></body></html>", "mismatched tag"},
        {"<!DOCTYPE a [<!ENTITY x \"ha\"><!ENTITY y \"&x;&x;&x;\">]><a>&y;</a>", "a DOCTYPE is refused"},
        {"<!DOCTYPE a SYSTEM \"file:///etc/passwd\"><a/>", "a DOCTYPE is refused"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct rb_err err = {0};
        assert_false(parses(cases[i].text, strlen(cases[i].text), &err));
        assert_int_equal(err.code, RB_ERR_IO);
        assert_says(&err, cases[i].reason);
    }
}

static void depth_is_limited(void **state)
{
    (void)state;
    struct rb_buf text = RB_BUF_INIT;
    struct rb_err err = {0};
    nested(&text, RB_LIMIT_XML_DEPTH);
    assert_true(parses(text.data, text.len, NULL));
    rb_buf_clear(&text);
    nested(&text, RB_LIMIT_XML_DEPTH + 1);
    assert_false(parses(text.data, text.len, &err));
    assert_says(&err, "RB_LIMIT_XML_DEPTH");
    rb_buf_finish(&text);
}

static void size_is_limited(void **state)
{
    (void)state;
    struct rb_err err = {0};
    assert_false(parses("", (size_t)RB_LIMIT_HTTP_BYTES + 1, &err)); // refused before a byte is read
    assert_says(&err, "RB_LIMIT_HTTP_BYTES");
}

static void text_is_copied_at_any_length(void **state)
{
    (void)state;
    struct rb_buf text = RB_BUF_INIT;
    const int n = 300000; // longer than any buffer expat hands over at once
    rb_buf_puts(&text, "<a>");
    for (int i = 0; i < n; i++)
        rb_buf_putc(&text, i % 1000 ? 'x' : '\n');
    rb_buf_puts(&text, "</a>");
    struct rb_arena arena = {0};
    const struct rb_xml *root = NULL;
    assert_true(rb_xml_parse(text.data, text.len, &arena, &root, NULL));
    assert_int_equal(strlen(root->text), n);
    assert_memory_equal(root->text, text.data + 3, (size_t)n);
    rb_arena_finish(&arena);
    rb_buf_finish(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trees_keep_names_and_text),
        cmocka_unit_test(hostile_documents_are_refused),
        cmocka_unit_test(depth_is_limited),
        cmocka_unit_test(size_is_limited),
        cmocka_unit_test(text_is_copied_at_any_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
