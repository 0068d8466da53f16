// Population based training: a population of members trains side by side. Every `ready_every` units the worst members give
// up, and new trials (clones) go on in their places from the checkpoints of some of the best; the sampler `pbt` explores
// around the hyperparameters of the copied. Source: Jaderberg et al., "Population based training of neural networks",
// arXiv:1711.09846, section 4 (truncation selection); numbers of members as in Ray Tune's scheduler of this name.
//
// Synchronous: all members are compared when all have ended the stage, so who is compared does not depend on the order
// of results. A member that failed or diverged counts among the worst.
// Asynchronous: a member is compared when it ends its stage, with the last results of the others. It is replaced by one
// that has trained at least as far, so that no training is repeated and every place trains each stage once at most.
// The place of a failed member stays empty until another has ended the stage that it failed in.
#include "engine/tuners/ranking.h"

#include "base/arena.h"
#include "base/order.h"
#include "base/stream.h"
#include "engine/tuners/tuners.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

enum { READY_EVERY, QUANTILE, ASYNCHRONOUS, N_RULES };
static const struct rb_setting_rule rules[N_RULES] = {
    [READY_EVERY] = {.key = "ready_every",
                     .kind = RB_SETTING_INT,
                     .min = 1,
                     .max = RB_LIMIT_RESOURCE,
                     .summary = "units that members train between two comparisons"},
    [QUANTILE] = {.key = "quantile",
                  .kind = RB_SETTING_NUMBER,
                  .min = 0.01,
                  .max = 0.5,
                  .fallback = 0.2,
                  .summary = "the share of the population that gives up, and the share that is copied"},
    [ASYNCHRONOUS] = {.key = "asynchronous",
                      .kind = RB_SETTING_BOOL,
                      .summary = "compare each member as soon as it is ready, not all of them together"},
};

// A place in the population, held by one trial after another.
struct member {
    enum { TRAINS, READY, VACANT, OVER } state; // VACANT: its trial failed
    int trial;
    int n_done;      // stages behind it: its own, those of the one it copied, and the one it failed in
    bool has_result; // of its own: a clone's checkpoint is its parent's until then
    double score;    // of that
};

struct pbt {
    uint64_t seed;
    double quantile;
    bool asynchronous, closed_new, closed_all;
    int64_t ready_every, max_resource;
    int n_stages;
    struct member *members; // [n]
    int n;
    int *member_of; // by trial, [n_trials]
    int n_trials;
    struct rb_scored *order;         // trials with a result of their own, best first; [n]
    int *handed, *parents, *dropped; // of the last group, [n]
};

// ---- stages

static bool pbt_stages(const struct rb_job *job, struct rb_rung_table *out, struct rb_err *err)
{
    const struct rb_scheduler *s = &job->scheduler;
    double options[RB_SETTINGS_MAX];
    if (!rb_tuner_options(&rb_tuner_pbt, s, options, err))
        return false;
    if (options[READY_EVERY] < 1)
        return rb_err_set(err, RB_E_KEY_MISSING,
                          "scheduler.ready_every: missing: after how many units do members of the population compare "
                          "themselves?");
    if (job->starts_over)
        return rb_err_set(err, RB_E_SCHEDULER_KEYS,
                          "checkpoint.resume: false: with scheduler.type: pbt trials go on from each other's "
                          "checkpoints; let the script resume, or choose scheduler.type: random");
    const int64_t every = (int64_t)options[READY_EVERY], n = (s->max_resource + every - 1) / every;
    if (n > RB_LIMIT_STAGES)
        return rb_err_set(
            err, RB_E_SCHEDULER_SIZE,
            "scheduler.ready_every: %lld: max_resource: %lld then has %lld stages, and a plan at most %d; "
            "use ready_every: %lld or more",
            (long long)every, (long long)s->max_resource, (long long)n, RB_LIMIT_STAGES,
            (long long)((s->max_resource + RB_LIMIT_STAGES - 1) / RB_LIMIT_STAGES));
    if (s->num_trials * n > RB_LIMIT_TRIALS)
        return rb_err_set(err, RB_E_SCHEDULER_SIZE,
                          "scheduler.num_trials: %d and %lld stages of ready_every: %lld may need %lld trials, at most "
                          "%d can be trained; lower num_trials or raise ready_every",
                          s->num_trials, (long long)n, (long long)every, (long long)(s->num_trials * n),
                          RB_LIMIT_TRIALS);
    *out = (struct rb_rung_table){0};
    for (int64_t start = 0; start < s->max_resource; start += every)
        out->rungs[out->n++] = (struct rb_rung){
            .trials = s->num_trials,
            .resource_start = start,
            .resource_end = start + every < s->max_resource ? start + every : s->max_resource,
        };
    return true;
}

static bool pbt_overlaps(const struct rb_scheduler *s)
{
    double options[RB_SETTINGS_MAX];
    struct rb_err err = {0};
    return rb_tuner_options(&rb_tuner_pbt, s, options, &err) && options[ASYNCHRONOUS] > 0;
}

// ---- life

static int *ints(int n)
{
    return rb_xcalloc((size_t)n, sizeof(int));
}

