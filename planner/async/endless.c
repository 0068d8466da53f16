#include "planner/async/endless.h"

#include <math.h>

#define MOST_STARTS 100 // of one trial: beyond that even a hundredth of the price would be expensive
#define SURE_SIGMA  16  // deviations of a geometric count that none of tens of thousands of replicates exceeds
#define NEVER       INT64_C(1000000000000000) // microseconds: 31 years; micro-dollars: a billion dollars

// Nodes of a gang that go at once count as one. Those of other trials only make it likelier that they do.
static double independent_nodes(int nodes, double together)
{
    return nodes / (1 + (nodes - 1) * together);
}

// A trial on nodes that are new when it starts and all keep for its x seconds with the chance exp(-H) starts exp(H)
// times on average; exactly so on one node, where a constant hazard makes it e^(x/mean). On several it is a bound: those
// that were not lost have aged by the next start, and the hazards of markets fall with age. Every loss requests a node,
// and interrupts at most the trials of one node.
static double starts_of(const struct rb_search *search, int offer, int nodes, double x_s)
{
    const struct rb_provisioning *p = search->scenario->sim_offers[offer].provisioning;
    const struct rb_hazard hazard = rb_provisioning_hazard(p);
    const double age_s = p->spells ? rb_scenario_init_mean_s(search->scenario, offer) : 0;
    return exp(fmin(rb_hazard_over(&hazard, age_s, x_s) * independent_nodes(nodes, rb_provisioning_together(p)), 100));
}

bool rb_stretch_of(const struct rb_search *search, int stage, int offer, int gpus, struct rb_stretch *out)
{
    const struct rb_scenario *s = search->scenario;
    const double every_s = s->sim_offers[offer].save_every_s, units = (double)rb_scenario_rung_units(s, stage);
    double trial_s, unit_s;
    if (!rb_search_trial_s(search, stage, offer, gpus, &trial_s) || !rb_scenario_unit_s(s, offer, gpus, &unit_s, NULL))
        return false;
    unit_s *= rb_profile_mean_factor(s->profile);
    const double between = fmax(1, ceil(every_s / unit_s)); // units from save to save
    *out = (struct rb_stretch){trial_s, 1};
    if (every_s > 0 && between < units)
        *out = (struct rb_stretch){trial_s - (units - between) * unit_s, ceil(units / between)};
    return true;
}

bool rb_is_endless(const struct rb_search *search, int stage, int offer, int gpus)
{
    const int per_node = rb_search_gpus_per_node(search, offer);
    struct rb_stretch stretch;
    if (search->spans && (stage < search->spans[offer].first || stage >= search->spans[offer].end))
        return true;
    if (!rb_provisioning_may_lose(search->scenario->sim_offers[offer].provisioning) ||
        !rb_stretch_of(search, stage, offer, gpus, &stretch))
        return false;
    const double starts = starts_of(search, offer, rb_nodes_per_trial(per_node, gpus), stretch.s);
    const double at_once = gpus < per_node ? per_node / gpus : 1;
    const double losses = stretch.n * (starts - 1) * ceil(rb_search_n_trials(search, stage) / at_once);
    return starts > MOST_STARTS || losses + SURE_SIGMA * sqrt(starts * losses) > RB_LIMIT_NODES;
}

bool rb_has_endless_stage(const struct rb_search *search, const struct rb_candidate *c)
{
    for (int i = 0; i < c->n_stages; i++) {
        if (rb_is_endless(search, i, c->stages[i].offer, c->stages[i].gpus))
            return true;
    }
    return false;
}

struct rb_estimate rb_endless_estimate(int samples)
{
    return (struct rb_estimate){.time_us.mean = NEVER, .cost_uusd.mean = NEVER, .samples = samples};
}

// True: no size of the offer finishes the stage's trials; *out_stretch_s is the least that one trains without a break.
// False: some size does, or the offer has none.
static bool ends_nowhere(const struct rb_search *search, int stage, int offer, double *out_stretch_s)
{
    const struct rb_sizes *sizes = &search->sizes[offer];
    *out_stretch_s = INFINITY;
    for (int i = 0; i < sizes->n; i++) {
        struct rb_stretch here;
        if (!rb_is_endless(search, stage, offer, sizes->gpus[i]))
            return false;
        if (rb_stretch_of(search, stage, offer, sizes->gpus[i], &here))
            *out_stretch_s = fmin(*out_stretch_s, here.s);
    }
    return sizes->n > 0 && search->scorer->barriers;
}

int rb_endless_stage(const struct rb_search *search, int offer)
{
    double x_s;
    for (int stage = 0; stage < search->scenario->stages.n; stage++) {
        if (ends_nowhere(search, stage, offer, &x_s))
            return stage;
    }
    return -1;
}

// If no offer finishes it, the offer on which it would finish soonest.
static int soonest_of_endless(const struct rb_search *search, int stage, double *out_stretch_s)
{
    int soonest = -1;
    *out_stretch_s = INFINITY;
    for (int offer = 0; offer < search->scenario->n_offers; offer++) {
        double x_s;
        if (search->sizes[offer].n == 0)
            continue;
        if (!ends_nowhere(search, stage, offer, &x_s))
            return -1;
        if (x_s < *out_stretch_s) {
            *out_stretch_s = x_s;
            soonest = offer;
        }
    }
    return soonest;
}

bool rb_endless_check(const struct rb_search *search, struct rb_err *err)
{
    for (int stage = 0; stage < search->scenario->stages.n; stage++) {
        double x_s;
        char text[32];
        const int offer = soonest_of_endless(search, stage, &x_s);
        if (offer < 0)
            continue;
        const struct rb_offer *o = &search->scenario->offers[offer];
        const struct rb_hazard hazard = rb_provisioning_hazard(search->scenario->sim_offers[offer].provisioning);
        return rb_err_set(
            err, RB_E_NO_END,
            "no plan comes to an end: a trial of stage %d takes %s without a break, even on %s (%s), and "
            "every machine is taken back too soon for that (there %g times an hour%s); allow machines that "
            "stay (resources.spot: allow), larger trials (trial.gpus), or more and shorter stages",
            stage, rb_format_duration(rb_us_from_seconds(x_s), text), o->instance_type, rb_market_name(o->market),
            hazard.per_hour, hazard.n_later > 0 ? " while it is new" : "");
    }
    return true;
}
