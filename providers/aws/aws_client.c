// Date and signature are of the moment of each try; the peer's clock is believed over ours once it complains.
#include "providers/aws/aws_client.h"

#include "base/arena.h"
#include "base/errors/log.h"
#include "base/text/units.h"
#include "providers/aws/aws_endpoint.h"
#include "providers/aws/aws_session.h"
#include "providers/aws/aws_sign.h"
#include "providers/wire/http.h"

#include <stdio.h>
#include <stdlib.h>

struct rb_aws_client {
    const struct rb_loop *loop;
    struct rb_api *api;
    char service[32], region[64], endpoint[512], target_prefix[64];
    struct rb_aws_session *session;
    int64_t skew_us; // the peer's clock minus ours, once it complained
};

// The peer reports our time or our credentials as stale.
static bool renew(void *authority, const struct rb_http_response *response, struct rb_err *err)
{
    struct rb_aws_client *c = authority;
    const int64_t peer_us = rb_http_date_us(response);
    (void)err;
    if (peer_us >= 0)
        c->skew_us = peer_us - c->loop->unix_us(c->loop->ctx);
    rb_aws_session_forget(c->session);
    return true;
}

static void with_credentials(void *arg, const struct rb_aws_credentials *credentials, const struct rb_err *err)
{
    struct rb_api_try *t = arg;
    const struct rb_aws_client *c = rb_api_authority_of(t);
    if (err) {
        rb_api_cannot_transmit(t, err);
        return;
    }
    const struct rb_aws_signing signing = {
        .service = c->service,
        .region = c->region,
        .endpoint = c->endpoint,
        .target_prefix = c->target_prefix[0] ? c->target_prefix : NULL,
        .unix_us = c->loop->unix_us(c->loop->ctx) + c->skew_us,
    };
    rb_aws_sign(&signing, credentials, t);
}

static void authorise(void *authority, struct rb_api_try *t)
{
    struct rb_aws_client *c = authority;
    rb_aws_session_get(c->session, with_credentials, t);
}

void rb_aws_send(struct rb_aws_client *c, struct rb_api_call *call)
{
    call->method = "POST";
    call->content_type =
        c->target_prefix[0] ? "application/x-amz-json-1.1" : "application/x-www-form-urlencoded; charset=utf-8";
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

int64_t rb_aws_client_ends_us(const struct rb_aws_client *c)
{
    return rb_aws_session_ends_us(c->session);
}

int64_t rb_aws_client_clock_us(const struct rb_aws_client *c)
{
    return rb_api_clock_us(c->api);
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
    const struct rb_aws_session_config session = {
        .loop = config->loop,
        .http = config->http,
        .region = config->region,
        .loopback_only = config->loopback_only,
    };
    c->loop = config->loop;
    snprintf(c->service, sizeof c->service, "%s", config->service);
    snprintf(c->region, sizeof c->region, "%s", config->region);
    snprintf(c->target_prefix, sizeof c->target_prefix, "%s", config->target_prefix ? config->target_prefix : "");
    if (!rb_aws_endpoint(config->service, config->region, config->loopback_only, c->endpoint, sizeof c->endpoint,
                         err) ||
        !rb_aws_session_create(&session, &c->session, err)) {
        rb_aws_client_destroy(c);
        return false;
    }
    rb_trace("provider", "%s in %s: %s, credentials from %s", c->service, c->region, c->endpoint,
             rb_aws_session_source(c->session));
    c->api = create_api(c, config);
    *out = c;
    return true;
}

// The calls go first: those that wait for credentials are known to both.
void rb_aws_client_destroy(struct rb_aws_client *c)
{
    if (!c)
        return;
    rb_api_destroy(c->api);
    rb_aws_session_destroy(c->session);
    free(c);
}
