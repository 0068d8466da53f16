#include "simulator/replan/replan_private.h"

#include "simulator/stage/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIRST_JUDGED = 1 << 20, // runs that no search has used
    MOST_ROUNDS = 8,        // each takes the best exchange
    MOST_LISTED = 400,      // exchanges; fewer of jobs with many trials
    MOST_TRIALS = 20000000, // played: a minute of work
    FEW_RUNS = 16,          // after which an exchange that is clearly worse is dropped
    FEWER = 4,              // runs of these that keep the limits than would be enough
    MOST_FINALISTS = 3,     // that are judged
    CLEAR_RUNS = 256,       // of the plan in force, where they leave no doubt
};

#define FAR_ABOVE 1.05 // than the best in the same runs
#define CLEAR_SE   3    // standard errors

#define ABOUT (1.5 / RB_REPLAN_RANKED_RUNS) // of probability: one run of those that rank exchanges

// ---- what they are worth

static struct rb_event advice_of(const struct rb_replan *r, const struct rb_replan_choices *c)
{
    return (struct rb_event){
        .kind = RB_EVENT_ADVICE,
        .changes = &c->stages[r->first],
        .n_changes = r->n_stages - r->first,
        .admit_until_us = c->admit_until_us};
}

static bool keeps(const struct rb_replan *r, int64_t time_us, int64_t cost_uusd)
{
    return (r->limits.deadline_us < 0 || time_us <= r->limits.deadline_us) &&
           (r->limits.budget_uusd < 0 || cost_uusd <= r->limits.budget_uusd);
}

// Adds some more runs of an exchange to its score, each with this weight. out_cost_uusd may be NULL. False: it comes to
// no end.
static bool play_some(struct rb_replan *r, struct rb_replan_exchange *x, int first, double weight,
                      int64_t *out_cost_uusd)
{
    int64_t time_us[RB_REPLAN_STEP], cost_uusd[RB_REPLAN_STEP];
    const struct rb_event advice = advice_of(r, &x->choices);
    if (!rb_prediction_try(r->prediction, &advice, (uint32_t)first, RB_REPLAN_STEP, time_us, cost_uusd)) {
        x->score = (struct rb_replan_score){.p = -1, .cost_uusd = INFINITY};
        return false;
    }
    for (int i = 0; i < RB_REPLAN_STEP; i++) {
        x->score.p += keeps(r, time_us[i], cost_uusd[i]) ? weight : 0;
        x->score.time_us += weight * (double)time_us[i];
        x->score.cost_uusd += weight * (double)cost_uusd[i];
        if (out_cost_uusd)
            out_cost_uusd[i] = cost_uusd[i];
    }
    return true;
}

// How sure is sure enough.
static double enough(const struct rb_replan *r)
{
    return fmin(r->limits.confidence, r->surest - ABOUT);
}

// By its first runs: it cannot keep the limits often enough, or costs far more than the best in the same runs.
static bool is_hopeless(const struct rb_replan *r, const struct rb_replan_exchange *x)
{
    const struct rb_replan_exchange *best = &r->listed[r->best_of_round];
    double cost_uusd = 0, best_uusd = 0;
    for (int i = 0; i < FEW_RUNS; i++) {
        cost_uusd += (double)r->ranked_cost_uusd[i];
        best_uusd += (double)r->best_cost_uusd[i];
    }
    return x->score.p * RB_REPLAN_RANKED_RUNS <= enough(r) * FEW_RUNS - FEWER ||
           (best->score.p >= r->limits.confidence && cost_uusd > FAR_ABOVE * best_uusd);
}

// Plays some more runs of the next one. True: it is ranked.
static bool rank_some(struct rb_replan *r)
{
    struct rb_replan_exchange *x = &r->listed[r->n_ranked];
    if (!play_some(r, x, r->n_runs, 1.0 / RB_REPLAN_RANKED_RUNS, r->ranked_cost_uusd + r->n_runs)) {
        r->failed = r->n_ranked == 0; // the plan in force; another one that comes to no end is only a bad one
        return true;
    }
    r->n_runs += RB_REPLAN_STEP;
    if (r->n_runs == FEW_RUNS && r->n_ranked > 0 && is_hopeless(r, x)) {
        x->score = (struct rb_replan_score){.p = -1, .cost_uusd = INFINITY};
        return true;
    }
    return r->n_runs == RB_REPLAN_RANKED_RUNS;
}

static int64_t admitted_until(const struct rb_replan_exchange *x)
{
    return x->choices.admit_until_us ? x->choices.admit_until_us : INT64_MAX;
}

// The cheapest of those that keep the limits with the confidence; if none does, the cheapest of those that are about as
// sure as the surest.
static bool is_better(const struct rb_replan *r, const struct rb_replan_exchange *a, const struct rb_replan_exchange *b)
{
    if (a->score.p < enough(r) || b->score.p < enough(r))
        return a->score.p > b->score.p;
    if (a->choices.admit_until_us != b->choices.admit_until_us) // fewer configurations are always cheaper
        return admitted_until(a) > admitted_until(b);
    return a->score.cost_uusd < b->score.cost_uusd;
}

