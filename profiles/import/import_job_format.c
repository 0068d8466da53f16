#include "profiles/import/import_job_format.h"

#include "base/text/closest.h"
#include "base/text/number.h"

#include <ctype.h>
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#define PATH_BYTES 160

// --- keys

static void ignore_key(struct rb_importer *im, const struct rb_node *node)
{
    char path[PATH_BYTES];
    im->ignored = rb_arena_grow(&im->made.arena, im->ignored, im->made.n_ignored, sizeof *im->ignored);
    im->ignored[im->made.n_ignored++] = rb_arena_strdup(&im->made.arena, rb_node_path(node, path, sizeof path));
}

static bool is_among(const char *words, const char *key)
{
    const size_t n = strlen(key);
    for (; *words; words += *words == ' ') {
        const size_t length = strcspn(words, " ");
        if (length == n && strncmp(words, key, n) == 0)
            return true;
        words += length;
    }
    return false;
}

static const struct rb_key_rule *find_rule(const struct rb_key_rule *rules, const char *key)
{
    while (rules->keys && !is_among(rules->keys, key))
        rules++;
    return rules->keys ? rules : NULL;
}

static bool unknown_key(const struct rb_node *node, const struct rb_key_rule *rules, struct rb_arena *arena,
                        struct rb_err *err)
{
    const char *names[64];
    int n = 0;
    for (; rules->keys; rules++) {
        char *rest = rb_arena_strdup(arena, rules->keys);
        for (char *word; (word = strtok_r(rest, " ", &rest)) && n < 64;)
            names[n++] = word;
    }
    const char *closest = rb_closest(node->key, names, n);
    const struct rb_place place = {node->doc->file, node->key_line, node->key_column};
    char path[PATH_BYTES];
    return rb_err_set_at(err, RB_E_KEY_UNKNOWN, place, rb_node_path(node, path, sizeof path),
                         "unknown key%s%s%s; if it matters to the other tool only, remove it",
                         closest ? "; did you mean \"" : "", closest ? closest : "", closest ? "\"?" : "");
}

bool rb_import_keys(struct rb_importer *im, const struct rb_node *map, const struct rb_key_rule *rules,
                    enum rb_draft_section section, struct rb_err *err)
{
    struct rb_map m;
    if (!rb_map_begin(&m, map, err))
        return false;
    for (const struct rb_node *child = map->first; child; child = child->next) {
        const struct rb_key_rule *rule = find_rule(rules, child->key);
        if (!rule)
            return unknown_key(child, rules, &im->made.arena, err);
        if (child->kind == RB_NODE_NULL || rule->use == RB_KEY_READ)
            continue;
        if (rule->use == RB_KEY_REFUSED)
            return rb_node_refuse(child, err, RB_E_JOB_FOREIGN, "%s", rule->why);
        if (rule->use == RB_KEY_IGNORED)
            ignore_key(im, child);
        else
            rb_import_warn(im, section, child, "%s", rule->why);
    }
    return true;
}

const struct rb_node *rb_import_given(const struct rb_node *map, const char *key)
{
    const struct rb_node *node = rb_node_member(map, key);
    return node && node->kind != RB_NODE_NULL ? node : NULL;
}

bool rb_import_need(const struct rb_node *map, const char *key, const char *hint, const struct rb_node **out,
                    struct rb_err *err)
{
    const struct rb_node *node = rb_import_given(map, key);
    if (!node)
        return rb_node_refuse(map, err, RB_E_KEY_MISSING, "`%s` is required and missing; %s", key, hint);
    *out = node;
    return true;
}

bool rb_import_is(const struct rb_node *node, const char *text)
{
    return node && node->kind == RB_NODE_STRING && strcmp(node->text, text) == 0;
}

bool rb_import_end(const struct rb_node *map, const char *key, double *out, struct rb_err *err)
{
    const struct rb_node *node;
    if (!rb_import_need(map, key, "give both ends of the range", &node, err))
        return false;
    if (node->kind != RB_NODE_STRING)
        return rb_node_double(node, -1e300, 1e300, out, err);
    return rb_parse_double(node->text, out) ||
           rb_node_refuse(node, err, RB_E_TYPE_WRONG, "expected a number, got \"%.40s\"", node->text);
}

bool rb_import_words(const struct rb_node *list, struct rb_buf *out, struct rb_err *err)
{
    if (list && !rb_node_list(list, err))
        return false;
    for (const struct rb_node *word = list ? list->first : NULL; word; word = word->next) {
        const char *text;
        if (!rb_node_string(word, &text, err))
            return false;
        rb_buf_puts(out, out->len ? " " : "");
        rb_import_put_word(text, out);
    }
    return true;
}

