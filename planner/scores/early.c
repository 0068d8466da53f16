#include "planner/scores/early.h"

#include "planner/scores/early_runs.h"
#include "planner/scores/stage_samples.h"
#include "profiles/store/reading.h"
#include "simulator/laws/trial_law.h"

#include <math.h>
#include <string.h>

#define LONG_DELAY      0.02 // of the plan's mean time: smaller savings do not pay for the search
#define CLEAR_SIGMA     2.0  // margin of a probability above the confidence that counts as clear,
#define CAREFUL_SIGMA   4.0  // ... or this, once a plan with less failed on other runs
#define ROUGHLY         32   // replicates for choosing the instants of a neighbour's requests,
#define CLOSELY         256  // ... and those of a plan whose instants are refined
#define MOST_NEIGHBOURS 48
#define MOST_TAKEN      8                   // the last exchanges, any of which may hold if later ones do not
#define UNSEEN          (UINT32_C(3) << 21) // after the runs of any search and separate from those for reported figures
#define QUANTILES       3

struct exchange {
    struct rb_search *search;
    struct rb_early_plan plan;              // without early requests
    struct rb_early_plan taken[MOST_TAKEN]; // the last is the best
    int n_taken;
    struct rb_early_runs plan_runs, best_runs, runs; // best_runs: once one is taken; runs: of what is looked at
    struct rb_early_runs fresh_runs;                 // of the plan, unseen
    double clear_sigma;
    struct rb_stage_samples *stages; // ROUGHLY replicates of single stages
    int64_t n_tried;
};

static const struct rb_early_plan *best_of(const struct exchange *x)
{
    return x->n_taken > 0 ? &x->taken[x->n_taken - 1] : &x->plan;
}

// ---- which stages gain nodes

static bool gains_any(const struct rb_candidate *c)
{
    for (int stage = 0; stage < c->n_stages; stage++) {
        if (rb_early_gained(c, stage) > 0)
            return true;
    }
    return false;
}

static const struct rb_provisioning *provisioning_of(const struct rb_search *search, const struct rb_candidate *c,
                                                     int stage)
{
    return search->scenario->sim_offers[c->stages[stage].offer].provisioning;
}

// Upper bound on the saving of early requests: the delays of the nodes that stages gain.
static double delays_s(const struct rb_search *search, const struct rb_candidate *c)
{
    double sum = 0;
    for (int stage = 0; stage < c->n_stages; stage++) {
        if (rb_early_gained(c, stage) > 0) {
            const struct rb_provisioning *p = provisioning_of(search, c, stage + 1);
            sum += rb_queue_mean_s(p) + rb_scenario_init_mean_s(search->scenario, c->stages[stage + 1].offer);
        }
    }
    return sum;
}

// ---- exchanges

// True if clearly above the confidence, or not less sure than the plan of the search.
static bool is_sure(struct exchange *x, const struct rb_early_comparison *compared, bool *out, struct rb_err *err)
{
    const double n = x->search->req->samples, p = compared->p;
    double plan_p;
    *out =
        compared->holds == RB_EARLY_KEPT ||
        (compared->holds == RB_EARLY_OPEN && p - x->clear_sigma * sqrt(p * (1 - p) / n) >= x->search->req->confidence);
    if (*out || compared->holds == RB_EARLY_DROPPED)
        return true;
    if (!rb_early_p_both(x->search, &x->plan, 0, &x->plan_runs, &plan_p, err))
        return false;
    *out = p >= plan_p;
    return true;
}

static void take(struct exchange *x, const struct rb_early_plan *p)
{
    if (x->n_taken == MOST_TAKEN)
        memmove(x->taken, x->taken + 1, (size_t)--x->n_taken * sizeof *x->taken);
    x->taken[x->n_taken++] = *p;
    const struct rb_early_runs swap = x->best_runs;
    x->best_runs = x->runs;
    x->runs = swap;
}

static bool look_at(struct exchange *x, const struct rb_early_plan *p, bool *out_better, struct rb_err *err)
{
    struct rb_early_comparison compared;
    *out_better = false;
    x->n_tried++;
    x->runs.n = 0;
    if (!rb_early_compare(x->search, best_of(x), p, 0, x->n_taken > 0 ? &x->best_runs : &x->plan_runs, &x->runs,
                          &compared, err))
        return false;
    if (compared.pays == RB_EARLY_KEPT && !is_sure(x, &compared, out_better, err))
        return false;
    if (*out_better)
        take(x, p);
    return true;
}

// ---- when to request

