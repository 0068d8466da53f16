// Any bytes as requests to the mock's Compute Engine front, one after another, ten seconds apart: whatever is asked, the
// answer is JSON, or of a batch multipart, with a status that HTTP knows, and no more instances are there than addresses. A
// request is a line METHOD PATH[?QUERY] and a body, up to a line of three dashes; a batch's boundary is b.
#include "fuzz.h"
#include "fuzz_request.h"

#include "base/document/doc.h"
#include "providers/mock/gcp/mock_gcp.h"

#include <stdlib.h>
#include <string.h>

#define EPOCH_US     INT64_C(1767225600000000)
#define MAX_REQUESTS 64
#define N_ADDRESSES  1000

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void check_answer(const struct rb_exchange_answer *a)
{
    struct rb_doc doc;
    static const char end[] = "--\r\n";
    require(a->status == 200 || (a->status >= 400 && a->status <= 599));
    if (strncmp(a->content_type, "multipart/", strlen("multipart/")) == 0) {
        require(a->body.len > strlen(end) && strcmp(rb_buf_str(&a->body) + a->body.len - strlen(end), end) == 0);
        return;
    }
    require(rb_doc_parse_json(&doc, "answer", rb_buf_str(&a->body), a->body.len, NULL));
    rb_doc_finish(&doc);
}

static void ask(struct rb_mock_gcp *gcp, char *text, int64_t now_us)
{
    static const struct rb_sigv4_header headers[] = {
        {"Authorization", "Bearer test"}, {"Host", "127.0.0.1:1"}, {"Content-Type", "multipart/mixed; boundary=\"b\""}};
    struct rb_exchange_request r = {.headers = headers, .n_headers = 3};
    if (!fuzz_read_request(text, &r))
        return;
    struct rb_exchange_answer a = {0};
    rb_mock_gcp_answer(gcp, &r, now_us, now_us, &a);
    check_answer(&a);
    rb_buf_finish(&a.body);
}

static void print_console(void *arg, const char *id, struct rb_buf *out)
{
    (void)arg;
    rb_buf_printf(out, "%s\xff\x01 booted\n", id);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct rb_arena arena;
    struct rb_cloud_config config;
    rb_arena_init(&arena);
    require(rb_cloud_config_default(&arena, &config, NULL));
    config.seed = 1;
    config.epoch_us = EPOCH_US;
    config.first_address = 0x7f010002;
    config.n_addresses = N_ADDRESSES;
    struct rb_cloud *cloud = rb_cloud_create(&config);
    struct rb_mock_gcp *gcp = rb_mock_gcp_create(cloud, NULL, "test");
    rb_mock_gcp_set_console(gcp, print_console, NULL);
    char *text = rb_arena_strndup(&arena, (const char *)bytes, n);
    int n_requests = 0;
    for (char *at = text; at && n_requests < MAX_REQUESTS; n_requests++) {
        char *next = fuzz_cut_request(at);
        ask(gcp, at, EPOCH_US + n_requests * 10 * RB_US_PER_S);
        at = next;
    }
    require(rb_cloud_n_instances(cloud) <= N_ADDRESSES);
    rb_mock_gcp_destroy(gcp);
    rb_cloud_destroy(cloud);
    rb_arena_finish(&arena);
    return 0;
}
