// Asynchronous successive halving: no trial waits for a rung to fill; a trial that reaches a rung is compared with
// those that reached it before. Three rules decide when a trial gives way to others.
// Source: Li et al., "A system for massively parallel hyperparameter tuning", MLSys'20, algorithm 2 (promote); Liaw et al.,
// "HyperSched", SoCC'19 (speculate). `stop` makes the comparison of speculate once a rung, and means it.
//
// A percentile of the results needs no interpolation here: only results are compared with it, and a result reaches the
// (1 - 1/eta) percentile of n exactly where it reaches the ceil(n/eta)-th best of them.
// A trial that diverged counts, at the rung towards which it trained, as a result below all others: rungs then have the
// sizes of successive halving. It never trains again.
//
// A failed trial has the worst result at the rung it came from (a new one: at its first), so that the next best there
// is promoted in its place. If there is none, it is promoted in name only: it has the worst result at the next rung
// too, and so on, so that failed trials do not prevent promotions of the others.
#include "engine/tuners/asha.h"

#include "base/arena.h"
#include "engine/tuners/brackets.h"
#include "engine/tuners/ranking.h"
#include "engine/tuners/tuners.h"

#include <math.h>
#include <stdlib.h>

enum trial_state { TRIAL_TRAINS, TRIAL_GIVES_WAY, TRIAL_PAUSED, TRIAL_ENDED };

struct trial {
    int bracket;
    int level;        // the level towards which it trains: it has a result at every lower rung of its bracket
    int64_t resource; // where it was paused
    enum trial_state state;
    bool failed;
};

// The results at one level of one bracket, and the paused trials that may continue from there.
struct rung {
    struct rb_ranking results;
    struct rb_score_heap waiting;
};

struct asha {
    enum rb_rule rule;
    int eta;
    int max_trials;
    int cap; // the highest level that trials are promoted to
    struct rb_levels levels;
    struct rb_bracket_shares shares;
    struct rung *rungs;            // [brackets * levels]
    struct rb_score_heap midway;   // paused on the way to their next rung: already chosen, so they continue first
    int n_midway[RB_LIMIT_STAGES]; // by level
    int n_live[RB_LIMIT_STAGES];   // trials that train, by level
    int n_live_total;
    struct trial *trials;
    double *scores; // [trials * levels], at each rung
    int n_trials, trials_cap;
    int n_failed;
    bool closed_new, closed_all;
    int handed; // the target of a group's pointer
};

static struct rung *rung_at(const struct asha *a, int bracket, int level)
{
    return &a->rungs[bracket * a->levels.n + level];
}

static double *score_at(const struct asha *a, int trial, int level)
{
    return &a->scores[(size_t)trial * (size_t)a->levels.n + (size_t)level];
}

static int last_level(const struct asha *a)
{
    return a->levels.n - 1;
}

// The levels that its brackets share, with the number of trials that would reach each if all num_trials were started
// and none was promoted too early.
static bool asha_stages(const struct rb_job *job, struct rb_rung_table *out, struct rb_err *err)
{
    (void)err;
    const struct rb_scheduler *s = &job->scheduler;
    struct rb_bracket_shares shares;
    rb_bracket_shares_init(&shares, s);
    for (int i = 0; i < s->num_trials; i++)
        rb_bracket_shares_next(&shares);
    rb_levels_shared(s, shares.given, out);
    return true;
}

static bool asha_overlaps(const struct rb_scheduler *s)
{
    (void)s;
    return true;
}

static bool asha_create(const struct rb_job *job, void **out_state, struct rb_err *err)
{
    (void)err;
    const struct rb_scheduler *s = &job->scheduler;
    struct asha *a = rb_xcalloc(1, sizeof *a);
    a->rule = s->rule;
    a->eta = s->eta;
    a->max_trials = s->num_trials;
    rb_levels_of(s, &a->levels);
    a->cap = last_level(a);
    rb_bracket_shares_init(&a->shares, s);
    const int n_rungs = a->shares.n * a->levels.n;
    a->rungs = rb_xcalloc((size_t)n_rungs, sizeof *a->rungs);
    for (int i = 0; i < n_rungs; i++)
        rb_ranking_init(&a->rungs[i].results);
    *out_state = a;
    return true;
}

