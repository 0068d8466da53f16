#include "profiles/store/writer.h"

#include <stdbool.h>
#include <string.h>

// The file may come from anywhere: only what looks like a version goes into a message.
static bool is_version(const char *text)
{
    static const char letters[] = "0123456789.+-~abcdefghijklmnopqrstuvwxyz";
    const size_t length = strlen(text);
    return length > 0 && length <= 40 && strspn(text, letters) == length;
}

void rb_writer_name(sqlite3 *db, struct rb_buf *out)
{
    sqlite3_stmt *st = NULL;
    const char *version = NULL;
    if (sqlite3_prepare_v2(db, "SELECT version FROM writer", -1, &st, NULL) == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW)
        version = (const char *)sqlite3_column_text(st, 0);
    if (version && is_version(version))
        rb_buf_printf(out, "rubberband %s", version);
    else
        rb_buf_printf(out, "a newer version");
    sqlite3_finalize(st);
}
