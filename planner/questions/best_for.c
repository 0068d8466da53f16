#include "planner/questions/best_for.h"

#include "planner/quality/gain.h"
#include "planner/request/time_share.h"
#include "planner/scores/sharing.h"

#include <math.h>

#define PROBE_RUNS   256  // of an asynchronous plan: each run of the engine is slow
#define PROBE_PART   0.05 // of a time limit, for one probe at most
#define CHOOSE_UNTIL 0.45 // of it; then with other limits, ...
#define STEPS_UNTIL  0.55
#define POINTS_UNTIL 0.65 // ... the frontier, and the plan that is reported
#define FEWER        32   // trials are cut, first by one 32nd, while the reported plan does not keep what its probe kept
#define MOST_CUTS    6    // each twice as large as the one before

struct asking {
    const struct rb_plan_request *req; // as asked
    const char *planner;
    const struct rb_quality_law *law;
    struct rb_arena *arena;
    struct rb_arena scratch; // of one probe
    int64_t budget_uusd, deadline_us;
    double until; // of the time limit
    int n_plans;
    bool cut;
};

// ---- one probe

static bool nothing_limits(const struct asking *a, const struct rb_estimate *e)
{
    return e->cost_uusd.mean == 0 && a->deadline_us < 0;
}

// A plan of an asynchronous job may keep its deadline by starting fewer trials than it was asked for.
static bool starts_all(const struct rb_plan *plan)
{
    return plan->admit_until_us == 0;
}

static bool fits(void *ctx, const struct rb_job *job, bool *out_fits, struct rb_estimate *out_estimate,
                 struct rb_err *err)
{
    struct asking *a = ctx;
    struct rb_plan_request req = *a->req;
    struct rb_time_share share;
    struct rb_job limited = *job;
    struct rb_plan plan;
    struct rb_plan_result result;
    struct rb_err why = {0};
    limited.budget_uusd = req.budget_uusd = a->budget_uusd;
    limited.deadline_us = req.deadline_us = a->deadline_us;
    req.job = &limited;
    req.alone = true;
    req.early = false;
    req.marginal = false;
    req.explain = NULL;
    req.notice = NULL;
    if (rb_job_is_asynchronous(job) && req.samples > PROBE_RUNS)
        req.samples = PROBE_RUNS;
    if (a->req->time_used)
        rb_time_share_begin(&share, a->req, fmin(a->req->time_used(a->req->out_of_time_ctx) + PROBE_PART, a->until),
                            &req);
    rb_arena_reset(&a->scratch);
    a->n_plans++;
    *out_fits = rb_make_plan(&req, a->planner, &a->scratch, &plan, &result, &why);
    if (!*out_fits && why.code != RB_ERR_INFEASIBLE) {
        *err = why;
        return false;
    }
    if (*out_fits && nothing_limits(a, &plan.estimate))
        return rb_err_set(err, RB_E_NO_PLAN, "nothing limits the search: its machines are free, and there is no "
                                             "deadline; give --deadline");
    if (*out_fits)
        *out_estimate = plan.estimate;
    *out_fits = *out_fits && starts_all(&plan);
    return true;
}

static bool is_over(void *ctx)
{
    struct asking *a = ctx;
    return a->req->time_used && a->req->time_used(a->req->out_of_time_ctx) >= a->until;
}

// ---- one question

static bool ask(struct asking *a, int64_t budget_uusd, int64_t deadline_us, const struct rb_search_choices *before,
                struct rb_search_choices *choices, struct rb_best_for_answer *out, struct rb_err *err)
{
    const struct rb_affordable afford = {fits, is_over, a};
    a->budget_uusd = budget_uusd;
    a->deadline_us = deadline_us;
    if (!rb_choose_search(a->req->job, a->law, &afford, before, a->arena, choices, err))
        return false;
    a->cut |= choices->cut;
    *out = (struct rb_best_for_answer){.budget_uusd = budget_uusd, .deadline_us = deadline_us};
    out->asked = choices->chosen >= 0 || !choices->cut;
    if (choices->chosen < 0)
        return true;
    const struct rb_choice_row *row = &choices->rows[choices->chosen];
    const struct rb_job job = rb_job_with_choice(a->req->job, &row->choice);
    out->feasible = true;
    out->choice = row->choice;
    out->trials = rb_job_trials(&job);
    out->best = row->best;
    out->estimate = row->estimate;
    return true;
}