static void asha_destroy(void *state)
{
    struct asha *a = state;
    if (!a)
        return;
    for (int i = 0; i < a->shares.n * a->levels.n; i++) {
        rb_ranking_finish(&a->rungs[i].results);
        rb_score_heap_finish(&a->rungs[i].waiting);
    }
    rb_score_heap_finish(&a->midway);
    free(a->rungs);
    free(a->trials);
    free(a->scores);
    free(a);
}

// ---- results

// The best floor(n/eta) are promoted; the best ceil(n/eta) and their equals reach the percentile.
static int count_best(const struct asha *a, int n)
{
    return a->rule == RB_RULE_PROMOTE ? n / a->eta : (n + a->eta - 1) / a->eta;
}

// The result of a trial at the rung it trains to.
static void record(struct asha *a, int id, double score)
{
    struct trial *t = &a->trials[id];
    struct rb_ranking *results = &rung_at(a, t->bracket, t->level)->results;
    rb_ranking_add(results, (struct rb_scored){score, id}, count_best(a, rb_ranking_count(results) + 1));
    *score_at(a, id, t->level) = score;
    t->level++;
}

// A failed trial among the best of a rung, without a result at the next; -1: none.
static int failed_among_best(const struct asha *a, const struct rung *r, int level)
{
    for (int i = 0; i < r->results.best.n; i++) {
        const int id = r->results.best.items[i].trial;
        if (a->trials[id].failed && a->trials[id].level == level + 1)
            return id;
    }
    return -1;
}

// Failed trials keep their places if no other trial can take them.
static void pass_failed(struct asha *a, int bracket)
{
    if (a->n_failed == 0 || a->rule != RB_RULE_PROMOTE)
        return;
    for (int level = bracket, id; level + 1 < last_level(a); level++)
        while ((id = failed_among_best(a, rung_at(a, bracket, level), level)) >= 0)
            record(a, id, -INFINITY);
}

// The first score at or beyond a rung is the result there. Trials are not compared at R.
static void record_passed(struct asha *a, int id, int64_t resource, double score)
{
    struct trial *t = &a->trials[id];
    while (t->level < last_level(a) && resource >= a->levels.resource[t->level])
        record(a, id, score);
    pass_failed(a, t->bracket);
}

static bool reaches_percentile(const struct asha *a, int id, int level)
{
    return rb_ranking_reaches_best(&rung_at(a, a->trials[id].bracket, level)->results, *score_at(a, id, level));
}

// The highest rung from `low` on where the trial's result is below the present percentile, -1: none.
static int highest_below(const struct asha *a, int id, int low)
{
    for (int level = a->trials[id].level - 1; level >= low; level--)
        if (!reaches_percentile(a, id, level))
            return level;
    return -1;
}

// ---- trials

static void enter(struct asha *a, int id)
{
    a->trials[id].state = TRIAL_TRAINS;
    a->n_live[a->trials[id].level]++;
    a->n_live_total++;
}

static void leave(struct asha *a, int id, enum trial_state state)
{
    a->trials[id].state = state;
    a->n_live[a->trials[id].level]--;
    a->n_live_total--;
}

static int new_trial(struct asha *a)
{
    if (a->n_trials == a->trials_cap) {
        a->trials_cap = a->trials_cap ? 2 * a->trials_cap : 64;
        a->trials = rb_xrealloc(a->trials, (size_t)a->trials_cap, sizeof *a->trials);
        a->scores = rb_xrealloc(a->scores, (size_t)a->trials_cap * (size_t)a->levels.n, sizeof *a->scores);
    }
    const int bracket = rb_bracket_shares_next(&a->shares);
    a->trials[a->n_trials] = (struct trial){.bracket = bracket, .level = bracket};
    return a->n_trials++;
}

