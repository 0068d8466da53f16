// The file itself: where it is, its tables, who may open it, transactions. store_samples.c reads and writes the tables;
// store_fit.c makes fits.
#include "profiles/store/store_sql.h"
#include "profiles/store/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define APPLICATION_ID 0x72627066 // "rbpf": marks a profile store among sqlite files
#define BUSY_MS        5000       // another command's transaction is short
#define BUSY_NOW_MS    500        // of a run that has ended

// A null is a value that the run did not report.
#define STEP_TABLE                                                                                         \
    "CREATE TABLE step(run INTEGER PRIMARY KEY REFERENCES run(id) ON DELETE CASCADE,"                      \
    " initial_batch REAL NOT NULL CHECK(initial_batch > 0), per_gpu INTEGER NOT NULL CHECK(per_gpu >= 1)," \
    " accumulation INTEGER NOT NULL CHECK(accumulation >= 0), step_s REAL CHECK(step_s > 0),"              \
    " sync_s REAL CHECK(sync_s >= 0), grad_sqr REAL, grad_var REAL, probe INTEGER NOT NULL,"               \
    " CHECK((grad_sqr IS NULL) = (grad_var IS NULL))) STRICT;"

// What ended runs found (found.h). config: {"lr":0.01,..}. Since schema 2 without a new number; an older program ignores it.
#define FOUND_TABLES                                                                                              \
    "CREATE TABLE IF NOT EXISTS search(id INTEGER PRIMARY KEY, run TEXT NOT NULL UNIQUE, job TEXT NOT NULL,"      \
    " space TEXT NOT NULL, ended_at_us INTEGER NOT NULL) STRICT;"                                                 \
    "CREATE INDEX IF NOT EXISTS search_space ON search(space);"                                                   \
    "CREATE TABLE IF NOT EXISTS found(search INTEGER NOT NULL REFERENCES search(id) ON DELETE CASCADE,"           \
    " trial INTEGER NOT NULL, resource INTEGER NOT NULL CHECK(resource >= 1), config TEXT NOT NULL,"              \
    " quantile REAL NOT NULL CHECK(quantile > 0 AND quantile < 1), unit_s REAL CHECK(unit_s > 0),"                \
    " PRIMARY KEY(search, trial, resource)) STRICT, WITHOUT ROWID;"

// Schema 3. A null training: the run was an older program's, and nothing is known of metrics and of how its
// configurations were made. A null metric of others: the trial failed or diverged.
#define METRIC_COLUMNS                                                                                           \
    "ALTER TABLE search ADD COLUMN training TEXT; CREATE INDEX search_training ON search(training);"             \
    "ALTER TABLE found ADD COLUMN metric REAL; ALTER TABLE found ADD COLUMN drawn INTEGER CHECK(drawn IN (0, 1));"

// Schema 4. of_run: the ended run that these units were trained in; its start-up was not measured and counts as 0. A null
// promise: there was no such limit, or nothing was said of it; a null keeping: unknown.
#define ENDED_TABLE                                                                                                  \
    "ALTER TABLE run ADD COLUMN of_run TEXT; CREATE INDEX run_of_run ON run(of_run);"                                \
    "CREATE TABLE ended(run TEXT PRIMARY KEY, profile TEXT NOT NULL, job TEXT NOT NULL, ended_at_us INTEGER NOT NULL," \
    " complete INTEGER NOT NULL CHECK(complete IN (0, 1)),"                                                          \
    " time_us INTEGER NOT NULL CHECK(time_us >= 0), time_p5 INTEGER NOT NULL, time_p50 INTEGER NOT NULL,"            \
    " time_p95 INTEGER NOT NULL, cost_uusd INTEGER NOT NULL CHECK(cost_uusd >= 0), cost_p5 INTEGER NOT NULL,"        \
    " cost_p50 INTEGER NOT NULL, cost_p95 INTEGER NOT NULL, p_on_time REAL, on_time INTEGER, p_in_budget REAL,"      \
    " in_budget INTEGER) STRICT;"                                                                                    \
    "CREATE INDEX ended_profile ON ended(profile);"

// Schema 5.
#define READING_TABLE                                                                                            \
    "CREATE TABLE reading(id INTEGER PRIMARY KEY, profile TEXT NOT NULL, fetch TEXT NOT NULL, infra TEXT NOT NULL," \
    " instance_type TEXT NOT NULL, bytes INTEGER NOT NULL CHECK(bytes > 0), read_s REAL NOT NULL CHECK(read_s >= 0)," \
    " source TEXT NOT NULL, measured_at_us INTEGER NOT NULL) STRICT;"                                             \
    "CREATE INDEX reading_profile ON reading(profile);"

