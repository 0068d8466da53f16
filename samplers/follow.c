#include "samplers/follow.h"

#include "engine/plan/plan.h"
#include "samplers/facts.h"

#include <math.h>
#include <stdlib.h>

struct rb_follower {
    const struct rb_plan *plan;
    struct rb_search *search;
    struct rb_facts *facts;
    struct rb_suggester suggester;
};

static void take(void *ctx, const struct rb_fact *fact)
{
    struct rb_follower *f = ctx;
    switch (fact->kind) {
    case RB_FACT_BEGAN:
        rb_search_began(f->search, fact->trial, fact->values, fact->next_resource);
        break;
    case RB_FACT_REPORTED:
        rb_search_reported(f->search, fact->trial, fact->resource, fact->score,
                           fact->seconds > 0 ? fact->seconds / (double)fact->resource : NAN);
        break;
    case RB_FACT_CHANGED:
        rb_search_changed(f->search, fact->trial, fact->state, fact->next_resource);
        break;
    }
}

static void saw(void *ctx, const struct rb_engine *e, const struct rb_event *event, const struct rb_actions *actions)
{
    struct rb_follower *f = ctx;
    rb_facts_take(f->facts, e, event, actions, take, f);
}

void rb_suggested_event(const struct rb_space *space, int trial, const struct rb_value *values, const char *origin,
                        const char *because, struct rb_arena *arena, struct rb_event *out)
{
    struct rb_named_value *named = rb_arena_array(arena, (size_t)space->n_params + 1, sizeof *named);
    int n = 0;
    for (int i = 0; i < space->n_params; i++)
        if (values[i].kind != RB_VALUE_ABSENT)
            named[n++] = (struct rb_named_value){space->params[i].name, values[i]};
    *out = (struct rb_event){.kind = RB_EVENT_SUGGESTED,
                             .trial = trial,
                             .values = named,
                             .n_values = n,
                             .origin = origin,
                             .because = because && *because ? because : NULL};
}

static bool suggest(void *ctx, const struct rb_engine *e, int trial, int64_t resource, struct rb_arena *arena,
                    struct rb_event *out)
{
    const struct rb_follower *f = ctx;
    const int64_t budget_uusd = f->plan->job->budget_uusd;
    const struct rb_ask ask = {.trial = trial,
                               .parent = rb_engine_trial(e, trial)->parent,
                               .resource = resource,
                               .budget = budget_uusd > 0 ? (double)budget_uusd / 1e6 : 0,
                               .spent = rb_facts_dollars(f->facts)};
    struct rb_suggestion s;
    rb_search_suggest(f->search, &ask, arena, &s);
    rb_suggested_event(&f->plan->job->space, trial, s.values, s.origin, s.reason, arena, out);
    return true;
}

bool rb_follower_create(const struct rb_plan *plan, struct rb_follower **out, struct rb_err *err)
{
    struct rb_search *search;
    if (!rb_search_create(plan->job, &search, err))
        return false;
    struct rb_follower *f = rb_xcalloc(1, sizeof *f);
    f->plan = plan;
    f->search = search;
    f->facts = rb_facts_create(plan);
    f->suggester = (struct rb_suggester){.ctx = f, .saw = saw, .suggest = suggest};
    *out = f;
    return true;
}

void rb_follower_destroy(struct rb_follower *f)
{
    if (!f)
        return;
    rb_search_destroy(f->search);
    rb_facts_destroy(f->facts);
    free(f);
}

void rb_follower_recall(struct rb_follower *f, const struct rb_earlier *earlier)
{
    if (earlier)
        rb_search_recall(f->search, earlier->results, earlier->n);
}

const struct rb_suggester *rb_follower_suggester(const struct rb_follower *f)
{
    return &f->suggester;
}
