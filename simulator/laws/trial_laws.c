#include "simulator/laws/trial_laws.h"

#include "simulator/laws/trial_law.h"
#include "simulator/sampler/sampler_tables.h"

#include <stdlib.h>

// Part shared by trials at all speeds: the work of this many units at one second each.
struct work {
    struct work *next;
    const struct rb_profile *profile;
    int64_t units;
    struct rb_law law;
};

// Part that each trial adds.
struct overhead {
    struct overhead *next;
    const struct rb_profile *profile;
    struct rb_law law;
};

struct trial {
    struct trial *next;
    const struct work *work;
    double unit_s;
    struct rb_law law;
};

struct rb_trial_laws {
    struct work *works; // a plan has a law for each stage and speed: lists are short
    struct overhead *overheads;
    struct trial *trials;
    struct rb_sampler_tables *tables; // NULL: not computed yet
    struct rb_arena arena;
};

struct rb_trial_laws *rb_trial_laws_create(void)
{
    struct rb_trial_laws *laws = rb_xcalloc(1, sizeof *laws);
    rb_arena_init(&laws->arena);
    return laws;
}

void rb_trial_laws_destroy(struct rb_trial_laws *laws)
{
    if (!laws)
        return;
    rb_sampler_tables_destroy(laws->tables);
    rb_arena_finish(&laws->arena);
    free(laws);
}

static const struct work *find_work(struct rb_trial_laws *laws, const struct rb_profile *profile, int64_t units)
{
    struct work *w = laws->works;
    while (w && (w->profile != profile || w->units != units))
        w = w->next;
    if (!w) {
        w = rb_arena_alloc(&laws->arena, sizeof *w);
        *w = (struct work){laws->works, profile, units, rb_work_law(profile, units, &laws->arena)};
        laws->works = w;
    }
    return w;
}

static const struct rb_law *find_overhead(struct rb_trial_laws *laws, const struct rb_profile *profile)
{
    struct overhead *o = laws->overheads;
    while (o && o->profile != profile)
        o = o->next;
    if (!o) {
        o = rb_arena_alloc(&laws->arena, sizeof *o);
        *o = (struct overhead){laws->overheads, profile, rb_overhead_law(profile, &laws->arena)};
        laws->overheads = o;
    }
    return &o->law;
}

const struct rb_law *rb_trial_laws_get(struct rb_trial_laws *laws, const struct rb_profile *profile, int64_t units,
                                       double unit_s)
{
    const struct work *work = find_work(laws, profile, units);
    struct trial *t = laws->trials;
    while (t && (t->work != work || t->unit_s < unit_s || t->unit_s > unit_s))
        t = t->next;
    if (!t) {
        t = rb_arena_alloc(&laws->arena, sizeof *t);
        *t = (struct trial){laws->trials, work, unit_s,
                            rb_trial_law_of(&work->law, unit_s, find_overhead(laws, profile), &laws->arena)};
        laws->trials = t;
    }
    return &t->law;
}

struct rb_sampler_tables *rb_trial_laws_tables(struct rb_trial_laws *laws)
{
    if (!laws->tables)
        laws->tables = rb_sampler_tables_create(laws);
    return laws->tables;
}
