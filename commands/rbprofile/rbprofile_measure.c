// rbprofile train and rbprofile provision: campaigns that run the user's command, or only buy nodes, and record what
// happened in the profile store.
#include "commands/rbprofile/rbprofile_measure.h"

#include "commands/rbprofile/rbprofile_command.h"
#include "commands/rbprofile/rbprofile_measurement.h"

#include "base/clock.h"
#include "base/exit_codes.h"
#include "base/limits.h"
#include "base/log.h"
#include "executor/campaign/campaign.h"
#include "executor/campaign/campaign_dir.h"
#include "executor/journal/run_dir.h"
#include "executor/transport/loop_uv.h"
#include "executor/transport/ssh_command.h"
#include "profiles/catalog/billing.h"
#include "profiles/catalog/infra.h"
#include "profiles/catalog/machine_names.h"
#include "profiles/job/job.h"
#include "providers/provider.h"
#include "providers/wire/http.h"
#include "executor/journal/run_files.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MAX_SETS = 32,
    HARD_LIMIT_MIN = 120, // until a node is to end itself, whatever became of us
    NEAR_BOOT_S = 120,
    FAR_BOOT_S = 900,
    QUEUE_BOOT_S = 7 * 86400, // in a queue waiting costs nothing
};

// --- what to measure ----------------------------------------------------------------------------------------------------

static bool parse_counts(const char *flag, const char *expected, int most, const char *text,
                         int out[static RB_GPU_COUNTS_MAX], int *out_n, struct rb_err *err)
{
    int n = 0;
    for (const char *p = text; *p;) {
        char *end;
        long v = strtol(p, &end, 10);
        if (end == p || v < 1 || v > most || (*end && *end != ',') || n == RB_GPU_COUNTS_MAX ||
            (n > 0 && v <= out[n - 1]))
            return rb_err_set(err, RB_E_OPTION_VALUE, "%s %s: expected ascending %s", flag, text, expected);
        out[n++] = (int)v;
        p = *end ? end + 1 : end;
    }
    *out_n = n;
    return n > 0 || rb_err_set(err, RB_E_OPTION_VALUE, "%s: expected %s", flag, expected);
}

static bool parse_gpus(const char *text, int out[static RB_GPU_COUNTS_MAX], int *out_n, struct rb_err *err)
{
    return parse_counts("--gpus", "GPU counts such as 1,2,4", RB_LIMIT_GPUS_PER_NODE, text, out, out_n, err);
}

static const struct rb_offer *offer_at(const struct rb_catalog *c, const char *infra, const char *type)
{
    for (int i = 0; i < c->n_offers; i++)
        if (strcmp(c->offers[i].infra, infra) == 0 && strcmp(c->offers[i].instance_type, type) == 0 &&
            c->offers[i].market == RB_MARKET_ON_DEMAND)
            return &c->offers[i];
    return NULL;
}

// A place has the prices of what it lies in, unless it has its own: a zone those of its region, a partition its cluster's.
static const struct rb_offer *offer_in(const struct rb_catalog *c, const char *infra, const char *type)
{
    char place[160];
    snprintf(place, sizeof place, "%s", infra);
    for (char *slash = place; slash; slash = strrchr(place, '/')) {
        if (slash != place)
            *slash = '\0';
        const struct rb_offer *found = offer_at(c, place, type);
        if (found)
            return found;
    }
    return NULL;
}

static const struct rb_offer *find_offer(const struct rb_measurement *m, const char *type)
{
    char other[160];
    const struct rb_offer *own = offer_in(&m->catalog, m->infra, type);
    if (own || !m->ops->priced_as)
        return own;
    snprintf(other, sizeof other, "%s%s", m->ops->priced_as, m->infra + strlen(m->ops->name));
    return offer_in(&m->catalog, other, type);
}

