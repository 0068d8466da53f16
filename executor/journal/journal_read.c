// Reading the journal. The file is ours, but it may have been damaged: texts are checked like any input.
#include "executor/journal/journal_private.h"

#include "base/limits.h"
#include "base/text/number.h"
#include "profiles/catalog/capacity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef bool read_fn(void *ctx, sqlite3_stmt *st, struct rb_err *err);

// from: the value of a ? in the statement.
static bool each_row_from(struct rb_journal *j, const char *sql, int64_t from, read_fn *fn, void *ctx,
                          struct rb_err *err)
{
    sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(j->db, sql, -1, &st, NULL) != SQLITE_OK)
        return rb_journal_sql_error(j, err);
    int rc;
    bool ok = sqlite3_bind_parameter_count(st) == 0 || sqlite3_bind_int64(st, 1, from) == SQLITE_OK;
    while (ok && (rc = sqlite3_step(st)) == SQLITE_ROW)
        ok = fn(ctx, st, err);
    if (ok && rc != SQLITE_DONE)
        ok = rb_journal_sql_error(j, err);
    sqlite3_finalize(st);
    return ok;
}

static bool each_row(struct rb_journal *j, const char *sql, read_fn *fn, void *ctx, struct rb_err *err)
{
    return each_row_from(j, sql, 0, fn, ctx, err);
}

static bool damaged(sqlite3_stmt *st, const char *what, const char *text, struct rb_err *err)
{
    return rb_journal_damaged(sqlite3_db_filename(sqlite3_db_handle(st), "main"), what, text, err);
}

static const char *column_name(sqlite3_stmt *st, int column)
{
    const char *name = sqlite3_column_name(st, column);
    return name ? name : "";
}

// A whole text; NULL: err says what is wrong with it.
static const char *text_of(sqlite3_stmt *st, int column, struct rb_err *err)
{
    const char *s =
        sqlite3_column_type(st, column) == SQLITE_TEXT ? (const char *)sqlite3_column_text(st, column) : NULL;
    if (s && strlen(s) == (size_t)sqlite3_column_bytes(st, column))
        return s;
    damaged(st, "expected a text as", column_name(st, column), err);
    return NULL;
}

static bool keep_text(sqlite3_stmt *st, int column, struct rb_arena *arena, const char **out, struct rb_err *err)
{
    const char *s = text_of(st, column, err);
    if (s)
        *out = rb_arena_strdup(arena, s);
    return s != NULL;
}

static bool copy_text(sqlite3_stmt *st, int column, char *out, size_t size, struct rb_err *err)
{
    const char *s = text_of(st, column, err);
    const size_t n = s ? strlen(s) : 0;
    if (!s)
        return false;
    if (n >= size)
        return damaged(st, "a text is too long:", s, err);
    memcpy(out, s, n + 1);
    return true;
}

static bool state_of(sqlite3_stmt *st, int column, const char *const *names, int n, int *out, struct rb_err *err)
{
    const char *text = text_of(st, column, err);
    for (int i = 0; text && i < n; i++)
        if (strcmp(text, names[i]) == 0) {
            *out = i;
            return true;
        }
    return text && damaged(st, "unknown state", text, err);
}

// A name that becomes part of a path: not empty, and it leads nowhere else.
static bool check_path_name(sqlite3_stmt *st, const char *name, struct rb_err *err)
{
    return (name[0] && name[0] != '.' && !strchr(name, '/')) || damaged(st, "not a name:", name, err);
}

// Columns of whole numbers with their bounds and their destinations. Times and money are bounded so that computations
// with them fit; no whole journal comes near the bounds.
enum number_kind { NODE, TRIAL, COUNT, SIGNED_COUNT, RESOURCE, TIME, TIME_OR_NOT, MONEY, MONEY_OR_NOT, COUNT_OR_NOT };

static const int64_t bounds[][2] = {
    [NODE] = {0, RB_LIMIT_NODES - 1},
    [TRIAL] = {0, RB_LIMIT_TRIALS - 1},
    [COUNT] = {0, INT32_MAX - 1},
    [COUNT_OR_NOT] = {-1, INT32_MAX - 1},
    [SIGNED_COUNT] = {-INT32_MAX, INT32_MAX - 1},
    [RESOURCE] = {0, INT64_MAX},
    [TIME] = {0, RB_LIMIT_TIME_US},
    [TIME_OR_NOT] = {-1, RB_LIMIT_TIME_US},
    [MONEY] = {0, RB_LIMIT_NODE_UUSD},
    [MONEY_OR_NOT] = {-1, INT64_MAX},
};

