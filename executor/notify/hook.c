#include "executor/notify/hook.h"

#include "base/arena.h"
#include "base/text/buf.h"
#include "base/text/units.h"
#include "executor/notify/notice.h"
#include "executor/transport/process.h"
#include "profiles/job/job_notify.h"
#include "providers/wire/child.h"
#include "providers/wire/digest.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rb_hook {
    struct rb_hook_config config;
    struct rb_process *process; // of a command or of sendmail; NULL: none is at work
    uint64_t timer;
    char why[300]; // of a sending that failed at once
    rb_hook_fn *fn;
    void *ctx;
};

void rb_hook_name(const struct rb_hook_spec *spec, char out[static 120])
{
    snprintf(out, 120, "%s%s%.100s", rb_hook_names[spec->kind], spec->kind == RB_HOOK_COMMAND ? "" : " ",
             spec->kind == RB_HOOK_COMMAND ? "" : spec->target);
}

static bool check_variable(int i, const char *name, struct rb_err *err)
{
    const char *value = name ? getenv(name) : "there";
    return (value && value[0]) ||
           rb_err_set(err, RB_E_HOOK_SECRET, "notify[%d]: the environment has no %s: set it, or remove the hook", i,
                      name);
}

bool rb_hooks_check(const struct rb_hook_list *hooks, struct rb_err *err)
{
    for (int i = 0; i < hooks->n; i++)
        if (!check_variable(i, rb_hook_url_variable(&hooks->items[i]), err) ||
            !check_variable(i, hooks->items[i].secret, err))
            return false;
    return true;
}

struct rb_hook *rb_hook_create(const struct rb_hook_config *config)
{
    struct rb_hook *h = rb_xcalloc(1, sizeof *h);
    h->config = *config;
    return h;
}

static void disarm(struct rb_hook *h)
{
    if (h->timer)
        h->config.loop->timer_cancel(h->config.loop->ctx, h->timer);
    h->timer = 0;
}

void rb_hook_destroy(struct rb_hook *h)
{
    if (!h)
        return;
    disarm(h);
    if (h->config.http)
        rb_http_cancel(h->config.http, h);
    rb_process_abandon(h->process);
    free(h);
}

static void answer(struct rb_hook *h, enum rb_hook_answer what, const char *why, int64_t wait_us)
{
    disarm(h);
    h->process = NULL;
    h->fn(h->ctx, what, why, wait_us);
}

static void fail(void *arg)
{
    struct rb_hook *h = arg;
    h->timer = 0;
    answer(h, RB_HOOK_FAILED, h->why, -1);
}

static void fail_soon(struct rb_hook *h, const char *why)
{
    snprintf(h->why, sizeof h->why, "%.290s", why);
    h->timer = h->config.loop->timer_start(h->config.loop->ctx, 0, fail, h);
}

// ---- webhooks

bool rb_hook_sign(const char *secret, const char *id, int64_t timestamp_s, const char *body, char out[static 64],
                  struct rb_err *err)
{
    static const char prefix[] = "whsec_";
    const bool is_encoded = strncmp(secret, prefix, sizeof prefix - 1) == 0;
    const char *text = is_encoded ? secret + sizeof prefix - 1 : secret;
    const size_t n = strlen(text);
    RB_AUTO(rb_buf_finish) struct rb_buf content = RB_BUF_INIT;
    uint8_t mac[32], *key = rb_xcalloc(n + 1, 1);
    int len = (int)n;
    if (is_encoded)
        len = rb_base64_decode(text, n, key);
    else
        memcpy(key, text, n);
    if (len > 0) {
        rb_buf_printf(&content, "%s.%" PRId64 ".%s", id, timestamp_s, body);
        rb_digest_hmac_sha256(key, (size_t)len, rb_buf_str(&content), content.len, mac);
        memcpy(out, "v1,", 3);
        rb_base64_encode(mac, sizeof mac, out + 3);
    }
    explicit_bzero(key, n + 1);
    free(key);
    return len > 0 || rb_err_set(err, RB_E_HOOK_SECRET, "the secret is no whsec_ and base64 of at least one byte");
}

// What the network says may name the host, which is part of a secret address.
static const char *network_error(const struct rb_hook *h, const char *error)
{
    const char *variable = rb_hook_url_variable(h->config.spec), *url = variable ? getenv(variable) : NULL;
    const char *host = url ? strstr(url, "://") : NULL;
    RB_AUTO(rb_buf_finish) struct rb_buf name = RB_BUF_INIT;
    if (host)
        rb_buf_append(&name, host + 3, strcspn(host + 3, ":/?#"));
    if (!error)
        return "no answer";
    return name.len && strstr(error, rb_buf_str(&name)) ? "its server cannot be reached" : error;
}

static void responded(void *arg, const struct rb_http_response *r)
{
    struct rb_hook *h = arg;
    char why[300];
    if (r->status == 0)
        snprintf(why, sizeof why, "%.280s", network_error(h, r->transport_error));
    else
        snprintf(why, sizeof why, "status %ld", r->status);
    if (r->status >= 200 && r->status < 300)
        answer(h, RB_HOOK_TAKEN, "", -1);
    else
        answer(h, r->status == 410 ? RB_HOOK_GONE : RB_HOOK_FAILED, why,
               rb_http_retry_after_us(r, h->config.loop->unix_us(h->config.loop->ctx)));
}

static bool find_value(const char *name, const char **out, struct rb_err *err)
{
    *out = getenv(name);
    return (*out && (*out)[0]) || rb_err_set(err, RB_E_HOOK_SECRET, "the environment has no %s", name);
}

