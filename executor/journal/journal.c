// The journal over sqlite. Launches, tasks, events and notes are rows; a run has one row of meta.
#include "executor/journal/journal_private.h"

#include "base/text/buf.h"
#include "executor/journal/handover.h"
#include "executor/journal/journal_sent.h"
#include "executor/journal/run_lock.h"
#include "profiles/catalog/capacity.h"
#include "profiles/store/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const rb_journal_launch_states[] = {"intent",  "sent",  "ambiguous",   "refused", "acked",
                                                "running", "ready", "terminating", "gone"};
const char *const rb_journal_task_states[] = {"intent", "exited", "saved", "ended", "killing", "killed"};

const char *rb_launch_state_name(enum rb_launch_state s)
{
    return rb_journal_launch_states[s];
}

const char *rb_task_state_name(enum rb_task_state s)
{
    return rb_journal_task_states[s];
}

static const char schema[] =
    "CREATE TABLE meta (run_id TEXT NOT NULL, plan_sha256 TEXT NOT NULL, owner TEXT NOT NULL,"
    " started_unix_us INTEGER NOT NULL, deadline_us INTEGER NOT NULL, budget_uusd INTEGER NOT NULL, "
    "leak_checked_at_us INTEGER NOT NULL,"
    " instances_left INTEGER NOT NULL);"
    "CREATE TABLE event (seq INTEGER PRIMARY KEY, json TEXT NOT NULL);"
    "CREATE TABLE launch (node INTEGER, attempt INTEGER, offer INTEGER NOT NULL, state TEXT NOT NULL,"
    " launch_id TEXT NOT NULL, token TEXT NOT NULL, infra TEXT NOT NULL, instance_type TEXT NOT NULL,"
    " market TEXT NOT NULL, instance_id TEXT NOT NULL, address TEXT NOT NULL, private_address TEXT NOT NULL,"
    " host_key TEXT NOT NULL, intent_us INTEGER, running_us INTEGER, ready_us INTEGER, terminate_us INTEGER,"
    " gone_us INTEGER, running_unix_us INTEGER, terminated_unix_us INTEGER, reserved_uusd INTEGER,"
    " cost_uusd INTEGER, PRIMARY KEY (node, attempt)) WITHOUT ROWID;"
    "CREATE TABLE task (trial INTEGER, start INTEGER, stage INTEGER, attempt INTEGER, state TEXT NOT NULL,"
    " exit_code INTEGER, resource_start INTEGER, resource_end INTEGER, started_us INTEGER, exited_us INTEGER,"
    " ended_us INTEGER, slots TEXT NOT NULL, checkpoint TEXT NOT NULL, PRIMARY KEY (trial, start)) WITHOUT "
    "ROWID;"
    "CREATE TABLE note (seq INTEGER PRIMARY KEY, time_us INTEGER, kind TEXT NOT NULL, text TEXT NOT NULL);";

bool rb_journal_damaged(const char *path, const char *what, const char *detail, struct rb_err *err)
{
    return rb_err_set(err, RB_E_JOURNAL_DAMAGED, "the journal %s is damaged: %s%s%.120s%s", path, what,
                      detail[0] ? " \"" : "", detail, detail[0] ? "\"" : "");
}

bool rb_journal_misfit(const struct rb_journal *j, struct rb_err *err, const char *fmt, ...)
{
    char what[300];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    return rb_journal_damaged(sqlite3_db_filename(j->db, "main"), what, "", err);
}

bool rb_journal_sql_error(struct rb_journal *j, struct rb_err *err)
{
    const char *path = sqlite3_db_filename(j->db, "main");
    const int code = sqlite3_errcode(j->db);
    j->dead = true;
    if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB ||
        (code == SQLITE_ERROR && strncmp(sqlite3_errmsg(j->db), "no such ", 8) == 0)) // a table or a column
        return rb_journal_damaged(path, sqlite3_errmsg(j->db), "", err);
    const int why = code == SQLITE_IOERR ? sqlite3_system_errno(j->db) : 0; // sqlite's own words do not say that the disk is full
    return rb_err_set(err, RB_E_JOURNAL_WRITE, "journal %s: %s%s%s", path, sqlite3_errmsg(j->db), why ? ": " : "", why ? strerror(why) : "");
}

