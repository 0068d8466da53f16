// rbrun --pool: several jobs on nodes that they share. One run owns the nodes; every job is a run of its own that borrows
// them; an arbiter divides the GPUs.
#include "commands/rbrun/rbrun_pool.h"

#include "base/file.h"
#include "base/errors/log.h"
#include "executor/journal/run_dir.h"
#include "executor/pool/pool_run.h"
#include "executor/run/checks.h"
#include "executor/run/ending.h"
#include "executor/run/infras.h"
#include "library/pool_plan.h"
#include "profiles/inputs/plan_inputs.h"
#include "providers/provider.h"
#include "views/run/pool_line.h"
#include "views/run/pool_serve.h"
#include "views/tables/pool_table.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// A pool and the inputs of its jobs' plans.
struct pool {
    struct rb_pool_run run;
    struct rb_plan_inputs *inputs; // [run.n]
    struct rb_pool_line line;
    bool json; // the report; events are written as text
};

// ---- output

// Prints it even if it cannot be saved.
static bool print_report(struct pool *p, const struct rb_pool_report *r, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT, kept = RB_BUF_INIT;
    struct rb_err why;
    struct rb_json j = {.out = &kept, .pretty = true};
    rb_pool_report_write(r, &j);
    rb_buf_putc(&kept, '\n');
    const bool is_kept = rb_pool_keep(&p->run, "pool-report.json", rb_buf_str(&kept), &why);
    const struct rb_text_style style = rb_text_style_of(STDOUT_FILENO);
    if (p->json) {
        rb_json_init(&j, &text, false);
        rb_pool_report_write(r, &j);
        rb_buf_putc(&text, '\n');
    } else {
        rb_pool_report_table(r, &style, &text);
    }
    return rb_print(&text, err) &&
           (is_kept || rb_err_set(err, rb_err_number(&why),
                                  "the pool's report was not kept: %s%s%s; make room, then run `rbrun resume %s`",
                                  why.file, why.file[0] ? ": " : "", why.message, r->run_id));
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

static bool find_inputs(struct pool *p, int job, struct rb_err *err)
{
    struct rb_plan_inputs *in = &p->inputs[job];
    const char *path = p->run.file.jobs[job].path;
    rb_plan_inputs_init(in, path);
    if (!rb_plan_inputs_job(in, NULL, 0, err))
        return rb_err_prefix(err, "%s", path);
    in->job.resources = p->run.file.resources; // it uses the pool's, not its own
    return rb_plan_inputs_find(in, &p->run.sources, rb_local_slots, err) || rb_err_prefix(err, "%s", path);
}

static bool plan_job(void *ctx, int job, struct rb_plan *out, struct rb_err *err)
{
    struct pool *p = ctx;
    return rb_pool_plan_job(&p->run.files.plan, &p->inputs[job], out, err) &&
           rb_job_check_supported(&p->inputs[job].job, err);
}

// Absolute if the file exists, because a resume may be started from any directory. A missing file is refused by its
// reader.
static const char *source(struct rb_pool_run *p, const struct rb_args *args, const char *option)
{
    const char *path = rb_args_string(args, option, NULL);
    RB_AUTO(rb_auto_free) char *real = path ? realpath(path, NULL) : NULL;
    return real ? rb_arena_strdup(&p->arena, real) : path;
}

// For jobs that have not begun.
static bool find_all_inputs(struct pool *p, struct rb_err *err)
{
    p->inputs = rb_xcalloc((size_t)p->run.n + 1, sizeof *p->inputs);
    for (int i = 0; i < p->run.n; i++) {
        if (!p->run.members[i].journal && !find_inputs(p, i, err))
            return false;
    }
    return true;
}

static bool confirm(const struct rb_pool_run *p, const struct rb_args *args, struct rb_err *err)
{
    char infra[1][64], what[256], rate[32];
    const struct rb_plan *plan = &p->files.plan;
    const int n = plan->stages[0].nodes[0].count;
    rb_run_infras(plan, infra, 1);
    snprintf(what, sizeof what, "rents %d x %s in %s until every job is over, %s an hour", n,
             plan->offers[0].instance_type, infra[0], rb_format_money(n * plan->offers[0].rate.uusd_per_hour, rate));
    return rb_infra_is_harmless(infra[0]) || rb_run_confirm(rb_args_flag(args, "yes"), what, err);
}

// Finds every mistake before the first node is launched.
static bool prepare(struct pool *p, const struct rb_args *args, struct rb_err *err)
{
    struct rb_pool_run *run = &p->run;
    const char *path = rb_args_string(args, "pool", NULL);
    char root[4096];
    struct rb_plan plan;
    if (!rb_run_serve_check(rb_args_string(args, "serve", NULL), err) ||
        !rb_pool_file_load(path, &run->arena, &run->file, err) || !rb_pool_check_policy(&run->file, err) ||
        !rb_pool_list_jobs(run, path, args->args, args->n_args, err))
        return false;
    run->sources = (struct rb_input_sources){source(run, args, "db"), source(run, args, "prices"),
                                             source(run, args, "profile-file")};
    if (!find_all_inputs(p, err) || !rb_run_dir_root(rb_run_state_dir(args), root, sizeof root, err) ||
        !rb_pool_plan_nodes(&run->file, &p->inputs[0], &plan, err) || !rb_pool_open_owner(run, root, &plan, err))
        return false;
    for (int i = 0; i < run->n; i++) {
        if (!rb_pool_plan_member(&run->members[i], &plan, err))
            return rb_err_prefix(err, "%s", run->members[i].spec->path);
    }
    return rb_run_check_open_files(&run->files.plan, run->n, err) && confirm(run, args, err) &&
           rb_pool_remember(run, err);
}

// Everything is reported as ended, or the user has left it as it is.
static bool conclude(struct pool *p, int *out_code, struct rb_err *err)
{
    struct rb_pool_report report;
    if (p->run.left) {
        *out_code = 1;
        return true;
    }
    if (!rb_pool_run_report(&p->run, &report, err) || !print_report(p, &report, err))
        return false;
    if (p->run.failure.code)
        *err = p->run.failure;
    return !p->run.failure.code;
}

static void finish(struct pool *p)
{
    const int n = p->run.n;
    rb_pool_run_finish(&p->run);
    for (int i = 0; p->inputs && i < n; i++)
        rb_plan_inputs_finish(&p->inputs[i]);
    free(p->inputs);
}

// What has not begun.
static void drop(struct pool *p, int *out_code)
{
    struct rb_err why;
    rb_pool_run_end(&p->run, out_code, &why);
    finish(p);
}

static bool work(struct pool *p, int *out_code, struct rb_err *err)
{
    struct rb_err why;
    const bool ok = rb_pool_run_carry_out(&p->run, err) && conclude(p, out_code, err);
    if (rb_pool_run_end(&p->run, out_code, &why))
        return ok;
    if (!ok)
        rb_warn("%s", err->message);
    *err = why; // reports the state of the nodes
    return false;
}

static bool carry_out(struct pool *p, const struct rb_args *args, struct rb_err *err)
{
    rb_info("pool %s", p->run.files.run_id);
    struct rb_run_serve *serve = rb_run_serve_begin_with(rb_args_string(args, "serve", NULL), rb_run_state_dir(args),
                                                         p->run.files.run_id, rb_pool_serve_open);
    rb_run_ending_clear(p->run.files.dir);
    const bool ok = work(p, args->out_code, err);
    rb_run_ending_keep(p->run.files.dir, ok ? *args->out_code : rb_err_exit_code(err), ok ? NULL : err);
    finish(p);
    rb_run_serve_end(serve, ok && *args->out_code != 1); // 1: left before the end
    return ok;
}

static void init(struct pool *p, const struct rb_args *args)
{
    *p = (struct pool){.run = {.options = {.quiet = true}}, .json = rb_args_flag(args, "json")};
    p->run.plan_job = plan_job;
    p->run.plan_ctx = p;
    rb_pool_line_init(&p->line, &p->run, p->json);
}

static bool run_pool(const struct rb_args *args, struct rb_err *err)
{
    struct pool p;
    init(&p, args);
    if (prepare(&p, args, err))
        return carry_out(&p, args, err);
    drop(&p, args->out_code);
    return false;
}

const struct rb_command rb_run_pool = {
    .name = "rbrun --pool",
    .usage = "pool.yaml [options] [JOB.yaml ...]",
    .summary =
        "Carries out several jobs on nodes that they share. Jobs named here arrive at once, beside those of the file.",
    .examples = "  rbrun --pool examples/pool/pool.yaml\n"
                "  rbrun --pool pool.yaml a.yaml b.yaml --json\n",
    .options = pool_options,
    .min_args = 0,
    .max_args = -1,
    .run = run_pool,
};

// ---- rbrun resume

static bool reopen(struct pool *p, const struct rb_args *args, struct rb_err *err)
{
    if (!rb_pool_reopen(&p->run, rb_run_state_dir(args), err))
        return false;
    if (rb_args_nth(args, "db", 0))
        p->run.sources.db = source(&p->run, args, "db");
    return find_all_inputs(p, err);
}

bool rb_pool_resume(struct rb_run_files *files, struct rb_journal *journal, const struct rb_args *args, bool detached,
                    struct rb_err *err)
{
    struct pool p;
    bool complete;
    init(&p, args);
    p.run.files = *files;
    p.run.journal = journal;
    *files = (struct rb_run_files){0}; // ownership has passed on
    if (reopen(&p, args, err) && rb_pool_is_complete(&p.run, &complete, err) &&
        (complete || rb_run_check_open_files(&p.run.files.plan, p.run.n, err))) {
        p.run.options.go_on = !complete;
        p.run.options.detached = detached;
        return carry_out(&p, args, err);
    }
    drop(&p, args->out_code);
    return false;
}
