#include "profiles/lint/job_lint_trial.h"

#include "base/text/closest.h"
#include "profiles/job/job_scheduler.h"
#include "profiles/script/frameworks.h"

#include <ctype.h>
#include <string.h>

static const char *const part_names[RB_ARGS_PARTS] = {
    [RB_ARGS_FIXED] = "fixed",
    [RB_ARGS_START] = "start",
    [RB_ARGS_END] = "end",
    [RB_ARGS_SEED] = "seed",
    [RB_ARGS_GPUS] = "gpus",
    [RB_ARGS_NODES] = "nodes",
    [RB_ARGS_CHECKPOINT] = "checkpoint",
    [RB_ARGS_RESUME] = "resume",
};

static const struct rb_trial_args *args_of(const struct rb_job *job)
{
    return &job->trial.args;
}

static const char *part_key(int part, struct rb_arena *arena)
{
    return rb_arena_printf(arena, "trial.args.%s", part_names[part]);
}

// Does a word of the part hold the text?
static bool part_has(const struct rb_job *job, int part, const char *text)
{
    const struct rb_string_list *words = &args_of(job)->parts[part];
    for (int i = 0; i < words->n; i++)
        if (strstr(words->items[i], text))
            return true;
    return false;
}

static bool any_part_has(const struct rb_job *job, const char *text)
{
    for (int part = 0; part < RB_ARGS_PARTS; part++)
        if (part_has(job, part, text))
            return true;
    return false;
}

// --- options that the script has not

static const struct rb_script_option *find_option(const struct rb_script *s, const char *name)
{
    for (int i = 0; i < s->n_options; i++)
        if (strcmp(s->options[i].name, name) == 0 && s->options[i].form != RB_SCRIPT_POSITION)
            return &s->options[i];
    return NULL;
}

static void check_word(const struct rb_lint_subject *s, int part, const char *word)
{
    const size_t n = strcspn(word, "=");
    const char *name = strncmp(word, "--", 2) == 0 && n > 2 ? rb_arena_strndup(s->arena, word + 2, n - 2) : NULL;
    if (!name || strchr(name, '{'))
        return;
    const char **names = rb_arena_array(s->arena, (size_t)s->script->n_options + 1, sizeof *names);
    for (int i = 0; i < s->script->n_options; i++) {
        const struct rb_script_option *o = &s->script->options[i];
        names[i] = o->form == RB_SCRIPT_POSITION ? NULL : o->name;
        const bool is_beginning =
            s->script->style == RB_SCRIPT_ARGPARSE && names[i] && strncmp(o->name, name, strlen(name)) == 0;
        if (is_beginning || (names[i] && strcmp(o->name, name) == 0))
            return;
    }
    const char *near = rb_closest(name, names, s->script->n_options);
    s->warn(s->ctx, RB_E_LINT_OPTION, part_key(part, s->arena), word,
            near
                ? rb_arena_printf(s->arena, "%s has no option --%s; did you mean --%s?", s->written, name, near)
                : rb_arena_printf(s->arena, "%s has no option --%s: correct the word, or remove it", s->written, name));
}

static void check_words(const struct rb_lint_subject *s)
{
    for (int part = 0; part < RB_ARGS_PARTS && s->script->knows_all && s->gets_words; part++)
        for (int i = 0; i < args_of(s->job)->parts[part].n; i++)
            check_word(s, part, args_of(s->job)->parts[part].items[i]);
}

// --- numbers

static bool is_whole(double v)
{
    return v >= -1e15 && v <= 1e15 && !((double)(int64_t)v < v) && !((double)(int64_t)v > v);
}

