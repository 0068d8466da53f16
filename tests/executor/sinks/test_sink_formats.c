// Names and bytes that sinks make of what they are given: hostile names do no harm.
#include "base/crc32c.h"
#include "executor/sinks/mlflow_api.h"
#include "executor/sinks/tfevents.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
// cmocka wants the four above first
#include <cmocka.h>

static void expect_key(const char *name, const char *expected)
{
    char key[RB_MLFLOW_KEY_BYTES + 1];
    rb_mlflow_key(name, key);
    assert_string_equal(key, expected);
}

static void test_keys_are_clean_paths(void **state)
{
    (void)state;
    expect_key("val_acc", "val_acc");
    expect_key("val/acc 1.5-b", "val/acc 1.5-b");
    expect_key("/a//b/", "a/b");
    expect_key("../a/./b/..", "__/a/_/b/__");
    expect_key("a\n\x1b[31m\x7f\"\\:@", "a___31m_____");
    expect_key("\xff\xfe", "__");
    expect_key("", "metric");
    expect_key("///", "metric");
}

// A cut may fall behind a slash or a dot.
static void test_long_keys_are_cut(void **state)
{
    char name[1000], key[RB_MLFLOW_KEY_BYTES + 1];
    (void)state;
    for (size_t n = 240; n < 260; n++) {
        memset(name, 'x', sizeof name);
        memcpy(name + n, "/../.", 5);
        name[sizeof name - 1] = '\0';
        rb_mlflow_key(name, key);
        const size_t len = strlen(key);
        assert_in_range(len, 240, RB_MLFLOW_KEY_BYTES);
        assert_int_not_equal(key[len - 1], '/');
        assert_int_not_equal(key[len - 1], '.');
    }
}

static void test_texts_are_cut_between_characters(void **state)
{
    (void)state;
    for (size_t max = 0; max <= 5; max++) {
        RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
        static const char *const expected[] = {"\"\"", "\"a\"", "\"a\"", "\"aé\"", "\"aéb\"", "\"aéb\""};
        struct rb_json j;
        rb_json_init(&j, &out, false);
        rb_mlflow_text(&j, "aéb", max);
        assert_string_equal(rb_buf_str(&out), expected[max]);
    }
}

static void test_checksum(void **state)
{
    (void)state;
    assert_int_equal(rb_crc32c("123456789", 9), 0xe3069283u); // RFC 3720
    assert_int_equal(rb_crc32c("", 0), 0);
}

// A tag is UTF-8 without control characters, whatever the name was.
static void test_tags_are_text(void **state)
{
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    (void)state;
    rb_tf_scalar(1, 1, "a\x01\xff\x1b[2Jé", NAN, &out);
    assert_non_null(memmem(out.data, out.len, "a???[2Jé", strlen("a???[2Jé")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys_are_clean_paths),
        cmocka_unit_test(test_long_keys_are_cut),
        cmocka_unit_test(test_texts_are_cut_between_characters),
        cmocka_unit_test(test_checksum),
        cmocka_unit_test(test_tags_are_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
