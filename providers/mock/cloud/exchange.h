// An HTTP request and its answer as values, so that fronts do not depend on HTTP. server.c fills and sends them.
#ifndef RB_PROVIDERS_MOCK_EXCHANGE_H
#define RB_PROVIDERS_MOCK_EXCHANGE_H

#include "base/text/buf.h"
#include "providers/aws/sigv4.h"
#include "providers/mock/cloud/chaos.h"

struct rb_exchange_request {
    const char *method;                    // "GET", "POST"
    const char *path;                      // as sent, percent-encoded
    const char *query;                     // as sent, without "?"; "" if none
    const struct rb_sigv4_header *headers; // as sent, [n_headers]
    int n_headers;
    const char *body;                      // NUL-terminated, [body_len]
    size_t body_len;
};

// How much of the answer reaches the client.
enum rb_exchange_delivery {
    RB_EXCHANGE_WHOLE,
    RB_EXCHANGE_LOST,  // nothing: the connection is closed
    RB_EXCHANGE_RESET, // nothing: the connection is reset
    RB_EXCHANGE_CUT,   // headers that promise all, the first cut_at bytes, and the connection closes
    RB_EXCHANGE_DRIP,  // all of it, bytes_per_s
    RB_EXCHANGE_FEED,  // the body, and then what the feed gives, until it ends
    RB_EXCHANGE_SWITCH, // 101: from here on the connection belongs to `session`
};

// What an answer without a known length goes on with.
struct rb_exchange_feed {
    bool (*more)(void *arg, struct rb_buf *out); // appends what is new; false: it has ended
    void (*drop)(void *arg);                     // called once, at its end or the connection's
    void *arg;
};

struct rb_exchange_answer {
    int status;
    const char *content_type; // static
    struct rb_buf body;       // the caller's
    int64_t skew_us;          // how far the Date header is ahead
    enum rb_exchange_delivery delivery;
    size_t cut_at;
    int64_t bytes_per_s;
    struct rb_buf headers;            // further ones, "Name: value\n" each; the caller's
    struct rb_exchange_feed feed;
    void *session;                    // mock_k8s.h: struct rb_k8s_exec
};

// Value of a header, any case; NULL: absent.
const char *rb_exchange_header(const struct rb_exchange_request *r, const char *name);

// Faults that no front has words for. forestall: true if the request ends here, with nothing done. spoil: what
// becomes of the finished answer.
bool rb_exchange_forestall(const struct rb_chaos_verdict *v, struct rb_exchange_answer *out);
void rb_exchange_spoil(const struct rb_chaos_verdict *v, struct rb_exchange_answer *out);

#endif
