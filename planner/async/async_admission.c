#include "planner/async/async_admission.h"

#include "planner/async/async_neighbours.h"
#include "planner/questions/async_nearest.h"

#include "engine/core/tuner.h"

#include <math.h>
#include <stdlib.h>

#define BISECTIONS   7     // precision of the instant, as a fraction of the available time
#define FEW_RUNS     64    // while searching for it, if a time limit allows them
#define PLAYED_PARTS 8     // numbers of runs after each of which the instant may be rejected as too late
#define MORE         1.005 // factor in the number of configurations: the minimum gain of an exchange
#define MOVE         0.3   // part of the instant by which more runs may move it,
#define MOVES        6     // to within a hundredth
#define STEP_DOWN    0.98  // of the instant, if unseen runs show that it is too late
#define STEPS_DOWN   12
#define MOST_POOLS   4 // fixed clusters to start from, of each offer

// ---- one candidate and its instant

struct admission {
    struct rb_candidate candidate; // with its instant
    double tried;                  // mean number of configurations started
    double p;                      // probability of keeping the constraints with one configuration trained to the end
};

static bool within(const struct rb_plan_request *req, const struct rb_world_result *r)
{
    return (req->deadline_us < 0 || r->time_us <= req->deadline_us) &&
           (req->budget_uusd < 0 || r->cost_uusd <= req->budget_uusd);
}

static void sum_up(const struct rb_plan_request *req, const struct rb_world_result *runs, int n, struct admission *a,
                   double *out_in_limits)
{
    int kept = 0, full = 0;
    double tried = 0;
    for (int i = 0; i < n; i++) {
        const bool in_limits = within(req, &runs[i]);
        kept += in_limits;
        full += in_limits && runs[i].n_full > 0;
        tried += runs[i].n_trained;
    }
    a->tried = tried / n;
    a->p = (double)full / n;
    *out_in_limits = (double)kept / n;
}

// Evaluates runs in parts. Once too many runs exceed the limits, the rest does not matter, and *out_in_limits is an
// upper bound.
static bool play(const struct rb_search *search, struct admission *a, int n, double *out_in_limits, struct rb_err *err)
{
    RB_AUTO(rb_auto_free) struct rb_world_result *runs = rb_xcalloc((size_t)n, sizeof *runs);
    const int part = (n + PLAYED_PARTS - 1) / PLAYED_PARTS;
    int beyond = 0;
    for (int made = 0; made < n; made += part) {
        const int more = n - made < part ? n - made : part;
        if (!rb_async_play(search, &a->candidate, (uint32_t)made, more, runs + made, NULL, err))
            return false;
        for (int i = made; i < made + more; i++)
            beyond += !within(search->req, &runs[i]);
        *out_in_limits = (double)(n - beyond) / n;
        if (*out_in_limits < rb_search_confidence(search))
            return true;
    }
    sum_up(search->req, runs, n, a, out_in_limits);
    return true;
}

// Upper limit that hardly any run of the whole job exceeds.
static bool longest_run(const struct rb_search *search, const struct rb_candidate *c, int64_t *out_us,
                        struct rb_err *err)
{
    struct rb_world_result runs[8];
    const int n = sizeof runs / sizeof runs[0];
    *out_us = 0;
    if (!rb_async_play(search, c, 0, n, runs, NULL, err))
        return false;
    for (int i = 0; i < n; i++)
        *out_us = runs[i].time_us > *out_us ? runs[i].time_us : *out_us;
    return true;
}

static int few_runs(const struct rb_search *search)
{
    const int n = rb_async_n_compared(search);
    return n < FEW_RUNS ? n : FEW_RUNS;
}

static bool stands(const struct rb_search *search, const struct admission *a)
{
    return a->candidate.admit_until_us > 0 && a->p >= rb_search_confidence(search);
}

