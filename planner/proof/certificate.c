#include "planner/proof/certificate.h"

#include "planner/async/endless.h"
#include "planner/proof/decide.h"
#include "planner/request/memory.h"
#include "planner/scores/stage_samples.h"
#include "simulator/laws/trial_law.h"
#include "simulator/laws/trial_laws.h"
#include "simulator/sampler/table_runs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FEW_WORLDS   1024  // of every column: fewer do not show the spread of a heavy tail
#define MANY_WORLDS  4096  // of the columns that remain after the first round
#define MOST_EFFORT  6e7   // trials drawn for columns from tables: a third of a second ...
#define BY_PARTS     12    // ... and how many of these one trial drawn part by part costs
#define MOST_VISITS  50000 // partial plans
#define MOST_COLUMNS 20000
#define PRICES       4                   // prices of time, besides zero
#define MOST_ROUNDS  4                   // each starts from a better plan
#define LEVELS       2                   // of worlds: few, many
#define SINGLE_MEANS (MOST_ROUNDS * 3)   // the best's, up and down; a rival's beside it
#define UNSEEN       (UINT32_C(5) << 21) // runs that were not used to find a plan; each round has its own

struct column {
    const struct rb_stage_sample
        *sample;                 // NULL: excluded, or no choice of the previous stage hands over that number of nodes
    double least_uusd, least_us; // mean cost, and mean of the times that count, less their possible errors
    bool wanted;
};

struct choice {
    struct rb_choice choice;
    struct column *columns; // [nodes + 1], by nodes inherited; only [0] in the first stage
};

struct stage {
    struct choice *choices;
    int n;
};

struct certificate {
    struct rb_search *search;
    struct rb_candidate *best;
    struct stage stages[RB_LIMIT_STAGES];
    int n_stages, n_columns;
    int n_worlds, need; // `need` of the worlds must be in time
    struct rb_stage_samples *samples;
    int round, n_unseen;
    double sigma, sigma_single;           // standard errors bounding the error of all means: columns, whole plans
    int64_t *best_runs_uusd;              // [n_unseen] costs of the best in unseen runs
    double best_low_uusd, best_high_uusd; // its mean cost lies between the two
    double tolerance_uusd;
    double best_columns_uusd;                   // the mean of the sum of its columns
    double more_uusd;                           // upper bound on its additional cost
    double allowed_uusd;                        // upper bound on another plan's columns for it to be cheaper
    double prices[PRICES + 1];                  // micro-dollars per microsecond
    double *to_go[PRICES + 1][RB_LIMIT_STAGES]; // [stage][choice]: lower bound on what the later stages add
    double *least_time;                         // [n_stages + 1][n_worlds], of the stages from i on
    double *time, *cost;                        // [n_stages + 1][n_worlds], of the stages before i
    int64_t n_visits, most_visits;
    bool better, cut, open; // a better plan was found; the search ended early; a plan could not be decided
};

static int kept_by(const struct certificate *c, int stage, int before, const struct choice *choice)
{
    return stage == 0 ? 0 : rb_choice_kept(&c->stages[stage - 1].choices[before].choice, &choice->choice);
}

// ---- the space, less what a theorem excludes

// Lower bound on the mean cost of a stage, however many nodes are inherited: nodes are billed for at least the work
// done on them, and all of them until one trial has ended, except for their queueing delay.
static double floor_uusd(const struct rb_search *search, int stage, const struct rb_choice *choice)
{
    const struct rb_sim_offer *o = &search->scenario->sim_offers[choice->offer];
    const int per_node = o->offer->gpus, n_trials = rb_search_n_trials(search, stage);
    const double nodes_a_trial =
        choice->gpus > per_node ? rb_nodes_per_trial(per_node, choice->gpus) : 1.0 / (per_node / choice->gpus);
    double trial_s;
    if (!rb_search_trial_s(search, stage, choice->offer, choice->gpus, &trial_s))
        return 0;
    const double work_s = n_trials * nodes_a_trial * trial_s;
    const double all_s = choice->nodes * (fmax(trial_s, work_s / choice->nodes) - rb_queue_mean_s(o->provisioning));
    return (double)rb_bill_uusd_per_hour(&o->billing) / (double)RB_S_PER_HOUR * fmax(work_s, all_s);
}

