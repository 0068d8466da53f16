#include "executor/pool/arbiter.h"

#include "base/limits.h"
#include "engine/sharing/lend.h"
#include "executor/pool/arbiter_view.h"

#include <stdlib.h>
#include <string.h>

struct borrower {
    struct rb_arbiter_job job;
    bool left;
    int64_t joined_us, counted_us; // loop time; its use is counted until then
    struct rb_lent_use use;
    int *want; // GPUs of each node in the last division, [n_nodes]
};

struct rb_arbiter {
    struct rb_arbiter_config config;
    void *policy_state;
    const struct rb_controller *owner;
    int *gpus; // of the owner's nodes by their numbers; 0: not ready. [n_nodes]
    int n_nodes;
    struct borrower *borrowers;
    int n_borrowers;
    bool divide; // at the next look, in addition to lending what became free
    uint64_t look_timer, round_timer;
};

static int64_t now_us(const struct rb_arbiter *a)
{
    return a->config.loop->now_us(a->config.loop->ctx);
}

// ---- the owner's nodes

static void see_nodes(struct rb_arbiter *a)
{
    const struct rb_engine *e = rb_controller_engine(a->owner);
    const int n = rb_engine_n_nodes(e);
    if (n > a->n_nodes) {
        a->gpus = rb_xrealloc(a->gpus, (size_t)n, sizeof *a->gpus);
        for (int i = 0; i < a->n_borrowers; i++) {
            int **want = &a->borrowers[i].want;
            *want = rb_xrealloc(*want, (size_t)n, sizeof **want);
            memset(*want + a->n_nodes, 0, (size_t)(n - a->n_nodes) * sizeof **want);
        }
        a->n_nodes = n;
    }
    for (int i = 0; i < n; i++)
        a->gpus[i] = rb_engine_node(e, i)->state == RB_OWNED_READY ? rb_engine_node(e, i)->gpus : 0;
}

// ---- a borrower's nodes

struct own_node {
    const struct borrower *b;
    int node;  // the owner's
    int found; // the borrower's number of it, -1: not lent to it yet
};

static void match(void *ctx, const struct rb_launch_row *row)
{
    struct own_node *o = ctx;
    const bool live = row->state != RB_LAUNCH_TERMINATING && row->node >= 0;
    if (live && rb_lender_node(o->b->job.lent, row->instance_id) == o->node)
        o->found = row->node;
}

// NULL: it does not have the owner's node (yet, or no longer).
static const struct rb_owned_node *its_node(const struct borrower *b, int node, int *out_number)
{
    struct own_node o = {.b = b, .node = node, .found = -1};
    if (b->left)
        return NULL;
    rb_controller_each_open_launch(b->job.controller, match, &o);
    *out_number = o.found;
    if (o.found < 0)
        return NULL;
    const struct rb_owned_node *n = rb_engine_node(rb_controller_engine(b->job.controller), o.found);
    return n->state == RB_OWNED_ENDED ? NULL : n;
}

// ---- use so far

static void count_use(struct rb_arbiter *a)
{
    for (int i = 0; i < a->n_borrowers; i++) {
        struct borrower *b = &a->borrowers[i];
        const int64_t passed_us = now_us(a) - b->counted_us;
        const int gpus = b->left ? 0 : rb_lent_gpus(rb_controller_engine(b->job.controller));
        b->use.gpu_s += gpus * (double)passed_us / 1e6;
        b->use.executed_us += gpus > 0 ? passed_us : 0;
        b->counted_us = now_us(a);
    }
}

// ---- a round

static int total_gpus(const struct rb_arbiter *a)
{
    int n = 0;
    for (int i = 0; i < a->n_nodes; i++)
        n += a->gpus[i];
    return n;
}

static int asked_gpus(const struct rb_arbiter *a, const struct rb_plan *plan)
{
    const int64_t asked = (int64_t)plan->stages[0].trials * plan->job->trial.sizes[0];
    return asked < total_gpus(a) ? (int)asked : total_gpus(a);
}

