// rbsim: runs a job through a tuner and an allocation policy in virtual time, replicate after replicate. It uses the
// engine that rbrun uses, with delays sampled from the profile and learning curves that were measured before or are
// synthetic.
#include "commands/rbsim/rbsim.h"

#include "base/file.h"
#include "base/limits.h"
#include "base/errors/log.h"
#include "base/open_files.h"
#include "commands/program.h"
#include "engine/core/policy.h"
#include "executor/rehearsal/rehearsal.h"
#include "views/live/waiting_line.h"
#include "views/simulations/sim_gantt.h"
#include "views/simulations/sim_regret.h"
#include "views/simulations/sim_table.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_REPLICATES 100

static const struct rb_option options[] = {
    {"plan", 0, RB_OPT_STRING, false, "FILE", "plan to execute (default: plan the job first)", 0, 0},
    {"nodes", 0, RB_OPT_INT, true, "N", "no plan: a fixed cluster of N nodes", 1, RB_LIMIT_NODES},
    {"instance-type", 0, RB_OPT_STRING, true, "T", "of these nodes (default: the cheapest allowed)", 0, 0},
    {"gpus-per-trial", 0, RB_OPT_INT, false, "G", "on these nodes (default: the job's smallest size)", 1, 4096},
    {"tuner", 0, RB_OPT_STRING, false, "NAME", "a scheduler.type: asha, hyperband, sha, ... (default: the job's)", 0, 0},
    {"policy", 0, RB_OPT_STRING, false, "NAME", "the allocation policy (default: the plan's, else the job's)", 0, 0},
    {"compare", 0, RB_OPT_STRING, true, "LIST", "TUNER[/SAMPLER]:POLICY[:KEY=VALUE]...,...: each against the first", 0, 0},
    {"replicates", 0, RB_OPT_INT, false, "N", "simulated runs (default 100)", 1, 1000000},
    {"curves", 0, RB_OPT_STRING, false, "FILE", "learning curves: CSV, events.jsonl, a directory, synthetic[:b0=B]", 0,
     0},
    {"blackbox", 0, RB_OPT_STRING, false, "FILE", "a table that stands for training: FAMILY_TASK.csv[.gz], FAMILY.yaml beside it",
     0, 0},
    {"record", 0, RB_OPT_STRING, false, "FILE", "no job: make such a table of the named runs of rbrun: rbsim --record F_T.csv RUN...",
     0, 0},
    {"market", 0, RB_OPT_STRING, false, "FILE", "spot machines as a table of capacity had them: FILE[:SET][@START]", 0, 0},
    {"cold", 0, RB_OPT_FLAG, false, NULL, "searches start without the results of earlier runs with the same parameters", 0, 0},
    {"seed", 0, RB_OPT_STRING, false, "S", "seed of every draw (default: the plan's, else the job's)", 0, 0},
    {"replan", 0, RB_OPT_FLAG, false, NULL, "runs get other nodes to keep their limits, as under on_drift: replan", 0, 0},
    {"stop-at-deadline", 0, RB_OPT_FLAG, false, NULL, "end every run there (default: if a policy works towards it)", 0,
     0},
    {"gantt", 0, RB_OPT_STRING, false, "FILE", "draw the first run: FILE.svg or FILE.html", 0, 0},
    {"regret", 0, RB_OPT_STRING, false, "FILE",
     "with --blackbox: draw regret over dollars, and the dollars to the target: FILE.svg or FILE.html", 0, 0},
    {"events", 0, RB_OPT_STRING, false, "FILE", "write the events of the first run, as rbrun writes its events.jsonl", 0, 0},
    {"json", 0, RB_OPT_FLAG, false, NULL, "print one rb-sim/1 or rb-sim-compare/1 document", 0, 0},
    {"set", 0, RB_OPT_STRING, true, "KEY=VALUE", "override a key of the job; not with --plan", 0, 0},
    {"deadline", 0, RB_OPT_STRING, false, "D", "deadline of the job; not with --plan", 0, 0},
    {"budget", 0, RB_OPT_STRING, false, "USD", "budget to plan for; not with --plan", 0, 0},
    {"confidence", 0, RB_OPT_STRING, false, "P", "probability to plan for; not with --plan", 0, 0},
    {"guess", 0, RB_OPT_STRING, false, "K=V,...",
     "simulate with a guess: unit=4m,on=A10G,from=feeling, or measured=A10G", 0, 0},
    {"profile-file", 0, RB_OPT_STRING, false, "FILE", "profile to plan with (default: as rbplan)", 0, 0},
    {"prices", 0, RB_OPT_STRING, false, "FILE", "price list to plan with (default: as rbplan)", 0, 0},
    {"trace", 0, RB_OPT_STRING, false, "FILE", "no job: the jobs of a trace on one shared cluster", 0, 0},
    {"apps", 0, RB_OPT_STRING, false, "DIR", "with --trace: the measured applications that it names", 0, 0},
    {"rules", 0, RB_OPT_STRING, false, "NAME", "with --trace: events (default), or osdi21 as published", 0, 0},
    {"gpus-per-node", 0, RB_OPT_INT, false, "G", "with --trace (default 4); and --nodes, default 16", 1,
     RB_LIMIT_GPUS_PER_NODE},
    {"round", 0, RB_OPT_DURATION, false, "D", "with --trace: between two rounds of its policy (default 60s)", 0, 0},
    {"restart", 0, RB_OPT_DURATION, false, "D", "with --trace: what a change of placement costs a job (default 30s)", 0,
     0},
    {"fairness-p", 0, RB_OPT_DOUBLE, false, "P",
     "with --trace: power of the mean over jobs (default: pollux -1, goodput 0)", -100, 100},
    {"interference", 0, RB_OPT_DOUBLE, false, "X", "with --trace: progress lost by jobs that share a node's network", 0,
     0.99},
    {"allow-interference", 0, RB_OPT_FLAG, false, NULL, "with --trace: pollux may put such jobs on one node", 0, 0},
    {"usd-per-gpu-hour", 0, RB_OPT_STRING, true, "USD",
     "with --trace: or --prices FILE --instance-type T; several: with a --nodes beside each", 0, 0},
    {"at-once", 0, RB_OPT_INT, false, "N", "with --trace: at most N jobs at a time, the next one when one ends", 1,
     1000000},
    {"autoscale", 0, RB_OPT_STRING, false, "RULE",
     "with --trace: marginal, throughput or utility decides how many of --nodes are owned (default: all, throughout)",
     0, 0},
    {"min-nodes", 0, RB_OPT_INT, false, "N", "with --autoscale: own at least N nodes (default 1)", 1, RB_LIMIT_NODES},
    {"least-worth", 0, RB_OPT_DOUBLE, false, "X",
     "with --autoscale: the least value of a GPU, relative to the first (default: the rule's)", 0.01, 1},
    {"provision-cv", 0, RB_OPT_DOUBLE, false, "CV", "with --autoscale: spread of that delay, log-normal (default 0)", 0,
     10},
    {"provision", 0, RB_OPT_DURATION, false, "D",
     "with --autoscale: from a request to a node that is ready (default 2m)", 0, 0},
    {"db", 0, RB_OPT_STRING, false, "FILE", "profile store (default: RB_DB, else the user's own)", 0, 0},
    {0},
};

