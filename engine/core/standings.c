#include "engine/core/standings.h"

#include "base/arena.h"
#include "engine/core/tuner.h"

#include <assert.h>
#include <stdlib.h>

void rb_standings_finish(struct rb_standings *s)
{
    free(s->trials);
}

static void know_trial(struct rb_standings *s, int trial)
{
    if (trial < s->n_trials)
        return;
    const int n = trial >= 2 * s->n_trials ? trial + 1 : 2 * s->n_trials;
    s->trials = rb_xrealloc(s->trials, (size_t)n, sizeof *s->trials);
    for (; s->n_trials < n; s->n_trials++)
        s->trials[s->n_trials] = (struct rb_standing){.left = -1, .right = -1};
}

static int size_of(const struct rb_standings *s, int at)
{
    return at < 0 ? 0 : s->trials[at].size;
}

static void resize(struct rb_standings *s, int at)
{
    s->trials[at].size = 1 + size_of(s, s->trials[at].left) + size_of(s, s->trials[at].right);
}

// Mixes the id's bits (the finaliser of MurmurHash3, public domain): neighbouring ids get unrelated priorities.
static uint32_t priority(int trial)
{
    uint32_t h = (uint32_t)trial + 1;
    h = (h ^ (h >> 16)) * 0x85ebca6bU;
    h = (h ^ (h >> 13)) * 0xc2b2ae35U;
    return h ^ (h >> 16);
}

static bool stands_before(const struct rb_standings *s, int a, int b)
{
    return rb_score_compare(s->trials[a].score, a, s->trials[b].score, b) < 0;
}

// Splits the subtree: the trials before `trial`, and those after it.
static void split(struct rb_standings *s, int at, int trial, int *out_before, int *out_after)
{
    if (at < 0) {
        *out_before = *out_after = -1;
        return;
    }
    if (stands_before(s, at, trial)) {
        split(s, s->trials[at].right, trial, &s->trials[at].right, out_after);
        *out_before = at;
    } else {
        split(s, s->trials[at].left, trial, out_before, &s->trials[at].left);
        *out_after = at;
    }
    resize(s, at);
}

// All of `before` come before all of `after`.
static int join(struct rb_standings *s, int before, int after)
{
    if (before < 0 || after < 0)
        return before < 0 ? after : before;
    if (priority(before) > priority(after)) {
        s->trials[before].right = join(s, s->trials[before].right, after);
        resize(s, before);
        return before;
    }
    s->trials[after].left = join(s, before, s->trials[after].left);
    resize(s, after);
    return after;
}

static int insert(struct rb_standings *s, int at, int trial)
{
    if (at < 0 || priority(trial) > priority(at)) {
        split(s, at, trial, &s->trials[trial].left, &s->trials[trial].right);
        at = trial;
    } else if (stands_before(s, trial, at)) {
        s->trials[at].left = insert(s, s->trials[at].left, trial);
    } else {
        s->trials[at].right = insert(s, s->trials[at].right, trial);
    }
    resize(s, at);
    return at;
}

static int take_out(struct rb_standings *s, int at, int trial)
{
    if (at == trial)
        return join(s, s->trials[at].left, s->trials[at].right);
    if (stands_before(s, trial, at))
        s->trials[at].left = take_out(s, s->trials[at].left, trial);
    else
        s->trials[at].right = take_out(s, s->trials[at].right, trial);
    resize(s, at);
    return at;
}

void rb_standings_add(struct rb_standings *s, int trial, double score)
{
    know_trial(s, trial);
    assert(s->trials[trial].size == 0);
    s->trials[trial] = (struct rb_standing){.score = score, .left = -1, .right = -1, .size = 1};
    s->root1 = insert(s, s->root1 - 1, trial) + 1;
}

void rb_standings_remove(struct rb_standings *s, int trial)
{
    if (!rb_standings_has(s, trial))
        return;
    s->root1 = take_out(s, s->root1 - 1, trial) + 1;
    s->trials[trial].size = 0;
}

bool rb_standings_has(const struct rb_standings *s, int trial)
{
    return trial < s->n_trials && s->trials[trial].size > 0;
}

int rb_standings_count(const struct rb_standings *s)
{
    return size_of(s, s->root1 - 1);
}

int rb_standings_place(const struct rb_standings *s, int trial)
{
    int place = 0, at = s->root1 - 1;
    assert(rb_standings_has(s, trial));
    while (at != trial) {
        if (stands_before(s, trial, at)) {
            at = s->trials[at].left;
        } else {
            place += size_of(s, s->trials[at].left) + 1;
            at = s->trials[at].right;
        }
    }
    return place + size_of(s, s->trials[at].left);
}

int rb_standings_at(const struct rb_standings *s, int place)
{
    int at = s->root1 - 1;
    assert(place >= 0 && place < rb_standings_count(s));
    for (;;) {
        const int before = size_of(s, s->trials[at].left);
        if (place == before)
            return at;
        at = place < before ? s->trials[at].left : s->trials[at].right;
        place -= place < before ? 0 : before + 1;
    }
}
