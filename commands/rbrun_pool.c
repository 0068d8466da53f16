// rbrun --pool: several jobs on nodes that they share. One run owns the nodes; every job is a run of its own that borrows
// them; an arbiter divides the GPUs. All of them live in this process, on one loop.
#include "commands/rbrun_pool.h"
#include "commands/rbrun_checks.h"
#include "commands/rbrun_pool_plan.h"
#include "commands/rbrun_session.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "executor/arbiter.h"
#include "executor/loop_uv.h"
#include "executor/report.h"
#include "executor/run_dir.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct member; // a job of the pool

struct pool {
    struct rb_arena arena;
    struct rb_pool_file file;
    struct rb_loop_uv *uv;
    const struct rb_loop *loop;
    struct rb_session_options options;
    struct rb_run_files files; // of the run that owns the nodes
    struct rb_journal *journal;
    struct rb_session *session;
    struct rb_lender *lender;
    struct rb_arbiter *arbiter;
    struct member *members; // [n]
    int n;
    bool on_this_machine, owner_over, ending, left;
    bool resumed;
    int interrupts;
    struct rb_err failure; // of a member that could not even begin
};

struct member {
    struct pool *pool;
    const struct rb_pool_job *spec;
    struct rb_plan_inputs inputs;
    struct rb_run_files files;
    struct rb_journal *journal;
    struct rb_provider lent; // as the session has it
    struct rb_session *session;
    char label[64];
    int number; // the arbiter's
    uint64_t timer;
    bool over;
};

// ---- files

static bool write_plan(const char *dir, const struct rb_plan *plan, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT, path = RB_BUF_INIT;
    struct rb_json j;
    rb_json_init(&j, &text, true);
    rb_plan_write(plan, &j);
    rb_buf_putc(&text, '\n');
    rb_buf_printf(&path, "%s/plan.json", dir);
    return rb_write_file(rb_buf_str(&path), rb_buf_str(&text), text.len, err);
}

static bool write_text(const char *dir, const char *name, const char *text, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    rb_buf_printf(&path, "%s/%s", dir, name);
    return rb_write_file(rb_buf_str(&path), text, strlen(text), err);
}

// A run's directory is made and read again as any other command would: what was planned is what is carried out.
static bool open_run(struct rb_run_files *f, const char *root, const char *name, const char *workdir,
                     const struct rb_plan *plan, struct rb_journal **out, struct rb_err *err)
{
    char owner[160], path[4400];
    rb_arena_init(&f->arena);
    snprintf(f->root, sizeof f->root, "%s", root);
    snprintf(f->workdir, sizeof f->workdir, "%s", workdir);
    if (!rb_run_dir_create(root, name, f->run_id, sizeof f->run_id, f->dir, sizeof f->dir, err) ||
        !write_plan(f->dir, plan, err) || !write_text(f->dir, "workdir", workdir, err))
        return false;
    snprintf(f->journal, sizeof f->journal, "%s/journal.db", f->dir);
    snprintf(path, sizeof path, "%s/plan.json", f->dir);
    if (!rb_run_read_plan(f, path, err))
        return false;
    rb_run_owner(owner, sizeof owner);
    const struct rb_journal_meta meta = {.run_id = f->run_id,
                                         .plan_sha256 = f->plan_sha256,
                                         .owner = owner,
                                         .started_unix_us = rb_clock_unix_us(),
                                         .deadline_us = f->plan.deadline_us,
                                         .budget_uusd = f->plan.budget_uusd};
    return rb_journal_create(f->journal, &meta, out, err);
}

// ---- what a resume must know beyond the runs themselves: pool.json

static void write_member(const struct member *m, struct rb_json *j)
{
    rb_json_begin_object(j);
    rb_json_kstring(j, "job", m->spec->path);
    rb_json_kint(j, "arrives_us", m->spec->arrives_us);
    rb_json_kint(j, "deadline_us", m->spec->deadline_us);
    rb_json_kdouble(j, "weight", m->spec->weight);
    rb_json_kstring(j, "run", m->files.run_id);
    rb_json_end_object(j);
}

