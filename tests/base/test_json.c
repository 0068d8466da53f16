// Writing JSON: exact bytes, and read(write(x)) = x.
#include "base/arena.h"
#include "base/document/json.h"
#include "base/stream.h"

#include "check.h"

#include <math.h>
#include <stdio.h>

static void write_sample(struct rb_json *j)
{
    rb_json_begin_object(j);
    rb_json_kstring(j, "name", "a\"\\\b\f\n\r\t\x01\x7f/\xc3\xa9");
    rb_json_kint(j, "min", INT64_MIN);
    rb_json_kdouble(j, "p", 0.95);
    rb_json_kbool(j, "ok", true);
    rb_json_kstring(j, "none", NULL);
    rb_json_key(j, "list");
    rb_json_begin_array(j);
    rb_json_int(j, 1);
    rb_json_begin_object(j);
    rb_json_end_object(j);
    rb_json_begin_array(j);
    rb_json_end_array(j);
    rb_json_end_array(j);
    rb_json_end_object(j);
}

static void bytes_are_canonical(void **state)
{
    (void)state;
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    struct rb_json j;
    rb_json_init(&j, &out, false);
    write_sample(&j);
    assert_string_equal(out.data, "{\"name\":\"a\\\"\\\\\\b\\f\\n\\r\\t\\u0001\x7f/\xc3\xa9\","
                                  "\"min\":-9223372036854775808,"
                                  "\"p\":0.95,\"ok\":true,\"none\":null,\"list\":[1,{},[]]}");
    rb_buf_clear(&out);
    rb_json_init(&j, &out, true);
    write_sample(&j);
    assert_string_equal(out.data, "{\n  \"name\": \"a\\\"\\\\\\b\\f\\n\\r\\t\\u0001\x7f/\xc3\xa9\",\n"
                                  "  \"min\": -9223372036854775808,\n  \"p\": 0.95,\n  \"ok\": true,\n"
                                  "  \"none\": null,\n  \"list\": [\n    1,\n    {},\n    []\n  ]\n}");
}

static void doubles_are_short_and_exact(void **state)
{
    (void)state;
    static const struct {
        double v;
        const char *text;
    } cases[] = {{0, "0"}, {-0.0, "-0.0"}, {1, "1"}, {1e-5, "1e-05"}, {0.1, "0.1"}, {1e300, "1e+300"}};
    for (size_t i = 0; i < N_OF(cases); i++) {
        RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
        struct rb_json j;
        rb_json_init(&j, &out, false);
        rb_json_double(&j, cases[i].v);
        assert_string_equal(out.data, cases[i].text);
        struct rb_doc doc;
        assert_true(rb_doc_parse_json(&doc, "x", out.data, out.len, NULL));
        assert_memory_equal(&doc.root->number, &cases[i].v, sizeof(double)); // the sign of zero too
        rb_doc_finish(&doc);
    }
}