static bool is_listed(const struct rb_search *search, int stage, const struct rb_choice *c)
{
    return rb_nodes_per_trial(rb_search_gpus_per_node(search, c->offer), c->gpus) <= c->nodes &&
           !rb_is_endless(search, stage, c->offer, c->gpus);
}

static int list_choices(const struct rb_search *search, int stage, struct choice *out)
{
    int n = 0;
    for (int offer = 0; offer < search->scenario->n_offers; offer++) {
        const struct rb_sizes *sizes = &search->sizes[offer];
        const int most =
            sizes->n > 0 && !rb_search_is_outbid(search, offer) ? rb_search_useful_nodes(search, stage, offer) : 0;
        for (int nodes = 1; nodes <= most; nodes++) {
            for (int i = 0; i < sizes->n; i++) {
                const struct rb_choice choice = {offer, sizes->gpus[i], nodes};
                if (!is_listed(search, stage, &choice))
                    continue;
                if (out)
                    out[n].choice = choice;
                n++;
            }
        }
    }
    return n;
}

// Lower bound on the cost of one stage in any plan: its work on the cheapest offer, over all offers, including those
// that a limit leaves out.
static double least_work_of_stage(const struct rb_search *search, int stage)
{
    double least_uusd = INFINITY;
    for (int offer = 0; offer < search->scenario->n_offers; offer++) {
        int sizes[RB_LIMIT_GPUS_PER_NODE];
        const int n = rb_planner_sizes(search->scenario, offer, sizes);
        for (int i = 0; i < n; i++) {
            const int nodes = rb_nodes_per_trial(rb_search_gpus_per_node(search, offer), sizes[i]);
            const struct rb_choice one = {offer, sizes[i], nodes};
            least_uusd = fmin(least_uusd, floor_uusd(search, stage, &one));
        }
    }
    return isinf(least_uusd) ? 0 : least_uusd;
}

static double least_work_uusd(const struct rb_search *search)
{
    double sum_uusd = 0;
    for (int stage = 0; stage < search->scenario->stages.n; stage++)
        sum_uusd += least_work_of_stage(search, stage);
    return sum_uusd;
}

static void drop_above_floor(struct certificate *c, const double *least_uusd, double sum_uusd)
{
    for (int stage = 0; stage < c->n_stages; stage++) {
        struct stage *s = &c->stages[stage];
        int n = 0;
        for (int i = 0; i < s->n; i++) {
            const double others_uusd = sum_uusd - least_uusd[stage];
            if (others_uusd + floor_uusd(c->search, stage, &s->choices[i].choice) <
                c->best_high_uusd - c->tolerance_uusd)
                s->choices[n++] = s->choices[i];
        }
        s->n = n;
    }
}

// Returns a lower bound on the cost of every plan of the space, by the theorem alone.
static double list_space(struct certificate *c)
{
    double least_uusd[RB_LIMIT_STAGES], sum_uusd = 0;
    for (int stage = 0; stage < c->n_stages; stage++) {
        struct stage *s = &c->stages[stage];
        s->choices = rb_xcalloc((size_t)list_choices(c->search, stage, NULL) + 1, sizeof *s->choices);
        s->n = list_choices(c->search, stage, s->choices);
        least_uusd[stage] = INFINITY;
        for (int i = 0; i < s->n; i++)
            least_uusd[stage] = fmin(least_uusd[stage], floor_uusd(c->search, stage, &s->choices[i].choice));
        sum_uusd += least_uusd[stage];
    }
    drop_above_floor(c, least_uusd, sum_uusd);
    for (int stage = 0; stage < c->n_stages; stage++) {
        for (int i = 0; i < c->stages[stage].n; i++) {
            struct choice *choice = &c->stages[stage].choices[i];
            choice->columns = rb_xcalloc((size_t)choice->choice.nodes + 1, sizeof *choice->columns);
        }
    }
    return sum_uusd;
}

