#include "executor/away/move.h"

#include "base/document/doc.h"
#include "base/document/json.h"
#include "executor/journal/handover.h"
#include "executor/journal/run_dir.h"
#include "executor/run/replay.h"
#include "providers/wire/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define FOLDER "moves"

void rb_move_step(const char *name)
{
    const char *dies = getenv("RB_TEST_MOVE_DIES");
    if (dies && strcmp(dies, name) == 0)
        raise(SIGKILL);
}

bool rb_move_check_id(const char *id, struct rb_err *err)
{
    return (strspn(id, "0123456789abcdef") == RB_MOVE_ID_BYTES - 1 && strlen(id) == RB_MOVE_ID_BYTES - 1) ||
           rb_err_set(err, RB_E_ARRIVAL, "expected the id of a move, 32 hexadecimal digits, got \"%.40s\"", id);
}

// --- the folder

bool rb_move_open(const char *root, const char *run_id, enum rb_move_side side, struct rb_move *out, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    *out = (struct rb_move){.lock = -1};
    if (snprintf(out->root, sizeof out->root, "%s", root) >= (int)sizeof out->root ||
        snprintf(out->run_id, sizeof out->run_id, "%s", run_id) >= (int)sizeof out->run_id ||
        snprintf(out->dir, sizeof out->dir, "%s/" FOLDER "/%s", root, run_id) >= (int)sizeof out->dir)
        return rb_err_set(err, RB_E_PATH_TOO_LONG,
                          "this path is too long; name a shorter one with --state-dir: %.80s...", root);
    if (!rb_run_dir_make(out->dir, err))
        return false;
    rb_buf_printf(&path, "%s/%s.lock", out->dir, side == RB_MOVE_LEAVES ? "leaves" : "arrives");
    out->lock = open(rb_buf_str(&path), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    while (out->lock >= 0 && flock(out->lock, LOCK_EX) != 0)
        if (errno != EINTR) {
            rb_move_close(out);
            break;
        }
    return out->lock >= 0 ||
           rb_err_set(err, RB_E_DIRECTORY, "%s cannot be locked: %s", rb_buf_str(&path), strerror(errno));
}

void rb_move_close(struct rb_move *m)
{
    if (m->lock >= 0)
        close(m->lock);
    m->lock = -1;
}

void rb_move_clear(const struct rb_move *m)
{
    const char *const argv[] = {"find",  m->dir,   "-mindepth", "1",     "-maxdepth", "1",     "!",
                                "-name", "*.lock", "!",         "-name", "refused-*", "-exec", "rm",
                                "-rf",   "--",     "{}",        "+",     NULL};
    rb_child_run(argv, &(struct rb_child_options){.quiet = true}, NULL); // what stays is replaced by the next move
}

void rb_move_archive(const struct rb_move *m, const char *id, char out[static 4480])
{
    snprintf(out, 4480, "%s/%s.tar", m->dir, id);
}

bool rb_move_digest(const char *path, char out[static 65], struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf said = RB_BUF_INIT;
    const char *const argv[] = {"sha256sum", "--", path, NULL};
    if (!rb_child_run(argv, &(struct rb_child_options){.out = &said, .max_output_bytes = 8192}, err))
        return false;
    snprintf(out, 65, "%.64s", rb_buf_str(&said));
    return true;
}

// --- answers

void rb_move_answer_write(const struct rb_move_answer *a, const char *run_id, const char *place, struct rb_buf *out)
{
    struct rb_json j = {.out = out};
    rb_json_put(&j,
                "{format: 'rb-moved/1' run: %s place: %s|null moved: %i process: %jd|null unit: %s|null log: %s|null",
                run_id, place, a->accepted, (intmax_t)(a->process.pid > 0 ? a->process.pid : -1),
                a->process.unit[0] ? a->process.unit : NULL, a->process.pid > 0 ? a->log : NULL);
    rb_json_put(&j, "error:");
    if (a->why.code == RB_ERR_NONE)
        rb_json_null(&j);
    else
        rb_json_put(&j, "{number: %d message: %s}", rb_err_number(&a->why), a->why.message);
    rb_json_put(&j, "}");
    rb_buf_putc(out, '\n');
}

bool rb_move_answer_read(const char *from, const struct rb_buf *text, struct rb_move_answer *out, struct rb_err *err)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    struct rb_move_answer a = {.accepted = false};
    int64_t pid = 0, number = 0;
    if (!rb_doc_parse_json(&doc, from, rb_buf_str(text), text->len, err))
        return false;
    const struct rb_node *moved = rb_node_member(doc.root, "moved"), *process = rb_node_member(doc.root, "process"),
                         *error = rb_node_member(doc.root, "error");
    if (!moved || !rb_node_bool(moved, &a.accepted, NULL))
        return rb_err_set(err, RB_E_HOST_FAILED, "%s: expected an rb-moved/1, got \"%.80s\"", from, rb_buf_str(text));
    if (process && rb_node_int(process, 1, INT32_MAX, &pid, NULL))
        a.process.pid = (int)pid;
    snprintf(a.process.unit, sizeof a.process.unit, "%s", rb_node_member_text(doc.root, "unit"));
    snprintf(a.log, sizeof a.log, "%s", rb_node_member_text(doc.root, "log"));
    if (rb_node_member(error, "number") && rb_node_int(rb_node_member(error, "number"), 1, 9999, &number, NULL))
        rb_err_set(&a.why, (int)number, "%s", rb_node_member_text(error, "message"));
    *out = a;
    return true;
}

// --- going on

bool rb_move_is_under_way(struct rb_journal *j, const struct rb_plan *plan, bool *out, struct rb_err *err)
{
    struct rb_replay r;
    if (!rb_replay_journal(j, plan, &r, err))
        return false;
    *out = r.outcome == RB_JOB_RUNNING;
    return true;
}

// Is there anything to go on with? err: the journal or the plan cannot be read, or it has left, and is no longer ours.
static bool is_ours(const struct rb_run_files *f, bool *out, struct rb_err *err)
{
    struct rb_journal *j;
    struct rb_handover h;
    if (!rb_journal_open_reader(f->journal, &j, err))
        return false;
    const bool ok = rb_handover_latest(j, &h, err) && rb_move_is_under_way(j, &f->plan, out, err);
    rb_journal_close(j);
    return ok && (!*out || !rb_handover_is_away(&h) || rb_handover_refuse(&h, f->run_id, err));
}

static bool start(const struct rb_run_files *f, struct rb_move_answer *out, struct rb_err *err)
{
    const char *const options[] = {"--state-dir", f->root};
    int code = 0;
    if (!rb_detach(f, options, 2, &out->process, &code, err))
        return false;
    if (code == 0)
        return true;
    out->process.pid = 0;
    return rb_err_set(err, RB_E_DETACH,
                      "its process ended with exit code %d, and its reason is above; `rbrun resume %s`", code,
                      f->run_id);
}

void rb_move_go_on(const struct rb_move *m, struct rb_move_answer *out)
{
    RB_AUTO(rb_run_files_finish) struct rb_run_files f = {0};
    bool under_way = false;
    int pid = 0;
    const bool ok = rb_run_files_open(&f, m->root, m->run_id, &out->why) && is_ours(&f, &under_way, &out->why) &&
                    rb_run_holder(f.journal, &pid, &out->why);
    if (!ok)
        return;
    snprintf(out->log, sizeof out->log, "%s/" RB_DETACHED_LOG, f.dir);
    out->process.pid = pid > 0 ? pid : 0;
    if (pid == 0 && under_way)
        start(&f, out, &out->why);
}
