#include "planner/proof/proof.h"

#include "planner/proof/adaptive.h"
#include "planner/proof/billed.h"
#include "planner/scores/probability_error.h"

#include "base/larger.h"

#include <math.h>
#include <stdlib.h>

#define RENEWAL  24   // stage times made, and a quarter of all, that are worth making the adaptive bound anew
#define TELLABLE 1e-3 // labels are compared where missing frequencies change no probability by more
#define AHEAD    64   // beginnings of plans looked at to do without a stage time: as dear as one
#define SAMPLES  1024 // of a stage time, that exclude most of what will not stand: a tenth of those that it is told by
#define WORTH    4    // as many stage times may be sampled in vain for one that is spared
#define SURE     15   // -ln of how often samples may fail: as often as five standard errors

// A beginning of a plan: sums over the stages before.
struct prefix {
    double cost_uusd, delay_s[RB_N_DELAYS];
    double soonest_s; // sooner it ends with no more probability than its laws err by
    struct rb_errors error;
    double unready; // bound on P(a node comes after the stage that asked for it)
    const struct rb_lattice_entry *last;
};

struct child {
    double bound;
    int entry, kept;
};

struct proof {
    struct rb_exact *x;
    struct rb_lattice *l;
    struct rb_on_time *on_time; // NULL: no deadline
    double deadline_s;
    struct rb_product products[RB_LIMIT_STAGES + 1];   // of the stages before
    struct rb_transform rest[RB_LIMIT_STAGES + 1];     // envelopes of the stages from here on
    double rest_low_s[RB_LIMIT_STAGES + 1];            // the least that these take
    struct rb_errors rest_error[RB_LIMIT_STAGES + 1];  // largest error of their laws in the bounds
    struct rb_adaptive *adaptive;                      // NULL: not yet
    int64_t adaptive_made;                             // stage times known to it
    struct rb_adaptive_ends ends[RB_LIMIT_STAGES + 1]; // of the stages before, once there is an adaptive bound
    int stood[RB_LIMIT_STAGES];                        // the choice that last stood when one looked ahead
    struct rb_limit_weights times[RB_LIMIT_STAGES][RB_LABEL_TIMES]; // made when the first label is
    double last_error, last_log;                                    // of log_confidence
    int n_sampled, n_spared; // stage times that a few samples were drawn of; of these not made
    struct rb_labels *labels;
    struct rb_lattice_path path;
    struct rb_arena arena;
};

// --- what does not change during the search

static bool add_envelope(struct proof *p, int stage, struct rb_err *err)
{
    const struct rb_law *law = rb_lattice_envelope(p->l, stage, err);
    if (!law)
        return false;
    int n = rb_on_time_terms(p->on_time);
    double *re = rb_arena_array(&p->arena, (size_t)n, sizeof *re),
           *im = rb_arena_array(&p->arena, (size_t)n, sizeof *im);
    struct rb_product product = {.n = p->rest[stage + 1].n, .re = re, .im = im};
    for (int k = 0; k < product.n; k++) {
        re[k] = p->rest[stage + 1].re[k];
        im[k] = p->rest[stage + 1].im[k];
    }
    const struct rb_transform envelope = rb_on_time_transform_once(p->on_time, law, &p->arena);
    rb_product_multiply(&product, &product, &envelope);
    p->rest[stage] = (struct rb_transform){product.n, re, im};
    p->rest_low_s[stage] = law->low_s + p->rest_low_s[stage + 1];
    return true;
}

// Times at which beginnings are compared: from the soonest they can end to the latest that leaves room for the rest.
static void set_times(struct proof *p, int stage)
{
    const double after_s = p->rest_low_s[stage + 1], before_s = p->rest_low_s[0] - after_s;
    const double span_s = fmax(p->deadline_s - after_s - before_s, 0);
    for (int i = 0; i < RB_LABEL_TIMES; i++)
        p->times[stage][i] = rb_on_time_weights(p->on_time, before_s + span_s * (i + 1) / RB_LABEL_TIMES, &p->arena);
}

