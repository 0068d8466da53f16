#include "planner/search/search.h"

#include "planner/request/memory.h"
#include "planner/request/plan_space.h"

#include "engine/core/placement.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PILOT_FEWEST 64
#define OFF_SIGMA    4.0 // once in 30000
#define SPARE_NODES  2   // more requests than needed: the slowest boots are not waited for

#define MOST_TRIALS 2e7 // for the runs of one plan: a tenth of a second from tables, a second from replicates

#define TABLE_COUNTS       20  // node counts of an offer that tables contain, roughly
#define TABLE_TRIALS_PER_S 5e6 // simulated event by event

static const struct rb_place no_place = {NULL, 0, 0};

// --- set-up

static bool check_usable(const struct rb_search *search, struct rb_err *err)
{
    const struct rb_scenario *s = search->scenario;
    const char *why = NULL;
    int largest = 0;
    for (int i = 0; i < s->n_offers; i++) {
        if (!s->sim_offers[i].usable) {
            why = why ? why : s->sim_offers[i].why_not;
            continue;
        }
        if (search->sizes[i].n > 0)
            return true;
        largest = s->offers[i].gpus > largest ? s->offers[i].gpus : largest;
    }
    if (largest == 0)
        return rb_err_set(err, RB_E_NO_OFFER, "none of %d offers can be planned on: %s", s->n_offers,
                          why ? why : "there is none");
    return rb_err_set_at(err, RB_E_NO_SIZE, no_place, "trial.gpus",
                         "no listed size fits: the smallest is %d GPUs, trial.max_nodes is %d, resources.max_nodes is "
                         "%d and the largest node has %d GPUs; the profile \"%s\" must cover the layout as well",
                         s->job->trial.sizes[0], s->job->trial.max_nodes, s->job->resources.max_nodes, largest,
                         s->profile->name);
}

static int count_planners(void)
{
    int n = 0;
    while (rb_planners[n])
        n++;
    return n;
}

double rb_search_trials_in_all(const struct rb_search *s)
{
    double trials = 0;
    for (int i = 0; i < s->scenario->stages.n; i++)
        trials += rb_search_n_trials(s, i);
    return trials;
}

bool rb_search_is_slow(const struct rb_plan_request *req, double trials)
{
    return req->time_limit_us > 0 &&
           trials * TABLE_COUNTS * PILOT_FEWEST >= (double)req->time_limit_us / 1e6 * TABLE_TRIALS_PER_S;
}

double rb_search_affordable_runs(const struct rb_search *s)
{
    return MOST_TRIALS / rb_search_trials_in_all(s);
}

// True if tables of replicates for this many sizes exceed a limit.
static bool is_too_much(struct rb_search *s, int n_sizes)
{
    const double cells = (double)s->scenario->stages.n * n_sizes * TABLE_COUNTS * TABLE_COUNTS;
    if (rb_search_is_slow(s->req, rb_search_trials_in_all(s) * n_sizes))
        s->left_out_for = "time";
    else if (rb_table_bytes(cells, PILOT_FEWEST) > rb_search_memory_for_tables(s))
        s->left_out_for = "memory";
    return s->left_out_for != NULL;
}

static bool may_lose_nodes(const struct rb_scenario *s, int offer)
{
    return s->sim_offers[offer].usable && rb_provisioning_may_lose(s->sim_offers[offer].provisioning);
}

// Too many offers and trials to simulate stages event by event within a limit: plans only with offers that keep their
// nodes.
static void leave_out_slow(struct rb_search *s)
{
    const struct rb_scenario *scenario = s->scenario;
    int n_sizes = 0, n_kept = 0;
    for (int i = 0; i < scenario->n_offers; i++) {
        n_sizes += s->sizes[i].n;
        n_kept += s->sizes[i].n > 0 && !may_lose_nodes(scenario, i);
    }
    if (!s->scorer->barriers || n_kept == 0 || s->req->objective != RB_OBJECTIVE_MIN_COST || !is_too_much(s, n_sizes))
        return;
    for (int i = 0; i < scenario->n_offers; i++) {
        s->left_out[i] = s->sizes[i].n > 0 && may_lose_nodes(scenario, i);
        s->n_left_out += s->left_out[i];
        if (s->left_out[i])
            s->sizes[i].n = 0;
    }
}

