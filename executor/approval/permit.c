#include "executor/approval/permit.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/text/units.h"
#include "executor/approval/agreement.h"
#include "executor/approval/signature.h"
#include "executor/approval/spent.h"
#include "executor/launcher/bundle.h"
#include "executor/run/checks.h"
#include "executor/run/infras.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NOTE "approval"

static bool agrees(const struct rb_run_files *f, const char *plan_path, const char *path, const char *workdir,
                   const struct rb_approval *a, struct rb_err *err)
{
    const char *const but[] = {plan_path, path, f->root[0] ? f->root : NULL};
    char infra[RB_RUN_INFRAS][64], controller[sizeof a->controller], digest[65];
    const int n_infra = rb_run_infras(&f->plan, infra, RB_RUN_INFRAS);
    rb_run_owner(controller, sizeof controller);
    const struct rb_approval_facts facts = {
        .plan_sha256 = f->plan_sha256,
        .job_sha256 = f->plan.job_sha256,
        .workdir_sha256 = digest,
        .infra = (const char(*)[64])infra,
        .n_infra = n_infra,
        .controller = controller,
        .now_us = rb_clock_unix_us(),
    };
    return rb_workdir_digest(workdir, but, 3, digest, err) && rb_approval_agrees(a, &facts, err);
}

bool rb_permit_check(const struct rb_run_files *f, const char *plan_path, const char *path, struct rb_permit *out,
                     struct rb_err *err)
{
    char job_path[4096], workdir[4096];
    struct rb_permit permit = {.given = path != NULL};
    if (!path && f->plan.job->approval_required)
        return rb_err_set(
            err, RB_E_APPROVAL_REQUIRED,
            "the job says approval: required, so a person must approve this plan first: rbplan approve "
            "%.200s --max-cost USD --for 24h -o approval.json; then rbrun %.200s --approval approval.json",
            plan_path, plan_path);
    if (path && (!rb_approval_read(path, &permit.approval, err) || !rb_approval_verify(&permit.approval, err) ||
                 !rb_approval_is_unspent(permit.approval.nonce, err) ||
                 !rb_run_places(&f->plan, plan_path, job_path, workdir, err) ||
                 !agrees(f, plan_path, path, workdir, &permit.approval, err)))
        return false;
    *out = permit;
    return true;
}

// Packed first and compared then: what is changed from now on reaches no node.
bool rb_permit_keep(const struct rb_run_files *f, const char *plan_path, const char *path, struct rb_permit *permit,
                    struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf kept = RB_BUF_INIT, text = RB_BUF_INIT;
    char bundle[4400], digest[65];
    permit->run_id = f->run_id;
    if (!permit->given)
        return true;
    rb_buf_printf(&kept, "%s/approval.json", f->dir);
    rb_approval_write(&permit->approval, &text);
    return rb_bundle_make(f->dir, f->workdir, bundle, sizeof bundle, digest, err) &&
           agrees(f, plan_path, path, f->workdir, &permit->approval, err) &&
           rb_write_file(rb_buf_str(&kept), rb_buf_str(&text), text.len, err);
}

static bool has_note(struct rb_journal *journal, bool *out, struct rb_err *err)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_note *notes;
    int n;
    if (!rb_journal_notes(journal, &arena, &notes, &n, err))
        return false;
    *out = false;
    for (int i = 0; i < n; i++)
        *out = *out || strcmp(notes[i].kind, NOTE) == 0;
    return true;
}

bool rb_permit_of_run(const struct rb_run_files *f, struct rb_journal *journal, struct rb_permit *out,
                      struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf kept = RB_BUF_INIT;
    struct rb_permit permit = {.run_id = f->run_id};
    rb_buf_printf(&kept, "%s/approval.json", f->dir);
    permit.given = access(rb_buf_str(&kept), F_OK) == 0;
    if (permit.given &&
        (!rb_approval_read(rb_buf_str(&kept), &permit.approval, err) || !has_note(journal, &permit.spent, err)))
        return false;
    *out = permit;
    return true;
}

bool rb_permit_spend(struct rb_permit *permit, struct rb_journal *journal, int64_t now_us, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    char most[32];
    if (!permit->given || permit->spent)
        return true;
    rb_buf_printf(&text, "%s, nonce %s, at most %s", permit->approval.by, permit->approval.nonce,
                  rb_format_money(permit->approval.max_cost_uusd, most));
    permit->spent = rb_approval_spend(permit->approval.nonce, permit->run_id, err) &&
                    rb_journal_note(journal, now_us, NOTE, rb_buf_str(&text), err);
    return permit->spent;
}

int64_t rb_permit_most_uusd(const struct rb_permit *permit)
{
    return permit->given ? permit->approval.max_cost_uusd : -1;
}
