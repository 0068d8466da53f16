#include "planner/proof/exact.h"

#include "planner/proof/affordable.h"
#include "planner/proof/proof.h"
#include "planner/request/memory.h"
#include "planner/request/plan_space.h"
#include "planner/search/fastest.h"
#include "planner/search/neighbours.h"

#include "base/log.h"

#include <math.h>
#include <stdlib.h>

#define DEFAULT_NODE_LIMIT 1000000 // some seconds of search
#define DETOURS            1000    // around choices that are not sampled
#define MOST_SAMPLED       2000    // without a limit asked for: some seconds
#define BYTES_A_NODE       224     // of a label
#define GAIN               1e-9    // a smaller relative gain is rounding, not progress
#define COSTS_MORE         1e18    // micro-dollars: more than any plan
#define DOUBLINGS          24      // fourfold steps of the price of time: from a thousandth of what a plan costs to any
#define CLOSE              1.05    // prices whose plans are told apart
#define STEP_DOWN          1.05    // from a price whose plan is in time
#define MOST_STEPS_DOWN    2
#define STEP_UP            1.05 // from a price whose plan is not, squared at every step
#define MOST_STEPS_UP      9
#define ALIKE              0.95 // of a time, is one that takes about as long
#define PRICES             4    // of the Lagrangian bound, around the one that the best plan pays

struct rb_exact_options rb_exact_defaults(void)
{
    return (struct rb_exact_options){
        .accuracy = RB_SCORE_SEARCH_ACCURACY,
        .samples = true,
        .tilts = true,
        .adaptive = true,
        .patience = 10,
        .envelope = true,
        .labels = true,
        .bills = true,
        .told_accuracy = RB_SCORE_ACCURACY,
    };
}

bool rb_exact_out_of_time(struct rb_exact *x)
{
    const struct rb_plan_request *req = x->search->req;
    if (!x->cut && req->out_of_time && req->out_of_time(req->out_of_time_ctx))
        x->cut = true;
    if (!x->cut &&
        rb_search_out_of_memory(x->search, (double)x->lattice.arena.used_bytes + BYTES_A_NODE * (double)x->n_nodes))
        x->cut = true;
    return x->cut;
}

double rb_exact_to_beat(const struct rb_exact *x)
{
    return fmin(x->has_best ? x->best_billed.mean_uusd * (1 - GAIN) : COSTS_MORE, x->affordable_uusd);
}

// --- good plans from prices of time

static bool is_made(const struct rb_exact *x, const struct rb_lattice_path *path)
{
    const struct rb_lattice_entry *before = NULL;
    for (int stage = 0; stage < x->lattice.n_stages; stage++) {
        const struct rb_lattice_entry *e = &x->lattice.stages[stage].entries[path->entry[stage]];
        if (!e->time[rb_lattice_kept(before, e)])
            return false;
        before = e;
    }
    return true;
}

// The most kept nodes with which a stage likely takes about as long: what bounds it there bounds it with all fewer as well.
static int most_alike(const struct rb_lattice_entry *e, int kept)
{
    int k = kept;
    while (k > 0 && k <= e->count && !e->time[k + 1] && !e->sampled[k + 1] &&
           e->likely_mean_s[k + 1] >= ALIKE * e->likely_mean_s[kept])
        k++;
    return k;
}

static bool tighten(struct rb_exact *x, int stage, struct rb_lattice_entry *e, int kept, bool *out_tighter,
                    struct rb_err *err)
{
    const int most = e->sampled[kept] ? kept : most_alike(e, kept);
    *out_tighter = false;
    if (!x->opt.samples)
        return true;
    if (most > kept && !rb_lattice_tighten(&x->lattice, stage, e, most, out_tighter, err))
        return false;
    return *out_tighter || rb_lattice_tighten(&x->lattice, stage, e, kept, out_tighter, err);
}

// Raises the bounds on a path that replicates have not raised yet. *out_new: there were some.
static bool tighten_path(struct rb_exact *x, const struct rb_lattice_path *path, bool *out_new, struct rb_err *err)
{
    const struct rb_lattice_entry *before = NULL;
    *out_new = false;
    for (int stage = 0; stage < x->lattice.n_stages; stage++) {
        struct rb_lattice_entry *e = &x->lattice.stages[stage].entries[path->entry[stage]];
        bool tighter;
        if (!tighten(x, stage, e, rb_lattice_kept(before, e), &tighter, err))
            return false;
        *out_new |= tighter;
        before = e;
    }
    return true;
}

