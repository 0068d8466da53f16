// Source: RFC 6749 and RFC 7523 for the token endpoint, "About VM metadata" for the service of a machine.
#include "providers/gcp/google_token.h"

#include "base/arena.h"
#include "base/errors/log.h"
#include "base/text/units.h"
#include "base/text/table.h"
#include "providers/gcp/google_credentials.h"
#include "providers/gcp/google_jwt.h"
#include "providers/wire/api_call.h"
#include "providers/wire/http.h"
#include "providers/wire/percent.h"
#include "providers/wire/private_file.h"

#include <stdlib.h>
#include <string.h>

// Compute for the machines, billing for the price list: no more than is used.
static const char scope[] = "https://www.googleapis.com/auth/compute "
                            "https://www.googleapis.com/auth/cloud-billing.readonly";
static const int64_t refresh_before_us = 225 * RB_US_PER_S; // as Google's libraries: 3 min 45 s
#define MIN_SKEW_US (60 * RB_US_PER_S)                      // less is not what an assertion is refused for
enum { TRIES = 3, MAX_TOKEN_LEN = 16384, MAX_LIFETIME_S = 86400 };

struct waiter {
    rb_google_token_fn *fn;
    void *arg;
};

struct rb_google_tokens {
    const struct rb_loop *loop;
    const struct rb_google_credentials *credentials;
    struct rb_api *api;
    char *token;                          // NULL: none
    int64_t refresh_at_us, expires_at_us; // by the monotonic clock: the wall clock may be set meanwhile
    int64_t skew_us;                      // Google's clock minus ours, once it complained
    bool skew_learnt, fetching;           // skew_learnt: from the refusal of this very question
    struct waiter *waiters;
    int n_waiters;
};

static int64_t now_us(const struct rb_google_tokens *t)
{
    return t->loop->now_us(t->loop->ctx);
}

void rb_google_token_forget(struct rb_google_tokens *t)
{
    if (t->token)
        explicit_bzero(t->token, strlen(t->token));
    free(t->token);
    t->token = NULL;
}

// --- the answer ---

static bool is_header_text(const char *s)
{
    for (; *s; s++)
        if (*s < 0x21 || *s > 0x7e)
            return false;
    return true;
}

static bool read_token(struct rb_google_tokens *t, const struct rb_node *root, struct rb_err *err)
{
    const char *token, *type;
    int64_t lifetime_s;
    if (!rb_node_string(rb_node_member(root, "access_token"), &token, err) ||
        !rb_node_string(rb_node_member(root, "token_type"), &type, err) ||
        !rb_node_int(rb_node_member(root, "expires_in"), 0, MAX_LIFETIME_S, &lifetime_s, err))
        return false;
    if (!*token || strlen(token) > MAX_TOKEN_LEN || !is_header_text(token) || strcmp(type, "Bearer") != 0)
        return rb_err_set(err, RB_E_ANSWER, "expected a bearer token in access_token");
    rb_google_token_forget(t);
    t->token = rb_xstrdup(token);
    const int64_t lifetime_us = lifetime_s * RB_US_PER_S;
    t->expires_at_us = now_us(t) + lifetime_us;
    t->refresh_at_us = t->expires_at_us - (lifetime_us / 2 < refresh_before_us ? lifetime_us / 2 : refresh_before_us);
    return true;
}

static bool decode_token(void *arg, const char *body, size_t n, struct rb_err *err)
{
    RB_AUTO(rb_private_doc_finish) struct rb_doc doc = {0};
    return rb_doc_parse_json(&doc, "answer", body, n, err) && read_token(arg, doc.root, err);
}

static bool is_transient(long status, const char *error)
{
    static const char *const transient[] = {"internal_failure", "server_error", "temporarily_unavailable"};
    return RB_ROW_OF(transient, error) || status == 408 || status >= 500;
}

// {"error": "invalid_grant", "error_description": "Invalid JWT: ..."}
static enum rb_api_reaction judge_refusal(long status, const char *body, size_t n, struct rb_err *err)
{
    RB_AUTO(rb_private_doc_finish) struct rb_doc doc = {0};
    char error[64] = "", description[400] = "";
    if (rb_doc_parse_json(&doc, "answer", body, n, NULL)) {
        const char *e = rb_node_member_text(doc.root, "error"), *d = rb_node_member_text(doc.root, "error_description");
        rb_log_sanitise(e, strlen(e), error, sizeof error);
        rb_log_sanitise(d, strlen(d), description, sizeof description);
    }
    const bool transient = is_transient(status, error);
    rb_err_set(err,
               status == 429 ? RB_E_THROTTLED
               : transient   ? RB_E_CLOUD_STATE
                             : RB_E_CREDENTIALS_UNUSABLE,
               "status %ld: %s%s%s", status, error[0] ? error : "no reason given", description[0] ? ": " : "",
               description);
    if (strcmp(error, "invalid_grant") == 0)
        return RB_API_REFRESH; // among other things: the assertion's time is not theirs
    return status == 429 ? RB_API_SLOW_DOWN : transient ? RB_API_RETRY : RB_API_FAIL;
}

