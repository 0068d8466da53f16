// The resolved job: every key is written, so that reading it back depends on no default. Absent optional keys
// are null.
#include "profiles/job/job.h"

#include "base/text/units.h"
#include "profiles/guess/guess.h"
#include "profiles/job/job_image.h"
#include "profiles/job/job_names.h"
#include "profiles/job/job_policy.h"
#include "profiles/job/job_resources.h"
#include "profiles/job/job_scheduler.h"
#include "profiles/job/job_notify.h"
#include "profiles/job/job_sinks.h"
#include "profiles/job/job_trial.h"

#include <stdio.h>

static void write_metric(const struct rb_job *job, struct rb_json *j)
{
    rb_json_kobject(j, "metric");
    rb_json_kstring(j, "name", job->metric_name);
    rb_json_kstring(j, "goal", rb_goal_names[job->goal]);
    rb_json_key(j, "target");
    if (job->has_target)
        rb_json_double(j, job->target);
    else
        rb_json_null(j);
    rb_report_form_write(&job->form, j);
    rb_json_end_object(j);
}

// Options of the policies that have some.
static void write_policy(const struct rb_job *job, struct rb_json *j)
{
    rb_json_kstring(j, "policy", job->policy);
    if (rb_policy_has_options(job->policy)) {
        rb_json_key(j, "policy_options");
        rb_policy_options_write(&job->policy_options, j);
    }
}

static void write_command(const struct rb_job *job, struct rb_json *j)
{
    rb_json_kobject(j, "envs");
    for (int i = 0; i < job->n_envs; i++)
        rb_json_kstring(j, job->envs[i].key, job->envs[i].value);
    rb_json_end_object(j);
    rb_json_kstrings(j, "secrets", job->secrets.items, job->secrets.n);
    rb_json_kstring(j, "setup", job->setup);
    rb_json_kstring(j, "run", job->run);
}

static const char *every_text(int64_t every_us, char out[static 32])
{
    if (every_us == RB_CHECKPOINT_EVERY_AUTO)
        return "auto";
    return every_us == 0 ? "none" : rb_format_duration_exact(every_us, out);
}

static void write_checkpoint(const struct rb_job *job, struct rb_json *j)
{
    char size[32];
    rb_json_kobject(j, "checkpoint");
    rb_json_kstring(j, "dir", job->checkpoint_dir);
    rb_json_kstring(j, "uri", job->checkpoint_uri);
    rb_json_kstring(j, "size", job->checkpoint_bytes ? rb_format_size_exact(job->checkpoint_bytes, size) : NULL);
    if (job->checkpoint_every_us != RB_CHECKPOINT_EVERY_UNSAID)
        rb_json_kstring(j, "every", every_text(job->checkpoint_every_us, size));
    if (job->in_place)
        rb_json_kbool(j, "in_place", true);
    if (job->checkpoint_files.n > 0)
        rb_json_kstrings(j, "files", job->checkpoint_files.items, job->checkpoint_files.n);
    if (job->starts_over)
        rb_json_kbool(j, "resume", false);
    rb_json_end_object(j);
}

static void write_data(const struct rb_job *job, struct rb_json *j)
{
    char size[32], price[32];
    rb_json_key(j, "data");
    if (job->data_bytes == 0 && !rb_job_has_data_dir(job) && !job->data_stays) {
        rb_json_null(j);
        return;
    }
    rb_json_begin_object(j);
    if (job->data_bytes > 0) {
        rb_json_kstring(j, "size", rb_format_size_exact(job->data_bytes, size));
        rb_json_kstring(j, "price_per_gb", rb_format_money_exact(job->data_uusd_per_gb, price));
    }
    if (job->data_bytes_per_s > 0) {
        char bandwidth[40];
        snprintf(bandwidth, sizeof bandwidth, "%s/s", rb_format_size_exact(job->data_bytes_per_s, size));
        rb_json_kstring(j, "bandwidth", bandwidth);
    }
    if (job->data_fetch)
        rb_json_kstring(j, "fetch", job->data_fetch);
    if (job->data_mount)
        rb_json_kstring(j, "mount", job->data_mount);
    if (job->data_stays)
        rb_json_kbool(j, "stay", true);
    rb_json_end_object(j);
}

// An instant is written as it was given, although the program has turned it into a duration.
static void write_deadline(const struct rb_job *job, struct rb_json *j)
{
    char text[32];
    const char *deadline = NULL;
    if (job->deadline_at_us >= 0)
        deadline = rb_format_instant(job->deadline_at_us, text);
    else if (job->deadline_us >= 0)
        deadline = rb_format_duration_exact(job->deadline_us, text);
    rb_json_kstring(j, "deadline", deadline);
}

static void write_constraints(const struct rb_job *job, struct rb_json *j)
{
    char budget[32];
    write_deadline(job, j);
    rb_json_kstring(j, "budget", job->budget_uusd >= 0 ? rb_format_money_exact(job->budget_uusd, budget) : NULL);
    if (job->on_average)
        rb_json_kstring(j, "confidence", "mean");
    else
        rb_json_kdouble(j, "confidence", job->confidence);
    rb_json_kstring(j, "objective", rb_objective_names[job->objective]);
    if (job->on_drift != RB_DRIFT_UNSET)
        rb_json_kstring(j, "on_drift", rb_drift_names[job->on_drift]);
    if (job->approval_required)
        rb_json_kstring(j, "approval", "required");
}

void rb_job_write(const struct rb_job *job, struct rb_json *j)
{
    rb_json_begin_object(j);
    rb_json_kint(j, "version", 1);
    rb_json_kstring(j, "name", job->name);
    rb_json_kstring(j, "workdir", job->workdir);
    rb_json_kint(j, "seed", (int64_t)job->seed);
    write_metric(job, j);
    rb_json_key(j, "parameters");
    rb_space_write(&job->space, j);
    rb_json_key(j, "scheduler");
    rb_scheduler_write(&job->scheduler, j);
    write_policy(job, j);
    rb_json_kstring(j, "profile", job->profile);
    rb_json_key(j, "trial");
    rb_trial_spec_write(&job->trial, j);
    write_command(job, j);
    write_checkpoint(job, j);
    write_data(job, j);
    rb_json_key(j, "resources");
    rb_resources_write(&job->resources, j);
    write_constraints(job, j);
    rb_job_image_write(job, j);
    if (job->guess) {
        rb_json_key(j, "guess");
        rb_guess_write(job->guess, j);
    }
    if (job->sinks.n > 0) { // left out where there are none: they change no plan, and older plans keep their digest
        rb_json_key(j, "sinks");
        rb_sinks_write(&job->sinks, j);
    }
    if (job->hooks.n > 0) { // likewise
        rb_json_key(j, "notify");
        rb_hooks_write(&job->hooks, j);
    }
    rb_json_end_object(j);
}
