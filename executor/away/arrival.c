#include "executor/away/arrival.h"

#include "base/errors/log.h"
#include "base/file.h"
#include "base/text/number.h"
#include "executor/away/reach.h"
#include "executor/journal/handover.h"
#include "executor/journal/run_dir.h"
#include "executor/run/checks.h"
#include "executor/run/preflight.h"
#include "providers/wire/child.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REFUSAL_BYTES = 4096 };

// --- verdicts

static void refused_path(const struct rb_move *m, const char *id, struct rb_buf *out)
{
    rb_buf_printf(out, "%s/refused-%s", m->dir, id);
}

// Its number, then its message.
static bool read_refusal(const struct rb_move *m, const char *id, struct rb_err *out)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    RB_AUTO(rb_auto_free) char *text = NULL;
    int64_t number = 0;
    size_t n;
    refused_path(m, id, &path);
    if (access(rb_buf_str(&path), F_OK) != 0)
        return false;
    char *message = rb_read_file(rb_buf_str(&path), REFUSAL_BYTES, &text, &n, NULL) ? strchr(text, '\n') : NULL;
    if (message)
        *message++ = '\0';
    if (!message || !rb_parse_int(text, &number))
        number = RB_E_ARRIVAL;
    rb_err_set(out, (int)number, "%s", message ? message : "its reason was lost");
    return true;
}

static bool refuse(const struct rb_move *m, const char *id, struct rb_move_answer *out, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT, text = RB_BUF_INIT;
    refused_path(m, id, &path);
    rb_buf_printf(&text, "%d\n%s", rb_err_number(&out->why), out->why.message);
    rb_move_step("refusing");
    rb_move_clear(m); // first: what was unpacked may be why there is no room for the verdict
    if (!rb_write_file(rb_buf_str(&path), rb_buf_str(&text), text.len, err))
        return false;
    out->accepted = false;
    return true;
}

// The run's directory on this host, as it was before this move. Epoch -1: there is none.
static bool look_here(const struct rb_move *m, const char *id, bool *out_accepted, struct rb_handover *out_latest,
                      struct rb_err *err)
{
    RB_AUTO(rb_run_files_finish) struct rb_run_files f = {0};
    RB_AUTO(rb_buf_finish) struct rb_buf dir = RB_BUF_INIT;
    struct rb_journal *j;
    enum rb_handover_state state = RB_HANDOVER_HERE;
    bool known = false;
    *out_accepted = false;
    *out_latest = (struct rb_handover){.epoch = -1};
    rb_buf_printf(&dir, "%s/%s", m->root, m->run_id);
    if (access(rb_buf_str(&dir), F_OK) != 0)
        return true;
    if (!rb_run_files_open_listed(&f, m->root, m->run_id, &j, err))
        return false;
    const bool ok = rb_handover_find(j, id, &known, &state, err) && rb_handover_latest(j, out_latest, err);
    rb_journal_close(j);
    *out_accepted = ok && known && state != RB_HANDOVER_LEAVING;
    return ok;
}

// --- what has arrived

static void staged_path(const struct rb_move *m, const char *name, struct rb_buf *out)
{
    rb_buf_clear(out);
    rb_buf_printf(out, "%s/arriving/%s%s%s", m->dir, m->run_id, name[0] ? "/" : "", name);
}

static bool extract(const char *archive, const char *dir, const char *only, struct rb_err *err)
{
    const char *const argv[] = {"tar", "-xf", archive, "--no-same-owner", "-C", dir, only, NULL};
    return rb_child_run(argv, &(struct rb_child_options){0}, err);
}

static bool unpack(const struct rb_move *m, const char *id, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf top = RB_BUF_INIT, dir = RB_BUF_INIT, bundle = RB_BUF_INIT;
    char archive[4480];
    rb_move_archive(m, id, archive);
    rb_buf_printf(&top, "%s/arriving", m->dir);
    staged_path(m, "", &dir);
    staged_path(m, "bundle.tar", &bundle);
    const char *const rm[] = {"rm", "-rf", "--", rb_buf_str(&top), NULL};
    return rb_child_run(rm, &(struct rb_child_options){0}, err) && rb_run_dir_make(rb_buf_str(&dir), err) &&
           extract(archive, rb_buf_str(&dir), NULL, err) && extract(rb_buf_str(&bundle), rb_buf_str(&dir), "work", err);
}

static bool keep(const struct rb_move *m, const char *name, const char *text, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    staged_path(m, name, &path);
    return rb_write_file(rb_buf_str(&path), text, strlen(text), err);
}

// Paths of the other host become those of this one: what is relative to the job is relative to the unpacked work directory.
static bool place_files(const struct rb_move *m, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf work = RB_BUF_INIT, base = RB_BUF_INIT;
    rb_buf_printf(&work, "%s/%s/work", m->root, m->run_id);
    staged_path(m, "sinks/base", &base);
    return keep(m, "workdir", rb_buf_str(&work), err) &&
           (access(rb_buf_str(&base), F_OK) != 0 || keep(m, "sinks/base", rb_buf_str(&work), err));
}

static bool check_identity(const struct rb_move *m, const char *id, struct rb_journal *j, const struct rb_run_files *f,
                           const struct rb_handover *here, struct rb_err *err)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_journal_meta meta;
    struct rb_handover h;
    if (!rb_journal_meta(j, &arena, &meta, err) || !rb_handover_latest(j, &h, err))
        return false;
    if (strcmp(meta.run_id, m->run_id) != 0 || strcmp(h.id, id) != 0 || h.state != RB_HANDOVER_LEAVING ||
        strcmp(meta.plan_sha256, f->plan_sha256) != 0)
        return rb_err_set(err, RB_E_ARRIVAL, "%s is not run %s, or another move of it", f->dir, m->run_id);
    if (here->epoch >= 0 && (!rb_handover_is_away(here) || here->epoch >= h.epoch))
        return rb_err_set(err, RB_E_ARRIVAL, "run %s is here already: `rbrun status %s`", m->run_id, m->run_id);
    return true;
}