static bool pbt_create(const struct rb_job *job, void **out_state, struct rb_err *err)
{
    const struct rb_scheduler *s = &job->scheduler;
    struct rb_rung_table table = {0};
    double options[RB_SETTINGS_MAX];
    if (!pbt_stages(job, &table, err) || !rb_tuner_options(&rb_tuner_pbt, s, options, err))
        return false;
    struct pbt *p = rb_xcalloc(1, sizeof *p);
    *p = (struct pbt){
        .seed = job->seed,
        .quantile = options[QUANTILE],
        .asynchronous = options[ASYNCHRONOUS] > 0,
        .ready_every = (int64_t)options[READY_EVERY],
        .max_resource = s->max_resource,
        .n_stages = table.n,
        .n = s->num_trials,
        .members = rb_xcalloc((size_t)s->num_trials, sizeof *p->members),
        .member_of = ints(s->num_trials * table.n),
        .order = rb_xcalloc((size_t)s->num_trials, sizeof *p->order),
        .handed = ints(s->num_trials),
        .parents = ints(s->num_trials),
        .dropped = ints(s->num_trials),
    };
    *out_state = p;
    return true;
}

static void pbt_destroy(void *state)
{
    struct pbt *p = state;
    if (!p)
        return;
    free(p->members);
    free(p->member_of);
    free(p->order);
    free(p->handed);
    free(p->parents);
    free(p->dropped);
    free(p);
}

// ---- who is copied

static bool any_trains(const struct pbt *p)
{
    for (int i = 0; i < p->n; i++)
        if (p->members[i].state == TRAINS)
            return true;
    return false;
}

static int best_first(const void *pa, const void *pb)
{
    const struct rb_scored *a = pa, *b = pb;
    return rb_score_compare(a->score, a->trial, b->score, b->trial);
}

// Fills in the order; returns how many have a result.
static int rank(struct pbt *p)
{
    int n = 0;
    for (int i = 0; i < p->n; i++)
        if (p->members[i].has_result)
            p->order[n++] = (struct rb_scored){p->members[i].score, p->members[i].trial};
    qsort(p->order, (size_t)n, sizeof *p->order, best_first);
    return n;
}

static struct member *ranked(const struct pbt *p, int place)
{
    return &p->members[p->member_of[p->order[place].trial]];
}

// How many of n members are copied, and how many give up. At most half, so that no member is in both groups.
static int quantile_of(const struct pbt *p, int n)
{
    const int wanted = (int)ceil(p->quantile * n - 1e-9); // 0.2 of 15 are 3
    return wanted < n / 2 ? wanted : n / 2;
}

// One of the best n_top, which has trained as far as the replaced and not to the end, by the clone's own draw; -1: none.
static int choose_parent(const struct pbt *p, const struct member *replaced, int n_top, int clone)
{
    RB_AUTO(rb_auto_free) int *fit = ints(n_top + 1);
    struct rb_stream draw;
    int n = 0;
    for (int i = 0; i < n_top; i++) {
        const struct member *m = ranked(p, i);
        if (m != replaced && m->n_done >= replaced->n_done && m->n_done < p->n_stages)
            fit[n++] = p->member_of[m->trial];
    }
    if (n == 0)
        return -1;
    rb_stream_init(&draw,
                   &(struct rb_stream_key){.seed = p->seed, .purpose = RB_DRAW_PARENT, .index = (uint32_t)clone});
    return fit[rb_stream_below(&draw, (uint64_t)n)];
}

static int new_trial(struct pbt *p, int member)
{
    p->member_of[p->n_trials] = member;
    return p->n_trials++;
}

// The member's place goes to a clone of another member's trial, which is returned.
static int replace(struct pbt *p, struct member *m, int parent)
{
    const struct member *from = &p->members[parent];
    *m = (struct member){
        .state = TRAINS, .trial = new_trial(p, (int)(m - p->members)), .n_done = from->n_done, .score = -INFINITY};
    return from->trial;
}

// ---- groups

static enum rb_tuner_next hand_out(struct pbt *p, int stage, int n, int n_dropped, struct rb_group *out)
{
    const int64_t start = stage * p->ready_every, end = start + p->ready_every;
    *out = (struct rb_group){
        .stage = stage,
        .trials = p->handed,
        .n_trials = n,
        .parents = p->parents,
        .resource_start = start,
        .resource_end = end < p->max_resource ? end : p->max_resource,
        .dropped = p->dropped,
        .n_dropped = n_dropped,
    };
    return RB_TUNER_GROUP;
}

static enum rb_tuner_next begin(struct pbt *p, struct rb_group *out)
{
    for (int i = 0; i < p->n; i++) {
        p->members[i] = (struct member){.state = TRAINS, .trial = new_trial(p, i), .score = -INFINITY};
        p->handed[i] = i;
        p->parents[i] = -1;
    }
    return hand_out(p, 0, p->n, 0, out);
}

// ---- all together

// The members that train on, as the first trials of the next group. Returns how many.
static int keep(struct pbt *p, int n_kept)
{
    for (int i = 0; i < n_kept; i++) {
        p->handed[i] = p->order[i].trial;
        p->parents[i] = -1;
        ranked(p, i)->state = TRAINS;
    }
    qsort(p->handed, (size_t)n_kept, sizeof *p->handed, rb_order_ints);
    return n_kept;
}

