#include "executor/journal/outbox.h"

#include "executor/journal/journal_private.h"

static const char *const states[] = {"waiting", "delivered", "given up", "refused"};

bool rb_outbox_prepare(struct rb_journal *j, struct rb_err *err)
{
    return rb_journal_write_row(j, err,
                                "CREATE TABLE IF NOT EXISTS notice (seq INTEGER PRIMARY KEY, kind TEXT NOT NULL,"
                                " unix_us INTEGER NOT NULL, due_unix_us INTEGER NOT NULL, count INTEGER NOT NULL,"
                                " body TEXT NOT NULL)",
                                "") &&
           rb_journal_write_row(j, err,
                                "CREATE TABLE IF NOT EXISTS delivery (hook INTEGER, seq INTEGER, state TEXT NOT NULL,"
                                " PRIMARY KEY (hook, seq)) WITHOUT ROWID",
                                "");
}

// The first columns of the first row. No row: nothing is changed.
static bool read_row(struct rb_journal *j, sqlite3_stmt *st, int64_t *const *numbers, int n, struct rb_err *err)
{
    const int rc = sqlite3_step(st);
    for (int i = 0; rc == SQLITE_ROW && i < n; i++)
        *numbers[i] = sqlite3_column_int64(st, i);
    return rc == SQLITE_ROW || rc == SQLITE_DONE || rb_journal_sql_error(j, err);
}

static bool number_of(struct rb_journal *j, const char *sql, int64_t parameter, int64_t *out, struct rb_err *err)
{
    sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(j->db, sql, -1, &st, NULL) != SQLITE_OK)
        return rb_journal_sql_error(j, err);
    if (sqlite3_bind_parameter_count(st) > 0)
        sqlite3_bind_int64(st, 1, parameter);
    const bool ok = read_row(j, st, &out, 1, err);
    sqlite3_finalize(st);
    return ok;
}

bool rb_outbox_next_seq(struct rb_journal *j, int64_t *out, struct rb_err *err)
{
    return number_of(j, "SELECT COALESCE(MAX(seq), 0) + 1 FROM notice", 0, out, err);
}

bool rb_outbox_put(struct rb_journal *j, const struct rb_outbox_notice *n, unsigned hooks, struct rb_err *err)
{
    bool ok = rb_journal_write_row(j, err, "INSERT OR REPLACE INTO notice VALUES (?,?,?,?,?,?)", "itiiit", n->seq,
                                   n->kind, n->unix_us, n->due_unix_us, n->count, n->body);
    for (int hook = 0; ok && hooks >> hook; hook++)
        if (hooks >> hook & 1)
            ok = rb_journal_write_row(j, err, "INSERT OR IGNORE INTO delivery VALUES (?,?,?)", "iit", (int64_t)hook,
                                      n->seq, states[RB_DELIVERY_WAITING]);
    return ok;
}

// Columns seq, unix_us, due_unix_us, count, kind, body.
static bool read_notice(struct rb_journal *j, sqlite3_stmt *st, struct rb_arena *arena, struct rb_outbox_notice *out,
                        struct rb_err *err)
{
    int64_t *const numbers[] = {&out->seq, &out->unix_us, &out->due_unix_us, &out->count};
    out->seq = 0;
    if (!read_row(j, st, numbers, 4, err))
        return false;
    if (out->seq == 0)
        return true;
    const char *kind = (const char *)sqlite3_column_text(st, 4), *body = (const char *)sqlite3_column_text(st, 5);
    if (!kind || !body)
        return rb_journal_damaged(sqlite3_db_filename(j->db, "main"), "a notice lacks its text", "", err);
    out->kind = rb_arena_strdup(arena, kind);
    out->body = rb_arena_strdup(arena, body);
    return true;
}

bool rb_outbox_latest(struct rb_journal *j, const char *kind, int64_t after, struct rb_arena *arena,
                      struct rb_outbox_notice *out, struct rb_err *err)
{
    sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(j->db,
                           "SELECT seq, unix_us, due_unix_us, count, kind, body FROM notice WHERE kind=? AND seq>?"
                           " ORDER BY seq DESC LIMIT 1",
                           -1, &st, NULL) != SQLITE_OK)
        return rb_journal_sql_error(j, err);
    sqlite3_bind_text(st, 1, kind, -1, SQLITE_TRANSIENT);
    sqlite3_bind_int64(st, 2, after);
    const bool ok = read_notice(j, st, arena, out, err);
    sqlite3_finalize(st);
    return ok;
}

bool rb_outbox_first_open(struct rb_journal *j, int hook, int64_t unix_us, struct rb_arena *arena,
                          struct rb_outbox_notice *out, struct rb_err *err)
{
    sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(j->db,
                           "SELECT seq, unix_us, due_unix_us, count, kind, body FROM notice JOIN delivery USING (seq)"
                           " WHERE hook=? AND state='waiting' AND due_unix_us<=? ORDER BY seq LIMIT 1",
                           -1, &st, NULL) != SQLITE_OK)
        return rb_journal_sql_error(j, err);
    sqlite3_bind_int64(st, 1, hook);
    sqlite3_bind_int64(st, 2, unix_us);
    bool ok = read_notice(j, st, arena, out, err);
    sqlite3_finalize(st);
    if (ok && out->seq == 0)
        ok = number_of(j,
                       "SELECT COALESCE(MIN(due_unix_us), -1) FROM notice JOIN delivery USING (seq) WHERE hook=? AND "
                       "state='waiting'",
                       hook, &out->due_unix_us, err);
    return ok;
}

bool rb_outbox_settle(struct rb_journal *j, int hook, int64_t seq, enum rb_delivery how, struct rb_err *err)
{
    return rb_journal_write_row(j, err,
                                "UPDATE delivery SET state=? WHERE hook=? AND state='waiting' AND (?=0 OR seq=?)",
                                "tiii", states[how], (int64_t)hook, seq, seq);
}

bool rb_outbox_is_refused(struct rb_journal *j, int hook, bool *out, struct rb_err *err)
{
    int64_t n = 0;
    if (!number_of(j, "SELECT COUNT(*) FROM delivery WHERE hook=? AND state='refused'", hook, &n, err))
        return false;
    *out = n > 0;
    return true;
}

bool rb_outbox_make_due(struct rb_journal *j, int64_t unix_us, struct rb_err *err)
{
    return rb_journal_write_row(j, err, "UPDATE notice SET due_unix_us=? WHERE due_unix_us>?", "ii", unix_us, unix_us);
}

bool rb_outbox_count_open(struct rb_journal *j, int *out, struct rb_err *err)
{
    int64_t n = 0;
    if (!number_of(j, "SELECT COUNT(*) FROM sqlite_master WHERE name='delivery'", 0, &n, err))
        return false;
    if (n > 0 && !number_of(j, "SELECT COUNT(*) FROM delivery WHERE state='waiting'", 0, &n, err))
        return false;
    *out = (int)n;
    return true;
}
