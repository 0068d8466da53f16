// The journal: what is written is what is read, one writer at a time, and the deaths the crash tests rely on.
#include "executor/journal/handover.h"
#include "executor/journal/journal.h"
#include "executor/journal/run_lock.h"
#include "executor/launcher/launch_log.h"

#include <math.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
// cmocka wants the four above first
#include <cmocka.h>

struct place {
    char dir[64], path[96];
};

static const struct rb_journal_meta meta = {.run_id = "run-1",
                                            .plan_sha256 = "abc",
                                            .owner = "us@here",
                                            .started_unix_us = 1800000000000000,
                                            .deadline_us = 7200000000,
                                            .budget_uusd = -1};

static int setup(void **state)
{
    struct place *p = calloc(1, sizeof *p);
    strcpy(p->dir, "/tmp/rb-journal-XXXXXX");
    if (!mkdtemp(p->dir))
        return -1;
    snprintf(p->path, sizeof p->path, "%s/journal.db", p->dir);
    *state = p;
    return 0;
}

static void remove_journal(const char *path)
{
    static const char *const suffixes[] = {"", "-wal", "-shm", ".lock"};
    for (int i = 0; i < 4; i++) {
        char name[128];
        snprintf(name, sizeof name, "%s%s", path, suffixes[i]);
        unlink(name);
    }
}

static int teardown(void **state)
{
    struct place *p = *state;
    char name[128];
    remove_journal(p->path);
    snprintf(name, sizeof name, "%s/launches", p->dir);
    unlink(name);
    rmdir(p->dir);
    free(p);
    return 0;
}

static struct rb_journal *create(const struct place *p)
{
    struct rb_journal *j;
    struct rb_err err;
    if (!rb_journal_create(p->path, &meta, &j, &err))
        fail_msg("%s", err.message);
    return j;
}

static struct rb_launch_row a_launch(int node)
{
    struct rb_launch_row r = {.node = node,
                              .attempt = 1,
                              .offer = 2,
                              .state = RB_LAUNCH_READY,
                              .intent_us = 10,
                              .running_us = 20,
                              .ready_us = 30,
                              .terminate_us = -1,
                              .gone_us = -1,
                              .running_unix_us = 1800000000000020,
                              .terminated_unix_us = -1,
                              .reserved_uusd = 60000};
    strcpy(r.launch_id, "0123456789abcdef");
    strcpy(r.token, "token");
    strcpy(r.infra, "aws/us-east-1");
    strcpy(r.instance_type, "g5.xlarge");
    strcpy(r.market, "spot");
    strcpy(r.instance_id, "i-1; DROP TABLE launch");
    strcpy(r.address, "10.0.0.1");
    strcpy(r.host_key, "ssh-ed25519 AAAA");
    return r;
}

static bool collect(void *ctx, const struct rb_event *e, struct rb_err *err)
{
    (void)err;
    struct rb_event **next = ctx;
    *(*next)++ = *e;
    return true;
}