// 32.0 for an option that takes whole numbers; 1 for one of the configurator whose default is 0.5.
static void check_number(const struct rb_lint_subject *s, const struct rb_param *p)
{
    const struct rb_script_option *o = find_option(s->script, p->name);
    const bool typed = o && o->is_typed, configurator = s->script->style == RB_SCRIPT_CONFIGURATOR;
    for (int i = 0; i < p->n_values && o; i++) {
        const struct rb_value *v = &p->values[i];
        const bool fraction = v->kind == RB_VALUE_FLOAT && is_whole(v->number);
        if (fraction && o->type == RB_SCRIPT_INT && (typed || configurator)) {
            s->warn(s->ctx, RB_E_LINT_NUMBER, rb_arena_printf(s->arena, "parameters.%s", p->name), NULL,
                    rb_arena_printf(s->arena, "%s takes whole numbers for --%s: write %lld, without a point",
                                    s->written, o->name, (long long)v->number));
            return;
        }
    }
    const bool whole = p->n_values > 0 ? p->values[0].kind == RB_VALUE_INT : p->kind == RB_PARAM_INT_UNIFORM;
    if (o && configurator && o->type == RB_SCRIPT_FLOAT && whole)
        s->warn(s->ctx, RB_E_LINT_NUMBER, rb_arena_printf(s->arena, "parameters.%s", p->name), NULL,
                rb_arena_printf(s->arena, "%s takes numbers with a point for --%s: write 1.0, never 1", s->written,
                                o->name));
}

// --- the horizon of the learning rate

static bool names_length(const char *word)
{
    return strstr(word, "epoch") || strstr(word, "step") || strstr(word, "iter") || strstr(word, "EPOCH") ||
           strstr(word, "ITER");
}

static void check_horizon(const struct rb_lint_subject *s)
{
    struct rb_script_habits habits;
    const struct rb_framework *f = rb_framework_of(s->script);
    const struct rb_string_list *end = &args_of(s->job)->parts[RB_ARGS_END];
    const bool given = end->n > 0 && strstr(end->items[end->n - 1], "{end}") && names_length(end->items[0]);
    if (!given || any_part_has(s->job, "{max}") || s->job->trial.stop != RB_STOP_SELF)
        return;
    rb_script_habits(s->script, s->source, s->arena, &habits);
    if (habits.has_schedule || (f && f->is_horizon))
        s->warn(
            s->ctx, RB_E_LINT_HORIZON, part_key(RB_ARGS_END, s->arena), "{end}",
            rb_arena_printf(s->arena,
                            "the learning rate of %s falls over the whole length: with {end} every rung trains another "
                            "schedule; write {max}, and trial.stop: saved",
                            s->written));
}

// --- checkpoints

// Trials of these pause and go on; with `stop` and without rungs each trains in one piece.
static bool goes_on(const struct rb_job *job)
{
    const struct rb_scheduler *t = &job->scheduler;
    return rb_scheduler_kind(t->type)->has_rungs && t->rule != RB_RULE_STOP && t->min_resource < t->max_resource;
}

static void check_save(const struct rb_lint_subject *s)
{
    const struct rb_job *job = s->job;
    const bool placed = any_part_has(job, "{checkpoint}") || strstr(job->run, "RB_") || strstr(s->source, "RB_");
    if (job->starts_over || !goes_on(job) || placed || !s->is_alone || !s->gets_words || args_of(job)->file_path)
        return;
    s->warn(s->ctx, RB_E_LINT_SAVE, "trial.args", NULL,
            rb_arena_printf(s->arena,
                            "trials pause and go on, and %s gets no folder to save to: add trial.args.checkpoint, or "
                            "checkpoint.resume: false",
                            s->written));
}

// A plan counts on saves in the middle of stages; this script makes none.
static void check_midway(const struct rb_lint_subject *s)
{
    static const char *const signs[] = {"RB_CHECKPOINT_EVERY_S", "midway", "checkpoint=", "\"checkpoint\"", "'checkpoint'"};
    const int64_t every_us = s->job->checkpoint_every_us;
    if (every_us == 0 || every_us == RB_CHECKPOINT_EVERY_UNSAID || s->job->starts_over || !s->is_alone ||
        s->job->checkpoint_files.n > 0)
        return;
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (strstr(s->source, signs[i]))
            return;
    s->warn(s->ctx, RB_E_LINT_MIDWAY, "checkpoint.every", NULL,
            rb_arena_printf(s->arena,
                            "plans count on saves in the middle of stages, and %s announces none: announce them with "
                            "checkpoint=NAME on the line of a report, or leave checkpoint.every out",
                            s->written));
}