// Instants for one stage: a quantile of its time minus a quantile of the delay, [slow stage][slow delay].
struct instants {
    int64_t at_us[RB_LIMIT_STAGES][QUANTILES][QUANTILES];
};

static struct rb_stage_samples *sample_stages(const struct rb_search *search, int n)
{
    return rb_stage_samples_create(search, n < search->req->samples ? n : search->req->samples, 0);
}

// p5, p50 and p95 of the end of a stage whose new nodes are requested when it starts.
static bool ask_ends(struct rb_stage_samples *samples, const struct rb_candidate *c, int stage, int64_t *out_us,
                     struct rb_err *err)
{
    const struct rb_choice *choice = &c->stages[stage];
    const int kept = rb_choice_kept(stage > 0 ? choice - 1 : NULL, choice), n = rb_stage_samples_n(samples);
    const struct rb_stage_sample *sample = rb_stage_samples_get(samples, stage, choice, kept, err);
    if (!sample)
        return false;
    RB_AUTO(rb_auto_free) int64_t *time_us = rb_xcalloc((size_t)n, sizeof *time_us);
    for (int i = 0; i < n; i++)
        time_us[i] = (int64_t)sample->time_us[i];
    const struct rb_quantiles q = rb_quantiles_of(time_us, n);
    out_us[0] = q.p5;
    out_us[1] = q.p50;
    out_us[2] = q.p95;
    return true;
}

static bool list_instants(const struct rb_search *search, struct rb_stage_samples *samples,
                          const struct rb_candidate *c, struct instants *out, struct rb_err *err)
{
    static const double levels[QUANTILES] = {0.05, 0.5, 0.95};
    for (int stage = 0; stage + 1 < c->n_stages; stage++) {
        int64_t ends_us[QUANTILES];
        if (rb_early_gained(c, stage) == 0)
            continue;
        if (!ask_ends(samples, c, stage, ends_us, err))
            return false;
        const struct rb_provisioning *p = provisioning_of(search, c, stage + 1);
        const struct rb_plan_request *req = search->req;
        const struct rb_offer *offer = &search->scenario->offers[c->stages[stage + 1].offer];
        for (int d = 0; d < QUANTILES; d++) {
            const double delay_s =
                rb_dist_quantile(&p->queue_s, levels[d]) + rb_dist_quantile(&p->init_s, levels[d]) +
                rb_reading_quantile_s(req->job, req->profile, offer, levels[d]);
            for (int t = 0; t < QUANTILES; t++) {
                const int64_t at_us = ends_us[t] - rb_us_from_seconds(delay_s);
                out->at_us[stage][t][d] = at_us > 0 ? at_us : 0;
            }
        }
    }
    return true;
}

// All stages that gain nodes request them at the same quantiles.
static struct rb_early_plan propose(const struct rb_candidate *c, const struct instants *instants, int t, int d)
{
    struct rb_early_plan p = {.candidate = *c, .early.any = true};
    for (int stage = 0; stage < c->n_stages; stage++)
        p.early.at_us[stage] = rb_early_gained(c, stage) > 0 ? instants->at_us[stage][t][d] : RB_EARLY_NEVER;
    return p;
}

// The earliest, the middle and the latest request: if one of them pays, refine searches between them.
static bool try_candidate(struct exchange *x, const struct rb_candidate *c, struct rb_err *err)
{
    struct instants instants;
    bool better;
    if (!list_instants(x->search, x->stages, c, &instants, err))
        return false;
    for (int i = 0; i < QUANTILES; i++) {
        const struct rb_early_plan p = propose(c, &instants, i, QUANTILES - 1 - i);
        if (!look_at(x, &p, &better, err))
            return false;
    }
    return true;
}

// Changes one stage's instant at a time, or drops its early request.
static bool refine_stage(struct exchange *x, const struct instants *instants, int stage, bool *out_better,
                         struct rb_err *err)
{
    for (int i = -1; i < QUANTILES * QUANTILES; i++) {
        bool better;
        struct rb_early_plan p = *best_of(x);
        p.early.at_us[stage] = i < 0 ? RB_EARLY_NEVER : instants->at_us[stage][i / QUANTILES][i % QUANTILES];
        if (p.early.at_us[stage] == best_of(x)->early.at_us[stage])
            continue;
        if (!look_at(x, &p, &better, err))
            return false;
        *out_better |= better;
    }
    return true;
}

