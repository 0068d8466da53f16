// sqlite's calls and result codes in the project's terms.
#include "profiles/store/store_sql.h"

#include <stdarg.h>
#include <string.h>

#define MAX_ROWS 10000000 // more samples than any campaign makes; bounds memory against a hostile file

bool rb_store_sql_error(struct rb_store *s, struct rb_err *err)
{
    const struct rb_place place = {.file = s->path};
    switch (sqlite3_errcode(s->db)) {
    case SQLITE_NOTADB:
        return rb_err_set_at(err, RB_E_STORE_FOREIGN, place, NULL,
                             "not a profile store (not a sqlite database): name another file with --db");
    case SQLITE_CORRUPT:
        return rb_err_set_at(err, RB_E_STORE_DAMAGED, place, NULL,
                             "the profile store is damaged (%s): restore a copy, or name another file with --db",
                             sqlite3_errmsg(s->db));
    case SQLITE_CONSTRAINT:
        return rb_err_set_at(err, RB_E_STORE_DAMAGED, place, NULL, "refused by the profile store: %s",
                             sqlite3_errmsg(s->db));
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return rb_err_set_at(err, RB_E_STORE_BUSY, place, NULL,
                             "another command is writing to it: try again when it is done");
    case SQLITE_ERROR: // a statement that does not fit the tables: the file does not have the schema it claims
        return rb_err_set_at(err, RB_E_STORE_FOREIGN, place, NULL,
                             "not a profile store of schema %d (%s): name another file with --db", RB_STORE_SCHEMA,
                             sqlite3_errmsg(s->db));
    default: {
        const int why = sqlite3_errcode(s->db) == SQLITE_IOERR ? sqlite3_system_errno(s->db) : 0; // a full disk, for one
        return rb_err_set_at(err, RB_E_STORE_FILE, place, NULL, "profile store: %s%s%s", sqlite3_errmsg(s->db), why ? ": " : "",
                             why ? strerror(why) : "");
    }
    }
}

bool rb_store_prepare(struct rb_store *s, const char *sql, sqlite3_stmt **out, struct rb_err *err)
{
    sqlite3_stmt *stmt;
    if (sqlite3_prepare_v2(s->db, sql, -1, &stmt, NULL) != SQLITE_OK)
        return rb_store_sql_error(s, err);
    *out = stmt;
    return true;
}

void rb_store_finalize(sqlite3_stmt **stmt)
{
    sqlite3_finalize(*stmt);
}

static void bind_all(sqlite3_stmt *stmt, const char *types, va_list values)
{
    for (int i = 0; types[i] != '\0'; i++) {
        switch (types[i]) {
        case 's':
            sqlite3_bind_text(stmt, i + 1, va_arg(values, const char *), -1, SQLITE_STATIC);
            break;
        case 'i':
            sqlite3_bind_int(stmt, i + 1, va_arg(values, int));
            break;
        case 'I':
            sqlite3_bind_int64(stmt, i + 1, va_arg(values, int64_t));
            break;
        default:
            sqlite3_bind_double(stmt, i + 1, va_arg(values, double)); // NaN becomes null
            break;
        }
    }
}

void rb_store_bind(sqlite3_stmt *stmt, const char *types, ...)
{
    va_list values;
    va_start(values, types);
    bind_all(stmt, types, values);
    va_end(values);
}

bool rb_store_step(struct rb_store *s, sqlite3_stmt *stmt, bool *out_row, struct rb_err *err)
{
    const int rc = sqlite3_step(stmt);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        return rb_store_sql_error(s, err);
    *out_row = rc == SQLITE_ROW;
    return true;
}

bool rb_store_run(struct rb_store *s, struct rb_err *err, const char *sql, const char *types, ...)
{
    RB_AUTO(rb_store_finalize) sqlite3_stmt *stmt = NULL;
    if (!rb_store_prepare(s, sql, &stmt, err))
        return false;
    va_list values;
    va_start(values, types);
    bind_all(stmt, types, values);
    va_end(values);
    bool row = true;
    while (row)
        if (!rb_store_step(s, stmt, &row, err))
            return false;
    return true;
}

// Rows are gathered on the heap, since their number is only known at the end, and then copied.
static bool gather(struct rb_store *s, sqlite3_stmt *stmt, rb_store_row_fn *read, size_t row_size,
                   struct rb_arena *arena, char **rows, int *out_n, struct rb_err *err)
{
    int n = 0;
    bool row;
    while (rb_store_step(s, stmt, &row, err)) {
        if (!row) {
            *out_n = n;
            return true;
        }
        if (n == MAX_ROWS) {
            return rb_err_set_at(err, RB_E_STORE_FULL, (struct rb_place){.file = s->path}, NULL,
                                 "more than %d samples of one kind: use another --db", MAX_ROWS);
        }
        *rows = rb_grow(*rows, n, row_size);
        if (!read(stmt, arena, *rows + (size_t)n * row_size, err))
            return false;
        n++;
    }
    return false;
}

bool rb_store_select(struct rb_store *s, const char *sql, const char *argument, rb_store_row_fn *read, size_t row_size,
                     struct rb_arena *arena, void **out_rows, int *out_n, struct rb_err *err)
{
    RB_AUTO(rb_store_finalize) sqlite3_stmt *stmt = NULL;
    RB_AUTO(rb_auto_free) char *rows = NULL;
    int n = 0;
    if (!rb_store_prepare(s, sql, &stmt, err))
        return false;
    rb_store_bind(stmt, argument ? "s" : "", argument);
    if (!gather(s, stmt, read, row_size, arena, &rows, &n, err))
        return false;
    void *copy = rb_arena_array(arena, (size_t)n, row_size);
    if (n > 0)
        memcpy(copy, rows, (size_t)n * row_size);
    *out_rows = copy;
    *out_n = n;
    return true;
}

const char *rb_store_text(sqlite3_stmt *stmt, int column, struct rb_arena *arena)
{
    const char *text = (const char *)sqlite3_column_text(stmt, column);
    return rb_arena_strdup(arena, text ? text : "");
}
