// rbsim: runs a job through a tuner and an allocation policy in virtual time, replicate after replicate: the engine that
// rbrun drives, with delays drawn from the profile and learning curves made up.
#include "base/limits.h"
#include "base/log.h"
#include "commands/rbplan_infeasible.h"
#include "commands/rbplan_inputs.h"
#include "engine/policy.h"
#include "planner/planner.h"
#include "providers/digest.h"
#include "simulator/evaluate.h"
#include "simulator/world.h"
#include "views/text_table.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_REPLICATES 100
#define PLAN_SAMPLES       4096

static const struct rb_option options[] = {
    {"plan", 0, RB_OPT_STRING, false, "FILE", "plan to carry out (default: plan the job first)", 0, 0},
    {"tuner", 0, RB_OPT_STRING, false, "NAME", "sha, hyperband, asha, random or grid (default: the job's)", 0, 0},
    {"policy", 0, RB_OPT_STRING, false, "NAME", "elastic or static (default: the plan's)", 0, 0},
    {"replicates", 0, RB_OPT_INT, false, "N", "simulated runs (default 100)", 1, 1000000},
    {"seed", 0, RB_OPT_STRING, false, "S", "seed of every draw (default: the plan's, else the job's)", 0, 0},
    {"json", 0, RB_OPT_FLAG, false, NULL, "print one rb-sim/1 document", 0, 0},
    {"set", 0, RB_OPT_STRING, true, "KEY=VALUE", "override a key of the job; not with --plan", 0, 0},
    {"deadline", 0, RB_OPT_STRING, false, "D", "deadline to plan for; not with --plan", 0, 0},
    {"budget", 0, RB_OPT_STRING, false, "USD", "budget to plan for; not with --plan", 0, 0},
    {"confidence", 0, RB_OPT_STRING, false, "P", "probability to plan for; not with --plan", 0, 0},
    {"profile-file", 0, RB_OPT_STRING, false, "FILE", "profile to plan with (default: as rbplan)", 0, 0},
    {"prices", 0, RB_OPT_STRING, false, "FILE", "price list to plan with (default: as rbplan)", 0, 0},
    {"trace", 0, RB_OPT_STRING, false, "FILE", "not supported yet", 0, 0},
    {"curves", 0, RB_OPT_STRING, false, "FILE", "not supported yet", 0, 0},
    {"apps", 0, RB_OPT_STRING, false, "DIR", "not supported yet", 0, 0},
    {"gantt", 0, RB_OPT_STRING, false, "FILE", "not supported yet", 0, 0},
    {"db", 0, RB_OPT_STRING, false, "FILE", "profile store (default: RB_DB, else the user's own)", 0, 0},
    {0},
};

static const struct rb_command command = {
    .name = "rbsim",
    .usage = "[options] JOB.yaml",
    .summary = "Runs a tuning job in virtual time, many times over, and says what it takes, costs and finds.",
    .examples = "  rbsim job.yaml\n"
                "  rbsim --plan plan.json --replicates 1000 job.yaml\n"
                "  rbsim --plan plan.json --policy static --json job.yaml\n",
    .options = options,
    .min_args = 0, // with --trace there is no job
    .max_args = 1,
};

static const char *const unsupported[] = {"trace", "curves", "apps", "gantt"};
static const char *const planning_only[] = {"deadline", "budget", "confidence", "profile-file", "prices", "set"};

// ---- the plan to run

struct simulation {
    struct rb_plan_inputs in;
    struct rb_doc plan_doc;
    struct rb_plan plan;
    uint64_t seed;
    int n;
    bool json;
    bool *out_told; // an infeasible request with --json has printed its own document
};

static void write_config(const struct rb_job *job, struct rb_buf *out)
{
    struct rb_json j;
    rb_json_init(&j, out, false);
    rb_job_write(job, &j);
}