static bool check(const struct rb_move *m, const char *id, const struct rb_handover *here,
                  bool (*take_secrets)(const struct rb_job *job, struct rb_err *err), struct rb_err *err)
{
    RB_AUTO(rb_run_files_finish) struct rb_run_files f = {0};
    RB_AUTO(rb_buf_finish) struct rb_buf pinned = RB_BUF_INIT, top = RB_BUF_INIT;
    struct rb_journal *j;
    rb_buf_printf(&top, "%s/arriving", m->dir);
    if (!unpack(m, id, err) || !place_files(m, err) ||
        !rb_run_files_open_listed(&f, rb_buf_str(&top), m->run_id, &j, err))
        return false;
    bool under_way = false;
    bool ok = check_identity(m, id, j, &f, here, err) && (!take_secrets || take_secrets(f.plan.job, err)) &&
              rb_move_is_under_way(j, &f.plan, &under_way, err);
    if (under_way)
        ok = ok && rb_run_check_host(&f.plan, err) && rb_run_preflight_files(&f, &pinned, err) &&
             rb_reach_nodes(&f.plan, j, err);
    rb_journal_close(j);
    return ok;
}

// --- acceptance

static bool sync_tree(const char *dir, struct rb_err *err)
{
    const int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool ok = fd >= 0 && syncfs(fd) == 0;
    if (!ok)
        rb_err_set(err, RB_E_DIRECTORY, "%s cannot be brought to the disk: %s", dir, strerror(errno));
    if (fd >= 0)
        close(fd);
    return ok;
}

// One rename. An earlier stay of the run is exchanged with it, so that there is a directory at any time.
static bool put_in_place(const struct rb_move *m, bool was_here, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf from = RB_BUF_INIT, to = RB_BUF_INIT;
    staged_path(m, "", &from);
    rb_buf_printf(&to, "%s/%s", m->root, m->run_id);
    return renameat2(AT_FDCWD, rb_buf_str(&from), AT_FDCWD, rb_buf_str(&to), was_here ? RENAME_EXCHANGE : 0) == 0 ||
           rb_err_set(err, RB_E_DIRECTORY, "%s cannot become %s: %s; put the runs on a local file system (--state-dir)",
                      rb_buf_str(&from), rb_buf_str(&to), strerror(errno));
}

static bool write_arrived(const struct rb_move *m, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    struct rb_handover h;
    struct rb_journal *j;
    staged_path(m, "journal.db", &path);
    if (!rb_journal_open_moving(rb_buf_str(&path), &j, err))
        return false;
    bool ok = rb_handover_latest(j, &h, err);
    h.state = RB_HANDOVER_ARRIVED;
    ok = ok && rb_handover_write(j, &h, err);
    rb_journal_close(j); // the last one: sqlite's log is part of the file now
    return ok;
}

static bool accept(const struct rb_move *m, bool was_here, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf dir = RB_BUF_INIT;
    staged_path(m, "", &dir);
    if (!write_arrived(m, err) || !sync_tree(rb_buf_str(&dir), err))
        return false;
    rb_move_step("accepting");
    if (!put_in_place(m, was_here, err) || !sync_tree(m->root, err))
        return false;
    rb_move_step("accepted");
    rb_move_clear(m);
    return true;
}

// --- the two questions

// *out_decided: there is a verdict. here: of the run's directory on this host, epoch -1: there is none.
static bool find_verdict(const struct rb_move *m, const char *id, bool *out_decided, struct rb_handover *here,
                         struct rb_move_answer *out, struct rb_err *err)
{
    *out = (struct rb_move_answer){.accepted = false};
    *out_decided = read_refusal(m, id, &out->why);
    if (*out_decided)
        return true;
    if (!look_here(m, id, &out->accepted, here, err))
        return false;
    *out_decided = out->accepted;
    return true;
}

bool rb_arrive(struct rb_move *m, const char *id, bool (*take_secrets)(const struct rb_job *job, struct rb_err *err),
               struct rb_move_answer *out, struct rb_err *err)
{
    struct rb_handover here;
    bool decided;
    if (!find_verdict(m, id, &decided, &here, out, err))
        return false;
    if (!decided) {
        if (!check(m, id, &here, take_secrets, &out->why))
            return refuse(m, id, out, err);
        if (!accept(m, here.epoch >= 0, err))
            return false;
        out->accepted = true;
    } else if (out->accepted && take_secrets) {
        RB_AUTO(rb_run_files_finish) struct rb_run_files f = {0};
        if (!rb_run_files_open(&f, m->root, m->run_id, err) || !take_secrets(f.plan.job, err))
            return false;
    }
    rb_move_clear(m); // of an archive that came once more
    if (out->accepted)
        rb_move_go_on(m, out);
    return true;
}

bool rb_arrival_verdict(struct rb_move *m, const char *id, struct rb_move_answer *out, struct rb_err *err)
{
    struct rb_handover here;
    bool decided;
    if (!find_verdict(m, id, &decided, &here, out, err))
        return false;
    if (decided)
        return true;
    rb_err_set(&out->why, RB_E_MOVE_REFUSED, "it was taken back before it had arrived");
    return refuse(m, id, out, err);
}