static bool exec(struct rb_journal *j, const char *sql, struct rb_err *err)
{
    return sqlite3_exec(j->db, sql, NULL, NULL, NULL) == SQLITE_OK || rb_journal_sql_error(j, err);
}

// Opening.

static bool check_schema(struct rb_journal *j, const char *path, struct rb_err *err)
{
    sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(j->db, "PRAGMA user_version", -1, &st, NULL) != SQLITE_OK ||
        sqlite3_step(st) != SQLITE_ROW) {
        rb_journal_sql_error(j, err);
        sqlite3_finalize(st);
        return false;
    }
    const int version = sqlite3_column_int(st, 0);
    sqlite3_finalize(st);
    if (version < RB_JOURNAL_SCHEMA) // there never was an older one
        return rb_journal_damaged(path, "it is empty, or none of ours", "", err);
    if (version == RB_JOURNAL_SCHEMA || version == RB_JOURNAL_AWAY)
        return true;
    RB_AUTO(rb_buf_finish) struct rb_buf writer = RB_BUF_INIT;
    rb_writer_name(j->db, &writer);
    return rb_err_set(err, RB_E_JOURNAL_VERSION,
                      "%s: expected a journal of version %d, got version %d, written by %s; use that rbrun or a later "
                      "one (this is " RB_VERSION ")",
                      path, RB_JOURNAL_SCHEMA, version, rb_buf_str(&writer));
}

static bool open_db(const char *path, int flags, struct rb_journal *j, struct rb_err *err)
{
    if (sqlite3_open_v2(path, &j->db, flags | SQLITE_OPEN_NOFOLLOW, NULL) != SQLITE_OK)
        return rb_err_set(err, RB_E_JOURNAL_WRITE, "journal %s: %s", path,
                          j->db ? sqlite3_errmsg(j->db) : "out of memory");
    sqlite3_busy_timeout(j->db, 10000); // a reader's checkpoint may block it for a moment
    return exec(j, "PRAGMA trusted_schema=OFF", err);
}

