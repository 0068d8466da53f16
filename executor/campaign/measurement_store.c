// Stores the results of a campaign in the profile store.
#include "executor/campaign/measurement.h"

#include "base/clock.h"
#include "base/document/json.h"
#include "base/limits.h"
#include "providers/wire/child.h"
#include "providers/wire/digest.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static void describe_commit(const char *workdir, char *out, size_t size)
{
    const char *const argv[] = {"git", "-C", workdir, "describe", "--always", "--dirty", "--abbrev=12", NULL};
    RB_AUTO(rb_buf_finish) struct rb_buf name = RB_BUF_INIT;
    const struct rb_child_options options = {.out = &name, .max_output_bytes = 4096, .quiet = true};
    const bool known = rb_child_run(argv, &options, NULL);
    snprintf(out, size, "%s", known ? rb_buf_str(&name) : "");
    out[strcspn(out, "\n")] = '\0';
}

static bool store_nodes(struct rb_measurement *m, int n_nodes, int64_t now, struct rb_err *err)
{
    for (int i = 0; i < n_nodes; i++) {
        const struct rb_pool_node *n = rb_campaign_node(m->campaign, i);
        if (m->local ||
            (n->outcome != RB_POOL_READY && n->outcome != RB_POOL_CAPACITY && n->outcome != RB_POOL_TIMEOUT))
            continue; // our own mistakes show nothing about the cloud
        bool ok = n->outcome == RB_POOL_READY;
        struct rb_provision_sample p = {
            .infra = m->infra,
            .instance_type = m->offer->instance_type,
            .market = rb_market_name(m->offer->market),
            .queue_s = ok ? (double)(n->running_us - n->requested_us) / 1e6 : -1,
            .init_s = ok ? (double)(n->prepared_us - n->running_us - n->data_us) / 1e6 : -1,
            .pull_s = ok ? (double)n->pull_us / 1e6 : 0,
            .outcome = ok                               ? "ok"
                       : n->outcome == RB_POOL_CAPACITY ? "capacity"
                                                        : "timeout",
            .measured_at_us = now,
        };
        if (!rb_store_add_provision(m->store, &p, err))
            return false;
    }
    return true;
}

static bool store_readings(struct rb_measurement *m, const char *profile, int n_nodes, int64_t now, struct rb_err *err)
{
    for (int i = 0; i < n_nodes; i++) {
        const struct rb_pool_node *n = rb_campaign_node(m->campaign, i);
        const struct rb_reading_sample r = {.fetch = m->job.data_fetch,
                                            .infra = m->infra,
                                            .instance_type = m->offer->instance_type,
                                            .bytes = m->job.data_bytes,
                                            .read_s = (double)n->data_us / 1e6,
                                            .measured_at_us = now};
        if (n->data_us > 0 && !rb_store_add_reading(m->store, profile, &r, err))
            return false;
    }
    return true;
}

static bool store_shared(struct rb_measurement *m, const char *profile, const struct rb_campaign_run *r,
                         const char *config_json, const char *machine, int64_t now, struct rb_err *err)
{
    const struct rb_shared_sample sample = {
        .accelerator = m->offer->accelerator,
        .trials = r->sharers,
        .config_json = config_json,
        .command = m->job.run,
        .machine = machine,
        .measured_at_us = now,
        .unit_s = r->mean_unit_s,
    };
    return rb_store_add_shared(m->store, profile, &sample, err);
}

static bool store_runs(struct rb_measurement *m, const char *profile, int64_t now, struct rb_err *err)
{
    char commit[80], machine[400];
    struct utsname u;
    struct rb_measured_of of;
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    rb_measured_of_job(&m->job, m->workdir, rb_digest_sha256, &m->arena, &of);
    describe_commit(m->workdir, commit, sizeof commit);
    uname(&u);
    snprintf(machine, sizeof machine, "%s in %s (controller %s, %s %s)", m->offer->instance_type, m->infra, u.nodename,
             u.sysname, u.machine);
    for (int i = 0; i < rb_campaign_n_runs(m->campaign); i++) {
        const struct rb_campaign_run *r = rb_campaign_run(m->campaign, i);
        if (!r->ok)
            continue;
        struct rb_value values[RB_LIMIT_PARAMETERS];
        struct rb_buf params RB_AUTO(rb_buf_finish) = RB_BUF_INIT;
        rb_space_sample(&m->job.space, m->job.seed, (uint32_t)r->config, values);
        struct rb_json j = {.out = &params};
        rb_space_json(&m->job.space, values, &j);
        if (r->sharers > 1) {
            if (!store_shared(m, profile, r, params.data, machine, now, err))
                return false;
            continue;
        }
        struct rb_run_sample sample = {
            .accelerator = m->offer->accelerator,
            .infra = m->infra,
            .instance_type = m->offer->instance_type,
            .gpus = r->gpus,
            .nodes = 1,
            .config_json = params.data,
            .command = m->job.run,
            .commit = commit,
            .machine = machine,
            .measured_at_us = now,
            .startup_s = r->startup_s,
            .checkpoint_s = r->checkpoint_s,
            .unit_s = r->unit_s,
            .n_units = r->n_units,
            .probe = r->probe,
            .initial_batch = (double)m->job.trial.batch_size,
            .batch = r->with.batch,
            .steps = r->steps,
            .load = r->load,
            .cpus = r->load >= 0 && cpus > 0 ? (int)cpus : 0,
            .restarts = rb_campaign_resumed(m->campaign) == RB_RESUMED_NO,
            .of = of,
        };
        if (!rb_store_add_run(m->store, profile, &sample, err))
            return false;
    }
    return true;
}

bool rb_measurement_store(struct rb_measurement *m, const char *profile, int n_nodes, struct rb_err *err)
{
    int64_t now = rb_clock_unix_us();
    if (!rb_store_begin(m->store, err))
        return false;
    const bool fresh = profile && m->options.fresh && rb_campaign_has_measured(m->campaign);
    if (store_nodes(m, n_nodes, now, err) && (!fresh || rb_store_forget_runs(m->store, profile, err)) &&
        (!profile ||
         (store_readings(m, profile, n_nodes, now, err) && store_runs(m, profile, now, err))) &&
        rb_store_commit(m->store, err))
        return true;
    rb_store_rollback(m->store);
    return false;
}
