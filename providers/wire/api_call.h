// Sends one call to a cloud's API with retries: it tries, judges the answer, waits, tries again, and reports one
// result. It decides on back-off, the retry budget, and when an outcome is unknown. The authority proves who we are
// (aws_client.h, google_client.h); the caller's `decode` and the service's `judge` interpret the body.
#ifndef RB_PROVIDERS_API_CALL_H
#define RB_PROVIDERS_API_CALL_H

#include "base/text/buf.h"
#include "base/errors/err.h"
#include "base/loop.h"

#include <stddef.h>

struct rb_http;
struct rb_http_peer;
struct rb_http_response;

enum rb_api_reaction {
    RB_API_FAIL,      // a definite refusal: repeating it cannot help
    RB_API_RETRY,     // transient: repeat the identical request
    RB_API_SLOW_DOWN, // throttled: repeat it, later
    RB_API_NEXT_MINUTE, // this minute's request budget is used up: repeat in the next minute
    RB_API_REFRESH,   // credentials or clock out of date: renew them and repeat
    // Forbidden, as a service that is starting forbids everything: where it has let us in before, repeat the request until
    // it lets any pass, for half a minute at most; else a refusal.
    RB_API_PERHAPS_STARTING,
};

// Judges an answer that is not 2xx: returns what to do, and in *err the error for the caller in case the call is given
// up.
typedef enum rb_api_reaction rb_api_judge_fn(long status, const char *body, size_t n, struct rb_err *err);

// Judges a code that is in no table: a 4xx is a refusal; after any other status the request may have taken effect.
enum rb_api_reaction rb_api_judge_status(long status, enum rb_err_number *out);
// Judges a body that is not in the service's form: a machine in between answered (a proxy, a load balancer), so the
// outcome is unknown. whose: "EC2".
enum rb_api_reaction rb_api_judge_stranger(long status, const char *whose, struct rb_err *err);

// Reads a 2xx body into *arg; false counts as a lost answer.
typedef bool rb_api_decode_fn(void *arg, const char *body, size_t n, struct rb_err *err);
// err NULL: decode succeeded.
typedef void rb_api_done_fn(void *arg, const struct rb_err *err);

struct rb_api_call {
    const char *name;         // static: "RunInstances"; for messages and traces; NULL: it is refused without a request
    const char *method;       // static: "POST"
    struct rb_buf target;     // path and query behind the endpoint; empty: none. Taken over
    const char *content_type; // static; NULL: there is no body
    struct rb_buf body;       // taken over, wiped in the end
    bool mutating;            // no answer means UNKNOWN_OUTCOME, not IO
    int max_tries;            // 1, and mutating: lower layers do not repeat it either
    int64_t delay_us;         // before the first try
    int64_t timeout_us;       // of one try; 0: the HTTP client's
    const char *flavor;       // static; the call goes to a metadata service, whose answer must carry this name; NULL: it does not
    bool metadata;            // the call goes to a metadata service whose answers carry no name
    void *arg;
    rb_api_decode_fn *decode;
    // Exactly one of the two is called, once, from the loop.
    rb_api_done_fn *done;
    rb_loop_fn *drop;         // the API is being destroyed: free arg and call no one
};

// The state of an operation, zeroed; its first member is a struct rb_arena. The second function frees the state with
// all that its arena holds, and serves as `drop`.
void *rb_api_state_create(size_t size);
void rb_api_state_free(void *state);
// A call to which the caller adds target and body; its drop is rb_api_state_free.
struct rb_api_call rb_api_call_new(const char *name, int max_tries, void *state, rb_api_decode_fn *decode,
                                        rb_api_done_fn *done);

struct rb_api_try; // of a call

struct rb_api_config {
    const struct rb_loop *loop;
    struct rb_http *http;     // outlives the API
    const char *endpoint;     // borrowed: scheme, host, port, perhaps a path; no slash at the end
    const char *unix_socket;  // borrowed: instead of the endpoint's host; NULL: none
    const struct rb_http_peer *peer; // borrowed, and read at every try; NULL: nothing of its own
    rb_api_judge_fn *judge;
    void *authority;
    // Sends the try with headers that prove who we are, now or once they are known: calls rb_api_transmit or
    // rb_api_cannot_transmit once. NULL: the service needs no proof, the try is sent as it is.
    void (*authorise)(void *authority, struct rb_api_try *t);
    // Renews credentials or clock after the peer has refused them as stale. False: there are no better ones. NULL:
    // there never are.
    bool (*renew)(void *authority, const struct rb_http_response *response, struct rb_err *err);
};

struct rb_api;

struct rb_api *rb_api_create(const struct rb_api_config *config);
void rb_api_destroy(struct rb_api *api); // pending calls are dropped, see above

void rb_api_send(struct rb_api *api, struct rb_api_call *call);
// The peer's clock now, derived from its last answer that had a Date; unix, -1: none had.
int64_t rb_api_clock_us(const struct rb_api *api);
// Does not send the call: `done` is called with this error on the next turn. For input that is refused without a
// request.
void rb_api_refuse(struct rb_api *api, struct rb_api_call *call, const struct rb_err *err);

// --- for the authority ---

const struct rb_api_call *rb_api_call_of(const struct rb_api_try *t);
void *rb_api_authority_of(const struct rb_api_try *t);
void rb_api_transmit(struct rb_api_try *t, const char *const *headers, int n_headers);
void rb_api_cannot_transmit(struct rb_api_try *t, const struct rb_err *err); // nothing was sent: the call is given up

#endif
