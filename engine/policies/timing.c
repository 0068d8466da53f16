#include "engine/policies/timing.h"

#include "base/arena.h"

#include <stdlib.h>

void rb_timing_init(struct rb_timing *t)
{
    *t = (struct rb_timing){0};
    rb_ranking_init(&t->setups);
    rb_ranking_init(&t->units);
}

void rb_timing_finish(struct rb_timing *t)
{
    rb_ranking_finish(&t->setups);
    rb_ranking_finish(&t->units);
    free(t->trials);
}

static struct rb_seen_trial *reserve(struct rb_timing *t, int trial)
{
    if (trial >= t->n_trials) {
        const int n = trial >= 2 * t->n_trials ? trial + 1 : 2 * t->n_trials;
        t->trials = rb_xrealloc(t->trials, (size_t)n, sizeof *t->trials);
        for (; t->n_trials < n; t->n_trials++)
            t->trials[t->n_trials] = (struct rb_seen_trial){.attempt = -1};
    }
    return &t->trials[trial];
}

// Keeps the value that one in `share` exceeds at the head of the best: ceil(n / share) of them.
static void add(struct rb_ranking *r, int64_t us, int share)
{
    const int n = rb_ranking_count(r);
    rb_ranking_add(r, (struct rb_scored){.score = (double)us, .trial = n}, (n + share) / share);
}

static int64_t head(const struct rb_ranking *r, int64_t none)
{
    return rb_ranking_count(r) > 0 ? (int64_t)r->best.items[0].score : none;
}

static void begin(struct rb_seen_trial *seen, const struct rb_trial *now)
{
    seen->attempt = now->attempt;
    seen->stage = now->stage;
    seen->reported_us = now->started_us;
    seen->first_us = -1;
    seen->n_since_start = 0;
}

// The first report of a start ends a setup and a unit at once; the second shows how long the unit was.
static void split(struct rb_timing *t, struct rb_seen_trial *seen, int64_t unit_us)
{
    if (seen->first_us >= 0)
        add(&t->setups, seen->first_us > unit_us ? seen->first_us - unit_us : 0, 10);
    seen->first_us = -1;
}

bool rb_timing_see(struct rb_timing *t, const struct rb_engine *e, int trial, double speedup)
{
    const struct rb_trial *now = rb_engine_trial(e, trial);
    struct rb_seen_trial *seen = reserve(t, trial);
    if (now->state != RB_TRIAL_RUNNING)
        return false;
    if (seen->attempt != now->attempt || seen->stage != now->stage)
        begin(seen, now);
    const int64_t took_us = rb_engine_now_us(e) - seen->reported_us;
    if (seen->n_since_start > 0) {
        const int64_t unit_us = took_us / (now->resource - seen->resource);
        split(t, seen, unit_us);
        add(&t->units, (int64_t)((double)unit_us * speedup), 2);
    } else {
        seen->first_us = took_us;
    }
    seen->n_since_start++;
    seen->resource = now->resource;
    seen->reported_us = rb_engine_now_us(e);
    seen->total_us += took_us;
    t->longest_us = seen->total_us > t->longest_us ? seen->total_us : t->longest_us;
    return true;
}

const struct rb_seen_trial *rb_timing_of(const struct rb_timing *t, int trial)
{
    return &t->trials[trial];
}

int64_t rb_timing_startup_us(const struct rb_timing *t)
{
    return head(&t->setups, 0);
}

int64_t rb_timing_unit_us(const struct rb_timing *t)
{
    return head(&t->units, -1);
}