// The rung at which a paused trial waits: under `promote` the one it has reached; under `speculate` the one where it is
// below the percentile, or if there is none (a policy paused it) likewise. -1: on the way to its next rung.
static int waiting_level(const struct asha *a, int id)
{
    const struct trial *t = &a->trials[id];
    const int reached = t->level - 1;
    if (reached < t->bracket || a->rule == RB_RULE_STOP)
        return -1;
    if (a->rule == RB_RULE_PROMOTE)
        return t->resource == a->levels.resource[reached] ? reached : -1;
    const int below = highest_below(a, id, t->bracket);
    return below >= 0 ? below : reached;
}

static void wait_to_go_on(struct asha *a, int id, double score)
{
    const struct trial *t = &a->trials[id];
    const int level = waiting_level(a, id);
    if (level < 0) {
        a->n_midway[t->level]++;
        rb_score_heap_push(&a->midway, (struct rb_scored){score, id});
    } else {
        rb_score_heap_push(&rung_at(a, t->bracket, level)->waiting, (struct rb_scored){*score_at(a, id, level), id});
    }
}

static bool may_go_on(const struct asha *a, const struct rung *r)
{
    if (r->waiting.n == 0)
        return false;
    const struct rb_scored first = r->waiting.items[0];
    return a->rule == RB_RULE_PROMOTE ? rb_ranking_has_among_best(&r->results, first)
                                      : rb_ranking_reaches_best(&r->results, first.score);
}

// The rung of that level whose best may continue; equal brackets: the first.
static struct rung *promotable(const struct asha *a, int level)
{
    if (level >= a->cap)
        return NULL;
    for (int b = 0; b < a->shares.n && b <= level; b++)
        if (may_go_on(a, rung_at(a, b, level)))
            return rung_at(a, b, level);
    return NULL;
}

static bool may_begin_new(const struct asha *a)
{
    return !a->closed_new && a->n_trials < a->max_trials;
}

// ---- the interface

// -1: none.
static int choose(struct asha *a)
{
    if (a->closed_all)
        return -1;
    if (a->midway.n > 0) {
        const int id = rb_score_heap_pop(&a->midway).trial;
        a->n_midway[a->trials[id].level]--;
        return id;
    }
    for (int level = last_level(a) - 1; level >= 0; level--) {
        struct rung *r = promotable(a, level);
        if (r)
            return rb_score_heap_pop(&r->waiting).trial;
    }
    return may_begin_new(a) ? new_trial(a) : -1;
}

static enum rb_tuner_next asha_next(void *state, struct rb_group *out)
{
    struct asha *a = state;
    const int id = choose(a);
    if (id < 0)
        return a->n_live_total > 0 ? RB_TUNER_WAIT : RB_TUNER_DONE;
    enter(a, id);
    a->handed = id;
    const struct trial *t = &a->trials[id];
    *out = (struct rb_group){
        .stage = t->level,
        .trials = &a->handed,
        .n_trials = 1,
        .resource_start = t->resource,
        .resource_end = a->levels.resource[a->rule == RB_RULE_PROMOTE ? t->level : last_level(a)],
    };
    return RB_TUNER_GROUP;
}

// Only trials that train towards a rung add results there: without any, a trial that cannot continue from there now
// never can.
static int asha_phase(const void *state)
{
    const struct asha *a = state;
    if (may_begin_new(a) && !a->closed_all)
        return 0;
    for (int level = 0; level < last_level(a); level++)
        if (a->n_live[level] > 0 ||
            (!a->closed_all && (a->n_midway[level] > 0 || (level > 0 && promotable(a, level - 1)))))
            return level;
    return last_level(a);
}