static bool choose_place(struct rb_measurement *m, struct rb_err *err)
{
    const struct rb_string_list *infra = &m->job.resources.infra;
    m->infra = rb_args_string(m->args, "infra", infra->n > 0 ? infra->items[0] : NULL);
    if (!m->infra)
        return rb_err_set(err, RB_E_WHERE_UNSAID, "where? give --infra, such as aws/us-east-1");
    if (!rb_provider_find(m->infra, &m->ops, m->region, err))
        return false;
    m->transport = rb_transport_find(m->ops->transport);
    m->local = m->ops->is_in_process;
    if (m->transport->by_shared_dir && !m->job.resources.slurm.shared_dir)
        return rb_err_set(
            err, RB_E_SHARED_DIRECTORY,
            "--infra %s: the nodes are reached through a directory that they share with this machine: give "
            "resources.slurm.shared_dir in the job (provision: --shared-dir)",
            m->infra);
    return true;
}

// No store yet: no prices. It is made only when there is something to write.
static bool read_prices(struct rb_measurement *m, struct rb_err *err)
{
    RB_AUTO(rb_profile_close_store) struct rb_store *store = NULL;
    struct rb_err why;
    if (rb_profile_open_store(m->args, true, &store, &why))
        return rb_store_prices(store, &m->arena, &m->catalog, err);
    if (why.code == RB_ERR_NOT_FOUND)
        return true;
    *err = why;
    return false;
}

static bool no_price(struct rb_measurement *m, const char *type, struct rb_err *err)
{
    const char **known = rb_arena_array(&m->arena, (size_t)m->catalog.n_offers + 1, sizeof *known);
    int n = 0;
    for (int i = 0; i < m->catalog.n_offers; i++)
        if (find_offer(m, m->catalog.offers[i].instance_type))
            known[n++] = m->catalog.offers[i].instance_type;
    const char *like = rb_machine_names_like(type, known, n, &m->arena);
    return rb_err_set(
        err, RB_E_PRICE_UNKNOWN,
        "no price for %s on demand in %s%s%s%s: import one with `rbprofile prices update --from FILE.csv`", type,
        m->infra, like ? " (did you mean " : "", like ? like : "", like ? "?)" : "");
}

static bool choose_offer(struct rb_measurement *m, struct rb_err *err)
{
    const struct rb_resources *r = &m->job.resources;
    if (!read_prices(m, err))
        return false;
    if (m->local) {
        const char *accelerator;
        int slots = rb_local_slots(&accelerator);
        rb_catalog_add_local(&m->catalog, &m->arena, accelerator, slots);
    }
    const char *type = m->local ? "local"
                                : rb_args_string(m->args, "instance-type",
                                                 r->instance_types.n > 0 ? r->instance_types.items[0] : NULL);
    if (!type)
        return rb_err_set(err, RB_E_WHERE_UNSAID,
                          "which machine? give --instance-type, or resources.instance_types in the job");
    m->offer = find_offer(m, type);
    return m->offer || no_price(m, type, err);
}

static bool choose_gpus(struct rb_measurement *m, int *out_n, struct rb_err *err)
{
    const char *text = rb_args_string(m->args, "gpus", NULL);
    int n = 0;
    if (text) {
        if (!parse_gpus(text, m->gpus, &n, err))
            return false;
    } else {
        for (int i = 0; i < m->job.trial.n_sizes && n < RB_GPU_COUNTS_MAX; i++)
            if (m->job.trial.sizes[i] <= m->offer->gpus)
                m->gpus[n++] = m->job.trial.sizes[i];
        if (n == 0 || m->gpus[0] != 1) { // speed-ups are over one GPU
            memmove(m->gpus + 1, m->gpus, sizeof *m->gpus * (size_t)(n < RB_GPU_COUNTS_MAX ? n : n - 1));
            m->gpus[0] = 1;
            n += n < RB_GPU_COUNTS_MAX;
        }
    }
    if (m->gpus[n - 1] > m->offer->gpus)
        return rb_err_set(err, RB_E_MEASURING_PLAN, "--gpus %d: a %s has %d", m->gpus[n - 1], m->offer->instance_type,
                          m->offer->gpus);
    *out_n = n;
    return true;
}

