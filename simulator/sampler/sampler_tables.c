#include "simulator/sampler/sampler_tables.h"

#include "simulator/laws/trial_law.h"
#include "simulator/laws/trial_laws.h"

#include <math.h>
#include <stdlib.h>

struct entry {
    struct entry *next;
    const void *of; // the distribution, or the profile of a trial
    int64_t units;  // of a trial; 0: a distribution
    double unit_s;
    double error; // of a trial: P(time <= t) is off by at most this, its atoms included
    struct rb_sampler_table table;
};

struct rb_sampler_tables {
    struct rb_trial_laws *times;
    struct entry *entries; // a plan has a stage or two for each size: few
};

struct rb_sampler_tables *rb_sampler_tables_create(struct rb_trial_laws *times)
{
    struct rb_sampler_tables *tables = rb_xcalloc(1, sizeof *tables);
    tables->times = times;
    return tables;
}

void rb_sampler_tables_destroy(struct rb_sampler_tables *tables)
{
    while (tables && tables->entries) {
        struct entry *first = tables->entries;
        tables->entries = first->next;
        free(first);
    }
    free(tables);
}

static struct entry *find(const struct rb_sampler_tables *tables, const void *of, int64_t units, double unit_s)
{
    struct entry *e = tables->entries;
    while (e && (e->of != of || e->units != units || e->unit_s < unit_s || e->unit_s > unit_s))
        e = e->next;
    return e;
}

static struct entry *add(struct rb_sampler_tables *tables, const void *of, int64_t units, double unit_s)
{
    struct entry *e = rb_xcalloc(1, sizeof *e);
    e->next = tables->entries;
    e->of = of;
    e->units = units;
    e->unit_s = unit_s;
    tables->entries = e;
    return e;
}

// ---- filling

static double dist_quantile(const void *ctx, double u)
{
    return rb_dist_quantile(ctx, u);
}

static double law_quantile(const void *ctx, double u)
{
    struct rb_law_reader *const *reader = ctx;
    return rb_law_read_quantile(*reader, u);
}

static void fill_by_law(struct rb_sampler_table *table, const struct rb_law *law)
{
    struct rb_law_reader reader = rb_law_read_from(law, 0), *const asked = &reader;
    rb_sampler_table_fill(table, law_quantile, &asked);
}

// Only `between` varies: the law of a trial is that distribution on another scale, and no grid comes between.
struct scaled_dist {
    const struct rb_dist *between;
    double fixed_s, factor;
};

static double scaled_quantile(const void *ctx, double u)
{
    const struct scaled_dist *scaled = ctx;
    return scaled->fixed_s + scaled->factor * rb_dist_quantile(scaled->between, u);
}

// Returns what its distribution function is off by. An atom counts as an error: bills round up to seconds, and only whole
// microseconds say to which second a life belongs.
static double fill_trial(struct rb_sampler_tables *tables, const struct rb_profile *profile, int64_t units,
                         double unit_s, struct rb_sampler_table *table)
{
    const bool is_scaled = profile->startup_s.kind == RB_DIST_CONSTANT &&
                           profile->checkpoint_s.kind == RB_DIST_CONSTANT && profile->within.kind == RB_DIST_CONSTANT;
    const struct scaled_dist scaled = {
        .between = &profile->between,
        .fixed_s = profile->startup_s.mean + profile->checkpoint_s.mean,
        .factor = unit_s * (double)units * profile->within.mean,
    };
    if (is_scaled) {
        rb_sampler_table_fill(table, scaled_quantile, &scaled);
        return profile->between.kind == RB_DIST_CONSTANT || profile->between.kind == RB_DIST_EMPIRICAL ? 1 : 0;
    }
    if (tables->times) {
        const struct rb_law *law = rb_trial_laws_get(tables->times, profile, units, unit_s);
        fill_by_law(table, law);
        return fmax(law->error, law->jump);
    }
    struct rb_arena arena;
    rb_arena_init(&arena);
    const struct rb_law law = rb_trial_law(profile, units, unit_s, &arena);
    fill_by_law(table, &law);
    rb_arena_finish(&arena);
    return fmax(law.error, law.jump);
}

static const struct entry *trial(struct rb_sampler_tables *tables, const struct rb_profile *profile, int64_t units,
                                 double unit_s)
{
    struct entry *e = find(tables, profile, units, unit_s);
    if (!e) {
        e = add(tables, profile, units, unit_s);
        e->error = fill_trial(tables, profile, units, unit_s, &e->table);
    }
    return e;
}

const struct rb_sampler_table *rb_sampler_tables_trial(struct rb_sampler_tables *tables, const struct rb_profile *profile,
                                                       int64_t units, double unit_s)
{
    return &trial(tables, profile, units, unit_s)->table;
}

bool rb_sampler_tables_are_exact(struct rb_sampler_tables *tables, const struct rb_profile *profile, int64_t units,
                                 double unit_s)
{
    return trial(tables, profile, units, unit_s)->error <= RB_TABLES_ERROR;
}

const struct rb_sampler_table *rb_sampler_tables_dist(struct rb_sampler_tables *tables, const struct rb_dist *dist)
{
    struct entry *e = find(tables, dist, 0, 0);
    if (!e) {
        e = add(tables, dist, 0, 0);
        rb_sampler_table_fill(&e->table, dist_quantile, dist);
    }
    return &e->table;
}
