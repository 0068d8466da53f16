// Lookahead: the best accuracy by a deadline, using forecasts of every curve's value then. It asks the world
// (simulator/forecast/forecast.h) for the GPUs of each trial, whether new trials are worth theirs, and the number of
// nodes to own. It follows the answer at each trial's next report, when a restart loses no work. Before the first
// answer it works like hypersched. This project's own; docs/MODEL.md, "Lookahead".
#include "engine/policies/lookahead.h"

#include "base/arena.h"
#include "engine/policies/policies.h"
#include "engine/policies/pool.h"

#include <math.h>
#include <stdlib.h>

// Forecasts change with the logarithm of the resource, and an answer costs the adviser O(trials).
#define ASK_GROWTH        1.2 // a trial asks again when its resource has grown by this factor since it last asked
#define ASKS_PER_DEADLINE 400 // reports ask at most this often

struct lookahead {
    const struct rb_plan *plan;
    void *unadvised; // state of hypersched, which decides until the first answer
    bool advised;
    struct rb_timing timing;
    struct rb_seen_curves curves;
    int *wanted;      // GPUs that each trial will have from its next report on, -1: its present ones; [n_wanted]
    int64_t *asks_at; // resource at which a trial's report asks, [n_wanted]
    int n_wanted;
    int64_t asked_us; // last, -1: never
    bool pending;     // asked and not answered
    bool admits;
};

static bool create(const struct rb_plan *plan, void **out_state, struct rb_err *err)
{
    void *unadvised;
    if (!rb_policy_hypersched.create(plan, &unadvised, err))
        return false;
    struct lookahead *l = rb_xcalloc(1, sizeof *l);
    *l = (struct lookahead){.plan = plan, .unadvised = unadvised, .asked_us = -1, .admits = true};
    rb_timing_init(&l->timing);
    rb_seen_curves_init(&l->curves, plan->job->scheduler.max_resource);
    *out_state = l;
    return true;
}

static void destroy(void *state)
{
    struct lookahead *l = state;
    if (!l)
        return;
    rb_policy_hypersched.destroy(l->unadvised);
    rb_timing_finish(&l->timing);
    rb_seen_curves_finish(&l->curves);
    free(l->wanted);
    free(l->asks_at);
    free(l);
}

static void cluster(const struct rb_plan *plan, int phase, struct rb_allocation *out)
{
    (void)phase;
    rb_own_first_cluster(plan, "the pool begins as the plan lists it", out);
}

static void reserve(struct lookahead *l, int trial)
{
    if (trial < l->n_wanted)
        return;
    const int n = trial >= 2 * l->n_wanted ? trial + 1 : 2 * l->n_wanted;
    l->wanted = rb_xrealloc(l->wanted, (size_t)n, sizeof *l->wanted);
    l->asks_at = rb_xrealloc(l->asks_at, (size_t)n, sizeof *l->asks_at);
    for (; l->n_wanted < n; l->n_wanted++) {
        l->wanted[l->n_wanted] = -1;
        l->asks_at[l->n_wanted] = 1;
    }
}

// ---- promised GPUs

static int wanted_gpus(const struct lookahead *l, const struct rb_engine *e, int trial)
{
    const int wanted = trial < l->n_wanted ? l->wanted[trial] : -1;
    return wanted >= 0 ? wanted : rb_engine_trial(e, trial)->next_gpus;
}

// GPUs that trials were promised for their next report beyond their present claims.
static int promised_gpus(const struct lookahead *l, const struct rb_engine *e)
{
    int n_running, promised = 0;
    const int *running = rb_engine_running(e, &n_running);
    for (int i = 0; i < n_running; i++) {
        const struct rb_trial *t = rb_engine_trial(e, running[i]);
        const int claim = t->gpus > t->next_gpus ? t->gpus : t->next_gpus, wanted = wanted_gpus(l, e, running[i]);
        promised += t->next_gpus > 0 && wanted > claim ? wanted - claim : 0;
    }
    return promised;
}

// A pending answer knows of the GPUs that just became free; the last answer does not.
static bool admits(void *state, const struct rb_engine *e)
{
    const struct lookahead *l = state;
    int n_running, n_waiting;
    if (!l->advised)
        return rb_policy_hypersched.admits(l->unadvised, e);
    rb_engine_running(e, &n_running);
    rb_engine_waiting(e, &n_waiting);
    if (n_running + n_waiting == 0)
        return true; // else the job would end here
    if (l->pending && l->asked_us == rb_engine_now_us(e))
        return false;
    return l->admits && rb_unclaimed_gpus(e) - promised_gpus(l, e) >= rb_atom_gpus(l->plan);
}

// ---- resizing, at a trial's own report

// The largest allowed size in from..to that the trial could have at once; 0: none.
static int largest_size(const struct lookahead *l, const struct rb_engine *e, int trial, int from, int to)
{
    const struct rb_trial_spec *spec = &l->plan->job->trial;
    for (int i = spec->n_sizes - 1; i >= 0; i--) {
        if (spec->sizes[i] >= from && spec->sizes[i] <= to && rb_engine_would_fit(e, trial, spec->sizes[i]))
            return spec->sizes[i];
    }
    return 0;
}

