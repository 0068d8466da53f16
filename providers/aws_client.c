// Date and signature are of the moment of each try; the peer's clock is believed over ours once it complains.
#include "providers/aws_client.h"

#include "base/arena.h"
#include "base/log.h"
#include "base/units.h"
#include "providers/aws_endpoint.h"
#include "providers/credentials.h"
#include "providers/http.h"
#include "providers/sigv4.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const int64_t refresh_before_us = 10 * 60 * RB_US_PER_S; // as the SDKs: credentials never expire on the way

struct rb_aws_client {
    const struct rb_loop *loop;
    struct rb_api *api;
    char service[32], region[64], endpoint[512];
    struct rb_aws_credentials credentials;
    int64_t skew_us; // the peer's clock minus ours, once it complained
};

// The peer says our time or our credentials are stale. Keeps the old credentials if there are no others.
static bool renew(void *authority, const struct rb_http_response *response, struct rb_err *err)
{
    struct rb_aws_client *c = authority;
    const int64_t peer_us = rb_http_date_us(response);
    if (peer_us >= 0)
        c->skew_us = peer_us - c->loop->unix_us(c->loop->ctx);
    return rb_aws_credentials_load(&c->credentials, err);
}

// Credentials close to their end are read again; while that fails the old ones serve to their last minute.
static void refresh_if_due(struct rb_aws_client *c, int64_t unix_us)
{
    struct rb_err ignored;
    if (c->credentials.expires_at_us >= 0 && unix_us > c->credentials.expires_at_us - refresh_before_us)
        rb_aws_credentials_load(&c->credentials, &ignored);
}

static void format_amz_date(int64_t unix_us, char out[static 17])
{
    const time_t seconds = (time_t)(unix_us / RB_US_PER_S);
    struct tm tm;
    gmtime_r(&seconds, &tm);
    strftime(out, 17, "%Y%m%dT%H%M%SZ", &tm);
}

// The headers that are signed are the headers that are sent. Returns their number; authorization is one more line.
// The first is sent by the call itself.
enum { MAX_SIGNED = 4 };
static int signed_headers(const struct rb_aws_client *c, const struct rb_api_call *call, const char *amz_date,
                          struct rb_sigv4_header out[static MAX_SIGNED])
{
    int n = 0;
    out[n++] = (struct rb_sigv4_header){"Content-Type", call->content_type};
    out[n++] = (struct rb_sigv4_header){"Host", strstr(c->endpoint, "://") + 3};
    out[n++] = (struct rb_sigv4_header){"X-Amz-Date", amz_date};
    if (c->credentials.session_token[0])
        out[n++] = (struct rb_sigv4_header){"X-Amz-Security-Token", c->credentials.session_token};
    return n;
}

static void authorization(const struct rb_aws_client *c, const struct rb_api_call *call,
                          const struct rb_sigv4_header *headers, int n, const char *amz_date, struct rb_buf *out)
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
        .region = c->region,
        .service = c->service,
    };
    rb_buf_puts(out, "Authorization: ");
    rb_sigv4_authorization(&request, c->credentials.access_key, c->credentials.secret_key, out);
}

static void authorise(void *authority, struct rb_api_try *t)
{
    struct rb_aws_client *c = authority;
    const struct rb_api_call *call = rb_api_call_of(t);
    const int64_t unix_us = c->loop->unix_us(c->loop->ctx) + c->skew_us;
    refresh_if_due(c, unix_us);
    char amz_date[17];
    format_amz_date(unix_us, amz_date);
    struct rb_sigv4_header headers[MAX_SIGNED];
    const int n = signed_headers(c, call, amz_date, headers);

    struct rb_buf lines[MAX_SIGNED] = {0};
    const char *texts[MAX_SIGNED];
    for (int i = 1; i < n; i++)
        rb_buf_printf(&lines[i - 1], "%s: %s", headers[i].name, headers[i].value);
    authorization(c, call, headers, n, amz_date, &lines[n - 1]);
    for (int i = 0; i < n; i++)
        texts[i] = lines[i].data;
    rb_api_transmit(t, texts, n);
    for (int i = 0; i < n; i++) {
        explicit_bzero(lines[i].data, lines[i].len);
        rb_buf_finish(&lines[i]);
    }
}

void rb_aws_send(struct rb_aws_client *c, struct rb_api_call *call)
{
    call->method = "POST";
    rb_api_send(c->api, call);
}

void rb_aws_refuse(struct rb_aws_client *c, struct rb_api_call *call, const struct rb_err *err)
{
    rb_api_refuse(c->api, call, err);
}

bool rb_aws_client_is_loopback(const struct rb_aws_client *c)
{
    return rb_http_is_loopback(c->endpoint);
}

static struct rb_api *create_api(struct rb_aws_client *c, const struct rb_aws_client_config *config)
{
    const struct rb_api_config api = {
        .loop = config->loop,
        .http = config->http,
        .endpoint = c->endpoint,
        .judge = config->judge,
        .authority = c,
        .authorise = authorise,
        .renew = renew,
    };
    return rb_api_create(&api);
}

bool rb_aws_client_create(const struct rb_aws_client_config *config, struct rb_aws_client **out, struct rb_err *err)
{
    struct rb_aws_client *c = rb_xcalloc(1, sizeof *c);
    c->loop = config->loop;
    snprintf(c->service, sizeof c->service, "%s", config->service);
    snprintf(c->region, sizeof c->region, "%s", config->region);
    if (!rb_aws_endpoint(config->service, config->region, config->loopback_only, c->endpoint, sizeof c->endpoint,
                         err) ||
        !rb_aws_credentials_load(&c->credentials, err)) {
        rb_aws_client_destroy(c);
        return false;
    }
    rb_trace("provider", "%s in %s: %s, credentials from %s", c->service, c->region, c->endpoint,
             c->credentials.source);
    c->api = create_api(c, config);
    *out = c;
    return true;
}

void rb_aws_client_destroy(struct rb_aws_client *c)
{
    if (!c)
        return;
    rb_api_destroy(c->api);
    rb_aws_credentials_wipe(&c->credentials);
    free(c);
}
