#include "planner/request/assembly.h"

#include "engine/core/policy.h"
#include "planner/request/safe_plan.h"
#include "planner/request/windows.h"
#include "planner/scores/early_runs.h"
#include "planner/scores/estimator.h"
#include "planner/search/fallbacks.h"

#include <math.h>
#include <string.h>

// Index of a scenario offer among the plan's, added at its first use.
static int refer_to(struct rb_assembly *a, int offer)
{
    if (a->offer_of[offer] < 0) {
        a->offer_of[offer] = a->n_offers;
        a->offers[a->n_offers] = a->search->scenario->offers[offer];
        a->offers[a->n_offers++].release_s = a->search->scenario->sim_offers[offer].billing.release_s;
    }
    return a->offer_of[offer];
}

// --- stages

static bool fill_stages(struct rb_assembly *a, struct rb_plan_result *result, struct rb_plan *plan, struct rb_err *err)
{
    size_t n = (size_t)result->best.n_stages;
    struct rb_plan_stage *stages = rb_arena_array(a->arena, n, sizeof *stages);
    struct rb_plan_nodes *nodes = rb_arena_array(a->arena, n, sizeof *nodes);
    struct rb_plan_early *early = rb_arena_array(a->arena, n, sizeof *early);
    rb_candidate_stages(a->search->scenario, &result->best, stages, nodes);
    rb_early_apply(&result->best, &result->early, stages, early);
    if (!rb_estimate_plan(a->search, result, stages, err))
        return false;
    plan->estimate = result->best.estimate;
    a->n_fallbacks = rb_fallbacks_of(a->search, stages, (int)n, a->fallbacks); // still of the scenario
    for (size_t i = 0; i < n; i++)
        nodes[i].offer = refer_to(a, nodes[i].offer);
    for (size_t i = 0; i < n; i++)
        early[i].offer = stages[i].n_early > 0 ? refer_to(a, early[i].offer) : 0;
    plan->stages = stages;
    plan->n_stages = (int)n;
    return true;
}

// --- fallbacks: machines that can replace a sold-out one

static void refer_to_fallbacks(struct rb_assembly *a)
{
    for (int i = 0; i < a->n_fallbacks; i++)
        a->fallbacks[i] = refer_to(a, a->fallbacks[i]);
}

// Under resources.spot: safe, the spot offers of machines like those of the stages: they come first while the run can
// afford to lose them (executor/controller/safe_spot.c), and the plan does not count on them. Without times of their
// start no one could say what a loss costs.
static void fill_spot_stand_ins(struct rb_assembly *a, int n_used)
{
    const struct rb_plan_request *req = a->search->req;
    int n_unknown = 0, n_before = a->n_offers;
    for (int u = 0; u < n_used; u++) {
        const struct rb_offer used = a->offers[u];
        for (int next; (next = rb_best_fallback(&used, a->spot, a->n_spot, a->spot_taken)) >= 0;) {
            const struct rb_offer *o = &a->spot[next];
            a->spot_taken[next] = true;
            if (!rb_profile_provisioning(req->profile, o->infra, o->instance_type, o->market)) {
                n_unknown++;
                continue;
            }
            a->fallbacks[a->n_fallbacks++] = a->n_offers;
            a->offers[a->n_offers] = *o;
            a->offers[a->n_offers++].release_s = rb_scenario_release_s(req->job, req->profile, o);
        }
    }
    if (req->job->resources.spot == RB_SPOT_SAFE && a->n_offers == n_before)
        rb_assembly_note(a, n_unknown > 0 ? "resources.spot: safe: no spot machine is used: the profile does not say how long one "
                                "takes to come; add an entry with market: spot to its provisioning"
                              : "resources.spot: safe: no spot machine is used: the price list has none of the planned "
                                "machines; import spot prices with `rbprofile import prices.csv`");
}

#define WORTH_A_HINT 0.03 // of the cost

