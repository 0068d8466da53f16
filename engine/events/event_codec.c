// One event as one JSON object: time, kind, then only the fields of that kind.
#include "engine/events/event.h"

#include "base/text/units.h"
#include "engine/core/advice.h"
#include "profiles/job/keys.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void write_metric(struct rb_json *j, double metric)
{
    rb_json_key(j, "metric");
    if (isfinite(metric))
        rb_json_double(j, metric);
    else
        rb_json_string(j, isnan(metric) ? "nan" : metric > 0 ? "inf" : "-inf");
}

static void write_changes(struct rb_json *j, const struct rb_event *e)
{
    rb_json_karray(j, "stages");
    for (int i = 0; i < e->n_changes; i++) {
        const struct rb_stage_change *c = &e->changes[i];
        rb_json_put(j, "{stage: %d offer: %d gpus_per_trial: %d nodes: %d}", c->stage, c->offer, c->gpus_per_trial,
                    c->nodes);
    }
    rb_json_end_array(j);
    if (e->admit_until_us > 0)
        rb_json_kint(j, "admit_until_us", e->admit_until_us);
    if (e->because)
        rb_json_kstring(j, "because", e->because);
}

static void write_gpus(struct rb_json *j, uint64_t gpus)
{
    rb_json_karray(j, "gpus");
    for (int i = 0; i < RB_LIMIT_GPUS_PER_NODE; i++) {
        if (gpus >> i & 1)
            rb_json_int(j, i);
    }
    rb_json_end_array(j);
}

// Values that were not reported are left out.
static void write_steps(struct rb_json *j, const struct rb_step_stats *s)
{
    if (s->has_noise) {
        rb_json_kdouble(j, "grad_sqr", s->noise.sqr);
        rb_json_kdouble(j, "grad_var", s->noise.var);
    }
    if (s->step_s > 0)
        rb_json_kdouble(j, "step_s", s->step_s);
    if (s->has_sync)
        rb_json_kdouble(j, "sync_s", s->sync_s);
}

// Hexadecimal digits: JSON's numbers do not hold 64 bits.
static void write_failure(struct rb_json *j, const struct rb_event *e)
{
    char text[17];
    if (e->outcome != RB_OUTCOME_FAILED || e->signature == 0)
        return;
    snprintf(text, sizeof text, "%016" PRIx64, e->signature);
    rb_json_kstring(j, "signature", text);
    if (e->said)
        rb_json_kstring(j, "said", e->said);
}

static void write_suggestion(struct rb_json *j, const struct rb_event *e)
{
    rb_json_kint(j, "trial", e->trial);
    rb_json_kstring(j, "origin", e->origin);
    if (e->n_values > 0) {
        rb_json_kobject(j, "values");
        for (int i = 0; i < e->n_values; i++) {
            rb_json_key(j, e->values[i].name);
            rb_value_json(&e->values[i].value, j);
        }
        rb_json_end_object(j);
    }
    if (e->because)
        rb_json_kstring(j, "because", e->because);
}

void rb_event_write(const struct rb_event *e, struct rb_json *j)
{
    rb_json_begin_object(j);
    rb_json_kint(j, "time_us", e->time_us);
    rb_json_kstring(j, "event", rb_event_kind_name(e->kind));
    switch (e->kind) {
    case RB_EVENT_START:
        if (e->rules > RB_RULES_OLDEST)
            rb_json_kint(j, "rules", e->rules);
        break;
    case RB_EVENT_TIME:
    case RB_EVENT_RESUME:
        break;
    case RB_EVENT_NODE_RUNNING:
    case RB_EVENT_NODE_READY:
    case RB_EVENT_NODE_REFUSED:
    case RB_EVENT_NODE_LOST:
        rb_json_kint(j, "node", e->node);
        rb_json_kint(j, "attempt", e->attempt);
        if (e->data_us > 0)
            rb_json_kint(j, "data_us", e->data_us);
        if (e->pull_us > 0)
            rb_json_kint(j, "pull_us", e->pull_us);
        break;
    case RB_EVENT_REPORT:
        rb_json_kint(j, "trial", e->trial);
        rb_json_kint(j, "attempt", e->attempt);
        rb_json_kint(j, "resource", e->resource);
        write_metric(j, e->metric);
        write_steps(j, &e->steps);
        break;
    case RB_EVENT_TRIAL_ENDED:
        rb_json_kint(j, "trial", e->trial);
        rb_json_kint(j, "attempt", e->attempt);
        rb_json_kstring(j, "outcome", rb_outcome_name(e->outcome));
        write_failure(j, e);
        break;
    case RB_EVENT_ADVICE:
        write_changes(j, e);
        break;
    case RB_EVENT_FORECAST:
        rb_json_key(j, "advice");
        rb_advice_write(e->advice, j);
        break;
    case RB_EVENT_LENT:
        rb_json_kint(j, "node", e->node);
        write_gpus(j, e->gpus);
        break;
    case RB_EVENT_STOP:
        rb_json_kstring(j, "reason", rb_stop_reason_name(e->reason));
        break;
    case RB_EVENT_SUGGESTED:
        write_suggestion(j, e);
        break;
    case RB_EVENT_TRIAL_SAVED:
        rb_json_kint(j, "trial", e->trial);
        rb_json_kint(j, "attempt", e->attempt);
        rb_json_kint(j, "resource", e->resource);
        break;
    }
    rb_json_end_object(j);
}

