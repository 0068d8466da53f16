#include "planner/async_admission.h"
#include "planner/async_nearest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WORTH       1e-3 // of the objective: what an exchange must gain
#define TOLD_PART   8    // of the runs that a plan is told by: the first look at them
#define LATE_SIGMA  2    // deviations beyond the mean: what hardly a run exceeds
#define SLACK_SIGMA 2.5  // a neighbour that keeps the constraints is dropped by the first few runs once in 160

// ---- what a candidate is compared by

// On common random numbers, so that the difference between two neighbours is far less uncertain than either.
struct look {
    double objective;
    double tried;  // configurations, mean; only of candidates that stop starting them
    double p;      // of keeping both constraints
    double surety; // logarithm of a limit over what hardly a run exceeds: tells plans apart that no run keeps
};

static double deviation(const int64_t *values, int n, double mean)
{
    double squares = 0;
    for (int i = 0; i < n; i++)
        squares += ((double)values[i] - mean) * ((double)values[i] - mean);
    return n > 1 ? sqrt(squares / (n - 1)) : 0;
}

static double surety_of(const int64_t *values, int n, int64_t mean, int64_t limit)
{
    if (limit < 0)
        return INFINITY;
    return log((1 + (double)limit) / (1 + (double)mean + LATE_SIGMA * deviation(values, n, (double)mean)));
}

static bool count_tried(const struct rb_search *search, const struct rb_candidate *candidate, int n, double *out,
                        struct rb_err *err)
{
    RB_AUTO(rb_auto_free) struct rb_world_result *runs = rb_xcalloc((size_t)n, sizeof *runs);
    double sum = 0;
    if (!rb_async_play(search, candidate, 0, n, runs, NULL, err))
        return false;
    for (int i = 0; i < n; i++)
        sum += runs[i].n_trained;
    *out = sum / n;
    return true;
}

static bool look_at(struct rb_search *search, const struct rb_candidate *candidate, int n, struct look *out,
                    struct rb_err *err)
{
    const struct rb_plan_request *req = search->req;
    const struct rb_runs *runs;
    double tried = 0;
    search->n_evaluated++;
    if (candidate->admit_until_us > 0 && !count_tried(search, candidate, n, &tried, err))
        return false;
    if (!rb_async_compared(search, candidate, n, &runs, err))
        return false;
    const struct rb_estimate e = rb_runs_estimate(runs, req->deadline_us, req->budget_uusd);
    *out = (struct look){
        .objective = rb_search_objective(search, &e),
        .tried = tried,
        .p = e.p_both,
        .surety = fmin(surety_of(runs->time_us, runs->n, e.time_us.mean, req->deadline_us),
                       surety_of(runs->cost_uusd, runs->n, e.cost_uusd.mean, req->budget_uusd)),
    };
    return true;
}

// ---- neighbours

struct neighbours {
    const struct rb_search *search;
    const struct rb_candidate *from;
    struct rb_candidate *items;
    int n, cap;
};

static bool has_size(const struct rb_sizes *sizes, int gpus)
{
    for (int i = 0; i < sizes->n; i++) {
        if (sizes->gpus[i] == gpus)
            return true;
    }
    return false;
}

bool rb_async_fits(const struct rb_search *search, const struct rb_candidate *c)
{
    for (int i = 0; i < c->n_stages; i++) {
        const struct rb_choice *choice = &c->stages[i];
        const int per_node = rb_search_gpus_per_node(search, choice->offer);
        const int most = rb_planner_max_nodes(search->req->job, &search->scenario->offers[choice->offer]);
        if (choice->nodes < rb_nodes_per_trial(per_node, choice->gpus) || choice->nodes > most ||
            !has_size(&search->sizes[choice->offer], choice->gpus))
            return false;
    }
    return true;
}

static void add(struct neighbours *list, const struct rb_candidate *c)
{
    if (!rb_async_fits(list->search, c) ||
        memcmp(c->stages, list->from->stages, (size_t)c->n_stages * sizeof c->stages[0]) == 0)
        return;
    if (list->n == list->cap) {
        list->cap = list->cap ? 2 * list->cap : 64;
        list->items = rb_xrealloc(list->items, (size_t)list->cap, sizeof *list->items);
    }
    list->items[list->n++] = *c;
}

