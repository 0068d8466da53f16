// MLflow: a parent run for the run, a child run for each trial. The server is asked what it has, and gets what it lacks:
// runs are found by their tags, points of a metric by step and time. Nothing that this process remembers is needed for that.
#include "executor/sinks/mlflow_api.h"
#include "executor/sinks/sink.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NOT_FINITE_BYTES = 200, PAGE = 200 };

struct point {
    int64_t ms, step;
    double value;
};

struct points {
    struct point *items;
    int n;
};

// One of the server's runs: a trial's, or the parent.
struct mlflow_run {
    bool wanted;                       // the trial has started
    char id[80];                       // "": the server has none yet, as far as we know
    bool found;                        // it was there when we came: some of its points may be, too
    int n_params;                      // that it has
    struct point latest;               // of the metric, by its step; step -1: none
    struct points points;              // all finite ones, in order of time
    int n_sent;                        // of them; the server has these
    bool compared;                     // n_sent is what the server has
    char not_finite[NOT_FINITE_BYTES]; // "nan at 3, inf at 4", for a tag
    bool not_finite_sent;
    const struct rb_value *values;
    int64_t started_ms, ended_ms;
    enum rb_sink_state state, sent_state;
};

struct mlflow {
    const struct rb_sink_run *run;
    const struct rb_sink_target *target;
    struct rb_mlflow_api *api;
    char key[RB_MLFLOW_KEY_BYTES + 1]; // of the metric
    char experiment_id[80];            // "": not asked yet
    struct mlflow_run parent, *trials; // by trial, [n]
    int n;
    char tags[256]; // of the parent, as they were sent last
};

static const char *const statuses[] = {"RUNNING", "FINISHED", "KILLED", "FAILED"}; // by enum rb_sink_state

static void mlflow_close(void *sink)
{
    struct mlflow *m = sink;
    for (int i = 0; i < m->n; i++)
        free(m->trials[i].points.items);
    free(m->trials);
    free(m->parent.points.items);
    rb_mlflow_api_close(m->api);
    free(m);
}

// The server is asked at the first flush: while it is away, facts can be taken all the same.
static bool mlflow_open(const struct rb_sink_run *run, const struct rb_sink_target *target, void **out,
                        struct rb_err *err)
{
    struct mlflow *m = rb_xcalloc(1, sizeof *m);
    m->run = run;
    m->target = target;
    m->parent = (struct mlflow_run){.wanted = true, .started_ms = run->started_unix_us / 1000, .latest.step = -1};
    rb_mlflow_key(run->plan->job->metric_name, m->key);
    if (!rb_mlflow_api_open(target->uri, &m->api, err)) {
        mlflow_close(m);
        return false;
    }
    *out = m;
    return true;
}

// --- facts

static struct mlflow_run *room_for(struct mlflow *m, int trial)
{
    if (trial >= m->n) {
        m->trials = rb_xrealloc(m->trials, (size_t)trial + 1, sizeof *m->trials);
        memset(&m->trials[m->n], 0, (size_t)(trial + 1 - m->n) * sizeof *m->trials);
        for (; m->n <= trial; m->n++)
            m->trials[m->n].latest.step = -1;
    }
    return &m->trials[trial];
}

static bool mlflow_trial_started(void *sink, const struct rb_sink_trial *t, struct rb_err *err)
{
    struct mlflow_run *r = room_for(sink, t->trial);
    (void)err;
    r->wanted = true;
    r->values = t->values;
    r->started_ms = t->unix_us / 1000;
    return true;
}

static void add_point(struct points *p, struct point point)
{
    p->items = rb_grow(p->items, p->n, sizeof *p->items);
    p->items[p->n++] = point;
}

// JSON has no such number: a tag says where they were, for as long as there is room in it.
static void add_not_finite(struct mlflow_run *r, double value, int64_t step)
{
    char text[64];
    const size_t n = strlen(r->not_finite);
    snprintf(text, sizeof text, "%s%s at %" PRId64, n ? ", " : "",
             isnan(value) ? "nan"
             : value > 0  ? "inf"
                          : "-inf",
             step);
    if (n + strlen(text) >= sizeof r->not_finite)
        return;
    memcpy(r->not_finite + n, text, strlen(text) + 1);
    r->not_finite_sent = false;
}