static void broken_utf8_is_replaced(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *written;
    } cases[] = {
        {"a\xff"
         "b",
         "\"a\xEF\xBF\xBD"
         "b\""},
        {"\xc3", "\"\xEF\xBF\xBD\""},
        {"\xed\xa0\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""},                 // a surrogate
        {"\xc0\xaf", "\"\xEF\xBF\xBD\xEF\xBF\xBD\""},                                 // overlong
        {"\xf4\x90\x80\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""}, // past U+10FFFF
        {"\xf0\x9f\x98\x80", "\"\xf0\x9f\x98\x80\""},
        {"\xe2\x82\xac\xe2\x82", "\"\xe2\x82\xac\xEF\xBF\xBD\xEF\xBF\xBD\""},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
        struct rb_json j;
        rb_json_init(&j, &out, false);
        rb_json_string(&j, cases[i].bytes);
        assert_string_equal(out.data, cases[i].written);
    }
}

// --- read(write(x)) = x over random documents ---

static void write_random(struct rb_json *j, struct rb_stream *s, int depth);

static void write_random_text(struct rb_json *j, struct rb_stream *s)
{
    static const char *const pieces[] = {"a", "\"",   "\\",     "\n", "\x01", "\xc3\xa9", "\xf0\x9f\x98\x80",
                                         "/", "\x7f", "\\u0000"};
    char text[64] = "";
    for (uint64_t n = rb_stream_below(s, 8); n > 0; n--)
        strcat(text, pieces[rb_stream_below(s, N_OF(pieces))]);
    rb_json_string(j, text);
}

static void write_random_container(struct rb_json *j, struct rb_stream *s, int depth, bool is_map)
{
    const int n = (int)rb_stream_below(s, 5);
    is_map ? rb_json_begin_object(j) : rb_json_begin_array(j);
    for (int i = 0; i < n; i++) {
        char key[32];
        snprintf(key, sizeof key, "k%d\n\"", i);
        if (is_map)
            rb_json_key(j, key);
        write_random(j, s, depth + 1);
    }
    is_map ? rb_json_end_object(j) : rb_json_end_array(j);
}

// Of every length in bits.
static void write_random_int(struct rb_json *j, struct rb_stream *s)
{
    const int64_t any = (int64_t)rb_stream_u64(s);
    rb_json_int(j, any >> rb_stream_below(s, 64));
}

static void write_random(struct rb_json *j, struct rb_stream *s, int depth)
{
    switch (rb_stream_below(s, depth < 6 ? 8 : 6)) {
    case 0:
        rb_json_null(j);
        break;
    case 1:
        rb_json_bool(j, rb_stream_below(s, 2));
        break;
    case 2:
        write_random_int(j, s);
        break;
    case 3:
        rb_json_double(j, (rb_stream_uniform(s) - 0.5) * 1e6);
        break;
    case 4:
        rb_json_double(j, rb_stream_uniform(s) * 1e-300);
        break;
    case 5:
        write_random_text(j, s);
        break;
    case 6:
        write_random_container(j, s, depth, false);
        break;
    default:
        write_random_container(j, s, depth, true);
        break;
    }
}

static void assert_round_trip(const char *name, const struct rb_buf *text, bool pretty, bool as_yaml)
{
    struct rb_doc doc;
    struct rb_err err;
    const bool ok = as_yaml ? rb_doc_parse_yaml(&doc, name, text->data, text->len, &err)
                            : rb_doc_parse_json(&doc, name, text->data, text->len, &err);
    if (!ok)
        fail_msg("%s\n%d:%d %s", text->data, err.line, err.column, err.message);
    RB_AUTO(rb_buf_finish) struct rb_buf again = RB_BUF_INIT;
    struct rb_json j;
    rb_json_init(&j, &again, pretty);
    rb_json_node(&j, doc.root);
    assert_string_equal(again.data, text->data);
    rb_doc_finish(&doc);
}

static void what_was_written_reads_back_to_the_same_bytes(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 2000; i++) {
        struct rb_stream s;
        rb_stream_init(&s, &(struct rb_stream_key){.seed = 1, .purpose = RB_DRAW_SEARCH, .index = i});
        RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
        struct rb_json j;
        rb_json_init(&j, &out, i % 2);
        write_random(&j, &s, 0);
        assert_round_trip("x.json", &out, i % 2, false);
    }
}

// JSON without DEL is YAML: a plan may be read either way.
static void json_reads_the_same_as_yaml(void **state)
{
    (void)state;
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    struct rb_json j;
    rb_json_init(&j, &out, true);
    rb_json_begin_object(&j);
    rb_json_kstring(&j, "s", "no: \"quoted\" \\ #\n\t\x01\xc3\xa9");
    rb_json_kstring(&j, "n", "12");
    rb_json_kdouble(&j, "d", 1e-5);
    rb_json_kint(&j, "i", INT64_MIN);
    rb_json_kbool(&j, "b", false);
    rb_json_end_object(&j);
    assert_round_trip("x.yaml", &out, true, true);
}

static void a_template_writes_what_it_shows(void **state)
{
    (void)state;
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    struct rb_json j;
    const char *volatile nothing = NULL;
    rb_json_init(&j, &out, false);
    rb_json_put(&j, "{name: %s, 'at %d': 'a \"%s\" %ju %.*s', left_out: %s, %s: %jd, list: [%s, %s, {}, -3", "x\n", 7, "q",
                UINTMAX_MAX, 2, "abc", nothing, "key", INTMAX_MIN, nothing, "y");
    rb_json_int(&j, 4); // other calls may stand between two templates
    rb_json_put(&j, "], yes: %i, no: false, d: %g", true, 0.1);
    rb_json_put(&j, "absent: [%s|null, %d|null, %jd|null, %g|null, null], s: %s|null, n: %jd|null}", nothing, -1,
                INTMAX_MIN, NAN, nothing, INTMAX_MIN);
    assert_string_equal(out.data, "{\"name\":\"x\\n\",\"at 7\":\"a \\\"q\\\" 18446744073709551615 ab\","
                                  "\"key\":-9223372036854775808,\"list\":[\"y\",{},-3,4],"
                                  "\"yes\":true,\"no\":false,\"d\":0.1,"
                                  "\"absent\":[null,null,null,null,null],\"s\":null,\"n\":null}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_template_writes_what_it_shows),
        cmocka_unit_test(bytes_are_canonical),         cmocka_unit_test(doubles_are_short_and_exact),
        cmocka_unit_test(broken_utf8_is_replaced),     cmocka_unit_test(what_was_written_reads_back_to_the_same_bytes),
        cmocka_unit_test(json_reads_the_same_as_yaml),
    };
    return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
