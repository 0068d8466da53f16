// A campaign from the first node to the last, and the error of one that measured nothing.
#include "executor/campaign/measurement.h"

#include "base/errors/log.h"
#include "executor/campaign/campaign_dir.h"
#include "executor/journal/run_dir.h"
#include "executor/transport/loop_uv.h"
#include "executor/gc/groups.h"
#include "executor/images/pins.h"
#include "executor/transport/ssh_command.h"
#include "profiles/catalog/infra.h"
#include "providers/wire/http.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    HARD_LIMIT_MIN = 120, // until a node ends itself, even without us
    NEAR_BOOT_S = 120,
    FAR_BOOT_S = 900,
    QUEUE_BOOT_S = 7 * 86400, // in a queue waiting costs nothing
};

static bool prepare_nodes(struct rb_measurement *m, struct rb_err *err)
{
    m->birth =
        (struct rb_birth){.job = &m->job, .run_id = m->run_id, .run_dir = m->run_dir, .hard_limit_min = HARD_LIMIT_MIN};
    return !m->transport->prepare || m->transport->prepare(&m->birth, err);
}

static bool make_run_dir(struct rb_measurement *m, struct rb_err *err)
{
    char root[3072], campaigns[3200];
    if (!rb_run_dir_root(m->options.state_dir, root, sizeof root, err))
        return false;
    rb_campaign_dir_root(root, campaigns, sizeof campaigns);
    return rb_run_dir_create(campaigns, m->job.name, m->run_id, sizeof m->run_id, m->run_dir, sizeof m->run_dir, err) &&
           rb_campaign_dir_claim(m->run_dir, m->infra, &m->claim_fd, err) && prepare_nodes(m, err);
}

bool rb_measurement_open_provider(struct rb_measurement *m, struct rb_err *err)
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
        .resources = &m->job.resources,
    };
    m->loopback = !m->local && m->ops->is_harmless(m->region);
    return m->ops->create(&config, &m->provider, err);
}

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

// Everything is checked and agreed to. From here on there are files on disk, and Ctrl-C cleans up. The store is opened
// before an instance is launched, because results that cannot be stored are useless.
bool rb_measurement_begin(struct rb_measurement *m, struct rb_err *err)
{
    if (!rb_store_open(m->options.db, false, &m->store, err) || !rb_pin_job(&m->job, m->infra, &m->arena, err) ||
        !make_run_dir(m, err))
        return false;
    rb_loop_uv_on_interrupt(m->uv, on_interrupt, m);
    signal(SIGPIPE, SIG_IGN); // a pager that was closed must not leave nodes behind
    return true;
}

// Where every run has one, so has every campaign.
static void end_groups(struct rb_measurement *m)
{
    const char *infra = m->infra;
    if (m->finished && m->ops->groups_every_run)
        rb_run_groups_delete(&(struct rb_run_groups){
            .uv = m->uv, .providers = &m->provider, .infras = &infra, .n = 1, .run_id = m->run_id});
}

bool rb_measurement_carry_out(struct rb_measurement *m, int n_nodes, int n_gpus, struct rb_err *err)
{
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
                .user = m->options.user ? m->options.user : rb_ssh_user(&m->job.resources),
                .port = m->options.port ? m->options.port : rb_ssh_port(&m->job.resources),
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
        .n_configs = n_gpus > 0 ? m->options.configs : 0,
        .n_batches = n_gpus > 0 ? m->options.batches : 0,
        .resource = n_gpus > 0 ? m->options.resource : 0,
        .exclusive = n_gpus > 0 && (!paced_cloud || m->options.exclusive),
        .on_this_machine = m->local,
        .sees_load = paced_cloud,
        .talk = on_talk,
        .finished = on_finished,
        .ctx = m,
    };
    m->campaign = rb_campaign_create(&config);
    if (!rb_campaign_start(m->campaign, err))
        return false;
    rb_loop_uv_run(m->uv);
    end_groups(m);
    if (m->outcome.code != RB_ERR_NONE) {
        *err = m->outcome;
        return false;
    }
    return m->finished || rb_err_set(err, RB_E_INSTANCES_LEFT, "left before the nodes were seen gone: run `rbrun gc`");
}

void rb_measurement_finish(struct rb_measurement *m)
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

// ---- its results

int rb_measurement_count_ok(const struct rb_measurement *m)
{
    int n = 0;
    for (int i = 0; i < rb_campaign_n_runs(m->campaign); i++)
        n += rb_campaign_run(m->campaign, i)->ok;
    return n;
}

int rb_measurement_count_nodes(const struct rb_measurement *m, int n_nodes, enum rb_pool_outcome outcome)
{
    int n = 0;
    for (int i = 0; i < n_nodes; i++)
        n += rb_campaign_node(m->campaign, i)->outcome == outcome;
    return n;
}

// The script caused the failure: the first run that failed so explains it.
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

// Without a single node the cloud's own error explains more than those of the runs, and decides the exit code.
bool rb_measurement_nothing(const struct rb_measurement *m, int n_nodes, struct rb_err *err)
{
    const struct rb_err *why = rb_campaign_failure(m->campaign);
    if (why && rb_measurement_count_nodes(m, n_nodes, RB_POOL_READY) == 0) {
        *err = *why;
        return rb_err_prefix(err, "no node came up");
    }
    for (int i = 0; i < rb_campaign_n_runs(m->campaign); i++)
        if (rb_campaign_run(m->campaign, i)->failure)
            return script_broken(m, i, err);
    return rb_err_set(err, RB_E_MEASURING_FAILED, "no run could be measured (%s); the logs are in %s/logs",
                      rb_campaign_run(m->campaign, 0)->error, m->run_dir);
}
