#include "planner/early.h"

#include "planner/candidate_floor.h"
#include "planner/endless.h"
#include "planner/stage_samples.h"
#include "simulator/trial_law.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LONG_DELAY      0.02 // of the plan's mean time: less cannot pay for the search
#define FIRST_LOOK      32 // replicates, then twice as many each time, that show most exchanges not to be worth all of them
#define SCREENING       256  // ... what has gained nothing by then is not looked at further
#define INSTANTS        32   // replicates that tell when to ask for the nodes of a neighbour
#define DROP_SIGMA      3.0  // an exchange that just pays is dropped wrongly once in 700
#define SIGMA           4.0  // a gain smaller than so many standard errors is none
#define CLEAR_SIGMA     2.0  // a probability further above the confidence than this is clear of it
#define WORTH           1e-3 // of the objective: what an exchange must gain
#define MOST_NEIGHBOURS 48
#define UNSEEN          (UINT32_C(1) << 23) // beyond the replicates of any search, 1,000,000 at most
#define QUANTILES       3
#define NEVER           (-1)

struct proposal {
    struct rb_candidate candidate;
    struct rb_early early;
};

struct runs {
    int64_t *time_us, *cost_uusd; // [samples], of these the first n are made
    int n;
};

struct exchange {
    struct rb_search *search;
    struct proposal plan; // without early requests
    struct proposal best;
    struct runs best_runs, runs; // of the best, and of what is looked at
    double plan_p;               // with which the plan keeps the constraints; NAN: not asked yet
    int64_t n_tried;
};

// ---- which stages gain nodes

// Nodes that stage + 1 has to request.
static int gained(const struct rb_candidate *c, int stage)
{
    if (stage + 1 >= c->n_stages)
        return 0;
    return c->stages[stage + 1].nodes - rb_choice_kept(&c->stages[stage], &c->stages[stage + 1]);
}

static bool gains_any(const struct rb_candidate *c)
{
    for (int stage = 0; stage < c->n_stages; stage++) {
        if (gained(c, stage) > 0)
            return true;
    }
    return false;
}

static const struct rb_provisioning *provisioning_of(const struct rb_search *search, const struct rb_candidate *c,
                                                     int stage)
{
    return search->scenario->sim_offers[c->stages[stage].offer].provisioning;
}

// All that early requests can save: the delays of what stages gain.
static double delays_s(const struct rb_search *search, const struct rb_candidate *c)
{
    double sum = 0;
    for (int stage = 0; stage < c->n_stages; stage++) {
        if (gained(c, stage) > 0) {
            const struct rb_provisioning *p = provisioning_of(search, c, stage + 1);
            sum += rb_queue_mean_s(p) + rb_dist_mean(&p->init_s);
        }
    }
    return sum;
}

void rb_early_apply(const struct rb_candidate *candidate, const struct rb_early *early, struct rb_plan_stage *stages,
                    struct rb_plan_early *backing)
{
    for (int stage = 0; early->any && stage < candidate->n_stages; stage++) {
        if (early->at_us[stage] == NEVER || gained(candidate, stage) == 0)
            continue;
        backing[stage] = (struct rb_plan_early){
            .offer = candidate->stages[stage + 1].offer,
            .count = gained(candidate, stage),
            .at_us = early->at_us[stage],
        };
        stages[stage].early = &backing[stage];
        stages[stage].n_early = 1;
    }
}

// ---- simulation

static struct runs runs_create(int n)
{
    return (struct runs){rb_xcalloc((size_t)n, sizeof(int64_t)), rb_xcalloc((size_t)n, sizeof(int64_t)), 0};
}

static void runs_free(struct runs *r)
{
    free(r->time_us);
    free(r->cost_uusd);
}

// As many runs as there should be, from replicate `first` on, after those that are made.
static bool simulate(const struct rb_search *search, const struct proposal *p, uint32_t first, int n, struct runs *io,
                     struct rb_err *err)
{
    const int made = io->n;
    if (made >= n)
        return true;
    io->n = n;
    struct rb_plan_stage stages[RB_LIMIT_STAGES];
    struct rb_plan_nodes nodes[RB_LIMIT_STAGES];
    struct rb_plan_early early[RB_LIMIT_STAGES];
    const struct rb_evaluate_options opt = {
        .samples = n - made, .threads = search->req->threads, .first = first + (uint32_t)made};
    rb_candidate_stages(search->scenario, &p->candidate, stages, nodes);
    rb_early_apply(&p->candidate, &p->early, stages, early);
    struct rb_err why = {0};
    if (!rb_has_endless_stage(search, &p->candidate) &&
        rb_evaluate_runs(search->scenario, stages, p->candidate.n_stages, &opt, io->time_us + made,
                         io->cost_uusd + made, &why))
        return true;
    if (why.code != RB_ERR_NONE && why.code != RB_ERR_INFEASIBLE) {
        *err = why;
        return false;
    }
    for (int i = made; i < n; i++) // it does not come to an end
        io->time_us[i] = io->cost_uusd[i] = rb_endless_estimate(n).time_us.mean;
    return true;
}

