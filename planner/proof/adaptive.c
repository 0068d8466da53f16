#include "planner/proof/adaptive.h"

#include "planner/scores/probability_error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define POINTS     RB_ADAPTIVE_POINTS // of the grid, at most
#define A_STAGE    32                 // of them: every stage rounds down by half a step
#define FEWEST     128
#define PRICES     3      // of lateness, kept
#define TRIES      6      // .. looked at
#define FACTOR     2.5    // between two of them
#define DOUBTED    2e-3   // a law that errs by more may bound less than its floor
#define MOST_WAITS 64     // nodes: of more of them no wait is told
#define MOST_CELLS 200000 // (stage, choice, kept nodes): more take longer than they save

// When the r-th of m new nodes is ready, by steps of the grid: [first, end).
struct wait {
    double mean_s, *steps;
    int first, end;
};

struct waits { // of one kind of node
    const struct rb_law *arrival;
    int most;            // new nodes that a choice may have
    struct wait *ranked; // [most + 1][most + 1], by m and r; NULL: not made yet
};

// A law by steps of the grid, a duration counted as if it ended at the start of its step: [first, end), made where asked for.
struct steps {
    const struct rb_law *law;
    double *p; // [end - first]; NULL: not made yet
    int first, end;
};

// A choice, and laws that its time is not below, but for their error: one of samples may bound less than one of more nodes.
struct laws {
    struct steps law, floor; // their law NULL: not made; no error that it could have less of
    const struct wait *wait; // before the floor begins; NULL: none
    double error, floor_error;
    double *value[PRICES]; // [POINTS] by time left, what the stage and those after it cost; made where asked for
};

struct cell {
    int entry, kept;
    struct laws *laws; // shared by neighbours
};

struct stage {
    struct cell *cells; // [n], in order of entry
    int n, capacity;
    struct laws ***laws; // [entries], by kept; NULL: no cheaper plan makes this choice
    bool *leaves;        // [states] that one of the cells does
};

// Sums by time left, [POINTS] each; most rows are not known, and none of their sums is finite.
struct rows {
    double *values;
    bool *known;
};

// What one price of lateness makes of it. By state, [n_offers * most_counts]: offer and count of the stage before.
struct policy {
    double price;
    double **after[RB_LIMIT_STAGES]; // [states][POINTS] by time left, of those that the stage may leave
    double *late[RB_LIMIT_STAGES];   // [states] when none is left
    double least;                    // of a whole plan
};

struct rb_adaptive {
    const struct rb_lattice *l;
    const struct rb_togo *free_of_price;
    int n_stages, n_states, n_offers;
    int points; // of the grid
    double step_s, to_beat;
    double most[RB_MULTIPLIERS];
    struct waits **waits; // [n_offers], shared by offers whose nodes arrive alike; NULL: not told
    struct stage stages[RB_LIMIT_STAGES];
    struct policy policies[PRICES + 1]; // [n_policies] best first; behind them, room for the next one
    int n_policies;
    struct rows scratch; // of one stage: what follows it by what it finds
    struct rb_arena arena;
};

// --- choices that a cheaper plan may make

// Least sums above these are of plans that are dearer than the best, by multiplier.
static void set_most(struct rb_adaptive *a, const struct rb_exact *x)
{
    for (int i = 0; i < x->n_multipliers; i++)
        a->most[i] = rb_exact_to_beat(x) + rb_exact_allowance(x, x->multipliers[i]);
}

// Of all plans through a choice, less than the best costs?
static bool may_be_cheaper(const struct rb_adaptive *a, const struct rb_exact *x, int stage,
                           const struct rb_lattice_entry *e, int kept)
{
    for (int i = 0; i < x->n_multipliers; i++) {
        if (rb_togo_through(x->multipliers[i], stage, e, kept) >= a->most[i])
            return false;
    }
    return true;
}