static bool open_to_write(const char *path, struct rb_journal *j, struct rb_err *err)
{
    return open_db(path, SQLITE_OPEN_READWRITE, j, err) &&
           exec(j, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL", err);
}

static bool fill(struct rb_journal *j, const struct rb_journal_meta *meta, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf version = RB_BUF_INIT;
    rb_buf_printf(&version, "PRAGMA user_version=%d", RB_JOURNAL_SCHEMA);
    char *insert = sqlite3_mprintf("INSERT INTO meta VALUES (%Q, %Q, %Q, %lld, %lld, %lld, -1, -1)", meta->run_id,
                                   meta->plan_sha256, meta->owner, (long long)meta->started_unix_us,
                                   (long long)meta->deadline_us, (long long)meta->budget_uusd);
    const bool ok = exec(j, "PRAGMA synchronous=FULL; BEGIN IMMEDIATE", err) && exec(j, schema, err) &&
                    exec(j, RB_WRITER_RECORD, err) && exec(j, insert, err) && exec(j, rb_buf_str(&version), err) && exec(j, "COMMIT", err);
    sqlite3_free(insert);
    return ok;
}

// A journal with its meta row and nothing else, complete on disk.
static bool make_file(const char *path, const struct rb_journal_meta *meta, struct rb_err *err)
{
    struct rb_journal j = {.lock_fd = -1};
    unlink(path); // left by a process that was killed here
    const bool ok = open_db(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &j, err) && fill(&j, meta, err);
    sqlite3_close(j.db);
    return ok;
}

// A journal under its name is whole: a process that is killed before leaves a run without one.
static bool put_in_place(const char *from, const char *to, struct rb_err *err)
{
    RB_AUTO(rb_auto_free) char *copy = rb_xstrdup(to);
    if (rename(from, to) != 0)
        return rb_err_set(err, RB_E_JOURNAL_WRITE, "cannot put the journal in its place, %s: %s", to, strerror(errno));
    const int dir = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool ok = dir >= 0 && fsync(dir) == 0;
    if (!ok)
        rb_err_set(err, RB_E_JOURNAL_WRITE, "cannot bring the directory of %s to the disk: %s", to, strerror(errno));
    if (dir >= 0)
        close(dir);
    return ok;
}

bool rb_journal_create(const char *path, const struct rb_journal_meta *meta, struct rb_journal **out,
                       struct rb_err *err)
{
    if (access(path, F_OK) == 0)
        return rb_err_set(err, RB_E_RUN_EXISTS, "%s: exists already; continue with `rbrun resume`", path);
    RB_AUTO(rb_buf_finish) struct rb_buf fresh = RB_BUF_INIT;
    rb_buf_printf(&fresh, "%s.new", path);
    struct rb_journal *j = rb_xcalloc(1, sizeof *j);
    j->lock_fd = -1;
    const bool ok = rb_run_lock_take(path, &j->lock_fd, err) && make_file(rb_buf_str(&fresh), meta, err) &&
                    put_in_place(rb_buf_str(&fresh), path, err) && open_to_write(path, j, err);
    if (!ok) {
        rb_journal_close(j);
        return false;
    }
    *out = j;
    return true;
}

// The file is missing, or cannot be checked. A run that sent a request had one.
static bool check_there(const char *path, const struct rb_sent_launches *sent, struct rb_err *err)
{
    if (access(path, F_OK) == 0)
        return true;
    if (errno != ENOENT)
        return rb_err_set(err, RB_E_JOURNAL_WRITE, "cannot read the journal %s: %s; allow reading it", path,
                          strerror(errno));
    return sent->n > 0 ? rb_journal_damaged(path, "it is gone", "", err)
                       : rb_err_set(err, RB_E_JOURNAL_MISSING, "no journal at %s: %s", path, strerror(ENOENT));
}

// to_write: with the lock, and for writing. The launch log is read first, because it is written after the journal.
static bool open_whole(const char *path, bool to_write, struct rb_journal *j, struct rb_err *err)
{
    RB_AUTO(rb_sent_launches_finish) struct rb_sent_launches sent = {0};
    RB_AUTO(rb_auto_free) char *dir = rb_xstrdup(path);
    if (to_write && access(path, F_OK) == 0 && !rb_run_lock_take(path, &j->lock_fd, err))
        return false;
    if (!rb_sent_launches_read(dirname(dir), &sent, err) || !check_there(path, &sent, err))
        return false;
    // Read-write also for readers: sqlite must recover what a killed writer left in the log before it can read.
    const bool opened = to_write ? open_to_write(path, j, err)
                                 : open_db(path, SQLITE_OPEN_READWRITE, j, err) && exec(j, "PRAGMA query_only=ON", err);
    return opened && check_schema(j, path, err) && rb_sent_launches_check(&sent, j, path, err);
}

// The name of the run's directory is its id.
static bool check_here(struct rb_journal *j, const char *path, struct rb_err *err)
{
    RB_AUTO(rb_auto_free) char *dir = rb_xstrdup(path);
    struct rb_handover h;
    return rb_handover_latest(j, &h, err) &&
           (!rb_handover_is_away(&h) || rb_handover_refuse(&h, basename(dirname(dir)), err));
}

static bool open_journal(const char *path, bool to_write, struct rb_journal **out, struct rb_err *err)
{
    struct rb_journal *j = rb_xcalloc(1, sizeof *j);
    j->lock_fd = -1;
    if (!open_whole(path, to_write, j, err)) {
        rb_journal_close(j);
        return false;
    }
    *out = j;
    return true;
}

bool rb_journal_open(const char *path, struct rb_journal **out, struct rb_err *err)
{
    struct rb_journal *j;
    if (!open_journal(path, true, &j, err))
        return false;
    if (!check_here(j, path, err)) {
        rb_journal_close(j);
        return false;
    }
    *out = j;
    return true;
}

bool rb_journal_open_moving(const char *path, struct rb_journal **out, struct rb_err *err)
{
    return open_journal(path, true, out, err);
}

bool rb_journal_open_reader(const char *path, struct rb_journal **out, struct rb_err *err)
{
    return open_journal(path, false, out, err);
}

void rb_journal_close(struct rb_journal *j)
{
    if (!j)
        return;
    sqlite3_close(j->db);
    if (j->lock_fd >= 0)
        close(j->lock_fd);
    free(j);
}

bool rb_journal_copy(struct rb_journal *j, const char *path, struct rb_err *err)
{
    unlink(path); // of a process that was killed here
    char *into = sqlite3_mprintf("VACUUM INTO %Q", path);
    const bool ok = exec(j, into, err);
    sqlite3_free(into);
    return ok;
}

bool rb_journal_is_relaxed(const struct rb_journal *j)
{
    return j->relaxed;
}

bool rb_journal_relax(struct rb_journal *j, struct rb_err *err)
{
    j->relaxed = true;
    return exec(j, "PRAGMA synchronous=OFF", err);
}

// Writing.

static bool died(struct rb_err *err)
{
    return rb_err_set(err, RB_E_JOURNAL_WRITE, "the journal takes no more writes; resume the run with `rbrun resume`");
}

static bool is_full(struct rb_journal *j, struct rb_err *err)
{
    if (j->death != RB_JOURNAL_FULL || j->last_write == 0 || j->n_writes + 1 < j->last_write)
        return false;
    j->dead = true;
    rb_err_set(err, RB_E_JOURNAL_WRITE, "journal %s: database or disk is full", sqlite3_db_filename(j->db, "main"));
    return true;
}

bool rb_journal_plays_dead(const struct rb_journal *j)
{
    return j->death != RB_JOURNAL_FULL && j->last_write > 0 && j->n_writes >= j->last_write;
}

// Counts a committed write and ends the process, or plays dead, if a test requested that.
static bool committed(struct rb_journal *j, struct rb_err *err)
{
    j->n_writes++;
    if (j->last_write == 0 || j->n_writes < j->last_write)
        return true;
    if (j->death == RB_JOURNAL_KILLS)
        raise(SIGKILL);
    j->dead = true;
    return j->death == RB_JOURNAL_DIES_AFTER || died(err);
}

bool rb_journal_begin(struct rb_journal *j, struct rb_err *err)
{
    if (j->dead)
        return died(err);
    if (!exec(j, "BEGIN IMMEDIATE", err))
        return false;
    j->in_transaction = true;
    return true;
}

bool rb_journal_commit(struct rb_journal *j, struct rb_err *err)
{
    if (j->dead)
        return died(err);
    j->in_transaction = false;
    return !is_full(j, err) && exec(j, "COMMIT", err) && committed(j, err);
}

static bool bind_all(sqlite3_stmt *st, const char *types, va_list ap)
{
    for (int i = 0; types[i]; i++) {
        const int rc = types[i] == 'i' ? sqlite3_bind_int64(st, i + 1, va_arg(ap, int64_t))
                                       : sqlite3_bind_text(st, i + 1, va_arg(ap, const char *), -1, SQLITE_TRANSIENT);
        if (rc != SQLITE_OK)
            return false;
    }
    return true;
}

bool rb_journal_write_row(struct rb_journal *j, struct rb_err *err, const char *sql, const char *types, ...)
{
    if (j->dead)
        return died(err);
    if (!j->in_transaction && is_full(j, err))
        return false;
    sqlite3_stmt *st = NULL;
    va_list ap;
    va_start(ap, types);
    const bool ok = sqlite3_prepare_v2(j->db, sql, -1, &st, NULL) == SQLITE_OK && bind_all(st, types, ap) &&
                    sqlite3_step(st) == SQLITE_DONE;
    va_end(ap);
    if (!ok)
        rb_journal_sql_error(j, err);
    sqlite3_finalize(st);
    return ok && (j->in_transaction || committed(j, err));
}

bool rb_journal_set_limits(struct rb_journal *j, int64_t deadline_us, int64_t budget_uusd, struct rb_err *err)
{
    return rb_journal_write_row(j, err, "UPDATE meta SET deadline_us=?, budget_uusd=?", "ii", deadline_us, budget_uusd);
}

bool rb_journal_leak_check(struct rb_journal *j, int64_t at_us, int instances_left, struct rb_err *err)
{
    return rb_journal_write_row(j, err, "UPDATE meta SET leak_checked_at_us=?, instances_left=?", "ii", at_us,
                     (int64_t)instances_left);
}

bool rb_journal_event(struct rb_journal *j, const struct rb_event *e, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    struct rb_json json = {.out = &text};
    rb_event_write(e, &json);
    return rb_journal_write_row(j, err, "INSERT INTO event(json) VALUES (?)", "t", rb_buf_str(&text));
}

bool rb_journal_launch(struct rb_journal *j, const struct rb_launch_row *r, struct rb_err *err)
{
    return rb_journal_write_row(j, err, "INSERT OR REPLACE INTO launch VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
                     "iiitttttttttt"
                     "iiiiiiiii",
                     (int64_t)r->node, (int64_t)r->attempt, (int64_t)r->offer, rb_launch_state_name(r->state),
                     r->launch_id, r->token, r->infra, r->instance_type, r->market, r->instance_id, r->address,
                     r->private_address, r->host_key, r->intent_us, r->running_us, r->ready_us, r->terminate_us,
                     r->gone_us, r->running_unix_us, r->terminated_unix_us, r->reserved_uusd, r->cost_uusd);
}

bool rb_journal_task(struct rb_journal *j, const struct rb_task_row *r, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf slots = RB_BUF_INIT;
    for (int i = 0; i < r->n_slots; i++)
        rb_buf_printf(&slots, "%s%d:%" PRIu64, i ? "," : "", r->slots[i].node, r->slots[i].gpus);
    return rb_journal_write_row(j, err, "INSERT OR REPLACE INTO task VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)", "iiiitiiiiiitt",
                     (int64_t)r->trial, (int64_t)r->start, (int64_t)r->stage, (int64_t)r->attempt,
                     rb_task_state_name(r->state), (int64_t)r->exit_code, r->resource_start, r->resource_end,
                     r->started_us, r->exited_us, r->ended_us, rb_buf_str(&slots), r->checkpoint);
}

// Only runs with spot machines whose prices are known have these tables.
static bool make_market_tables(struct rb_journal *j, struct rb_err *err)
{
    return rb_journal_write_row(j, err,
                                "CREATE TABLE IF NOT EXISTS launch_market (node INTEGER, attempt INTEGER, infra TEXT NOT NULL,"
                                " PRIMARY KEY (node, attempt)) WITHOUT ROWID",
                                "") &&
           rb_journal_write_row(j, err,
                                "CREATE TABLE IF NOT EXISTS market_price (infra TEXT, instance_type TEXT, at_unix_us INTEGER,"
                                " uusd_per_hour INTEGER NOT NULL, PRIMARY KEY (infra, instance_type, at_unix_us)) WITHOUT ROWID",
                                "");
}

bool rb_journal_market(struct rb_journal *j, const struct rb_launch_row *row, struct rb_err *err)
{
    return make_market_tables(j, err) &&
           rb_journal_write_row(j, err, "INSERT OR REPLACE INTO launch_market VALUES (?,?,?)", "iit", (int64_t)row->node,
                                (int64_t)row->attempt, row->market_infra);
}

bool rb_journal_price(struct rb_journal *j, const char *market_infra, const char *instance_type,
                      const struct rb_capacity_step *step, struct rb_err *err)
{
    return make_market_tables(j, err) &&
           rb_journal_write_row(j, err, "INSERT OR REPLACE INTO market_price VALUES (?,?,?,?)", "ttii", market_infra,
                                instance_type, step->at_us, step->uusd_per_hour);
}

bool rb_journal_note(struct rb_journal *j, int64_t time_us, const char *kind, const char *text, struct rb_err *err)
{
    return rb_journal_write_row(j, err, "INSERT INTO note(time_us, kind, text) VALUES (?,?,?)", "itt", time_us, kind, text);
}

void rb_journal_die(struct rb_journal *j, int64_t n, enum rb_journal_death how)
{
    j->last_write = n > 0 ? j->n_writes + n : 0;
    j->death = how;
}

int64_t rb_journal_n_writes(const struct rb_journal *j)
{
    return j->n_writes;
}
