// The history: a second pass over the events for what the report does not keep; the rest comes from the report.
#include "executor/journal/history.h"

#include "executor/journal/history_series.h"

#include <math.h>
#include <stdlib.h>

struct point {
    int64_t at_us, resource;
    double metric;
};

// A trial's reports. When there is no more room, every other one is dropped, and from then on only every other one is
// kept.
struct curve {
    struct point *points;
    int n;
    int64_t n_seen, stride;
    struct point last;
};

struct mark {
    int64_t at_us;
    const char *kind, *reason; // static text
    int stage;
};

// Instants of one kind. Of more than RB_HISTORY_INSTANTS every second, fourth, ... is kept.
struct instants {
    struct instant {
        int64_t at_us, resource;
        int where; // refusals: node; saves: index of the start
    } *rows;
    int n, stride, n_seen;
};

struct history {
    const struct rb_report *r;
    int n_events;
    struct curve *curves; // by trial, [n_trials]
    const char **ends;    // by task, [n_tasks]: how the start ended, NULL: no event shows it
    int64_t *saved;       // likewise: resource of its last midway checkpoint, -1: none
    struct instants saves, refusals;
    int *first_task;      // by trial, [n_trials + 1]: tasks are in their order
    bool *lost;           // by node of the report, [n_nodes]
    struct mark *marks;
    int n_marks;
    struct rb_lent_change *lent;
    int n_lent;
};

static void take_report(struct history *h, const struct rb_event *e)
{
    if (e->trial < 0 || e->trial >= h->r->n_trials)
        return;
    struct curve *c = &h->curves[e->trial];
    if (!c->points) {
        c->points = rb_xcalloc(RB_HISTORY_REPORTS, sizeof *c->points);
        c->stride = 1;
    }
    c->last = (struct point){e->time_us, e->resource, e->metric};
    if (c->n == RB_HISTORY_REPORTS) {
        for (int i = 0; i < c->n / 2; i++)
            c->points[i] = c->points[2 * i];
        c->n /= 2;
        c->stride *= 2;
    }
    if (c->n_seen++ % c->stride == 0)
        c->points[c->n++] = c->last;
}

static void add_instant(struct instants *list, int64_t at_us, int where, int64_t resource)
{
    if (!list->rows) {
        list->rows = rb_xcalloc(RB_HISTORY_INSTANTS, sizeof *list->rows);
        list->stride = 1;
    }
    if (list->n == RB_HISTORY_INSTANTS) {
        for (int i = 0; i < list->n / 2; i++)
            list->rows[i] = list->rows[2 * i];
        list->n /= 2;
        list->stride *= 2;
    }
    if (list->n_seen++ % list->stride == 0)
        list->rows[list->n++] = (struct instant){at_us, resource, where};
}

// The event has no stage. Among the trial's starts with this attempt's number, one in each stage, it belongs to the
// last that began before it. What the event itself starts, the trial's next stage, begins no earlier.
static int task_of(const struct history *h, const struct rb_event *e)
{
    int found = -1;
    if (e->trial < 0 || e->trial >= h->r->n_trials)
        return -1;
    for (int i = h->first_task[e->trial]; i < h->first_task[e->trial + 1]; i++) // in order of starts
        if (h->r->tasks[i].attempt == e->attempt && h->r->tasks[i].started_us < e->time_us)
            found = i;
    return found;
}

static void take_trial_end(struct history *h, const struct rb_event *e)
{
    const int task = task_of(h, e);
    if (task >= 0)
        h->ends[task] = rb_outcome_name(e->outcome);
}

static void take_save(struct history *h, const struct rb_event *e)
{
    const int task = task_of(h, e);
    if (task < 0)
        return;
    h->saved[task] = e->resource;
    add_instant(&h->saves, e->time_us, task, e->resource);
}

static void take_loss(struct history *h, const struct rb_event *e)
{
    for (int i = 0; i < h->r->n_nodes; i++)
        if (h->r->nodes[i].node == e->node && h->r->nodes[i].attempt == e->attempt)
            h->lost[i] = true;
}

static void take_lent(struct history *h, const struct rb_event *e)
{
    h->lent = rb_grow(h->lent, h->n_lent, sizeof *h->lent);
    h->lent[h->n_lent++] = (struct rb_lent_change){e->time_us, e->node, e->gpus};
}

static void take_mark(struct history *h, const struct rb_event *e)
{
    h->marks = rb_grow(h->marks, h->n_marks, sizeof *h->marks);
    h->marks[h->n_marks++] = (struct mark){
        .at_us = e->time_us,
        .kind = e->kind == RB_EVENT_ADVICE ? "replan" : rb_event_kind_name(e->kind),
        .reason = e->kind == RB_EVENT_STOP ? rb_stop_reason_name(e->reason) : NULL,
        .stage = e->n_changes > 0 ? e->changes[0].stage : -1,
    };
}