static bool prepare_times(struct proof *p, struct rb_err *err)
{
    int n_stages = p->l->n_stages, n = rb_on_time_terms(p->on_time);
    double *re = rb_arena_array(&p->arena, (size_t)n, sizeof *re),
           *im = rb_arena_array(&p->arena, (size_t)n, sizeof *im);
    struct rb_product one = {.re = re, .im = im};
    rb_product_begin(&one, n);
    p->rest[n_stages] = (struct rb_transform){n, re, im};
    for (int stage = n_stages - 1; stage >= 0; stage--) {
        if (!add_envelope(p, stage, err))
            return false;
    }
    for (int stage = 0; stage <= n_stages; stage++) {
        p->products[stage].re = rb_arena_array(&p->arena, (size_t)n, sizeof(double));
        p->products[stage].im = rb_arena_array(&p->arena, (size_t)n, sizeof(double));
    }
    rb_product_begin(&p->products[0], n);
    return true;
}

// --- bounds

static struct rb_errors plus(struct rb_errors a, struct rb_errors b)
{
    return (struct rb_errors){a.all + b.all, a.settled + b.settled};
}

static struct rb_errors errors_of(const struct proof *p, const struct rb_stage_time *t)
{
    return rb_stage_errors(t, p->x->search->req->confidence);
}

// A plan that all errors together could make feasible bounds the cost from below, until the first such plan is found; one
// that is dearer matters only if it is feasible, which no samples hide.
static double error_at(const struct proof *p, const struct rb_errors *e, double cost_uusd)
{
    return cost_uusd >= p->x->doubtful_uusd ? fmin(e->all, e->settled) : e->all;
}

// -ln(c') of what is left of the confidence, INFINITY: nothing. Most children err by what the last one did.
static double log_confidence(struct proof *p, double error)
{
    if (error < p->last_error || error > p->last_error) {
        const double confidence = p->x->search->req->confidence - error;
        p->last_error = error;
        p->last_log = confidence > 0 ? -log(confidence) : INFINITY;
    }
    return p->last_log;
}

// The tilted constraint: P(T <= D) >= c' means that the tilts add up to at most D - ln(c') / theta. A lower bound of the bound
// from `enough` on.
static double bound_with(struct proof *p, int stage, const struct prefix *at, const struct rb_lattice_entry *e,
                         int kept, double error, double enough)
{
    const double cost = at->cost_uusd + e->cost_uusd[kept], minus_log = log_confidence(p, error);
    double bound = -INFINITY;
    for (int i = 0; i < p->x->n_multipliers && bound < enough; i++) {
        const struct rb_togo *t = p->x->multipliers[i];
        double sum = cost + rb_togo_after(t, stage, e);
        if (t->price > 0)
            sum += t->price * (at->delay_s[t->delay] + e->delay_s[t->delay][kept] - p->deadline_s -
                               minus_log / p->l->theta[t->delay - RB_DELAY_TILT]);
        bound = rb_larger(bound, sum);
    }
    return bound;
}

static struct rb_errors errors_with(const struct proof *p, int stage, const struct prefix *at,
                                    const struct rb_lattice_entry *e, int kept)
{
    struct rb_errors here = {p->l->worst_error[stage], 2 * p->l->worst_error[stage]};
    if (e->time[kept])
        here = errors_of(p, e->time[kept]);
    return plus(plus(at->error, here), p->rest_error[stage + 1]);
}

static double bound_of(struct proof *p, int stage, const struct prefix *at, const struct rb_lattice_entry *e, int kept)
{
    const double enough = rb_exact_to_beat(p->x);
    const struct rb_errors errors = errors_with(p, stage, at, e, kept);
    const double bound = bound_with(p, stage, at, e, kept, errors.all, enough);
    const double settled = error_at(p, &errors, bound);
    return bound < enough && settled < errors.all ? bound_with(p, stage, at, e, kept, settled, enough) : bound;
}

// error: of the law that stands for the stage's time.
static struct prefix step(const struct prefix *at, const struct rb_lattice_entry *e, int kept, struct rb_errors error)
{
    struct prefix next = *at;
    next.cost_uusd += e->cost_uusd[kept];
    for (int i = 0; i < RB_N_DELAYS; i++)
        next.delay_s[i] += e->delay_s[i][kept];
    next.error = plus(next.error, error);
    next.last = e;
    return next;
}

