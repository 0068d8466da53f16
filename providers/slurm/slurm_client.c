// Source: slurmrestd(8), "Slurm REST API" and "Authentication".
#include "providers/slurm/slurm_client.h"

#include "base/arena.h"
#include "base/document/doc.h"
#include "base/errors/log.h"
#include "base/text/units.h"
#include "providers/slurm/slurm_errors.h"
#include "providers/wire/expiry.h"
#include "providers/wire/http.h"
#include "providers/wire/private_file.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PING_TRIES = 3, MAX_TOKEN_LEN = 8192 };

// A request on its way, or waiting for the version to be known.
struct sending {
    struct sending *next;
    struct rb_slurm_client *client;
    struct rb_slurm_request request;
    bool refused; // the answer held errors
    int slurm_error;
    struct rb_err err;
};

struct rb_slurm_client {
    char url[512], socket[256]; // socket "": TCP
    char user[64];
    char *token, *token_path; // token NULL: the socket proves who we are
    int64_t expires_s;        // unix; of the token
    const struct rb_loop *loop;
    struct rb_api *api;
    int version; // 0: not known yet
    int asking;  // version requested by the ping under way, 0: none is
    struct sending *waiting;
};

static const char *env(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

// --- where

static bool choose_url(struct rb_slurm_client *c, const char *url, struct rb_err *err)
{
    static const char unix_scheme[] = "unix:";
    const char *name = env("RB_SLURM_URL") ? "RB_SLURM_URL" : "resources.slurm.url";
    if (env("RB_SLURM_URL"))
        url = env("RB_SLURM_URL");
    if (!url)
        return rb_err_set(err, RB_E_SLURM_URL,
                          "where is slurmrestd? give resources.slurm.url or set RB_SLURM_URL: https://HOST:PORT, "
                          "http://127.0.0.1:PORT through a tunnel, or unix:/PATH");
    if (strncmp(url, unix_scheme, strlen(unix_scheme)) == 0) {
        const char *path = url + strlen(unix_scheme);
        if (path[0] != '/' || strlen(path) >= sizeof c->socket)
            return rb_err_set(err, RB_E_SLURM_URL, "%s: '%.200s': expected unix:/PATH, absolute and short", name, url);
        strcpy(c->socket, path);
        strcpy(c->url, "http://localhost");
        return true;
    }
    size_t n = strlen(url);
    while (n > 0 && url[n - 1] == '/')
        n--;
    if (n >= sizeof c->url)
        return rb_err_set(err, RB_E_SLURM_URL, "%s: expected a URL of fewer than %zu characters", name, sizeof c->url);
    snprintf(c->url, sizeof c->url, "%.*s", (int)n, url);
    return true;
}

// --- who

static void wipe_token(struct rb_slurm_client *c)
{
    if (c->token)
        explicit_bzero(c->token, strlen(c->token));
    free(c->token);
    c->token = NULL;
}

// Reads the token's user ("sun") and its expiry ("exp"); missing claims leave *out unchanged.
static void read_claims(struct rb_slurm_client *c)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    c->expires_s = INT64_MAX;
    if (!rb_jwt_claims(c->token, &doc))
        return;
    const struct rb_node *sun = rb_node_member(doc.root, "sun"), *exp = rb_node_member(doc.root, "exp");
    if (sun && sun->kind == RB_NODE_STRING && sun->text_len > 0 && sun->text_len < sizeof c->user)
        strcpy(c->user, sun->text);
    if (exp && exp->kind == RB_NODE_INT)
        c->expires_s = exp->integer;
}

static bool keep_token(struct rb_slurm_client *c, const char *text, const char *source, struct rb_err *err)
{
    const size_t n = strcspn(text, " \t\r\n");
    if (n == 0 || n > MAX_TOKEN_LEN || text[n + strspn(text + n, " \t\r\n")] != '\0')
        return rb_err_set(err, RB_E_SLURM_TOKEN,
                          "%s: expected one token, as `scontrol token` prints behind SLURM_JWT=", source);
    wipe_token(c);
    c->token = rb_xcalloc(n + 1, 1);
    memcpy(c->token, text, n);
    read_claims(c);
    return true;
}

