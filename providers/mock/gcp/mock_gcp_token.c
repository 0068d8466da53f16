// An assertion is HEADER.CLAIMS.SIGNATURE, each base64url; RFC 7515 knows no padding, Google's own older libraries send
// it.
#include "providers/mock/gcp/mock_gcp_token.h"
#include "base/document/doc.h"
#include "base/document/json.h"
#include "providers/mock/ec2/mock_ec2_form.h"
#include "providers/wire/digest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PUBLIC_AUDIENCE "https://oauth2.googleapis.com/token" // what Google's own libraries always sign for
#define JWT_GRANT       "urn:ietf:params:oauth:grant-type:jwt-bearer"
#define MAX_LIFE_S      3600
#define SKEW_S          60

void rb_mock_gcp_tokens_finish(struct rb_mock_gcp_tokens *t)
{
    free(t->list);
}

// --- answers ---

static void refuse(struct rb_exchange_answer *out, int status, const char *error, const char *description)
{
    struct rb_json j;
    rb_json_init(&j, &out->body, false);
    rb_json_put(&j, "{error: %s, error_description: %s}", error, description);
    out->status = status;
}

void rb_mock_gcp_token_grant(struct rb_mock_gcp_tokens *t, int64_t unix_us, struct rb_exchange_answer *out)
{
    struct rb_json j;
    int64_t life_us = rb_cloud_config_of(t->cloud)->token_lifetime_us;
    if (t->n == t->cap) {
        t->cap = t->cap ? 2 * t->cap : 16;
        t->list = rb_xrealloc(t->list, (size_t)t->cap, sizeof *t->list);
    }
    struct rb_mock_gcp_token *token = &t->list[t->n++];
    unsigned char bytes[16];
    char digits[2 * sizeof bytes + 1];
    rb_random_bytes(bytes, sizeof bytes); // not from the seed, from which it could be guessed
    rb_digest_hex(bytes, sizeof bytes, digits);
    snprintf(token->text, sizeof token->text, "ya29.%s", digits);
    token->expires_us = unix_us + life_us;
    rb_json_init(&j, &out->body, false);
    rb_json_put(&j, "{access_token: %s, expires_in: %jd, token_type: 'Bearer'}", token->text, life_us / RB_US_PER_S);
    out->status = 200;
}

// --- assertions ---

struct claims {
    const char *iss, *aud, *scope;
    int64_t iat, exp;
};

static bool need_string(struct rb_map *m, const char *key, struct rb_arena *arena, const char **out)
{
    const struct rb_node *node;
    const char *text;
    if (!rb_map_need(m, key, &node, NULL) || !rb_node_string(node, &text, NULL))
        return false;
    *out = rb_arena_strdup(arena, text);
    return true;
}

static bool need_int(struct rb_map *m, const char *key, int64_t *out)
{
    const struct rb_node *node;
    return rb_map_need(m, key, &node, NULL) && rb_node_int(node, 0, INT64_C(1) << 40, out, NULL);
}

static bool read_claims(const char *text, size_t n, struct rb_arena *arena, struct claims *out)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    struct rb_map m;
    const char *subject;
    return rb_doc_parse_json(&doc, "claims", text, n, NULL) &&
           (rb_map_begin(&m, doc.root, NULL) && need_string(&m, "iss", arena, &out->iss) &&
            need_string(&m, "aud", arena, &out->aud) && need_string(&m, "scope", arena, &out->scope) &&
            need_int(&m, "iat", &out->iat) && need_int(&m, "exp", &out->exp) &&
            (!rb_map_get(&m, "sub") || need_string(&m, "sub", arena, &subject)) && rb_map_end(&m, NULL));
}

static bool check_header(const struct rb_mock_gcp_account *a, const char *text, size_t n, struct rb_arena *arena)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    struct rb_map m;
    const char *alg, *typ, *kid = NULL;
    return rb_doc_parse_json(&doc, "header", text, n, NULL) &&
           (rb_map_begin(&m, doc.root, NULL) && need_string(&m, "alg", arena, &alg) && strcmp(alg, "RS256") == 0 &&
            (!rb_map_get(&m, "typ") || (need_string(&m, "typ", arena, &typ) && strcmp(typ, "JWT") == 0)) &&
            (!rb_map_get(&m, "kid") || need_string(&m, "kid", arena, &kid)) && rb_map_end(&m, NULL) &&
            (!kid || strcmp(kid, rb_mock_gcp_account_key_id(a)) == 0));
}

static bool is_audience(const char *aud, const struct rb_exchange_request *r)
{
    char here[256];
    const char *host = rb_exchange_header(r, "Host");
    snprintf(here, sizeof here, "http://%.200s/token", host ? host : "");
    return strcmp(aud, PUBLIC_AUDIENCE) == 0 || strcmp(aud, here) == 0;
}

