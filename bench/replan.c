// What re-planning is worth: runs of the virtual world whose speed the profile has wrong, carried out as planned and with
// `on_drift: replan`, on the same draws.
//
//     replan [RUNS [JOBS [CASE [SEED]]]]   CASE: only this line, from 0; SEED: of the jobs
//     REPLAN_SHOW=1: every check, REPLAN_JOBS=1: every job, on stderr
//
// Random jobs (bench/random_job.h), planned with confidence 0.95 for twice the time of the fastest plan. Deciding at
// barriers and 50 times a deadline, as rbrun does. A line a case: the share of runs that were on time, as planned, re-planned
// and by an oracle's plan, which knows the speed; of the ratios of mean costs the geometric mean over jobs, the last one
// over those jobs in which the oracle is on time in 0.9 of the runs; and the share of runs in which nodes were changed.
// Then how long decisions took, in CPU time.
#include "random_job.h"

#include "base/order.h"
#include "executor/run/replanning.h"
#include "executor/run/standing.h"
#include "samplers/model/normal.h"
#include "simulator/model/spending.h"
#include "simulator/world/world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LEAST_BETWEEN_US = 30000000, CHECKS_A_DEADLINE = 50, DEADLINE = 2 };

#define SURE 0.9 // of an oracle's plan, for the jobs of the last ratio

static void must(bool ok, const struct rb_err *err)
{
    if (ok)
        return;
    fprintf(stderr, "replan: %s\n", err->message);
    exit(1);
}

// ---- how long it takes

struct times {
    double *ms;
    int n;
};
static struct times checks, searches;

static double cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void took(struct times *t, double ms)
{
    t->ms = rb_grow(t->ms, t->n, sizeof *t->ms);
    t->ms[t->n++] = ms;
}

static void print_times(const char *what, struct times *t)
{
    if (t->n == 0)
        return;
    qsort(t->ms, (size_t)t->n, sizeof *t->ms, rb_order_doubles);
    printf("%d %s: median %.1f ms, p99 %.0f ms of CPU time\n", t->n, what, t->ms[t->n / 2], t->ms[(int)(0.99 * t->n)]);
}

// ---- a run

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
    now.spent_uusd =
        rb_spending_at(rb_prediction_scenario(standing->prediction), rb_prediction_engine(standing->prediction), now_us);
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
    double began_ms = cpu_ms();
    const struct rb_progress now = stand(standing, plan, now_us);
    took(&checks, cpu_ms() - began_ms);
    enum rb_replan_verdict verdict = RB_REPLAN_NOTHING;
    began_ms = cpu_ms();
    rb_replanning_check(r, standing->prediction, &now);
    const bool is_search = rb_replanning_is_busy(r);
    while (rb_replanning_is_busy(r))
        verdict = rb_replanning_work(r, standing->prediction, &now, out, &words);
    if (is_search)
        took(&searches, cpu_ms() - began_ms);
    if (getenv("REPLAN_SHOW"))
        fprintf(stderr, "%.0f of %.0f s, stage %d %d/%d: P %.2f pace %.2f: %s\n", (double)now_us / 1e6, (double)plan->deadline_us / 1e6,
                now.stage, now.trials_ended, now.trials, now.p_on_time, now.pace,
                words.len > 0 ? rb_buf_str(&words) : is_search ? "searched" : "");
    out->time_us = now_us;
    out->because = NULL;
    return verdict == RB_REPLAN_TAKE;
}

struct carried {
    struct lived l;
    struct rb_standing standing;
    struct rb_replanning replanning;
    int n_seen; // events that the prediction has
    int stage;  // at the last check
    int n_changes;
};

static void see(struct carried *c, const struct rb_event *event)
{
    rb_prediction_event(c->standing.prediction, event);
    c->n_seen++;
}

// From here on with other nodes.
static void follow(struct carried *c, const struct rb_scenario *truth, const struct rb_plan *plan, uint32_t replicate,
                   struct rb_event *advice, struct rb_arena *arena)
{
    struct rb_stage_change *changes = rb_arena_array(arena, (size_t)advice->n_changes, sizeof *changes);
    memcpy(changes, advice->changes, (size_t)advice->n_changes * sizeof *changes);
    advice->changes = changes;
    c->l.n = c->n_seen;
    c->l.events = rb_grow(c->l.events, c->l.n, sizeof *c->l.events);
    c->l.events[c->l.n++] = *advice;
    see(c, advice);
    live(truth, plan, replicate, &c->l);
    c->n_changes++;
}