static bool mlflow_reported(void *sink, const struct rb_sink_report *report, struct rb_err *err)
{
    struct mlflow_run *r = room_for(sink, report->trial);
    (void)err;
    if (isfinite(report->metric))
        add_point(&r->points, (struct point){report->unix_us / 1000, report->resource, report->metric});
    else
        add_not_finite(r, report->metric, report->resource);
    return true;
}

static bool mlflow_trial_ended(void *sink, int trial, enum rb_sink_state state, int64_t unix_us, struct rb_err *err)
{
    struct mlflow_run *r = room_for(sink, trial);
    (void)err;
    r->state = state;
    r->ended_ms = unix_us / 1000;
    return true;
}

static bool mlflow_run_ended(void *sink, enum rb_sink_state state, int64_t unix_us, struct rb_err *err)
{
    struct mlflow *m = sink;
    (void)err;
    m->parent.state = state;
    m->parent.ended_ms = unix_us / 1000;
    return true;
}

// --- what the server has

static const char *text_of(const struct rb_node *node)
{
    return node && node->kind == RB_NODE_STRING ? node->text : "";
}

// Whole numbers come as numbers or, from proto3, as texts.
static int64_t integer_of(const struct rb_node *node)
{
    if (node && node->kind == RB_NODE_INT)
        return node->integer;
    return node && node->kind == RB_NODE_STRING ? strtoll(node->text, NULL, 10) : 0;
}

