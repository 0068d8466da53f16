// rbrun --pool: several jobs on nodes that they share. One run owns the nodes; every job is a run of its own that borrows
// them; an arbiter divides the GPUs.
#include "commands/rbrun/rbrun_pool.h"
#include "executor/run/checks.h"
#include "library/pool_plan.h"
#include "executor/pool/pool_run.h"
#include "views/run/pool_serve.h"

#include "base/file.h"
#include "base/log.h"
#include "executor/journal/run_dir.h"
#include "executor/report/report.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ---- what is printed

static const char *outcome_of(const struct rb_pool_member *m, struct rb_arena *arena)
{
    char text[64];
    enum rb_stop_reason reason = RB_STOP_USER;
    if (!m->session)
        return m->pool->failure.code ? "could not begin" : "did not arrive";
    const struct rb_engine *e = rb_controller_engine(rb_session_controller(m->session));
    const enum rb_job_outcome outcome = rb_engine_outcome(e, &reason);
    const bool at_work = !rb_controller_lost_journal(rb_session_controller(m->session));
    return rb_arena_strdup(arena, rb_report_outcome(outcome, reason, at_work, text));
}

static struct rb_pool_report_job report_member(const struct rb_pool_member *m, struct rb_arena *arena)
{
    struct rb_pool_report_job r = {
        .job = m->spec->path, .arrived_us = -1, .jct_us = -1, .alone_us = -1, .best_trial = -1};
    r.outcome = outcome_of(m, arena);
    if (!m->session)
        return r;
    struct rb_controller *c = rb_session_controller(m->session);
    const struct rb_engine *e = rb_controller_engine(c);
    r.job = m->files.plan.job->name;
    r.run_id = m->files.run_id;
    r.arrived_us = m->spec->arrives_us;
    r.jct_us = m->over && !rb_controller_lost_journal(c) ? rb_engine_now_us(e) : -1;
    r.alone_us = m->files.plan.estimate.time_us.mean;
    r.metric_name = m->files.plan.job->metric_name;
    r.best_trial = rb_engine_best(e);
    if (r.best_trial >= 0)
        r.best_metric = rb_engine_trial(e, r.best_trial)->metric;
    rb_lent_use(m->journal, &m->files.plan, &r.use, NULL);
    return r;
}

// Printed even if there is no room to keep it.
static bool print_report(struct rb_pool_run *p, const struct rb_pool_report *r, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT, kept = RB_BUF_INIT;
    struct rb_json j;
    struct rb_err why;
    rb_json_init(&j, &kept, true);
    rb_pool_report_write(r, &j);
    rb_buf_putc(&kept, '\n');
    const bool is_kept = rb_pool_keep(p, "pool-report.json", rb_buf_str(&kept), &why);
    const struct rb_text_style style = rb_run_style(STDOUT_FILENO);
    if (p->json) {
        rb_json_init(&j, &text, false);
        rb_pool_report_write(r, &j);
        rb_buf_putc(&text, '\n');
    } else {
        rb_pool_report_table(r, &style, &text);
    }
    return rb_run_print(&text, err) &&
           (is_kept || rb_err_set(err, rb_err_number(&why),
                                  "the pool's report was not kept: %s%s%s; make room, then say `rbrun resume %s`",
                                  why.file, why.file[0] ? ": " : "", why.message, r->run_id));
}

static bool report(struct rb_pool_run *p, struct rb_err *err)
{
    struct rb_pool_report_job *jobs = rb_arena_array(&p->arena, (size_t)p->n + 1, sizeof *jobs);
    struct rb_journal_meta meta;
    bool complete = true;
    int64_t reserved;
    if (!rb_journal_meta(p->journal, &p->arena, &meta, err))
        return false;
    struct rb_pool_report r = {.run_id = p->files.run_id,
                               .policy = p->file.policy,
                               .instances_left = meta.leak_checked_at_us >= 0 ? meta.instances_left : -1,
                               .jobs = jobs,
                               .n_jobs = p->n};
    for (int i = 0; i < p->n; i++) {
        jobs[i] = report_member(&p->members[i], &p->arena);
        complete = complete && (strcmp(jobs[i].outcome, "complete") == 0 || strcmp(jobs[i].outcome, "target") == 0);
    }
    r.outcome = complete ? "complete" : "not complete";
    r.time_us = rb_controller_now_us(rb_session_controller(p->session));
    rb_controller_spend(rb_session_controller(p->session), &r.cost_uusd, &reserved);
    return print_report(p, &r, err);
}