// --share 1,2,3: each more than one, at once on one GPU, beside the same configurations with a GPU to themselves.
static bool choose_shares(struct rb_measurement *m, struct rb_err *err)
{
    const char *text = rb_args_string(m->args, "share", NULL);
    int counts[RB_GPU_COUNTS_MAX], n;
    if (!text)
        return true;
    if (!parse_counts("--share", "numbers of trials such as 1,2,3", RB_LIMIT_TRIALS_PER_GPU, text, counts, &n, err))
        return false;
    for (int i = 0; i < n; i++) {
        if (counts[i] > 1)
            m->shares[m->n_shares++] = counts[i];
    }
    const int most = m->n_shares > 0 ? m->shares[m->n_shares - 1] : 1,
              configs = (int)rb_args_int(m->args, "configs", 3);
    if (m->gpus[0] != 1)
        return rb_err_set(err, RB_E_MEASURING_PLAN, "--share compares with one GPU: add 1 to --gpus");
    return configs >= most || rb_err_set(err, RB_E_MEASURING_PLAN,
                                         "--share %d: expected as many configurations, there are %d: add --configs %d",
                                         most, configs, most);
}

// Real machines are bought only after a look at what it costs at most.
static bool may_buy(const struct rb_measurement *m, int n_nodes, int64_t limit_us, struct rb_err *err)
{
    if (m->local || m->loopback)
        return true;
    struct rb_billing billing = {.rate = m->offer->rate};
    char cost[32], time[32];
    rb_format_money(n_nodes * rb_bill_node(&billing, 0, limit_us).total_uusd, cost);
    rb_format_duration(limit_us, time);
    rb_info("%d x %s in %s: at most %s, if every node lived the whole %s", n_nodes, m->offer->instance_type, m->infra,
            cost, time);
    if (rb_args_flag(m->args, "yes"))
        return true;
    if (!isatty(STDIN_FILENO))
        return rb_err_set(err, RB_E_NOT_CONFIRMED, "this buys real machines: say --yes");
    fprintf(stderr, "Go on? [y/N] ");
    char answer[16] = "";
    if (!fgets(answer, sizeof answer, stdin) || (answer[0] != 'y' && answer[0] != 'Y'))
        return rb_err_set(err, RB_E_NOT_CONFIRMED, "nothing was bought");
    return true;
}

// --- where --------------------------------------------------------------------------------------------------------------

static bool prepare_nodes(struct rb_measurement *m, struct rb_err *err)
{
    m->birth =
        (struct rb_birth){.job = &m->job, .run_id = m->run_id, .run_dir = m->run_dir, .hard_limit_min = HARD_LIMIT_MIN};
    return !m->transport->prepare || m->transport->prepare(&m->birth, err);
}

static bool make_run_dir(struct rb_measurement *m, struct rb_err *err)
{
    char root[3072], campaigns[3200];
    if (!rb_run_dir_root(rb_args_string(m->args, "state-dir", NULL), root, sizeof root, err))
        return false;
    rb_campaign_dir_root(root, campaigns, sizeof campaigns);
    return rb_run_dir_create(campaigns, m->job.name, m->run_id, sizeof m->run_id, m->run_dir, sizeof m->run_dir, err) &&
           rb_campaign_dir_claim(m->run_dir, m->infra, &m->claim_fd, err) && prepare_nodes(m, err);
}

static bool open_provider(struct rb_measurement *m, struct rb_err *err)
{
    m->uv = rb_loop_uv_create();
    if (!m->local && !rb_http_create(rb_loop_uv_loop(m->uv), &m->http, err))
        return false;
    struct rb_provider_config config = {
        .loop = rb_loop_uv_loop(m->uv),
        .http = m->http,
        .region = m->region,
        .loopback_only = rb_infra_within(m->infra, "mock"),
        .local_slots = m->offer->gpus,
        .slurm = &m->job.resources.slurm,
    };
    m->loopback = !m->local && m->ops->is_harmless(m->region);
    return m->ops->create(&config, &m->provider, err);
}

// The job's workdir is relative to the job file.
static bool find_workdir(struct rb_measurement *m, const char *job_path, struct rb_err *err)
{
    char path[4096];
    const char *slash = job_path ? strrchr(job_path, '/') : NULL;
    const char *dir = m->job.workdir ? m->job.workdir : ".";
    if (dir[0] == '/' || !slash)
        snprintf(path, sizeof path, "%s", dir);
    else
        snprintf(path, sizeof path, "%.*s/%s", (int)(slash - job_path), job_path, dir);
    if (!realpath(path, m->workdir))
        return rb_err_set(err, RB_E_WORKDIR, "workdir %s: %s", path, strerror(errno));
    return true;
}

