// rbprofile train and rbprofile provision: campaigns that run the user's command, or only launch nodes, and record the
// times in the profile store.
#include "base/errors/exit_codes.h"
#include "base/errors/log.h"
#include "commands/rbprofile/rbprofile_command.h"
#include "executor/journal/run_files.h"
#include "profiles/catalog/billing.h"
#include "profiles/catalog/infra.h"
#include "views/tables/campaign_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_SETS = 32 };

// Real machines are rented only after showing the user the most that they can cost.
static bool may_buy(const struct rb_measurement *m, bool yes, int n_nodes, int64_t limit_us, struct rb_err *err)
{
    if (m->local || m->loopback)
        return true;
    const int64_t release_us = rb_infra_within(m->infra, "k8s") ? m->job.resources.kubernetes.release_us : 0;
    const struct rb_billing billing = {.rate = m->offer->rate,
                                       .release_s = (release_us + RB_US_PER_S - 1) / RB_US_PER_S};
    char cost[32], time[32];
    rb_format_money(n_nodes * rb_bill_node(&billing, 0, limit_us).total_uusd, cost);
    rb_format_duration(limit_us, time);
    rb_info("%d x %s in %s: at most %s, if every node lived the whole %s", n_nodes, m->offer->instance_type, m->infra,
            cost, time);
    if (yes)
        return true;
    if (!isatty(STDIN_FILENO))
        return rb_err_set(err, RB_E_NOT_CONFIRMED, "this rents real machines: pass --yes to confirm");
    fprintf(stderr, "Go on? [y/N] ");
    char answer[16] = "";
    if (!fgets(answer, sizeof answer, stdin) || (answer[0] != 'y' && answer[0] != 'Y'))
        return rb_err_set(err, RB_E_NOT_CONFIRMED, "nothing was rented");
    return true;
}

// --- the two commands -----------------------------------------------------------------------------------------------------

static bool train_with(const struct rb_args *args, struct rb_measurement *m, struct rb_err *err)
{
    const char *sets[MAX_SETS];
    int n_sets = 0, n_gpus = 0;
    while (n_sets < MAX_SETS && (sets[n_sets] = rb_args_nth(args, "set", n_sets)))
        n_sets++;
    const char *path = args->args[0];
    if (!rb_job_load(path, sets, n_sets, &m->arena, &m->job, err) || !rb_measurement_choose_place(m, err) ||
        !rb_measurement_choose_offer(m, err) || !rb_measurement_choose_gpus(m, &n_gpus, err) ||
        !rb_measurement_choose_shares(m, err) || !rb_measurement_find_workdir(m, path, err) ||
        !rb_measurement_open_provider(m, err))
        return false;
    int n_nodes = m->local ? 1 : (int)rb_args_int(args, "nodes", 1);
    if (!may_buy(m, rb_args_flag(args, "yes"), n_nodes, 2 * RB_S_PER_HOUR * RB_US_PER_S, err) ||
        !rb_measurement_begin(m, err))
        return false;
    rb_info("measuring `%s` with %d configurations on %d node%s of %s (%s)", m->job.name, m->options.configs, n_nodes,
            n_nodes == 1 ? "" : "s", m->offer->instance_type, m->infra);
    const char *profile = rb_args_string(args, "name", m->job.profile);
    if (!rb_measurement_carry_out(m, n_nodes, n_gpus, err) || !rb_measurement_store(m, profile, n_nodes, err))
        return false;
    if (rb_measurement_count_ok(m) == 0)
        return rb_measurement_nothing(m, n_nodes, err);
    struct rb_buf out = RB_BUF_INIT;
    if (rb_args_flag(args, "json")) {
        rb_measurement_write(m, n_nodes, &out);
    } else {
        rb_measurement_print_runs(m, &out);
        rb_measurement_print_script(m, &out);
        rb_buf_printf(&out, "%d of %d runs kept in profile %s; look at the fit with `rbprofile show %s`\n",
                      rb_measurement_count_ok(m), rb_campaign_n_runs(m->campaign), profile, profile);
    }
    return rb_print(&out, err);
}

