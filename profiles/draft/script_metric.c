// Which number a script is judged by, and how it is read: what a framework prints or writes, event files, or the script's own lines.
#include "profiles/draft/drafting.h"

#include "base/text/closest.h"

#include <string.h>

static void remark(struct rb_drafting *w, const char *text)
{
    rb_job_draft_remark(w->d, RB_DRAFT_METRIC, text);
}

static void set(struct rb_drafting *w, const char *key, const char *value)
{
    rb_job_draft_set(w->d, RB_DRAFT_METRIC, key, value, NULL, NULL);
}

static void set_name(struct rb_drafting *w, const char *name, bool minimize)
{
    set(w, "name", rb_yaml_text(name, w->arena));
    set(w, "goal", minimize ? "minimize" : "maximize");
}

static const char *quoted(struct rb_drafting *w, const char *text)
{
    return rb_yaml_text(text, w->arena);
}

// --- of the script's own metrics, the best one to judge by

static int rank(const struct rb_script_metric *m)
{
    const bool training = strncmp(m->name, "train", 5) == 0;
    return 16 * m->is_report + 8 * m->is_validation + 4 * m->is_printed + 2 * (m->goal != 0) - 2 * training +
           (m->goal > 0);
}

typedef bool metric_kind(const struct rb_script_metric *m);

static bool is_any(const struct rb_script_metric *m)
{
    return m != NULL;
}

static bool is_event(const struct rb_script_metric *m)
{
    return m->run != NULL;
}

static bool is_logged(const struct rb_script_metric *m)
{
    return !m->is_printed && !m->run;
}

static const struct rb_script_metric *best_metric(const struct rb_script *s, metric_kind *fits)
{
    const struct rb_script_metric *best = NULL;
    for (int i = 0; i < s->n_metrics; i++)
        if (fits(&s->metrics[i]) && (!best || rank(&s->metrics[i]) > rank(best)))
            best = &s->metrics[i];
    return best;
}

// --- of a framework

static bool has_text(const struct rb_drafting *w, const char *text)
{
    for (int i = 0; i < w->s.text.n; i++) {
        const char *string = rb_py_string(&w->s.text.tokens[i], w->arena);
        if (string && strcmp(string, text) == 0)
            return true;
    }
    return false;
}

// metrics=["accuracy"] was reported as acc before Keras 2.3, whose users called these.
static const char *keras_metric(const struct rb_drafting *w)
{
    const bool validates = rb_script_names(&w->s, "validation_data") || rb_script_names(&w->s, "validation_split");
    const bool old = rb_script_names(&w->s, "ConfigProto") || rb_script_names(&w->s, "set_session");
    const char *name = "loss";
    if (has_text(w, "acc") || (old && has_text(w, "accuracy")))
        name = "acc";
    else if (has_text(w, "accuracy"))
        name = "accuracy";
    return validates ? rb_arena_printf(w->arena, "val_%s", name) : name;
}

// The text behind "eval_metric": or eval_metric=; else what the objective has by default.
static const char *boosting_metric(const struct rb_drafting *w, bool is_xgboost)
{
    const struct rb_py_text *text = &w->s.text;
    const char *objective = "";
    for (int i = 0; i + 2 < text->n; i++) {
        const struct rb_py_token *t = &text->tokens[i];
        const char *key = t->kind == RB_PY_NAME ? rb_arena_strndup(w->arena, t->at, t->n) : rb_py_string(t, w->arena);
        const bool assigned =
            rb_py_is(t + 1, ":") || rb_py_is(t + 1, "=") || (rb_py_is(t + 1, "]") && rb_py_is(t + 2, "="));
        const int at = i + (rb_py_is(t + 1, "]") ? 3 : 2);
        const int first = at < text->n && rb_py_is(&text->tokens[at], "[") ? at + 1 : at;
        const char *value = key && assigned && first < text->n ? rb_py_string(&text->tokens[first], w->arena) : NULL;
        if (value && (strcmp(key, "eval_metric") == 0 || (!is_xgboost && strcmp(key, "metric") == 0)))
            return value;
        if (value && strcmp(key, "objective") == 0)
            objective = value;
    }
    if (strstr(objective, "multi"))
        return is_xgboost ? "mlogloss" : "multi_logloss";
    if (strstr(objective, "binary"))
        return is_xgboost ? "logloss" : "binary_logloss";
    return is_xgboost ? "rmse" : "l2";
}

// (dval, "validation") in a list of data sets; NULL: none is named so.
static const char *validation_set(const struct rb_drafting *w)
{
    static const char *const names[] = {"validation", "valid", "val", "eval", "test", "dev", NULL};
    for (int i = 1; i + 1 < w->s.text.n; i++) {
        const struct rb_py_token *t = &w->s.text.tokens[i];
        const char *text = rb_py_is(t - 1, ",") && rb_py_is(t + 1, ")") ? rb_py_string(t, w->arena) : NULL;
        if (text && rb_is_one_of(text, names))
            return text;
    }
    return NULL;
}

static const char *boosting_name(const struct rb_drafting *w, bool is_xgboost)
{
    const char *set_name = validation_set(w), *metric = boosting_metric(w, is_xgboost);
    if (!set_name)
        set_name = is_xgboost ? "validation_0" : "valid_0";
    return rb_arena_printf(w->arena, "%s-%s", set_name, metric);
}

