#include "replan_knows.h"

#include <stdlib.h>

struct knows {
    struct rb_reactor reactor; // first: the world knows no more of it
    struct rb_plan true_plan;
    struct rb_reactor *by[2];
    const bool *knows;
};

static void saw(struct rb_reactor *reactor, const struct rb_event *event)
{
    struct knows *k = (struct knows *)reactor;
    for (int i = 0; i < 2; i++)
        k->by[i]->saw(k->by[i], event);
}

static bool decide(struct rb_reactor *reactor, int64_t until_us, struct rb_event *out)
{
    struct knows *k = (struct knows *)reactor;
    struct rb_reactor *by = k->by[*k->knows];
    return by->decide(by, until_us, out);
}

static void destroy(struct rb_reactor *reactor)
{
    struct knows *k = (struct knows *)reactor;
    for (int i = 0; i < 2; i++)
        k->by[i]->destroy(k->by[i]);
    free(k);
}

struct rb_reactor *replan_knows_begin(const struct rb_plan *plan, const struct rb_profile *truth, const bool *knows,
                                      rb_rehearsal_look_fn *look, void *look_ctx)
{
    struct knows *k = rb_xcalloc(1, sizeof *k);
    *k = (struct knows){.reactor = {.saw = saw, .decide = decide, .destroy = destroy}, .true_plan = *plan, .knows = knows};
    k->true_plan.profile = truth;
    k->by[0] = rb_rehearsal_begin(plan);
    k->by[1] = rb_rehearsal_begin(&k->true_plan);
    for (int i = 0; i < 2; i++)
        rb_rehearsal_look(k->by[i], look, look_ctx);
    return &k->reactor;
}
