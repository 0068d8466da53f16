// HyperSched: the best accuracy by a deadline on a fixed pool. It stops starting trials that could no longer catch up,
// and gives the GPUs that become free to the best running trials, where that pays for the restart. Source: Liaw et al.,
// "HyperSched: dynamic resource reallocation for model development on a deadline", SoCC'19, and its released code
// (systems study, section 3.2). Pausing is the tuner's: asha with `rule: speculate`.
#include "engine/policies/policies.h"

#include "base/stream.h"
#include "engine/policies/pool.h"
#include "engine/policies/timing.h"

#include <math.h>
#include <stdlib.h>

struct hypersched {
    const struct rb_plan *plan;
    const struct rb_policy_options *options;
    const struct rb_training *training;
    int gpus_per_node;
    int64_t deadline_us;
    struct rb_timing timing;
    bool closed;          // too late for new trials
    uint32_t n_decisions; // keys the random ones
};

// The speed-up of a trial over one atom. -1: a size that was never measured is not used.
static double speedup(const struct hypersched *h, int gpus)
{
    const int n_nodes = (gpus + h->gpus_per_node - 1) / h->gpus_per_node;
    double one, many;
    if (n_nodes > h->plan->job->trial.max_nodes ||
        !rb_training_speedup(h->training, rb_atom_gpus(h->plan), 1, &one, NULL) ||
        !rb_training_speedup(h->training, gpus, n_nodes, &many, NULL))
        return -1;
    return h->options->scaling == RB_SCALING_LINEAR ? (double)gpus / rb_atom_gpus(h->plan) : many / one;
}

static bool create(const struct rb_plan *plan, void **out_state, struct rb_err *err)
{
    const struct rb_offer *offer = &plan->offers[plan->stages[0].nodes[0].offer];
    if (plan->deadline_us < 0)
        return rb_err_set(err, RB_E_POLICY, "policy: %s works towards a deadline: set deadline, or --deadline",
                          plan->policy);
    struct hypersched *h = rb_xcalloc(1, sizeof *h);
    *h = (struct hypersched){
        .plan = plan,
        .options = &plan->job->policy_options,
        .training = rb_profile_training(plan->profile, offer->accelerator),
        .gpus_per_node = offer->gpus,
        .deadline_us = plan->deadline_us,
    };
    rb_timing_init(&h->timing);
    *out_state = h;
    return true;
}

static void destroy(void *state)
{
    struct hypersched *h = state;
    if (!h)
        return;
    rb_timing_finish(&h->timing);
    free(h);
}

static void cluster(const struct rb_plan *plan, int phase, struct rb_allocation *out)
{
    (void)phase;
    rb_own_first_cluster(plan, "the pool is fixed", out);
}

// ---- admission

static int64_t startup_us(const struct hypersched *h)
{
    return h->options->overhead ? rb_timing_startup_us(&h->timing) : 0;
}

// A new trial that can train neither to the end nor for eta times as long as the longest has is not worth its GPUs.
static bool too_late(const struct hypersched *h, int64_t now_us)
{
    const struct rb_scheduler *s = &h->plan->job->scheduler;
    const int64_t left_us = h->deadline_us - now_us, unit_us = rb_timing_unit_us(&h->timing);
    if (h->options->has_exploration)
        return (double)now_us > h->options->exploration * (double)h->deadline_us;
    if (!h->options->admission || unit_us < 0)
        return false;
    const double catch_up_us = (double)(h->timing.longest_us - startup_us(h)) * s->eta;
    const double to_the_end_us = (double)s->max_resource * (double)unit_us;
    return (double)left_us < fmin(catch_up_us, to_the_end_us);
}

static bool admits(void *state, const struct rb_engine *e)
{
    const struct hypersched *h = state;
    return !h->closed && !too_late(h, rb_engine_now_us(e));
}

// ---- the sizes

// Before any trial has reported, all weigh the same.
static double softmax_weight(double score, double best)
{
    return best > -INFINITY ? exp(score - best) : 1;
}

static int softmax_share(const struct rb_engine *e, int n, int at, int n_extra)
{
    const double best = rb_engine_trial(e, rb_engine_standing(e, 0))->score;
    double sum = 0, before = 0;
    for (int i = 0; i < n; i++) {
        const double weight = softmax_weight(rb_engine_trial(e, rb_engine_standing(e, i))->score, best);
        before += i < at ? weight : 0;
        sum += weight;
    }
    const double own = softmax_weight(rb_engine_trial(e, rb_engine_standing(e, at))->score, best);
    // Cut points rounded down share the whole without a remainder.
    return (int)floor(n_extra * (before + own) / sum) - (int)floor(n_extra * before / sum);
}

static int random_share(struct hypersched *h, int n, int at, int n_extra)
{
    struct rb_stream s;
    int mine = 0;
    rb_stream_init(
        &s, &(struct rb_stream_key){.seed = h->plan->seed, .purpose = RB_DRAW_SHARE, .replicate = h->n_decisions++});
    for (int i = 0; i < n_extra; i++)
        mine += rb_stream_below(&s, (uint64_t)n) == (uint64_t)at;
    return mine;
}