static bool read_token(struct rb_slurm_client *c, struct rb_err *err)
{
    if (!c->token_path)
        return keep_token(c, env("SLURM_JWT"), "SLURM_JWT", err);
    struct rb_private_file file = {.path = rb_xstrdup(c->token_path)};
    bool ok = rb_private_file_read(&file, err) && rb_private_file_check(&file, err);
    if (ok && !file.present)
        ok = rb_err_set(err, RB_E_SLURM_TOKEN, "RB_SLURM_JWT_FILE: %s does not exist", c->token_path);
    ok = ok && keep_token(c, file.text, c->token_path, err);
    rb_private_file_finish(&file);
    return ok;
}

// slurmctld answers an expired token with an unspecified error; so it is noticed here.
static bool check_expiry(const struct rb_slurm_client *c, struct rb_err *err)
{
    if (c->expires_s > c->loop->unix_us(c->loop->ctx) / RB_US_PER_S)
        return true;
    return rb_err_set(err, RB_E_SLURM_TOKEN,
                      "the token of %s has expired: get a new one with `scontrol token lifespan=SECONDS`, into %s",
                      c->user, c->token_path ? c->token_path : "SLURM_JWT");
}

static bool choose_user(struct rb_slurm_client *c, struct rb_err *err)
{
    if (env("RB_SLURM_JWT_FILE"))
        c->token_path = rb_xstrdup(env("RB_SLURM_JWT_FILE"));
    if (c->token_path || env("SLURM_JWT")) {
        if (!read_token(c, err) || !check_expiry(c, err))
            return false;
    } else if (!c->socket[0]) {
        return rb_err_set(err, RB_E_SLURM_TOKEN,
                          "slurmrestd at %s wants a token: export $(scontrol token lifespan=SECONDS), or name a file "
                          "that holds one in RB_SLURM_JWT_FILE",
                          c->url);
    }
    if (c->user[0])
        return true;
    const struct passwd *me = getpwuid(getuid());
    if (!me || strlen(me->pw_name) >= sizeof c->user)
        return rb_err_set(err, RB_E_SLURM_TOKEN, "the user %ld has no name that Slurm could know", (long)getuid());
    strcpy(c->user, me->pw_name);
    return true;
}

static void authorise(void *authority, struct rb_api_try *t)
{
    struct rb_slurm_client *c = authority;
    struct rb_err err;
    if (c->token && !check_expiry(c, &err) && !(c->token_path && read_token(c, &err) && check_expiry(c, &err))) {
        rb_api_cannot_transmit(t, &err);
        return;
    }
    RB_AUTO(rb_buf_finish) struct rb_buf user = RB_BUF_INIT, token = RB_BUF_INIT;
    if (c->token) {
        rb_buf_printf(&user, "X-SLURM-USER-NAME: %s", c->user);
        rb_buf_printf(&token, "X-SLURM-USER-TOKEN: %s", c->token);
    }
    const char *const headers[] = {rb_buf_str(&user), rb_buf_str(&token)};
    rb_api_transmit(t, headers, c->token ? 2 : 0);
    if (token.data)
        explicit_bzero(token.data, token.len);
}

// The file may hold a new token by now; the environment cannot change.
static bool renew(void *authority, const struct rb_http_response *response, struct rb_err *err)
{
    (void)response;
    struct rb_slurm_client *c = authority;
    return c->token_path && read_token(c, err);
}

// --- requests

static bool decode(void *arg, const char *body, size_t n, struct rb_err *err)
{
    struct sending *s = arg;
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    enum rb_api_reaction reaction;
    if (!rb_doc_parse_json(&doc, "answer", body, n, err))
        return false;
    s->refused = rb_slurm_first_error(doc.root, &s->slurm_error, &reaction, &s->err);
    const bool ok = !s->request.decode || s->request.decode(s->request.arg, doc.root, s->refused ? NULL : err);
    return ok || s->refused;
}

static void done(void *arg, const struct rb_err *err)
{
    const struct sending s = *(struct sending *)arg;
    struct rb_err refusal = s.err;
    free(arg);
    if (!err && s.refused) {
        if (refusal.code == RB_ERR_UNKNOWN_OUTCOME && !s.request.mutating)
            rb_err_renumber(&refusal, RB_E_CLOUD_STATE);
        rb_err_prefix(&refusal, "%s", s.request.name);
        err = &refusal;
    }
    s.request.done(s.request.arg, err, s.slurm_error);
}

static void drop(void *arg)
{
    const struct sending s = *(struct sending *)arg;
    free(arg);
    s.request.drop(s.request.arg);
}