static void set_waits(struct rb_adaptive *a, struct rb_exact *x)
{
    const int n_offers = x->search->scenario->n_offers;
    a->waits = rb_arena_array(&a->arena, (size_t)n_offers, sizeof *a->waits);
    for (int offer = 0; offer < n_offers; offer++) {
        const struct rb_lattice_counts *counts = &x->lattice.counts[offer];
        if (counts->n == 0 || counts->nodes[counts->n - 1] > MOST_WAITS)
            continue;
        const struct rb_law *arrival = rb_floors_arrival(x->lattice.floors, offer);
        for (int same = 0; same < offer && !a->waits[offer]; same++) {
            if (a->waits[same] && a->waits[same]->arrival == arrival)
                a->waits[offer] = a->waits[same];
        }
        if (!a->waits[offer]) {
            a->waits[offer] = rb_arena_alloc(&a->arena, sizeof **a->waits);
            *a->waits[offer] = (struct waits){.arrival = arrival};
        }
        if (a->waits[offer]->most < counts->nodes[counts->n - 1])
            a->waits[offer]->most = counts->nodes[counts->n - 1];
    }
}

// All ranks at once: P(at least r of m by t) = F P(at least r - 1 of m - 1) + (1 - F) P(at least r of m - 1).
static void rank_arrivals(struct rb_adaptive *a, struct waits *w)
{
    const int n = w->most + 1;
    double *chance = rb_xcalloc((size_t)n * (size_t)n, sizeof *chance);
    double *last = rb_xcalloc((size_t)n * (size_t)n, sizeof *last);
    double *steps = rb_arena_array(&a->arena, (size_t)n * (size_t)n * a->points, sizeof *steps);
    w->ranked = rb_arena_array(&a->arena, (size_t)n * (size_t)n, sizeof *w->ranked);
    for (int i = 0; i < n * n; i++)
        w->ranked[i] = (struct wait){.steps = steps + (size_t)i * a->points, .first = a->points};
    for (int j = 0; j < a->points; j++) {
        const double below = rb_law_below(w->arrival, a->step_s * (j + 1));
        for (int m = 0; m < n; m++) {
            chance[m * n] = 1;
            for (int r = 1; r <= m; r++) {
                const double *fewer = chance + (m - 1) * n;
                const int i = m * n + r;
                struct wait *wait = &w->ranked[i];
                chance[i] = below * fewer[r - 1] + (r < m ? (1 - below) * fewer[r] : 0);
                wait->steps[j] = chance[i] - last[i];
                wait->mean_s += wait->steps[j] * j * a->step_s;
                wait->first = chance[i] > 0 && j < wait->first ? j : wait->first;
                wait->end = chance[i] > last[i] ? j + 1 : wait->end;
                last[i] = chance[i];
            }
        }
    }
    free(chance);
    free(last);
}

static const struct wait *wait_of(struct rb_adaptive *a, int offer, int needed, int new_nodes)
{
    struct waits *w = a->waits[offer];
    if (!w || new_nodes > w->most)
        return NULL;
    if (!w->ranked)
        rank_arrivals(a, w);
    return &w->ranked[new_nodes * (w->most + 1) + needed];
}

// Nothing runs before the first trial's nodes are there; then the longest trial is still to come.
static bool find_floor(struct rb_adaptive *a, struct rb_exact *x, int stage, const struct rb_lattice_entry *e, int kept,
                       struct laws *out, struct rb_err *err)
{
    const struct rb_choice *c = &e->choice;
    const int kept_nodes = rb_lattice_kept_nodes(a->l, e, kept);
    const int needed = rb_nodes_per_trial(rb_search_gpus_per_node(x->search, c->offer), c->gpus) - kept_nodes;
    const struct rb_law *floor = rb_lattice_floor(&x->lattice, stage, e, kept, err);
    if (!floor)
        return false;
    out->floor.law = floor;
    out->floor_error = floor->error;
    const struct wait *wait = needed > 0 ? wait_of(a, c->offer, needed, c->nodes - kept_nodes) : NULL;
    if (!wait)
        return true;
    const struct rb_law *longest = rb_floors_longest(a->l->floors, stage, c->offer, c->gpus, err);
    if (longest && wait->mean_s + longest->mean_s > floor->mean_s) {
        out->floor.law = longest;
        out->wait = wait;
        out->floor_error = longest->error + (c->nodes - kept_nodes) * a->waits[c->offer]->arrival->error;
    }
    return longest != NULL;
}

