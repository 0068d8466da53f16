#include "planner/proof/certificate.h"

#include "planner/proof/decide.h"
#include "planner/proof/columns.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FEW_WORLDS   1024                // of every column: fewer do not show the spread of a heavy tail
#define MANY_WORLDS  4096                // of the columns that remain after the first round
#define MOST_EFFORT  6e7                 // trials drawn for columns from tables: a third of a second ...
#define MOST_VISITS  50000               // partial plans
#define MOST_ROUNDS  4                   // each starts from a better plan
#define LEVELS       2                   // of worlds: few, many
#define SINGLE_MEANS (MOST_ROUNDS * 3)   // the best's, up and down; a rival's beside it
#define UNSEEN       (UINT32_C(5) << 21) // runs that were not used to find a plan; each round has its own

struct certificate {
    struct rb_search *search;
    struct rb_candidate *best;
    struct rb_columns columns;
    int n_stages, round, n_unseen;
    double sigma_single;                  // standard errors bounding the error of all means of whole plans
    int64_t *best_runs_uusd;              // [n_unseen] costs of the best in unseen runs
    double best_low_uusd, best_high_uusd; // its mean cost lies between the two
    double tolerance_uusd;
    double excess_uusd;  // upper bound on what the best costs beyond its columns
    double *least_time;  // [n_stages + 1][n_worlds], of the stages from i on
    double *time, *cost; // [n_stages + 1][n_worlds], of the stages before i
    int64_t n_visits, most_visits;
    double open_uusd;       // lower bound on the cost of all plans that could not be decided
    bool better, cut, open; // a better plan was found; the search ended early; a plan could not be decided
};

// The excess of the best plan's cost over its columns in the same worlds. Every other plan costs at least its columns.
static bool compare_with_columns(struct certificate *c, struct rb_err *err)
{
    const int n = c->columns.n_worlds;
    const struct rb_runs *runs;
    RB_AUTO(rb_auto_free) double *excess = rb_xcalloc((size_t)n, sizeof *excess);
    double mean_uusd = 0;
    if (!rb_search_runs(c->search, c->best, n, &runs, err))
        return false;
    for (int r = 0; r < n; r++) {
        excess[r] = (double)runs->cost_uusd[r];
        for (int stage = 0; stage < c->n_stages; stage++)
            excess[r] -= c->columns.stages[stage].best->cost_uusd[r];
        mean_uusd += excess[r] / n;
    }
    c->excess_uusd = fmax(0, mean_uusd) + rb_columns_slack(excess, NULL, n, c->columns.sigma);
    c->columns.allowed_uusd = c->excess_uusd - c->tolerance_uusd;
    return true;
}

// ---- plans one by one