static bool read_number(sqlite3_stmt *st, int column, enum number_kind kind, int64_t *out, struct rb_err *err)
{
    char what[160], range[RB_RANGE_BYTES];
    const int64_t *bound = bounds[kind];
    if (sqlite3_column_type(st, column) == SQLITE_INTEGER) {
        *out = sqlite3_column_int64(st, column);
        if (*out >= bound[0] && *out <= bound[1])
            return true;
    }
    snprintf(what, sizeof what, "%s is not %s:", column_name(st, column), rb_int_range(bound[0], bound[1], range));
    const unsigned char *text = sqlite3_column_text(st, column);
    return damaged(st, what, text ? (const char *)text : "NULL", err);
}

static bool read_int(sqlite3_stmt *st, int column, enum number_kind kind, int *out, struct rb_err *err)
{
    int64_t number;
    if (!read_number(st, column, kind, &number, err))
        return false;
    *out = (int)number;
    return true;
}

struct one_meta {
    struct rb_arena *arena;
    struct rb_journal_meta meta;
    int n;
};

static bool read_meta(void *ctx, sqlite3_stmt *st, struct rb_err *err)
{
    struct one_meta *m = ctx;
    struct rb_journal_meta *meta = &m->meta;
    m->n++;
    return keep_text(st, 0, m->arena, &meta->run_id, err) && check_path_name(st, meta->run_id, err) &&
           keep_text(st, 1, m->arena, &meta->plan_sha256, err) && keep_text(st, 2, m->arena, &meta->owner, err) &&
           read_number(st, 3, TIME, &meta->started_unix_us, err) &&
           read_number(st, 4, TIME_OR_NOT, &meta->deadline_us, err) &&
           read_number(st, 5, MONEY_OR_NOT, &meta->budget_uusd, err) &&
           read_number(st, 6, TIME_OR_NOT, &meta->leak_checked_at_us, err) &&
           read_int(st, 7, COUNT_OR_NOT, &meta->instances_left, err);
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
    int64_t seq;     // of the last one passed to fn
    int64_t time_us; // likewise; none is earlier
};

static bool read_event(void *ctx, sqlite3_stmt *st, struct rb_err *err)
{
    struct event_reader *r = ctx;
    const char *text = text_of(st, 0, err);
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    struct rb_event e;
    if (!text)
        return false;
    if (!rb_doc_parse_json(&doc, "journal event", text, strlen(text), err) ||
        !rb_event_read(doc.root, &doc.arena, &e, err))
        return damaged(st, "an event cannot be read:", text, err);
    if (e.time_us < r->time_us)
        return damaged(st, "an event is from before the one in front of it:", text, err);
    r->time_us = e.time_us;
    const int64_t seq = sqlite3_column_int64(st, 1);
    if (seq <= r->seq)
        return true;
    if (!r->fn(r->ctx, &e, err))
        return false;
    r->seq = seq;
    return true;
}

bool rb_journal_each_event_after(struct rb_journal *j, int64_t *seq,
                                 bool (*fn)(void *ctx, const struct rb_event *e, struct rb_err *err), void *ctx,
                                 struct rb_err *err)
{
    struct event_reader r = {.fn = fn, .ctx = ctx, .seq = *seq};
    const bool ok = // from the last known one on: the next one is not earlier
        each_row_from(j, "SELECT json, seq FROM event WHERE seq >= ? ORDER BY seq", *seq, read_event, &r, err);
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
    int n;
};