// Visits stage after stage, until a full round changes nothing.
static bool refine(struct exchange *x, struct rb_err *err)
{
    struct instants instants;
    const struct rb_candidate c = best_of(x)->candidate;
    if (x->n_taken == 0)
        return true;
    struct rb_stage_samples *samples = sample_stages(x->search, CLOSELY);
    bool ok = list_instants(x->search, samples, &c, &instants, err);
    rb_stage_samples_destroy(samples);
    int stage = 0;
    for (int settled = 0; ok && settled < c.n_stages && !rb_search_out_of_time(x->search); settled++) {
        bool better = false;
        ok = rb_early_gained(&c, stage) == 0 || refine_stage(x, &instants, stage, &better, err);
        settled = better ? 0 : settled;
        stage = (stage + 1) % c.n_stages;
    }
    return ok;
}

// ---- neighbours: plans that are too slow, or too expensive, because they wait for nodes

struct neighbour {
    struct rb_candidate candidate;
    double floor_uusd;
};

struct neighbours {
    struct neighbour *items; // [n], at most MOST_NEIGHBOURS, cheapest first
    int n;
};

static void insert(struct neighbours *list, const struct rb_candidate *c, double floor_uusd)
{
    int at = list->n < MOST_NEIGHBOURS ? list->n++ : MOST_NEIGHBOURS;
    if (at == MOST_NEIGHBOURS && floor_uusd >= list->items[--at].floor_uusd)
        return;
    for (; at > 0 && list->items[at - 1].floor_uusd > floor_uusd; at--)
        list->items[at] = list->items[at - 1];
    list->items[at] = (struct neighbour){*c, floor_uusd};
}

// Mean time and cost if every early request came just in time: its nodes are ready when their stage starts.
static bool ideal(struct exchange *x, const struct rb_candidate *c, double *out_time_us, double *out_cost_uusd,
                  struct rb_err *err)
{
    *out_time_us = *out_cost_uusd = 0;
    for (int stage = 0; stage < c->n_stages; stage++) {
        const struct rb_choice *choice = &c->stages[stage];
        const struct rb_stage_sample *s =
            rb_stage_samples_get(x->stages, stage, choice, stage > 0 ? choice->nodes : 0, err);
        if (!s)
            return false;
        *out_time_us += s->time_mean_us;
        *out_cost_uusd += s->cost_mean_uusd;
    }
    return true;
}

static bool consider(struct exchange *x, const struct rb_candidate *from, const struct rb_candidate *c,
                     double to_beat_uusd, struct neighbours *list, struct rb_err *err)
{
    struct rb_search *search = x->search;
    double time_us, cost_uusd;
    if (!gains_any(c) || rb_candidate_same_choices(c, from))
        return true;
    if (!ideal(x, c, &time_us, &cost_uusd, err))
        return false;
    if ((search->req->deadline_us < 0 || time_us <= (double)search->req->deadline_us) && cost_uusd < to_beat_uusd)
        insert(list, c, cost_uusd);
    return true;
}

// Every other choice of one stage.
static bool list_neighbours(struct exchange *x, const struct rb_candidate *from, int stage, double to_beat_uusd,
                            struct neighbours *list, struct rb_err *err)
{
    struct rb_search *search = x->search;
    for (int offer = 0; offer < search->scenario->n_offers; offer++) {
        const struct rb_sizes *sizes = &search->sizes[offer];
        const bool wanted = sizes->n > 0 && !rb_search_is_outbid(search, offer);
        const int most = wanted ? rb_search_useful_nodes(search, stage, offer) : 0;
        for (int i = 0; i < sizes->n && !rb_search_out_of_time(search); i++) {
            struct rb_candidate c = *from;
            int nodes = rb_nodes_per_trial(rb_search_gpus_per_node(search, offer), sizes->gpus[i]);
            for (; nodes <= most; nodes++) {
                c.stages[stage] = (struct rb_choice){offer, sizes->gpus[i], nodes};
                if (!consider(x, from, &c, to_beat_uusd, list, err))
                    return false;
            }
        }
    }
    return true;
}

static bool try_neighbours(struct exchange *x, double to_beat_uusd, struct rb_err *err)
{
    RB_AUTO(rb_auto_free) struct neighbour *items = rb_xcalloc(MOST_NEIGHBOURS, sizeof *items);
    struct neighbours list = {.items = items};
    const struct rb_candidate from = best_of(x)->candidate;
    for (int stage = 0; stage < from.n_stages; stage++) {
        if (!list_neighbours(x, &from, stage, to_beat_uusd, &list, err))
            return false;
    }
    for (int i = 0; i < list.n && !rb_search_out_of_time(x->search); i++) {
        if (!try_candidate(x, &list.items[i].candidate, err))
            return false;
    }
    return true;
}

// ---- the whole

