// AWS Signature Version 4 (source: AWS General Reference, "Signature Version 4 signing process"). Used by the EC2 client
// to sign and by the mock cloud to verify.
#ifndef RB_PROVIDERS_SIGV4_H
#define RB_PROVIDERS_SIGV4_H

#include "base/text/buf.h"

#include <stddef.h>
#include <stdint.h>

struct rb_sigv4_header { const char *name, *value; }; // any case, untrimmed; sorted and normalised here

struct rb_sigv4_request {
    const char *method, *path;         // path as sent, already percent-encoded
    const char *query;                 // canonical query string, "" if none
    const struct rb_sigv4_header *headers; // those to be signed
    int n_headers;
    const void *body;
    size_t body_len;
    const char *amz_date;              // 20150830T123600Z
    const char *region, *service;
};

// Hex signature. Optionally the canonical request's sha256 for tests (may be NULL).
void rb_sigv4_signature(const struct rb_sigv4_request *r, const char *secret_key, char out_hex[65],
                        char out_canonical_sha256[65]);
// "AWS4-HMAC-SHA256 Credential=..., SignedHeaders=..., Signature=..."
void rb_sigv4_authorization(const struct rb_sigv4_request *r, const char *access_key, const char *secret_key,
                            struct rb_buf *out);

#endif