// The instant of the next check, after what happened until then. -1: none is left.
static int64_t wait_for_check(struct carried *c, int64_t next_us)
{
    const struct rb_engine *e = rb_prediction_engine(c->standing.prediction);
    while (c->n_seen < c->l.n) {
        const struct rb_event event = c->l.events[c->n_seen];
        if (event.time_us > next_us)
            return next_us;
        see(c, &event);
        if (rb_job_is_final(rb_engine_outcome(e, NULL)))
            return -1;
        if (rb_engine_stage(e) > c->stage) {
            c->stage = rb_engine_stage(e);
            return event.time_us;
        }
    }
    return -1;
}

static struct rb_world_result replan(const struct rb_scenario *truth, const struct rb_plan *plan, uint32_t replicate,
                                     struct rb_arena *arena, bool *out_changed)
{
    struct carried c = {.standing = {.prediction = rb_prediction_create(plan)}, .stage = -1};
    const int64_t share_us = plan->deadline_us / CHECKS_A_DEADLINE;
    const int64_t between_us = share_us > LEAST_BETWEEN_US ? share_us : LEAST_BETWEEN_US;
    rb_replanning_init(&c.replanning, plan);
    live(truth, plan, replicate, &c.l);
    for (int64_t at_us = 0; (at_us = wait_for_check(&c, at_us + between_us)) >= 0;) {
        struct rb_event advice;
        if (rb_replan_is_possible(c.standing.prediction) && decide(&c.replanning, &c.standing, plan, at_us, &advice))
            follow(&c, truth, plan, replicate, &advice, arena);
    }
    const struct rb_world_result result = c.l.result;
    *out_changed = c.n_changes > 0;
    rb_replanning_finish(&c.replanning);
    rb_prediction_destroy(c.standing.prediction);
    free(c.l.events);
    return result;
}

static struct rb_world_result carry_out(const struct rb_scenario *truth, const struct rb_plan *plan, uint32_t replicate)
{
    struct lived l = {0};
    live(truth, plan, replicate, &l);
    free(l.events);
    return l.result;
}

// ---- a job

struct bench_case {
    double times; // true unit times over the profile's; 0: drawn for each run from what the profile says of its own error
    double relative_error;
};

static const struct bench_case cases[] = {{1, 0.05}, {1, 0.25}, {0.7, 0.05}, {0.7, 0.25}, {1.5, 0.05}, {1.5, 0.25}, {0, 0.25}};
enum { N_CASES = sizeof cases / sizeof cases[0] };

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

