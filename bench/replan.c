// What re-planning is worth: runs of the virtual world whose speed the profile has wrong, carried out as planned and with
// `on_drift: replan`, on the same draws.
//
//     replan [RUNS [JOBS [TIMES]]]    TIMES: only this true time over the profile's; REPLAN_SHOW=1: every check, on stderr
//
// Random jobs (bench/random_job.h), planned with confidence 0.95 for twice the time of the fastest plan. Deciding at
// barriers and at reports, as rbrun does. One line a case: the share of runs that were on time and the mean cost, as
// planned and re-planned, of an oracle's plan (which knows the speed), and the share of runs in which nodes were changed.
#include "random_job.h"

#include "executor/run/replanning.h"
#include "executor/run/standing.h"
#include "simulator/world/world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_BETWEEN_US = 30000000, CHECKS_A_DEADLINE = 50, DEADLINE = 2 };

static void must(bool ok, const struct rb_err *err)
{
    if (ok)
        return;
    fprintf(stderr, "replan: %s\n", err->message);
    exit(1);
}

struct lived {
    struct rb_event *events;
    int n;
    struct rb_world_result result;
};

static void keep(void *ctx, const struct rb_engine *e, const struct rb_event *event, const struct rb_actions *actions)
{
    struct lived *l = ctx;
    (void)e;
    (void)actions;
    l->events = rb_grow(l->events, l->n, sizeof *l->events);
    l->events[l->n++] = *event;
}

// The world as it is, from the events on that it has.
static void live(const struct rb_scenario *truth, const struct rb_plan *plan, uint32_t replicate, struct lived *l)
{
    struct rb_err err;
    const int n = l->n;
    RB_AUTO(rb_auto_free) struct rb_event *history = rb_xcalloc((size_t)n + 1, sizeof *history);
    if (n > 0)
        memcpy(history, l->events, (size_t)n * sizeof *history);
    const struct rb_world_options opt = {
        .replicate = replicate,
        .observe = keep,
        .observe_ctx = l,
        .deadline_us = -1,
        .budget_uusd = -1,
        .history = history,
        .n_history = n,
        .now_us = n > 0 ? history[n - 1].time_us : 0,
    };
    must(rb_world_run(truth, plan, &opt, &l->result, &err), &err);
}

static struct rb_progress stand(struct rb_standing *standing, const struct rb_plan *plan, int64_t now_us)
{
    struct rb_progress now;
    rb_progress_of_engine(rb_prediction_engine(standing->prediction), plan, &now);
    now.elapsed_us = now_us;
    now.deadline_us = plan->deadline_us;
    rb_standing_settle(standing, &now);
    rb_standing_report(standing, &now);
    return now;
}

// True: the plan was changed; *out is the advice.
static bool decide(struct rb_replanning *r, struct rb_standing *standing, const struct rb_plan *plan, int64_t now_us,
                   struct rb_event *out)
{
    RB_AUTO(rb_buf_finish) struct rb_buf words = RB_BUF_INIT;
    const struct rb_progress now = stand(standing, plan, now_us);
    enum rb_replan_verdict verdict = RB_REPLAN_NOTHING;
    rb_replanning_check(r, standing->prediction, &now);
    while (rb_replanning_is_busy(r))
        verdict = rb_replanning_work(r, standing->prediction, &now, out, &words);
    if (getenv("REPLAN_SHOW"))
        fprintf(stderr, "%.0f of %.0f s, stage %d %d/%d: P %.2f pace %.2f: %s\n", (double)now_us / 1e6, (double)plan->deadline_us / 1e6,
                now.stage, now.trials_ended, now.trials, now.p_on_time, now.pace, rb_buf_str(&words));
    out->time_us = now_us;
    out->because = NULL;
    return verdict == RB_REPLAN_TAKE;
}

static struct rb_world_result carry_out(const struct rb_scenario *truth, const struct rb_plan *plan, uint32_t replicate,
                                        struct rb_arena *arena, bool replans, int *out_changes)
{
    struct lived l = {0};
    struct rb_standing standing = {.prediction = rb_prediction_create(plan)};
    struct rb_replanning r;
    rb_replanning_init(&r, plan);
    *out_changes = 0;
    live(truth, plan, replicate, &l);
    int64_t next_us = 0;
    const int64_t share_us = plan->deadline_us / CHECKS_A_DEADLINE;
    for (int i = 0, stage = -1; i < l.n && replans; i++) {
        struct rb_event advice;
        rb_prediction_event(standing.prediction, &l.events[i]);
        const int now_stage = rb_engine_stage(rb_prediction_engine(standing.prediction));
        const bool is_over = rb_job_is_final(rb_engine_outcome(rb_prediction_engine(standing.prediction), NULL));
        if (is_over || now_stage < 0 || (now_stage == stage && l.events[i].time_us < next_us))
            continue;
        stage = now_stage;
        next_us = l.events[i].time_us + (share_us > LEAST_BETWEEN_US ? share_us : LEAST_BETWEEN_US);
        if (!decide(&r, &standing, plan, l.events[i].time_us, &advice))
            continue;
        struct rb_stage_change *changes = rb_arena_array(arena, (size_t)advice.n_changes, sizeof *changes);
        memcpy(changes, advice.changes, (size_t)advice.n_changes * sizeof *changes);
        advice.changes = changes;
        l.n = i + 1;
        l.events = rb_grow(l.events, l.n, sizeof *l.events);
        l.events[l.n++] = advice;
        live(truth, plan, replicate, &l);
        (*out_changes)++;
    }
    rb_replanning_finish(&r);
    rb_prediction_destroy(standing.prediction);
    free(l.events);
    return l.result;
}

