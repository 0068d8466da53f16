#include "providers/aws/sigv4.h"
#include "providers/wire/percent.h"
#include "signed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <time.h>
// cmocka wants the first three above it
#include <cmocka.h>

void amz_date(int64_t unix_us, char out[static 17])
{
    time_t s = (time_t)(unix_us / 1000000);
    struct tm tm;
    strftime(out, 17, "%Y%m%dT%H%M%SZ", gmtime_r(&s, &tm));
}

void sign_form(const struct signing *s, const char *body, struct rb_buf *out_authorization)
{
    char date[17];
    amz_date(s->unix_us, date);
    const struct rb_sigv4_header headers[] = {{"content-type", FORM_TYPE}, {"host", s->host}, {"x-amz-date", date}};
    const struct rb_sigv4_request r = {.method = "POST",
                                       .path = "/",
                                       .query = "",
                                       .headers = headers,
                                       .n_headers = 3,
                                       .body = body,
                                       .body_len = strlen(body),
                                       .amz_date = date,
                                       .region = s->region,
                                       .service = "ec2"};
    rb_sigv4_authorization(&r, s->access_key, s->secret_key, out_authorization);
}

void ask_json(const struct rb_mock_ec2 *ec2, const struct signing *s, const char *service, const char *target,
              const char *body, struct rb_exchange_answer *out)
{
    RB_AUTO(rb_buf_finish) struct rb_buf authorization = RB_BUF_INIT;
    char date[17];
    amz_date(s->unix_us, date);
    struct rb_sigv4_header headers[] = {{"content-type", "application/x-amz-json-1.1"},
                                        {"host", s->host},
                                        {"x-amz-date", date},
                                        {"x-amz-target", target},
                                        {NULL, NULL}};
    const struct rb_sigv4_request r = {.method = "POST",
                                       .path = "/",
                                       .query = "",
                                       .headers = headers,
                                       .n_headers = 4,
                                       .body = body,
                                       .body_len = strlen(body),
                                       .amz_date = date,
                                       .region = s->region,
                                       .service = service};
    rb_sigv4_authorization(&r, s->access_key, s->secret_key, &authorization);
    headers[4] = (struct rb_sigv4_header){"Authorization", rb_buf_str(&authorization)};
    const struct rb_exchange_request x = {.method = "POST",
                                          .path = "/",
                                          .query = "",
                                          .headers = headers,
                                          .n_headers = 5,
                                          .body = body,
                                          .body_len = strlen(body)};
    rb_buf_clear(&out->body);
    rb_mock_ec2_answer(ec2, &x, s->unix_us, s->unix_us, out);
}

void add_parameter(struct rb_buf *form, const char *name, const char *value)
{
    rb_buf_printf(form, "%s%s=", form->len ? "&" : "", name);
    rb_percent_encode(value, strlen(value), form);
}

void ask_google(struct rb_mock_gcp *gcp, const char *method, const char *path, const char *query, const char *body,
                int64_t at_us, struct rb_exchange_answer *out)
{
    const struct rb_sigv4_header headers[] = {{"Authorization", "Bearer test"}};
    const struct rb_exchange_request x = {.method = method,
                                          .path = path,
                                          .query = query,
                                          .headers = headers,
                                          .n_headers = 1,
                                          .body = body,
                                          .body_len = strlen(body)};
    rb_buf_clear(&out->body);
    rb_mock_gcp_answer(gcp, &x, at_us, at_us, out);
}

void expect_words(const struct rb_exchange_answer *answer, int status, const char *words)
{
    if (answer->status != status || !strstr(rb_buf_str(&answer->body), words))
        fail_msg("expected status %d and \"%s\", got %d: %s", status, words, answer->status, rb_buf_str(&answer->body));
}