// ---- the command

static bool check_names(const struct rb_args *args, struct rb_err *err)
{
    const char *tuner = rb_args_string(args, "tuner", NULL), *policy = rb_args_string(args, "policy", NULL);
    RB_AUTO(rb_buf_finish) struct rb_buf known = RB_BUF_INIT;
    if (tuner && !rb_tuner_find(tuner)) {
        for (int i = 0; rb_tuners[i]; i++)
            rb_buf_printf(&known, "%s%s", i == 0 ? "" : rb_tuners[i + 1] ? ", " : " or ", rb_tuners[i]->name);
        return rb_err_set(err, RB_E_OPTION_VALUE, "unknown tuner: --tuner %.40s; expected %s", tuner, rb_buf_str(&known));
    }
    if (!policy || rb_policy_find_alone(policy))
        return true;
    for (int i = 0; rb_policies[i]; i++) {
        if (!rb_policies[i]->on_lent_gpus)
            rb_buf_printf(&known, "%s%s", i == 0 ? "" : rb_policies[i + 1] ? ", " : " or ", rb_policies[i]->name);
    }
    return rb_err_set(err, RB_E_OPTION_VALUE, "not supported yet: --policy %.40s; expected %s", policy,
                      rb_buf_str(&known));
}

static const char *const of_traces[] = {"apps",
                                        "rules",
                                        "gpus-per-node",
                                        "round",
                                        "restart",
                                        "fairness-p",
                                        "interference",
                                        "allow-interference",
                                        "usd-per-gpu-hour",
                                        "at-once",
                                        "autoscale",
                                        "least-worth",
                                        "min-nodes",
                                        "provision",
                                        "provision-cv"};

