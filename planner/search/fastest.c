#include "planner/search/fastest.h"

#include <math.h>

#define ANY_PRICE 1e15 // micro-dollars a second: cost decides ties only
#define NO_MATTER 1e-5 // of a probability
#define HALVINGS  10   // of the range in which the nearest deadline is

// What is looked for: the plan whose time keeps the deadline most surely, or whose quantile is the least.
enum quest { SUREST, SOONEST };

// Smaller is better.
static bool measure(struct rb_exact *x, const struct rb_candidate *c, enum quest quest, double *out, struct rb_err *err)
{
    struct rb_score score;
    if (quest == SOONEST)
        return rb_score_quantile_s(x->search, c, x->search->req->confidence, RB_SCORE_SEARCH_ACCURACY, out, err);
    if (!rb_score_candidate(x->search, c, RB_SCORE_SEARCH_ACCURACY, &score, err))
        return false;
    // Where every plan is as good as sure to be late, the earlier one is the surer.
    *out = -score.p_deadline + 1e-12 * score.time_mean_us;
    return true;
}

static bool is_most(const struct rb_lattice_stage *list, int i)
{
    const struct rb_lattice_entry *e = &list->entries[i];
    for (int k = i + 1; k < list->first[e->choice.offer + 1]; k++) {
        if (list->entries[k].choice.gpus == e->choice.gpus)
            return false;
    }
    return true;
}

// Of the entry that a plan has in a stage, with the nodes it keeps.
static double stage_mean_s(const struct rb_exact *x, const struct rb_candidate *c, int stage)
{
    struct rb_lattice_path path;
    const struct rb_lattice_entry *e = NULL, *before = NULL;
    if (!rb_lattice_find(&x->lattice, c, &path))
        return INFINITY;
    for (int i = 0; i <= stage; i++) {
        before = e;
        e = &x->lattice.stages[i].entries[path.entry[i]];
    }
    return e->mean_s[rb_lattice_kept(before, e)];
}

// With as many nodes kept as there can be.
static double least_mean_s(const struct rb_lattice_entry *e)
{
    return e->mean_s[e->count + 1] > 0 ? e->mean_s[e->count + 1] : e->mean_s[0];
}

// On the most nodes of an offer no stage is later than on fewer: only sizes and offers are left to choose.
static bool improve(struct rb_exact *x, struct rb_candidate *c, enum quest quest, double *value, struct rb_err *err)
{
    bool better = true;
    while (better && !rb_exact_out_of_time(x)) {
        better = false;
        for (int stage = 0; stage < c->n_stages; stage++) {
            const struct rb_lattice_stage *list = &x->lattice.stages[stage];
            const double mean_s = stage_mean_s(x, c, stage);
            for (int i = 0; i < list->n; i++) {
                struct rb_candidate next = *c;
                double there;
                if (!is_most(list, i) || least_mean_s(&list->entries[i]) >= mean_s)
                    continue;
                next.stages[stage] = list->entries[i].choice;
                if (!measure(x, &next, quest, &there, err))
                    return false;
                if (there < *value - 1e-9) {
                    *value = there;
                    *c = next;
                    better = true;
                }
            }
        }
    }
    return true;
}

// Starts from the shortest path in time, made exact where it runs.
static bool find(struct rb_exact *x, enum quest quest, struct rb_candidate *out, double *value, struct rb_err *err)
{
    struct rb_lattice_path path;
    struct rb_togo *t = rb_togo_create(&x->lattice);
    bool ok = rb_exact_settle(x, t, RB_DELAY_CAUTIOUS, ANY_PRICE, &path, err);
    rb_togo_destroy(t);
    if (!ok)
        return false;
    *out = rb_lattice_candidate(&x->lattice, &path);
    return measure(x, out, quest, value, err) && improve(x, out, quest, value, err);
}

bool rb_fastest_surest(struct rb_exact *x, struct rb_candidate *out, struct rb_err *err)
{
    double value;
    return find(x, SUREST, out, &value, err);
}

