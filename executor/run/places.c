// Where a plan rents and what it trains: facts of the plan and of this machine's disk. No provider is needed to know them.
#include "executor/run/checks.h"
#include "executor/run/infras.h"

#include "base/text/buf.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// --- infras

void rb_infra_without_zone(const char *infra, char out[static 64])
{
    snprintf(out, 64, "%s", infra);
    char *slash = strchr(out, '/');
    slash = slash ? strchr(slash + 1, '/') : NULL;
    if (slash)
        *slash = '\0';
}

int rb_run_infras(const struct rb_plan *plan, char out[][64], int max)
{
    int n = 0;
    for (int i = 0; i < plan->n_offers; i++) {
        char infra[64];
        rb_infra_without_zone(plan->offers[i].infra, infra);
        bool known = false;
        for (int k = 0; k < n; k++)
            known = known || strcmp(out[k], infra) == 0;
        if (!known && n < max)
            strcpy(out[n++], infra);
    }
    return n;
}

// --- directories

static void directory_of(const char *path, char out[static PATH_MAX])
{
    const char *slash = strrchr(path, '/');
    snprintf(out, PATH_MAX, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
    if (slash == path)
        strcpy(out, "/");
}

static void join(const char *directory, const char *path, struct rb_buf *out)
{
    rb_buf_clear(out);
    rb_buf_printf(out, "%s%s%s", path[0] == '/' ? "" : directory, path[0] == '/' ? "" : "/", path);
}

bool rb_run_places(const struct rb_plan *plan, const char *plan_path, char out_job[static PATH_MAX],
                   char out_workdir[static PATH_MAX], struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    char directory[PATH_MAX];
    directory_of(plan_path, directory);
    out_job[0] = '\0';
    if (plan->job_path[0]) {
        join(directory, plan->job_path, &path);
        if (!realpath(rb_buf_str(&path), out_job))
            out_job[0] = '\0';
        directory_of(rb_buf_str(&path), directory);
    }
    join(directory, plan->job->workdir, &path);
    if (!realpath(rb_buf_str(&path), out_workdir))
        return rb_err_set(err, RB_E_WORKDIR, "workdir %s: %s; the plan's job.path is relative to the plan",
                          rb_buf_str(&path), strerror(errno));
    return true;
}