// ---- rbrun --pool

#define POOL_INPUT_OPTIONS                                                                                            \
    {"prices", 0, RB_OPT_STRING, false, "FILE", "price list (default: the profile store, then files beside the job)", \
     0,        0},                                                                                                    \
    {                                                                                                                 \
        "profile-file", 0, RB_OPT_STRING, false, "FILE", "one profile for all jobs (default: each job's own)", 0, 0   \
    }

static const struct rb_option pool_options[] = {
    {"pool", 0, RB_OPT_STRING, false, "FILE", "rb-pool/1: nodes, policy, and jobs with their arrivals", 0, 0},
    {"yes", 0, RB_OPT_FLAG, false, NULL, "rent machines without asking", 0, 0},
    POOL_INPUT_OPTIONS,
    RB_RUN_SERVE_OPTION,
    RB_RUN_COMMON_OPTIONS,
    {0},
};

static const struct rb_command pool_command = {
    .name = "rbrun --pool",
    .usage = "pool.yaml [options] [JOB.yaml ...]",
    .summary =
        "Carries out several jobs on nodes that they share. Jobs named here arrive at once, beside those of the file.",
    .examples = "  rbrun --pool examples/pool/pool.yaml\n"
                "  rbrun --pool pool.yaml a.yaml b.yaml --json\n",
    .options = pool_options,
    .min_args = 0,
    .max_args = -1,
};

// What is asked of a job's inputs, as rbplan would.
static const struct rb_option input_options[] = {
    {"set", 0, RB_OPT_STRING, true, "K=V", "", 0, 0},
    {"deadline", 0, RB_OPT_STRING, false, "D", "", 0, 0},
    {"budget", 0, RB_OPT_STRING, false, "USD", "", 0, 0},
    {"confidence", 0, RB_OPT_STRING, false, "P", "", 0, 0},
    {"seed", 0, RB_OPT_STRING, false, "N", "", 0, 0},
    {"db", 0, RB_OPT_STRING, false, "FILE", "", 0, 0},
    POOL_INPUT_OPTIONS,
    {0},
};
static const struct rb_command input_command = {
    .name = "rbrun --pool", .options = input_options, .min_args = 1, .max_args = 1};

static bool find_inputs(struct rb_pool_member *m, struct rb_err *err)
{
    const struct rb_pool_sources *from = &m->pool->sources;
    char *argv[5] = {(char *)"rbrun", (char *)m->spec->path};
    int argc = 2;
    if (from->db)
        argv[argc++] = rb_arena_printf(&m->pool->arena, "--db=%s", from->db);
    if (from->prices)
        argv[argc++] = rb_arena_printf(&m->pool->arena, "--prices=%s", from->prices);
    if (from->profile_file)
        argv[argc++] = rb_arena_printf(&m->pool->arena, "--profile-file=%s", from->profile_file);
    struct rb_args own = {0};
    bool ok = rb_args_parse(&own, &input_command, argc, argv, err) && rb_plan_inputs_job(&m->inputs, &own, err);
    if (ok) {
        m->inputs.job.resources = m->pool->file.resources; // its own are not asked: it lives on the pool's
        ok = rb_plan_inputs_find(&m->inputs, &own, err);
    }
    rb_args_finish(&own);
    return ok || rb_err_prefix(err, "%s", m->spec->path);
}

static const char *beside(struct rb_pool_run *p, const char *pool_path, const char *path)
{
    const char *slash = strrchr(pool_path, '/');
    if (path[0] == '/' || !slash)
        return path;
    return rb_arena_printf(&p->arena, "%.*s/%s", (int)(slash - pool_path), pool_path, path);
}

