// Recomputes the signature from what arrived and compares. Stricter than EC2 in one point: a body digest that
// the client sends along (x-amz-content-sha256) must be true.
#include "providers/mock/ec2/mock_ec2_auth.h"
#include "providers/mock/ec2/mock_ec2_form.h"
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

// Sorted `name=value` pairs, without X-Amz-Signature; encoded again, as they may have come otherwise (lower-case hex, "+",
// bare bytes).
static const char *canonical_query(const struct rb_form *query, struct rb_arena *arena)
{
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    const char **pairs = rb_arena_array(arena, (size_t)query->n + 1, sizeof *pairs);
    int n = 0;
    for (int i = 0; i < query->n; i++) {
        const struct rb_form_field *f = &query->fields[i];
        if (strcmp(f->name, "X-Amz-Signature") == 0)
            continue;
        rb_buf_clear(&out);
        rb_percent_put(&out, "%s=%s", f->name, f->value);
        pairs[n++] = rb_arena_strdup(arena, rb_buf_str(&out));
    }
    qsort(pairs, (size_t)n, sizeof *pairs, by_text);
    rb_buf_clear(&out);
    for (int i = 0; i < n; i++)
        rb_buf_printf(&out, "%s%s", i ? "&" : "", pairs[i]);
    return rb_arena_strdup(arena, rb_buf_str(&out));
}

static bool read_query_claim(const struct rb_form *query, struct rb_arena *arena, struct claim *c)
{
    const char *algorithm = rb_form_peek(query, "X-Amz-Algorithm");
    const char *credential = rb_form_peek(query, "X-Amz-Credential");
    c->amz_date = rb_form_peek(query, "X-Amz-Date");
    c->signed_headers = rb_form_peek(query, "X-Amz-SignedHeaders");
    c->signature = rb_form_peek(query, "X-Amz-Signature");
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
    struct rb_form query = {0};
    const char *bad;
    const struct rb_mock_key *key = NULL;
    const char *authorization = rb_exchange_header(r, "authorization");
    bool in_query = !authorization && strstr(r->query, "X-Amz-Signature=");
    if (!authorization && !in_query)
        return refuse(out, 403, "MissingAuthenticationToken",
                      "Request is missing Authentication Token: sign it with "
                      "Signature Version 4");
    if (!rb_form_decode(&query, r->query, strlen(r->query), arena, &bad))
        return refuse(out, 400, "MalformedQueryString",
                      "'%.80s' is broken, not UTF-8, or names a parameter that was given before", bad);
    if (!(in_query ? read_query_claim(&query, arena, &c) : read_header_claim(authorization, r, arena, &c)))
        return refuse(out, 400, "IncompleteSignature",
                      "expected AWS4-HMAC-SHA256 with Credential, SignedHeaders and Signature, and X-Amz-Date");
    c.canonical_query = canonical_query(&query, arena);
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