// The latest instant that keeps the constraints in the first few runs. out->p < confidence: there is none.
static bool settle(struct rb_search *search, const struct rb_candidate *c, struct admission *out, struct rb_err *err)
{
    struct admission best = {.candidate = *c};
    int64_t early_us = 0, late_us = search->req->deadline_us;
    if (late_us < 0 && !longest_run(search, c, &late_us, err))
        return false;
    for (int i = 0; i < BISECTIONS && !rb_search_out_of_time(search); i++) {
        struct admission a = {.candidate = *c};
        double in_limits;
        a.candidate.admit_until_us = early_us + (late_us - early_us) / 2;
        if (a.candidate.admit_until_us < 1 || !play(search, &a, few_runs(search), &in_limits, err))
            return a.candidate.admit_until_us < 1;
        search->n_evaluated++;
        if (in_limits < rb_search_confidence(search)) {
            late_us = a.candidate.admit_until_us;
            continue;
        }
        early_us = a.candidate.admit_until_us;
        if (stands(search, &a) || !stands(search, &best))
            best = a;
    }
    *out = best;
    return true;
}

static bool can_close(const struct rb_search *search)
{
    return rb_tuner_find(search->req->job->scheduler.type)->close != NULL;
}

// ---- which cluster

static bool take_better(struct rb_search *search, const struct rb_candidate *c, struct admission *best,
                        bool *out_better, struct rb_err *err)
{
    struct admission a;
    *out_better = false;
    if (!settle(search, c, &a, err))
        return false;
    *out_better = stands(search, &a) && (!stands(search, best) || a.tried > best->tried * MORE);
    if (*out_better)
        *best = a;
    return true;
}

// One offer with the same nodes throughout; at level i and above trials get `wide` GPUs, below it the smallest size.
static struct rb_candidate pool(const struct rb_search *search, int offer, int nodes, int level, int wide)
{
    struct rb_candidate c = {.n_stages = search->scenario->stages.n};
    for (int i = 0; i < c.n_stages; i++)
        c.stages[i] = (struct rb_choice){offer, i < level ? search->sizes[offer].gpus[0] : wide, nodes};
    return c;
}

// Usually the most nodes start the most configurations; a budget may favour fewer.
static int n_pools(const struct rb_search *search)
{
    return search->req->budget_uusd < 0 ? 1 : MOST_POOLS;
}

static bool try_offer(struct rb_search *search, int offer, struct admission *best, struct rb_err *err)
{
    const struct rb_sizes *sizes = &search->sizes[offer];
    int nodes = rb_planner_max_nodes(search->req->job, &search->scenario->offers[offer]);
    for (int k = 0; k < n_pools(search) && nodes >= 1; k++, nodes /= 2) {
        for (int level = search->scenario->stages.n; level >= 0; level--) {
            const struct rb_candidate c = pool(search, offer, nodes, level, sizes->gpus[sizes->n - 1]);
            bool better;
            if (rb_async_fits(search, &c) && !take_better(search, &c, best, &better, err))
                return false;
        }
    }
    return true;
}

// Changes the size from some level on, or the number of nodes, until no change starts more configurations.
static bool climb(struct rb_search *search, struct admission *best, struct rb_err *err)
{
    bool better = true;
    while (better && !rb_search_out_of_time(search)) {
        const struct rb_candidate from = best->candidate;
        const struct rb_sizes *sizes = &search->sizes[from.stages[0].offer];
        better = false;
        for (int level = from.n_stages - 1; level >= 0 && !better; level--) {
            for (int i = 0; i < sizes->n && !better; i++) {
                struct rb_candidate c = from;
                for (int k = level; k < c.n_stages; k++)
                    c.stages[k].gpus = sizes->gpus[i];
                if (sizes->gpus[i] != from.stages[level].gpus && rb_async_fits(search, &c) &&
                    !take_better(search, &c, best, &better, err))
                    return false;
            }
        }
        for (int step = -1; step <= 1 && !better; step += 2) {
            struct rb_candidate c = from;
            for (int k = 0; k < c.n_stages; k++)
                c.stages[k].nodes += step;
            if (rb_async_fits(search, &c) && !take_better(search, &c, best, &better, err))
                return false;
        }
    }
    return true;
}