// --- the run ------------------------------------------------------------------------------------------------------------

static void on_talk(void *ctx, const char *text)
{
    (void)ctx;
    rb_info("%s", text);
}

static void on_finished(void *ctx, const struct rb_err *err)
{
    struct rb_measurement *m = ctx;
    m->finished = true;
    if (err)
        m->outcome = *err;
    rb_loop_uv_stop(m->uv);
}

static void on_interrupt(void *ctx)
{
    struct rb_measurement *m = ctx;
    if (m->interrupted) {
        rb_warn("nodes of %s may be left: `rbrun gc` finds them", m->run_id);
        rb_loop_uv_stop(m->uv);
        return;
    }
    m->interrupted = true;
    rb_info("interrupted: ending the nodes (interrupt again to leave at once)");
    rb_campaign_stop(m->campaign);
}

// Everything is checked and agreed to: from here on there is something on disk, and Ctrl-C cleans up. The store is opened
// before a node is bought: what cannot be kept need not be measured.
static bool begin(struct rb_measurement *m, struct rb_err *err)
{
    if (!rb_profile_open_store(m->args, false, &m->store, err) || !make_run_dir(m, err))
        return false;
    rb_loop_uv_on_interrupt(m->uv, on_interrupt, m);
    signal(SIGPIPE, SIG_IGN); // a pager that was closed must not leave nodes behind
    return true;
}

static bool carry_out(struct rb_measurement *m, int n_nodes, int n_gpus, struct rb_err *err)
{
    const char *user = getenv("RB_SSH_USER"), *port = getenv("RB_SSH_PORT");
    bool paced_cloud = m->local || m->loopback;
    struct rb_campaign_config config = {
        .pool =
            {
                .loop = rb_loop_uv_loop(m->uv),
                .provider = &m->provider,
                .infra = m->infra,
                .offer = m->offer,
                .job = &m->job,
                .run_id = m->run_id,
                .owner = m->owner,
                .user = rb_args_string(m->args, "user", user ? user : m->job.resources.ssh_user),
                .port = (int)rb_args_int(m->args, "port", port ? atoi(port) : m->job.resources.ssh_port),
                .poll_us = paced_cloud ? 250000 : 5 * RB_US_PER_S,
                .boot_timeout_us = (m->ops->waits_in_queue ? QUEUE_BOOT_S
                                    : paced_cloud          ? NEAR_BOOT_S
                                                           : FAR_BOOT_S) *
                                   RB_US_PER_S,
                .transport = m->transport,
                .birth = &m->birth,
                .n_nodes = n_nodes,
            },
        .run_dir = m->run_dir,
        .workdir = m->workdir,
        .gpus = m->gpus,
        .n_gpus = n_gpus,
        .shares = m->shares,
        .n_shares = n_gpus > 0 ? m->n_shares : 0,
        .n_configs = n_gpus > 0 ? (int)rb_args_int(m->args, "configs", 3) : 0,
        .n_batches = n_gpus > 0 ? (int)rb_args_int(m->args, "batches", 2) : 0,
        .resource = n_gpus > 0 ? rb_args_int(m->args, "resource", 3) : 0,
        .exclusive = n_gpus > 0 && (!paced_cloud || rb_args_flag(m->args, "exclusive")),
        .on_this_machine = m->local,
        .sees_load = paced_cloud,
        .talk = on_talk,
        .finished = on_finished,
        .ctx = m,
    };
    if (!rb_campaign_create(&config, &m->campaign, err) || !rb_campaign_start(m->campaign, err))
        return false;
    rb_loop_uv_run(m->uv);
    if (m->outcome.code != RB_ERR_NONE) {
        *err = m->outcome;
        return false;
    }
    return m->finished || rb_err_set(err, RB_E_INSTANCES_LEFT, "left before the nodes were seen gone: run `rbrun gc`");
}