static bool read_metric(struct rb_map *m, double *out, struct rb_err *err)
{
    static const char *const names[] = {"nan", "inf", "-inf"};
    static const double values[] = {NAN, INFINITY, -INFINITY};
    const struct rb_node *node;
    int which;
    if (!rb_map_need(m, "metric", &node, err))
        return false;
    if (node->kind != RB_NODE_STRING)
        return rb_node_double(node, -INFINITY, INFINITY, out, err);
    if (!rb_node_choice(node, names, 3, &which, err))
        return false;
    *out = values[which];
    return true;
}

static bool read_given(struct rb_map *m, const char *key, double min, double *out, bool *out_given, struct rb_err *err)
{
    const struct rb_node *node = rb_map_get(m, key);
    *out_given = node != NULL;
    return !node || rb_node_double(node, min, DBL_MAX, out, err);
}

static bool read_steps(struct rb_map *m, struct rb_step_stats *out, struct rb_err *err)
{
    struct rb_step_stats s = {0};
    bool has_var, has_step;
    if (!read_given(m, "grad_sqr", -DBL_MAX, &s.noise.sqr, &s.has_noise, err) ||
        !read_given(m, "grad_var", -DBL_MAX, &s.noise.var, &has_var, err) ||
        !read_given(m, "step_s", 0, &s.step_s, &has_step, err) ||
        !read_given(m, "sync_s", 0, &s.sync_s, &s.has_sync, err))
        return false;
    if (s.has_noise != has_var)
        return rb_node_refuse(m->node, err, RB_E_KEYS_TOGETHER, "expected grad_sqr and grad_var together");
    *out = s;
    return true;
}

static bool read_node_event(struct rb_map *m, struct rb_event *e, struct rb_err *err)
{
    return rb_map_need_count(m, "node", 0, RB_LIMIT_NODES - 1, &e->node, err) &&
           rb_map_need_count(m, "attempt", 0, INT32_MAX, &e->attempt, err);
}

static bool read_ready(struct rb_map *m, struct rb_event *e, struct rb_err *err)
{
    const struct rb_node *data = rb_map_get(m, "data_us"), *pull = rb_map_get(m, "pull_us");
    return read_node_event(m, e, err) &&
           (!data || rb_node_int(data, 0, RB_LIMIT_DURATION_S * RB_US_PER_S, &e->data_us, err)) &&
           (!pull || rb_node_int(pull, 0, RB_LIMIT_DURATION_S * RB_US_PER_S, &e->pull_us, err));
}

static bool read_trial_event(struct rb_map *m, struct rb_event *e, struct rb_err *err)
{
    return rb_map_need_count(m, "trial", 0, RB_LIMIT_TRIALS - 1, &e->trial, err) &&
           rb_map_need_count(m, "attempt", 0, INT32_MAX, &e->attempt, err);
}

static bool read_progress(struct rb_map *m, struct rb_event *e, struct rb_err *err)
{
    return read_trial_event(m, e, err) && rb_map_need_int(m, "resource", 0, INT64_C(1) << 53, &e->resource, err);
}