// A few runs choose, more determine the exact instant. *out_stands false: not near that instant.
static bool settle_on_more(struct rb_search *search, struct admission *io, bool *out_stands, struct rb_err *err)
{
    struct admission best = *io;
    double early = 1 - MOVE, late = 1 + MOVE;
    *out_stands = false;
    for (int i = 0; i < MOVES; i++) {
        struct admission a = *io;
        const double part = (early + late) / 2;
        double in_limits;
        a.candidate.admit_until_us = (int64_t)((double)io->candidate.admit_until_us * part);
        if (!play(search, &a, rb_async_n_compared(search), &in_limits, err))
            return false;
        if (in_limits < rb_search_confidence(search)) {
            late = part;
            continue;
        }
        early = part;
        if (stands(search, &a)) {
            best = a;
            *out_stands = true;
        }
    }
    *io = best;
    return true;
}

// ---- unseen runs

bool rb_async_tried(const struct rb_search *search, const struct rb_candidate *candidate, struct rb_async_tried *out,
                    struct rb_err *err)
{
    const int n = search->req->samples;
    RB_AUTO(rb_auto_free) struct rb_world_result *runs = rb_xcalloc((size_t)n, sizeof *runs);
    RB_AUTO(rb_auto_free) int64_t *tried = rb_xcalloc((size_t)n, sizeof *tried);
    double sum = 0;
    if (!rb_async_play(search, candidate, RB_ASYNC_FIRST_UNSEEN, n, runs, NULL, err))
        return false;
    for (int i = 0; i < n; i++) {
        tried[i] = runs[i].n_trained;
        sum += (double)tried[i];
    }
    *out = (struct rb_async_tried){.mean = sum / n, .p5 = (int)rb_quantiles_of(tried, n).p5};
    return true;
}

// Checks the constraints in runs that were not used to choose the plan.
static bool confirm(struct rb_search *search, struct rb_candidate *c, bool *out_stands, struct rb_err *err)
{
    const int n = search->req->samples;
    RB_AUTO(rb_auto_free) struct rb_world_result *runs = rb_xcalloc((size_t)n, sizeof *runs);
    struct admission a = {.candidate = *c};
    double in_limits;
    if (!rb_async_play(search, c, RB_ASYNC_FIRST_UNSEEN, n, runs, NULL, err))
        return false;
    sum_up(search->req, runs, n, &a, &in_limits);
    *out_stands = a.p >= rb_search_confidence(search);
    if (!*out_stands)
        return true;
    if (!rb_async_estimate(search, c, NULL, err))
        return false;
    *out_stands = c->estimate.p_both >= rb_search_confidence(search);
    return true;
}

// The cheapest plan of the path that still keeps them. If none does, configurations are stopped earlier.
static bool confirm_path(struct rb_search *search, const struct rb_candidate *path, int n, struct rb_candidate *out,
                         bool *out_stands, struct rb_err *err)
{
    *out_stands = false;
    for (int i = n - 1; i >= 0 && !*out_stands; i--) {
        *out = path[i];
        if (!confirm(search, out, out_stands, err))
            return false;
    }
    for (int i = 0; i < STEPS_DOWN && !*out_stands; i++) {
        out->admit_until_us = (int64_t)((double)out->admit_until_us * STEP_DOWN);
        if (out->admit_until_us < 1)
            return true;
        if (!confirm(search, out, out_stands, err))
            return false;
    }
    return true;
}

// ---- the nearest constraints that would leave time for one configuration

// Needs of a candidate over all runs, each constraint alone. A run that trains no configuration to the end keeps none.
static bool needs_of_part(const struct rb_search *search, const struct rb_candidate *c, uint32_t first, int n,
                          double confidence, struct rb_needs *out, struct rb_err *err)
{
    RB_AUTO(rb_auto_free) struct rb_world_result *runs = rb_xcalloc((size_t)n, sizeof *runs);
    RB_AUTO(rb_auto_free) int64_t *values = rb_xcalloc(2 * (size_t)n, sizeof *values);
    int n_full = 0;
    if (!rb_async_play(search, c, first, n, runs, NULL, err))
        return false;
    for (int i = 0; i < n; i++) {
        n_full += runs[i].n_full > 0;
        values[i] = runs[i].n_full > 0 ? runs[i].time_us : INT64_MAX;
        values[n + i] = runs[i].n_full > 0 ? runs[i].cost_uusd : INT64_MAX;
    }
    *out = rb_needs_none();
    if (n_full >= rb_need_count(confidence, n))
        *out = rb_async_needs_of(search, c, values, values + n, n, confidence);
    return true;
}

