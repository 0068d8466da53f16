// Writes rb-plan/1. plan_read.c reads it; estimate_codec.c reads and writes estimates.
#include "engine/plan/plan.h"

#include "profiles/catalog/reservation.h"

#include <math.h>
#include <string.h>

static void write_instant(struct rb_json *j, const char *key, int64_t unix_us)
{
    char text[32];
    rb_json_kstring(j, key, unix_us < 0 ? NULL : rb_format_instant(unix_us, text));
}

static void write_strings(struct rb_json *j, const char *key, const char *const *items, int n)
{
    rb_json_kstrings(j, key, items, n);
}

static void write_offer_name(struct rb_json *j, const struct rb_offer *offer)
{
    rb_json_put(j, "infra: %s instance_type: %s market: %s", offer->infra, offer->instance_type,
                rb_market_name(offer->market));
    if (offer->reservation)
        rb_json_kstring(j, "reservation", offer->reservation->id);
}

static void write_origin(const struct rb_plan *plan, struct rb_json *j)
{
    rb_json_put(j, "job: {name: %s path: %s|null sha256: %s config:", plan->job->name, plan->job_path,
                plan->job_sha256);
    rb_job_write(plan->job, j);
    rb_json_put(j, "} profile: {name: %s|null sha256: %s model:", plan->profile->name, plan->profile_sha256);
    rb_profile_write(plan->profile, j);
    rb_json_put(j, "} images: {");
    for (int i = 0; i < plan->n_images; i++)
        rb_json_kstring(j, plan->images[i].key, plan->images[i].value);
    rb_json_end_object(j);
    if (plan->n_containers > 0) { // left out where there are none: older plans keep their bytes
        rb_json_kobject(j, "containers");
        for (int i = 0; i < plan->n_containers; i++)
            rb_json_kstring(j, plan->containers[i].key, plan->containers[i].value);
        rb_json_end_object(j);
    }
}

static void write_constraints(const struct rb_plan *plan, struct rb_json *j)
{
    rb_json_kint_or_null(j, "deadline_us", plan->deadline_us);
    if (plan->deadline_at_us >= 0)
        write_instant(j, "deadline_at", plan->deadline_at_us);
    rb_json_kint_or_null(j, "budget_uusd", plan->budget_uusd);
    if (plan->admit_until_us > 0)
        rb_json_kint(j, "admit_until_us", plan->admit_until_us);
    rb_json_kdouble(j, "confidence", plan->confidence);
}

static void write_double_or_null(struct rb_json *j, const char *key, bool is_known, double value)
{
    rb_json_key(j, key);
    if (is_known)
        rb_json_double(j, value);
    else
        rb_json_null(j);
}

// Without a bound both figures are null; a bound of 0 has no relative gap.
static void write_bound(const struct rb_plan_bound *b, struct rb_json *j)
{
    rb_json_put(j, "bound: {cost_uusd: %jd|null", b->present ? b->cost_uusd : -1);
    write_double_or_null(j, "gap", b->present && isfinite(b->gap), b->gap);
    rb_json_kbool(j, "proved", b->proved);
    write_double_or_null(j, "tolerance", b->tolerance > 0, b->tolerance);
    write_double_or_null(j, "risk", b->tolerance > 0, b->risk);
    rb_json_kint(j, "nodes_explored", b->nodes_explored);
    write_strings(j, "relaxations", b->relaxations, b->n_relaxations);
    rb_json_put(j, "why_not: %s|null}", b->why_not);
}

static void write_spot(const struct rb_plan_safe_spot *s, struct rb_json *j)
{
    if (!s)
        return;
    rb_json_put(j, "spot: {on_demand:");
    rb_estimate_write(&s->on_demand, j);
    rb_json_put(j, "p_on_demand: %g share_on_demand: %g alone: {cost_uusd: %jd p_deadline: %g}}", s->p_on_demand,
                s->share_on_demand, s->alone_uusd, s->p_alone);
}

static void write_controller(const struct rb_plan_controller *c, struct rb_json *j)
{
    if (!c)
        return;
    rb_json_put(j, "controller: {place: %s instance_type: %s|null uusd_per_hour: %jd keep_us: %jd", c->place, c->instance_type,
                c->uusd_per_hour, c->keep_us);
    rb_json_put(j, "cost_uusd: {mean: %jd p50: %jd p95: %jd} set_aside_uusd: %jd}", c->cost_uusd.mean, c->cost_uusd.p50,
                c->cost_uusd.p95, c->set_aside_uusd);
}

static void write_stage_quantiles(const struct rb_plan *plan, struct rb_json *j, const char *key,
                                  const struct rb_quantiles *q)
{
    rb_json_key(j, key);
    if (plan->unpredicted) {
        rb_json_null(j);
        return;
    }
    rb_json_put(j, "{mean: %jd p50: %jd p95: %jd}", q->mean, q->p50, q->p95);
}

