// rbrun plan.json, and rbrun resume.
#include "commands/rbrun/rbrun_at.h"
#include "commands/rbrun/rbrun_pool.h"

#include "base/file.h"
#include "base/limits.h"
#include "base/errors/log.h"
#include "executor/approval/permit.h"
#include "executor/away/detach.h"
#include "executor/away/send.h"
#include "executor/journal/run_dir.h"
#include "executor/pool/pool_run.h"
#include "executor/run/checks.h"
#include "executor/run/infras.h"
#include "executor/run/limits.h"
#include "executor/run/own_machine.h"
#include "executor/run/preflight.h"
#include "executor/run/worst_case.h"
#include "executor/search/earlier.h"
#include "executor/sinks/live.h"
#include "executor/sinks/sink_place.h"
#include "providers/wire/digest.h"
#include "views/run/dry_run.h"
#include "views/run/run_serve.h"
#include "views/run/terminal_run.h"

#include <stdio.h>
#include <string.h>

// --- rbrun plan.json

static const struct rb_option run_options[] = {
    {"yes", 0, RB_OPT_FLAG, false, NULL, "rent machines without asking", 0, 0},
    {"approval", 0, RB_OPT_STRING, false, "FILE",
     "a person's approval of this plan (rbplan approve): its amount is the most the run may cost, nothing is asked", 0,
     0},
    {"dry-run", 0, RB_OPT_FLAG, false, NULL, "launch nothing: simulate the run in virtual time, a day in seconds", 0,
     0},
    {"replicate", 0, RB_OPT_INT, false, "N", "dry run: which of the simulated runs (default 0)", 0, 1e9},
    {"deadline", 0, RB_OPT_STRING, false, "D", "2h from now, or an instant (default: the plan's)", 0, 0},
    {"budget", 0, RB_OPT_MONEY, false, "USD", "most the run may cost (default: the plan's)", 0, 0},
    {"max-cost", 0, RB_OPT_MONEY, false, "USD",
     "stop before it costs more than this, whether or not the plan is likely to fit", 0, 0},
    {"cold", 0, RB_OPT_FLAG, false, NULL, "start the search without the results of earlier runs with the same parameters", 0, 0},
    RB_RUN_DETACH_OPTION,
    {"at", 0, RB_OPT_STRING, false, "PLACE",
     "carry it out on a host, ssh:HOST, or a machine made for it, aws/REGION, gcp/REGION, k8s/NAME, slurm/PARTITION; goes on without this one", 0, 0},
    {"sent", 0, RB_OPT_STRING, false, "RUN", "as --at asks on the host: the run gets this id, secrets come by stdin", 0, 0},
    RB_RUN_SERVE_OPTION,
    RB_RUN_COMMON_OPTIONS,
    {0},
};

static int most_nodes(const struct rb_plan *plan)
{
    int most = 0;
    for (int i = 0; i < plan->n_stages; i++) {
        const int n = rb_plan_stage_node_count(&plan->stages[i]);
        most = n > most ? n : most;
    }
    return most;
}

static bool tell_bound(const struct rb_plan *plan, int64_t budget_uusd, struct rb_err *err)
{
    char infras[32][64], most[32], budget[32];
    int64_t most_uusd;
    const int n = rb_run_infras(plan, infras, 32);
    if (n == 1 && strcmp(infras[0], "local") == 0)
        return true;
    if (!rb_run_worst_case(plan, RB_BIRTH_HARD_LIMIT_MIN * 60 * RB_US_PER_S, &most_uusd, err))
        return false;
    rb_info(
        "at most %s is spent; were this machine lost for good, at most %s more, if every node's dead man's switch is "
        "armed: it is to end a node that hears nothing for %d minutes, and whether it is armed is asked of each node",
        budget_uusd < 0 ? "what the deadline allows" : rb_format_money(budget_uusd, budget),
        rb_format_money(most_uusd, most), RB_BIRTH_HARD_LIMIT_MIN);
    return true;
}

// --- before anything is launched

// machine NULL: the controller has none of its own.
static void tell_place(const struct rb_plan *plan, const char *place, const struct rb_machine *machine, int64_t deadline_us)
{
    char most[32] = "nothing";
    if (!plan->controller || strcmp(plan->controller->place, place) == 0)
        return;
    if (machine)
        rb_format_money(rb_machine_most_uusd(machine, plan, deadline_us), most);
    rb_info("the plan was made for a controller at %s, and it is at %s: there it costs %s%s", plan->controller->place, place,
            machine ? "up to " : "", most);
}