static void fill_least_times(struct certificate *c)
{
    const int n = c->columns.n_worlds;
    memset(c->least_time + (size_t)c->n_stages * (size_t)n, 0, (size_t)n * sizeof *c->least_time);
    for (int stage = c->n_stages - 1; stage >= 0; stage--) {
        double *least = c->least_time + (size_t)stage * (size_t)n, *later = least + n;
        for (int r = 0; r < n; r++)
            least[r] = c->columns.stages[stage].least_us[r] + later[r];
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
    bool keeps, is_better;
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
    if (!is_better && (keeps || other->undecided)) {
        c->open = true;
        c->open_uusd = fmin(c->open_uusd, c->best_low_uusd + more.mean - c->sigma_single * more.stderr_);
    }
    if (is_better) {
        *c->best = *other;
        c->better = true;
    }
    return true;
}

// Sums of the bounds on the columns of a beginning of a plan.
struct sums {
    double more_uusd, least_us[RB_COLUMNS_TILTS];
};

static struct sums sums_with(const struct sums *before, const struct rb_column *column)
{
    struct sums sums = *before;
    sums.more_uusd += column->more_uusd;
    for (int t = 0; t < RB_COLUMNS_TILTS; t++)
        sums.least_us[t] += column->least_us[t];
    return sums;
}

static bool may_be_cheap(const struct certificate *c, int stage, int choice, const struct sums *sums)
{
    const double deadline_us = rb_columns_deadline_us(&c->columns);
    for (int k = 0; k < RB_COLUMNS_PRICES; k++) {
        const double late_us = sums->least_us[c->columns.prices[k].tilt] - deadline_us;
        if (sums->more_uusd + c->columns.prices[k].uusd_per_us * late_us + c->columns.to_go[k][stage][choice] >=
            c->columns.allowed_uusd)
            return false;
    }
    return true;
}

// Leaves the sums that include this stage in row stage + 1.
static bool may_be_in_time(struct certificate *c, int stage, const struct rb_stage_sample *s)
{
    const struct rb_plan_request *req = c->search->req;
    const size_t n = (size_t)c->columns.n_worlds;
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
    return within >= c->columns.need || c->search->on_average; // on average the price on time bounds the mean
}

static bool visit(struct certificate *c, int stage, int before, struct rb_candidate *plan, const struct sums *sums,
                  struct rb_err *err)
{
    if (stage == c->n_stages)
        return look_at(c, plan, err);
    for (int i = 0; i < c->columns.stages[stage].n && !c->better && !c->cut; i++) {
        const struct rb_column_choice *choice = &c->columns.stages[stage].choices[i];
        const struct rb_column *column = rb_columns_after(&c->columns, stage, before, choice);
        const struct sums next = sums_with(sums, column);
        if (!column->sample || !may_be_cheap(c, stage, i, &next))
            continue;
        c->cut = ++c->n_visits > c->most_visits || rb_search_out_of_time(c->search);
        if (!may_be_in_time(c, stage, column->sample))
            continue;
        plan->stages[stage] = choice->choice;
        if (!visit(c, stage + 1, i, plan, &next, err))
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

static bool begin_worlds(struct certificate *c, int n, struct rb_err *err)
{
    const size_t rows = (size_t)c->n_stages + 1;
    const int need = c->search->on_average
                         ? n
                         : need_of(rb_search_confidence(c->search), n, RB_PROOF_RISK / 4 / LEVELS / (c->n_stages + 1));
    c->time = rb_xrealloc(c->time, rows * (size_t)n, sizeof *c->time);
    c->cost = rb_xrealloc(c->cost, rows * (size_t)n, sizeof *c->cost);
    c->least_time = rb_xrealloc(c->least_time, rows * (size_t)n, sizeof *c->least_time);
    memset(c->time, 0, (size_t)n * sizeof *c->time);
    memset(c->cost, 0, (size_t)n * sizeof *c->cost);
    return rb_columns_begin(&c->columns, c->best, n, need, err) && compare_with_columns(c, err);
}

// Excludes plans by columns of n worlds. *out_all: all columns that remain are sampled.
static bool look_at_worlds(struct certificate *c, int n, double *io_bound_uusd, bool *out_all, struct rb_err *err)
{
    double more_uusd = -INFINITY;
    if (!begin_worlds(c, n, err) || !rb_columns_fill(&c->columns, &more_uusd, out_all, err))
        return false;
    c->cut = c->cut || c->columns.cut;
    *io_bound_uusd = fmax(*io_bound_uusd, c->best_low_uusd - c->excess_uusd + more_uusd);
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
    rb_columns_finish(&c->columns);
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
    *out_bound_uusd = rb_least_work_uusd(c->search);
    *out_small = rb_search_trials_in_all(c->search) * RB_COLUMNS_BY_PARTS * FEW_WORLDS <= MOST_EFFORT;
    c->cut = c->cut || rb_search_out_of_time(c->search);
    if (c->cut || !*out_small)
        return true;
    rb_columns_init(&c->columns, c->search, MOST_EFFORT);
    c->columns.sigma = sigma_of(2.0 * LEVELS * MOST_ROUNDS * (c->columns.n_columns + 2 * c->n_stages));
    if (!run_best(c, err) || !look_at_worlds(c, FEW_WORLDS, out_bound_uusd, out_small, err))
        return false;
    if (c->cut || !*out_small)
        return true;
    if (c->columns.effort + rb_columns_effort(&c->columns, MANY_WORLDS) <= MOST_EFFORT &&
        rb_columns_fit(&c->columns, MANY_WORLDS) && !look_at_worlds(c, MANY_WORLDS, out_bound_uusd, out_small, err))
        return false;
    if (c->cut)
        return true;
    fill_least_times(c);
    c->open = false;
    c->open_uusd = INFINITY;
    if (!visit(c, 0, 0, &plan, &(struct sums){0}, err))
        return false;
    if (!c->cut && !c->better) // every other plan is excluded
        *out_bound_uusd = fmin(c->best_low_uusd - c->tolerance_uusd, c->open_uusd);
    return true;
}

// Nodes that a stage inherits have an age, which their hazard may depend on and columns do not know.
static bool nodes_age(const struct rb_search *search)
{
    const struct rb_scenario *s = search->scenario;
    bool age = false;
    for (int i = 0; i < s->n_offers && s->stages.n > 1 && !age; i++)
        age = s->sim_offers[i].usable && rb_provisioning_hazard(s->sim_offers[i].provisioning).n_later > 0;
    return age;
}

static bool markets_go_down(const struct rb_search *search)
{
    const struct rb_scenario *s = search->scenario;
    bool down = false;
    for (int i = 0; i < s->n_offers && !down; i++)
        down = s->sim_offers[i].usable && rb_sim_offer_goes_down(&s->sim_offers[i]);
    return down;
}

static struct rb_plan_bound bound_of(const struct certificate *c, double bound_uusd, bool small)
{
    const double cost_uusd = (double)c->best->estimate.cost_uusd.mean;
    static const char *const taken_for_granted[] = {
        "mean costs over 1,024 runs or more are taken to be normally distributed"};
    struct rb_plan_bound b = {.nodes_explored = c->n_visits, .tolerance = RB_PROOF_TOLERANCE, .risk = RB_PROOF_RISK};
    const bool age = nodes_age(c->search), down = markets_go_down(c->search);
    if (c->search->n_left_out > 0 || age || down)
        bound_uusd = rb_least_work_uusd(c->search);
    b.present = bound_uusd > 0;
    b.relaxations = taken_for_granted;
    b.n_relaxations = small;
    b.proved = small && !c->cut && !c->open && !c->better && !c->best->undecided && c->search->n_left_out == 0 &&
               !(c->search->guard > 0) && !age && !down;
    if (b.proved)
        bound_uusd = (1 - RB_PROOF_TOLERANCE) * cost_uusd;
    b.cost_uusd = (int64_t)floor(fmin(fmax(0, bound_uusd), cost_uusd));
    b.gap = b.cost_uusd > 0 ? fmax(0, cost_uusd / (double)b.cost_uusd - 1) : INFINITY;
    if (b.proved)
        b.why_not = NULL;
    else if (c->search->n_left_out > 0)
        b.why_not = "offers that may lose nodes were not considered";
    else if (age)
        b.why_not = "spot nodes keep their age from stage to stage, which bounds of single stages do not know";
    else if (down)
        b.why_not = c->search->spans ? "reservations open and close, which bounds of single stages do not know"
                                     : "spot markets go down, which bounds of single stages do not know";
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
    const double affordable = MOST_EFFORT / RB_COLUMNS_BY_PARTS / rb_search_trials_in_all(search);
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
