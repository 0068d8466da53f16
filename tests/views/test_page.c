// Pages as bytes: text of others stays text, a document cannot end its element, and the policy lets nothing in.
#include "views/pages/page.h"

#include "base/document/doc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char hostile[] = "</script><b title='x' \"y\">&amp;";

static struct rb_buf page_of(const char *text, bool live, const char *document)
{
    static const struct rb_text_column columns[] = {{"name", false, 0}, {"n", true, 0}};
    struct rb_buf out = RB_BUF_INIT;
    struct rb_text_table t;
    struct rb_page page;
    rb_page_begin(&page, text, text, false, live, &out);
    rb_page_section(&page, "first", text, text);
    rb_page_paragraph(&page, "%s", text);
    rb_page_chart(&page, "gantt", text);
    rb_page_section(&page, "second", "Second", NULL);
    rb_text_table_init(&t, columns, 2);
    rb_text_table_cell(&t, "%s", text);
    rb_text_table_cell(&t, "%d", 7);
    rb_page_table(&page, text, &t);
    rb_text_table_finish(&t);
    rb_page_end(&page, document);
    return out;
}

static void rows_lead_where_their_links_say(void **state)
{
    (void)state;
    static const struct rb_text_column columns[] = {{"name", false, 0}, {"n", true, 0}};
    static const char *const addresses[] = {"1/\"><b>", NULL};
    struct rb_buf out = RB_BUF_INIT;
    struct rb_text_table t;
    struct rb_page page = {.out = &out};
    rb_text_table_init(&t, columns, 2);
    for (int i = 0; i < 4; i++)
        rb_text_table_cell(&t, "cell %d", i);
    rb_page_linked_table(&page, "links", &t, addresses);
    rb_text_table_finish(&t);
    assert_non_null(strstr(rb_buf_str(&out), "<th scope=\"row\"><a href=\"1/&quot;&gt;&lt;b&gt;\">cell 0</a></th>"
                                             "<td class=\"number\">cell 1</td>"));
    assert_non_null(strstr(rb_buf_str(&out), "<th scope=\"row\">cell 2</th>"));
    rb_buf_finish(&out);
}

static int count(const char *text, const char *what)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, what)); at += strlen(what))
        n++;
    return n;
}

// Of what was written before the scripts, which hold `<` of their own.
static char *words_of(const struct rb_buf *page)
{
    const char *end = strstr(page->data, "<script type=\"application/json\"");
    assert_non_null(end);
    return strndup(page->data, (size_t)(end - page->data));
}

static void text_stays_text(void **state)
{
    (void)state;
    struct rb_buf page = page_of(hostile, false, "{}");
    char *words = words_of(&page);
    assert_null(strstr(words, "</script>"));
    assert_null(strstr(words, "<b "));
    assert_int_equal(count(words, "&lt;/script&gt;&lt;b title=&#39;x&#39; &quot;y&quot;&gt;&amp;amp;"), 10);
    free(words);
    rb_buf_finish(&page);
}

static void what_is_opened_is_closed(void **state)
{
    (void)state;
    static const char *const elements[] = {"section", "figure", "table", "div", "main",
                                           "header",  "tr",     "th",    "td",  "h2"};
    struct rb_buf page = page_of("words", false, "{}");
    char *words = words_of(&page), opened[16], closed[16];
    for (size_t i = 0; i < sizeof elements / sizeof elements[0]; i++) {
        snprintf(opened, sizeof opened, "<%s", elements[i]);
        snprintf(closed, sizeof closed, "</%s>", elements[i]);
        // <th is the beginning of <thead, too
        const int extra = strcmp(elements[i], "th") == 0 ? count(words, "<thead") : 0;
        assert_int_equal(count(words, opened) - extra, count(words, closed));
        assert_true(count(words, closed) > 0);
    }
    free(words);
    rb_buf_finish(&page);
}

static void a_document_is_read_back_and_cannot_end_its_element(void **state)
{
    (void)state;
    const char *document = "{\"a\":\"</script><!--<script>\",\"n\":7}";
    struct rb_buf page = page_of("words", false, document);
    const char *from = strstr(page.data, "id=\"document\">") + strlen("id=\"document\">");
    const char *to = strstr(from, "</script>");
    struct rb_doc read = {0};
    struct rb_err err;
    assert_true(rb_doc_parse_json(&read, "document", from, (size_t)(to - from), &err));
    assert_string_equal(rb_node_member(read.root, "a")->text, "</script><!--<script>");
    assert_int_equal(rb_node_member(read.root, "n")->integer, 7);
    rb_doc_finish(&read);
    rb_buf_finish(&page);
}

static void only_a_live_page_may_ask_and_only_its_own_server(void **state)
{
    (void)state;
    struct rb_buf still = page_of("words", false, "{}"), live = page_of("words", true, "{}");
    assert_non_null(strstr(still.data, "default-src 'none'"));
    assert_non_null(strstr(still.data, "connect-src 'none'\""));
    assert_non_null(strstr(live.data, "connect-src 'self'\""));
    assert_non_null(strstr(live.data, "<html lang=\"en\" data-live>"));
    assert_null(strstr(still.data, "<html lang=\"en\" data-live>"));
    rb_buf_finish(&still);
    rb_buf_finish(&live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_lead_where_their_links_say),
        cmocka_unit_test(text_stays_text),
        cmocka_unit_test(what_is_opened_is_closed),
        cmocka_unit_test(a_document_is_read_back_and_cannot_end_its_element),
        cmocka_unit_test(only_a_live_page_may_ask_and_only_its_own_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
