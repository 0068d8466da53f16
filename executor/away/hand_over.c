#include "executor/away/hand_over.h"

#include "base/errors/log.h"
#include "base/file.h"
#include "executor/away/arrival.h"
#include "executor/away/departure.h"
#include "executor/away/send.h"
#include "executor/run/checks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ANSWER_BYTES = 64 << 20, MAX_WORDS = 8 }; // an answer may be a plan

// --- the other side

struct side {
    const struct rb_host *host;
    char program[65]; // its digest, which the host has
};

static bool meet(const struct rb_host *host, struct side *out, struct rb_err *err)
{
    *out = (struct side){.host = host};
    return rb_send_program(host, out->program, err);
}

// What a part of `rbrun move` there says. secrets: of this job, NULL: none are sent.
static bool ask(const struct side *side, const struct rb_job *secrets, const char *const *words, int n,
                struct rb_buf *out, struct rb_err *err)
{
    const char *all[MAX_WORDS] = {"move", side->program};
    const int fd = secrets ? rb_send_secrets(secrets) : rb_memory_file("", 0);
    const struct rb_host_call call = {
        .words = all, .n_words = n + 2, .input_fd = fd, .out = out, .max_output_bytes = ANSWER_BYTES};
    int code = 0;
    memcpy(all + 2, words, (size_t)n * sizeof *words);
    if (fd < 0)
        return rb_err_set(err, RB_E_HOST_FAILED, "the secrets cannot be sent: %s", strerror(errno));
    const bool ok =
        rb_host_call(side->host, &call, &code, err) && (code == 0 || rb_sent_error(side->host, out, code, err));
    close(fd);
    return ok;
}

static bool ask_part(const struct side *side, const struct rb_job *secrets, const char *run_id, const char *part,
                     const char *id, struct rb_move_answer *out, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf said = RB_BUF_INIT;
    return ask(side, secrets, (const char *const[]){run_id, "--part", part, "--id", id}, 5, &said, err) &&
           rb_move_answer_read(side->host->name, &said, out, err);
}

static bool unknown(const char *run_id, const char *to, const char *place, struct rb_err *err)
{
    rb_err_prefix(
        err,
        "whether run %s has arrived at %s is not known, so nothing carries it out here; repeat `rbrun move %s "
        "--to %s`, which asks about the same move",
        run_id, to, run_id, place);
    rb_err_renumber(err, RB_E_MOVE_UNKNOWN);
    return false;
}

// --- from here to there

static bool send(const struct rb_move *m, const struct rb_departure *d, const struct side *to, const struct rb_job *job,
                 struct rb_move_answer *out, struct rb_err *err)
{
    const char *const words[] = {"archive", m->run_id, d->move.id, d->digest};
    return rb_send_file(to->host, words, 4, d->archive, err) &&
           ask_part(to, job, m->run_id, "arrive", d->move.id, out, err);
}

// The archive did not arrive, or the answer did not. The verdict is asked for once more; err is why, and stays if there is none.
static bool ask_verdict(const struct rb_move *m, const struct rb_departure *d, const struct side *to,
                        struct rb_move_answer *out, struct rb_err *err)
{
    rb_warn("%s; asking %s whether run %s has arrived", err->message, to->host->name, m->run_id);
    if (!ask_part(to, NULL, m->run_id, "verdict", d->move.id, out, NULL))
        return false;
    if (!out->accepted)
        out->why = *err;
    return true;
}

static bool hand_over(struct rb_move *m, const struct side *to, const struct rb_job *job, struct rb_move_answer *out,
                      struct rb_err *err)
{
    struct rb_departure d;
    struct rb_move_answer settled;
    if (!rb_depart(m, to->host->name, &d, err))
        return false;
    if (!send(m, &d, to, job, out, err) && !ask_verdict(m, &d, to, out, err))
        return unknown(m->run_id, to->host->name, to->host->name, err);
    rb_move_step("answered");
    settled = *out;
    if (!rb_depart_settle(m, d.move.id, &settled, err))
        return false;
    if (!out->accepted)
        *out = settled;
    return true;
}

