// A journal of any bytes ('f', then the file), or a whole one in which cells are overwritten (anything else, then the list of
// journal_cells.h): refused with an error that names the file, or every value within the bounds that executor/journal/journal.h
// promises. A report and a history are made of it, for which its events are replayed into an engine.
#include "fuzz.h"
#include "journal_cells.h"
#include "require.h"
#include "temp_dir.h"

#include "base/file.h"
#include "executor/journal/history.h"
#include "executor/report/report.h"
#include "tests/engine/small_plan.h"

#include <stdio.h>
#include <string.h>

// The same as a file name and in errors.
#define NAME "journal.db"

static void check_refusal(const struct rb_err *err)
{
    require(err->code != RB_ERR_NONE && strstr(err->message, NAME));
    for (const char *s = err->message; *s; s++)
        require((unsigned char)*s >= 0x20);
}

static void check_meta(const struct rb_journal_meta *m)
{
    require(m->run_id[0] && !strchr(m->run_id, '/'));
    require(m->started_unix_us >= 0 && m->deadline_us >= -1 && m->budget_uusd >= -1 && m->leak_checked_at_us >= -1);
    require(m->instances_left >= -1);
}

static bool check_event(void *ctx, const struct rb_event *e, struct rb_err *err)
{
    (void)err;
    ++*(int *)ctx;
    require(e->time_us >= 0 && e->node >= 0 && e->trial >= 0 && e->attempt >= 0);
    return true;
}

static void check_launch(const struct rb_launch_row *r)
{
    require(r->node >= 0 && r->offer >= 0 && rb_launch_state_name(r->state));
    require(r->launch_id[0] && !strchr(r->launch_id, '/'));
    require(r->intent_us >= -1 && r->running_us >= -1 && r->ready_us >= -1 && r->terminate_us >= -1 &&
            r->gone_us >= -1);
    require(r->running_unix_us >= -1 && r->terminated_unix_us >= -1 && r->reserved_uusd >= 0 && r->cost_uusd >= 0);
}

static void check_task(const struct rb_task_row *t)
{
    require(t->trial >= 0 && t->start >= 0 && t->stage >= 0 && t->attempt >= 0 && rb_task_state_name(t->state));
    require(t->resource_start >= 0 && t->resource_end >= 0);
    require(t->started_us >= -1 && t->exited_us >= -1 && t->ended_us >= -1);
    for (int i = 0; i < t->n_slots; i++)
        require(t->slots[i].node >= 0 && t->slots[i].gpus != 0);
}

static void check_rows(struct rb_journal *j, struct rb_arena *arena)
{
    struct rb_err err = {0};
    struct rb_journal_meta meta;
    struct rb_launch_row *launches;
    struct rb_task_row *tasks;
    struct rb_note *notes;
    int n = 0;
    if (rb_journal_meta(j, arena, &meta, &err))
        check_meta(&meta);
    else
        check_refusal(&err);
    if (!rb_journal_each_event(j, check_event, &n, &err))
        check_refusal(&err);
    if (!rb_journal_launches(j, arena, &launches, &n, &err))
        check_refusal(&err);
    else
        for (int i = 0; i < n; i++)
            check_launch(&launches[i]);
    if (!rb_journal_tasks(j, arena, &tasks, &n, &err))
        check_refusal(&err);
    else
        for (int i = 0; i < n; i++)
            check_task(&tasks[i]);
    if (!rb_journal_notes(j, arena, &notes, &n, &err))
        check_refusal(&err);
    else
        for (int i = 0; i < n; i++)
            require(notes[i].time_us >= 0 && notes[i].kind && notes[i].text);
}

static void check_json(const struct rb_buf *text)
{
    struct rb_doc doc;
    require(rb_doc_parse_json(&doc, "report.json", rb_buf_str(text), text->len, NULL));
    rb_doc_finish(&doc);
}

static void check_report(struct rb_journal *j, struct rb_arena *arena)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT, history = RB_BUF_INIT;
    struct small_plan p;
    struct rb_report report;
    struct rb_err err = {0};
    struct rb_json json;
    small_plan_make(&p);
    if (!rb_report_make(j, &p.plan, arena, &report, &err)) {
        check_refusal(&err);
        return;
    }
    require(report.cost_uusd >= 0 && report.time_us >= 0);
    rb_json_init(&json, &text, false);
    rb_report_write(&report, &json);
    check_json(&text);
    rb_json_init(&json, &history, false);
    if (rb_history_write(j, &report, &json, &err))
        check_json(&history);
    else
        check_refusal(&err);
}

static void open_and_read(bool (*open)(const char *path, struct rb_journal **out, struct rb_err *err))
{
    struct rb_journal *j;
    struct rb_arena arena;
    struct rb_err err = {0};
    if (!open(temp_path(NAME), &j, &err)) {
        check_refusal(&err);
        return;
    }
    rb_arena_init(&arena);
    check_rows(j, &arena);
    check_report(j, &arena);
    rb_arena_finish(&arena);
    rb_journal_close(j);
}

// A whole journal is written once, and copied for every input.
static void put_whole(void)
{
    static char *bytes;
    static size_t n;
    if (!bytes) {
        temp_remove(NAME);
        journal_write(temp_path(NAME));
        require(rb_read_file(temp_path(NAME), 1 << 20, &bytes, &n, NULL));
    }
    temp_write(NAME, bytes, n);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    if (n == 0)
        return 0;
    temp_remove(NAME "-wal");
    temp_remove(NAME "-shm");
    if (bytes[0] == 'f') {
        temp_write(NAME, bytes + 1, n - 1);
    } else {
        put_whole();
        journal_overwrite(temp_path(NAME), bytes + 1, n - 1);
    }
    open_and_read(rb_journal_open_reader);
    open_and_read(rb_journal_open);
    return 0;
}