// Could the plan be in time if every remaining stage were as fast as any choice makes it? Transforms cannot tell what is far too
// late: by a deadline after the deadline they count it as in time.
static bool may_be_in_time(struct proof *p, int stage, double error, double soonest_s, const struct rb_law *law)
{
    if (soonest_s + p->rest_low_s[stage + 1] > p->deadline_s + RB_SCORE_ROUNDING_S)
        return false;
    bool last = stage + 1 == p->l->n_stages;
    struct rb_product *product = &p->products[stage + 1];
    rb_product_multiply(product, &p->products[stage], rb_on_time_transform(p->on_time, law));
    if (!p->x->opt.envelope && !last)
        return true;
    struct rb_limit_weights deadline = rb_on_time_deadline(p->on_time);
    const double below =
        rb_product_below_with(product, &p->rest[stage + 1], &deadline) + rb_product_leftover(product, p->on_time);
    return below + error >= p->x->search->req->confidence;
}

// What the beginning of a plan on the path costs at most, late nodes and short lives with it.
static double most_uusd(const struct proof *p, int n_stages, double cost_uusd)
{
    const struct rb_stage_time *times[RB_LIMIT_STAGES];
    const struct rb_lattice_entry *before = NULL;
    struct rb_candidate c = {.n_stages = p->l->n_stages};
    if (!p->x->opt.bills)
        return cost_uusd;
    for (int stage = 0; stage < n_stages; stage++) {
        const struct rb_lattice_entry *e = &p->l->stages[stage].entries[p->path.entry[stage]];
        c.stages[stage] = e->choice;
        times[stage] = e->time[rb_lattice_kept(before, e)];
        before = e;
    }
    const double above_uusd = rb_billed_above_sum_uusd(p->l->search->scenario, &c, times, n_stages);
    const struct rb_score so_far = {.cost_mean_uusd = cost_uusd, .above_sum_uusd = above_uusd};
    return rb_billed_may_differ(&so_far) ? cost_uusd + above_uusd : cost_uusd;
}

static bool is_dominated(struct proof *p, int stage, const struct prefix *next)
{
    const struct rb_product *product = &p->products[stage + 1];
    const struct rb_lattice_entry *e = next->last;
    if (!p->labels || stage + 1 == p->l->n_stages || rb_product_leftover(product, p->on_time) > TELLABLE)
        return false;
    if (!p->times[stage][0].re)
        set_times(p, stage);
    struct rb_label label = {.cost_uusd = next->cost_uusd, .error = next->error.all};
    label.most_uusd = most_uusd(p, stage + 1, next->cost_uusd);
    label.unready = next->unready > TELLABLE ? next->unready : 0;
    for (int i = 0; i < RB_LABEL_TIMES; i++)
        label.below[i] = rb_product_below(product, &p->times[stage][i]);
    int n_offers = p->l->search->scenario->n_offers;
    return rb_labels_dominated(p->labels, (stage * n_offers + e->choice.offer) * p->l->most_counts + e->count, &label);
}

// --- the adaptive bound

// The stages before the one that is looked at, by when they end.
static void set_ends(struct proof *p, int n_stages)
{
    const struct rb_lattice_entry *before = NULL;
    rb_adaptive_begin(&p->ends[0]);
    for (int stage = 0; stage < n_stages; stage++) {
        const struct rb_lattice_entry *e = &p->l->stages[stage].entries[p->path.entry[stage]];
        rb_adaptive_add(p->adaptive, &p->ends[stage], &e->time[rb_lattice_kept(before, e)]->law, &p->ends[stage + 1]);
        before = e;
    }
}

static bool renew_adaptive(struct proof *p, int stage, struct rb_err *err)
{
    if (p->x->n_nodes < p->x->opt.patience ||
        (p->adaptive && p->l->n_made < p->adaptive_made + p->adaptive_made / 4 + RENEWAL))
        return true;
    if (!p->x->opt.adaptive || !rb_adaptive_applies(p->x))
        return true;
    struct rb_adaptive *a = rb_adaptive_create(p->x, p->adaptive, err);
    rb_adaptive_destroy(p->adaptive);
    p->adaptive = a;
    p->adaptive_made = p->l->n_made;
    if (a)
        set_ends(p, stage);
    return a != NULL;
}

