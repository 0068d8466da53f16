// Reads raw samples back. The file is not trusted: every number a fit divides by or takes the log of is checked here.
#include "profiles/store/samples.h"
#include "profiles/store/store_sql.h"

#include <math.h>
#include <string.h>

static bool damaged(struct rb_err *err, const char *table, int64_t id, const char *expected)
{
    return rb_err_set(err, RB_E_STORE_DAMAGED, "profile store: table %s, row %lld: expected %s: the file is damaged",
                      table, (long long)id, expected);
}

static bool is_time(double seconds)
{
    return seconds >= 0 && isfinite(seconds);
}

static double null_as(sqlite3_stmt *row, int column, double absent)
{
    return sqlite3_column_type(row, column) == SQLITE_NULL ? absent : sqlite3_column_double(row, column);
}

// A run as it comes from its table; units follow in a second query, joined by id.
struct run_row {
    int64_t id;
    struct rb_run_sample run;
};

struct unit_row {
    int64_t run;
    double unit_s;
};

static bool read_run(sqlite3_stmt *row, struct rb_arena *arena, void *out, struct rb_err *err)
{
    struct run_row r = {.id = sqlite3_column_int64(row, 0),
                        .run = {.accelerator = rb_store_text(row, 1, arena),
                                .infra = rb_store_text(row, 2, arena),
                                .instance_type = rb_store_text(row, 3, arena),
                                .gpus = sqlite3_column_int(row, 4),
                                .nodes = sqlite3_column_int(row, 5),
                                .unit = rb_store_text(row, 6, arena),
                                .config_json = rb_store_text(row, 7, arena),
                                .command = rb_store_text(row, 8, arena),
                                .commit = rb_store_text(row, 9, arena),
                                .machine = rb_store_text(row, 10, arena),
                                .measured_at_us = sqlite3_column_int64(row, 11),
                                .startup_s = sqlite3_column_double(row, 12),
                                .checkpoint_s = null_as(row, 13, -1)}};
    if (sqlite3_column_type(row, 14) != SQLITE_NULL) {
        r.run.of_run = rb_store_text(row, 14, arena);
        r.run.startup_s = NAN;
    }
    if (r.run.nodes < 1 || r.run.gpus < r.run.nodes)
        return damaged(err, "run", r.id, "gpus >= nodes >= 1");
    if ((!r.run.of_run && !is_time(r.run.startup_s)) || !isfinite(r.run.checkpoint_s))
        return damaged(err, "run", r.id, "finite times");
    *(struct run_row *)out = r;
    return true;
}

static bool read_unit(sqlite3_stmt *row, struct rb_arena *arena, void *out, struct rb_err *err)
{
    (void)arena;
    const struct unit_row u = {sqlite3_column_int64(row, 0), sqlite3_column_double(row, 1)};
    if (!(u.unit_s > 0) || !isfinite(u.unit_s))
        return damaged(err, "unit", u.run, "a positive unit time");
    *(struct unit_row *)out = u;
    return true;
}

// Assigns the units to their runs; both come in the same order.
static bool join_units(const struct run_row *rows, int n_rows, const struct unit_row *units, int n_units,
                       struct rb_arena *arena, struct rb_run_sample *runs, struct rb_err *err)
{
    double *unit_s = rb_arena_array(arena, (size_t)n_units, sizeof(*unit_s));
    int u = 0;
    for (int i = 0; i < n_rows; i++) {
        runs[i] = rows[i].run;
        runs[i].unit_s = unit_s + u;
        while (u < n_units && units[u].run == rows[i].id) {
            unit_s[u] = units[u].unit_s;
            runs[i].n_units++;
            u++;
        }
        if (runs[i].n_units == 0)
            return damaged(err, "run", rows[i].id, "at least one unit");
    }
    return true;
}

static bool read_nothing(sqlite3_stmt *row, struct rb_arena *arena, void *out, struct rb_err *err)
{
    (void)row, (void)arena, (void)out, (void)err;
    return true;
}

struct step_row {
    int64_t run;
    double initial_batch;
    struct rb_batch batch;
    struct rb_step_stats steps;
    bool probe;
};