static bool keep_id(const struct rb_node *node, char out[static 80], struct rb_err *err)
{
    const char *text = text_of(node);
    if (text[0] == '\0' || strlen(text) >= 80 ||
        strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") != strlen(text))
        return rb_err_set(err, RB_E_SINK_SERVER, "mlflow: %s", "the server's answer has no id");
    strcpy(out, text);
    return true;
}

static bool find_experiment(struct mlflow *m, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    rb_buf_puts(&path, "experiments/get-by-name?experiment_name=");
    rb_mlflow_query(m->target->experiment, &path);
    if (!rb_mlflow_call(m->api, "GET", rb_buf_str(&path), NULL, NULL, &doc, err))
        return false;
    const struct rb_node *experiment = rb_node_member(doc.root, "experiment");
    if (strcmp(text_of(rb_node_member(experiment, "lifecycle_stage")), "deleted") == 0)
        return rb_err_set(err, RB_E_SINK_REFUSED,
                          "mlflow: the experiment \"%.80s\" is deleted; restore it, or name another",
                          m->target->experiment);
    return keep_id(rb_node_member(experiment, "experiment_id"), m->experiment_id, err);
}

static bool make_experiment(struct mlflow *m, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf body = RB_BUF_INIT;
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    bool exists;
    struct rb_json j = {.out = &body};
    rb_json_put(&j, "{name: %s}", m->target->experiment);
    if (!rb_mlflow_call(m->api, "POST", "experiments/create", &body, &exists, &doc, err))
        return false;
    return exists ? find_experiment(m, err) : keep_id(rb_node_member(doc.root, "experiment_id"), m->experiment_id, err);
}

static enum rb_sink_state state_of(const char *status)
{
    for (int i = 0; i < 4; i++)
        if (strcmp(statuses[i], status) == 0)
            return (enum rb_sink_state)i;
    return RB_SINK_RUNNING;
}

// The value of a key in a list of {key, value}; NULL: it is not there.
static const struct rb_node *item_of(const struct rb_node *list, const char *key)
{
    for (const struct rb_node *item = list ? list->first : NULL; item; item = item->next)
        if (strcmp(text_of(rb_node_member(item, "key")), key) == 0)
            return item;
    return NULL;
}

static bool take_found(struct mlflow *m, const struct rb_node *found, struct rb_err *err)
{
    const struct rb_node *info = rb_node_member(found, "info"), *data = rb_node_member(found, "data");
    const struct rb_node *trial = item_of(rb_node_member(data, "tags"), "rubberband_trial");
    const struct rb_node *params = rb_node_member(data, "params");
    const struct rb_node *latest = item_of(rb_node_member(data, "metrics"), m->key);
    const int64_t number = trial ? integer_of(rb_node_member(trial, "value")) : -1;
    if (number >= m->n)
        return true; // of a trial that this journal does not know yet
    struct mlflow_run *r = number < 0 ? &m->parent : &m->trials[number];
    if (r->id[0])
        return true;
    r->found = true;
    r->n_params = params ? params->n_children : 0;
    r->sent_state = state_of(text_of(rb_node_member(info, "status")));
    if (latest)
        r->latest = (struct point){.ms = integer_of(rb_node_member(latest, "timestamp")),
                                   .step = integer_of(rb_node_member(latest, "step"))};
    return keep_id(rb_node_member(info, "run_id"), r->id, err);
}

static bool find_page(struct mlflow *m, struct rb_buf *token, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf body = RB_BUF_INIT;
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    struct rb_json j = {.out = &body};
    rb_json_put(&j, "{experiment_ids: [%s], filter: 'tags.rubberband_run = \"%s\"', max_results: %d, page_token: %s}",
                m->experiment_id, m->run->run_id, PAGE, token->len ? rb_buf_str(token) : NULL);
    if (!rb_mlflow_call(m->api, "POST", "runs/search", &body, NULL, &doc, err))
        return false;
    const struct rb_node *runs = rb_node_member(doc.root, "runs");
    for (const struct rb_node *found = runs ? runs->first : NULL; found; found = found->next)
        if (!take_found(m, found, err))
            return false;
    rb_buf_clear(token);
    rb_buf_puts(token, text_of(rb_node_member(doc.root, "next_page_token")));
    return true;
}

// Once, at the first flush.
static bool meet_server(struct mlflow *m, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf token = RB_BUF_INIT;
    if (m->experiment_id[0])
        return true;
    if (!make_experiment(m, err))
        return false;
    do {
        if (!find_page(m, &token, err))
            return false;
    } while (token.len > 0);
    return true;
}

static int order_of(const void *a, const void *b)
{
    const struct point *p = a, *q = b;
    if (p->ms != q->ms)
        return p->ms < q->ms ? -1 : 1;
    return (p->step > q->step) - (p->step < q->step);
}

static bool read_history(struct mlflow *m, const struct mlflow_run *r, const char *key, struct points *out,
                         struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf token = RB_BUF_INIT;
    do {
        RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
        RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
        rb_buf_printf(&path, "metrics/get-history?run_id=%s&metric_key=", r->id);
        rb_mlflow_query(key, &path);
        if (token.len) {
            rb_buf_puts(&path, "&page_token=");
            rb_mlflow_query(rb_buf_str(&token), &path);
        }
        if (!rb_mlflow_call(m->api, "GET", rb_buf_str(&path), NULL, NULL, &doc, err))
            return false;
        const struct rb_node *metrics = rb_node_member(doc.root, "metrics");
        for (const struct rb_node *p = metrics ? metrics->first : NULL; p; p = p->next)
            add_point(out, (struct point){integer_of(rb_node_member(p, "timestamp")),
                                          integer_of(rb_node_member(p, "step")), 0});
        rb_buf_clear(&token);
        rb_buf_puts(&token, text_of(rb_node_member(doc.root, "next_page_token")));
    } while (token.len > 0);
    return true;
}

// Is the point that the server calls the latest, the one of the largest step, our last one? Points are sent in order.
static bool has_all(const struct mlflow_run *r)
{
    const struct point *last = r->points.n ? &r->points.items[r->points.n - 1] : NULL;
    return last && r->latest.step == last->step && r->latest.ms == last->ms;
}

// Of a run that was there: drops the points that the server has, so that only those it lacks are sent.
static bool compare(struct mlflow *m, struct mlflow_run *r, struct rb_err *err)
{
    struct points there = {0};
    if (r->compared || !r->found || r->points.n == 0)
        return true;
    r->compared = true;
    if (has_all(r)) {
        r->n_sent = r->points.n;
        return true;
    }
    const bool ok = r->latest.step < 0 || read_history(m, r, m->key, &there, err);
    if (ok && there.n > 0) {
        int n = 0;
        qsort(there.items, (size_t)there.n, sizeof *there.items, order_of);
        for (int i = 0; i < r->points.n; i++) // those it has first, each part in order of time
            if (bsearch(&r->points.items[i], there.items, (size_t)there.n, sizeof *there.items, order_of)) {
                const struct point p = r->points.items[i];
                memmove(&r->points.items[n + 1], &r->points.items[n], (size_t)(i - n) * sizeof p);
                r->points.items[n++] = p;
            }
        r->n_sent = n;
    }
    free(there.items);
    return ok;
}

// --- what it gets

static bool post(struct mlflow *m, const char *path, const struct rb_buf *body, struct rb_err *err)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    return rb_mlflow_call(m->api, "POST", path, body, NULL, &doc, err);
}