static const char *framework_metric(struct rb_drafting *w)
{
    const struct rb_framework *f = w->framework;
    const struct rb_script_metric *logged = best_metric(&w->s, is_logged);
    if (strcmp(f->format, "keras") == 0)
        return keras_metric(w);
    if (strcmp(f->format, "xgboost") == 0 || strcmp(f->format, "lightgbm") == 0)
        return boosting_name(w, strcmp(f->format, "xgboost") == 0);
    return f->metric ? f->metric : logged ? logged->name : "val_loss";
}

static void draft_framework(struct rb_drafting *w)
{
    const struct rb_framework *f = w->framework;
    const char *name = framework_metric(w);
    const int goal = rb_script_goal(name);
    set_name(w, name, goal != 0 ? goal < 0 : f->minimize || strcmp(f->format, "xgboost") == 0);
    set(w, "format", f->format);
    if (f->file)
        set(w, "file", quoted(w, f->file));
    if (f->base)
        set(w, "base", f->base);
    if (strcmp(f->format, "lightning") == 0 && !f->by_its_arguments && !rb_script_names(&w->s, "CSVLogger"))
        remark(w, "Lightning writes this file with a CSVLogger only: give the trainer "
                  "logger=CSVLogger(save_dir=os.environ[\"RB_CHECKPOINT_DIR\"])");
}

// --- of event files

static const char *base_of(const struct rb_drafting *w, const char *call)
{
    return rb_script_first_epoch(&w->s, call, w->arena) == 0 ? "0" : NULL;
}

static bool draft_events(struct rb_drafting *w)
{
    const struct rb_script_metric *m = best_metric(&w->s, is_event);
    if (!m || !w->logs)
        return false;
    set_name(w, *m->run ? rb_arena_printf(w->arena, "%s/%s", m->run, m->name) : m->name, m->goal < 0);
    set(w, "format", "tensorboard");
    set(w, "file", "\"{checkpoint}/logs\"");
    if (base_of(w, NULL))
        set(w, "base", "0");
    return true;
}

// --- of its own lines

// The line of the metric, after one that names the unit where it does not itself.
static bool draft_pattern(struct rb_drafting *w, const struct rb_script_metric *m)
{
    const bool steps = w->length && rb_option_role(w->length) == RB_OPTION_STEPS;
    const struct rb_script_progress *p = steps ? &w->s.steps : &w->s.epochs;
    const bool counts = strstr(m->pattern, "{resource}") != NULL;
    if (!counts && !p->pattern)
        return false;
    set_name(w, m->name, m->goal < 0);
    set(w, "pattern",
        counts ? quoted(w, m->pattern)
               : rb_arena_printf(w->arena, "[%s, %s]", quoted(w, p->pattern), quoted(w, m->pattern)));
    const char *base = steps || strstr(m->pattern, "step {resource}") ? NULL : base_of(w, counts ? m->call : p->call);
    if (base)
        set(w, "base", base);
    return true;
}

static void remark_metric(struct rb_drafting *w, const struct rb_script_metric *m, const char *unit)
{
    const char *example = rb_arena_printf(w->arena, "%s=3 %s=0.81", m->resource ? m->resource : unit, m->name);
    if (m->is_report && m->goal == 0)
        remark(w, rb_arena_printf(w->arena, "goal: a guess, as the name does not show which values are good"));
    else if (!m->is_printed)
        remark(w, rb_arena_printf(
                      w->arena, "%s:%d logs %s, and prints it on no line that was seen: your script must print e.g. %s",
                      w->path, m->line, m->name, example));
    else if (!m->is_report)
        remark(w, rb_arena_printf(w->arena, "%s:%d prints \"%s\", which names no %s: your script must print e.g. %s",
                                  w->path, m->line, m->shown, unit, example));
}

static const char *unit_of(const struct rb_drafting *w, const struct rb_script_metric *m)
{
    const enum rb_option_role role = w->length ? rb_option_role(w->length) : RB_OPTION_EPOCHS;
    if (m && m->resource)
        return m->resource;
    if (w->framework && w->framework->unit)
        return w->framework->unit;
    return role == RB_OPTION_STEPS ? "step" : role == RB_OPTION_ROUNDS ? "round" : "epoch";
}

const char *rb_draft_metric(struct rb_drafting *w)
{
    const struct rb_script_metric *m = best_metric(&w->s, is_any);
    const char *unit = unit_of(w, m);
    const bool reports = m && m->is_report;
    if (!reports && w->framework && w->framework->format)
        draft_framework(w);
    else if (!reports && m && m->is_printed && m->counts_itself && draft_pattern(w, m))
        return unit;
    else if (!reports && draft_events(w))
        return unit;
    else if (!reports && m && m->is_printed && m->pattern && draft_pattern(w, m))
        return unit;
    else if (m) {
        remark_metric(w, m, unit);
        set_name(w, m->name, m->goal < 0);
    } else {
        remark(w,
               rb_arena_printf(
                   w->arena,
                   "no line that looks like a metric was found: your script must print e.g. %s=3 val_acc=0.81", unit));
        set_name(w, "val_acc", false);
    }
    return unit;
}
