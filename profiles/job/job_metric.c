// `metric:` of job.yaml: how reports look.
#include "profiles/job/job_metric.h"

#include "profiles/job/job_args.h"
#include "profiles/job/job_names.h"
#include "profiles/job/keys.h"
#include "profiles/job/metric_pattern.h"

#include <string.h>

#define MAX_PATTERNS   32
#define LIGHTNING_FILE "{checkpoint}/lightning_logs/version_*/metrics.csv"

static bool read_pattern(const struct rb_node *node, struct rb_arena *arena, const char **out, struct rb_err *err)
{
    struct rb_err why;
    return rb_node_text(node, arena, out, err) &&
           (rb_metric_pattern_check(*out, &why) || rb_node_refuse(node, err, rb_err_number(&why), "%s", why.message));
}

static bool read_patterns(const struct rb_node *node, struct rb_arena *arena, struct rb_report_form *form,
                          struct rb_err *err)
{
    const bool is_list = node->kind == RB_NODE_LIST;
    const int n = is_list ? node->n_children : 1;
    if (n > MAX_PATTERNS)
        return rb_node_refuse(node, err, RB_E_LIST_LENGTH, "expected at most %d patterns, got %d", MAX_PATTERNS, n);
    const char **items = rb_arena_array(arena, (size_t)n + 1, sizeof *items);
    const struct rb_node *item = is_list ? node->first : node;
    for (int i = 0; i < n; i++, item = item->next)
        if (!read_pattern(item, arena, &items[i], err))
            return false;
    form->patterns.items = items;
    form->patterns.n = n;
    return true;
}

static bool needs_file(enum rb_metric_format format)
{
    return format == RB_METRIC_CSV || format == RB_METRIC_TENSORBOARD;
}

// Trials on one node share the work directory, in which the script runs.
static bool check_file(const struct rb_node *node, const char *file, struct rb_err *err)
{
    if (file[0] != '/' && strncmp(file, "{checkpoint}", strlen("{checkpoint}")) != 0)
        return rb_node_refuse(node, err, RB_E_METRIC_FORM,
                              "expected a path that begins with {checkpoint}/ or /, got \"%.60s\": trials on one node "
                              "share the work directory, so let each write to its own folder",
                              file);
    return rb_arg_word_check(node, file, false, false, err);
}

static bool read_file(struct rb_map *m, struct rb_arena *arena, struct rb_report_form *form, struct rb_err *err)
{
    const struct rb_node *node = rb_keys_given(m, "file");
    if (!rb_keys_text(m, "file", form->format == RB_METRIC_LIGHTNING ? LIGHTNING_FILE : NULL, arena, &form->file, err))
        return false;
    if (!form->file && needs_file(form->format))
        return rb_node_refuse(rb_map_get(m, "format"), err, RB_E_METRIC_FORM,
                              "format %s is read from a file: add `file`, such as file: \"{checkpoint}/%s\"",
                              rb_metric_format_names[form->format],
                              form->format == RB_METRIC_CSV ? "metrics.csv" : "logs");
    return !node || check_file(node, form->file, err);
}

static bool read_base(struct rb_map *m, struct rb_report_form *form, struct rb_err *err)
{
    const struct rb_node *node = rb_keys_given(m, "base");
    form->base = RB_METRIC_BASE_OF_FORMAT;
    return !node || rb_node_int(node, 0, 1, &form->base, err);
}

bool rb_report_form_read(struct rb_map *m, struct rb_arena *arena, struct rb_report_form *out, struct rb_err *err)
{
    struct rb_report_form form = {0};
    const struct rb_node *pattern = rb_keys_given(m, "pattern"), *format = rb_keys_given(m, "format");
    int choice = RB_METRIC_AUTO;
    if (format && !rb_node_choice(format, rb_metric_format_names, rb_names_count(rb_metric_format_names), &choice, err))
        return false;
    form.format = (enum rb_metric_format)choice;
    if (pattern && !read_patterns(pattern, arena, &form, err))
        return false;
    if (form.patterns.n > 0 && choice != RB_METRIC_AUTO)
        return rb_node_refuse(pattern, err, RB_E_METRIC_FORM,
                              "a pattern says how lines look, and so does format %s: remove one of them",
                              rb_metric_format_names[choice]);
    if (form.patterns.n > 0)
        form.format = RB_METRIC_PATTERN;
    if (!read_file(m, arena, &form, err) || !read_base(m, &form, err))
        return false;
    *out = form;
    return true;
}

void rb_report_form_write(const struct rb_report_form *form, struct rb_json *j)
{
    if (form->patterns.n > 0)
        rb_json_kstrings(j, "pattern", form->patterns.items, form->patterns.n);
    else if (form->format != RB_METRIC_AUTO)
        rb_json_kstring(j, "format", rb_metric_format_names[form->format]);
    if (form->file)
        rb_json_kstring(j, "file", form->file);
    if (form->base != RB_METRIC_BASE_OF_FORMAT)
        rb_json_kint(j, "base", form->base);
}