static void want_all(struct certificate *c)
{
    c->n_columns = 0;
    for (int stage = 0; stage < c->n_stages; stage++) {
        for (int i = 0; i < c->stages[stage].n; i++) {
            struct choice *choice = &c->stages[stage].choices[i];
            for (int j = 0; j < (stage > 0 ? c->stages[stage - 1].n : 1); j++) {
                struct column *column = &choice->columns[kept_by(c, stage, j, choice)];
                c->n_columns += !column->wanted;
                column->wanted = true;
            }
        }
    }
}

static double effort_of_trial(const struct certificate *c, int stage, const struct rb_choice *choice)
{
    const struct rb_plan_nodes nodes = {choice->offer, choice->nodes};
    const struct rb_plan_stage plan = rb_scenario_stage(c->search->scenario, stage, choice->gpus, &nodes);
    struct rb_sampler_tables *tables = rb_trial_laws_tables(c->search->laws);
    return rb_table_runs_apply(c->search->scenario, &plan, 1, stage, tables) ? 1 : BY_PARTS;
}

// Cost of one world of all required columns, in trials drawn from tables.
static double effort(const struct certificate *c)
{
    double trials = 0;
    for (int stage = 0; stage < c->n_stages; stage++) {
        for (int i = 0; i < c->stages[stage].n; i++) {
            const struct choice *choice = &c->stages[stage].choices[i];
            const double column =
                (rb_search_n_trials(c->search, stage) + 4) * effort_of_trial(c, stage, &choice->choice);
            for (int kept = 0; kept <= choice->choice.nodes; kept++)
                trials += choice->columns[kept].wanted ? column : 0;
        }
    }
    return trials;
}

static bool fits(const struct certificate *c, int n_worlds)
{
    return rb_table_bytes((double)c->n_columns, n_worlds) <= rb_search_memory_for_tables(c->search);
}

// ---- columns

// Bound on the error of the mean of n values, less those of `minus` if given.
static double slack_of(const double *values, const double *minus, int n, double sigma)
{
    double sum = 0, squares = 0;
    for (int r = 0; r < n; r++)
        sum += values[r] - (minus ? minus[r] : 0);
    for (int r = 0; r < n; r++) {
        const double off = values[r] - (minus ? minus[r] : 0) - sum / n;
        squares += off * off;
    }
    return sigma * sqrt(squares / ((double)n * fmax(1, n - 1)));
}

// Cost: relative to the best plan's column of the same stage, so that their common part cancels. Time: the mean of the
// lowest share of a sample has at most the standard error of the mean of all, divided by that share.
static void measure(const struct certificate *c, struct column *column, const struct rb_stage_sample *best)
{
    const struct rb_stage_sample *s = column->sample;
    const double share = (double)c->need / c->n_worlds;
    column->least_uusd = s->cost_mean_uusd - slack_of(s->cost_uusd, best->cost_uusd, c->n_worlds, c->sigma);
    column->least_us = s->time_low_us - slack_of(s->time_us, NULL, c->n_worlds, c->sigma) / share;
}

static const struct rb_stage_sample *best_column(struct certificate *c, int stage, struct rb_err *err)
{
    const struct rb_choice *choice = &c->best->stages[stage];
    return rb_stage_samples_get(c->samples, stage, choice, rb_choice_kept(stage > 0 ? choice - 1 : NULL, choice), err);
}

static bool fill_columns(struct certificate *c, struct rb_err *err)
{
    for (int stage = 0; stage < c->n_stages; stage++) {
        const struct rb_stage_sample *best = best_column(c, stage, err);
        if (!best)
            return false;
        for (int i = 0; i < c->stages[stage].n; i++) {
            struct choice *choice = &c->stages[stage].choices[i];
            for (int kept = 0; kept <= choice->choice.nodes; kept++) {
                struct column *column = &choice->columns[kept];
                if (!column->wanted)
                    continue;
                column->sample = rb_stage_samples_get(c->samples, stage, &choice->choice, kept, err);
                if (!column->sample)
                    return false;
                measure(c, column, best);
                c->cut = !rb_search_has_time_for(c->search, (double)c->n_worlds / c->n_stages);
                if (c->cut)
                    return true;
            }
        }
    }
    return true;
}

