#include "library/pool_plan.h"

#include "base/limits.h"
#include "planner/search/planner.h"
#include "profiles/catalog/infra.h"
#include "profiles/job/job_image.h"
#include "providers/wire/digest.h"

#include <string.h>

static void sign(struct rb_plan *plan, const char *job_path)
{
    plan->tool = "rbrun " RB_VERSION;
    plan->job_path = job_path;
    rb_plan_digest(plan, rb_digest_sha256);
}

// ---- the nodes

static double price_a_gpu(const struct rb_offer *o)
{
    return (double)o->rate.uusd_per_hour / o->gpus;
}

// The others may stand in when it is sold out, if they have as many GPUs: the jobs were planned for those.
static const struct rb_offer *choose(const struct rb_offer *offers, int n)
{
    const struct rb_offer *best = &offers[0];
    for (int i = 1; i < n; i++)
        best = price_a_gpu(&offers[i]) < price_a_gpu(best) ? &offers[i] : best;
    return best;
}

// One trial that never gets a GPU: the run owns nodes and trains nothing.
static struct rb_job *owner_job(const struct rb_pool_file *pool, const struct rb_job *model, struct rb_arena *arena)
{
    static const int one = 1;
    struct rb_job *job = rb_arena_array(arena, 1, sizeof *job);
    *job = *model; // what every job has
    job->name = pool->name;
    job->seed = pool->seed;
    job->scheduler = (struct rb_scheduler){.type = "random",
                                           .num_trials = 1,
                                           .min_resource = 1,
                                           .max_resource = 1,
                                           .eta = 3,
                                           .unit = model->scheduler.unit,
                                           .brackets = 1};
    job->space = (struct rb_space){0};
    job->policy = "elastic";
    job->trial = (struct rb_trial_spec){.min_gpus = 1,
                                        .max_gpus = 1,
                                        .sizes = &one,
                                        .n_sizes = 1,
                                        .shares = &one,
                                        .n_shares = 1,
                                        .max_nodes = 1,
                                        .timeout_us = model->trial.timeout_us};
    job->envs = NULL;
    job->n_envs = 0;
    job->secrets = (struct rb_string_list){0};
    job->setup = NULL;
    job->run = "true";
    job->checkpoint_uri = NULL;
    job->checkpoint_bytes = job->data_bytes = 0;
    job->data_fetch = job->data_mount = NULL; // each job of the pool brings its own to the nodes that it is lent
    job->data_stays = false;
    job->resources = pool->resources;
    if (pool->resources.n_image_ids > 0) // the pool says what its nodes boot
        job->n_images = 0;
    job->deadline_us = job->deadline_at_us = -1;
    job->budget_uusd = pool->budget_uusd;
    job->on_average = false;
    return job;
}

bool rb_pool_plan_nodes(const struct rb_pool_file *pool, struct rb_plan_inputs *in, struct rb_plan *out,
                        struct rb_err *err)
{
    struct rb_job *job = owner_job(pool, &in->job, &in->arena);
    struct rb_offer *offers;
    int n;
    if (!rb_planner_offers(job, &in->catalog, &in->arena, &offers, &n, err))
        return false;
    struct rb_offer *chosen = rb_arena_array(&in->arena, 1, sizeof *chosen);
    struct rb_plan_nodes *nodes = rb_arena_array(&in->arena, 1, sizeof *nodes);
    struct rb_plan_stage *stage = rb_arena_array(&in->arena, 1, sizeof *stage);
    *chosen = *choose(offers, n);
    *nodes = (struct rb_plan_nodes){.offer = 0, .count = rb_planner_max_nodes(job, chosen)};
    *stage = (struct rb_plan_stage){.trials = 1,
                                    .resource_end = 1,
                                    .gpus_per_trial = 1,
                                    .trials_per_gpu = 1,
                                    .waves = 1,
                                    .nodes = nodes,
                                    .n_nodes = 1};
    *out = (struct rb_plan){
        .seed = pool->seed,
        .job = job,
        .profile = &in->profile,
        .policy = "shared",
        .planner = "none",
        .deadline_us = -1,
        .deadline_at_us = -1,
        .budget_uusd = pool->budget_uusd,
        .confidence = job->confidence,
        .unpredicted = true,
        .bound = {.why_not = "the nodes of a pool are not planned"},
        .stages = stage,
        .n_stages = 1,
        .offers = chosen,
        .n_offers = 1,
        .catalog = &in->catalog,
    };
    rb_plan_set_images(out, &in->arena);
    out->n_containers = 0; // each job starts its own on the nodes that it is lent
    sign(out, "");
    return true;
}

// ---- a job

static struct rb_offer lent_offer(const struct rb_offer *bought)
{
    struct rb_offer o = *bought;
    o.infra = "pool";
    o.market = RB_MARKET_ON_DEMAND;
    o.rate = (struct rb_rate){0};
    o.declared_free = true;
    o.source = "lent: the pool has the bill";
    o.fetched_at_us = -1;
    return o;
}

