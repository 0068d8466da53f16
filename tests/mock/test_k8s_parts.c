// The small parts of the Kubernetes front: bodies in protocol buffers, quantities, selectors, frames, and what a schema keeps.
#include "providers/mock/k8s/k8s_protobuf.h"
#include "providers/mock/k8s/quantity.h"
#include "providers/mock/k8s/schema.h"
#include "providers/mock/k8s/selector.h"
#include "providers/mock/k8s/websocket.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static void quantities_are_canonical(void **state)
{
    (void)state;
    static const struct {
        const char *text, *canonical;
        int64_t milli;
    } rows[] = {{"4", "4", 4000},
                {"4000m", "4", 4000},
                {"0.5", "500m", 500},
                {"1500m", "1500m", 1500},
                {"1000", "1k", 1000000},
                {"16384Mi", "16Gi", 1000 * (INT64_C(16) << 30)},
                {"1.5Gi", "1536Mi", 1000 * (INT64_C(3) << 29)},
                {"1e3", NULL, 0},
                {"512", "512", 512000},
                {"0", "0", 0},
                {"0Gi", "0", 0},
                {"0.0001", "1m", 1},
                {"16G", "16G", 1000 * INT64_C(16000000000)},
                {"", NULL, 0},
                {"-1", NULL, 0},
                {"1.2.3", NULL, 0},
                {"1GB", NULL, 0},
                {"9999999999999999", NULL, 0},
                {"10Pi", NULL, 0}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        struct rb_quantity q = {-1, false};
        char text[32];
        assert_int_equal(rb_quantity_parse(rows[k].text, &q), rows[k].canonical != NULL);
        if (!rows[k].canonical)
            continue;
        assert_int_equal(q.milli, rows[k].milli);
        assert_string_equal(rb_quantity_format(&q, text), rows[k].canonical);
    }
}

static const char *value(const void *object, const char *key)
{
    (void)object;
    return strcmp(key, "run") == 0 ? "R" : strcmp(key, "rb.io/owner") == 0 ? "" : NULL;
}

static void selectors_choose(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int holds; // -1: no selector
    } rows[] = {{NULL, 1},
                {"", 1},
                {"run=R", 1},
                {"run==R", 1},
                {"run!=R", 0},
                {"run=S", 0},
                {"other!=x", 1},
                {"run", 1},
                {"!run", 0},
                {"!other", 1},
                {"other", 0},
                {"run in (S,R)", 1},
                {"run in (S)", 0},
                {"run notin (S)", 1},
                {"other notin (S)", 1},
                {"rb.io/owner=", 1},
                {"run=R,!other", 1},
                {"run=R,other", 0},
                {"run in R", -1},
                {"=R", -1},
                {"run=R,", -1},
                {"run=R;x", -1},
                {"index=1", 0},
                {"run in (R", -1}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
        struct rb_k8s_selector s;
        const bool ok = rb_k8s_selector_parse(rows[k].text, &arena, &s);
        if (ok != (rows[k].holds >= 0) || (ok && rb_k8s_selector_holds(&s, NULL, value) != (rows[k].holds == 1)))
            fail_msg("%s", rows[k].text);
    }
}

// As kubectl 1.33 sends it for `kubectl auth can-i create pods --subresource=exec`, and for `auth can-i get /healthz`.
static void a_review_in_protocol_buffers_is_read(void **state)
{
    (void)state;
#define REVIEW(kind) "k8s\0\n2\n\x17" "authorization.k8s.io/v1\x12\x17SelfSubject" kind "Review"
    static const char exec[] = REVIEW("Access") "\x12>\n\x10\n\0\x12\0\x1a\0\"\0*\0" "2\0" "8\0B\0\x12 \n\x1e\n\x02rb\x12\x06" "create\x1a\0\"\0*\x04pods2\x04" "exec:\0\x1a\x08\x08\0\x12\0\x1a\0 \0\x1a\0\"\0";
    static const char path[] = REVIEW("Access") "\x12/\n\x10\n\0\x12\0\x1a\0\"\0*\0" "2\0" "8\0B\0\x12\x11\x12\x0f\n\x08/healthz\x12\x03get\x1a\x08\x08\0\x12\0\x1a\0 \0\x1a\0\"\0";
    static const char other[] = REVIEW("Axcess"), cut[] = "k8s\0\n\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff";
    static const struct { const char *body; size_t n; const char *json; } rows[] = {
        {exec, sizeof exec - 1, "{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":\"SelfSubjectAccessReview\",\"spec\":{\"resourceAttributes\":{"
         "\"namespace\":\"rb\",\"verb\":\"create\",\"resource\":\"pods\",\"subresource\":\"exec\"}}}"},
        {path, sizeof path - 1, "{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":\"SelfSubjectAccessReview\",\"spec\":{}}"},
        {other, sizeof other - 1, NULL}, {cut, sizeof cut - 1, NULL}, {"k8s", 3, NULL}, {"{}", 2, NULL}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
        assert_int_equal(rb_k8s_protobuf_to_json(rows[k].body, rows[k].n, &out), rows[k].json != NULL);
        if (rows[k].json)
            assert_string_equal(rb_buf_str(&out), rows[k].json);
    }
    for (size_t n = 0; n < sizeof exec - 1; n++) { // each of them in memory of its own size
        RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
        RB_AUTO(rb_auto_free) char *part = rb_xcalloc(n > 0 ? n : 1, 1);
        memcpy(part, exec, n);
        rb_k8s_protobuf_to_json(part, n, &out);
    }
}