bool rb_exact_make_path(struct rb_exact *x, const struct rb_lattice_path *path, bool *out_new, struct rb_err *err)
{
    struct rb_lattice_entry *before = NULL;
    int64_t made = x->lattice.n_made;
    for (int stage = 0; stage < x->lattice.n_stages; stage++) {
        struct rb_lattice_entry *e = &x->lattice.stages[stage].entries[path->entry[stage]];
        if (!rb_lattice_make(&x->lattice, stage, e, rb_lattice_kept(before, e), err))
            return false;
        before = e;
    }
    *out_new = x->lattice.n_made > made || (!is_made(x, path) && x->n_detours++ < DETOURS);
    return true;
}

// The shortest path whose values are all exact, or for LIKELY at least what replicates say.
static bool settle(struct rb_exact *x, struct rb_togo *t, enum rb_delay delay, double price, bool exact,
                   struct rb_lattice_path *path, struct rb_err *err)
{
    bool changed = true, first = true;
    for (; first || (changed && !rb_exact_out_of_time(x)); first = false) {
        rb_togo_compute(t, delay, price);
        rb_togo_path(t, path);
        if (!tighten_path(x, path, &changed, err) || (!changed && exact && !rb_exact_make_path(x, path, &changed, err)))
            return false;
    }
    return true;
}

bool rb_exact_settle(struct rb_exact *x, struct rb_togo *t, enum rb_delay delay, double price,
                     struct rb_lattice_path *path, struct rb_err *err)
{
    return settle(x, t, delay, price, true, path, err);
}

double rb_exact_likely_s(const struct rb_exact *x, const struct rb_lattice_path *path)
{
    const struct rb_lattice *l = &x->lattice;
    const struct rb_lattice_entry *before = NULL;
    double mean_s = 0, cautious_s = 0;
    for (int stage = 0; stage < l->n_stages; stage++) {
        const struct rb_lattice_entry *e = &l->stages[stage].entries[path->entry[stage]];
        const int kept = rb_lattice_kept(before, e);
        mean_s += e->likely_mean_s[kept];
        cautious_s += e->likely_s[kept];
        before = e;
    }
    // CAUTIOUS is mean + caution x variance.
    const double variance_s2 = l->caution > 0 ? (cautious_s - mean_s) / l->caution : 0;
    return mean_s + l->normal_quantile * sqrt(fmax(0, variance_s2));
}

// Is the best plan at one price of time in time, as far as replicates tell?
static bool looks_in_time(struct rb_exact *x, struct rb_togo *t, double price, bool *out, struct rb_err *err)
{
    struct rb_lattice_path path;
    if (!settle(x, t, RB_DELAY_LIKELY, price, false, &path, err))
        return false;
    *out = rb_exact_likely_s(x, &path) * 1e6 <= (double)x->search->req->deadline_us;
    return true;
}

// The least price at which the plan looks in time, between a factor CLOSE; any price: 0.
static bool likely_price(struct rb_exact *x, struct rb_togo *t, double *out_price, struct rb_err *err)
{
    bool ok;
    *out_price = 0;
    if (!x->search->on_time)
        return true;
    if (!looks_in_time(x, t, 0, &ok, err))
        return false;
    if (ok)
        return true;
    double low = x->lattice.theta[0] * fmax(t->least, 1) * 1e-3, high = low;
    for (int i = 0; i < DOUBLINGS && !ok && !rb_exact_out_of_time(x); i++) {
        low = high;
        high *= 4;
        if (!looks_in_time(x, t, high, &ok, err))
            return false;
    }
    while (ok && high / low > CLOSE && !rb_exact_out_of_time(x)) {
        const double middle = sqrt(low * high);
        bool in_time;
        if (!looks_in_time(x, t, middle, &in_time, err))
            return false;
        *(in_time ? &high : &low) = middle;
    }
    *out_price = high;
    return true;
}

