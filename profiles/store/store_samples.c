// Writes samples, prices and imported profiles; reads prices and the list of names.
#include "profiles/store/store_sql.h"

#include <math.h>
#include <string.h>

static bool is_time(double seconds)
{
    return seconds >= 0 && isfinite(seconds);
}

static bool check_run(const struct rb_run_sample *run, struct rb_err *err)
{
    bool ok = run->gpus >= 1 && run->nodes >= 1 && run->gpus >= run->nodes && run->n_units >= 1 &&
              (run->of_run || is_time(run->startup_s)) && !isnan(run->checkpoint_s);
    for (int i = 0; i < run->n_units && ok; i++)
        ok = run->unit_s[i] > 0 && is_time(run->unit_s[i]);
    return ok || rb_err_set(err, RB_E_FIT_SAMPLES,
                            "measured run on %d GPUs over %d nodes: expected at least one unit, each a positive number "
                            "of seconds, and a start-up time, got %d units",
                            run->gpus, run->nodes, run->n_units);
}

static const char *text_or(const char *s, const char *fallback)
{
    return s && s[0] != '\0' ? s : fallback;
}

// NAN is bound as null: not reported.
static bool insert_steps(struct rb_store *s, int64_t id, const struct rb_run_sample *run, struct rb_err *err)
{
    const struct rb_step_stats *steps = &run->steps;
    return rb_store_run(s, err,
                        "INSERT INTO step(run, initial_batch, per_gpu, accumulation, step_s, sync_s, grad_sqr,"
                        " grad_var, probe) VALUES(?,?,?,?,?,?,?,?,?)",
                        "Idiiddddi", id, run->initial_batch, run->batch.per_gpu, run->batch.accumulation,
                        steps->step_s > 0 ? steps->step_s : NAN, steps->has_sync ? steps->sync_s : NAN,
                        steps->has_noise ? steps->noise.sqr : NAN, steps->has_noise ? steps->noise.var : NAN,
                        run->probe ? 1 : 0);
}

// The table is newer than the first stores: it is made when it is needed, and an older program ignores it.
static bool insert_conditions(struct rb_store *s, int64_t id, const struct rb_run_sample *run, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf of = RB_BUF_INIT;
    if (run->cpus <= 0 && !run->restarts && !run->of.command)
        return true;
    struct rb_json j = {.out = &of};
    if (run->of.command)
        rb_measured_of_write(&run->of, &j);
    return rb_store_run(s, err,
                        "CREATE TABLE IF NOT EXISTS conditions(run INTEGER PRIMARY KEY REFERENCES run(id) ON DELETE"
                        " CASCADE, load REAL, cpus INTEGER NOT NULL CHECK(cpus >= 0), restarts INTEGER NOT NULL,"
                        " of_what TEXT NOT NULL) STRICT",
                        "") &&
           rb_store_run(s, err, "INSERT INTO conditions(run, load, cpus, restarts, of_what) VALUES(?,?,?,?,?)", "Idiis",
                        id, run->cpus > 0 ? run->load : NAN, run->cpus, run->restarts ? 1 : 0, rb_buf_str(&of));
}

static bool insert_run(struct rb_store *s, const char *profile, const struct rb_run_sample *run, struct rb_err *err)
{
    if (!rb_store_run(s, err,
                      "INSERT INTO run(profile, accelerator, infra, instance_type, gpus, nodes, unit, config, command,"
                      " commit_id, machine, measured_at_us, startup_s, checkpoint_s, of_run)"
                      " VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
                      "ssssiisssssIdds", profile, run->accelerator, run->infra, run->instance_type, run->gpus,
                      run->nodes, text_or(run->unit, "epoch"), text_or(run->config_json, "{}"), run->command,
                      run->commit, run->machine, run->measured_at_us,
                      run->of_run ? 0 : run->startup_s, run->checkpoint_s < 0 ? NAN : run->checkpoint_s, run->of_run))
        return false;
    const int64_t id = sqlite3_last_insert_rowid(s->db);
    for (int i = 0; i < run->n_units; i++)
        if (!rb_store_run(s, err, "INSERT INTO unit(run, ordinal, unit_s) VALUES(?,?,?)", "Iid", id, i, run->unit_s[i]))
            return false;
    return (run->initial_batch <= 0 || insert_steps(s, id, run, err)) && insert_conditions(s, id, run, err);
}