static void what_is_written_is_read(void **state)
{
    const struct place *p = *state;
    struct rb_journal *j = create(p);
    struct rb_err err;
    const struct rb_event events[] = {
        {.kind = RB_EVENT_START},
        {.kind = RB_EVENT_REPORT, .time_us = 5, .trial = 3, .attempt = 1, .resource = 4, .metric = NAN},
        {.kind = RB_EVENT_STOP, .time_us = 6, .reason = RB_STOP_BUDGET},
    };
    const struct rb_slot slots[] = {{3, 15}, {7, UINT64_MAX}};
    const struct rb_task_row task = {.trial = 3,
                                     .start = 2,
                                     .stage = 1,
                                     .attempt = 0,
                                     .state = RB_TASK_SAVED,
                                     .exit_code = 75,
                                     .resource_start = 1,
                                     .resource_end = 3,
                                     .started_us = 4,
                                     .exited_us = 5,
                                     .ended_us = 6,
                                     .slots = slots,
                                     .n_slots = 2,
                                     .checkpoint = "checkpoints/trial-0003/stage-1.tar"};
    struct rb_launch_row launch = a_launch(4);
    for (int i = 0; i < 3; i++)
        assert_true(rb_journal_event(j, &events[i], &err));
    assert_true(rb_journal_launch(j, &launch, &err));
    launch.state = RB_LAUNCH_GONE; // the same key: replaced
    assert_true(rb_journal_launch(j, &launch, &err));
    assert_true(rb_journal_task(j, &task, &err));
    assert_true(rb_journal_note(j, 9, "fault", "it's gone", &err));
    assert_true(rb_journal_set_limits(j, 1, 2, &err));
    assert_true(rb_journal_leak_check(j, 11, 0, &err));
    rb_journal_close(j);

    RB_AUTO(rb_arena_finish) struct rb_arena arena;
    rb_arena_init(&arena);
    struct rb_event read[3], *next = read;
    struct rb_launch_row *launches;
    struct rb_task_row *tasks;
    struct rb_note *notes;
    struct rb_journal_meta m;
    int n;
    assert_true(rb_journal_open(p->path, &j, &err));
    assert_true(rb_journal_each_event(j, collect, &next, &err));
    assert_ptr_equal(next, read + 3);
    assert_true(read[1].trial == 3 && read[1].resource == 4 && isnan(read[1].metric));
    assert_int_equal(read[2].reason, RB_STOP_BUDGET);
    assert_true(rb_journal_launches(j, &arena, &launches, &n, &err));
    assert_int_equal(n, 1);
    assert_memory_equal(&launches[0], &launch, sizeof launch);
    assert_true(rb_journal_tasks(j, &arena, &tasks, &n, &err));
    assert_int_equal(n, 1);
    assert_int_equal(tasks[0].state, RB_TASK_SAVED);
    assert_int_equal(tasks[0].n_slots, 2);
    assert_true(tasks[0].slots[1].node == 7 && tasks[0].slots[1].gpus == UINT64_MAX);
    assert_string_equal(tasks[0].checkpoint, task.checkpoint);
    assert_true(rb_journal_notes(j, &arena, &notes, &n, &err));
    assert_string_equal(notes[0].text, "it's gone");
    assert_true(rb_journal_meta(j, &arena, &m, &err));
    assert_string_equal(m.owner, "us@here");
    assert_true(m.deadline_us == 1 && m.budget_uusd == 2 && m.leak_checked_at_us == 11 && m.instances_left == 0);
    rb_journal_close(j);
}

static void an_uncommitted_transaction_leaves_nothing(void **state)
{
    const struct place *p = *state;
    struct rb_journal *j = create(p);
    struct rb_err err;
    struct rb_event events[2], *next = events;
    assert_true(rb_journal_begin(j, &err));
    assert_true(rb_journal_event(j, &(struct rb_event){.kind = RB_EVENT_START}, &err));
    rb_journal_close(j); // died before commit
    assert_true(rb_journal_open(p->path, &j, &err));
    assert_true(rb_journal_each_event(j, collect, &next, &err));
    assert_ptr_equal(next, events);
    rb_journal_close(j);
}

static void one_writer_many_readers(void **state)
{
    const struct place *p = *state;
    struct rb_journal *j = create(p), *second, *reader;
    struct rb_err err;
    struct rb_run_lock lock;
    assert_false(rb_journal_open(p->path, &second, &err));
    assert_int_equal(rb_err_number(&err), RB_E_RUN_BUSY);
    assert_true(rb_run_lock_look(p->path, &lock, &err));
    assert_int_equal(lock.state, RB_RUN_LOCK_HELD);
    assert_int_equal(lock.pid, getpid());
    assert_true(rb_journal_open_reader(p->path, &reader, &err));
    assert_false(rb_journal_note(reader, 0, "fault", "a reader does not write", &err));
    assert_int_equal(rb_err_number(&err), RB_E_JOURNAL_WRITE);
    assert_true(rb_journal_note(j, 0, "fault", "the writer does", &err));
    rb_journal_close(reader);
    rb_journal_close(j);
    assert_true(rb_run_lock_look(p->path, &lock, &err));
    assert_int_equal(lock.state, RB_RUN_LOCK_FREE);
    assert_int_equal(lock.pid, 0);
}