// x.load_state_dict(...) of an x that has "opt" in its name.
static bool loads_optimiser(const char *source)
{
    static const char call[] = ".load_state_dict(";
    for (const char *at = strstr(source, call); at; at = strstr(at + 1, call)) {
        const char *name = at;
        while (name > source && (isalnum((unsigned char)name[-1]) || name[-1] == '_'))
            name--;
        for (; name + 3 <= at; name++)
            if (strncmp(name, "opt", 3) == 0)
                return true;
    }
    return false;
}

// A clone that loads its parent's optimiser gets the parent's learning rate with it.
static void check_state(const struct rb_lint_subject *s)
{
    if (strcmp(s->job->scheduler.type, "pbt") == 0 && s->is_alone && loads_optimiser(s->source) &&
        !strstr(s->source, "param_groups"))
        s->warn(
            s->ctx, RB_E_LINT_STATE, "scheduler.type", "pbt",
            rb_arena_printf(s->arena,
                            "%s loads the state of its optimiser, in which the learning rate of the copied trial is, "
                            "and never sets it afterwards: set lr in optimizer.param_groups after load_state_dict",
                            s->written));
}

// --- reports

static const struct rb_script_metric *printed_metric(const struct rb_lint_subject *s)
{
    for (int i = 0; i < s->script->n_metrics; i++)
        if (strcmp(s->script->metrics[i].name, s->job->metric_name) == 0 && s->script->metrics[i].is_printed)
            return &s->script->metrics[i];
    return NULL;
}

// Of what the script prints itself; frameworks' files have a base of their own.
static void check_base(const struct rb_lint_subject *s)
{
    const struct rb_report_form *form = &s->job->form;
    const struct rb_script_metric *m = printed_metric(s);
    const bool own =
        form->format == RB_METRIC_PATTERN || form->format == RB_METRIC_AUTO || form->format == RB_METRIC_NATIVE;
    if (!own || form->file || !m)
        return;
    const char *call = m->is_report || m->counts_itself ? m->call : s->script->epochs.call;
    const bool by_epoch = m->is_report ? strncmp(m->resource, "ep", 2) == 0 : s->script->epochs.pattern != NULL;
    const int first = call && by_epoch ? rb_script_first_epoch(s->script, call, s->arena) : -1;
    const int base = form->base == RB_METRIC_BASE_OF_FORMAT ? 1 : (int)form->base;
    if (first == 0 && base == 1)
        s->warn(s->ctx, RB_E_LINT_BASE, "metric", NULL,
                rb_arena_printf(s->arena,
                                "%s counts epochs from 0, and a report of 0 says that nothing is trained: add base: 0",
                                s->written));
    else if (first == 1 && base == 0)
        s->warn(s->ctx, RB_E_LINT_BASE, "metric.base", NULL,
                rb_arena_printf(s->arena, "%s counts epochs from 1: with base: 0 every report is one too high",
                                s->written));
}

// The longest word of letters in the fixed text of a pattern.
static const char *longest_word(const char *pattern, struct rb_arena *arena)
{
    const char *best = pattern;
    size_t n = 0;
    bool inside = false;
    for (const char *p = pattern; *p;) {
        size_t k = 0;
        inside = *p == '{' ? true : *p == '}' ? false : inside;
        while (!inside && isalpha((unsigned char)p[k]))
            k++;
        if (k > n) {
            best = p;
            n = k;
        }
        p += k > 0 ? k : 1;
    }
    return rb_arena_strndup(arena, best, n);
}

