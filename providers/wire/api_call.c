// Back-off is "full jitter", as in the AWS SDKs: a random part of a ceiling that doubles. The body, and with it the
// idempotency token, is the same in every try; the headers that prove who we are are made again.
#include "providers/wire/api_call.h"

#include "base/arena.h"
#include "base/errors/log.h"
#include "base/text/units.h"
#include "providers/wire/digest.h"
#include "providers/wire/http.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const int64_t retry_base_us = RB_US_PER_S / 2;
static const int64_t throttle_base_us = 2 * RB_US_PER_S; // a throttled peer wants longer pauses
static const int64_t backoff_cap_us = 20 * RB_US_PER_S;  // as the SDKs
static const int64_t starting_us = 10 * RB_US_PER_S;     // for an API server to know again who may do what

// The retry quota of the AWS SDKs (standard mode): a service that fails everywhere is not hammered by every call's full
// number of tries. A retry that works gives back what it took; a first try that works gives back one.
enum { QUOTA = 500, RETRY_COST = 5, NO_ANSWER_COST = 10, MAX_HEADERS = 8 };

struct rb_api_try {
    struct rb_api *api;
    struct rb_api_try *previous, *next;
    struct rb_api_call call;
    int n_tries;
    int quota_taken;      // by the last retry
    bool renewed;         // who we are was renewed for it once: a second time would not help
    bool outcome_unknown; // some try may have taken effect without our learning of it
    int64_t forbidden_us; // when it first was, perhaps by a service that is starting; -1: never
    uint64_t timer;       // 0: none
    struct rb_err err;    // the error of the last try
};

struct rb_api {
    struct rb_api_config config;
    int quota;
    struct rb_api_try *tries;
    int64_t allowed_us; // when a request last passed; -1: none has
    bool peer_clock_known;
    int64_t peer_ahead_us; // the peer's clock minus the loop's monotonic one
};

void *rb_api_state_create(size_t size)
{
    return rb_xcalloc(1, size);
}

void rb_api_state_free(void *state)
{
    rb_arena_finish(state);
    free(state);
}

struct rb_api_call rb_api_call_new(const char *name, int max_tries, void *state, rb_api_decode_fn *decode,
                                   rb_api_done_fn *done)
{
    return (struct rb_api_call){
        .name = name,
        .max_tries = max_tries,
        .arg = state,
        .decode = decode,
        .done = done,
        .drop = rb_api_state_free,
    };
}

static void try_now(void *arg);

static void unlink_try(struct rb_api_try *t)
{
    if (t->next)
        t->next->previous = t->previous;
    *(t->previous ? &t->previous->next : &t->api->tries) = t->next;
}

static struct rb_api_try *take_call(struct rb_api *api, struct rb_api_call *call)
{
    struct rb_api_try *t = rb_xcalloc(1, sizeof *t);
    t->api = api;
    t->call = *call;
    t->forbidden_us = -1;
    call->body = call->target = (struct rb_buf)RB_BUF_INIT;
    t->next = api->tries;
    if (t->next)
        t->next->previous = t;
    api->tries = t;
    return t;
}

// The body may hold user-data with keys.
static void try_destroy(struct rb_api_try *t)
{
    if (t->call.body.data)
        explicit_bzero(t->call.body.data, t->call.body.len);
    rb_buf_finish(&t->call.body);
    rb_buf_finish(&t->call.target);
    free(t);
}

static void wait_and(struct rb_api_try *t, int64_t delay_us, rb_loop_fn *fn)
{
    const struct rb_loop *loop = t->api->config.loop;
    t->timer = loop->timer_start(loop->ctx, delay_us, fn, t);
}

static void refill_quota(struct rb_api *api, int n)
{
    api->quota = api->quota + n < QUOTA ? api->quota + n : QUOTA;
}

static void succeed(struct rb_api_try *t)
{
    const struct rb_api_call call = t->call;
    refill_quota(t->api, t->quota_taken > 0 ? t->quota_taken : 1);
    unlink_try(t);
    try_destroy(t);
    call.done(call.arg, NULL);
}

// After a try that may have worked, or may yet arrive, only an answer that holds for every copy of the request settles
// it: bad parameters. Throttled or unauthorised, the service never looked whether the token was known; and where there
// was no room for this copy there may be some for the other.
static bool settles(enum rb_err_code code)
{
    return code == RB_ERR_INVALID;
}

static void give_up(void *arg)
{
    struct rb_api_try *t = arg;
    const struct rb_api_call call = t->call;
    struct rb_err err = t->err;
    if (t->outcome_unknown && err.code != RB_ERR_UNKNOWN_OUTCOME && !settles(err.code)) {
        rb_err_renumber(&err, RB_E_OUTCOME_UNKNOWN);
        rb_err_prefix(&err, "an earlier try got no answer and may have worked; then");
    }
    if (call.name)
        rb_err_prefix(&err, "%s", call.name);
    unlink_try(t);
    try_destroy(t);
    call.done(call.arg, &err);
}