// Uses only the resources of a job. Without a job there is the command line, and the clouds that need no more.
static bool read_resources(const struct rb_args *args, struct rb_measurement *m, struct rb_err *err)
{
    static const char minimal[] = "name: provision\nmetric: {name: none, goal: maximize}\nparameters: {x: 1}\n"
                                  "scheduler: {type: random, num_trials: 1, max_resource: 1}\nrun: \"true\"\n";
    if (args->n_args > 0)
        return rb_job_load(args->args[0], NULL, 0, &m->arena, &m->job, err);
    struct rb_doc doc;
    if (!rb_doc_parse_yaml(&doc, "provision", minimal, sizeof minimal - 1, err))
        return false;
    const bool ok = rb_job_read(doc.root, NULL, 0, &m->arena, &m->job, err);
    rb_doc_finish(&doc);
    m->job.resources.infra.n = 0; // the caller sets the place
    return ok;
}

static bool provision_with(const struct rb_args *args, struct rb_measurement *m, struct rb_err *err)
{
    if (!read_resources(args, m, err))
        return false;
    m->job.resources.slurm.shared_dir = rb_args_string(args, "shared-dir", m->job.resources.slurm.shared_dir);
    if (!rb_measurement_choose_place(m, err))
        return false;
    if (m->local)
        return rb_err_set(err, RB_E_MEASURING_PLAN, "--infra local: this machine needs no provisioning");
    int n_nodes = (int)rb_args_int(args, "n", 5);
    if (!rb_measurement_choose_offer(m, err) || !rb_measurement_open_provider(m, err) ||
        !may_buy(m, rb_args_flag(args, "yes"), n_nodes, 2 * RB_S_PER_HOUR * RB_US_PER_S, err) ||
        !rb_measurement_begin(m, err) || !rb_measurement_empty_workdir(m, err))
        return false;
    rb_info("launching %d x %s in %s", n_nodes, m->offer->instance_type, m->infra);
    if (!rb_measurement_carry_out(m, n_nodes, 0, err) || !rb_measurement_store(m, NULL, n_nodes, err))
        return false;
    if (rb_measurement_count_nodes(m, n_nodes, RB_POOL_FAILED) ==
        n_nodes) { // a refusal or a time-out would have been a measurement
        *err = *rb_campaign_failure(m->campaign);
        return rb_err_prefix(err, "no node came up");
    }
    struct rb_buf out = RB_BUF_INIT;
    if (rb_args_flag(args, "json"))
        rb_measurement_write(m, n_nodes, &out);
    else
        rb_measurement_print_nodes(m, n_nodes, &out);
    return rb_print(&out, err);
}

typedef bool measure_fn(const struct rb_args *args, struct rb_measurement *m, struct rb_err *err);

static bool measure(const struct rb_args *args, measure_fn *with, const struct rb_measurement_options *options,
                    struct rb_err *err)
{
    struct rb_measurement *m = rb_xcalloc(1, sizeof *m);
    m->options = *options;
    rb_run_owner(m->owner, sizeof m->owner);
    bool ok = with(args, m, err), interrupted = m->interrupted;
    rb_measurement_finish(m);
    free(m);
    if (interrupted) { // earlier measurements are kept and printed; the exit code shows that they are incomplete
        if (!ok)
            rb_err_print(err, args->command->name, rb_args_flag(args, "json"));
        exit(RB_CODE_INTERRUPTED);
    }
    return ok;
}

// Options of both commands.
static struct rb_measurement_options where_of(const struct rb_args *args)
{
    return (struct rb_measurement_options){
        .db = rb_args_string(args, "db", NULL),
        .state_dir = rb_args_string(args, "state-dir", NULL),
        .infra = rb_args_string(args, "infra", NULL),
        .instance_type = rb_args_string(args, "instance-type", NULL),
        .user = rb_args_string(args, "user", NULL),
        .port = (int)rb_args_int(args, "port", 0),
    };
}

static bool run_train(const struct rb_args *args, struct rb_err *err)
{
    struct rb_measurement_options options = where_of(args);
    options.gpus = rb_args_string(args, "gpus", NULL);
    options.share = rb_args_string(args, "share", NULL);
    options.configs = (int)rb_args_int(args, "configs", 3);
    options.batches = (int)rb_args_int(args, "batches", 2);
    options.resource = rb_args_int(args, "resource", 3);
    options.exclusive = rb_args_flag(args, "exclusive");
    options.fresh = rb_args_flag(args, "fresh");
    return measure(args, train_with, &options, err);
}