// Offers the best plan at one price of time. *out_feasible: it keeps the constraints.
static bool offer_at_price(struct rb_exact *x, struct rb_togo *t, double price, bool *out_feasible, struct rb_err *err)
{
    struct rb_lattice_path path;
    if (!settle(x, t, RB_DELAY_LIKELY, price, true, &path, err))
        return false;
    *out_feasible = false;
    if (!is_made(x, &path))
        return true;
    struct rb_candidate c = rb_lattice_candidate(&x->lattice, &path);
    if (!rb_search_score(x->search, &c, x->search->req->samples, err))
        return false;
    *out_feasible = rb_search_feasible(x->search, &c.estimate);
    if (x->n_seen < RB_EXACT_SEEN)
        x->seen[x->n_seen++] = c;
    return rb_exact_offer(x, &c, err);
}

// Around the price that replicates find: down while plans are in time, else up.
static bool price_of_time(struct rb_exact *x, struct rb_togo *t, double *out_price, struct rb_err *err)
{
    bool feasible;
    double price, factor;
    if (!likely_price(x, t, &price, err) || !offer_at_price(x, t, price, &feasible, err))
        return false;
    *out_price = price;
    if (!x->search->on_time)
        return true;
    if (price <= 0)
        price = feasible ? 0 : x->lattice.theta[0] * fmax(t->least, 1) * 1e-3;
    factor = feasible ? 1 / STEP_DOWN : STEP_UP;
    for (int i = 0; i < (feasible ? MOST_STEPS_DOWN : MOST_STEPS_UP) && price > 0 && !rb_exact_out_of_time(x); i++) {
        bool in_time;
        price *= factor;
        if (!offer_at_price(x, t, price, &in_time, err))
            return false;
        if (in_time)
            *out_price = price;
        if (in_time != feasible)
            break;
        factor = feasible ? factor : factor * factor;
    }
    return true;
}

// --- Lagrangian bounds

double rb_exact_allowance(const struct rb_exact *x, const struct rb_togo *t)
{
    if (t->price <= 0)
        return 0;
    double error = 0;
    for (int stage = 0; stage < x->lattice.n_stages; stage++)
        error += x->lattice.worst_error[stage];
    double confidence = x->search->req->confidence - error;
    if (confidence <= 0)
        return INFINITY;
    double theta = x->lattice.theta[t->delay - RB_DELAY_TILT];
    return t->price * ((double)x->search->req->deadline_us / 1e6 - log(confidence) / theta);
}

static double root_bound(const struct rb_exact *x, const struct rb_togo *t)
{
    return t->least - rb_exact_allowance(x, t);
}

static void keep_multiplier(struct rb_exact *x, struct rb_togo *t)
{
    int worst = x->n_multipliers < RB_MULTIPLIERS ? x->n_multipliers++ : 1;
    for (int i = 2; i < x->n_multipliers && x->multipliers[worst]; i++) {
        if (root_bound(x, x->multipliers[i]) < root_bound(x, x->multipliers[worst]))
            worst = i;
    }
    rb_togo_destroy(x->multipliers[worst]);
    x->multipliers[worst] = t;
}

// Multipliers around the price that the best plan pays, the best of each price kept.
static bool find_multipliers(struct rb_exact *x, double price, struct rb_err *err)
{
    static const double factors[PRICES] = {0.5, 0.8, 1.1, 1.6};
    struct rb_lattice_path path;
    for (int i = 0; i < PRICES && x->opt.tilts && price > 0 && x->search->on_time && !rb_exact_out_of_time(x); i++) {
        struct rb_togo *best = NULL;
        for (int tilt = 0; tilt < RB_N_TILTS; tilt++) {
            struct rb_togo *t = rb_togo_create(&x->lattice);
            rb_togo_compute(t, (enum rb_delay)(RB_DELAY_TILT + tilt), price * factors[i]);
            bool better = !best || root_bound(x, t) > root_bound(x, best);
            rb_togo_destroy(better ? best : t);
            best = better ? t : best;
        }
        keep_multiplier(x, best);
        if (!rb_exact_settle(x, best, best->delay, best->price, &path, err))
            return false;
        struct rb_candidate c = rb_lattice_candidate(&x->lattice, &path);
        if (is_made(x, &path) && !rb_exact_offer(x, &c, err))
            return false;
    }
    for (int i = 0; i < x->n_multipliers; i++)
        rb_togo_compute(x->multipliers[i], x->multipliers[i]->delay, x->multipliers[i]->price);
    return true;
}

