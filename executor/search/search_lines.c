#include "executor/search/search_lines.h"

#include "base/document/json.h"
#include "base/limits.h"
#include "profiles/job/job_names.h"

#include <math.h>
#include <string.h>

#define FORMAT "rb-search/1"

static const char *const kinds[] = {"hello", "ready", "ask", "suggest", "none", "replay", "tell", "error"};
static const char *const states[] = {"running", "paused", "ended", "failed", "stopped"};

// ---- reading

static bool need_int(const struct rb_node *root, const char *key, int64_t min, int64_t max, int64_t *out,
                     struct rb_err *err)
{
    const struct rb_node *node = rb_node_member(root, key);
    return node ? rb_node_int(node, min, max, out, err)
                : rb_node_refuse(root, err, RB_E_SEARCH_LINE, "expected `%s`", key);
}

static bool optional_int(const struct rb_node *root, const char *key, int64_t max, int64_t *out, struct rb_err *err)
{
    const struct rb_node *node = rb_node_member(root, key);
    *out = 0;
    return !node || node->kind == RB_NODE_NULL || rb_node_int(node, 0, max, out, err);
}

static double number(const struct rb_node *root, const char *key)
{
    const struct rb_node *node = rb_node_member(root, key);
    return node && (node->kind == RB_NODE_INT || node->kind == RB_NODE_FLOAT) ? node->number : NAN;
}

static bool read_trial(const struct rb_node *root, struct rb_search_line *out, struct rb_err *err)
{
    int64_t trial;
    if (!need_int(root, "trial", 0, RB_LIMIT_TRIALS, &trial, err) ||
        !optional_int(root, "resource", RB_LIMIT_RESOURCE, &out->resource, err))
        return false;
    out->trial = (int)trial;
    return true;
}

static bool read_values(const struct rb_node *root, struct rb_search_line *out, struct rb_err *err)
{
    out->values = rb_node_member(root, "values");
    return out->values || rb_node_refuse(root, err, RB_E_SEARCH_LINE, "expected `values`, an object");
}

static bool read_tell(const struct rb_node *root, struct rb_search_line *out, struct rb_err *err)
{
    const struct rb_node *state = rb_node_member(root, "state");
    int choice = RB_SEARCH_RUNS;
    if (!read_trial(root, out, err) || !optional_int(root, "next", RB_LIMIT_RESOURCE, &out->next, err) ||
        (state && !rb_node_choice(state, states, sizeof states / sizeof *states, &choice, err)))
        return false;
    out->state = (enum rb_search_state)choice;
    out->metric = number(root, "metric");
    out->seconds = number(root, "seconds");
    out->dollars = number(root, "dollars");
    return true;
}

static bool read_kind(const struct rb_node *root, struct rb_search_line *out, struct rb_err *err)
{
    const struct rb_node *type = rb_node_member(root, "type");
    if (!type || type->kind != RB_NODE_STRING)
        return rb_node_refuse(root, err, RB_E_SEARCH_LINE, "expected an object with a `type`");
    out->kind = RB_SEARCH_OTHER;
    for (int i = 0; i < RB_SEARCH_OTHER; i++)
        if (strcmp(type->text, kinds[i]) == 0)
            out->kind = (enum rb_search_kind)i;
    return true;
}

static bool read_members(const struct rb_node *root, struct rb_search_line *out, struct rb_err *err)
{
    if (!read_kind(root, out, err))
        return false;
    switch (out->kind) {
    case RB_SEARCH_READY:
        out->text = rb_node_member_text(root, "name");
        return true;
    case RB_SEARCH_ASK:
        return need_int(root, "id", 0, INT64_MAX, &out->id, err) && read_trial(root, out, err);
    case RB_SEARCH_SUGGEST:
        out->text = rb_node_member_text(root, "reason");
        return need_int(root, "id", 0, INT64_MAX, &out->id, err) && read_values(root, out, err);
    case RB_SEARCH_NONE:
        return need_int(root, "id", 0, INT64_MAX, &out->id, err);
    case RB_SEARCH_REPLAY:
        return read_trial(root, out, err) && read_values(root, out, err);
    case RB_SEARCH_TELL:
        return read_tell(root, out, err);
    case RB_SEARCH_ERROR:
        out->text = rb_node_member_text(root, "message");
        return true;
    case RB_SEARCH_HELLO:
    case RB_SEARCH_OTHER:
        break;
    }
    return true;
}