// In (0, 1].
static double random_fraction(void)
{
    uint32_t bits;
    rb_random_bytes(&bits, sizeof bits);
    return ((double)bits + 1.0) / 4294967296.0;
}

static int64_t backoff_us(int n_tries, enum rb_api_reaction reaction)
{
    int64_t ceiling = reaction == RB_API_RETRY ? retry_base_us : throttle_base_us;
    for (int i = 1; i < n_tries && ceiling < backoff_cap_us; i++)
        ceiling *= 2;
    if (ceiling > backoff_cap_us)
        ceiling = backoff_cap_us;
    return (int64_t)(random_fraction() * (double)ceiling);
}

// The pause that the peer asks for, plus a random part, so that not all clients return at once.
static int64_t pause_us(const struct rb_api_try *t, enum rb_api_reaction reaction, int64_t retry_after_us)
{
    const struct rb_loop *loop = t->api->config.loop;
    const int64_t minute_us = 60 * RB_US_PER_S;
    int64_t asked_us = retry_after_us < minute_us ? retry_after_us : minute_us;
    if (retry_after_us < 0)
        asked_us = reaction == RB_API_NEXT_MINUTE ? minute_us - loop->unix_us(loop->ctx) % minute_us : 0;
    return asked_us + backoff_us(t->n_tries, reaction);
}

static bool take_quota(struct rb_api_try *t, bool answered)
{
    const int cost = answered ? RETRY_COST : NO_ANSWER_COST;
    if (t->api->quota < cost) {
        rb_trace("provider", "%s: given up, the retry quota is used up", t->call.name);
        return false;
    }
    t->api->quota -= cost;
    t->quota_taken = cost;
    return true;
}

static void try_later(struct rb_api_try *t, enum rb_api_reaction reaction, bool answered, int64_t retry_after_us)
{
    if (reaction == RB_API_FAIL || t->n_tries >= t->call.max_tries || !take_quota(t, answered)) {
        give_up(t);
        return;
    }
    const int64_t delay_us = pause_us(t, reaction, retry_after_us);
    char delay[32];
    rb_trace("provider", "%s: try %d of %d: %s; again in %s", t->call.name, t->n_tries, t->call.max_tries,
             t->err.message, rb_format_duration(delay_us, delay));
    wait_and(t, delay_us, try_now);
}

static enum rb_api_reaction judge(struct rb_api_try *t, const struct rb_http_response *r)
{
    if (r->status == 0) {
        rb_err_set(&t->err, r->sent ? RB_E_OUTCOME_UNKNOWN : RB_E_UNREACHABLE, "%s: %s", t->api->config.endpoint,
                   r->transport_error);
        return RB_API_RETRY;
    }
    if (r->status >= 200 && r->status < 300) { // 2xx, but decode could not read it
        if (t->call.mutating)
            rb_err_renumber(&t->err, RB_E_OUTCOME_UNKNOWN);
        else if (t->err.code != RB_ERR_IO)
            rb_err_renumber(&t->err, RB_E_ANSWER);
        return RB_API_RETRY;
    }
    return t->api->config.judge(r->status, r->body, r->body_len, &t->err);
}

// Some other server may sit at the address of the metadata service.
static bool decode(struct rb_api_try *t, const struct rb_http_response *r)
{
    const char *flavor = t->call.flavor;
    if (flavor && (!r->metadata_flavor || strcmp(r->metadata_flavor, flavor) != 0))
        return rb_err_set(&t->err, RB_E_ANSWER, "%s: expected an answer with Metadata-Flavor: %s",
                          t->api->config.endpoint, flavor);
    return t->call.decode(t->call.arg, r->body, r->body_len, &t->err);
}

// Only with an answer that is the service's own: a proxy has a clock of its own.
static void note_clock(struct rb_api *api, const struct rb_http_response *r)
{
    const struct rb_loop *loop = api->config.loop;
    const int64_t peer_us = r->status >= 200 && r->status < 300 ? rb_http_date_us(r) : -1;
    if (peer_us < 0)
        return;
    api->peer_clock_known = true;
    api->peer_ahead_us = peer_us - loop->now_us(loop->ctx);
}

int64_t rb_api_clock_us(const struct rb_api *api)
{
    const struct rb_loop *loop = api->config.loop;
    return api->peer_clock_known ? loop->now_us(loop->ctx) + api->peer_ahead_us : -1;
}

// Does the refusal stand? A request that has passed since shows that the service knows again who we are.
static enum rb_api_reaction doubt(struct rb_api_try *t)
{
    const struct rb_api *api = t->api;
    const int64_t now_us = api->config.loop->now_us(api->config.loop->ctx);
    if (t->forbidden_us < 0)
        t->forbidden_us = now_us;
    if (api->allowed_us < 0 || api->allowed_us > t->forbidden_us || now_us - t->forbidden_us > starting_us)
        return RB_API_FAIL;
    t->n_tries--; // it counts as none
    return RB_API_SLOW_DOWN;
}

