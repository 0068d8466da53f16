#include "planner/request/pace.h"

#include "planner/search/search.h"
#include "simulator/laws/trial_laws.h"

#include <math.h>
#include <stdio.h>

#define ESTIMATE_PART  0.02  // of the limit: largest part for the runs of one estimate
#define PILOT_PART     0.005 // likewise for the runs that measure the pace
#define PILOT_RUNS     32
#define FEWEST_SAMPLES 64  // with fewer, an estimate of a probability is too imprecise
#define FIRST_PLAN     2.0 // minimum number of estimates per plan: found, shown, beside the baselines, stage by stage

bool rb_pace_pilot(const struct rb_plan_request *req, const struct rb_scenario *s, int offer,
                   struct rb_candidate *out)
{
    int sizes[RB_LIMIT_GPUS_PER_NODE];
    const int most = rb_planner_max_nodes(req->job, &s->offers[offer]);
    if (!s->sim_offers[offer].usable || rb_planner_sizes(s, offer, sizes) == 0)
        return false;
    *out = (struct rb_candidate){.n_stages = s->stages.n};
    for (int i = 0; i < s->stages.n; i++) {
        const int hold = rb_nodes_to_hold(s->offers[offer].gpus, s->stages.rungs[i].trials, sizes[0]);
        out->stages[i] = (struct rb_choice){offer, sizes[0], hold < most ? hold : most};
    }
    return rb_nodes_per_trial(s->offers[offer].gpus, sizes[0]) <= most;
}

double rb_pace_used_us(const struct rb_plan_request *req)
{
    return req->time_used(req->out_of_time_ctx) * (double)req->time_limit_us;
}

static double run_us_of(const struct rb_plan_request *req, const struct rb_scenario *s, const struct rb_candidate *c)
{
    struct rb_plan_stage stages[RB_LIMIT_STAGES];
    struct rb_plan_nodes nodes[RB_LIMIT_STAGES];
    int64_t time_us[PILOT_RUNS], cost_uusd[PILOT_RUNS];
    struct rb_evaluate_options opt = rb_evaluate_defaults();
    double run_us = 0, took_us = 0;
    opt.tables = rb_trial_laws_tables(req->laws);
    rb_candidate_stages(s, c, stages, nodes);
    opt.samples = 1;
    if (!rb_evaluate_runs(s, stages, c->n_stages, &opt, time_us, cost_uusd, NULL)) // also makes the tables
        return 0; // it does not finish: no plan will be made of it
    for (opt.samples = 1; opt.samples <= PILOT_RUNS && took_us < PILOT_PART * (double)req->time_limit_us;
         opt.samples *= 2) {
        const double before_us = rb_pace_used_us(req);
        if (!rb_evaluate_runs(s, stages, c->n_stages, &opt, time_us, cost_uusd, NULL))
            return run_us;
        took_us = rb_pace_used_us(req) - before_us;
        run_us = took_us / opt.samples;
    }
    return run_us;
}

static bool may_lose_nodes(const struct rb_scenario *s, int offer)
{
    return rb_provisioning_may_lose(s->sim_offers[offer].provisioning);
}

// True if offers that may lose nodes are left out of the search.
static bool is_left_out(const struct rb_plan_request *req, const struct rb_scenario *s)
{
    struct rb_candidate c;
    int sizes[RB_LIMIT_GPUS_PER_NODE], n_sizes = 0;
    bool some_keep = false;
    double trials = 0;
    for (int i = 0; i < s->stages.n; i++)
        trials += s->stages.rungs[i].trials;
    for (int i = 0; i < s->n_offers; i++) {
        if (!rb_pace_pilot(req, s, i, &c))
            continue;
        n_sizes += rb_planner_sizes(s, i, sizes);
        some_keep = some_keep || !may_lose_nodes(s, i);
    }
    return some_keep && req->objective == RB_OBJECTIVE_MIN_COST && rb_search_is_slow(req, trials * n_sizes);
}

double rb_pace_run_us(const struct rb_plan_request *req, const struct rb_scenario *s)
{
    struct rb_candidate c;
    double slowest_us = 0;
    const bool slow = is_left_out(req, s);
    bool known[2] = {false, slow}; // offers that keep their nodes, and that may lose them
    if (req->time_limit_us <= 0 || !req->time_used)
        return 0;
    for (int i = 0; i < s->n_offers; i++) {
        if (!rb_pace_pilot(req, s, i, &c))
            continue;
        bool *done = &known[may_lose_nodes(s, i)];
        if (!*done)
            slowest_us = fmax(slowest_us, run_us_of(req, s, &c));
        *done = true;
    }
    return slowest_us;
}

// 17 s: 20 s. 230 ms: 300 ms.
static int64_t round_up(double us)
{
    const double unit = pow(10, floor(log10(fmax(us, 1e4))));
    return (int64_t)(ceil(us / unit) * unit);
}

void rb_pace_check(const struct rb_plan_request *req, double first_us)
{
    char text[3][32], line[256];
    if (first_us <= (double)req->time_limit_us || !req->notice)
        return;
    snprintf(line, sizeof line,
             "a time limit of %s cannot be kept: a first plan of this job alone takes about %s; give it more, such as "
             "--time-limit %s",
             rb_format_duration(req->time_limit_us, text[0]), rb_format_duration((int64_t)first_us, text[1]),
             rb_format_duration_exact(round_up(4 * first_us), text[2]));
    req->notice(req->notice_ctx, line);
}

int rb_pace_samples(const struct rb_plan_request *req)
{
    const double first_us = FIRST_PLAN * FEWEST_SAMPLES * req->run_us;
    const double n = ESTIMATE_PART * (double)req->time_limit_us / fmax(req->run_us, 1e-3);
    rb_pace_check(req, first_us);
    return (int)fmin(fmax(n, FEWEST_SAMPLES), req->samples);
}
