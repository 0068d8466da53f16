// One HTTP request and its answer, as values: what the fronts see of HTTP. server.c fills and sends them.
#ifndef RB_PROVIDERS_MOCK_EXCHANGE_H
#define RB_PROVIDERS_MOCK_EXCHANGE_H

#include "base/buf.h"
#include "providers/sigv4.h"

struct rb_exchange_request {
    const char *method;                    // "GET", "POST"
    const char *path;                      // as sent, percent-encoded
    const char *query;                     // as sent, without "?"; "" if none
    const struct rb_sigv4_header *headers; // as sent, [n_headers]
    int n_headers;
    const char *body;                      // NUL-terminated, [body_len]
    size_t body_len;
};

struct rb_exchange_answer {
    int status;
    const char *content_type; // static
    struct rb_buf body;       // the caller's
};

// Value of a header, any case; NULL: absent.
const char *rb_exchange_header(const struct rb_exchange_request *r, const char *name);

#endif