static bool post(struct rb_hook *h, const char *id, const char *body, struct rb_err *err)
{
    const struct rb_hook_spec *spec = h->config.spec;
    const int64_t now_s = h->config.loop->unix_us(h->config.loop->ctx) / RB_US_PER_S;
    const char *url = spec->target, *secret = NULL, *variable = rb_hook_url_variable(spec);
    char id_line[200], time_line[64], signature_line[96] = "webhook-signature: ", *signature = strchr(signature_line, 0);
    const char *const headers[] = {"Content-Type: application/json", id_line, time_line, signature_line};
    if ((variable && !find_value(variable, &url, err)) || (spec->secret && !find_value(spec->secret, &secret, err)) ||
        (secret && !rb_hook_sign(secret, id, now_s, body, signature, err)))
        return false;
    snprintf(id_line, sizeof id_line, "webhook-id: %s", id);
    snprintf(time_line, sizeof time_line, "webhook-timestamp: %" PRId64, now_s);
    const struct rb_http_request request = {.method = "POST",
                                            .url = url,
                                            .headers = headers,
                                            .n_headers = secret ? 4 : 3,
                                            .body = body,
                                            .body_len = strlen(body)};
    struct rb_err why;
    if (rb_http_send(h->config.http, &request, responded, h, &why))
        return true;
    return rb_err_set(err, rb_err_number(&why), "%s",
                      variable ? "the address in the environment is not one that may be used: https://, or http:// to "
                                 "this machine"
                               : why.message);
}

static bool post_form(struct rb_hook *h, const char *id, const char *body, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    if (!h->config.spec->is_slack)
        return post(h, id, body, err);
    rb_notice_to_slack(body, &text);
    return post(h, id, rb_buf_str(&text), err);
}

// ---- programs

static void exited(void *arg, int code, const char *stderr_tail)
{
    struct rb_hook *h = arg;
    char why[300];
    snprintf(why, sizeof why, "exit code %d%s%.200s", code, stderr_tail[0] ? ": " : "", stderr_tail);
    answer(h, code == 0 ? RB_HOOK_TAKEN : RB_HOOK_FAILED, code == 0 ? "" : why, -1);
}

static void take_too_long(void *arg)
{
    struct rb_hook *h = arg;
    char why[64];
    h->timer = 0;
    rb_process_abandon(h->process);
    snprintf(why, sizeof why, "killed after %d s", RB_HOOK_COMMAND_S);
    answer(h, RB_HOOK_FAILED, why, -1);
}

static bool start(struct rb_hook *h, const char *const *argv, char *const *env, const char *cwd,
                  const struct rb_buf *input, struct rb_err *err)
{
    struct rb_process_options o = rb_process_defaults();
    o.argv = argv;
    o.env = env;
    o.cwd = cwd;
    o.input = rb_buf_str(input);
    o.input_len = input->len;
    o.own_session = true;
    o.exited = exited;
    o.arg = h;
    if (!rb_process_spawn(h->config.loop, &o, &h->process, err))
        return false;
    h->timer = h->config.loop->timer_start(h->config.loop->ctx, RB_HOOK_COMMAND_S * RB_US_PER_S, take_too_long, h);
    return true;
}

// Commands see neither the job's secrets nor those of hooks.
static char **command_env(const struct rb_hook *h, const char *kind, struct rb_arena *arena)
{
    const struct rb_string_list hidden = rb_job_hidden_variables(h->config.job, arena);
    char **base = rb_child_command_env(hidden.items, hidden.n, arena);
    size_t n_base = 0;
    while (base[n_base])
        n_base++;
    char **env = rb_arena_array(arena, n_base + 3, sizeof *env);
    memcpy(env, base, n_base * sizeof *env);
    env[n_base] = (char *)rb_arena_printf(arena, "RB_EVENT=%s", kind);
    env[n_base + 1] = (char *)rb_arena_printf(arena, "RB_RUN_ID=%s", h->config.run_id);
    return env;
}

static bool run_command(struct rb_hook *h, const char *kind, const char *body, struct rb_err *err)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    RB_AUTO(rb_buf_finish) struct rb_buf line = RB_BUF_INIT;
    const char *const argv[] = {"sh", "-c", h->config.spec->target, NULL};
    rb_buf_printf(&line, "%s\n", body);
    return start(h, argv, command_env(h, kind, &arena), h->config.workdir, &line, err);
}

// It is often in a folder that a user's PATH lacks.
static bool send_mail(struct rb_hook *h, const char *body, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf mail = RB_BUF_INIT;
    const char *argv[] = {"sendmail", "-t", "-i", NULL};
    rb_notice_to_mail(body, h->config.spec->target, &mail);
    if (start(h, argv, NULL, NULL, &mail, err))
        return true;
    argv[0] = "/usr/sbin/sendmail";
    return start(h, argv, NULL, NULL, &mail, err);
}

void rb_hook_send(struct rb_hook *h, const char *id, const char *kind, const char *body, rb_hook_fn *fn, void *ctx)
{
    struct rb_err err;
    bool ok = false;
    h->fn = fn;
    h->ctx = ctx;
    switch (h->config.spec->kind) {
    case RB_HOOK_WEBHOOK:
        ok = post_form(h, id, body, &err);
        break;
    case RB_HOOK_COMMAND:
        ok = run_command(h, kind, body, &err);
        break;
    case RB_HOOK_EMAIL:
        ok = send_mail(h, body, &err);
        break;
    }
    if (!ok)
        fail_soon(h, err.message);
}
