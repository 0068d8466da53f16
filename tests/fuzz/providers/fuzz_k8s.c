// Any bytes as an answer of an API server, and as what comes over a WebSocket: refused, or values that are safe to act upon.
#include "providers/k8s/k8s_decode.h"
#include "providers/k8s/k8s_errors.h"
#include "providers/k8s/websocket.h"

#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

static void require(bool holds)
{
    if (!holds)
        abort();
}

// Names become parts of URLs and of command lines.
static void check_pod(const struct rb_kube_pod *p)
{
    char name[64], uid[64];
    const struct rb_instance *i = &p->instance;
    require(rb_kube_split_id(i->id, name, uid) && rb_kube_split_id(i->address ? i->address : i->id, name, uid));
    require(p->has_second || (strcmp(name, p->name) == 0 && strcmp(uid, p->uid) == 0));
    require(!i->address || (i->address[0] != '-' && !strpbrk(i->address, " /'\"$`\\;|&<>\n")));
    require(!p->group || !strchr(p->group, '/'));
    require(i->state >= RB_INSTANCE_PENDING && i->state <= RB_INSTANCE_TERMINATED);
    require(i->terminated_at_us == -1 || i->state == RB_INSTANCE_TERMINATED);
    require(!i->fault || i->fault->code == RB_ERR_INVALID);
}

static void check_answer(const struct rb_node *answer)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_kube_leases leases = {0};
    struct rb_kube_pods pods = {0};
    struct rb_err err = {0};
    const char *next;
    char at[200];
    rb_kube_decode_leases(answer, &arena, &leases, &next, &err);
    bool listed = true; // as Jobs, then as their pods
    for (int as = RB_KUBERNETES_AS_JOB; as >= RB_KUBERNETES_AS_POD; as--)
        listed &= rb_kube_decode_nodes((enum rb_kubernetes_as)as, answer, "lab", &leases, &arena, &pods, &next, &err);
    rb_kube_join_jobs(&pods);
    if (listed)
        for (int i = 0; i < pods.n; i++)
            check_pod(&pods.items[i]);
    require(!rb_kube_find_dropped(answer, answer, at, sizeof at)); // nothing is missing in itself
}

static void count(void *arg, enum rb_ws_opcode opcode, const uint8_t *bytes, size_t n)
{
    size_t *total = arg;
    (void)opcode;
    for (size_t i = 0; i < n; i++)
        *total += 1 + (bytes[i] & 0); // every byte can be read
}

// Cut in the middle it is the same.
static void check_frames(const uint8_t *data, size_t n)
{
    struct rb_ws_reader whole = {0}, halves = {0};
    size_t a = 0, b = 0;
    const bool ok = rb_ws_read(&whole, data, n, count, &a, NULL);
    const bool cut = rb_ws_read(&halves, data, n / 2, count, &b, NULL) &&
                     rb_ws_read(&halves, data + n / 2, n - n / 2, count, &b, NULL);
    require(ok == cut && (!ok || a == b) && a <= n);
    rb_ws_reader_finish(&whole);
    rb_ws_reader_finish(&halves);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const struct rb_ws_opening opening = {.target = "/", .host = "h", .protocols = "p"};
    struct rb_doc doc = {0};
    struct rb_err err = {0};
    char protocol[32];
    size_t head = 0;
    long refused;
    for (long status = 400; status <= 503; status += 103)
        rb_kube_judge(status, (const char *)data, n, &err);
    require(err.code != RB_ERR_NONE);
    if (rb_doc_parse_json(&doc, "answer", (const char *)data, n, NULL))
        check_answer(doc.root);
    rb_doc_finish(&doc);
    check_frames(data, n);
    if (rb_ws_read_answer(&opening, (const char *)data, n, &head, protocol, &refused, &err) == RB_WS_OPEN)
        require(head <= n);
    return 0;
}