static bool read_step(sqlite3_stmt *row, struct rb_arena *arena, void *out, struct rb_err *err)
{
    (void)arena;
    const struct step_row r = {
        .run = sqlite3_column_int64(row, 0),
        .initial_batch = sqlite3_column_double(row, 1),
        .batch = {.per_gpu = sqlite3_column_int(row, 2), .accumulation = sqlite3_column_int(row, 3)},
        .steps = {.step_s = null_as(row, 4, 0),
                  .has_sync = sqlite3_column_type(row, 5) != SQLITE_NULL,
                  .sync_s = null_as(row, 5, 0),
                  .has_noise = sqlite3_column_type(row, 6) != SQLITE_NULL,
                  .noise = {.sqr = null_as(row, 6, 0), .var = null_as(row, 7, 0)}},
        .probe = sqlite3_column_int(row, 8) != 0};
    if (!(r.initial_batch >= 1) || !isfinite(r.initial_batch) || r.batch.per_gpu < 1 || r.batch.accumulation < 0 ||
        !is_time(r.steps.step_s) || !is_time(r.steps.sync_s) || !isfinite(r.steps.noise.sqr) ||
        !isfinite(r.steps.noise.var))
        return damaged(err, "step", r.run, "a batch of one or more, finite times and noise");
    *(struct step_row *)out = r;
    return true;
}

// Gives each run the steps that it reported; both lists are in the same order.
static bool load_steps(struct rb_store *s, const char *profile, const struct run_row *rows, struct rb_arena *arena,
                       struct rb_samples *out, struct rb_err *err)
{
    void *steps, *tables;
    int n, n_tables;
    // A store of an older program has no such table, and a command that only reads makes none.
    if (!rb_store_select(s, "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'step'", NULL, read_nothing, 1,
                         arena, &tables, &n_tables, err))
        return false;
    if (n_tables == 0)
        return true;
    if (!rb_store_select(s,
                         "SELECT run, initial_batch, per_gpu, accumulation, step_s, sync_s, grad_sqr, grad_var, probe"
                         " FROM step JOIN run ON run.id = step.run WHERE profile = ?1"
                         " ORDER BY accelerator, nodes, gpus, id",
                         profile, read_step, sizeof(struct step_row), arena, &steps, &n, err))
        return false;
    const struct step_row *step = steps;
    for (int i = 0, k = 0; i < out->n_runs && k < n; i++) {
        if (rows[i].id == step[k].run) {
            out->runs[i].initial_batch = step[k].initial_batch;
            out->runs[i].batch = step[k].batch;
            out->runs[i].probe = step[k].probe;
            out->runs[i].steps = step[k++].steps;
        }
    }
    return true;
}

struct condition_row {
    int64_t run;
    double load;
    int cpus;
    bool restarts;
    struct rb_measured_of of;
};

static bool read_condition(sqlite3_stmt *row, struct rb_arena *arena, void *out, struct rb_err *err)
{
    struct condition_row r = {
        .run = sqlite3_column_int64(row, 0),
        .load = null_as(row, 1, -1),
        .cpus = sqlite3_column_int(row, 2),
        .restarts = sqlite3_column_int(row, 3) != 0,
    };
    const char *of = rb_store_text(row, 4, arena);
    struct rb_err why;
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    if (r.cpus < 0 || !isfinite(r.load) || (r.cpus > 0 && r.load < 0) ||
        (of[0] && (!rb_doc_parse_json(&doc, "conditions", of, strlen(of), &why) ||
                   !rb_measured_of_read(doc.root, arena, &r.of, &why))))
        return damaged(err, "conditions", r.run, "a load of 0 or more, and digests of what was measured");
    *(struct condition_row *)out = r;
    return true;
}

