// The reader of job.yaml: every key, its default, its range. Sections with a grammar of their own are read by
// space_codec.c (parameters), job_scheduler.c (scheduler), job_policy.c (policy, policy_options), job_trial.c (trial) and
// job_resources.c (resources). Source: docs/formats/job.md, which lists the same keys.
#include "profiles/job/job.h"

#include "base/limits.h"
#include "base/text/units.h"
#include "profiles/guess/guess.h"
#include "profiles/job/job_image.h"
#include "profiles/job/job_names.h"
#include "profiles/job/job_overrides.h"
#include "profiles/job/job_policy.h"
#include "profiles/job/job_resources.h"
#include "profiles/job/job_scheduler.h"
#include "profiles/job/job_notify.h"
#include "profiles/job/job_sinks.h"
#include "profiles/job/job_trial.h"
#include "profiles/job/keys.h"

#include <ctype.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_CONFIDENCE 0.95

#define MAX_SEED     (INT64_C(1) << 53) // kept by every reader of JSON
#define MAX_NAME_LEN 40                 // goes into tags and host names

// --- identity ---

static bool read_name(struct rb_map *m, struct rb_arena *arena, const char **out, struct rb_err *err)
{
    const struct rb_node *node;
    const char *name;
    if (!rb_map_need(m, "name", &node, err) || !rb_node_string(node, &name, err))
        return false;
    const size_t n = strlen(name);
    if (n < 1 || n > MAX_NAME_LEN || strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != n)
        return rb_node_refuse(node, err, RB_E_TEXT_FORM, "expected 1..%d characters of a-z, 0-9 and -, got \"%.60s\"",
                              MAX_NAME_LEN, name);
    *out = rb_arena_strdup(arena, name);
    return true;
}

static bool read_identity(struct rb_map *m, struct rb_arena *arena, struct rb_job *job, struct rb_err *err)
{
    int64_t version, seed;
    if (!rb_keys_int(m, "version", 1, 1, 1, &version, err) || !read_name(m, arena, &job->name, err) ||
        !rb_keys_text(m, "workdir", ".", arena, &job->workdir, err) ||
        !rb_keys_int(m, "seed", 0, MAX_SEED, 42, &seed, err) ||
        !rb_keys_text(m, "profile", job->name, arena, &job->profile, err))
        return false;
    job->seed = (uint64_t)seed;
    return true;
}

