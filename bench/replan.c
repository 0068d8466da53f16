// What re-planning is worth: runs of the virtual world whose speed the profile has wrong, carried out as planned and with
// `on_drift: replan`, on the same draws.
//
//     replan [RUNS [JOBS [CASE [SEED]]]]   CASE: only this line, from 0; SEED: of the jobs
//     REPLAN_SHOW=1: every search, REPLAN_JOBS=1: every job, on stderr; REPLAN_JOB=7: this one alone; REPLAN_CONFIDENCE=0.98: what plans are made with
//     REPLAN_KNOWS=start, report, barrier: who re-plans knows the true speed from then on (from the first one)
//     REPLAN_FIRST=0.8: what is re-planned begins with a plan of this confidence; the one that was asked for is kept to
//     REPLAN_CHOOSE=64: it begins with the one that `rbplan --with-replanning` would choose, by this many runs of each
//
// Random jobs (bench/random_job.h), planned with confidence 0.95 for twice the time of the fastest plan. A line a case: the share of runs that were on time, as planned, re-planned
// and by an oracle's plan, which knows the speed; of the ratios of mean costs the geometric mean over jobs, the last one
// over those jobs in which the oracle is on time in 0.9 of the runs; and the share of runs in which nodes were changed.
// Then how long decisions took, in CPU time.
#include "random_job.h"
#include "replan_knows.h"

#include "base/order.h"
#include "base/stream.h"
#include "executor/rehearsal/worth.h"
#include "samplers/model/normal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEADLINE = 2 };

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

struct watched {
    const struct rb_plan *plan;
    const char *knows_from; // NULL: never
    bool changed, knows;
};

static void look(void *ctx, int64_t now_us, const struct rb_rehearsal_times *t, const char *words)
{
    const struct watched *w = ctx;
    took(&checks, (double)t->check_us / 1e3);
    if (t->search_us > 0)
        took(&searches, (double)t->search_us / 1e3);
    if (getenv("REPLAN_SHOW") && t->search_us > 0)
        fprintf(stderr, "%.0f of %.0f s: searched %.0f ms %s\n", (double)now_us / 1e6, (double)w->plan->deadline_us / 1e6,
                (double)t->search_us / 1e3, words);
}

static void notice(void *ctx, const struct rb_engine *e, const struct rb_event *event, const struct rb_actions *actions)
{
    struct watched *w = ctx;
    (void)actions;
    w->changed = w->changed || event->kind == RB_EVENT_ADVICE;
    w->knows = w->knows || (w->knows_from && (strcmp(w->knows_from, "barrier") == 0  ? rb_engine_stage(e) > 0
                                              : strcmp(w->knows_from, "report") == 0 ? event->kind == RB_EVENT_REPORT
                                                                                     : true));
}