static bool check_regret(const struct rb_args *args, struct rb_err *err)
{
    const char *path = rb_args_string(args, "regret", NULL);
    if (path && !rb_args_nth(args, "blackbox", 0))
        return rb_err_set(err, RB_E_OPTION_ALONE,
                          "--regret %s: expected --blackbox FILE beside it: only a table knows the best there is", path);
    return !path || rb_has_ending(path, ".svg") || rb_has_ending(path, ".html") ||
           rb_err_set(err, RB_E_PICTURE_NAME, "--regret %s: expected a name that ends with .svg or .html", path);
}

static bool check_options(const struct rb_args *args, struct rb_err *err)
{
    if (rb_args_nth(args, "nodes", 1) || rb_args_nth(args, "instance-type", 1))
        return rb_err_set(err, RB_E_OPTION_REPEATED,
                          "--nodes, --instance-type: expected once; several need --trace FILE");
    if (rb_args_nth(args, "events", 0) && rb_args_nth(args, "compare", 0))
        return rb_err_set(err, RB_E_OPTIONS_CONFLICT, "--events %s: expected one variant, not --compare",
                          rb_args_string(args, "events", NULL));
    for (int g = 0; g < args->n_given; g++) {
        for (size_t i = 0; i < sizeof of_traces / sizeof of_traces[0]; i++) {
            if (strcmp(args->given[g].option->name, of_traces[i]) == 0)
                return rb_err_set(err, RB_E_OPTION_ALONE, "--%s: expected --trace FILE beside it", of_traces[i]);
        }
    }
    return check_names(args, err) && check_regret(args, err) &&
           (args->n_args == 1 ||
            rb_err_set(err, RB_E_OPERANDS, "expected a job file: rbsim job.yaml (see rbsim --help)"));
}

static void say_table(const struct rb_sim_command *c)
{
    const struct rb_blackbox *t = &c->table;
    rb_info("configurations, learning curves%s are those of %s: %d rows to %d, best %s %g, median %g",
            t->unit_s ? " and seconds" : "", t->path, t->n_rows, t->max_resource, t->metric_name, t->best, t->median);
}

static void say_curves(const struct rb_sim_command *c)
{
    if (c->sim.table) {
        say_table(c);
        return;
    }
    const struct rb_job *job = c->sim.variants[0].plan.job;
    const bool given = rb_args_string(c->args, "curves", NULL) != NULL;
    rb_info("learning curves are %s%s", c->sim.curves.says, given ? "" : ": no --curves were given");
    if (c->sim.curves.n > 0 && c->sim.curves.shortest < job->scheduler.max_resource)
        rb_warn("a curve ends at %lld, trials train to %lld: beyond its end it stays as it was",
                (long long)c->sim.curves.shortest, (long long)job->scheduler.max_resource);
}

static bool run_and_show(struct rb_sim_command *c, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    const char *gantt = rb_args_string(c->args, "gantt", NULL), *events = rb_args_string(c->args, "events", NULL),
               *regret = rb_args_string(c->args, "regret", NULL);
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (!rb_curves_open(rb_args_string(c->args, "curves", NULL), c->sim.seed, c->sim.variants[0].plan.job->goal,
                        &c->in.arena, &c->sim.curves, err))
        return false;
    say_curves(c);
    struct rb_waiting_line *waiting = rb_waiting_line_begin("simulating", "fewer --replicates take less");
    rb_sim_use_programs(c);
    const bool ok =
        rb_simulate(&c->sim, cores > 0 ? (int)cores : 1, err) && rb_sim_programs_kept(c, err) &&
        (!gantt || rb_sim_gantt_save(&c->sim, gantt, err)) &&
        (!regret || rb_sim_regret_save(&c->sim, regret, err)) &&
        (!events || rb_sim_save_events(&c->sim, events, err));
    rb_waiting_line_end(waiting);
    if (!ok)
        return false;
    if (c->sim.n_variants > 1)
        rb_sim_show_comparison(&c->sim, c->json, &out);
    else
        rb_sim_show(&c->sim, c->json, &out);
    return rb_print(&out, err);
}

