#include "executor/journal/run_files.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/errors/log.h"
#include "executor/campaign/campaign_dir.h"
#include "executor/journal/handover.h"
#include "executor/journal/journal.h"
#include "executor/journal/run_dir.h"
#include "executor/journal/run_lock.h"
#include "providers/wire/digest.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool is_yaml(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0);
}

bool rb_run_read_plan(struct rb_run_files *f, const char *path, struct rb_err *err)
{
    RB_AUTO(rb_auto_free) char *bytes = NULL;
    size_t n;
    if (!rb_read_file(path, RB_LIMIT_PLAN_BYTES, &bytes, &n, err))
        return false;
    rb_digest_sha256(bytes, n, f->plan_sha256);
    struct rb_doc doc;
    if (!rb_doc_parse_json(&doc, path, bytes, n, err))
        return !is_yaml(path) ? false
                              : rb_err_set(err, RB_E_PLAN_EXPECTED,
                                           "%s: expected a plan; if it is a job, plan it first: rbplan -o plan.json %s",
                                           path, path);
    const bool ok = rb_plan_read(doc.root, rb_digest_sha256, &f->arena, &f->plan, err);
    rb_doc_finish(&doc);
    return ok;
}

// The work directory is where it was when the run began, wherever the plan is now.
static bool read_workdir(struct rb_run_files *f, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    RB_AUTO(rb_auto_free) char *bytes = NULL;
    size_t n;
    rb_buf_printf(&path, "%s/workdir", f->dir);
    if (!rb_read_file(rb_buf_str(&path), sizeof f->workdir - 1, &bytes, &n, err))
        return false;
    memcpy(f->workdir, bytes, n + 1);
    return true;
}

// Before the plan: if the journal is not whole, that error matters more.
static bool open_journal(const struct rb_run_files *f, struct rb_journal **out, struct rb_err *err)
{
    struct rb_err why = {0};
    if (rb_journal_open_reader(f->journal, out, &why))
        return true;
    if (rb_err_number(&why) == RB_E_JOURNAL_MISSING)
        return rb_err_set(err, RB_E_JOURNAL_MISSING, "run %s has no journal: it ended before anything was launched",
                          f->run_id);
    *err = why;
    return rb_err_prefix(err, "run %s", f->run_id);
}

// f->root, run_id and dir are known.
static bool open_found(struct rb_run_files *f, struct rb_journal **out, struct rb_err *err)
{
    char plan[4400];
    struct rb_journal *journal;
    snprintf(f->journal, sizeof f->journal, "%s/journal.db", f->dir);
    snprintf(plan, sizeof plan, "%s/plan.json", f->dir);
    if (!open_journal(f, &journal, err))
        return false;
    struct rb_journal_meta meta;
    if (!rb_run_read_plan(f, plan, err) || !read_workdir(f, err) ||
        !rb_journal_meta(journal, &f->arena, &meta, err)) {
        rb_journal_close(journal);
        return rb_err_prefix(err, "run %s cannot be read; `rbrun gc --older-than 0s` finds and ends what it launched",
                             f->run_id);
    }
    rb_plan_settle_reservations(&f->plan, meta.started_unix_us);
    *out = journal;
    return true;
}

static bool open_files(struct rb_run_files *f, const char *state_dir, const char *run, int *out_n_others,
                       struct rb_err *err)
{
    struct rb_journal *journal;
    *f = (struct rb_run_files){0};
    if (!rb_run_dir_root(state_dir, f->root, sizeof f->root, err) ||
        !rb_run_dir_find(f->root, run, f->run_id, sizeof f->run_id, f->dir, sizeof f->dir, out_n_others, err) ||
        !open_found(f, &journal, err))
        return false;
    rb_journal_close(journal);
    return true;
}

bool rb_run_files_open_listed(struct rb_run_files *f, const char *root, const char *run_id, struct rb_journal **out,
                              struct rb_err *err)
{
    *f = (struct rb_run_files){0};
    *out = NULL;
    rb_arena_init(&f->arena);
    if (strlen(root) >= sizeof f->root || strlen(run_id) >= sizeof f->run_id)
        return rb_err_set(err, RB_E_PATH_TOO_LONG,
                          "this path is too long; name a shorter one with --state-dir: %.80s...", root);
    strcpy(f->root, root);
    strcpy(f->run_id, run_id);
    snprintf(f->dir, sizeof f->dir, "%s/%s", root, run_id);
    return open_found(f, out, err);
}

bool rb_run_files_open(struct rb_run_files *f, const char *state_dir, const char *run, struct rb_err *err)
{
    return open_files(f, state_dir, run, NULL, err);
}

