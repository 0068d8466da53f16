// Turns a request into a plan ready to write: offers, scenario, the chosen planner, the baselines beside it, fallbacks,
// pinned images, and the warnings that a reader of the plan must see.
#include "planner/async/endless.h"
#include "planner/proof/certificate.h"
#include "planner/request/pace.h"
#include "planner/request/question.h"
#include "planner/request/safe_plan.h"
#include "planner/request/save_note.h"
#include "planner/request/stay.h"
#include "planner/scores/early_runs.h"
#include "planner/scores/estimator.h"
#include "planner/search/fallbacks.h"
#include "simulator/world/world_evaluate.h"

#include "engine/core/policy.h"
#include "profiles/catalog/infra.h"
#include "profiles/store/reading.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_TRIALS    2.5e8 // drawn for one estimate: some tens of seconds of replicates
#define FEWEST_SAMPLES 64    // with fewer, an estimate of a probability is too imprecise

enum { MAX_NAMED_OFFERS = 4 };
#define NOT_MODELLED "public IPv4 addresses, egress and spot refunds are not modelled"
#define ATTRIBUTED                                                                                                  \
    "costs are attributed where no cloud bills them (k8s, slurm): machines there are worth this much by the price " \
    "list"

// Share of the time limit used at the end of each phase. Baselines come first: they are part of every plan, they are
// fast, and a search that is cut falls back to their plans.
#define SEARCH_UNTIL  0.8
#define MOST_ATTEMPTS 4 // to find a plan that also keeps the confidence in unseen runs
#define EARLY_UNTIL   0.85
#define SURE_SIGMA    2    // standard errors of margin in the probability of a plan chosen by few runs
#define MOST_WINDOWS  8    // plans looked for, each with one stage less on a reservation
#define ANY_UNTIL     1.05 // where there is no plan yet
#define SHOWN_RUNS    4    // reported estimates: the plan's and the baselines', ...
#define STAGE_RUNS    80   // ... and the minimum for the quantiles of its stages, in runs
#define SHOWN_PART    0.15 // of the limit: their minimum share

// Warnings and fallbacks are added while a plan is assembled.
struct assembly {
    struct rb_search *search;
    struct rb_arena *arena;
    int *offer_of; // scenario offer -> plan offer, -1: not referred to
    struct rb_offer *offers;
    int n_offers;
    const char **warnings;
    int n_warnings, cap_warnings;
    int *fallbacks;
    int n_fallbacks;
    struct rb_offer *spot; // that may stand in, [n_spot]: resources.spot: safe
    bool *spot_taken;
    int n_spot;
};

static void warn(struct assembly *a, const char *text)
{
    if (a->n_warnings == a->cap_warnings)
        return;
    a->warnings[a->n_warnings++] = text;
}

// Index of a scenario offer among the plan's, added at its first use.
static int refer_to(struct assembly *a, int offer)
{
    if (a->offer_of[offer] < 0) {
        a->offer_of[offer] = a->n_offers;
        a->offers[a->n_offers] = a->search->scenario->offers[offer];
        a->offers[a->n_offers++].release_s = a->search->scenario->sim_offers[offer].billing.release_s;
    }
    return a->offer_of[offer];
}

// --- stages

static bool fill_stages(struct assembly *a, struct rb_plan_result *result, struct rb_plan *plan, struct rb_err *err)
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

static void refer_to_fallbacks(struct assembly *a)
{
    for (int i = 0; i < a->n_fallbacks; i++)
        a->fallbacks[i] = refer_to(a, a->fallbacks[i]);
}

// Under resources.spot: safe, the spot offers of machines like those of the stages: they come first while the run can
// afford to lose them (executor/controller/safe_spot.c), and the plan does not count on them. Without times of their
// start nobody could say what a loss costs.
static void fill_spot_stand_ins(struct assembly *a, int n_used)
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
        warn(a, n_unknown > 0 ? "resources.spot: safe: no spot machine is used: the profile does not say how long one "
                                "takes to come; add an entry with market: spot to its provisioning"
                              : "resources.spot: safe: no spot machine is used: the price list has none of the planned "
                                "machines; import spot prices with `rbprofile import prices.csv`");
}

#define WORTH_A_HINT 0.03 // of the cost

// Of a plan that is on demand: what spot machines would change, where the profile knows their markets. A plan that is
// chosen together with them (choose_for_spot) may cost less still.
static void hint_at_spot(struct assembly *a, const struct rb_plan *plan, int n_used)
{
    struct assembly with = *a; // what it adds is not kept
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
        warn(a, rb_arena_printf(a->arena,
                                "resources.spot: safe would cost about %s or less (95 %% <= %s) instead of %s, P(on time) %.3f: "
                                "spot machines while the run could lose them and still be in time",
                                rb_format_money(safe.estimate.cost_uusd.mean, text[0]),
                                rb_format_money(safe.estimate.cost_uusd.p95, text[1]),
                                rb_format_money(plan->estimate.cost_uusd.mean, text[2]), safe.estimate.p_deadline));
}

// --- warnings

static bool same_reason(const struct rb_scenario *s, int a, int b)
{
    return s->offers[a].market == s->offers[b].market && strcmp(s->offers[a].infra, s->offers[b].infra) == 0 &&
           strcmp(s->sim_offers[a].why_not, s->sim_offers[b].why_not) == 0;
}