// --- remarks

// "method", "early_terminate.min_iter": a remark must name its key.
void rb_import_warn(struct rb_importer *im, enum rb_draft_section section, const struct rb_node *node, const char *fmt,
                    ...)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    struct rb_arena *arena = &im->made.arena;
    char path[PATH_BYTES];
    va_list ap;
    va_start(ap, fmt);
    rb_buf_vprintf(&text, fmt, ap);
    va_end(ap);
    rb_node_path(node, path, sizeof path);
    im->warnings = rb_arena_grow(arena, im->warnings, im->made.n_warnings, sizeof *im->warnings);
    im->warnings[im->made.n_warnings++] = (struct rb_job_warning){
        .line = node->key_line ? node->key_line : node->line,
        .column = node->key_line ? node->key_column : node->column,
        .key = rb_arena_strdup(arena, path),
        .text = rb_arena_strdup(arena, rb_buf_str(&text)),
    };
    rb_job_draft_remark(&im->draft, section, rb_arena_printf(arena, "%s: %s", path, rb_buf_str(&text)));
}

// --- output

void rb_import_set(struct rb_importer *im, enum rb_draft_section section, const char *key, const char *value,
                   const struct rb_node *source)
{
    rb_job_draft_set(&im->draft, section, key, value, NULL, source);
}

void rb_import_set_text(struct rb_importer *im, enum rb_draft_section section, const char *key, const char *text,
                        const struct rb_node *source)
{
    rb_import_set(im, section, key, rb_yaml_text(text, &im->made.arena), source);
}

void rb_import_put_word(const char *word, struct rb_buf *out)
{
    if (word[strcspn(word, " \t\n'\"\\$`*?;&|<>()#~[]{}")] == '\0' && *word)
        rb_buf_puts(out, word);
    else
        rb_buf_shell_quote(out, word);
}

// Quotes stay readable in a block of text.
void rb_import_set_run(struct rb_importer *im, const char *command, const struct rb_node *source)
{
    const bool quotes = strpbrk(command, "\"'") != NULL;
    for (const char *p = command; quotes; p++) {
        if (*p == '\0') {
            rb_import_set(im, RB_DRAFT_RUN, NULL, rb_arena_printf(&im->made.arena, "|-\n  %s", command), source);
            return;
        }
        if (!isprint((unsigned char)*p) || (p == command && *p == ' '))
            break;
    }
    rb_import_set_text(im, RB_DRAFT_RUN, NULL, command, source);
}

void rb_import_set_int(struct rb_importer *im, enum rb_draft_section section, const char *key, int64_t value,
                       const struct rb_node *source)
{
    rb_import_set(im, section, key, rb_arena_printf(&im->made.arena, "%lld", (long long)value), source);
}

// A list of one line: names are added to it.
void rb_import_add_secret(struct rb_importer *im, const char *name, const struct rb_node *source)
{
    for (int i = 0; i < im->draft.n_lines; i++) {
        struct rb_draft_line *line = &im->draft.lines[i];
        if (line->section == RB_DRAFT_SECRETS && line->value) {
            line->value =
                rb_arena_printf(&im->made.arena, "%.*s, %s]", (int)strlen(line->value) - 1, line->value, name);
            return;
        }
    }
    rb_import_set(im, RB_DRAFT_SECRETS, NULL, rb_arena_printf(&im->made.arena, "[%s]", name), source);
}

// "dir/sweep.yaml" -> "sweep".
void rb_import_set_name(struct rb_importer *im, const struct rb_node *node)
{
    const char *text = node && node->kind == RB_NODE_STRING ? node->text : im->made.file;
    const char *slash = strrchr(text, '/'), *stem = slash ? slash + 1 : text;
    const size_t n = node ? strlen(stem) : strcspn(stem, ".");
    rb_import_set_text(im, RB_DRAFT_NAME, NULL, rb_job_draft_name(stem, n, &im->made.arena), node);
}

void rb_import_set_metric(struct rb_importer *im, const struct rb_node *name, const char *goal)
{
    rb_import_set_text(im, RB_DRAFT_METRIC, "name", name->text, name);
    rb_import_set(im, RB_DRAFT_METRIC, "goal", goal, name);
}