// Trials report it as a word of a line, name=value.
static bool is_metric_name(const char *s)
{
    return s[strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./@:-")] == '\0';
}

static bool read_metric(const struct rb_node *node, struct rb_arena *arena, struct rb_job *job, struct rb_err *err)
{
    static const char *const keys[] = {"name", "goal", "target", "format", "file", "base", "pattern", NULL};
    struct rb_map m;
    const struct rb_node *goal;
    int choice;
    if (!rb_keys_begin(&m, node, keys, err) || !rb_keys_need_text(&m, "name", arena, &job->metric_name, err) ||
        !rb_map_need(&m, "goal", &goal, err) ||
        !rb_node_choice(goal, rb_goal_names, rb_names_count(rb_goal_names), &choice, err))
        return false;
    if (!is_metric_name(job->metric_name))
        return rb_node_refuse(
            rb_map_get(&m, "name"), err, RB_E_TEXT_FORM,
            "expected a name of letters, digits and _ . / @ : -, as trials print name=value, got \"%.60s\"",
            job->metric_name);
    const struct rb_node *target = rb_keys_given(&m, "target");
    job->goal = (enum rb_goal)choice;
    job->has_target = target != NULL;
    return (!target || rb_node_double(target, -DBL_MAX, DBL_MAX, &job->target, err)) &&
           rb_report_form_read(&m, arena, &job->form, err);
}

// --- environment and command ---

static bool check_env_name(const struct rb_node *node, const char *name, struct rb_err *err)
{
    const char *p = name;
    while (isalnum((unsigned char)*p) || *p == '_')
        p++;
    if (!*name || *p || isdigit((unsigned char)*name))
        return rb_node_refuse(node, err, RB_E_JOB_ENVIRONMENT,
                              "expected a variable name of letters, digits and _, got \"%.60s\"", name);
    if (strncmp(name, "RB_", 3) == 0)
        return rb_node_refuse(node, err, RB_E_JOB_ENVIRONMENT,
                              "names that begin with RB_ are set by this program; choose another");
    return true;
}

static bool read_env_value(const struct rb_node *node, struct rb_arena *arena, const char **out, struct rb_err *err)
{
    if (node->kind == RB_NODE_NULL || node->kind == RB_NODE_LIST || node->kind == RB_NODE_MAP)
        return rb_node_refuse(node, err, RB_E_TYPE_WRONG, "expected text; for an empty value write \"\"");
    *out = rb_arena_strdup(arena, node->text); // numbers as they were written
    return true;
}

static bool read_envs(const struct rb_node *node, struct rb_arena *arena, struct rb_job *job, struct rb_err *err)
{
    struct rb_map m;
    if (!node)
        return true;
    if (!rb_map_begin(&m, node, err))
        return false;
    struct rb_key_value *envs = rb_arena_array(arena, (size_t)node->n_children, sizeof *envs);
    int n = 0;
    for (const struct rb_node *child = node->first; child; child = child->next, n++) {
        if (!check_env_name(child, child->key, err) || !read_env_value(child, arena, &envs[n].value, err))
            return false;
        envs[n].key = rb_arena_strdup(arena, child->key);
    }
    job->envs = envs;
    job->n_envs = n;
    return true;
}

static bool read_secrets(const struct rb_node *node, struct rb_arena *arena, struct rb_job *job, struct rb_err *err)
{
    if (!node)
        return true;
    if (!rb_read_texts(node, arena, &job->secrets, err))
        return false;
    const struct rb_node *item = node->kind == RB_NODE_LIST ? node->first : node;
    for (int i = 0; i < job->secrets.n; i++, item = item->next) {
        if (!check_env_name(item, item->text, err))
            return false;
        for (int k = 0; k < job->n_envs; k++)
            if (strcmp(job->envs[k].key, item->text) == 0)
                return rb_node_refuse(item, err, RB_E_JOB_ENVIRONMENT,
                                      "%s is also in envs; a secret's value comes from the environment", item->text);
    }
    return true;
}

static bool read_command(struct rb_map *m, struct rb_arena *arena, struct rb_job *job, struct rb_err *err)
{
    return read_envs(rb_keys_given(m, "envs"), arena, job, err) &&
           read_secrets(rb_keys_given(m, "secrets"), arena, job, err) &&
           rb_keys_text(m, "setup", NULL, arena, &job->setup, err) &&
           rb_keys_need_text(m, "run", arena, &job->run, err);
}

// --- checkpoint and data ---

static bool leaves_its_directory(const char *path)
{
    const size_t n = strlen(path);
    return path[0] == '/' || strcmp(path, "..") == 0 || strncmp(path, "../", 3) == 0 || strstr(path, "/../") ||
           (n >= 3 && strcmp(path + n - 3, "/..") == 0);
}

// The text appears on command lines on nodes: only characters that object stores allow in names without quoting.
static bool is_object_uri(const char *s)
{
    if (strncmp(s, "s3://", 5) != 0 && strncmp(s, "gs://", 5) != 0)
        return false;
    s += 5;
    return isalnum((unsigned char)*s) &&
           s[strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._/=-")] == '\0';
}

static bool check_glob(const struct rb_node *node, const char *glob, struct rb_err *err)
{
    return (!leaves_its_directory(glob) && glob[strcspn(glob, "\n\\")] == '\0') ||
           rb_node_refuse(node, err, RB_E_CHECKPOINT_FILES,
                          "expected the name of a file in the checkpoint folder, in which * is any text within a name "
                          "and ** any folders, got \"%.60s\"",
                          glob);
}

static bool read_files(const struct rb_node *node, struct rb_arena *arena, struct rb_string_list *out,
                       struct rb_err *err)
{
    if (!node)
        return true;
    if (!rb_read_texts(node, arena, out, err))
        return false;
    const struct rb_node *item = node->kind == RB_NODE_LIST ? node->first : node;
    for (int i = 0; i < out->n; i++, item = item->next)
        if (!check_glob(item, out->items[i], err))
            return false;
    if (out->n == 1 && strcmp(out->items[0], "**") == 0)
        out->n = 0; // all of it
    return true;
}

// What becomes of the folder between two starts.
static bool read_keeping(struct rb_map *m, struct rb_arena *arena, struct rb_job *job, struct rb_err *err)
{
    const struct rb_node *in_place = rb_keys_given(m, "in_place"), *resume = rb_keys_given(m, "resume");
    bool resumes = true;
    if ((in_place && !rb_node_bool(in_place, &job->in_place, err)) || (resume && !rb_node_bool(resume, &resumes, err)))
        return false;
    job->starts_over = !resumes;
    return read_files(rb_keys_given(m, "files"), arena, &job->checkpoint_files, err);
}

// none: 0.
static bool read_every(struct rb_map *m, struct rb_job *job, struct rb_err *err)
{
    const struct rb_node *node = rb_keys_given(m, "every");
    const bool word = node && node->kind == RB_NODE_STRING;
    job->checkpoint_every_us = node ? RB_CHECKPOINT_EVERY_AUTO : RB_CHECKPOINT_EVERY_UNSAID;
    if (word && strcmp(node->text, "none") == 0)
        job->checkpoint_every_us = 0;
    if (!node || (word && (strcmp(node->text, "none") == 0 || strcmp(node->text, "auto") == 0)))
        return true;
    return rb_keys_duration(m, "every", 0, &job->checkpoint_every_us, err);
}

static bool read_checkpoint(const struct rb_node *node, struct rb_arena *arena, struct rb_job *job, struct rb_err *err)
{
    static const char *const keys[] = {"dir", "uri", "size", "every", "in_place", "files", "resume", NULL};
    const struct rb_node empty = {.kind = RB_NODE_MAP};
    struct rb_map m;
    if (!rb_keys_begin(&m, node ? node : &empty, keys, err) ||
        !rb_keys_text(&m, "dir", "ckpt", arena, &job->checkpoint_dir, err) ||
        !rb_keys_text(&m, "uri", NULL, arena, &job->checkpoint_uri, err) ||
        !rb_keys_size(&m, "size", 0, &job->checkpoint_bytes, err) || !read_every(&m, job, err) ||
        !read_keeping(&m, arena, job, err))
        return false;
    if (leaves_its_directory(job->checkpoint_dir))
        return rb_node_refuse(rb_map_get(&m, "dir"), err, RB_E_TEXT_FORM,
                              "expected a path inside the trial's directory, got \"%.60s\"", job->checkpoint_dir);
    if (job->checkpoint_uri && !is_object_uri(job->checkpoint_uri))
        return rb_node_refuse(rb_map_get(&m, "uri"), err, RB_E_TEXT_FORM,
                              "expected s3://bucket/prefix or gs://bucket/prefix of letters, digits and . _ - = /, got "
                              "\"%.60s\"",
                              job->checkpoint_uri);
    return true;
}

// "1GB/s": a size a second.
static bool read_bandwidth(const struct rb_node *node, struct rb_job *job, struct rb_err *err)
{
    char size[64];
    const size_t n = node && node->kind == RB_NODE_STRING ? node->text_len : 0;
    if (!node)
        return true;
    if (n < 3 || n >= sizeof size || strcmp(node->text + n - 2, "/s") != 0)
        return rb_node_refuse(node, err, RB_E_OUT_OF_RANGE, "expected a size a second, such as 1GB/s or 200MB/s");
    memcpy(size, node->text, n - 2);
    size[n - 2] = '\0';
    struct rb_err why;
    if (!rb_parse_size(size, &job->data_bytes_per_s, &why) || job->data_bytes_per_s <= 0)
        return rb_node_refuse(node, err, RB_E_OUT_OF_RANGE, "expected a size a second, such as 1GB/s or 200MB/s");
    return job->data_bytes / job->data_bytes_per_s <= RB_LIMIT_DURATION_S ||
           rb_node_refuse(node, err, RB_E_OUT_OF_RANGE,
                          "a new node would read data.size for more than a year: check both");
}

// Where the data is on a node: a path, no pattern.
static bool read_mount(struct rb_map *m, struct rb_arena *arena, struct rb_job *job, struct rb_err *err)
{
    if (!rb_keys_text(m, "mount", NULL, arena, &job->data_mount, err))
        return false;
    return !job->data_mount || job->data_mount[0] == '/' ||
           rb_node_refuse(rb_map_get(m, "mount"), err, RB_E_TEXT_FORM,
                          "expected an absolute path, such as /mnt/data, got \"%.60s\"", job->data_mount);
}

static bool read_stay(struct rb_map *m, struct rb_job *job, struct rb_err *err)
{
    const struct rb_node *node = rb_keys_given(m, "stay");
    return !node || rb_node_bool(node, &job->data_stays, err);
}

// Only a job that says no more of its data than where it is or that it stays needs no size.
static bool needs_size(struct rb_map *m)
{
    const bool is_placed = rb_keys_given(m, "mount") || rb_keys_given(m, "stay");
    return !is_placed || rb_keys_given(m, "fetch") || rb_keys_given(m, "price_per_gb") || rb_keys_given(m, "bandwidth");
}

static bool read_data(const struct rb_node *node, struct rb_arena *arena, struct rb_job *job, struct rb_err *err)
{
    static const char *const keys[] = {"size", "price_per_gb", "bandwidth", "fetch", "mount", "stay", NULL};
    struct rb_map m;
    const struct rb_node *size;
    if (!node)
        return true;
    return rb_keys_begin(&m, node, keys, err) && (!needs_size(&m) || rb_map_need(&m, "size", &size, err)) &&
           rb_keys_size(&m, "size", 0, &job->data_bytes, err) &&
           rb_keys_money(&m, "price_per_gb", 0, &job->data_uusd_per_gb, err) &&
           read_bandwidth(rb_keys_given(&m, "bandwidth"), job, err) &&
           rb_keys_text(&m, "fetch", NULL, arena, &job->data_fetch, err) && read_mount(&m, arena, job, err) &&
           read_stay(&m, job, err);
}

// --- constraints ---

// An instant begins with its year, a duration never does: "2026-08-01T12:00:00Z", "2h".
static bool looks_like_instant(const char *s)
{
    return strspn(s, "0123456789") == 4 && s[4] == '-';
}

static bool read_deadline(struct rb_map *m, struct rb_job *job, struct rb_err *err)
{
    const struct rb_node *node = rb_keys_given(m, "deadline");
    job->deadline_us = job->deadline_at_us = -1;
    if (!node || node->kind != RB_NODE_STRING || !looks_like_instant(node->text))
        return rb_keys_duration(m, "deadline", -1, &job->deadline_us, err);
    struct rb_err why;
    return rb_parse_instant(node->text, &job->deadline_at_us, &why) ||
           rb_node_refuse(node, err, rb_err_number(&why), "%s", why.message);
}

// A probability, or the word `mean`.
static bool read_confidence(struct rb_map *m, struct rb_job *job, struct rb_err *err)
{
    const struct rb_node *node = rb_map_get(m, "confidence");
    const bool word = node && node->kind == RB_NODE_STRING;
    double confidence = DEFAULT_CONFIDENCE;
    if (word && strcmp(node->text, "mean") != 0)
        return rb_node_refuse(node, err, RB_E_CONFIDENCE,
                              "expected a probability above 0 and below 1, or mean, got \"%s\"", node->text);
    if (!word && !rb_keys_double(m, "confidence", -DBL_MAX, DBL_MAX, DEFAULT_CONFIDENCE, &confidence, err))
        return false;
    if (!(confidence > 0 && confidence < 1))
        return rb_node_refuse(node, err, RB_E_CONFIDENCE, "expected a probability above 0 and below 1, or mean, got %g",
                              confidence);
    job->confidence = confidence;
    job->on_average = word;
    return true;
}

static bool read_constraints(struct rb_map *m, struct rb_job *job, struct rb_err *err)
{
    static const char *const approvals[] = {"none", "required", NULL};
    int objective, on_drift, approval;
    if (!read_deadline(m, job, err) || !rb_keys_money(m, "budget", -1, &job->budget_uusd, err) ||
        !read_confidence(m, job, err) ||
        !rb_keys_choice(m, "objective", rb_objective_names, rb_names_count(rb_objective_names), RB_OBJECTIVE_MIN_COST,
                        &objective, err) ||
        !rb_keys_choice(m, "on_drift", rb_drift_names, rb_names_count(rb_drift_names), RB_DRIFT_UNSET, &on_drift, err) ||
        !rb_keys_choice(m, "approval", approvals, 2, 0, &approval, err))
        return false;
    job->objective = (enum rb_objective)objective;
    job->on_drift = (enum rb_drift)on_drift;
    job->approval_required = approval == 1;
    return true;
}

// Where no profile was measured yet.
static bool read_guess(const struct rb_node *node, struct rb_arena *arena, struct rb_job *job, struct rb_err *err)
{
    if (!node)
        return true;
    struct rb_guess *guess = rb_arena_alloc(arena, sizeof *guess);
    job->guess = guess;
    return rb_guess_read(node, arena, guess, err);
}

// --- the whole ---

static const char *const job_keys[] = {
    "version",   "name",           "workdir", "seed",      "metric",   "parameters", "scheduler",
    "policy",    "policy_options", "profile", "trial",     "envs",     "secrets",    "setup",
    "run",       "checkpoint",     "data",    "resources", "deadline", "budget",     "confidence",
    "objective", "on_drift",       "guess",   "sinks",     "notify",   "approval",
    "image",     "image_credentials", NULL};

// Every other document here begins with its format; a job does not. NULL: no such text.
static const char *format_of(const struct rb_node *root)
{
    for (const struct rb_node *child = root->kind == RB_NODE_MAP ? root->first : NULL; child; child = child->next) {
        if (strcmp(child->key, "format") == 0 && child->kind == RB_NODE_STRING && strncmp(child->text, "rb-", 3) == 0)
            return child->text;
    }
    return NULL;
}

// Machines with GPUs, or with no main memory known to Slurm or Kubernetes, are not for a job that asks for CPUs.
static bool check_cpus(struct rb_map *m, struct rb_job *job, struct rb_err *err)
{
    const struct rb_trial_spec *t = &job->trial;
    if (t->cpus == 0)
        return true;
    if (job->resources.accelerators.n > 0)
        return rb_node_refuse(rb_node_member(rb_map_get(m, "resources"), "accelerators"), err, RB_E_TRIAL_CPUS,
                              "trial.cpus asks for machines without GPUs: remove resources.accelerators");
    job->resources.slurm.memory_per_cpu_bytes = job->resources.kubernetes.memory_per_cpu_bytes =
        (t->memory_bytes + t->cpus - 1) / t->cpus;
    return true;
}

static bool read_job(const struct rb_node *root, struct rb_arena *arena, struct rb_job *job, struct rb_err *err)
{
    struct rb_map m;
    const struct rb_node *metric, *scheduler;
    const char *format = format_of(root);
    if (format)
        return rb_node_refuse(root, err, RB_E_FORMAT_WRONG, "expected a job, got a document of format %s", format);
    if (!rb_keys_begin(&m, root, job_keys, err) || !read_identity(&m, arena, job, err) ||
        !rb_map_need(&m, "metric", &metric, err) || !read_metric(metric, arena, job, err))
        return false;
    const struct rb_node *parameters = rb_keys_given(&m, "parameters");
    return (!parameters || rb_space_read(parameters, arena, &job->space, err)) &&
           rb_policy_read(rb_map_get(&m, "policy"), &job->policy, err) &&
           rb_policy_options_read(rb_keys_given(&m, "policy_options"), job->policy, &job->policy_options, err) &&
           rb_map_need(&m, "scheduler", &scheduler, err) &&
           rb_scheduler_read(scheduler, rb_policy_rule(job->policy, &job->policy_options), arena, &job->scheduler,
                             err) &&
           rb_trial_spec_read(rb_keys_given(&m, "trial"), &job->space, arena, &job->trial, err) &&
           read_command(&m, arena, job, err) && read_checkpoint(rb_keys_given(&m, "checkpoint"), arena, job, err) &&
           rb_trial_args_check(job, rb_node_member(rb_map_get(&m, "trial"), "args"), err) &&
           read_data(rb_keys_given(&m, "data"), arena, job, err) &&
           rb_resources_read(rb_keys_given(&m, "resources"), arena, &job->resources, err) && check_cpus(&m, job, err) &&
           rb_job_image_read(&m, arena, job, err) && rb_job_image_check(&m, job, err) &&
           read_constraints(&m, job, err) && read_guess(rb_keys_given(&m, "guess"), arena, job, err) &&
           rb_sinks_read(rb_keys_given(&m, "sinks"), arena, &job->sinks, err) &&
           rb_hooks_read(rb_keys_given(&m, "notify"), arena, &job->hooks, err);
}

bool rb_job_read(const struct rb_node *root, const char *const *overrides, int n_overrides, struct rb_arena *arena,
                 struct rb_job *out, struct rb_err *err)
{
    struct rb_job job = {0};
    const struct rb_node *tree;
    if (!rb_job_override(root, overrides, n_overrides, arena, &tree, err) || !read_job(tree, arena, &job, err))
        return false;
    *out = job;
    return true;
}
