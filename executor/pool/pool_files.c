// A pool on disk: a directory for each of its runs, and pool.json in the directory of the run that owns the nodes.
#include "executor/pool/pool_run.h"

#include "base/file.h"
#include "executor/images/pins.h"
#include "executor/journal/run_dir.h"
#include "executor/report/report.h"
#include "executor/run/checks.h"
#include "executor/sinks/sink_place.h"
#include "profiles/job/keys.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// ---- which runs belong to a pool

bool rb_pool_is_one(const char *dir)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    rb_buf_printf(&path, "%s/pool.json", dir);
    return access(rb_buf_str(&path), F_OK) == 0;
}

bool rb_pool_check_alone(const struct rb_run_files *f, const char *verb, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    RB_AUTO(rb_auto_free) char *pool = NULL;
    size_t n;
    rb_buf_printf(&path, "%s/%s", f->dir, RB_POOL_OF_RUN);
    if (access(rb_buf_str(&path), F_OK) != 0)
        return true;
    return rb_read_file(rb_buf_str(&path), sizeof f->run_id, &pool, &n, err) &&
           rb_err_set(err, RB_E_RUN_OF_POOL,
                      "%s trains on the nodes of a pool: run `rbrun %s %s`, which covers all its jobs", f->run_id, verb,
                      pool);
}

// ---- its jobs

bool rb_pool_check_policy(const struct rb_pool_file *file, struct rb_err *err)
{
    if (rb_sharing_find(file->policy))
        return true;
    RB_AUTO(rb_buf_finish) struct rb_buf known = RB_BUF_INIT;
    for (int i = 0; rb_sharings[i]; i++)
        rb_buf_printf(&known, "%s%s", i == 0 ? "" : rb_sharings[i + 1] ? ", " : " or ", rb_sharings[i]->name);
    return rb_err_set(err, RB_E_POLICY, "policy: %.40s does not divide GPUs among jobs; expected %s", file->policy,
                      rb_buf_str(&known));
}

static void make_members(struct rb_pool_run *p)
{
    p->n = p->file.n_jobs;
    p->members = rb_xcalloc((size_t)p->n, sizeof *p->members);
    for (int i = 0; i < p->n; i++) {
        p->members[i] = (struct rb_pool_member){.pool = p, .spec = &p->file.jobs[i], .number = -1};
        rb_arena_init(&p->members[i].files.arena);
    }
}

static const char *beside(struct rb_pool_run *p, const char *pool_path, const char *path)
{
    const char *slash = strrchr(pool_path, '/');
    if (path[0] == '/' || !slash)
        return path;
    return rb_arena_printf(&p->arena, "%.*s/%s", (int)(slash - pool_path), pool_path, path);
}

// A resume may be started from any directory.
static bool make_absolute(struct rb_pool_run *p, struct rb_pool_job *job, struct rb_err *err)
{
    char *real = realpath(job->path, NULL);
    if (!real)
        return rb_err_set(err, RB_E_POOL_JOBS, "%s: no such job file", job->path);
    job->path = rb_arena_strdup(&p->arena, real);
    free(real);
    return true;
}

bool rb_pool_list_jobs(struct rb_pool_run *p, const char *pool_path, const char *const *more, int n_more,
                       struct rb_err *err)
{
    const int n = p->file.n_jobs + n_more;
    struct rb_pool_job *jobs = rb_arena_array(&p->arena, (size_t)n + 1, sizeof *jobs);
    for (int i = 0; i < n; i++) {
        const bool of_file = i < p->file.n_jobs;
        jobs[i] = of_file ? p->file.jobs[i] : (struct rb_pool_job){.deadline_us = -1, .weight = 1};
        jobs[i].path = of_file ? beside(p, pool_path, jobs[i].path) : more[i - p->file.n_jobs];
        if (!make_absolute(p, &jobs[i], err))
            return false;
    }
    if (n == 0)
        return rb_err_set(err, RB_E_POOL_JOBS, "%s lists no jobs, and none are named: add `jobs:` or JOB.yaml",
                          pool_path);
    p->file.jobs = jobs;
    p->file.n_jobs = n;
    make_members(p);
    return true;
}

// ---- files

static bool write_text(const char *dir, const char *name, const char *text, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    rb_buf_printf(&path, "%s/%s", dir, name);
    return rb_write_file(rb_buf_str(&path), text, strlen(text), err);
}

// Creates and reads a run's directory as any other command does: the run executes exactly the planned file.
static bool open_run(struct rb_run_files *f, const char *root, const char *name, const char *workdir,
                     const struct rb_plan *plan, struct rb_journal **out, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    char path[4400];
    struct rb_json j = {.out = &text, .pretty = true};
    rb_plan_write(plan, &j);
    rb_buf_putc(&text, '\n');
    rb_arena_init(&f->arena);
    snprintf(f->workdir, sizeof f->workdir, "%s", workdir);
    if (!rb_run_files_create(f, root, name, rb_buf_str(&text), text.len, err))
        return false;
    snprintf(path, sizeof path, "%s/plan.json", f->dir);
    if (rb_run_read_plan(f, path, err) && rb_run_files_begin(f, f->plan.deadline_us, f->plan.budget_uusd, out, err))
        return true;
    rb_run_dir_forget(f->dir);
    return false;
}