// out_changed NULL: as planned.
static struct rb_world_result carry_out(const struct rb_scenario *truth, const struct rb_plan *plan, uint32_t replicate,
                                        bool *out_changed)
{
    struct watched w = {.plan = plan, .knows_from = getenv("REPLAN_KNOWS")};
    struct rb_world_result result;
    struct rb_err err;
    struct rb_world_options opt = {
        .replicate = replicate, .observe = notice, .observe_ctx = &w, .deadline_us = -1, .budget_uusd = -1};
    if (out_changed)
        opt.reactor = replan_knows_begin(plan, truth->profile, &w.knows, look, &w);
    must(rb_world_run(truth, plan, &opt, &result, &err), &err);
    if (out_changed) {
        opt.reactor->destroy(opt.reactor);
        *out_changed = w.changed;
    }
    return result;
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

// confidence 0: the job's.
static bool make_plan(struct random_job *j, const struct rb_profile *profile, int64_t deadline_us,
                      enum rb_objective objective, double confidence, struct rb_plan *out)
{
    struct rb_plan_request req = j->req;
    struct rb_plan_result result;
    struct rb_err err;
    req.profile = profile;
    req.deadline_us = deadline_us;
    req.objective = objective;
    req.alone = true;
    if (confidence > 0)
        req.confidence = confidence;
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

static double option(const char *name)
{
    const char *text = getenv(name);
    return text ? atof(text) : 0;
}

// As rbplan --with-replanning chooses. ranked: runs that it compares.
static void choose_first(struct random_job *j, const struct rb_profile *believed, int ranked, struct rb_plan plans[N_WAYS])
{
    struct rb_plan others[RB_WORTH_OTHERS];
    const struct rb_plan *from[1 + RB_WORTH_OTHERS] = {&plans[OPEN]};
    struct rb_worth worth;
    struct rb_err err;
    int n = 1, chosen;
    for (int i = 0; i < RB_WORTH_OTHERS; i++) {
        struct rb_plan *other = &others[n - 1];
        if (!make_plan(j, believed, plans[OPEN].deadline_us, RB_OBJECTIVE_MIN_COST, rb_worth_confidences[i], other))
            continue;
        other->confidence = plans[OPEN].confidence;
        from[n++] = other;
    }
    must(rb_worth_choose(from, n, ranked, 2 * ranked, 1, &chosen, &worth, &err), &err);
    plans[REPLANNED] = *from[chosen];
    if (getenv("REPLAN_JOBS"))
        fprintf(stderr, "plan %d of %d chosen: P %.3f, $%.4f\n", chosen, n, worth.kept.share, worth.cost_uusd.mean / 1e6);
}

// What is re-planned begins as planned, with a plan of another confidence, or with the one that is chosen.
static bool make_first(struct random_job *j, const struct rb_profile *believed, struct rb_plan plans[N_WAYS])
{
    const double confidence = option("REPLAN_FIRST");
    plans[REPLANNED] = plans[OPEN];
    if (option("REPLAN_CHOOSE") > 0)
        choose_first(j, believed, (int)option("REPLAN_CHOOSE"), plans);
    if (confidence <= 0)
        return true;
    const bool ok =
        make_plan(j, believed, plans[OPEN].deadline_us, RB_OBJECTIVE_MIN_COST, confidence, &plans[REPLANNED]);
    plans[REPLANNED].confidence = plans[OPEN].confidence;
    return ok;
}

static void show_plan(const char *what, const struct rb_plan *plan)
{
    fprintf(stderr, "%s:", what);
    for (int i = 0; i < plan->n_stages; i++)
        fprintf(stderr, " %d trials to %d with %d GPUs on %d x %d,", plan->stages[i].trials, (int)plan->stages[i].resource_end,
                plan->stages[i].gpus_per_trial, plan->stages[i].nodes[0].count, plan->offers[plan->stages[i].nodes[0].offer].gpus);
    fprintf(stderr, " $%.2f, %.0f s\n", (double)plan->estimate.cost_uusd.mean / 1e6, (double)plan->estimate.time_us.p50 / 1e6);
}

// False: even an oracle would be late.
static bool make_plans(struct random_job *j, const struct bench_case *c, struct rb_profile *believed, struct rb_profile *known,
                       struct rb_plan plans[N_WAYS])
{
    struct rb_plan fastest;
    *believed = slower(&j->profile, 1, c->relative_error, &j->arena);
    *known = slower(&j->profile, c->times > 0 ? c->times : 1, 0, &j->arena);
    return make_plan(j, believed, -1, RB_OBJECTIVE_MIN_TIME, 0, &fastest) &&
           make_plan(j, believed, fastest.estimate.time_us.p95 * DEADLINE, RB_OBJECTIVE_MIN_COST,
                     option("REPLAN_CONFIDENCE"), &plans[OPEN]) &&
           make_first(j, believed, plans) &&
           make_plan(j, known, plans[OPEN].deadline_us, RB_OBJECTIVE_MIN_COST, option("REPLAN_CONFIDENCE"), &plans[ORACLE]);
}

static void try_run(struct random_job *j, uint32_t number, const struct bench_case *c, uint32_t run,
                    const struct rb_plan plans[N_WAYS], struct tally *t)
{
    const struct rb_profile profile = slower(&j->profile, times_of(c, number, run), 0, &j->arena);
    for (enum way way = 0; way < N_WAYS; way++) {
        struct rb_scenario truth;
        struct rb_err err;
        bool changed = false;
        const struct rb_plan *plan = &plans[way];
        must(rb_scenario_init(&truth, &j->job, &profile, plan->offers, plan->n_offers, plan->catalog, 99, &err), &err);
        const struct rb_world_result r = carry_out(&truth, plan, run, way == REPLANNED ? &changed : NULL);
        count(t, way, &r, plan->deadline_us);
        t->n_changed += changed;
        rb_scenario_finish(&truth);
    }
    t->n++;
}

static bool try_job(uint64_t seed, uint32_t number, const struct bench_case *c, int n_runs, struct tally *out)
{
    struct random_job j;
    struct rb_profile believed, known;
    struct rb_plan plans[N_WAYS];
    random_job_init(&j, seed, number, 1, 1);
    const bool ok = make_plans(&j, c, &believed, &known, plans);
    if (ok && getenv("REPLAN_SHOW")) {
        show_plan("planned", &plans[OPEN]);
        show_plan("to be re-planned", &plans[REPLANNED]);
        show_plan("oracle's", &plans[ORACLE]);
    }
    for (int i = 0; i < n_runs && ok; i++)
        try_run(&j, number, c, (uint32_t)i, plans, out);
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
        if (getenv("REPLAN_JOB") && number != atoi(getenv("REPLAN_JOB")))
            continue;
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
            fprintf(stderr, "job %d: on time %.2f %.2f %.2f, $%.4f as planned, over that: re-planned %.4f, oracle's %.3f; changed %.2f\n", number,
                    t.on_time[OPEN] / t.n, t.on_time[REPLANNED] / t.n, t.on_time[ORACLE] / t.n,
                    t.cost_uusd[OPEN] / t.n / 1e6, t.cost_uusd[REPLANNED] / t.cost_uusd[OPEN], t.cost_uusd[ORACLE] / t.cost_uusd[OPEN],
                    (double)t.n_changed / t.n);
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