static bool read_outcome(struct rb_map *m, struct rb_event *e, struct rb_err *err)
{
    int which;
    if (!rb_map_need_choice(m, "outcome", rb_outcome_names, RB_OUTCOME_EVICTED + 1, &which, err))
        return false;
    e->outcome = (enum rb_outcome)which;
    return true;
}

// Both may be missing: journals of older versions have neither.
static bool read_failure(struct rb_map *m, struct rb_arena *arena, struct rb_event *e, struct rb_err *err)
{
    const struct rb_node *signature = rb_map_get(m, "signature"), *said = rb_map_get(m, "said");
    const char *text;
    if (signature) {
        if (!rb_node_string(signature, &text, err))
            return false;
        if (strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16)
            return rb_node_refuse(signature, err, RB_E_TEXT_FORM, "expected 16 hexadecimal digits");
        e->signature = strtoull(text, NULL, 16);
    }
    if (said) {
        if (!rb_node_string(said, &text, err))
            return false;
        e->said = rb_arena_strdup(arena, text);
    }
    return true;
}

static bool read_rules(struct rb_map *m, struct rb_event *e, struct rb_err *err)
{
    const struct rb_node *node = rb_map_get(m, "rules");
    int64_t rules = RB_RULES_OLDEST;
    if (node && !rb_node_int(node, 0, INT32_MAX, &rules, err))
        return false;
    if (rules > RB_RULES_NOW)
        return rb_node_refuse(node, err, RB_E_JOURNAL_VERSION,
                              "this version knows the rules up to %d: use the newer rbrun that began the run",
                              RB_RULES_NOW);
    e->rules = (int)rules;
    return true;
}

static bool read_reason(struct rb_map *m, struct rb_event *e, struct rb_err *err)
{
    int which; // RB_STOP_BROKEN_SCRIPT comes from the engine itself: no event has it
    if (!rb_map_need_choice(m, "reason", rb_stop_reason_names, RB_STOP_RELEASED + 1, &which, err))
        return false;
    e->reason = (enum rb_stop_reason)which;
    return true;
}

static bool read_advice(struct rb_map *m, struct rb_arena *arena, struct rb_event *e, struct rb_err *err)
{
    const struct rb_node *node;
    struct rb_advice *advice = rb_arena_array(arena, 1, sizeof *advice);
    e->advice = advice;
    return rb_map_need(m, "advice", &node, err) && rb_advice_read(node, arena, advice, err);
}

static bool read_change(const struct rb_node *node, struct rb_stage_change *out, struct rb_err *err)
{
    struct rb_map m;
    return rb_map_begin(&m, node, err) && rb_map_need_count(&m, "stage", 0, RB_LIMIT_STAGES - 1, &out->stage, err) &&
           rb_map_need_count(&m, "offer", 0, RB_LIMIT_NODES - 1, &out->offer, err) &&
           rb_map_need_count(&m, "gpus_per_trial", 1, RB_LIMIT_NODES, &out->gpus_per_trial, err) &&
           rb_map_need_count(&m, "nodes", 1, RB_LIMIT_NODES, &out->nodes, err) && rb_map_end(&m, err);
}

static bool read_changes(struct rb_map *m, struct rb_arena *arena, struct rb_event *e, struct rb_err *err)
{
    const struct rb_node *list, *because = rb_map_get(m, "because"), *admit = rb_map_get(m, "admit_until_us");
    if (!rb_map_need(m, "stages", &list, err) || !rb_node_list(list, err) ||
        (admit && !rb_node_int(admit, 1, INT64_MAX, &e->admit_until_us, err)))
        return false;
    if (list->n_children > RB_LIMIT_STAGES)
        return rb_node_refuse(list, err, RB_E_LIST_LENGTH, "expected at most %d stages, got %d", RB_LIMIT_STAGES,
                              list->n_children);
    struct rb_stage_change *changes = rb_arena_array(arena, (size_t)list->n_children + 1, sizeof *changes);
    for (const struct rb_node *item = list->first; item; item = item->next) {
        if (!read_change(item, &changes[e->n_changes++], err))
            return false;
    }
    e->changes = changes;
    return !because || rb_node_text(because, arena, &e->because, err);
}