// Of a plan that is on demand: what spot machines would change, where the profile knows their markets. A plan that is
// chosen together with them (choose_for_spot) may cost less still.
static void hint_at_spot(struct rb_assembly *a, const struct rb_plan *plan, int n_used)
{
    struct rb_assembly with = *a; // what it adds is not kept
    struct rb_plan safe = *plan;
    char text[3][32];
    fill_spot_stand_ins(&with, n_used);
    safe.offers = with.offers;
    safe.n_offers = with.n_offers;
    safe.fallbacks = with.fallbacks;
    safe.n_fallbacks = with.n_fallbacks;
    rb_safe_plan_price(&safe, 0, a->arena);
    const double worth_uusd = (1 - WORTH_A_HINT) * (double)plan->estimate.cost_uusd.mean;
    if (safe.spot && rb_safe_plan_keeps(&safe) && (double)safe.estimate.cost_uusd.mean < worth_uusd)
        rb_assembly_note(a, rb_arena_printf(a->arena,
                                "under resources.spot: safe this plan would cost about %s (95 %% <= %s) instead of %s, P(on time) "
                                "%.3f: spot machines while the run could lose them and still be in time; a plan chosen together "
                                "with spot may cost less",
                                rb_format_money(safe.estimate.cost_uusd.mean, text[0]),
                                rb_format_money(safe.estimate.cost_uusd.p95, text[1]),
                                rb_format_money(plan->estimate.cost_uusd.mean, text[2]), safe.estimate.p_deadline));
}
// A policy may need more of the profile than the planner does: reported now, not when nodes are about to be rented.
static bool policy_can_follow(const struct rb_plan *plan, struct rb_err *err)
{
    const struct rb_policy *policy = rb_policy_find(plan->policy);
    void *state;
    if (!policy || !policy->keeps_cluster || !policy->create)
        return true;
    if (!policy->create(plan, &state, err))
        return false;
    policy->destroy(state);
    return true;
}

// --- baselines

static const char *const baseline_names[] = {"static", "greedy", "naive"}; // as the plan lists them

static void warn_cut_baseline(struct rb_assembly *a, const char *name, bool exists)
{
    rb_assembly_note(a, rb_arena_printf(a->arena,
                            exists ? RB_PLAN_WARNS_CUT ": its own best may be cheaper than shown"
                                   : RB_PLAN_WARNS_CUT " before it found a plan: there may be one",
                            name));
}

// shown: the plan itself; if it is one of the baselines and time is limited, it is not estimated again; NULL: it is
// none.
static bool fill_baselines(struct rb_assembly *a, const struct rb_candidate *shown, struct rb_plan *plan,
                           struct rb_err *err)
{
    struct rb_search *search = a->search;
    const int n = sizeof baseline_names / sizeof baseline_names[0];
    struct rb_plan_baseline *baselines = rb_arena_array(a->arena, (size_t)n, sizeof *baselines);
    for (int i = 0; i < n; i++) {
        const struct rb_plan_result *result;
        baselines[i] = (struct rb_plan_baseline){.name = baseline_names[i]};
        if (search->scorer->has_one_plan && search->scorer->has_one_plan(search))
            continue;
        if (!rb_search_plan(search, rb_planner_find(baseline_names[i]), &result, err))
            return false;
        baselines[i].exists = result->feasible;
        struct rb_candidate best = result->best;
        const bool is_plan = search->req->time_limit_us > 0 && shown && rb_candidate_same_choices(&best, shown);
        const bool no_time = search->slowest_look_us > 0 && !rb_estimate_has_time(search); // the search's own figures remain
        if (result->feasible && !is_plan && !no_time && !rb_estimate_candidate(search, &best, NULL, err))
            return false;
        baselines[i].estimate = is_plan ? shown->estimate : best.estimate;
        if (result->cut || (no_time && !is_plan && result->feasible))
            warn_cut_baseline(a, baseline_names[i], result->feasible);
    }
    plan->baselines = baselines;
    plan->n_baselines = n;
    return true;
}

static void fill_request(const struct rb_search *search, const char *planner, struct rb_plan *plan)
{
    const struct rb_plan_request *req = search->req;
    *plan = (struct rb_plan){
        .seed = req->seed,
        .job_path = "",
        .job = req->job,
        .profile = req->profile,
        .policy = req->job->policy,
        .planner = planner,
        .deadline_us = req->deadline_us,
        .deadline_at_us = req->job->deadline_at_us,
        .budget_uusd = req->budget_uusd,
        .confidence = req->confidence,
        .catalog = req->catalog,
    };
}

static void add_relaxation(struct rb_plan_bound *b, const char *text, struct rb_arena *arena)
{
    const char **list = rb_arena_array(arena, (size_t)b->n_relaxations + 1, sizeof *list);
    for (int i = 0; i < b->n_relaxations; i++)
        list[i] = b->relaxations[i];
    list[b->n_relaxations++] = text;
    b->relaxations = list;
}