// One warning for all offers with the same reason, at the first of them.
static void warn_unusable_offer(struct assembly *a, int offer)
{
    const struct rb_scenario *s = a->search->scenario;
    RB_AUTO(rb_buf_finish) struct rb_buf others = RB_BUF_INIT;
    int n = 0;
    for (int i = 0; i < offer; i++)
        if (!s->sim_offers[i].usable && same_reason(s, i, offer))
            return;
    for (int i = offer + 1; i < s->n_offers; i++)
        if (!s->sim_offers[i].usable && same_reason(s, i, offer) && n++ < MAX_NAMED_OFFERS)
            rb_buf_printf(&others, ", %s", s->offers[i].instance_type);
    if (n > MAX_NAMED_OFFERS)
        rb_buf_printf(&others, " and %d more", n - MAX_NAMED_OFFERS);
    warn(a,
         rb_arena_printf(a->arena, "%s %s%s (%s) %s not considered: %s", s->offers[offer].infra,
                         s->offers[offer].instance_type, rb_buf_str(&others), rb_market_name(s->offers[offer].market),
                         n > 0 ? "were" : "was", s->sim_offers[offer].why_not));
}

static void warn_endless_offer(struct assembly *a, int offer)
{
    const struct rb_scenario *s = a->search->scenario;
    const struct rb_hazard hazard = rb_provisioning_hazard(s->sim_offers[offer].provisioning);
    warn(a, rb_arena_printf(a->arena,
                            "%s %s (%s) was not considered from stage %d on: its market takes %snodes back (%g "
                            "times an hour) before a trial ends",
                            s->offers[offer].infra, s->offers[offer].instance_type,
                            rb_market_name(s->offers[offer].market), rb_endless_stage(a->search, offer),
                            hazard.n_later > 0 ? "new " : "", hazard.per_hour));
}

static void warn_unusable_offers(struct assembly *a)
{
    const struct rb_scenario *s = a->search->scenario;
    for (int i = 0; i < s->n_offers; i++) {
        const char *closed = rb_windows_warning(a->search, i, a->arena);
        if (!s->sim_offers[i].usable)
            warn_unusable_offer(a, i);
        else if (closed)
            warn(a, closed);
        else if (rb_endless_stage(a->search, i) >= 0)
            warn_endless_offer(a, i);
        else if (a->search->sizes[i].n == 0 && !a->search->left_out[i])
            warn(a, rb_arena_printf(a->arena, "%s %s was not considered: no size of trial.gpus fits its nodes",
                                    s->offers[i].infra, s->offers[i].instance_type));
    }
}

// Fewer than asked for, because runs under its policy are expensive, and more cannot be requested.
static bool rests_on_few(const struct assembly *a, const struct rb_plan *plan)
{
    return rb_plan_is_by_engine(plan) && plan->estimate.samples < a->search->req->samples;
}

static void warn_close_call(struct assembly *a, const struct rb_plan *plan)
{
    const struct rb_estimate *e = &plan->estimate;
    if ((plan->deadline_us < 0 && plan->budget_uusd < 0) || e->spread_unknown)
        return;
    double above = e->p_both - plan->confidence;
    if (e->stderr_.p_both > 0 && above < 2 * e->stderr_.p_both)
        warn(a, rb_arena_printf(a->arena,
                                "the estimated probability %.3f is within two standard errors (%.4f) of the "
                                "confidence asked%s",
                                e->p_both, e->stderr_.p_both,
                                rests_on_few(a, plan)                ? ""
                                : a->search->req->time_limit_us > 0 ? "; a higher --time-limit would settle it"
                                                                    : "; more --samples would settle it"));
    else if (e->stderr_.p_both <= 0 && above < e->error.p_both)
        warn(a, rb_arena_printf(a->arena,
                                "the computed probability %.4f is within its own error (%.1e) of the confidence asked",
                                e->p_both, e->error.p_both));
}

// The plan's confidence is what it keeps: the probability that its mean time gives.
static void promise_average(struct assembly *a, struct rb_plan *plan)
{
    char mean[32];
    if (plan->deadline_us < 0)
        return;
    if (plan->estimate.spread_unknown)
        return; // there is no probability to guarantee
    plan->confidence = fmax(floor(1000 * (plan->estimate.p_deadline - plan->estimate.error.p_deadline)) / 1000, 0.001);
    warn(a, rb_arena_printf(a->arena,
                            "the deadline is kept on average (%s), as --confidence mean asks: with probability %.3f, "
                            "which is the plan's confidence",
                            rb_format_duration(plan->estimate.time_us.mean, mean), plan->confidence));
}

// Fewer than asked for, because there are very many trials or little time.
static void warn_few_samples(struct assembly *a, const struct rb_plan *plan)
{
    const struct rb_plan_request *req = a->search->req;
    if (req->samples < req->samples_asked)
        warn(a, rb_arena_printf(
                    a->arena, "estimates rest on %lld simulated runs, not on %d: %d trials are too many for more%s",
                    (long long)plan->estimate.samples, req->samples_asked, a->search->scenario->stages.rungs[0].trials,
                    req->time_limit_us > 0 ? " within the time limit" : ""));
    else if (rests_on_few(a, plan))
        warn(a, rb_arena_printf(a->arena,
                                "estimates rest on %lld simulated runs, not on %d: each decides everything that policy "
                                "%s decides while it runs, and that takes long",
                                (long long)plan->estimate.samples, req->samples, plan->policy));
}