static bool read_gpus(struct rb_map *m, struct rb_event *e, struct rb_err *err)
{
    const struct rb_node *list;
    if (!rb_map_need(m, "gpus", &list, err) || !rb_node_list(list, err))
        return false;
    for (const struct rb_node *item = list->first; item; item = item->next) {
        int64_t gpu;
        if (!rb_node_int(item, 0, RB_LIMIT_GPUS_PER_NODE - 1, &gpu, err))
            return false;
        e->gpus |= UINT64_C(1) << gpu;
    }
    return true;
}

static bool read_values(const struct rb_node *node, struct rb_arena *arena, struct rb_event *e, struct rb_err *err)
{
    struct rb_map m;
    if (!rb_map_begin(&m, node, err)) // is it a map?
        return false;
    if (node->n_children > RB_LIMIT_PARAMETERS)
        return rb_node_refuse(node, err, RB_E_LIST_LENGTH, "expected at most %d values, got %d", RB_LIMIT_PARAMETERS,
                              node->n_children);
    struct rb_named_value *values = rb_arena_array(arena, (size_t)node->n_children + 1, sizeof *values);
    for (const struct rb_node *child = node->first; child; child = child->next) {
        values[e->n_values].name = rb_arena_strdup(arena, child->key);
        if (!rb_value_read(child, arena, &values[e->n_values++].value, err))
            return false;
    }
    e->values = values;
    return true;
}

static bool read_suggestion(struct rb_map *m, struct rb_arena *arena, struct rb_event *e, struct rb_err *err)
{
    const struct rb_node *origin, *values = rb_map_get(m, "values"), *because = rb_map_get(m, "because");
    return rb_map_need_count(m, "trial", 0, RB_LIMIT_TRIALS - 1, &e->trial, err) &&
           rb_map_need(m, "origin", &origin, err) && rb_node_text(origin, arena, &e->origin, err) &&
           (!because || rb_node_text(because, arena, &e->because, err)) &&
           (!values || read_values(values, arena, e, err));
}

static bool read_fields(struct rb_map *m, struct rb_arena *arena, struct rb_event *e, struct rb_err *err)
{
    switch (e->kind) {
    case RB_EVENT_START:
        return read_rules(m, e, err);
    case RB_EVENT_TIME:
    case RB_EVENT_RESUME:
        return true;
    case RB_EVENT_NODE_READY:
        return read_ready(m, e, err);
    case RB_EVENT_NODE_RUNNING:
    case RB_EVENT_NODE_REFUSED:
    case RB_EVENT_NODE_LOST:
        return read_node_event(m, e, err);
    case RB_EVENT_REPORT:
        return read_progress(m, e, err) && read_metric(m, &e->metric, err) && read_steps(m, &e->steps, err);
    case RB_EVENT_TRIAL_ENDED:
        return read_trial_event(m, e, err) && read_outcome(m, e, err) && read_failure(m, arena, e, err);
    case RB_EVENT_ADVICE:
        return read_changes(m, arena, e, err);
    case RB_EVENT_FORECAST:
        return read_advice(m, arena, e, err);
    case RB_EVENT_LENT:
        return rb_map_need_count(m, "node", 0, RB_LIMIT_NODES - 1, &e->node, err) && read_gpus(m, e, err);
    case RB_EVENT_STOP:
        return read_reason(m, e, err);
    case RB_EVENT_SUGGESTED:
        return read_suggestion(m, arena, e, err);
    case RB_EVENT_TRIAL_SAVED:
        return read_progress(m, e, err);
    }
    return false;
}

bool rb_event_read(const struct rb_node *node, struct rb_arena *arena, struct rb_event *out, struct rb_err *err)
{
    struct rb_map m;
    struct rb_event e = {0};
    int kind;
    if (!rb_map_begin(&m, node, err) || !rb_map_need_int(&m, "time_us", 0, RB_LIMIT_TIME_US, &e.time_us, err) ||
        !rb_map_need_choice(&m, "event", rb_event_kind_names, RB_EVENT_TRIAL_SAVED + 1, &kind, err))
        return false;
    e.kind = (enum rb_event_kind)kind;
    if (!read_fields(&m, arena, &e, err) || !rb_map_end(&m, err))
        return false;
    *out = e;
    return true;
}
