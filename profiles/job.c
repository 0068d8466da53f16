// From a file to a job, and what of a valid job this version carries out.
#include "profiles/job.h"

#include "profiles/infra.h"

#include <string.h>

bool rb_job_load(const char *path, const char *const *overrides, int n_overrides, struct rb_arena *arena,
                 struct rb_job *out, struct rb_err *err)
{
    struct rb_doc doc = {0};
    if (!rb_doc_read(&doc, path, err))
        return false;
    const bool ok = rb_job_read(doc.root, overrides, n_overrides, arena, out, err);
    rb_doc_finish(&doc);
    return ok;
}

// ---- what is not carried out yet -----------------------------------------------------------------------------------

static bool is_one_of(const char *word, const char *const *names)
{
    for (; *names; names++)
        if (strcmp(word, *names) == 0)
            return true;
    return false;
}

static bool other_tuner(const struct rb_job *job)
{
    static const char *const carried_out[] = {"sha", "random", "grid", NULL};
    return !is_one_of(job->scheduler.type, carried_out);
}

static bool several_brackets(const struct rb_job *job)
{
    return job->scheduler.brackets > 1;
}

static bool other_policy(const struct rb_job *job)
{
    static const char *const carried_out[] = {"elastic", "static", NULL};
    return !is_one_of(job->policy, carried_out);
}

static bool shared_gpus(const struct rb_job *job)
{
    return job->trial.n_shares != 1 || job->trial.shares[0] != 1;
}

static bool tuned_batch(const struct rb_job *job)
{
    return job->trial.batch_size > 0;
}

static bool lists_infra(const struct rb_job *job, const char *provider)
{
    for (int i = 0; i < job->resources.infra.n; i++)
        if (rb_infra_within(job->resources.infra.items[i], provider))
            return true;
    return false;
}

static bool infra_gcp(const struct rb_job *job)
{
    return lists_infra(job, "gcp");
}

static bool infra_slurm(const struct rb_job *job)
{
    return lists_infra(job, "slurm");
}

static bool acts_on_drift(const struct rb_job *job)
{
    return job->on_drift != RB_DRIFT_WARN;
}

// A row goes when its feature comes.
static const struct {
    const char *key;
    bool (*asked)(const struct rb_job *job);
    const char *instead;
} unsupported[] = {
    {"scheduler.type", other_tuner, "this tuner; use sha, random or grid"},
    {"scheduler.brackets", several_brackets, "several brackets; use 1"},
    {"policy", other_policy, "this policy; use elastic or static"},
    {"trial.gpus.share", shared_gpus, "trials that share a GPU; leave share out"},
    {"trial.batch", tuned_batch, "tuning the batch size; leave batch out"},
    {"resources.infra", infra_gcp, "gcp; use aws, mock or local"},
    {"resources.infra", infra_slurm, "slurm; use aws, mock or local"},
    {"on_drift", acts_on_drift, "acting on drift; use warn"},
};

bool rb_job_check_supported(const struct rb_job *job, struct rb_err *err)
{
    for (size_t i = 0; i < sizeof unsupported / sizeof unsupported[0]; i++)
        if (unsupported[i].asked(job))
            return rb_err_set_at(err, RB_ERR_INVALID, (struct rb_place){0}, unsupported[i].key,
                                 "not supported yet: %s", unsupported[i].instead);
    return true;
}