static bool find_laws(struct rb_adaptive *a, struct rb_exact *x, int stage, const struct rb_lattice_entry *e, int kept,
                      struct laws *out, struct rb_err *err)
{
    const struct rb_stage_time *time = e->time[kept];
    *out = (struct laws){.law.law = time ? &time->law : NULL};
    if (time)
        out->error = rb_stage_probability_error(time, x->search->req->confidence);
    if (!time || out->error > DOUBTED)
        return find_floor(a, x, stage, e, kept, out, err);
    return true;
}

static struct cell *new_cell(struct stage *s)
{
    if (s->n == s->capacity) {
        s->capacity = s->capacity ? 2 * s->capacity : 64;
        s->cells = rb_xrealloc(s->cells, (size_t)s->capacity, sizeof *s->cells);
    }
    return &s->cells[s->n++];
}

static bool add_cell(struct rb_adaptive *a, struct rb_exact *x, int stage, int entry, int kept, struct rb_err *err)
{
    struct stage *s = &a->stages[stage];
    const struct rb_lattice_entry *e = &x->lattice.stages[stage].entries[entry];
    const struct cell *last = s->n > 0 ? &s->cells[s->n - 1] : NULL;
    struct laws laws;
    if (!find_laws(a, x, stage, e, kept, &laws, err))
        return false;
    struct laws *shared = last && last->entry == entry ? last->laws : NULL;
    if (!shared || shared->law.law != laws.law.law || shared->floor.law != laws.floor.law ||
        shared->wait != laws.wait) {
        shared = rb_arena_alloc(&a->arena, sizeof *shared);
        *shared = laws;
    }
    *new_cell(s) = (struct cell){entry, kept, shared};
    s->leaves[e->choice.offer * a->l->most_counts + e->count] = true;
    if (!s->laws[entry])
        s->laws[entry] = rb_arena_array(&a->arena, (size_t)e->count + 2, sizeof *s->laws[entry]);
    s->laws[entry][kept] = shared;
    return true;
}

static bool list_cells(struct rb_adaptive *a, struct rb_exact *x, int stage, struct rb_err *err)
{
    const struct rb_lattice_stage *list = &x->lattice.stages[stage];
    struct stage *s = &a->stages[stage];
    s->laws = rb_arena_array(&a->arena, (size_t)list->n + 1, sizeof *s->laws);
    s->leaves = rb_arena_array(&a->arena, (size_t)a->n_states, sizeof *s->leaves);
    for (int i = 0; i < list->n; i++) {
        const struct rb_lattice_entry *e = &list->entries[i];
        for (int kept = 0; kept < (stage > 0 ? e->count + 2 : 1); kept++) {
            if (may_be_cheaper(a, x, stage, e, kept) && !add_cell(a, x, stage, i, kept, err))
                return false;
        }
    }
    return true;
}

// --- one price

// Probability of each step of the grid. [*first, *end)
static void discretize(const struct rb_adaptive *a, const struct rb_law *law, double *p, int *first, int *end)
{
    double last = 0;
    *first = a->points;
    *end = 0;
    for (int j = 0; j < a->points; j++) {
        double below = rb_law_below(law, a->step_s * (j + 1));
        p[j] = below - last;
        last = below;
        if (p[j] > 0) {
            *first = j < *first ? j : *first;
            *end = j + 1;
        }
    }
}