// Its own work directory is empty: it trains nothing.
bool rb_pool_open_owner(struct rb_pool_run *p, const char *root, const struct rb_plan *plan, struct rb_err *err)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_plan pinned = *plan;
    bool any;
    if (!rb_pin_images(&pinned, &arena, &any, err) ||
        !open_run(&p->files, root, p->file.name, root, &pinned, &p->journal, err))
        return false;
    const int n = snprintf(p->files.workdir, sizeof p->files.workdir, "%s/empty", p->files.dir);
    if (n >= (int)sizeof p->files.workdir || mkdir(p->files.workdir, 0700) != 0)
        return rb_err_set(err, RB_E_DIRECTORY, "%s/empty: cannot create the directory: %s", p->files.dir,
                          strerror(errno));
    return write_text(p->files.dir, "workdir", p->files.workdir, err);
}

// The nodes accept only the owner's key.
static bool copy_keys(const struct rb_pool_run *p, const struct rb_pool_member *m, struct rb_err *err)
{
    static const char *const names[] = {"id_ed25519", "id_ed25519.pub"};
    for (int i = 0; i < 2 && p->transport->prepare; i++) { // else there are none
        RB_AUTO(rb_buf_finish) struct rb_buf from = RB_BUF_INIT, to = RB_BUF_INIT;
        RB_AUTO(rb_auto_free) char *bytes = NULL;
        size_t n;
        rb_buf_printf(&from, "%s/keys/%s", p->files.dir, names[i]);
        rb_buf_printf(&to, "%s/keys/%s", m->files.dir, names[i]);
        if (!rb_read_file(rb_buf_str(&from), 1 << 16, &bytes, &n, err) ||
            !rb_write_file(rb_buf_str(&to), bytes, n, err))
            return false;
        explicit_bzero(bytes, n);
    }
    return true;
}

bool rb_pool_plan_member(struct rb_pool_member *m, struct rb_plan *out, struct rb_err *err)
{
    struct rb_pool_run *p = m->pool;
    if (!p->plan_job(p->plan_ctx, (int)(m - p->members), out, err))
        return false;
    if (m->spec->deadline_us >= 0)
        out->deadline_us = m->spec->deadline_us;
    if (out->job->approval_required)
        return rb_err_set(err, RB_E_APPROVAL_REQUIRED,
                          "job %s says approval: required, and a pool takes no approvals; run it by itself",
                          out->job->name);
    return rb_run_check_secrets(out->job, err);
}

bool rb_pool_open_member(struct rb_pool_member *m, struct rb_err *err)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_plan plan;
    bool any;
    char job_path[4096], workdir[4096];
    if (rb_pool_plan_member(m, &plan, err) && rb_pin_images(&plan, &arena, &any, err) && rb_run_places(&plan, "plan.json", job_path, workdir, err) &&
        open_run(&m->files, m->pool->files.root, plan.job->name, workdir, &plan, &m->journal, err) &&
        rb_sinks_check(&m->files, job_path, "plan.json", err) &&
        rb_sinks_keep_places(&m->files, job_path, "plan.json", err) && copy_keys(m->pool, m, err) &&
        write_text(m->files.dir, RB_POOL_OF_RUN, m->pool->files.run_id, err))
        return true;
    m->files.run_id[0] = '\0'; // half a run: pool.json must not name it
    return false;
}

bool rb_pool_keep(const struct rb_pool_run *p, const char *name, const char *text, struct rb_err *err)
{
    return write_text(p->files.dir, name, text, err);
}

// ---- pool.json

static void write_member(const struct rb_pool_member *m, struct rb_json *j)
{
    rb_json_put(j, "{job: %s arrives_us: %jd deadline_us: %jd weight: %g run: %s}", m->spec->path, m->spec->arrives_us,
                m->spec->deadline_us, m->spec->weight, m->files.run_id);
}

bool rb_pool_remember(const struct rb_pool_run *p, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    struct rb_json j = {.out = &text, .pretty = true};
    rb_json_put(&j, "{format: 'rb-pool-run/1' policy: %s|null fairness_p: %g|null interval_us: %jd restart_us: %jd",
                p->file.policy, p->file.fairness_p, p->file.interval_us, p->file.restart_us);
    rb_json_put(&j, "seed: %jd db: %s|null prices: %s|null profile_file: %s|null jobs: [", (int64_t)p->file.seed,
                p->sources.db, p->sources.prices, p->sources.profile_file);
    for (int i = 0; i < p->n; i++)
        write_member(&p->members[i], &j);
    rb_json_put(&j, "]}");
    rb_buf_putc(&text, '\n');
    return rb_pool_keep(p, "pool.json", rb_buf_str(&text), err);
}

static bool need_int(struct rb_map *m, const char *key, int64_t min, int64_t *out, struct rb_err *err)
{
    const struct rb_node *node;
    return rb_map_need(m, key, &node, err) && rb_node_int(node, min, INT64_MAX, out, err);
}