bool rb_run_files_open_newest(struct rb_run_files *f, const char *state_dir, const char *run, struct rb_err *err)
{
    int n_others;
    if (!open_files(f, state_dir, run, &n_others, err))
        return false;
    if (n_others > 0)
        rb_info("run %s, the newest of %d of job %s", f->run_id, n_others + 1, run);
    return true;
}

void rb_run_files_finish(struct rb_run_files *f)
{
    rb_arena_finish(&f->arena);
}

// --- a new run

static bool keep(const struct rb_run_files *f, const char *name, const char *bytes, size_t n, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    rb_buf_printf(&path, "%s/%s", f->dir, name);
    return rb_write_file(rb_buf_str(&path), bytes, n, err);
}

bool rb_run_files_create(struct rb_run_files *f, const char *root, const char *name, const char *plan, size_t n_plan,
                         struct rb_err *err)
{
    if (!rb_run_dir_create(root, name, f->run_id, sizeof f->run_id, f->dir, sizeof f->dir, err))
        return false;
    snprintf(f->root, sizeof f->root, "%s", root);
    snprintf(f->journal, sizeof f->journal, "%s/journal.db", f->dir);
    if (keep(f, "plan.json", plan, n_plan, err) && keep(f, "workdir", f->workdir, strlen(f->workdir), err))
        return true;
    rb_run_dir_forget(f->dir);
    return false;
}

bool rb_run_files_begin(const struct rb_run_files *f, int64_t deadline_us, int64_t budget_uusd, struct rb_journal **out,
                        struct rb_err *err)
{
    char owner[160];
    rb_run_owner(owner, sizeof owner);
    const struct rb_journal_meta meta = {.run_id = f->run_id,
                                         .plan_sha256 = f->plan_sha256,
                                         .owner = owner,
                                         .started_unix_us = rb_clock_unix_us(),
                                         .deadline_us = deadline_us,
                                         .budget_uusd = budget_uusd};
    rb_plan_settle_reservations(&f->plan, meta.started_unix_us);
    return rb_journal_create(f->journal, &meta, out, err);
}

// --- which process executes it

// The id comes from a cloud's tag: a text that is no id must not become part of a path.
static bool is_here(const char *folder, const char *run_id)
{
    RB_AUTO(rb_buf_finish) struct rb_buf dir = RB_BUF_INIT;
    rb_buf_printf(&dir, "%s/%s", folder, run_id);
    return run_id[0] && run_id[0] != '.' && !strchr(run_id, '/') && access(rb_buf_str(&dir), F_OK) == 0;
}

// One that cannot be read counts as here.
static bool is_away(const char *journal)
{
    struct rb_journal *j;
    struct rb_handover h = {.epoch = 0};
    if (!rb_journal_open_reader(journal, &j, NULL))
        return false;
    const bool known = rb_handover_latest(j, &h, NULL);
    rb_journal_close(j);
    return known && rb_handover_is_away(&h);
}

enum rb_run_hold rb_run_hold(const char *root, const char *run_id)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    char campaigns[4112];
    struct rb_run_lock lock;
    rb_campaign_dir_root(root, campaigns, sizeof campaigns);
    if (is_here(campaigns, run_id))
        return rb_campaign_dir_at_work(root, run_id) ? RB_RUN_AT_WORK : RB_RUN_IDLE;
    if (!is_here(root, run_id))
        return RB_RUN_NOT_HERE;
    rb_buf_printf(&path, "%s/%s/journal.db", root, run_id);
    if (!rb_run_lock_look(rb_buf_str(&path), &lock, NULL))
        return RB_RUN_UNSURE;
    if (lock.state == RB_RUN_LOCK_HELD)
        return RB_RUN_AT_WORK;
    return lock.state == RB_RUN_LOCK_FREE && !is_away(rb_buf_str(&path)) ? RB_RUN_IDLE : RB_RUN_UNSURE;
}

bool rb_run_is_carried_out(const char *root, const char *run_id)
{
    return rb_run_hold(root, run_id) == RB_RUN_AT_WORK;
}

bool rb_run_holder(const char *journal, int *out_pid, struct rb_err *err)
{
    struct rb_run_lock lock;
    if (!rb_run_lock_look(journal, &lock, err))
        return false;
    *out_pid = lock.state != RB_RUN_LOCK_HELD ? 0 : lock.pid > 0 ? lock.pid : -1;
    return true;
}

void rb_run_say_what_helps(struct rb_err *err)
{
    const struct rb_err why = *err;
    if (rb_err_number(err) == RB_E_JOURNAL_DAMAGED)
        rb_err_set(
            err, RB_E_JOURNAL_DAMAGED,
            "%s; what the run launched may be there and billed: `rbrun gc --older-than 0s` finds it by its tag and "
            "ends it",
            why.message);
}