static void resize(struct lookahead *l, const struct rb_engine *e, int trial, struct rb_decisions *out)
{
    const struct rb_trial *t = rb_engine_trial(e, trial);
    const int wanted = wanted_gpus(l, e, trial);
    if (t->state != RB_TRIAL_RUNNING || t->next_gpus != t->gpus || wanted == t->gpus)
        return;
    if (wanted < t->gpus) {
        rb_decide_resize(out, trial, wanted);
        out->reason = wanted > 0 ? "others gain more from its GPUs" : "it will not be the best by the deadline";
        return;
    }
    // The promised GPUs may still be in use: then it waits for a later report.
    const int most = t->gpus + rb_unclaimed_gpus(e);
    if (most < wanted)
        return;
    const int gpus = largest_size(l, e, trial, t->gpus + 1, wanted);
    if (gpus == 0)
        return;
    rb_decide_resize(out, trial, gpus);
    out->reason = "the forecast of the best by the deadline rises most by it";
}

static bool somebody_gives_way(const struct rb_engine *e)
{
    int n;
    const int *running = rb_engine_running(e, &n);
    for (int i = 0; i < n; i++) {
        if (rb_engine_trial(e, running[i])->next_gpus != rb_engine_trial(e, running[i])->gpus)
            return true;
    }
    return false;
}

// Nodes may have been lost, or their free GPUs may be scattered: waiting trials take what fits.
static void shrink_waiting(const struct lookahead *l, const struct rb_engine *e, struct rb_decisions *out)
{
    int n;
    const int *waiting = rb_engine_waiting(e, &n);
    if (n == 0 || somebody_gives_way(e) || rb_engine_would_fit(e, waiting[0], rb_engine_trial(e, waiting[0])->gpus))
        return;
    const int gpus = largest_size(l, e, waiting[0], 1, rb_engine_trial(e, waiting[0])->gpus);
    if (gpus == 0)
        return;
    rb_decide_resize(out, waiting[0], gpus);
    out->reason = "the size it waits for does not fit";
}

// ---- asking

static void ask(struct lookahead *l, const struct rb_engine *e, struct rb_decisions *out)
{
    out->advise = l->pending = true;
    l->asked_us = rb_engine_now_us(e);
    out->reason = out->reason ? out->reason : "new reports: how many GPUs should each trial have?";
}

static bool report_asks(struct lookahead *l, const struct rb_engine *e, int trial)
{
    const int64_t resource = rb_engine_trial(e, trial)->resource;
    if (resource < l->asks_at[trial] ||
        (l->asked_us >= 0 && rb_engine_now_us(e) - l->asked_us < l->plan->deadline_us / ASKS_PER_DEADLINE))
        return false;
    l->asks_at[trial] = (int64_t)ceil((double)resource * ASK_GROWTH) + (resource == 1);
    return true;
}

static double speedup(const struct lookahead *l, int gpus)
{
    const struct rb_offer *offer = &l->plan->offers[l->plan->stages[0].nodes[0].offer];
    const struct rb_training *training = rb_profile_training(l->plan->profile, offer->accelerator);
    double one, many;
    if (!rb_training_speedup(training, rb_atom_gpus(l->plan), 1, &one, NULL) ||
        !rb_training_speedup(training, gpus, (gpus + offer->gpus - 1) / offer->gpus, &many, NULL))
        return 1;
    return many / one;
}

static void decide(void *state, const struct rb_engine *e, int trial, struct rb_decisions *out)
{
    struct lookahead *l = state;
    const struct rb_trial *t = rb_engine_trial(e, trial);
    reserve(l, trial);
    const bool reported = rb_timing_see(&l->timing, e, trial, speedup(l, t->gpus));
    if (reported)
        rb_seen_curves_add(&l->curves, trial, t->resource, t->score);
    else if (t->state != RB_TRIAL_WAITING)
        l->wanted[trial] = -1; // it left; when it comes back it begins with an atom
    if (!l->advised)
        rb_policy_hypersched.decide(l->unadvised, e, trial, out);
    else if (reported)
        resize(l, e, trial, out);
    if (l->advised)
        shrink_waiting(l, e, out);
    if (!reported || report_asks(l, e, trial))
        ask(l, e, out);
}

static void on_advice(void *state, const struct rb_engine *e, const struct rb_advice *advice, struct rb_decisions *out)
{
    struct lookahead *l = state;
    l->advised = true;
    l->pending = false;
    l->admits = advice->admit;
    for (int i = 0; i < l->n_wanted; i++)
        l->wanted[i] = -1;
    for (int i = 0; i < advice->n_trials && advice->trials[i].trial < rb_engine_n_trials(e); i++) {
        const int trial = advice->trials[i].trial;
        reserve(l, trial);
        l->wanted[trial] = advice->trials[i].gpus;
        if (rb_engine_trial(e, trial)->state == RB_TRIAL_RUNNING && trial < l->timing.n_trials &&
            rb_timing_of(&l->timing, trial)->reported_us == rb_engine_now_us(e))
            resize(l, e, trial, out);
    }
    out->pool_nodes = advice->pool_nodes;
    out->reason = out->reason ? out->reason : "the pool is as large as its forecast pays for";
}

bool rb_lookahead_seen(const struct rb_engine *e, struct rb_lookahead_seen *out)
{
    const struct lookahead *l = rb_engine_policy_state(e, &rb_policy_lookahead);
    if (!l)
        return false;
    *out = (struct rb_lookahead_seen){
        .timing = &l->timing,
        .curves = &l->curves,
        .atom_gpus = rb_atom_gpus(l->plan),
        .admits = l->admits,
    };
    return true;
}

const struct rb_policy rb_policy_lookahead = {
    .name = "lookahead",
    .anytime = true,
    .needs_on_demand = true,
    .estimate_runs = 64, // a run takes 0.03 s if its forecasts divide 8 GPUs, and a second if they divide 32
    .foreseen_if = "no forecast changes sizes or nodes from now on",
    .size = rb_size_of_atom,
    .cluster = cluster,
    .create = create,
    .destroy = destroy,
    .admits = admits,
    .decide = decide,
    .on_advice = on_advice,
};
