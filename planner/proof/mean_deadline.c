#include "planner/proof/mean_deadline.h"

#include "planner/proof/togo.h"
#include "planner/request/memory.h"
#include "simulator/one_wave/trial_law.h"

#include "base/log.h"

#include <math.h>
#include <stdlib.h>

#define DEFAULT_NODE_LIMIT 1000000
#define GAIN               1e-9 // a smaller relative gain is rounding, not progress
#define COSTS_MORE         1e18 // micro-dollars: more than any plan
#define ANY_PRICE          1e15 // micro-dollars a second: cost decides ties only
#define FOURFOLD_STEPS     24   // of the price of time: from a thousandth of what a plan costs to any
#define CLOSE              1.01 // prices whose plans are told apart
#define MOST_LABELS        4096 // of one list; what comes later is not compared
#define SURE_SIGMA         3.3  // 99.9 %
#define N_PRICES           4    // none, the two around the one at which the deadline binds, any

struct rb_mean_options rb_mean_defaults(void)
{
    return (struct rb_mean_options){
        .accuracy = RB_SCORE_SEARCH_ACCURACY, .samples = true, .prices = true, .fastest = true, .labels = true};
}

// A beginning of a plan: sums over the stages before.
struct prefix {
    double cost_uusd, time_s, error_s; // error_s: what time_s may be off
    const struct rb_lattice_entry *last;
};

struct labels {
    struct prefix *items;
    int n, cap;
};

struct child {
    double bound;
    int entry, kept;
};

struct mean_search {
    struct rb_search *search;
    struct rb_mean_options opt;
    struct rb_lattice lattice;
    double deadline_s;
    struct rb_togo *prices[N_PRICES]; // [n_prices], the first without a price
    int n_prices;
    double worst_error_s[RB_LIMIT_STAGES]; // of the stage times made
    struct labels *labels;                 // [n_stages * n_offers * most_counts]
    struct rb_lattice_path path, best_path;
    struct prefix best;              // last NULL: none
    double doubtful_uusd, open_uusd; // least cost of a plan whose error decides; least bound of what a limit left
    int64_t n_nodes, node_limit, n_ruled_out;
    bool cut;
};

static double to_beat(const struct mean_search *m)
{
    return m->best.last ? m->best.cost_uusd * (1 - GAIN) : COSTS_MORE;
}

static bool out_of_limits(struct mean_search *m)
{
    if (m->n_nodes >= m->node_limit || rb_search_out_of_time(m->search) ||
        rb_search_out_of_memory(m->search, (double)m->lattice.arena.used_bytes))
        m->cut = true;
    return m->cut;
}

// --- beginnings of plans

static struct rb_lattice_entry *entry_at(struct mean_search *m, int stage, int entry)
{
    return &m->lattice.stages[stage].entries[entry];
}

static bool make(struct mean_search *m, int stage, struct rb_lattice_entry *e, int kept, struct rb_err *err)
{
    if (!rb_lattice_make(&m->lattice, stage, e, kept, err))
        return false;
    m->worst_error_s[stage] = fmax(m->worst_error_s[stage], rb_stage_mean_error_s(e->time[kept]));
    return true;
}

static struct prefix step(const struct prefix *at, const struct rb_lattice_entry *e, int kept)
{
    return (struct prefix){
        .cost_uusd = at->cost_uusd + e->cost_uusd[kept],
        .time_s = at->time_s + e->mean_s[kept],
        .error_s = at->error_s + rb_stage_mean_error_s(e->time[kept]),
        .last = e,
    };
}

// A plan of exact stage times: it becomes the best if it is in time and cheaper.
static void offer(struct mean_search *m, const struct rb_lattice_path *path, const struct prefix *plan)
{
    if (plan->cost_uusd >= to_beat(m))
        return;
    if (plan->time_s <= m->deadline_s) {
        m->best = *plan;
        m->best_path = *path;
    } else if (plan->time_s - plan->error_s <= m->deadline_s) {
        m->doubtful_uusd = fmin(m->doubtful_uusd, plan->cost_uusd);
    }
}

// --- plans at prices of time