static bool run_provision(const struct rb_args *args, struct rb_err *err)
{
    const struct rb_measurement_options options = where_of(args);
    return measure(args, provision_with, &options, err);
}

#define WHERE_OPTIONS                                                                                                  \
    {"infra", 0, RB_OPT_STRING, false, "I", "provider/region, or local (default: the job's first)", 0, 0},             \
        {"instance-type", 0, RB_OPT_STRING, false, "T", "machine type (default: the job's first)", 0, 0},              \
        {"user", 0, RB_OPT_STRING, false, "U", "login on the nodes (default: RB_SSH_USER, else the job's)", 0, 0},     \
        {"port", 0, RB_OPT_INT, false, "P", "ssh port of the nodes (default: RB_SSH_PORT, else the job's)", 1, 65535}, \
        {"state-dir", 0, RB_OPT_STRING, false, "DIR", "where keys and logs go (default: the user's own)", 0, 0},       \
    {                                                                                                                  \
        "yes", 0, RB_OPT_FLAG, false, NULL, "rent real machines without asking", 0, 0                                  \
    }

static const struct rb_option train_options[] = {
    {"gpus", 0, RB_OPT_STRING, false, "N,N..", "GPU counts to measure (default: the job's trial.gpus.sizes)", 0, 0},
    {"resource", 0, RB_OPT_INT, false, "N", "units (epochs) per run; to plan with, 3 or more (default: 3)", 2,
     1000},
    {"share", 0, RB_OPT_STRING, false, "N,N..", "also measure this many trials at once on one GPU (default: none)",
     0, 0},
    {"configs", 0, RB_OPT_INT, false, "K", "configurations drawn from the search space (default: 3)", 1, 1000},
    {"batches", 0, RB_OPT_INT, false, "N",
     "larger batches to time at each size, where trial.batch lets it be tuned (default: 2)", 0, 10},
    {"nodes", 0, RB_OPT_INT, false, "N", "nodes to measure on at the same time (default: 1)", 1, 64},
    {"name", 0, RB_OPT_STRING, false, "P", "profile to add to (default: the job's)", 0, 0},
    {"fresh", 0, RB_OPT_FLAG, false, NULL, "forget earlier measurements for this profile", 0, 0},
    {"exclusive", 0, RB_OPT_FLAG, false, NULL, "one run per node at a time (always so on real machines)", 0, 0},
    {"set", 0, RB_OPT_STRING, true, "K=V", "change a key of the job", 0, 0},
    WHERE_OPTIONS,
    RB_DB_OPTION,
    RB_JSON_OPTION,
    RB_END_OPTIONS,
};

const struct rb_command rb_profile_train = {
    .name = "rbprofile train",
    .usage = "[options] JOB.yaml",
    .summary = "Runs the job's real command at several sizes and records each unit's time.",
    .examples =
        "  rbprofile train job.yaml --gpus 1,2,4,8 --resource 3\n  rbprofile train job.yaml --infra local --gpus 1,2\n",
    .options = train_options,
    .min_args = 1,
    .max_args = 1,
    .run = run_train,
};

static const struct rb_option provision_options[] = {
    {"n", 'n', RB_OPT_INT, false, "N", "nodes to launch, all at once (default: 5)", 1, 100},
    {"shared-dir", 0, RB_OPT_STRING, false, "DIR", "slurm: a directory that this machine and the nodes share", 0,
     0},
    WHERE_OPTIONS,
    RB_DB_OPTION,
    RB_JSON_OPTION,
    RB_END_OPTIONS,
};

const struct rb_command rb_profile_provision = {
    .name = "rbprofile provision",
    .usage = "[options] JOB.yaml | --infra I --instance-type T",
    .summary = "Launches nodes, records how long they take to come up, and ends them. Uses only `resources` of a job: "
               "image, network, ...",
    .examples = "  rbprofile provision job.yaml -n 5\n"
                "  rbprofile provision --infra aws/us-east-1 --instance-type g5.xlarge -n 5\n",
    .options = provision_options,
    .max_args = 1,
    .run = run_provision,
};
