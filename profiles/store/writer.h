// The version of Rubberband that made the tables of an sqlite file of ours: the store or a journal. A program that must refuse
// the file, because it is too old for it, names that version.
#ifndef RB_PROFILES_STORE_WRITER_H
#define RB_PROFILES_STORE_WRITER_H

#include "base/text/buf.h"

#include <sqlite3.h>

// SQL that records this program as the writer. Its table is read by refusals only, so older programs are not disturbed by it.
#define RB_WRITER_RECORD                                            \
    "CREATE TABLE IF NOT EXISTS writer(version TEXT NOT NULL);"     \
    "DELETE FROM writer; INSERT INTO writer VALUES ('" RB_VERSION "');"

// Appends "rubberband 0.3.0", or "a newer version" where the file does not name one.
void rb_writer_name(sqlite3 *db, struct rb_buf *out);

#endif
