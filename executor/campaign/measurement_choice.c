// Chooses what to measure, and on which machine of which place.
#include "executor/campaign/measurement.h"

#include "base/limits.h"
#include "profiles/catalog/cpu_slots.h"
#include "profiles/catalog/machine_names.h"
#include "profiles/catalog/pods.h"
#include "profiles/inputs/plan_inputs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

// A place has the prices of the larger place that contains it, unless it has its own: a zone uses its region's, a
// partition its cluster's.
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

// ---- where

bool rb_measurement_choose_place(struct rb_measurement *m, struct rb_err *err)
{
    const struct rb_string_list *infra = &m->job.resources.infra;
    m->infra = m->options.infra ? m->options.infra : infra->n > 0 ? infra->items[0] : NULL;
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

// A job without GPUs is measured on one slot of its CPUs.
static bool use_cpus(struct rb_measurement *m, struct rb_err *err)
{
    const struct rb_trial_spec *trial = &m->job.trial;
    struct rb_offer *slots = rb_arena_alloc(&m->arena, sizeof *slots);
    *slots = *m->offer;
    rb_offer_use_cpus(slots, trial->cpus, trial->memory_bytes, &m->arena);
    m->offer = slots;
    return slots->gpus > 0 ||
           rb_err_set(err, RB_E_NO_SUCH_MACHINE,
                      "%s: one trial (trial.cpus, trial.memory) needs a machine without GPUs (accelerator CPU) whose "
                      "vcpus and memory_gb in the price list hold it; give --instance-type",
                      slots->instance_type);
}

bool rb_measurement_choose_offer(struct rb_measurement *m, struct rb_err *err)
{
    const struct rb_resources *r = &m->job.resources;
    if (!rb_stored_prices(m->options.db, &m->arena, &m->catalog, err) ||
        !rb_catalog_add_pods(&m->catalog, &m->job, &m->arena, err))
        return false;
    if (m->local) {
        const char *accelerator;
        int slots = rb_local_slots(m->job.trial.cpus > 0, &accelerator);
        rb_catalog_add_local(&m->catalog, &m->arena, accelerator, slots);
    }
    const char *type = m->local                   ? "local"
                       : m->options.instance_type ? m->options.instance_type
                       : r->instance_types.n > 0  ? r->instance_types.items[0]
                                                  : NULL;
    if (!type)
        return rb_err_set(err, RB_E_WHERE_UNSAID,
                          "which machine? give --instance-type, or resources.instance_types in the job");
    m->offer = find_offer(m, type);
    return m->offer ? use_cpus(m, err) : no_price(m, type, err);
}

bool rb_measurement_choose_gpus(struct rb_measurement *m, int *out_n, struct rb_err *err)
{
    const char *text = m->options.gpus;
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

// --share 1,2,3: reads the numbers above one. They run at once on one GPU, beside the same configurations with a GPU to
// themselves.
bool rb_measurement_choose_shares(struct rb_measurement *m, struct rb_err *err)
{
    const char *text = m->options.share;
    int counts[RB_GPU_COUNTS_MAX], n;
    if (!text)
        return true;
    if (!parse_counts("--share", "numbers of trials such as 1,2,3", RB_LIMIT_TRIALS_PER_GPU, text, counts, &n, err))
        return false;
    for (int i = 0; i < n; i++) {
        if (counts[i] > 1)
            m->shares[m->n_shares++] = counts[i];
    }
    const int most = m->n_shares > 0 ? m->shares[m->n_shares - 1] : 1, configs = m->options.configs;
    if (m->gpus[0] != 1)
        return rb_err_set(err, RB_E_MEASURING_PLAN, "--share compares with one GPU: add 1 to --gpus");
    return configs >= most || rb_err_set(err, RB_E_MEASURING_PLAN,
                                         "--share %d: expected as many configurations, there are %d: add --configs %d",
                                         most, configs, most);
}

// ---- the work directory

bool rb_measurement_find_workdir(struct rb_measurement *m, const char *job_path, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    rb_inputs_workdir(&m->job, job_path, &path);
    return realpath(rb_buf_str(&path), m->workdir) ||
           rb_err_set(err, RB_E_WORKDIR, "workdir %s: %s", rb_buf_str(&path), strerror(errno));
}

// Without a job there is no work directory: an empty bundle.
bool rb_measurement_empty_workdir(struct rb_measurement *m, struct rb_err *err)
{
    return (snprintf(m->workdir, sizeof m->workdir, "%s/empty", m->run_dir) < (int)sizeof m->workdir &&
            mkdir(m->workdir, 0700) == 0) ||
           rb_err_set(err, RB_E_DIRECTORY, "cannot make %s: %s", m->workdir, strerror(errno));
}
