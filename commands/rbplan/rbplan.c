// rbplan: predicts time and cost of a job and finds the cheapest plan that meets deadline, budget and confidence.
#include "commands/program.h"
#include "commands/rbplan/rbplan.h"

#include "base/file.h"
#include "base/limits.h"
#include "base/errors/log.h"
#include "base/open_files.h"
#include "commands/rbplan/rbplan_infeasible.h"
#include "engine/core/rungs.h"
#include "library/time_limit.h"
#include "planner/request/memory.h"
#include "planner/scores/sharing.h"
#include "profiles/lint/job_lint.h"
#include "providers/wire/digest.h"
#include "views/live/waiting_line.h"
#include "samplers/check.h"
#include "views/tables/job_check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct rb_option plan_options[] = {
    {"deadline", 0, RB_OPT_STRING, false, "D", "2h, 90m, or an instant such as 2026-08-01T12:00:00Z", 0, 0},
    {"budget", 0, RB_OPT_STRING, false, "USD", "most the whole job may cost", 0, 0},
    {"confidence", 0, RB_OPT_STRING, false, "P",
     "probability with which both must be kept (default: the job's); mean: keep the deadline on average", 0, 0},
    {"set", 0, RB_OPT_STRING, true, "KEY=VALUE", "override a key of the job, e.g. --set scheduler.eta=4", 0, 0},
    {"best-for", 0, RB_OPT_STRING, false, "USD",
     "choose the search (eta, min_resource, trials) that finds the best model for that much, by the deadline", 0, 0},
    {"blackbox", 0, RB_OPT_STRING, false, "FILE",
     "a table of configurations like these, FAMILY_TASK.csv[.gz]: how good they get, and what early results say", 0, 0},
    {"cold", 0, RB_OPT_FLAG, false, NULL, "with --best-for: expect without the results of earlier runs of this search", 0, 0},
    {"planner", 0, RB_OPT_STRING, false, "NAME", "optimal (default), mean, greedy, static or naive", 0, 0},
    {"output", 'o', RB_OPT_STRING, false, "FILE", "write the plan there", 0, 0},
    {"json", 0, RB_OPT_FLAG, false, NULL, "print the plan as one JSON document", 0, 0},
    {"explain", 0, RB_OPT_FLAG, false, NULL, "show on stderr why each candidate lost; with --what-if, what is shared",
     0, 0},
    {"html", 0, RB_OPT_STRING, false, "FILE",
     "write the plan as a page for a browser: its times, its risks, other deadlines, what if", 0, 0},
    {"gantt", 0, RB_OPT_STRING, false, "FILE.svg", "draw the plan's stages in time", 0, 0},
    {"pareto", 0, RB_OPT_STRING, false, "FILE", "write (.json) or draw (.svg) cost against deadline for every planner; with --best-for, what other budgets find",
     0, 0},
    {"marginal", 0, RB_OPT_FLAG, false, NULL, "show what a little more time would save (on a terminal always)", 0, 0},
    {"with-replanning", 0, RB_OPT_FLAG, false, NULL,
     "count on runs that leave their plan (on_drift: replan): begin with the nodes that then cost least", 0, 0},
    {"verify", 0, RB_OPT_INT, false, "N", "simulate the plan N times afresh and compare the estimate with that", 2,
     1000000},
    {"check", 0, RB_OPT_FLAG, false, NULL,
     "only check the job file, and warn about parts that probably do not do what they should", 0, 0},
    {"strict", 0, RB_OPT_FLAG, false, NULL, "with --check: a warning is an error (exit code 2)", 0, 0},
    {"print-config", 0, RB_OPT_FLAG, false, NULL, "print the job with every key resolved", 0, 0},
    {"profile-file", 0, RB_OPT_STRING, false, "FILE",
     "profile to plan with (default: the store, else profile.yaml beside the job)", 0, 0},
    {"guess", 0, RB_OPT_STRING, false, "K=V,...",
     "plan from a guess: unit=4m,on=A10G,from=feeling, or measured=A10G", 0, 0},
    {"prices", 0, RB_OPT_STRING, false, "FILE",
     "price list (default: the store, else prices.csv or ../prices/*.csv beside the job)", 0, 0},
    {"at", 0, RB_OPT_STRING, false, "PLACE",
     "count what the controller's machine costs at the PLACE of rbrun --at, and set it aside from the budget", 0, 0},
    {"max-price-age", 0, RB_OPT_STRING, false, "D",
     "fail if a price behind the plan is older, e.g. 7d or 6h (default: warn)", 0, 0},
    {"seed", 0, RB_OPT_STRING, false, "S", "seed of every draw (default: the job's)", 0, 0},
    {"samples", 0, RB_OPT_INT, false, "N",
     "simulated runs behind every estimate (default 4096; 1024 of asynchronous jobs)", 32, 1000000},
    {"threads", 0, RB_OPT_INT, false, "N", "threads; the plan does not depend on it (default: the machine's)", 1, 256},
    {"node-limit", 0, RB_OPT_INT, false, "N", "cut the search after N nodes, reproducibly", 1, 1e12},
    {"time-limit", 0, RB_OPT_DURATION, false, "T",
     "stop after T with the best plan so far; it may then differ between runs", 0, 0},
    {"memory-limit", 0, RB_OPT_STRING, false, "SIZE",
     "memory that the search may take, with the gap it leaves (default: 256MB)", 0, 0},
    {"sensitivity", 0, RB_OPT_FLAG, false, NULL,
     "plan again with each input changed a little, and report what that costs or saves", 0, 0},
    {"what-if", 0, RB_OPT_STRING, true, "K=V[,K=V]",
     "plan that as well, e.g. price=-20% or deadline=3h,spot=allow; with --html, on the page", 0, 0},
    {"db", 0, RB_OPT_STRING, false, "FILE", "profile store (default: RB_DB, else the user's own)", 0, 0},
    {0},
};