static void on_response(void *arg, const struct rb_http_response *r)
{
    struct rb_api_try *t = arg;
    const struct rb_api_config *config = &t->api->config;
    t->err = (struct rb_err){0};
    note_clock(t->api, r);
    if (r->status >= 200 && r->status < 300 && decode(t, r)) {
        t->api->allowed_us = config->loop->now_us(config->loop->ctx);
        succeed(t);
        return;
    }
    enum rb_api_reaction reaction = judge(t, r);
    if (t->err.code == RB_ERR_UNKNOWN_OUTCOME && !t->call.mutating)
        rb_err_renumber(&t->err, r->status == 0 ? RB_E_UNREACHABLE : RB_E_CLOUD_STATE);
    t->outcome_unknown = t->outcome_unknown || t->err.code == RB_ERR_UNKNOWN_OUTCOME;
    if (reaction == RB_API_REFRESH) {
        if (t->renewed || !config->renew || !config->renew(config->authority, r, &t->err))
            reaction = RB_API_FAIL;
        t->renewed = true;
    }
    if (reaction == RB_API_PERHAPS_STARTING)
        reaction = doubt(t);
    try_later(t, reaction, r->status != 0, rb_http_retry_after_us(r, config->loop->unix_us(config->loop->ctx)));
}

enum rb_api_reaction rb_api_judge_status(long status, enum rb_err_number *out)
{
    const bool refused = status >= 400 && status < 500;
    *out = status == 429                    ? RB_E_THROTTLED
           : status == 401 || status == 403 ? RB_E_PERMISSION
           : refused                        ? RB_E_REFUSED
                                            : RB_E_OUTCOME_UNKNOWN;
    return status == 429 ? RB_API_SLOW_DOWN : refused ? RB_API_FAIL : RB_API_RETRY;
}

enum rb_api_reaction rb_api_judge_stranger(long status, const char *whose, struct rb_err *err)
{
    rb_err_set(err, RB_E_OUTCOME_UNKNOWN, "HTTP status %ld with a body that is not %s's; is a proxy in between?",
               status, whose);
    return status == 429 || status == 503 ? RB_API_SLOW_DOWN : RB_API_RETRY;
}

const struct rb_api_call *rb_api_call_of(const struct rb_api_try *t)
{
    return &t->call;
}

void *rb_api_authority_of(const struct rb_api_try *t)
{
    return t->api->config.authority;
}

void rb_api_transmit(struct rb_api_try *t, const char *const *headers, int n_headers)
{
    RB_AUTO(rb_buf_finish) struct rb_buf url = RB_BUF_INIT, content_type = RB_BUF_INIT;
    const char *lines[MAX_HEADERS];
    assert(n_headers < MAX_HEADERS);
    for (int i = 0; i < n_headers; i++)
        lines[i] = headers[i];
    rb_buf_puts(&url, t->api->config.endpoint);
    rb_buf_puts(&url, rb_buf_str(&t->call.target));
    if (t->call.content_type) {
        rb_buf_printf(&content_type, "Content-Type: %s", t->call.content_type);
        lines[n_headers++] = rb_buf_str(&content_type);
    }
    const struct rb_http_request request = {
        .method = t->call.method,
        .url = rb_buf_str(&url),
        .headers = lines,
        .n_headers = n_headers,
        .body = t->call.body.data,
        .body_len = t->call.body.len,
        .timeout_us = t->call.timeout_us,
        .unix_socket = t->api->config.unix_socket,
        .peer = t->api->config.peer,
        .once = t->call.mutating && t->call.max_tries == 1,
        .metadata = t->call.metadata || t->call.flavor != NULL,
    };
    if (!rb_http_send(t->api->config.http, &request, on_response, t, &t->err))
        give_up(t);
}

void rb_api_cannot_transmit(struct rb_api_try *t, const struct rb_err *err)
{
    t->err = *err;
    give_up(t);
}

static void try_now(void *arg)
{
    struct rb_api_try *t = arg;
    const struct rb_api_config *config = &t->api->config;
    t->timer = 0;
    t->n_tries++;
    if (config->authorise)
        config->authorise(config->authority, t);
    else
        rb_api_transmit(t, NULL, 0);
}

void rb_api_send(struct rb_api *api, struct rb_api_call *call)
{
    wait_and(take_call(api, call), call->delay_us, try_now); // from the loop, so that done is never called from in here
}

void rb_api_refuse(struct rb_api *api, struct rb_api_call *call, const struct rb_err *err)
{
    struct rb_api_try *t = take_call(api, call);
    t->err = *err;
    wait_and(t, 0, give_up);
}

struct rb_api *rb_api_create(const struct rb_api_config *config)
{
    struct rb_api *api = rb_xcalloc(1, sizeof *api);
    api->config = *config;
    api->quota = QUOTA;
    api->allowed_us = -1;
    return api;
}

void rb_api_destroy(struct rb_api *api)
{
    if (!api)
        return;
    while (api->tries) {
        struct rb_api_try *t = api->tries;
        unlink_try(t);
        if (t->timer)
            api->config.loop->timer_cancel(api->config.loop->ctx, t->timer);
        else
            rb_http_cancel(api->config.http, t); // does nothing where the authority still holds it
        t->call.drop(t->call.arg);
        try_destroy(t);
    }
    free(api);
}
