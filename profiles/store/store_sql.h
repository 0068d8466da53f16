// Runs the store's SQL: prepared statements only, with bound values. Only store*.c includes this.
#ifndef RB_PROFILES_STORE_SQL_H
#define RB_PROFILES_STORE_SQL_H

#include "profiles/store/store.h"

#include <sqlite3.h>

struct rb_store {
    sqlite3 *db;
    char *path;
    int64_t now_us;
    char *source;
    int schema; // of the file when it was opened: one that is only read is not brought up to date
};

// The error of the last failed call, in words for the user. Returns false.
bool rb_store_sql_error(struct rb_store *s, struct rb_err *err);

// Owns: finish *out with sqlite3_finalize, or RB_AUTO(rb_store_finalize).
bool rb_store_prepare(struct rb_store *s, const char *sql, sqlite3_stmt **out, struct rb_err *err);
void rb_store_finalize(sqlite3_stmt **stmt);

// Binds in order, one letter a parameter: s text (NULL: null), i int, I int64_t, d double. Text is borrowed until the
// statement is reset or finalised.
void rb_store_bind(sqlite3_stmt *stmt, const char *types, ...);
bool rb_store_step(struct rb_store *s, sqlite3_stmt *stmt, bool *out_row, struct rb_err *err);

// prepare, bind, step to the end. `types` as above.
bool rb_store_run(struct rb_store *s, struct rb_err *err, const char *sql, const char *types, ...);

// Every row of a query, in its order, as one array in the arena. argument, if not NULL, is bound to ?1; `read` makes
// one element of row_size bytes from the current row.
typedef bool rb_store_row_fn(sqlite3_stmt *row, struct rb_arena *arena, void *out, struct rb_err *err);
bool rb_store_select(struct rb_store *s, const char *sql, const char *argument, rb_store_row_fn *read, size_t row_size,
                     struct rb_arena *arena, void **out_rows, int *out_n, struct rb_err *err);

// The text, copied into the arena; null becomes "".
const char *rb_store_text(sqlite3_stmt *stmt, int column, struct rb_arena *arena);

#endif
