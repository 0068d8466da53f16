#include "engine/tuners/brackets.h"

#include "profiles/job/job_scheduler.h"

#include <assert.h>
#include <string.h>

static int64_t power(int64_t base, int exponent)
{
    int64_t p = 1;
    while (exponent-- > 0)
        p *= base;
    return p;
}

static int s_max_of(const struct rb_scheduler *s)
{
    return rb_scheduler_s_max(s->min_resource, s->max_resource, s->eta);
}

int64_t rb_bracket_min_resource(const struct rb_scheduler *s, int bracket)
{
    return s->min_resource * power(s->eta, bracket);
}

void rb_levels_of(const struct rb_scheduler *s, struct rb_levels *out)
{
    const int s_max = s_max_of(s);
    const bool past_rungs = strcmp(s->type, "asha") == 0 && s->rule != RB_RULE_PROMOTE;
    out->n = s_max + 1;
    for (int i = 0; i <= s_max; i++)
        out->resource[i] = rb_bracket_min_resource(s, i);
    if (past_rungs && out->resource[s_max] < s->max_resource)
        out->n++;
    assert(out->n <= RB_LIMIT_STAGES);
    out->resource[out->n - 1] = s->max_resource;
}

int64_t rb_bracket_trials(const struct rb_scheduler *s, int bracket)
{
    const int s_max = s_max_of(s), halvings = s_max - bracket;
    assert(bracket >= 0 && bracket <= s_max);
    return ((s_max + 1) * power(s->eta, halvings) + halvings) / (halvings + 1);
}

void rb_bracket_shares_init(struct rb_bracket_shares *b, const struct rb_scheduler *s)
{
    assert(s->brackets >= 1);
    *b = (struct rb_bracket_shares){.n = s->brackets};
    for (int i = 0; i < b->n; i++) {
        b->weight[i] = rb_bracket_trials(s, i);
        b->sum += b->weight[i];
    }
}

int rb_bracket_shares_next(struct rb_bracket_shares *b)
{
    int next = 0;
    int64_t furthest = INT64_MIN;
    b->n_given++;
    for (int i = 0; i < b->n; i++) {
        const int64_t behind = b->weight[i] * b->n_given - b->sum * b->given[i];
        if (behind > furthest) {
            furthest = behind;
            next = i;
        }
    }
    b->given[next]++;
    return next;
}

void rb_levels_shared(const struct rb_scheduler *s, const int64_t *n_trials, struct rb_rung_table *out)
{
    struct rb_levels levels;
    rb_levels_of(s, &levels);
    *out = (struct rb_rung_table){.n = levels.n};
    for (int i = 0; i < levels.n; i++) {
        out->rungs[i].resource_start = i > 0 ? levels.resource[i - 1] : 0;
        out->rungs[i].resource_end = levels.resource[i];
    }
    for (int b = 0; b < s->brackets; b++) {
        int64_t n = n_trials[b];
        for (int i = b; i < levels.n; i++, n /= s->eta)
            out->rungs[i].trials += (int)n;
    }
    for (int i = 0; i < levels.n; i++)
        if (out->rungs[i].trials == 0)
            out->rungs[i].trials = 1;
}
