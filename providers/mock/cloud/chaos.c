// When a rule strikes. A rule counts the calls that match its `where` within its window, whether it strikes or not, so
// that "every third launch" means the same with and without other rules.
#include "providers/mock/cloud/chaos.h"
#include "base/stream.h"

#include <string.h>

#define DRAW_STAGE 64 // beyond those of cloud_state.h

void rb_chaos_init(struct rb_chaos *c, const struct rb_chaos_rules *rules, uint64_t seed, int64_t epoch_us,
                   struct rb_arena *arena)
{
    *c = (struct rb_chaos){.rules = *rules, .seed = seed, .epoch_us = epoch_us};
    c->counts = rb_arena_array(arena, (size_t)rules->n + 1, sizeof *c->counts);
}

static bool is_same(const char *wanted, const char *got)
{
    return !wanted || (got && strcmp(wanted, got) == 0);
}

static bool matches(const struct rb_chaos_rule *r, const struct rb_chaos_subject *s, int64_t age_us)
{
    return age_us >= r->after_us && age_us < r->until_us && is_same(r->front, s->front) &&
           is_same(r->action, s->action) && is_same(r->region, s->region) && is_same(r->zone, s->zone) &&
           is_same(r->instance_type, s->instance_type) && (!r->has_market || (s->has_market && s->market == r->market));
}

static bool strikes(struct rb_chaos *c, int k)
{
    const struct rb_chaos_rule *r = &c->rules.rules[k];
    int64_t seen = ++c->counts[k].seen;
    if (seen < r->call || (seen - r->call) % r->every != 0 || c->counts[k].fired == r->times)
        return false;
    struct rb_stream s;
    rb_stream_init(&s, &(struct rb_stream_key){.seed = c->seed,
                                               .purpose = RB_DRAW_MOCK,
                                               .stage = DRAW_STAGE,
                                               .index = (uint32_t)k,
                                               .replicate = (uint32_t)seen});
    if (rb_stream_uniform(&s) >= r->probability)
        return false;
    c->counts[k].fired++;
    return true;
}

static void judge(struct rb_chaos *c, const struct rb_chaos_subject *s, int64_t now_us, enum rb_chaos_fault first,
                  enum rb_chaos_fault end, struct rb_chaos_verdict *out)
{
    *out = (struct rb_chaos_verdict){0};
    for (int k = 0; k < c->rules.n; k++) {
        const struct rb_chaos_rule *r = &c->rules.rules[k];
        if (r->fault < first || r->fault >= end || !matches(r, s, now_us - c->epoch_us) || !strikes(c, k))
            continue;
        if (!out->by[r->fault])
            out->by[r->fault] = r;
    }
}

void rb_chaos_request(struct rb_chaos *c, const struct rb_chaos_subject *s, int64_t now_us,
                      struct rb_chaos_verdict *out)
{
    judge(c, s, now_us, RB_CHAOS_CLOCK_SKEW, RB_CHAOS_FAILS_TO_START, out);
}

void rb_chaos_instance(struct rb_chaos *c, const struct rb_chaos_subject *s, int64_t now_us,
                       struct rb_chaos_verdict *out)
{
    judge(c, s, now_us, RB_CHAOS_FAILS_TO_START, RB_CHAOS_N_FAULTS, out);
}