// An answer under tighter limits holds here as well. Numbers of trials are found to 3 %, so it may be the better one.
static void no_worse_than(struct rb_best_for_answer *io, const struct rb_best_for_answer *tighter)
{
    const int64_t budget_uusd = io->budget_uusd, deadline_us = io->deadline_us;
    if (!tighter->feasible || (io->feasible && io->best.z.mean >= tighter->best.z.mean))
        return;
    *io = *tighter;
    io->budget_uusd = budget_uusd;
    io->deadline_us = deadline_us;
}

// ---- steps

// The largest of 1, 2, 5 times a power of ten dollars, at most a fifth of the budget; a cent at least.
static int64_t step_uusd(int64_t budget_uusd)
{
    static const int64_t leads[] = {5, 2, 1};
    for (int64_t power = 1000000 * RB_UUSD; power >= RB_UUSD / 100; power /= 10)
        for (int i = 0; i < 3; i++)
            if (leads[i] * power <= budget_uusd / 5)
                return leads[i] * power;
    return RB_UUSD / 100;
}

static int64_t step_us(int64_t deadline_us)
{
    static const int64_t steps_s[] = {86400, 43200, 21600, 7200, 3600, 1800, 600, 300, 60, 30, 10, 1};
    int i = 0;
    while (i < 11 && steps_s[i] * RB_US_PER_S > deadline_us / 3)
        i++;
    return steps_s[i] * RB_US_PER_S;
}

static bool ask_steps(struct asking *a, struct rb_best_for *out, struct rb_err *err)
{
    const struct rb_plan_request *req = a->req;
    const struct rb_best_for_answer *now = &out->chosen;
    struct rb_search_choices ignored;
    a->until = STEPS_UNTIL;
    if (is_over(a))
        return true;
    if (!ask(a, req->budget_uusd + step_uusd(req->budget_uusd), req->deadline_us, &out->choices, &ignored,
             &out->more_money, err))
        return false;
    if (ignored.cut && out->more_money.best.z.mean <= now->best.z.mean)
        out->more_money.asked = out->more_money.feasible = false; // what it would find was not reached
    else
        no_worse_than(&out->more_money, now);
    return req->deadline_us < 0 || is_over(a) ||
           ask(a, req->budget_uusd, req->deadline_us - step_us(req->deadline_us), &out->choices, &ignored,
               &out->less_time, err);
}

// ---- the frontier

static bool ask_frontier(struct asking *a, struct rb_best_for *out, struct rb_err *err)
{
    a->until = POINTS_UNTIL;
    for (int i = 0; i < RB_BEST_FOR_POINTS; i++) {
        struct rb_best_for_answer *point = &out->frontier[out->n_frontier];
        struct rb_search_choices ignored;
        const int64_t budget_uusd = llround((double)a->req->budget_uusd * exp2(0.5 * i - 3)); // an eighth to twice
        if (i == 6)
            *point = out->chosen;
        else if (is_over(a))
            continue;
        else if (!ask(a, budget_uusd, a->req->deadline_us, &out->choices, &ignored, point, err))
            return false;
        if (out->n_frontier > 0)
            no_worse_than(point, point - 1);
        out->n_frontier += point->feasible;
    }
    return true;
}

// ---- the plan that is reported

// Of the time that is left it takes half: another one may be needed.
static bool plan_with(struct asking *a, const struct rb_search_choice *choice, struct rb_best_for *out, bool *out_kept,
                      struct rb_err *err)
{
    struct rb_plan_request req = *a->req;
    struct rb_time_share share;
    struct rb_job *job = rb_arena_alloc(a->arena, sizeof *job);
    struct rb_err why = {0};
    *job = rb_job_with_choice(a->req->job, choice);
    req.job = job;
    if (a->req->time_used)
        rb_time_share_begin(&share, a->req, (1 + a->req->time_used(a->req->out_of_time_ctx)) / 2, &req);
    a->n_plans++;
    *out_kept = rb_make_plan(&req, a->planner, a->arena, &out->plan, &out->result, &why);
    out->job = job;
    if (*out_kept || why.code == RB_ERR_INFEASIBLE) {
        *out_kept = *out_kept && starts_all(&out->plan);
        return true;
    }
    *err = why;
    return false;
}