// Gives runs the known conditions of their measurement; both come in the same order.
static bool load_conditions(struct rb_store *s, const char *profile, const struct run_row *rows, struct rb_arena *arena,
                            struct rb_samples *out, struct rb_err *err)
{
    void *conditions, *tables;
    int n, n_tables;
    // A store of an older program has no such table, and a command that only reads makes none.
    if (!rb_store_select(s, "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'conditions'", NULL,
                         read_nothing, 1, arena, &tables, &n_tables, err))
        return false;
    if (n_tables == 0)
        return true;
    if (!rb_store_select(s,
                         "SELECT run, load, cpus, restarts, of_what FROM conditions JOIN run ON run.id ="
                         " conditions.run WHERE profile = ?1 ORDER BY accelerator, nodes, gpus, id",
                         profile, read_condition, sizeof(struct condition_row), arena, &conditions, &n, err))
        return false;
    const struct condition_row *condition = conditions;
    for (int i = 0, k = 0; i < out->n_runs && k < n; i++) {
        if (rows[i].id == condition[k].run) {
            out->runs[i].load = condition[k].load;
            out->runs[i].cpus = condition[k].cpus;
            out->runs[i].restarts = condition[k].restarts;
            out->runs[i].of = condition[k++].of;
        }
    }
    return true;
}

static void set_probes_aside(struct rb_samples *out, struct rb_arena *arena)
{
    const int n_all = out->n_runs;
    out->n_runs = 0;
    out->probes = rb_arena_array(arena, (size_t)n_all, sizeof(*out->probes));
    for (int i = 0; i < n_all; i++)
        if (out->runs[i].probe)
            out->probes[out->n_probes++] = out->runs[i];
        else
            out->runs[out->n_runs++] = out->runs[i];
}

static bool was_measured(const struct rb_samples *samples, const char *accelerator)
{
    bool found = false;
    for (int i = 0; i < samples->n_runs && !found; i++)
        found = !samples->runs[i].of_run && strcmp(samples->runs[i].accelerator, accelerator) == 0;
    return found;
}

// What ended runs measured makes a profile more exact, but no profile: they train on few layouts, and on one GPU perhaps
// never.
static void drop_unmeasured(struct rb_samples *out)
{
    const int n_all = out->n_runs;
    int n = 0;
    for (int i = 0; i < n_all; i++) // what is kept moves only to the front
        if (!out->runs[i].of_run || was_measured(out, out->runs[i].accelerator))
            out->runs[n++] = out->runs[i];
    out->n_runs = n;
}

#define RUN_COLUMNS \
    "SELECT id, accelerator, infra, instance_type, gpus, nodes, unit, config, command, commit_id, machine," \
    " measured_at_us, startup_s, checkpoint_s, "
#define RUN_ROWS " FROM run WHERE profile = ?1 ORDER BY accelerator, nodes, gpus, id"

static bool load_runs(struct rb_store *s, const char *profile, struct rb_arena *arena, struct rb_samples *out,
                      struct rb_err *err)
{
    void *rows, *units;
    int n_units;
    if (!rb_store_select(s,
                         s->schema >= 4 ? RUN_COLUMNS "of_run" RUN_ROWS : RUN_COLUMNS "NULL" RUN_ROWS,
                         profile, read_run, sizeof(struct run_row), arena, &rows, &out->n_runs, err) ||
        !rb_store_select(s,
                         "SELECT run, unit_s FROM unit JOIN run ON run.id = unit.run WHERE profile = ?1"
                         " ORDER BY accelerator, nodes, gpus, id, ordinal",
                         profile, read_unit, sizeof(struct unit_row), arena, &units, &n_units, err))
        return false;
    out->runs = rb_arena_array(arena, (size_t)out->n_runs, sizeof(*out->runs));
    if (!join_units(rows, out->n_runs, units, n_units, arena, out->runs, err) ||
        !load_steps(s, profile, rows, arena, out, err) || !load_conditions(s, profile, rows, arena, out, err))
        return false;
    set_probes_aside(out, arena);
    drop_unmeasured(out);
    return true;
}

static bool read_shared(sqlite3_stmt *row, struct rb_arena *arena, void *out, struct rb_err *err)
{
    const struct rb_shared_sample sample = {.accelerator = rb_store_text(row, 0, arena),
                                            .trials = sqlite3_column_int(row, 1),
                                            .config_json = rb_store_text(row, 2, arena),
                                            .command = rb_store_text(row, 3, arena),
                                            .machine = rb_store_text(row, 4, arena),
                                            .measured_at_us = sqlite3_column_int64(row, 5),
                                            .unit_s = sqlite3_column_double(row, 6)};
    if (sample.trials < 2 || !(sample.unit_s > 0) || !isfinite(sample.unit_s))
        return damaged(err, "shared", sqlite3_column_int64(row, 7), "two trials at least and a positive unit time");
    *(struct rb_shared_sample *)out = sample;
    return true;
}

