// Any bytes as forms to the mock's EC2 front, a line each, signed, ten seconds apart: whatever is asked, the answer is XML with a
// status that HTTP knows.
#include "fuzz.h"

#include "providers/mock/ec2/mock_ec2.h"
#include "providers/wire/xml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EPOCH_US     INT64_C(1767225600000000) // 2026-01-01T00:00:00Z
#define DATE         "20260101T000000Z"
#define MAX_REQUESTS 64
#define HOST         "127.0.0.1:1"

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void ask(const struct rb_mock_ec2 *ec2, const char *body, int64_t now_us)
{
    RB_AUTO(rb_buf_finish) struct rb_buf authorization = RB_BUF_INIT;
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    const struct rb_sigv4_header signed_headers[] = {{"host", HOST}, {"x-amz-date", DATE}};
    const struct rb_sigv4_request to_sign = {.method = "POST",
                                             .path = "/",
                                             .query = "",
                                             .headers = signed_headers,
                                             .n_headers = 2,
                                             .body = body,
                                             .body_len = strlen(body),
                                             .amz_date = DATE,
                                             .region = "us-east-1",
                                             .service = "ec2"};
    rb_sigv4_authorization(&to_sign, "test", "test", &authorization);
    const struct rb_sigv4_header headers[] = {
        {"Host", HOST}, {"X-Amz-Date", DATE}, {"Authorization", rb_buf_str(&authorization)}};
    const struct rb_exchange_request r = {.method = "POST",
                                          .path = "/",
                                          .query = "",
                                          .headers = headers,
                                          .n_headers = 3,
                                          .body = body,
                                          .body_len = strlen(body)};
    struct rb_exchange_answer a = {0};
    const struct rb_xml *root;
    struct rb_err err;
    rb_mock_ec2_answer(ec2, &r, now_us, EPOCH_US, &a);
    require(a.status == 200 || (a.status >= 400 && a.status <= 599));
    require(a.status != 403); // it was signed well
    require(rb_xml_parse(rb_buf_str(&a.body), a.body.len, &arena, &root, &err));
    rb_buf_finish(&a.body);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static const struct rb_mock_key key = {"test", "test"};
    struct rb_arena arena;
    struct rb_cloud_config config;
    rb_arena_init(&arena);
    require(rb_cloud_config_default(&arena, &config, NULL));
    config.seed = 1;
    config.epoch_us = EPOCH_US;
    config.first_address = 0x7f010002;
    config.n_addresses = 1000;
    const struct rb_mock_ec2 ec2 = {.cloud = rb_cloud_create(&config), .keys = {&key, 1}};
    char *save, *text = rb_arena_strndup(&arena, (const char *)bytes, n);
    int k = 0;
    for (char *line = strtok_r(text, "\n", &save); line && k < MAX_REQUESTS; line = strtok_r(NULL, "\n", &save), k++)
        ask(&ec2, line, EPOCH_US + k * 10 * RB_US_PER_S);
    rb_cloud_destroy(ec2.cloud);
    rb_arena_finish(&arena);
    return 0;
}