static void write_lock_file(const struct place *p, const char *text)
{
    char name[4200];
    snprintf(name, sizeof name, "%s.lock", p->path);
    FILE *f = fopen(name, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

// A lock file that is missing, or was written under another kernel, proves nothing.
static void a_lock_is_believed_only_where_it_would_be_seen(void **state)
{
    const struct place *p = *state;
    struct rb_run_lock lock;
    struct rb_err err;
    char words[160];
    assert_true(rb_run_lock_look(p->path, &lock, &err));
    assert_int_equal(lock.state, RB_RUN_LOCK_UNSURE);
    write_lock_file(p, "412\n00000000-0000-0000-0000-000000000000 pid:[1] box\n");
    assert_true(rb_run_lock_look(p->path, &lock, &err));
    assert_int_equal(lock.state, RB_RUN_LOCK_UNSURE);
    write_lock_file(p, "412\n"); // an older version
    assert_true(rb_run_lock_look(p->path, &lock, &err));
    assert_int_equal(lock.state, RB_RUN_LOCK_FREE);
    struct rb_journal *j = create(p), *second;
    write_lock_file(p, ""); // just taken, and not written yet
    assert_true(rb_run_lock_look(p->path, &lock, &err));
    assert_int_equal(lock.state, RB_RUN_LOCK_HELD);
    assert_int_equal(lock.pid, 0);
    assert_non_null(strstr(rb_run_lock_words(&lock, words), "just starting"));
    write_lock_file(p, "412\n- pid:[1] box\n"); // in another container of this kernel
    assert_true(rb_run_lock_look(p->path, &lock, &err));
    assert_int_equal(lock.state, RB_RUN_LOCK_HELD);
    assert_int_equal(lock.pid, 0);
    assert_false(rb_journal_open(p->path, &second, &err));
    assert_non_null(strstr(err.message, "another rbrun (a process in another container or on another machine, box)"));
    rb_journal_close(j);
}

static void damage(const struct place *p, long at, size_t n)
{
    FILE *f = fopen(p->path, "r+");
    assert_non_null(f);
    fseek(f, at, SEEK_SET);
    for (size_t i = 0; i < n; i++)
        fputc(0, f);
    fclose(f);
}

static void check_damaged(const struct place *p, const char *words)
{
    struct rb_journal *j;
    struct rb_err err;
    assert_false(rb_journal_open_reader(p->path, &j, &err));
    assert_int_equal(rb_err_number(&err), RB_E_JOURNAL_DAMAGED);
    assert_non_null(strstr(err.message, p->path));
    assert_non_null(strstr(err.message, words));
    assert_false(rb_journal_open(p->path, &j, &err));
    assert_int_equal(rb_err_number(&err), RB_E_JOURNAL_DAMAGED);
}

// A launch that may have been sent has a row, or the journal is not the one that was written.
static void a_journal_that_lacks_a_launch_is_damaged(void **state)
{
    const struct place *p = *state;
    struct rb_journal *j = create(p), *reader;
    struct rb_err err;
    struct rb_launch_row row = {.state = RB_LAUNCH_SENT, .launch_id = "00ff00ff", .infra = "aws/us-east-1"};
    assert_true(rb_journal_launch(j, &row, &err));
    assert_true(rb_launch_log_add(p->dir, row.launch_id, row.infra, true, &err));
    assert_true(rb_launch_log_add(p->dir, row.launch_id, row.infra, true, &err)); // sent by one before a restart, too
    assert_true(rb_journal_open_reader(p->path, &reader, &err));
    rb_journal_close(reader);
    assert_true(rb_launch_log_add(p->dir, "0123", "aws/us-east-1", true, &err));
    rb_journal_close(j);
    check_damaged(p, "1 of the 2 launches");
}

static void zeroed_cut_or_gone_is_damaged(void **state)
{
    const struct place *p = *state;
    struct rb_err err;
    struct rb_journal *j;
    rb_journal_close(create(p));
    damage(p, 0, 4096);
    check_damaged(p, "not a database");
    assert_int_equal(truncate(p->path, 0), 0);
    check_damaged(p, "empty");
    assert_int_equal(unlink(p->path), 0);
    assert_false(rb_journal_open_reader(p->path, &j, &err));
    assert_int_equal(rb_err_number(&err), RB_E_JOURNAL_MISSING);
    assert_true(rb_launch_log_add(p->dir, "0123", "aws/us-east-1", true, &err));
    assert_false(rb_journal_open_reader(p->path, &j, &err));
    assert_int_equal(rb_err_number(&err), RB_E_JOURNAL_DAMAGED);
}

// One cell of a whole journal is changed: the tables cannot all be read any more.
static void check_refused(const struct place *p, const char *table, const char *cell)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena;
    const struct rb_launch_row launch = a_launch(4);
    const struct rb_slot slot = {3, 15};
    const struct rb_task_row task = {.trial = 3, .slots = &slot, .n_slots = 1};
    struct rb_event events[2], *next = events;
    struct rb_journal *j = create(p);
    struct rb_journal_meta m;
    struct rb_launch_row *launches;
    struct rb_task_row *tasks;
    struct rb_note *notes;
    struct rb_err err = {0};
    sqlite3 *db;
    char sql[200];
    int n;
    assert_true(rb_journal_event(j, &(struct rb_event){.kind = RB_EVENT_START}, &err));
    assert_true(rb_journal_launch(j, &launch, &err) && rb_journal_task(j, &task, &err));
    assert_true(rb_journal_note(j, 9, "fault", "it's gone", &err));
    rb_journal_close(j);
    snprintf(sql, sizeof sql, "UPDATE %s SET %s", table, cell);
    assert_int_equal(sqlite3_open(p->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    rb_arena_init(&arena);
    assert_true(rb_journal_open_reader(p->path, &j, &err));
    if (rb_journal_meta(j, &arena, &m, &err) && rb_journal_each_event(j, collect, &next, &err) &&
        rb_journal_launches(j, &arena, &launches, &n, &err) && rb_journal_tasks(j, &arena, &tasks, &n, &err) &&
        rb_journal_notes(j, &arena, &notes, &n, &err))
        fail_msg("%s is taken", sql);
    if (rb_err_number(&err) != RB_E_JOURNAL_DAMAGED || !strstr(err.message, p->path))
        fail_msg("%s: %s", sql, err.message);
    rb_journal_close(j);
    unlink(p->path);
}

static void cells_out_of_bounds_are_damaged(void **state)
{
    static const struct {
        const char *table, *cell;
    } bad[] = {
        {"meta", "run_id='../x'"},
        {"meta", "started_unix_us=-1"},
        {"meta", "budget_uusd='many'"},
        {"meta", "instances_left=-2"},
        {"event", "json='{\"time_us\":9223372036854775807,\"event\":\"time\"}'"},
        {"event", "json=x'00'"},
        {"launch", "node=-1"},
        {"launch", "node=4294967300"},
        {"launch", "node=385875968"}, // arrays of that size
        {"task", "trial=385875968"},
        {"launch", "offer=-1"},
        {"launch", "launch_id='a/b'"},
        {"launch", "launch_id=''"},
        {"launch", "infra=x'6100'"},
        {"launch", "running_us=-2"},
        {"launch", "running_us=NULL"},
        {"launch", "running_us=1.5"},
        {"launch", "terminated_unix_us=9223372036854775807"},
        {"launch", "reserved_uusd=-1"},
        {"launch", "cost_uusd=9223372036854775807"},
        {"task", "trial=-1"},
        {"task", "start=2147483647"},
        {"task", "resource_end=-1"},
        {"task", "started_us=-9223372036854775808"},
        {"task", "slots='-1:3'"},
        {"task", "slots='3:0'"},
        {"task", "slots='3:18446744073709551616'"},
        {"task", "slots='99999999999:1'"},
        {"task", "slots='3:1,'"},
        {"note", "time_us=NULL"},
        {"note", "text=x'00'"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        check_refused(*state, bad[i].table, bad[i].cell);
}

static void an_event_from_before_the_last_is_damage(void **state)
{
    const struct place *p = *state;
    struct rb_journal *j = create(p);
    struct rb_event events[4], *next = events;
    struct rb_err err = {0};
    int64_t seq = 0;
    assert_true(rb_journal_event(j, &(struct rb_event){.kind = RB_EVENT_TIME, .time_us = 5}, &err));
    assert_true(rb_journal_event(j, &(struct rb_event){.kind = RB_EVENT_TIME, .time_us = 5}, &err));
    assert_true(rb_journal_each_event_after(j, &seq, collect, &next, &err));
    assert_true(rb_journal_each_event_after(j, &seq, collect, &next, &err)); // none twice
    assert_ptr_equal(next, events + 2);
    assert_true(rb_journal_event(j, &(struct rb_event){.kind = RB_EVENT_TIME, .time_us = 4}, &err));
    assert_false(rb_journal_each_event_after(j, &seq, collect, &next, &err));
    assert_int_equal(rb_err_number(&err), RB_E_JOURNAL_DAMAGED);
    assert_int_equal(seq, 2);
    next = events;
    assert_false(rb_journal_each_event(j, collect, &next, &err));
    assert_ptr_equal(next, events + 2);
    rb_journal_close(j);
}

static bool count_line(void *ctx, const char *launch_id, const char *infra, struct rb_err *err)
{
    (void)launch_id, (void)infra, (void)err;
    ++*(int *)ctx;
    return true;
}

static void half_a_line_of_the_launch_log_does_not_count(void **state)
{
    const struct place *p = *state;
    char name[4300];
    struct rb_err err;
    int n = 0;
    assert_true(rb_launch_log_each(p->dir, count_line, &n, &err));
    assert_true(rb_launch_log_add(p->dir, "0123", "aws/us-east-1", true, &err));
    snprintf(name, sizeof name, "%s/launches", p->dir);
    FILE *f = fopen(name, "a");
    fputs("4567 aws/us-", f);
    fclose(f);
    assert_true(rb_launch_log_each(p->dir, count_line, &n, &err));
    assert_int_equal(n, 1);
    f = fopen(name, "a");
    fputs("\n\001\001\n", f);
    fclose(f);
    assert_false(rb_launch_log_each(p->dir, count_line, &n, &err));
    assert_int_equal(rb_err_number(&err), RB_E_JOURNAL_DAMAGED);
    assert_non_null(strstr(err.message, "launches"));
}

static void lines_of_the_launch_log_that_no_one_wrote_are_damage(void **state)
{
    static const char junk_after_nul[] = "0123 aws\0junk\n";
    static const struct {
        const char *text;
        size_t n;
    } bad[] = {
        {junk_after_nul, sizeof junk_after_nul - 1},
        {"0123456789abcdef0123456789abcdef01234567 aws\n", 45}, // 40 digits
        {"0123 a\033[2J\n", 11},
        {"0123 \n", 6},
        {"x123 aws\n", 9},
    };
    const struct place *p = *state;
    char name[4300];
    snprintf(name, sizeof name, "%s/launches", p->dir);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct rb_err err;
        int n = 0;
        FILE *f = fopen(name, "w");
        assert_int_equal(fwrite(bad[i].text, 1, bad[i].n, f), bad[i].n);
        fclose(f);
        if (rb_launch_log_each(p->dir, count_line, &n, &err))
            fail_msg("line %zu is taken", i);
        assert_int_equal(rb_err_number(&err), RB_E_JOURNAL_DAMAGED);
    }
}

static void create_never_replaces(void **state)
{
    const struct place *p = *state;
    struct rb_journal *j;
    struct rb_err err;
    rb_journal_close(create(p));
    assert_false(rb_journal_create(p->path, &meta, &j, &err));
    assert_int_equal(rb_err_number(&err), RB_E_RUN_EXISTS);
}

static void refuses_what_it_does_not_know(void **state)
{
    const struct place *p = *state;
    struct rb_journal *j;
    struct rb_err err;
    sqlite3 *db;
    assert_false(rb_journal_open(p->path, &j, &err));
    assert_int_equal(rb_err_number(&err), RB_E_JOURNAL_MISSING);
    rb_journal_close(create(p));
    assert_int_equal(sqlite3_open(p->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "PRAGMA user_version=99; UPDATE writer SET version = '9.0.1'", NULL, NULL, NULL),
                     SQLITE_OK);
    assert_false(rb_journal_open(p->path, &j, &err));
    assert_int_equal(rb_err_number(&err), RB_E_JOURNAL_VERSION);
    assert_non_null(strstr(err.message, "version 99, written by rubberband 9.0.1; use that rbrun or a later one"));
    sqlite3_exec(db, "PRAGMA user_version=1; INSERT INTO event(json) VALUES ('{\"event\":\"surprise\"}')", NULL, NULL,
                 NULL);
    sqlite3_exec(db,
                 "INSERT INTO launch(node, attempt, offer, state, launch_id, token, infra, instance_type, market,"
                 " instance_id, address, private_address, host_key) VALUES (1,0,0,'odd','','','','','','','','','')",
                 NULL, NULL, NULL);
    sqlite3_close(db);
    RB_AUTO(rb_arena_finish) struct rb_arena arena;
    struct rb_launch_row *rows;
    struct rb_event events[2], *next = events;
    int n;
    rb_arena_init(&arena);
    assert_true(rb_journal_open(p->path, &j, &err));
    assert_false(rb_journal_each_event(j, collect, &next, &err));
    assert_false(rb_journal_launches(j, &arena, &rows, &n, &err));
    assert_int_equal(rb_err_number(&err), RB_E_JOURNAL_DAMAGED);
    assert_non_null(strstr(err.message, "odd"));
    rb_journal_close(j);
}

static int count_notes(const struct place *p)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena;
    struct rb_journal *j;
    struct rb_note *notes;
    struct rb_err err;
    int n;
    rb_arena_init(&arena);
    assert_true(rb_journal_open_reader(p->path, &j, &err));
    assert_true(rb_journal_notes(j, &arena, &notes, &n, &err));
    rb_journal_close(j);
    return n;
}

static int version_of(const char *path)
{
    sqlite3 *db;
    sqlite3_stmt *st;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &st, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(st), SQLITE_ROW);
    const int version = sqlite3_column_int(st, 0);
    sqlite3_finalize(st);
    sqlite3_close(db);
    return version;
}

static void set_move(const struct place *p, struct rb_handover *h, enum rb_handover_state state)
{
    struct rb_journal *j;
    struct rb_err err;
    h->state = state;
    assert_true(rb_journal_open_moving(p->path, &j, &err));
    assert_true(rb_handover_write(j, h, &err));
    rb_journal_close(j);
}

static void only_a_run_that_is_here_is_opened(void **state)
{
    static const enum rb_handover_state states[] = {RB_HANDOVER_LEAVING, RB_HANDOVER_AWAY, RB_HANDOVER_ARRIVED,
                                                    RB_HANDOVER_HERE};
    const struct place *p = *state;
    struct rb_handover h = {.epoch = 1, .id = "0123456789abcdef0123456789abcdef", .place = "ssh:box"}, read;
    struct rb_journal *j = create(p);
    struct rb_err err;
    bool known = true;
    assert_true(rb_handover_latest(j, &read, &err));
    assert_int_equal(read.epoch, 0);
    assert_true(rb_handover_find(j, h.id, &known, &read.state, &err));
    assert_false(known);
    rb_journal_close(j);
    for (int i = 0; i < 4; i++) {
        const bool away = i < 2;
        set_move(p, &h, states[i]);
        assert_int_equal(version_of(p->path), away ? RB_JOURNAL_AWAY : RB_JOURNAL_SCHEMA); // older programs refuse the former
        assert_int_equal(rb_journal_open(p->path, &j, &err), !away);
        if (away) {
            assert_int_equal(rb_err_number(&err), RB_E_RUN_MOVED);
            assert_non_null(strstr(err.message, "ssh:box"));
            assert_true(rb_journal_open_reader(p->path, &j, &err));
        }
        assert_true(rb_handover_find(j, h.id, &known, &read.state, &err));
        assert_true(known && read.state == states[i]);
        rb_journal_close(j);
    }
}

static void a_copy_is_whole_in_one_file(void **state)
{
    const struct place *p = *state;
    struct rb_handover h = {.epoch = 3, .id = "0123456789abcdef0123456789abcdef", .place = "me@desk"}, read;
    struct place copy = *p;
    struct rb_journal *j = create(p);
    struct rb_err err;
    h.state = RB_HANDOVER_LEAVING;
    assert_true(rb_journal_note(j, 1, "warning", "still in the log", &err) && rb_handover_write(j, &h, &err));
    snprintf(copy.path, sizeof copy.path, "%s/copy", p->dir);
    assert_true(rb_journal_copy(j, copy.path, &err) && rb_journal_copy(j, copy.path, &err)); // over one of a killed process
    rb_journal_close(j);
    assert_int_equal(version_of(copy.path), RB_JOURNAL_AWAY);
    assert_true(rb_journal_open_moving(copy.path, &j, &err));
    assert_true(rb_handover_latest(j, &read, &err));
    assert_int_equal(read.epoch, 3);
    assert_string_equal(read.place, "me@desk");
    rb_journal_close(j);
    assert_int_equal(count_notes(&copy), 1);
    remove_journal(copy.path);
}

static void dies_as_it_is_reported(void **state)
{
    const struct place *p = *state;
    struct rb_journal *j = create(p);
    struct rb_err err;
    rb_journal_die(j, 2, RB_JOURNAL_DIES_AFTER);
    assert_true(rb_journal_note(j, 0, "a", "1", &err));
    assert_true(rb_journal_note(j, 0, "a", "2", &err));
    assert_false(rb_journal_note(j, 0, "a", "3", &err));
    assert_false(rb_journal_begin(j, &err));
    rb_journal_close(j);
    assert_int_equal(count_notes(p), 2);

    assert_true(rb_journal_open(p->path, &j, &err));
    rb_journal_die(j, 1, RB_JOURNAL_DIES_AT);
    assert_false(rb_journal_note(j, 0, "a", "3", &err)); // and yet it is on disk
    rb_journal_close(j);
    assert_int_equal(count_notes(p), 3);

    const pid_t child = fork();
    if (child == 0) {
        if (!rb_journal_open(p->path, &j, &err))
            _exit(1);
        rb_journal_die(j, 1, RB_JOURNAL_KILLS);
        rb_journal_note(j, 0, "a", "4", &err);
        _exit(2);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(count_notes(p), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_written_is_read, setup, teardown),
        cmocka_unit_test_setup_teardown(an_uncommitted_transaction_leaves_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(one_writer_many_readers, setup, teardown),
        cmocka_unit_test_setup_teardown(a_lock_is_believed_only_where_it_would_be_seen, setup, teardown),
        cmocka_unit_test_setup_teardown(a_journal_that_lacks_a_launch_is_damaged, setup, teardown),
        cmocka_unit_test_setup_teardown(zeroed_cut_or_gone_is_damaged, setup, teardown),
        cmocka_unit_test_setup_teardown(half_a_line_of_the_launch_log_does_not_count, setup, teardown),
        cmocka_unit_test_setup_teardown(an_event_from_before_the_last_is_damage, setup, teardown),
        cmocka_unit_test_setup_teardown(cells_out_of_bounds_are_damaged, setup, teardown),
        cmocka_unit_test_setup_teardown(lines_of_the_launch_log_that_no_one_wrote_are_damage, setup, teardown),
        cmocka_unit_test_setup_teardown(create_never_replaces, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_what_it_does_not_know, setup, teardown),
        cmocka_unit_test_setup_teardown(only_a_run_that_is_here_is_opened, setup, teardown),
        cmocka_unit_test_setup_teardown(a_copy_is_whole_in_one_file, setup, teardown),
        cmocka_unit_test_setup_teardown(dies_as_it_is_reported, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
