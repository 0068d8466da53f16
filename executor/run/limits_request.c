#include "executor/run/limits_request.h"

#include "base/clock.h"
#include "base/document/doc.h"
#include "base/document/json.h"
#include "base/errors/log.h"
#include "base/file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REQUEST "limits.request"
#define ANSWER  "limits.answer"

enum {
    MAX_BYTES = 1 << 16,
    POLL_US = 50000,
    UNTAKEN_POLLS = 30 * 1000000 / POLL_US, // a process looks once a second, and waits for launches to be answered
};

static const char *path_of(const char *run_dir, const char *name, struct rb_buf *out)
{
    rb_buf_clear(out);
    rb_buf_printf(out, "%s/%s", run_dir, name);
    return rb_buf_str(out);
}

static void remove_file(const char *run_dir, const char *name)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    unlink(path_of(run_dir, name, &path));
}

static bool exists(const char *run_dir, const char *name)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    return access(path_of(run_dir, name, &path), F_OK) == 0;
}

// The document of a file; false: there is none, or it is another program's.
static bool read_file(const char *run_dir, const char *name, struct rb_doc *out)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    RB_AUTO(rb_auto_free) char *text = NULL;
    struct rb_err why;
    size_t n;
    return rb_read_file(path_of(run_dir, name, &path), MAX_BYTES, &text, &n, &why) &&
           rb_doc_parse_json(out, name, text, n, &why);
}

static bool write_file(const char *run_dir, const char *name, const struct rb_buf *text, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    return rb_write_file(path_of(run_dir, name, &path), rb_buf_str(text), text->len, err);
}

static const struct rb_node *member(const struct rb_node *map, const char *key)
{
    for (const struct rb_node *n = map->kind == RB_NODE_MAP ? map->first : NULL; n; n = n->next)
        if (strcmp(n->key, key) == 0)
            return n;
    return NULL;
}

static const char *text_of(const struct rb_node *map, const char *key, struct rb_arena *arena)
{
    const struct rb_node *n = member(map, key);
    return n && n->kind == RB_NODE_STRING ? rb_arena_strdup(arena, n->text) : NULL;
}

static int64_t number_of(const struct rb_node *map, const char *key)
{
    const struct rb_node *n = member(map, key);
    return n && n->kind == RB_NODE_INT ? n->integer : -1;
}

static bool flag_of(const struct rb_node *map, const char *key)
{
    const struct rb_node *n = member(map, key);
    return n && n->kind == RB_NODE_BOOL && n->boolean;
}

// ---- the process that executes the run

void rb_limits_forget(const char *run_dir)
{
    remove_file(run_dir, REQUEST);
}

bool rb_limits_asked(const char *run_dir, struct rb_arena *arena, struct rb_limits_request *out)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    *out = (struct rb_limits_request){0};
    if (!exists(run_dir, REQUEST) || !read_file(run_dir, REQUEST, &doc))
        return false;
    *out = (struct rb_limits_request){.id = text_of(doc.root, "id", arena),
                                      .deadline = text_of(doc.root, "deadline", arena),
                                      .budget = text_of(doc.root, "budget", arena)};
    return out->id != NULL;
}

void rb_limits_take(const char *run_dir)
{
    remove_file(run_dir, REQUEST);
}

void rb_limits_answer(const char *run_dir, const char *id, const struct rb_limits_answer *answer, const struct rb_err *why)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    struct rb_json j = {.out = &text};
    struct rb_err err;
    if (why)
        rb_json_put(&j, "{id: %s error: %d text: %s}", id, rb_err_number(why), why->message);
    else
        rb_json_put(&j, "{id: %s error: %d deadline_us: %jd|null budget_uusd: %jd|null replanned: %i kept: %i text: %s}", id, 0,
                    answer->deadline_us, answer->budget_uusd, answer->replanned, answer->kept, answer->text);
    if (!write_file(run_dir, ANSWER, &text, &err))
        rb_warn("%s: %s: the command that changed the limits gets no answer", err.file, err.message);
}

// ---- the process that asks

