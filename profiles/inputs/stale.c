// Detects a profile of something else: its measured script or machine is not the one that the job would use now. The
// measured one is stored as digests (profiles/store/measured.h); a profile written by hand has none.
#include "profiles/inputs/plan_inputs.h"

#include "base/text/buf.h"
#include "base/errors/log.h"
#include "profiles/store/measured.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

void rb_inputs_workdir(const struct rb_job *job, const char *job_path, struct rb_buf *out)
{
    const char *slash = job_path ? strrchr(job_path, '/') : NULL, *dir = job->workdir ? job->workdir : ".";
    if (dir[0] != '/' && slash)
        rb_buf_printf(out, "%.*s/", (int)(slash - job_path), job_path);
    rb_buf_puts(out, dir);
}

void rb_plan_inputs_warn_stale(struct rb_plan_inputs *in, rb_digest_fn *digest)
{
    char workdir[PATH_MAX];
    const char *changes[RB_MEASURED_FILES + 2];
    struct rb_measured_of now;
    RB_AUTO(rb_buf_finish) struct rb_buf list = RB_BUF_INIT, path = RB_BUF_INIT;
    if (!in->profile.has_measured)
        return;
    rb_inputs_workdir(&in->job, in->job_path, &path);
    rb_measured_of_job(&in->job, realpath(rb_buf_str(&path), workdir), digest, &in->arena, &now);
    const int n = rb_measured_changes(&in->profile.measured.of, &now, changes);
    for (int i = 0; i < n; i++)
        rb_buf_printf(&list, "%s%s", i == 0 ? "" : i + 1 < n ? ", " : " and ", changes[i]);
    if (n > 0)
        rb_warn("%s %s changed since profile \"%s\" was measured: its times may not be this job's; measure again with "
                "`rbprofile train --fresh %s`",
                rb_buf_str(&list), n > 1 || strcmp(changes[0], "parameters") == 0 ? "have" : "has", in->profile.name,
                in->job_path);
}