static int moved_count(int nodes, int move)
{
    switch (move) {
    case 0:
        return nodes / 2;
    case 1:
        return nodes - 1;
    case 2:
        return nodes + 1;
    default:
        return 2 * nodes;
    }
}

// Phases first..last own another number of nodes.
static void add_counts(struct neighbours *list, int first, int last)
{
    for (int move = 0; move < 4; move++) {
        struct rb_candidate c = *list->from;
        for (int i = first; i <= last; i++) {
            const struct rb_choice *choice = &c.stages[i];
            const int least = rb_nodes_per_trial(rb_search_gpus_per_node(list->search, choice->offer), choice->gpus);
            const int nodes = moved_count(choice->nodes, move);
            c.stages[i].nodes = nodes > least ? nodes : least;
        }
        add(list, &c);
    }
}

// The next smaller or larger size; the same where there is none.
static int next_size(const struct rb_sizes *sizes, int gpus, int step)
{
    for (int i = 0; i < sizes->n; i++) {
        if (sizes->gpus[i] == gpus && i + step >= 0 && i + step < sizes->n)
            return sizes->gpus[i + step];
    }
    return gpus;
}

// Trials of levels first..last get the next size; a phase that could not hold one owns what one needs.
static void add_sizes(struct neighbours *list, int first, int last)
{
    for (int step = -1; step <= 1; step += 2) {
        struct rb_candidate c = *list->from;
        for (int i = first; i <= last; i++) {
            struct rb_choice *choice = &c.stages[i];
            choice->gpus = next_size(&list->search->sizes[choice->offer], choice->gpus, step);
            const int least = rb_nodes_per_trial(rb_search_gpus_per_node(list->search, choice->offer), choice->gpus);
            choice->nodes = choice->nodes > least ? choice->nodes : least;
        }
        add(list, &c);
    }
}

// Phases from `first` on own as many GPUs of another offer.
static void add_offers(struct neighbours *list, int first)
{
    const struct rb_search *search = list->search;
    for (int offer = 0; offer < search->scenario->n_offers; offer++) {
        struct rb_candidate c = *list->from;
        if (search->sizes[offer].n == 0 || rb_search_is_outbid(search, offer))
            continue;
        const int per_node = rb_search_gpus_per_node(search, offer);
        for (int i = first; i < c.n_stages; i++) {
            const struct rb_choice *old = &list->from->stages[i];
            const int gpus = old->nodes * rb_search_gpus_per_node(search, old->offer);
            c.stages[i] = (struct rb_choice){offer, old->gpus, (gpus + per_node - 1) / per_node};
        }
        add(list, &c);
    }
}

// The whole tail of phases changes before single ones do: what remains to be done falls with every phase.
static void list_neighbours(struct neighbours *list)
{
    const int last = list->from->n_stages - 1;
    for (int i = last; i >= 0; i--)
        add_counts(list, i, last);
    for (int i = last; i >= 0; i--)
        add_sizes(list, i, last);
    for (int i = 0; i < last; i++) {
        add_counts(list, i, i);
        add_sizes(list, i, i);
    }
    for (int i = 0; i <= last; i++)
        add_offers(list, i);
}

// ---- exchanges

struct walk {
    struct rb_search *search;
    double least_tried;
};

static bool keeps(const struct walk *w, const struct look *l)
{
    return l->p >= w->search->req->confidence && l->tried >= w->least_tried;
}

static bool is_better(const struct walk *w, const struct look *a, const struct look *b)
{
    const bool a_keeps = keeps(w, a), b_keeps = keeps(w, b);
    if (a_keeps != b_keeps)
        return a_keeps;
    if (!a_keeps)
        return a->surety > b->surety + WORTH;
    return a->objective < b->objective * (1 - WORTH);
}

// Could it be better on more runs than these few?
static bool may_be_better(const struct walk *w, const struct look *few, const struct look *best_few, bool best_keeps)
{
    const double c = w->search->req->confidence;
    if (!best_keeps)
        return few->surety > best_few->surety;
    return few->objective < best_few->objective &&
           few->p >= c - SLACK_SIGMA * sqrt(c * (1 - c) / rb_async_n_screened(w->search));
}

struct position {
    struct rb_candidate at;
    struct look few, look;
};

static bool stand_at(struct rb_search *search, const struct rb_candidate *c, struct position *out, struct rb_err *err)
{
    out->at = *c;
    return look_at(search, c, rb_async_n_screened(search), &out->few, err) &&
           look_at(search, c, rb_async_n_compared(search), &out->look, err);
}