bool rb_store_add_run(struct rb_store *s, const char *profile, const struct rb_run_sample *run, struct rb_err *err)
{
    if (!check_run(run, err) || !rb_store_run(s, err, "SAVEPOINT one_run", ""))
        return false;
    const bool ok = insert_run(s, profile, run, err);
    const bool closed = (ok || rb_store_run(s, NULL, "ROLLBACK TO one_run", "")) &&
                        rb_store_run(s, ok ? err : NULL, "RELEASE one_run", "");
    return ok && closed;
}

#define SHARED_TABLE                                                                                \
    "shared(id INTEGER PRIMARY KEY, profile TEXT NOT NULL,"                                         \
    " accelerator TEXT NOT NULL, trials INTEGER NOT NULL CHECK(trials >= 2), config TEXT NOT NULL," \
    " command TEXT NOT NULL, machine TEXT NOT NULL, measured_at_us INTEGER NOT NULL,"               \
    " unit_s REAL NOT NULL CHECK(unit_s > 0)) STRICT"

// The table is newer than the first stores: it is made when it is needed.
bool rb_store_add_shared(struct rb_store *s, const char *profile, const struct rb_shared_sample *sample,
                         struct rb_err *err)
{
    if (sample->trials < 2 || !(sample->unit_s > 0) || !isfinite(sample->unit_s)) {
        return rb_err_set(err, RB_E_FIT_SAMPLES,
                          "measured run of %d trials on one GPU: expected two at least, and a unit above 0 s",
                          sample->trials);
    }
    return rb_store_run(s, err, "CREATE TABLE IF NOT EXISTS " SHARED_TABLE, "") &&
           rb_store_run(s, err,
                        "INSERT INTO shared(profile, accelerator, trials, config, command, machine, measured_at_us,"
                        " unit_s) VALUES(?,?,?,?,?,?,?,?)",
                        "ssisssId", profile, sample->accelerator, sample->trials, text_or(sample->config_json, "{}"),
                        sample->command, sample->machine, sample->measured_at_us, sample->unit_s);
}

bool rb_store_forget_runs(struct rb_store *s, const char *profile, struct rb_err *err)
{
    return rb_store_run(s, err, "DELETE FROM run WHERE profile = ?1", "s", profile) &&
           rb_store_run(s, err, "CREATE TABLE IF NOT EXISTS " SHARED_TABLE, "") &&
           rb_store_run(s, err, "DELETE FROM shared WHERE profile = ?1", "s", profile);
}

bool rb_store_add_throughput(struct rb_store *s, const char *profile, const char *accelerator, double batch,
                             double units_per_epoch, const struct rb_throughput_sample *sample, struct rb_err *err)
{
    return rb_store_run(s, err,
                        "INSERT INTO throughput(profile, accelerator, batch, units_per_epoch, nodes, gpus, local_batch,"
                        " step_s, sync_s, source, added_at_us) VALUES(?,?,?,?,?,?,?,?,?,?,?)",
                        "ssddiidddsI", profile, accelerator, batch, units_per_epoch, sample->nodes, sample->gpus,
                        sample->local_batch, sample->step_s, sample->sync_s, s->source, s->now_us);
}