// Raises the bounds on a path by replicates, or, where they cannot, makes them exact. *out_changed: something was.
static bool sharpen_path(struct mean_search *m, const struct rb_lattice_path *path, bool exactly, bool *out_changed,
                         struct rb_err *err)
{
    const struct rb_lattice_entry *before = NULL;
    *out_changed = false;
    for (int stage = 0; stage < m->lattice.n_stages; stage++) {
        struct rb_lattice_entry *e = entry_at(m, stage, path->entry[stage]);
        const int kept = rb_lattice_kept(before, e);
        bool changed = exactly && !e->time[kept];
        if (exactly ? !make(m, stage, e, kept, err)
                    : m->opt.samples && !rb_lattice_tighten(&m->lattice, stage, e, kept, &changed, err))
            return false;
        *out_changed |= changed;
        before = e;
    }
    return true;
}

// The shortest path of exact values at one price of time, offered. *out: its sums.
static bool offer_at_price(struct mean_search *m, struct rb_togo *t, double price, struct prefix *out,
                           struct rb_err *err)
{
    struct rb_lattice_path path;
    struct prefix plan = {0};
    for (bool changed = true; changed;) {
        rb_togo_compute(t, RB_DELAY_CAUTIOUS, price);
        rb_togo_path(t, &path);
        if (!sharpen_path(m, &path, false, &changed, err) || (!changed && !sharpen_path(m, &path, true, &changed, err)))
            return false;
    }
    for (int stage = 0; stage < m->lattice.n_stages; stage++) {
        const struct rb_lattice_entry *e = entry_at(m, stage, path.entry[stage]);
        plan = step(&plan, e, rb_lattice_kept(plan.last, e));
    }
    offer(m, &path, &plan);
    *out = plan;
    return true;
}

static struct rb_togo *add_price(struct mean_search *m)
{
    return m->prices[m->n_prices++] = rb_togo_create(&m->lattice);
}

// The two prices between which the deadline begins to bind, a factor CLOSE apart. Only where it binds at all.
static bool find_prices(struct mean_search *m, double least_uusd, struct rb_err *err)
{
    struct rb_togo *below = add_price(m), *above = add_price(m);
    struct prefix plan;
    double low = 1e-3 * fmax(least_uusd, 1) / fmax(m->deadline_s, 1), high = low;
    bool in_time = false;
    for (int i = 0; i < FOURFOLD_STEPS && !in_time && !out_of_limits(m); i++) {
        low = high;
        high *= 4;
        if (!offer_at_price(m, above, high, &plan, err))
            return false;
        in_time = plan.time_s <= m->deadline_s;
    }
    while (high / low > CLOSE && !out_of_limits(m)) {
        const double middle = sqrt(low * high);
        if (!offer_at_price(m, above, middle, &plan, err))
            return false;
        *(plan.time_s <= m->deadline_s ? &high : &low) = middle;
    }
    return offer_at_price(m, below, low, &plan, err) && offer_at_price(m, above, high, &plan, err);
}

// --- bounds

// Error of the mean times of the stages from here on.
static double rest_error_s(const struct mean_search *m, int stage)
{
    double sum = 0;
    for (; stage < m->lattice.n_stages; stage++)
        sum += m->worst_error_s[stage];
    return sum;
}

static bool is_used(const struct mean_search *m, const struct rb_togo *t)
{
    return t->price >= ANY_PRICE ? m->opt.fastest : m->opt.prices || t->price <= 0;
}

// Every plan in time costs at least cost + price x (time - deadline), whatever the price.
static double bound_of(const struct mean_search *m, int stage, const struct prefix *at,
                       const struct rb_lattice_entry *e, int kept)
{
    const double cost = at->cost_uusd + e->cost_uusd[kept], time_s = at->time_s + e->mean_s[kept];
    const double limit_s = m->deadline_s + at->error_s + rest_error_s(m, stage);
    double bound = -INFINITY;
    for (int i = 0; i < m->n_prices; i++) {
        const struct rb_togo *t = m->prices[i];
        if (is_used(m, t))
            bound = fmax(bound, cost + t->price * (time_s - limit_s) + rb_togo_after(t, stage, e));
    }
    return bound;
}