// All members have ended the stage: the worst k give up, and so do those that failed.
static enum rb_tuner_next next_stage(struct pbt *p, struct rb_group *out)
{
    const int n_fit = rank(p), k = quantile_of(p, p->n), n_top = k < n_fit ? k : n_fit;
    int n = keep(p, p->closed_new || n_fit < p->n - k ? n_fit : p->n - k), n_dropped = 0;
    if (n == 0 || ranked(p, 0)->n_done == p->n_stages)
        return RB_TUNER_DONE;
    const int stage = ranked(p, 0)->n_done;
    for (int i = 0; i < p->n && !p->closed_new; i++) {
        struct member *m = &p->members[i];
        if (m->state == TRAINS)
            continue;
        p->dropped[n_dropped++] = m->trial;
        p->parents[n] = replace(p, m, choose_parent(p, m, n_top, p->n_trials));
        p->handed[n++] = m->trial;
    }
    return hand_out(p, stage, n, n_dropped, out);
}

// ---- one by one

// Is it among the worst k of those with a result?
static bool gives_up(const struct pbt *p, const struct member *m, int n_fit, int k)
{
    for (int i = n_fit - k; i < n_fit; i++)
        if (ranked(p, i) == m)
            return true;
    return m->state == VACANT;
}

static bool hand_out_member(struct pbt *p, struct member *m, struct rb_group *out)
{
    const int n_fit = rank(p), k = quantile_of(p, n_fit), clone = p->n_trials, before = m->trial;
    const int parent = !p->closed_new && gives_up(p, m, n_fit, k) ? choose_parent(p, m, k > 0 ? k : n_fit, clone) : -1;
    if (m->state == VACANT && parent < 0)
        return false;
    p->parents[0] = parent >= 0 ? replace(p, m, parent) : -1;
    p->dropped[0] = before;
    m->state = TRAINS;
    p->handed[0] = m->trial;
    hand_out(p, m->n_done, 1, parent >= 0, out);
    return true;
}

static enum rb_tuner_next next_member(struct pbt *p, struct rb_group *out)
{
    for (int i = 0; i < p->n; i++) {
        struct member *m = &p->members[i];
        if ((m->state == READY || m->state == VACANT) && hand_out_member(p, m, out))
            return RB_TUNER_GROUP;
    }
    return any_trains(p) ? RB_TUNER_WAIT : RB_TUNER_DONE;
}

// ---- the interface

static enum rb_tuner_next pbt_next(void *state, struct rb_group *out)
{
    struct pbt *p = state;
    if (p->closed_all)
        return any_trains(p) ? RB_TUNER_WAIT : RB_TUNER_DONE;
    if (p->n_trials == 0)
        return begin(p, out);
    if (p->asynchronous)
        return next_member(p, out);
    return any_trains(p) ? RB_TUNER_WAIT : next_stage(p, out);
}

// The lowest stage of those that train. A vacant place gets a clone of one of them.
static int pbt_phase(const void *state)
{
    const struct pbt *p = state;
    int lowest = p->n_stages - 1;
    for (int i = 0; i < p->n && p->n_trials > 0; i++)
        if ((p->members[i].state == TRAINS || p->members[i].state == READY) && p->members[i].n_done < lowest)
            lowest = p->members[i].n_done;
    return p->n_trials > 0 ? lowest : 0;
}

static struct member *training(struct pbt *p, int trial)
{
    assert(trial >= 0 && trial < p->n_trials);
    struct member *m = &p->members[p->member_of[trial]];
    assert(m->trial == trial && m->state == TRAINS);
    return m;
}

static void leave(struct pbt *p, struct member *m, double score)
{
    m->has_result = score > -INFINITY;
    m->score = score;
    m->state = ++m->n_done == p->n_stages ? OVER : m->has_result ? READY : VACANT;
}

static void pbt_failed(void *state, int trial)
{
    leave(state, training(state, trial), -INFINITY);
}

static void pbt_ended(void *state, int trial, int64_t resource, double score)
{
    struct member *m = training(state, trial);
    const struct pbt *p = state;
    assert(!(score > -INFINITY) || resource == p->max_resource || resource == (m->n_done + 1) * p->ready_every);
    (void)resource, (void)p;
    leave(state, m, score);
}

// No clone begins any more; the members train on.
static void pbt_close(void *state, enum rb_tuner_close what)
{
    struct pbt *p = state;
    p->closed_new = true;
    p->closed_all = p->closed_all || what == RB_CLOSE_ALL;
}

const struct rb_tuner rb_tuner_pbt = {
    .name = "pbt",
    .rules = rules,
    .n_rules = N_RULES,
    .stages = pbt_stages,
    .overlaps = pbt_overlaps,
    .create = pbt_create,
    .destroy = pbt_destroy,
    .next = pbt_next,
    .phase = pbt_phase,
    .ended = pbt_ended,
    .failed = pbt_failed,
    .close = pbt_close,
};