static bool opens_compute(const char *scope)
{
    return strstr(scope, "https://www.googleapis.com/auth/cloud-platform") ||
           strstr(scope, "https://www.googleapis.com/auth/compute");
}

// NULL: the claims are valid; else the sentence of Google's endpoint.
static const char *judge_claims(const struct rb_mock_gcp_account *a, const struct claims *c,
                                const struct rb_exchange_request *r, int64_t unix_us)
{
    int64_t now_s = unix_us / RB_US_PER_S;
    if (strcmp(c->iss, rb_mock_gcp_account_email(a)) != 0)
        return "Invalid issuer: Not a valid email or user ID.";
    if (!is_audience(c->aud, r))
        return "Invalid JWT: Failed audience check.";
    if (c->iat > now_s + SKEW_S || c->exp <= now_s - SKEW_S || c->exp > c->iat + MAX_LIFE_S)
        return "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. Check your "
               "iat and exp values in the JWT claim.";
    return opens_compute(c->scope) ? NULL : "Invalid OAuth scope or ID token audience provided.";
}

static const char *judge_assertion(const struct rb_mock_gcp_account *a, const char *text,
                                   const struct rb_exchange_request *r, int64_t unix_us, struct rb_arena *arena)
{
    const char *dot = strchr(text, '.'), *last = strrchr(text, '.');
    size_t n_header, n_claims, n_signature;
    struct claims claims;
    if (!dot || last == dot)
        return "Bad Request";
    const char *header = rb_base64url_decode(text, (size_t)(dot - text), arena, &n_header);
    const char *body = rb_base64url_decode(dot + 1, (size_t)(last - dot - 1), arena, &n_claims);
    const char *signature = rb_base64url_decode(last + 1, strlen(last + 1), arena, &n_signature);
    if (!header || !body || !signature || !check_header(a, header, n_header, arena) ||
        !rb_mock_gcp_account_verify(a, text, (size_t)(last - text), signature, n_signature))
        return "Invalid JWT Signature.";
    if (!read_claims(body, n_claims, arena, &claims))
        return "Invalid JWT: a claim is missing, unknown or of the wrong type.";
    return judge_claims(a, &claims, r, unix_us);
}

// --- the endpoint ---

static bool is_word(struct rb_form *form, const char *name, const char *word)
{
    const char *text = rb_form_get(form, "%s", name);
    return text && strcmp(text, word) == 0;
}

static void trade_refresh_token(struct rb_mock_gcp_tokens *t, struct rb_form *form, int64_t unix_us,
                                struct rb_exchange_answer *out)
{
    bool holds = t->fixed && is_word(form, "refresh_token", t->fixed);
    holds &= is_word(form, "client_id", "test");
    holds &= is_word(form, "client_secret", "test");
    if (!holds || rb_form_first_unasked(form))
        refuse(out, 400, "invalid_grant", "Token has been expired or revoked.");
    else
        rb_mock_gcp_token_grant(t, unix_us, out);
}

void rb_mock_gcp_token_answer(struct rb_mock_gcp_tokens *t, const struct rb_exchange_request *r, int64_t unix_us,
                              struct rb_arena *arena, struct rb_exchange_answer *out)
{
    struct rb_form form = {0};
    const char *bad;
    out->content_type = "application/json; charset=utf-8";
    if (strcmp(r->method, "POST") != 0 || !rb_form_decode(&form, r->body, r->body_len, arena, &bad)) {
        refuse(out, 400, "invalid_request", "expected POST with a form");
    } else if (is_word(&form, "grant_type", "refresh_token")) {
        trade_refresh_token(t, &form, unix_us, out);
    } else if (!is_word(&form, "grant_type", JWT_GRANT)) {
        refuse(out, 400, "unsupported_grant_type", "Invalid grant_type");
    } else {
        const char *assertion = rb_form_get(&form, "assertion");
        const char *why = !t->account ? "This rbmock was started without a service account."
                          : !assertion || rb_form_first_unasked(&form)
                              ? "Bad Request"
                              : judge_assertion(t->account, assertion, r, unix_us, arena);
        if (why)
            refuse(out, 400, "invalid_grant", why);
        else
            rb_mock_gcp_token_grant(t, unix_us, out);
    }
}

bool rb_mock_gcp_token_check(const struct rb_mock_gcp_tokens *t, const struct rb_exchange_request *r, int64_t unix_us,
                             const char **out_why)
{
    const char *header = rb_exchange_header(r, "Authorization");
    *out_why = "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other "
               "valid authentication credential.";
    if (!header || strncmp(header, "Bearer ", 7) != 0)
        return false;
    if (t->fixed && strcmp(header + 7, t->fixed) == 0)
        return true;
    for (int k = 0; k < t->n; k++)
        if (strcmp(t->list[k].text, header + 7) == 0)
            return unix_us < t->list[k].expires_us;
    return false;
}