static double p_both(const struct rb_search *search, const struct runs *r, int n)
{
    const struct rb_plan_request *req = search->req;
    int met = 0;
    for (int i = 0; i < n; i++)
        met += (req->deadline_us < 0 || r->time_us[i] <= req->deadline_us) &&
               (req->budget_uusd < 0 || r->cost_uusd[i] <= req->budget_uusd);
    return (double)met / n;
}

struct gain {
    double mean, stderr_;
    double least; // that is worth it
};

// How much less of the objective b has than a, by the same draws.
static struct gain gain_of(const struct rb_search *search, const struct runs *a, const struct runs *b, int n)
{
    const bool by_time = search->req->objective == RB_OBJECTIVE_MIN_TIME;
    const int64_t *from = by_time ? a->time_us : a->cost_uusd, *to = by_time ? b->time_us : b->cost_uusd;
    double sum = 0, squares = 0, all = 0;
    for (int i = 0; i < n; i++) {
        sum += (double)(from[i] - to[i]);
        all += (double)from[i];
    }
    for (int i = 0; i < n; i++)
        squares += pow((double)(from[i] - to[i]) - sum / n, 2);
    return (struct gain){sum / n, sqrt(squares / (n - 1) / n), WORTH * all / n};
}

static bool is_gain(const struct gain *g)
{
    return g->mean > fmax(SIGMA * g->stderr_, g->least);
}

// Clear of the confidence asked, or not less sure than the plan that the search stands for, on the same replicates.
static bool holds(const struct rb_search *search, double p, double plan_p, int n)
{
    const double c = search->req->confidence;
    return p >= c && (p >= plan_p || p - CLEAR_SIGMA * sqrt(p * (1 - p) / n) >= c);
}

enum verdict { OPEN, DROPPED, KEPT };

// By the first n runs of two plans: the second will not pay, or not hold, or it does both, unless the others are very different.
static enum verdict judge(const struct rb_search *search, const struct runs *a, const struct runs *b, int n)
{
    const double c = search->req->confidence, open = sqrt(fmax(0, 1 - (double)n / search->req->samples));
    const double doubt = DROP_SIGMA * open * sqrt(c * (1 - c) / n), p = p_both(search, b, n);
    const struct gain g = gain_of(search, a, b, n);
    if (g.mean + (n < SCREENING ? DROP_SIGMA * open * g.stderr_ : 0) <= g.least || p < c - doubt)
        return DROPPED;
    return n >= SCREENING && is_gain(&g) && p > c + doubt ? KEPT : OPEN;
}

// The plan may be simulated no longer.
static bool ask_plan(struct exchange *x, struct rb_err *err)
{
    const int n = x->search->req->samples;
    if (!isnan(x->plan_p))
        return true;
    struct runs runs = runs_create(n);
    const bool ok = simulate(x->search, &x->plan, 0, n, &runs, err);
    x->plan_p = p_both(x->search, &runs, n);
    runs_free(&runs);
    return ok;
}

// More and more replicates of two plans from `first` on, until they tell whether the second is better. OPEN: all of them do not.
static bool compare(const struct rb_search *search, const struct proposal *from, const struct proposal *to,
                    uint32_t first, struct runs *a, struct runs *b, enum verdict *out, int *out_n, struct rb_err *err)
{
    const int all = search->req->samples;
    *out = OPEN;
    for (int n = FIRST_LOOK; *out == OPEN; n *= 2) {
        *out_n = n < all ? n : all;
        if (!simulate(search, from, first, *out_n, a, err) || !simulate(search, to, first, *out_n, b, err))
            return false;
        if (*out_n == all)
            return true;
        *out = judge(search, a, b, *out_n);
    }
    return true;
}

static bool look_at(struct exchange *x, const struct proposal *p, bool *out_better, struct rb_err *err)
{
    const struct rb_search *search = x->search;
    enum verdict verdict;
    int n;
    *out_better = false;
    x->n_tried++;
    x->runs.n = 0;
    if (!compare(search, &x->best, p, 0, &x->best_runs, &x->runs, &verdict, &n, err))
        return false;
    const struct gain g = gain_of(search, &x->best_runs, &x->runs, n);
    if (verdict == DROPPED || (verdict == OPEN && !is_gain(&g)))
        return true;
    if (verdict == OPEN && !ask_plan(x, err))
        return false;
    if (verdict == OPEN && !holds(search, p_both(search, &x->runs, n), x->plan_p, n))
        return true;
    const struct runs swap = x->best_runs;
    x->best_runs = x->runs;
    x->runs = swap;
    x->best = *p;
    *out_better = true;
    return true;
}

