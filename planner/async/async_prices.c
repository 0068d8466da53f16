#include "planner/async/async_prices.h"

#include <math.h>
#include <stdlib.h>

#define PRICES       24   // of time, as fractions of the cost per second of the plan beside:
#define LEAST_PRICE  0.03 // the first one
#define PRICE_STEP   1.3  // ratio of each price to the previous one
#define EVERY_COUNT  4    // up to here all node counts are tried; beyond, each is half as much again

// Outcomes of the runs that candidates are screened by.
struct runs {
    int64_t *time_us, *cost_uusd; // [n_runs]
    double mean_us, mean_uusd;
};

struct option { // of one phase
    struct rb_choice choice;
    struct runs change; // beside the plan
};

struct phase {
    struct option *options;
    int n;
};

struct around {
    struct rb_search *search;
    const struct rb_candidate *beside;
    int n_runs;
    struct runs runs; // of the plan beside
    struct phase phases[RB_LIMIT_STAGES];
    struct rb_arena arena;
};

// ---- what single choices change

// Everything it takes in excess of `less` (NULL: nothing).
static bool play(struct around *a, const struct rb_candidate *c, const struct runs *less, struct runs *out,
                 struct rb_err *err)
{
    const struct rb_runs *runs;
    if (!rb_async_compared(a->search, c, a->n_runs, &runs, err))
        return false;
    *out = (struct runs){.time_us = rb_arena_array(&a->arena, (size_t)a->n_runs, sizeof *out->time_us),
                         .cost_uusd = rb_arena_array(&a->arena, (size_t)a->n_runs, sizeof *out->cost_uusd)};
    for (int i = 0; i < a->n_runs; i++) {
        out->time_us[i] = runs->time_us[i] - (less ? less->time_us[i] : 0);
        out->cost_uusd[i] = runs->cost_uusd[i] - (less ? less->cost_uusd[i] : 0);
        out->mean_us += (double)out->time_us[i] / a->n_runs;
        out->mean_uusd += (double)out->cost_uusd[i] / a->n_runs;
    }
    return true;
}

static bool try_choice(struct around *a, int stage, const struct rb_choice *choice, struct rb_err *err)
{
    struct phase *phase = &a->phases[stage];
    struct rb_candidate c = *a->beside;
    c.stages[stage] = *choice;
    phase->options[phase->n].choice = *choice;
    return play(a, &c, &a->runs, &phase->options[phase->n++].change, err);
}

static int next_count(int nodes)
{
    return nodes < EVERY_COUNT ? nodes + 1 : nodes + nodes / 2;
}

// The choice of the plan beside, so that there is at least one, and every size on node counts that its trials can use,
// until the time is up.
static bool try_phase(struct around *a, int stage, struct rb_err *err)
{
    const struct rb_search *search = a->search;
    const int offer = a->beside->stages[stage].offer, per_node = rb_search_gpus_per_node(search, offer);
    const struct rb_sizes *sizes = &search->sizes[offer];
    const int useful = rb_search_useful_nodes(search, stage, offer);
    a->phases[stage].options =
        rb_arena_array(&a->arena, (size_t)sizes->n * (size_t)useful + 1, sizeof *a->phases[stage].options);
    if (!try_choice(a, stage, &a->beside->stages[stage], err))
        return false;
    for (int i = 0; i < sizes->n; i++) {
        const int hold = rb_nodes_to_hold(per_node, rb_search_n_trials(search, stage), sizes->gpus[i]);
        const int most = hold < useful ? hold : useful;
        for (int nodes = rb_nodes_per_trial(per_node, sizes->gpus[i]); nodes <= most; nodes = next_count(nodes)) {
            const struct rb_choice choice = {offer, sizes->gpus[i], nodes};
            if (!rb_search_out_of_time(search) && !try_choice(a, stage, &choice, err))
                return false;
        }
    }
    return true;
}

// ---- plans

struct prediction {
    struct rb_candidate candidate;
    double p, objective;
};

static const struct option *cheapest_at(const struct phase *phase, double uusd_per_us)
{
    const struct option *best = &phase->options[0];
    for (int i = 1; i < phase->n; i++) {
        const struct runs *o = &phase->options[i].change, *b = &best->change;
        if (o->mean_uusd + uusd_per_us * o->mean_us < b->mean_uusd + uusd_per_us * b->mean_us)
            best = &phase->options[i];
    }
    return best;
}

// Assumes that changes are additive.
static struct prediction at_price(const struct around *a, double uusd_per_us)
{
    const struct rb_plan_request *req = a->search->req;
    const struct option *chosen[RB_LIMIT_STAGES];
    struct prediction out = {.candidate = *a->beside};
    for (int stage = 0; stage < out.candidate.n_stages; stage++) {
        chosen[stage] = cheapest_at(&a->phases[stage], uusd_per_us);
        out.candidate.stages[stage] = chosen[stage]->choice;
    }
    for (int i = 0; i < a->n_runs; i++) {
        int64_t time_us = a->runs.time_us[i], cost_uusd = a->runs.cost_uusd[i];
        for (int stage = 0; stage < out.candidate.n_stages; stage++) {
            time_us += chosen[stage]->change.time_us[i];
            cost_uusd += chosen[stage]->change.cost_uusd[i];
        }
        const bool kept = (req->deadline_us < 0 || time_us <= req->deadline_us) &&
                          (req->budget_uusd < 0 || cost_uusd <= req->budget_uusd);
        out.p += kept ? 1.0 / a->n_runs : 0;
        out.objective += (double)(req->objective == RB_OBJECTIVE_MIN_COST ? cost_uusd : time_us) / a->n_runs;
    }
    return out;
}

static bool is_known(const struct prediction *found, int n, const struct rb_candidate *c)
{
    bool known = false;
    for (int i = 0; i < n; i++)
        known |= rb_candidate_same_choices(&found[i].candidate, c);
    return known;
}

static int by_objective(const void *pa, const void *pb)
{
    const struct prediction *a = pa, *b = pb;
    return (a->objective > b->objective) - (a->objective < b->objective);
}

static int list_plans(const struct around *a, struct rb_candidate *out)
{
    struct prediction found[PRICES];
    double price = LEAST_PRICE * a->runs.mean_uusd / fmax(1, a->runs.mean_us);
    int n = 0;
    for (int i = 0; i < PRICES; i++, price *= PRICE_STEP) {
        const struct prediction p = at_price(a, price);
        if (rb_async_may_keep(a->search, p.p, a->n_runs) && !is_known(found, n, &p.candidate))
            found[n++] = p;
    }
    qsort(found, (size_t)n, sizeof *found, by_objective);
    n = n < RB_ASYNC_PRICED ? n : RB_ASYNC_PRICED;
    for (int i = 0; i < n; i++)
        out[i] = found[i].candidate;
    return n;
}

bool rb_async_priced(struct rb_search *search, const struct rb_candidate *beside, struct rb_candidate *out, int *out_n,
                     struct rb_err *err)
{
    struct around a = {.search = search, .beside = beside, .n_runs = rb_async_n_screened(search)};
    rb_arena_init(&a.arena);
    bool ok = play(&a, beside, NULL, &a.runs, err);
    for (int stage = 0; ok && stage < beside->n_stages; stage++)
        ok = try_phase(&a, stage, err);
    *out_n = ok ? list_plans(&a, out) : 0;
    rb_arena_finish(&a.arena);
    return ok;
}
