#include "profiles/import/import_job.h"

#include "profiles/import/import_job_format.h"

#include <string.h>

static const struct rb_job_format *const formats[] = {&rb_job_format_determined, &rb_job_format_katib,
                                                      &rb_job_format_optuna,     &rb_job_format_ray,
                                                      &rb_job_format_sagemaker,  &rb_job_format_vertex,
                                                      &rb_job_format_wandb};
#define N_FORMATS (sizeof formats / sizeof formats[0])

const char *const rb_job_import_names[] = {"determined", "katib", "optuna", "ray", "sagemaker", "vertex", "wandb", NULL};

// --- which format

static bool has_marks(const struct rb_node *root, const struct rb_job_format *format)
{
    for (int i = 0; format->marks[i]; i++) {
        if (!rb_node_member(root, format->marks[i]))
            return false;
    }
    return true;
}

static bool cannot_tell(const struct rb_node *root, int n, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf marks = RB_BUF_INIT;
    for (size_t i = 0; i < N_FORMATS; i++) {
        rb_buf_printf(&marks, "%s%s has `%s`", i ? ", " : "", formats[i]->title, formats[i]->marks[0]);
        if (formats[i]->marks[1])
            rb_buf_printf(&marks, " and `%s`", formats[i]->marks[1]);
    }
    return rb_node_refuse(
        root, err, RB_E_JOB_TOOL, "%s: %s; give --from determined, katib, optuna, ray, sagemaker, vertex or wandb",
        n == 0 ? "this is not a job of a known tool" : "this may be a job of more than one tool", rb_buf_str(&marks));
}

static bool choose_format(const struct rb_node *root, const char *from, const struct rb_job_format **out,
                          struct rb_err *err)
{
    int n = 0;
    for (size_t i = 0; i < N_FORMATS; i++) {
        if (from ? strcmp(formats[i]->name, from) == 0 : has_marks(root, formats[i])) {
            *out = formats[i];
            n++;
        }
    }
    if (from && n == 0)
        return rb_err_set(err, RB_E_OPTION_VALUE,
                          "--from: expected determined, katib, optuna, ray, sagemaker, vertex or wandb, got \"%.40s\"", from);
    return n == 1 || cannot_tell(root, n, err);
}

// --- the finished job

// The job reader's error, at the place in the other tool's file that the line was made from.
static bool error_at_source(const struct rb_importer *im, const struct rb_node *root, const struct rb_err *why,
                            struct rb_err *err)
{
    const struct rb_draft_line *line = rb_job_draft_about(&im->draft, why->key);
    const struct rb_node *at = line && line->source ? line->source : root;
    return rb_node_refuse(at, err, rb_err_number(why), "as `%s` of job.yaml: %s", why->key[0] ? why->key : "the whole",
                          why->message);
}

static bool read_back(struct rb_importer *im, const struct rb_node *root, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    struct rb_doc doc = {0};
    struct rb_err why = {0};
    rb_job_draft_write(&im->draft, &text);
    im->made.text = rb_arena_strndup(&im->made.arena, rb_buf_str(&text), text.len);
    const bool ok = rb_doc_parse_yaml(&doc, "job.yaml", im->made.text, text.len, &why) &&
                    rb_job_read(doc.root, NULL, 0, &im->made.arena, &im->made.job, &why);
    rb_doc_finish(&doc);
    return ok || error_at_source(im, root, &why, err);
}

static void set_head(struct rb_importer *im, const struct rb_job_format *format)
{
    RB_AUTO(rb_buf_finish) struct rb_buf head = RB_BUF_INIT;
    rb_buf_printf(
        &head,
        "Made by `rbplan import` from %s, %s: look through it, check it with `rbplan --check`, then measure it "
        "with `rbprofile train`.\n%s",
        im->made.file, format->title, rb_job_draft_contract);
    for (int i = 0; i < im->made.n_ignored; i++)
        rb_buf_printf(&head, "%s%s", i ? ", " : "\nLeft out, as it matters to the other tool only: ", im->ignored[i]);
    if (im->made.n_ignored > 0)
        rb_buf_putc(&head, '.');
    im->draft.head = rb_arena_strdup(&im->made.arena, rb_buf_str(&head));
}

// There are few, and they are almost sorted.
static void sort_warnings(struct rb_job_warning *w, int n)
{
    for (int i = 1; i < n; i++) {
        const struct rb_job_warning moved = w[i];
        int k = i;
        for (; k > 0 && (w[k - 1].line > moved.line || (w[k - 1].line == moved.line && w[k - 1].column > moved.column));
             k--)
            w[k] = w[k - 1];
        w[k] = moved;
    }
}

static bool read_format(struct rb_importer *im, const struct rb_node *root, struct rb_err *err)
{
    const struct rb_job_format *format = NULL;
    if (root->kind != RB_NODE_MAP)
        return rb_node_refuse(root, err, RB_E_TYPE_WRONG, "expected a map of keys");
    if (!choose_format(root, im->options->from, &format, err))
        return false;
    im->made.from = format->name;
    if (im->options->run)
        rb_import_set_run(im, im->options->run, NULL);
    if (!format->read(im, root, err))
        return false;
    rb_job_draft_where(&im->draft, NULL);
    set_head(im, format);
    sort_warnings(im->warnings, im->made.n_warnings);
    im->made.warnings = im->warnings;
    im->made.ignored = im->ignored;
    return read_back(im, root, err);
}

bool rb_job_import_read(const struct rb_doc *doc, const struct rb_job_import_options *options,
                        struct rb_job_import *out, struct rb_err *err)
{
    struct rb_importer im = {.options = options};
    rb_job_draft_init(&im.draft, &im.made.arena);
    im.made.file = rb_arena_strdup(&im.made.arena, doc->file);
    if (!read_format(&im, doc->root, err)) {
        rb_job_import_finish(&im.made);
        return false;
    }
    *out = im.made;
    return true;
}

void rb_job_import_finish(struct rb_job_import *im)
{
    rb_arena_finish(&im->arena);
    *im = (struct rb_job_import){0};
}

void rb_job_import_write(const struct rb_job_import *im, struct rb_json *j)
{
    rb_json_put(j, "{format: 'rb-job-import/1' file: %s|null from: %s config:", im->file, im->from);
    rb_job_write(&im->job, j);
    rb_json_karray(j, "warnings");
    for (int i = 0; i < im->n_warnings; i++)
        rb_json_put(j, "{line: %d column: %d key: %s text: %s}", im->warnings[i].line, im->warnings[i].column,
                    im->warnings[i].key, im->warnings[i].text);
    rb_json_end_array(j);
    rb_json_kstrings(j, "ignored", im->ignored, im->n_ignored);
    rb_json_end_object(j);
}
