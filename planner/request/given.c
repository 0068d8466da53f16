#include "planner/request/given.h"

#include "planner/async/endless.h"
#include "planner/request/question.h"
#include "planner/scores/estimator.h"

#include <string.h>

static bool find_offer(const struct rb_scenario *s, const struct rb_given_stage *g, int stage, int *out,
                       struct rb_err *err)
{
    for (int i = 0; i < s->n_offers; i++) {
        const struct rb_offer *o = &s->offers[i];
        if (o->market == g->market && strcmp(o->infra, g->infra) == 0 &&
            strcmp(o->instance_type, g->instance_type) == 0) {
            *out = i;
            return s->sim_offers[i].usable ||
                   rb_err_set(err, RB_E_NO_OFFER, "stage %d: %s %s (%s) cannot be planned on: %s", stage, g->infra,
                              g->instance_type, rb_market_name(g->market), s->sim_offers[i].why_not);
        }
    }
    return rb_err_set(err, RB_E_NO_SUCH_MACHINE,
                      "stage %d: %s %s (%s) is none of the %d offers that have a price and that the job's `resources` "
                      "allow",
                      stage, g->infra, g->instance_type, rb_market_name(g->market), s->n_offers);
}

static bool check_size(const struct rb_search *search, const struct rb_choice *c, int stage, struct rb_err *err)
{
    const struct rb_sizes *sizes = &search->sizes[c->offer];
    const int most = rb_planner_max_nodes(search->req->job, &search->scenario->offers[c->offer]);
    const int fewest = rb_nodes_per_trial(rb_search_gpus_per_node(search, c->offer), c->gpus);
    bool known = false;
    for (int i = 0; i < sizes->n; i++)
        known = known || sizes->gpus[i] == c->gpus;
    if (!known)
        return rb_err_set(err, RB_E_NO_SIZE,
                          "stage %d: %d GPUs per trial is not a size that trial.gpus, trial.max_nodes and the profile "
                          "allow on %s",
                          stage, c->gpus, search->scenario->offers[c->offer].instance_type);
    if (c->nodes < fewest || c->nodes > most)
        return rb_err_set(
            err, RB_E_OUT_OF_RANGE,
            "stage %d: expected %d..%d nodes (what one trial needs, what resources.max_nodes allows), got "
            "%d",
            stage, fewest, most, c->nodes);
    return rb_is_endless(search, stage, c->offer, c->gpus)
               ? rb_err_set(err, RB_E_NO_END, "stage %d: the market of %s takes nodes back before a trial ends", stage,
                            search->scenario->offers[c->offer].instance_type)
               : true;
}

static bool make_candidate(const struct rb_search *search, const struct rb_given_stage *given, int n,
                           struct rb_candidate *out, struct rb_err *err)
{
    const int expected = search->scenario->stages.n;
    struct rb_candidate c = {.n_stages = n};
    if (n != expected)
        return rb_err_set(err, RB_E_LIST_LENGTH, "expected %d stages, one for each rung of the job, got %d", expected,
                          n);
    for (int i = 0; i < n; i++) {
        c.stages[i] = (struct rb_choice){.gpus = given[i].gpus_per_trial, .nodes = given[i].nodes};
        if (!find_offer(search->scenario, &given[i], i, &c.stages[i].offer, err) ||
            !check_size(search, &c.stages[i], i, err))
            return false;
    }
    *out = c;
    return true;
}

static bool estimate(struct rb_search *search, const struct rb_given_stage *given, int n, struct rb_arena *arena,
                     struct rb_estimate *out, struct rb_plan_stage *out_stages, struct rb_err *err)
{
    struct rb_candidate candidate;
    struct rb_plan_nodes *nodes = rb_arena_array(arena, (size_t)n + 1, sizeof *nodes);
    if (!make_candidate(search, given, n, &candidate, err))
        return false;
    if (out_stages)
        rb_candidate_stages(search->scenario, &candidate, out_stages, nodes);
    if (!rb_estimate_candidate(search, &candidate, out_stages, err))
        return false;
    *out = candidate.estimate;
    return true;
}

bool rb_estimate_given(const struct rb_plan_request *req, const struct rb_given_stage *given, int n_stages,
                       struct rb_arena *arena, struct rb_estimate *out, struct rb_plan_stage *out_stages,
                       struct rb_err *err)
{
    struct rb_question q;
    struct rb_search search;
    if (!rb_question_init(&q, req, arena, err))
        return false;
    bool ok = rb_search_init(&search, &q.req, &q.scenario, err);
    if (ok) {
        ok = estimate(&search, given, n_stages, arena, out, out_stages, err);
        rb_search_finish(&search);
    }
    rb_question_finish(&q);
    return ok;
}
