#include "planner/proof/candidate_floor.h"

#include "planner/proof/floors.h"
#include "planner/scores/score.h"
#include "planner/scores/stage_samples.h"
#include "simulator/one_wave/trial_law.h"

#include <math.h>

#define BY_RUNS        0.9 // of a floor: means of runs may be below the truth
#define NEARLY_CERTAIN 1   // standard deviations above the mean
#define STEEPEST       300 // theta times the deadline: exp(-theta T) of what is not twice as late is still a number

// theta of the bounds P(T <= D) <= E exp(-theta T) exp(theta D), in standard deviations of a fast plan.
static const double tilts[RB_N_TILTS] = {0.35, 1.0, 2.5, 6.0};

// At the deadline, or up to twice as late: floors serve all deadlines of about one size.
static double steepest(const struct rb_search *search)
{
    return STEEPEST / exp2(ceil(log2(fmax(1, (double)search->req->deadline_us / 1e6))));
}

static bool make_floors(struct rb_search *search, struct rb_err *err)
{
    double deviation_s;
    const double most = steepest(search);
    if (search->floors && !(search->steepest < most) && !(search->steepest > most))
        return true;
    if (!rb_score_deviation_s(search, &deviation_s, err))
        return false;
    deviation_s = fmax(deviation_s, 1e-3); // times are rounded to the microsecond: no plan is that sure
    for (int i = 0; i < RB_N_TILTS; i++)
        search->theta[i] = fmin(tilts[i] / deviation_s, most);
    rb_floors_destroy(search->floors);
    search->floors = rb_floors_create(search, search->theta);
    search->steepest = most;
    return true;
}

// Chernoff's bound at every theta.
static bool may_be_in_time(const struct rb_search *search, const double *tilted_s)
{
    const struct rb_plan_request *req = search->req;
    if (req->deadline_us < 0)
        return true;
    for (int i = 0; i < RB_N_TILTS; i++) {
        const double at_most = exp(search->theta[i] * ((double)req->deadline_us / 1e6 - tilted_s[i]));
        if (at_most < req->confidence)
            return false;
    }
    return true;
}

bool rb_candidate_floor(struct rb_search *search, const struct rb_candidate *c, bool ahead,
                        struct rb_candidate_floor *out, struct rb_err *err)
{
    double tilted_s[RB_N_TILTS] = {0}, cost_uusd = 0, mean_s = 0, variance_s2 = 0;
    if (!make_floors(search, err))
        return false;
    for (int i = 0; i < c->n_stages; i++) {
        const struct rb_choice *choice = &c->stages[i];
        const struct rb_provisioning *p = search->scenario->sim_offers[choice->offer].provisioning;
        const int kept = rb_choice_kept(i > 0 ? &c->stages[i - 1] : NULL, choice);
        const int ready = ahead && i > 0 ? choice->nodes : kept;
        struct rb_times least;
        double roughly_s;
        if (!rb_floors_get(search->floors, i, choice, &ready, 1, &least, &roughly_s, err))
            return false;
        mean_s += fmax(roughly_s, least.mean_s);
        variance_s2 += least.variance_s2;
        const struct rb_stage_time floor = {.law.mean_s = least.mean_s, .queue_mean_s = rb_queue_mean_s(p)};
        cost_uusd += rb_stage_cost_mean_uusd(search->scenario, choice, kept, &floor);
        for (int k = 0; k < RB_N_TILTS; k++)
            tilted_s[k] += least.tilted_s[k];
    }
    *out = (struct rb_candidate_floor){cost_uusd, mean_s + NEARLY_CERTAIN * sqrt(variance_s2),
                                       may_be_in_time(search, tilted_s)};
    return true;
}

// ---- offers

// Nodes are paid for at least while their trials run, on the size that pays best.
static double work_uusd(struct rb_search *search, int stage, int offer)
{
    const struct rb_scenario *s = search->scenario;
    const struct rb_rung *rung = &s->stages.rungs[stage];
    const int per_node = rb_search_gpus_per_node(search, offer);
    double least = INFINITY;
    for (int i = 0; i < search->sizes[offer].n; i++) {
        const int gpus = search->sizes[offer].gpus[i];
        double trial_s;
        if (!rb_search_trial_s(search, stage, offer, gpus, &trial_s))
            continue;
        const double nodes = gpus > per_node ? rb_nodes_per_trial(per_node, gpus) : 1.0 / (per_node / gpus);
        const struct rb_choice one = {offer, gpus, 1};
        const struct rb_stage_time work = {.law.mean_s = rung->trials * nodes * trial_s};
        least = fmin(least, rb_stage_cost_mean_uusd(s, &one, 1, &work));
    }
    return least;
}

// Who is promoted decides how much work an asynchronous job is.
static bool has_floors(const struct rb_search *search)
{
    return !search->asynchronous && search->req->objective == RB_OBJECTIVE_MIN_COST;
}

int rb_offers_by_floor(struct rb_search *search, int *out_offers, double *out_uusd)
{
    int n = 0;
    for (int offer = 0; offer < search->scenario->n_offers; offer++) {
        double floor_uusd = 0;
        int at = n;
        if (search->sizes[offer].n == 0 || rb_search_is_outbid(search, offer))
            continue;
        for (int stage = 0; has_floors(search) && stage < search->scenario->stages.n; stage++)
            floor_uusd += (search->by_laws ? 1 : BY_RUNS) * work_uusd(search, stage, offer);
        for (; at > 0 && out_uusd[at - 1] > floor_uusd; at--) {
            out_uusd[at] = out_uusd[at - 1];
            out_offers[at] = out_offers[at - 1];
        }
        out_uusd[at] = floor_uusd;
        out_offers[at] = offer;
        n++;
    }
    return n;
}