// --- with a budget

static bool best_without_budget(struct rb_exact *x, double confidence, struct rb_plan_result *out, struct rb_err *err)
{
    const struct rb_plan_request *asked = x->search->req;
    struct rb_plan_request req = *asked;
    req.budget_uusd = -1;
    req.confidence = confidence;
    x->search->req = &req;
    const bool ok = rb_exact_plan(x->search, &x->opt, out, err);
    x->search->req = asked;
    return ok;
}

bool rb_fastest_with_room(struct rb_exact *x, struct rb_err *err)
{
    const double asked = x->search->req->confidence;
    bool in_time = x->search->req->budget_uusd >= 0;
    for (int i = 0; i < RB_EXACT_ROOMS && in_time; i++) {
        struct rb_plan_result result;
        if (!best_without_budget(x, asked + (1 - asked) * i / RB_EXACT_ROOMS, &result, err) ||
            !rb_exact_offer(x, &result.best, err))
            return false;
        x->seen[x->n_seen++] = result.best;
        in_time = result.feasible;
    }
    return true;
}

// What the plan that is best at another deadline, budget aside, needs.
static bool needs_at(struct rb_exact *x, int64_t deadline_us, struct rb_needs *out, struct rb_err *err)
{
    struct rb_plan_request req = *x->search->req;
    struct rb_search there;
    struct rb_plan_result result;
    req.deadline_us = deadline_us;
    req.budget_uusd = -1;
    req.times = x->search->times;
    req.runs = x->search->runs;
    req.n_hints = 0;
    req.explain = NULL;
    if (!rb_search_init(&there, &req, x->search->scenario, err))
        return false;
    const bool ok = rb_exact_plan(&there, &x->opt, &result, err);
    rb_search_finish(&there);
    *out = rb_needs_none();
    return ok && (!result.feasible || rb_search_needs(x->search, &result.best, x->opt.told_accuracy, out, err));
}

// What the cheapest plan of all needs: where that is no deadline at all, nothing keeps the budget.
static bool needs_of_cheapest(struct rb_exact *x, struct rb_needs *nearest, struct rb_err *err)
{
    struct rb_lattice_path path;
    struct rb_needs needs = rb_needs_none();
    struct rb_togo *t = rb_togo_create(&x->lattice);
    bool ok = rb_exact_settle(x, t, RB_DELAY_CAUTIOUS, 0, &path, err);
    rb_togo_destroy(t);
    if (ok) {
        const struct rb_candidate c = rb_lattice_candidate(&x->lattice, &path);
        ok = rb_search_needs(x->search, &c, x->opt.told_accuracy, &needs, err);
    }
    rb_needs_merge(nearest, &needs);
    return ok;
}

// Where the surest plan is late, none keeps a deadline before the soonest one does; and that may keep the budget as well.
// io_late_us: no plan is in time until then.
static bool needs_of_soonest(struct rb_exact *x, const struct rb_candidate *surest, int64_t *io_late_us,
                             struct rb_needs *nearest, struct rb_err *err)
{
    struct rb_candidate soonest;
    struct rb_score score;
    struct rb_needs needs;
    double quantile_s;
    if (!rb_score_candidate(x->search, surest, RB_SCORE_SEARCH_ACCURACY, &score, err))
        return false;
    if (score.p_deadline >= x->search->req->confidence)
        return true;
    if (!find(x, SOONEST, &soonest, &quantile_s, err) ||
        !rb_search_needs(x->search, &soonest, x->opt.told_accuracy, &needs, err))
        return false;
    rb_needs_merge(nearest, &needs);
    *io_late_us = (int64_t)fmax((double)*io_late_us, 1e6 * quantile_s);
    return true;
}

