#include "brute_force.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_CHOICES 64
#define MORE_NODES   3 // than case_random's: 5 or 6, so that beginnings of plans compete
#define SLOW_BOOTS   3 // times

// --- plans

struct rb_candidate brute_candidate(const struct brute *b, int plan)
{
    struct rb_candidate c = {.n_stages = b->n_stages};
    for (int stage = 0; stage < b->n_stages; stage++)
        c.stages[stage] = b->stages[stage].items[b->plans[plan].choice[stage]];
    return c;
}

// More nodes than the trials of a stage that is not the last can use.
static bool is_holding(const struct rb_scenario *s, int stage, const struct rb_choice *c)
{
    return stage + 1 < s->stages.n &&
           c->nodes > rb_nodes_to_hold(s->offers[c->offer].gpus, s->stages.rungs[stage].trials, c->gpus);
}

bool brute_holds_nodes(const struct rb_scenario *s, const struct rb_candidate *c)
{
    for (int i = 0; i + 1 < c->n_stages; i++) {
        if (is_holding(s, i, &c->stages[i]) && c->stages[i + 1].offer == c->stages[i].offer)
            return true;
    }
    return false;
}

bool brute_has_holding(const struct brute_job *job)
{
    for (int stage = 0; stage < job->brute.n_stages; stage++) {
        for (int i = 0; i < job->brute.stages[stage].n; i++) {
            if (is_holding(&job->scenario, stage, &job->brute.stages[stage].items[i]))
                return true;
        }
    }
    return false;
}

// --- the space

static int list_choices(const struct rb_search *search, int stage, struct rb_choice *out)
{
    int n = 0;
    for (int offer = 0; offer < search->scenario->n_offers; offer++) {
        const struct rb_sizes *sizes = &search->sizes[offer];
        for (int nodes = 1; nodes <= rb_search_useful_nodes(search, stage, offer); nodes++) {
            for (int i = 0; i < sizes->n; i++) {
                if (rb_nodes_per_trial(rb_search_gpus_per_node(search, offer), sizes->gpus[i]) > nodes)
                    continue;
                assert_true(n < MOST_CHOICES);
                out[n++] = (struct rb_choice){offer, sizes->gpus[i], nodes};
            }
        }
    }
    return n;
}

// Of a choice after another of the stage before, or with new nodes only.
static const struct rb_stage_time *time_of(struct rb_search *search, int stage, const struct rb_choice *c, int kept)
{
    struct rb_err err = {0};
    const struct rb_stage_work work = {stage, c->offer, c->gpus, c->nodes, kept};
    const struct rb_stage_time *time =
        rb_stage_times_get(search->times, search->scenario, &work, RB_SCORE_ACCURACY, &err);
    if (!time)
        fail_msg("%s", err.message);
    return time;
}

static void add_plans(struct brute *b, struct rb_search *search, int stage, const struct rb_choice *before,
                      const struct brute_plan *sums)
{
    if (stage == b->n_stages) {
        b->plans[b->n_plans++] = *sums;
        return;
    }
    for (int i = 0; i < b->stages[stage].n; i++) {
        const struct rb_choice *c = &b->stages[stage].items[i];
        const bool same = before && before->offer == c->offer;
        const int kept = !same ? 0 : before->nodes < c->nodes ? before->nodes : c->nodes;
        const struct rb_stage_time *time = time_of(search, stage, c, kept);
        struct brute_plan next = *sums;
        next.cost_uusd += rb_stage_cost_mean_uusd(search->scenario, c, kept, time);
        next.time_s += time->law.mean_s;
        next.variance_s2 += time->law.variance_s2;
        next.choice[stage] = i;
        add_plans(b, search, stage + 1, c, &next);
    }
}

static int compare_plans(const void *pa, const void *pb)
{
    const struct brute_plan *a = pa, *b = pb;
    if (a->cost_uusd < b->cost_uusd || a->cost_uusd > b->cost_uusd)
        return a->cost_uusd < b->cost_uusd ? -1 : 1;
    return (a->time_s > b->time_s) - (a->time_s < b->time_s);
}

static void brute_finish(struct brute *b)
{
    for (int stage = 0; stage < b->n_stages; stage++)
        free(b->stages[stage].items);
    free(b->plans);
}

// Returns how many plans there are.
static double list_stages(struct brute *b, const struct rb_search *search)
{
    double n = 1;
    b->n_stages = search->scenario->stages.n;
    for (int stage = 0; stage < b->n_stages; stage++) {
        b->stages[stage].items = calloc(MOST_CHOICES, sizeof(struct rb_choice));
        b->stages[stage].n = list_choices(search, stage, b->stages[stage].items);
        n *= b->stages[stage].n;
    }
    return n;
}