// Schema 6: the part of init_s in which the image of a container was pulled; null: unknown.
#define PULL_COLUMN "ALTER TABLE provision ADD COLUMN pull_s REAL CHECK(pull_s > 0);"

// Texts name what was measured and are never null; a null number is one that was not measured.
static const char schema[] =
    "CREATE TABLE profile(name TEXT PRIMARY KEY, document TEXT NOT NULL, source TEXT NOT NULL,"
    " changed_at_us INTEGER NOT NULL) STRICT;"
    "CREATE TABLE run(id INTEGER PRIMARY KEY, profile TEXT NOT NULL, accelerator TEXT NOT NULL, infra TEXT NOT NULL,"
    " instance_type TEXT NOT NULL, gpus INTEGER NOT NULL CHECK(gpus >= 1), nodes INTEGER NOT NULL CHECK(nodes >= 1),"
    " unit TEXT NOT NULL, config TEXT NOT NULL, command TEXT NOT NULL, commit_id TEXT NOT NULL, machine TEXT NOT NULL,"
    " measured_at_us INTEGER NOT NULL, startup_s REAL NOT NULL CHECK(startup_s >= 0),"
    " checkpoint_s REAL CHECK(checkpoint_s >= 0)) STRICT;"
    "CREATE INDEX run_profile ON run(profile);"
    "CREATE TABLE unit(run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE, ordinal INTEGER NOT NULL,"
    " unit_s REAL NOT NULL CHECK(unit_s > 0), PRIMARY KEY(run, ordinal)) STRICT, WITHOUT ROWID;" STEP_TABLE
    "CREATE TABLE throughput(id INTEGER PRIMARY KEY, profile TEXT NOT NULL, accelerator TEXT NOT NULL,"
    " batch REAL NOT NULL CHECK(batch > 0), units_per_epoch REAL NOT NULL CHECK(units_per_epoch > 0),"
    " nodes INTEGER NOT NULL CHECK(nodes >= 1), gpus INTEGER NOT NULL CHECK(gpus >= nodes),"
    " local_batch REAL NOT NULL CHECK(local_batch > 0), step_s REAL NOT NULL CHECK(step_s > 0),"
    " sync_s REAL NOT NULL CHECK(sync_s >= 0), source TEXT NOT NULL, added_at_us INTEGER NOT NULL) STRICT;"
    "CREATE INDEX throughput_profile ON throughput(profile);"
    "CREATE TABLE provision(id INTEGER PRIMARY KEY, infra TEXT NOT NULL, instance_type TEXT NOT NULL,"
    " market TEXT NOT NULL CHECK(market IN ('on_demand', 'spot')), queue_s REAL CHECK(queue_s >= 0),"
    " init_s REAL CHECK(init_s >= 0), outcome TEXT NOT NULL CHECK(outcome IN ('ok', 'capacity', 'timeout')),"
    " source TEXT NOT NULL, measured_at_us INTEGER NOT NULL,"
    " CHECK(outcome <> 'ok' OR (queue_s IS NOT NULL AND init_s IS NOT NULL))) STRICT;"
    "CREATE TABLE spot(infra TEXT NOT NULL, instance_type TEXT NOT NULL, at_us INTEGER NOT NULL,"
    " uusd_per_hour INTEGER NOT NULL CHECK(uusd_per_hour > 0), preempted INTEGER CHECK(preempted IN (0, 1)),"
    " PRIMARY KEY(infra, instance_type, at_us)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE price(infra TEXT NOT NULL, instance_type TEXT NOT NULL, market TEXT NOT NULL"
    " CHECK(market IN ('on_demand', 'spot')), accelerator TEXT NOT NULL, gpus INTEGER NOT NULL, gpu_memory_gb REAL"
    " NOT NULL, vcpus REAL NOT NULL, memory_gb REAL NOT NULL, uusd_per_hour INTEGER NOT NULL CHECK(uusd_per_hour >= 0),"
    " declared_free INTEGER NOT NULL, source TEXT NOT NULL, fetched_at_us INTEGER NOT NULL,"
    " PRIMARY KEY(infra, instance_type, market)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE disk_price(infra TEXT PRIMARY KEY, uusd_per_gb_hour INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
    FOUND_TABLES METRIC_COLUMNS;

enum { MADE = 3 }; // the schema that a new file begins with

