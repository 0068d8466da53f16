#include "asha_oracle.h"

#include <math.h>
#include <stdlib.h>

static int s_max_of(const struct rb_scheduler *s)
{
    int i = 0;
    while ((double)s->min_resource * pow(s->eta, i + 1) <= (double)s->max_resource)
        i++;
    return i;
}

void oracle_init(struct oracle *o, const struct rb_scheduler *s)
{
    *o = (struct oracle){.s = *s};
    int64_t level = s->min_resource;
    for (; level < s->max_resource; level *= s->eta)
        o->levels[o->n_levels++] = level;
    o->levels[o->n_levels++] = s->max_resource;
    // Pausing at r eta^s_max and again at R is one pause too many: that rung is trained to R at once.
    if (s->rule == RB_RULE_PROMOTE && o->n_levels > s_max_of(s) + 1)
        o->levels[--o->n_levels - 1] = s->max_resource;
}

// ---- results

struct entry {
    double score;
    int trial;
};

static int best_first(const void *pa, const void *pb)
{
    const struct entry *a = pa, *b = pb;
    if (a->score > b->score || a->score < b->score)
        return a->score > b->score ? -1 : 1;
    return a->trial - b->trial;
}

static bool has_result(const struct oracle_trial *t, int bracket, int level)
{
    return t->bracket == bracket && level >= bracket && level < bracket + t->n_rungs;
}

static int sorted_results(const struct oracle *o, int bracket, int level, struct entry out[ORACLE_TRIALS])
{
    int n = 0;
    for (int i = 0; i < o->n_trials; i++)
        if (has_result(&o->trials[i], bracket, level))
            out[n++] = (struct entry){o->trials[i].score[level], i};
    qsort(out, (size_t)n, sizeof *out, best_first);
    return n;
}

// numpy.percentile(results, (1 - 1/eta) * 100); -INFINITY: nothing to compare with.
static double percentile(const struct oracle *o, int bracket, int level)
{
    struct entry e[ORACLE_TRIALS];
    const int n = sorted_results(o, bracket, level, e);
    if (n < 2)
        return -INFINITY;
    const int64_t at = (int64_t)(n - 1) * (o->s.eta - 1);
    const int below = (int)(at / o->s.eta);
    const double fraction = (double)(at % o->s.eta) / o->s.eta;
    const double low = e[n - 1 - below].score, high = fraction > 0 ? e[n - 2 - below].score : low;
    if (!(low > -INFINITY)) // between nothing and a number: nothing is not enough
        return fraction > 0 ? high : low;
    return low + (high - low) * fraction;
}

// ---- choosing

// The trial that may go on from this rung, -1: none.
static int candidate(const struct oracle *o, int bracket, int level)
{
    struct entry e[ORACLE_TRIALS];
    const int n = sorted_results(o, bracket, level, e);
    const double cutoff = percentile(o, bracket, level);
    for (int i = 0; i < n; i++) {
        const struct oracle_trial *t = &o->trials[e[i].trial];
        const bool good = o->s.rule == RB_RULE_PROMOTE ? i < n / o->s.eta : e[i].score >= cutoff;
        if (good && t->paused && t->waits_at == level)
            return e[i].trial;
    }
    return -1;
}

static int best_midway(const struct oracle *o)
{
    int best = -1;
    for (int i = 0; i < o->n_trials; i++)
        if (o->trials[i].paused && o->trials[i].waits_at < 0 &&
            (best < 0 || o->trials[i].paused_score > o->trials[best].paused_score))
            best = i;
    return best;
}

static int bracket_of_next(const struct oracle *o)
{
    const int s_max = s_max_of(&o->s);
    int64_t weight[ORACLE_LEVELS], given[ORACLE_LEVELS] = {0}, sum = 0;
    int best = 0;
    for (int b = 0; b < o->s.brackets; b++) {
        const int s = s_max - b;
        weight[b] = (int64_t)ceil((s_max + 1) * pow(o->s.eta, s) / (s + 1));
        sum += weight[b];
    }
    for (int i = 0; i < o->n_trials; i++)
        given[o->trials[i].bracket]++;
    for (int b = 1; b < o->s.brackets; b++)
        if (weight[b] * (o->n_trials + 1) - sum * given[b] > weight[best] * (o->n_trials + 1) - sum * given[best])
            best = b;
    return best;
}

static int choose(struct oracle *o)
{
    if (o->closed_all)
        return -1;
    if (best_midway(o) >= 0)
        return best_midway(o);
    for (int level = o->n_levels - 2; level >= 0; level--)
        for (int b = 0; b < o->s.brackets; b++)
            if (candidate(o, b, level) >= 0)
                return candidate(o, b, level);
    if (o->closed_new || o->n_trials == o->s.num_trials)
        return -1;
    o->trials[o->n_trials].bracket = bracket_of_next(o);
    return o->n_trials++;
}

