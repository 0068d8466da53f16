// Verifies Signature Version 4, in the Authorization header or in the query string.
// Source: AWS General Reference, "Signature Version 4 signing process"; error codes as EC2 gives them.
#ifndef RB_PROVIDERS_MOCK_EC2_AUTH_H
#define RB_PROVIDERS_MOCK_EC2_AUTH_H

#include "base/arena.h"
#include "providers/mock/cloud/exchange.h"
#include "providers/mock/server/mock_keys.h"

#include <stdarg.h>
#include <stdint.h>

struct rb_mock_refusal {
    int status;
    const char *code;
    char message[256];
};
void rb_mock_set_refusal(struct rb_mock_refusal *out, int status, const char *code, const char *fmt, va_list ap)
    __attribute__((format(printf, 4, 0)));

// Verifies the request against clock_us (the caller may try more than one clock). service: what the signature must be
// scoped to ("ec2"). On success *out_region is the region of the credential's scope, in the arena. false: *out says
// why.
bool rb_mock_ec2_authenticate(const struct rb_mock_keys *keys, const struct rb_exchange_request *request,
                              const char *service, const int64_t *clocks_us, int n_clocks, struct rb_arena *arena,
                              const char **out_region, struct rb_mock_refusal *out);

#endif