bool rb_search_init(struct rb_search *search, const struct rb_plan_request *req, const struct rb_scenario *scenario,
                    struct rb_err *err)
{
    struct rb_search s = {
        .req = req,
        .scenario = scenario,
        .scorer = rb_scorer_of(scenario->job),
    };
    s.sizes = rb_xcalloc((size_t)scenario->n_offers + 1, sizeof *s.sizes);
    for (int i = 0; i < scenario->n_offers; i++)
        s.sizes[i].n = rb_planner_sizes(scenario, i, s.sizes[i].gpus);
    if (!check_usable(&s, err)) {
        free(s.sizes);
        return false;
    }
    s.results = rb_xcalloc((size_t)count_planners(), sizeof *s.results);
    s.has_result = rb_xcalloc((size_t)count_planners(), sizeof *s.has_result);
    s.explained = rb_explained_create();
    s.static_best = rb_xcalloc((size_t)scenario->n_offers, sizeof *s.static_best);
    s.left_out = rb_xcalloc((size_t)scenario->n_offers + 1, sizeof *s.left_out);
    s.owns_runs = req->runs == NULL;
    s.runs = s.owns_runs ? rb_run_store_create() : req->runs;
    s.space = rb_plan_space_create();
    s.owns_laws = req->laws == NULL;
    s.laws = s.owns_laws ? rb_trial_laws_create() : req->laws;
    s.fallbacks = rb_xcalloc((size_t)scenario->n_offers + 1, sizeof *s.fallbacks);
    leave_out_slow(&s);
    *search = s;
    return true;
}

void rb_search_leave_out_markets(struct rb_search *search)
{
    for (int i = 0; i < search->scenario->n_offers; i++) {
        if (search->sizes[i].n == 0 || !rb_sim_offer_goes_down(&search->scenario->sim_offers[i]))
            continue;
        search->left_out[i] = true;
        search->n_left_out++;
        search->sizes[i].n = 0;
    }
}

bool rb_search_leave_out_spot(struct rb_search *search)
{
    const struct rb_scenario *s = search->scenario;
    int n_spot = 0, n_others = 0;
    for (int i = 0; i < s->n_offers; i++) {
        const bool is_spot = s->offers[i].market == RB_MARKET_SPOT;
        n_spot += is_spot && search->sizes[i].n > 0;
        n_others += !is_spot && search->sizes[i].n > 0;
    }
    for (int i = 0; i < s->n_offers && n_spot > 0 && n_others > 0; i++) {
        if (s->offers[i].market == RB_MARKET_SPOT)
            search->sizes[i].n = 0;
    }
    return n_spot > 0 && n_others > 0;
}

void rb_search_forget(struct rb_search *search)
{
    for (int i = 0; rb_planners[i]; i++)
        search->has_result[i] = false;
    for (int i = 0; i < search->scenario->n_offers; i++)
        search->static_best[i].known = false;
}

void rb_search_ask_again(struct rb_search *search, const struct rb_plan_request *req)
{
    search->req = req;
    rb_search_forget(search);
}

void rb_search_finish(struct rb_search *search)
{
    free(search->sizes);
    free(search->left_out);
    free(search->fallbacks);
    free(search->results);
    free(search->has_result);
    rb_explained_destroy(search->explained);
    free(search->static_best);
    rb_plan_space_destroy(search->space);
    free(search->engine_estimated);
    if (search->owns_runs)
        rb_run_store_destroy(search->runs);
    if (search->owns_laws)
        rb_trial_laws_destroy(search->laws);
    *search = (struct rb_search){0};
}

int rb_search_index_of(const struct rb_planner *planner)
{
    int index = 0;
    while (rb_planners[index] != planner)
        index++;
    return index;
}