static bool check_table_options(const struct rb_args *args, struct rb_err *err)
{
    static const char *const others[] = {"plan", "curves"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (rb_args_nth(args, others[i], 0))
            return rb_err_set(err, RB_E_OPTIONS_CONFLICT,
                              "--blackbox has configurations and curves of its own: leave out --%s", others[i]);
    return true;
}

// --tuner and --policy are keys of the job, read with it: defaults of other keys depend on them.
static bool load_job(struct rb_sim_command *c, struct rb_err *err)
{
    const char *tuner = rb_args_string(c->args, "tuner", NULL), *policy = rb_args_string(c->args, "policy", NULL);
    const char *last[2];
    char type[64], name[64];
    struct rb_job_overrides besides = {.first = c->defaults, .n_first = c->n_defaults, .last = last};
    if (rb_args_nth(c->args, "plan", 0))
        return rb_args_job(c->args, NULL, &c->in, err); // the plan's own job is simulated
    snprintf(type, sizeof type, "scheduler.type=%s", tuner ? tuner : "");
    snprintf(name, sizeof name, "policy=%s", policy ? policy : "");
    if (tuner)
        last[besides.n_last++] = type;
    if (policy)
        last[besides.n_last++] = name;
    return rb_args_job(c->args, &besides, &c->in, err) && (!c->sim.table || rb_sim_fit_table(c, &c->in.job, err));
}

static bool let_replan(struct rb_sim_command *c, struct rb_err *err)
{
    if (!rb_args_flag(c->args, "replan"))
        return true;
    for (int i = 0; i < c->sim.n_variants; i++) {
        const struct rb_plan *plan = &c->sim.variants[i].plan;
        if (strcmp(plan->policy, "elastic") != 0)
            return rb_err_set(err, RB_E_OPTIONS_CONFLICT, "--replan: expected policy elastic, whose nodes can be changed; got %s",
                              plan->policy);
        if (plan->deadline_us < 0 && plan->budget_uusd < 0)
            return rb_err_set(err, RB_E_OPTION_ALONE, "--replan: expected a limit to keep: --deadline D, --budget USD or those keys");
    }
    c->sim.reactor = rb_rehearsal_begin;
    return true;
}

static void finish(struct rb_sim_command *c)
{
    for (int i = 0; i < c->sim.n_variants; i++)
        rb_sim_variant_finish(&c->sim.variants[i], c->sim.n);
    rb_blackbox_finish(&c->table);
    rb_arena_finish(&c->table_arena);
    rb_doc_finish(&c->plan_doc);
    rb_plan_inputs_finish(&c->in);
}

static bool run(const struct rb_args *args, struct rb_err *err)
{
    if (rb_args_nth(args, "trace", 0))
        return rb_sim_trace(args, err);
    if (rb_args_nth(args, "record", 0))
        return rb_sim_record(args, err);
    if (!check_options(args, err))
        return false;
    RB_AUTO(finish)
    struct rb_sim_command c = {
        .args = args,
        .sim = {.n = (int)rb_args_int(args, "replicates", DEFAULT_REPLICATES),
                .stop_at_deadline = rb_args_flag(args, "stop-at-deadline")},
        .json = rb_args_flag(args, "json"),
    };
    return (!rb_args_nth(args, "blackbox", 0) || (check_table_options(args, err) && rb_sim_open_table(&c, err))) &&
           load_job(&c, err) && rb_sim_name_variants(&c, err) && rb_sim_make_plans(&c, err) && rb_sim_open_market(&c, err) &&
           let_replan(&c, err) && rb_sim_recall(&c, err) && run_and_show(&c, err);
}

static const struct rb_command command = {
    .name = "rbsim",
    .usage = "[options] JOB.yaml | --trace TRACE.csv --apps DIR | --record FAMILY_TASK.csv RUN...",
    .summary = "Runs a tuning job in virtual time, many times over, and reports time, cost and results.",
    .examples = "  rbsim job.yaml\n"
                "  rbsim --plan plan.json --replicates 1000 job.yaml\n"
                "  rbsim --plan plan.json --replicates 1000 --replan job.yaml\n"
                "  rbsim --nodes 4 --tuner asha --policy static --gantt run.svg job.yaml\n"
                "  rbsim --nodes 1 --deadline 30m --compare asha:static,asha:hypersched --curves measured/ job.yaml\n"
                "  rbsim --blackbox tables/lcbench_3945.csv.gz --nodes 2 --compare asha/random:static,asha/tpe:static job.yaml\n"
                "  rbsim --trace jobs.csv --apps measured/ --policy pollux --gantt cluster.svg\n",
    .options = options,
    .min_args = 0, // with --trace there is no job
    .max_args = -1, // --record takes several runs
    .run = run,
};

// With --json an infeasible request has printed its own document.
static bool conclude(struct rb_err *err, bool json)
{
    return err && json && err->code == RB_ERR_INFEASIBLE && rb_err_number(err) != RB_E_SIM_ENDLESS;
}

int main(int argc, char **argv)
{
    static const struct rb_program program = {
        .command = &command,
        .open_files = RB_OPEN_FILES_TO_COMPUTE,
        .conclude = conclude,
    };
    return rb_program_run(&program, argc, argv);
}