static double adaptive_bound(struct proof *p, int stage, const struct prefix *at, int entry, int kept)
{
    const double late = 1 - p->x->search->req->confidence, enough = rb_exact_to_beat(p->x) - at->cost_uusd;
    const struct rb_adaptive_ends *ends = &p->ends[stage];
    double more = rb_adaptive_bound(p->adaptive, stage, entry, kept, ends, late + at->error.all, enough);
    const double settled = error_at(p, &at->error, at->cost_uusd + more);
    if (more < enough && settled < at->error.all)
        more = rb_adaptive_bound(p->adaptive, stage, entry, kept, ends, late + settled, enough);
    return at->cost_uusd + more;
}

// --- the search

static int compare_children(const void *pa, const void *pb)
{
    const struct child *a = pa, *b = pb;
    if (a->bound < b->bound || a->bound > b->bound)
        return a->bound < b->bound ? -1 : 1;
    return a->entry - b->entry;
}

static double child_bound(struct proof *p, int stage, const struct prefix *at, int entry, int kept)
{
    const double bound = bound_of(p, stage, at, &p->l->stages[stage].entries[entry], kept);
    if (!p->adaptive || bound >= rb_exact_to_beat(p->x))
        return bound;
    return fmax(bound, adaptive_bound(p, stage, at, entry, kept));
}

static int list_children(struct proof *p, int stage, const struct prefix *at, struct child *out)
{
    const struct rb_lattice_stage *list = &p->l->stages[stage];
    double to_beat = rb_exact_to_beat(p->x);
    int n = 0;
    for (int i = 0; i < list->n; i++) {
        int kept = rb_lattice_kept(at->last, &list->entries[i]);
        double bound = child_bound(p, stage, at, i, kept);
        if (bound < to_beat)
            out[n++] = (struct child){bound, i, kept};
    }
    p->x->n_ruled_out += list->n - n;
    qsort(out, (size_t)n, sizeof *out, compare_children);
    return n;
}

static bool out_of_limits(struct rb_exact *x)
{
    if (x->n_nodes >= x->node_limit)
        x->cut = true;
    return x->cut || (rb_exact_out_of_time(x));
}

// Is the child worth a look, now that its stage time is exact? *next: the sums with it.
static bool stands(struct proof *p, int stage, const struct prefix *at, const struct child *c, struct prefix *next)
{
    const struct rb_lattice_entry *e = &p->l->stages[stage].entries[c->entry];
    const struct rb_law *law = &e->time[c->kept]->law;
    const double bound = bound_of(p, stage, at, e, c->kept);
    *next = step(at, e, c->kept, errors_of(p, e->time[c->kept]));
    next->soonest_s += law->low_s;
    next->unready += e->time[c->kept]->unready;
    if (bound >= rb_exact_to_beat(p->x))
        return false;
    if (p->on_time && !may_be_in_time(p, stage, error_at(p, &next->error, bound), next->soonest_s, law))
        return false;
    return !is_dominated(p, stage, next);
}

// A few replicates may raise a bound far enough that the exact time is not needed.
static bool excluded_by_samples(struct proof *p, int stage, const struct prefix *at, const struct child *c,
                                bool *out_excluded, struct rb_err *err)
{
    struct rb_lattice_entry *e = &p->l->stages[stage].entries[c->entry];
    bool tighter;
    *out_excluded = false;
    if (!p->x->opt.samples)
        return true;
    if (!rb_lattice_tighten(p->l, stage, e, c->kept, &tighter, err))
        return false;
    *out_excluded = tighter && bound_of(p, stage, at, e, c->kept) >= rb_exact_to_beat(p->x);
    return true;
}

static bool excluded_ahead(struct proof *p, int stage, const struct prefix *at, int entry, int kept, int *budget,
                           bool *out_excluded, struct rb_err *err);