static void put_tag(struct rb_json *j, const char *key, const char *value)
{
    rb_json_put(j, "{key: %s|null value:", key);
    rb_mlflow_text(j, value, RB_MLFLOW_TAG_BYTES);
    rb_json_end_object(j);
}

static bool create(struct mlflow *m, struct mlflow_run *r, int trial, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf body = RB_BUF_INIT;
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    char number[32];
    snprintf(number, sizeof number, "%d", trial);
    struct rb_json j = {.out = &body};
    rb_json_put(&j, "{experiment_id: %s, start_time: %jd, run_name: ", m->experiment_id, r->started_ms);
    if (trial < 0)
        rb_json_put(&j, "%s, tags: [", m->run->run_id);
    else
        rb_json_put(&j, "'trial %d', tags: [", trial);
    put_tag(&j, "rubberband_run", m->run->run_id);
    if (trial >= 0) {
        put_tag(&j, "mlflow.parentRunId", m->parent.id);
        put_tag(&j, "rubberband_trial", number);
    } else {
        put_tag(&j, "rubberband_plan_sha256", m->run->plan_sha256);
        put_tag(&j, "rubberband_metric", m->run->plan->job->metric_name);
    }
    rb_json_put(&j, "]}");
    return rb_mlflow_call(m->api, "POST", "runs/create", &body, NULL, &doc, err) &&
           keep_id(rb_node_member(rb_node_member(rb_node_member(doc.root, "run"), "info"), "run_id"), r->id, err);
}

// Parameters cannot change: the same ones again are no mistake.
static bool send_params(struct mlflow *m, struct mlflow_run *r, struct rb_err *err)
{
    const struct rb_space *space = &m->run->plan->job->space;
    for (int i = r->n_params < space->n_params ? 0 : space->n_params; i < space->n_params;) {
        RB_AUTO(rb_buf_finish) struct rb_buf body = RB_BUF_INIT;
        struct rb_json j = {.out = &body};
        rb_json_put(&j, "{run_id: %s, params: [", r->id);
        // A value grows sixfold at most where all of it must be escaped.
        for (int n = 0; i < space->n_params && n < RB_MLFLOW_PARAMS &&
                        body.len + 6 * RB_MLFLOW_PARAM_BYTES + 1000 < RB_MLFLOW_BATCH_BYTES;
             i++, n++) {
            RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
            if (r->values[i].kind == RB_VALUE_ABSENT)
                continue;
            rb_value_text(&r->values[i], &text);
            rb_json_put(&j, "{key: %s, value: ", space->params[i].name);
            rb_mlflow_text(&j, rb_buf_str(&text), RB_MLFLOW_PARAM_BYTES);
            rb_json_put(&j, "}");
        }
        rb_json_put(&j, "]}");
        if (!post(m, "runs/log-batch", &body, err))
            return false;
    }
    r->n_params = space->n_params;
    return true;
}

static void put_point(struct rb_json *j, const char *key, const struct point *p)
{
    rb_json_put(j, "{key: %s, value: %g, timestamp: %jd, step: %jd}", key, p->value, p->ms, p->step);
}

// 1000 points of the longest key are 400 kB.
static bool send_points(struct mlflow *m, struct mlflow_run *r, struct rb_err *err)
{
    while (r->n_sent < r->points.n) {
        RB_AUTO(rb_buf_finish) struct rb_buf body = RB_BUF_INIT;
        const int left = r->points.n - r->n_sent, n = left < RB_MLFLOW_METRICS ? left : RB_MLFLOW_METRICS;
        struct rb_json j = {.out = &body};
        rb_json_put(&j, "{run_id: %s, metrics: [", r->id);
        for (int i = 0; i < n; i++)
            put_point(&j, m->key, &r->points.items[r->n_sent + i]);
        rb_json_put(&j, "]}");
        if (!post(m, "runs/log-batch", &body, err))
            return false;
        r->n_sent += n;
    }
    return true;
}

static bool send_not_finite(struct mlflow *m, struct mlflow_run *r, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf body = RB_BUF_INIT;
    if (!r->not_finite[0] || r->not_finite_sent)
        return true;
    struct rb_json j = {.out = &body};
    rb_json_put(&j, "{run_id: %s, tags: [", r->id);
    put_tag(&j, "rubberband_not_finite", r->not_finite);
    rb_json_put(&j, "]}");
    r->not_finite_sent = post(m, "runs/log-batch", &body, err);
    return r->not_finite_sent;
}