// machine NULL: its controller has none of its own, or it is paid for already.
static bool confirm(const struct rb_plan *plan, const struct rb_machine *machine, int64_t deadline_us, bool yes,
                    struct rb_err *err)
{
    char infras[32][64], what[512], mean[32], p95[32], most[32];
    const int n = rb_run_infras(plan, infras, 32);
    bool harmless = true;
    for (int i = 0; i < n; i++)
        harmless = harmless && rb_infra_is_harmless(infras[i]);
    snprintf(what, sizeof what, "rents up to %d nodes at once in %s%s, for about %s (95 %% of runs cost up to %s)",
             most_nodes(plan), infras[0], n > 1 ? " and elsewhere" : "",
             rb_format_money(plan->estimate.cost_uusd.mean, mean), rb_format_money(plan->estimate.cost_uusd.p95, p95));
    if (machine)
        snprintf(what + strlen(what), sizeof what - strlen(what), ", and for its controller a %s for up to %s",
                 machine->instance_type, rb_format_money(rb_machine_most_uusd(machine, plan, deadline_us), most));
    return harmless || rb_run_confirm(yes, what, err);
}

// pinned: the plan as it is kept; empty: use the file.
static bool make_run_dir(struct rb_run_files *f, const char *plan_path, const struct rb_buf *pinned,
                         const struct rb_args *args, struct rb_err *err)
{
    RB_AUTO(rb_auto_free) char *bytes = NULL;
    char job_path[4096], root[4096], digest[65];
    size_t n;
    if (!rb_run_places(&f->plan, plan_path, job_path, f->workdir, err) ||
        !rb_run_dir_root(rb_run_state_dir(args), root, sizeof root, err) ||
        !rb_sinks_check(f, job_path, plan_path, err) || !rb_read_file(plan_path, RB_LIMIT_PLAN_BYTES, &bytes, &n, err))
        return false;
    rb_digest_sha256(bytes, n, digest);
    if (!pinned->len && strcmp(digest, f->plan_sha256) != 0)
        return rb_err_set(err, RB_E_PLAN_CHANGED, "%s changed while it was read; nothing was launched", plan_path);
    if (!rb_run_files_create(f, root, f->plan.job->name, pinned->len ? pinned->data : bytes, pinned->len ? pinned->len : n, err))
        return false;
    if (rb_sinks_keep_places(f, job_path, plan_path, err))
        return true;
    rb_run_dir_forget(f->dir);
    return false;
}

// The search of a new run starts from earlier ones; without a readable store it starts by itself.
static void keep_earlier(const struct rb_run_files *f, const struct rb_args *args)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    struct rb_earlier earlier;
    struct rb_err why;
    if (rb_args_flag(args, "cold") || !rb_earlier_matter(f->plan.job))
        return;
    rb_buf_printf(&text, "%s/" RB_EARLIER_OF_RUN, f->dir);
    if (!rb_earlier_keep(f->plan.job, rb_args_string(args, "db", NULL), rb_buf_str(&text), &arena, &earlier, &why)) {
        rb_warn("the search starts without earlier runs: %s%s%s", why.file, why.file[0] ? ": " : "", why.message);
        return;
    }
    rb_buf_clear(&text);
    rb_earlier_write(&earlier, &text);
    if (earlier.n_runs > 0)
        rb_info("the search %s", rb_buf_str(&text));
}

static bool carry_out(struct rb_run_files *f, struct rb_journal *journal, const struct rb_args *args,
                      const struct rb_session_options *options, struct rb_err *err)
{
    struct rb_run_serve *serve =
        rb_run_serve_begin(rb_args_string(args, "serve", NULL), rb_run_state_dir(args), f->run_id);
    struct rb_sinks_live *sinks = rb_sinks_live_begin(f);
    const bool ok = rb_terminal_run(f, journal, options, args->out_code, err);
    rb_run_serve_end(serve, ok && *args->out_code != 1); // 1: left before the end
    rb_sinks_live_end(sinks, ok && *args->out_code == 1);
    return ok;
}

static int64_t lesser_of_given(int64_t a_uusd, int64_t b_uusd)
{
    return a_uusd < 0 || (b_uusd >= 0 && b_uusd < a_uusd) ? b_uusd : a_uusd;
}

// The machine that a plan was sent to. *out_is false: none was made for it.
static bool read_machine(const struct rb_args *args, struct rb_machine *out, bool *out_is, struct rb_err *err)
{
    const char *plan = args->args[0], *slash = strrchr(plan, '/');
    RB_AUTO(rb_buf_finish) struct rb_buf dir = RB_BUF_INIT;
    *out_is = false;
    rb_buf_printf(&dir, "%.*s", slash ? (int)(slash - plan) : 1, slash ? plan : ".");
    return !rb_args_string(args, "sent", NULL) || rb_machine_read(rb_buf_str(&dir), out, out_is, err);
}

