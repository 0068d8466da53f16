// Signs the assertion with which a service account requests a token: a JSON Web Token (RS256).
#ifndef RB_PROVIDERS_GOOGLE_JWT_H
#define RB_PROVIDERS_GOOGLE_JWT_H

#include "base/text/buf.h"
#include "base/errors/err.h"

#include <stdint.h>

struct rb_google_jwt {
    const char *private_key; // PEM, RSA, not encrypted
    const char *key_id;      // "": none
    const char *email, *scope;
    int64_t unix_us;         // now; good for an hour
};

// Appends "header.claims.signature". Errors: DENIED, a key that cannot sign.
// Source: RFC 7519, RFC 7523; claims as Google documents them for "server to server" OAuth 2.0.
bool rb_google_jwt_sign(const struct rb_google_jwt *jwt, struct rb_buf *out, struct rb_err *err);

#endif
