// What rbsim simulates: one tuner under one policy, or several to compare; each on a plan from a file, on a fixed
// cluster without a plan, or on the plan that rbplan would make.
#include "commands/rbsim/rbsim.h"

#include "base/errors/log.h"
#include "commands/rbplan/rbplan_infeasible.h"
#include "engine/core/policy.h"
#include "planner/search/planner.h"
#include "providers/wire/digest.h"
#include "samplers/sampler.h"
#include "views/live/waiting_line.h"

#include <string.h>
#include <unistd.h>

#define PLAN_SAMPLES 4096

static const char *const planning_only[] = {"deadline", "budget", "confidence", "guess", "profile-file", "prices", "set"};
static const char *const cluster_only[] = {"instance-type", "gpus-per-trial"};

// ---- which variants

static bool is_policy_key(const char *text)
{
    static const char *const prefixes[] = {"scheduler.", "policy_options.", "trial."};
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        if (strncmp(text, prefixes[i], strlen(prefixes[i])) == 0 && strchr(text, '='))
            return true;
    }
    return false;
}

// "asha/tpe": false if one of both is unknown. The tuner's text is cut.
static bool name_search(char *text, const char **tuner, const char **sampler)
{
    char *slash = text ? strchr(text, '/') : NULL;
    *tuner = text;
    *sampler = slash ? slash + 1 : NULL;
    if (slash)
        *slash = '\0';
    return text && rb_tuner_find(text) && (!slash || rb_sampler_find(slash + 1));
}

// "asha/tpe:hypersched:policy_options.admission=false"
static bool name_variant(struct rb_sim_command *c, const char *text, size_t len, struct rb_err *err)
{
    struct rb_arena *arena = &c->in.arena;
    struct rb_sim_variant *v = &c->sim.variants[c->sim.n_variants];
    char *copy = rb_arena_printf(arena, "%.*s", (int)len, text), *rest = NULL;
    const char **overrides = rb_arena_array(arena, len + 4, sizeof *overrides);
    *v = (struct rb_sim_variant){.label = rb_arena_strdup(arena, copy)};
    const char *tuner, *sampler, *policy, *key;
    int n = 0;
    if (!name_search(strtok_r(copy, ":", &rest), &tuner, &sampler) || !(policy = strtok_r(NULL, ":", &rest)) ||
        !rb_policy_find_alone(policy))
        return rb_err_set(err, RB_E_OPTION_VALUE,
                          "--compare: expected TUNER:POLICY[:KEY=VALUE]... or TUNER/SAMPLER:POLICY..., as in "
                          "asha:static,asha/tpe:static; got %.80s",
                          v->label);
    overrides[n++] = rb_arena_printf(arena, "scheduler.type=%s", tuner);
    overrides[n++] = rb_arena_printf(arena, "policy=%s", policy);
    if (sampler)
        overrides[n++] = rb_arena_printf(arena, "scheduler.sampler=%s", sampler);
    while ((key = strtok_r(NULL, ":", &rest))) {
        if (!is_policy_key(key))
            return rb_err_set(
                err, RB_E_OPTION_VALUE,
                "--compare %.80s: expected a key of scheduler, policy_options or trial = its value, got %.60s",
                v->label, key);
        overrides[n++] = key;
    }
    c->overrides[c->sim.n_variants++] =
        (struct rb_job_overrides){.first = c->defaults, .n_first = c->n_defaults, .last = overrides, .n_last = n};
    return true;
}

static bool name_compared(struct rb_sim_command *c, const char *list, struct rb_err *err)
{
    for (const char *at = list; *at;) {
        const size_t len = strcspn(at, ",");
        if (c->sim.n_variants == RB_SIM_VARIANTS)
            return rb_err_set(err, RB_E_OPTION_VALUE, "--compare: more than %d at once", RB_SIM_VARIANTS);
        if (!name_variant(c, at, len, err))
            return false;
        at += len + (at[len] == ',');
    }
    return true;
}

bool rb_sim_name_variants(struct rb_sim_command *c, struct rb_err *err)
{
    const char *list;
    c->sim.variants = rb_arena_array(&c->in.arena, RB_SIM_VARIANTS, sizeof *c->sim.variants);
    c->sim.variants[0] = (struct rb_sim_variant){0};
    c->overrides = rb_arena_array(&c->in.arena, RB_SIM_VARIANTS, sizeof *c->overrides);
    c->overrides[0] = (struct rb_job_overrides){0};
    if (!rb_args_nth(c->args, "compare", 0)) {
        c->sim.n_variants = 1; // the job as --tuner and --policy made it
        return true;
    }
    if (rb_args_nth(c->args, "tuner", 0) || rb_args_nth(c->args, "policy", 0) || rb_args_nth(c->args, "plan", 0))
        return rb_err_set(err, RB_E_OPTIONS_CONFLICT,
                          "--compare names the tuners and policies: leave out --tuner, --policy and --plan");
    for (int i = 0; (list = rb_args_nth(c->args, "compare", i)); i++) {
        if (!name_compared(c, list, err))
            return false;
    }
    return c->sim.n_variants > 1 || rb_err_set(err, RB_E_OPTION_VALUE, "--compare: expected two variants at least");
}