// Lent nodes are ready at once.
static struct rb_profile *lent_profile(const struct rb_profile *p, struct rb_arena *arena)
{
    struct rb_profile *profile = rb_arena_array(arena, 1, sizeof *profile);
    struct rb_provisioning *list = rb_arena_array(arena, (size_t)p->n_provisioning + 1, sizeof *list);
    list[0] = (struct rb_provisioning){.infra = "pool",
                                       .instance_type = "*",
                                       .market = "*",
                                       .queue_s = rb_dist_constant(0),
                                       .init_s = rb_dist_constant(0)};
    for (int i = 0; i < p->n_provisioning; i++)
        list[i + 1] = p->provisioning[i];
    *profile = *p;
    profile->provisioning = list;
    profile->n_provisioning = p->n_provisioning + 1;
    return profile;
}

// A pod has one image: that of all jobs which it is lent to.
static bool take_pods_image(const struct rb_plan *nodes, struct rb_job *job, struct rb_err *err)
{
    const char *infra = nodes->offers[0].infra, *pods = rb_job_boot_image(nodes->job, infra);
    const char *own = rb_image_for(job->images, job->n_images, infra);
    if (!rb_infra_has_pods(infra))
        return true;
    if (own && (!pods || strcmp(own, pods) != 0))
        return rb_err_set(err, RB_E_IMAGE_TWICE,
                          "job %s: image: expected %s, which the pods of the pool have, or none; got %s", job->name,
                          pods ? pods : "none", own);
    job->n_images = 0;
    return true;
}

static struct rb_job *lent_job(const struct rb_job *j, int n_nodes, struct rb_arena *arena)
{
    static const char *const pool[] = {"pool"};
    struct rb_job *job = rb_arena_array(arena, 1, sizeof *job);
    *job = *j;
    job->resources.n_reservations = 0;
    job->resources.infra = (struct rb_string_list){pool, 1};
    job->resources.instance_types = job->resources.accelerators = (struct rb_string_list){0};
    job->resources.spot = RB_SPOT_NEVER;
    job->resources.max_nodes = n_nodes;
    job->resources.image_ids = NULL;
    job->resources.n_image_ids = 0;
    job->resources.disk_bytes = 0;
    job->policy = "static"; // for the estimate; the plan's is shared
    return job;
}

// The plan lists the owned nodes: all of the pool.
static void own_all(struct rb_plan *plan, int n_nodes, struct rb_arena *arena)
{
    struct rb_plan_stage *stages = rb_arena_array(arena, (size_t)plan->n_stages, sizeof *stages);
    struct rb_plan_nodes *nodes = rb_arena_array(arena, 1, sizeof *nodes);
    *nodes = (struct rb_plan_nodes){.offer = plan->stages[0].nodes[0].offer, .count = n_nodes};
    const int slots = rb_placement_capacity(n_nodes, plan->offers[nodes->offer].gpus, plan->job->trial.sizes[0]);
    for (int i = 0; i < plan->n_stages; i++) {
        stages[i] = plan->stages[i];
        stages[i].nodes = nodes;
        stages[i].n_nodes = 1;
        stages[i].early = NULL;
        stages[i].n_early = 0;
        stages[i].gpus_per_trial = plan->job->trial.sizes[0];
        stages[i].waves = (stages[i].trials + slots - 1) / slots;
    }
    plan->stages = stages;
    plan->policy = "shared";
    plan->admit_until_us = 0;
}

bool rb_pool_plan_job(const struct rb_plan *nodes, struct rb_plan_inputs *in, struct rb_plan *out, struct rb_err *err)
{
    const int n_nodes = nodes->stages[0].nodes[0].count;
    struct rb_offer *offer = rb_arena_array(&in->arena, 1, sizeof *offer);
    struct rb_catalog *catalog = rb_arena_array(&in->arena, 1, sizeof *catalog);
    *offer = lent_offer(&nodes->offers[0]);
    *catalog = (struct rb_catalog){.offers = offer, .n_offers = 1};
    struct rb_job *job = lent_job(&in->job, n_nodes, &in->arena);
    if (!take_pods_image(nodes, job, err))
        return false;
    const struct rb_plan_request req = {
        .job = job,
        .profile = lent_profile(&in->profile, &in->arena),
        .catalog = catalog,
        .deadline_us = -1, // alone it might keep its deadline; with the others that is unknown
        .budget_uusd = -1,
        .confidence = in->job.confidence,
        .objective = RB_OBJECTIVE_MIN_TIME,
        .seed = in->job.seed,
        .samples = 256,
        .threads = 1,
    };
    struct rb_plan_result result;
    if (!rb_make_plan(&req, "static", &in->arena, out, &result, err))
        return false;
    out->deadline_us = in->job.deadline_us;
    own_all(out, n_nodes, &in->arena);
    static const char *const alone[] = {
        "the estimate is that of the job alone on the whole pool: among others it takes "
        "longer; the pool's report shows what it costs"};
    out->warnings = alone;
    out->n_warnings = 1;
    sign(out, in->job_path);
    return true;
}
