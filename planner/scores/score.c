#include "planner/scores/score.h"

#include "planner/proof/billed.h"
#include "planner/scores/draws.h"
#include "planner/scores/on_time.h"
#include "planner/scores/probability_error.h"
#include "planner/scores/stage_samples.h"
#include "simulator/one_wave/trial_law.h"

#include "engine/core/placement.h"

#include <math.h>

#define SAMPLING_SIGMA 1.7 // a mean of samples is off by less than this times deviation times the error of P, at 99.9 %
#define SURE_SIGMA     6.0 // a cost is not further from its mean than this
#define SETTLED        2e-5 // leftover frequencies that no longer matter
#define FEW_SAMPLES    256
#define MORE_SAMPLES   4

double rb_node_rate_uusd(const struct rb_billing *b)
{
    return ((double)b->rate.uusd_per_hour + (double)b->disk_rate.uusd_per_hour * (double)b->disk_gb) / RB_S_PER_HOUR;
}

struct rb_node_bill rb_node_bill_of(const struct rb_billing *b, double queue_mean_s)
{
    return (struct rb_node_bill){rb_node_rate_uusd(b), (double)b->data_uusd, queue_mean_s - 0.5};
}

double rb_stage_cost_mean_uusd(const struct rb_scenario *s, const struct rb_choice *choice, int kept,
                               const struct rb_stage_time *time)
{
    const struct rb_node_bill bill = rb_node_bill_of(&s->sim_offers[choice->offer].billing, time->queue_mean_s);
    return rb_node_bill_mean_uusd(&bill, choice->nodes, kept, time->law.mean_s);
}

bool rb_stage_is_too_short(const struct rb_choice *choice, int kept, const struct rb_stage_time *time)
{
    return choice->nodes > kept && time->queue_mean_s >= time->law.mean_s;
}

bool rb_score_applies(const struct rb_search *search, const char **out_why)
{
    for (int offer = 0; offer < search->scenario->n_offers; offer++) {
        if (search->sizes[offer].n > 0 && !rb_stage_times_apply(search->scenario, offer, out_why))
            return false;
    }
    return true;
}

struct moments {
    double mean_s, variance_s2;
};

// Of the longest trial or of the work shared by all slots, whichever is longer in the mean. share: trials a slot.
static struct moments floor_moments(const struct rb_law *trial, const struct rb_law *longest, int n_trials,
                                    double share)
{
    if (trial->mean_s * share > longest->mean_s)
        return (struct moments){trial->mean_s * share, trial->variance_s2 * share * share / n_trials};
    return (struct moments){longest->mean_s, longest->variance_s2};
}

// Of a stage on the most nodes of any offer and with any size that is the fastest in the mean.
static bool fastest_floor(struct rb_search *search, int stage, struct moments *out, struct rb_err *err)
{
    const struct rb_scenario *s = search->scenario;
    const struct rb_rung *rung = &s->stages.rungs[stage];
    const int64_t units = rb_scenario_rung_units(s, stage);
    *out = (struct moments){.mean_s = INFINITY};
    for (int offer = 0; offer < s->n_offers; offer++) {
        const struct rb_sizes *sizes = &search->sizes[offer];
        const int per_node = rb_search_gpus_per_node(search, offer);
        const int nodes = sizes->n > 0 ? rb_search_useful_nodes(search, stage, offer) : 0;
        for (int i = sizes->n - 1; i >= 0; i--) { // the fastest trials first: others need no look
            double unit_s;
            if (rb_nodes_per_trial(per_node, sizes->gpus[i]) > nodes)
                continue;
            if (!rb_scenario_unit_s(s, offer, sizes->gpus[i], &unit_s, err))
                return false;
            const struct rb_law *trial = rb_stage_times_trial(search->times, s->profile, units, unit_s);
            const int slots = rb_placement_capacity(nodes, per_node, sizes->gpus[i]);
            const double share = slots < rung->trials ? (double)rung->trials / slots : 1;
            if (trial->mean_s * share >= out->mean_s)
                continue;
            const struct rb_law *longest =
                rb_stage_times_longest(search->times, s->profile, units, unit_s, rung->trials);
            const struct moments m = floor_moments(trial, longest, rung->trials, share);
            *out = m.mean_s < out->mean_s ? m : *out;
        }
    }
    return true;
}