static void make_steps(struct rb_adaptive *a, struct steps *s)
{
    double p[POINTS];
    if (s->p)
        return;
    discretize(a, s->law, p, &s->first, &s->end);
    const int n = s->end > s->first ? s->end - s->first : 0;
    s->p = rb_arena_array(&a->arena, (size_t)n, sizeof *s->p);
    for (int j = 0; j < n; j++)
        s->p[j] = p[s->first + j];
}

// out[i] = E of what follows when i steps are left before steps of these probabilities, p[j - first] for j in [first, end).
static void expect(const struct rb_adaptive *a, const double *p, int first, int end, const double *after, double late,
                   double *out)
{
    double less[POINTS];
    for (int i = 0; i < a->points; i++) {
        out[i] = late;
        less[i] = after[i] - late;
    }
    for (int j = first; j < end; j++) {
        const double weight = p[j - first];
        for (int i = j; i < a->points; i++)
            out[i] += weight * less[i - j];
    }
}

// Nothing follows the last stage.
static void expect_end(const struct rb_adaptive *a, const struct steps *s, double price, double *out)
{
    double below = 0;
    for (int i = 0; i < a->points; i++) {
        out[i] = price * (1 - below);
        below += i >= s->first && i < s->end ? s->p[i - s->first] : 0;
    }
}

static void lower(const struct rb_adaptive *a, double *least, const double *values, double more)
{
    for (int i = 0; i < a->points; i++) {
        double sum = values[i] + more;
        least[i] = sum < least[i] ? sum : least[i];
    }
}

static void fill_unknown(const struct rb_adaptive *a, double *values)
{
    for (int i = 0; i < a->points; i++)
        values[i] = INFINITY;
}

// The least of one stage for what it finds kept: `some` by choices that need more nodes than there are, `all` by choices of just
// so many or fewer, both by state; `fresh` by choices that keep none, by offer.
struct least {
    struct rows some, all, fresh;
};

static double *row(const struct rb_adaptive *a, const struct rows *rows, int i)
{
    return rows->values + (size_t)i * a->points;
}

static void lower_row(const struct rb_adaptive *a, struct rows *rows, int i, const double *values, double more)
{
    if (!rows->known[i])
        fill_unknown(a, row(a, rows, i));
    rows->known[i] = true;
    lower(a, row(a, rows, i), values, more);
}

// What a stage by this law and the stages after it cost; what the law may err by is paid in advance.
static void value_of_law(struct rb_adaptive *a, const struct policy *p, int stage, int state, struct steps *law,
                         double error, double *out)
{
    make_steps(a, law);
    if (stage + 1 == a->n_stages)
        expect_end(a, law, p->price, out);
    else
        expect(a, law->p, law->first, law->end, p->after[stage][state], p->late[stage][state], out);
    for (int i = 0; i < a->points; i++)
        out[i] -= p->price * error;
}

static void value_of_floor(struct rb_adaptive *a, const struct policy *p, int stage, int state, struct laws *c,
                           double *out)
{
    double ready[POINTS];
    const double late = stage + 1 == a->n_stages ? p->price : p->late[stage][state];
    value_of_law(a, p, stage, state, &c->floor, c->floor_error, c->wait ? ready : out);
    if (c->wait)
        expect(a, c->wait->steps + c->wait->first, c->wait->first, c->wait->end, ready,
               late - p->price * c->floor_error, out);
}

static void value_of_laws(struct rb_adaptive *a, const struct policy *p, int stage, int state, struct laws *c,
                          double *out)
{
    double floor[POINTS];
    if (!c->law.law) {
        value_of_floor(a, p, stage, state, c, out);
        return;
    }
    value_of_law(a, p, stage, state, &c->law, c->error, out);
    if (!c->floor.law)
        return;
    value_of_floor(a, p, stage, state, c, floor);
    for (int i = 0; i < a->points; i++)
        out[i] = floor[i] > out[i] ? floor[i] : out[i];
}