bool rb_store_add_provision(struct rb_store *s, const struct rb_provision_sample *p, struct rb_err *err)
{
    return rb_store_run(s, err,
                        "INSERT INTO provision(infra, instance_type, market, queue_s, init_s, pull_s, outcome, source,"
                        " measured_at_us) VALUES(?,?,?,?,?,?,?,?,?)",
                        "sssdddssI", p->infra, p->instance_type, p->market, p->queue_s < 0 ? NAN : p->queue_s,
                        p->init_s < 0 ? NAN : p->init_s, p->pull_s > 0 ? p->pull_s : NAN, p->outcome, s->source,
                        p->measured_at_us);
}

bool rb_store_add_reading(struct rb_store *s, const char *profile, const struct rb_reading_sample *r, struct rb_err *err)
{
    return rb_store_run(s, err,
                        "INSERT INTO reading(profile, fetch, infra, instance_type, bytes, read_s, source, measured_at_us)"
                        " VALUES(?,?,?,?,?,?,?,?)",
                        "ssssIdsI", profile, r->fetch, r->infra, r->instance_type, r->bytes, r->read_s, s->source,
                        r->measured_at_us);
}

bool rb_store_add_spot(struct rb_store *s, const char *infra, const char *instance_type, int64_t at_us,
                       struct rb_rate rate, int preempted, struct rb_err *err)
{
    return rb_store_run(s, err,
                        "INSERT OR REPLACE INTO spot(infra, instance_type, at_us, uusd_per_hour, preempted)"
                        " VALUES(?1, ?2, ?3, ?4, CASE ?5 WHEN -1 THEN NULL ELSE ?5 END)",
                        "ssIIi", infra, instance_type, at_us, rate.uusd_per_hour, preempted);
}

bool rb_store_forget(struct rb_store *s, const char *profile, const char *source, struct rb_err *err)
{
    return rb_store_run(s, err, "DELETE FROM provision WHERE source = ?", "s", source) &&
           rb_store_run(s, err, "DELETE FROM throughput WHERE source = ? AND profile = ?", "ss", source, profile);
}

bool rb_store_put_profile(struct rb_store *s, const struct rb_profile *p, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf document = RB_BUF_INIT;
    struct rb_json j = {.out = &document};
    rb_profile_write(p, &j);
    return rb_store_run(s, err, "INSERT OR REPLACE INTO profile(name, document, source, changed_at_us) VALUES(?,?,?,?)",
                        "sssI", p->name, rb_buf_str(&document), s->source, s->now_us);
}

static bool put_offer(struct rb_store *s, const struct rb_offer *o, struct rb_err *err)
{
    return rb_store_run(s, err,
                        "INSERT OR REPLACE INTO price(infra, instance_type, market, accelerator, gpus, gpu_memory_gb,"
                        " vcpus, memory_gb, uusd_per_hour, declared_free, source, fetched_at_us)"
                        " VALUES(?,?,?,?,?,?,?,?,?,?,?,?)",
                        "ssssidddIisI", o->infra, o->instance_type, rb_market_name(o->market), o->accelerator, o->gpus,
                        o->gpu_memory_gb, o->vcpus, o->memory_gb, o->rate.uusd_per_hour, o->declared_free ? 1 : 0,
                        o->source ? o->source : "", o->fetched_at_us);
}

bool rb_store_put_prices(struct rb_store *s, const struct rb_catalog *c, struct rb_err *err)
{
    for (int i = 0; i < c->n_offers; i++)
        if (!put_offer(s, &c->offers[i], err))
            return false;
    for (int i = 0; i < c->n_disks; i++)
        if (!rb_store_run(s, err, "INSERT OR REPLACE INTO disk_price(infra, uusd_per_gb_hour) VALUES(?,?)", "sI",
                          c->disks[i].infra, c->disks[i].per_gb.uusd_per_hour))
            return false;
    return true;
}

