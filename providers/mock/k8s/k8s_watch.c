// Watches of pods: the changes after a version, as lines of JSON, until the time is over.
#include "providers/mock/k8s/k8s_call.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_TIMEOUT_S 1800
#define BOOKMARK_US       (60 * RB_US_PER_S)

struct watch {
    struct rb_mock_k8s *k;
    struct rb_arena arena; // of the selectors
    struct rb_k8s_selector labels, fields;
    uint64_t version; // changes up to here have been sent
    int64_t until_us, bookmark_us;
    bool has_bookmarks;
};

static void write_change(const char *type, const char *object, struct rb_buf *out)
{
    rb_buf_printf(out, "{\"type\":\"%s\",\"object\":%s}\n", type, object);
}

static bool is_wanted(const struct watch *w, const struct rb_k8s_pod *p)
{
    return rb_k8s_selector_holds(&w->labels, p, rb_k8s_pod_label) &&
           rb_k8s_selector_holds(&w->fields, p, rb_k8s_pod_field);
}

static void write_bookmark(struct watch *w, struct rb_buf *out)
{
    w->bookmark_us = w->k->advanced_us + BOOKMARK_US;
    rb_buf_printf(out,
                  "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":"
                  "{\"resourceVersion\":\"%llu\",\"creationTimestamp\":null},\"spec\":{\"containers\":null},"
                  "\"status\":{}}}\n",
                  (unsigned long long)w->version);
}

// Too old: the changes that came next have been forgotten.
static void write_expired(struct rb_buf *out)
{
    write_change("ERROR",
                 "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":"
                 "\"too old resource version\",\"reason\":\"Expired\",\"code\":410}",
                 out);
}

static bool more(void *arg, struct rb_buf *out)
{
    struct watch *w = arg;
    const struct rb_mock_k8s *k = w->k;
    if (w->version < k->forgotten) {
        write_expired(out);
        return false;
    }
    for (int i = 0; i < k->n_changes; i++)
        if (k->changes[i].version > w->version && is_wanted(w, k->changes[i].pod))
            write_change(k->changes[i].type, k->changes[i].object, out);
    w->version = k->version;
    if (w->has_bookmarks && k->advanced_us >= w->bookmark_us)
        write_bookmark(w, out);
    return k->advanced_us < w->until_us;
}

static void drop(void *arg)
{
    struct watch *w = arg;
    rb_arena_finish(&w->arena);
    free(w);
}

// Without a version a watch begins with what there is.
static void write_present(const struct watch *w, struct rb_buf *out)
{
    for (int i = 0; i < w->k->n_pods; i++) {
        const struct rb_k8s_pod *p = w->k->pods[i];
        if (p->is_gone || !is_wanted(w, p))
            continue;
        RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
        struct rb_json j;
        rb_json_init(&j, &text, false);
        rb_k8s_write_pod(p, w->k, false, &j);
        write_change("ADDED", text.data, out);
    }
}

static bool read_version(struct rb_k8s_call *call, uint64_t *out)
{
    const char *text = rb_k8s_query(call, "resourceVersion");
    char *end = NULL;
    *out = text ? strtoull(text, &end, 10) : 0;
    if (text && *end)
        return rb_k8s_refuse(call, 400, "BadRequest", "resourceVersion: Invalid value: \"%.60s\"", text);
    return true;
}

bool rb_k8s_pods_watch(struct rb_k8s_call *call)
{
    struct watch *w = rb_xcalloc(1, sizeof *w);
    int64_t timeout_s = DEFAULT_TIMEOUT_S;
    uint64_t version;
    w->k = call->k;
    w->has_bookmarks = rb_k8s_query_bool(call, "allowWatchBookmarks");
    rb_k8s_query(call, "watch");
    rb_k8s_query(call, "limit");
    rb_k8s_query(call, "resourceVersionMatch");
    rb_k8s_query(call, "sendInitialEvents");
    struct rb_arena *own = call->arena;
    call->arena = &w->arena; // the selectors outlive the call
    const bool ok = rb_k8s_read_selectors(call, &w->labels, &w->fields);
    call->arena = own;
    if (!ok || !read_version(call, &version) || !rb_k8s_query_int(call, "timeoutSeconds", &timeout_s) ||
        !rb_k8s_checked(call)) {
        drop(w);
        return false;
    }
    w->version = version ? version : call->k->version;
    w->until_us = call->now_us + timeout_s * RB_US_PER_S;
    w->bookmark_us = call->now_us + BOOKMARK_US;
    if (version == 0)
        write_present(w, &call->out->body);
    call->out->delivery = RB_EXCHANGE_FEED;
    call->out->feed = (struct rb_exchange_feed){more, drop, w};
    return true;
}