void rb_search_know(struct rb_search *search, const struct rb_planner *planner, const struct rb_plan_result *result)
{
    const int index = rb_search_index_of(planner);
    search->results[index] = *result;
    search->has_result[index] = true;
}

bool rb_search_plan(struct rb_search *search, const struct rb_planner *planner, const struct rb_plan_result **out,
                    struct rb_err *err)
{
    const int index = rb_search_index_of(planner);
    if (!search->has_result[index]) {
        if (!search->scorer->ask(search, planner, &search->results[index], err))
            return rb_err_prefix(err, "planner %s", planner->name);
        search->has_result[index] = true;
    }
    *out = &search->results[index];
    return true;
}

double rb_search_to_beat(const struct rb_search *search)
{
    double least = INFINITY;
    for (int i = 0; rb_planners[i]; i++) {
        const struct rb_plan_result *result = &search->results[i];
        if (search->has_result[i] && result->feasible)
            least = fmin(least, rb_search_objective(search, &result->best.estimate));
    }
    return least;
}

// --- facts about stages and offers

int rb_search_n_trials(const struct rb_search *search, int stage)
{
    return search->scenario->stages.rungs[stage].trials;
}

int rb_search_gpus_per_node(const struct rb_search *search, int offer)
{
    return search->scenario->offers[offer].gpus;
}

bool rb_search_is_outbid(const struct rb_search *search, int offer)
{
    const struct rb_scenario *s = search->scenario;
    const struct rb_sim_offer *mine = &s->sim_offers[offer];
    for (int i = 0; i < s->n_offers; i++) {
        const struct rb_sim_offer *other = &s->sim_offers[i];
        if (i == offer || search->sizes[i].n == 0 || other->training != mine->training ||
            other->provisioning != mine->provisioning || other->reading != mine->reading ||
            other->offer->gpus != mine->offer->gpus ||
            other->billing.data_uusd > mine->billing.data_uusd || other->billing.release_s > mine->billing.release_s)
            continue;
        int64_t more = other->billing.rate.uusd_per_hour - mine->billing.rate.uusd_per_hour;
        int64_t more_disk = other->billing.disk_rate.uusd_per_hour - mine->billing.disk_rate.uusd_per_hour;
        if (more <= 0 && more_disk <= 0 && (more < 0 || more_disk < 0 || i < offer))
            return true;
    }
    return false;
}

int rb_nodes_per_trial(int gpus_per_node, int gpus)
{
    return (gpus + gpus_per_node - 1) / gpus_per_node;
}

int rb_nodes_to_hold(int gpus_per_node, int n_trials, int gpus)
{
    if (gpus > gpus_per_node)
        return n_trials * rb_nodes_per_trial(gpus_per_node, gpus);
    int per_node = gpus_per_node / gpus;
    return (n_trials + per_node - 1) / per_node;
}

bool rb_search_trial_s(const struct rb_search *search, int stage, int offer, int gpus, double *out)
{
    const struct rb_scenario *s = search->scenario;
    double unit_s;
    if (!rb_scenario_unit_s(s, offer, gpus, &unit_s, NULL))
        return false;
    *out = rb_dist_mean(&s->profile->startup_s) + rb_dist_mean(&s->profile->checkpoint_s) +
           (double)rb_scenario_rung_units(s, stage) * unit_s * rb_profile_mean_factor(s->profile);
    return true;
}

int rb_search_useful_nodes(const struct rb_search *search, int stage, int offer)
{
    const struct rb_sizes *sizes = &search->sizes[offer];
    int useful = 0;
    const int max_nodes = rb_planner_max_nodes(search->req->job, &search->scenario->offers[offer]);
    for (int later = stage; later < search->scenario->stages.n; later++) {
        for (int i = 0; i < sizes->n; i++) {
            int nodes = rb_nodes_to_hold(rb_search_gpus_per_node(search, offer), rb_search_n_trials(search, later),
                                         sizes->gpus[i]);
            useful = nodes > useful ? nodes : useful;
        }
    }
    if (useful == 0)
        return 0;
    useful += useful / 4 > SPARE_NODES ? useful / 4 : SPARE_NODES;
    return useful < max_nodes ? useful : max_nodes;
}

