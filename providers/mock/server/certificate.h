// Makes a certificate for 127.0.0.1 and localhost that signs itself, for a day. kubectl sends no token without TLS.
#ifndef RB_PROVIDERS_MOCK_CERTIFICATE_H
#define RB_PROVIDERS_MOCK_CERTIFICATE_H

#include "base/arena.h"
#include "base/errors/err.h"

struct rb_mock_certificate {
    const char *key, *certificate; // PEM, in the arena
};

bool rb_mock_certificate_make(struct rb_arena *arena, struct rb_mock_certificate *out, struct rb_err *err);
// Text as base64 in one line, as kubeconfigs have it; in the arena.
const char *rb_mock_certificate_base64(const char *text, struct rb_arena *arena);

#endif
