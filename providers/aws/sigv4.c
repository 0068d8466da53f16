// The three steps of Signature Version 4: canonical request, string to sign, signature. One code for client and mock.
#include "providers/aws/sigv4.h"

#include "base/arena.h"
#include "providers/wire/digest.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { DATE_LEN = 8 }; // the YYYYMMDD at the start of x-amz-date

static int by_name(const void *a, const void *b)
{
    const struct rb_sigv4_header *const *x = a, *const *y = b;
    const int order = strcasecmp((*x)->name, (*y)->name);
    if (order != 0)
        return order;
    return (*x > *y) - (*x < *y); // same name: as given, which qsort alone does not promise
}

static const struct rb_sigv4_header **sorted_headers(const struct rb_sigv4_request *r)
{
    const struct rb_sigv4_header **sorted = rb_xcalloc((size_t)r->n_headers + 1, sizeof *sorted);
    for (int i = 0; i < r->n_headers; i++)
        sorted[i] = &r->headers[i];
    qsort(sorted, (size_t)r->n_headers, sizeof *sorted, by_name);
    return sorted;
}

// Not tolower: the answer must not depend on the locale.
static void append_lower(struct rb_buf *out, const char *s)
{
    for (; *s; s++)
        rb_buf_putc(out, *s >= 'A' && *s <= 'Z' ? (char)(*s - 'A' + 'a') : *s);
}

// Trimmed at both ends, every run of blanks inside is one space.
static void append_value(struct rb_buf *out, const char *s)
{
    bool gap = false, any = false;
    for (; *s; s++) {
        if (*s == ' ' || *s == '\t') {
            gap = any;
            continue;
        }
        if (gap)
            rb_buf_putc(out, ' ');
        rb_buf_putc(out, *s);
        gap = false;
        any = true;
    }
}

// "name:value\n" for each header; values of one name are joined by commas.
static void append_headers(struct rb_buf *out, const struct rb_sigv4_header *const *sorted, int n)
{
    for (int i = 0; i < n; i++) {
        if (i > 0 && strcasecmp(sorted[i]->name, sorted[i - 1]->name) == 0) {
            rb_buf_putc(out, ',');
        } else {
            if (i > 0)
                rb_buf_putc(out, '\n');
            append_lower(out, sorted[i]->name);
            rb_buf_putc(out, ':');
        }
        append_value(out, sorted[i]->value);
    }
    if (n > 0)
        rb_buf_putc(out, '\n');
}

static void append_signed_names(struct rb_buf *out, const struct rb_sigv4_header *const *sorted, int n)
{
    for (int i = 0; i < n; i++) {
        if (i > 0 && strcasecmp(sorted[i]->name, sorted[i - 1]->name) == 0)
            continue;
        if (i > 0)
            rb_buf_putc(out, ';');
        append_lower(out, sorted[i]->name);
    }
}

static void canonical_sha256(const struct rb_sigv4_request *r, char out_hex[65])
{
    RB_AUTO(rb_auto_free) const struct rb_sigv4_header **sorted = sorted_headers(r);
    RB_AUTO(rb_buf_finish) struct rb_buf canonical = RB_BUF_INIT;
    rb_buf_printf(&canonical, "%s\n%s\n%s\n", r->method, r->path, r->query);
    append_headers(&canonical, sorted, r->n_headers);
    rb_buf_putc(&canonical, '\n');
    append_signed_names(&canonical, sorted, r->n_headers);
    char body_hex[65];
    rb_digest_sha256(r->body, r->body_len, body_hex);
    rb_buf_printf(&canonical, "\n%s", body_hex);
    rb_digest_sha256(canonical.data, canonical.len, out_hex);
}

static void append_scope(const struct rb_sigv4_request *r, struct rb_buf *out)
{
    rb_buf_append(out, r->amz_date, DATE_LEN);
    rb_buf_printf(out, "/%s/%s/aws4_request", r->region, r->service);
}

static void signing_key(const struct rb_sigv4_request *r, const char *secret_key, uint8_t out[32])
{
    RB_AUTO(rb_buf_finish) struct rb_buf seed = RB_BUF_INIT;
    rb_buf_printf(&seed, "AWS4%s", secret_key);
    rb_digest_hmac_sha256(seed.data, seed.len, r->amz_date, DATE_LEN, out);
    rb_digest_hmac_sha256(out, 32, r->region, strlen(r->region), out);
    rb_digest_hmac_sha256(out, 32, r->service, strlen(r->service), out);
    rb_digest_hmac_sha256(out, 32, "aws4_request", strlen("aws4_request"), out);
    explicit_bzero(seed.data, seed.len);
}

void rb_sigv4_signature(const struct rb_sigv4_request *r, const char *secret_key, char out_hex[65],
                        char out_canonical_sha256[65])
{
    assert(strlen(r->amz_date) > DATE_LEN);
    char canonical_hex[65];
    canonical_sha256(r, canonical_hex);
    RB_AUTO(rb_buf_finish) struct rb_buf to_sign = RB_BUF_INIT;
    rb_buf_printf(&to_sign, "AWS4-HMAC-SHA256\n%s\n", r->amz_date);
    append_scope(r, &to_sign);
    rb_buf_printf(&to_sign, "\n%s", canonical_hex);

    uint8_t key[32], mac[32];
    signing_key(r, secret_key, key);
    rb_digest_hmac_sha256(key, sizeof key, to_sign.data, to_sign.len, mac);
    rb_digest_hex(mac, sizeof mac, out_hex);
    explicit_bzero(key, sizeof key);
    if (out_canonical_sha256)
        memcpy(out_canonical_sha256, canonical_hex, sizeof canonical_hex);
}

void rb_sigv4_authorization(const struct rb_sigv4_request *r, const char *access_key, const char *secret_key,
                            struct rb_buf *out)
{
    RB_AUTO(rb_auto_free) const struct rb_sigv4_header **sorted = sorted_headers(r);
    char signature[65];
    rb_sigv4_signature(r, secret_key, signature, NULL);
    rb_buf_printf(out, "AWS4-HMAC-SHA256 Credential=%s/", access_key);
    append_scope(r, out);
    rb_buf_puts(out, ", SignedHeaders=");
    append_signed_names(out, sorted, r->n_headers);
    rb_buf_printf(out, ", Signature=%s", signature);
}