static bool read_count(sqlite3_stmt *row, struct rb_arena *arena, void *out, struct rb_err *err)
{
    (void)arena, (void)err;
    *(int *)out = sqlite3_column_int(row, 0);
    return true;
}

// A store without such measurements has no such table.
static bool load_shared(struct rb_store *s, const char *profile, struct rb_arena *arena, struct rb_samples *out,
                        struct rb_err *err)
{
    void *count, *rows;
    int n;
    if (!rb_store_select(s, "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'shared'", NULL,
                         read_count, sizeof(int), arena, &count, &n, err))
        return false;
    if (n == 0 || *(int *)count == 0)
        return true;
    if (!rb_store_select(s,
                         "SELECT accelerator, trials, config, command, machine, measured_at_us, unit_s, id FROM shared"
                         " WHERE profile = ?1 ORDER BY accelerator, trials, id",
                         profile, read_shared, sizeof(*out->shared), arena, &rows, &out->n_shared, err))
        return false;
    out->shared = rows;
    return true;
}

struct throughput_row {
    const char *accelerator;
    double batch, units_per_epoch;
    struct rb_throughput_sample sample;
};

static bool read_throughput(sqlite3_stmt *row, struct rb_arena *arena, void *out, struct rb_err *err)
{
    const struct throughput_row t = {.accelerator = rb_store_text(row, 0, arena),
                                     .batch = sqlite3_column_double(row, 1),
                                     .units_per_epoch = sqlite3_column_double(row, 2),
                                     .sample = {.nodes = sqlite3_column_int(row, 3),
                                                .gpus = sqlite3_column_int(row, 4),
                                                .local_batch = sqlite3_column_double(row, 5),
                                                .step_s = sqlite3_column_double(row, 6),
                                                .sync_s = sqlite3_column_double(row, 7)}};
    if (!(t.batch > 0) || !isfinite(t.batch) || !(t.units_per_epoch > 0) || !isfinite(t.units_per_epoch))
        return damaged(err, "throughput", sqlite3_column_int64(row, 8), "a positive batch and iterations per epoch");
    *(struct throughput_row *)out = t;
    return true;
}

