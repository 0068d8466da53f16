#include "engine/sharing/place.h"

#include "base/arena.h"

#include <assert.h>
#include <stdlib.h>

void rb_free_gpus_init(struct rb_free_gpus *f, const struct rb_shared_cluster *cluster)
{
    *f = (struct rb_free_gpus){.n_nodes = cluster->n_nodes, .gpus = rb_xcalloc((size_t)cluster->n_nodes, sizeof(int))};
    for (int n = 0; n < cluster->n_nodes; n++) {
        f->gpus[n] = cluster->gpus[n];
        f->total += cluster->gpus[n];
    }
}

void rb_free_gpus_finish(struct rb_free_gpus *f)
{
    free(f->gpus);
    *f = (struct rb_free_gpus){0};
}

int rb_held_gpus(const struct rb_shared_job *job, int n_nodes)
{
    int held = 0;
    for (int n = 0; n < n_nodes; n++)
        held += job->held[n];
    return held;
}

static void take_from(struct rb_free_gpus *f, int node, int n, int *row)
{
    assert(n <= f->gpus[node]);
    row[node] += n;
    f->gpus[node] -= n;
    f->total -= n;
}

void rb_free_gpus_keep(struct rb_free_gpus *f, const struct rb_shared_job *job, int *row)
{
    for (int n = 0; n < f->n_nodes; n++)
        take_from(f, n, job->held[n], row);
}

static int freest(const struct rb_free_gpus *f)
{
    int best = 0;
    for (int n = 1; n < f->n_nodes; n++)
        best = f->gpus[n] > f->gpus[best] ? n : best;
    return best;
}

void rb_free_gpus_take(struct rb_free_gpus *f, int n, int *row)
{
    assert(n <= f->total);
    while (n > 0) {
        const int node = freest(f), taken = n < f->gpus[node] ? n : f->gpus[node];
        take_from(f, node, taken, row);
        n -= taken;
    }
}
