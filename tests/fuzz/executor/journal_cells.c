#include "journal_cells.h"

#include "require.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

static const struct table {
    const char *name, *key;
    const char *columns[24];
    int n;
} tables[] = {
    {"meta",
     "rowid",
     {"run_id", "plan_sha256", "owner", "started_unix_us", "deadline_us", "budget_uusd", "leak_checked_at_us",
      "instances_left"},
     8},
    {"event", "seq", {"seq", "json"}, 2},
    {"launch",
     "node, attempt",
     {"node",          "attempt",         "offer",         "state",           "launch_id",
      "token",         "infra",           "instance_type", "market",          "instance_id",
      "address",       "private_address", "host_key",      "intent_us",       "running_us",
      "ready_us",      "terminate_us",    "gone_us",       "running_unix_us", "terminated_unix_us",
      "reserved_uusd", "cost_uusd"},
     22},
    {"task",
     "trial, start",
     {"trial", "start", "stage", "attempt", "state", "exit_code", "resource_start", "resource_end", "started_us",
      "exited_us", "ended_us", "slots", "checkpoint"},
     13},
    {"note", "seq", {"seq", "time_us", "kind", "text"}, 4},
};

#define S       INT64_C(1000000)
#define STARTED (INT64_C(1800000000) * S)

static void write_events(struct rb_journal *j)
{
    const struct rb_event events[] = {
        {.kind = RB_EVENT_START, .rules = RB_RULES_NOW},
        {.kind = RB_EVENT_NODE_RUNNING, .time_us = 20 * S, .node = 0, .attempt = 1},
        {.kind = RB_EVENT_NODE_RUNNING, .time_us = 21 * S, .node = 1, .attempt = 1},
        {.kind = RB_EVENT_NODE_READY, .time_us = 40 * S, .node = 0, .attempt = 1},
        {.kind = RB_EVENT_NODE_READY, .time_us = 41 * S, .node = 1, .attempt = 1},
        {.kind = RB_EVENT_REPORT, .time_us = 50 * S, .trial = 0, .attempt = 1, .resource = 1, .metric = 0.5},
        {.kind = RB_EVENT_TRIAL_ENDED, .time_us = 51 * S, .trial = 0, .attempt = 1, .outcome = RB_OUTCOME_REACHED},
        {.kind = RB_EVENT_REPORT, .time_us = 52 * S, .trial = 1, .attempt = 1, .resource = 1, .metric = 0.25},
        {.kind = RB_EVENT_NODE_LOST, .time_us = 60 * S, .node = 1, .attempt = 1},
    };
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++)
        require(rb_journal_event(j, &events[i], NULL));
}

static void write_launch(struct rb_journal *j, int node, enum rb_launch_state state)
{
    struct rb_launch_row row = {.node = node,
                                .attempt = 1,
                                .state = state,
                                .launch_id = "00ff00ff00ff00ff00ff00ff00ff00f",
                                .token = "0123456789abcdef",
                                .infra = "aws/us-east-1",
                                .instance_type = "small",
                                .market = "on-demand",
                                .instance_id = "i-0123456789abcdef0",
                                .address = "203.0.113.7",
                                .private_address = "10.0.0.7",
                                .host_key = "ssh-ed25519 AAAA",
                                .intent_us = 1 * S,
                                .running_us = 20 * S,
                                .ready_us = 40 * S,
                                .terminate_us = -1,
                                .gone_us = -1,
                                .running_unix_us = STARTED + 20 * S,
                                .terminated_unix_us = -1,
                                .reserved_uusd = 60000};
    if (state == RB_LAUNCH_GONE) {
        row.terminate_us = 60 * S;
        row.gone_us = 61 * S;
        row.terminated_unix_us = STARTED + 60 * S;
        row.cost_uusd = 60000;
    }
    row.launch_id[0] = (char)('0' + node);
    require(rb_journal_launch(j, &row, NULL));
}

