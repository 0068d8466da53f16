// Keeps trials in the order of their scores, and finds the place of each: a treap by (score, id) with the sizes of its
// subtrees, so that a report costs O(log n) of n running trials. It is deterministic: the priorities are a hash of the id.
#ifndef RB_ENGINE_STANDINGS_H
#define RB_ENGINE_STANDINGS_H

#include <stdbool.h>
#include <stdint.h>

// All zero is empty. Members are standings.c's own.
struct rb_standings {
    struct rb_standing {
        double score;
        int left, right;   // ids, -1: none
        int size;          // of the subtree; 0: the trial is not in it
    } *trials;             // by id
    int n_trials;
    int root1;             // id + 1 of the root, 0: empty
};

void rb_standings_finish(struct rb_standings *s);
// Adds a trial that is not in it. score is not NaN.
void rb_standings_add(struct rb_standings *s, int trial, double score);
void rb_standings_remove(struct rb_standings *s, int trial); // no-op if it is not in it
bool rb_standings_has(const struct rb_standings *s, int trial);
int rb_standings_count(const struct rb_standings *s);
int rb_standings_place(const struct rb_standings *s, int trial); // 0: the best, ties by id; the trial must be in it
int rb_standings_at(const struct rb_standings *s, int place);    // the trial there, place < count

#endif