static struct trial *training(struct asha *a, int id)
{
    struct trial *t = id >= 0 && id < a->n_trials ? &a->trials[id] : NULL;
    return t && (t->state == TRIAL_TRAINS || t->state == TRIAL_GIVES_WAY) ? t : NULL;
}

// Records, and decides whether the trial continues. A trial that is judged although it diverged is stopped for good.
static enum rb_verdict judge(struct asha *a, int id, int64_t resource, double score)
{
    const struct trial *t = &a->trials[id];
    const int first_new = t->level;
    record_passed(a, id, resource, score);
    if (t->level > first_new && !(score > -INFINITY))
        return RB_VERDICT_STOP;
    if (a->rule == RB_RULE_STOP)
        return highest_below(a, id, first_new) < 0 ? RB_VERDICT_CONTINUE : RB_VERDICT_STOP;
    return highest_below(a, id, t->bracket) < 0 ? RB_VERDICT_CONTINUE : RB_VERDICT_PAUSE;
}

static enum rb_verdict asha_reported(void *state, int id, int64_t resource, double score)
{
    struct asha *a = state;
    struct trial *t = training(a, id);
    if (!t || a->rule == RB_RULE_PROMOTE)
        return RB_VERDICT_CONTINUE;
    if (t->state == TRIAL_GIVES_WAY)
        return RB_VERDICT_PAUSE;
    a->n_live[t->level]--;
    const enum rb_verdict verdict = judge(a, id, resource, score);
    a->n_live[t->level]++;
    if (verdict == RB_VERDICT_STOP)
        leave(a, id, TRIAL_ENDED);
    else if (verdict == RB_VERDICT_PAUSE)
        t->state = TRIAL_GIVES_WAY;
    return verdict;
}

static void asha_ended(void *state, int id, int64_t resource, double score)
{
    struct asha *a = state;
    struct trial *t = training(a, id);
    if (!t)
        return;
    leave(a, id, TRIAL_ENDED);
    if (!(score > -INFINITY)) {
        if (t->level < last_level(a))
            record(a, id, -INFINITY);
        pass_failed(a, t->bracket);
        return;
    }
    record_passed(a, id, resource, score);
    if (resource >= a->levels.resource[last_level(a)])
        return;
    t->state = TRIAL_PAUSED;
    t->resource = resource;
    wait_to_go_on(a, id, score);
}

// Under `stop` no waiting trial could take its place: it counts like one that diverged.
static void asha_failed(void *state, int id)
{
    struct asha *a = state;
    struct trial *t = training(a, id);
    if (!t || a->rule == RB_RULE_STOP) {
        asha_ended(state, id, 0, -INFINITY);
        return;
    }
    const bool promoted = t->level > t->bracket;
    leave(a, id, TRIAL_ENDED);
    t->failed = true;
    a->n_failed++;
    if (promoted) {
        rb_ranking_sink(&rung_at(a, t->bracket, t->level - 1)->results, id);
        *score_at(a, id, t->level - 1) = -INFINITY;
    }
    if (t->level < last_level(a) && (!promoted || a->rule == RB_RULE_SPECULATE))
        record(a, id, -INFINITY);
    pass_failed(a, t->bracket);
}

static void asha_close(void *state, enum rb_tuner_close what)
{
    struct asha *a = state;
    a->closed_new = true;
    a->closed_all = a->closed_all || what == RB_CLOSE_ALL;
}

void rb_asha_cap(void *asha_state, int level)
{
    struct asha *a = asha_state;
    a->cap = level;
}

const struct rb_tuner rb_tuner_asha = {
    .name = "asha",
    .on_demand = true,
    .stages = asha_stages,
    .overlaps = asha_overlaps,
    .create = asha_create,
    .destroy = asha_destroy,
    .next = asha_next,
    .phase = asha_phase,
    .reported = asha_reported,
    .ended = asha_ended,
    .failed = asha_failed,
    .close = asha_close,
};