// ---- a plan from a file

static void write_config(const struct rb_job *job, struct rb_buf *out)
{
    struct rb_json j = {.out = out};
    rb_job_write(job, &j);
}

// The plan carries its own copy of the job, and that copy runs. Constraints may have come from rbplan's flags.
static void warn_if_changed(const struct rb_sim_command *c, const struct rb_plan *plan)
{
    RB_AUTO(rb_buf_finish) struct rb_buf file = RB_BUF_INIT;
    RB_AUTO(rb_buf_finish) struct rb_buf planned = RB_BUF_INIT;
    struct rb_job job = c->in.job;
    job.deadline_us = plan->job->deadline_us;
    job.deadline_at_us = plan->job->deadline_at_us;
    job.budget_uusd = plan->job->budget_uusd;
    job.confidence = plan->job->confidence;
    job.on_average = plan->job->on_average;
    job.on_drift = job.on_drift == RB_DRIFT_UNSET ? plan->job->on_drift : job.on_drift;
    write_config(&job, &file);
    write_config(plan->job, &planned);
    if (strcmp(rb_buf_str(&file), rb_buf_str(&planned)) != 0)
        rb_warn("%s is not the job that the plan was made for; the plan's own copy is simulated", c->in.job_path);
}

// A plan's stages are those of its tuner.
static bool check_tuner(const struct rb_sim_command *c, const struct rb_plan *plan, struct rb_err *err)
{
    const char *planned = plan->job->scheduler.type, *name = rb_args_string(c->args, "tuner", planned);
    if (strcmp(name, planned) == 0)
        return rb_job_check_supported(plan->job, err);
    return rb_err_set(err, RB_E_OPTIONS_CONFLICT,
                      "--tuner %.40s: the plan was made for %s; leave out --plan to make a new plan", name, planned);
}

static bool read_plan(struct rb_sim_command *c, const char *path, struct rb_plan *out, struct rb_err *err)
{
    for (size_t i = 0; i < sizeof planning_only / sizeof planning_only[0]; i++) {
        if (rb_args_nth(c->args, planning_only[i], 0))
            return rb_err_set(err, RB_E_OPTIONS_CONFLICT,
                              "--%s changes what is planned: leave out --plan, or make a new plan", planning_only[i]);
    }
    if (!rb_doc_read(&c->plan_doc, path, err) ||
        !rb_plan_read(c->plan_doc.root, rb_digest_sha256, &c->in.arena, out, err))
        return false;
    if (!rb_args_string(c->args, "seed", NULL))
        c->sim.seed = out->seed;
    warn_if_changed(c, out);
    out->policy = rb_args_string(c->args, "policy", out->policy);
    return check_tuner(c, out, err);
}

// ---- a fixed cluster, without planning

static bool is_more_expensive(const struct rb_offer *a, const struct rb_offer *b)
{
    return a->rate.uusd_per_hour > b->rate.uusd_per_hour;
}

// The cheapest of the offers, of one type if it is named; spot only if the job allows nothing else.
static bool choose_offer(const struct rb_sim_command *c, const struct rb_job *job, const struct rb_offer *offers, int n,
                         const struct rb_offer **out, struct rb_err *err)
{
    const char *type = rb_args_string(c->args, "instance-type", NULL);
    const struct rb_offer *best = NULL;
    for (int i = 0; i < n; i++) {
        if ((type && strcmp(offers[i].instance_type, type) != 0) ||
            (offers[i].market == RB_MARKET_SPOT && job->resources.spot != RB_SPOT_ONLY))
            continue;
        if (!best || is_more_expensive(best, &offers[i]))
            best = &offers[i];
    }
    if (!best)
        return rb_err_set(err, RB_E_NO_SUCH_MACHINE,
                          "--instance-type %.60s: the job may use none such: see its resources", type ? type : "(any)");
    *out = best;
    return true;
}