// --- plans of others

static bool offer_hints(struct rb_exact *x, struct rb_err *err)
{
    const struct rb_plan_request *req = x->search->req;
    for (int i = 0; i < req->n_hints; i++) {
        struct rb_lattice_path path;
        struct rb_candidate c = req->hints[i];
        if (c.n_stages == x->lattice.n_stages && rb_lattice_find(&x->lattice, &c, &path) && !rb_exact_offer(x, &c, err))
            return false;
    }
    return true;
}

static bool offer_baselines(struct rb_exact *x, struct rb_err *err)
{
    static const struct rb_planner *const baselines[] = {&rb_planner_static, &rb_planner_naive, &rb_planner_greedy};
    for (int i = 0; i < 3; i++) {
        const struct rb_plan_result *result;
        if (!rb_search_plan(x->search, baselines[i], &result, err))
            return false;
        struct rb_candidate c = result->best;
        if (result->feasible && !rb_exact_offer(x, &c, err))
            return false;
    }
    return true;
}

// --- the certificate

// Does the best keep the constraints whatever its errors hide? What nodes that are not ready may spoil, draws settled.
static bool is_certain(const struct rb_exact *x)
{
    const struct rb_estimate *e = &x->best.estimate;
    double confidence = x->search->req->confidence;
    if (x->is_settled)
        return true;
    if (e->time_method != RB_ESTIMATE_LAWS)
        return e->p_both - e->error.p_both >= confidence;
    return x->best_score.p_deadline - x->best_score.p_error >= confidence;
}

static const char *why_not_proved(const struct rb_exact *x, double bound)
{
    if (x->lattice.thinned)
        return "there are more node counts than were considered: the bound covers those that were";
    if (x->cut)
        return "the search ended at its node, time or memory limit";
    if (x->skipped && x->open_uusd < x->best_billed.mean_uusd)
        return "stage times that only samples can tell were made for some choices only: --time-limit allows for all";
    if (x->billed_uusd <= bound && x->best_billed.mean_uusd - bound > GAIN * x->best_billed.mean_uusd)
        return "nodes come late, or live for less than the 60 s that are billed at least: what another plan is billed "
               "on average "
               "is within the error of its runs";
    if (x->best_billed.mean_uusd - bound > GAIN * x->best_billed.mean_uusd)
        return "a cheaper plan may keep the constraints: its probability is within its own error of the confidence "
               "asked";
    if (!is_certain(x))
        return "the plan's probability is within its own error of the confidence asked";
    return NULL;
}

// Static: a certificate outlives the search.
#define SAMPLED_BOUNDS "choices and plans ruled out by samples, less five standard errors"
static const char *const without_deadline[] = {"stages are independent", "mean costs add up over stages",
                                               SAMPLED_BOUNDS};
static const char *const with_deadline[] = {"stages are independent",
                                            "mean costs add up over stages",
                                            SAMPLED_BOUNDS,
                                            "theta-tilted chance constraint",
                                            "later choices that wait and see",
                                            "envelope of the remaining stages",
                                            "label dominance"}; // the last not with a budget

static void name_relaxations(const struct rb_exact *x, struct rb_plan_bound *b)
{
    bool deadline = x->search->on_time != NULL;
    b->relaxations = deadline ? with_deadline : without_deadline;
    b->n_relaxations = !deadline ? 3 : x->search->req->budget_uusd < 0 ? 7 : 6;
}