static void list_plans(struct brute *b, struct rb_search *search, int n_plans)
{
    const struct brute_plan none = {0};
    b->plans = calloc((size_t)n_plans, sizeof *b->plans);
    add_plans(b, search, 0, NULL, &none);
    qsort(b->plans, (size_t)b->n_plans, sizeof *b->plans, compare_plans);
    for (int i = 0; i < b->n_plans; i++)
        b->soonest = b->plans[i].time_s < b->plans[b->soonest].time_s ? i : b->soonest;
}

// --- jobs

static void boot_slowly(struct rb_case *c)
{
    const size_t n = (size_t)c->profile.n_provisioning;
    struct rb_provisioning *list = rb_arena_array(&c->arena, n, sizeof *list);
    struct rb_err err = {0};
    memcpy(list, c->profile.provisioning, n * sizeof *list);
    for (size_t i = 0; i < n; i++) {
        list[i].init_s.mean *= SLOW_BOOTS;
        if (!rb_dist_prepare(&list[i].init_s, &err))
            fail_msg("%s", err.message);
    }
    c->profile.provisioning = list;
}

static void open_scenario(struct brute_job *job)
{
    struct rb_offer *offers;
    struct rb_err err = {0};
    int n_offers;
    if (!rb_planner_offers(&job->c.job, &job->c.catalog, &job->c.arena, &offers, &n_offers, &err) ||
        !rb_scenario_init(&job->scenario, &job->c.job, &job->c.profile, offers, n_offers, &job->c.catalog,
                          job->c.req.seed, &err))
        fail_msg("%s", err.message);
}

static bool is_wanted(const struct brute_job *job, double n_plans, const struct brute_filter *filter)
{
    return n_plans >= filter->min_plans && n_plans <= filter->max_plans &&
           (!filter->several_types || job->scenario.n_offers > 1) && (!filter->holding || brute_has_holding(job));
}

bool brute_job_init(struct brute_job *job, uint32_t number, const struct brute_filter *filter)
{
    struct rb_search search;
    struct rb_err err = {0};
    bool ok = false;
    *job = (struct brute_job){.times = rb_trial_laws_create()};
    case_random(&job->c, number);
    job->c.job.resources.max_nodes += MORE_NODES;
    if (number % 2 == 1)
        boot_slowly(&job->c);
    job->c.req.times = job->times;
    job->c.req.deadline_us = -1;
    open_scenario(job);
    if (rb_search_init(&search, &job->c.req, &job->scenario, &err)) {
        assert_true(search.by_laws);
        const double n_plans = list_stages(&job->brute, &search);
        ok = is_wanted(job, n_plans, filter);
        if (ok)
            list_plans(&job->brute, &search, (int)n_plans);
        rb_search_finish(&search);
    } else {
        assert_string_equal(err.key, "trial.gpus"); // no size fits any node
    }
    if (!ok)
        brute_job_finish(job);
    return ok;
}

void brute_job_finish(struct brute_job *job)
{
    brute_finish(&job->brute);
    rb_scenario_finish(&job->scenario);
    case_finish(&job->c);
    rb_trial_laws_destroy(job->times);
}

// --- optima

// Cantelli's inequality: P(T <= D) is at most variance / (variance + (mean - D)^2) where the mean is above D. Saves most
// of the work, and excludes only what cannot be feasible: half the confidence is far from it.
static bool is_surely_late(const struct brute_plan *plan, const struct rb_plan_request *req)
{
    const double late_s = plan->time_s - (double)req->deadline_us / 1e6;
    return late_s > 0 && plan->variance_s2 / (plan->variance_s2 + late_s * late_s) < req->confidence / 2;
}

int brute_best_by_chance(const struct brute *b, struct rb_search *search)
{
    struct rb_err err = {0};
    for (int i = 0; i < b->n_plans; i++) {
        struct rb_candidate c = brute_candidate(b, i);
        if (is_surely_late(&b->plans[i], search->req))
            continue;
        if (!rb_search_score(search, &c, search->req->samples, &err))
            fail_msg("%s", err.message);
        if (rb_search_feasible(search, &c.estimate))
            return i;
    }
    return -1;
}

int brute_best_on_average(const struct brute *b, double deadline_s)
{
    for (int i = 0; i < b->n_plans; i++) {
        if (b->plans[i].time_s <= deadline_s)
            return i;
    }
    return -1;
}
