#include "engine/plan/plan.h"

#include "profiles/catalog/infra.h"
#include "profiles/catalog/reservation.h"
#include "profiles/job/job_image.h"
#include "profiles/job/job_scheduler.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

int rb_plan_stage_gpus_per_node(const struct rb_plan *plan, const struct rb_plan_stage *stage)
{
    assert(stage->n_nodes > 0);
    return plan->offers[stage->nodes[0].offer].gpus;
}

// All nodes of a stage are of one type.
static bool spreads(const struct rb_plan *plan, const struct rb_plan_stage *s, const char *instance_type)
{
    return s->n_nodes > 0 && s->gpus_per_trial > rb_plan_stage_gpus_per_node(plan, s) &&
           (!instance_type || strcmp(plan->offers[s->nodes[0].offer].instance_type, instance_type) == 0);
}

bool rb_plan_spreads_trials(const struct rb_plan *plan, const char *instance_type)
{
    for (int i = 0; i < plan->n_stages; i++) {
        if (spreads(plan, &plan->stages[i], instance_type))
            return true;
    }
    return false;
}

int rb_plan_stage_node_count(const struct rb_plan_stage *stage)
{
    int n = 0;
    for (int i = 0; i < stage->n_nodes; i++)
        n += stage->nodes[i].count;
    return n;
}

bool rb_plan_baseline_was_cut(const struct rb_plan *plan, const char *name)
{
    char text[80];
    const int n = snprintf(text, sizeof text, RB_PLAN_WARNS_CUT, name);
    for (int i = 0; i < plan->n_warnings; i++) {
        if (strncmp(plan->warnings[i], text, (size_t)n) == 0)
            return true;
    }
    return false;
}

void rb_plan_digest_job(const struct rb_job *job, rb_digest_fn *digest, char out_hex[65])
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    struct rb_json j;
    rb_json_init(&j, &text, false);
    rb_job_write(job, &j);
    digest(rb_buf_str(&text), text.len, out_hex);
}

void rb_plan_digest_profile(const struct rb_profile *profile, rb_digest_fn *digest, char out_hex[65])
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    struct rb_json j;
    rb_json_init(&j, &text, false);
    rb_profile_write(profile, &j);
    digest(rb_buf_str(&text), text.len, out_hex);
}

void rb_plan_digest(struct rb_plan *plan, rb_digest_fn *digest)
{
    rb_plan_digest_job(plan->job, digest, plan->job_sha256);
    rb_plan_digest_profile(plan->profile, digest, plan->profile_sha256);
}

bool rb_plan_is_free(const struct rb_plan *plan)
{
    return plan->estimate.cost_uusd.mean == 0 && plan->estimate.cost_uusd.p99 == 0;
}

const char *rb_plan_why_not_replan(const struct rb_plan *plan)
{
    const struct rb_scheduler_kind *kind = rb_scheduler_kind(plan->job->scheduler.type);
    if (plan->deadline_us < 0 && plan->budget_uusd < 0)
        return "there is no deadline and no budget to keep";
    if (plan->job->on_average)
        return "confidence: mean asks for no probability";
    if (kind->shares_levels || kind->is_population)
        return "trials of this scheduler do not train rung by rung (on_drift: replan may be asked for)";
    if (strcmp(plan->policy, "elastic") != 0)
        return "nodes are changed only under policy elastic";
    if (plan->n_stages < 2)
        return "there is one stage, which keeps its nodes";
    return rb_plan_is_free(plan) ? "the nodes cost nothing" : NULL;
}

void rb_plan_set_drift(struct rb_plan *plan, struct rb_arena *arena)
{
    if (plan->job->on_drift != RB_DRIFT_UNSET)
        return;
    struct rb_job *job = rb_arena_alloc(arena, sizeof *job);
    *job = *plan->job;
    job->on_drift = rb_plan_why_not_replan(plan) ? RB_DRIFT_WARN : RB_DRIFT_REPLAN;
    plan->job = job;
}

void rb_plan_settle_reservations(const struct rb_plan *plan, int64_t start_unix_us)
{
    for (int i = 0; i < plan->n_offers; i++)
        if (plan->offers[i].reservation)
            rb_reservation_settle(plan->offers[i].reservation, start_unix_us);
}

// --- images

static bool is_used(const struct rb_plan *plan, const char *pattern)
{
    for (int i = 0; i < plan->n_offers; i++)
        if (rb_infra_within(plan->offers[i].infra, pattern))
            return true;
    return false;
}

// A row for the place of this offer, without its zone; false: there is one, or no image.
static bool add_place(const struct rb_offer *offer, const char *image, struct rb_key_value *rows, int n,
                      struct rb_arena *arena)
{
    const char *region = strchr(offer->infra, '/'), *zone = region ? strchr(region + 1, '/') : NULL;
    if (!image || rb_image_for(rows, n, offer->infra))
        return false;
    rows[n] = (struct rb_key_value){
        zone ? rb_arena_strndup(arena, offer->infra, (size_t)(zone - offer->infra)) : offer->infra, image};
    return true;
}

void rb_plan_set_images(struct rb_plan *plan, struct rb_arena *arena)
{
    const struct rb_resources *r = &plan->job->resources;
    struct rb_key_value *images = rb_arena_array(arena, (size_t)(r->n_image_ids + plan->n_offers), sizeof *images);
    struct rb_key_value *containers = rb_arena_array(arena, (size_t)plan->n_offers, sizeof *containers);
    plan->n_images = plan->n_containers = 0;
    for (int i = 0; i < r->n_image_ids; i++)
        if (is_used(plan, r->image_ids[i].key))
            images[plan->n_images++] = r->image_ids[i];
    for (int i = 0; i < plan->n_offers; i++) {
        const struct rb_offer *offer = &plan->offers[i];
        if (rb_infra_has_pods(offer->infra))
            plan->n_images += add_place(offer, rb_job_boot_image(plan->job, offer->infra), images, plan->n_images, arena);
        plan->n_containers += add_place(offer, rb_job_container_image(plan->job, offer->infra), containers,
                                        plan->n_containers, arena);
    }
    plan->images = images;
    plan->containers = containers;
}
