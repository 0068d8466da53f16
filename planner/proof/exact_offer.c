// One plan against the best so far: is it cheaper, and does it keep the constraints? Laws say first, and runs where they do not.
#include "planner/proof/exact.h"

#include "planner/scores/draws.h"

#include <math.h>

#define MOST_TIMES      16  // the runs of a request
#define SETTLING_TRIALS 4e6 // some tenths of a second

// Where no error lets it be further up.
static bool may_reach(const struct rb_estimate *e, double confidence)
{
    return e->p_both + rb_search_p_off(e) >= confidence;
}

// Feasible but for what the errors of its probability hide? Budgets and late nodes, which laws do not know, are told by runs.
static bool is_doubtful(const struct rb_exact *x, const struct rb_candidate *c, const struct rb_score *score)
{
    const double confidence = x->search->req->confidence;
    const bool by_runs = x->search->req->budget_uusd >= 0 || c->estimate.time_method != RB_ESTIMATE_LAWS;
    return score->p_deadline + score->p_error - score->unready >= confidence &&
           (!by_runs || may_reach(&c->estimate, confidence));
}

bool rb_exact_tell_side(struct rb_exact *x, const struct rb_candidate *c, enum rb_side *out, struct rb_err *err)
{
    const struct rb_plan_request *asked = x->search->req;
    struct rb_estimate e;
    struct rb_score score;
    double trials = 0;
    for (int stage = 0; stage < c->n_stages; stage++)
        trials += rb_search_n_trials(x->search, stage);
    *out = RB_SIDE_UNSETTLED;
    if (!rb_score_candidate(x->search, c, RB_SCORE_ACCURACY, &score, err))
        return false;
    for (int times = 4; *out == RB_SIDE_UNSETTLED && times <= MOST_TIMES; times *= 4) {
        if (times * asked->samples * trials > SETTLING_TRIALS || rb_exact_out_of_time(x))
            return true;
        if (!rb_draws_estimate(x->search, c, &score, times * asked->samples, &e, err))
            return false;
        if (e.p_both - e.error.p_both >= asked->confidence)
            *out = RB_SIDE_KEEPS;
        if (!may_reach(&e, asked->confidence))
            *out = RB_SIDE_FAILS;
    }
    return true;
}

// Do a few runs say that a plan is billed no less than the best?
static bool is_billed_more(struct rb_exact *x, const struct rb_candidate *c, const struct rb_score *score, bool *out,
                           struct rb_err *err)
{
    struct rb_billed few;
    *out = false;
    if (!x->opt.bills || !x->has_best || !rb_billed_may_differ(score) || x->search->req->samples <= RB_BILLED_FEW)
        return true;
    if (!rb_billed_by_runs(x->search, c, score, RB_BILLED_FEW, &few, err))
        return false;
    *out = rb_billed_at_least_uusd(&few, score) >= rb_exact_to_beat(x);
    return true;
}

// A plan whose bill was told to be no less than the best's: what it is billed at least bounds the proof.
static void count_loser(struct rb_exact *x, const struct rb_score *score, const struct rb_billed *told)
{
    x->billed_uusd = fmin(x->billed_uusd, rb_billed_at_least_uusd(told, score));
}

static void become_best(struct rb_exact *x, const struct rb_candidate *c, const struct rb_score *score,
                        const struct rb_billed *billed)
{
    if (x->has_best)
        rb_search_explain_loss(x->search, "optimal", &x->best, c);
    x->best = *c;
    x->best_score = *score;
    x->best_billed = *billed;
    x->has_best = true;
}

// A feasible plan whose stages cost less than the best is billed.
static bool compare_bills(struct rb_exact *x, struct rb_candidate *c, const struct rb_score *score, struct rb_err *err)
{
    struct rb_billed billed = {.mean_uusd = score->cost_mean_uusd};
    if (x->opt.bills && !rb_billed_mean(x->search, c, score, &billed, err))
        return false;
    c->estimate.cost_uusd.mean = (int64_t)llround(billed.mean_uusd);
    if (billed.mean_uusd >= rb_exact_to_beat(x)) {
        rb_search_explain_loss(x->search, "optimal", c, &x->best);
        count_loser(x, score, &billed);
        return true;
    }
    if (x->has_best)
        count_loser(x, &x->best_score, &x->best_billed);
    become_best(x, c, score, &billed);
    return true;
}

static bool is_best(const struct rb_exact *x, const struct rb_candidate *c)
{
    bool same = x->has_best;
    for (int stage = 0; same && stage < c->n_stages; stage++)
        same = rb_choice_is_same(&x->best.stages[stage], &c->stages[stage]);
    return same;
}

bool rb_exact_offer(struct rb_exact *x, struct rb_candidate *candidate, struct rb_err *err)
{
    struct rb_score score;
    if (is_best(x, candidate)) // its own bill is not one that competes
        return true;
    if (!rb_score_candidate(x->search, candidate, x->opt.accuracy, &score, err))
        return false;
    bool ruled_out = score.cost_mean_uusd >= rb_exact_to_beat(x);
    if (!ruled_out && !is_billed_more(x, candidate, &score, &ruled_out, err))
        return false;
    if (ruled_out) {
        x->n_ruled_out++;
        return true;
    }
    if (!rb_search_score(x->search, candidate, x->search->req->samples, err))
        return false;
    if (rb_search_feasible(x->search, &candidate->estimate))
        return compare_bills(x, candidate, &score, err);
    rb_search_explain_loss(x->search, "optimal", candidate, NULL);
    // What is that close to the confidence was scored as accurately as can be just now.
    if (is_doubtful(x, candidate, &score) && !rb_score_candidate(x->search, candidate, RB_SCORE_ACCURACY, &score, err))
        return false;
    if (!is_doubtful(x, candidate, &score))
        return true;
    enum rb_side side = RB_SIDE_UNSETTLED;
    if (candidate->estimate.time_method != RB_ESTIMATE_LAWS && !rb_exact_tell_side(x, candidate, &side, err))
        return false;
    if (side != RB_SIDE_FAILS)
        x->doubtful_uusd = fmin(x->doubtful_uusd, score.finest_uusd);
    return true;
}
