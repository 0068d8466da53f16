// Names, request ids and labels: fixed for ever, within Compute Engine's alphabets, and readable back.
#include "base/document/json.h"
#include "providers/gcp/gcp_names.h"
#include "tests/base/check.h"

#include <stdlib.h>

// Known answers, by Python's hashlib and uuid: a running cloud full of machines hangs on them.
static void names_are_for_ever(void **state)
{
    (void)state;
    char name[RB_GCP_NAME_BYTES], id[RB_GCP_UUID_BYTES];
    rb_gcp_instance_name("token", "us-central1-a", name);
    assert_string_equal(name, "rb-6915a5aaed82d7a32187485f389d7483");
    rb_gcp_request_id(name, id);
    assert_string_equal(id, "f594d600-9419-5ff0-a06e-492f19fe3865");
}

static void members_are_distinguished_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int member;
    } cases[] = {{"rb-6915a5aaed82d7a32187485f389d7483", 0},    {"rb-6915a5aaed82d7a32187485f389d7483-0", 0},
                 {"rb-6915a5aaed82d7a32187485f389d7483-7", 7},  {"rb-6915a5aaed82d7a32187485f389d7483-x", 0},
                 {"rb-6915a5aaed82d7a32187485f389d7483--1", 0}, {"rb-1", 0},
                 {"somebody-elses-machine-with-a-long-name", 0}};
    char name[RB_GCP_NAME_BYTES];
    rb_gcp_member_name("rb-6915a5aaed82d7a32187485f389d7483", 12, name);
    assert_string_equal(name, "rb-6915a5aaed82d7a32187485f389d7483-12");
    assert_int_equal(rb_gcp_member_of(name), 12);
    for (size_t i = 0; i < N_OF(cases); i++)
        assert_int_equal(rb_gcp_member_of(cases[i].name), cases[i].member);
}

static void ids_are_split(void **state)
{
    (void)state;
    struct rb_arena arena = {0};
    const char *name, *zone;
    assert_true(rb_gcp_instance_id_split(rb_gcp_instance_id(&arena, "rb-1", "us-central1-a"), &arena, &name, &zone));
    assert_string_equal(name, "rb-1");
    assert_string_equal(zone, "us-central1-a");
    static const char *const bad[] = {"", ".", "a", "a.", ".b", "a.b.c", "A.b", "a/b.c", "a.b?x", "a.b/c", "i-0123"};
    for (size_t i = 0; i < N_OF(bad); i++)
        assert_false(rb_gcp_instance_id_split(bad[i], &arena, &name, &zone));
    rb_arena_finish(&arena);
}

// As a map of an answer.
static const struct rb_node *as_answer(const struct rb_gcp_label *labels, int n, struct rb_doc *doc)
{
    struct rb_buf text = RB_BUF_INIT;
    struct rb_json j;
    rb_json_init(&j, &text, false);
    rb_json_begin_object(&j);
    for (int i = 0; i < n; i++)
        rb_json_kstring(&j, labels[i].key, labels[i].value);
    rb_json_end_object(&j);
    assert_true(rb_doc_parse_json(doc, "labels", text.data, text.len, NULL));
    rb_buf_finish(&text);
    return doc->root;
}

static void expect_round_trip(const char *value)
{
    const struct rb_tags tags = {.owner = value};
    struct rb_gcp_label labels[RB_GCP_MAX_LABELS];
    struct rb_arena arena = {0};
    struct rb_doc doc;
    int n;
    assert_true(rb_gcp_labels(&tags, labels, &n, NULL));
    for (int i = 0; i < n; i++) {
        assert_in_range(strlen(labels[i].value), 1, 63);
        assert_int_equal(strspn(labels[i].value, "abcdefghijklmnopqrstuvwxyz0123456789_-"), strlen(labels[i].value));
        assert_int_equal(strspn(labels[i].key, "abcdefghijklmnopqrstuvwxyz0123456789_-"), strlen(labels[i].key));
    }
    assert_string_equal(rb_gcp_tag(as_answer(labels, n, &doc), "rb:owner", &arena), value);
    rb_doc_finish(&doc);
    rb_arena_finish(&arena);
}

