// From a file to a job, and which parts of a valid job this version supports.
#include "profiles/job/job.h"

#include "base/text/closest.h"
#include "base/text/units.h"
#include "profiles/catalog/infra.h"
#include "profiles/catalog/reservation.h"
#include "profiles/job/job_names.h"
#include "profiles/job/job_policy.h"
#include "profiles/job/job_scheduler.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool is_script(const char *path)
{
    static const char *const endings[] = {".py", ".sh", ".ipynb", NULL};
    for (const char *const *e = endings; *e; e++)
        if (rb_has_ending(path, *e))
            return true;
    return false;
}

bool rb_job_load(const char *path, const char *const *overrides, int n_overrides, struct rb_arena *arena,
                 struct rb_job *out, struct rb_err *err)
{
    struct rb_doc doc = {0};
    if (is_script(path))
        return rb_err_set(
            err, RB_E_SCRIPT_FOR_JOB,
            "%.200s is a script, not a job: draft one with `rbplan init %.200s -o job.yaml`, then name that", path,
            path);
    if (!rb_doc_read(&doc, path, err))
        return false;
    const bool ok = rb_job_read(doc.root, overrides, n_overrides, arena, out, err);
    rb_doc_finish(&doc);
    return ok;
}

bool rb_job_settle_deadline(struct rb_job *job, int64_t now_us, struct rb_err *err)
{
    if (job->deadline_at_us < 0)
        return true;
    if (job->deadline_at_us <= now_us) {
        char text[32];
        return rb_err_set_at(err, RB_E_DEADLINE_PAST, (struct rb_place){0}, "deadline", "%s is past: give a later one",
                             rb_format_instant(job->deadline_at_us, text));
    }
    job->deadline_us = job->deadline_at_us - now_us;
    return true;
}

void rb_job_settle_reservations(struct rb_job *job, int64_t now_us)
{
    for (int i = 0; i < job->resources.n_reservations; i++)
        rb_reservation_settle(&job->resources.reservations[i], now_us);
}

// --- not supported yet ---

// Each describes a requested feature that is not supported, or returns NULL.

static const char *several_brackets(const struct rb_job *job)
{
    return job->scheduler.brackets > 1 && !rb_scheduler_kind(job->scheduler.type)->has_brackets
               ? "more than one bracket"
               : NULL;
}

static const char *other_policy(const struct rb_job *job)
{
    static const char *const carried_out[] = {"elastic", "static", "hypersched", "lookahead", "fluid", "packing", NULL};
    return rb_is_one_of(job->policy, carried_out) ? NULL : job->policy;
}

// Such policies admit trials one by one.
static const char *rungs_under_a_policy_that_admits(const struct rb_job *job)
{
    return rb_policy_has_options(job->policy) && !rb_scheduler_kind(job->scheduler.type)->admits_one_by_one
               ? job->policy
               : NULL;
}

static const char *shared_gpus(const struct rb_job *job)
{
    static const char *const packs[] = {"fluid", "packing", NULL};
    const bool shares = job->trial.n_shares != 1 || job->trial.shares[0] != 1;
    return shares && !rb_is_one_of(job->policy, packs) ? "trials that share a GPU" : NULL;
}

static bool asks_slurm(const struct rb_job *job)
{
    for (int i = 0; i < job->resources.infra.n; i++)
        if (rb_infra_within(job->resources.infra.items[i], "slurm"))
            return true;
    return false;
}

// Policies that divide the pool among the trials of an asynchronous search work towards their deadline by themselves.
static const char *acts_on_drift_by_itself(const struct rb_job *job)
{
    const struct rb_scheduler_kind *kind = rb_scheduler_kind(job->scheduler.type);
    const bool acts = job->on_drift == RB_DRIFT_REPLAN || job->on_drift == RB_DRIFT_STOP;
    const bool overlaps = kind->shares_levels || kind->is_population;
    return acts && overlaps && strcmp(job->policy, "elastic") != 0 ? rb_drift_names[job->on_drift] : NULL;
}

// Other policies do not follow the nodes and GPUs of a plan's stages.
static const char *replans_under_a_policy(const struct rb_job *job)
{
    return job->on_drift == RB_DRIFT_REPLAN && strcmp(job->policy, "elastic") != 0 ? "replan" : NULL;
}

// A row goes, or its list grows, when its feature is added.
static const struct {
    const char *key;
    const char *(*asked)(const struct rb_job *job);
    const char *instead;
} unsupported[] = {
    {"scheduler.brackets", several_brackets, "use scheduler.type: hyperband"},
    {"policy", other_policy, "use elastic, static, hypersched, lookahead, fluid or packing"},
    {"policy", rungs_under_a_policy_that_admits, "it goes with an asynchronous scheduler (asha, pasha, median, freeze_thaw); use one, or policy: elastic"},
    {"trial.gpus.share", shared_gpus, "policies fluid and packing share GPUs: use one of them, or leave share out"},
    {"on_drift", acts_on_drift_by_itself, "with this scheduler it goes with policy: elastic; use that, or warn"},
    {"on_drift", replans_under_a_policy, "it goes with policy: elastic; use warn or stop"},
};

bool rb_job_check_supported(const struct rb_job *job, struct rb_err *err)
{
    for (size_t i = 0; i < sizeof unsupported / sizeof unsupported[0]; i++) {
        const char *what = unsupported[i].asked(job);
        if (what)
            return rb_err_set_at(err, RB_E_NOT_SUPPORTED, (struct rb_place){0}, unsupported[i].key,
                                 "not supported yet: %s; %s", what, unsupported[i].instead);
    }
    if (asks_slurm(job) && !job->resources.slurm.shared_dir)
        return rb_err_set_at(err, RB_E_SHARED_DIRECTORY, (struct rb_place){0}, "resources.slurm.shared_dir",
                             "expected a directory on a filesystem that this machine shares with the nodes: "
                             "resources.infra names slurm, whose nodes are reached through it");
    return true;
}

int64_t rb_job_data_us(const struct rb_job *job)
{
    if (job->data_bytes == 0 || job->data_bytes_per_s == 0)
        return 0;
    return (int64_t)ceil((double)job->data_bytes * (double)RB_US_PER_S / (double)job->data_bytes_per_s);
}

bool rb_job_has_data_dir(const struct rb_job *job)
{
    return job->data_fetch || job->data_mount;
}