static const struct rb_subcommand subcommands[] = {
    {"approve", "lets a person permit one run of a plan", &rb_plan_approve},
    {"diff", "puts two plans side by side", &rb_plan_diff},
    {"explain", "explains a plan stage by stage", &rb_plan_explain},
    {"import", "makes a job file of a W&B sweep, a Determined experiment or a Ray Tune experiment", &rb_plan_import},
    {"init", "prints a job file to begin with", &rb_plan_init},
    {0},
};

// --- the line that says that planning goes on

static struct rb_waiting_line *waiting; // NULL: planning is not under way

static void end_line(void)
{
    rb_waiting_line_end(waiting);
    waiting = NULL;
}

void rb_plan_wipe_line(void)
{
    rb_waiting_line_wipe(waiting);
}

// --- carrying a command out

static bool is_given(const struct rb_args *args, const char *name)
{
    for (int i = 0; i < args->n_given; i++) {
        if (strcmp(args->given[i].option->name, name) == 0)
            return true;
    }
    return false;
}

// With --json an infeasible request has printed its own document, and so has a check.
static bool has_own_document(const struct rb_err *err)
{
    const int number = rb_err_number(err);
    return (err->code == RB_ERR_INFEASIBLE && number != RB_E_MACHINE_BUDGET) || number == RB_E_LINT_TO_DO ||
           number == RB_E_LINT_STRICT;
}

static bool conclude(struct rb_err *err, bool json)
{
    end_line();
    return err && json && has_own_document(err);
}

bool rb_plan_print(struct rb_buf *out, struct rb_err *err)
{
    end_line();
    return rb_print(out, err);
}

// --- --check, --print-config

static bool print_config(const struct rb_job *job, struct rb_err *err)
{
    struct rb_buf out = RB_BUF_INIT;
    struct rb_json j = {.out = &out, .pretty = true};
    rb_job_write(job, &j);
    rb_buf_putc(&out, '\n');
    return rb_plan_print(&out, err);
}

// The file is read once more, for the places of what is warned of. stdin and pipes are empty by now: then there are none.
static int count_to_do(const struct rb_job_warnings *warnings)
{
    int n = 0;
    for (int i = 0; i < warnings->n; i++)
        n += rb_err_number(&warnings->items[i]) == RB_E_LINT_TO_DO;
    return n;
}

// A draft that is not filled in is refused; with --strict every warning is.
static bool refuse_check(const char *path, const struct rb_job_warnings *warnings, bool strict, struct rb_err *err)
{
    const int to_do = count_to_do(warnings);
    if (to_do > 0)
        return rb_err_set(err, RB_E_LINT_TO_DO, "%s: %d value%s of the draft %s still to be filled in", path, to_do,
                          to_do == 1 ? "" : "s", to_do == 1 ? "is" : "are");
    return !strict || warnings->n == 0 ||
           rb_err_set(err, RB_E_LINT_STRICT, "%s: %d warning%s", path, warnings->n, warnings->n == 1 ? "" : "s");
}

