// The life of a call: try, judge, wait, try again. Back-off is "full jitter", as in the AWS SDKs: a random part of a
// ceiling that doubles. The body, and with it the idempotency token, is the same in every try; date and signature are not.
#include "providers/aws_client.h"

#include "base/arena.h"
#include "base/log.h"
#include "base/units.h"
#include "providers/aws_endpoint.h"
#include "providers/credentials.h"
#include "providers/digest.h"
#include "providers/http.h"
#include "providers/sigv4.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const int64_t retry_base_us = RB_US_PER_S / 2;
static const int64_t throttle_base_us = 2 * RB_US_PER_S; // a throttled peer wants longer pauses
static const int64_t backoff_cap_us = 20 * RB_US_PER_S;  // as the SDKs
static const int64_t retry_after_cap_us = 60 * RB_US_PER_S;
static const int64_t refresh_before_us = 10 * 60 * RB_US_PER_S; // as the SDKs: credentials never expire on the way

struct pending {
    struct rb_aws_client *client;
    struct pending *previous, *next;
    struct rb_aws_call call;
    int n_tries;
    bool outcome_unknown; // some try may have taken effect without our learning of it
    uint64_t timer;       // 0: none
    struct rb_err err;    // what the last try said
};

struct rb_aws_client {
    const struct rb_loop *loop;
    struct rb_http *http;
    char service[32], region[64], endpoint[512];
    rb_aws_judge_fn *judge;
    struct rb_aws_credentials credentials;
    int64_t skew_us; // the peer's clock minus ours, once it complained
    struct pending *calls;
};

static void try_now(void *arg);

static void unlink_call(struct pending *p)
{
    if (p->next)
        p->next->previous = p->previous;
    *(p->previous ? &p->previous->next : &p->client->calls) = p->next;
}

static struct pending *take_call(struct rb_aws_client *c, struct rb_aws_call *call)
{
    struct pending *p = rb_xcalloc(1, sizeof *p);
    p->client = c;
    p->call = *call;
    call->body = (struct rb_buf)RB_BUF_INIT;
    p->next = c->calls;
    if (p->next)
        p->next->previous = p;
    c->calls = p;
    return p;
}

// The body may hold user-data with keys.
static void pending_destroy(struct pending *p)
{
    if (p->call.body.data)
        explicit_bzero(p->call.body.data, p->call.body.len);
    rb_buf_finish(&p->call.body);
    free(p);
}

static void wait_and(struct pending *p, int64_t delay_us, rb_loop_fn *fn)
{
    const struct rb_loop *loop = p->client->loop;
    p->timer = loop->timer_start(loop->ctx, delay_us, fn, p);
}

static void succeed(struct pending *p)
{
    const struct rb_aws_call call = p->call;
    unlink_call(p);
    pending_destroy(p);
    call.done(call.arg, NULL);
}

// After a try that may have worked, only an answer about the very request settles it: no capacity, or bad parameters.
// Throttled or unauthorised, the service never looked whether the token was known.
static bool settles(enum rb_err_code code)
{
    return code == RB_ERR_CAPACITY || code == RB_ERR_INVALID;
}

static void give_up(void *arg)
{
    struct pending *p = arg;
    const struct rb_aws_call call = p->call;
    struct rb_err err = p->err;
    if (p->outcome_unknown && err.code != RB_ERR_UNKNOWN_OUTCOME && !settles(err.code)) {
        err.code = RB_ERR_UNKNOWN_OUTCOME;
        rb_err_prefix(&err, "an earlier try got no answer and may have worked; then");
    }
    rb_err_prefix(&err, "%s", call.name);
    unlink_call(p);
    pending_destroy(p);
    call.done(call.arg, &err);
}

// In (0, 1].
static double random_fraction(void)
{
    uint32_t bits;
    rb_random_bytes(&bits, sizeof bits);
    return ((double)bits + 1.0) / 4294967296.0;
}

static int64_t backoff_us(int n_tries, enum rb_aws_reaction reaction, int64_t retry_after_us)
{
    int64_t ceiling = reaction == RB_AWS_SLOW_DOWN ? throttle_base_us : retry_base_us;
    for (int i = 1; i < n_tries && ceiling < backoff_cap_us; i++)
        ceiling *= 2;
    if (ceiling > backoff_cap_us)
        ceiling = backoff_cap_us;
    const int64_t jitter = (int64_t)(random_fraction() * (double)ceiling);
    if (retry_after_us < 0)
        return jitter;
    return jitter + (retry_after_us < retry_after_cap_us ? retry_after_us : retry_after_cap_us);
}

static void try_later(struct pending *p, enum rb_aws_reaction reaction, int64_t retry_after_us)
{
    if (reaction == RB_AWS_FAIL || p->n_tries >= p->call.max_tries) {
        give_up(p);
        return;
    }
    const int64_t delay_us = backoff_us(p->n_tries, reaction, retry_after_us);
    char delay[32];
    rb_trace("provider", "%s: try %d of %d: %s; again in %s", p->call.name, p->n_tries, p->call.max_tries,
             p->err.message, rb_format_duration(delay_us, delay));
    wait_and(p, delay_us, try_now);
}

// The peer says our time or our credentials are stale. Keeps the old credentials if there are no others.
static bool renew(struct rb_aws_client *c, const struct rb_http_response *response, struct rb_err *err)
{
    const int64_t peer_us = rb_http_date_us(response);
    if (peer_us >= 0)
        c->skew_us = peer_us - c->loop->unix_us(c->loop->ctx);
    return rb_aws_credentials_load(&c->credentials, err);
}

