// Recomputes the signature from what arrived and compares. Stricter than EC2 in one point: a body digest that
// the client sends along (x-amz-content-sha256) must be true.
#include "providers/mock/ec2/mock_ec2_auth.h"
#include "providers/wire/digest.h"
#include "providers/wire/percent.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define MAX_SKEW_US (15 * 60 * INT64_C(1000000))
#define MAX_HEADERS 64

// The parts of a signed request's signature.
struct claim {
    const char *access_key, *date, *region, *service; // credential scope
    const char *amz_date, *signed_headers, *signature;
    const char *canonical_query;
};

void rb_mock_set_refusal(struct rb_mock_refusal *out, int status, const char *code, const char *fmt, va_list ap)
{
    out->status = status;
    out->code = code;
    vsnprintf(out->message, sizeof out->message, fmt, ap);
}

static bool refuse(struct rb_mock_refusal *out, int status, const char *code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
static bool refuse(struct rb_mock_refusal *out, int status, const char *code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    rb_mock_set_refusal(out, status, code, fmt, ap);
    va_end(ap);
    return false;
}

// AKID/20150830/us-east-1/ec2/aws4_request
static bool split_credential(const char *credential, struct rb_arena *arena, struct claim *c)
{
    char *save, *text = rb_arena_strdup(arena, credential);
    c->access_key = strtok_r(text, "/", &save);
    c->date = strtok_r(NULL, "/", &save);
    c->region = strtok_r(NULL, "/", &save);
    c->service = strtok_r(NULL, "/", &save);
    const char *end = strtok_r(NULL, "/", &save);
    return end && strcmp(end, "aws4_request") == 0 && !strtok_r(NULL, "/", &save);
}

static bool read_header_claim(const char *authorization, const struct rb_exchange_request *r, struct rb_arena *arena,
                              struct claim *c)
{
    static const char algorithm[] = "AWS4-HMAC-SHA256 ";
    const char *credential = NULL;
    if (strncmp(authorization, algorithm, sizeof algorithm - 1) != 0)
        return false;
    char *save, *text = rb_arena_strdup(arena, authorization + sizeof algorithm - 1);
    for (char *part = strtok_r(text, ", ", &save); part; part = strtok_r(NULL, ", ", &save)) {
        char *equals = strchr(part, '=');
        if (!equals)
            return false;
        *equals = '\0';
        if (strcmp(part, "Credential") == 0)
            credential = equals + 1;
        else if (strcmp(part, "SignedHeaders") == 0)
            c->signed_headers = equals + 1;
        else if (strcmp(part, "Signature") == 0)
            c->signature = equals + 1;
    }
    c->amz_date = rb_exchange_header(r, "x-amz-date");
    return credential && c->signed_headers && c->signature && c->amz_date && split_credential(credential, arena, c);
}

// --- the query string, as the canonical request wants it ---

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int unhex(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

// Percent-encodes afresh what may have been encoded otherwise (lower-case hex, "+", bare bytes). NULL: not
// decodable.
static const char *recode(const char *text, size_t n, struct rb_arena *arena)
{
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    for (size_t i = 0; i < n; i++) {
        char c = text[i];
        if (c == '%') {
            if (n - i < 3 || unhex(text[i + 1]) < 0 || unhex(text[i + 2]) < 0)
                return NULL;
            c = (char)(unhex(text[i + 1]) * 16 + unhex(text[i + 2]));
            i += 2;
        } else if (c == '+') {
            c = ' ';
        }
        rb_percent_encode(&c, 1, &out);
    }
    return rb_arena_strdup(arena, rb_buf_str(&out));
}

// Sorted `name=value` pairs, without X-Amz-Signature. NULL: not decodable.
static const char *canonical_query(const char *query, struct rb_arena *arena)
{
    size_t len = strlen(query);
    int n = 0;
    const char **pairs = rb_arena_array(arena, len + 1, sizeof *pairs);
    for (const char *at = query; *at;) {
        size_t piece = strcspn(at, "&");
        size_t name = strcspn(at, "=&");
        if (piece > 0 && strncmp(at, "X-Amz-Signature=", 16) != 0) {
            const char *key = recode(at, name, arena);
            const char *value = name < piece ? recode(at + name + 1, piece - name - 1, arena) : "";
            if (!key || !value)
                return NULL;
            pairs[n++] = rb_arena_printf(arena, "%s=%s", key, value);
        }
        at += piece + (at[piece] == '&');
    }
    qsort(pairs, (size_t)n, sizeof *pairs, by_text);
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    for (int i = 0; i < n; i++)
        rb_buf_printf(&out, "%s%s", i ? "&" : "", pairs[i]);
    return rb_arena_strdup(arena, rb_buf_str(&out));
}

// Decoded value of a query parameter whose name needs no decoding; NULL: absent.
static const char *query_value(const char *query, const char *name, struct rb_arena *arena)
{
    for (const char *at = query; *at;) {
        size_t piece = strcspn(at, "&"), len = strlen(name);
        if (piece > len && strncmp(at, name, len) == 0 && at[len] == '=') {
            char *out = rb_arena_alloc(arena, piece + 1), *end = out;
            for (size_t i = len + 1; i < piece; i++) {
                bool escape = at[i] == '%' && piece - i >= 3 && unhex(at[i + 1]) >= 0 && unhex(at[i + 2]) >= 0;
                *end++ = escape ? (char)(unhex(at[i + 1]) * 16 + unhex(at[i + 2])) : at[i];
                i += escape ? 2 : 0;
            }
            return out;
        }
        at += piece + (at[piece] == '&');
    }
    return NULL;
}

static bool read_query_claim(const struct rb_exchange_request *r, struct rb_arena *arena, struct claim *c)
{
    const char *algorithm = query_value(r->query, "X-Amz-Algorithm", arena);
    const char *credential = query_value(r->query, "X-Amz-Credential", arena);
    c->amz_date = query_value(r->query, "X-Amz-Date", arena);
    c->signed_headers = query_value(r->query, "X-Amz-SignedHeaders", arena);
    c->signature = query_value(r->query, "X-Amz-Signature", arena);
    return algorithm && strcmp(algorithm, "AWS4-HMAC-SHA256") == 0 && credential && c->amz_date && c->signed_headers &&
           c->signature && split_credential(credential, arena, c);
}

// --- verification ---

// 20150830T123600Z
static bool parse_amz_date(const char *text, int64_t *out_us)
{
    struct tm tm = {0};
    const char *end = strptime(text, "%Y%m%dT%H%M%SZ", &tm);
    if (!end || *end || strlen(text) != 16)
        return false;
    *out_us = (int64_t)timegm(&tm) * 1000000;
    return true;
}

static bool check_date(const struct claim *c, const int64_t *clocks_us, int n_clocks, struct rb_mock_refusal *out)
{
    int64_t signed_us;
    if (!parse_amz_date(c->amz_date, &signed_us))
        return refuse(out, 400, "IncompleteSignature", "Date must be in ISO-8601 'basic format'. Got '%.32s'",
                      c->amz_date);
    if (strncmp(c->amz_date, c->date, 8) != 0 || strlen(c->date) != 8)
        return refuse(out, 403, "SignatureDoesNotMatch",
                      "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP");
    for (int i = 0; i < n_clocks; i++)
        if (llabs(clocks_us[i] - signed_us) <= MAX_SKEW_US)
            return true;
    return refuse(out, 400, "RequestExpired",
                  "Request has expired: it was signed more than 15 minutes away from the "
                  "time of this cloud");
}

// The headers named in SignedHeaders, as they arrived. -1: one of them did not.
static int signed_headers(const struct claim *c, const struct rb_exchange_request *r, struct rb_arena *arena,
                          struct rb_sigv4_header *out, bool *out_has_host)
{
    int n = 0;
    char *save, *text = rb_arena_strdup(arena, c->signed_headers);
    *out_has_host = false;
    for (char *name = strtok_r(text, ";", &save); name; name = strtok_r(NULL, ";", &save)) {
        const char *value = rb_exchange_header(r, name);
        if (!value || n == MAX_HEADERS)
            return -1;
        *out_has_host |= strcasecmp(name, "host") == 0;
        out[n++] = (struct rb_sigv4_header){name, value};
    }
    return n;
}

static bool check_body_digest(const struct rb_exchange_request *r, struct rb_mock_refusal *out)
{
    char digest[65];
    const char *claimed = rb_exchange_header(r, "x-amz-content-sha256");
    rb_digest_sha256(r->body, r->body_len, digest);
    if (!claimed || strcmp(claimed, digest) == 0)
        return true;
    return refuse(out, 403, "SignatureDoesNotMatch", "x-amz-content-sha256 is not the digest of the body");
}

static bool equal_in_constant_time(const char *a, const char *b)
{
    unsigned char difference = strlen(a) != strlen(b);
    for (size_t i = 0; !difference && a[i]; i++)
        difference |= (unsigned char)(a[i] ^ b[i]);
    return !difference;
}

static bool check_signature(const struct rb_mock_key *key, const struct claim *c, const struct rb_exchange_request *r,
                            struct rb_arena *arena, struct rb_mock_refusal *out)
{
    struct rb_sigv4_header headers[MAX_HEADERS];
    bool has_host;
    char expected[65];
    int n = signed_headers(c, r, arena, headers, &has_host);
    if (n < 0 || !has_host)
        return refuse(out, 403, "SignatureDoesNotMatch",
                      "SignedHeaders must name host, and only headers that were sent");
    rb_sigv4_signature(&(struct rb_sigv4_request){.method = r->method,
                                                  .path = r->path,
                                                  .query = c->canonical_query,
                                                  .headers = headers,
                                                  .n_headers = n,
                                                  .body = r->body,
                                                  .body_len = r->body_len,
                                                  .amz_date = c->amz_date,
                                                  .region = c->region,
                                                  .service = c->service},
                       key->secret_key, expected, NULL);
    if (!equal_in_constant_time(expected, c->signature))
        return refuse(out, 403, "SignatureDoesNotMatch",
                      "The request signature we calculated does not match the signature you provided. Check your AWS "
                      "Secret Access Key and signing method.");
    return true;
}

bool rb_mock_ec2_authenticate(const struct rb_mock_keys *keys, const struct rb_exchange_request *r, const char *service,
                              const int64_t *clocks_us, int n_clocks, struct rb_arena *arena, const char **out_region,
                              struct rb_mock_refusal *out)
{
    struct claim c = {0};
    const struct rb_mock_key *key = NULL;
    const char *authorization = rb_exchange_header(r, "authorization");
    bool in_query = !authorization && strstr(r->query, "X-Amz-Signature=");
    if (!authorization && !in_query)
        return refuse(out, 403, "MissingAuthenticationToken",
                      "Request is missing Authentication Token: sign it with "
                      "Signature Version 4");
    if (!(in_query ? read_query_claim(r, arena, &c) : read_header_claim(authorization, r, arena, &c)))
        return refuse(out, 400, "IncompleteSignature",
                      "expected AWS4-HMAC-SHA256 with Credential, SignedHeaders and Signature, and X-Amz-Date");
    if (!(c.canonical_query = canonical_query(r->query, arena)))
        return refuse(out, 400, "MalformedQueryString", "The query string contains a broken percent escape");
    for (int i = 0; i < keys->n; i++)
        if (strcmp(keys->keys[i].access_key, c.access_key) == 0)
            key = &keys->keys[i];
    if (!key)
        return refuse(out, 401, "AuthFailure", "AWS was not able to validate the provided access credentials");
    if (strcmp(c.service, service) != 0)
        return refuse(out, 403, "SignatureDoesNotMatch", "Credential should be scoped to correct service: '%s'",
                      service);
    if (!check_date(&c, clocks_us, n_clocks, out) || !check_body_digest(r, out) ||
        !check_signature(key, &c, r, arena, out))
        return false;
    *out_region = c.region;
    return true;
}
