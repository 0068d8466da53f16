#include "executor/journal/journal_sent.h"

#include "executor/journal/journal_private.h"
#include "executor/launcher/launch_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool keep(void *ctx, const char *launch_id, const char *infra, struct rb_err *err)
{
    struct rb_sent_launches *sent = ctx;
    (void)infra, (void)err;
    sent->ids = rb_xrealloc(sent->ids, (size_t)sent->n + 1, sizeof *sent->ids);
    snprintf(sent->ids[sent->n++], sizeof *sent->ids, "%s", launch_id);
    return true;
}

bool rb_sent_launches_read(const char *run_dir, struct rb_sent_launches *out, struct rb_err *err)
{
    *out = (struct rb_sent_launches){0};
    return rb_launch_log_each(run_dir, keep, out, err);
}

void rb_sent_launches_finish(struct rb_sent_launches *sent)
{
    free(sent->ids);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

// Marks those of the sorted ids that have rows; other rows were never sent.
static bool mark_rows(const struct rb_sent_launches *sent, struct rb_journal *j, bool *found, struct rb_err *err)
{
    sqlite3_stmt *st = NULL;
    int rc = SQLITE_ERROR;
    if (sqlite3_prepare_v2(j->db, "SELECT launch_id FROM launch", -1, &st, NULL) == SQLITE_OK)
        while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
            const char *id = (const char *)sqlite3_column_text(st, 0);
            const char *at = id ? bsearch(id, sent->ids, (size_t)sent->n, sizeof *sent->ids, by_text) : NULL;
            if (at)
                found[(at - sent->ids[0]) / (ptrdiff_t)sizeof *sent->ids] = true;
        }
    if (rc != SQLITE_DONE)
        rb_journal_sql_error(j, err);
    sqlite3_finalize(st);
    return rc == SQLITE_DONE;
}

bool rb_sent_launches_check(struct rb_sent_launches *sent, struct rb_journal *j, const char *path, struct rb_err *err)
{
    RB_AUTO(rb_auto_free) bool *found = rb_xcalloc((size_t)sent->n + 1, sizeof *found);
    char what[160];
    int missing = 0;
    if (sent->n == 0)
        return true;
    qsort(sent->ids, (size_t)sent->n, sizeof *sent->ids, by_text);
    int n = 0;
    for (int i = 0; i < sent->n; i++) // sent again by another process: logged again
        if (i == 0 || strcmp(sent->ids[i], sent->ids[n - 1]) != 0)
            memmove(sent->ids[n++], sent->ids[i], sizeof *sent->ids);
    sent->n = n;
    if (!mark_rows(sent, j, found, err))
        return false;
    for (int i = 0; i < sent->n; i++)
        missing += !found[i];
    snprintf(what, sizeof what, "%d of the %d launches that were sent are missing in it (is its file -wal lost?)",
             missing, sent->n);
    return missing == 0 || rb_journal_damaged(path, what, "", err);
}