// Cost of the best plan beyond its columns in the same worlds, and thus the upper bound on the columns of other plans.
static bool compare_with_columns(struct certificate *c, struct rb_err *err)
{
    const struct rb_runs *runs;
    RB_AUTO(rb_auto_free) double *more = rb_xcalloc((size_t)c->n_worlds, sizeof *more);
    double mean_uusd = 0;
    if (!rb_search_runs(c->search, c->best, c->n_worlds, &runs, err))
        return false;
    for (int r = 0; r < c->n_worlds; r++)
        more[r] = (double)runs->cost_uusd[r];
    c->best_columns_uusd = 0;
    for (int stage = 0; stage < c->n_stages; stage++) {
        const struct rb_stage_sample *best = best_column(c, stage, err);
        if (!best)
            return false;
        c->best_columns_uusd += best->cost_mean_uusd;
        for (int r = 0; r < c->n_worlds; r++)
            more[r] -= best->cost_uusd[r];
    }
    for (int r = 0; r < c->n_worlds; r++)
        mean_uusd += more[r] / c->n_worlds;
    c->more_uusd = fmax(0, mean_uusd) + slack_of(more, NULL, c->n_worlds, c->sigma);
    c->allowed_uusd = c->best_columns_uusd + c->more_uusd - c->tolerance_uusd;
    return true;
}

// ---- shortest paths

static double weigh(const struct column *column, double price)
{
    return column->sample ? column->least_uusd + price * column->least_us : INFINITY;
}

static void step_back(const struct certificate *c, int stage, double price, const double *after, double *out)
{
    for (int i = 0; i < c->stages[stage].n; i++) {
        out[i] = INFINITY;
        for (int k = 0; k < c->stages[stage + 1].n; k++) {
            const struct choice *next = &c->stages[stage + 1].choices[k];
            out[i] = fmin(out[i], weigh(&next->columns[kept_by(c, stage + 1, i, next)], price) + after[k]);
        }
    }
}

// The deadline, beyond which time has a price. Without a deadline all prices are 0.
static double deadline_us(const struct certificate *c)
{
    return c->search->req->deadline_us < 0 ? 0 : (double)c->search->req->deadline_us;
}

// Lower bound on the cost of all stages, with this price on every microsecond beyond the deadline.
static double price_paths(const struct certificate *c, double price, double *const to_go[])
{
    double least = INFINITY;
    memset(to_go[c->n_stages - 1], 0, (size_t)c->stages[c->n_stages - 1].n * sizeof **to_go);
    for (int stage = c->n_stages - 2; stage >= 0; stage--)
        step_back(c, stage, price, to_go[stage + 1], to_go[stage]);
    for (int i = 0; i < c->stages[0].n; i++)
        least = fmin(least, weigh(&c->stages[0].choices[i].columns[0], price) + to_go[0][i]);
    return least - price * deadline_us(c);
}

// The price with the largest bound, and some around it. Returns the bound.
static double choose_prices(struct certificate *c)
{
    double *const *scratch = c->to_go[0];
    double low = 0, high = 1e-9 * c->best_high_uusd, at_low = price_paths(c, 0, scratch), at_high;
    c->prices[0] = 0;
    if (c->search->req->deadline_us < 0) {
        for (int k = 1; k <= PRICES; k++)
            c->prices[k] = 0;
        return at_low;
    }
    for (at_high = price_paths(c, high, scratch); at_high > at_low && high < c->best_high_uusd; high *= 4) {
        low = high / 4;
        at_low = at_high;
        at_high = price_paths(c, 4 * high, scratch);
    }
    for (int i = 0; i < 24; i++) { // the bound is concave in the price
        const double a = low + (high - low) / 3, b = high - (high - low) / 3;
        if (price_paths(c, a, scratch) < price_paths(c, b, scratch))
            low = a;
        else
            high = b;
    }
    const double best = (low + high) / 2;
    const double around[PRICES] = {best, best / 3, 2 * best, 6 * best};
    memcpy(c->prices + 1, around, sizeof around);
    return fmax(at_low, price_paths(c, best, scratch));
}