// From schema i to i + 1; from 0, an empty file, to MADE.
static const char *const steps[RB_STORE_SCHEMA] = {schema, STEP_TABLE, FOUND_TABLES METRIC_COLUMNS,
                                                    ENDED_TABLE, READING_TABLE, PULL_COLUMN};

static bool make_private_dirs(char *path, struct rb_err *err)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        const bool made = mkdir(path, 0700) == 0 || errno == EEXIST;
        if (!made) {
            return rb_err_set(err, RB_E_STORE_FILE, "%s: cannot create the directory of the profile store: %s", path,
                              strerror(errno));
        }
        *slash = '/';
    }
    return true;
}

// The path to use, and whether we may create its directories. Owns: free *out.
static bool choose_path(const char *given, char **out, bool *out_ours, struct rb_err *err)
{
    const char *named = given ? given : getenv("RB_DB");
    const char *data_home = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    struct rb_buf path = RB_BUF_INIT;
    *out_ours = false;
    if (named && named[0] != '\0') {
        // sqlite gives a meaning to "file:..." and ":memory:"; a path that begins with ./ is only a path
        rb_buf_printf(&path, "%s%s", strchr(named, ':') && named[0] != '/' ? "./" : "", named);
    } else if (given) {
        return rb_err_set(err, RB_E_OPTION_VALUE, "--db: expected the path of a profile store, got an empty text");
    } else if (data_home && data_home[0] == '/') {
        rb_buf_printf(&path, "%s/rubberband/profiles.db", data_home);
        *out_ours = true;
    } else if (home && home[0] == '/') {
        rb_buf_printf(&path, "%s/.local/share/rubberband/profiles.db", home);
        *out_ours = true;
    } else {
        return rb_err_set(err, RB_E_STORE_PLACE,
                          "no place for the profile store: set HOME or XDG_DATA_HOME, or give --db FILE");
    }
    *out = path.data;
    return true;
}

// Measurements name commands and machines, which are private, so the file is created with mode 0600.
static bool create_private_file(char *path, bool make_dirs, struct rb_err *err)
{
    if (make_dirs && !make_private_dirs(path, err))
        return false;
    const int fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0) {
        return rb_err_set_at(err, RB_E_STORE_FILE, (struct rb_place){.file = path}, NULL,
                             "cannot create the profile store: %s", strerror(errno));
    }
    close(fd);
    return true;
}

static bool read_int(struct rb_store *s, const char *sql, int64_t *out, struct rb_err *err)
{
    RB_AUTO(rb_store_finalize) sqlite3_stmt *stmt = NULL;
    bool row;
    if (!rb_store_prepare(s, sql, &stmt, err) || !rb_store_step(s, stmt, &row, err))
        return false;
    *out = row ? sqlite3_column_int64(stmt, 0) : 0;
    return true;
}

// Checks what is in the file: nothing yet (version 0), a store we can read, or something to refuse.
static bool check_schema(struct rb_store *s, int *out_version, struct rb_err *err)
{
    int64_t application, version, n_objects;
    if (!read_int(s, "PRAGMA application_id", &application, err) ||
        !read_int(s, "PRAGMA user_version", &version, err) ||
        !read_int(s, "SELECT count(*) FROM sqlite_schema", &n_objects, err))
        return false;
    const struct rb_place place = {.file = s->path};
    const bool ours = application == APPLICATION_ID;
    if (!ours && (application != 0 || (version == 0 && n_objects > 0))) {
        return rb_err_set_at(err, RB_E_STORE_FOREIGN, place, NULL,
                             "a sqlite database of another program, not a profile store: name another file with --db");
    }
    if (version > RB_STORE_SCHEMA) {
        RB_AUTO(rb_buf_finish) struct rb_buf writer = RB_BUF_INIT;
        rb_writer_name(s->db, &writer);
        return rb_err_set_at(err, RB_E_STORE_NEWER, place, NULL,
                             "was written by %s (schema %lld, this program, " RB_VERSION
                             ", reads up to %d): upgrade, or use another --db",
                             rb_buf_str(&writer), (long long)version, RB_STORE_SCHEMA);
    }
    if (version < 0 || (n_objects > 0 && !ours)) {
        return rb_err_set_at(err, RB_E_STORE_FOREIGN, place, NULL,
                             "not a profile store (schema %lld without its mark): name another file with --db",
                             (long long)version);
    }
    *out_version = (int)version;
    return true;
}

static bool exec(struct rb_store *s, const char *sql, struct rb_err *err)
{
    return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK || rb_store_sql_error(s, err);
}