// Its secrets are in the environment: whichever side goes on with it needs them.
static bool check_secrets(const struct rb_run_files *f, struct rb_err *err)
{
    struct rb_journal *j;
    bool under_way = false;
    if (!rb_journal_open_reader(f->journal, &j, err))
        return false;
    const bool ok = rb_move_is_under_way(j, &f->plan, &under_way, err);
    rb_journal_close(j);
    return ok && (!under_way || rb_run_check_secrets(f->plan.job, err));
}

static bool open_here(const char *root, const char *run_id, struct rb_run_files *f, struct rb_move *m,
                      struct rb_err *err)
{
    return rb_run_files_open(f, root, run_id, err) && check_secrets(f, err) &&
           rb_move_open(root, f->run_id, RB_MOVE_LEAVES, m, err);
}

bool rb_hand_over(const char *root, const char *run_id, const struct rb_host *to, struct rb_move_answer *out,
                  struct rb_err *err)
{
    RB_AUTO(rb_run_files_finish) struct rb_run_files f = {0};
    RB_AUTO(rb_move_close) struct rb_move m = {.lock = -1};
    struct rb_handover h;
    struct side there;
    if (!open_here(root, run_id, &f, &m, err) || !rb_departure_look(&f, &h, err))
        return false;
    if (!meet(to, &there, err))
        return rb_handover_is_away(&h) && unknown(f.run_id, to->name, to->name, err); // else nothing has happened
    if (h.state == RB_HANDOVER_AWAY && strcmp(h.place, to->name) == 0)
        return ask_part(&there, f.plan.job, f.run_id, "arrive", h.id, out,
                        err); // it has; a process may be missing there
    return hand_over(&m, &there, f.plan.job, out, err);
}

bool rb_hand_nowhere(const char *root, const char *run_id, struct rb_move_answer *out, struct rb_err *err)
{
    RB_AUTO(rb_run_files_finish) struct rb_run_files f = {0};
    RB_AUTO(rb_move_close) struct rb_move m = {.lock = -1};
    if (!open_here(root, run_id, &f, &m, err))
        return false;
    *out = (struct rb_move_answer){.accepted = true};
    rb_move_go_on(&m, out);
    return true;
}

bool rb_hand_back(const char *root, const char *run_id, const struct rb_host *from, struct rb_move_answer *out,
                  struct rb_err *err)
{
    RB_AUTO(rb_run_files_finish) struct rb_run_files f = {0};
    RB_AUTO(rb_move_close) struct rb_move m = {.lock = -1};
    struct rb_handover h;
    struct side there;
    if (!open_here(root, run_id, &f, &m, err) || !rb_departure_look(&f, &h, err))
        return false;
    if (!meet(from, &there, err) || !ask_part(&there, NULL, f.run_id, "verdict", h.id, out, err))
        return unknown(f.run_id, from->name, "here", err);
    return rb_depart_settle(&m, h.id, out, err);
}

// --- from there to here

// A line that says whether the run needs a controller, then its plan. Before it leaves: can this host be that?
static bool check_here(const struct rb_move *m, const struct side *from, struct rb_run_files *f, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf said = RB_BUF_INIT, path = RB_BUF_INIT;
    rb_buf_printf(&path, "%s/plan.json", m->dir);
    if (!ask(from, NULL, (const char *const[]){m->run_id, "--part", "plan"}, 3, &said, err))
        return false;
    const bool under_way = said.len > 0 && said.data[0] == '1';
    rb_buf_consume(&said, said.len < 2 ? said.len : 2);
    return rb_write_file(rb_buf_str(&path), rb_buf_str(&said), said.len, err) &&
           rb_run_read_plan(f, rb_buf_str(&path), err) && (!under_way || rb_run_check_host(&f->plan, err));
}