// The atoms beyond one each that the trial at this rank gets.
static int extra_atoms(struct hypersched *h, const struct rb_engine *e, int n, int at, int n_extra)
{
    switch (h->options->allocation) {
    case RB_SPARE_UNIFORM:
        return n_extra / n + (at < n_extra % n);
    case RB_SPARE_BEST:
        return at == 0 ? n_extra : 0;
    case RB_SPARE_SOFTMAX:
        return softmax_share(e, n, at, n_extra);
    case RB_SPARE_RANDOM:
        return random_share(h, n, at, n_extra);
    case RB_SPARE_NONE:
        return 0;
    }
    return 0;
}

// GPUs that the trial should have after a new division; 0: it does not train.
static int fair_gpus(struct hypersched *h, const struct rb_engine *e, int trial)
{
    const int n = rb_engine_n_standing(e), n_atoms = rb_engine_n_gpus(e) / rb_atom_gpus(h->plan);
    const int at = rb_engine_place(e, trial);
    if (at < 0)
        return 0;
    return rb_atom_gpus(h->plan) * (1 + extra_atoms(h, e, n, at, n_atoms > n ? n_atoms - n : 0));
}

// ---- resizing

// The largest allowed size up to `gpus` that is available now; 0: none.
static int largest_size(const struct hypersched *h, const struct rb_engine *e, int trial, int gpus)
{
    const struct rb_trial_spec *spec = &h->plan->job->trial;
    for (int i = spec->n_sizes - 1; i >= 0; i--) {
        if (spec->sizes[i] <= gpus && speedup(h, spec->sizes[i]) > 0 && rb_engine_would_fit(e, trial, spec->sizes[i]))
            return spec->sizes[i];
    }
    return 0;
}

// Does the faster pace compensate for the restart in the time that is left, by at least a tenth?
static bool growth_pays(const struct hypersched *h, const struct rb_engine *e, int from, int to)
{
    const double left_us = (double)(h->deadline_us - rb_engine_now_us(e));
    const double after_us = left_us - (double)startup_us(h);
    return left_us > 0 && speedup(h, to) * after_us / (speedup(h, from) * left_us) > 1.1;
}

static void consider_resize(struct hypersched *h, const struct rb_engine *e, int trial, struct rb_decisions *out)
{
    const struct rb_trial *t = rb_engine_trial(e, trial);
    int fair = fair_gpus(h, e, trial);
    if (fair == 0 || t->next_gpus != t->gpus)
        return;
    if (fair > t->gpus) {
        const int unclaimed = rb_unclaimed_gpus(e);
        fair = fair - t->gpus > unclaimed ? t->gpus + unclaimed : fair;
    }
    const int gpus = largest_size(h, e, trial, fair);
    if (gpus == 0 || gpus == t->gpus)
        return;
    if (gpus > t->gpus && (rb_timing_of(&h->timing, trial)->n_since_start < h->options->resize_interval ||
                           !growth_pays(h, e, t->gpus, gpus)))
        return;
    rb_decide_resize(out, trial, gpus);
    out->reason = gpus > t->gpus ? "it grows into free GPUs" : "its GPUs are shared out again";
}

// A trial that gave way may find that its intended place does not fit: it takes one that does.
static void shrink_waiting(const struct hypersched *h, const struct rb_engine *e, struct rb_decisions *out)
{
    int n;
    const int *waiting = rb_engine_waiting(e, &n);
    if (n == 0 || rb_engine_would_fit(e, waiting[0], rb_engine_trial(e, waiting[0])->gpus))
        return;
    const int gpus = largest_size(h, e, waiting[0], rb_engine_trial(e, waiting[0])->gpus);
    if (gpus == 0)
        return;
    rb_decide_resize(out, waiting[0], gpus);
    out->reason = "the size it waits for does not fit";
}

static void decide(void *state, const struct rb_engine *e, int trial, struct rb_decisions *out)
{
    struct hypersched *h = state;
    const bool reported = rb_timing_see(&h->timing, e, trial, speedup(h, rb_engine_trial(e, trial)->gpus));
    if (!h->closed && too_late(h, rb_engine_now_us(e))) {
        h->closed = out->close = true;
        out->close_what = RB_CLOSE_ALL;
        out->reason = "no other trial could catch up before the deadline";
    }
    if (reported)
        consider_resize(h, e, trial, out);
    shrink_waiting(h, e, out);
}

const struct rb_policy rb_policy_hypersched = {
    .name = "hypersched",
    .anytime = true,
    .needs_on_demand = true,
    .size = rb_size_of_atom,
    .cluster = cluster,
    .create = create,
    .destroy = destroy,
    .admits = admits,
    .decide = decide,
};
