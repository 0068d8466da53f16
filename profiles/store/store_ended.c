#include "profiles/store/ended.h"

#include "profiles/store/store_sql.h"

#include <math.h>

#define TEXT_OF(number)     #number
#define NUMBER_TEXT(number) TEXT_OF(number)
#define SOURCE              "run "

// ---- writing

static double or_null(const struct rb_ended_promise *p) // NAN is bound as null
{
    return p->kept < 0 ? NAN : p->kept;
}

bool rb_store_put_ended(struct rb_store *s, const struct rb_ended *e, struct rb_err *err)
{
    const struct rb_ended_figure *t = &e->time_us, *c = &e->cost_uusd;
    return rb_store_run(s, err,
                        "INSERT OR IGNORE INTO ended(run, profile, job, ended_at_us, complete, time_us, time_p5, time_p50,"
                        " time_p95, cost_uusd, cost_p5, cost_p50, cost_p95, p_on_time, on_time, p_in_budget, in_budget)"
                        " VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,CAST(?15 AS INTEGER),?16,"
                        " CAST(?17 AS INTEGER))",
                        "sssIiIIIIIIIIdddd", e->run, e->profile, e->job, e->ended_at_us, e->is_complete, t->was, t->p5,
                        t->p50, t->p95, c->was, c->p5, c->p50, c->p95, e->on_time.p, or_null(&e->on_time),
                        e->in_budget.p, or_null(&e->in_budget));
}

const char *rb_ended_source(const char *run, struct rb_arena *arena)
{
    return rb_arena_printf(arena, SOURCE "%s", run);
}

bool rb_store_forget_ended(struct rb_store *s, const char *run, const char *profile, struct rb_err *err)
{
    return rb_store_run(s, err, "DELETE FROM run WHERE of_run = ?", "s", run) &&
           rb_store_run(s, err, "DELETE FROM provision WHERE source = '" SOURCE "' || ?", "s", run) &&
           rb_store_run(s, err, "DELETE FROM reading WHERE source = '" SOURCE "' || ?", "s", run) &&
           rb_store_run(s, err,
                        "DELETE FROM reading WHERE profile = ?1 AND id NOT IN (SELECT id FROM reading WHERE profile = ?1"
                        " ORDER BY id DESC LIMIT " NUMBER_TEXT(RB_ENDED_PROVISION) ")",
                        "s", profile) &&
           rb_store_run(s, err,
                        "DELETE FROM run WHERE profile = ?1 AND of_run IS NOT NULL AND of_run NOT IN (SELECT of_run FROM"
                        " run WHERE profile = ?1 AND of_run IS NOT NULL GROUP BY of_run ORDER BY max(measured_at_us)"
                        " DESC LIMIT " NUMBER_TEXT(RB_ENDED_RUNS) " - 1)",
                        "s", profile) &&
           rb_store_run(s, err,
                        "DELETE FROM provision WHERE source LIKE '" SOURCE "%' AND id NOT IN (SELECT id FROM provision"
                        " WHERE source LIKE '" SOURCE "%' ORDER BY id DESC LIMIT " NUMBER_TEXT(RB_ENDED_PROVISION) ")",
                        "");
}

// ---- reading

static double number(sqlite3_stmt *row, int column) // NAN: null
{
    return sqlite3_column_type(row, column) == SQLITE_NULL ? NAN : sqlite3_column_double(row, column);
}

static struct rb_ended_figure figure(sqlite3_stmt *row, int column)
{
    return (struct rb_ended_figure){.was = sqlite3_column_int64(row, column),
                                    .p5 = sqlite3_column_int64(row, column + 1),
                                    .p50 = sqlite3_column_int64(row, column + 2),
                                    .p95 = sqlite3_column_int64(row, column + 3)};
}

static struct rb_ended_promise promise(sqlite3_stmt *row, int column)
{
    const double kept = number(row, column + 1);
    return (struct rb_ended_promise){.p = number(row, column), .kept = isnan(kept) ? -1 : kept > 0};
}

static bool read_ended(sqlite3_stmt *row, struct rb_arena *arena, void *out, struct rb_err *err)
{
    (void)arena, (void)err;
    *(struct rb_ended *)out = (struct rb_ended){.is_complete = sqlite3_column_int(row, 0) != 0,
                                                .time_us = figure(row, 1),
                                                .cost_uusd = figure(row, 5),
                                                .on_time = promise(row, 9),
                                                .in_budget = promise(row, 11)};
    return true;
}

// An interval of one value says nothing of how far off a run may be, and a run that was ended may have been about to come
// out within it.
static void add_figure(const struct rb_ended_figure *f, bool is_complete, struct rb_record_figure *out)
{
    if (f->p5 < f->p95 && (is_complete || f->was > f->p95)) {
        out->n++;
        out->n_within += f->was >= f->p5 && f->was <= f->p95;
    }
    if (is_complete && f->was > 0 && f->p50 > 0) {
        out->n_log++;
        out->mean_log += log((double)f->was / (double)f->p50);
    }
}

static void add_promise(const struct rb_ended_promise *p, struct rb_record_promise *out)
{
    if (isnan(p->p) || p->kept < 0)
        return;
    out->n++;
    out->n_kept += p->kept;
    out->promised += p->p;
}

bool rb_store_record(struct rb_store *s, const char *profile, struct rb_record *out, struct rb_err *err)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_record r = {0};
    void *rows = NULL;
    if (s->schema >= 4 &&
        !rb_store_select(s,
                         "SELECT complete, time_us, time_p5, time_p50, time_p95, cost_uusd, cost_p5, cost_p50, cost_p95,"
                         " p_on_time, on_time, p_in_budget, in_budget FROM ended WHERE profile = ?1 ORDER BY run",
                         profile, read_ended, sizeof(struct rb_ended), &arena, &rows, &r.n_runs, err))
        return false;
    for (int i = 0; i < r.n_runs; i++) {
        const struct rb_ended *e = (const struct rb_ended *)rows + i;
        r.n_complete += e->is_complete;
        add_figure(&e->time_us, e->is_complete, &r.time);
        add_figure(&e->cost_uusd, e->is_complete, &r.cost);
        add_promise(&e->on_time, &r.on_time);
        add_promise(&e->in_budget, &r.in_budget);
    }
    r.time.mean_log /= r.time.n_log; // NAN: of nothing
    r.cost.mean_log /= r.cost.n_log;
    r.on_time.promised /= r.on_time.n;
    r.in_budget.promised /= r.in_budget.n;
    *out = r;
    return true;
}