static void finish(struct rb_measurement *m)
{
    rb_campaign_destroy(m->campaign);
    if (m->provider.ops)
        m->provider.ops->destroy(&m->provider);
    rb_http_destroy(m->http);
    rb_loop_uv_destroy(m->uv);
    if (m->run_dir[0])
        rb_ssh_leave_control_dir(m->run_dir);
    if (m->claim_fd > 0)
        close(m->claim_fd);
    rb_store_close(m->store);
    rb_arena_finish(&m->arena);
}

// --- the two commands -----------------------------------------------------------------------------------------------------

static int count_ok(const struct rb_measurement *m)
{
    int n = 0;
    for (int i = 0; i < rb_campaign_n_runs(m->campaign); i++)
        n += rb_campaign_run(m->campaign, i)->ok;
    return n;
}

static int count_nodes(const struct rb_measurement *m, int n_nodes, enum rb_pool_outcome outcome)
{
    int n = 0;
    for (int i = 0; i < n_nodes; i++)
        n += rb_campaign_node(m->campaign, i)->outcome == outcome;
    return n;
}

// By its own doing: the first run that failed so says how.
static bool script_broken(const struct rb_measurement *m, int run, struct rb_err *err)
{
    char said[300];
    const int n = rb_campaign_n_failed_alike(m->campaign, run);
    rb_campaign_printed(m->campaign, run, said, sizeof said);
    return rb_err_set(
        err, RB_E_SCRIPT_BROKEN,
        "the training script is broken: it failed in the same way with %d configuration%s, and no run could "
        "be measured: %.200s%s%s; run it by hand and correct it; the logs are in %s/logs",
        n, n == 1 ? "" : "s", rb_campaign_run(m->campaign, run)->error, said[0] ? "; it printed: " : "", said,
        m->run_dir);
}

// Without a single node the cloud's own answer tells more than that of the runs, and decides the exit code.
static bool nothing_measured(const struct rb_measurement *m, int n_nodes, struct rb_err *err)
{
    const struct rb_err *why = rb_campaign_failure(m->campaign);
    if (why && count_nodes(m, n_nodes, RB_POOL_READY) == 0) {
        *err = *why;
        return rb_err_prefix(err, "no node came up");
    }
    for (int i = 0; i < rb_campaign_n_runs(m->campaign); i++)
        if (rb_campaign_run(m->campaign, i)->failure)
            return script_broken(m, i, err);
    return rb_err_set(err, RB_E_MEASURING_FAILED, "no run could be measured (%s); the logs are in %s/logs",
                      rb_campaign_run(m->campaign, 0)->error, m->run_dir);
}

static bool train_with(struct rb_measurement *m, struct rb_err *err)
{
    const char *sets[MAX_SETS];
    int n_sets = 0, n_gpus = 0;
    while (n_sets < MAX_SETS && (sets[n_sets] = rb_args_nth(m->args, "set", n_sets)))
        n_sets++;
    const char *path = m->args->args[0];
    if (!rb_job_load(path, sets, n_sets, &m->arena, &m->job, err) || !choose_place(m, err) || !choose_offer(m, err) ||
        !choose_gpus(m, &n_gpus, err) || !choose_shares(m, err) || !find_workdir(m, path, err) ||
        !open_provider(m, err))
        return false;
    int n_nodes = m->local ? 1 : (int)rb_args_int(m->args, "nodes", 1);
    if (!may_buy(m, n_nodes, 2 * RB_S_PER_HOUR * RB_US_PER_S, err) || !begin(m, err))
        return false;
    rb_info("measuring `%s` with %d configurations on %d node%s of %s (%s)", m->job.name,
            (int)rb_args_int(m->args, "configs", 3), n_nodes, n_nodes == 1 ? "" : "s", m->offer->instance_type,
            m->infra);
    const char *profile = rb_args_string(m->args, "name", m->job.profile);
    if (!carry_out(m, n_nodes, n_gpus, err) || !rb_measurement_store(m, profile, n_nodes, err))
        return false;
    if (count_ok(m) == 0)
        return nothing_measured(m, n_nodes, err);
    struct rb_buf out = RB_BUF_INIT;
    if (rb_args_flag(m->args, "json")) {
        rb_measurement_write(m, n_nodes, &out);
    } else {
        rb_measurement_print_runs(m, &out);
        rb_measurement_print_script(m, &out);
        rb_buf_printf(&out, "%d of %d runs kept in profile %s; look at the fit with `rbprofile show %s`\n", count_ok(m),
                      rb_campaign_n_runs(m->campaign), profile, profile);
    }
    return rb_print(&out, err);
}

