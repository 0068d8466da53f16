// Keeps scores in the order that a rung needs: heaps, and a growing set of results split into the best few and the rest.
// Order: rb_score_compare. Every operation is O(log n) but the amortised growth of memory.
#ifndef RB_ENGINE_TUNERS_RANKING_H
#define RB_ENGINE_TUNERS_RANKING_H

#include "engine/core/tuner.h"

struct rb_scored {
    double score;
    int trial;
};

// items[0] comes first. All zero: empty, best first.
struct rb_score_heap {
    struct rb_scored *items;
    int n, cap;
    bool worst_first;
};

void rb_score_heap_push(struct rb_score_heap *h, struct rb_scored s);
struct rb_scored rb_score_heap_pop(struct rb_score_heap *h); // h must not be empty
void rb_score_heap_finish(struct rb_score_heap *h);

// All zero is not a ranking: rb_ranking_init.
struct rb_ranking {
    struct rb_score_heap best; // worst first: its head is the last of the best
    struct rb_score_heap rest; // best first
};

void rb_ranking_init(struct rb_ranking *r);
void rb_ranking_finish(struct rb_ranking *r);
int rb_ranking_count(const struct rb_ranking *r);
// n_best: the number of best ones from now on; never fewer than before, at most one more, and at most all.
void rb_ranking_add(struct rb_ranking *r, struct rb_scored s, int n_best);
// The result of an added trial becomes the worst possible, -INFINITY; the number of best ones stays. O(n log n).
void rb_ranking_sink(struct rb_ranking *r, int trial);
// Is `s`, which was added, among the best?
bool rb_ranking_has_among_best(const struct rb_ranking *r, struct rb_scored s);
// Is `score` as good as the last of the best? False if there are none.
bool rb_ranking_reaches_best(const struct rb_ranking *r, double score);

#endif