static void add_cells(struct rb_adaptive *a, const struct policy *p, int stage, struct least *out)
{
    const struct stage *s = &a->stages[stage];
    const struct cell *last = NULL;
    double values[POINTS];
    for (int i = 0; i < s->n; i++) {
        const struct cell *c = &s->cells[i];
        const struct rb_lattice_entry *e = &a->l->stages[stage].entries[c->entry];
        const int state = e->choice.offer * a->l->most_counts + e->count;
        if (!last || c->laws != last->laws)
            value_of_laws(a, p, stage, state, c->laws, values);
        last = c;
        const double cost_uusd = e->cost_uusd[c->kept];
        if (c->kept == 0)
            lower_row(a, &out->fresh, e->choice.offer, values, cost_uusd);
        else if (c->kept <= e->count)
            lower_row(a, &out->some, state - e->count + c->kept - 1, values, cost_uusd);
        else
            lower_row(a, &out->all, state, values, cost_uusd);
    }
}

static struct least begin_least(struct rb_adaptive *a)
{
    const int n = a->n_states;
    double *values = a->scratch.values;
    bool *known = a->scratch.known;
    memset(known, 0, (2 * (size_t)n + (size_t)a->n_offers) * sizeof *known);
    return (struct least){{values, known},
                          {values + (size_t)n * a->points, known + n},
                          {values + 2 * (size_t)n * a->points, known + 2 * n}};
}

// What follows a stage that leaves so many nodes of an offer.
static void follow(struct rb_adaptive *a, const struct least *l, int offer, int state, double *out)
{
    fill_unknown(a, out);
    if (l->all.known[state])
        lower(a, out, row(a, &l->all, state), 0);
    if (l->some.known[state])
        lower(a, out, row(a, &l->some, state), 0);
    for (int other = 0; other < a->n_offers; other++) {
        if (other != offer && l->fresh.known[other])
            lower(a, out, row(a, &l->fresh, other), 0);
    }
}

// For every state that the stage before may leave.
static void step_back(struct rb_adaptive *a, struct policy *p, int stage)
{
    struct least l = begin_least(a);
    add_cells(a, p, stage, &l);
    for (int offer = 0; offer < a->n_offers; offer++) {
        for (int c = 0; c < a->l->counts[offer].n; c++) {
            const int state = offer * a->l->most_counts + c;
            if (c > 0 && l.all.known[state - 1])
                lower_row(a, &l.all, state, row(a, &l.all, state - 1), 0);
            if (a->stages[stage - 1].leaves[state])
                follow(a, &l, offer, state, p->after[stage - 1][state]);
            p->late[stage - 1][state] = p->price + a->free_of_price->after[stage - 1][state];
        }
    }
}

static double *new_row(struct rb_adaptive *a)
{
    return rb_arena_array(&a->arena, a->points, sizeof(double));
}

// In the room behind the policies that are kept.
static struct policy *price_lateness(struct rb_adaptive *a, double price)
{
    struct policy *p = &a->policies[a->n_policies];
    const size_t n = (size_t)a->n_states;
    p->price = price;
    for (int stage = 0; stage + 1 < a->n_stages && !p->after[stage]; stage++) {
        p->after[stage] = rb_arena_array(&a->arena, n, sizeof *p->after[stage]);
        for (size_t state = 0; state < n; state++)
            p->after[stage][state] = a->stages[stage].leaves[state] ? new_row(a) : NULL;
        p->late[stage] = rb_arena_array(&a->arena, n, sizeof *p->late[stage]);
    }
    for (int stage = a->n_stages - 1; stage > 0; stage--)
        step_back(a, p, stage);
    struct least first = begin_least(a);
    add_cells(a, p, 0, &first);
    p->least = INFINITY;
    for (int offer = 0; offer < a->n_offers; offer++) {
        if (first.fresh.known[offer])
            p->least = fmin(p->least, row(a, &first.fresh, offer)[a->points - 1]);
    }
    return p;
}