// No job, no work directory: an empty bundle.
static bool make_empty_workdir(struct rb_measurement *m, struct rb_err *err)
{
    return (snprintf(m->workdir, sizeof m->workdir, "%s/empty", m->run_dir) < (int)sizeof m->workdir &&
            mkdir(m->workdir, 0700) == 0) ||
           rb_err_set(err, RB_E_DIRECTORY, "cannot make %s: %s", m->workdir, strerror(errno));
}

// Only the resources of a job count here. Without one there is the command line, and the clouds that need no more.
static bool read_resources(struct rb_measurement *m, struct rb_err *err)
{
    static const char minimal[] = "name: provision\nmetric: {name: none, goal: maximize}\nparameters: {x: 1}\n"
                                  "scheduler: {type: random, num_trials: 1, max_resource: 1}\nrun: \"true\"\n";
    if (m->args->n_args > 0)
        return rb_job_load(m->args->args[0], NULL, 0, &m->arena, &m->job, err);
    struct rb_doc doc;
    if (!rb_doc_parse_yaml(&doc, "provision", minimal, sizeof minimal - 1, err))
        return false;
    const bool ok = rb_job_read(doc.root, NULL, 0, &m->arena, &m->job, err);
    rb_doc_finish(&doc);
    m->job.resources.infra.n = 0; // where is the caller's to say
    return ok;
}

static bool provision_with(struct rb_measurement *m, struct rb_err *err)
{
    if (!read_resources(m, err))
        return false;
    m->job.resources.slurm.shared_dir = rb_args_string(m->args, "shared-dir", m->job.resources.slurm.shared_dir);
    if (!choose_place(m, err))
        return false;
    if (m->local)
        return rb_err_set(err, RB_E_MEASURING_PLAN, "--infra local: this machine needs no provisioning");
    int n_nodes = (int)rb_args_int(m->args, "n", 5);
    if (!choose_offer(m, err) || !open_provider(m, err) || !may_buy(m, n_nodes, 2 * RB_S_PER_HOUR * RB_US_PER_S, err) ||
        !begin(m, err) || !make_empty_workdir(m, err))
        return false;
    rb_info("launching %d x %s in %s", n_nodes, m->offer->instance_type, m->infra);
    if (!carry_out(m, n_nodes, 0, err) || !rb_measurement_store(m, NULL, n_nodes, err))
        return false;
    if (count_nodes(m, n_nodes, RB_POOL_FAILED) == n_nodes) { // a refusal or a time-out would have been a measurement
        *err = *rb_campaign_failure(m->campaign);
        return rb_err_prefix(err, "no node came up");
    }
    struct rb_buf out = RB_BUF_INIT;
    if (rb_args_flag(m->args, "json"))
        rb_measurement_write(m, n_nodes, &out);
    else
        rb_measurement_print_nodes(m, n_nodes, &out);
    return rb_print(&out, err);
}

static bool measure(const struct rb_args *args, bool (*with)(struct rb_measurement *m, struct rb_err *err),
                    struct rb_err *err)
{
    struct rb_measurement *m = rb_xcalloc(1, sizeof *m);
    m->args = args;
    rb_arena_init(&m->arena);
    rb_run_owner(m->owner, sizeof m->owner);
    bool ok = with(m, err), interrupted = m->interrupted;
    finish(m);
    free(m);
    if (interrupted) { // what was measured before is kept and printed; the exit code says that it is not all
        if (!ok)
            rb_err_print(err, args->command->name, rb_args_flag(args, "json"));
        exit(RB_CODE_INTERRUPTED);
    }
    return ok;
}