// ---- when to request

// Instants of one stage: a quantile of its time less a quantile of the delay, [slow stage][slow delay].
struct instants {
    int64_t at_us[RB_LIMIT_STAGES][QUANTILES][QUANTILES];
};

static bool list_instants(const struct rb_search *search, const struct rb_candidate *c, int samples,
                          struct instants *out, struct rb_err *err)
{
    static const double levels[QUANTILES] = {0.05, 0.5, 0.95};
    struct rb_plan_stage stages[RB_LIMIT_STAGES];
    struct rb_plan_nodes nodes[RB_LIMIT_STAGES];
    struct rb_estimate ignored;
    struct rb_evaluate_options opt = rb_evaluate_defaults();
    opt.samples = search->req->samples < samples ? search->req->samples : samples;
    opt.threads = search->req->threads;
    rb_candidate_stages(search->scenario, c, stages, nodes);
    if (!rb_evaluate(search->scenario, stages, c->n_stages, &opt, &ignored, stages, err))
        return false;
    for (int stage = 0; stage + 1 < c->n_stages; stage++) {
        const int64_t ends_us[QUANTILES] = {stages[stage].time_us.p5, stages[stage].time_us.p50,
                                            stages[stage].time_us.p95};
        const struct rb_provisioning *p = provisioning_of(search, c, stage + 1);
        for (int d = 0; d < QUANTILES; d++) {
            const double delay_s = rb_dist_quantile(&p->queue_s, levels[d]) + rb_dist_quantile(&p->init_s, levels[d]);
            for (int t = 0; t < QUANTILES; t++) {
                const int64_t at_us = ends_us[t] - rb_us_from_seconds(delay_s);
                out->at_us[stage][t][d] = at_us > 0 ? at_us : 0;
            }
        }
    }
    return true;
}

// All stages that gain nodes request them at the same quantiles.
static struct proposal propose(const struct rb_candidate *c, const struct instants *instants, int t, int d)
{
    struct proposal p = {.candidate = *c, .early.any = true};
    for (int stage = 0; stage < c->n_stages; stage++)
        p.early.at_us[stage] = gained(c, stage) > 0 ? instants->at_us[stage][t][d] : NEVER;
    return p;
}

// The soonest, the middle and the latest request: where one of them pays, refine looks between them.
static bool try_candidate(struct exchange *x, const struct rb_candidate *c, struct rb_err *err)
{
    struct instants instants;
    bool better;
    if (!list_instants(x->search, c, INSTANTS, &instants, err))
        return false;
    for (int i = 0; i < QUANTILES; i++) {
        const struct proposal p = propose(c, &instants, i, QUANTILES - 1 - i);
        if (!look_at(x, &p, &better, err))
            return false;
    }
    return true;
}

// One stage's instant at a time, or none for it.
static bool refine_stage(struct exchange *x, const struct instants *instants, int stage, bool *out_better,
                         struct rb_err *err)
{
    for (int i = -1; i < QUANTILES * QUANTILES; i++) {
        bool better;
        struct proposal p = x->best;
        p.early.at_us[stage] = i < 0 ? NEVER : instants->at_us[stage][i / QUANTILES][i % QUANTILES];
        if (p.early.at_us[stage] == x->best.early.at_us[stage])
            continue;
        if (!look_at(x, &p, &better, err))
            return false;
        *out_better |= better;
    }
    return true;
}

static bool refine(struct exchange *x, struct rb_err *err)
{
    struct instants instants;
    bool better = x->best.early.any;
    if (better && !list_instants(x->search, &x->best.candidate, SCREENING, &instants, err))
        return false;
    while (better && !rb_search_out_of_time(x->search)) {
        better = false;
        for (int stage = 0; stage < x->best.candidate.n_stages; stage++) {
            if (gained(&x->best.candidate, stage) > 0 && !refine_stage(x, &instants, stage, &better, err))
                return false;
        }
    }
    return true;
}

// ---- neighbours: plans that are too slow, or too dear, where nodes are waited for

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