// The plan carries its own copy of the job, and that is what runs. Constraints may have come from rbplan's flags.
static void warn_if_changed(const struct simulation *sim)
{
    struct rb_buf file = RB_BUF_INIT, planned = RB_BUF_INIT;
    struct rb_job job = sim->in.job;
    job.deadline_us = sim->plan.job->deadline_us;
    job.deadline_at_us = sim->plan.job->deadline_at_us;
    job.budget_uusd = sim->plan.job->budget_uusd;
    job.confidence = sim->plan.job->confidence;
    write_config(&job, &file);
    write_config(sim->plan.job, &planned);
    if (strcmp(rb_buf_str(&file), rb_buf_str(&planned)) != 0)
        rb_warn("%s is not the job that the plan was made for; the plan's own copy is simulated", sim->in.job_path);
    rb_buf_finish(&file);
    rb_buf_finish(&planned);
}

static bool read_plan(struct simulation *sim, const struct rb_args *args, const char *path, struct rb_err *err)
{
    for (size_t i = 0; i < sizeof planning_only / sizeof planning_only[0]; i++) {
        if (rb_args_nth(args, planning_only[i], 0))
            return rb_err_set(err, RB_ERR_INVALID, "--%s changes what is planned: leave out --plan, or make the plan anew",
                              planning_only[i]);
    }
    if (!rb_doc_read(&sim->plan_doc, path, err) ||
        !rb_plan_read(sim->plan_doc.root, rb_digest_sha256, &sim->in.arena, &sim->plan, err))
        return false;
    if (!rb_args_string(args, "seed", NULL))
        sim->seed = sim->plan.seed;
    warn_if_changed(sim);
    return true;
}

static bool make_plan(struct simulation *sim, const struct rb_args *args, struct rb_err *err)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    struct rb_plan_result result;
    if (!rb_plan_inputs_find(&sim->in, args, err))
        return false;
    const struct rb_plan_request request = {
        .job = &sim->in.job,
        .profile = &sim->in.profile,
        .catalog = &sim->in.catalog,
        .deadline_us = sim->in.job.deadline_us,
        .budget_uusd = sim->in.job.budget_uusd,
        .confidence = sim->in.job.confidence,
        .objective = sim->in.job.objective,
        .seed = sim->in.job.seed,
        .samples = PLAN_SAMPLES,
        .threads = cores > 0 ? (int)cores : 1,
    };
    if (rb_make_plan(&request, "optimal", &sim->in.arena, &sim->plan, &result, err))
        return true;
    struct rb_err io;
    if (err->code != RB_ERR_INFEASIBLE || !sim->json)
        return false;
    if (rb_infeasible_print(&result, &io))
        *sim->out_told = true;
    else
        *err = io;
    return false;
}

// A plan's stages are those of its tuner.
static bool check_tuner(const struct rb_plan *plan, const struct rb_args *args, struct rb_err *err)
{
    const char *planned = plan->job->scheduler.type, *name = rb_args_string(args, "tuner", planned);
    if (strcmp(name, planned) == 0)
        return rb_job_check_supported(plan->job, err);
    return rb_err_set(err, RB_ERR_INVALID, "--tuner %.40s: the plan was made for %s; leave out --plan to plan anew", name,
                      planned);
}

static bool prepare(struct simulation *sim, const struct rb_args *args, struct rb_err *err)
{
    const char *plan = rb_args_string(args, "plan", NULL);
    if (!rb_plan_inputs_job(&sim->in, args, err))
        return false;
    sim->seed = sim->in.job.seed;
    if (plan) {
        if (!read_plan(sim, args, plan, err) || !check_tuner(&sim->plan, args, err))
            return false;
    } else {
        sim->in.job.scheduler.type = rb_args_string(args, "tuner", sim->in.job.scheduler.type);
        if (!rb_job_check_supported(&sim->in.job, err) || !make_plan(sim, args, err))
            return false;
    }
    sim->plan.policy = rb_args_string(args, "policy", sim->plan.policy);
    return true;
}

// ---- running

struct results {
    int64_t *time_us, *cost_uusd; // [n]
    double metric_sum, metric_squares;
    int n_metrics;                // runs in which a trial reported anything finite
    int n_kept;                   // runs within deadline and budget
};

