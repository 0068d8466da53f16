#include "engine/policies/live_group.h"

#include "base/arena.h"
#include "base/order.h"
#include "engine/policies/pool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- widths

static const struct rb_offer *offer_of(const struct rb_plan *plan)
{
    return &plan->offers[plan->stages[0].nodes[0].offer];
}

static void add(struct rb_live_widths *w, int gpus, int sharers, double factor)
{
    w->widths[w->n] = (struct rb_width){gpus, sharers};
    w->factor[w->n++] = factor;
}

static bool add_shares(const struct rb_trial_spec *spec, const struct rb_training *training, struct rb_live_widths *w,
                       struct rb_err *err)
{
    double slowdown;
    for (int i = spec->n_shares - 1; i >= 0 && spec->shares[i] > 1; i--) {
        if (!rb_training_slowdown(training, spec->shares[i], &slowdown, err))
            return rb_err_prefix(err, "trial.gpus.share");
        add(w, 1, spec->shares[i], slowdown);
    }
    return true;
}

// A size that was never measured is not used.
static bool add_sizes(const struct rb_plan *plan, const struct rb_training *training, struct rb_live_widths *w,
                      struct rb_err *err)
{
    const struct rb_trial_spec *spec = &plan->job->trial;
    const int per_node = offer_of(plan)->gpus, n_nodes = rb_plan_stage_node_count(&plan->stages[0]);
    if (spec->sizes[0] != 1)
        return rb_err_set(
            err, RB_E_POLICY,
            "policy: %s compares every size with one GPU: expected 1 among trial.gpus.sizes, the least is "
            "%d",
            plan->policy, spec->sizes[0]);
    for (int i = 0; i < spec->n_sizes && w->n < RB_PACK_MOST_WIDTHS; i++) {
        const int gang = (spec->sizes[i] + per_node - 1) / per_node;
        double speedup;
        if (gang <= n_nodes && gang <= spec->max_nodes &&
            rb_training_speedup(training, spec->sizes[i], gang, &speedup, NULL))
            add(w, spec->sizes[i], 1, 1 / speedup);
    }
    return true;
}

// c over adjacent shares without a gap: unmeasured shares are not known to pay.
static void find_caps(struct rb_live_widths *w)
{
    double slowdowns[RB_LIMIT_TRIALS_PER_GPU] = {1}, speedups[RB_PACK_MOST_WIDTHS];
    int sizes[RB_PACK_MOST_WIDTHS], n_sizes = 0, n_shares = 1;
    for (int p = 2, at; p <= RB_LIMIT_TRIALS_PER_GPU && (at = rb_live_width_find(w, 1, p)) >= 0; p++)
        slowdowns[n_shares++] = w->factor[at];
    for (int i = 0; i < w->n; i++) {
        if (w->widths[i].sharers > 1)
            continue;
        sizes[n_sizes] = w->widths[i].gpus;
        speedups[n_sizes++] = 1 / w->factor[i];
    }
    w->caps.most_sharers = rb_fluid_most_sharers(slowdowns, n_shares, RB_FLUID_THRESHOLD);
    w->caps.most_gpus = rb_fluid_most_gpus(sizes, speedups, n_sizes, RB_FLUID_THRESHOLD);
}

bool rb_live_widths_make(const struct rb_plan *plan, struct rb_live_widths *out, struct rb_err *err)
{
    const struct rb_training *training = rb_profile_training(plan->profile, offer_of(plan)->accelerator);
    struct rb_live_widths w = {.n = 0};
    if (!training)
        return rb_err_set(err, RB_E_NOT_MEASURED, "profile %s: there is no data on %s", plan->profile->name,
                          offer_of(plan)->accelerator);
    if (!add_shares(&plan->job->trial, training, &w, err) || !add_sizes(plan, training, &w, err))
        return false;
    find_caps(&w);
    *out = w;
    return true;
}