static double root_bound(const struct mean_search *m)
{
    double bound = -INFINITY;
    for (int i = 0; i < m->n_prices; i++) {
        const struct rb_togo *t = m->prices[i];
        if (t->price < ANY_PRICE)
            bound = fmax(bound, t->least - t->price * (m->deadline_s + rest_error_s(m, 0)));
    }
    return bound;
}

static bool dominates(const struct prefix *a, const struct prefix *b)
{
    return a->cost_uusd <= b->cost_uusd && a->time_s <= b->time_s && a->time_s - a->error_s <= b->time_s - b->error_s;
}

// Is the beginning no better than one seen? Else it is kept, and what it dominates is forgotten.
static bool is_dominated(struct mean_search *m, int stage, const struct prefix *p)
{
    const int n_offers = m->search->scenario->n_offers;
    struct labels *l = &m->labels[(stage * n_offers + p->last->choice.offer) * m->lattice.most_counts + p->last->count];
    int kept = 0;
    if (!m->opt.labels || stage + 1 == m->lattice.n_stages)
        return false;
    for (int i = 0; i < l->n; i++) {
        if (dominates(&l->items[i], p))
            return true;
    }
    for (int i = 0; i < l->n; i++) {
        if (!dominates(p, &l->items[i]))
            l->items[kept++] = l->items[i];
    }
    l->n = kept;
    if (l->n == l->cap && l->n < MOST_LABELS) {
        l->cap = l->cap ? 2 * l->cap : 8;
        l->items = rb_xrealloc(l->items, (size_t)l->cap, sizeof *l->items);
    }
    if (l->n < l->cap)
        l->items[l->n++] = *p;
    return false;
}

// --- branch and bound

static int compare_children(const void *pa, const void *pb)
{
    const struct child *a = pa, *b = pb;
    if (a->bound < b->bound || a->bound > b->bound)
        return a->bound < b->bound ? -1 : 1;
    return a->entry - b->entry;
}

static int list_children(struct mean_search *m, int stage, const struct prefix *at, struct child *out)
{
    const struct rb_lattice_stage *list = &m->lattice.stages[stage];
    int n = 0;
    for (int i = 0; i < list->n; i++) {
        const int kept = rb_lattice_kept(at->last, &list->entries[i]);
        const double bound = bound_of(m, stage, at, &list->entries[i], kept);
        if (bound < to_beat(m))
            out[n++] = (struct child){bound, i, kept};
    }
    m->n_ruled_out += list->n - n;
    qsort(out, (size_t)n, sizeof *out, compare_children);
    return n;
}

// Makes a child's stage time exact, unless a few replicates exclude it before. *out_stands: it is worth a look.
static bool examine(struct mean_search *m, int stage, const struct prefix *at, const struct child *c, bool *out_stands,
                    struct prefix *next, struct rb_err *err)
{
    struct rb_lattice_entry *e = entry_at(m, stage, c->entry);
    bool tighter;
    *out_stands = false;
    if (m->opt.samples && !rb_lattice_tighten(&m->lattice, stage, e, c->kept, &tighter, err))
        return false;
    if (bound_of(m, stage, at, e, c->kept) >= to_beat(m))
        return true;
    if (!make(m, stage, e, c->kept, err))
        return false;
    *next = step(at, e, c->kept);
    *out_stands = bound_of(m, stage, at, e, c->kept) < to_beat(m) && !is_dominated(m, stage, next);
    return true;
}

static bool visit(struct mean_search *m, int stage, const struct prefix *at, struct rb_err *err)
{
    if (stage == m->lattice.n_stages) {
        offer(m, &m->path, at);
        return true;
    }
    RB_AUTO(rb_auto_free)
    struct child *children = rb_xcalloc((size_t)m->lattice.stages[stage].n + 1, sizeof *children);
    const int n = list_children(m, stage, at, children);
    for (int i = 0; i < n && children[i].bound < to_beat(m); i++) {
        struct prefix next;
        bool stands;
        if (out_of_limits(m)) {
            m->open_uusd = fmin(m->open_uusd, children[i].bound);
            return true;
        }
        m->n_nodes++;
        m->path.entry[stage] = children[i].entry;
        if (!examine(m, stage, at, &children[i], &stands, &next, err))
            return false;
        m->n_ruled_out += !stands;
        if (stands && !visit(m, stage + 1, &next, err))
            return false;
    }
    return true;
}