// From a place that keeps the constraints, a neighbour is given up as soon as it cannot do so for less.
static bool settle_step(const struct walk *w, const struct position *now, struct position *next, bool *out_stands,
                        struct rb_err *err)
{
    struct rb_search *search = w->search;
    const int all = rb_async_n_compared(search);
    for (int n = 2 * rb_async_n_screened(search); n < all && keeps(w, &now->look); n *= 2) {
        if (!rb_async_score(search, &next->at, n, err))
            return false;
        *out_stands = rb_search_may_stand(search, RB_RUN_WORLDS, &next->at, &now->at, all);
        if (!*out_stands)
            return true;
    }
    *out_stands = true;
    return look_at(search, &next->at, all, &next->look, err);
}

// The first neighbour from `start` on, round and round, that is better. *out_found: its index, -1: none.
static bool step(const struct walk *w, const struct neighbours *list, int start, const struct position *now,
                 struct position *out, int *out_found, struct rb_err *err)
{
    struct rb_search *search = w->search;
    *out_found = -1;
    for (int k = 0; k < list->n && !rb_search_out_of_time(search); k++) {
        const int i = (start + k) % list->n;
        struct position next = {.at = list->items[i]};
        if (!look_at(search, &next.at, rb_async_n_screened(search), &next.few, err))
            return false;
        if (!may_be_better(w, &next.few, &now->few, keeps(w, &now->look)))
            continue;
        bool stands;
        if (!settle_step(w, now, &next, &stands, err))
            return false;
        if (!stands || !is_better(w, &next.look, &now->look))
            continue;
        *out = next;
        *out_found = i;
        return true;
    }
    return true;
}

static void append(struct rb_candidate *path, int *n, const struct rb_candidate *c)
{
    if (*n == RB_ASYNC_PATH)
        memmove(path, path + 1, (size_t)-- * n * sizeof *path);
    path[(*n)++] = *c;
}

bool rb_async_exchange(struct rb_search *search, const struct rb_candidate *from, double least_tried,
                       struct rb_candidate *out_path, int *out_n, struct rb_err *err)
{
    const struct walk w = {search, least_tried};
    struct position now, next;
    int start = 0, found = 0;
    if (!stand_at(search, from, &now, err))
        return false;
    *out_n = 0;
    append(out_path, out_n, from);
    while (found >= 0 && !rb_search_out_of_time(search)) {
        struct neighbours list = {.search = search, .from = &now.at};
        list_neighbours(&list);
        const bool ok = list.n == 0 || step(&w, &list, start % list.n, &now, &next, &found, err);
        found = list.n == 0 ? -1 : found;
        free(list.items);
        if (!ok)
            return false;
        if (found < 0)
            break;
        start = found; // what helped once may help again
        now = next;
        append(out_path, out_n, &now.at);
    }
    return true;
}

// ---- the whole

struct best {
    bool exists;
    struct rb_candidate candidate; // told, and as told it keeps the constraints
};

// On more and more of the runs that it would be told by, until these refuse it or it is told.
static bool tell(struct rb_search *search, const struct rb_candidate *best, struct rb_candidate *io, struct rb_err *err)
{
    const int all = search->req->samples;
    for (int n = all / TOLD_PART; n > 0 && n < all; n *= 2) {
        if (!rb_async_guess(search, io, n, err))
            return false;
        if (!rb_search_may_stand(search, RB_RUN_UNSEEN, io, best, all))
            return true;
    }
    return rb_async_estimate(search, io, NULL, err);
}

static bool offer(struct rb_search *search, struct best *best, const struct rb_candidate *c, bool *out_better,
                  struct rb_err *err)
{
    struct rb_candidate told = *c;
    *out_better = false;
    if (!tell(search, best->exists ? &best->candidate : NULL, &told, err))
        return false;
    if (told.estimate.p_both < search->req->confidence) {
        rb_search_explain(search, "optimal", &told, "P=%.3f in runs that it was not chosen by", told.estimate.p_both);
        return true;
    }
    *out_better = !best->exists || (told.estimate.samples == search->req->samples &&
                                    rb_candidate_compare(&told, &best->candidate, search->req->objective) < 0);
    if (!*out_better)
        return true;
    if (best->exists)
        rb_search_explain_loss(search, "optimal", &best->candidate, &told);
    *best = (struct best){true, told};
    return true;
}

