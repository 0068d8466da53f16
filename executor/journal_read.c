// Reading the journal. The file is ours, but it may have been damaged: texts are checked like any input.
#include "executor/journal_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef bool read_fn(void *ctx, sqlite3_stmt *st, struct rb_err *err);

// after: what a ? in the statement stands for.
static bool each_row_after(struct rb_journal *j, const char *sql, int64_t after, read_fn *fn, void *ctx,
                           struct rb_err *err)
{
    sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(j->db, sql, -1, &st, NULL) != SQLITE_OK)
        return rb_journal_sql_error(j, err);
    int rc;
    bool ok = sqlite3_bind_parameter_count(st) == 0 || sqlite3_bind_int64(st, 1, after) == SQLITE_OK;
    while (ok && (rc = sqlite3_step(st)) == SQLITE_ROW)
        ok = fn(ctx, st, err);
    if (ok && rc != SQLITE_DONE)
        ok = rb_journal_sql_error(j, err);
    sqlite3_finalize(st);
    return ok;
}

static bool each_row(struct rb_journal *j, const char *sql, read_fn *fn, void *ctx, struct rb_err *err)
{
    return each_row_after(j, sql, 0, fn, ctx, err);
}

static const char *text_of(sqlite3_stmt *st, int column)
{
    const unsigned char *s = sqlite3_column_text(st, column);
    return s ? (const char *)s : "";
}

static bool damaged(sqlite3_stmt *st, const char *what, const char *text, struct rb_err *err)
{
    return rb_journal_damaged(sqlite3_db_filename(sqlite3_db_handle(st), "main"), what, text, err);
}

static bool copy_text(sqlite3_stmt *st, int column, char *out, size_t size, struct rb_err *err)
{
    const char *s = text_of(st, column);
    const size_t n = strlen(s);
    if (n >= size)
        return damaged(st, "a text is too long:", s, err);
    memcpy(out, s, n + 1);
    return true;
}

static bool state_of(sqlite3_stmt *st, int column, const char *const *names, int n, int *out, struct rb_err *err)
{
    const char *text = text_of(st, column);
    for (int i = 0; i < n; i++)
        if (strcmp(text, names[i]) == 0) {
            *out = i;
            return true;
        }
    return damaged(st, "unknown state", text, err);
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

bool rb_journal_meta(struct rb_journal *j, struct rb_arena *arena, struct rb_journal_meta *out, struct rb_err *err)
{
    struct one_meta m = {.arena = arena};
    if (!each_row(j, "SELECT * FROM meta", read_meta, &m, err))
        return false;
    if (m.n != 1)
        return rb_journal_damaged(sqlite3_db_filename(j->db, "main"), "expected one row about the run", "", err);
    *out = m.meta;
    return true;
}

struct event_reader {
    bool (*fn)(void *ctx, const struct rb_event *e, struct rb_err *err);
    void *ctx;
    int64_t seq; // of the last one read
};

static bool read_event(void *ctx, sqlite3_stmt *st, struct rb_err *err)
{
    struct event_reader *r = ctx;
    const char *text = text_of(st, 0);
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    struct rb_event e;
    if (!rb_doc_parse_json(&doc, "journal event", text, strlen(text), err) ||
        !rb_event_read(doc.root, &doc.arena, &e, err))
        return damaged(st, "an event cannot be read:", text, err);
    if (!r->fn(r->ctx, &e, err))
        return false;
    r->seq = sqlite3_column_int64(st, 1);
    return true;
}

bool rb_journal_each_event_after(struct rb_journal *j, int64_t *seq,
                                 bool (*fn)(void *ctx, const struct rb_event *e, struct rb_err *err), void *ctx,
                                 struct rb_err *err)
{
    struct event_reader r = {fn, ctx, *seq};
    const bool ok =
        each_row_after(j, "SELECT json, seq FROM event WHERE seq > ? ORDER BY seq", *seq, read_event, &r, err);
    *seq = r.seq;
    return ok;
}

bool rb_journal_each_event(struct rb_journal *j, bool (*fn)(void *ctx, const struct rb_event *e, struct rb_err *err),
                           void *ctx, struct rb_err *err)
{
    int64_t seq = 0;
    return rb_journal_each_event_after(j, &seq, fn, ctx, err);
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
    if (!state_of(st, 3, rb_journal_launch_states, RB_LAUNCH_GONE + 1, &state, err) ||
        !copy_text(st, 4, r->launch_id, sizeof r->launch_id, err) ||
        !copy_text(st, 5, r->token, sizeof r->token, err) || !copy_text(st, 6, r->infra, sizeof r->infra, err) ||
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

static bool read_slots(sqlite3_stmt *st, const char *text, struct rb_arena *arena, struct rb_task_row *r,
                       struct rb_err *err)
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
            return damaged(st, "slots", text, err);
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
    if (!state_of(st, 4, rb_journal_task_states, RB_TASK_KILLED + 1, &state, err) ||
        !read_slots(st, text_of(st, 11), c->arena, r, err) ||
        !copy_text(st, 12, r->checkpoint, sizeof r->checkpoint, err))
        return false;
    r->trial = sqlite3_column_int(st, 0);
    r->start = sqlite3_column_int(st, 1);
    r->stage = sqlite3_column_int(st, 2);
    r->attempt = sqlite3_column_int(st, 3);
    r->state = (enum rb_task_state)state;
    r->exit_code = sqlite3_column_int(st, 5);
    int64_t *const numbers[] = {&r->resource_start, &r->resource_end, &r->started_us, &r->exited_us, &r->ended_us};
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