static double fill_paths(struct certificate *c)
{
    const double bound = choose_prices(c);
    for (int k = 0; k <= PRICES; k++)
        price_paths(c, c->prices[k], c->to_go[k]);
    return bound;
}

// Excludes columns that are on no sufficiently cheap plan. One forward pass for each price.
static void drop_columns(struct certificate *c)
{
    double *from[RB_LIMIT_STAGES];
    for (int stage = 0; stage < c->n_stages; stage++)
        from[stage] = rb_xcalloc((size_t)c->stages[stage].n + 1, sizeof **from);
    for (int k = 0; k <= PRICES; k++) {
        const double price = c->prices[k], most = c->allowed_uusd + price * deadline_us(c);
        for (int stage = 0; stage < c->n_stages; stage++) {
            for (int i = 0; i < c->stages[stage].n; i++)
                from[stage][i] = INFINITY;
            for (int i = 0; i < c->stages[stage].n; i++) {
                struct choice *choice = &c->stages[stage].choices[i];
                for (int kept = 0; kept <= choice->choice.nodes; kept++) {
                    struct column *column = &choice->columns[kept];
                    double before = stage == 0 ? 0 : INFINITY;
                    for (int j = 0; column->sample && stage > 0 && j < c->stages[stage - 1].n; j++)
                        if (kept_by(c, stage, j, choice) == kept)
                            before = fmin(before, from[stage - 1][j]);
                    if (before + weigh(column, price) + c->to_go[k][stage][i] >= most) {
                        column->sample = NULL;
                        column->wanted = false;
                    }
                    from[stage][i] = fmin(from[stage][i], before + weigh(column, price));
                }
            }
        }
    }
    for (int stage = 0; stage < c->n_stages; stage++)
        free(from[stage]);
}

// ---- plans one by one

static void fill_least_times(struct certificate *c)
{
    const int n = c->n_worlds;
    memset(c->least_time + (size_t)c->n_stages * (size_t)n, 0, (size_t)n * sizeof *c->least_time);
    for (int stage = c->n_stages - 1; stage >= 0; stage--) {
        double *least = c->least_time + (size_t)stage * (size_t)n, *later = least + n;
        for (int r = 0; r < n; r++)
            least[r] = INFINITY;
        for (int i = 0; i < c->stages[stage].n; i++) {
            const struct choice *choice = &c->stages[stage].choices[i];
            for (int kept = 0; kept <= choice->choice.nodes; kept++) {
                const struct rb_stage_sample *s = choice->columns[kept].sample;
                for (int r = 0; s && r < n; r++)
                    least[r] = fmin(least[r], s->time_us[r]);
            }
        }
        for (int r = 0; r < n; r++)
            least[r] += later[r];
    }
}

static bool run_unseen(struct certificate *c, const struct rb_candidate *plan, int64_t *out_uusd, struct rb_err *err)
{
    const int n = c->n_unseen, first = c->round * n;
    RB_AUTO(rb_auto_free) int64_t *time_us = rb_xcalloc((size_t)n, sizeof *time_us);
    return rb_search_runs_from(c->search, plan, UNSEEN + (uint32_t)first, n, time_us, out_uusd, err);
}

// Difference of mean cost, the other plan minus the best, from runs of both as a whole that were not used to choose
// either.
static bool compare_runs(struct certificate *c, const struct rb_candidate *other, struct rb_difference *out,
                         struct rb_err *err)
{
    const int n = c->n_unseen;
    RB_AUTO(rb_auto_free) int64_t *cost_uusd = rb_xcalloc((size_t)n, sizeof *cost_uusd);
    if (!run_unseen(c, other, cost_uusd, err))
        return false;
    *out = rb_difference_of(cost_uusd, c->best_runs_uusd, n);
    return true;
}