struct nearest {
    int64_t deadline_us, budget_uusd; // by the first few runs; -1: none
    struct rb_candidate by_deadline, by_budget;
};

static bool is_nearer(int64_t value, int64_t than)
{
    return value >= 0 && (than < 0 || value < than);
}

// The confidence asked plus one standard error of this small number of runs.
static double cautious(const struct rb_search *search, int n)
{
    const double c = rb_search_confidence(search);
    return fmin(1, c + sqrt(c * (1 - c) / n));
}

// The earliest instant by which a configuration has finished in the first few runs.
static bool need_of(struct rb_search *search, const struct rb_candidate *c, struct nearest *io, struct rb_err *err)
{
    int64_t early_us = 0, late_us;
    if (!longest_run(search, c, &late_us, err))
        return false;
    for (int i = 0; i < BISECTIONS && !rb_search_out_of_time(search); i++) {
        struct rb_candidate at = *c;
        struct rb_needs needs;
        at.admit_until_us = early_us + (late_us - early_us) / 2 + 1;
        if (!needs_of_part(search, &at, 0, few_runs(search), cautious(search, few_runs(search)), &needs, err))
            return false;
        if (is_nearer(needs.deadline_us, io->deadline_us)) {
            io->deadline_us = needs.deadline_us;
            io->by_deadline = at;
        }
        if (is_nearer(needs.budget_uusd, io->budget_uusd)) {
            io->budget_uusd = needs.budget_uusd;
            io->by_budget = at;
        }
        if (needs.deadline_us >= 0 || needs.budget_uusd >= 0)
            late_us = at.admit_until_us;
        else
            early_us = at.admit_until_us;
    }
    return true;
}

// The nearest of many candidates is partly near by chance. So its needs come from runs that were not used to choose it.
// The same runs decide whether there is a plan when the job is planned again with them.
static bool needs_in_unseen(struct rb_search *search, const struct rb_candidate *c, struct rb_needs *out,
                            struct rb_err *err)
{
    return needs_of_part(search, c, RB_ASYNC_FIRST_UNSEEN, search->req->samples, rb_search_confidence(search), out,
                         err);
}

static bool find_nearest(struct rb_search *search, struct nearest *out, struct rb_err *err)
{
    *out = (struct nearest){.deadline_us = -1, .budget_uusd = -1};
    for (int offer = 0; offer < search->scenario->n_offers && !rb_search_out_of_time(search); offer++) {
        const struct rb_sizes *sizes = &search->sizes[offer];
        if (sizes->n == 0 || rb_search_is_outbid(search, offer))
            continue;
        int nodes = rb_planner_max_nodes(search->req->job, &search->scenario->offers[offer]);
        for (int k = 0; k < n_pools(search) && nodes >= 1; k++, nodes /= 2) {
            for (int level = search->scenario->stages.n; level >= 0; level--) {
                const struct rb_candidate c = pool(search, offer, nodes, level, sizes->gpus[sizes->n - 1]);
                if (rb_async_fits(search, &c) && !need_of(search, &c, out, err))
                    return false;
            }
        }
    }
    return true;
}

// For one constraint.
static int64_t *value_of(struct nearest *n, bool by_budget)
{
    return by_budget ? &n->budget_uusd : &n->deadline_us;
}

// Changes the size from some level on, or the number of nodes, while that needs less.
static bool climb_nearest(struct rb_search *search, bool by_budget, struct nearest *io, struct rb_err *err)
{
    int64_t before = -1;
    while (*value_of(io, by_budget) >= 0 && *value_of(io, by_budget) != before && !rb_search_out_of_time(search)) {
        const struct rb_candidate from = by_budget ? io->by_budget : io->by_deadline;
        const struct rb_sizes *sizes = &search->sizes[from.stages[0].offer];
        before = *value_of(io, by_budget);
        for (int level = from.n_stages - 1; level >= 0; level--) {
            for (int i = 0; i < sizes->n; i++) {
                struct rb_candidate c = from;
                for (int k = level; k < c.n_stages; k++)
                    c.stages[k].gpus = sizes->gpus[i];
                if (sizes->gpus[i] != from.stages[level].gpus && rb_async_fits(search, &c) &&
                    !need_of(search, &c, io, err))
                    return false;
            }
        }
        for (int step = -1; step <= 1; step += 2) {
            struct rb_candidate c = from;
            for (int k = 0; k < c.n_stages; k++)
                c.stages[k].nodes += step;
            if (rb_async_fits(search, &c) && !need_of(search, &c, io, err))
                return false;
        }
    }
    return true;
}