bool rb_score_deviation_s(struct rb_search *search, double *out_s, struct rb_err *err)
{
    double variance_s2 = 0;
    for (int stage = 0; stage < search->scenario->stages.n; stage++) {
        struct moments m;
        if (!fastest_floor(search, stage, &m, err))
            return false;
        variance_s2 += m.variance_s2;
    }
    *out_s = sqrt(variance_s2);
    return true;
}

double rb_stage_mean_error_s(const struct rb_stage_time *t)
{
    if (t->method == RB_STAGE_PILOT)
        return SAMPLING_SIGMA * sqrt(t->law.variance_s2) * t->law.error;
    return t->law.error * t->law.step_s * (t->law.n - 1);
}

// Rounding up costs half a second on average where the end of a stage is spread over seconds. A constant may cost from
// nothing to a whole second.
static double rounding_error_s(const struct rb_stage_time *t)
{
    return t->law.jump > 0 ? 0.5 : 0;
}

double rb_stage_cost_error_uusd(const struct rb_scenario *s, const struct rb_choice *choice, int kept,
                                const struct rb_stage_time *time)
{
    const int requested = choice->nodes - kept;
    return rb_node_rate_uusd(&s->sim_offers[choice->offer].billing) *
           (choice->nodes * rb_stage_mean_error_s(time) + requested * rounding_error_s(time));
}

struct rb_stage_work rb_score_stage_work(const struct rb_candidate *c, int stage)
{
    const struct rb_choice *choice = &c->stages[stage];
    const int kept = rb_choice_kept(stage > 0 ? &c->stages[stage - 1] : NULL, choice);
    return (struct rb_stage_work){stage, choice->offer, choice->gpus, choice->nodes, kept};
}

const struct rb_stage_time *rb_score_stage_time(struct rb_search *search, const struct rb_candidate *c, int stage,
                                                double accuracy, bool finely, int *out_kept, struct rb_err *err)
{
    struct rb_stage_work work = rb_score_stage_work(c, stage);
    work.finely = finely;
    *out_kept = work.kept;
    return rb_stage_times_get(search->times, search->scenario, &work, accuracy, err);
}

// P(sum <= limit) from the laws alone, on a grid of their own: what always works. *out_error: beyond what the laws err by.
static double below_by_sum(const struct rb_law *const *laws, int n, double limit_s, double *out_error)
{
    struct rb_arena arena;
    rb_arena_init(&arena);
    struct rb_law_sum sum = rb_law_sum_create(laws, n, &arena);
    double p = rb_law_sum_below(&sum, limit_s);
    *out_error = sum.error;
    for (int i = 0; i < n; i++)
        *out_error -= laws[i]->error;
    *out_error = fmax(0, *out_error);
    rb_arena_finish(&arena);
    return p;
}

// P(sum > limit) is at most the sum of P(each > its share of the room there is above the means).
static double above_at_most(const struct rb_law *const *laws, int n, double limit_s)
{
    double room_s = limit_s, deviations_s = 0, p = 0;
    for (int i = 0; i < n; i++) {
        room_s -= laws[i]->mean_s;
        deviations_s += sqrt(laws[i]->variance_s2);
    }
    if (room_s <= 0)
        return 1;
    for (int i = 0; i < n && deviations_s > 0; i++)
        p += rb_law_above(laws[i], laws[i]->mean_s + room_s * sqrt(laws[i]->variance_s2) / deviations_s);
    return fmin(1, p);
}

// P(sum <= deadline) on the frequencies of the request, where they tell these times apart.
static double below_deadline(struct rb_search *search, const struct rb_law *const *laws, int n, double *out_error)
{
    double re[RB_ON_TIME_TERMS + 8], im[RB_ON_TIME_TERMS + 8];
    double deadline_s = (double)search->req->deadline_us / 1e6, soonest_s = 0;
    *out_error = 0;
    for (int i = 0; i < n; i++)
        soonest_s += laws[i]->low_s;
    if (soonest_s > deadline_s + RB_SCORE_ROUNDING_S) // but for what laws err by
        return 0;
    if (!search->on_time)
        return below_by_sum(laws, n, deadline_s, out_error);
    struct rb_product product = {.re = re, .im = im};
    rb_product_begin(&product, rb_on_time_terms(search->on_time));
    double wrapped = above_at_most(laws, n, deadline_s + rb_on_time_window_s(search->on_time));
    for (int i = 0; i < n; i++)
        rb_product_multiply(&product, &product, rb_on_time_transform(search->on_time, laws[i]));
    double lost = rb_product_leftover(&product, search->on_time) + wrapped;
    if (lost > SETTLED)
        return below_by_sum(laws, n, deadline_s, out_error);
    *out_error = lost;
    struct rb_limit_weights weights = rb_on_time_deadline(search->on_time);
    return rb_product_below(&product, &weights);
}