static bool check(struct rb_plan_inputs *in, bool json, bool strict, struct rb_err *err)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    RB_AUTO(rb_auto_free) char *text = NULL;
    struct rb_job_warnings warnings;
    size_t n;
    if (strcmp(in->job_path, "-") != 0 && rb_read_file(in->job_path, RB_LIMIT_DOC_BYTES, &text, &n, NULL))
        rb_doc_read(&doc, in->job_path, NULL);
    rb_job_lint(&in->job, doc.root, text, in->job_path, &in->arena, &warnings);
    struct rb_buf out = RB_BUF_INIT;
    (json ? rb_job_check_write_json : rb_job_check_write)(in->job_path, in->job.name, &warnings, &out);
    const bool ok = refuse_check(in->job_path, &warnings, strict, err);
    if (!ok && !json)
        rb_buf_clear(&out); // which says that it is
    return rb_plan_print(&out, ok ? err : NULL) && ok;
}

// --- the request

static void explain_line(void *ctx, const char *text)
{
    (void)ctx;
    rb_info("%s", text);
}

static void notice_line(void *ctx, const char *text)
{
    (void)ctx;
    rb_plan_wipe_line();
    rb_warn("%s", text);
}

static bool memory_limit(const struct rb_args *args, int64_t *out_bytes, struct rb_err *err)
{
    const char *text = rb_args_string(args, "memory-limit", NULL);
    *out_bytes = 0;
    if (!text)
        return true;
    if (!rb_parse_size(text, out_bytes, err))
        return rb_err_prefix(err, "--memory-limit");
    if (*out_bytes < RB_MEMORY_AT_LEAST)
        return rb_err_set(err, RB_E_OPTION_VALUE, "--memory-limit: expected at least %lldMB, got %s",
                          (long long)(RB_MEMORY_AT_LEAST / 1000000), text);
    return true;
}

// It costs a fifth of a plan more: unnoticeable to a reader, and not needed in a pipe.
static bool wants_marginal(const struct rb_args *args)
{
    const bool is_read = isatty(STDOUT_FILENO) && !rb_args_flag(args, "json");
    return rb_args_flag(args, "marginal") || (is_read && !is_given(args, "pareto") && !is_given(args, "what-if"));
}

static struct rb_plan_request request(const struct rb_args *args, const struct rb_plan_inputs *in,
                                      struct rb_time_limit *limit)
{
    struct rb_plan_request req = rb_plan_request_of(&in->job, &in->profile, &in->catalog);
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const int64_t limit_us = rb_args_duration_us(args, "time-limit", 0);
    req.samples = (int)rb_args_int(args, "samples", req.samples);
    req.threads = (int)rb_args_int(args, "threads", cores > 0 ? cores : 1);
    req.node_limit = rb_args_int(args, "node-limit", 0);
    req.explain = rb_args_flag(args, "explain") ? explain_line : NULL;
    req.notice = notice_line;
    req.marginal = wants_marginal(args);
    if (limit_us > 0)
        rb_time_limit_start(limit, limit_us, &req);
    return req;
}

// --- the command

// Options that make and compare many plans and keep none. explains: --explain describes what the plans share.
static const struct comparison {
    const char *option;
    bool explains;
    bool (*run)(const struct rb_args *args, const struct rb_plan_request *req, struct rb_err *err);
} comparisons[] = {
    {"pareto", false, rb_plan_pareto},
    {"sensitivity", true, rb_plan_sensitivity},
    {"what-if", true, rb_plan_what_if},
};

// At most one of them; *out NULL: none, the user wants one plan, and its page holds its what-ifs.
static bool find_comparison(const struct rb_args *args, const struct comparison **out, struct rb_err *err)
{
    *out = NULL;
    for (size_t i = 0; i < sizeof comparisons / sizeof comparisons[0]; i++) {
        const bool on_the_page = comparisons[i].run == rb_plan_what_if && is_given(args, "html");
        const bool of_budgets = comparisons[i].run == rb_plan_pareto && is_given(args, "best-for");
        if (!is_given(args, comparisons[i].option) || on_the_page || of_budgets)
            continue;
        if (*out)
            return rb_err_set(err, RB_E_OPTIONS_CONFLICT, "--%s and --%s answer different questions: run rbplan twice",
                              (*out)->option, comparisons[i].option);
        *out = &comparisons[i];
    }
    return true;
}

// Options for one plan make no sense with many.
static bool check_alone(const struct rb_args *args, const char *option, bool explains, struct rb_err *err)
{
    static const char *const of_one_plan[] = {"at", "output", "verify",   "max-price-age", "html",
                                              "gantt",  "marginal", "with-replanning", "explain"};
    const size_t n = sizeof of_one_plan / sizeof of_one_plan[0] - explains;
    for (size_t i = 0; i < n; i++) {
        if (is_given(args, of_one_plan[i]))
            return rb_err_set(err, RB_E_OPTIONS_CONFLICT,
                              "--%s is about one plan, and --%s makes many: run rbplan twice, once without --%s",
                              of_one_plan[i], option, option);
    }
    return true;
}