// Decides a plan that columns do not exclude. Either it is not cheaper by more than the tolerance, or it falls short of
// the confidence, or it is a better plan than the best.
static bool look_at(struct certificate *c, struct rb_candidate *other, struct rb_err *err)
{
    struct rb_difference more;
    bool keeps, is_better, was_open = c->search->undecided;
    if (rb_candidate_same_choices(other, c->best))
        return true;
    if (!compare_runs(c, other, &more, err))
        return false;
    if (more.mean - c->sigma_single * more.stderr_ >= -c->tolerance_uusd)
        return true;
    if (!rb_search_score(c->search, other, c->search->req->samples, err) ||
        !rb_search_decide(c->search, other, &keeps, err))
        return false;
    is_better = keeps && rb_candidate_compare(other, c->best, c->search->req->objective) < 0;
    c->open = c->open || (c->search->undecided && !was_open) || (keeps && !is_better);
    if (is_better) {
        *c->best = *other;
        c->better = true;
    }
    return true;
}

static bool may_be_cheap(const struct certificate *c, int stage, int choice, double cost_uusd, double low_us)
{
    for (int k = 0; k <= PRICES; k++)
        if (cost_uusd + c->prices[k] * (low_us - deadline_us(c)) + c->to_go[k][stage][choice] >= c->allowed_uusd)
            return false;
    return true;
}

// Leaves the sums that include this stage in row stage + 1.
static bool may_be_in_time(struct certificate *c, int stage, const struct rb_stage_sample *s)
{
    const struct rb_plan_request *req = c->search->req;
    const size_t n = (size_t)c->n_worlds;
    const double deadline_us = req->deadline_us < 0 ? INFINITY : (double)req->deadline_us;
    const double budget_uusd = req->budget_uusd < 0 ? INFINITY : (double)req->budget_uusd;
    const double *time = c->time + (size_t)stage * n, *cost = c->cost + (size_t)stage * n;
    const double *later = c->least_time + (size_t)(stage + 1) * n;
    double *next_time = c->time + (size_t)(stage + 1) * n, *next_cost = c->cost + (size_t)(stage + 1) * n;
    int within = 0;
    for (size_t r = 0; r < n; r++) {
        next_time[r] = time[r] + s->time_us[r];
        next_cost[r] = cost[r] + s->cost_uusd[r];
        within += (next_time[r] + later[r] <= deadline_us) & (next_cost[r] <= budget_uusd);
    }
    return within >= c->need || c->search->on_average; // on average the price on time bounds the mean
}

static bool visit(struct certificate *c, int stage, int before, struct rb_candidate *plan, double cost_uusd,
                  double low_us, struct rb_err *err)
{
    if (stage == c->n_stages)
        return look_at(c, plan, err);
    for (int i = 0; i < c->stages[stage].n && !c->better && !c->cut; i++) {
        const struct choice *choice = &c->stages[stage].choices[i];
        const struct column *column = &choice->columns[kept_by(c, stage, before, choice)];
        if (!column->sample || !may_be_cheap(c, stage, i, cost_uusd + column->least_uusd, low_us + column->least_us))
            continue;
        c->cut = ++c->n_visits > c->most_visits || rb_search_out_of_time(c->search);
        if (!may_be_in_time(c, stage, column->sample))
            continue;
        plan->stages[stage] = choice->choice;
        if (!visit(c, stage + 1, i, plan, cost_uusd + column->least_uusd, low_us + column->least_us, err))
            return false;
    }
    return true;
}

// ---- the whole

