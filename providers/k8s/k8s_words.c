// Source: reasons of the scheduler, the cluster autoscaler and the kubelet.
#include "providers/k8s/k8s_words.h"

#include "base/errors/log.h"
#include "base/text/table.h"
#include "providers/wire/percent.h"

#include <stdio.h>
#include <string.h>

enum { MAX_ASKED = 8, LOG_LINES = 5, LOG_BYTES = 2000 };
static const int64_t patience_us = RB_US_PER_S; // a pod that has waited for less needs no reason

static const char *const waiting_reasons[] = {
    "FailedScheduling", "NotTriggerScaleUp",      "FailedCreate",       "Failed",
    "FailedMount",      "FailedCreatePodSandBox", "FailedAttachVolume",
};

// After these nothing holds it up any more.
static const char *const moving_reasons[] = {"Pulling", "Pulled"};

static void ask_next(struct rb_kube_hearing *h);

static void ask(struct rb_kube_hearing *h, const char *name, const char *target, rb_api_decode_fn *decode,
                rb_api_done_fn *done)
{
    struct rb_api_call call = rb_api_call_new(name, 1, h, decode, done);
    rb_buf_puts(&call.target, target);
    h->n_asked++;
    h->text[0] = '\0';
    h->newest_us = 0;
    rb_kube_send(h->k, "GET", &call);
}

// --- why it waits

static int64_t instant_of(const struct rb_node *event)
{
    static const char *const keys[] = {"lastTimestamp", "eventTime", "firstTimestamp"};
    int64_t us;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (rb_parse_instant(rb_node_member_text(event, keys[i]), &us, NULL))
            return us;
    return 0;
}

static bool decode_events(void *arg, const char *body, size_t n, struct rb_err *err)
{
    struct rb_kube_hearing *h = arg;
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    if (!rb_doc_parse_json(&doc, "answer", body, n, err))
        return false;
    for (const struct rb_node *e = rb_node_first(rb_node_member(doc.root, "items")); e; e = e->next) {
        const char *reason = rb_node_member_text(e, "reason"), *message = rb_node_member_text(e, "message");
        const int64_t at_us = instant_of(e);
        char clean[300];
        const bool moves = RB_ROW_OF(moving_reasons, reason) != NULL;
        if ((!moves && !RB_ROW_OF(waiting_reasons, reason)) || at_us < h->newest_us)
            continue;
        h->newest_us = at_us;
        h->text[0] = '\0';
        if (moves)
            continue;
        rb_log_sanitise(message, strlen(message), clean, sizeof clean);
        snprintf(h->text, sizeof h->text, "%.30s: %s", reason, clean);
    }
    return true;
}

static void events_known(void *arg, const struct rb_err *err)
{
    struct rb_kube_hearing *h = arg;
    struct rb_kube_pod *pod = &h->pods.items[h->next++];
    h->k->no_events |= err && err->code == RB_ERR_DENIED;
    if (!err && h->text[0]) {
        pod->waits_for = rb_arena_strdup(&h->arena, h->text);
        pod->instance.state_reason = pod->waits_for;
    }
    ask_next(h);
}

static bool waits(const struct rb_kube_hearing *h, const struct rb_kube_pod *pod)
{
    const int64_t clock_us = rb_api_clock_us(h->k->api);
    return !h->k->no_events && pod->instance.state == RB_INSTANCE_PENDING && pod->created_us >= 0 && clock_us >= 0 &&
           clock_us - pod->created_us >= patience_us;
}

static void ask_events(struct rb_kube_hearing *h, const struct rb_kube_pod *pod)
{
    RB_AUTO(rb_buf_finish) struct rb_buf target = RB_BUF_INIT;
    const char *selector = rb_arena_printf(&h->arena, "involvedObject.uid=%s", pod->uid);
    rb_percent_put(&target, "/api/v1/namespaces/%s/events?fieldSelector=%s&limit=%d", h->k->config.namespace, selector,
                   RB_KUBE_PAGE);
    ask(h, "events.list", rb_buf_str(&target), decode_events, events_known);
    h->newest_us = pod->began_us + 1; // why it had no machine is over once it has one
}

// --- the last words of one that failed by itself

static struct rb_kube_last_words *last_words_of(const struct rb_kube *k, const char *uid)
{
    for (int i = 0; i < k->n_last_words; i++)
        if (strcmp(k->last_words[i].uid, uid) == 0)
            return &k->last_words[i];
    return NULL;
}

// Lines become parts of one line.
static bool decode_log(void *arg, const char *body, size_t n, struct rb_err *err)
{
    (void)err;
    struct rb_kube_hearing *h = arg;
    while (n > 0 && body[n - 1] == '\n')
        n--;
    rb_log_sanitise(body, n, h->text, sizeof h->text);
    for (size_t i = 0; h->text[i]; i++)
        if (body[i] == '\n')
            h->text[i] = '|';
    return true;
}

static void add_last_words(struct rb_kube_hearing *h, struct rb_kube_pod *pod, const char *text)
{
    if (text[0])
        pod->instance.state_reason =
            rb_arena_printf(&h->arena, "%s; its last words: %s",
                            pod->instance.state_reason ? pod->instance.state_reason : "its container has ended", text);
}

static void log_known(void *arg, const struct rb_err *err)
{
    struct rb_kube_hearing *h = arg;
    struct rb_kube *k = h->k;
    struct rb_kube_pod *pod = &h->pods.items[h->next++];
    k->no_logs |= err && err->code == RB_ERR_DENIED;
    k->last_words = rb_grow(k->last_words, k->n_last_words, sizeof *k->last_words);
    struct rb_kube_last_words *w = &k->last_words[k->n_last_words++];
    snprintf(w->uid, sizeof w->uid, "%s", pod->uid);
    snprintf(w->text, sizeof w->text, "%s", err ? "" : h->text);
    add_last_words(h, pod, w->text);
    ask_next(h);
}

static bool has_failed(const struct rb_kube_pod *pod)
{
    return pod->instance.state == RB_INSTANCE_TERMINATED && !pod->is_ending && pod->exit_code > 0;
}

static void ask_log(struct rb_kube_hearing *h, const struct rb_kube_pod *pod)
{
    RB_AUTO(rb_buf_finish) struct rb_buf target = RB_BUF_INIT;
    rb_percent_put(&target, RB_KUBE_PODS "/%s/log?container=%s&tailLines=%d&limitBytes=%d", h->k->config.namespace,
                   pod->name, RB_KUBE_CONTAINER, LOG_LINES, LOG_BYTES);
    ask(h, "pods.log", rb_buf_str(&target), decode_log, log_known);
}

// --- one pod after the other

static void ask_next(struct rb_kube_hearing *h)
{
    for (; h->next < h->pods.n && h->n_asked < MAX_ASKED; h->next++) {
        struct rb_kube_pod *pod = &h->pods.items[h->next];
        const struct rb_kube_last_words *known = has_failed(pod) ? last_words_of(h->k, pod->uid) : NULL;
        if (known) {
            add_last_words(h, pod, known->text);
        } else if (has_failed(pod) && !h->k->no_logs) {
            ask_log(h, pod);
            return;
        } else if (waits(h, pod)) {
            ask_events(h, pod);
            return;
        }
    }
    h->then(h);
}

void rb_kube_hear(struct rb_kube_hearing *h, void (*then)(void *state))
{
    h->next = h->n_asked = 0;
    h->then = then;
    ask_next(h);
}