static struct rb_shared_job describe(const struct rb_arbiter *a, int id, const struct rb_arbiter_view *view)
{
    const struct borrower *b = &a->borrowers[id];
    return (struct rb_shared_job){
        .id = id,
        .submitted_us = b->joined_us,
        .age_us = now_us(a) - b->joined_us,
        .attained_gpu_s = b->use.gpu_s,
        .executed_us = b->use.executed_us,
        .restarts = b->use.changes,
        .min_gpus = b->job.plan->job->trial.sizes[0],
        .max_gpus = rb_arbiter_view_max_gpus(view),
        .held = b->want,
        .asked_gpus = asked_gpus(a, b->job.plan),
        .left = view->left_units,
        .rate = rb_arbiter_view_rate,
        .oracle_s = rb_arbiter_view_seconds,
        .arg = view,
        .deadline_us = b->job.deadline_us,
        .weight = b->job.weight,
    };
}

// A run that trains nothing now (because it is about to end) gets nothing.
static bool takes_part(const struct borrower *b)
{
    return !b->left && rb_arbiter_view_of(b->job.plan, rb_controller_engine(b->job.controller)).n_trials > 0;
}

static void take_over(struct rb_arbiter *a, int id, const int *division)
{
    struct borrower *b = &a->borrowers[id];
    const size_t bytes = (size_t)a->n_nodes * sizeof *division;
    bool any = false;
    for (int i = 0; i < a->n_nodes; i++)
        any = any || division[i] > 0;
    if (memcmp(b->want, division, bytes) == 0)
        return;
    b->use.changes += any;
    memcpy(b->want, division, bytes);
}

static void divide(struct rb_arbiter *a)
{
    const struct rb_shared_cluster cluster = {.n_nodes = a->n_nodes, .gpus = a->gpus};
    const size_t n = (size_t)a->n_borrowers, n_nodes = (size_t)a->n_nodes;
    RB_AUTO(rb_auto_free) struct rb_arbiter_view *views = rb_xcalloc(n + 1, sizeof *views);
    RB_AUTO(rb_auto_free) struct rb_shared_job *jobs = rb_xcalloc(n + 1, sizeof *jobs);
    RB_AUTO(rb_auto_free) int *out = rb_xcalloc(n * n_nodes + 1, sizeof *out);
    int n_jobs = 0;
    for (int i = 0; i < a->n_borrowers; i++) {
        const struct borrower *b = &a->borrowers[i];
        if (!takes_part(b)) {
            memset(b->want, 0, n_nodes * sizeof *b->want);
            continue;
        }
        views[n_jobs] = rb_arbiter_view_of(b->job.plan, rb_controller_engine(b->job.controller));
        jobs[n_jobs] = describe(a, i, &views[n_jobs]);
        n_jobs++;
    }
    if (n_jobs > 0 && total_gpus(a) > 0)
        a->config.policy->divide(a->policy_state, now_us(a), &cluster, jobs, n_jobs, out);
    for (int i = 0; i < n_jobs; i++)
        take_over(a, jobs[i].id, out + (size_t)i * n_nodes);
}

// ---- lending

struct turn {
    struct rb_lending *lending; // [n_borrowers]
    int *numbers;               // of the node, by borrower; -1: it does not have it
    uint64_t *before;
};

static void lend_node(struct rb_arbiter *a, int node, struct turn *t)
{
    for (int i = 0; i < a->n_borrowers; i++) {
        const struct rb_owned_node *own = its_node(&a->borrowers[i], node, &t->numbers[i]);
        if (!own)
            t->numbers[i] = -1;
        t->lending[i] = (struct rb_lending){
            .want = own ? a->borrowers[i].want[node] : 0, .busy = own ? own->busy : 0, .usable = own ? own->usable : 0};
        t->before[i] = t->lending[i].usable;
    }
    if (!rb_lend(a->gpus[node], t->lending, a->n_borrowers))
        return;
    // First the losers: no GPU may have two users, even for an instant.
    for (int gains = 0; gains <= 1; gains++) {
        for (int i = 0; i < a->n_borrowers; i++) {
            const uint64_t now = t->lending[i].usable;
            if (t->numbers[i] >= 0 && now != t->before[i] && ((now & ~t->before[i]) != 0) == gains)
                rb_controller_lend(a->borrowers[i].job.controller, t->numbers[i], now);
        }
    }
}

