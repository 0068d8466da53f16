// Does the plan fit into the account's quotas? Compares what every stage needs at once with what the cloud grants.
#include "executor/doctor/doctor.h"

#include "profiles/catalog/infra.h"

#include <stdio.h>

struct inquiry {
    struct rb_doctor *doctor;
    const char *infra;
    struct rb_loop_uv *uv;
};

// The quota that most often stops a first run is 0: the user has not requested an increase yet.
static void judge(struct rb_doctor *d, const char *infra, const struct rb_quota *q)
{
    char subject[128], used[64];
    snprintf(subject, sizeof subject, "%.80s in %.40s", q->name, infra);
    if (q->limit < 0) {
        snprintf(rb_doctor_find(d, "quota", subject, RB_VERDICT_WARN, "%.10g %s wanted, the limit is not known",
                                q->wanted, q->unit)
                     ->remedy,
                 256, "look it up in the console of the cloud");
        return;
    }
    if (q->used < 0)
        snprintf(used, sizeof used, "the number in use is not known");
    else
        snprintf(used, sizeof used, "%.10g in use", q->used);
    const bool enough = q->wanted + (q->used > 0 ? q->used : 0) <= q->limit;
    struct rb_finding *f = rb_doctor_find(d, "quota", subject, enough ? RB_VERDICT_OK : RB_VERDICT_FAIL,
                                          "%.10g %s wanted, %.10g allowed, %s", q->wanted, q->unit, q->limit, used);
    if (enough)
        return;
    f->denied = true;
    snprintf(f->remedy, sizeof f->remedy, "ask the cloud for more, or plan with fewer or other machines");
}

static void answered(void *arg, const struct rb_err *err, const struct rb_quota *quotas, int n)
{
    struct inquiry *q = arg;
    rb_loop_uv_stop(q->uv);
    if (err)
        snprintf(
            rb_doctor_find(q->doctor, "quota", q->infra, RB_VERDICT_WARN, "not known: %.400s", err->message)->remedy,
            256, "%s",
            err->code == RB_ERR_DENIED ? "allow what docs/policies lists, or look at the quotas in the console"
                                       : "try again");
    for (int i = 0; i < n; i++)
        judge(q->doctor, q->infra, &quotas[i]);
}

static void demand(const struct rb_plan *plan, const char *infra, int moment, int offer, int count,
                   struct rb_demand *out, int *n)
{
    const struct rb_offer *o = &plan->offers[offer];
    if (rb_infra_within(o->infra, infra) && !o->reservation) // which counts against them already
        out[(*n)++] = (struct rb_demand){
            .moment = moment,
            .count = count,
            .instance_type = o->instance_type,
            .accelerator = o->accelerator,
            .market = o->market,
            .gpus = o->gpus,
            .vcpus = -1, // a plan does not contain them
        };
}

// A stage needs its own nodes and those that it requests early for the next one.
static int demands_of(const struct rb_plan *plan, const char *infra, struct rb_demand *out)
{
    int n = 0;
    for (int s = 0; s < plan->n_stages; s++) {
        const struct rb_plan_stage *stage = &plan->stages[s];
        for (int i = 0; i < stage->n_nodes; i++)
            demand(plan, infra, s, stage->nodes[i].offer, stage->nodes[i].count, out, &n);
        for (int i = 0; i < stage->n_early; i++)
            demand(plan, infra, s, stage->early[i].offer, stage->early[i].count, out, &n);
    }
    return n;
}

static int n_entries(const struct rb_plan *plan)
{
    int n = 0;
    for (int s = 0; s < plan->n_stages; s++)
        n += plan->stages[s].n_nodes + plan->stages[s].n_early;
    return n;
}

void rb_doctor_quotas(struct rb_doctor *d, const char *infra, struct rb_provider *provider, struct rb_loop_uv *uv)
{
    struct inquiry inquiry = {d, infra, uv};
    if (!d->plan || !provider->ops->quotas)
        return;
    struct rb_demand *demands = rb_arena_array(&d->files.arena, (size_t)n_entries(d->plan) + 1, sizeof *demands);
    const int n = demands_of(d->plan, infra, demands);
    if (n == 0)
        return; // the plan uses it only as a fallback
    provider->ops->quotas(provider, demands, n, answered, &inquiry);
    rb_loop_uv_run(uv);
}