static void add_result(struct results *r, int i, const struct rb_plan *plan, const struct rb_world_result *w)
{
    r->time_us[i] = w->time_us;
    r->cost_uusd[i] = w->cost_uusd;
    r->n_kept += (plan->deadline_us < 0 || w->time_us <= plan->deadline_us) &&
                 (plan->budget_uusd < 0 || w->cost_uusd <= plan->budget_uusd);
    if (w->best_trial >= 0 && isfinite(w->best_metric)) {
        r->metric_sum += w->best_metric;
        r->metric_squares += w->best_metric * w->best_metric;
        r->n_metrics++;
    }
}

// No run is stopped at its deadline or budget: the whole distribution is shown.
static bool run_replicates(const struct simulation *sim, struct results *out, struct rb_err *err)
{
    const struct rb_plan *plan = &sim->plan;
    struct rb_scenario scenario;
    struct rb_world_options opt = {.deadline_us = -1, .budget_uusd = -1};
    bool ok = rb_scenario_init(&scenario, plan->job, plan->profile, plan->offers, plan->n_offers, plan->catalog,
                               sim->seed, err);
    if (!ok)
        return false;
    for (int i = 0; i < sim->n && ok; i++) {
        struct rb_world_result w;
        opt.replicate = (uint32_t)i;
        ok = rb_world_run(&scenario, plan, &opt, &w, err) || rb_err_prefix(err, "replicate %d", i);
        if (ok)
            add_result(out, i, plan, &w);
    }
    rb_scenario_finish(&scenario);
    return ok;
}

static double metric_mean(const struct results *r)
{
    return r->metric_sum / r->n_metrics;
}

static double metric_sd(const struct results *r)
{
    const double mean = metric_mean(r);
    return r->n_metrics > 1 ? sqrt(fmax(0, r->metric_squares - r->n_metrics * mean * mean) / (r->n_metrics - 1)) : 0;
}

// ---- showing

static void write_quantiles(struct rb_json *j, const char *key, const struct rb_quantiles *q)
{
    rb_json_key(j, key);
    rb_json_begin_object(j);
    rb_json_kint(j, "mean", q->mean);
    rb_json_kint(j, "p5", q->p5);
    rb_json_kint(j, "p50", q->p50);
    rb_json_kint(j, "p95", q->p95);
    rb_json_kint(j, "p99", q->p99);
    rb_json_end_object(j);
}

static void write_json(const struct simulation *sim, const struct results *r, const struct rb_quantiles *time_us,
                       const struct rb_quantiles *cost_uusd, struct rb_buf *out)
{
    struct rb_json j;
    rb_json_init(&j, out, false);
    rb_json_begin_object(&j);
    rb_json_kstring(&j, "format", "rb-sim/1");
    rb_json_kstring(&j, "tuner", sim->plan.job->scheduler.type);
    rb_json_kstring(&j, "policy", sim->plan.policy);
    rb_json_kint(&j, "replicates", sim->n);
    write_quantiles(&j, "time_us", time_us);
    write_quantiles(&j, "cost_uusd", cost_uusd);
    rb_json_key(&j, "best_metric");
    if (r->n_metrics > 0) {
        rb_json_begin_object(&j);
        rb_json_kdouble(&j, "mean", metric_mean(r));
        rb_json_kdouble(&j, "sd", metric_sd(r));
        rb_json_end_object(&j);
    } else {
        rb_json_null(&j);
    }
    rb_json_end_object(&j);
    rb_buf_putc(out, '\n');
}

typedef char *format_fn(int64_t value, char out[static 32]);

static void quantile_row(struct rb_text_table *t, const char *name, const struct rb_quantiles *q, format_fn *format)
{
    const int64_t values[] = {q->mean, q->p5, q->p50, q->p95, q->p99};
    rb_text_table_cell(t, "%s", name);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char text[32];
        rb_text_table_cell(t, "%s", format(values[i], text));
    }
}