static bool need_double(struct rb_map *m, const char *key, double *out, struct rb_err *err)
{
    const struct rb_node *node;
    return rb_map_need(m, key, &node, err) && rb_node_double(node, -1e9, 1e9, out, err);
}

// null: the policy's default.
static bool read_fairness(struct rb_map *m, double *out, struct rb_err *err)
{
    *out = NAN;
    return !rb_keys_given(m, "fairness_p") || need_double(m, "fairness_p", out, err);
}

static bool need_text(struct rb_map *m, const char *key, struct rb_arena *arena, const char **out, struct rb_err *err)
{
    const struct rb_node *node;
    const char *text;
    if (!rb_map_need(m, key, &node, err) || !rb_node_string(node, &text, err))
        return false;
    *out = rb_arena_strdup(arena, text);
    return true;
}

// run_id: "" for a job that had not arrived.
static bool read_member(const struct rb_node *node, struct rb_arena *arena, struct rb_pool_job *out,
                        const char **out_run_id, struct rb_err *err)
{
    struct rb_map m;
    return rb_map_begin(&m, node, err) && need_text(&m, "job", arena, &out->path, err) &&
           need_int(&m, "arrives_us", 0, &out->arrives_us, err) &&
           need_int(&m, "deadline_us", -1, &out->deadline_us, err) && need_double(&m, "weight", &out->weight, err) &&
           need_text(&m, "run", arena, out_run_id, err) && rb_map_end(&m, err);
}

static bool read_members(const struct rb_node *root, struct rb_arena *arena, struct rb_pool_file *file,
                         struct rb_input_sources *sources, const char ***out_run_ids, struct rb_err *err)
{
    struct rb_map m;
    const struct rb_node *list, *format;
    int64_t seed;
    if (!rb_map_begin(&m, root, err) || !rb_map_need(&m, "format", &format, err) ||
        !need_text(&m, "policy", arena, &file->policy, err) || !read_fairness(&m, &file->fairness_p, err) ||
        !need_int(&m, "interval_us", 1, &file->interval_us, err) ||
        !need_int(&m, "restart_us", 1, &file->restart_us, err) || !need_int(&m, "seed", 0, &seed, err) ||
        !rb_keys_text(&m, "db", NULL, arena, &sources->db, err) ||
        !rb_keys_text(&m, "prices", NULL, arena, &sources->prices, err) ||
        !rb_keys_text(&m, "profile_file", NULL, arena, &sources->profile_file, err) ||
        !rb_map_need(&m, "jobs", &list, err) || !rb_node_list(list, err) || !rb_map_end(&m, err))
        return false;
    struct rb_pool_job *jobs = rb_arena_array(arena, (size_t)list->n_children + 1, sizeof *jobs);
    const char **run_ids = rb_arena_array(arena, (size_t)list->n_children + 1, sizeof *run_ids);
    for (const struct rb_node *node = list->first; node; node = node->next, file->n_jobs++) {
        if (!read_member(node, arena, &jobs[file->n_jobs], &run_ids[file->n_jobs], err))
            return false;
    }
    file->seed = (uint64_t)seed;
    file->jobs = jobs;
    *out_run_ids = run_ids;
    return true;
}

bool rb_pool_recall(const char *dir, struct rb_arena *arena, struct rb_pool_file *out,
                    struct rb_input_sources *out_sources, const char ***out_run_ids, struct rb_err *err)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    rb_buf_printf(&path, "%s/pool.json", dir);
    *out = (struct rb_pool_file){0};
    return rb_doc_read(&doc, rb_buf_str(&path), err) &&
           read_members(doc.root, arena, out, out_sources, out_run_ids, err);
}

bool rb_pool_reopen(struct rb_pool_run *p, const char *state_dir, struct rb_err *err)
{
    const char **run_ids;
    if (!rb_pool_recall(p->files.dir, &p->arena, &p->file, &p->sources, &run_ids, err) ||
        !rb_pool_check_policy(&p->file, err))
        return false;
    p->file.resources = p->files.plan.job->resources;
    make_members(p);
    for (int i = 0; i < p->n; i++) {
        struct rb_pool_member *m = &p->members[i];
        if (run_ids[i][0] && (!rb_run_files_open(&m->files, state_dir, run_ids[i], err) ||
                              !rb_journal_open(m->files.journal, &m->journal, err)))
            return false;
    }
    return true;
}

// If all jobs are complete, there is nothing to rent a node for: the pool is only cleaned up and reported once more.
bool rb_pool_is_complete(struct rb_pool_run *p, bool *out, struct rb_err *err)
{
    *out = true;
    for (int i = 0; i < p->n && *out; i++) {
        const struct rb_pool_member *m = &p->members[i];
        struct rb_report r = {0};
        if (m->journal && !rb_report_make(m->journal, &m->files.plan, &p->arena, &r, err))
            return false;
        *out = m->journal && rb_job_is_final(r.outcome);
    }
    return true;
}