// All that may follow a beginning of a plan, excluded? Its p->ends are set. Ends at the first that stands.
static bool nothing_follows(struct proof *p, int stage, const struct prefix *at, int *budget, bool *out,
                            struct rb_err *err)
{
    const struct rb_lattice_stage *list = &p->l->stages[stage];
    const int likely = p->stood[stage];
    bool gone = true;
    for (int n = 0; n < list->n && gone; n++) {
        const int i = n == 0 ? likely : n <= likely ? n - 1 : n;
        const int kept = rb_lattice_kept(at->last, &list->entries[i]);
        gone = child_bound(p, stage, at, i, kept) >= rb_exact_to_beat(p->x);
        if (!gone && !excluded_ahead(p, stage, at, i, kept, budget, &gone, err))
            return false;
        p->stood[stage] = gone ? likely : i;
    }
    *out = gone;
    return true;
}

// All plans that go on from a choice, excluded whatever its stage time is? That time is nowhere below a law which is there
// already, and what may follow such a beginning tells more than a bound on all that follows.
static bool excluded_ahead(struct proof *p, int stage, const struct prefix *at, int entry, int kept, int *budget,
                           bool *out_excluded, struct rb_err *err)
{
    const struct rb_lattice_entry *e = &p->l->stages[stage].entries[entry];
    const struct rb_stage_time *time = e->time[kept];
    *out_excluded = false;
    if (!p->adaptive || stage + 1 == p->l->n_stages || --*budget < 0)
        return true;
    const struct rb_law *law = time ? &time->law : rb_lattice_floor(p->l, stage, e, kept, err);
    if (!law)
        return false;
    const struct prefix next =
        step(at, e, kept, time ? errors_of(p, time) : (struct rb_errors){law->error, 2 * law->error});
    rb_adaptive_add(p->adaptive, &p->ends[stage], law, &p->ends[stage + 1]);
    return nothing_follows(p, stage + 1, &next, budget, out_excluded, err);
}

// What the probability of a plan that keeps the constraints may fall to by the samples of one of its stages: it is the mean of
// one function between 0 and 1 of them. Source: Bernstein's inequality.
static double sampling_error(const struct proof *p, int n)
{
    const double c = fmax(0.5, p->x->search->req->confidence);
    return sqrt(2 * c * (1 - c) * SURE / n) + SURE / (3 * n);
}

// The same, where samples stand for the stage time.
static bool excluded_by_sampled(struct proof *p, int stage, const struct prefix *at, const struct child *c,
                                const double *seconds, int n, bool *out_excluded, struct rb_err *err)
{
    const struct rb_lattice_entry *e = &p->l->stages[stage].entries[c->entry];
    const double error = sampling_error(p, n);
    const struct prefix next = step(at, e, c->kept, (struct rb_errors){error, error});
    int budget = AHEAD;
    rb_adaptive_add_samples(p->adaptive, &p->ends[stage], seconds, n, &p->ends[stage + 1]);
    return nothing_follows(p, stage + 1, &next, &budget, out_excluded, err);
}

// By those that raised its bound, and by more where a law is dear. In stage 0, where a choice is looked at once: a later one's
// time serves many beginnings.
static bool excluded_by_few(struct proof *p, int stage, const struct prefix *at, const struct child *c,
                            bool *out_excluded, struct rb_err *err)
{
    const struct rb_lattice_entry *e = &p->l->stages[stage].entries[c->entry];
    const float *few = rb_lattice_replicates(p->l, e, c->kept);
    double seconds[SAMPLES];
    if (!p->adaptive || stage > 0 || stage + 1 == p->l->n_stages || !p->x->opt.samples)
        return true;
    for (int r = 0; few && r < RB_COMMON_REPLICATES; r++)
        seconds[r] = few[r];
    if (few && !excluded_by_sampled(p, stage, at, c, seconds, RB_COMMON_REPLICATES, out_excluded, err))
        return false;
    if (*out_excluded || !rb_lattice_waits_for_gangs(p->l, stage, e, c->kept) ||
        p->n_sampled > WORTH * (1 + p->n_spared))
        return true;
    if (!rb_lattice_sample(p->l, stage, e, c->kept, SAMPLES, seconds, err) ||
        !excluded_by_sampled(p, stage, at, c, seconds, SAMPLES, out_excluded, err))
        return false;
    p->n_sampled++;
    p->n_spared += *out_excluded;
    return true;
}