// What the stage times make P(in time) err by: while searching from the probability alone, else from all of them.
static double times_error(const struct rb_search *search, const struct rb_stage_time *const *times, int n,
                          double accuracy, double p)
{
    const double deadline_s = (double)search->req->deadline_us / 1e6;
    return accuracy > RB_SCORE_ACCURACY ? rb_plan_probability_error(times, n, p)
                                        : rb_plan_probability_error_at(times, n, deadline_s, p);
}

static bool score_candidate(struct rb_search *search, const struct rb_candidate *candidate, double accuracy,
                            bool finely, struct rb_score *out, struct rb_err *err)
{
    const struct rb_stage_time *times[RB_LIMIT_STAGES];
    const struct rb_law *laws[RB_LIMIT_STAGES];
    struct rb_score score = {.p_deadline = 1};
    bool too_short = false;
    for (int i = 0; i < candidate->n_stages; i++) {
        int kept;
        const struct rb_stage_time *t = rb_score_stage_time(search, candidate, i, accuracy, finely, &kept, err);
        if (!t)
            return false;
        score.rough |= t->method == RB_STAGE_PILOT || t->law.error > RB_STAGE_ROUGH;
        times[i] = t;
        laws[i] = &t->law;
        score.time_mean_us += t->law.mean_s * 1e6;
        score.cost_mean_uusd += rb_stage_cost_mean_uusd(search->scenario, &candidate->stages[i], kept, t);
        score.cost_error_uusd += rb_stage_cost_error_uusd(search->scenario, &candidate->stages[i], kept, t);
        score.unready += i + 1 < candidate->n_stages ? t->unready : 0;
        too_short |= rb_stage_is_too_short(&candidate->stages[i], kept, t);
    }
    score.finest_uusd = score.cost_mean_uusd;
    score.above_sum_uusd = rb_billed_above_sum_uusd(search->scenario, candidate, times, candidate->n_stages);
    score.cost_error_uusd += score.above_sum_uusd;
    if (search->req->deadline_us >= 0)
        score.p_deadline = below_deadline(search, laws, candidate->n_stages, &score.p_error);
    if (search->req->deadline_us >= 0)
        score.p_error += times_error(search, times, candidate->n_stages, accuracy, score.p_deadline);
    score.p_error = fmin(1, score.p_error + score.unready);
    if (too_short) { // not in the space: infeasible whatever is asked
        score.p_deadline = 0;
        score.p_error = score.unready = 0;
    }
    *out = score;
    return true;
}

// Is the probability no farther from the confidence asked than what computing it more finely may change?
static bool is_in_doubt(const struct rb_search *search, const struct rb_score *score)
{
    return fabs(score->p_deadline - search->req->confidence) <= score->p_error - score->unready;
}

bool rb_score_candidate(struct rb_search *search, const struct rb_candidate *candidate, double accuracy,
                        struct rb_score *out, struct rb_err *err)
{
    if (!score_candidate(search, candidate, accuracy, false, out, err))
        return false;
    if (accuracy > RB_SCORE_ACCURACY || !out->rough || !is_in_doubt(search, out))
        return true;
    struct rb_score fine;
    if (!score_candidate(search, candidate, accuracy, true, &fine, err))
        return false;
    out->p_deadline = fine.p_deadline;
    out->p_error = fine.p_error;
    out->unready = fine.unready;
    out->finest_uusd = fine.cost_mean_uusd;
    out->finely = true;
    return true;
}

bool rb_score_quantile_s(struct rb_search *search, const struct rb_candidate *candidate, double p, double accuracy,
                         double *out_s, struct rb_err *err)
{
    const struct rb_law *laws[RB_LIMIT_STAGES];
    struct rb_arena arena;
    for (int i = 0; i < candidate->n_stages; i++) {
        int kept;
        const struct rb_stage_time *t =
            rb_score_stage_time(search, candidate, i, accuracy, accuracy <= RB_SCORE_ACCURACY, &kept, err);
        if (!t)
            return false;
        laws[i] = &t->law;
    }
    rb_arena_init(&arena);
    struct rb_law_sum sum = rb_law_sum_create(laws, candidate->n_stages, &arena);
    *out_s = rb_law_sum_quantile(&sum, p);
    rb_arena_finish(&arena);
    return true;
}