static void warn_left_out(struct assembly *a)
{
    if (a->search->n_left_out > 0 && !a->search->left_out_for)
        warn(a, "spot offers whose markets go down were not considered: no plan with them keeps the confidence; lower it, "
                "or allow other zones and on-demand machines, which stand in");
    else if (a->search->n_left_out > 0)
        warn(a, rb_arena_printf(a->arena,
                                "%d offers that may lose nodes were not considered: this many trials cannot be replayed "
                                "within the %s limit; give a higher --%s-limit, or fewer resources.instance_types",
                                a->search->n_left_out, a->search->left_out_for, a->search->left_out_for));
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

static void warn_tuned_batch(struct assembly *a)
{
    if (a->search->req->job->trial.batch_size > 0)
        warn(a, "times are predicted with the batch size that was measured: what tuning it (trial.batch) gains is not "
                "in them");
}

static bool warn_caveats(struct assembly *a, const struct rb_plan_result *result, struct rb_err *err)
{
    const struct rb_scorer *scorer = a->search->scorer;
    const char *texts[RB_SCORER_CAVEATS] = {NULL};
    if (scorer->caveats && !scorer->caveats(a->search, &result->best, a->arena, texts, err))
        return false;
    for (int i = 0; i < RB_SCORER_CAVEATS && texts[i]; i++)
        warn(a, texts[i]);
    return true;
}

static void warn_unknown_spread(struct assembly *a, const struct rb_plan *plan)
{
    if (plan->estimate.spread_unknown)
        warn(a, rb_arena_printf(
                    a->arena,
                    "every time in profile \"%.60s\" is a constant, so nothing is known of how far a run may be "
                    "from this: measure it with `rbprofile train`, or write `exact: true` into it if its times "
                    "never vary",
                    plan->profile->name));
}

// How long the nodes of an offer read: what was measured there, or that nobody knows it.
static void note_reading(struct assembly *a, const struct rb_job *job, const struct rb_profile *profile, int offer,
                         bool *out_unknown)
{
    const struct rb_offer *o = &a->offers[offer];
    const struct rb_reading *r = rb_reading_measured(job, profile, o);
    char size[32], took[32];
    *out_unknown = *out_unknown || !rb_reading_is_known(job, profile, o);
    if (!r)
        return;
    const double read_s = rb_reading_mean_s(job, profile, o);
    warn(a, rb_arena_printf(a->arena, "a new %s in %s fetches %s of data in %s on average (%.3g MB/s, measured on %d node%s)",
                            o->instance_type, o->infra, rb_format_size_exact(job->data_bytes, size),
                            rb_format_duration(rb_us_from_seconds(read_s), took),
                            (double)job->data_bytes / fmax(read_s, 1e-6) / 1e6, r->nodes, r->nodes == 1 ? "" : "s"));
}

static void warn_unknown_reading(struct assembly *a, const struct rb_job *job)
{
    char size[32];
    rb_format_size_exact(job->data_bytes, size);
    warn(a, rb_arena_printf(a->arena,
                            job->data_fetch
                                ? "the time in which a new node fetches %s of data is not charged: the first run measures "
                                  "it; until then declare data.bandwidth, such as 1GB/s"
                                : "the time in which a new node reads %s of data is not charged: declare data.bandwidth, "
                                  "such as 1GB/s",
                            size));
}

// Data is transferred to the nodes: each node reads all of it.
static void warn_data(struct assembly *a, const struct rb_plan *plan)
{
    const struct rb_job *job = plan->job;
    const char *infra = a->offers[plan->stages[0].nodes[0].offer].infra;
    char size[32];
    bool moves = false, unknown = false;
    if (job->data_bytes == 0)
        return;
    rb_format_size_exact(job->data_bytes, size);
    for (int o = 0; o < a->n_offers; o++)
        note_reading(a, job, plan->profile, o, &unknown);
    if (unknown)
        warn_unknown_reading(a, job);
    for (int i = 0; i < plan->n_stages; i++)
        for (int k = 0; k < plan->stages[i].n_nodes; k++)
            moves = moves || strcmp(a->offers[plan->stages[i].nodes[k].offer].infra, infra) != 0;
    if (moves && job->data_uusd_per_gb == 0)
        warn(a,
             rb_arena_printf(a->arena,
                             "nodes are in several places and each new one reads %s of data there: what its transfer "
                             "costs is not charged (data.price_per_gb is 0); keep the job to one place with "
                             "resources.infra if the data is in one",
                             size));
}

static void warn_restarts(struct assembly *a, const struct rb_plan *plan)
{
    if (plan->job->starts_over && plan->n_stages > 1)
        warn(a, "checkpoint.resume is false: every stage trains from the beginning again, and that is charged");
    else if (plan->profile->restarts && plan->n_stages > 1)
        warn(
            a,
            "the script does not go on from its checkpoints (the profile says resumes: false): every stage trains from "
            "the beginning again, and that is charged");
}

static void note_saves(struct assembly *a, const struct rb_candidate *best)
{
    for (int i = 0; i < a->search->scenario->n_offers; i++) {
        const char *note = rb_save_note(a->search, best, i, a->arena);
        if (note)
            warn(a, note);
    }
}

static void fill_warnings(struct assembly *a, const struct rb_plan_result *result, const struct rb_plan *plan,
                          bool on_average)
{
    bool is_billed = false, is_attributed = false;
    for (int i = 0; i < a->n_offers; i++) {
        const bool is_there_anyway = rb_infra_may_be_free(a->offers[i].infra);
        is_billed |= !a->offers[i].declared_free && !is_there_anyway;
        is_attributed |= !a->offers[i].declared_free && is_there_anyway;
    }
    if (is_billed)
        warn(a, NOT_MODELLED);
    if (is_attributed)
        warn(a, ATTRIBUTED);
    if (result->cut)
        warn(a, "the search was cut at its node, time or memory limit: a cheaper plan may exist");
    if (a->search->req->offers_dropped)
        warn(a, a->search->req->offers_dropped);
    warn_few_samples(a, plan);
    warn_left_out(a);
    warn_tuned_batch(a);
    warn_unknown_spread(a, plan);
    warn_data(a, plan);
    warn_restarts(a, plan);
    note_saves(a, &result->best);
    if (!on_average)
        warn_close_call(a, plan);
    warn_unusable_offers(a);
}

// --- baselines

static const char *const baseline_names[] = {"static", "greedy", "naive"}; // as the plan lists them

static void warn_cut_baseline(struct assembly *a, const char *name, bool exists)
{
    warn(a, rb_arena_printf(a->arena,
                            exists ? RB_PLAN_WARNS_CUT ": its own best may be cheaper than shown"
                                   : RB_PLAN_WARNS_CUT " before it found a plan: there may be one",
                            name));
}

// shown: the plan itself; if it is one of the baselines and time is limited, it is not estimated again; NULL: it is
// none.
static bool fill_baselines(struct assembly *a, const struct rb_candidate *shown, struct rb_plan *plan,
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
        if (result->feasible && !is_plan && !rb_estimate_candidate(search, &best, NULL, err))
            return false;
        baselines[i].estimate = is_plan ? shown->estimate : best.estimate;
        if (result->cut)
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

static bool assemble(struct rb_search *search, const struct rb_planner *planner, struct rb_plan_result *result,
                     struct rb_arena *arena, struct rb_plan *out, struct rb_err *err)
{
    size_t n_offers = (size_t)search->scenario->n_offers;
    struct assembly a = {.search = search, .arena = arena, .cap_warnings = 3 * (int)n_offers + 16};
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
    if (!fill_stages(&a, result, &plan, err) ||
        (!search->req->alone && !fill_baselines(&a, result->early.any ? NULL : &result->best, &plan, err)))
        return false;
    plan.admit_until_us = result->best.admit_until_us;
    plan.bound = bound_of(result, search->scenario, planner->name, &plan.estimate, arena);
    const int n_used = a.n_offers;
    refer_to_fallbacks(&a);
    if (is_safe)
        fill_spot_stand_ins(&a, n_used);
    plan.offers = a.offers;
    plan.n_offers = a.n_offers;
    plan.fallbacks = a.fallbacks;
    plan.n_fallbacks = a.n_fallbacks;
    rb_plan_set_images(&plan, a.arena);
    if (planner->on_average)
        promise_average(&a, &plan);
    fill_warnings(&a, result, &plan, planner->on_average);
    const char *outlived;
    if (!warn_caveats(&a, result, err) || !rb_windows_note(search, &result->best, arena, &outlived, err))
        return false;
    if (outlived)
        warn(&a, outlived);
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

// Without a limit in the request the program's own node limit applies.
static const char *how_far(const struct rb_plan_request *req, const struct rb_plan_result *result)
{
    if (!result->cut)
        return "";
    return req->node_limit > 0 || req->out_of_time || req->memory_limit_bytes > 0
               ? " (as far as was searched: it was cut at its node, time or memory limit)"
               : " (as far as was searched: there may be nearer ones, and --node-limit N looks longer for them)";
}

static bool infeasible_on_average(const struct rb_plan_request *req, const struct rb_plan_result *result,
                                  struct rb_err *err)
{
    char text[32];
    return rb_err_set(err, RB_E_NO_PLAN, "no plan keeps the deadline on average; nearest that would: --deadline %s%s",
                      rb_format_duration_exact(result->nearest_deadline_us, text), how_far(req, result));
}

// may_exist: the search has left plans out that it took for late.
static bool infeasible(const struct rb_plan_request *req, const struct rb_planner *planner,
                       const struct rb_plan_result *result, bool may_exist, struct rb_err *err)
{
    char text[2][32], asked[32], best[32];
    struct rb_buf near = RB_BUF_INIT;
    if (planner->on_average)
        return infeasible_on_average(req, result, err);
    if (result->nearest_deadline_us >= 0)
        rb_buf_printf(&near, " --deadline %s", rb_format_duration_exact(result->nearest_deadline_us, text[0]));
    if (result->nearest_budget_uusd >= 0)
        rb_buf_printf(&near, "%s --budget %s", near.len ? " or" : "",
                      rb_format_money_exact(result->nearest_budget_uusd, text[1]));
    if (!isnan(result->nearest_confidence))
        rb_buf_printf(&near, "%s --confidence %.3f", near.len ? " or" : "", result->nearest_confidence);
    rb_format_probabilities(req->confidence, result->best.estimate.p_both, asked, best);
    rb_err_set(err, RB_E_NO_PLAN, "%s the constraints with probability %s (the best reaches %s%s)%s; %s%s%s",
               may_exist ? "no plan was found that keeps" : "no plan keeps", asked, best, result->best.estimate.p_both >= req->confidence ? ", too near to it to be promised" : "",
               may_exist ? ", and there may be one: the search takes spot markets as always up" : "",
               near.len ? "nearest that would:" : "no single one of them changed would do", rb_buf_str(&near),
               how_far(req, result));
    rb_buf_finish(&near);
    return false;
}

// If runs are slow, the reported figures need more of the limit, and the search gets less.
static double share_for_search(const struct rb_search *search)
{
    const struct rb_plan_request *req = search->req;
    const double runs = SHOWN_RUNS * (double)req->samples + (search->scorer->barriers ? STAGE_RUNS : 0);
    const double shown = req->run_us > 0 ? runs * req->run_us / (double)req->time_limit_us : 0;
    return fmax(0, 1 - fmax(0, shown - SHOWN_PART));
}

// With a time limit, each baseline gets its part of it before the search begins; its result stays in the search. Static
// finds a plan soonest, and greedy starts from there.
static bool plan_baselines(struct rb_search *search, struct rb_time_share *phase, struct rb_err *err)
{
    static const struct {
        const struct rb_planner *planner;
        double until;
    } order[] = {{&rb_planner_static, 0.12}, {&rb_planner_greedy, 0.3}, {&rb_planner_naive, 0.36}};
    for (size_t i = 0; i < sizeof order / sizeof order[0] && search->req->time_used; i++) {
        const struct rb_plan_result *ignored;
        phase->until = order[i].until * share_for_search(search);
        if (!rb_search_plan(search, order[i].planner, &ignored, err))
            return false;
    }
    return true;
}

// The best of many plans keeps less than the runs show by which it was chosen, and the difference grows as their number
// falls.
static double guard_of(const struct rb_plan_request *req)
{
    return SURE_SIGMA * sqrt(req->confidence * (1 - req->confidence) / req->samples);
}

static bool find_fixed(struct rb_search *search, double guard, const struct rb_plan_result **out, struct rb_err *err)
{
    const double before = search->guard;
    search->any_plan = true;
    search->guard = guard;
    rb_search_forget(search);
    const bool ok = rb_search_plan(search, &rb_planner_static, out, err);
    search->any_plan = false;
    search->guard = before;
    return ok;
}

// There is no plan, and no time to search. Takes the first fixed cluster that keeps the constraints, if one is found
// soon. There is no time for a second one, so one that keeps them with a margin is preferred.
static bool find_any_plan(struct rb_search *search, struct rb_time_share *phase, struct rb_plan_result *io,
                          struct rb_err *err)
{
    const struct rb_plan_result *found;
    const bool is_only = search->scorer->has_one_plan && search->scorer->has_one_plan(search);
    const bool has_time = rb_search_has_time_for(search, search->scorer->n_compared(search));
    if (io->feasible || is_only || has_time || !search->req->time_used)
        return true;
    const double share = share_for_search(search);
    phase->until = share > 0 ? share + ANY_UNTIL - 1 : ANY_UNTIL;
    const double guard = guard_of(search->req);
    if (!find_fixed(search, fmax(search->guard, guard), &found, err) ||
        (!found->feasible && !find_fixed(search, fmax(0, search->guard - guard), &found, err)))
        return false;
    if (!found->feasible)
        return io->best.n_stages > 0 || rb_static_nearest(search, io, err);
    const struct rb_plan_bound bound = io->bound;
    *io = *found;
    io->bound = bound;
    io->cut = true;
    return !rb_search_is_certified(search) || rb_certify(search, &io->best, &io->bound, &io->cut, err);
}

static bool plan_in_phases(struct rb_search *search, const struct rb_planner *planner, struct rb_time_share *phase,
                           struct rb_plan_result *out, struct rb_err *err)
{
    const struct rb_plan_result *result;
    if (planner == &rb_planner_optimal && !plan_baselines(search, phase, err))
        return false;
    phase->until = SEARCH_UNTIL * share_for_search(search);
    if (!rb_search_plan(search, planner, &result, err))
        return false;
    *out = *result;
    if (!find_any_plan(search, phase, out, err))
        return false;
    phase->until = EARLY_UNTIL * share_for_search(search);
    const bool ok = !search->req->early || !search->scorer->improve || planner != &rb_planner_optimal ||
                    search->scorer->improve(search, out, err);
    phase->until = 1;
    return ok;
}

static bool is_same_machine(const struct rb_offer *a, const struct rb_offer *b)
{
    return a->market == b->market && strcmp(a->instance_type, b->instance_type) == 0;
}

// "zones: aws/us-east-1/us-east-1a g5.xlarge (spot) stands for 2 others that are no cheaper; they are fallbacks"
static void explain_zones(struct rb_search *search)
{
    const struct rb_scenario *s = search->scenario;
    for (int i = 0; i < s->n_offers && rb_search_explains(search); i++) {
        int others = 0;
        if (search->sizes[i].n == 0 || rb_search_is_outbid(search, i))
            continue;
        for (int k = 0; k < s->n_offers; k++)
            others += k != i && is_same_machine(&s->offers[i], &s->offers[k]) && rb_search_is_outbid(search, k);
        if (others > 0)
            rb_search_note(search, "zones: %s %s (%s) stands for %d other%s no cheaper; fallbacks if it is sold out",
                           s->offers[i].infra, s->offers[i].instance_type, rb_market_name(s->offers[i].market), others,
                           others == 1 ? " that is" : "s that are");
    }
    if (search->req->offers_dropped)
        rb_search_note(search, "%s", search->req->offers_dropped);
}

// The remaining time of a limit is for the plan; and if stages are sampled, another search costs as much as the first.
static bool may_find_marginal(const struct rb_search *search, const struct rb_planner *planner)
{
    const struct rb_plan_request *req = search->req;
    return req->marginal && planner == &rb_planner_optimal && search->scorer->marginal &&
           req->objective == RB_OBJECTIVE_MIN_COST && req->deadline_us >= 0 && !req->out_of_time;
}

// The nearest constraints of a search with a larger margin may equal the requested ones: these are not offered.
static void drop_what_was_asked(const struct rb_plan_request *req, struct rb_plan_result *io)
{
    const double reached = floor(1000 * io->best.estimate.p_both) / 1000;
    if (io->nearest_deadline_us <= req->deadline_us)
        io->nearest_deadline_us = -1;
    if (io->nearest_budget_uusd <= req->budget_uusd)
        io->nearest_budget_uusd = -1;
    if (io->nearest_confidence >= req->confidence)
        io->nearest_confidence = reached > 0 && reached < req->confidence ? reached : NAN;
}

// Every plan is made here. Its own reported figures decide: they rest on runs that the search has not used. If these
// show less than the confidence, the search is repeated with a larger margin, and no plan below the confidence is
// shown.
// Where a plan is late because its markets go down, which the search does not know, an earlier deadline gives room for
// that: a margin of probability would not, since markets that stay up leave next to none. At last comes the fastest plan.
static const double hurry[] = {1, 0.9, 0.75, 0.6}; // share of the time until the deadline
enum { FASTEST = sizeof hurry / sizeof hurry[0] };

static void ask_for_sooner(struct rb_search *search, const struct rb_plan_request *asked, int hurried,
                           struct rb_plan_request *out)
{
    *out = *asked;
    if (hurried < FASTEST)
        out->deadline_us = (int64_t)(hurry[hurried] * (double)asked->deadline_us);
    else
        out->objective = RB_OBJECTIVE_MIN_TIME;
    rb_search_ask_again(search, out);
}

static void note_spot(struct rb_search *search, double share, const struct rb_plan *plan)
{
    char text[2][32];
    rb_search_note(search, "spot: planned for %.0f %% of the time: %s with spot machines, %s without, P %.3f", 100 * share,
                   rb_format_money(plan->estimate.cost_uusd.mean, text[0]),
                   rb_format_money(rb_plan_as_it_stands(plan)->cost_uusd.mean, text[1]), plan->estimate.p_both);
}

// A plan that ends earlier leaves more time for spot machines: of those for earlier deadlines, the one with which the run
// costs least is taken. What is said of it then comes from replays that have not chosen it.
static bool choose_for_spot(struct rb_search *search, const struct rb_planner *planner, struct rb_time_share *phase,
                            struct rb_arena *arena, struct rb_plan *io, struct rb_plan_result *io_result,
                            struct rb_err *err)
{
    static const double shares[] = {0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3}; // of the time until the deadline
    const struct rb_plan_request *asked = search->req;
    struct rb_plan_request sooner = *asked, again = *asked;
    const struct rb_plan first = *io;
    struct rb_candidate last = io_result->best;
    bool ok = true;
    again.alone = true; // the first plan has the others beside it
    note_spot(search, 1, io);
    for (size_t i = 0; i < sizeof shares / sizeof shares[0] && !rb_search_out_of_time(search); i++) {
        struct rb_plan_result result;
        struct rb_plan plan;
        sooner.deadline_us = (int64_t)(shares[i] * (double)asked->deadline_us);
        rb_search_ask_again(search, &sooner);
        ok = plan_in_phases(search, planner, phase, &result, err);
        rb_search_ask_again(search, &again);
        if (!ok || !result.feasible)
            break;
        if (rb_candidate_same_choices(&result.best, &last))
            continue;
        last = result.best;
        ok = assemble(search, planner, &result, arena, &plan, err);
        if (!ok)
            break;
        note_spot(search, shares[i], &plan);
        if (rb_safe_plan_is_better(&plan, io)) {
            *io = plan;
            *io_result = result;
        }
    }
    rb_search_ask_again(search, asked);
    io->baselines = first.baselines;
    io->n_baselines = first.n_baselines;
    rb_safe_plan_price(io, RB_PLAN_REPLAYS, arena);
    return ok;
}

// *out_missed: a plan was, because its markets go down more often than the search knows.
static bool plan_until_kept(struct rb_search *search, const struct rb_planner *planner, struct rb_time_share *phase,
                            struct rb_arena *arena, struct rb_plan *out_plan, struct rb_plan_result *out_result,
                            bool *out_missed, struct rb_err *err)
{
    const struct rb_plan_request *asked = search->req;
    struct rb_plan_request sooner;
    int hurried = 0;
    *out_missed = false;
    for (int attempt = 0; attempt < MOST_ATTEMPTS + hurried; attempt++) {
        const bool planned = plan_in_phases(search, planner, phase, out_result, err);
        if (hurried > 0)
            rb_search_ask_again(search, asked);
        if (!planned)
            return false;
        if (!out_result->feasible && hurried > 0 && hurried < FASTEST) {
            ask_for_sooner(search, asked, hurried = FASTEST, &sooner);
            continue;
        }
        if (!out_result->feasible)
            break;
        if (hurried > 0) // it was searched for another question, and the bound is that one's
            out_result->bound = (struct rb_plan_bound){.why_not = "markets go down, and faster plans were looked for",
                                                       .nodes_explored = out_result->bound.nodes_explored};
        if (!assemble(search, planner, out_result, arena, out_plan, err))
            return false;
        phase->until = ANY_UNTIL;
        const bool is_late = rb_search_out_of_time(search);
        const struct rb_estimate *e = rb_plan_as_it_stands(out_plan);
        if (planner->on_average || e->p_both >= asked->confidence)
            return !out_plan->spot || asked->objective != RB_OBJECTIVE_MIN_COST ||
                   choose_for_spot(search, planner, phase, arena, out_plan, out_result, err);
        const bool goes_down = rb_plan_meets_down_markets(out_plan);
        *out_missed = *out_missed || goes_down;
        const struct rb_candidate best = out_result->best;
        const bool hurries = goes_down && asked->deadline_us >= 0 && hurried < FASTEST;
        if (!hurries)
            search->guard = 2 * search->guard + asked->confidence - e->p_both + 2 * e->stderr_.p_both;
        rb_search_forget(search);
        if (!rb_search_nearest_of(search, &best, 1, out_result, err))
            return false;
        if (is_late)
            break;
        if (hurries)
            ask_for_sooner(search, asked, ++hurried, &sooner);
    }
    if (out_result->best.n_stages > 0 && !rb_estimate_candidate(search, &out_result->best, NULL, err))
        return false;
    if (!planner->on_average)
        drop_what_was_asked(search->req, out_result);
    return infeasible(search->req, planner, out_result, *out_missed, err);
}

// with_markets: offers whose markets go down are considered.
static bool search_plan(struct rb_question *q, const struct rb_planner *planner, bool with_markets,
                        struct rb_arena *arena, struct rb_plan *out_plan, struct rb_plan_result *out_result,
                        bool *out_missed, struct rb_err *err)
{
    const struct rb_plan_request *req = &q->req;
    struct rb_search search;
    *out_missed = false;
    if (!rb_search_init(&search, req, &q->scenario, err))
        return false;
    if (!with_markets)
        rb_search_leave_out_markets(&search);
    search.spans = q->windows.spans;
    search.asked = planner;
    search.asked_again = req->marginal || req->job->resources.spot == RB_SPOT_SAFE;
    search.guard = req->time_limit_us > 0 && req->samples < RB_PROOF_FEWEST && search.scorer->barriers ? guard_of(req) : 0;
    explain_zones(&search);
    if (!rb_endless_check(&search, err)) {
        *out_result = rb_search_no_plan(&search);
        out_result->best.estimate = rb_endless_estimate(req->samples);
        rb_search_finish(&search);
        return false;
    }
    bool ok = plan_until_kept(&search, planner, &q->phase, arena, out_plan, out_result, out_missed, err);
    rb_search_explain_rest(&search);
    ok = ok && rb_windows_narrow(&q->windows, &search, out_result, err);
    if (ok && !out_plan->spot && may_find_marginal(&search, planner))
        ok = search.scorer->marginal(&search, &out_result->marginal, err);
    rb_search_finish(&search);
    return ok;
}

static bool keeps_up(const struct rb_scenario *s)
{
    for (int i = 0; i < s->n_offers; i++) {
        if (s->sim_offers[i].usable && !rb_sim_offer_goes_down(&s->sim_offers[i]))
            return true;
    }
    return false;
}

// The search compares plans as if markets never went down. Where its plans miss the confidence for that, those offers
// are left out.
static bool answer(struct rb_question *q, const struct rb_planner *planner, struct rb_arena *arena,
                   struct rb_plan *out_plan, struct rb_plan_result *out_result, struct rb_err *err)
{
    struct rb_plan_result without;
    struct rb_err why;
    bool missed;
    if (search_plan(q, planner, true, arena, out_plan, out_result, &missed, err))
        return true;
    if (!missed || err->code != RB_ERR_INFEASIBLE || !keeps_up(&q->scenario) ||
        !search_plan(q, planner, false, arena, out_plan, &without, &missed, &why))
        return false;
    *out_result = without;
    return true;
}

// Asked again as long as a stage of the plan misses the window of its reservation.
static bool answer_in_windows(struct rb_question *q, const struct rb_planner *planner, struct rb_arena *arena,
                              struct rb_plan *out_plan, struct rb_plan_result *out_result, struct rb_err *err)
{
    if (!answer(q, planner, arena, out_plan, out_result, err))
        return false;
    for (int round = 0; q->windows.narrowed && round < MOST_WINDOWS; round++) {
        struct rb_plan plan;
        struct rb_plan_result result;
        struct rb_err ignored;
        if ((q->req.out_of_time && q->req.out_of_time(q->req.out_of_time_ctx)) ||
            !answer(q, planner, arena, &plan, &result, &ignored))
            return true;
        if (rb_candidate_compare(&result.best, &out_result->best, q->req.objective) < 0) {
            *out_plan = plan;
            *out_result = result;
        }
    }
    return true;
}

static int fewer_samples(const struct rb_plan_request *req, double most, double for_each)
{
    const double samples = fmax(most / for_each, FEWEST_SAMPLES);
    return samples < req->samples ? (int)samples : req->samples;
}

// Runs of the model.
static int model_samples(struct rb_plan_request *io, const struct rb_scenario *s)
{
    double trials = 0;
    for (int i = 0; i < s->stages.n; i++)
        trials += s->stages.rungs[i].trials;
    const int most = fewer_samples(io, MOST_TRIALS, trials);
    io->run_us = rb_pace_run_us(io, s);
    const int in_time = io->run_us > 0 ? rb_pace_samples(io) : most;
    return in_time < most ? in_time : most;
}

void rb_planner_size(struct rb_plan_request *io, const struct rb_scenario *s)
{
    const struct rb_scorer *scorer = rb_scorer_of(s->job);
    const int asked = io->samples;
    io->samples = scorer->affordable ? scorer->affordable(io, s) : model_samples(io, s);
    io->samples_asked = asked;
}

static bool plan_anywhere(const struct rb_plan_request *req, const struct rb_planner *planner, struct rb_arena *arena,
                          struct rb_plan *out_plan, struct rb_plan_result *out_result, struct rb_err *err)
{
    struct rb_question q;
    if (!rb_question_init(&q, req, arena, err))
        return false;
    if (rb_question_is_free(&q) && planner != &rb_planner_mean) // which only considers means under a deadline
        q.req.objective = RB_OBJECTIVE_MIN_TIME;
    const bool ok = answer_in_windows(&q, planner, arena, out_plan, out_result, err);
    rb_question_finish(&q);
    return ok;
}

// --- data.stay

struct place_plan {
    struct rb_plan plan;
    struct rb_plan_result result;
    struct rb_err err;
    bool exists;
};

static bool is_better_place(const struct place_plan *a, const struct place_plan *b, enum rb_objective objective)
{
    if (a->exists != b->exists)
        return a->exists;
    if (a->exists)
        return rb_candidate_compare(&a->result.best, &b->result.best, objective) < 0;
    const bool a_planned = a->err.code == RB_ERR_INFEASIBLE, b_planned = b->err.code == RB_ERR_INFEASIBLE;
    return a_planned && b_planned ? a->result.best.estimate.p_both > b->result.best.estimate.p_both
                                  : a_planned && !b_planned;
}

// What the other places would have cost, or why there is no plan there.
static const char *describe_places(const struct place_plan *places, const struct rb_job *jobs, int n, int chosen,
                                   struct rb_arena *arena)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    char money[32], time[32];
    rb_buf_printf(&text, "data.stay: all nodes are in %s", rb_stay_place(&jobs[chosen], arena));
    for (int i = 0; i < n; i++) {
        const struct rb_estimate *e = &places[i].plan.estimate;
        if (i == chosen)
            continue;
        rb_buf_printf(&text, "; in %s ", rb_stay_place(&jobs[i], arena));
        if (places[i].exists)
            rb_buf_printf(&text, "it would cost %s and take %s", rb_format_money(e->cost_uusd.mean, money),
                          rb_format_duration(e->time_us.mean, time));
        else if (places[i].err.code == RB_ERR_INFEASIBLE)
            rb_buf_puts(&text, "no plan keeps the constraints");
        else
            rb_buf_printf(&text, "it cannot be planned (%s)", places[i].err.message);
    }
    return rb_arena_strdup(arena, rb_buf_str(&text));
}

static void put_first(const char *warning, struct rb_arena *arena, struct rb_plan *plan)
{
    const char **all = rb_arena_array(arena, (size_t)plan->n_warnings + 1, sizeof *all);
    all[0] = warning;
    for (int i = 0; i < plan->n_warnings; i++)
        all[i + 1] = plan->warnings[i];
    plan->warnings = all;
    plan->n_warnings++;
}

// Each place is searched as if it were the only one, and the best of their plans is taken: jobs [n], of one place each.
static bool plan_in_one_place(const struct rb_plan_request *req, const struct rb_planner *planner, const struct rb_job *jobs,
                              int n, struct rb_arena *arena, struct rb_plan *out_plan,
                              struct rb_plan_result *out_result, struct rb_err *err)
{
    struct place_plan *places = rb_arena_array(arena, (size_t)n, sizeof *places);
    int best = 0;
    for (int i = 0; i < n; i++) {
        struct place_plan *p = &places[i];
        struct rb_plan_request here = *req;
        struct rb_time_share share;
        here.job = &jobs[i];
        here.runs = NULL; // of the offers of all places, as are the hints
        here.n_hints = 0;
        rb_time_share_begin(&share, req, (i + 1.0) / n, &here);
        p->exists = plan_anywhere(&here, planner, arena, &p->plan, &p->result, &p->err);
        if (i > 0 && is_better_place(p, &places[best], req->objective))
            best = i;
    }
    *out_result = places[best].result;
    if (!places[best].exists) {
        *err = places[best].err;
        return rb_err_prefix(err, "data.stay: in %s", rb_stay_place(&jobs[best], arena));
    }
    *out_plan = places[best].plan;
    put_first(describe_places(places, jobs, n, best, arena), arena, out_plan);
    return true;
}

bool rb_make_plan(const struct rb_plan_request *req, const char *planner, struct rb_arena *arena,
                  struct rb_plan *out_plan, struct rb_plan_result *out_result, struct rb_err *err)
{
    const struct rb_planner *chosen = rb_planner_find(planner);
    if (!chosen)
        return rb_err_set(err, RB_E_OPTION_VALUE, "no planner \"%s\": optimal, mean, greedy, static or naive", planner);
    if (req->job->resources.spot == RB_SPOT_SAFE && req->deadline_us < 0)
        return rb_err_set_at(err, RB_E_KEY_MISSING, (struct rb_place){NULL, 0, 0}, "deadline",
                             "missing, but resources.spot: safe keeps one: set deadline or give --deadline, or set "
                             "resources.spot to allow or never");
    const struct rb_job *jobs;
    const int n = rb_stay_jobs(req->job, arena, &jobs);
    return n == 1 ? plan_anywhere(req, chosen, arena, out_plan, out_result, err)
                  : plan_in_one_place(req, chosen, jobs, n, arena, out_plan, out_result, err);
}