static void write_task(struct rb_journal *j, int trial, enum rb_task_state state)
{
    const struct rb_slot slot = {trial / 2, UINT64_C(1) << trial % 2};
    struct rb_task_row row = {.trial = trial,
                              .start = 0,
                              .attempt = 1,
                              .state = state,
                              .exit_code = -1,
                              .resource_end = 1,
                              .started_us = 41 * S,
                              .exited_us = -1,
                              .ended_us = -1,
                              .slots = &slot,
                              .n_slots = 1};
    if (state == RB_TASK_SAVED) {
        row.exit_code = 0;
        row.exited_us = 51 * S;
        row.ended_us = 53 * S;
        strcpy(row.checkpoint, "checkpoints/trial-0000/stage-0.tar");
    }
    require(rb_journal_task(j, &row, NULL));
}

void journal_write(const char *path)
{
    const struct rb_journal_meta meta = {.run_id = "run-1",
                                         .plan_sha256 = "abc",
                                         .owner = "us@here",
                                         .started_unix_us = STARTED,
                                         .deadline_us = 7200 * S,
                                         .budget_uusd = -1};
    struct rb_journal *j;
    require(rb_journal_create(path, &meta, &j, NULL));
    write_events(j);
    write_launch(j, 0, RB_LAUNCH_READY);
    write_launch(j, 1, RB_LAUNCH_GONE);
    write_task(j, 0, RB_TASK_SAVED);
    write_task(j, 1, RB_TASK_INTENT);
    write_task(j, 2, RB_TASK_KILLED);
    require(rb_journal_note(j, 60 * S, "fault", "node 1 was lost", NULL));
    rb_journal_close(j);
}

// One cell of the list.
struct cell {
    const struct table *table;
    const char *column;
    int row, type;
    const uint8_t *bytes;
    int n;
};

static void bind(sqlite3_stmt *st, const struct cell *cell)
{
    int64_t number = 0;
    double real;
    memcpy(&number, cell->bytes, cell->n < 8 ? (size_t)cell->n : 8);
    memcpy(&real, &number, sizeof real);
    if (cell->type == 0)
        sqlite3_bind_null(st, 1);
    else if (cell->type == 1)
        sqlite3_bind_int64(st, 1, number);
    else if (cell->type == 2)
        sqlite3_bind_double(st, 1, real);
    else if (cell->type == 4)
        sqlite3_bind_blob(st, 1, cell->bytes, cell->n, SQLITE_TRANSIENT);
    else
        sqlite3_bind_text(st, 1, (const char *)cell->bytes, cell->n, SQLITE_TRANSIENT);
}

static void overwrite(sqlite3 *db, const struct cell *cell)
{
    char sql[400];
    sqlite3_stmt *st;
    if (cell->type == 5)
        snprintf(sql, sizeof sql, "INSERT INTO event(json) VALUES (?)");
    else
        snprintf(sql, sizeof sql, "UPDATE %s SET %s=? WHERE (%s) IN (SELECT %s FROM %s ORDER BY %s LIMIT 1 OFFSET %d)",
                 cell->table->name, cell->column, cell->table->key, cell->table->key, cell->table->name,
                 cell->table->key, cell->row);
    require(sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK);
    bind(st, cell);
    sqlite3_step(st);
    sqlite3_finalize(st);
}

static size_t read_cell(const uint8_t *bytes, size_t n, struct cell *out)
{
    const size_t said = bytes[4] + 256u * bytes[5], len = said < n - 6 ? said : n - 6;
    const struct table *table = &tables[bytes[0] % 5];
    *out = (struct cell){table, table->columns[bytes[1] % table->n], bytes[2] % 16, bytes[3] % 6, bytes + 6, (int)len};
    return 6 + len;
}

void journal_overwrite(const char *path, const uint8_t *bytes, size_t n)
{
    sqlite3 *db;
    require(sqlite3_open(path, &db) == SQLITE_OK);
    sqlite3_exec(db, "PRAGMA synchronous=OFF; BEGIN", NULL, NULL, NULL);
    while (n > 6) {
        struct cell cell;
        const size_t took = read_cell(bytes, n, &cell);
        overwrite(db, &cell);
        bytes += took;
        n -= took;
    }
    require(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK);
    sqlite3_close(db);
}