static bool certify(struct rb_exact *x, struct rb_plan_bound *out, struct rb_err *err)
{
    struct rb_score fine;
    if (!is_certain(x)) { // as accurate as told, where that may decide
        if (!rb_score_candidate(x->search, &x->best, RB_SCORE_ACCURACY, &fine, err))
            return false;
        x->best_score.p_deadline = fine.p_deadline;
        x->best_score.p_error = fine.p_error;
    }
    struct rb_plan_bound b = {.present = true, .nodes_explored = x->n_nodes};
    double cost = x->best_billed.mean_uusd, root = x->root_uusd;
    double bound = fmin(fmin(cost, x->billed_uusd), fmin(x->doubtful_uusd, x->open_uusd));
    for (int i = 0; i < x->n_multipliers; i++)
        root = fmax(root, root_bound(x, x->multipliers[i]));
    bound = fmax(fmin(cost, root), bound);
    if (cost - bound <= GAIN * cost && !is_certain(x)) {
        enum rb_side side;
        if (!rb_exact_tell_side(x, &x->best, &side, err))
            return false;
        x->is_settled = side == RB_SIDE_KEEPS;
    }
    b.why_not = why_not_proved(x, bound);
    b.proved = b.why_not == NULL;
    b.cost_uusd = (int64_t)floor(fmax(bound, 0));
    b.gap =
        b.cost_uusd > 0 ? fmax(0, (double)(x->best.estimate.cost_uusd.mean - b.cost_uusd) / (double)b.cost_uusd) : 0;
    if (x->best.estimate.cost_uusd.mean - b.cost_uusd <= 1)
        b.gap = 0;
    name_relaxations(x, &b);
    *out = b;
    return true;
}

// --- the whole

static void trace(const struct rb_exact *x)
{
    rb_trace("planner",
             "%d choices in stage 0, %lld bounds raised by replicates, %lld stage times made, %lld partial plans "
             "looked at",
             x->lattice.stages[0].n, (long long)x->lattice.n_tightened, (long long)x->lattice.n_made,
             (long long)x->n_nodes);
    rb_search_note(x->search, "optimal: %lld other plans and beginnings of plans were ruled out by a bound",
                   (long long)x->n_ruled_out);
}

static bool offer_surest(struct rb_exact *x, struct rb_err *err)
{
    struct rb_candidate c;
    return rb_fastest_surest(x, &c, err) && rb_exact_offer(x, &c, err);
}

static bool search(struct rb_exact *x, struct rb_err *err)
{
    double price;
    struct rb_togo *free_of_price = rb_togo_create(&x->lattice);
    x->multipliers[x->n_multipliers++] = free_of_price;
    if (!offer_hints(x, err) || !price_of_time(x, free_of_price, &price, err))
        return false;
    rb_togo_compute(free_of_price, RB_DELAY_CAUTIOUS, 0);
    if (!x->has_best && rb_exact_out_of_time(x) && !offer_baselines(x, err)) // planned before, where time is limited
        return false;
    if (x->search->req->deadline_us == 0) // only what is nearest is asked
        return true;
    if (!x->has_best && !offer_surest(x, err))
        return false;
    if (!rb_affordable_uusd(x->search, free_of_price, &x->affordable_uusd, err) ||
        (!x->has_best && !rb_fastest_with_room(x, err)))
        return false;
    if (!rb_neighbours_improve(x, err) || !find_multipliers(x, price, err) || !rb_proof(x, err))
        return false;
    if (x->cut || x->lattice.thinned)
        return offer_baselines(x, err);
    return true;
}

bool rb_exact_plan(struct rb_search *search_, const struct rb_exact_options *opt, struct rb_plan_result *out,
                   struct rb_err *err)
{
    const struct rb_plan_request *req = search_->req;
    struct rb_exact *x = rb_xcalloc(1, sizeof *x);
    x->search = search_;
    x->opt = *opt;
    x->affordable_uusd = x->doubtful_uusd = x->open_uusd = x->billed_uusd = INFINITY;
    x->root_uusd = -INFINITY;
    x->node_limit = req->node_limit > 0 ? req->node_limit : DEFAULT_NODE_LIMIT;
    bool ok = rb_plan_space_take_lattice(search_, opt->accuracy, &x->lattice, err);
    if (ok) {
        x->lattice.most_sampled = req->node_limit > 0 || req->out_of_time ? INT64_MAX : MOST_SAMPLED;
        ok = search(x, err);
        trace(x);
        if (ok && x->has_best) {
            *out = rb_search_found(search_, &x->best);
            out->cut = x->cut;
            ok = certify(x, &out->bound, err);
        } else if (ok) {
            ok = rb_fastest_nearest(x, out, err);
        }
        for (int i = 0; i < x->n_multipliers; i++)
            rb_togo_destroy(x->multipliers[i]);
        rb_plan_space_give_lattice(search_, &x->lattice);
    }
    free(x);
    return ok;
}