static bool write_members(const struct pool *p, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    struct rb_json j;
    rb_json_init(&j, &text, true);
    rb_json_begin_object(&j);
    rb_json_kstring(&j, "format", "rb-pool-run/1");
    rb_json_kstring(&j, "policy", p->file.policy);
    rb_json_kdouble(&j, "fairness_p", p->file.fairness_p);
    rb_json_kint(&j, "interval_us", p->file.interval_us);
    rb_json_kint(&j, "restart_us", p->file.restart_us);
    rb_json_kint(&j, "seed", (int64_t)p->file.seed);
    rb_json_key(&j, "jobs");
    rb_json_begin_array(&j);
    for (int i = 0; i < p->n; i++)
        write_member(&p->members[i], &j);
    rb_json_end_array(&j);
    rb_json_end_object(&j);
    rb_buf_putc(&text, '\n');
    return write_text(p->files.dir, "pool.json", rb_buf_str(&text), err);
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

static bool need_text(struct rb_map *m, const char *key, struct rb_arena *arena, const char **out, struct rb_err *err)
{
    const struct rb_node *node;
    const char *text;
    if (!rb_map_need(m, key, &node, err) || !rb_node_string(node, &text, err))
        return false;
    *out = rb_arena_strdup(arena, text);
    return true;
}

// run_id: "" of a job that had not arrived.
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
                         const char ***out_run_ids, struct rb_err *err)
{
    struct rb_map m;
    const struct rb_node *list, *format;
    int64_t seed;
    if (!rb_map_begin(&m, root, err) || !rb_map_need(&m, "format", &format, err) ||
        !need_text(&m, "policy", arena, &file->policy, err) || !need_double(&m, "fairness_p", &file->fairness_p, err) ||
        !need_int(&m, "interval_us", 1, &file->interval_us, err) ||
        !need_int(&m, "restart_us", 1, &file->restart_us, err) || !need_int(&m, "seed", 0, &seed, err) ||
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

// ---- the run that owns the nodes

// Its own work directory is empty: it trains nothing.
static bool open_owner(struct pool *p, const char *root, struct rb_err *err)
{
    struct rb_plan plan;
    char empty[4400];
    if (!rb_pool_plan_nodes(&p->file, &p->members[0].inputs, &plan, err) ||
        !open_run(&p->files, root, p->file.name, root, &plan, &p->journal, err))
        return false;
    snprintf(empty, sizeof empty, "%s/empty", p->files.dir);
    snprintf(p->files.workdir, sizeof p->files.workdir, "%s", empty);
    if (mkdir(empty, 0700) != 0)
        return rb_err_set(err, RB_ERR_IO, "%s: cannot create the directory", empty);
    return write_text(p->files.dir, "workdir", empty, err);
}

static void check_end(struct pool *p);

static void owner_observed(void *ctx, const struct rb_event *event)
{
    rb_arbiter_observe(((struct pool *)ctx)->arbiter, event);
}

static void owner_finished(void *ctx)
{
    struct pool *p = ctx;
    p->owner_over = true;
    for (int i = 0; i < p->n; i++) {
        if (p->members[i].session && !p->members[i].over)
            rb_controller_stop(rb_session_controller(p->members[i].session), RB_STOP_CAPACITY);
    }
    check_end(p);
}

static bool begin_owner(struct pool *p, struct rb_err *err)
{
    char infra[1][64];
    rb_session_infras(&p->files.plan, infra, 1);
    p->on_this_machine = strcmp(infra[0], "local") == 0;
    const struct rb_session_host host = {
        .uv = p->uv, .label = "pool: ", .observe = owner_observed, .finished = owner_finished, .ctx = p};
    if (!rb_session_begin(&p->files, p->journal, &p->options, &host, &p->session, err))
        return false;
    rb_lender_own(p->lender, rb_session_controller(p->session));
    rb_arbiter_own(p->arbiter, rb_session_controller(p->session));
    return true;
}

// ---- the jobs

static bool reach(void *ctx, struct rb_launcher *over_nodes, struct rb_launcher **out, struct rb_err *err)
{
    struct member *m = ctx;
    (void)err;
    *out = rb_lender_reach(&m->lent, over_nodes);
    return true;
}

static void member_observed(void *ctx, const struct rb_event *event)
{
    rb_arbiter_observe(((struct member *)ctx)->pool->arbiter, event);
}

static void member_finished(void *ctx)
{
    struct member *m = ctx;
    m->over = true;
    rb_arbiter_leave(m->pool->arbiter, m->number);
    check_end(m->pool);
}

// The nodes know the owner's key, and no other.
static bool copy_keys(const struct pool *p, const struct member *m, struct rb_err *err)
{
    static const char *const names[] = {"id_ed25519", "id_ed25519.pub"};
    for (int i = 0; i < 2 && !p->on_this_machine; i++) {
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

static bool plan_member(struct member *m, struct rb_plan *out, struct rb_err *err)
{
    if (!rb_pool_plan_job(&m->pool->files.plan, &m->inputs, out, err))
        return false;
    if (m->spec->deadline_us >= 0)
        out->deadline_us = m->spec->deadline_us;
    return rb_job_check_supported(&m->inputs.job, err) && rb_run_check_secrets(&m->inputs.job, err);
}

static bool open_member(struct member *m, struct rb_err *err)
{
    struct rb_plan plan;
    char job_path[4096], workdir[4096];
    return plan_member(m, &plan, err) && rb_run_places(&plan, "plan.json", job_path, workdir, err) &&
           open_run(&m->files, m->pool->files.root, plan.job->name, workdir, &plan, &m->journal, err) &&
           copy_keys(m->pool, m, err);
}

static bool begin_session(struct member *m, struct rb_err *err)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena;
    struct rb_launch_row *rows;
    int n;
    rb_arena_init(&arena);
    if (!rb_journal_launches(m->journal, &arena, &rows, &n, err))
        return false;
    rb_lender_open(m->pool->lender, rows, n, &m->lent);
    snprintf(m->label, sizeof m->label, "%s: ", m->files.plan.job->name);
    const struct rb_session_host host = {
        .uv = m->pool->uv,
        .label = m->label,
        .lender = m->lent,
        .on_this_machine = m->pool->on_this_machine,
        .reach = reach,
        .observe = member_observed,
        .finished = member_finished,
        .ctx = m,
    };
    return rb_session_begin(&m->files, m->journal, &m->pool->options, &host, &m->session, err);
}

static void join(struct member *m)
{
    struct pool *p = m->pool;
    struct rb_lent_use had = {0};
    struct rb_controller *c = rb_session_controller(m->session);
    rb_lent_use(m->journal, &m->files.plan, &had, NULL); // of a fresh journal nothing
    m->number = rb_arbiter_join(
        p->arbiter, &(struct rb_arbiter_job){
                        .controller = c,
                        .lent = &m->lent,
                        .plan = &m->files.plan,
                        .weight = m->spec->weight,
                        .deadline_us = m->files.plan.deadline_us >= 0 ? m->files.plan.deadline_us : INT64_MAX,
                        .age_us = rb_controller_now_us(c),
                        .had = had,
                    });
}

static void fail(struct pool *p, const struct member *m, const struct rb_err *err);

static void arrive(void *arg)
{
    struct member *m = arg;
    struct rb_err err;
    m->timer = 0;
    m->number = -1;
    if (!open_member(m, &err) || !begin_session(m, &err)) {
        fail(m->pool, m, &err);
        return;
    }
    join(m);
    if (!write_members(m->pool, &err))
        fail(m->pool, m, &err);
}

// ---- the end

static bool all_over(const struct pool *p)
{
    for (int i = 0; i < p->n; i++) {
        const struct member *m = &p->members[i];
        if (m->session ? !m->over : m->timer != 0)
            return false;
    }
    return true;
}

static void check_end(struct pool *p)
{
    if (!all_over(p))
        return;
    if (p->owner_over)
        rb_loop_uv_stop(p->uv);
    else if (!p->ending)
        rb_controller_stop(rb_session_controller(p->session), RB_STOP_USER); // its nodes are not needed any more
    p->ending = true;
}

static void stop_all(struct pool *p)
{
    for (int i = 0; i < p->n; i++) {
        struct member *m = &p->members[i];
        if (m->timer)
            p->loop->timer_cancel(p->loop->ctx, m->timer);
        m->timer = 0;
        if (m->session && !m->over)
            rb_controller_stop(rb_session_controller(m->session), RB_STOP_USER);
    }
    check_end(p);
}

// One job that cannot begin does not end the others; the pool says so at its end.
static void fail(struct pool *p, const struct member *m, const struct rb_err *err)
{
    rb_warn("%s cannot begin: %s", m->spec->path, err->message);
    if (!p->failure.code)
        p->failure = *err;
    check_end(p);
}

// ---- one pool, from its beginning to its report

static void interrupt(void *arg)
{
    struct pool *p = arg;
    if (p->interrupts++ == 0) {
        rb_warn("stopping: ending every job and the pool's instances (once more to leave them as they are)");
        stop_all(p);
        return;
    }
    p->left = true;
    rb_warn("left before the end; end what is left with: rbrun stop %s; or go on with: rbrun resume %s",
            p->files.run_id, p->files.run_id);
    rb_loop_uv_stop(p->uv);
}

static bool begin(struct pool *p, struct rb_err *err)
{
    const struct rb_sharing *policy = rb_sharing_find(p->file.policy);
    p->uv = rb_loop_uv_create();
    p->loop = rb_loop_uv_loop(p->uv);
    p->lender = rb_lender_create(p->loop);
    const struct rb_arbiter_config config = {
        .loop = p->loop,
        .policy = policy,
        .options = {.seed = p->file.seed,
                    .restart_us = p->file.restart_us,
                    .round_us = p->file.interval_us,
                    .fairness_p = p->file.fairness_p,
                    .avoid_interference = true},
    };
    return rb_arbiter_create(&config, &p->arbiter, err) && begin_owner(p, err);
}

static void await_arrivals(struct pool *p)
{
    const int64_t now_us = rb_controller_now_us(rb_session_controller(p->session));
    for (int i = 0; i < p->n; i++) {
        struct member *m = &p->members[i];
        const int64_t left_us = m->spec->arrives_us - now_us;
        if (!m->session)
            m->timer = p->loop->timer_start(p->loop->ctx, left_us > 0 ? left_us : 0, arrive, m);
    }
}

static const char *outcome_of(const struct member *m, struct rb_arena *arena)
{
    char text[64];
    enum rb_stop_reason reason = RB_STOP_USER;
    if (!m->session)
        return m->pool->failure.code ? "could not begin" : "did not arrive";
    const struct rb_engine *e = rb_controller_engine(rb_session_controller(m->session));
    const enum rb_job_outcome outcome = rb_engine_outcome(e, &reason);
    return rb_arena_strdup(arena, rb_report_outcome(outcome, reason, text));
}

static struct rb_pool_report_job report_member(const struct member *m, struct rb_arena *arena)
{
    struct rb_pool_report_job r = {.job = m->spec->path, .arrived_us = -1, .jct_us = -1, .best_trial = -1};
    r.outcome = outcome_of(m, arena);
    if (!m->session)
        return r;
    struct rb_controller *c = rb_session_controller(m->session);
    const struct rb_engine *e = rb_controller_engine(c);
    r.job = m->files.plan.job->name;
    r.run_id = m->files.run_id;
    r.arrived_us = m->spec->arrives_us;
    r.jct_us = m->over ? rb_engine_now_us(e) : -1;
    r.alone_us = m->files.plan.estimate.time_us.mean;
    r.metric_name = m->files.plan.job->metric_name;
    r.best_trial = rb_engine_best(e);
    if (r.best_trial >= 0)
        r.best_metric = rb_engine_trial(e, r.best_trial)->metric;
    rb_lent_use(m->journal, &m->files.plan, &r.use, NULL);
    return r;
}

static bool print_report(struct pool *p, const struct rb_pool_report *r, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT, kept = RB_BUF_INIT;
    struct rb_json j;
    rb_json_init(&j, &kept, true);
    rb_pool_report_write(r, &j);
    rb_buf_putc(&kept, '\n');
    if (!write_text(p->files.dir, "pool-report.json", rb_buf_str(&kept), err))
        return false;
    const struct rb_text_style style = rb_run_style(STDOUT_FILENO);
    if (p->options.json) {
        rb_json_init(&j, &text, false);
        rb_pool_report_write(r, &j);
        rb_buf_putc(&text, '\n');
    } else {
        rb_pool_report_table(r, &style, &text);
    }
    return rb_run_print(&text, err);
}

static bool report(struct pool *p, struct rb_err *err)
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

// The worst end of any of its runs is the pool's.
static bool close_all(struct pool *p, int *out_code, struct rb_err *err)
{
    bool ok = true;
    for (int i = 0; i < p->n; i++) {
        int code = 0;
        struct rb_err why;
        if (p->members[i].session && !rb_session_close(p->members[i].session, &code, ok ? err : &why))
            ok = false;
        *out_code = code > *out_code ? code : *out_code;
    }
    int code = 0;
    struct rb_err why;
    if (p->session && !rb_session_close(p->session, &code, ok ? err : &why))
        ok = false;
    return ok;
}

static void finish(struct pool *p)
{
    rb_arbiter_destroy(p->arbiter);
    rb_lender_destroy(p->lender);
    if (p->uv)
        rb_loop_uv_destroy(p->uv);
    for (int i = 0; i < p->n; i++) {
        rb_journal_close(p->members[i].journal);
        rb_run_files_finish(&p->members[i].files);
        rb_plan_inputs_finish(&p->members[i].inputs);
    }
    free(p->members);
    rb_journal_close(p->journal);
    rb_run_files_finish(&p->files);
    rb_arena_finish(&p->arena);
}

static bool carry_out(struct pool *p, int *out_code, struct rb_err *err)
{
    rb_loop_uv_on_signal(p->uv, SIGINT, interrupt, p);
    rb_loop_uv_on_signal(p->uv, SIGTERM, interrupt, p);
    rb_loop_uv_on_signal(p->uv, SIGHUP, interrupt, p);
    await_arrivals(p);
    rb_loop_uv_run(p->uv);
    if (p->left) {
        *out_code = 1;
        return true;
    }
    if (!report(p, err))
        return false;
    if (p->failure.code) {
        *err = p->failure;
        return false;
    }
    return true;
}

// ---- rbrun --pool

#define POOL_INPUT_OPTIONS                                                                                             \
    {"prices", 0, RB_OPT_STRING, false, "FILE", "price list (default: the profile store, then files beside the job)",  \
     0, 0},                                                                                                            \
        {"profile-file", 0, RB_OPT_STRING, false, "FILE", "one profile for all jobs (default: each job's own)", 0, 0}

static const struct rb_option pool_options[] = {
    {"pool", 0, RB_OPT_STRING, false, "FILE", "rb-pool/1: nodes, policy, and jobs with their arrivals", 0, 0},
    {"yes", 0, RB_OPT_FLAG, false, NULL, "rent machines without asking", 0, 0},
    POOL_INPUT_OPTIONS,
    RB_RUN_COMMON_OPTIONS,
    {0},
};

static const struct rb_command pool_command = {
    .name = "rbrun --pool",
    .usage = "pool.yaml [options] [JOB.yaml ...]",
    .summary = "Carries out several jobs on nodes that they share. Jobs named here arrive at once, beside those of the file.",
    .examples = "  rbrun --pool examples/pool/pool.yaml\n"
                "  rbrun --pool pool.yaml a.yaml b.yaml --json\n",
    .options = pool_options,
    .min_args = 0,
    .max_args = -1,
};

// What is asked of a job's inputs, as rbplan would.
static const struct rb_option input_options[] = {
    {"set", 0, RB_OPT_STRING, true, "K=V", "", 0, 0},        {"deadline", 0, RB_OPT_STRING, false, "D", "", 0, 0},
    {"budget", 0, RB_OPT_STRING, false, "USD", "", 0, 0},    {"confidence", 0, RB_OPT_STRING, false, "P", "", 0, 0},
    {"seed", 0, RB_OPT_STRING, false, "N", "", 0, 0},        {"db", 0, RB_OPT_STRING, false, "FILE", "", 0, 0},
    POOL_INPUT_OPTIONS,                                      {0},
};
static const struct rb_command input_command = {.name = "rbrun --pool", .options = input_options, .min_args = 1, .max_args = 1};

static bool find_inputs(struct member *m, const struct rb_args *args, struct rb_err *err)
{
    static const char *const passed[] = {"db", "prices", "profile-file"};
    char *argv[8] = {(char *)"rbrun", (char *)m->spec->path};
    int argc = 2;
    for (int i = 0; i < 3; i++) {
        const char *value = rb_args_string(args, passed[i], NULL);
        if (value)
            argv[argc++] = rb_arena_printf(&m->pool->arena, "--%s=%s", passed[i], value);
    }
    struct rb_args own = {0};
    bool ok = rb_args_parse(&own, &input_command, argc, argv, err) && rb_plan_inputs_job(&m->inputs, &own, err);
    if (ok) {
        m->inputs.job.resources = m->pool->file.resources; // its own are not asked: it lives on the pool's
        ok = rb_plan_inputs_find(&m->inputs, &own, err);
    }
    rb_args_finish(&own);
    return ok || rb_err_prefix(err, "%s", m->spec->path);
}

static const char *beside(struct pool *p, const char *pool_path, const char *path)
{
    const char *slash = strrchr(pool_path, '/');
    if (path[0] == '/' || !slash)
        return path;
    return rb_arena_printf(&p->arena, "%.*s/%s", (int)(slash - pool_path), pool_path, path);
}

// A resume may be said from anywhere.
static bool make_absolute(struct pool *p, struct rb_pool_job *job, struct rb_err *err)
{
    char *real = realpath(job->path, NULL);
    if (!real)
        return rb_err_set(err, RB_ERR_NOT_FOUND, "%s: no such job file", job->path);
    job->path = rb_arena_strdup(&p->arena, real);
    free(real);
    return true;
}

static bool list_members(struct pool *p, const char *pool_path, const struct rb_args *args, struct rb_err *err)
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
        return rb_err_set(err, RB_ERR_INVALID, "%s lists no jobs, and none are named: add `jobs:` or JOB.yaml", pool_path);
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
    return rb_err_set(err, RB_ERR_INVALID, "policy: %.40s divides no pool; expected %s", file->policy, rb_buf_str(&known));
}

static bool make_members(struct pool *p, const struct rb_args *args, struct rb_err *err)
{
    p->n = p->file.n_jobs;
    p->members = rb_xcalloc((size_t)p->n, sizeof *p->members);
    for (int i = 0; i < p->n; i++) {
        p->members[i] = (struct member){.pool = p, .spec = &p->file.jobs[i], .number = -1};
        rb_arena_init(&p->members[i].files.arena);
    }
    for (int i = 0; i < p->n; i++) {
        if (!find_inputs(&p->members[i], args, err))
            return false;
    }
    return true;
}

static bool confirm(const struct pool *p, const struct rb_args *args, struct rb_err *err)
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
static bool prepare(struct pool *p, const struct rb_args *args, struct rb_err *err)
{
    const char *path = rb_args_string(args, "pool", NULL);
    char root[4096];
    struct rb_plan plan;
    if (!rb_pool_file_load(path, &p->arena, &p->file, err) || !check_policy(&p->file, err) ||
        !list_members(p, path, args, err) || !make_members(p, args, err) ||
        !rb_run_dir_root(rb_args_string(args, "state-dir", NULL), root, sizeof root, err) ||
        !open_owner(p, root, err))
        return false;
    for (int i = 0; i < p->n; i++) {
        if (!plan_member(&p->members[i], &plan, err))
            return rb_err_prefix(err, "%s", p->members[i].spec->path);
    }
    return confirm(p, args, err) && write_members(p, err);
}

static bool run_pool(const struct rb_args *args, int *out_code, struct rb_err *err)
{
    struct pool p = {.options = {.json = rb_args_flag(args, "json"), .quiet = true}};
    rb_arena_init(&p.arena);
    rb_arena_init(&p.files.arena);
    bool ok = prepare(&p, args, err);
    if (ok)
        rb_info("pool %s", p.files.run_id);
    ok = ok && begin(&p, err) && carry_out(&p, out_code, err);
    struct rb_err why;
    ok = close_all(&p, out_code, ok ? err : &why) && ok;
    finish(&p);
    return ok;
}

int rb_run_pool(int argc, char **argv)
{
    return rb_run_carry_out(&pool_command, run_pool, argc, argv);
}
