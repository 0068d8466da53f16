#include "planner/questions/spot_frontier.h"

#include "planner/request/assembly.h"
#include "planner/request/safe_plan.h"

#define EARLIEST 0.3 // of the time until the deadline: plans that end earlier are no candidates

// --- with spot machines, beside plans on demand

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

// The best of the candidates at a deadline. out_best->spot NULL: no one knows.
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
    io->spot = RB_PARETO_WITH_SPOT;
    rb_safe_plan_price(&best, RB_PLAN_REPLAYS, arena);
    if (rb_safe_plan_keeps(&best))
        points[io->n_beside++] = (struct rb_pareto_point){
            .deadline_us = answers[deadline].deadline_us,
            .planner = rb_planner_optimal.name,
            .estimate = best.estimate,
        };
    return true;
}

static bool find_with(struct rb_sweep *sweep, const struct rb_sweep_answers *answers, int n, struct rb_arena *arena,
                      struct rb_pareto *io, struct rb_err *err)
{
    struct rb_search *search = &sweep->search;
    struct rb_plan_request req = *sweep->req;
    bool ok = true;
    struct rb_pareto_point *points = rb_arena_array(arena, (size_t)n, sizeof *points);
    io->beside = points;
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

// --- without spot machines, beside plans that may have them

// A search of the same scenario, whose runs and laws are those of the first.
static bool begin_without(const struct rb_sweep *sweep, struct rb_plan_request *req, struct rb_sweep *out,
                          struct rb_err *err)
{
    *req = *sweep->req;
    req->runs = sweep->search.runs;
    req->laws = sweep->search.laws;
    *out = (struct rb_sweep){.req = req, .n_asked = sweep->n_asked};
    if (!rb_search_init(&out->search, req, sweep->search.scenario, err))
        return false;
    out->search.place = RB_SEARCH_FRONTIER_END;
    out->search.asked_again = true;
    return true;
}

// Each between two that are answered, as the first line was.
static bool ask_between(struct rb_sweep *sweep, struct rb_sweep_answers *answers, int tighter, int looser,
                        struct rb_err *err)
{
    const int middle = (tighter + looser) / 2;
    if (looser - tighter < 2 || rb_search_out_of_time(&sweep->search))
        return true;
    return rb_sweep_ask_all(sweep, &answers[tighter], &answers[looser], &answers[middle], err) &&
           ask_between(sweep, answers, tighter, middle, err) && ask_between(sweep, answers, middle, looser, err);
}

static bool ask_everywhere(struct rb_sweep *sweep, struct rb_sweep_answers *answers, int n, struct rb_err *err)
{
    return rb_sweep_ask_cheapest(sweep, err) && rb_sweep_ask_all(sweep, NULL, NULL, &answers[n - 1], err) &&
           (n == 1 || rb_sweep_ask_all(sweep, NULL, &answers[n - 1], &answers[0], err)) &&
           ask_between(sweep, answers, 0, n - 1, err) && rb_sweep_level(sweep, answers, n, err);
}

// A plan without spot machines is one of those that may have them: where a search without a proof has missed it, it is
// taken there as well.
static bool take_cheaper(struct rb_sweep *sweep, const struct rb_sweep_answers *without, int n,
                         struct rb_sweep_answers *io_answers, struct rb_err *err)
{
    const int optimal = rb_search_index_of(&rb_planner_optimal);
    bool any = false;
    for (int i = 0; i < n; i++) {
        const struct rb_plan_result *found = &without[i].of[optimal];
        struct rb_plan_result *here = &io_answers[i].of[optimal];
        const bool is_proved = here->bound.present && here->bound.proved;
        if (!found->feasible || is_proved ||
            (here->feasible && rb_candidate_compare(&found->best, &here->best, RB_OBJECTIVE_MIN_COST) >= 0))
            continue;
        here->feasible = any = true;
        here->best = found->best;
    }
    return !any || rb_sweep_level(sweep, io_answers, n, err);
}

static void list_without(const struct rb_sweep_answers *without, int n, struct rb_arena *arena, struct rb_pareto *io)
{
    struct rb_pareto_point *points = rb_arena_array(arena, (size_t)n, sizeof *points);
    io->beside = points;
    for (int i = 0; i < n; i++) {
        const struct rb_plan_result *r = rb_sweep_optimal(&without[i]);
        if (r->feasible)
            points[io->n_beside++] = (struct rb_pareto_point){.deadline_us = without[i].deadline_us,
                                                              .planner = rb_planner_optimal.name,
                                                              .estimate = r->best.estimate,
                                                              .proved = r->bound.present && r->bound.proved};
    }
}

static bool find_without(struct rb_sweep *sweep, struct rb_sweep_answers *io_answers, int n, struct rb_arena *arena,
                         struct rb_pareto *io, struct rb_err *err)
{
    struct rb_plan_request req;
    struct rb_sweep without;
    struct rb_sweep_answers *answers = rb_arena_array(arena, (size_t)n, sizeof *answers);
    for (int i = 0; i < n; i++)
        answers[i] = (struct rb_sweep_answers){.deadline_us = io_answers[i].deadline_us,
                                               .is_landmark = io_answers[i].is_landmark};
    if (!begin_without(sweep, &req, &without, err))
        return false;
    bool ok = true;
    if (rb_search_leave_out_spot(&without.search)) {
        io->spot = RB_PARETO_WITHOUT_SPOT;
        ok = ask_everywhere(&without, answers, n, err);
        io->spot_cut = rb_search_out_of_time(&without.search);
        if (ok)
            list_without(answers, n, arena, io);
    }
    rb_search_finish(&without.search);
    return ok && take_cheaper(sweep, answers, n, io_answers, err);
}

bool rb_spot_frontier_find(struct rb_sweep *sweep, struct rb_sweep_answers *io_answers, int n, struct rb_arena *arena,
                           struct rb_pareto *io, struct rb_err *err)
{
    switch (sweep->req->job->resources.spot) {
    case RB_SPOT_SAFE:
        return rb_job_is_asynchronous(sweep->req->job) || find_with(sweep, io_answers, n, arena, io, err);
    case RB_SPOT_ALLOW:
        return find_without(sweep, io_answers, n, arena, io, err);
    default:
        return true;
    }
}
