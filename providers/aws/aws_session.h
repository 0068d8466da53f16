// Provides credentials that are fresh enough: they are fetched from the source that the identity names, kept until
// shortly before they expire, and fetched only once for all callers that wait.
#ifndef RB_PROVIDERS_AWS_SESSION_H
#define RB_PROVIDERS_AWS_SESSION_H

#include "base/loop.h"
#include "providers/aws/credentials.h"

struct rb_aws_session;
struct rb_http;

struct rb_aws_session_config {
    const struct rb_loop *loop;
    struct rb_http *http; // outlives the session
    const char *region;   // whose token service assumes roles
    bool loopback_only;   // refuses every token service beyond loopback
};

// Finds an identity without a request. DENIED: there is none, or one that cannot be used.
bool rb_aws_session_create(const struct rb_aws_session_config *config, struct rb_aws_session **out, struct rb_err *err);
void rb_aws_session_destroy(struct rb_aws_session *s); // waiting callers are never called
// When its identity gives no more credentials, and only the user can change that; unix, -1: not known, or never.
int64_t rb_aws_session_ends_us(const struct rb_aws_session *s);
const char *rb_aws_session_source(const struct rb_aws_session *s); // "environment", ...

// err NULL: here they are, borrowed for the call. DENIED: this identity gets none; IO: its source does not answer.
typedef void rb_aws_credentials_fn(void *arg, const struct rb_aws_credentials *c, const struct rb_err *err);
// Calls fn once: from in here while they are fresh, else when they have come. A quarter of an hour before they expire,
// new ones are fetched; ten minutes before, callers wait for them; until they come the old ones are used to their last
// minute.
void rb_aws_session_get(struct rb_aws_session *s, rb_aws_credentials_fn *fn, void *arg);
void rb_aws_session_forget(struct rb_aws_session *s); // they were refused: the next call fetches new ones

#endif