static void write_table(const struct simulation *sim, const struct results *r, const struct rb_quantiles *time_us,
                        const struct rb_quantiles *cost_uusd, struct rb_buf *out)
{
    static const struct rb_text_column columns[] = {{"", false, 0},    {"mean", true, 0}, {"p5", true, 2},
                                                    {"p50", true, 3}, {"p95", true, 4},  {"p99", true, 1}};
    const struct rb_text_style style = {.width = rb_text_width(STDOUT_FILENO), .colour = rb_colour(STDOUT_FILENO)};
    struct rb_text_table table;
    rb_buf_printf(out, "%s: tuner %s, policy %s, %d simulated runs\n\n", sim->plan.job->name,
                  sim->plan.job->scheduler.type, sim->plan.policy, sim->n);
    rb_text_table_init(&table, columns, 6);
    quantile_row(&table, "time", time_us, rb_format_duration);
    quantile_row(&table, "cost", cost_uusd, rb_format_money);
    rb_text_table_write(&table, &style, out);
    rb_text_table_finish(&table);
    rb_buf_putc(out, '\n');
    if (sim->plan.deadline_us >= 0 || sim->plan.budget_uusd >= 0)
        rb_buf_printf(out, "within deadline and budget: %d of %d\n", r->n_kept, sim->n);
    if (r->n_metrics > 0)
        rb_buf_printf(out, "best %s: %.4f (sd %.4f)\n", sim->plan.job->metric_name, metric_mean(r), metric_sd(r));
}

static bool show(const struct simulation *sim, struct results *r, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    const struct rb_quantiles time_us = rb_quantiles_of(r->time_us, sim->n);
    const struct rb_quantiles cost_uusd = rb_quantiles_of(r->cost_uusd, sim->n);
    if (sim->json)
        write_json(sim, r, &time_us, &cost_uusd, &out);
    else
        write_table(sim, r, &time_us, &cost_uusd, &out);
    if (fwrite(rb_buf_str(&out), 1, out.len, stdout) != out.len || fflush(stdout) != 0)
        return rb_err_set(err, RB_ERR_IO, "cannot write to stdout: %s", strerror(errno));
    return true;
}

// ---- the command

static bool check_options(const struct rb_args *args, struct rb_err *err)
{
    for (size_t i = 0; i < sizeof unsupported / sizeof unsupported[0]; i++) {
        if (rb_args_nth(args, unsupported[i], 0))
            return rb_err_set(err, RB_ERR_INVALID, "not supported yet: --%s", unsupported[i]);
    }
    const char *tuner = rb_args_string(args, "tuner", NULL), *policy = rb_args_string(args, "policy", NULL);
    if (tuner && !rb_tuner_find(tuner))
        return rb_err_set(err, RB_ERR_INVALID,
                          "not supported yet: --tuner %.40s; expected sha, hyperband, asha, random or grid", tuner);
    if (policy && !rb_policy_find(policy))
        return rb_err_set(err, RB_ERR_INVALID, "not supported yet: --policy %.40s; expected elastic or static", policy);
    return args->n_args == 1 ||
           rb_err_set(err, RB_ERR_INVALID, "expected a job file: rbsim job.yaml (see rbsim --help)");
}

static void finish(struct simulation *sim)
{
    rb_doc_finish(&sim->plan_doc);
    rb_plan_inputs_finish(&sim->in);
}

static bool run(const struct rb_args *args, bool *out_told, struct rb_err *err)
{
    if (!check_options(args, err))
        return false;
    RB_AUTO(finish) struct simulation sim = {.n = (int)rb_args_int(args, "replicates", DEFAULT_REPLICATES),
                                             .json = rb_args_flag(args, "json"),
                                             .out_told = out_told};
    if (!prepare(&sim, args, err))
        return false;
    rb_info("learning curves are synthetic (the family of HyperSched's ablations): no --curves were given");
    RB_AUTO(rb_auto_free) int64_t *values = rb_xcalloc(2 * (size_t)sim.n, sizeof *values);
    struct results results = {.time_us = values, .cost_uusd = values + sim.n};
    return run_replicates(&sim, &results, err) && show(&sim, &results, err);
}

static bool asks_for_json(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0)
            return true;
    }
    return false;
}

int main(int argc, char **argv)
{
    struct rb_args args = {0};
    struct rb_err err = {0};
    bool told = false, ok = rb_args_parse(&args, &command, argc, argv, &err);
    if (ok && args.help)
        rb_command_help(&command);
    else
        ok = ok && run(&args, &told, &err);
    if (!ok && !told)
        rb_err_print(&err, command.name, asks_for_json(argc, argv));
    rb_args_finish(&args);
    return ok ? 0 : rb_err_exit_code(&err);
}
