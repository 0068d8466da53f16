// Provides an access token that is fresh enough: it is fetched with an assertion, a refresh token or from the metadata
// service, kept until shortly before it expires, and fetched only once for all callers that wait.
#ifndef RB_PROVIDERS_GOOGLE_TOKEN_H
#define RB_PROVIDERS_GOOGLE_TOKEN_H

#include "base/errors/err.h"
#include "base/loop.h"

struct rb_google_credentials;
struct rb_google_tokens;
struct rb_http;

struct rb_google_tokens *rb_google_tokens_create(const struct rb_loop *loop, struct rb_http *http,
                                                 const struct rb_google_credentials *credentials); // borrowed
void rb_google_tokens_destroy(struct rb_google_tokens *t); // waiting callers are not called

// err NULL: here is one, borrowed for the call. DENIED: these credentials get none.
typedef void rb_google_token_fn(void *arg, const char *token, const struct rb_err *err);
// Calls fn once: from in here if there is a token, else when one has come.
void rb_google_token_get(struct rb_google_tokens *t, rb_google_token_fn *fn, void *arg);
void rb_google_token_forget(struct rb_google_tokens *t); // the token was refused: fetch a new one next time

#endif
