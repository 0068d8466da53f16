#include "executor/away/departure.h"

#include "base/errors/log.h"
#include "executor/launcher/bundle.h"
#include "executor/pool/pool_run.h"
#include "executor/run/infras.h"
#include "executor/run/stop.h"
#include "providers/wire/child.h"
#include "providers/wire/digest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// --- may it move?

static bool is_there(const struct rb_run_files *f, const char *name)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    rb_buf_printf(&path, "%s/%s", f->dir, name);
    return access(rb_buf_str(&path), F_OK) == 0;
}

static bool check_nodes(const struct rb_run_files *f, struct rb_err *err)
{
    char infras[RB_RUN_INFRAS][64];
    const int n = rb_run_infras(&f->plan, infras, RB_RUN_INFRAS);
    for (int i = 0; i < n; i++)
        if (strcmp(infras[i], "local") == 0)
            return rb_err_set(
                err, RB_E_MOVE_UNFIT,
                "run %s has nodes that are processes of this machine (local), which no other host reaches: it "
                "stays here",
                f->run_id);
    return true;
}

static bool check_fit(const struct rb_run_files *f, struct rb_err *err)
{
    if (is_there(f, RB_POOL_OF_RUN) || rb_pool_is_one(f->dir))
        return rb_err_set(err, RB_E_MOVE_UNFIT, "run %s is of a pool, whose jobs share one process: it stays here",
                          f->run_id);
    if (is_there(f, "approval.json"))
        return rb_err_set(
            err, RB_E_MOVE_UNFIT,
            "run %s was approved for this machine: it stays here; to run it elsewhere, approve a plan there",
            f->run_id);
    return check_nodes(f, err);
}

bool rb_departure_look(const struct rb_run_files *f, struct rb_handover *out, struct rb_err *err)
{
    struct rb_journal *j;
    if (!rb_journal_open_reader(f->journal, &j, err))
        return false;
    const bool ok = rb_handover_latest(j, out, err);
    rb_journal_close(j);
    return ok;
}

// --- leaving

static bool free_journal(const struct rb_run_files *f, struct rb_err *err)
{
    int pid;
    if (!rb_run_find_process(f, &pid, err))
        return false;
    if (pid <= 0)
        return true;
    rb_info("run %s: asked process %d to leave", f->run_id, pid);
    return rb_run_leave_process(f, pid, err);
}

static void new_move(const struct rb_handover *before, const char *place, struct rb_handover *out)
{
    uint8_t bytes[16];
    *out = (struct rb_handover){.epoch = before->epoch + 1, .state = RB_HANDOVER_LEAVING};
    rb_random_bytes(bytes, sizeof bytes);
    rb_digest_hex(bytes, sizeof bytes, out->id);
    snprintf(out->place, sizeof out->place, "%s", place);
}

// The run's files are all that a resume reads. What nodes get is among them, and the work directory comes out of that.
static bool leave(const struct rb_run_files *f, struct rb_err *err)
{
    char bundle[4096], digest[65];
    if (!check_fit(f, err) || !rb_bundle_make(f->dir, f->workdir, bundle, sizeof bundle, digest, err) ||
        !free_journal(f, err))
        return false;
    rb_move_step("left");
    return true;
}

static bool commit_leaving(const struct rb_run_files *f, const struct rb_handover *before, const char *place,
                           struct rb_handover *out, struct rb_err *err)
{
    struct rb_journal *j;
    if (!rb_journal_open(f->journal, &j, err))
        return false;
    new_move(before, place, out);
    const bool ok = rb_handover_write(j, out, err);
    rb_journal_close(j);
    rb_move_step("committed");
    return ok;
}

// --- packing

static bool copy_journal(const struct rb_move *m, const struct rb_run_files *f, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    struct rb_journal *j;
    rb_buf_printf(&path, "%s/journal.db", m->dir);
    if (!rb_journal_open_moving(f->journal, &j, err))
        return false;
    const bool ok = rb_journal_copy(j, rb_buf_str(&path), err);
    rb_journal_close(j);
    return ok;
}

// Files that belong to this host or to the process that was here stay: the journal's own, the lock, the log, how it ended.
static bool pack(const struct rb_move *m, const struct rb_run_files *f, const char *archive, struct rb_err *err)
{
    const char *const argv[] = {"tar",
                                "-cf",
                                archive,
                                "--format=gnu",
                                "--anchored",
                                "--exclude=./journal.db*",
                                "--exclude=./" RB_DETACHED_LOG,
                                "--exclude=./ended",
                                "--exclude=./workdir",
                                "--exclude=./work",
                                "--exclude=./ssh",
                                "-C",
                                f->dir,
                                ".",
                                "-C",
                                m->dir,
                                "journal.db",
                                NULL};
    return rb_child_run(argv, &(struct rb_child_options){0}, err) ||
           rb_err_prefix(err, "run %s could not be packed in %s (is that disk full?)", f->run_id, m->dir);
}