static bool same_text(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static void group_throughputs(const struct throughput_row *rows, int n, struct rb_arena *arena, struct rb_samples *out)
{
    struct rb_throughput_sample *samples = rb_arena_array(arena, (size_t)n, sizeof(*samples));
    out->throughputs = rb_arena_array(arena, (size_t)n, sizeof(*out->throughputs));
    struct rb_throughput_set *set = NULL;
    for (int i = 0; i < n; i++) {
        if (!set || !same_text(set->accelerator, rows[i].accelerator)) {
            set = &out->throughputs[out->n_throughputs++];
            *set = (struct rb_throughput_set){.accelerator = rows[i].accelerator, .samples = samples + i};
        }
        set->batch = rows[i].batch;
        set->units_per_epoch = rows[i].units_per_epoch;
        set->samples[set->n++] = rows[i].sample;
    }
}

static bool load_throughputs(struct rb_store *s, const char *profile, struct rb_arena *arena, struct rb_samples *out,
                             struct rb_err *err)
{
    void *rows;
    int n;
    if (!rb_store_select(s,
                         "SELECT accelerator, batch, units_per_epoch, nodes, gpus, local_batch, step_s, sync_s, id"
                         " FROM throughput WHERE profile = ?1 ORDER BY accelerator, id",
                         profile, read_throughput, sizeof(struct throughput_row), arena, &rows, &n, err))
        return false;
    group_throughputs(rows, n, arena, out);
    return true;
}

static bool read_provision(sqlite3_stmt *row, struct rb_arena *arena, void *out, struct rb_err *err)
{
    const struct rb_provision_sample p = {.infra = rb_store_text(row, 0, arena),
                                          .instance_type = rb_store_text(row, 1, arena),
                                          .market = rb_store_text(row, 2, arena),
                                          .queue_s = null_as(row, 3, -1),
                                          .init_s = null_as(row, 4, -1),
                                          .outcome = rb_store_text(row, 5, arena),
                                          .measured_at_us = sqlite3_column_int64(row, 6),
                                          .pull_s = null_as(row, 8, 0)};
    enum rb_market market;
    if (same_text(p.outcome, "ok") && (!is_time(p.queue_s) || !is_time(p.init_s)))
        return damaged(err, "provision", sqlite3_column_int64(row, 7), "two times");
    if (!rb_market_parse(p.market, &market, err))
        return rb_err_prefix(err, "profile store: table provision");
    *(struct rb_provision_sample *)out = p;
    return true;
}

static bool read_reading(sqlite3_stmt *row, struct rb_arena *arena, void *out, struct rb_err *err)
{
    const struct rb_reading_sample r = {.fetch = rb_store_text(row, 0, arena),
                                        .infra = rb_store_text(row, 1, arena),
                                        .instance_type = rb_store_text(row, 2, arena),
                                        .bytes = sqlite3_column_int64(row, 3),
                                        .read_s = sqlite3_column_double(row, 4),
                                        .measured_at_us = sqlite3_column_int64(row, 5)};
    if (r.bytes <= 0 || !is_time(r.read_s))
        return damaged(err, "reading", sqlite3_column_int64(row, 6), "a size and a time");
    *(struct rb_reading_sample *)out = r;
    return true;
}

// A store of an older program has no such table, and a command that only reads makes none.
static bool load_readings(struct rb_store *s, const char *profile, struct rb_arena *arena, struct rb_samples *out,
                          struct rb_err *err)
{
    void *rows;
    if (s->schema < 5)
        return true;
    if (!rb_store_select(s,
                         "SELECT fetch, infra, instance_type, bytes, read_s, measured_at_us, id FROM reading"
                         " WHERE profile = ?1 ORDER BY fetch, infra, instance_type, id",
                         profile, read_reading, sizeof *out->readings, arena, &rows, &out->n_readings, err))
        return false;
    out->readings = rows;
    return true;
}

static bool read_spot(sqlite3_stmt *row, struct rb_arena *arena, void *out, struct rb_err *err)
{
    (void)err;
    *(struct rb_spot_sample *)out = (struct rb_spot_sample){.infra = rb_store_text(row, 0, arena),
                                                            .instance_type = rb_store_text(row, 1, arena),
                                                            .at_us = sqlite3_column_int64(row, 2),
                                                            .preempted = (int)null_as(row, 3, -1)};
    return true;
}

static bool load_clouds(struct rb_store *s, struct rb_arena *arena, struct rb_samples *out, struct rb_err *err)
{
    void *provisions, *spots;
    if (!rb_store_select(s,
                         s->schema < 6 // of an older program, and only read
                             ? "SELECT infra, instance_type, market, queue_s, init_s, outcome, measured_at_us, id, NULL"
                               " FROM provision ORDER BY infra, instance_type, market, id"
                             : "SELECT infra, instance_type, market, queue_s, init_s, outcome, measured_at_us, id, pull_s"
                               " FROM provision ORDER BY infra, instance_type, market, id",
                         NULL, read_provision, sizeof(*out->provisions), arena, &provisions, &out->n_provisions, err) ||
        !rb_store_select(s,
                         "SELECT infra, instance_type, at_us, preempted FROM spot WHERE preempted IS NOT NULL"
                         " ORDER BY infra, instance_type, at_us",
                         NULL, read_spot, sizeof(*out->spots), arena, &spots, &out->n_spots, err))
        return false;
    out->provisions = provisions;
    out->spots = spots;
    return true;
}

bool rb_store_load_samples(struct rb_store *s, const char *profile, struct rb_arena *arena, struct rb_samples *out,
                           struct rb_err *err)
{
    struct rb_samples samples = {.profile = rb_arena_strdup(arena, profile)};
    if (!load_runs(s, profile, arena, &samples, err) || !load_shared(s, profile, arena, &samples, err) ||
        !load_throughputs(s, profile, arena, &samples, err) || !load_readings(s, profile, arena, &samples, err) ||
        !load_clouds(s, arena, &samples, err))
        return false;
    *out = samples;
    return true;
}