// --- what is told

// Nodes that are not ready at a barrier make the stages after it later than their laws say, in the mean by no more than
// E[A; A > T] <= sqrt(P(A > T) E[A^2]) for each node that arrives after A, in a stage that takes T.
static double late_s(const struct mean_search *m)
{
    const struct rb_lattice_entry *before = NULL;
    double sum = 0;
    for (int stage = 0; stage + 1 < m->lattice.n_stages; stage++) {
        const struct rb_lattice_entry *e = &m->lattice.stages[stage].entries[m->best_path.entry[stage]];
        const struct rb_provisioning *p = m->search->scenario->sim_offers[e->choice.offer].provisioning;
        const double again = p->capacity_failure, queue_s = rb_dist_mean(&p->queue_s);
        const double mean_s = rb_queue_mean_s(p) + rb_scenario_init_mean_s(m->search->scenario, e->choice.offer);
        const double variance_s2 = rb_dist_variance(&p->init_s) + rb_dist_variance(&p->queue_s) / (1 - again) +
                                   queue_s * queue_s * again / pow(1 - again, 2);
        sum += sqrt(e->time[rb_lattice_kept(before, e)]->unready * e->choice.nodes * (mean_s * mean_s + variance_s2));
        before = e;
    }
    return sum;
}

// Does the best keep the deadline whatever its errors hide? What late nodes may spoil, replicates settle.
static bool is_certain(struct mean_search *m, const struct rb_candidate *best, bool *out, struct rb_err *err)
{
    const double sure_s = m->best.time_s + m->best.error_s;
    struct rb_candidate played = *best;
    *out = sure_s + late_s(m) <= m->deadline_s;
    if (*out || sure_s > m->deadline_s)
        return true;
    if (!rb_search_replicates(m->search, &played, m->search->req->samples, err))
        return false;
    const struct rb_estimate *e = &played.estimate;
    *out = (double)e->time_us.mean + SURE_SIGMA * (double)e->stderr_.time_mean_us <= 1e6 * m->deadline_s;
    return true;
}

static const char *why_not_proved(const struct mean_search *m, const struct rb_score *s, double bound, bool certain)
{
    if (m->lattice.thinned)
        return "there are more node counts than were considered: the bound covers those that were";
    if (m->cut)
        return "the search ended at its node, time or memory limit";
    if (m->best.cost_uusd - bound > s->cost_error_uusd + GAIN * m->best.cost_uusd)
        return "a cheaper plan may keep the deadline: its mean time is within its own error of it";
    if (!certain)
        return "the plan's mean time is within its own error of the deadline";
    return NULL;
}

static const char *const relaxations[] = {"stages are independent",
                                          "mean costs and mean times add up over stages",
                                          "choices ruled out by samples, less five standard errors",
                                          "prices of time",
                                          "the fastest remaining stages",
                                          "label dominance"};

static struct rb_plan_bound certificate(const struct mean_search *m, const struct rb_score *score, bool certain)
{
    const double cost = m->best.cost_uusd;
    const double explored = fmin(cost, fmin(m->doubtful_uusd, m->open_uusd));
    const double bound = fmax(fmin(cost, root_bound(m)), explored);
    struct rb_plan_bound b = {.present = true, .nodes_explored = m->n_nodes};
    b.why_not = why_not_proved(m, score, bound, certain);
    b.proved = b.why_not == NULL;
    b.cost_uusd = (int64_t)floor(fmax(bound, 0));
    b.gap = b.cost_uusd > 0 && cost - (double)b.cost_uusd > 1 ? cost / (double)b.cost_uusd - 1 : 0;
    b.relaxations = relaxations;
    b.n_relaxations = sizeof relaxations / sizeof *relaxations;
    return b;
}

