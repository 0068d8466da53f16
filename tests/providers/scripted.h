// One client against a server that plays a script: a loop whose time can jump, an HTTP client on it, the server, and an
// answer to wait for.
#ifndef RB_TESTS_PROVIDERS_SCRIPTED_H
#define RB_TESTS_PROVIDERS_SCRIPTED_H

#include "base/errors/err.h"
#include "script_server.h"
#include "test_loop.h"

#include <stdbool.h>

struct rb_http;

struct scripted {
    struct test_loop loop;
    struct rb_http *http;
    struct script_server *server;
    bool done;
    int n_calls;
    struct rb_err err; // of the answer; code NONE: it went well
};

void scripted_begin(struct scripted *s, const struct step *steps, int n);
void scripted_tell(struct scripted *s, const struct rb_err *err); // for callbacks: here is the answer
void scripted_wait(struct scripted *s); // until it has its answer, which comes is never from inside the call, and exactly once
void scripted_end(struct scripted *s);  // nothing may be left waiting on the loop

// Is the text in the i-th request, and does that begin with this? Fail with both in sight.
void scripted_expect(struct scripted *s, int i, const char *text);
void scripted_expect_begin(struct scripted *s, int i, const char *start);

#endif