static bool check_best_for(const struct rb_args *args, const struct comparison *comparison, struct rb_err *err)
{
    const char *money = rb_args_string(args, "best-for", NULL);
    int64_t uusd;
    if (!money)
        return !is_given(args, "cold") ||
               rb_err_set(err, RB_E_OPTIONS_CONFLICT, "--cold is about what --best-for expects: leave it out");
    if (!rb_parse_money(money, &uusd, err))
        return rb_err_prefix(err, "--best-for");
    if (uusd == 0)
        return rb_err_set(err, RB_E_OPTION_VALUE, "--best-for: expected dollars above 0, such as 50");
    if (comparison)
        return rb_err_set(err, RB_E_OPTIONS_CONFLICT, "--best-for and --%s answer different questions: run rbplan twice",
                          comparison->option);
    if (is_given(args, "at"))
        return rb_err_set(err, RB_E_OPTIONS_CONFLICT,
                          "--best-for is what nodes may cost: leave --at out, then plan the search that it finds with --at");
    return !is_given(args, "budget") ||
           rb_err_set(err, RB_E_OPTIONS_CONFLICT, "--best-for is the budget: leave --budget out");
}

static bool check_options(const struct rb_args *args, struct rb_err *err)
{
    const struct comparison *comparison;
    if (is_given(args, "time-limit") && rb_args_duration_us(args, "time-limit", 0) == 0)
        return rb_err_set(err, RB_E_OPTION_VALUE, "--time-limit: expected a duration above 0, such as 10s");
    if (!find_comparison(args, &comparison, err) || !check_best_for(args, comparison, err))
        return false;
    if (is_given(args, "pareto") && !is_given(args, "best-for") && is_given(args, "planner"))
        return rb_err_set(err, RB_E_OPTIONS_CONFLICT, "--pareto shows every planner: leave --planner out");
    static const char *const not_with_replanning[] = {"best-for", "time-limit"};
    for (int i = 0; i < 2 && is_given(args, "with-replanning"); i++) {
        if (is_given(args, not_with_replanning[i]))
            return rb_err_set(err, RB_E_OPTIONS_CONFLICT,
                              "--with-replanning plays more than a thousand runs of one plan: leave --%s out",
                              not_with_replanning[i]);
    }
    return rb_plan_check_pictures(args, err) &&
           (!comparison || check_alone(args, comparison->option, comparison->explains, err));
}

// Without a single request there are no nearest constraints: infeasible is an error like any other.
static bool compare(const struct comparison *comparison, const struct rb_args *args, const struct rb_plan_request *req,
                    struct rb_err *err)
{
    if (comparison->run(args, req, err))
        return true;
    if (err->code == RB_ERR_INFEASIBLE && rb_args_flag(args, "json"))
        rb_err_print(err, "rbplan", true);
    return false;
}

// Keys that only the tuner or the sampler understands.
static bool check_options_of_parts(const struct rb_job *job, struct rb_err *err)
{
    struct rb_rung_table rungs;
    return rb_rungs_of_job(job, &rungs, err) && rb_sampler_check(job, err);
}