static bool fixed_plan(struct rb_sim_command *c, const struct rb_job *job, struct rb_plan *out, struct rb_err *err)
{
    struct rb_arena *arena = &c->in.arena;
    struct rb_rung_table rungs;
    struct rb_offer *offers;
    const struct rb_offer *offer = NULL;
    int n_offers;
    if (!rb_planner_offers(job, &c->in.catalog, arena, &offers, &n_offers, err) ||
        !choose_offer(c, job, offers, n_offers, &offer, err) || !rb_rungs_of_job(job, &rungs, err))
        return false;
    struct rb_plan_stage *stages = rb_arena_array(arena, (size_t)rungs.n, sizeof *stages);
    struct rb_plan_nodes *nodes = rb_arena_array(arena, 1, sizeof *nodes);
    *nodes = (struct rb_plan_nodes){.offer = 0, .count = (int)rb_args_int(c->args, "nodes", 0)};
    for (int i = 0; i < rungs.n; i++)
        stages[i] = (struct rb_plan_stage){
            .trials = rungs.rungs[i].trials,
            .resource_start = rungs.rungs[i].resource_start,
            .resource_end = rungs.rungs[i].resource_end,
            .gpus_per_trial = (int)rb_args_int(c->args, "gpus-per-trial", job->trial.sizes[0]),
            .trials_per_gpu = 1,
            .nodes = nodes,
            .n_nodes = 1,
        };
    *out = (struct rb_plan){
        .tool = "rbsim " RB_VERSION,
        .seed = c->sim.seed,
        .job_path = "",
        .job = job,
        .profile = &c->in.profile,
        .policy = job->policy,
        .planner = "none",
        .deadline_us = job->deadline_us,
        .deadline_at_us = job->deadline_at_us,
        .budget_uusd = job->budget_uusd,
        .confidence = job->confidence,
        .stages = stages,
        .n_stages = rungs.n,
        .offers = offer,
        .n_offers = 1,
        .catalog = &c->in.catalog,
    };
    return true;
}

// ---- a plan made now

static bool planned(struct rb_sim_command *c, const struct rb_job *job, struct rb_plan *out, struct rb_err *err)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    struct rb_plan_result result;
    struct rb_plan_request request = rb_plan_request_of(job, &c->in.profile, &c->in.catalog);
    request.samples = PLAN_SAMPLES;
    request.threads = cores > 0 ? (int)cores : 1;
    request.early = false;
    request.alone = true;
    struct rb_waiting_line *waiting = rb_waiting_line_begin("planning", "a plan of yours comes with --plan FILE");
    const bool ok = rb_make_plan(&request, rb_planner_default(job), &c->in.arena, out, &result, err);
    if (!ok && err->code == RB_ERR_INFEASIBLE)
        rb_infeasible_explain(&request, rb_planner_default(job), &result, c->json, &c->in.arena, err);
    rb_waiting_line_end(waiting);
    return ok;
}

// ---- all variants

static bool make_plan(struct rb_sim_command *c, struct rb_sim_variant *v, const struct rb_job_overrides *o,
                      struct rb_err *err)
{
    v->job = c->in.job;
    if (o->n_last > 0 && (!rb_args_job_again(c->args, o, &c->in, &v->job, err) ||
                          (c->sim.table && !rb_sim_fit_table(c, &v->job, err))))
        return false;
    if (!rb_job_check_supported(&v->job, err))
        return false;
    if (!v->label)
        v->label = rb_arena_printf(&c->in.arena, "%s:%s", v->job.scheduler.type, v->job.policy);
    return rb_args_nth(c->args, "nodes", 0) ? fixed_plan(c, &v->job, &v->plan, err)
                                            : planned(c, &v->job, &v->plan, err);
}

static bool check_cluster_options(const struct rb_args *args, struct rb_err *err)
{
    if (rb_args_nth(args, "nodes", 0))
        return !rb_args_nth(args, "plan", 0) ||
               rb_err_set(err, RB_E_OPTIONS_CONFLICT,
                          "--nodes is a cluster without a plan: leave out --nodes or --plan");
    for (size_t i = 0; i < sizeof cluster_only / sizeof cluster_only[0]; i++) {
        if (rb_args_nth(args, cluster_only[i], 0))
            return rb_err_set(err, RB_E_OPTION_ALONE, "--%s is of a cluster without a plan: give --nodes N, too",
                              cluster_only[i]);
    }
    return true;
}

bool rb_sim_make_plans(struct rb_sim_command *c, struct rb_err *err)
{
    const char *plan = rb_args_string(c->args, "plan", NULL);
    c->sim.seed = c->in.job.seed;
    if (!check_cluster_options(c->args, err))
        return false;
    if (plan) {
        c->sim.variants[0].label = "";
        return read_plan(c, plan, &c->sim.variants[0].plan, err);
    }
    if (!rb_args_find_inputs(c->args, &c->in, err))
        return false;
    for (int i = 0; i < c->sim.n_variants; i++) {
        if (!make_plan(c, &c->sim.variants[i], &c->overrides[i], err))
            return c->sim.n_variants > 1 ? rb_err_prefix(err, "%s", c->sim.variants[i].label) : false;
    }
    return true;
}