static bool anybody_trains(const struct oracle *o)
{
    for (int i = 0; i < o->n_trials; i++)
        if (o->trials[i].live)
            return true;
    return false;
}

static int level_of(const struct oracle_trial *t)
{
    return t->bracket + t->n_rungs;
}

enum rb_tuner_next oracle_next(struct oracle *o, struct oracle_group *out)
{
    const int id = choose(o);
    if (id < 0)
        return anybody_trains(o) ? RB_TUNER_WAIT : RB_TUNER_DONE;
    struct oracle_trial *t = &o->trials[id];
    t->live = true;
    t->paused = t->asked_to_pause = false;
    const int64_t end = o->levels[o->s.rule == RB_RULE_PROMOTE ? level_of(t) : o->n_levels - 1];
    *out = (struct oracle_group){.trial = id, .stage = level_of(t), .start = t->resource, .end = end};
    return RB_TUNER_GROUP;
}

// ---- hearing

static bool is_below(const struct oracle *o, const struct oracle_trial *t, int level)
{
    return t->score[level] < percentile(o, t->bracket, level);
}

static int record(struct oracle *o, struct oracle_trial *t, int64_t resource, double score)
{
    int n_new = 0;
    for (; level_of(t) < o->n_levels - 1 && resource >= o->levels[level_of(t)]; n_new++) {
        t->score[level_of(t)] = score;
        t->n_rungs++;
    }
    return n_new;
}

enum rb_verdict oracle_reported(struct oracle *o, int trial, int64_t resource, double score)
{
    if (trial >= o->n_trials || !o->trials[trial].live || o->s.rule == RB_RULE_PROMOTE)
        return RB_VERDICT_CONTINUE;
    struct oracle_trial *t = &o->trials[trial];
    if (t->asked_to_pause)
        return RB_VERDICT_PAUSE;
    const int n_new = record(o, t, resource, score);
    const bool stops = o->s.rule == RB_RULE_STOP;
    bool below = false;
    for (int level = level_of(t) - (stops ? n_new : t->n_rungs); level < level_of(t); level++)
        below = below || is_below(o, t, level);
    if ((stops && below) || (n_new > 0 && !(score > -INFINITY))) {
        t->live = false;
        return RB_VERDICT_STOP;
    }
    t->asked_to_pause = below;
    return below ? RB_VERDICT_PAUSE : RB_VERDICT_CONTINUE;
}

static int waiting_place(const struct oracle *o, const struct oracle_trial *t)
{
    const int reached = level_of(t) - 1;
    if (t->n_rungs == 0 || o->s.rule == RB_RULE_STOP ||
        (o->s.rule == RB_RULE_PROMOTE && t->resource != o->levels[reached]))
        return -1;
    for (int level = reached; o->s.rule == RB_RULE_SPECULATE && level >= t->bracket; level--)
        if (is_below(o, t, level))
            return level;
    return reached;
}

void oracle_report(struct oracle *o, int trial, int64_t resource, double score)
{
    if (trial >= o->n_trials || !o->trials[trial].live)
        return;
    struct oracle_trial *t = &o->trials[trial];
    t->live = false;
    if (!(score > -INFINITY)) {
        if (level_of(t) < o->n_levels - 1)
            record(o, t, o->levels[level_of(t)], -INFINITY);
        return;
    }
    record(o, t, resource, score);
    t->paused = resource < o->s.max_resource;
    t->resource = resource;
    t->paused_score = score;
    t->waits_at = waiting_place(o, t);
}

void oracle_close(struct oracle *o, enum rb_tuner_close what)
{
    o->closed_new = true;
    if (what == RB_CLOSE_ALL)
        o->closed_all = true;
}

int oracle_phase(const struct oracle *o)
{
    int lowest = o->n_levels - 1;
    if (!o->closed_new && o->n_trials < o->s.num_trials)
        return 0;
    for (int i = 0; i < o->n_trials; i++) {
        const struct oracle_trial *t = &o->trials[i];
        const bool goes_on = !o->closed_all && t->paused && t->waits_at < 0;
        if ((t->live || goes_on) && level_of(t) < lowest)
            lowest = level_of(t);
    }
    for (int b = 0; b < o->s.brackets && !o->closed_all; b++)
        for (int level = 0; level < lowest; level++)
            if (level + 1 < lowest && candidate(o, b, level) >= 0)
                lowest = level + 1;
    return lowest;
}
