// Queries of a profile. Interpolation happens only here.
#include "profiles/store/profile.h"

#include "base/text/buf.h"
#include "profiles/catalog/infra.h"

#include <math.h>
#include <string.h>

const struct rb_training *rb_profile_training(const struct rb_profile *p, const char *accelerator)
{
    for (int i = 0; i < p->n_training; i++)
        if (strcmp(p->training[i].accelerator, accelerator) == 0)
            return &p->training[i];
    return NULL;
}

static bool varies(const struct rb_dist *d)
{
    return rb_dist_variance(d) > 0 || d->relative_error > 0;
}

double rb_profile_mean_factor(const struct rb_profile *p)
{
    return rb_dist_mean(&p->between) * rb_dist_mean(&p->within) *
           (p->configuration ? rb_dist_mean(p->configuration) : 1);
}

double rb_profile_slow_factor(const struct rb_profile *p, double q)
{
    const double between = rb_dist_quantile(&p->between, q);
    if (!p->configuration)
        return between;
    const double configuration = rb_dist_quantile(p->configuration, q);
    if (between <= 1 || configuration <= 1)
        return fmax(between, configuration);
    return exp(hypot(log(between), log(configuration)));
}

bool rb_profile_spread_is_unknown(const struct rb_profile *p)
{
    bool known = p->exact || varies(&p->between) || varies(&p->within) || varies(&p->startup_s) ||
                 varies(&p->checkpoint_s) || (p->configuration && varies(p->configuration));
    for (int i = 0; i < p->n_training && !known; i++)
        known = p->training[i].relative_error > 0;
    return !known;
}

static bool matches(const char *pattern, const char *word)
{
    return strcmp(pattern, "*") == 0 || strcmp(pattern, word) == 0;
}

const char *rb_profile_transferred_from(const struct rb_profile *p)
{
    const char *from = NULL;
    for (int i = 0; i < p->n_training && !from; i++)
        from = p->training[i].transfer.from;
    return from;
}

const struct rb_provisioning *rb_profile_provisioning(const struct rb_profile *p, const char *infra,
                                                      const char *instance_type, enum rb_market market)
{
    for (int i = 0; i < p->n_provisioning; i++) {
        const struct rb_provisioning *row = &p->provisioning[i];
        if (rb_infra_within(infra, row->infra) && matches(row->instance_type, instance_type) &&
            matches(row->market, rb_market_name(market)))
            return row;
    }
    return NULL;
}

struct rb_hazard rb_provisioning_hazard(const struct rb_provisioning *p)
{
    return p->spells ? p->spells->hazard : (struct rb_hazard){.per_hour = p->preemption_per_hour};
}

bool rb_provisioning_may_lose(const struct rb_provisioning *p)
{
    const struct rb_hazard hazard = rb_provisioning_hazard(p);
    return !rb_hazard_is_none(&hazard);
}

bool rb_provisioning_goes_down(const struct rb_provisioning *p)
{
    return p->spells && rb_dist_mean(&p->spells->down_s) > 0;
}

double rb_provisioning_together(const struct rb_provisioning *p)
{
    return p->spells ? p->spells->together : 0;
}

// --- speed-up ---

// The batch per GPU stays as measured (weak scaling), so K GPUs need 1/K of the iterations for one unit
// of resource. Source: Pollux (OSDI'21), section 3.2: throughput = K m / T_iter.
static double throughput_speedup(const struct rb_training *t, int gpus, int nodes)
{
    const double one = rb_throughput_iter_s(&t->throughput, 1, 1, t->batch, 0);
    return gpus * one / rb_throughput_iter_s(&t->throughput, nodes, gpus, t->batch, 0);
}

static bool within_measured(const struct rb_training *t, int gpus, int nodes, struct rb_err *err)
{
    if (gpus <= t->max_gpus && nodes <= t->max_nodes)
        return true;
    return rb_err_set(err, RB_E_NOT_MEASURED,
                      "%s was measured up to %d GPU%s on %d node%s, not with %d on %d; measure it, or lower trial.gpus",
                      t->accelerator, t->max_gpus, t->max_gpus == 1 ? "" : "s", t->max_nodes,
                      t->max_nodes == 1 ? "" : "s", gpus, nodes);
}

static bool not_in_table(const struct rb_training *t, int gpus, int nodes, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf measured = RB_BUF_INIT;
    for (int i = 0; i < t->n_layouts; i++)
        if (t->layouts[i].nodes == nodes)
            rb_buf_printf(&measured, "%s%d", measured.len ? ", " : "", t->layouts[i].gpus);
    return rb_err_set(
        err, RB_E_NOT_MEASURED,
        "%s with %d GPU%s on %d node%s is outside the measurements (on %d node%s: %.200s); measure it, or "
        "change trial.gpus",
        t->accelerator, gpus, gpus == 1 ? "" : "s", nodes, nodes == 1 ? "" : "s", nodes, nodes == 1 ? "" : "s",
        measured.len ? rb_buf_str(&measured) : "nothing");
}

static double interpolate_log_log(const struct rb_layout *low, const struct rb_layout *high, int gpus)
{
    const double share = log((double)gpus / low->gpus) / log((double)high->gpus / low->gpus);
    return low->speedup * pow(high->speedup / low->speedup, share);
}

static bool table_speedup(const struct rb_training *t, int gpus, int nodes, double *out, struct rb_err *err)
{
    const struct rb_layout *below = NULL;
    for (int i = 0; i < t->n_layouts; i++) {
        const struct rb_layout *l = &t->layouts[i];
        if (l->nodes != nodes)
            continue;
        if (l->gpus == gpus) {
            *out = l->speedup;
            return true;
        }
        if (l->gpus > gpus && below) {
            *out = interpolate_log_log(below, l, gpus);
            return true;
        }
        if (l->gpus > gpus)
            break;
        below = l;
    }
    return not_in_table(t, gpus, nodes, err);
}

bool rb_training_speedup(const struct rb_training *t, int gpus, int nodes, double *out, struct rb_err *err)
{
    if (gpus < 1 || nodes < 1 || nodes > gpus)
        return rb_err_set(err, RB_E_NOT_MEASURED, "%d GPUs cannot be spread over %d nodes", gpus, nodes);
    if (!t->has_throughput)
        return table_speedup(t, gpus, nodes, out, err);
    if (!within_measured(t, gpus, nodes, err))
        return false;
    *out = throughput_speedup(t, gpus, nodes);
    return true;
}

bool rb_training_slowdown(const struct rb_training *t, int trials, double *out, struct rb_err *err)
{
    if (trials == 1) {
        *out = 1;
        return true;
    }
    for (int i = 0; i < t->n_sharing; i++) {
        if (t->sharing[i].trials == trials) {
            *out = t->sharing[i].slowdown;
            return true;
        }
    }
    return rb_err_set(
        err, RB_E_NOT_MEASURED,
        "%d trials on one %s were never measured: `rbprofile train JOB --share 1,%d`, or `sharing:` in the "
        "profile",
        trials, t->accelerator, trials);
}