static bool read_offer(sqlite3_stmt *row, struct rb_arena *arena, void *out, struct rb_err *err)
{
    struct rb_offer o = {.infra = rb_store_text(row, 0, arena),
                         .instance_type = rb_store_text(row, 1, arena),
                         .accelerator = rb_store_text(row, 3, arena),
                         .gpus = sqlite3_column_int(row, 4),
                         .gpu_memory_gb = sqlite3_column_double(row, 5),
                         .vcpus = sqlite3_column_double(row, 6),
                         .memory_gb = sqlite3_column_double(row, 7),
                         .rate = {sqlite3_column_int64(row, 8)},
                         .declared_free = sqlite3_column_int(row, 9) != 0,
                         .source = rb_store_text(row, 10, arena),
                         .fetched_at_us = sqlite3_column_int64(row, 11)};
    if (!rb_market_parse(rb_store_text(row, 2, arena), &o.market, err))
        return rb_err_prefix(err, "price of %s %s in the profile store", o.infra, o.instance_type);
    if (o.rate.uusd_per_hour <= 0 && !o.declared_free) {
        return rb_err_set(err, RB_E_PRICE_ABSURD,
                          "price of %s %s in the profile store: expected more than 0: import it again with "
                          "`rbprofile prices update --from FILE`",
                          o.infra, o.instance_type);
    }
    *(struct rb_offer *)out = o;
    return true;
}

static bool read_disk(sqlite3_stmt *row, struct rb_arena *arena, void *out, struct rb_err *err)
{
    (void)err;
    *(struct rb_disk_price *)out = (struct rb_disk_price){rb_store_text(row, 0, arena), {sqlite3_column_int64(row, 1)}};
    return true;
}

bool rb_store_prices(struct rb_store *s, struct rb_arena *arena, struct rb_catalog *out, struct rb_err *err)
{
    struct rb_catalog c = {0};
    void *offers, *disks;
    if (!rb_store_select(s,
                         "SELECT infra, instance_type, market, accelerator, gpus, gpu_memory_gb, vcpus, memory_gb,"
                         " uusd_per_hour, declared_free, source, fetched_at_us FROM price"
                         " ORDER BY infra, instance_type, market",
                         NULL, read_offer, sizeof(*c.offers), arena, &offers, &c.n_offers, err) ||
        !rb_store_select(s, "SELECT infra, uusd_per_gb_hour FROM disk_price ORDER BY infra", NULL, read_disk,
                         sizeof(*c.disks), arena, &disks, &c.n_disks, err))
        return false;
    c.offers = offers;
    c.disks = disks;
    *out = c;
    return true;
}

static bool read_name(sqlite3_stmt *row, struct rb_arena *arena, void *out, struct rb_err *err)
{
    (void)err;
    *(struct rb_profile_name *)out = (struct rb_profile_name){.name = rb_store_text(row, 0, arena),
                                                              .imported = sqlite3_column_int(row, 1) != 0,
                                                              .n_runs = sqlite3_column_int(row, 2),
                                                              .n_units = sqlite3_column_int(row, 3),
                                                              .n_throughput = sqlite3_column_int(row, 4),
                                                              .changed_at_us = sqlite3_column_int64(row, 5)};
    return true;
}

bool rb_store_list(struct rb_store *s, struct rb_arena *arena, struct rb_profile_name **out, int *out_n,
                   struct rb_err *err)
{
    void *names;
    if (!rb_store_select(
            s,
            "SELECT name, max(imported), sum(runs), sum(units), sum(throughputs), max(changed) FROM ("
            " SELECT name, 1 AS imported, 0 AS runs, 0 AS units, 0 AS throughputs, changed_at_us AS changed"
            " FROM profile"
            " UNION ALL SELECT profile, 0, 1, (SELECT count(*) FROM unit WHERE unit.run = run.id), 0,"
            " measured_at_us FROM run"
            " UNION ALL SELECT profile, 0, 0, 0, 1, added_at_us FROM throughput)"
            " GROUP BY name ORDER BY name",
            NULL, read_name, sizeof(**out), arena, &names, out_n, err))
        return false;
    *out = names;
    return true;
}
