#include "providers/aws/aws_sign.h"

#include "base/text/units.h"
#include "providers/aws/sigv4.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

// Content-Type is sent by the call itself; authorization is one more line.
enum { MAX_SIGNED = 5 };

static void format_amz_date(int64_t unix_us, char out[static 17])
{
    const time_t seconds = (time_t)(unix_us / RB_US_PER_S);
    struct tm tm;
    gmtime_r(&seconds, &tm);
    strftime(out, 17, "%Y%m%dT%H%M%SZ", &tm);
}

static void authorization(const struct rb_aws_signing *s, const struct rb_aws_credentials *c,
                          const struct rb_api_call *call, const struct rb_sigv4_header *headers, int n,
                          const char *amz_date, struct rb_buf *out)
{
    const struct rb_sigv4_request request = {
        .method = "POST",
        .path = "/",
        .query = "",
        .headers = headers,
        .n_headers = n,
        .body = call->body.data,
        .body_len = call->body.len,
        .amz_date = amz_date,
        .region = s->region,
        .service = s->service,
    };
    rb_buf_puts(out, "Authorization: ");
    rb_sigv4_authorization(&request, c->access_key, c->secret_key, out);
}

// The headers that are signed are the headers that are sent.
void rb_aws_sign(const struct rb_aws_signing *s, const struct rb_aws_credentials *c, struct rb_api_try *t)
{
    const struct rb_api_call *call = rb_api_call_of(t);
    char amz_date[17], target[128];
    struct rb_sigv4_header headers[MAX_SIGNED];
    int n = 0;
    format_amz_date(s->unix_us, amz_date);
    headers[n++] = (struct rb_sigv4_header){"Content-Type", call->content_type};
    headers[n++] = (struct rb_sigv4_header){"Host", strstr(s->endpoint, "://") + 3};
    headers[n++] = (struct rb_sigv4_header){"X-Amz-Date", amz_date};
    if (c->session_token[0])
        headers[n++] = (struct rb_sigv4_header){"X-Amz-Security-Token", c->session_token};
    if (s->target_prefix) {
        snprintf(target, sizeof target, "%s%s", s->target_prefix, call->name);
        headers[n++] = (struct rb_sigv4_header){"X-Amz-Target", target};
    }
    struct rb_buf lines[MAX_SIGNED] = {0};
    const char *texts[MAX_SIGNED];
    for (int i = 1; i < n; i++)
        rb_buf_printf(&lines[i - 1], "%s: %s", headers[i].name, headers[i].value);
    authorization(s, c, call, headers, n, amz_date, &lines[n - 1]);
    for (int i = 0; i < n; i++)
        texts[i] = lines[i].data;
    rb_api_transmit(t, texts, n);
    for (int i = 0; i < n; i++) {
        explicit_bzero(lines[i].data, lines[i].len);
        rb_buf_finish(&lines[i]);
    }
}
