#include "planner/questions/spot_frontier.h"

#include "planner/request/assembly.h"
#include "planner/request/safe_plan.h"

#define EARLIEST 0.3 // of the time until the deadline: plans that end earlier are no candidates

static bool is_candidate(const struct rb_sweep_answers *answers, int i, int deadline)
{
    return rb_sweep_optimal(&answers[i])->feasible &&
           (double)answers[i].deadline_us >= EARLIEST * (double)answers[deadline].deadline_us;
}

// Neighbours often have the same plan.
static bool is_plan_of_next(const struct rb_sweep_answers *answers, int i, int deadline)
{
    return i < deadline && rb_sweep_optimal(&answers[i + 1])->feasible &&
           rb_candidate_same_choices(&rb_sweep_optimal(&answers[i])->best, &rb_sweep_optimal(&answers[i + 1])->best);
}

// The best of the candidates at a deadline. out_best->spot NULL: nobody knows.
static bool find_best(struct rb_search *search, const struct rb_sweep_answers *answers, int deadline,
                      struct rb_arena *arena, struct rb_plan *out_best, struct rb_err *err)
{
    *out_best = (struct rb_plan){.spot = NULL};
    for (int i = deadline; i >= 0 && is_candidate(answers, i, deadline); i--) {
        struct rb_plan_result result = *rb_sweep_optimal(&answers[i]);
        struct rb_plan plan;
        if (is_plan_of_next(answers, i, deadline))
            continue;
        if (!rb_plan_assemble(search, &rb_planner_optimal, &result, arena, &plan, err))
            return false;
        if (plan.spot && (!out_best->spot || rb_safe_plan_is_better(&plan, out_best)))
            *out_best = plan;
    }
    return true;
}

static bool find_point(struct rb_search *search, const struct rb_sweep_answers *answers, int deadline,
                       struct rb_arena *arena, struct rb_pareto *io, struct rb_pareto_point *points, struct rb_err *err)
{
    struct rb_plan best;
    if (!find_best(search, answers, deadline, arena, &best, err))
        return false;
    if (!best.spot)
        return true;
    io->knows_spot = true;
    rb_safe_plan_price(&best, RB_PLAN_REPLAYS, arena);
    if (rb_safe_plan_keeps(&best))
        points[io->n_with_spot++] = (struct rb_pareto_point){
            .deadline_us = answers[deadline].deadline_us,
            .planner = rb_planner_optimal.name,
            .estimate = best.estimate,
        };
    return true;
}

bool rb_spot_frontier_find(struct rb_sweep *sweep, const struct rb_sweep_answers *answers, int n, struct rb_arena *arena,
                           struct rb_pareto *io, struct rb_err *err)
{
    struct rb_search *search = &sweep->search;
    struct rb_plan_request req = *sweep->req;
    bool ok = true;
    if (req.job->resources.spot != RB_SPOT_SAFE || rb_job_is_asynchronous(req.job))
        return true;
    struct rb_pareto_point *points = rb_arena_array(arena, (size_t)n, sizeof *points);
    io->with_spot = points;
    req.alone = true;
    req.objective = RB_OBJECTIVE_MIN_COST;
    for (int i = 0; i < n && ok; i++) {
        req.deadline_us = answers[i].deadline_us;
        rb_search_ask_again(search, &req);
        io->spot_cut = rb_search_out_of_time(search);
        if (io->spot_cut)
            break;
        ok = find_point(search, answers, i, arena, io, points, err);
    }
    rb_search_ask_again(search, sweep->req);
    return ok;
}