bool rb_import_objective(struct rb_importer *im, const struct rb_node *map, const char *name_key, const char *goal_key,
                         const char *maximize, const char *minimize, struct rb_err *err)
{
    const struct rb_node *name, *goal;
    const char *hint = rb_arena_printf(&im->made.arena, "%s or %s", maximize, minimize);
    if (!rb_import_need(map, name_key, "give the metric", &name, err) ||
        !rb_import_need(map, goal_key, hint, &goal, err))
        return false;
    if (name->kind != RB_NODE_STRING || (!rb_import_is(goal, maximize) && !rb_import_is(goal, minimize)))
        return rb_node_refuse(map, err, RB_E_JOB_FOREIGN, "expected the name of a metric, and %s %s", goal_key, hint);
    rb_import_set_metric(im, name, rb_import_is(goal, maximize) ? "maximize" : "minimize");
    return true;
}

bool rb_import_set_trials(struct rb_importer *im, const struct rb_node *given, const struct rb_node *at,
                          struct rb_err *err)
{
    int64_t n = im->options->num_trials;
    if (n == 0 && !given)
        return rb_node_refuse(at, err, RB_E_JOB_LACKS, "this search has no number of trials: give --num-trials N");
    if (n == 0 && !rb_node_int(given, 1, INT32_MAX, &n, err))
        return false;
    rb_import_set_int(im, RB_DRAFT_SCHEDULER, "num_trials", n, given);
    return true;
}

void rb_import_set_length(struct rb_importer *im, int64_t given, const char *unit, const struct rb_node *at)
{
    const int64_t length = im->options->max_resource > 0 ? im->options->max_resource : given;
    if (length <= 0)
        rb_import_warn(im, RB_DRAFT_SCHEDULER, at,
                       "the length of a trial is not given, so one unit is a whole run; with --max-resource N in "
                       "epochs, trials may be stopped early");
    rb_import_set_int(im, RB_DRAFT_SCHEDULER, "max_resource", length > 0 ? length : 1, at);
    rb_import_set_text(im, RB_DRAFT_SCHEDULER, "unit", length > 0 ? unit : "run", at);
}

void rb_import_warn_rungs(struct rb_importer *im, const struct rb_node *at, int64_t first, int64_t length, int64_t eta)
{
    RB_AUTO(rb_buf_finish) struct rb_buf up = RB_BUF_INIT;
    RB_AUTO(rb_buf_finish) struct rb_buf down = RB_BUF_INIT;
    int64_t end = first;
    while (end <= length / eta)
        end *= eta;
    if (end == length || end == first)
        return;
    for (int64_t rung = first, scale = end / first; rung < end; rung *= eta, scale /= eta) {
        rb_buf_printf(&up, "%s%lld", up.len ? ", " : "", (long long)rung);
        rb_buf_printf(&down, "%s%lld", down.len ? ", " : "", (long long)(length / scale));
    }
    rb_import_warn(im, RB_DRAFT_SCHEDULER, at,
                   "trials are compared at %s, counted up from the first, not at %s, counted down "
                   "from %lld",
                   rb_buf_str(&up), rb_buf_str(&down), (long long)length);
}

// --- parameters

const char *rb_import_inner_name(struct rb_importer *im, const char *outer, const char *inner)
{
    return outer[0] ? rb_arena_printf(&im->made.arena, "%s.%s", outer, inner) : inner;
}

bool rb_import_param(struct rb_importer *im, const char *name, const char *value, const struct rb_node *source,
                     struct rb_err *err)
{
    if (rb_job_draft_find(&im->draft, RB_DRAFT_PARAMETERS, name))
        return rb_node_refuse(source, err, RB_E_KEYS_TOGETHER,
                              "a parameter \"%.60s\" was given before; keep one of the two", name);
    rb_import_set(im, RB_DRAFT_PARAMETERS, name, value, source);
    return true;
}

bool rb_import_scalar(struct rb_importer *im, const struct rb_node *node, const char **out, struct rb_err *err)
{
    switch (node->kind) {
    case RB_NODE_INT:
        *out = rb_arena_printf(&im->made.arena, "%lld", (long long)node->integer);
        return true;
    case RB_NODE_FLOAT:
        *out = rb_arena_strdup(&im->made.arena, node->text);
        return true;
    case RB_NODE_BOOL:
        *out = node->boolean ? "true" : "false";
        return true;
    case RB_NODE_STRING:
        *out = rb_yaml_text(node->text, &im->made.arena);
        return true;
    case RB_NODE_MAP:
        return rb_node_refuse(node, err, RB_E_JOB_FOREIGN,
                              "expected a number, text, true or false, got a map: parameters that depend on each "
                              "other are not carried over; give each of them by itself, then add `if:` in job.yaml");
    case RB_NODE_NULL:
    case RB_NODE_LIST:
        break;
    }
    return rb_node_refuse(node, err, RB_E_JOB_FOREIGN,
                          "expected a number, text, true or false, got %s; write it as text and let the script "
                          "read that",
                          node->kind == RB_NODE_LIST ? "a list" : "null");
}