bool rb_search_read(const char *line, size_t n, struct rb_doc *doc, struct rb_search_line *out, struct rb_err *err)
{
    struct rb_search_line l = {.text = "", .metric = NAN, .seconds = NAN, .dollars = NAN};
    if (!rb_doc_parse_json(doc, "line", line, n, err))
        return false;
    if (!read_members(doc->root, &l, err)) {
        rb_doc_finish(doc);
        return false;
    }
    *out = l;
    return true;
}

// ---- writing

void rb_search_put_hello(const struct rb_job *job, struct rb_buf *out)
{
    struct rb_json j = {.out = out};
    rb_json_put(&j, "{type: 'hello', format: '" FORMAT "', job: %s, parameters:", job->name);
    rb_space_write(&job->space, &j);
    rb_json_put(&j, "metric: {name: %s, goal: %s}, max_resource: %jd, seed: %jd}", job->metric_name,
                rb_goal_names[job->goal], job->scheduler.max_resource, (int64_t)job->seed);
    rb_buf_putc(out, '\n');
}

void rb_search_put_ask(int64_t id, int trial, int64_t resource, struct rb_buf *out)
{
    struct rb_json j = {.out = out};
    rb_json_put(&j, "{type: 'ask', id: %jd, trial: %d, resource: %jd}", id, trial, resource);
    rb_buf_putc(out, '\n');
}

void rb_search_put_replay(const struct rb_space *space, const struct rb_fact *began, struct rb_buf *out)
{
    struct rb_json j = {.out = out};
    rb_json_put(&j, "{type: 'replay', trial: %d, resource: %jd, values:", began->trial, began->next_resource);
    rb_space_json(space, began->values, &j);
    rb_json_put(&j, "}");
    rb_buf_putc(out, '\n');
}

// A trial that is paused after its last unit has ended; one that ended before it was stopped.
static enum rb_search_state state_of(const struct rb_fact *f, int64_t max_resource)
{
    switch (f->state) {
    case RB_SEEN_FAILED:
        return RB_SEARCH_FAILED;
    case RB_SEEN_PAUSED:
        return f->is_over ? RB_SEARCH_ENDED : RB_SEARCH_PAUSED;
    case RB_SEEN_ENDED:
        return f->resource >= max_resource ? RB_SEARCH_ENDED : RB_SEARCH_STOPPED;
    case RB_SEEN_TRAINS:
        break;
    }
    return RB_SEARCH_RUNS;
}

void rb_search_put_tell(const struct rb_fact *f, int64_t max_resource, struct rb_buf *out)
{
    struct rb_json j = {.out = out};
    const enum rb_search_state state = f->kind == RB_FACT_CHANGED ? state_of(f, max_resource) : RB_SEARCH_RUNS;
    rb_json_put(&j, "{type: 'tell', trial: %d, resource: %jd, metric: %g|null, state: %s", f->trial, f->resource,
                f->metric, states[state]);
    if (f->kind == RB_FACT_CHANGED && state == RB_SEARCH_RUNS)
        rb_json_kint(&j, "next", f->next_resource);
    rb_json_put(&j, "seconds: %g, dollars: %g}", f->seconds, f->dollars);
    rb_buf_putc(out, '\n');
}

void rb_search_put_error(int64_t id, const char *message, struct rb_buf *out)
{
    struct rb_json j = {.out = out};
    rb_json_put(&j, "{type: 'error'");
    if (id >= 0)
        rb_json_kint(&j, "id", id);
    rb_json_put(&j, "message: %s}", message);
    rb_buf_putc(out, '\n');
}

void rb_search_put_ready(const char *name, struct rb_buf *out)
{
    struct rb_json j = {.out = out};
    rb_json_put(&j, "{type: 'ready', name: %s}", name);
    rb_buf_putc(out, '\n');
}

void rb_search_put_suggestion(int64_t id, const struct rb_space *space, const struct rb_value *values,
                              const char *reason, struct rb_buf *out)
{
    struct rb_json j = {.out = out};
    rb_json_put(&j, "{type: 'suggest', id: %jd, values:", id);
    rb_space_json(space, values, &j);
    if (reason && *reason)
        rb_json_kstring(&j, "reason", reason);
    rb_json_put(&j, "}");
    rb_buf_putc(out, '\n');
}