static bool exchange(struct exchange *x, const struct rb_plan_result *result, struct rb_err *err)
{
    x->plan.candidate = result->best;
    if (!try_candidate(x, &result->best, err) || !refine(x, err))
        return false;
    const double to_beat = (double)result->best.estimate.cost_uusd.mean * (1 - RB_EARLY_WORTH);
    return try_neighbours(x, to_beat, err) && refine(x, err);
}

// Uses runs that were not used to find it.
static bool confirm(struct exchange *x, const struct rb_early_plan *p, struct rb_early_comparison *out,
                    bool *out_stands, struct rb_err *err)
{
    x->runs.n = 0;
    x->clear_sigma = CLEAR_SIGMA;
    if (!rb_early_compare(x->search, &x->plan, p, UNSEEN, &x->fresh_runs, &x->runs, out, err))
        return false;
    *out_stands = false;
    return out->pays != RB_EARLY_KEPT || is_sure(x, out, out_stands, err);
}

// The last exchange that holds. If the very last one does not, the search went too near to the deadline, and is
// repeated once with a larger distance.
static bool confirm_last(struct exchange *x, const struct rb_plan_result *result, struct rb_early_comparison *out,
                         struct rb_err *err)
{
    for (bool careful = false; x->n_taken > 0; careful = true) {
        bool stands;
        if (!confirm(x, best_of(x), out, &stands, err))
            return false;
        if (stands)
            return true;
        x->n_taken = careful ? x->n_taken - 1 : 0;
        x->clear_sigma = CAREFUL_SIGMA;
        if (!careful && !exchange(x, result, err))
            return false;
    }
    return true;
}

static void explain(struct exchange *x, const struct rb_early_comparison *compared)
{
    struct rb_search *search = x->search;
    const struct rb_early_plan *best = best_of(x);
    const bool by_time = search->req->objective == RB_OBJECTIVE_MIN_TIME;
    char gain[32], stderr_[32], at[32];
    if (!rb_search_explains(search))
        return;
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    rb_candidate_text(search->scenario, &best->candidate, &text);
    for (int stage = 0; stage < best->candidate.n_stages; stage++) {
        if (best->early.at_us[stage] != RB_EARLY_NEVER)
            rb_buf_printf(&text, "; %d nodes for stage %d requested %s into stage %d",
                          rb_early_gained(&best->candidate, stage), stage + 1,
                          rb_format_duration(best->early.at_us[stage], at), stage);
    }
    char *(*format)(int64_t, char[static 32]) = by_time ? rb_format_duration : rb_format_money;
    rb_search_note(search, "early requests: %s: saves %s (standard error %s, %d runs that the search had not seen)",
                   rb_buf_str(&text), format(llround(compared->gain), gain),
                   format(llround(compared->stderr_), stderr_), compared->n);
}

static bool improve(struct exchange *x, struct rb_plan_result *result, struct rb_err *err)
{
    struct rb_early_comparison compared;
    if (!exchange(x, result, err))
        return false;
    const bool any = x->n_taken > 0;
    if (!confirm_last(x, result, &compared, err))
        return false;
    if (x->n_taken == 0) {
        rb_search_note(x->search, "early requests: none of %lld exchanges saves more than four standard errors%s",
                       (long long)x->n_tried, any ? " on runs that the search had not seen" : "");
        return true;
    }
    explain(x, &compared);
    result->best = best_of(x)->candidate;
    result->early = best_of(x)->early;
    return true;
}

bool rb_early_improve(struct rb_search *search, struct rb_plan_result *result, struct rb_err *err)
{
    const int n = search->req->samples;
    if (!result->feasible)
        return true;
    if (result->cut || rb_search_out_of_time(search)) {
        rb_search_note(search, "early requests: not looked for: the search was cut");
        return true;
    }
    if (delays_s(search, &result->best) * 1e6 < LONG_DELAY * (double)result->best.estimate.time_us.mean ||
        !gains_any(&result->best)) {
        rb_search_note(search, "early requests: not looked for: no stage but the first gains nodes whose delay counts");
        return true;
    }
    struct exchange x = {.search = search,
                         .clear_sigma = CLEAR_SIGMA,
                         .fresh_runs = rb_early_runs_create(n),
                         .plan_runs = rb_early_runs_create(n),
                         .best_runs = rb_early_runs_create(n),
                         .runs = rb_early_runs_create(n),
                         .stages = sample_stages(search, ROUGHLY)};
    const bool ok = improve(&x, result, err);
    rb_stage_samples_destroy(x.stages);
    rb_early_runs_free(&x.plan_runs);
    rb_early_runs_free(&x.fresh_runs);
    rb_early_runs_free(&x.best_runs);
    rb_early_runs_free(&x.runs);
    return ok;
}