static void write_stage_nodes(const struct rb_plan *plan, const struct rb_plan_stage *s, struct rb_json *j)
{
    rb_json_karray(j, "early");
    for (int i = 0; i < s->n_early; i++) {
        rb_json_begin_object(j);
        write_offer_name(j, &plan->offers[s->early[i].offer]);
        rb_json_put(j, "count: %d at_us: %jd}", s->early[i].count, s->early[i].at_us);
    }
    rb_json_put(j, "] nodes: [");
    for (int i = 0; i < s->n_nodes; i++) {
        rb_json_begin_object(j);
        write_offer_name(j, &plan->offers[s->nodes[i].offer]);
        rb_json_put(j, "count: %d}", s->nodes[i].count);
    }
    rb_json_end_array(j);
}

static void write_stages(const struct rb_plan *plan, struct rb_json *j)
{
    rb_json_karray(j, "stages");
    for (int i = 0; i < plan->n_stages; i++) {
        const struct rb_plan_stage *s = &plan->stages[i];
        rb_json_put(j, "{stage: %d trials: %d resource_start: %jd resource_end: %jd gpus_per_trial: %d", i,
                    s->trials, s->resource_start, s->resource_end, s->gpus_per_trial);
        rb_json_put(j, "trials_per_gpu: %d waves: %d", s->trials_per_gpu, s->waves);
        write_stage_nodes(plan, s, j);
        write_stage_quantiles(plan, j, "time_us", &s->time_us);
        write_stage_quantiles(plan, j, "cost_uusd", &s->cost_uusd);
        rb_json_end_object(j);
    }
    rb_json_end_array(j);
}

static void write_baseline(const struct rb_plan *plan, const char *name, struct rb_json *j)
{
    rb_json_key(j, name);
    for (int i = 0; i < plan->n_baselines; i++) {
        if (plan->baselines[i].exists && strcmp(plan->baselines[i].name, name) == 0) {
            rb_estimate_write(&plan->baselines[i].estimate, j);
            return;
        }
    }
    rb_json_null(j);
}

static void write_offers(const struct rb_plan *plan, struct rb_json *j)
{
    rb_json_karray(j, "prices");
    for (int i = 0; i < plan->n_offers; i++) {
        const struct rb_offer *offer = &plan->offers[i];
        rb_json_begin_object(j);
        write_offer_name(j, offer);
        rb_json_put(j, "accelerator: %s|null gpus: %d uusd_per_hour: %jd source: %s|null", offer->accelerator,
                    offer->gpus, offer->rate.uusd_per_hour, offer->source ? offer->source : "");
        write_instant(j, "fetched_at", offer->fetched_at_us);
        if (offer->reservation)
            rb_json_put(j, "opens_us: %jd closes_us: %jd|null", offer->reservation->opens_us, offer->reservation->closes_us);
        if (offer->release_s > 0)
            rb_json_kint(j, "release_s", offer->release_s);
        rb_json_end_object(j);
    }
    rb_json_end_array(j);
}

static bool infra_seen_before(const struct rb_plan *plan, int offer)
{
    for (int i = 0; i < offer; i++) {
        if (strcmp(plan->offers[i].infra, plan->offers[offer].infra) == 0)
            return true;
    }
    return false;
}

// One entry per infra that any offer is on.
static void write_disks(const struct rb_plan *plan, struct rb_json *j)
{
    if (plan->job->resources.disk_bytes == 0 || !plan->catalog)
        return;
    rb_json_karray(j, "disks");
    for (int i = 0; i < plan->n_offers; i++) {
        struct rb_rate rate;
        if (infra_seen_before(plan, i) || !rb_catalog_disk_rate(plan->catalog, plan->offers[i].infra, &rate, NULL))
            continue;
        rb_json_put(j, "{infra: %s uusd_per_gb_hour: %jd}", plan->offers[i].infra, rate.uusd_per_hour);
    }
    rb_json_end_array(j);
}

void rb_plan_write_prices(const struct rb_plan *plan, struct rb_json *j)
{
    write_offers(plan, j);
    write_disks(plan, j);
}

static void write_fallbacks(const struct rb_plan *plan, struct rb_json *j)
{
    rb_json_karray(j, "fallbacks");
    for (int i = 0; i < plan->n_fallbacks; i++) {
        rb_json_begin_object(j);
        write_offer_name(j, &plan->offers[plan->fallbacks[i]]);
        rb_json_end_object(j);
    }
    rb_json_end_array(j);
}

void rb_plan_write(const struct rb_plan *plan, struct rb_json *j)
{
    rb_json_put(j, "{format: 'rb-plan/1' tool: %s|null seed: %jd", plan->tool, (int64_t)plan->seed);
    write_origin(plan, j);
    rb_json_put(j, "policy: %s|null planner: %s|null", plan->policy, plan->planner);
    write_constraints(plan, j);
    rb_json_key(j, "estimate");
    if (plan->unpredicted)
        rb_json_null(j);
    else
        rb_estimate_write(&plan->estimate, j);
    write_spot(plan->spot, j);
    write_controller(plan->controller, j);
    write_bound(&plan->bound, j);
    write_stages(plan, j);
    rb_json_kobject(j, "baselines");
    write_baseline(plan, "static", j);
    write_baseline(plan, "greedy", j);
    write_baseline(plan, "naive", j);
    rb_json_end_object(j);
    rb_plan_write_prices(plan, j);
    write_fallbacks(plan, j);
    write_strings(j, "warnings", plan->warnings, plan->n_warnings);
    rb_json_end_object(j);
}