// A resume may be said from anywhere.
static bool make_absolute(struct rb_pool_run *p, struct rb_pool_job *job, struct rb_err *err)
{
    char *real = realpath(job->path, NULL);
    if (!real)
        return rb_err_set(err, RB_E_POOL_JOBS, "%s: no such job file", job->path);
    job->path = rb_arena_strdup(&p->arena, real);
    free(real);
    return true;
}

static bool list_members(struct rb_pool_run *p, const char *pool_path, const struct rb_args *args, struct rb_err *err)
{
    const int n = p->file.n_jobs + args->n_args;
    struct rb_pool_job *jobs = rb_arena_array(&p->arena, (size_t)n + 1, sizeof *jobs);
    for (int i = 0; i < n; i++) {
        const bool of_file = i < p->file.n_jobs;
        jobs[i] = of_file ? p->file.jobs[i] : (struct rb_pool_job){.deadline_us = -1, .weight = 1};
        jobs[i].path = of_file ? beside(p, pool_path, jobs[i].path) : args->args[i - p->file.n_jobs];
        if (!make_absolute(p, &jobs[i], err))
            return false;
    }
    if (n == 0)
        return rb_err_set(err, RB_E_POOL_JOBS, "%s lists no jobs, and none are named: add `jobs:` or JOB.yaml",
                          pool_path);
    p->file.jobs = jobs;
    p->file.n_jobs = n;
    return true;
}

static bool check_policy(const struct rb_pool_file *file, struct rb_err *err)
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

// Absolute where it is a file that is there: a resume may be said from anywhere. What is not there is refused by who reads it.
static const char *source(struct rb_pool_run *p, const struct rb_args *args, const char *option)
{
    const char *path = rb_args_string(args, option, NULL);
    RB_AUTO(rb_auto_free) char *real = path ? realpath(path, NULL) : NULL;
    return real ? rb_arena_strdup(&p->arena, real) : path;
}

static bool find_all_inputs(struct rb_pool_run *p, const struct rb_args *args, struct rb_err *err)
{
    p->sources =
        (struct rb_pool_sources){source(p, args, "db"), source(p, args, "prices"), source(p, args, "profile-file")};
    for (int i = 0; i < p->n; i++) {
        if (!find_inputs(&p->members[i], err))
            return false;
    }
    return true;
}

static bool confirm(const struct rb_pool_run *p, const struct rb_args *args, struct rb_err *err)
{
    char infra[1][64], what[256], rate[32];
    const struct rb_plan *plan = &p->files.plan;
    const int n = plan->stages[0].nodes[0].count;
    rb_session_infras(plan, infra, 1);
    snprintf(what, sizeof what, "rents %d x %s in %s until every job is over, %s an hour", n,
             plan->offers[0].instance_type, infra[0], rb_format_money(n * plan->offers[0].rate.uusd_per_hour, rate));
    return rb_session_is_harmless(infra[0]) || rb_run_confirm(rb_args_flag(args, "yes"), what, err);
}

// Everything that can be wrong is found before the first node.
static bool prepare(struct rb_pool_run *p, const struct rb_args *args, struct rb_err *err)
{
    const char *path = rb_args_string(args, "pool", NULL);
    char root[4096];
    struct rb_plan plan;
    if (!rb_run_serve_check(args, err) || !rb_pool_file_load(path, &p->arena, &p->file, err) ||
        !check_policy(&p->file, err) || !list_members(p, path, args, err))
        return false;
    make_members(p);
    if (!find_all_inputs(p, args, err) ||
        !rb_run_dir_root(rb_args_string(args, "state-dir", NULL), root, sizeof root, err) ||
        !rb_pool_open_owner(p, root, err))
        return false;
    for (int i = 0; i < p->n; i++) {
        if (!rb_pool_plan_member(&p->members[i], &plan, err))
            return rb_err_prefix(err, "%s", p->members[i].spec->path);
    }
    return rb_run_check_open_files(&p->files.plan, p->n, err) && confirm(p, args, err) && rb_pool_remember(p, err);
}

