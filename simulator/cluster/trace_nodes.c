#include "simulator/cluster/trace_nodes.h"

#include "base/text/units.h"

#include <assert.h>
#include <stdlib.h>

static struct rb_trace_lease *add_lease(struct rb_trace_nodes *t, int node)
{
    if (t->n_leases == t->leases_cap) {
        t->leases_cap = t->leases_cap ? 2 * t->leases_cap : 64;
        t->leases = rb_xrealloc(t->leases, (size_t)t->leases_cap, sizeof *t->leases);
    }
    t->lease[node] = t->n_leases;
    t->n_owned++;
    t->leases[t->n_leases] = (struct rb_trace_lease){.node = node, .ended_us = -1};
    return &t->leases[t->n_leases++];
}

void rb_trace_nodes_init(struct rb_trace_nodes *t, int n, int gpus_per_node, int n_owned,
                         const struct rb_trace_provisioning *provisioning)
{
    *t = (struct rb_trace_nodes){
        .n = n,
        .gpus_per_node = gpus_per_node,
        .gpus = rb_xcalloc((size_t)n, sizeof *t->gpus),
        .lease = rb_xcalloc((size_t)n, sizeof *t->lease),
        .provisioning = *provisioning,
    };
    for (int node = 0; node < n; node++)
        t->lease[node] = -1;
    for (int node = 0; node < n_owned; node++) {
        add_lease(t, node);
        t->gpus[node] = gpus_per_node;
    }
}

void rb_trace_nodes_finish(struct rb_trace_nodes *t)
{
    free(t->gpus);
    free(t->lease);
    free(t->leases);
    *t = (struct rb_trace_nodes){0};
}

static int64_t draw_us(const struct rb_trace_nodes *t, enum rb_purpose purpose, const struct rb_dist *delay_s)
{
    struct rb_stream stream;
    rb_stream_init(&stream, &(struct rb_stream_key){
                                .seed = t->provisioning.seed, .purpose = purpose, .index = (uint32_t)t->n_leases});
    return rb_us_from_seconds(rb_dist_draw(delay_s, &stream));
}

void rb_trace_nodes_request(struct rb_trace_nodes *t, int64_t now_us)
{
    assert(t->n_owned < t->n);
    int node = 0;
    while (t->lease[node] >= 0)
        node++;
    const int64_t running_us = now_us + draw_us(t, RB_DRAW_QUEUE, &t->provisioning.queue_s);
    const int64_t ready_us = running_us + draw_us(t, RB_DRAW_INIT, &t->provisioning.init_s);
    struct rb_trace_lease *l = add_lease(t, node);
    l->requested_us = now_us;
    l->running_us = running_us;
    l->ready_us = ready_us;
}

void rb_trace_nodes_release(struct rb_trace_nodes *t, int node, int64_t now_us)
{
    assert(t->lease[node] >= 0);
    t->leases[t->lease[node]].ended_us = now_us;
    t->lease[node] = -1;
    t->gpus[node] = 0;
    t->n_owned--;
}

void rb_trace_nodes_release_all(struct rb_trace_nodes *t, int64_t now_us)
{
    for (int node = 0; node < t->n; node++) {
        if (t->lease[node] >= 0)
            rb_trace_nodes_release(t, node, now_us);
    }
}

static bool is_arriving(const struct rb_trace_nodes *t, int node)
{
    return t->lease[node] >= 0 && t->gpus[node] == 0;
}

int64_t rb_trace_nodes_next_us(const struct rb_trace_nodes *t)
{
    int64_t next_us = INT64_MAX;
    for (int node = 0; node < t->n; node++) {
        if (is_arriving(t, node) && t->leases[t->lease[node]].ready_us < next_us)
            next_us = t->leases[t->lease[node]].ready_us;
    }
    return next_us;
}

bool rb_trace_nodes_arrive(struct rb_trace_nodes *t, int64_t now_us)
{
    bool any = false;
    for (int node = 0; node < t->n; node++) {
        if (!is_arriving(t, node) || t->leases[t->lease[node]].ready_us > now_us)
            continue;
        t->gpus[node] = t->gpus_per_node;
        any = true;
    }
    return any;
}