static void lend(struct rb_arbiter *a)
{
    const size_t n = (size_t)a->n_borrowers + 1;
    RB_AUTO(rb_auto_free) struct rb_lending *lending = rb_xcalloc(n, sizeof *lending);
    RB_AUTO(rb_auto_free) int *numbers = rb_xcalloc(n, sizeof *numbers);
    RB_AUTO(rb_auto_free) uint64_t *before = rb_xcalloc(n, sizeof *before);
    struct turn t = {lending, numbers, before};
    for (int i = 0; i < a->n_nodes; i++) {
        if (a->gpus[i] > 0)
            lend_node(a, i, &t);
    }
}

// ---- when

static void look(void *arg)
{
    struct rb_arbiter *a = arg;
    a->look_timer = 0;
    if (!a->owner)
        return;
    see_nodes(a);
    count_use(a);
    if (a->divide)
        divide(a);
    a->divide = false;
    lend(a);
}

static void look_soon(struct rb_arbiter *a, bool divide)
{
    a->divide = a->divide || divide;
    if (!a->look_timer)
        a->look_timer = a->config.loop->timer_start(a->config.loop->ctx, 0, look, a);
}

static void round_is_due(void *arg)
{
    struct rb_arbiter *a = arg;
    a->round_timer = a->config.loop->timer_start(a->config.loop->ctx, a->config.options.round_us, round_is_due, a);
    look_soon(a, true);
}

void rb_arbiter_observe(struct rb_arbiter *a, const struct rb_event *event)
{
    switch (event->kind) {
    case RB_EVENT_START:
    case RB_EVENT_NODE_READY:
    case RB_EVENT_NODE_LOST:
    case RB_EVENT_STOP:
    case RB_EVENT_RESUME:
        look_soon(a, true);
        break;
    case RB_EVENT_NODE_RUNNING:
    case RB_EVENT_TRIAL_ENDED: // GPUs that were taken back may be free now
        look_soon(a, false);
        break;
    default:
        break;
    }
}

// ---- life

bool rb_arbiter_create(const struct rb_arbiter_config *config, struct rb_arbiter **out, struct rb_err *err)
{
    void *state;
    if (!config->policy->create(&config->options, &state, err))
        return false;
    struct rb_arbiter *a = rb_xcalloc(1, sizeof *a);
    a->config = *config;
    a->policy_state = state;
    *out = a;
    return true;
}

void rb_arbiter_destroy(struct rb_arbiter *a)
{
    if (!a)
        return;
    const struct rb_loop *loop = a->config.loop;
    loop->timer_cancel(loop->ctx, a->look_timer);
    loop->timer_cancel(loop->ctx, a->round_timer);
    a->config.policy->destroy(a->policy_state);
    for (int i = 0; i < a->n_borrowers; i++)
        free(a->borrowers[i].want);
    free(a->borrowers);
    free(a->gpus);
    free(a);
}

void rb_arbiter_own(struct rb_arbiter *a, const struct rb_controller *owner)
{
    a->owner = owner;
    round_is_due(a);
}

int rb_arbiter_join(struct rb_arbiter *a, const struct rb_arbiter_job *job)
{
    a->borrowers = rb_xrealloc(a->borrowers, (size_t)a->n_borrowers + 1, sizeof *a->borrowers);
    a->borrowers[a->n_borrowers] = (struct borrower){
        .job = *job,
        .joined_us = now_us(a) - job->age_us,
        .use = job->had,
        .counted_us = now_us(a),
        .want = rb_xcalloc((size_t)a->n_nodes + 1, sizeof(int)),
    };
    look_soon(a, true);
    return a->n_borrowers++;
}

void rb_arbiter_leave(struct rb_arbiter *a, int job)
{
    count_use(a);
    a->borrowers[job].left = true;
    look_soon(a, true);
}