static void values_are_read_back(void **state)
{
    (void)state;
    static const char *const values[] = {
        "cifar-20260101-120000-abc234",
        "ann@lab.example.com",
        "Ann_Smith@LAB",
        "_",
        "\xc3\xa9t\xc3\xa9",
        "0123456789012345678901234567890123456789012345678901234567890123", // one too long
        "\x01\x7f\xff%= /"};
    for (size_t i = 0; i < N_OF(values); i++)
        expect_round_trip(values[i]);
}

static void random_values_are_read_back(void **state)
{
    (void)state;
    srand(1);
    for (int round = 0; round < 300; round++) {
        char value[64];
        const int n = 1 + rand() % 60;
        for (int i = 0; i < n; i++)
            value[i] = (char)(1 + rand() % 255);
        value[n] = '\0';
        expect_round_trip(value);
    }
}

static void a_launch_has_three_labels(void **state)
{
    (void)state;
    static const struct rb_tags tags = {.name = "rb-x", .run_id = "r", .launch_id = "0af", .owner = "ann@lab"};
    struct rb_gcp_label labels[RB_GCP_MAX_LABELS];
    int n;
    assert_true(rb_gcp_labels(&tags, labels, &n, NULL));
    assert_int_equal(n, 3);
    assert_string_equal(labels[0].key, "rb-run");
    assert_string_equal(labels[1].key, "rb-launch");
    assert_string_equal(labels[1].value, "0af");
    assert_string_equal(labels[2].key, "rb-owner");
    assert_string_equal(labels[2].value, "ann_40lab");
}

static void what_fits_no_label_is_refused(void **state)
{
    (void)state;
    char long_value[300];
    memset(long_value, 'a', sizeof long_value);
    long_value[253] = '\0'; // four times 63 and one
    const struct rb_tags too_long = {.owner = long_value};
    struct rb_gcp_label labels[RB_GCP_MAX_LABELS];
    struct rb_err err;
    int n;
    assert_false(rb_gcp_labels(&too_long, labels, &n, &err));
    assert_says(&err, "RB3205 more than 4 labels");
    long_value[252] = '\0';
    assert_true(rb_gcp_labels(&too_long, labels, &n, &err));
    assert_int_equal(n, 4);
}

static void labels_of_others_are_not_ours(void **state)
{
    (void)state;
    static const char *const maps[] = {"{}",
                                       "[]",
                                       "{\"rb-owner\": \"\"}",
                                       "{\"rb-owner\": \"a_\"}",
                                       "{\"rb-owner\": \"a_4\"}",
                                       "{\"rb-owner\": \"a_zz\"}",
                                       "{\"rb-owner\": \"a_00\"}",
                                       "{\"rb-owner\": 5}",
                                       "{\"rb-owner_2\": \"a\"}",
                                       "{\"owner\": \"a\"}"};
    for (size_t i = 0; i < N_OF(maps); i++) {
        struct rb_arena arena = {0};
        struct rb_doc doc;
        assert_true(rb_doc_parse_json(&doc, "labels", maps[i], strlen(maps[i]), NULL));
        assert_null(rb_gcp_tag(doc.root, "rb:owner", &arena));
        rb_doc_finish(&doc);
        rb_arena_finish(&arena);
    }
}

static void filters(void **state)
{
    (void)state;
    static const struct {
        const char *key, *value, *filter;
    } cases[] = {
        {NULL, NULL, "labels.rb-owner:*"},
        {"rb:run-id", "cifar-1", "labels.rb-run=cifar-1"},
        {"rb:launch-id", "A", "labels.rb-launch=_41"},
        {"rb:run-id", "0123456789012345678901234567890123456789012345678901234567890123456",
         "labels.rb-run=012345678901234567890123456789012345678901234567890123456789012"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct rb_buf out = RB_BUF_INIT;
        rb_gcp_filter(cases[i].key, cases[i].value, &out);
        assert_string_equal(out.data, cases[i].filter);
        rb_buf_finish(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_for_ever),
        cmocka_unit_test(members_are_distinguished_by_name),
        cmocka_unit_test(ids_are_split),
        cmocka_unit_test(values_are_read_back),
        cmocka_unit_test(random_values_are_read_back),
        cmocka_unit_test(a_launch_has_three_labels),
        cmocka_unit_test(what_fits_no_label_is_refused),
        cmocka_unit_test(labels_of_others_are_not_ours),
        cmocka_unit_test(filters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