bool rb_import_constant(struct rb_importer *im, const char *name, const struct rb_node *node, struct rb_err *err)
{
    const char *value;
    return rb_import_scalar(im, node, &value, err) && rb_import_param(im, name, value, node, err);
}

static bool put_list(struct rb_importer *im, const struct rb_node *list, struct rb_buf *out, struct rb_err *err)
{
    if (!rb_node_list(list, err))
        return false;
    rb_buf_putc(out, '[');
    for (const struct rb_node *child = list->first; child; child = child->next) {
        const char *value;
        if (!rb_import_scalar(im, child, &value, err))
            return false;
        rb_buf_printf(out, "%s%s", child == list->first ? "" : ", ", value);
    }
    rb_buf_putc(out, ']');
    return true;
}

bool rb_import_choice(struct rb_importer *im, const char *name, const struct rb_node *list,
                      const struct rb_node *probabilities, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf value = RB_BUF_INIT;
    rb_buf_puts(&value, "{values: ");
    if (!put_list(im, list, &value, err))
        return false;
    if (probabilities) {
        rb_buf_puts(&value, ", probabilities: ");
        if (!put_list(im, probabilities, &value, err))
            return false;
    }
    rb_buf_putc(&value, '}');
    return rb_import_param(im, name, rb_buf_str(&value), list, err);
}

void rb_import_put_float(double value, struct rb_buf *out)
{
    const struct rb_value v = {.kind = RB_VALUE_FLOAT, .number = value};
    struct rb_json j = {.out = out};
    rb_value_json(&v, &j);
}

static void put_number(const struct rb_law_number *number, struct rb_buf *out)
{
    if (number->node && number->node->kind == RB_NODE_FLOAT)
        rb_buf_puts(out, number->node->text);
    else if (number->node || number->whole)
        rb_buf_printf(out, "%.0f", number->node ? number->node->number : number->value);
    else
        rb_import_put_float(number->value, out);
}

bool rb_import_law(struct rb_importer *im, const char *name, const char *distribution,
                   const struct rb_law_number *numbers, int n, const struct rb_node *source, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf value = RB_BUF_INIT;
    rb_buf_printf(&value, "{distribution: %s", distribution);
    for (int i = 0; i < n; i++) {
        rb_buf_printf(&value, ", %s: ", numbers[i].key);
        put_number(&numbers[i], &value);
    }
    rb_buf_putc(&value, '}');
    return rb_import_param(im, name, rb_buf_str(&value), source, err);
}

bool rb_import_scaled(struct rb_importer *im, const char *name, double min, double max, bool whole,
                      const struct rb_node *scaling, const char *logarithm, const char *reverse,
                      const struct rb_node *source, struct rb_err *err)
{
    const struct rb_law_number numbers[] = {{"min", NULL, min, whole}, {"max", NULL, max, whole}};
    const bool is_log = rb_import_is(scaling, logarithm);
    if (rb_import_is(scaling, reverse))
        rb_import_warn(im, RB_DRAFT_PARAMETERS, scaling, "there is no reverse logarithm here; it is uniform");
    if (is_log && whole)
        rb_import_warn(im, RB_DRAFT_PARAMETERS, scaling, "whole numbers have no logarithmic range here; it is uniform");
    const char *law = whole ? "int_uniform" : is_log ? "log_uniform" : "uniform";
    return rb_import_law(im, name, law, numbers, 2, source, err);
}

bool rb_import_number(const struct rb_node *map, const char *key, double fallback, double *out, struct rb_err *err)
{
    const struct rb_node *node = rb_import_given(map, key);
    if (!node && !isnan(fallback)) {
        *out = fallback;
        return true;
    }
    return rb_import_need(map, key, "give a number", &node, err) && rb_node_double(node, -DBL_MAX, DBL_MAX, out, err);
}

bool rb_import_steps(struct rb_importer *im, const char *name, double min, double max, double q, bool whole,
                     const struct rb_node *source, struct rb_err *err)
{
    const struct rb_law_number numbers[] = {
        {"min", NULL, min, whole}, {"max", NULL, max, whole}, {"q", NULL, q, whole}};
    if (!(q > 0) || !(min < max) || !(fabs(min) < 1e15 && fabs(max) < 1e15))
        return rb_node_refuse(source, err, RB_E_JOB_FOREIGN,
                              "expected at least two multiples of q between min and max; write the values as a "
                              "list of choices");
    rb_import_warn(im, RB_DRAFT_PARAMETERS, source,
                   "the steps at both ends are as likely as those between; rounding gives them half of that");
    return rb_import_law(im, name, "q_uniform", numbers, 3, source, err);
}