static bool read_answer(const char *run_dir, const char *id, struct rb_arena *arena, bool *out_done,
                        struct rb_limits_answer *out, struct rb_err *err)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    *out_done = false;
    if (!exists(run_dir, ANSWER) || !read_file(run_dir, ANSWER, &doc))
        return true;
    const char *of = text_of(doc.root, "id", arena), *text = text_of(doc.root, "text", arena);
    if (!of || !text || strcmp(of, id) != 0)
        return true; // of an earlier request
    *out_done = true;
    remove_file(run_dir, ANSWER);
    const int number = (int)number_of(doc.root, "error");
    if (number > 0)
        return rb_err_set(err, number, "%s", text);
    *out = (struct rb_limits_answer){.deadline_us = number_of(doc.root, "deadline_us"),
                                     .budget_uusd = number_of(doc.root, "budget_uusd"),
                                     .replanned = flag_of(doc.root, "replanned"),
                                     .kept = flag_of(doc.root, "kept"),
                                     .text = text};
    return true;
}

// Whether it has taken the request, the journal knows.
static bool gone(const struct rb_run_files *f, struct rb_arena *arena, struct rb_err *err)
{
    struct rb_journal *journal = NULL;
    struct rb_journal_meta meta;
    char deadline[32], budget[32];
    remove_file(f->dir, REQUEST);
    const bool known = rb_journal_open_reader(f->journal, &journal, err) && rb_journal_meta(journal, arena, &meta, err);
    rb_journal_close(journal);
    return known && rb_err_set(err, RB_E_LIMITS_SILENT,
                               "the process that executes run %s ended before it answered; its journal has deadline %s, budget "
                               "%s: go on with: rbrun resume %s",
                               f->run_id, meta.deadline_us < 0 ? "none" : rb_format_duration(meta.deadline_us, deadline),
                               meta.budget_uusd < 0 ? "none" : rb_format_money(meta.budget_uusd, budget), f->run_id);
}

static bool wait_for(const struct rb_run_files *f, int pid, const char *id, struct rb_arena *arena,
                     struct rb_limits_answer *out, struct rb_err *err)
{
    bool done = false;
    int holder = pid;
    for (int untaken = 0; untaken < UNTAKEN_POLLS;) {
        if (!read_answer(f->dir, id, arena, &done, out, err) || done)
            return done && err->code == RB_ERR_NONE;
        if (holder != pid)
            return gone(f, arena, err);
        usleep(POLL_US);
        if (!rb_run_holder(f->journal, &holder, err))
            return false;
        untaken = exists(f->dir, REQUEST) ? untaken + 1 : 0; // a search may last
    }
    remove_file(f->dir, REQUEST);
    return rb_err_set(err, RB_E_LIMITS_SILENT,
                      "process %d, which executes run %s, has not reacted for %d s, and the limits are as they were: is it "
                      "stopped, or of an older version? Stop the run and go on: rbrun stop %s, rbrun resume %s --deadline "
                      "D --budget USD",
                      pid, f->run_id, UNTAKEN_POLLS / (1000000 / POLL_US), f->run_id, f->run_id);
}

bool rb_limits_ask(const struct rb_run_files *f, const char *deadline, const char *budget, struct rb_arena *arena,
                   struct rb_limits_answer *out, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    struct rb_json j = {.out = &text};
    int pid;
    if (!rb_run_holder(f->journal, &pid, err))
        return false;
    if (pid <= 0)
        return rb_err_set(err, RB_E_LIMITS_FIXED,
                          "no process here executes run %s, so there is nothing to re-plan; a run that was stopped or killed "
                          "goes on with: rbrun resume %s --deadline D --budget USD",
                          f->run_id, f->run_id);
    const char *id = rb_arena_printf(arena, "%d-%" PRId64, (int)getpid(), rb_clock_unix_us());
    rb_json_put(&j, "{id: %s deadline: %s|null budget: %s|null}", id, deadline, budget);
    *err = (struct rb_err){0};
    return write_file(f->dir, REQUEST, &text, err) && wait_for(f, pid, id, arena, out, err);
}
