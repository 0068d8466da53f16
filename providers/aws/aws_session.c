#include "providers/aws/aws_session_private.h"

#include "base/arena.h"
#include "base/errors/log.h"
#include "base/text/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t refresh_us = 15 * 60 * RB_US_PER_S; // before the end, as botocore: advisory
static const int64_t wait_us = 10 * 60 * RB_US_PER_S;    // and mandatory
static const int64_t again_us = 60 * RB_US_PER_S;        // after a fetch that failed while old ones serve

_Static_assert(sizeof((struct rb_aws_session *)0)->apis / sizeof(struct rb_api *) >= 3 + RB_AWS_MAX_ROLES,
               "an instance asks three times, every role once");

struct rb_aws_waiter {
    rb_aws_credentials_fn *fn;
    void *arg;
};

static int64_t now_us(const struct rb_aws_session *s)
{
    return s->loop->unix_us(s->loop->ctx);
}

static bool is_alive(const struct rb_aws_session *s)
{
    return s->have && (s->credentials.expires_at_us < 0 || now_us(s) < s->credentials.expires_at_us);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

// Short-lived ones serve for three quarters of their life, or every call would fetch new ones.
static void use(struct rb_aws_session *s, const struct rb_aws_credentials *c)
{
    const int64_t life_us = c->expires_at_us - now_us(s);
    s->credentials = *c;
    s->have = true;
    s->refresh_at_us = s->wait_at_us = INT64_MAX;
    if (c->expires_at_us < 0)
        return;
    s->refresh_at_us = c->expires_at_us - least(refresh_us, life_us / 4);
    s->wait_at_us = c->expires_at_us - least(wait_us, life_us / 6);
}

// --- the end of a fetch ---

// Takes the waiters out first: what they do with the answer may make them wait again.
static void answer_all(struct rb_aws_session *s, const struct rb_err *err)
{
    struct rb_aws_waiter *waiters = s->waiters;
    const int n = s->n_waiters;
    struct rb_aws_credentials c = s->credentials;
    const bool usable = is_alive(s);
    s->waiters = NULL;
    s->n_waiters = 0;
    for (int i = 0; i < n; i++)
        waiters[i].fn(waiters[i].arg, usable ? &c : NULL, usable ? NULL : err);
    rb_aws_credentials_wipe(&c);
    free(waiters);
}

static void end_fetch(struct rb_aws_session *s, const struct rb_err *err)
{
    struct rb_err failure = err ? *err : (struct rb_err){0};
    s->fetching = false;
    if (!err) {
        use(s, &s->found);
        if (!is_alive(s))
            rb_err_set(&failure, RB_E_CREDENTIALS_EXPIRED,
                       "%s: the credentials it gave have expired already; is this machine's clock right?",
                       s->identity.source);
    } else {
        rb_err_prefix(&failure, "credentials (%s)", s->identity.source ? s->identity.source : "none");
        s->again_at_us = now_us(s) + again_us;
        if (is_alive(s))
            rb_warn("%s; the old ones serve on", failure.message);
    }
    rb_aws_credentials_wipe(&s->found);
    explicit_bzero(s->identity.token, sizeof s->identity.token);
    explicit_bzero(s->instance_token, sizeof s->instance_token);
    answer_all(s, &failure);
}

// --- the steps ---

static void take_step(struct rb_aws_session *s);

static void step_done(void *arg, const struct rb_err *err)
{
    struct rb_aws_session *s = arg;
    if (err) {
        end_fetch(s, err);
        return;
    }
    s->step++;
    take_step(s);
}

static void dropped(void *arg)
{
    (void)arg; // the waiters belong to calls that are dropped as well
}

static void take_step(struct rb_aws_session *s)
{
    enum rb_aws_step step;
    int role;
    char *endpoint = s->endpoints[s->n_apis];
    struct rb_err err = {0};
    struct rb_api_config config = {.loop = s->loop, .http = s->config.http, .endpoint = endpoint, .authority = s};
    struct rb_api_call call = {.arg = s, .done = step_done, .drop = dropped};
    if (!rb_aws_step_at(&s->identity, s->step, &step, &role)) {
        end_fetch(s, NULL);
        return;
    }
    if (!rb_aws_step_begin(s, endpoint, &config, &call, &err)) {
        end_fetch(s, &err);
        return;
    }
    struct rb_api *api = rb_api_create(&config);
    s->apis[s->n_apis++] = api;
    rb_api_send(api, &call);
}

static void forget_apis(struct rb_aws_session *s)
{
    while (s->n_apis > 0)
        rb_api_destroy(s->apis[--s->n_apis]);
}

// Files and environment are read again: the user may have logged in meanwhile.
static void begin_fetch(void *arg)
{
    struct rb_aws_session *s = arg;
    struct rb_err err;
    s->timer = 0;
    forget_apis(s);
    if (!rb_aws_identity_find(now_us(s), &s->identity, &err)) {
        end_fetch(s, &err);
        return;
    }
    s->found = s->identity.keys;
    s->step = 0;
    take_step(s);
}

static void fetch(struct rb_aws_session *s)
{
    if (s->fetching)
        return;
    s->fetching = true;
    s->timer = s->loop->timer_start(s->loop->ctx, 0, begin_fetch, s);
}

void rb_aws_session_get(struct rb_aws_session *s, rb_aws_credentials_fn *fn, void *arg)
{
    const bool alive = is_alive(s);
    if (!alive || (now_us(s) >= s->refresh_at_us && now_us(s) >= s->again_at_us))
        fetch(s);
    if (alive && !(s->fetching && now_us(s) >= s->wait_at_us)) {
        struct rb_aws_credentials c = s->credentials;
        fn(arg, &c, NULL);
        rb_aws_credentials_wipe(&c);
        return;
    }
    s->waiters = rb_xrealloc(s->waiters, (size_t)s->n_waiters + 1, sizeof *s->waiters);
    s->waiters[s->n_waiters++] = (struct rb_aws_waiter){fn, arg};
}

void rb_aws_session_forget(struct rb_aws_session *s)
{
    s->have = false;
    s->again_at_us = 0;
    rb_aws_credentials_wipe(&s->credentials);
}

int64_t rb_aws_session_ends_us(const struct rb_aws_session *s)
{
    return s->identity.ends_at_us;
}

const char *rb_aws_session_source(const struct rb_aws_session *s)
{
    return s->identity.source;
}

// Keys that are at hand cost no turn of the loop.
bool rb_aws_session_create(const struct rb_aws_session_config *config, struct rb_aws_session **out, struct rb_err *err)
{
    struct rb_aws_session *s = rb_xcalloc(1, sizeof *s);
    enum rb_aws_step step;
    int role;
    s->config = *config;
    s->loop = config->loop;
    snprintf(s->region, sizeof s->region, "%s", config->region);
    s->config.region = s->region;
    if (!rb_aws_identity_find(now_us(s), &s->identity, err)) {
        rb_aws_session_destroy(s);
        return false;
    }
    if (!rb_aws_step_at(&s->identity, 0, &step, &role))
        use(s, &s->identity.keys);
    *out = s;
    return true;
}

void rb_aws_session_destroy(struct rb_aws_session *s)
{
    if (!s)
        return;
    if (s->timer)
        s->loop->timer_cancel(s->loop->ctx, s->timer);
    forget_apis(s);
    free(s->waiters);
    explicit_bzero(s, sizeof *s);
    free(s);
}
