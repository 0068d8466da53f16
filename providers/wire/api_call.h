// The life of one call to a cloud's API: try, judge, wait, try again, and in the end one answer. Knows back-off, the
// budget of retries and when an outcome is unknown. Who we are is the authority's business (aws_client.h, google_client.h),
// what a body means is the caller's (decode) and the service's (judge).
#ifndef RB_PROVIDERS_API_CALL_H
#define RB_PROVIDERS_API_CALL_H

#include "base/buf.h"
#include "base/err.h"
#include "base/loop.h"

#include <stddef.h>

struct rb_http;
struct rb_http_response;

enum rb_api_reaction {
    RB_API_FAIL,      // a definite refusal: repeating it cannot help
    RB_API_RETRY,     // transient: repeat the identical request
    RB_API_SLOW_DOWN, // throttled: repeat it, later
    RB_API_NEXT_MINUTE, // this minute's budget is used up: repeat it in the next
    RB_API_REFRESH,   // credentials or clock out of date: renew them, repeat
};

// Judges an answer that is not 2xx: what to do, and in *err the code and words for the caller if it is given up.
typedef enum rb_api_reaction rb_api_judge_fn(long status, const char *body, size_t n, struct rb_err *err);

// What judges fall back on. A code that is in no table: a 4xx is a refusal, of what we do not know; anything else may have
// worked.
enum rb_api_reaction rb_api_judge_status(long status, enum rb_err_number *out);
// A body that is not in the service's form: some machine in between answered (a proxy, a load balancer), and what happened
// behind it, nobody knows. whose: "EC2".
enum rb_api_reaction rb_api_judge_stranger(long status, const char *whose, struct rb_err *err);

struct rb_api_call {
    const char *name;         // static: "RunInstances"; for messages and traces
    const char *method;       // static: "POST"
    struct rb_buf target;     // path and query behind the endpoint; empty: none. Taken over
    const char *content_type; // static; NULL: there is no body
    struct rb_buf body;       // taken over, wiped in the end
    bool mutating;            // no answer means UNKNOWN_OUTCOME, not IO
    int max_tries;            // 1, and mutating: not repeated by anybody below either
    int64_t delay_us;         // before the first try
    int64_t timeout_us;       // of one try; 0: the HTTP client's
    const char *flavor;       // static; to a metadata service, which must call itself by this name. NULL: to no such
    bool metadata;            // to a metadata service that says nothing about itself
    void *arg;
    // Reads a 2xx body into *arg; false counts as an answer that got lost.
    bool (*decode)(void *arg, const char *body, size_t n, struct rb_err *err);
    // Exactly one of the two is called, once, from the loop. err NULL: decode succeeded.
    void (*done)(void *arg, const struct rb_err *err);
    void (*drop)(void *arg);  // the API is going: free arg, call nobody
};

struct rb_api_try; // of a call

struct rb_api_config {
    const struct rb_loop *loop;
    struct rb_http *http;     // outlives the API
    const char *endpoint;     // borrowed: scheme, host, port, perhaps a path; no slash at the end
    const char *unix_socket;  // borrowed: instead of the endpoint's host; NULL: none
    rb_api_judge_fn *judge;
    void *authority;
    // Sends the try with headers that prove who we are, now or once they are known: rb_api_transmit or
    // rb_api_cannot_transmit, once. NULL: nobody asks, it goes out as it is.
    void (*authorise)(void *authority, struct rb_api_try *t);
    // The peer says our credentials or our clock are stale. False: there are no better ones. NULL: there never are.
    bool (*renew)(void *authority, const struct rb_http_response *response, struct rb_err *err);
};

struct rb_api;

struct rb_api *rb_api_create(const struct rb_api_config *config);
void rb_api_destroy(struct rb_api *api); // pending calls are dropped, see above

void rb_api_send(struct rb_api *api, struct rb_api_call *call);
// The peer's clock now, by the last of its answers that said what it showed; unix, -1: none did.
int64_t rb_api_clock_us(const struct rb_api *api);
// Never sends it: done is called with this error on the next turn. For input that is refused before it costs a request.
void rb_api_refuse(struct rb_api *api, struct rb_api_call *call, const struct rb_err *err);

// --- for the authority ---

const struct rb_api_call *rb_api_call_of(const struct rb_api_try *t);
void *rb_api_authority_of(const struct rb_api_try *t);
void rb_api_transmit(struct rb_api_try *t, const char *const *headers, int n_headers);
void rb_api_cannot_transmit(struct rb_api_try *t, const struct rb_err *err); // nothing was sent: the call is given up

#endif