// --- scores

void rb_candidate_stages(const struct rb_scenario *s, const struct rb_candidate *candidate,
                         struct rb_plan_stage *out_stages, struct rb_plan_nodes *out_nodes)
{
    for (int i = 0; i < candidate->n_stages; i++) {
        const struct rb_choice *c = &candidate->stages[i];
        int slots = rb_placement_capacity(c->nodes, s->offers[c->offer].gpus, c->gpus);
        out_nodes[i] = (struct rb_plan_nodes){.offer = c->offer, .count = c->nodes};
        out_stages[i] = rb_scenario_stage(s, i, c->gpus, &out_nodes[i]);
        out_stages[i].waves = (out_stages[i].trials + slots - 1) / slots;
    }
}

void rb_search_keep_draws(struct rb_scenario *s, const struct rb_plan_request *req)
{
    rb_scorer_of(s->job)->keep_draws(s, req);
}

bool rb_search_runs(struct rb_search *search, const struct rb_candidate *candidate, int samples,
                    const struct rb_runs **out, struct rb_err *err)
{
    return search->scorer->runs(search, candidate, samples, out, err);
}

bool rb_search_score(struct rb_search *search, struct rb_candidate *candidate, int samples, struct rb_err *err)
{
    return search->scorer->score(search, candidate, samples, err);
}

bool rb_search_is_certified(const struct rb_search *search)
{
    return search->req->objective == RB_OBJECTIVE_MIN_COST && search->scorer->barriers;
}

double rb_search_confidence(const struct rb_search *search)
{
    return fmin(1, search->req->confidence + search->guard);
}

bool rb_search_feasible(const struct rb_search *search, const struct rb_estimate *estimate)
{
    if (search->on_average)
        return search->req->deadline_us < 0 || estimate->time_us.mean <= search->req->deadline_us;
    return estimate->p_both >= rb_search_confidence(search);
}

double rb_search_p_off(const struct rb_estimate *e)
{
    return fmax(e->error.p_both, OFF_SIGMA * e->stderr_.p_both);
}

double rb_search_objective(const struct rb_search *search, const struct rb_estimate *estimate)
{
    return (double)(search->req->objective == RB_OBJECTIVE_MIN_COST ? estimate->cost_uusd.mean
                                                                    : estimate->time_us.mean);
}

bool rb_search_out_of_time(const struct rb_search *search)
{
    return search->req->out_of_time && search->req->out_of_time(search->req->out_of_time_ctx);
}

bool rb_search_has_time_for(const struct rb_search *search, double n_runs)
{
    const struct rb_plan_request *req = search->req;
    if (rb_search_out_of_time(search) || !req->time_used || req->time_limit_us <= 0)
        return !rb_search_out_of_time(search);
    return req->time_used(req->out_of_time_ctx) + n_runs * req->run_us / (double)req->time_limit_us <= 1;
}

int rb_need_count(double confidence, int n)
{
    int m = (int)ceil(confidence * n);
    while (m > 0 && (double)(m - 1) / n >= confidence)
        m--;
    while (m < n && (double)m / n < confidence)
        m++;
    return m;
}

struct rb_plan_result rb_search_found(const struct rb_search *search, const struct rb_candidate *best)
{
    return (struct rb_plan_result){
        .feasible = true,
        .best = *best,
        .nearest_deadline_us = -1,
        .nearest_budget_uusd = -1,
        .nearest_confidence = NAN,
        .n_evaluated = search->n_evaluated,
        .cut = rb_search_out_of_time(search),
    };
}

struct rb_plan_result rb_search_no_plan(const struct rb_search *search)
{
    return (struct rb_plan_result){
        .nearest_deadline_us = -1,
        .nearest_budget_uusd = -1,
        .nearest_confidence = NAN,
        .n_evaluated = search->n_evaluated,
        .cut = rb_search_out_of_time(search),
    };
}
