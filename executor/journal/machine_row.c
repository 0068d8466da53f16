#include "executor/journal/machine_row.h"

#include "executor/journal/journal_private.h"
#include "profiles/catalog/billing.h"

#include <stdio.h>

static void copy_text(sqlite3_stmt *st, int column, char *out, size_t size)
{
    const char *text = (const char *)sqlite3_column_text(st, column);
    snprintf(out, size, "%s", text ? text : "");
}

bool rb_machine_row_read(struct rb_journal *j, struct rb_machine_row *out, struct rb_err *err)
{
    struct rb_machine_row row = {.running_unix_us = -1, .ends_unix_us = -1, .ended_unix_us = -1};
    sqlite3_stmt *st = NULL;
    bool has;
    if (!rb_journal_has_table(j, "machine", &has, err))
        return false;
    if (has) {
        if (sqlite3_prepare_v2(j->db,
                               "SELECT infra, instance_type, instance_id, uusd_per_hour, running_unix_us, ends_unix_us,"
                               " ended_unix_us FROM machine WHERE id=0",
                               -1, &st, NULL) != SQLITE_OK)
            return rb_journal_sql_error(j, err);
        const int rc = sqlite3_step(st);
        if (rc == SQLITE_ROW) {
            copy_text(st, 0, row.infra, sizeof row.infra);
            copy_text(st, 1, row.instance_type, sizeof row.instance_type);
            copy_text(st, 2, row.instance_id, sizeof row.instance_id);
            row.uusd_per_hour = sqlite3_column_int64(st, 3);
            row.running_unix_us = sqlite3_column_int64(st, 4);
            row.ends_unix_us = sqlite3_column_int64(st, 5);
            row.ended_unix_us = sqlite3_column_int64(st, 6);
        }
        sqlite3_finalize(st);
        if (rc != SQLITE_ROW && rc != SQLITE_DONE)
            return rb_journal_sql_error(j, err);
    }
    *out = row;
    return true;
}

bool rb_machine_row_write(struct rb_journal *j, const struct rb_machine_row *row, struct rb_err *err)
{
    return rb_journal_write_row(j, err,
                                "CREATE TABLE IF NOT EXISTS machine (id INTEGER PRIMARY KEY, infra TEXT NOT NULL,"
                                " instance_type TEXT NOT NULL, instance_id TEXT NOT NULL, uusd_per_hour INTEGER NOT NULL,"
                                " running_unix_us INTEGER NOT NULL, ends_unix_us INTEGER NOT NULL,"
                                " ended_unix_us INTEGER NOT NULL)",
                                "") &&
           rb_journal_write_row(j, err, "INSERT OR REPLACE INTO machine VALUES (0,?,?,?,?,?,?,?)", "tttiiii", row->infra,
                                row->instance_type, row->instance_id, row->uusd_per_hour, row->running_unix_us,
                                row->ends_unix_us, row->ended_unix_us);
}

int64_t rb_machine_row_cost_uusd(const struct rb_machine_row *row, int64_t now_unix_us)
{
    const struct rb_billing billing = {.rate = {row->uusd_per_hour}};
    const int64_t end = row->ended_unix_us >= 0 ? row->ended_unix_us
                        : row->ends_unix_us >= 0 ? row->ends_unix_us
                                                 : now_unix_us;
    return rb_bill_node(&billing, row->running_unix_us, end).total_uusd;
}