// --- which prices

static double root_bound(const struct rb_adaptive *a, const struct policy *p)
{
    return p->least - p->price * (1 - a->l->search->req->confidence);
}

// The policy behind those that are kept takes its place among them, or else the place of the worst is free again.
static void keep(struct rb_adaptive *a)
{
    int i = a->n_policies;
    for (; i > 0 && root_bound(a, &a->policies[i]) > root_bound(a, &a->policies[i - 1]); i--) {
        const struct policy better = a->policies[i];
        a->policies[i] = a->policies[i - 1];
        a->policies[i - 1] = better;
    }
    if (a->n_policies < PRICES)
        a->n_policies++;
}

// Up while that is better, else down.
static void search_prices(struct rb_adaptive *a, double start)
{
    double price = start, best = root_bound(a, price_lateness(a, start)), factor = FACTOR;
    keep(a);
    for (int i = 1; i < TRIES && best < a->to_beat; i++) {
        price *= factor;
        const double bound = root_bound(a, price_lateness(a, price));
        keep(a);
        if (bound >= a->to_beat)
            break;
        if (bound > best) {
            best = bound;
        } else if (i == 1) {
            factor = 1 / FACTOR;
            price = start;
        } else {
            break;
        }
    }
}

// --- the whole

static double n_cells(const struct rb_lattice *l)
{
    double n = 0;
    for (int stage = 0; stage < l->n_stages; stage++) {
        for (int i = 0; i < l->stages[stage].n; i++)
            n += l->stages[stage].entries[i].count + 2;
    }
    return n;
}

// That weighs a second as the multipliers do: the deadline lies where some tenth of the probability is within a deviation.
static double first_price(const struct rb_exact *x)
{
    double price = 0;
    for (int i = 0; i < x->n_multipliers; i++)
        price = fmax(price, x->multipliers[i]->price);
    return 1.5 * price / x->lattice.theta[0];
}

struct rb_adaptive *rb_adaptive_create(struct rb_exact *x, const struct rb_adaptive *last, struct rb_err *err)
{
    double start = last ? last->policies[0].price : first_price(x);
    struct rb_adaptive *a = rb_xcalloc(1, sizeof *a);
    rb_arena_init(&a->arena);
    a->l = &x->lattice;
    a->free_of_price = x->multipliers[0];
    a->to_beat = rb_exact_to_beat(x);
    a->n_stages = x->lattice.n_stages;
    a->points = A_STAGE * a->n_stages < FEWEST   ? FEWEST
                : A_STAGE * a->n_stages > POINTS ? POINTS
                                                 : A_STAGE * a->n_stages;
    a->n_offers = x->search->scenario->n_offers;
    a->n_states = a->n_offers * x->lattice.most_counts;
    const size_t n_rows = 2 * (size_t)a->n_states + (size_t)a->n_offers;
    a->scratch.values = rb_xcalloc(n_rows * a->points, sizeof *a->scratch.values);
    a->scratch.known = rb_xcalloc(n_rows, sizeof *a->scratch.known);
    a->step_s = (double)x->search->req->deadline_us / 1e6 / (a->points - 1);
    set_waits(a, x);
    for (int i = 0; i < x->n_multipliers; i++) {
        rb_togo_compute(x->multipliers[i], x->multipliers[i]->delay, x->multipliers[i]->price);
        rb_togo_compute_before(x->multipliers[i]);
    }
    set_most(a, x);
    for (int stage = 0; stage < a->n_stages; stage++) {
        if (!list_cells(a, x, stage, err)) {
            rb_adaptive_destroy(a);
            return NULL;
        }
    }
    search_prices(a, start);
    x->root_uusd = fmax(x->root_uusd, fmin(root_bound(a, &a->policies[0]), a->to_beat));
    return a;
}