// Only some planners prove anything; the others report no bound. A bound covers plans that request nodes when they need
// them; a plan with earlier requests may be below it.
static struct rb_plan_bound bound_of(const struct rb_plan_result *result, const struct rb_scenario *scenario,
                                     const char *planner, const struct rb_estimate *estimate, struct rb_arena *arena)
{
    struct rb_plan_bound b = result->bound;
    const double cost_uusd = (double)estimate->cost_uusd.mean;
    b.cost_uusd = (int64_t)fmin((double)b.cost_uusd, floor((1 - b.tolerance) * cost_uusd));
    b.gap = b.cost_uusd > 0 ? fmax(0, cost_uusd / (double)b.cost_uusd - 1) : INFINITY;
    if (b.present)
        add_relaxation(&b, "nodes are requested when the stage that needs them starts", arena);
    if (result->early.any) {
        b.why_not = "the bound covers plans without early requests, and this one makes some";
        b.proved = false;
    }
    if (b.proved && estimate->spread_unknown) {
        b.why_not = "nothing is known of how far times vary: the profile's are constants";
        b.proved = false;
    }
    if (b.proved && scenario->profile->n_basis > 0) {
        b.why_not = "the profile is a guess";
        b.proved = false;
    }
    if (!b.proved && !b.why_not)
        b.why_not = rb_arena_printf(arena, "planner %s computes no bound", planner);
    return b;
}

bool rb_plan_assemble(struct rb_search *search, const struct rb_planner *planner, struct rb_plan_result *result,
                     struct rb_arena *arena, struct rb_plan *out, struct rb_err *err)
{
    size_t n_offers = (size_t)search->scenario->n_offers;
    struct rb_assembly a = {.search = search, .arena = arena, .cap_warnings = 3 * (int)n_offers + 16};
    const bool is_safe = search->req->job->resources.spot == RB_SPOT_SAFE;
    const bool is_on_demand = search->req->job->resources.spot == RB_SPOT_NEVER;
    const bool hints = is_on_demand && search->req->deadline_us >= 0 && !search->req->alone;
    if (is_safe || hints)
        a.n_spot = rb_planner_spot_offers(search->req->job, search->req->catalog, arena, &a.spot);
    const size_t n_all = n_offers + (size_t)a.n_spot;
    a.spot_taken = rb_arena_array(arena, (size_t)a.n_spot + 1, sizeof *a.spot_taken);
    a.offers = rb_arena_array(arena, n_all, sizeof *a.offers);
    a.offer_of = rb_arena_array(arena, n_offers, sizeof *a.offer_of);
    a.fallbacks = rb_arena_array(arena, n_all, sizeof *a.fallbacks);
    a.warnings = rb_arena_array(arena, (size_t)a.cap_warnings, sizeof *a.warnings);
    for (size_t i = 0; i < n_offers; i++)
        a.offer_of[i] = -1;

    struct rb_plan plan;
    fill_request(search, planner->name, &plan);
    if (!fill_stages(&a, result, &plan, err))
        return false;
    plan.offers = a.offers;
    plan.n_offers = a.n_offers;
    if (!planner->on_average && plan.estimate.p_both < plan.confidence) {
        *out = plan;
        return true;
    }
    if (!search->req->alone && !fill_baselines(&a, result->early.any ? NULL : &result->best, &plan, err))
        return false;
    plan.admit_until_us = result->best.admit_until_us;
    plan.bound = bound_of(result, search->scenario, planner->name, &plan.estimate, arena);
    const int n_used = a.n_offers;
    refer_to_fallbacks(&a);
    if (is_safe)
        fill_spot_stand_ins(&a, n_used);
    plan.n_offers = a.n_offers;
    plan.fallbacks = a.fallbacks;
    plan.n_fallbacks = a.n_fallbacks;
    rb_plan_set_images(&plan, a.arena);
    if (planner->on_average)
        rb_assembly_promise_average(&a, &plan);
    rb_assembly_note_all(&a, result, &plan, planner->on_average);
    const char *outlived;
    if (!rb_assembly_note_caveats(&a, result, err) || !rb_windows_note(search, &result->best, arena, &outlived, err))
        return false;
    if (outlived)
        rb_assembly_note(&a, outlived);
    if (hints)
        hint_at_spot(&a, &plan, n_used);
    if (is_safe)
        rb_safe_plan_price(&plan, 0, arena);
    plan.warnings = a.warnings;
    plan.n_warnings = a.n_warnings;
    if (!policy_can_follow(&plan, err))
        return false;
    rb_plan_set_drift(&plan, arena);
    *out = plan;
    return true;
}