// --- as the estimate that a search compares

// At most this is the standard deviation of the cost: the time of a stage and the delays of its new nodes, as if both
// always erred in the same direction.
static bool cost_deviation_uusd(struct rb_search *search, const struct rb_candidate *c, double *out, struct rb_err *err)
{
    double variance = 0;
    for (int i = 0; i < c->n_stages; i++) {
        int kept;
        const struct rb_stage_time *t = rb_score_stage_time(search, c, i, RB_SCORE_SEARCH_ACCURACY, false, &kept, err);
        if (!t)
            return false;
        const struct rb_sim_offer *offer = &search->scenario->sim_offers[c->stages[i].offer];
        double queue_s = sqrt(rb_dist_variance(&offer->provisioning->queue_s));
        double deviation_s = c->stages[i].nodes * sqrt(t->law.variance_s2) + (c->stages[i].nodes - kept) * queue_s;
        variance += pow(rb_node_rate_uusd(&offer->billing) * deviation_s, 2);
    }
    *out = sqrt(variance);
    return true;
}

// P(cost <= budget) where moments alone decide it: 1 far above the mean, 0 (not as high as the confidence asked, by
// Cantelli's inequality) far below. NAN: they do not.
static double budget_by_moments(const struct rb_search *search, const struct rb_score *score, double deviation_uusd)
{
    double room = (double)search->req->budget_uusd - score->cost_mean_uusd;
    double variance = deviation_uusd * deviation_uusd;
    if (room > SURE_SIGMA * deviation_uusd + score->cost_error_uusd)
        return 1;
    if (room < -score->cost_error_uusd && variance / (variance + room * room) < search->req->confidence)
        return 0;
    return NAN;
}

// As accurately as it takes to tell the probability from the confidence asked.
static bool score_as_needed(struct rb_search *search, const struct rb_candidate *candidate, struct rb_score *out,
                            struct rb_err *err)
{
    if (!rb_score_candidate(search, candidate, RB_SCORE_SEARCH_ACCURACY, out, err))
        return false;
    return !is_in_doubt(search, out) || rb_score_candidate(search, candidate, RB_SCORE_ACCURACY, out, err);
}

// A few draws settle most candidates that keep the deadline by their laws and not the budget, or not with nodes that are
// late; all of them the others.
static bool settle_by_draws(struct rb_search *search, struct rb_candidate *candidate, const struct rb_score *score,
                            struct rb_err *err)
{
    const int all = search->req->samples;
    bool settled = false;
    search->n_evaluated++;
    for (int n = FEW_SAMPLES; !settled; n *= MORE_SAMPLES) {
        const bool last = n >= all;
        if (!rb_draws_estimate(search, candidate, score, last ? all : n, &candidate->estimate, err))
            return false;
        const struct rb_estimate *e = &candidate->estimate;
        settled = last || fabs(e->p_both - search->req->confidence) > rb_search_p_off(e);
    }
    return true;
}

bool rb_score_estimate(struct rb_search *search, struct rb_candidate *candidate, struct rb_err *err)
{
    const struct rb_plan_request *req = search->req;
    struct rb_score score;
    double deviation_uusd, p_budget = 1;
    if (!score_as_needed(search, candidate, &score, err))
        return false;
    if (req->budget_uusd >= 0 && !cost_deviation_uusd(search, candidate, &deviation_uusd, err))
        return false;
    if (req->budget_uusd >= 0)
        p_budget = budget_by_moments(search, &score, deviation_uusd);
    const bool spoiled = score.p_deadline - score.unready < req->confidence;
    if (score.p_deadline >= req->confidence && (isnan(p_budget) || (spoiled && p_budget > 0)))
        return settle_by_draws(search, candidate, &score, err);
    p_budget = isnan(p_budget) ? 0 : p_budget;
    search->n_evaluated++;
    candidate->estimate = (struct rb_estimate){
        .time_us.mean = (int64_t)llround(score.time_mean_us),
        .cost_uusd.mean = (int64_t)llround(score.cost_mean_uusd),
        .p_deadline = score.p_deadline,
        .p_budget = p_budget,
        .p_both = fmin(score.p_deadline, p_budget),
        .samples = req->samples,
        .time_method = RB_ESTIMATE_LAWS,
        .cost_method = RB_ESTIMATE_LAWS,
        .error = {.cost_mean_uusd = (int64_t)ceil(score.cost_error_uusd), .p_deadline = score.p_error},
    };
    return true;
}
