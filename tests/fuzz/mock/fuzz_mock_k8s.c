// Any bytes as requests to the mock's Kubernetes front, one after another, ten seconds apart: whatever is asked, the
// answer is JSON with a status that HTTP knows, refusals are Statuses, and no order is about a pod that is not in the
// ledger. A request is a line METHOD PATH[?QUERY] and a body, up to a line of three dashes. Pods that are started run
// until they are asked to end.
#include "fuzz.h"
#include "fuzz_request.h"

#include "base/document/doc.h"
#include "providers/mock/k8s/mock_k8s.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define EPOCH_US     INT64_C(1767225600000000)
#define MAX_REQUESTS 64

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void check_answer(struct rb_exchange_answer *a)
{
    struct rb_doc doc;
    require(a->status == 101 || a->status == 200 || a->status == 201 || (a->status >= 400 && a->status <= 599));
    if (a->delivery == RB_EXCHANGE_FEED) {
        a->feed.more(a->feed.arg, &a->body);
        a->feed.drop(a->feed.arg);
    } else if (a->status != 101 && strcmp(a->content_type, "application/json") == 0) {
        require(rb_doc_parse_json(&doc, "answer", rb_buf_str(&a->body), a->body.len, NULL));
        require(a->status < 400 || strcmp(rb_node_member_text(doc.root, "kind"), "Status") == 0);
        rb_doc_finish(&doc);
    }
    free(a->session);
    rb_buf_finish(&a->body);
    rb_buf_finish(&a->headers);
}

static void ask(struct rb_mock_k8s *k, char *text, int64_t now_us)
{
    static const struct rb_sigv4_header headers[] = {{"Authorization", "Bearer test"},
                                                     {"Upgrade", "websocket"},
                                                     {"Sec-WebSocket-Version", "13"},
                                                     {"Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="},
                                                     {"Sec-WebSocket-Protocol", "v5.channel.k8s.io"},
                                                     {"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}};
    struct rb_exchange_request r = {.headers = headers, .n_headers = 5 + (int)(now_us / RB_US_PER_S / 10 % 2)}; // every second one
    if (!fuzz_read_request(text, &r))
        return;
    struct rb_exchange_answer a = {0};
    rb_mock_k8s_answer(k, &r, now_us, &a);
    check_answer(&a);
}

static void run(struct rb_mock_k8s *k, const struct rb_cloud *cloud, int64_t now_us)
{
    struct rb_k8s_order o;
    while (rb_mock_k8s_next_order(k, &o)) {
        struct rb_pod_report r = {.what = RB_POD_STARTED};
        require(rb_cloud_find(cloud, o.uid) != NULL);
        strcpy(r.id, o.uid);
        if (o.what == RB_K8S_START)
            require(o.start.argv[0] && o.start.workdir);
        if (o.what == RB_K8S_SIGNAL && o.signal_number == SIGSTOP)
            continue;
        if (o.what == RB_K8S_SIGNAL)
            r.what = RB_POD_EXITED;
        if (o.what != RB_K8S_VANISH)
            rb_mock_k8s_report(k, &r, now_us);
    }
}

static const char *const granted[] = {"create jobs", "get jobs", "list jobs", "delete jobs", NULL};

static void print_log(void *arg, const char *id, struct rb_buf *out)
{
    (void)arg;
    rb_buf_printf(out, "%s\xff\x01 printed\nthis\n", id);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct rb_arena arena;
    struct rb_cloud_config config;
    rb_arena_init(&arena);
    require(rb_cloud_config_default(&arena, &config, NULL));
    config.seed = 1;
    config.epoch_us = EPOCH_US;
    config.kubernetes.queue = "lq";
    config.kubernetes.queue_gpus = 8;
    config.kubernetes.granted = granted;
    struct rb_cloud *cloud = rb_cloud_create(&config);
    struct rb_mock_k8s *k = rb_mock_k8s_create(cloud, "test");
    rb_mock_k8s_set_log(k, print_log, NULL);
    char *text = rb_arena_strndup(&arena, (const char *)bytes, n);
    int n_requests = 0;
    for (char *at = text; at && n_requests < MAX_REQUESTS; n_requests++) {
        const int64_t now_us = EPOCH_US + n_requests * 10 * RB_US_PER_S;
        char *next = fuzz_cut_request(at);
        ask(k, at, now_us);
        run(k, cloud, now_us);
        at = next;
    }
    rb_mock_k8s_destroy(k);
    rb_cloud_destroy(cloud);
    rb_arena_finish(&arena);
    return 0;
}