static bool tell(struct mean_search *m, struct rb_plan_result *out, struct rb_err *err)
{
    struct rb_candidate best = rb_lattice_candidate(&m->lattice, &m->best_path);
    struct rb_score score;
    bool certain;
    if (!rb_search_score(m->search, &best, m->search->req->samples, err) ||
        !rb_score_candidate(m->search, &best, m->opt.accuracy, &score, err) || !is_certain(m, &best, &certain, err))
        return false;
    *out = rb_search_found(m->search, &best);
    out->cut = m->cut;
    out->bound = certificate(m, &score, certain);
    return true;
}

// No plan is in time: the soonest of all, exact by its price, says by how much.
static bool tell_infeasible(struct mean_search *m, const struct prefix *soonest, struct rb_plan_result *out,
                            struct rb_err *err)
{
    struct rb_lattice_path path;
    const struct rb_needs needs = {.deadline_us = (int64_t)ceil(soonest->time_s * 1e6), .budget_uusd = -1};
    rb_togo_path(m->prices[1], &path);
    const struct rb_candidate candidate = rb_lattice_candidate(&m->lattice, &path);
    return rb_search_not_found(m->search, &candidate, &needs, out, err);
}

// --- the whole

static void trace(const struct mean_search *m)
{
    rb_trace("planner", "mean deadline: %d prices, %lld stage times made, %lld partial plans looked at", m->n_prices,
             (long long)m->lattice.n_made, (long long)m->n_nodes);
    rb_search_note(m->search, "optimal: %lld other plans and beginnings of plans were ruled out by a bound",
                   (long long)m->n_ruled_out);
}

static bool search(struct mean_search *m, struct rb_plan_result *out, struct rb_err *err)
{
    const struct prefix none = {0};
    struct prefix cheapest, soonest;
    if (!offer_at_price(m, add_price(m), 0, &cheapest, err) ||
        !offer_at_price(m, add_price(m), ANY_PRICE, &soonest, err))
        return false;
    if (soonest.time_s - soonest.error_s > m->deadline_s)
        return tell_infeasible(m, &soonest, out, err);
    if (cheapest.time_s > m->deadline_s && !find_prices(m, cheapest.cost_uusd, err))
        return false;
    for (int i = 0; i < m->n_prices; i++)
        rb_togo_compute(m->prices[i], RB_DELAY_CAUTIOUS, m->prices[i]->price);
    if (!visit(m, 0, &none, err))
        return false;
    trace(m);
    return m->best.last ? tell(m, out, err) : tell_infeasible(m, &soonest, out, err);
}

// A lattice whose cautious delay is the mean: the caution of an even chance is none.
static bool init_lattice(struct mean_search *m, struct rb_err *err)
{
    const struct rb_plan_request *asked = m->search->req;
    struct rb_plan_request even = *asked;
    even.confidence = 0.5;
    m->search->req = &even;
    const bool ok = rb_lattice_init(&m->lattice, m->search, m->opt.accuracy, err);
    m->search->req = asked;
    return ok;
}

bool rb_mean_deadline_plan(struct rb_search *search_, const struct rb_mean_options *opt, struct rb_plan_result *out,
                           struct rb_err *err)
{
    const struct rb_plan_request *req = search_->req;
    struct mean_search *m = rb_xcalloc(1, sizeof *m);
    *m = (struct mean_search){
        .search = search_,
        .opt = *opt,
        .deadline_s = (double)req->deadline_us / 1e6,
        .doubtful_uusd = INFINITY,
        .open_uusd = INFINITY,
        .node_limit = req->node_limit > 0 ? req->node_limit : DEFAULT_NODE_LIMIT,
    };
    bool ok = init_lattice(m, err);
    if (ok) {
        const int n_lists = m->lattice.n_stages * search_->scenario->n_offers * m->lattice.most_counts;
        m->lattice.most_sampled = INT64_MAX;
        m->labels = rb_xcalloc((size_t)n_lists + 1, sizeof *m->labels);
        ok = search(m, out, err);
        for (int i = 0; i < n_lists; i++)
            free(m->labels[i].items);
        for (int i = 0; i < m->n_prices; i++)
            rb_togo_destroy(m->prices[i]);
        free(m->labels);
        rb_lattice_finish(&m->lattice);
    }
    free(m);
    return ok;
}