static bool plan_job(const struct rb_args *args, struct rb_plan_inputs *in, struct rb_err *err)
{
    const char *planner = rb_args_string(args, "planner", rb_planner_default(&in->job));
    const struct comparison *comparison;
    struct rb_time_limit limit;
    const struct rb_plan_controller *controller;
    struct rb_plan plan;
    struct rb_plan_result result;
    struct rb_quality_law law;
    if (!find_comparison(args, &comparison, err))
        return false;
    const char *many = comparison                    ? comparison->option
                       : is_given(args, "what-if")  ? "what-if"
                       : is_given(args, "best-for") ? "best-for"
                                                    : NULL;
    if (!rb_planner_check(&in->job, planner, many, err) || !rb_job_check_supported(&in->job, err) ||
        !check_options_of_parts(&in->job, err) || !rb_plan_open_law(args, &in->job, &in->arena, &law, err) ||
        !rb_args_find_inputs(args, in, err) || !rb_plan_at_begin(args, in, &controller, err))
        return false;
    rb_plan_inputs_warn_stale(in, rb_digest_sha256);
    struct rb_plan_request req = request(args, in, &limit);
    if (!memory_limit(args, &req.memory_limit_bytes, err))
        return false;
    if (!req.explain) // which prints progress itself
        waiting = rb_waiting_line_begin("planning", "Ctrl-C ends it, --time-limit 10s bounds it");
    if (comparison)
        return compare(comparison, args, &req, err);
    if (is_given(args, "best-for"))
        return rb_plan_best_for(args, &req, &law, in, err);
    RB_AUTO(rb_sharing_end) struct rb_sharing sharing = {NULL, NULL}; // with the plans beside it on the page
    rb_sharing_begin(&sharing, &req);
    if (!rb_plan_at_make(&req, planner, controller, &in->arena, &plan, &result, err))
        return err->code == RB_ERR_INFEASIBLE && rb_err_number(err) != RB_E_MACHINE_BUDGET
                   ? rb_infeasible_explain(&req, planner, &result, rb_args_flag(args, "json"), &in->arena, err)
                   : false;
    controller = plan.controller;
    req.job = plan.job; // data.stay has chosen its place
    RB_AUTO(rb_buf_finish) struct rb_buf replanned = RB_BUF_INIT;
    if (rb_args_flag(args, "with-replanning") &&
        !rb_plan_with_replanning(&req, planner, &in->arena, &plan, &replanned, err))
        return false;
    rb_plan_at_count(controller, &plan, &in->arena);
    rb_plan_wipe_line();
    if (replanned.len > 0)
        rb_info("%.*s", (int)replanned.len - 1, rb_buf_str(&replanned));
    if (!rb_plan_check_prices(args, &plan, err))
        return false;
    if (rb_args_flag(args, "marginal") && !result.marginal.exists)
        rb_info("what a little more time would save is unknown: that needs a deadline, objective min_cost, planner "
                "optimal and plans that are proved; rbplan --pareto shows cost against deadline nevertheless");
    rb_plan_sign(&plan, in, rb_args_string(args, "output", NULL));
    return rb_plan_draw(args, &req, &plan, &result, NULL, err) && rb_plan_report(args, &plan, &result.marginal, &law, err);
}

static bool run(const struct rb_args *args, struct rb_err *err)
{
    if (!check_options(args, err))
        return false;
    RB_AUTO(rb_plan_inputs_finish) struct rb_plan_inputs in = {0};
    char money[64], *budget = money;
    const char *best_for = rb_args_string(args, "best-for", NULL);
    const struct rb_job_overrides besides = {.last = (const char *const *)&budget, .n_last = best_for != NULL};
    if (best_for)
        snprintf(money, sizeof money, "--budget=%s", best_for + (best_for[0] == '$'));
    if (!rb_args_job(args, &besides, &in, err))
        return false;
    if (rb_args_flag(args, "print-config"))
        return print_config(&in.job, err);
    if (rb_args_flag(args, "check"))
        return check_options_of_parts(&in.job, err) && check(&in, rb_args_flag(args, "json"), rb_args_flag(args, "strict"), err);
    return plan_job(args, &in, err);
}

static const struct rb_command plan_command = {
    .name = "rbplan",
    .usage =
        "[options] JOB.yaml | approve plan.json | diff A.json B.json | explain plan.json|RB1112 | import FILE | init [SCRIPT]",
    .summary = "Predicts time and cost of a tuning job and finds the cheapest plan that keeps its deadline and budget.",
    .examples = "  rbplan --deadline 2h job.yaml\n"
                "  rbplan --deadline 2h --budget 40 -o plan.json job.yaml\n"
                "  rbplan --best-for 50 --deadline 3h job.yaml\n"
                "  rbplan --planner greedy --explain job.yaml\n"
                "  rbplan --html plan.html job.yaml\n"
                "  rbplan --pareto frontier.json job.yaml\n"
                "  rbplan --what-if price=-20% --what-if deadline=3h,spot=allow job.yaml\n"
                "  rbplan --sensitivity job.yaml\n"
                "  rbplan --check job.yaml\n"
                "  rbplan explain plan.json\n"
                "  rbplan explain RB1112\n"
                "  rbplan init train.py > job.yaml\n"
                "  rbplan import sweep.yaml > job.yaml\n",
    .options = plan_options,
    .min_args = 1,
    .max_args = 1,
    .subcommands = subcommands,
    .run = run,
};

int main(int argc, char **argv)
{
    static const struct rb_program program = {
        .command = &plan_command,
        .open_files = RB_OPEN_FILES_TO_COMPUTE,
        .conclude = conclude,
    };
    return rb_program_run(&program, argc, argv);
}
