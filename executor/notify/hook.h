// Sends one notice at a time to one hook of the job: a webhook, a command, or mail. Secrets are taken from the environment
// for each sending, and are in no file, no command line and no message.
#ifndef RB_EXECUTOR_HOOK_H
#define RB_EXECUTOR_HOOK_H

#include "base/errors/err.h"
#include "base/loop.h"
#include "profiles/job/job.h"
#include "providers/wire/http.h"

enum { RB_HOOK_COMMAND_S = 60 }; // a command that takes longer is killed

struct rb_hook_config {
    const struct rb_loop *loop; // a libuv one
    struct rb_http *http;
    const struct rb_hook_spec *spec;
    const struct rb_job *job; // whose secrets its commands do not see
    const char *run_id;
    const char *workdir; // where commands run
};

enum rb_hook_answer {
    RB_HOOK_TAKEN,  // a status of 2xx; exit code 0
    RB_HOOK_FAILED, // anything else
    RB_HOOK_GONE,   // 410: it wants no further notice
};

// why: a few words for people, "" where it was taken. wait_us: how long the hook asks us to wait, -1: it does not say.
typedef void rb_hook_fn(void *ctx, enum rb_hook_answer answer, const char *why, int64_t wait_us);

struct rb_hook;
struct rb_hook *rb_hook_create(const struct rb_hook_config *config); // copies it
void rb_hook_destroy(struct rb_hook *h);                             // what it sends ends without a callback; NULL is fine
// Calls fn exactly once, from the loop. body: an rb-notice/1; id, kind: of the notice. One at a time.
void rb_hook_send(struct rb_hook *h, const char *id, const char *kind, const char *body, rb_hook_fn *fn, void *ctx);

// For people: "webhook https://example.org/hook", "webhook $SLACK_URL", "command", "email ann@example.org".
void rb_hook_name(const struct rb_hook_spec *spec, char out[static 120]);
// Is all that the hooks need in the environment? Error: HOOK_SECRET, which names the first variable that is missing.
bool rb_hooks_check(const struct rb_hook_list *hooks, struct rb_err *err);

// The value of webhook-signature, as Standard Webhooks defines it: "v1," and the base64 of HMAC-SHA256 over
// "ID.TIMESTAMP.BODY". secret: "whsec_" and base64, or any other text, whose bytes are the key. Error: HOOK_SECRET.
bool rb_hook_sign(const char *secret, const char *id, int64_t timestamp_s, const char *body, char out[static 64],
                  struct rb_err *err);

#endif
