#include "executor/approval/agreement.h"

#include "base/arena.h"
#include "base/text/units.h"
#include "executor/journal/run_dir.h"
#include "providers/wire/child.h"
#include "providers/wire/digest.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    MOST_BUT = 8,
    WORKDIR_BYTES = 1 << 30, // as much as nodes are sent (executor/launcher/bundle.c)
    SKEW_S = 60,             // by which the clock of the person's machine may be ahead of this one
};

// --- what it must agree with

static bool agrees_in_place(const struct rb_approval *a, const struct rb_approval_facts *f, struct rb_err *err)
{
    if (strcmp(a->controller, f->controller) != 0)
        return rb_err_set(err, RB_E_APPROVAL_PLACE, "the approval is for %s, and this is %s; approve again for here",
                          a->controller, f->controller);
    for (int i = 0; i < f->n_infra; i++) {
        bool listed = false;
        for (int k = 0; k < a->n_infra; k++)
            listed = listed || strcmp(a->infra[k], f->infra[i]) == 0;
        if (!listed)
            return rb_err_set(err, RB_E_APPROVAL_PLACE,
                              "the approval does not name %s, where the plan rents; approve "
                              "the plan again",
                              f->infra[i]);
    }
    return true;
}

static bool agrees_in_time(const struct rb_approval *a, const struct rb_approval_facts *f, struct rb_err *err)
{
    char at[32], now[32];
    rb_format_instant(f->now_us / RB_US_PER_S * RB_US_PER_S, now);
    if (f->now_us > a->not_after_us)
        return rb_err_set(err, RB_E_APPROVAL_TIME, "the approval ended at %s, and it is %s; approve the plan again",
                          rb_format_instant(a->not_after_us, at), now);
    if (f->now_us < a->not_before_us - SKEW_S * RB_US_PER_S)
        return rb_err_set(
            err, RB_E_APPROVAL_TIME,
            "the approval begins at %s, and this machine's clock says %s; set the clock right, or approve "
            "again",
            rb_format_instant(a->not_before_us, at), now);
    return true;
}

bool rb_approval_agrees(const struct rb_approval *a, const struct rb_approval_facts *f, struct rb_err *err)
{
    if (strcmp(a->plan_sha256, f->plan_sha256) != 0)
        return rb_err_set(err, RB_E_APPROVAL_PLAN,
                          "the approval is for the plan %.12s..., and this is %.12s...; approve this plan",
                          a->plan_sha256, f->plan_sha256);
    if (strcmp(a->job_sha256, f->job_sha256) != 0)
        return rb_err_set(err, RB_E_APPROVAL_JOB,
                          "the approval is for the job %.12s..., and the plan has the job %.12s...; "
                          "approve the plan again",
                          a->job_sha256, f->job_sha256);
    if (f->workdir_sha256 && strcmp(a->workdir_sha256, f->workdir_sha256) != 0)
        return rb_err_set(err, RB_E_APPROVAL_WORKDIR,
                          "a file of the work directory has changed, come or gone since the plan was approved; approve "
                          "it again, and list in .rbignore what nodes do not need");
    return agrees_in_place(a, f, err) && agrees_in_time(a, f, err);
}

// --- the digest of a work directory

// "./a/b.json" where path lies in the directory; false: it does not, or its folder does not exist.
static bool name_within(const char *dir, const char *path, struct rb_buf *out)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    RB_AUTO(rb_buf_finish) struct rb_buf parent = RB_BUF_INIT;
    rb_buf_append(&parent, slash ? path : ".", slash ? (size_t)(slash - path) : 1);
    const size_t n = strlen(dir);
    if (!realpath(parent.len ? rb_buf_str(&parent) : "/", folder) || strncmp(folder, dir, n) != 0 ||
        (folder[n] != '/' && folder[n] != '\0'))
        return false;
    rb_buf_printf(out, "--exclude=.%s/%s", folder + n, slash ? slash + 1 : path);
    return true;
}

// Runs that are kept inside the work directory are no part of it. Nodes do not get them either.
static bool name_state(const char *dir, struct rb_buf *out)
{
    char root[PATH_MAX];
    if (!rb_run_dir_root(NULL, root, sizeof root, NULL))
        return false;
    char *runs = strrchr(root, '/');
    *runs = '\0';
    return name_within(dir, root, out);
}

bool rb_workdir_digest(const char *workdir, const char *const *but, int n_but, char out_hex[65], struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf tar = RB_BUF_INIT, ignore = RB_BUF_INIT;
    struct rb_buf names[MOST_BUT + 1] = {0};
    char dir[PATH_MAX];
    const char *argv[24 + MOST_BUT] = {"tar",          "--sort=name", "--owner=0",    "--group=0", "--numeric-owner",
                                       "--format=gnu", "--mtime=@0",  "--exclude-vcs"};
    int n = 8;
    if (!realpath(workdir, dir))
        return rb_err_set(err, RB_E_WORKDIR, "workdir %s cannot be read", workdir);
    rb_buf_printf(&ignore, "--exclude-from=%s/.rbignore", dir);
    if (access(rb_buf_str(&ignore) + strlen("--exclude-from="), R_OK) == 0)
        argv[n++] = rb_buf_str(&ignore);
    argv[n++] = "--anchored"; // of what follows: these names, letter by letter
    argv[n++] = "--no-wildcards";
    for (int i = 0; i < n_but && i < MOST_BUT; i++)
        if (but[i] && name_within(dir, but[i], &names[i]))
            argv[n++] = rb_buf_str(&names[i]);
    if (name_state(dir, &names[MOST_BUT]))
        argv[n++] = rb_buf_str(&names[MOST_BUT]);
    const char *const rest[] = {"-cf", "-", "-C", dir, "."};
    memcpy(argv + n, rest, sizeof rest);
    const struct rb_child_options options = {.out = &tar, .max_output_bytes = WORKDIR_BYTES};
    const bool ok = rb_child_run(argv, &options, err);
    if (ok)
        rb_digest_sha256(rb_buf_str(&tar), tar.len, out_hex);
    for (int i = 0; i <= MOST_BUT; i++)
        rb_buf_finish(&names[i]);
    return ok || rb_err_prefix(err, "%s cannot be digested", workdir);
}