static enum rb_aws_reaction judge(struct pending *p, const struct rb_http_response *r)
{
    if (r->status == 0) {
        rb_err_set(&p->err, r->sent ? RB_ERR_UNKNOWN_OUTCOME : RB_ERR_IO, "%s: %s", p->client->endpoint,
                   r->transport_error);
        return RB_AWS_RETRY;
    }
    if (r->status >= 200 && r->status < 300) { // 2xx, but decode could not read it
        p->err.code = RB_ERR_UNKNOWN_OUTCOME;
        return RB_AWS_RETRY;
    }
    return p->client->judge(r->status, r->body, r->body_len, &p->err);
}

static void on_response(void *arg, const struct rb_http_response *r)
{
    struct pending *p = arg;
    p->err = (struct rb_err){0};
    if (r->status >= 200 && r->status < 300 && p->call.decode(p->call.arg, r->body, r->body_len, &p->err)) {
        succeed(p);
        return;
    }
    enum rb_aws_reaction reaction = judge(p, r);
    if (p->err.code == RB_ERR_UNKNOWN_OUTCOME && !p->call.mutating)
        p->err.code = RB_ERR_IO;
    p->outcome_unknown = p->outcome_unknown || p->err.code == RB_ERR_UNKNOWN_OUTCOME;
    if (reaction == RB_AWS_REFRESH && !renew(p->client, r, &p->err))
        reaction = RB_AWS_FAIL;
    try_later(p, reaction, rb_http_retry_after_us(r, p->client->loop->unix_us(p->client->loop->ctx)));
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
enum { MAX_SIGNED = 4 };
static int signed_headers(const struct pending *p, const char *amz_date, struct rb_sigv4_header out[static MAX_SIGNED])
{
    const struct rb_aws_client *c = p->client;
    int n = 0;
    out[n++] = (struct rb_sigv4_header){"Host", strstr(c->endpoint, "://") + 3};
    out[n++] = (struct rb_sigv4_header){"Content-Type", p->call.content_type};
    out[n++] = (struct rb_sigv4_header){"X-Amz-Date", amz_date};
    if (c->credentials.session_token[0])
        out[n++] = (struct rb_sigv4_header){"X-Amz-Security-Token", c->credentials.session_token};
    return n;
}

static void authorization(const struct pending *p, const struct rb_sigv4_header *headers, int n, const char *amz_date,
                          struct rb_buf *out)
{
    const struct rb_aws_client *c = p->client;
    const struct rb_sigv4_request request = {
        .method = "POST",
        .path = "/",
        .query = "",
        .headers = headers,
        .n_headers = n,
        .body = p->call.body.data,
        .body_len = p->call.body.len,
        .amz_date = amz_date,
        .region = c->region,
        .service = c->service,
    };
    rb_buf_puts(out, "Authorization: ");
    rb_sigv4_authorization(&request, c->credentials.access_key, c->credentials.secret_key, out);
}

static bool send_signed(struct pending *p, struct rb_err *err)
{
    struct rb_aws_client *c = p->client;
    const int64_t unix_us = c->loop->unix_us(c->loop->ctx) + c->skew_us;
    refresh_if_due(c, unix_us);
    char amz_date[17];
    format_amz_date(unix_us, amz_date);
    struct rb_sigv4_header headers[MAX_SIGNED];
    const int n = signed_headers(p, amz_date, headers);

    struct rb_buf lines[MAX_SIGNED + 1] = {0};
    const char *texts[MAX_SIGNED + 1];
    for (int i = 0; i < n; i++)
        rb_buf_printf(&lines[i], "%s: %s", headers[i].name, headers[i].value);
    authorization(p, headers, n, amz_date, &lines[n]);
    for (int i = 0; i <= n; i++)
        texts[i] = lines[i].data;
    const struct rb_http_request request = {
        .method = "POST",
        .url = c->endpoint,
        .headers = texts,
        .n_headers = n + 1,
        .body = p->call.body.data,
        .body_len = p->call.body.len,
    };
    const bool ok = rb_http_send(c->http, &request, on_response, p, err);
    for (int i = 0; i <= n; i++) {
        explicit_bzero(lines[i].data, lines[i].len);
        rb_buf_finish(&lines[i]);
    }
    return ok;
}

static void try_now(void *arg)
{
    struct pending *p = arg;
    p->timer = 0;
    p->n_tries++;
    if (!send_signed(p, &p->err))
        give_up(p);
}

void rb_aws_send(struct rb_aws_client *c, struct rb_aws_call *call)
{
    wait_and(take_call(c, call), 0, try_now); // from the loop, so that done is never called from in here
}

void rb_aws_refuse(struct rb_aws_client *c, struct rb_aws_call *call, const struct rb_err *err)
{
    struct pending *p = take_call(c, call);
    p->err = *err;
    wait_and(p, 0, give_up);
}

bool rb_aws_client_is_loopback(const struct rb_aws_client *c)
{
    return rb_http_is_loopback(c->endpoint);
}

bool rb_aws_client_create(const struct rb_aws_client_config *config, struct rb_aws_client **out, struct rb_err *err)
{
    struct rb_aws_client *c = rb_xcalloc(1, sizeof *c);
    c->loop = config->loop;
    c->http = config->http;
    c->judge = config->judge;
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
    *out = c;
    return true;
}

void rb_aws_client_destroy(struct rb_aws_client *c)
{
    if (!c)
        return;
    while (c->calls) {
        struct pending *p = c->calls;
        unlink_call(p);
        if (p->timer)
            c->loop->timer_cancel(c->loop->ctx, p->timer);
        else
            rb_http_cancel(c->http, p);
        p->call.drop(p->call.arg);
        pending_destroy(p);
    }
    rb_aws_credentials_wipe(&c->credentials);
    free(c);
}
