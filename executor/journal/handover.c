#include "executor/journal/handover.h"

#include "base/arena.h"
#include "base/text/buf.h"
#include "executor/journal/journal_private.h"

#include <stdio.h>
#include <string.h>

static const char *const states[] = {"here", "arrived", "leaving", "away"};
enum { N_STATES = sizeof states / sizeof *states };

static bool state_of(struct rb_journal *j, const char *text, enum rb_handover_state *out, struct rb_err *err)
{
    for (int i = 0; i < N_STATES; i++)
        if (strcmp(text, states[i]) == 0) {
            *out = (enum rb_handover_state)i;
            return true;
        }
    return rb_journal_damaged(sqlite3_db_filename(j->db, "main"), "a move has an unknown state:", text, err);
}

static const char *text_at(sqlite3_stmt *st, int column)
{
    const char *text = (const char *)sqlite3_column_text(st, column);
    return text ? text : "";
}

// Columns epoch, id, place, state.
static bool read_row(struct rb_journal *j, sqlite3_stmt *st, struct rb_handover *out, struct rb_err *err)
{
    struct rb_handover h = {.epoch = 0};
    const int rc = sqlite3_step(st);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        return rb_journal_sql_error(j, err);
    if (rc == SQLITE_ROW) {
        h.epoch = sqlite3_column_int64(st, 0);
        snprintf(h.id, sizeof h.id, "%s", text_at(st, 1));
        snprintf(h.place, sizeof h.place, "%s", text_at(st, 2));
        if (!state_of(j, text_at(st, 3), &h.state, err))
            return false;
    }
    *out = h;
    return true;
}

// id "": the latest.
static bool find(struct rb_journal *j, const char *id, struct rb_handover *out, struct rb_err *err)
{
    sqlite3_stmt *st = NULL;
    bool has = false;
    if (!rb_journal_has_table(j, "handover", &has, err))
        return false;
    if (!has) {
        *out = (struct rb_handover){.epoch = 0};
        return true;
    }
    if (sqlite3_prepare_v2(
            j->db, "SELECT epoch, id, place, state FROM handover WHERE ?='' OR id=? ORDER BY epoch DESC LIMIT 1", -1,
            &st, NULL) != SQLITE_OK)
        return rb_journal_sql_error(j, err);
    sqlite3_bind_text(st, 1, id, -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(st, 2, id, -1, SQLITE_TRANSIENT);
    const bool ok = read_row(j, st, out, err);
    sqlite3_finalize(st);
    return ok;
}

bool rb_handover_latest(struct rb_journal *j, struct rb_handover *out, struct rb_err *err)
{
    return find(j, "", out, err);
}

bool rb_handover_find(struct rb_journal *j, const char *id, bool *out_known, enum rb_handover_state *out,
                      struct rb_err *err)
{
    struct rb_handover h;
    if (!find(j, id, &h, err))
        return false;
    *out_known = h.epoch > 0;
    *out = h.state;
    return true;
}

// One transaction, unless a caller has begun a larger one.
bool rb_handover_write(struct rb_journal *j, const struct rb_handover *h, struct rb_err *err)
{
    const bool alone = !j->in_transaction;
    RB_AUTO(rb_buf_finish) struct rb_buf version = RB_BUF_INIT;
    rb_buf_printf(&version, "PRAGMA user_version=%d", rb_handover_is_away(h) ? RB_JOURNAL_AWAY : RB_JOURNAL_SCHEMA);
    return (!alone || rb_journal_begin(j, err)) &&
           rb_journal_write_row(j, err,
                                "CREATE TABLE IF NOT EXISTS handover (epoch INTEGER PRIMARY KEY, id TEXT NOT NULL,"
                                " place TEXT NOT NULL, state TEXT NOT NULL)",
                                "") &&
           rb_journal_write_row(j, err, "INSERT OR REPLACE INTO handover VALUES (?,?,?,?)", "ittt", h->epoch, h->id,
                                h->place, states[h->state]) &&
           rb_journal_write_row(j, err, rb_buf_str(&version), "") && (!alone || rb_journal_commit(j, err));
}

bool rb_handover_refuse(const struct rb_handover *h, const char *run_id, struct rb_err *err)
{
    const bool can_be_asked = strncmp(h->place, "ssh:", 4) == 0; // by us; someone else fetched it or fetches it
    if (h->state == RB_HANDOVER_AWAY && can_be_asked)
        return rb_err_set(err, RB_E_RUN_MOVED,
                          "run %s has moved to %s and goes on there; `rbrun move %s --to here` brings it back", run_id,
                          h->place, run_id);
    if (h->state == RB_HANDOVER_AWAY)
        return rb_err_set(err, RB_E_RUN_MOVED, "run %s was fetched by %s and goes on there; move it here from there",
                          run_id, h->place);
    if (can_be_asked)
        return rb_err_set(
            err, RB_E_RUN_MOVED,
            "run %s is moving to %s, and whether it has arrived is not known, so nothing carries it out "
            "here: ask again with `rbrun move %s --to %s`, or take it back with `rbrun move %s --to here`",
            run_id, h->place, run_id, h->place, run_id);
    return rb_err_set(
        err, RB_E_RUN_MOVED,
        "run %s is moving to %s, and whether it has arrived is not known, so nothing carries it out here: "
        "repeat `rbrun move %s --to here` there",
        run_id, h->place, run_id);
}