static void frames_are_read_whole(void **state)
{
    (void)state;
    char accept[RB_WEBSOCKET_ACCEPT];
    assert_true(rb_websocket_accept("dGhlIHNhbXBsZSBub25jZQ==", accept)); // RFC 6455, 1.3
    assert_string_equal(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    assert_false(rb_websocket_accept("short", accept));

    RB_AUTO(rb_buf_finish) struct rb_buf in = RB_BUF_INIT;
    static const char hello[] = "\x82\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"; // RFC 6455, 5.7, as binary
    struct rb_websocket_frame f;
    for (size_t n = 0; n < sizeof hello - 1; n++) {
        assert_int_equal(rb_websocket_read(&in, &f), 0);
        rb_buf_append(&in, hello + n, 1);
    }
    assert_int_equal(rb_websocket_read(&in, &f), 1);
    assert_int_equal(f.kind, RB_WEBSOCKET_BINARY);
    assert_memory_equal(f.bytes, "Hello", 5);
    assert_int_equal(f.whole, in.len);

    static const char *const bad[] = {"\x82\x05Hello", "\x02\x85", "\xc2\x85", "\x83\x85"};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        rb_buf_clear(&in);
        rb_buf_append(&in, bad[k], strlen(bad[k]));
        assert_int_equal(rb_websocket_read(&in, &f), -1);
    }
    rb_buf_clear(&in);
    rb_buf_append(&in, "\x82\xff\0\0\0\1\0\0\0\0mask", 14); // 4 GiB
    assert_int_equal(rb_websocket_read(&in, &f), -1);
}

static void long_frames_have_long_lengths(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 124, 125, 65534, 65535};
    static const size_t heads[] = {2, 2, 4, 4, 10};
    static char zeros[65536];
    for (size_t k = 0; k < 5; k++) {
        RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
        rb_websocket_write(&out, RB_WEBSOCKET_BINARY, "\1", 1, zeros, sizes[k]);
        assert_int_equal(out.len, heads[k] + 1 + sizes[k]);
        assert_int_equal(out.data[heads[k]], 1);
    }
}

static void conform(const char *body, const char *dropped, bool expected, const char *out, const char *unknown)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    struct rb_k8s_conformance c;
    struct rb_json j;
    assert_true(rb_doc_parse_json(&doc, "body", body, strlen(body), NULL));
    rb_json_init(&j, &text, false);
    assert_int_equal(rb_k8s_conform(doc.root, "Lease", dropped, &j, &c), expected);
    if (expected)
        assert_string_equal(rb_buf_str(&text), out);
    assert_string_equal(c.n_unknown > 0 ? c.unknown[0] : "", unknown);
}

static void schemas_keep_what_they_know(void **state)
{
    (void)state;
    conform("{\"kind\":\"Lease\",\"spec\":{\"holderIdentity\":\"a\",\"holder\":1}}", NULL, true,
            "{\"kind\":\"Lease\",\"spec\":{\"holderIdentity\":\"a\"}}", "spec.holder");
    conform("{\"spec\":{\"holderIdentity\":\"a\",\"leaseTransitions\":2}}", "spec.holderIdentity", true,
            "{\"spec\":{\"leaseTransitions\":2}}", "");
    conform("{\"spec\":{\"leaseTransitions\":\"2\"}}", NULL, false, "", "");
    conform("{\"spec\":{\"renewTime\":\"yesterday\"}}", NULL, false, "", "");
    conform("{\"metadata\":{\"labels\":{\"a\":1}}}", NULL, false, "", "");
    conform("{\"metadata\":[]}", NULL, false, "", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantities_are_canonical),    cmocka_unit_test(a_review_in_protocol_buffers_is_read), cmocka_unit_test(selectors_choose),
        cmocka_unit_test(frames_are_read_whole),       cmocka_unit_test(long_frames_have_long_lengths),
        cmocka_unit_test(schemas_keep_what_they_know),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