// In its new directory, which goes with a failure. machine NULL: none was made for it.
static bool begin(struct rb_run_files *f, int64_t deadline_us, int64_t budget_uusd, const struct rb_machine *machine, struct rb_permit *permit,
                  const struct rb_args *args, struct rb_journal **out, struct rb_err *err)
{
    const char *approval = rb_args_string(args, "approval", NULL);
    bool ok = rb_permit_keep(f, args->args[0], approval, permit, err);
    if (ok) {
        keep_earlier(f, args);
        if (!rb_args_string(args, "sent", NULL))
            tell_place(&f->plan, "here", NULL, deadline_us);
        ok = rb_run_files_begin(f, deadline_us, budget_uusd, out, err);
    }
    if (ok && machine && !rb_own_machine_record(machine, *out, err)) {
        rb_journal_close(*out);
        ok = false;
    }
    if (!ok)
        rb_run_dir_forget(f->dir);
    return ok;
}

static bool run_new(struct rb_run_files *f, struct rb_permit *permit, const struct rb_args *args,
                    struct rb_err *err)
{
    int64_t deadline_us, budget_uusd;
    struct rb_machine machine;
    bool on_machine;
    struct rb_journal *journal;
    RB_AUTO(rb_buf_finish) struct rb_buf pinned = RB_BUF_INIT;
    if (!read_machine(args, &machine, &on_machine, err) ||
        !rb_run_limits(&f->plan, rb_args_string(args, "deadline", NULL),
                       rb_args_money_uusd(args, "budget", rb_plan_whole_budget_uusd(&f->plan)),
                       lesser_of_given(rb_args_money_uusd(args, "max-cost", -1), rb_permit_most_uusd(permit)),
                       on_machine ? &machine : NULL, &deadline_us, &budget_uusd, err) ||
        !tell_bound(&f->plan, budget_uusd, err) ||
        !confirm(&f->plan, NULL, -1, permit->given || rb_args_flag(args, "yes"), err) ||
        !rb_run_preflight_files(f, &pinned, err) || !make_run_dir(f, args->args[0], &pinned, args, err) ||
        !begin(f, deadline_us, budget_uusd, on_machine ? &machine : NULL, permit, args, &journal, err))
        return false;
    if (rb_args_flag(args, "detach")) {
        rb_journal_close(journal);
        return rb_run_detach(f, args, false, err);
    }
    rb_info("run %s", f->run_id);
    const struct rb_session_options options = {
        .json = rb_args_flag(args, "json"), .store = rb_args_string(args, "db", NULL), .permit = permit};
    const bool ok = carry_out(f, journal, args, &options, err);
    rb_journal_close(journal);
    return ok;
}