static bool is_late(const struct rb_replan *r)
{
    return r->listed[0].score.p < r->limits.confidence;
}

// The first round has only the plan in force, the second one what is far from it or a search that is closed, later ones
// what is near the best.
static void begin_round(struct rb_replan *r)
{
    r->best = r->best_of_round;
    if (r->round == 0 && is_late(r))
        rb_replan_close_admission(r);
    if (r->round == 0 && !r->overlaps)
        rb_replan_make_singles(r);
    else if (r->n_listed == 1 || r->round > 0)
        rb_replan_exchange_near(r);
    r->round++;
}

static void screen_next(struct rb_replan *r)
{
    struct rb_replan_exchange *x = &r->singles[r->n_screened++];
    play_some(r, x, 0, 1.0 / RB_REPLAN_STEP, NULL);
    if (r->n_screened == r->n_singles)
        rb_replan_combine(r);
}

static void rank_next(struct rb_replan *r)
{
    if (!rank_some(r))
        return;
    const int i = r->n_ranked++;
    r->n_runs = 0;
    r->surest = fmax(r->surest, r->listed[i].score.p);
    if (i == 0 || is_better(r, &r->listed[i], &r->listed[r->best_of_round])) {
        r->best_of_round = i;
        memcpy(r->best_cost_uusd, r->ranked_cost_uusd, sizeof r->best_cost_uusd);
    }
}

static void end_round(struct rb_replan *r)
{
    const struct rb_replan_exchange *best = &r->listed[r->best_of_round];
    const bool closed = r->round == 1 && best->choices.admit_until_us > 0;
    const bool is_enough = closed && best->score.p >= r->limits.confidence;
    const bool is_last = r->best_of_round == r->best && r->round > (r->overlaps ? 0 : 1);
    r->searched = r->round > 0 && (is_enough || is_last || r->round == MOST_ROUNDS);
    if (r->searched)
        r->best = r->best_of_round;
    else
        begin_round(r);
}

// ---- the verdict

// Is it clear by the runs so far that it keeps the limits with the confidence, or that it does not?
static bool is_clear(const struct rb_replan *r, const struct rb_replan_judged *j)
{
    const double c = r->limits.confidence;
    return j->n >= CLEAR_RUNS && fabs(j->p - c) > CLEAR_SE * sqrt(c * (1 - c) / j->n);
}

// Plays some more runs of what is judged. True: it is. Of the plan in force few are enough where they are clear.
static bool judge_some(struct rb_replan *r, struct rb_replan_judged *j, int index)
{
    const struct rb_event advice = advice_of(r, &r->listed[index].choices);
    const int from = j->n;
    r->failed = !rb_prediction_try(r->prediction, index ? &advice : NULL, FIRST_JUDGED + (uint32_t)from, RB_REPLAN_STEP,
                                   j->time_us + from, j->cost_uusd + from);
    if (r->failed)
        return false;
    j->n += RB_REPLAN_STEP;
    int n_kept = 0;
    for (int i = 0; i < j->n; i++)
        n_kept += keeps(r, j->time_us[i], j->cost_uusd[i]);
    j->p = (double)n_kept / j->n;
    return j->n == RB_REPLAN_JUDGED_RUNS || (index == 0 && is_clear(r, j));
}

// The cheapest of those that seemed surer than the one that was judged last. -1: none.
static int next_finalist(const struct rb_replan *r, int judged)
{
    int next = -1;
    for (int i = 0; i < r->n_listed; i++) {
        if (r->listed[i].score.p > r->listed[judged].score.p &&
            (next < 0 || r->listed[i].score.cost_uusd < r->listed[next].score.cost_uusd))
            next = i;
    }
    return next;
}

static void conclude(struct rb_replan *r)
{
    struct rb_replan_found *f = &r->found;
    const struct rb_replan_judged *base = &r->judged[0], *best = &r->judged[r->best != 0];
    double before[RB_REPLAN_JUDGED_RUNS], after[RB_REPLAN_JUDGED_RUNS];
    const int n = base->n;
    for (int i = 0; i < n; i++) {
        before[i] = (double)base->cost_uusd[i];
        after[i] = (double)best->cost_uusd[i];
    }
    for (int i = 0; i < best->n; i++)
        f->highest_uusd = best->cost_uusd[i] > f->highest_uusd ? best->cost_uusd[i] : f->highest_uusd;
    const struct rb_paired pair = rb_paired_of(before, after, n);
    f->p_before = base->p;
    f->p_after = best->p;
    f->cost_before_uusd = rb_mean_of(before, n).mean;
    f->cost_after_uusd = rb_mean_of(after, n).mean;
    f->saving_se_uusd = pair.difference.sd / sqrt(n);
    const struct rb_stage_change *old = r->listed[0].choices.stages, *new = r->listed[r->best].choices.stages;
    for (int s = r->first; s < r->n_stages; s++) {
        if (memcmp(&new[s], &old[s], sizeof new[s]) != 0)
            r->changes[f->n++] = new[s];
    }
    f->changes = r->changes;
    f->admit_until_us = r->listed[r->best].choices.admit_until_us;
    r->concluded = true;
}