// Why an archive is not whole: ssh speaks of a connection that broke, or of nothing. What was written ends at a block's end then.
static bool fail_if_full(const char *path, struct rb_err *err)
{
    const int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return false;
    if (write(fd, "", 1) < 0 && errno == ENOSPC) {
        unlink(path);
        rb_err_set(err, RB_E_FILE_WRITE, "cannot write %s: %s; make room", path, strerror(ENOSPC));
    }
    close(fd);
    return false;
}

static bool fetch_archive(const struct rb_move *m, const struct side *from, const char *id, struct rb_err *err)
{
    const char *const words[] = {"give", m->run_id, id};
    char path[4480];
    int code = 0;
    rb_move_archive(m, id, path);
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return rb_err_set(err, RB_E_FILE_WRITE, "cannot write %s: %s", path, strerror(errno));
    const struct rb_host_call call = {.words = words, .n_words = 3, .input_fd = -1, .compress = true, .output_fd = fd};
    const bool ok = rb_host_call(from->host, &call, &code, err) &&
                    (code == 0 || rb_err_set(err, RB_E_HOST_FAILED, "%s did not send the run (exit code %d)", from->host->name, code));
    close(fd);
    return ok;
}

// "ID DIGEST". If it cannot be packed there, it goes on there, and needs its secrets.
static bool depart_there(const struct rb_move *m, const struct side *from, const struct rb_job *job, char id[static RB_MOVE_ID_BYTES],
                         char digest[static 65], struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf said = RB_BUF_INIT;
    char me[160];
    rb_run_owner(me, sizeof me);
    const char *const words[] = {m->run_id, "--part", "depart", "--to", me};
    return ask(from, job, words, 5, &said, err) &&
           (sscanf(rb_buf_str(&said), "%32s %64s", id, digest) == 2 || rb_sent_error(from->host, &said, 0, err)) &&
           rb_move_check_id(id, err);
}

static bool take_archive(struct rb_move *m, const struct side *from, const char *id, const char *digest,
                         struct rb_move_answer *out, struct rb_err *err)
{
    char path[4480], here[65];
    rb_move_archive(m, id, path);
    if (!fetch_archive(m, from, id, err) || !rb_move_digest(path, here, err) ||
        (strcmp(here, digest) != 0 &&
         !rb_err_set(err, RB_E_HOST_FAILED, "what %s sent does not have the digest %s", from->host->name, digest)))
        return fail_if_full(path, err);
    return rb_arrive(m, id, NULL, out, err);
}

// This side has decided; the other one learns of it now, or when the command is repeated.
static bool report(const struct rb_move *m, const struct side *from, const struct rb_job *job, const char *id,
                   struct rb_move_answer *out, struct rb_err *err)
{
    struct rb_move_answer there;
    struct rb_err why;
    rb_move_step("decided");
    const bool known = ask_part(from, job, m->run_id, out->accepted ? "accepted" : "refused", id, &there, &why);
    if (known && !out->accepted) {
        const struct rb_err reason = out->why;
        *out = there;
        out->why = reason;
    }
    if (known)
        return true;
    if (!out->accepted) {
        *err = why;
        return unknown(m->run_id, "this host", "here", err);
    }
    rb_warn("%s does not know yet that run %s is here: %s", from->host->name, m->run_id, why.message);
    return true;
}

bool rb_hand_fetch(const char *root, const char *run_id, const struct rb_host *from, struct rb_move_answer *out,
                   struct rb_err *err)
{
    RB_AUTO(rb_run_files_finish) struct rb_run_files f = {0};
    RB_AUTO(rb_move_close) struct rb_move m = {.lock = -1};
    struct side there;
    char id[RB_MOVE_ID_BYTES], digest[65];
    if (!meet(from, &there, err) || !rb_move_open(root, run_id, RB_MOVE_ARRIVES, &m, err) ||
        !check_here(&m, &there, &f, err) || !depart_there(&m, &there, f.plan.job, id, digest, err))
        return false;
    if (!take_archive(&m, &there, id, digest, out, err))
        return unknown(run_id, "this host", "here", err);
    return report(&m, &there, f.plan.job, id, out, err);
}