static void *next_row(struct collected *c, size_t size)
{
    c->rows = rb_grow(c->rows, c->n, size);
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
    if (!read_int(st, 0, NODE, &r->node, err) || !read_int(st, 1, SIGNED_COUNT, &r->attempt, err) ||
        !read_int(st, 2, COUNT, &r->offer, err) ||
        !state_of(st, 3, rb_journal_launch_states, RB_LAUNCH_GONE + 1, &state, err) ||
        !copy_text(st, 4, r->launch_id, sizeof r->launch_id, err) || !check_path_name(st, r->launch_id, err) ||
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
        if (!read_number(st, 13 + i, i < 7 ? TIME_OR_NOT : MONEY, numbers[i], err))
            return false;
    return sqlite3_column_type(st, 22) == SQLITE_NULL ||
           copy_text(st, 22, r->market_infra, sizeof r->market_infra, err);
}

// A change of the price of one market.
struct change {
    char infra[64], instance_type[64];
    struct rb_capacity_step step;
};

static bool read_change(void *ctx, sqlite3_stmt *st, struct rb_err *err)
{
    struct change *c = next_row(ctx, sizeof *c);
    return copy_text(st, 0, c->infra, sizeof c->infra, err) &&
           copy_text(st, 1, c->instance_type, sizeof c->instance_type, err) &&
           read_number(st, 2, TIME, &c->step.at_us, err) && read_number(st, 3, MONEY, &c->step.uusd_per_hour, err);
}

// Those of one market are neighbours.
static struct rb_price_path prices_of(const struct rb_launch_row *r, const struct change *changes, int n,
                                      const struct rb_capacity_step *steps)
{
    int from = 0, to;
    while (from < n && (strcmp(changes[from].infra, r->market_infra) != 0 ||
                        strcmp(changes[from].instance_type, r->instance_type) != 0))
        from++;
    for (to = from; to < n && strcmp(changes[to].infra, r->market_infra) == 0 &&
                    strcmp(changes[to].instance_type, r->instance_type) == 0;)
        to++;
    return to > from ? (struct rb_price_path){&steps[from], to - from, 0} : (struct rb_price_path){0};
}

static bool read_prices(struct rb_journal *j, struct rb_arena *arena, struct rb_launch_row *rows, int n_rows,
                        struct rb_err *err)
{
    struct collected c = {.arena = arena};
    struct change *changes;
    int n;
    const bool ok = each_row(j,
                             "SELECT infra, instance_type, at_unix_us, uusd_per_hour FROM market_price"
                             " ORDER BY infra, instance_type, at_unix_us",
                             read_change, &c, err);
    if (!deliver(&c, sizeof *changes, ok, (void **)&changes, &n))
        return false;
    struct rb_capacity_step *steps = rb_arena_array(arena, (size_t)n + 1, sizeof *steps);
    for (int i = 0; i < n; i++)
        steps[i] = changes[i].step;
    for (int i = 0; i < n_rows; i++)
        if (rows[i].market_infra[0])
            rows[i].prices = prices_of(&rows[i], changes, n, steps);
    return true;
}

bool rb_journal_launches(struct rb_journal *j, struct rb_arena *arena, struct rb_launch_row **out, int *out_n,
                         struct rb_err *err)
{
    struct collected c = {.arena = arena};
    bool priced;
    if (!rb_journal_has_table(j, "market_price", &priced, err))
        return false;
    const bool ok = each_row(j,
                             priced ? "SELECT launch.*, launch_market.infra FROM launch LEFT JOIN launch_market"
                                      " USING (node, attempt) ORDER BY node, attempt"
                                    : "SELECT *, NULL FROM launch ORDER BY node, attempt",
                             read_launch, &c, err);
    return deliver(&c, sizeof(struct rb_launch_row), ok, (void **)out, out_n) &&
           (!priced || read_prices(j, arena, *out, *out_n, err));
}

// A number of at most `most`; returns its end, NULL: there is none.
static const char *take_digits(const char *s, uint64_t most, uint64_t *out)
{
    const char *begin = s;
    for (*out = 0; *s >= '0' && *s <= '9'; s++) {
        const uint64_t digit = (uint64_t)(*s - '0');
        if (*out > (most - digit) / 10)
            return NULL;
        *out = *out * 10 + digit;
    }
    return s > begin ? s : NULL;
}

// "NODE:GPUS"; returns its end, NULL: it is none.
static const char *take_slot(const char *s, struct rb_slot *out)
{
    uint64_t node;
    s = take_digits(s, RB_LIMIT_NODES - 1, &node);
    out->node = (int)node;
    s = s && *s == ':' ? take_digits(s + 1, UINT64_MAX, &out->gpus) : NULL;
    return s && out->gpus != 0 ? s : NULL;
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
        at = take_slot(at, &slots[i]);
        if (!at || *at != (i + 1 < n ? ',' : '\0'))
            return damaged(st, "expected slots, got", text, err);
        at++;
    }
    r->slots = slots;
    r->n_slots = n;
    return true;
}