// Everything is said to have ended, or the user has left it as it is.
static bool conclude(struct rb_pool_run *p, int *out_code, struct rb_err *err)
{
    if (p->left) {
        *out_code = 1;
        return true;
    }
    if (!report(p, err))
        return false;
    if (p->failure.code)
        *err = p->failure;
    return !p->failure.code;
}

static bool work(struct rb_pool_run *p, int *out_code, struct rb_err *err)
{
    struct rb_err why;
    const bool ok = rb_pool_run_carry_out(p, err) && conclude(p, out_code, err);
    if (rb_pool_run_close(p, out_code, &why))
        return ok;
    if (!ok)
        rb_warn("%s", err->message);
    *err = why; // says what became of the nodes
    return false;
}

static bool carry_out(struct rb_pool_run *p, const struct rb_args *args, int *out_code, struct rb_err *err)
{
    rb_info("pool %s", p->files.run_id);
    struct rb_run_serve *serve = rb_run_serve_begin_with(args, p->files.run_id, rb_pool_serve_open);
    const bool ok = work(p, out_code, err);
    rb_run_serve_end(serve, ok && *out_code != 1); // 1: left before the end
    return ok;
}

static bool run_pool(const struct rb_args *args, int *out_code, struct rb_err *err)
{
    struct rb_pool_run p = {.options = {.quiet = true}, .json = rb_args_flag(args, "json")};
    struct rb_err why;
    rb_arena_init(&p.arena);
    rb_arena_init(&p.files.arena);
    if (prepare(&p, args, err))
        return carry_out(&p, args, out_code, err);
    rb_pool_run_close(&p, out_code, &why);
    return false;
}

int rb_run_pool(int argc, char **argv)
{
    return rb_run_carry_out(&pool_command, run_pool, argc, argv);
}

// ---- rbrun resume

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
                      "%s trains on the nodes of a pool: say `rbrun %s %s`, which is for all its jobs", f->run_id, verb,
                      pool);
}

static bool recall(struct rb_pool_run *p, const struct rb_args *args, struct rb_err *err)
{
    const char **run_ids;
    if (!rb_pool_recall(p->files.dir, &p->arena, &p->file, &p->sources, &run_ids, err) || !check_policy(&p->file, err))
        return false;
    if (rb_args_nth(args, "db", 0))
        p->sources.db = source(p, args, "db");
    p->file.resources = p->files.plan.job->resources;
    make_members(p);
    for (int i = 0; i < p->n; i++) {
        struct rb_pool_member *m = &p->members[i];
        if (run_ids[i][0] == '\0' ? !find_inputs(m, err)
                                  : !rb_run_files_open(&m->files, args, run_ids[i], err) ||
                                        !rb_journal_open(m->files.journal, &m->journal, err))
            return false;
    }
    return true;
}

// Of a pool whose jobs are complete nothing is left to rent a node for: it is only cleaned up, and told of once more.
static bool is_complete(struct rb_pool_run *p, bool *out, struct rb_err *err)
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

bool rb_pool_resume(struct rb_run_files *files, struct rb_journal *journal, const struct rb_args *args, int *out_code,
                    struct rb_err *err)
{
    struct rb_pool_run p = {
        .options = {.quiet = true}, .json = rb_args_flag(args, "json"), .files = *files, .journal = journal};
    struct rb_err why;
    bool complete;
    rb_arena_init(&p.arena);
    *files = (struct rb_run_files){0}; // taken over
    rb_arena_init(&files->arena);
    if (recall(&p, args, err) && is_complete(&p, &complete, err) &&
        (complete || rb_run_check_open_files(&p.files.plan, p.n, err))) {
        p.options.go_on = !complete;
        return carry_out(&p, args, out_code, err);
    }
    rb_pool_run_close(&p, out_code, &why);
    return false;
}