// --- the end

// The journal as it is to be, whatever it was before this process. *out_changed: it was not.
static bool settle(struct rb_journal *j, const char *id, bool accepted, bool *out_changed, struct rb_err *err)
{
    struct rb_handover h;
    if (!rb_handover_latest(j, &h, err))
        return false;
    *out_changed = strcmp(h.id, id) == 0 && h.state == RB_HANDOVER_LEAVING;
    h.state = accepted ? RB_HANDOVER_AWAY : RB_HANDOVER_HERE;
    return !*out_changed || rb_handover_write(j, &h, err);
}

bool rb_depart_settle(struct rb_move *m, const char *id, struct rb_move_answer *answer, struct rb_err *err)
{
    RB_AUTO(rb_run_files_finish) struct rb_run_files f = {0};
    struct rb_journal *j;
    const struct rb_err refusal = answer->why;
    bool changed = false;
    if (!rb_run_files_open(&f, m->root, m->run_id, err) || !rb_journal_open_moving(f.journal, &j, err))
        return false;
    const bool ok = settle(j, id, answer->accepted, &changed, err);
    rb_journal_close(j);
    rb_move_step("settled");
    if (!ok)
        return false;
    rb_move_clear(m);
    if (answer->accepted)
        return true;
    *answer = (struct rb_move_answer){.accepted = false};
    rb_move_go_on(m, answer);
    if (answer->why.code != RB_ERR_NONE)
        rb_warn("run %s is here again, and no process goes on with it: %s", f.run_id, answer->why.message);
    answer->why = refusal;
    return true;
}

// --- departure

// Its process has left, and it is not packed. id: of a move that began just now, so that nothing of it is at another host, and it is
// taken back; NULL: it is another's, or there is none. The run goes on here, if it can.
static void stay(struct rb_move *m, const char *id, const struct rb_run_files *f, struct rb_err *err)
{
    const struct rb_err why = *err;
    const int number = rb_err_number(err);
    struct rb_handover h;
    struct rb_move_answer answer = {.accepted = false};
    struct rb_err next;
    rb_move_clear(m); // the journal may need the room
    const bool back = id && rb_depart_settle(m, id, &answer, &next); // a process goes on, or a warning says why none does
    if (!back && !rb_departure_look(f, &h, &next)) {
        rb_err_set(err, number, "%s; whether run %s goes on is not known, for its journal cannot be read: make room, then repeat the move",
                   why.message, f->run_id);
        return;
    }
    if (!back && rb_handover_is_away(&h)) {
        rb_handover_refuse(&h, f->run_id, &next);
        rb_err_set(err, number, "%s; %s", why.message, next.message);
        return;
    }
    if (!back)
        rb_move_go_on(m, &answer);
    if (answer.why.code == RB_ERR_NONE)
        rb_err_set(err, number, "%s; the run is where it was%s", why.message, answer.process.pid > 0 ? ", and goes on" : "");
    else
        rb_err_set(err, number, "%s; no process goes on with run %s: %s; put that right, then `rbrun resume %s`", why.message, f->run_id,
                   answer.why.message, f->run_id);
}

bool rb_depart(struct rb_move *m, const char *place, struct rb_departure *out, struct rb_err *err)
{
    RB_AUTO(rb_run_files_finish) struct rb_run_files f = {0};
    struct rb_handover h;
    if (!rb_run_files_open(&f, m->root, m->run_id, err) || !rb_departure_look(&f, &h, err))
        return false;
    if (rb_handover_is_away(&h) && (h.state == RB_HANDOVER_AWAY || strcmp(h.place, place) != 0))
        return rb_handover_refuse(&h, f.run_id, err);
    const bool is_new = !rb_handover_is_away(&h);
    if (is_new && !leave(&f, err))
        return false;
    if (is_new && !commit_leaving(&f, &(struct rb_handover){.epoch = h.epoch}, place, &h, err)) {
        stay(m, NULL, &f, err);
        return false;
    }
    *out = (struct rb_departure){.move = h};
    rb_move_archive(m, h.id, out->archive);
    const bool ok =
        copy_journal(m, &f, err) && pack(m, &f, out->archive, err) && rb_move_digest(out->archive, out->digest, err);
    rb_move_step("packed");
    if (!ok)
        stay(m, is_new ? h.id : NULL, &f, err);
    return ok;
}