bool rb_adaptive_applies(const struct rb_exact *x)
{
    return x->search->on_time && first_price(x) > 0 && n_cells(&x->lattice) <= MOST_CELLS;
}

void rb_adaptive_destroy(struct rb_adaptive *a)
{
    if (!a)
        return;
    for (int stage = 0; stage < a->n_stages; stage++)
        free(a->stages[stage].cells);
    free(a->scratch.values);
    free(a->scratch.known);
    rb_arena_finish(&a->arena);
    free(a);
}

// --- of one plan

void rb_adaptive_begin(struct rb_adaptive_ends *ends)
{
    *ends = (struct rb_adaptive_ends){.chance = {1}, .end = 1};
}

// p: probabilities of steps, [first, end).
static void add_steps(const struct rb_adaptive *a, const struct rb_adaptive_ends *before, const double *p, int first,
                      int end, struct rb_adaptive_ends *ends)
{
    *ends = (struct rb_adaptive_ends){.first = first + before->first, .end = end + before->end - 1};
    ends->end = ends->end < a->points ? ends->end : a->points;
    for (int k = first; k < end; k++) {
        const int last = k + before->end < a->points ? k + before->end : a->points;
        for (int j = k + before->first; j < last; j++)
            ends->chance[j] += p[k] * before->chance[j - k];
    }
}

void rb_adaptive_add(const struct rb_adaptive *a, const struct rb_adaptive_ends *before, const struct rb_law *law,
                     struct rb_adaptive_ends *ends)
{
    double p[POINTS];
    int first, end;
    discretize(a, law, p, &first, &end);
    add_steps(a, before, p, first, end, ends);
}

void rb_adaptive_add_samples(const struct rb_adaptive *a, const struct rb_adaptive_ends *before, const double *seconds,
                             int n, struct rb_adaptive_ends *ends)
{
    double p[POINTS] = {0};
    int first = a->points, end = 0;
    for (int i = 0; i < n; i++) {
        const double at = seconds[i] / a->step_s;
        if (at >= a->points) // after the deadline
            continue;
        const int step = (int)at;
        p[step] += 1.0 / n;
        first = step < first ? step : first;
        end = step < end ? end : step + 1;
    }
    add_steps(a, before, p, first, end, ends);
}

static const double *value_at(struct rb_adaptive *a, int policy, int stage, int state, struct laws *laws)
{
    if (!laws->value[policy]) {
        laws->value[policy] = new_row(a);
        value_of_laws(a, &a->policies[policy], stage, state, laws, laws->value[policy]);
    }
    return laws->value[policy];
}

// Sums run side by side, in an order that no compiler may change.
static double mean_of(const struct rb_adaptive *a, const struct rb_adaptive_ends *ends, const double *value,
                      double late)
{
    enum { LANES = 4 };
    double lanes[LANES] = {0};
    for (int j = ends->first / LANES * LANES; j < ends->end; j += LANES) {
        for (int i = 0; i < LANES; i++)
            lanes[i] += ends->chance[j + i] * (value[a->points - 1 - j - i] - late);
    }
    return late + (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
}

double rb_adaptive_bound(struct rb_adaptive *a, int stage, int entry, int kept, const struct rb_adaptive_ends *ends,
                         double late, double enough)
{
    const struct rb_lattice_entry *e = &a->l->stages[stage].entries[entry];
    const int state = e->choice.offer * a->l->most_counts + e->count;
    struct laws **by_kept = a->stages[stage].laws[entry], *laws = by_kept ? by_kept[kept] : NULL;
    double best = -INFINITY;
    if (!laws)
        return INFINITY;
    for (int i = 0; i < a->n_policies && best + e->cost_uusd[kept] < enough; i++) {
        const double price = a->policies[i].price;
        const double *value = value_at(a, i, stage, state, laws);
        best = fmax(best, mean_of(a, ends, value, price) - price * late);
    }
    return best + e->cost_uusd[kept];
}