int rb_live_width_find(const struct rb_live_widths *w, int gpus, int sharers)
{
    for (int i = 0; i < w->n; i++) {
        if (w->widths[i].gpus == gpus && w->widths[i].sharers == sharers)
            return i;
    }
    return -1;
}

// ---- paces

void rb_paces_finish(struct rb_paces *p)
{
    free(p->paces);
    *p = (struct rb_paces){0};
}

static struct rb_pace *reserve(struct rb_paces *p, int trial)
{
    if (trial >= p->n) {
        const int n = trial >= 2 * p->n ? trial + 1 : 2 * p->n;
        p->paces = rb_xrealloc(p->paces, (size_t)n, sizeof *p->paces);
        for (; p->n < n; p->n++)
            p->paces[p->n] = (struct rb_pace){.attempt = -1};
    }
    return &p->paces[trial];
}

// The first report of a start also includes its start-up: units are counted from there.
bool rb_paces_see(struct rb_paces *p, const struct rb_live_widths *w, const struct rb_engine *e, int trial)
{
    const struct rb_trial *t = rb_engine_trial(e, trial);
    struct rb_pace *pace = reserve(p, trial);
    if (t->state != RB_TRIAL_RUNNING)
        return false;
    const int64_t now_us = rb_engine_now_us(e);
    if (pace->attempt != t->attempt || pace->stage != t->stage) {
        pace->attempt = t->attempt;
        pace->stage = t->stage;
        pace->first_us = now_us;
        pace->first_resource = t->resource;
    }
    pace->last_us = now_us;
    pace->last_resource = t->resource;
    const int width = rb_live_width_find(w, t->gpus, t->sharers);
    const int64_t units = t->resource - pace->first_resource;
    if (units > 0 && width >= 0)
        pace->unit_s = (double)(now_us - pace->first_us) / 1e6 / (double)units / w->factor[width];
    return true;
}

bool rb_paces_known(const struct rb_paces *p, int trial)
{
    return trial < p->n && p->paces[trial].unit_s > 0;
}

static double unit_s(const struct rb_paces *p, int trial, double expected_s)
{
    return rb_paces_known(p, trial) ? p->paces[trial].unit_s : expected_s;
}

// ---- the group

void rb_live_group_finish(struct rb_live_group *g)
{
    free(g->trials);
    free(g->held);
    free(g->resize_us);
    free(g->height_us);
    *g = (struct rb_live_group){0};
}

void rb_live_group_reserve(struct rb_live_group *g, int n, int n_widths)
{
    if (n <= g->cap)
        return;
    g->cap = 2 * n;
    g->trials = rb_xrealloc(g->trials, (size_t)g->cap, sizeof *g->trials);
    g->held = rb_xrealloc(g->held, (size_t)g->cap, sizeof *g->held);
    g->resize_us = rb_xrealloc(g->resize_us, (size_t)g->cap, sizeof *g->resize_us);
    g->height_us = rb_xrealloc(g->height_us, (size_t)g->cap * (size_t)n_widths, sizeof *g->height_us);
}

static int64_t in_us(double s)
{
    return s > 0 ? (int64_t)ceil(s * 1e6) : 1;
}

// It has trained since its last report: its present unit needs that much less.
static double begun_s(const struct rb_paces *p, const struct rb_engine *e, int trial, const struct rb_trial *t,
                      double held_unit_s)
{
    const bool seen = trial < p->n && p->paces[trial].attempt == t->attempt && p->paces[trial].stage == t->stage;
    const double since_s = seen ? (double)(rb_engine_now_us(e) - p->paces[trial].last_us) / 1e6 : 0;
    return fmin(since_s, held_unit_s);
}