// Its estimate rests on runs that no search has seen and, of asynchronous jobs, on more than a probe's: it may keep
// less.
static bool plan_chosen(struct asking *a, struct rb_best_for *out, struct rb_err *err)
{
    struct rb_search_choice *choice = &out->chosen.choice;
    bool kept = false;
    for (int i = 0; i < MOST_CUTS; i++) {
        if (!plan_with(a, choice, out, &kept, err))
            return false;
        if (kept || choice->num_trials <= 1)
            break;
        const int cut = choice->num_trials * (1 << i) / FEWER;
        choice->num_trials -= cut < 1 ? 1 : cut < choice->num_trials ? cut : choice->num_trials - 1;
    }
    if (!kept)
        return rb_err_set(err, RB_E_NO_PLAN,
                          "no search keeps the constraints surely enough; give more --samples, or more money");
    out->chosen.estimate = out->plan.estimate;
    out->chosen.trials = rb_job_trials(out->job);
    return true;
}

// Choosing took fewer draws than a reported figure should rest on. kept: the share of its trials with which the chosen
// search kept what its probe kept; the others would lose as many.
static bool expect_well(const struct asking *a, double kept, struct rb_best_for_answer *io, struct rb_err *err)
{
    if (!io->feasible)
        return true;
    if (kept < 1)
        io->choice.num_trials = (int)fmax(1, kept * io->choice.num_trials);
    const struct rb_job job = rb_job_with_choice(a->req->job, &io->choice);
    io->trials = rb_job_trials(&job);
    return rb_job_expect(&job, a->law, RB_BEST_DRAWS, &io->best, err);
}

static bool expect_all(const struct asking *a, int probed_trials, struct rb_best_for *io, struct rb_err *err)
{
    const double kept = probed_trials > 0 ? (double)io->chosen.choice.num_trials / probed_trials : 1;
    if (!expect_well(a, 1, &io->chosen, err) || !expect_well(a, kept, &io->more_money, err) ||
        !expect_well(a, kept, &io->less_time, err))
        return false;
    for (int i = 0; i < io->n_frontier; i++) {
        const bool is_chosen = io->frontier[i].budget_uusd == io->chosen.budget_uusd;
        if (is_chosen)
            io->frontier[i] = io->chosen;
        else if (!expect_well(a, kept, &io->frontier[i], err))
            return false;
    }
    return true;
}

static bool not_affordable(const struct rb_plan_request *req, const struct asking *a, struct rb_err *err)
{
    char money[32], time[32] = "";
    if (a->cut)
        return rb_err_set(err, RB_E_NO_PLAN, "the time limit ended before an affordable search was found; give a "
                                             "longer --time-limit");
    if (req->deadline_us >= 0)
        rb_format_duration_exact(req->deadline_us, time);
    return rb_err_set(err, RB_E_NO_PLAN,
                      "--best-for %s%s%s: no search of this job is affordable, not even of one trial; rbplan without "
                      "--best-for says what one would need",
                      rb_format_money_exact(req->budget_uusd, money), time[0] ? " --deadline " : "", time);
}

static bool find(struct asking *a, bool frontier, struct rb_best_for *out, struct rb_err *err)
{
    const struct rb_plan_request *req = a->req;
    a->until = CHOOSE_UNTIL;
    if (!ask(a, req->budget_uusd, req->deadline_us, NULL, &out->choices, &out->chosen, err))
        return false;
    if (!out->chosen.feasible)
        return not_affordable(req, a, err);
    const int probed_trials = out->chosen.choice.num_trials;
    if (!ask_steps(a, out, err) || (frontier && !ask_frontier(a, out, err)) || !plan_chosen(a, out, err) ||
        !expect_all(a, probed_trials, out, err))
        return false;
    out->gain = rb_sampler_gain(req->job->scheduler.sampler.type, out->chosen.trials, &out->gain_source);
    out->has_target = req->job->has_target && a->law->scores;
    return !out->has_target || rb_target_expect(a->law, &out->plan, RB_BEST_DRAWS, &out->to_target, err);
}

bool rb_best_for_find(const struct rb_plan_request *req, const char *planner, const struct rb_quality_law *law,
                      bool frontier, struct rb_arena *arena, struct rb_best_for *out, struct rb_err *err)
{
    struct rb_plan_request shared = *req;
    struct rb_sharing sharing;
    struct asking a = {.req = &shared, .planner = planner, .law = law, .arena = arena};
    *out = (struct rb_best_for){.law = law, .asked = req->job};
    rb_sharing_begin(&sharing, &shared);
    shared.runs = NULL; // jobs differ; what is shared are the laws of trials
    const bool ok = find(&a, frontier, out, err);
    out->n_plans = a.n_plans;
    out->cut = a.cut;
    rb_sharing_end(&sharing);
    rb_arena_finish(&a.scratch);
    return ok;
}