static bool take_event(void *ctx, const struct rb_event *e, struct rb_err *err)
{
    struct history *h = ctx;
    (void)err;
    if (h->n_events++ >= h->r->n_events)
        return true; // written since the report was made
    switch (e->kind) {
    case RB_EVENT_REPORT:
        take_report(h, e);
        break;
    case RB_EVENT_TRIAL_ENDED:
        take_trial_end(h, e);
        break;
    case RB_EVENT_TRIAL_SAVED:
        take_save(h, e);
        break;
    case RB_EVENT_NODE_LOST:
        take_loss(h, e);
        break;
    case RB_EVENT_LENT:
        take_lent(h, e);
        break;
    case RB_EVENT_ADVICE:
    case RB_EVENT_STOP:
    case RB_EVENT_RESUME:
        take_mark(h, e);
        break;
    case RB_EVENT_NODE_REFUSED:
        add_instant(&h->refusals, e->time_us, e->node, 0);
        break;
    case RB_EVENT_START:
    case RB_EVENT_NODE_RUNNING:
    case RB_EVENT_NODE_READY:
    case RB_EVENT_TIME:
    case RB_EVENT_FORECAST:
    case RB_EVENT_SUGGESTED:
        break;
    }
    return true;
}

static void history_init(struct history *h, const struct rb_report *r)
{
    *h = (struct history){.r = r};
    h->curves = rb_xcalloc((size_t)r->n_trials + 1, sizeof *h->curves);
    h->ends = rb_xcalloc((size_t)r->n_tasks + 1, sizeof *h->ends);
    h->saved = rb_xcalloc((size_t)r->n_tasks + 1, sizeof *h->saved);
    for (int i = 0; i < r->n_tasks; i++)
        h->saved[i] = -1;
    h->lost = rb_xcalloc((size_t)r->n_nodes + 1, sizeof *h->lost);
    h->first_task = rb_xcalloc((size_t)r->n_trials + 1, sizeof *h->first_task);
    for (int trial = 0, i = 0; trial <= r->n_trials; trial++) {
        while (i < r->n_tasks && r->tasks[i].trial < trial)
            i++;
        h->first_task[trial] = i;
    }
}

static void history_finish(struct history *h)
{
    for (int i = 0; i < h->r->n_trials; i++)
        free(h->curves[i].points);
    free(h->curves);
    free(h->ends);
    free(h->saved);
    free(h->saves.rows);
    free(h->refusals.rows);
    free(h->first_task);
    free(h->lost);
    free(h->marks);
    free(h->lent);
}

// Writing.

static void write_limits(const struct rb_journal_meta *meta, struct rb_json *j)
{
    rb_json_put(j, "limits: {deadline_us: %jd|null budget_uusd: %jd|null}", meta->deadline_us, meta->budget_uusd);
}

static void write_node(const struct history *h, int i, struct rb_json *j)
{
    const struct rb_report_node *n = &h->r->nodes[i];
    const struct rb_offer *offer = &h->r->plan->offers[n->offer];
    rb_json_put(j, "{node: %d attempt: %d accelerator: %s|null gpus: %d requested_us: %jd running_us: %jd|null",
                n->node, n->attempt, offer->accelerator, offer->gpus, n->requested_us, n->running_us);
    rb_json_put(j, "ready_us: %jd|null release_us: %jd|null ended_us: %jd|null lost: %i", n->ready_us, n->release_us,
                n->terminated_us >= 0 ? n->terminated_us : n->gone_us, h->lost[i]);
    if (n->pull_us > 0)
        rb_json_kint(j, "pull_us", n->pull_us);
    rb_json_put(j, "cost_uusd: %jd by:", n->cost_uusd);
    rb_bill_parts_write(&n->by, j);
    rb_json_key(j, "node_time_us");
    rb_node_time_write(&n->time, j);
    rb_json_end_object(j);
}

static bool on_lost_node(const struct history *h, const struct rb_task_row *t)
{
    for (int i = 0; i < h->r->n_nodes; i++) {
        const struct rb_report_node *n = &h->r->nodes[i];
        const int64_t end_us = n->terminated_us >= 0 ? n->terminated_us : n->gone_us;
        for (int k = 0; h->lost[i] && k < t->n_slots; k++)
            if (t->slots[k].node == n->node && n->requested_us <= t->started_us &&
                (end_us < 0 || t->started_us <= end_us))
                return true;
    }
    return false;
}