static void add_trial(struct rb_live_group *g, const struct rb_plan *plan, const struct rb_live_widths *w,
                      const struct rb_paces *paces, const struct rb_engine *e, int trial)
{
    const struct rb_training *training = rb_profile_training(plan->profile, offer_of(plan)->accelerator);
    const struct rb_trial *t = rb_engine_trial(e, trial);
    const int at = g->pack.n_trials++;
    const bool runs = t->state == RB_TRIAL_RUNNING;
    const double unit = unit_s(paces, trial, training->base_s), left = (double)(t->resource_end - t->resource);
    const double startup_s = rb_dist_mean(&plan->profile->startup_s);
    const double checkpoint_s = rb_dist_mean(&plan->profile->checkpoint_s);
    g->trials[at] = trial;
    g->held[at] = runs ? rb_live_width_find(w, t->next_gpus, t->next_sharers) : -1;
    g->resize_us[at] = in_us(startup_s + checkpoint_s);
    const double begun = g->held[at] >= 0 ? begun_s(paces, e, trial, t, unit * w->factor[g->held[at]]) : 0;
    for (int i = 0; i < w->n; i++) {
        const double units_s = left * unit * w->factor[i] - (i == g->held[at] ? begun : 0);
        g->height_us[at * w->n + i] = in_us((runs ? 0 : startup_s) + units_s + checkpoint_s);
    }
}

bool rb_live_group_collect(struct rb_live_group *g, const struct rb_plan *plan, const struct rb_live_widths *w,
                           const struct rb_paces *paces, const struct rb_engine *e, unsigned which)
{
    int n_running, n_waiting, n = 0;
    const int *running = rb_engine_running(e, &n_running), *waiting = rb_engine_waiting(e, &n_waiting);
    RB_AUTO(rb_auto_free) int *ids = rb_xcalloc((size_t)(n_running + n_waiting + 1), sizeof *ids);
    for (int i = 0; (which & RB_LIVE_RUNNING) && i < n_running; i++) {
        if (rb_engine_trial(e, running[i])->next_gpus > 0)
            ids[n++] = running[i];
    }
    qsort(ids, (size_t)n, sizeof *ids, rb_order_ints);
    const int n_first = n;
    for (int i = 0; (which & RB_LIVE_WAITING) && i < n_waiting; i++)
        ids[n++] = waiting[i];
    qsort(ids + n_first, (size_t)(n - n_first), sizeof *ids, rb_order_ints);
    rb_live_group_reserve(g, n, w->n);
    g->pack = (struct rb_pack_group){.widths = w->widths,
                                     .n_widths = w->n,
                                     .height_us = g->height_us,
                                     .n_nodes = rb_plan_stage_node_count(&plan->stages[0]),
                                     .node_gpus = offer_of(plan)->gpus};
    for (int i = 0; i < n; i++)
        add_trial(g, plan, w, paces, e, ids[i]);
    return n > 0;
}

void rb_live_heights(const struct rb_plan *plan, const struct rb_live_widths *w, int64_t units, int64_t *out_us)
{
    const struct rb_training *training = rb_profile_training(plan->profile, offer_of(plan)->accelerator);
    const double fixed_s = rb_dist_mean(&plan->profile->startup_s) + rb_dist_mean(&plan->profile->checkpoint_s);
    for (int i = 0; i < w->n; i++)
        out_us[i] = in_us(fixed_s + (double)units * training->base_s * w->factor[i]);
}

int rb_live_idle_gpus(const struct rb_engine *e)
{
    int idle = 0, n;
    for (int i = 0; i < rb_engine_n_nodes(e); i++) {
        const struct rb_owned_node *node = rb_engine_node(e, i);
        if (node->state == RB_OWNED_READY)
            idle += __builtin_popcountll(node->usable & ~node->busy);
    }
    const int *waiting = rb_engine_waiting(e, &n);
    for (int i = 0; i < n; i++)
        idle -= rb_engine_trial(e, waiting[i])->gpus;
    const int *running = rb_engine_running(e, &n);
    for (int i = 0; i < n; i++) {
        const struct rb_trial *t = rb_engine_trial(e, running[i]);
        idle -= t->next_gpus > t->gpus ? t->next_gpus - t->gpus : 0;
    }
    return idle;
}