// Between a deadline that nothing keeps within the budget and one that the budget is enough for: halved, while that tells them
// apart.
static bool halve_deadlines(struct rb_exact *x, int64_t late_us, struct rb_needs *nearest, struct rb_err *err)
{
    for (int i = 0; i < HALVINGS && nearest->deadline_us > late_us + late_us / 100 && !rb_exact_out_of_time(x); i++) {
        const int64_t middle_us = late_us + (nearest->deadline_us - late_us) / 2;
        struct rb_needs needs;
        if (!needs_at(x, middle_us, &needs, err))
            return false;
        if (needs.deadline_us < 0 || needs.deadline_us >= nearest->deadline_us)
            late_us = middle_us;
        rb_needs_merge(nearest, &needs);
    }
    return true;
}

static bool needs_of_seen(struct rb_exact *x, struct rb_candidate *surest, struct rb_needs *nearest, struct rb_err *err)
{
    for (int i = 0; i < x->n_seen; i++) {
        struct rb_needs needs;
        if (!rb_search_needs(x->search, &x->seen[i], x->opt.told_accuracy, &needs, err))
            return false;
        if (needs.confidence > nearest->confidence)
            *surest = x->seen[i];
        rb_needs_merge(nearest, &needs);
    }
    return true;
}

static bool needs_with_budget(struct rb_exact *x, struct rb_candidate *surest, struct rb_needs *nearest,
                              struct rb_err *err)
{
    int64_t late_us = x->search->req->deadline_us;
    return rb_fastest_surest(x, surest, err) && needs_of_soonest(x, surest, &late_us, nearest, err) &&
           needs_of_seen(x, surest, nearest, err) && needs_of_cheapest(x, nearest, err) &&
           (x->search->req->deadline_us < 0 || halve_deadlines(x, late_us, nearest, err));
}

// Nodes that are not ready at a barrier make a plan later than its laws say: then replicates have a say as well.
static bool allow_for_late(struct rb_exact *x, const struct rb_candidate *c, struct rb_needs *out, struct rb_err *err)
{
    struct rb_score score;
    *out = (struct rb_needs){.deadline_us = -1, .budget_uusd = -1, .confidence = 1};
    if (!rb_score_candidate(x->search, c, x->opt.told_accuracy, &score, err))
        return false;
    return score.unready < NO_MATTER || rb_search_needs(x->search, c, x->opt.told_accuracy, out, err);
}

// The least deadline that laws say some plan keeps, and what late nodes make of it.
static bool needs_of_time(struct rb_exact *x, struct rb_candidate *surest, struct rb_needs *nearest, struct rb_err *err)
{
    struct rb_candidate soonest;
    struct rb_score score;
    struct rb_needs late_soonest, late_surest;
    double quantile_s;
    if (!find(x, SOONEST, &soonest, &quantile_s, err) ||
        !rb_score_quantile_s(x->search, &soonest, x->search->req->confidence, x->opt.told_accuracy, &quantile_s, err) ||
        !allow_for_late(x, &soonest, &late_soonest, err))
        return false;
    nearest->deadline_us = (int64_t)ceil(quantile_s * 1e6);
    nearest->deadline_us =
        late_soonest.deadline_us > nearest->deadline_us ? late_soonest.deadline_us : nearest->deadline_us;
    if (x->search->req->deadline_us == 0) { // nothing keeps it, one plan as surely as the other
        *surest = soonest;
        return true;
    }
    if (!rb_fastest_surest(x, surest, err) || !rb_score_candidate(x->search, surest, RB_SCORE_ACCURACY, &score, err) ||
        !allow_for_late(x, surest, &late_surest, err))
        return false;
    nearest->confidence = fmin(score.p_deadline, late_surest.confidence);
    return true;
}

bool rb_fastest_nearest(struct rb_exact *x, struct rb_plan_result *out, struct rb_err *err)
{
    struct rb_needs nearest = rb_needs_none();
    struct rb_candidate surest;
    if (x->search->req->budget_uusd < 0) {
        if (!needs_of_time(x, &surest, &nearest, err))
            return false;
    } else if (!needs_with_budget(x, &surest, &nearest, err)) {
        return false;
    }
    if (!rb_search_not_found(x->search, &surest, &nearest, out, err))
        return false;
    out->cut = x->cut;
    return true;
}
