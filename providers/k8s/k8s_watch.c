// Watches the pods of a run, so that a change wakes the next listing. Nothing is read from the changes, which may be old,
// missing or of another server: only that there are some. So a watch begins without a version, with what there is, and one
// that ends begins again: what happened in between wakes, too.
// Source: "Efficient detection of changes" in the API concepts of Kubernetes.
#include "providers/k8s/k8s_verbs.h"
#include "providers/wire/http.h"
#include "providers/wire/percent.h"

#include <stdlib.h>
#include <string.h>

enum { WATCH_S = 300 };                                  // the server ends it then, as it would by itself
static const int64_t silence_us = 180 * RB_US_PER_S;     // bookmarks come every minute
static const int64_t pause_us = 5 * RB_US_PER_S;         // as long as between two listings
static const char bookmark[] = "{\"type\":\"BOOKMARK\""; // a sign of life

struct rb_kube_watch {
    struct rb_kube *k;
    struct rb_buf target;
    char line[sizeof bookmark - 1]; // the beginning of the present one
    size_t n_line;
    uint64_t timer; // 0: none
    rb_loop_fn *wake;
    void *arg;
};

static void begin(void *arg);

static void begin_later(struct rb_kube_watch *w)
{
    w->timer = w->k->loop->timer_start(w->k->loop->ctx, pause_us, begin, w);
}

static void heard(void *arg, const char *bytes, size_t n)
{
    struct rb_kube_watch *w = arg;
    bool woken = false;
    for (size_t i = 0; i < n; i++) {
        if (bytes[i] == '\n')
            w->n_line = 0;
        else if (w->n_line < sizeof w->line)
            w->line[w->n_line++] = bytes[i];
        else
            continue;
        woken |= w->n_line == sizeof w->line && memcmp(w->line, bookmark, sizeof w->line) != 0;
    }
    if (woken)
        w->wake(w->arg);
}

// We have no right to it, or the server no such thing: runs do without.
static bool is_final(long status)
{
    return status == 403 || status == 404 || status == 405;
}

static void ended(void *arg, const struct rb_http_response *response)
{
    struct rb_kube_watch *w = arg;
    if (response->status == 401)
        rb_kube_login_forget(w->k->login);
    if (!is_final(response->status))
        begin_later(w);
}

static void begin(void *arg)
{
    struct rb_kube_watch *w = arg;
    const char *token;
    w->timer = 0;
    w->n_line = 0;
    if (!rb_kube_login_get(w->k->login, &token, NULL)) {
        begin_later(w);
        return;
    }
    RB_AUTO(rb_buf_finish) struct rb_buf url = RB_BUF_INIT;
    RB_AUTO(rb_buf_finish) struct rb_buf header = RB_BUF_INIT;
    rb_buf_printf(&url, "%s%s", w->k->config.server, rb_buf_str(&w->target));
    rb_buf_printf(&header, "Authorization: Bearer %s", token ? token : "");
    const char *const headers[] = {header.data};
    const struct rb_http_request request = {.method = "GET",
                                            .url = rb_buf_str(&url),
                                            .headers = headers,
                                            .n_headers = token ? 1 : 0,
                                            .timeout_us = silence_us,
                                            .peer = rb_kube_login_peer(w->k->login),
                                            .heard = heard};
    if (!rb_http_send(w->k->http, &request, ended, w, NULL))
        begin_later(w);
    explicit_bzero(header.data, header.len);
}

void rb_kube_watch(struct rb_provider *p, const char *run_id, rb_loop_fn *wake, void *arg)
{
    struct rb_kube *k = p->state;
    char label[64];
    if (k->watch)
        return;
    struct rb_kube_watch *w = k->watch = rb_xcalloc(1, sizeof *w);
    w->k = k;
    w->wake = wake;
    w->arg = arg;
    rb_kube_label(run_id, label);
    RB_AUTO(rb_buf_finish) struct rb_buf selector = RB_BUF_INIT;
    rb_buf_printf(&selector, "rb.run-id=%s", label);
    rb_percent_put(&w->target, RB_KUBE_PODS "?watch=true&labelSelector=%s&allowWatchBookmarks=true&timeoutSeconds=%d",
                   k->config.namespace, rb_buf_str(&selector), WATCH_S);
    w->timer = k->loop->timer_start(k->loop->ctx, 0, begin, w); // never from inside the call
}

void rb_kube_watch_end(struct rb_kube *k)
{
    struct rb_kube_watch *w = k->watch;
    if (!w)
        return;
    if (w->timer)
        k->loop->timer_cancel(k->loop->ctx, w->timer);
    rb_http_cancel(k->http, w);
    rb_buf_finish(&w->target);
    free(w);
    k->watch = NULL;
}