static bool check_alone(const struct rb_args *args, struct rb_err *err)
{
    static const char *const others[] = {"approval", "serve", "db", "sent"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (rb_args_string(args, others[i], NULL))
            return rb_err_set(err, RB_E_OPTIONS_CONFLICT,
                              "--at and --%s exclude each other: log in there, and give --%s with --detach there", others[i],
                              others[i]);
    return true;
}

// --at: what is asked and can be checked here; the rest its host checks.
static bool run_at(struct rb_run_files *f, const struct rb_args *args, struct rb_err *err)
{
    struct rb_permit permit;
    struct rb_controller_place place;
    struct rb_machine made;
    char job_path[4096];
    int64_t deadline_us, budget_uusd;
    if (!check_alone(args, err) || !rb_place_parse(rb_args_string(args, "at", ""), &place, err) ||
        (place.machine_type && !rb_machine_choose(&f->plan, place.name, place.machine_type, &made, err)))
        return false;
    const struct rb_machine *machine = place.machine_type ? &made : NULL;
    if (!rb_permit_check(f, args->args[0], NULL, &permit, err) ||
        !rb_run_places(&f->plan, args->args[0], job_path, f->workdir, err) || !rb_run_check_secrets(f->plan.job, err) ||
        !rb_run_limits(&f->plan, rb_args_string(args, "deadline", NULL),
                       rb_args_money_uusd(args, "budget", rb_plan_whole_budget_uusd(&f->plan)),
                       rb_args_money_uusd(args, "max-cost", -1), machine, &deadline_us, &budget_uusd, err))
        return false;
    tell_place(&f->plan, place.name, machine, deadline_us);
    if (machine && budget_uusd >= 0)
        budget_uusd += rb_machine_most_uusd(machine, &f->plan, deadline_us);
    return tell_bound(&f->plan, budget_uusd, err) &&
           confirm(&f->plan, machine, deadline_us, rb_args_flag(args, "yes"), err) &&
           rb_run_at(f, &place, machine, deadline_us, args, err);
}

static bool run_plan(const struct rb_args *args, struct rb_err *err)
{
    RB_AUTO(rb_run_files_finish) struct rb_run_files f = {0};
    const char *sent = rb_args_string(args, "sent", NULL);
    if (!rb_run_read_plan(&f, args->args[0], err))
        return false;
    if (rb_args_flag(args, "dry-run"))
        return rb_run_dry(&f.plan, (uint32_t)rb_args_int(args, "replicate", 0), rb_args_flag(args, "json"), err);
    if (rb_args_string(args, "at", NULL))
        return run_at(&f, args, err);
    if (sent && (!rb_run_dir_check_id(sent, err) || !rb_sent_take_secrets(f.plan.job, err)))
        return false;
    snprintf(f.run_id, sizeof f.run_id, "%s", sent ? sent : "");
    struct rb_permit permit; // before anything is asked of a cloud
    return rb_permit_check(&f, args->args[0], rb_args_string(args, "approval", NULL), &permit, err) &&
           rb_run_serve_check(rb_args_string(args, "serve", NULL), err) && rb_run_check(&f.plan, args->args[0], err) &&
           run_new(&f, &permit, args, err);
}

const struct rb_command rb_run_main = {
    .name = "rbrun",
    .usage = "[options] plan.json | --pool pool.yaml | resume | attach | status | list | browse | compare | logs | fetch | "
             "export | notify | move | stop | gc | "
             "doctor | "
             "replan | replay | report",
    .summary = "Carries a plan out: rents nodes, trains, saves checkpoints, shrinks, reports and cleans up.",
    .examples = "  rbrun plan.json\n"
                "  rbrun plan.json --dry-run\n"
                "  rbrun plan.json --yes --json > events.jsonl\n"
                "  rbrun plan.json --yes --detach\n"
                "  rbrun plan.json --at ssh:me@build-box\n"
                "  rbrun plan.json --at aws/us-east-1\n"
                "  rbrun --pool examples/pool/pool.yaml\n"
                "  rbrun resume digits-2026 --deadline +1h\n"
                "  rbrun status\n"
                "  rbrun fetch digits-2026 --best model/\n",
    .options = run_options,
    .min_args = 1,
    .max_args = 1,
    .subcommands = rb_run_subcommands,
    .run = run_plan,
};

// --- rbrun resume

static const struct rb_option resume_options[] = {
    {"deadline", 0, RB_OPT_STRING, false, "[+]D", "+1h: one hour more, counted from now where the deadline has passed",
     0, 0},
    {"budget", 0, RB_OPT_STRING, false, "[+]USD", "+10: ten dollars more", 0, 0},
    {"cold", 0, RB_OPT_FLAG, false, NULL, "start the search without the results of earlier runs with the same parameters", 0, 0},
    RB_RUN_DETACH_OPTION,
    RB_RUN_SERVE_OPTION,
    RB_RUN_COMMON_OPTIONS,
    {0},
};

static bool resume(const struct rb_args *args, struct rb_err *err)
{
    RB_AUTO(rb_run_files_finish) struct rb_run_files f = {0};
    struct rb_journal *journal;
    const bool detached = rb_detached_take();
    if (!rb_run_serve_check(rb_args_string(args, "serve", NULL), err) ||
        !rb_run_files_open(&f, rb_run_state_dir(args), args->n_args ? args->args[0] : NULL, err) ||
        !rb_pool_check_alone(&f, "resume", err))
        return false;
    if (rb_args_flag(args, "detach"))
        return rb_run_detach(&f, args, true, err);
    if (!rb_journal_open(f.journal, &journal, err))
        return false;
    if (rb_pool_is_one(f.dir))
        return rb_run_raise_limits(journal, rb_args_string(args, "deadline", NULL),
                                   rb_args_string(args, "budget", NULL), -1, err)
                   ? rb_pool_resume(&f, journal, args, detached, err)
                   : (rb_journal_close(journal), false);
    if (!rb_run_check_secrets(f.plan.job, err) || !rb_run_check_open_files(&f.plan, 1, err)) {
        rb_journal_close(journal);
        return false;
    }
    rb_info("run %s", f.run_id);
    struct rb_permit permit;
    const struct rb_session_options options = {.go_on = true,
                                               .json = rb_args_flag(args, "json"),
                                               .store = rb_args_string(args, "db", NULL),
                                               .permit = &permit,
                                               .detached = detached};
    const bool ok = rb_permit_of_run(&f, journal, &permit, err) &&
                    rb_run_raise_limits(journal, rb_args_string(args, "deadline", NULL),
                                        rb_args_string(args, "budget", NULL), rb_permit_most_uusd(&permit), err) &&
                    carry_out(&f, journal, args, &options, err);
    rb_journal_close(journal);
    return ok;
}

const struct rb_command rb_run_resume = {
    .name = "rbrun resume",
    .usage = "[options] [RUN]",
    .summary = "Resumes a run that was interrupted, stopped or killed. RUN: its id, its job's name, or the "
               "beginning of either.",
    .examples = "  rbrun resume\n"
                "  rbrun resume digits-2026 --deadline +1h --budget +10\n",
    .options = resume_options,
    .max_args = 1,
    .run = resume,
};
