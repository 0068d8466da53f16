// From provisioning attempts and spot histories to the time until a node arrives, and the probability that it does.
#include "profiles/catalog/infra.h"
#include "profiles/store/samples.h"

#include <math.h>
#include <string.h>

static bool same_machine(const struct rb_provision_sample *a, const struct rb_provision_sample *b)
{
    return strcmp(a->infra, b->infra) == 0 && strcmp(a->instance_type, b->instance_type) == 0 &&
           strcmp(a->market, b->market) == 0;
}

static bool fit_times(const struct rb_provision_sample *samples, int n, struct rb_arena *arena,
                      struct rb_fit_provision *out, struct rb_err *err)
{
    RB_AUTO(rb_auto_free) double *queue_s = rb_xcalloc((size_t)n, sizeof(*queue_s));
    RB_AUTO(rb_auto_free) double *init_s = rb_xcalloc((size_t)n, sizeof(*init_s));
    RB_AUTO(rb_auto_free) double *pull_s = rb_xcalloc((size_t)n, sizeof(*pull_s));
    int n_ok = 0, n_pulled = 0;
    for (int i = 0; i < n; i++) {
        out->n_capacity += strcmp(samples[i].outcome, "capacity") == 0;
        out->n_timeout += strcmp(samples[i].outcome, "timeout") == 0;
        if (strcmp(samples[i].outcome, "ok") == 0) {
            queue_s[n_ok] = samples[i].queue_s;
            init_s[n_ok++] = samples[i].init_s;
            if (samples[i].pull_s > 0)
                pull_s[n_pulled++] = samples[i].pull_s;
        }
    }
    return (n_ok == 0 || (rb_dist_fit_latency(queue_s, n_ok, arena, &out->queue, err) &&
                          rb_dist_fit_latency(init_s, n_ok, arena, &out->init, err))) &&
           (n_pulled == 0 || rb_dist_fit_latency(pull_s, n_pulled, arena, &out->pull, err));
}

// A point shows what happened to the node since the previous point, so the first point of a history does not count.
static void watch_preemptions(const struct rb_samples *s, struct rb_fit_provision *p)
{
    for (int i = 1; i < s->n_spots; i++) {
        const struct rb_spot_sample *before = &s->spots[i - 1], *now = &s->spots[i];
        if (strcmp(now->infra, before->infra) == 0 && strcmp(now->instance_type, before->instance_type) == 0 &&
            strcmp(now->instance_type, p->instance_type) == 0 && rb_infra_within(now->infra, p->infra)) {
            p->exposure_h += (double)(now->at_us - before->at_us) / RB_US_PER_S / RB_S_PER_HOUR;
            p->n_preempted += now->preempted == 1;
        }
    }
}

bool rb_provision_fit(const struct rb_samples *s, struct rb_arena *arena, struct rb_fit_report *report,
                      struct rb_err *err)
{
    report->provisions = rb_arena_array(arena, (size_t)s->n_provisions, sizeof(*report->provisions));
    for (int i = 0, n; i < s->n_provisions; i += n) {
        const struct rb_provision_sample *first = &s->provisions[i];
        for (n = 1; i + n < s->n_provisions && same_machine(first, &s->provisions[i + n]);)
            n++;
        struct rb_fit_provision *p = &report->provisions[report->n_provisions++];
        *p = (struct rb_fit_provision){
            .infra = first->infra, .instance_type = first->instance_type, .market = first->market};
        if (!fit_times(first, n, arena, p, err))
            return rb_err_prefix(err, "provisioning of %s %s %s", p->infra, p->instance_type, p->market);
        if (strcmp(p->market, rb_market_name(RB_MARKET_SPOT)) == 0)
            watch_preemptions(s, p);
    }
    return true;
}

struct rb_provisioning *rb_provision_entries(const struct rb_fit_report *report, struct rb_arena *arena, int *out_n)
{
    struct rb_provisioning *entries = rb_arena_array(arena, (size_t)report->n_provisions, sizeof(*entries));
    *out_n = 0;
    for (int i = 0; i < report->n_provisions; i++) {
        const struct rb_fit_provision *p = &report->provisions[i];
        const int n_failed = p->n_capacity + p->n_timeout, n_ok = p->queue.n;
        const bool on_demand = strcmp(p->market, rb_market_name(RB_MARKET_ON_DEMAND)) == 0;
        if (n_ok == 0)
            continue;
        entries[(*out_n)++] = (struct rb_provisioning){
            .infra = p->infra,
            .instance_type = p->instance_type,
            .market = p->market,
            .queue_s = p->queue.dist,
            .init_s = p->init.dist,
            .capacity_failure = (double)n_failed / (n_failed + n_ok),
            .has_preemption = on_demand || p->exposure_h > 0,
            .preemption_per_hour = on_demand           ? 0
                                   : p->exposure_h > 0 ? p->n_preempted / p->exposure_h
                                                       : 0,
        };
    }
    return entries;
}