static void check_patterns(const struct rb_lint_subject *s)
{
    for (int i = 0; i < s->job->form.patterns.n; i++) {
        const char *pattern = s->job->form.patterns.items[i], *word = longest_word(pattern, s->arena);
        if (strlen(word) >= 3 && !strstr(s->source, word))
            s->warn(s->ctx, RB_E_LINT_METRIC, "metric.pattern", word,
                    rb_arena_printf(s->arena, "%s prints no line with \"%.60s\"", s->written, word));
    }
}

static void check_metric(const struct rb_lint_subject *s)
{
    const char *name = s->job->metric_name, *seen = "";
    const bool own = s->job->form.format == RB_METRIC_AUTO || s->job->form.format == RB_METRIC_NATIVE;
    if (!s->is_alone || rb_framework_of(s->script) || s->job->form.file)
        return;
    check_patterns(s);
    for (int i = 0; i < s->script->n_metrics && own; i++) {
        const struct rb_script_metric *m = &s->script->metrics[i];
        if (m->is_report && !strstr(seen, m->name))
            seen = rb_arena_printf(s->arena, "%s%s%s", seen, *seen ? ", " : "", m->name);
    }
    if (*seen && !strstr(s->source, name))
        s->warn(s->ctx, RB_E_LINT_METRIC, "metric.name", NULL,
                rb_arena_printf(s->arena, "%s never prints %s; metrics seen: %.200s", s->written, name, seen));
}

void rb_lint_trial(const struct rb_lint_subject *s)
{
    check_words(s);
    for (int i = 0; i < s->job->space.n_params && s->script->knows_all; i++)
        check_number(s, &s->job->space.params[i]);
    if (s->gets_words) {
        check_horizon(s);
        check_save(s);
    }
    check_midway(s);
    check_state(s);
    check_base(s);
    check_metric(s);
}

// --- secrets

// token, api_key, db-password; not max_tokens, nor token_dim.
static bool is_secret_name(const char *name, size_t n)
{
    static const char *const endings[] = {"token",      "password",   "passwd",      "secret",      "api_key", "apikey",
                                          "secret_key", "access_key", "private_key", "credentials", NULL};
    char text[64] = "";
    if (n >= sizeof text)
        return false;
    for (size_t i = 0; i < n; i++)
        text[i] = name[i] == '-' ? '_' : (char)tolower((unsigned char)name[i]);
    for (const char *const *e = endings; *e; e++) {
        const size_t m = strlen(*e);
        if (n >= m && strcmp(text + n - m, *e) == 0 && (n == m || strchr("_.", text[n - m - 1])))
            return true;
    }
    return false;
}

static const char *advice(const char *what, struct rb_arena *arena)
{
    return rb_arena_printf(
        arena,
        "%s looks like a secret, and everyone on the node can read a command line: name its variable in "
        "`secrets`, and let the script read that",
        what);
}

void rb_lint_secrets(const struct rb_job *job, struct rb_arena *arena, rb_lint_fn *warn, void *ctx)
{
    for (int i = 0; i < job->space.n_params; i++) {
        const struct rb_param *p = &job->space.params[i];
        if (p->n_values > 0 && p->values[0].kind == RB_VALUE_STRING && is_secret_name(p->name, strlen(p->name)))
            warn(ctx, RB_E_LINT_SECRET, rb_arena_printf(arena, "parameters.%s", p->name), NULL, advice(p->name, arena));
    }
    for (int part = 0; part < RB_ARGS_PARTS; part++) {
        const struct rb_string_list *words = &args_of(job)->parts[part];
        for (int i = 0; i < words->n; i++) {
            const char *name = words->items[i] + strspn(words->items[i], "-");
            const size_t n = strcspn(name, "=");
            const char *value = name[n] == '=' ? name + n + 1 : i + 1 < words->n ? words->items[i + 1] : "";
            const bool is_text = *value && !isdigit((unsigned char)*value) && strncmp(value, "TODO_", 5) != 0;
            if (is_text && is_secret_name(name, n))
                warn(ctx, RB_E_LINT_SECRET, part_key(part, arena), rb_arena_strndup(arena, name, n),
                     advice(rb_arena_strndup(arena, name, n), arena));
        }
    }
}