// Recomputes the instant of the nearest candidate on more runs: the few runs may have chosen it too late or too early.
static bool settle_nearest(struct rb_search *search, bool by_budget, struct rb_candidate *io, struct rb_err *err)
{
    static const double parts[] = {0.7, 0.8, 0.87, 0.93, 0.97, 1, 1.03, 1.07};
    const int n = rb_async_n_compared(search);
    const struct rb_candidate from = *io;
    int64_t least = -1;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && !rb_search_out_of_time(search); i++) {
        struct rb_candidate at = from;
        struct rb_needs needs;
        at.admit_until_us = (int64_t)ceil(parts[i] * (double)from.admit_until_us);
        if (!needs_of_part(search, &at, 0, n, rb_search_confidence(search), &needs, err))
            return false;
        if (is_nearer(by_budget ? needs.budget_uusd : needs.deadline_us, least)) {
            least = by_budget ? needs.budget_uusd : needs.deadline_us;
            *io = at;
        }
    }
    return true;
}

// The nearest candidate may already be near enough if the search for more configurations has missed it.
static bool take_nearest(struct rb_search *search, struct rb_candidate *out, bool *out_found, struct rb_needs *io,
                         struct rb_err *err)
{
    const struct rb_plan_request *req = search->req;
    struct rb_needs needs, part = rb_needs_none();
    struct nearest nearest;
    if (!find_nearest(search, &nearest, err))
        return false;
    if (nearest.deadline_us >= 0 && req->deadline_us >= 0) {
        if (!climb_nearest(search, false, &nearest, err) || !settle_nearest(search, false, &nearest.by_deadline, err) ||
            !needs_in_unseen(search, &nearest.by_deadline, &needs, err))
            return false;
        part.deadline_us = needs.deadline_us;
        if (needs.deadline_us >= 0 && needs.deadline_us <= req->deadline_us)
            return confirm_path(search, &nearest.by_deadline, 1, out, out_found, err);
    }
    if (nearest.budget_uusd >= 0 && req->budget_uusd >= 0) {
        if (!climb_nearest(search, true, &nearest, err) || !settle_nearest(search, true, &nearest.by_budget, err) ||
            !needs_in_unseen(search, &nearest.by_budget, &needs, err))
            return false;
        part.budget_uusd = needs.budget_uusd;
        if (needs.budget_uusd >= 0 && needs.budget_uusd <= req->budget_uusd)
            return confirm_path(search, &nearest.by_budget, 1, out, out_found, err);
    }
    rb_needs_merge(io, &part);
    return true;
}

// ---- the whole

static bool find_most(struct rb_search *search, struct rb_candidate *out, bool *out_found, struct rb_err *err)
{
    struct admission best = {.tried = 0};
    struct rb_candidate path[RB_ASYNC_PATH];
    int n;
    *out_found = false;
    for (int offer = 0; offer < search->scenario->n_offers && !rb_search_out_of_time(search); offer++) {
        if (search->sizes[offer].n > 0 && !rb_search_is_outbid(search, offer) && !try_offer(search, offer, &best, err))
            return false;
    }
    if (!stands(search, &best))
        return true;
    if (!climb(search, &best, err) || !settle_on_more(search, &best, out_found, err))
        return false;
    if (!*out_found)
        return true;
    if (!rb_async_exchange(search, &best.candidate, best.tried / MORE, path, &n, err))
        return false;
    return confirm_path(search, path, n, out, out_found, err);
}

bool rb_async_admission(struct rb_search *search, struct rb_candidate *out, bool *out_found,
                        struct rb_needs *io_nearest, struct rb_err *err)
{
    *out_found = false;
    if (!can_close(search))
        return true;
    if (!find_most(search, out, out_found, err))
        return false;
    return *out_found || take_nearest(search, out, out_found, io_nearest, err);
}