static bool run_steps(struct rb_store *s, int version, struct rb_err *err)
{
    for (int i = version; i < RB_STORE_SCHEMA; i = i == 0 ? MADE : i + 1)
        if (!exec(s, steps[i], err))
            return false;
    return true;
}

// Makes the tables of this version: all of them in a new file, what is missing in an older one.
static bool bring_up_to_date(struct rb_store *s, struct rb_err *err)
{
    char mark[80];
    snprintf(mark, sizeof(mark), "PRAGMA application_id=%d; PRAGMA user_version=%d", APPLICATION_ID, RB_STORE_SCHEMA);
    int version;
    if (!rb_store_begin(s, err))
        return false;
    // checked again inside the transaction: another command may have been first
    const bool made =
        check_schema(s, &version, err) &&
        (version == RB_STORE_SCHEMA ||
         (run_steps(s, version, err) && exec(s, RB_WRITER_RECORD, err) && exec(s, mark, err)));
    if (!made) {
        rb_store_rollback(s);
        return false;
    }
    return rb_store_commit(s, err);
}

// Nothing in the file may run as code, and a database that another process holds is awaited.
static bool configure(struct rb_store *s, bool read_only, int busy_ms, struct rb_err *err)
{
    sqlite3_busy_timeout(s->db, busy_ms);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    return exec(s, "PRAGMA trusted_schema=OFF; PRAGMA foreign_keys=ON; PRAGMA cell_size_check=ON", err) &&
           (!read_only || exec(s, "PRAGMA query_only=ON", err));
}

static bool open_file(struct rb_store *s, bool read_only, int busy_ms, struct rb_err *err)
{
    // Read-only use opens for writing too where it may: a crashed command's journal must be rolled back first.
    if (sqlite3_open_v2(s->path, &s->db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
        return rb_store_sql_error(s, err);
    int version;
    if (!configure(s, read_only, busy_ms, err) || !check_schema(s, &version, err))
        return false;
    s->schema = version;
    if (version == 0 && read_only) {
        return rb_err_set_at(err, RB_E_PROFILE_MISSING, (struct rb_place){.file = s->path}, NULL,
                             "the profile store is empty: run `rbprofile train JOB.yaml` or `rbprofile import FILE`");
    }
    if (version == RB_STORE_SCHEMA || read_only)
        return true;
    s->schema = RB_STORE_SCHEMA;
    return bring_up_to_date(s, err);
}

static bool open_store(const char *path, bool read_only, int busy_ms, struct rb_store **out, struct rb_err *err)
{
    bool dirs_are_ours;
    struct rb_store *s = rb_xcalloc(1, sizeof(*s));
    s->now_us = -1;
    s->source = rb_xstrdup("");
    if (!choose_path(path, &s->path, &dirs_are_ours, err)) {
        rb_store_close(s);
        return false;
    }
    const bool exists = access(s->path, F_OK) == 0;
    bool ok = exists || !read_only;
    if (!ok) {
        rb_err_set_at(err, RB_E_PROFILE_MISSING, (struct rb_place){.file = s->path}, NULL,
                      "there is no profile store yet: run `rbprofile train JOB.yaml` or `rbprofile import FILE`");
    }
    ok = ok && (exists || create_private_file(s->path, dirs_are_ours, err)) && open_file(s, read_only, busy_ms, err);
    if (!ok) {
        rb_store_close(s);
        return false;
    }
    *out = s;
    return true;
}

bool rb_store_open(const char *path, bool read_only, struct rb_store **out, struct rb_err *err)
{
    return open_store(path, read_only, BUSY_MS, out, err);
}

bool rb_store_open_now(const char *path, struct rb_store **out, struct rb_err *err)
{
    return open_store(path, false, BUSY_NOW_MS, out, err);
}

void rb_store_close(struct rb_store *s)
{
    if (s) {
        sqlite3_close(s->db);
        free(s->path);
        free(s->source);
        free(s);
    }
}

const char *rb_store_path(const struct rb_store *s)
{
    return s->path;
}

void rb_store_stamp(struct rb_store *s, int64_t now_us, const char *source)
{
    free(s->source);
    s->source = rb_xstrdup(source);
    s->now_us = now_us;
}

bool rb_store_begin(struct rb_store *s, struct rb_err *err)
{
    return exec(s, "BEGIN IMMEDIATE", err);
}

bool rb_store_commit(struct rb_store *s, struct rb_err *err)
{
    return exec(s, "COMMIT", err);
}

void rb_store_rollback(struct rb_store *s)
{
    sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL); // fails only if sqlite has rolled back by itself already
}