// Is a child excluded by what is cheaper than its stage time?
static bool spares_its_time(struct proof *p, int stage, const struct prefix *at, const struct child *c,
                            bool *out_excluded, struct rb_err *err)
{
    int budget = AHEAD;
    if (!excluded_by_samples(p, stage, at, c, out_excluded, err))
        return false;
    if (*out_excluded || p->l->stages[stage].entries[c->entry].time[c->kept])
        return true;
    if (!excluded_ahead(p, stage, at, c->entry, c->kept, &budget, out_excluded, err))
        return false;
    return *out_excluded || excluded_by_few(p, stage, at, c, out_excluded, err);
}

static bool visit(struct proof *p, int stage, const struct prefix *at, struct rb_err *err);

static bool descend(struct proof *p, int stage, const struct prefix *next, const struct rb_law *law, struct rb_err *err)
{
    if (p->adaptive && stage + 1 < p->l->n_stages)
        rb_adaptive_add(p->adaptive, &p->ends[stage], law, &p->ends[stage + 1]);
    return visit(p, stage + 1, next, err);
}

static bool visit(struct proof *p, int stage, const struct prefix *at, struct rb_err *err)
{
    struct rb_exact *x = p->x;
    if (stage == p->l->n_stages) {
        struct rb_candidate plan = rb_lattice_candidate(p->l, &p->path);
        return rb_exact_offer(x, &plan, err);
    }
    RB_AUTO(rb_auto_free)
    struct child *children = rb_xcalloc((size_t)p->l->stages[stage].n + 1, sizeof *children);
    int n = list_children(p, stage, at, children);
    for (int i = 0; i < n && children[i].bound < rb_exact_to_beat(x); i++) {
        struct prefix next;
        if (out_of_limits(x)) {
            x->open_uusd = fmin(x->open_uusd, children[i].bound);
            return true;
        }
        x->n_nodes++;
        bool excluded;
        if (!renew_adaptive(p, stage, err) || !spares_its_time(p, stage, at, &children[i], &excluded, err))
            return false;
        if (excluded) {
            x->n_ruled_out++;
            continue;
        }
        if (!rb_lattice_make(p->l, stage, &p->l->stages[stage].entries[children[i].entry], children[i].kept, err))
            return false;
        if (!p->l->stages[stage].entries[children[i].entry].time[children[i].kept]) {
            x->open_uusd = fmin(x->open_uusd, children[i].bound);
            x->skipped = true;
            continue;
        }
        p->path.entry[stage] = children[i].entry;
        if (!stands(p, stage, at, &children[i], &next))
            x->n_ruled_out++;
        else if (!descend(p, stage, &next, &p->l->stages[stage].entries[children[i].entry].time[children[i].kept]->law,
                          err))
            return false;
    }
    return true;
}

bool rb_proof(struct rb_exact *x, struct rb_err *err)
{
    const struct rb_plan_request *req = x->search->req;
    struct rb_lattice *l = &x->lattice;
    struct proof *p = rb_xcalloc(1, sizeof *p);
    struct prefix none = {0};
    p->x = x;
    p->l = l;
    p->on_time = x->search->on_time;
    p->deadline_s = (double)req->deadline_us / 1e6;
    p->last_error = -INFINITY;
    rb_arena_init(&p->arena);
    for (int stage = l->n_stages - 1; stage >= 0; stage--)
        p->rest_error[stage] =
            plus(p->rest_error[stage + 1], (struct rb_errors){l->worst_error[stage], 2 * l->worst_error[stage]});
    // Dominance knows mean costs only: with a budget their whole law counts.
    if (x->opt.labels && p->on_time && req->budget_uusd < 0)
        p->labels = rb_labels_create(l->n_stages * l->search->scenario->n_offers * l->most_counts);
    bool ok = (!p->on_time || prepare_times(p, err)) && visit(p, 0, &none, err);
    rb_labels_destroy(p->labels);
    rb_adaptive_destroy(p->adaptive);
    rb_arena_finish(&p->arena);
    free(p);
    return ok;
}