static void transmit(struct sending *s)
{
    struct rb_api_call call = rb_api_call_new(s->request.name, s->request.max_tries, s, decode, done);
    call.method = s->request.method;
    call.mutating = s->request.mutating;
    call.drop = drop;
    rb_buf_printf(&call.target, "/slurm/v0.0.%d", s->client->version);
    s->request.write(s->request.arg, s->client->version, &call.target, &call.body);
    if (call.body.len > 0)
        call.content_type = "application/json";
    rb_api_send(s->client->api, &call);
}

// --- which version

static struct sending *take_waiting(struct rb_slurm_client *c)
{
    struct sending *all = c->waiting;
    c->waiting = NULL;
    c->asking = 0;
    return all;
}

static void ping(struct rb_slurm_client *c);

static void pong(void *arg, const struct rb_err *err)
{
    struct rb_slurm_client *c = arg;
    struct rb_err none;
    if (!err) {
        c->version = c->asking;
        rb_trace("provider", "slurmrestd supports v0.0.%d", c->version);
        for (struct sending *s = take_waiting(c), *next; s; s = next) {
            next = s->next;
            transmit(s);
        }
        return;
    }
    if (err->code == RB_ERR_NOT_FOUND && c->asking > RB_SLURM_OLDEST_API) {
        c->asking--;
        ping(c);
        return;
    }
    if (err->code == RB_ERR_NOT_FOUND) {
        rb_err_set(&none, RB_E_SLURM_VERSION, "slurmrestd supports none of the versions v0.0.%d to v0.0.%d of its API",
                   RB_SLURM_OLDEST_API, RB_SLURM_NEWEST_API);
        err = &none;
    }
    for (struct sending *s = take_waiting(c), *next; s; s = next) {
        const struct rb_slurm_request request = s->request;
        next = s->next;
        free(s);
        request.done(request.arg, err, 0);
    }
}

static bool any_body(void *arg, const char *body, size_t n, struct rb_err *err)
{
    (void)arg, (void)body, (void)n, (void)err;
    return true;
}

static void ignore(void *arg)
{
    (void)arg;
}

static void ping(struct rb_slurm_client *c)
{
    struct rb_api_call call = rb_api_call_new("ping", PING_TRIES, c, any_body, pong);
    call.method = "GET";
    call.drop = ignore;
    rb_buf_printf(&call.target, "/slurm/v0.0.%d/ping", c->asking);
    rb_api_send(c->api, &call);
}

void rb_slurm_send(struct rb_slurm_client *c, const struct rb_slurm_request *request)
{
    struct sending *s = rb_xcalloc(1, sizeof *s);
    s->client = c;
    s->request = *request;
    if (c->version) {
        transmit(s);
        return;
    }
    struct sending **last = &c->waiting;
    while (*last)
        last = &(*last)->next;
    *last = s;
    if (!c->asking) {
        c->asking = RB_SLURM_NEWEST_API;
        ping(c);
    }
}

// --- life

bool rb_slurm_client_create(const struct rb_slurm_client_config *config, struct rb_slurm_client **out,
                            struct rb_err *err)
{
    struct rb_slurm_client *c = rb_xcalloc(1, sizeof *c);
    c->loop = config->loop;
    if (!choose_url(c, config->url, err) || !choose_user(c, err)) {
        rb_slurm_client_destroy(c);
        return false;
    }
    const struct rb_api_config api = {
        .loop = config->loop,
        .http = config->http,
        .endpoint = c->url,
        .unix_socket = c->socket[0] ? c->socket : NULL,
        .judge = rb_slurm_judge,
        .authority = c,
        .authorise = authorise,
        .renew = renew,
    };
    c->api = rb_api_create(&api);
    *out = c;
    return true;
}

void rb_slurm_client_destroy(struct rb_slurm_client *c)
{
    if (!c)
        return;
    if (c->api)
        rb_api_destroy(c->api);
    for (struct sending *s = take_waiting(c), *next; s; s = next) {
        next = s->next;
        drop(s);
    }
    wipe_token(c);
    free(c->token_path);
    free(c);
}

const char *rb_slurm_client_user(const struct rb_slurm_client *c)
{
    return c->user;
}

int64_t rb_slurm_client_ends_us(const struct rb_slurm_client *c)
{
    return c->token && !c->token_path ? rb_jwt_ends_us(c->token) : -1;
}