static bool send_state(struct mlflow *m, struct mlflow_run *r, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf body = RB_BUF_INIT;
    if (r->state == r->sent_state)
        return true;
    struct rb_json j = {.out = &body};
    rb_json_put(&j, "{run_id: %s, status: %s", r->id, statuses[r->state]);
    if (r->state != RB_SINK_RUNNING)
        rb_json_put(&j, "end_time: %jd", r->ended_ms);
    rb_json_put(&j, "}");
    if (!post(m, "runs/update", &body, err))
        return false;
    r->sent_state = r->state;
    return true;
}

static bool send_trial(struct mlflow *m, int trial, struct rb_err *err)
{
    struct mlflow_run *r = &m->trials[trial];
    if (!r->wanted)
        return true;
    return (r->id[0] || create(m, r, trial, err)) && send_params(m, r, err) && compare(m, r, err) &&
           send_points(m, r, err) && send_not_finite(m, r, err) && send_state(m, r, err);
}

// Tags are replaced: the same text twice is sent once, and twice would do no harm.
static bool send_parent_tags(struct mlflow *m, const struct rb_sink_now *now, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf body = RB_BUF_INIT;
    char outcome[64], cost[32], best[32] = "none", tags[256];
    rb_report_outcome(now->report->outcome, now->report->reason, now->report->at_work, outcome);
    snprintf(cost, sizeof cost, "%.6f", (double)now->report->cost_uusd / 1e6);
    if (now->report->best_trial >= 0)
        snprintf(best, sizeof best, "%d", now->report->best_trial);
    snprintf(tags, sizeof tags, "%s|%s|%s", outcome, cost, best);
    if (strcmp(tags, m->tags) == 0)
        return true;
    struct rb_json j = {.out = &body};
    rb_json_put(&j, "{run_id: %s, tags: [", m->parent.id);
    put_tag(&j, "rubberband_outcome", outcome);
    put_tag(&j, "rubberband_cost_dollars", cost);
    put_tag(&j, "rubberband_best_trial", best);
    rb_json_put(&j, "]}");
    if (!post(m, "runs/log-batch", &body, err))
        return false;
    strcpy(m->tags, tags);
    return true;
}

// What the run cost and its best result, as metrics to sort runs by: one point each, at its end.
static bool send_result(struct mlflow *m, const char *key, double value, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf body = RB_BUF_INIT;
    struct points there = {0};
    const struct point end = {m->parent.ended_ms, 0, value};
    bool has = false;
    if (!isfinite(value))
        return true;
    const bool ok = read_history(m, &m->parent, key, &there, err);
    for (int i = 0; i < there.n; i++)
        has = has || there.items[i].ms == end.ms;
    free(there.items);
    if (!ok || has)
        return ok;
    struct rb_json j = {.out = &body};
    rb_json_put(&j, "{run_id: %s, metrics: [", m->parent.id);
    put_point(&j, key, &end);
    rb_json_put(&j, "]}");
    return post(m, "runs/log-batch", &body, err);
}

static bool send_parent(struct mlflow *m, const struct rb_sink_now *now, struct rb_err *err)
{
    char best[RB_MLFLOW_KEY_BYTES + 6], best_key[RB_MLFLOW_KEY_BYTES + 1];
    if (!send_parent_tags(m, now, err))
        return false;
    snprintf(best, sizeof best, "best_%s", m->key);
    rb_mlflow_key(best, best_key);
    if (m->parent.state != RB_SINK_RUNNING && m->parent.state != m->parent.sent_state &&
        (!send_result(m, "cost_dollars", (double)now->report->cost_uusd / 1e6, err) ||
         !send_result(m, best_key, now->report->best_metric, err)))
        return false;
    return send_state(m, &m->parent, err);
}

static bool mlflow_flush(void *sink, const struct rb_sink_now *now, struct rb_err *err)
{
    struct mlflow *m = sink;
    if (!meet_server(m, err) || (!m->parent.id[0] && !create(m, &m->parent, -1, err)))
        return false;
    for (int i = 0; i < m->n; i++)
        if (!send_trial(m, i, err))
            return false;
    return send_parent(m, now, err);
}

const struct rb_sink_ops rb_sink_mlflow = {
    .name = "mlflow",
    .open = mlflow_open,
    .trial_started = mlflow_trial_started,
    .reported = mlflow_reported,
    .trial_ended = mlflow_trial_ended,
    .run_ended = mlflow_run_ended,
    .flush = mlflow_flush,
    .close = mlflow_close,
};