// True: another one is judged instead. The runs that ranked the best have chosen it, and flatter it.
static bool is_flattered(struct rb_replan *r)
{
    const int next = next_finalist(r, r->best);
    const bool is_short = r->judged[1].p < r->limits.confidence && r->listed[r->best].score.p >= r->limits.confidence;
    if (!is_short || next < 0 || ++r->n_finalists == MOST_FINALISTS)
        return false;
    r->best = next;
    r->judged[1].n = 0;
    return true;
}

// The plan in force, and the best unless that is the same.
static void judge_next(struct rb_replan *r)
{
    if (!r->base_judged)
        r->base_judged = judge_some(r, &r->judged[0], 0);
    else if (r->best == 0 || (judge_some(r, &r->judged[1], r->best) && !is_flattered(r)))
        conclude(r);
}

// ---- life

// Stages of several kinds of nodes stay as they are: an exchange would need more than one entry.
static bool is_plain(const struct rb_plan *plan, int from)
{
    for (int i = from; i < plan->n_stages; i++) {
        if (plan->stages[i].n_nodes != 1)
            return false;
    }
    return true;
}

static int most_listed(const struct rb_plan *plan, int stage)
{
    int trials = 1;
    for (int i = stage; i < plan->n_stages; i++)
        trials += plan->stages[i].trials;
    const int most = MOST_TRIALS / RB_REPLAN_RANKED_RUNS / trials;
    return most < MOST_LISTED ? most : MOST_LISTED;
}

static int first_to_change(const struct rb_engine *e, const struct rb_plan *plan, int stage)
{
    int n_waiting;
    rb_engine_waiting(e, &n_waiting);
    return (n_waiting > 0 || rb_job_is_asynchronous(plan->job)) && plan->stages[stage].n_nodes == 1 ? stage : stage + 1;
}

static int64_t end_of(const struct rb_prediction *p, const struct rb_plan *plan, const struct rb_replan_limits *limits)
{
    const char *why;
    const struct rb_estimate *e = rb_prediction_estimate(p, &why);
    int64_t end_us = limits->deadline_us >= 0 ? limits->deadline_us : e ? e->time_us.p50 : 0;
    return plan->admit_until_us > 0 && plan->admit_until_us < end_us ? plan->admit_until_us : end_us;
}

bool rb_replan_is_possible(const struct rb_prediction *p)
{
    const struct rb_engine *e = rb_prediction_engine(p);
    if (!e || rb_engine_stage(e) < 0)
        return false;
    const struct rb_plan *plan = rb_engine_present_plan(e);
    const int first = first_to_change(e, plan, rb_engine_stage(e));
    return first < plan->n_stages && is_plain(plan, first);
}

struct rb_replan *rb_replan_begin(struct rb_prediction *p, const struct rb_replan_limits *limits)
{
    if (!rb_replan_is_possible(p))
        return NULL;
    const struct rb_engine *e = rb_prediction_engine(p);
    const struct rb_plan *plan = rb_engine_present_plan(e);
    const int stage = rb_engine_stage(e), first = first_to_change(e, plan, stage);
    struct rb_replan_choices base = {0};
    struct rb_replan *r = rb_xcalloc(1, sizeof *r);
    *r = (struct rb_replan){
        .prediction = p, .limits = *limits, .plan = plan, .stage = stage, .first = first, .n_stages = plan->n_stages};
    r->overlaps = rb_job_is_asynchronous(plan->job);
    r->end_us = end_of(p, plan, limits);
    for (int s = first; s < r->n_stages; s++) {
        const struct rb_plan_stage *from = &plan->stages[s];
        base.stages[s] =
            (struct rb_stage_change){s, from->nodes[0].offer, from->gpus_per_trial, from->nodes[0].count};
    }
    rb_replan_list(r, &base);
    r->most_listed = most_listed(plan, stage);
    return r;
}

void rb_replan_destroy(struct rb_replan *r)
{
    if (!r)
        return;
    free(r->singles);
    free(r->listed);
    free(r);
}

int rb_replan_stage(const struct rb_replan *r)
{
    return r->stage;
}

bool rb_replan_step(struct rb_replan *r)
{
    if (r->failed || r->concluded)
        return true;
    if (r->searched) {
        judge_next(r);
    } else if (r->n_screened < r->n_singles) {
        screen_next(r);
    } else if (r->n_ranked < r->n_listed) {
        rank_next(r);
    } else {
        end_round(r);
    }
    return false;
}

bool rb_replan_result(const struct rb_replan *r, struct rb_replan_found *out)
{
    *out = r->found;
    return !r->failed && r->concluded;
}
