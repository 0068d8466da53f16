// Cost against deadline: every planner asked at deadlines between the tightest that any plan keeps and the one beyond
// which more time buys nothing.
#include "planner/nearest.h"
#include "planner/search.h"

#include <math.h>

#define POINTS 10

static bool ask(const struct rb_plan_request *req, const struct rb_scenario *scenario, const struct rb_planner *planner,
                int64_t deadline_us, struct rb_plan_result *out, struct rb_err *err)
{
    struct rb_plan_request at = *req;
    struct rb_search search;
    const struct rb_plan_result *result;
    at.deadline_us = deadline_us;
    if (!rb_search_init(&search, &at, scenario, err))
        return false;
    bool ok = rb_search_plan(&search, planner, &result, err);
    if (ok)
        *out = *result;
    rb_search_finish(&search);
    return ok;
}

// The deadline that the cheapest plan of all keeps, and the nearest one to no time at all.
static bool find_range(const struct rb_plan_request *req, const struct rb_scenario *scenario, int64_t *out_tight_us,
                       int64_t *out_loose_us, struct rb_err *err)
{
    struct rb_plan_result cheapest, fastest;
    if (!ask(req, scenario, &rb_planner_optimal, -1, &cheapest, err) ||
        !ask(req, scenario, &rb_planner_optimal, 0, &fastest, err))
        return false;
    if (!cheapest.feasible || fastest.nearest_deadline_us < 0)
        return rb_err_set(err, RB_ERR_INFEASIBLE,
                          "no plan keeps the budget with probability %.3f, however long it may take", req->confidence);
    *out_tight_us = fastest.nearest_deadline_us;
    *out_loose_us = cheapest.best.estimate.time_us.p99;
    return true;
}

static void write_point(struct rb_json *j, int64_t deadline_us, const char *planner, const struct rb_estimate *e)
{
    rb_json_begin_object(j);
    rb_json_kint(j, "deadline_us", deadline_us);
    rb_json_kstring(j, "planner", planner);
    rb_json_key(j, "estimate");
    rb_estimate_write(e, j);
    rb_json_end_object(j);
}

static bool write_points(const struct rb_plan_request *req, const struct rb_scenario *scenario, struct rb_json *j,
                         struct rb_err *err)
{
    int64_t tight_us = 0, loose_us = 0;
    if (!find_range(req, scenario, &tight_us, &loose_us, err))
        return false;
    double ratio = loose_us > tight_us ? (double)loose_us / (double)tight_us : 1;
    for (int i = 0; i < POINTS; i++) {
        double seconds = (double)tight_us / 1e6 * pow(ratio, (double)i / (POINTS - 1));
        int64_t deadline_us = rb_us_from_seconds(ceil(seconds));
        for (int p = 0; rb_planners[p]; p++) {
            struct rb_plan_result result;
            if (!ask(req, scenario, rb_planners[p], deadline_us, &result, err))
                return false;
            if (result.feasible)
                write_point(j, deadline_us, rb_planners[p]->name, &result.best.estimate);
        }
    }
    return true;
}

bool rb_pareto_write(const struct rb_plan_request *req, struct rb_json *j, struct rb_err *err)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena;
    struct rb_scenario scenario;
    struct rb_offer *offers;
    int n_offers;
    rb_arena_init(&arena);
    if (!rb_planner_offers(req->job, req->catalog, &arena, &offers, &n_offers, err) ||
        !rb_scenario_init(&scenario, req->job, req->profile, offers, n_offers, req->catalog, req->seed, err))
        return false;
    rb_scenario_keep_noise(&scenario, req->samples);
    rb_json_begin_object(j);
    rb_json_kstring(j, "format", "rb-pareto/1");
    rb_json_kdouble(j, "confidence", req->confidence);
    rb_json_key(j, "points");
    rb_json_begin_array(j);
    bool ok = write_points(req, &scenario, j, err);
    rb_json_end_array(j);
    rb_json_end_object(j);
    rb_scenario_finish(&scenario);
    return ok;
}
