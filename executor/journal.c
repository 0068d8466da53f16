// The journal over sqlite. Launches, tasks, events and notes are rows; a run has one row of meta.
#include "executor/journal.h"

#include "base/buf.h"
#include "base/number.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

struct rb_journal {
    sqlite3 *db;
    int lock_fd; // -1: a reader
    bool in_transaction;
    bool dead; // a write failed: what is on disk is all there will ever be
    int64_t n_writes;
    int64_t last_write; // rb_journal_die; 0: never
    enum rb_journal_death death;
};

static const char *const launch_states[] = {"intent",  "sent",  "ambiguous",   "refused", "acked",
                                            "running", "ready", "terminating", "gone"};
static const char *const task_states[] = {"intent", "exited", "saved", "ended", "killing", "killed"};

const char *rb_launch_state_name(enum rb_launch_state s)
{
    return launch_states[s];
}

const char *rb_task_state_name(enum rb_task_state s)
{
    return task_states[s];
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

static bool sql_error(struct rb_journal *j, struct rb_err *err)
{
    j->dead = true;
    return rb_err_set(err, RB_ERR_IO, "journal %s: %s", sqlite3_db_filename(j->db, "main"),
                      sqlite3_errmsg(j->db));
}

static bool exec(struct rb_journal *j, const char *sql, struct rb_err *err)
{
    return sqlite3_exec(j->db, sql, NULL, NULL, NULL) == SQLITE_OK || sql_error(j, err);
}

// The lock file: held by flock, tells who holds it.

static void lock_path(const char *path, struct rb_buf *out)
{
    rb_buf_printf(out, "%s.lock", path);
}

static int read_pid(int fd)
{
    char text[32] = "";
    const ssize_t n = pread(fd, text, sizeof text - 1, 0);
    int64_t pid = 0;
    if (n > 0)
        text[strcspn(text, "\n")] = '\0';
    return n > 0 && rb_parse_int(text, &pid) && pid > 0 && pid < INT32_MAX ? (int)pid : 0;
}

static bool take_lock(const char *path, int *out_fd, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf name = RB_BUF_INIT;
    lock_path(path, &name);
    const int fd = open(rb_buf_str(&name), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return rb_err_set(err, RB_ERR_IO, "%s: %s", rb_buf_str(&name), strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        const int pid = read_pid(fd);
        close(fd);
        return rb_err_set(err, RB_ERR_INVALID,
                          "another rbrun (process %d) is carrying this run out; stop it first, "
                          "or watch it with `rbrun status`",
                          pid);
    }
    char text[32];
    const int n = snprintf(text, sizeof text, "%d\n", (int)getpid());
    if (ftruncate(fd, 0) != 0 || pwrite(fd, text, (size_t)n, 0) != n) {
        rb_err_set(err, RB_ERR_IO, "%s: %s", rb_buf_str(&name), strerror(errno));
        close(fd);
        return false;
    }
    *out_fd = fd;
    return true;
}

bool rb_journal_lock_holder(const char *path, int *out_pid, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf name = RB_BUF_INIT;
    lock_path(path, &name);
    const int fd = open(rb_buf_str(&name), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 && errno == ENOENT) {
        *out_pid = 0;
        return true;
    }
    if (fd < 0)
        return rb_err_set(err, RB_ERR_IO, "%s: %s", rb_buf_str(&name), strerror(errno));
    const bool held = flock(fd, LOCK_SH | LOCK_NB) != 0;
    *out_pid = held ? read_pid(fd) : 0;
    close(fd); // and with it the shared lock
    return true;
}

// Opening.

static bool check_schema(struct rb_journal *j, const char *path, struct rb_err *err)
{
    sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(j->db, "PRAGMA user_version", -1, &st, NULL) != SQLITE_OK ||
        sqlite3_step(st) != SQLITE_ROW) {
        sql_error(j, err);
        sqlite3_finalize(st);
        return false;
    }
    const int version = sqlite3_column_int(st, 0);
    sqlite3_finalize(st);
    if (version != RB_JOURNAL_SCHEMA)
        return rb_err_set(err, RB_ERR_INVALID, "%s: expected a journal of version %d, got version %d; %s",
                          path, RB_JOURNAL_SCHEMA, version,
                          version > RB_JOURNAL_SCHEMA ? "use the newer rbrun that wrote it"
                                                      : "is it a journal at all?");
    return true;
}

static bool open_db(const char *path, int flags, struct rb_journal *j, struct rb_err *err)
{
    if (sqlite3_open_v2(path, &j->db, flags | SQLITE_OPEN_NOFOLLOW, NULL) != SQLITE_OK)
        return rb_err_set(err, RB_ERR_IO, "journal %s: %s", path,
                          j->db ? sqlite3_errmsg(j->db) : "out of memory");
    sqlite3_busy_timeout(j->db, 10000); // a reader's checkpoint may be in the way for a moment
    return exec(j, "PRAGMA trusted_schema=OFF", err);
}

static bool open_for_writing(const char *path, int flags, struct rb_journal **out, struct rb_err *err)
{
    struct rb_journal *j = rb_xcalloc(1, sizeof *j);
    j->lock_fd = -1;
    if (!take_lock(path, &j->lock_fd, err) || !open_db(path, SQLITE_OPEN_READWRITE | flags, j, err) ||
        !exec(j, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL", err)) {
        rb_journal_close(j);
        return false;
    }
    *out = j;
    return true;
}

bool rb_journal_create(const char *path, const struct rb_journal_meta *meta, struct rb_journal **out,
                       struct rb_err *err)
{
    if (access(path, F_OK) == 0)
        return rb_err_set(err, RB_ERR_INVALID, "%s: exists already; go on with `rbrun resume`", path);
    struct rb_journal *j;
    if (!open_for_writing(path, SQLITE_OPEN_CREATE, &j, err))
        return false;
    RB_AUTO(rb_buf_finish) struct rb_buf version = RB_BUF_INIT;
    rb_buf_printf(&version, "PRAGMA user_version=%d", RB_JOURNAL_SCHEMA);
    char *insert =
        sqlite3_mprintf("INSERT INTO meta VALUES (%Q, %Q, %Q, %lld, %lld, %lld, -1, -1)", meta->run_id,
                        meta->plan_sha256, meta->owner, (long long)meta->started_unix_us,
                        (long long)meta->deadline_us, (long long)meta->budget_uusd);
    const bool ok = exec(j, "BEGIN IMMEDIATE", err) && exec(j, schema, err) && exec(j, insert, err) &&
                    exec(j, rb_buf_str(&version), err) && exec(j, "COMMIT", err);
    sqlite3_free(insert);
    if (!ok) {
        rb_journal_close(j);
        return false;
    }
    *out = j;
    return true;
}

bool rb_journal_open(const char *path, struct rb_journal **out, struct rb_err *err)
{
    if (access(path, F_OK) != 0)
        return rb_err_set(err, RB_ERR_NOT_FOUND, "%s: %s", path, strerror(errno));
    struct rb_journal *j;
    if (!open_for_writing(path, 0, &j, err))
        return false;
    if (!check_schema(j, path, err)) {
        rb_journal_close(j);
        return false;
    }
    *out = j;
    return true;
}

bool rb_journal_open_reader(const char *path, struct rb_journal **out, struct rb_err *err)
{
    if (access(path, F_OK) != 0)
        return rb_err_set(err, RB_ERR_NOT_FOUND, "%s: %s", path, strerror(errno));
    struct rb_journal *j = rb_xcalloc(1, sizeof *j);
    j->lock_fd = -1;
    // Read-write all the same: what a killed writer left in the log must be taken up before it can be read.
    if (!open_db(path, SQLITE_OPEN_READWRITE, j, err) || !exec(j, "PRAGMA query_only=ON", err) ||
        !check_schema(j, path, err)) {
        rb_journal_close(j);
        return false;
    }
    *out = j;
    return true;
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

bool rb_journal_relax(struct rb_journal *j, struct rb_err *err)
{
    return exec(j, "PRAGMA synchronous=OFF", err);
}

// Writing.

static bool died(struct rb_err *err)
{
    return rb_err_set(err, RB_ERR_IO, "the journal takes no more writes; resume the run with `rbrun resume`");
}

// Counts a committed write and ends the process, or plays dead, if a test asked for that.
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
    return exec(j, "COMMIT", err) && committed(j, err);
}

static bool bind_all(sqlite3_stmt *st, const char *types, va_list ap)
{
    for (int i = 0; types[i]; i++) {
        const int rc = types[i] == 'i'
                           ? sqlite3_bind_int64(st, i + 1, va_arg(ap, int64_t))
                           : sqlite3_bind_text(st, i + 1, va_arg(ap, const char *), -1, SQLITE_TRANSIENT);
        if (rc != SQLITE_OK)
            return false;
    }
    return true;
}

// types: 'i' an int64_t, 't' a text, in order of the statement's parameters.
static bool write_row(struct rb_journal *j, struct rb_err *err, const char *sql, const char *types, ...)
{
    if (j->dead)
        return died(err);
    sqlite3_stmt *st = NULL;
    va_list ap;
    va_start(ap, types);
    const bool ok = sqlite3_prepare_v2(j->db, sql, -1, &st, NULL) == SQLITE_OK && bind_all(st, types, ap) &&
                    sqlite3_step(st) == SQLITE_DONE;
    va_end(ap);
    if (!ok)
        sql_error(j, err);
    sqlite3_finalize(st);
    return ok && (j->in_transaction || committed(j, err));
}

bool rb_journal_set_limits(struct rb_journal *j, int64_t deadline_us, int64_t budget_uusd, struct rb_err *err)
{
    return write_row(j, err, "UPDATE meta SET deadline_us=?, budget_uusd=?", "ii", deadline_us, budget_uusd);
}

bool rb_journal_leak_check(struct rb_journal *j, int64_t at_us, int instances_left, struct rb_err *err)
{
    return write_row(j, err, "UPDATE meta SET leak_checked_at_us=?, instances_left=?", "ii", at_us,
                     (int64_t)instances_left);
}

bool rb_journal_event(struct rb_journal *j, const struct rb_event *e, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    struct rb_json json;
    rb_json_init(&json, &text, false);
    rb_event_write(e, &json);
    return write_row(j, err, "INSERT INTO event(json) VALUES (?)", "t", rb_buf_str(&text));
}

bool rb_journal_launch(struct rb_journal *j, const struct rb_launch_row *r, struct rb_err *err)
{
    return write_row(
        j, err, "INSERT OR REPLACE INTO launch VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
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
    return write_row(j, err, "INSERT OR REPLACE INTO task VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)",
                     "iiiitiiiiiitt", (int64_t)r->trial, (int64_t)r->start, (int64_t)r->stage,
                     (int64_t)r->attempt, rb_task_state_name(r->state), (int64_t)r->exit_code,
                     r->resource_start, r->resource_end, r->started_us, r->exited_us, r->ended_us,
                     rb_buf_str(&slots), r->checkpoint);
}

bool rb_journal_note(struct rb_journal *j, int64_t time_us, const char *kind, const char *text,
                     struct rb_err *err)
{
    return write_row(j, err, "INSERT INTO note(time_us, kind, text) VALUES (?,?,?)", "itt", time_us, kind,
                     text);
}

// Reading. The file is ours, but it may have been damaged: texts are checked like any input.

typedef bool read_fn(void *ctx, sqlite3_stmt *st, struct rb_err *err);

static bool each_row(struct rb_journal *j, const char *sql, read_fn *fn, void *ctx, struct rb_err *err)
{
    sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(j->db, sql, -1, &st, NULL) != SQLITE_OK)
        return sql_error(j, err);
    int rc;
    bool ok = true;
    while (ok && (rc = sqlite3_step(st)) == SQLITE_ROW)
        ok = fn(ctx, st, err);
    if (ok && rc != SQLITE_DONE)
        ok = sql_error(j, err);
    sqlite3_finalize(st);
    return ok;
}

static const char *text_of(sqlite3_stmt *st, int column)
{
    const unsigned char *s = sqlite3_column_text(st, column);
    return s ? (const char *)s : "";
}

static bool damaged(const char *what, const char *text, struct rb_err *err)
{
    return rb_err_set(err, RB_ERR_INVALID, "the journal is damaged: %s \"%.60s\"", what, text);
}

static bool copy_text(sqlite3_stmt *st, int column, char *out, size_t size, struct rb_err *err)
{
    const char *s = text_of(st, column);
    const size_t n = strlen(s);
    if (n >= size)
        return damaged("a text is too long", s, err);
    memcpy(out, s, n + 1);
    return true;
}

static bool state_of(const char *text, const char *const *names, int n, int *out, struct rb_err *err)
{
    for (int i = 0; i < n; i++)
        if (strcmp(text, names[i]) == 0) {
            *out = i;
            return true;
        }
    return damaged("unknown state", text, err);
}

struct one_meta {
    struct rb_arena *arena;
    struct rb_journal_meta meta;
    int n;
};

static bool read_meta(void *ctx, sqlite3_stmt *st, struct rb_err *err)
{
    (void)err;
    struct one_meta *m = ctx;
    m->n++;
    m->meta = (struct rb_journal_meta){
        .run_id = rb_arena_strdup(m->arena, text_of(st, 0)),
        .plan_sha256 = rb_arena_strdup(m->arena, text_of(st, 1)),
        .owner = rb_arena_strdup(m->arena, text_of(st, 2)),
        .started_unix_us = sqlite3_column_int64(st, 3),
        .deadline_us = sqlite3_column_int64(st, 4),
        .budget_uusd = sqlite3_column_int64(st, 5),
        .leak_checked_at_us = sqlite3_column_int64(st, 6),
        .instances_left = sqlite3_column_int(st, 7),
    };
    return true;
}

bool rb_journal_meta(struct rb_journal *j, struct rb_arena *arena, struct rb_journal_meta *out,
                     struct rb_err *err)
{
    struct one_meta m = {.arena = arena};
    if (!each_row(j, "SELECT * FROM meta", read_meta, &m, err))
        return false;
    if (m.n != 1)
        return damaged("expected one row of meta, run", "", err);
    *out = m.meta;
    return true;
}

struct event_reader {
    bool (*fn)(void *ctx, const struct rb_event *e, struct rb_err *err);
    void *ctx;
};

static bool read_event(void *ctx, sqlite3_stmt *st, struct rb_err *err)
{
    struct event_reader *r = ctx;
    const char *text = text_of(st, 0);
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    struct rb_event e;
    return rb_doc_parse_json(&doc, "journal event", text, strlen(text), err) &&
           rb_event_read(doc.root, &e, err) && r->fn(r->ctx, &e, err);
}

bool rb_journal_each_event(struct rb_journal *j,
                           bool (*fn)(void *ctx, const struct rb_event *e, struct rb_err *err), void *ctx,
                           struct rb_err *err)
{
    struct event_reader r = {fn, ctx};
    return each_row(j, "SELECT json FROM event ORDER BY seq", read_event, &r, err);
}

// Rows of one kind, collected. The array grows on the heap and moves into the arena at the end.
struct collected {
    struct rb_arena *arena;
    void *rows;
    int n, cap;
};

static void *next_row(struct collected *c, size_t size)
{
    if (c->n == c->cap) {
        c->cap = c->cap ? 2 * c->cap : 64;
        c->rows = rb_xrealloc(c->rows, (size_t)c->cap, size);
    }
    void *row = (char *)c->rows + (size_t)c->n++ * size;
    memset(row, 0, size);
    return row;
}

static bool deliver(struct collected *c, size_t size, bool ok, void **out, int *out_n)
{
    if (ok) {
        *out = rb_arena_array(c->arena, (size_t)(c->n ? c->n : 1), size);
        if (c->n)
            memcpy(*out, c->rows, (size_t)c->n * size);
        *out_n = c->n;
    }
    free(c->rows);
    return ok;
}

static bool read_launch(void *ctx, sqlite3_stmt *st, struct rb_err *err)
{
    struct rb_launch_row *r = next_row(ctx, sizeof *r);
    int state = 0;
    r->node = sqlite3_column_int(st, 0);
    r->attempt = sqlite3_column_int(st, 1);
    r->offer = sqlite3_column_int(st, 2);
    if (!state_of(text_of(st, 3), launch_states, RB_LAUNCH_GONE + 1, &state, err) ||
        !copy_text(st, 4, r->launch_id, sizeof r->launch_id, err) ||
        !copy_text(st, 5, r->token, sizeof r->token, err) ||
        !copy_text(st, 6, r->infra, sizeof r->infra, err) ||
        !copy_text(st, 7, r->instance_type, sizeof r->instance_type, err) ||
        !copy_text(st, 8, r->market, sizeof r->market, err) ||
        !copy_text(st, 9, r->instance_id, sizeof r->instance_id, err) ||
        !copy_text(st, 10, r->address, sizeof r->address, err) ||
        !copy_text(st, 11, r->private_address, sizeof r->private_address, err) ||
        !copy_text(st, 12, r->host_key, sizeof r->host_key, err))
        return false;
    r->state = (enum rb_launch_state)state;
    int64_t *const numbers[] = {&r->intent_us,          &r->running_us,    &r->ready_us,
                                &r->terminate_us,       &r->gone_us,       &r->running_unix_us,
                                &r->terminated_unix_us, &r->reserved_uusd, &r->cost_uusd};
    for (int i = 0; i < (int)(sizeof numbers / sizeof *numbers); i++)
        *numbers[i] = sqlite3_column_int64(st, 13 + i);
    return true;
}

bool rb_journal_launches(struct rb_journal *j, struct rb_arena *arena, struct rb_launch_row **out, int *out_n,
                         struct rb_err *err)
{
    struct collected c = {.arena = arena};
    const bool ok = each_row(j, "SELECT * FROM launch ORDER BY node, attempt", read_launch, &c, err);
    return deliver(&c, sizeof(struct rb_launch_row), ok, (void **)out, out_n);
}

static bool read_slots(const char *text, struct rb_arena *arena, struct rb_task_row *r, struct rb_err *err)
{
    int n = text[0] ? 1 : 0;
    for (const char *s = text; *s; s++)
        n += *s == ',';
    struct rb_slot *slots = rb_arena_array(arena, (size_t)(n ? n : 1), sizeof *slots);
    const char *at = text;
    for (int i = 0; i < n; i++) {
        int used = 0;
        if (sscanf(at, "%d:%" SCNu64 "%n", &slots[i].node, &slots[i].gpus, &used) != 2 ||
            (at[used] != ',' && at[used] != '\0'))
            return damaged("slots", text, err);
        at += used + (at[used] == ',');
    }
    r->slots = slots;
    r->n_slots = n;
    return true;
}

static bool read_task(void *ctx, sqlite3_stmt *st, struct rb_err *err)
{
    struct collected *c = ctx;
    struct rb_task_row *r = next_row(c, sizeof *r);
    int state = 0;
    if (!state_of(text_of(st, 4), task_states, RB_TASK_KILLED + 1, &state, err) ||
        !read_slots(text_of(st, 11), c->arena, r, err) ||
        !copy_text(st, 12, r->checkpoint, sizeof r->checkpoint, err))
        return false;
    r->trial = sqlite3_column_int(st, 0);
    r->start = sqlite3_column_int(st, 1);
    r->stage = sqlite3_column_int(st, 2);
    r->attempt = sqlite3_column_int(st, 3);
    r->state = (enum rb_task_state)state;
    r->exit_code = sqlite3_column_int(st, 5);
    int64_t *const numbers[] = {&r->resource_start, &r->resource_end, &r->started_us, &r->exited_us,
                                &r->ended_us};
    for (int i = 0; i < (int)(sizeof numbers / sizeof *numbers); i++)
        *numbers[i] = sqlite3_column_int64(st, 6 + i);
    return true;
}

bool rb_journal_tasks(struct rb_journal *j, struct rb_arena *arena, struct rb_task_row **out, int *out_n,
                      struct rb_err *err)
{
    struct collected c = {.arena = arena};
    const bool ok = each_row(j, "SELECT * FROM task ORDER BY trial, start", read_task, &c, err);
    return deliver(&c, sizeof(struct rb_task_row), ok, (void **)out, out_n);
}

static bool read_note(void *ctx, sqlite3_stmt *st, struct rb_err *err)
{
    (void)err;
    struct collected *c = ctx;
    struct rb_note *n = next_row(c, sizeof *n);
    n->time_us = sqlite3_column_int64(st, 0);
    n->kind = rb_arena_strdup(c->arena, text_of(st, 1));
    n->text = rb_arena_strdup(c->arena, text_of(st, 2));
    return true;
}

bool rb_journal_notes(struct rb_journal *j, struct rb_arena *arena, struct rb_note **out, int *out_n,
                      struct rb_err *err)
{
    struct collected c = {.arena = arena};
    const bool ok = each_row(j, "SELECT time_us, kind, text FROM note ORDER BY seq", read_note, &c, err);
    return deliver(&c, sizeof(struct rb_note), ok, (void **)out, out_n);
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