// An assertion contains the time. If our clock is off, the next request is a different one: this one has no better try.
static bool learn_skew(void *authority, const struct rb_http_response *response, struct rb_err *err)
{
    struct rb_google_tokens *t = authority;
    const int64_t peer_us = rb_http_date_us(response);
    (void)err;
    if (peer_us < 0 || t->credentials->identity != RB_GOOGLE_SERVICE_ACCOUNT)
        return false;
    const int64_t skew_us = peer_us - t->loop->unix_us(t->loop->ctx), change_us = skew_us - t->skew_us;
    t->skew_learnt = change_us > MIN_SKEW_US || change_us < -MIN_SKEW_US;
    t->skew_us = skew_us;
    return false;
}

// --- the question ---

static bool put_assertion(const struct rb_google_tokens *t, struct rb_buf *out, struct rb_err *err)
{
    const struct rb_google_credentials *c = t->credentials;
    const struct rb_google_jwt jwt = {
        .private_key = c->private_key,
        .key_id = c->key_id,
        .email = c->email,
        .scope = scope,
        .unix_us = t->loop->unix_us(t->loop->ctx) + t->skew_us,
    };
    RB_AUTO(rb_buf_finish) struct rb_buf assertion = RB_BUF_INIT;
    if (!rb_google_jwt_sign(&jwt, &assertion, err))
        return false;
    rb_percent_put(out, "grant_type=%s&assertion=%s", "urn:ietf:params:oauth:grant-type:jwt-bearer", assertion.data);
    explicit_bzero(assertion.data, assertion.len);
    return true;
}

static bool ask(const struct rb_google_tokens *t, struct rb_api_call *call, struct rb_err *err)
{
    const struct rb_google_credentials *c = t->credentials;
    if (c->identity == RB_GOOGLE_METADATA) {
        call->method = "GET";
        call->flavor = "Google";
        rb_buf_puts(&call->target, "/computeMetadata/v1/instance/service-accounts/default/token");
        return true;
    }
    call->method = "POST";
    call->content_type = "application/x-www-form-urlencoded";
    if (c->identity == RB_GOOGLE_SERVICE_ACCOUNT)
        return put_assertion(t, &call->body, err);
    rb_percent_put(&call->body, "grant_type=refresh_token&client_id=%s&client_secret=%s&refresh_token=%s", c->client_id,
                   c->client_secret, c->refresh_token);
    return true;
}

// The metadata service requires this header, which a browser that was led to its address cannot send.
static void authorise(void *authority, struct rb_api_try *t)
{
    static const char *const header = "Metadata-Flavor: Google";
    const struct rb_google_tokens *tokens = authority;
    rb_api_transmit(t, &header, tokens->credentials->identity == RB_GOOGLE_METADATA);
}

// --- who waits ---

// Takes the waiters out first: what they do with the answer may make them wait for another token.
static void answer_all(struct rb_google_tokens *t, const struct rb_err *err)
{
    struct waiter *waiters = t->waiters;
    const int n = t->n_waiters;
    t->waiters = NULL;
    t->n_waiters = 0;
    t->fetching = false;
    RB_AUTO(rb_auto_free) char *token = t->token ? rb_xstrdup(t->token) : NULL;
    for (int i = 0; i < n; i++)
        waiters[i].fn(waiters[i].arg, token, token ? NULL : err);
    if (token)
        explicit_bzero(token, strlen(token));
    free(waiters);
}

static void fetch(struct rb_google_tokens *t);

// A token that is about to expire serves to its last minute while there is no other.
static void fetched(void *arg, const struct rb_err *err)
{
    struct rb_google_tokens *t = arg;
    if (err && t->skew_learnt) {
        t->skew_learnt = false;
        fetch(t);
        return;
    }
    if (err && t->token && now_us(t) >= t->expires_at_us)
        rb_google_token_forget(t);
    answer_all(t, err);
}

static void dropped(void *arg)
{
    (void)arg; // the waiters belong to calls that are dropped as well
}

static void fetch(struct rb_google_tokens *t)
{
    struct rb_err err = {0};
    struct rb_api_call call = rb_api_call_new("access token", TRIES, t, decode_token, fetched);
    t->fetching = true;
    call.drop = dropped;
    if (ask(t, &call, &err))
        rb_api_send(t->api, &call);
    else
        rb_api_refuse(t->api, &call, &err);
}

void rb_google_token_get(struct rb_google_tokens *t, rb_google_token_fn *fn, void *arg)
{
    if (t->token && now_us(t) < t->refresh_at_us) {
        fn(arg, t->token, NULL);
        return;
    }
    t->waiters = rb_xrealloc(t->waiters, (size_t)t->n_waiters + 1, sizeof *t->waiters);
    t->waiters[t->n_waiters++] = (struct waiter){fn, arg};
    if (!t->fetching)
        fetch(t);
}

struct rb_google_tokens *rb_google_tokens_create(const struct rb_loop *loop, struct rb_http *http,
                                                 const struct rb_google_credentials *credentials)
{
    struct rb_google_tokens *t = rb_xcalloc(1, sizeof *t);
    t->loop = loop;
    t->credentials = credentials;
    const struct rb_api_config api = {
        .loop = loop,
        .http = http,
        .endpoint = credentials->token_endpoint,
        .judge = judge_refusal,
        .authority = t,
        .authorise = authorise,
        .renew = learn_skew,
    };
    t->api = rb_api_create(&api);
    return t;
}

void rb_google_tokens_destroy(struct rb_google_tokens *t)
{
    if (!t)
        return;
    rb_api_destroy(t->api);
    rb_google_token_forget(t);
    free(t->waiters);
    free(t);
}
