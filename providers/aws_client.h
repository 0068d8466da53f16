// One service of AWS in one region: signs every try anew, sends it, and repeats it as the answer's error code demands.
// Knows signatures, clocks and back-off; what bodies mean is the caller's (decode) and the service's (judge).
#ifndef RB_PROVIDERS_AWS_CLIENT_H
#define RB_PROVIDERS_AWS_CLIENT_H

#include "base/buf.h"
#include "base/err.h"
#include "base/loop.h"

#include <stddef.h>

struct rb_http;

enum rb_aws_reaction {
    RB_AWS_FAIL,      // a definite refusal: repeating it cannot help
    RB_AWS_RETRY,     // transient: repeat the identical request
    RB_AWS_SLOW_DOWN, // throttled: repeat it, later
    RB_AWS_REFRESH,   // credentials or clock out of date: renew them, repeat
};

// Judges an answer that is not 2xx: what to do, and in *err the code and words for the caller if it is given up.
typedef enum rb_aws_reaction rb_aws_judge_fn(long status, const char *body, size_t n, struct rb_err *err);

struct rb_aws_client_config {
    const struct rb_loop *loop;
    struct rb_http *http;      // outlives the client
    const char *service, *region;
    bool loopback_only;
    rb_aws_judge_fn *judge;
};

struct rb_aws_client;

// Finds endpoint and credentials. Errors: INVALID (endpoint, region), DENIED (credentials).
bool rb_aws_client_create(const struct rb_aws_client_config *config, struct rb_aws_client **out, struct rb_err *err);
void rb_aws_client_destroy(struct rb_aws_client *c); // pending calls are dropped, see below
bool rb_aws_client_is_loopback(const struct rb_aws_client *c);

struct rb_aws_call {
    const char *name;         // static: "RunInstances"; for messages and traces
    const char *content_type; // static
    struct rb_buf body;       // taken over, wiped in the end
    bool mutating;            // no answer means UNKNOWN_OUTCOME, not IO
    int max_tries;
    void *arg;
    // Reads a 2xx body into *arg; false counts as an answer that got lost.
    bool (*decode)(void *arg, const char *body, size_t n, struct rb_err *err);
    // Exactly one of the two is called, once, from the loop. err NULL: decode succeeded.
    void (*done)(void *arg, const struct rb_err *err);
    void (*drop)(void *arg);  // the client is going: free arg, call nobody
};

void rb_aws_send(struct rb_aws_client *c, struct rb_aws_call *call);
// Never sends it: done is called with this error on the next turn. For input that is refused before it costs a request.
void rb_aws_refuse(struct rb_aws_client *c, struct rb_aws_call *call, const struct rb_err *err);

#endif
