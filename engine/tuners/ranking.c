#include "engine/tuners/ranking.h"

#include "base/arena.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

// ---- heaps

static bool comes_before(const struct rb_score_heap *h, struct rb_scored a, struct rb_scored b)
{
    const int order = rb_score_compare(a.score, a.trial, b.score, b.trial);
    return h->worst_first ? order > 0 : order < 0;
}

void rb_score_heap_push(struct rb_score_heap *h, struct rb_scored s)
{
    if (h->n == h->cap) {
        h->cap = h->cap ? 2 * h->cap : 16;
        h->items = rb_xrealloc(h->items, (size_t)h->cap, sizeof *h->items);
    }
    int i = h->n++;
    for (; i > 0 && comes_before(h, s, h->items[(i - 1) / 2]); i = (i - 1) / 2)
        h->items[i] = h->items[(i - 1) / 2];
    h->items[i] = s;
}

struct rb_scored rb_score_heap_pop(struct rb_score_heap *h)
{
    assert(h->n > 0);
    const struct rb_scored first = h->items[0], last = h->items[--h->n];
    int i = 0;
    for (int child; (child = 2 * i + 1) < h->n; i = child) {
        if (child + 1 < h->n && comes_before(h, h->items[child + 1], h->items[child]))
            child++;
        if (!comes_before(h, h->items[child], last))
            break;
        h->items[i] = h->items[child];
    }
    h->items[i] = last;
    return first;
}

void rb_score_heap_finish(struct rb_score_heap *h)
{
    free(h->items);
    *h = (struct rb_score_heap){.worst_first = h->worst_first};
}

// ---- the best few and the rest

void rb_ranking_init(struct rb_ranking *r)
{
    *r = (struct rb_ranking){.best = {.worst_first = true}};
}

void rb_ranking_finish(struct rb_ranking *r)
{
    rb_score_heap_finish(&r->best);
    rb_score_heap_finish(&r->rest);
}

int rb_ranking_count(const struct rb_ranking *r)
{
    return r->best.n + r->rest.n;
}

// Through both heaps: the worst of the best leaves, and the best of the rest joins.
void rb_ranking_add(struct rb_ranking *r, struct rb_scored s, int n_best)
{
    assert(n_best >= r->best.n && n_best <= r->best.n + 1 && n_best <= rb_ranking_count(r) + 1);
    const bool grows = n_best > r->best.n;
    rb_score_heap_push(&r->best, s);
    rb_score_heap_push(&r->rest, rb_score_heap_pop(&r->best));
    if (grows)
        rb_score_heap_push(&r->best, rb_score_heap_pop(&r->rest));
}

// Replaces its entry: the heap is rebuilt, which is fine because failures are rare.
static bool replace(struct rb_score_heap *h, int trial, struct rb_scored with)
{
    int at = 0;
    while (at < h->n && h->items[at].trial != trial)
        at++;
    if (at == h->n)
        return false;
    h->items[at] = with;
    const int n = h->n;
    for (h->n = 0; h->n < n;)
        rb_score_heap_push(h, h->items[h->n]);
    return true;
}

void rb_ranking_sink(struct rb_ranking *r, int trial)
{
    const struct rb_scored worst = {-INFINITY, trial};
    if (replace(&r->rest, trial, worst) || !replace(&r->best, trial, worst))
        return;
    rb_score_heap_push(&r->rest, rb_score_heap_pop(&r->best)); // it, or one that sank before
    rb_score_heap_push(&r->best, rb_score_heap_pop(&r->rest));
}

bool rb_ranking_has_among_best(const struct rb_ranking *r, struct rb_scored s)
{
    return r->best.n > 0 && rb_score_compare(s.score, s.trial, r->best.items[0].score, r->best.items[0].trial) <= 0;
}

bool rb_ranking_reaches_best(const struct rb_ranking *r, double score)
{
    return r->best.n > 0 && score >= r->best.items[0].score;
}