static double times_of(const struct bench_case *c, uint32_t number, uint32_t run)
{
    const struct rb_stream_key key = {.seed = 99, .purpose = RB_DRAW_SEARCH, .index = number, .replicate = run};
    const double rho = c->relative_error;
    return c->times > 0 ? c->times : exp(rho * rb_normal_quantile(rb_stream_first_uniform(&key)) - rho * rho / 2);
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

enum way { OPEN, REPLANNED, ORACLE, N_WAYS };

struct tally {
    double on_time[N_WAYS], cost_uusd[N_WAYS];
    int n_changed, n;
};

static void count(struct tally *t, enum way way, const struct rb_world_result *r, int64_t deadline_us)
{
    t->on_time[way] += r->time_us <= deadline_us;
    t->cost_uusd[way] += (double)r->cost_uusd;
}

// False: even an oracle would be late.
static bool make_plans(struct random_job *j, const struct bench_case *c, struct rb_profile *believed, struct rb_profile *known,
                       struct rb_plan *plan, struct rb_plan *oracles)
{
    struct rb_plan fastest;
    *believed = slower(&j->profile, 1, c->relative_error, &j->arena);
    *known = slower(&j->profile, c->times > 0 ? c->times : 1, 0, &j->arena);
    return make_plan(j, believed, -1, RB_OBJECTIVE_MIN_TIME, &fastest) &&
           make_plan(j, believed, fastest.estimate.time_us.p95 * DEADLINE, RB_OBJECTIVE_MIN_COST, plan) &&
           make_plan(j, known, plan->deadline_us, RB_OBJECTIVE_MIN_COST, oracles);
}

static void try_run(struct random_job *j, uint32_t number, const struct bench_case *c, uint32_t run, const struct rb_plan *plan,
                    const struct rb_plan *oracles, struct tally *t)
{
    struct rb_scenario truth, oracles_truth;
    struct rb_err err;
    bool changed;
    const struct rb_profile profile = slower(&j->profile, times_of(c, number, run), 0, &j->arena);
    must(rb_scenario_init(&truth, &j->job, &profile, plan->offers, plan->n_offers, plan->catalog, 99, &err), &err);
    must(rb_scenario_init(&oracles_truth, &j->job, &profile, oracles->offers, oracles->n_offers, oracles->catalog, 99, &err),
         &err);
    const struct rb_world_result open = carry_out(&truth, plan, run), oracle = carry_out(&oracles_truth, oracles, run),
                                 replanned = replan(&truth, plan, run, &j->arena, &changed);
    count(t, OPEN, &open, plan->deadline_us);
    count(t, REPLANNED, &replanned, plan->deadline_us);
    count(t, ORACLE, &oracle, plan->deadline_us);
    t->n_changed += changed;
    t->n++;
    rb_scenario_finish(&truth);
    rb_scenario_finish(&oracles_truth);
}

static bool try_job(uint64_t seed, uint32_t number, const struct bench_case *c, int n_runs, struct tally *out)
{
    struct random_job j;
    struct rb_profile believed, known;
    struct rb_plan plan, oracles;
    random_job_init(&j, seed, number, 1, 1);
    j.job.on_drift = RB_DRIFT_REPLAN;
    const bool ok = make_plans(&j, c, &believed, &known, &plan, &oracles);
    for (int i = 0; i < n_runs && ok; i++)
        try_run(&j, number, c, (uint32_t)i, &plan, &oracles, out);
    random_job_finish(&j);
    return ok;
}

// ---- all of them

struct ratio {
    double sum_ln;
    int n;
};

static void add(struct ratio *r, double a, double b)
{
    r->sum_ln += log(a / b);
    r->n++;
}

static double mean(const struct ratio *r)
{
    return r->n > 0 ? exp(r->sum_ln / r->n) : NAN;
}

static void try_case(const struct bench_case *c, int n_runs, int n_jobs, uint64_t seed)
{
    struct tally all = {0};
    struct ratio to_open[N_WAYS] = {0}, to_oracle = {0};
    for (int number = 0; number < n_jobs; number++) {
        struct tally t = {0};
        if (!try_job(seed, (uint32_t)number, c, n_runs, &t))
            continue;
        for (int way = 0; way < N_WAYS; way++) {
            all.on_time[way] += t.on_time[way];
            add(&to_open[way], t.cost_uusd[way], t.cost_uusd[OPEN]);
        }
        if (c->times > 0 && t.on_time[ORACLE] >= SURE * t.n)
            add(&to_oracle, t.cost_uusd[REPLANNED], t.cost_uusd[ORACLE]);
        all.n_changed += t.n_changed;
        all.n += t.n;
        if (getenv("REPLAN_JOBS"))
            fprintf(stderr, "job %d: on time %.2f %.2f %.2f, cost over open loop's: re-planned %.3f, oracle's %.3f\n", number,
                    t.on_time[OPEN] / t.n, t.on_time[REPLANNED] / t.n, t.on_time[ORACLE] / t.n,
                    t.cost_uusd[REPLANNED] / t.cost_uusd[OPEN], t.cost_uusd[ORACLE] / t.cost_uusd[OPEN]);
    }
    const bool has_oracle = c->times > 0;
    char times[32] = "drawn";
    if (has_oracle)
        snprintf(times, sizeof times, "%g", c->times);
    printf("| %s | %.2f | %d | %.3f | %.3f | ", times, c->relative_error, to_open[OPEN].n, all.on_time[OPEN] / all.n,
           all.on_time[REPLANNED] / all.n);
    if (has_oracle)
        printf("%.3f | %.3f | %.3f | %.3f", all.on_time[ORACLE] / all.n, mean(&to_open[REPLANNED]), mean(&to_open[ORACLE]),
               mean(&to_oracle));
    else
        printf("| %.3f | |", mean(&to_open[REPLANNED]));
    printf(" | %.2f |\n", (double)all.n_changed / all.n);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const int n_runs = argc > 1 ? atoi(argv[1]) : 20, n_jobs = argc > 2 ? atoi(argv[2]) : 20, only = argc > 3 ? atoi(argv[3]) : -1;
    const uint64_t seed = argc > 4 ? (uint64_t)atoi(argv[4]) : 5;
    printf("| true time / profile's | relative_error | jobs | on time as planned | re-planned | oracle's plan | cost re-planned / as "
           "planned | oracle's / as planned | re-planned / oracle's | changed |\n|---|---|---|---|---|---|---|---|---|---|\n");
    for (int i = 0; i < N_CASES; i++) {
        if (only < 0 || only == i)
            try_case(&cases[i], n_runs, n_jobs, seed);
    }
    print_times("checks", &checks);
    print_times("searches", &searches);
    return 0;
}