// "reached", "yielded", "failed", "hung", "evicted" as in the engine's events; else "lost" with its node, or "stopped"
// by order.
static const char *end_of(const struct history *h, int i)
{
    const struct rb_task_row *t = &h->r->tasks[i];
    if (h->ends[i])
        return h->ends[i];
    if (t->state != RB_TASK_KILLING && t->state != RB_TASK_KILLED)
        return NULL;
    return on_lost_node(h, t) ? "lost" : "stopped";
}

static void write_slot(const struct rb_slot *slot, struct rb_json *j)
{
    rb_json_put(j, "{node: %d gpus: [", slot->node);
    for (int g = 0; g < RB_LIMIT_GPUS_PER_NODE; g++)
        if (slot->gpus >> g & 1)
            rb_json_int(j, g);
    rb_json_put(j, "]}");
}

static void write_start(const struct history *h, int i, struct rb_json *j)
{
    const struct rb_task_row *t = &h->r->tasks[i];
    rb_json_put(j, "{trial: %d stage: %d slots: [", t->trial, t->stage);
    for (int k = 0; k < t->n_slots; k++)
        write_slot(&t->slots[k], j);
    rb_json_put(j, "] resource_start: %jd resource_end: %jd start_us: %jd exited_us: %jd|null end_us: %jd|null",
                t->resource_start, t->resource_end, t->started_us, t->exited_us, t->ended_us);
    rb_json_put(j, "saved_resource: %jd|null end: %s|null}", h->saved[i], end_of(h, i));
}

static void write_point(const struct point *p, struct rb_json *j)
{
    rb_json_put(j, "[%jd %jd", p->at_us, p->resource);
    if (isfinite(p->metric))
        rb_json_double(j, p->metric);
    else
        rb_json_null(j);
    rb_json_end_array(j);
}

static void write_curve(const struct curve *c, int trial, struct rb_json *j)
{
    rb_json_put(j, "{trial: %d n_reports: %jd rows: [", trial, c->n_seen);
    for (int i = 0; i < c->n; i++)
        write_point(&c->points[i], j);
    if (c->n > 0 && c->points[c->n - 1].at_us != c->last.at_us)
        write_point(&c->last, j);
    rb_json_put(j, "]}");
}

static void write_curves(const struct history *h, struct rb_json *j)
{
    static const char *const columns[] = {"at_us", "resource", "metric"};
    rb_json_put(j, "reports: {");
    rb_history_columns_write(columns, 3, j);
    rb_json_put(j, "trials: [");
    for (int i = 0; i < h->r->n_trials; i++)
        if (h->curves[i].n_seen > 0)
            write_curve(&h->curves[i], i, j);
    rb_json_put(j, "]}");
}

static void write_mark(const struct mark *m, struct rb_json *j)
{
    rb_json_put(j, "{at_us: %jd kind: %s|null reason: %s|null stage: %d|null}", m->at_us, m->kind, m->reason,
                m->stage);
}

static void write_lists(const struct history *h, struct rb_json *j)
{
    rb_json_put(j, "nodes: [");
    for (int i = 0; i < h->r->n_nodes; i++)
        write_node(h, i, j);
    rb_json_put(j, "] starts: [");
    for (int i = 0; i < h->r->n_tasks; i++)
        write_start(h, i, j);
    rb_json_end_array(j);
    write_curves(h, j);
    rb_json_put(j, "marks: [");
    for (int i = 0; i < h->n_marks; i++)
        write_mark(&h->marks[i], j);
    rb_json_put(j, "] saves: [");
    for (int i = 0; i < h->saves.n; i++)
        rb_json_put(j, "{at_us: %jd start: %d resource: %jd}", h->saves.rows[i].at_us, h->saves.rows[i].where,
                    h->saves.rows[i].resource);
    rb_json_put(j, "] refusals: [");
    for (int i = 0; i < h->refusals.n; i++)
        rb_json_put(j, "{at_us: %jd node: %d}", h->refusals.rows[i].at_us, h->refusals.rows[i].where);
    rb_json_end_array(j);
}

bool rb_history_write(struct rb_journal *journal, const struct rb_report *r, struct rb_json *out, struct rb_err *err)
{
    struct history h;
    history_init(&h, r);
    bool ok = rb_journal_each_event(journal, take_event, &h, err);
    if (ok) {
        rb_json_put(out, "{now_us: %jd", r->now_us);
        write_limits(&r->meta, out);
        write_lists(&h, out);
        rb_history_gpus_write(r, h.lent, h.n_lent, out);
        ok = rb_history_spent_write(r, out, err);
        rb_json_end_object(out);
    }
    history_finish(&h);
    return ok;
}