struct tally {
    double on_time, cost_uusd;
    int n;
};

static void count(struct tally *t, const struct rb_world_result *r, int64_t deadline_us)
{
    t->on_time += r->time_us <= deadline_us;
    t->cost_uusd += (double)r->cost_uusd;
    t->n++;
}

// The profile with all unit times multiplied.
static struct rb_profile slower(const struct rb_profile *from, double times, double relative_error, struct rb_arena *arena)
{
    struct rb_profile p = *from;
    struct rb_err err;
    struct rb_training *training = rb_arena_array(arena, (size_t)p.n_training, sizeof *training);
    memcpy(training, p.training, (size_t)p.n_training * sizeof *training);
    for (int i = 0; i < p.n_training; i++) {
        training[i].base_s *= times;
        training[i].relative_error = relative_error;
    }
    p.training = training;
    p.between = (struct rb_dist){.kind = RB_DIST_LOGNORMAL, .mean = 1, .cv = 0.1};
    must(rb_dist_prepare(&p.between, &err), &err);
    return p;
}

static bool make_plan(struct random_job *j, const struct rb_profile *profile, int64_t deadline_us,
                      enum rb_objective objective, struct rb_plan *out)
{
    struct rb_plan_request req = j->req;
    struct rb_plan_result result;
    struct rb_err err;
    req.profile = profile;
    req.deadline_us = deadline_us;
    req.objective = objective;
    req.alone = true;
    return rb_make_plan(&req, "optimal", &j->arena, out, &result, &err);
}

struct shown {
    struct tally open, replanned, oracle;
    int n_changed, n_jobs;
};

static void try_job(uint32_t number, double times, double rho, int n_runs, struct shown *out)
{
    struct random_job j;
    struct rb_plan fastest, plan, best;
    struct rb_err err;
    random_job_init(&j, 5, number, 1, 1);
    j.job.on_drift = RB_DRIFT_REPLAN;
    const struct rb_profile believed = slower(&j.profile, 1, rho, &j.arena);
    const struct rb_profile true_one = slower(&j.profile, times, 0, &j.arena);
    if (!make_plan(&j, &believed, -1, RB_OBJECTIVE_MIN_TIME, &fastest) ||
        !make_plan(&j, &believed, fastest.estimate.time_us.p95 * DEADLINE, RB_OBJECTIVE_MIN_COST, &plan) ||
        !make_plan(&j, &true_one, plan.deadline_us, RB_OBJECTIVE_MIN_COST, &best)) {
        random_job_finish(&j); // even an oracle would be late
        return;
    }
    struct rb_scenario truth, oracles;
    must(rb_scenario_init(&truth, &j.job, &true_one, plan.offers, plan.n_offers, plan.catalog, 99, &err), &err);
    must(rb_scenario_init(&oracles, &j.job, &true_one, best.offers, best.n_offers, best.catalog, 99, &err), &err);
    for (int i = 0; i < n_runs; i++) {
        int n_changes;
        const struct rb_world_result open = carry_out(&truth, &plan, (uint32_t)i, &j.arena, false, &n_changes);
        const struct rb_world_result oracle = carry_out(&oracles, &best, (uint32_t)i, &j.arena, false, &n_changes);
        const struct rb_world_result changed = carry_out(&truth, &plan, (uint32_t)i, &j.arena, true, &n_changes);
        count(&out->open, &open, plan.deadline_us);
        count(&out->oracle, &oracle, plan.deadline_us);
        count(&out->replanned, &changed, plan.deadline_us);
        out->n_changed += n_changes > 0;
    }
    out->n_jobs++;
    rb_scenario_finish(&truth);
    rb_scenario_finish(&oracles);
    random_job_finish(&j);
}

static void try_case(double times, double rho, int n_runs, int n_jobs)
{
    struct shown s = {0};
    for (int number = 0; number < n_jobs; number++)
        try_job((uint32_t)number, times, rho, n_runs, &s);
    const int n = s.open.n;
    printf("| %g | %.2f | %d | %.3f | %.3f | %.3f | %.3f | %.3f | %.2f |\n", times, rho, s.n_jobs, s.open.on_time / n,
           s.replanned.on_time / n, s.oracle.on_time / n, s.replanned.cost_uusd / s.open.cost_uusd,
           s.oracle.cost_uusd / s.open.cost_uusd, (double)s.n_changed / n);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const int n_runs = argc > 1 ? atoi(argv[1]) : 20, n_jobs = argc > 2 ? atoi(argv[2]) : 8;
    printf("| true time / profile's | relative_error | jobs | on time as planned | re-planned | oracle's plan | cost re-planned / as "
           "planned | oracle's | changed |\n|---|---|---|---|---|---|---|---|---|\n");
    static const double times[] = {1, 0.7, 1.5};
    for (int i = 0; i < 3; i++) {
        if (argc > 3 && fabs(atof(argv[3]) - times[i]) > 1e-9)
            continue;
        try_case(times[i], 0.05, n_runs, n_jobs);
        try_case(times[i], 0.25, n_runs, n_jobs);
    }
    return 0;
}