static bool consider(struct rb_search *search, const struct rb_candidate *c, double to_beat_uusd,
                     struct neighbours *list, struct rb_err *err)
{
    struct rb_candidate_floor floor;
    if (!gains_any(c))
        return true;
    if (!rb_candidate_floor(search, c, true, &floor, err))
        return false;
    if (floor.may_be_in_time && floor.cost_uusd < to_beat_uusd)
        insert(list, c, floor.cost_uusd);
    return true;
}

// Every other choice of one stage.
static bool list_neighbours(struct rb_search *search, const struct rb_candidate *from, int stage, double to_beat_uusd,
                            struct neighbours *list, struct rb_err *err)
{
    for (int offer = 0; offer < search->scenario->n_offers; offer++) {
        const struct rb_sizes *sizes = &search->sizes[offer];
        const bool wanted = sizes->n > 0 && !rb_search_is_outbid(search, offer);
        const int most = wanted ? rb_search_useful_nodes(search, stage, offer) : 0;
        for (int i = 0; i < sizes->n && !rb_search_out_of_time(search); i++) {
            struct rb_candidate c = *from;
            int nodes = rb_nodes_per_trial(rb_search_gpus_per_node(search, offer), sizes->gpus[i]);
            for (; nodes <= most; nodes++) {
                c.stages[stage] = (struct rb_choice){offer, sizes->gpus[i], nodes};
                if (!consider(search, &c, to_beat_uusd, list, err))
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
    const struct rb_candidate from = x->best.candidate;
    for (int stage = 0; stage < from.n_stages; stage++) {
        if (!list_neighbours(x->search, &from, stage, to_beat_uusd, &list, err))
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
    struct rb_search *search = x->search;
    x->plan.candidate = x->best.candidate = result->best;
    if (!try_candidate(x, &result->best, err) || !refine(x, err))
        return false;
    if (!search->by_laws)
        return true; // bounds that pick neighbours are those of laws
    const double to_beat = (double)result->best.estimate.cost_uusd.mean * (1 - WORTH);
    return try_neighbours(x, to_beat, err) && refine(x, err);
}

// On replicates that have not led to it: *out_gain against the plan, from *out_n of them, and whether it stands.
static bool confirm(struct exchange *x, struct gain *out_gain, int *out_n, bool *out_stands, struct rb_err *err)
{
    const struct rb_search *search = x->search;
    struct runs *before = &x->best_runs, *after = &x->runs;
    enum verdict verdict;
    int n;
    before->n = after->n = 0;
    if (!compare(search, &x->plan, &x->best, UNSEEN, before, after, &verdict, &n, err))
        return false;
    *out_gain = gain_of(search, before, after, n);
    *out_n = n;
    *out_stands = verdict == KEPT || (verdict == OPEN && is_gain(out_gain) &&
                                      holds(search, p_both(search, after, n), p_both(search, before, n), n));
    return true;
}

static void explain(struct exchange *x, const struct gain *g, int n)
{
    struct rb_search *search = x->search;
    const bool by_time = search->req->objective == RB_OBJECTIVE_MIN_TIME;
    char gain[32], stderr_[32], at[32];
    if (!rb_search_explains(search))
        return;
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    rb_candidate_text(search->scenario, &x->best.candidate, &text);
    for (int stage = 0; stage < x->best.candidate.n_stages; stage++) {
        if (x->best.early.at_us[stage] != NEVER)
            rb_buf_printf(&text, "; %d nodes for stage %d requested %s into stage %d",
                          gained(&x->best.candidate, stage), stage + 1,
                          rb_format_duration(x->best.early.at_us[stage], at), stage);
    }
    char *(*format)(int64_t, char[static 32]) = by_time ? rb_format_duration : rb_format_money;
    rb_search_note(search, "early requests: %s: saves %s (standard error %s, %d runs that the search had not seen)",
                   rb_buf_str(&text), format(llround(g->mean), gain), format(llround(g->stderr_), stderr_), n);
}

static bool improve(struct exchange *x, struct rb_plan_result *result, struct rb_err *err)
{
    struct gain g;
    bool stands = false;
    int n;
    if (!exchange(x, result, err) || (x->best.early.any && !confirm(x, &g, &n, &stands, err)))
        return false;
    if (!stands) {
        rb_search_note(x->search, "early requests: none of %lld exchanges saves more than four standard errors%s",
                       (long long)x->n_tried, x->best.early.any ? " on runs that the search had not seen" : "");
        return true;
    }
    explain(x, &g, n);
    result->best = x->best.candidate;
    result->early = x->best.early;
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
    struct exchange x = {.search = search, .plan_p = NAN, .best_runs = runs_create(n), .runs = runs_create(n)};
    const bool ok = improve(&x, result, err);
    runs_free(&x.best_runs);
    runs_free(&x.runs);
    return ok;
}