static bool offer_baselines(struct rb_search *search, struct best *best, struct rb_err *err)
{
    static const struct rb_planner *const baselines[] = {&rb_planner_static, &rb_planner_naive, &rb_planner_greedy};
    bool better;
    for (size_t i = 0; i < sizeof baselines / sizeof baselines[0]; i++) {
        const struct rb_plan_result *result;
        if (!rb_search_plan(search, baselines[i], &result, err) ||
            (result->feasible && !offer(search, best, &result->best, &better, err)))
            return false;
    }
    return true;
}

// Plans of neighbouring requests.
static bool offer_hints(struct rb_search *search, struct best *best, struct rb_err *err)
{
    bool better;
    for (int i = 0; i < search->req->n_hints; i++) {
        if (rb_async_fits(search, &search->req->hints[i]) && !offer(search, best, &search->req->hints[i], &better, err))
            return false;
    }
    return true;
}

// The last one that keeps what it promises.
static bool offer_path(struct rb_search *search, struct best *best, const struct rb_candidate *path, int n,
                       struct rb_err *err)
{
    const double c = search->req->confidence;
    bool better = false;
    for (int i = n - 1; i >= 0 && !better; i--) {
        struct look look; // what no runs promise needs no others to refuse it
        if (!look_at(search, &path[i], rb_async_n_compared(search), &look, err))
            return false;
        if (look.p >= c - SLACK_SIGMA * sqrt(c * (1 - c) / rb_async_n_compared(search)) &&
            !offer(search, best, &path[i], &better, err))
            return false;
    }
    return true;
}

static int64_t nearer(int64_t a, int64_t b)
{
    return a < 0 || (b >= 0 && b < a) ? b : a;
}

// What the end of the path would need counts as well, and what would do for a part of the configurations.
static bool merge_nearest(struct rb_search *search, const struct rb_candidate *end, const struct rb_needs *part,
                          struct rb_plan_result *io, struct rb_err *err)
{
    struct rb_needs needs, both = *part;
    struct rb_plan_result own;
    if (!rb_async_needs(search, end, &needs, err))
        return false;
    rb_needs_merge(&both, &needs);
    rb_needs_round(&both, search->req, &own);
    io->nearest_deadline_us = nearer(io->nearest_deadline_us, own.nearest_deadline_us);
    io->nearest_budget_uusd = nearer(io->nearest_budget_uusd, own.nearest_budget_uusd);
    if (!isnan(own.nearest_confidence) && !(io->nearest_confidence >= own.nearest_confidence))
        io->nearest_confidence = own.nearest_confidence;
    if (needs.confidence > io->best.estimate.p_both)
        io->best = *end;
    return true;
}

static bool exchange_from(struct rb_search *search, const struct rb_candidate *start, struct best *best,
                          struct rb_candidate *out_end, struct rb_err *err)
{
    struct rb_candidate path[RB_ASYNC_PATH];
    int n;
    if (!rb_async_exchange(search, start, 0, path, &n, err))
        return false;
    *out_end = path[n - 1];
    return offer_path(search, best, path, n, err);
}

bool rb_async_plan(struct rb_search *search, struct rb_plan_result *out, struct rb_err *err)
{
    struct best best = {.exists = false};
    struct rb_plan_result infeasible;
    struct rb_needs part = rb_needs_none();
    struct rb_candidate end;
    if (!offer_baselines(search, &best, err) || !offer_hints(search, &best, err))
        return false;
    const bool from_best = best.exists;
    if (!from_best && !rb_static_nearest(search, &infeasible, err))
        return false;
    const struct rb_candidate start = from_best ? best.candidate : infeasible.best;
    if (start.n_stages > 0 && !exchange_from(search, &start, &best, &end, err))
        return false;
    if (!best.exists && !search->whole_job && !rb_async_admission(search, &best.candidate, &best.exists, &part, err))
        return false;
    if (best.exists)
        *out = rb_search_found(search, &best.candidate);
    else if (start.n_stages > 0 && !merge_nearest(search, &end, &part, &infeasible, err))
        return false;
    else
        *out = infeasible;
    out->bound = (struct rb_plan_bound){.why_not = RB_ASYNC_WHY};
    return true;
}