static bool run_train(const struct rb_args *args, struct rb_err *err)
{
    return measure(args, train_with, err);
}

static bool run_provision(const struct rb_args *args, struct rb_err *err)
{
    return measure(args, provision_with, err);
}

#define WHERE_OPTIONS                                                                                                  \
    {"infra", 0, RB_OPT_STRING, false, "I", "provider/region, or local (default: the job's first)", 0, 0},             \
        {"instance-type", 0, RB_OPT_STRING, false, "T", "machine type (default: the job's first)", 0, 0},              \
        {"user", 0, RB_OPT_STRING, false, "U", "login on the nodes (default: RB_SSH_USER, else the job's)", 0, 0},     \
        {"port", 0, RB_OPT_INT, false, "P", "ssh port of the nodes (default: RB_SSH_PORT, else the job's)", 1, 65535}, \
        {"state-dir", 0, RB_OPT_STRING, false, "DIR", "where keys and logs go (default: the user's own)", 0, 0},       \
    {                                                                                                                  \
        "yes", 0, RB_OPT_FLAG, false, NULL, "buy real machines without asking", 0, 0                                   \
    }

int rb_profile_train(int argc, char **argv)
{
    static const struct rb_option options[] = {
        {"gpus", 0, RB_OPT_STRING, false, "N,N..", "GPU counts to measure (default: the job's trial.gpus.sizes)", 0, 0},
        {"resource", 0, RB_OPT_INT, false, "N", "units (epochs) per run; to plan with, 3 or more (default: 3)", 2,
         1000},
        {"share", 0, RB_OPT_STRING, false, "N,N..", "so many trials at once on one GPU, too (default: none)", 0, 0},
        {"configs", 0, RB_OPT_INT, false, "K", "configurations drawn from the search space (default: 3)", 1, 1000},
        {"batches", 0, RB_OPT_INT, false, "N",
         "larger batches to time at each size, where trial.batch lets it be tuned (default: 2)", 0, 10},
        {"nodes", 0, RB_OPT_INT, false, "N", "nodes to measure on at the same time (default: 1)", 1, 64},
        {"name", 0, RB_OPT_STRING, false, "P", "profile to add to (default: the job's)", 0, 0},
        {"fresh", 0, RB_OPT_FLAG, false, NULL, "forget what was measured for this profile before", 0, 0},
        {"exclusive", 0, RB_OPT_FLAG, false, NULL, "one run per node at a time (always so on real machines)", 0, 0},
        {"set", 0, RB_OPT_STRING, true, "K=V", "change a key of the job", 0, 0},
        WHERE_OPTIONS,
        RB_DB_OPTION,
        RB_JSON_OPTION,
        RB_END_OPTIONS,
    };
    static const struct rb_command command = {
        "rbprofile train",
        "[options] JOB.yaml",
        "Run the job's real command at several sizes and record each unit's time.",
        "  rbprofile train job.yaml --gpus 1,2,4,8 --resource 3\n  rbprofile train job.yaml --infra local --gpus 1,2\n",
        options,
        1,
        1,
    };
    return rb_profile_carry_out(&command, run_train, argc, argv);
}

int rb_profile_provision(int argc, char **argv)
{
    static const struct rb_option options[] = {
        {"n", 'n', RB_OPT_INT, false, "N", "nodes to launch, all at once (default: 5)", 1, 100},
        {"shared-dir", 0, RB_OPT_STRING, false, "DIR", "slurm: a directory that this machine and the nodes share", 0,
         0},
        WHERE_OPTIONS,
        RB_DB_OPTION,
        RB_JSON_OPTION,
        RB_END_OPTIONS,
    };
    static const struct rb_command command = {
        "rbprofile provision",
        "[options] JOB.yaml | --infra I --instance-type T",
        "Launch nodes, record how long they take to come up, end them. Of a job only `resources` counts: image, "
        "network, ...",
        "  rbprofile provision job.yaml -n 5\n"
        "  rbprofile provision --infra aws/us-east-1 --instance-type g5.xlarge -n 5\n",
        options,
        0,
        1,
    };
    return rb_profile_carry_out(&command, run_provision, argc, argv);
}
