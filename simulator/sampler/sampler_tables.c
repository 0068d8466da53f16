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
    double error; // of a trial: error bound of P(time <= t), its atoms included
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

// Only `between` varies: the law of a trial is that distribution on another scale, without a grid.
struct scaled_dist {
    const struct rb_dist *between;
    double fixed_s, factor;
};

static double scaled_quantile(const void *ctx, double u)
{
    const struct scaled_dist *scaled = ctx;
    return scaled->fixed_s + scaled->factor * rb_dist_quantile(scaled->between, u);
}

// Returns the error of its distribution function. An atom counts as an error: bills round up to seconds, and only whole
// microseconds determine which second a lifetime belongs to.
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

static const struct entry *whole_trial(struct rb_sampler_tables *tables, const struct rb_profile *profile,
                                       int64_t units, double unit_s)
{
    struct entry *e = find(tables, profile, units, unit_s);
    if (!e) {
        e = add(tables, profile, units, unit_s);
        e->error = fill_trial(tables, profile, units, unit_s, &e->table);
    }
    return e;
}

// Sum of `units` draws of it.
static const struct entry *sum_of_within(struct rb_sampler_tables *tables, const struct rb_profile *profile,
                                         int64_t units)
{
    struct rb_arena arena;
    struct entry *e = find(tables, &profile->within, units, 1);
    if (e)
        return e;
    e = add(tables, &profile->within, units, 1);
    rb_arena_init(&arena);
    const struct rb_law law = rb_within_law(profile, units, &arena);
    fill_by_law(&e->table, &law);
    e->error = fmax(law.error, law.jump);
    rb_arena_finish(&arena);
    return e;
}

// A table of lines smooths the corners of an empirical quantile function.
static bool part(struct rb_sampler_tables *tables, const struct rb_dist *dist, const struct rb_sampler_table **out)
{
    *out = dist->kind == RB_DIST_CONSTANT ? NULL : rb_sampler_tables_dist(tables, dist);
    return dist->kind != RB_DIST_EMPIRICAL;
}

static bool parts_of_trial(struct rb_sampler_tables *tables, const struct rb_profile *profile, int64_t units,
                           double unit_s, struct rb_trial_tables *out)
{
    struct rb_trial_tables t = {
        .work_s = unit_s, .startup_s = profile->startup_s.mean, .checkpoint_s = profile->checkpoint_s.mean};
    bool is_exact = part(tables, &profile->startup_s, &t.startup);
    is_exact = part(tables, &profile->checkpoint_s, &t.checkpoint) && is_exact;
    is_exact = part(tables, &profile->between, &t.between) && is_exact;
    if (profile->within.kind == RB_DIST_CONSTANT) {
        t.work_s *= profile->within.mean * (double)units;
    } else if (units == 1) {
        is_exact = part(tables, &profile->within, &t.within) && is_exact;
    } else {
        const struct entry *sum = sum_of_within(tables, profile, units);
        t.within = &sum->table;
        is_exact = sum->error <= RB_TABLES_ERROR && is_exact;
    }
    if (!t.between)
        t.work_s *= profile->between.mean;
    if (profile->configuration)
        is_exact = part(tables, profile->configuration, &t.configuration) && is_exact;
    if (profile->configuration && !t.configuration)
        t.work_s *= profile->configuration->mean;
    *out = t;
    return is_exact && (t.startup || t.checkpoint || t.configuration || t.between || t.within);
}

bool rb_sampler_tables_of_trial(struct rb_sampler_tables *tables, const struct rb_profile *profile, int64_t units,
                                double unit_s, bool in_parts, struct rb_trial_tables *out)
{
    if (in_parts)
        return parts_of_trial(tables, profile, units, unit_s, out);
    const struct entry *whole = whole_trial(tables, profile, units, unit_s);
    if (whole->error > RB_TABLES_ERROR && parts_of_trial(tables, profile, units, unit_s, out))
        return true;
    *out = (struct rb_trial_tables){.whole = &whole->table};
    return whole->error <= RB_TABLES_ERROR;
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