static bool read_task_numbers(sqlite3_stmt *st, struct rb_task_row *r, struct rb_err *err)
{
    int64_t *const times[] = {&r->started_us, &r->exited_us, &r->ended_us};
    if (!read_int(st, 0, TRIAL, &r->trial, err) || !read_int(st, 1, COUNT, &r->start, err) ||
        !read_int(st, 2, COUNT, &r->stage, err) || !read_int(st, 3, COUNT, &r->attempt, err) ||
        !read_int(st, 5, SIGNED_COUNT, &r->exit_code, err) || !read_number(st, 6, RESOURCE, &r->resource_start, err) ||
        !read_number(st, 7, RESOURCE, &r->resource_end, err))
        return false;
    for (int i = 0; i < 3; i++)
        if (!read_number(st, 8 + i, TIME_OR_NOT, times[i], err))
            return false;
    return true;
}

static bool read_task(void *ctx, sqlite3_stmt *st, struct rb_err *err)
{
    struct collected *c = ctx;
    struct rb_task_row *r = next_row(c, sizeof *r);
    int state = 0;
    if (!read_task_numbers(st, r, err) || !state_of(st, 4, rb_journal_task_states, RB_TASK_KILLED + 1, &state, err))
        return false;
    r->state = (enum rb_task_state)state;
    const char *slots = text_of(st, 11, err);
    return slots && read_slots(st, slots, c->arena, r, err) &&
           copy_text(st, 12, r->checkpoint, sizeof r->checkpoint, err);
}

bool rb_journal_tasks(struct rb_journal *j, struct rb_arena *arena, struct rb_task_row **out, int *out_n,
                      struct rb_err *err)
{
    struct collected c = {.arena = arena};
    const bool ok = each_row(j, "SELECT * FROM task ORDER BY trial, start", read_task, &c, err);
    return deliver(&c, sizeof(struct rb_task_row), ok, (void **)out, out_n);
}

bool rb_journal_tasks_of(struct rb_journal *j, int trial, struct rb_arena *arena, struct rb_task_row **out, int *out_n,
                         struct rb_err *err)
{
    struct collected c = {.arena = arena};
    const bool ok = each_row_from(j, "SELECT * FROM task WHERE trial = ? ORDER BY start", trial, read_task, &c, err);
    return deliver(&c, sizeof(struct rb_task_row), ok, (void **)out, out_n);
}

static bool read_note(void *ctx, sqlite3_stmt *st, struct rb_err *err)
{
    struct collected *c = ctx;
    struct rb_note *n = next_row(c, sizeof *n);
    return read_number(st, 0, TIME, &n->time_us, err) && keep_text(st, 1, c->arena, &n->kind, err) &&
           keep_text(st, 2, c->arena, &n->text, err);
}

bool rb_journal_notes(struct rb_journal *j, struct rb_arena *arena, struct rb_note **out, int *out_n,
                      struct rb_err *err)
{
    struct collected c = {.arena = arena};
    const bool ok = each_row(j, "SELECT time_us, kind, text FROM note ORDER BY seq", read_note, &c, err);
    return deliver(&c, sizeof(struct rb_note), ok, (void **)out, out_n);
}

bool rb_journal_has_table(struct rb_journal *j, const char *name, bool *out, struct rb_err *err)
{
    sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(j->db, "SELECT 1 FROM sqlite_master WHERE name=?", -1, &st, NULL) != SQLITE_OK)
        return rb_journal_sql_error(j, err);
    sqlite3_bind_text(st, 1, name, -1, SQLITE_TRANSIENT);
    const int rc = sqlite3_step(st);
    *out = rc == SQLITE_ROW;
    sqlite3_finalize(st);
    return rc == SQLITE_ROW || rc == SQLITE_DONE || rb_journal_sql_error(j, err);
}