// The minimum share of n worlds, barring the risk, for a plan that keeps the constraints with confidence + RB_DECIDED.
static int need_of(double confidence, int n, double risk)
{
    int low = 0, high = rb_need_count(fmin(1, confidence), n);
    while (low < high) { // rb_decide_share returns FALLS_SHORT below some number of hits
        const int middle = (low + high) / 2;
        if (rb_decide_share(middle, n, confidence, risk) == RB_DECIDED_FALLS_SHORT)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void begin_worlds(struct certificate *c, int n)
{
    const size_t rows = (size_t)c->n_stages + 1;
    rb_stage_samples_destroy(c->samples);
    c->n_worlds = n;
    c->need = c->search->on_average ? n : need_of(rb_search_confidence(c->search), n, RB_PROOF_RISK / 4 / LEVELS);
    c->samples = rb_stage_samples_create(c->search, n, c->need);
    c->time = rb_xrealloc(c->time, rows * (size_t)n, sizeof *c->time);
    c->cost = rb_xrealloc(c->cost, rows * (size_t)n, sizeof *c->cost);
    c->least_time = rb_xrealloc(c->least_time, rows * (size_t)n, sizeof *c->least_time);
    memset(c->time, 0, (size_t)n * sizeof *c->time);
    memset(c->cost, 0, (size_t)n * sizeof *c->cost);
}

// Makes columns of n worlds and excludes plans by them. Leaves the bound unchanged if time runs out.
static bool look_at_worlds(struct certificate *c, int n, double *io_bound_uusd, struct rb_err *err)
{
    begin_worlds(c, n);
    if (!fill_columns(c, err))
        return false;
    if (c->cut)
        return true;
    if (!compare_with_columns(c, err))
        return false;
    *io_bound_uusd = fill_paths(c) - c->best_columns_uusd - c->more_uusd + c->best_low_uusd;
    drop_columns(c);
    return true;
}

// The number of standard errors that bounds the one-sided error of all n means, except with a quarter of the risk.
static double sigma_of(double n_means)
{
    return sqrt(2 * log(n_means / (RB_PROOF_RISK / 4)));
}

static bool run_best(struct certificate *c, struct rb_err *err)
{
    const int n = c->n_unseen;
    c->best_runs_uusd = rb_xrealloc(c->best_runs_uusd, (size_t)n, sizeof *c->best_runs_uusd);
    if (!run_unseen(c, c->best, c->best_runs_uusd, err))
        return false;
    RB_AUTO(rb_auto_free) int64_t *zeros = rb_xcalloc((size_t)n, sizeof *zeros);
    const struct rb_difference cost = rb_difference_of(c->best_runs_uusd, zeros, n);
    c->sigma_single = sigma_of(SINGLE_MEANS);
    c->best_low_uusd = fmax(0, cost.mean - c->sigma_single * cost.stderr_);
    c->best_high_uusd = cost.mean + c->sigma_single * cost.stderr_;
    c->tolerance_uusd = RB_PROOF_TOLERANCE * c->best_low_uusd;
    return true;
}

static void finish(struct certificate *c)
{
    for (int stage = 0; stage < c->n_stages; stage++) {
        for (int i = 0; i < c->stages[stage].n; i++)
            free(c->stages[stage].choices[i].columns);
        free(c->stages[stage].choices);
        c->stages[stage] = (struct stage){NULL, 0};
        for (int k = 0; k <= PRICES; k++) {
            free(c->to_go[k][stage]);
            c->to_go[k][stage] = NULL;
        }
    }
    rb_stage_samples_destroy(c->samples);
    c->samples = NULL;
    free(c->time);
    free(c->cost);
    free(c->least_time);
    free(c->best_runs_uusd);
    c->best_runs_uusd = NULL;
    c->time = c->cost = c->least_time = NULL;
}

// One round relative to one best plan. *out_small: the space is small enough to be examined completely.
static bool round_of(struct certificate *c, double *out_bound_uusd, bool *out_small, struct rb_err *err)
{
    struct rb_candidate plan = {.n_stages = c->n_stages};
    c->better = false;
    *out_bound_uusd = least_work_uusd(c->search);
    *out_small = rb_search_trials_in_all(c->search) * BY_PARTS * FEW_WORLDS <= MOST_EFFORT;
    c->cut = c->cut || rb_search_out_of_time(c->search);
    if (c->cut)
        return true;
    if (*out_small && !run_best(c, err))
        return false;
    *out_bound_uusd = list_space(c);
    if (!*out_small)
        return true;
    want_all(c);
    c->sigma = sigma_of(2.0 * LEVELS * MOST_ROUNDS * (c->n_columns + c->n_stages));
    *out_small = c->n_columns <= MOST_COLUMNS && effort(c) * FEW_WORLDS <= MOST_EFFORT && fits(c, FEW_WORLDS);
    if (!*out_small)
        return true;
    for (int stage = 0; stage < c->n_stages; stage++)
        for (int k = 0; k <= PRICES; k++)
            c->to_go[k][stage] = rb_xcalloc((size_t)c->stages[stage].n + 1, sizeof **c->to_go[k]);
    if (!look_at_worlds(c, FEW_WORLDS, out_bound_uusd, err))
        return false;
    if (!c->cut && effort(c) * MANY_WORLDS <= MOST_EFFORT && fits(c, MANY_WORLDS) &&
        !look_at_worlds(c, MANY_WORLDS, out_bound_uusd, err))
        return false;
    if (c->cut)
        return true;
    fill_least_times(c);
    return visit(c, 0, 0, &plan, 0, 0, err);
}

static struct rb_plan_bound bound_of(const struct certificate *c, double bound_uusd, bool small)
{
    const double cost_uusd = (double)c->best->estimate.cost_uusd.mean;
    static const char *const taken_for_granted[] = {
        "mean costs over 1,024 runs or more are taken to be normally distributed"};
    struct rb_plan_bound b = {.nodes_explored = c->n_visits, .tolerance = RB_PROOF_TOLERANCE, .risk = RB_PROOF_RISK};
    if (c->search->n_left_out > 0)
        bound_uusd = least_work_uusd(c->search);
    b.present = bound_uusd > 0;
    b.relaxations = taken_for_granted;
    b.n_relaxations = small;
    b.proved = small && !c->cut && !c->open && !c->better && !c->search->undecided && c->search->n_left_out == 0 &&
               !(c->search->guard > 0);
    if (b.proved)
        bound_uusd = (1 - RB_PROOF_TOLERANCE) * cost_uusd;
    b.cost_uusd = (int64_t)floor(fmin(fmax(0, bound_uusd), cost_uusd));
    b.gap = b.cost_uusd > 0 ? fmax(0, cost_uusd / (double)b.cost_uusd - 1) : INFINITY;
    if (b.proved)
        b.why_not = NULL;
    else if (c->search->n_left_out > 0)
        b.why_not = "offers that may lose nodes were not considered";
    else if (c->search->req->samples < RB_PROOF_FEWEST && c->search->req->time_limit_us > 0)
        b.why_not = "too few runs of each plan fit into the time limit";
    else if (c->search->guard > 0)
        b.why_not = "cheaper plans that seemed to keep the constraints turned out not to in unseen runs";
    else if (!small)
        b.why_not = "there are too many choices to exclude each of them";
    else if (c->cut || c->better)
        b.why_not = "the search was cut before every other plan was excluded";
    else
        b.why_not = "a plan is so near to the confidence asked that no affordable number of runs decides";
    return b;
}

bool rb_certify(struct rb_search *search, struct rb_candidate *io_best, struct rb_plan_bound *out_bound, bool *io_cut,
                struct rb_err *err)
{
    const int64_t limit = search->req->node_limit;
    struct certificate c = {.search = search,
                            .best = io_best,
                            .n_stages = io_best->n_stages,
                            .most_visits = limit > 0 ? limit : MOST_VISITS,
                            .n_unseen = search->req->samples,
                            .best_high_uusd = INFINITY,
                            .better = true,
                            .cut = *io_cut};
    const double affordable = MOST_EFFORT / BY_PARTS / rb_search_trials_in_all(search);
    if (c.n_unseen > affordable)
        c.n_unseen = affordable > FEW_WORLDS ? (int)affordable : FEW_WORLDS;
    double bound_uusd = 0;
    bool ok = true, small = true;
    for (; ok && small && c.better && (c.round == 0 || !c.cut) && c.round < MOST_ROUNDS; c.round++) {
        ok = round_of(&c, &bound_uusd, &small, err);
        finish(&c);
    }
    *out_bound = bound_of(&c, bound_uusd, small);
    *io_cut = *io_cut || c.cut;
    return ok;
}
