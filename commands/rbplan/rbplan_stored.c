// rbplan explain, rbplan diff: show plans from files.
#include "commands/rbplan/rbplan.h"

#include "base/file.h"
#include "providers/wire/digest.h"
#include "views/pages/error_catalog.h"
#include "views/pages/plan_document.h"
#include "views/tables/plan_table.h"

#include <string.h>
#include <unistd.h>

#define DB_OPTION                                                                                           \
    {                                                                                                       \
        "db", 0, RB_OPT_STRING, false, "FILE", "profile store (not read: a plan contains its inputs)", 0, 0 \
    }

static const struct rb_option options[] = {DB_OPTION, {0}};

static const struct rb_option explain_options[] = {
    {"all-errors", 0, RB_OPT_FLAG, false, NULL, "print every error, as docs/errors/README.md", 0, 0},
    {"gantt", 0, RB_OPT_STRING, false, "FILE.svg", "draw the plan's stages in time", 0, 0},
    DB_OPTION,
    {0},
};

struct stored {
    struct rb_doc doc;
    struct rb_arena arena;
    struct rb_plan plan;
};

static bool read_stored(const char *path, struct stored *out, struct rb_err *err)
{
    struct stored s = {0};
    if (rb_doc_read(&s.doc, path, err)) {
        if (rb_plan_read(s.doc.root, rb_digest_sha256, &s.arena, &s.plan, err)) {
            *out = s;
            return true;
        }
        rb_doc_finish(&s.doc);
    }
    rb_arena_finish(&s.arena);
    return false;
}

static void finish_stored(struct stored *s)
{
    rb_doc_finish(&s->doc);
    rb_arena_finish(&s->arena);
}

static bool explain_error(const struct rb_args *args, struct rb_err *err)
{
    struct rb_buf out = RB_BUF_INIT;
    if (rb_args_flag(args, "all-errors")) {
        rb_error_page_write(&out);
    } else if (!rb_error_explain_write(args->args[0], &out, err)) {
        rb_buf_finish(&out);
        return false;
    }
    return rb_plan_print(&out, err);
}

// The picture that rbplan --gantt drew of the same plan: its file has all inputs.
static bool draw(const struct rb_plan *plan, const char *path, struct rb_err *err)
{
    struct rb_plan_document x = {.plan = plan};
    if (!rb_has_ending(path, ".svg"))
        return rb_err_set(err, RB_E_PICTURE_NAME, "--gantt %s: expected a name that ends with .svg", path);
    return rb_plan_document_simulate(&x, 1, false, err) && rb_plan_document_save_gantt(&x, path, err);
}

static bool run_explain(const struct rb_args *args, struct rb_err *err)
{
    const bool all_errors = rb_args_flag(args, "all-errors");
    if (all_errors == (args->n_args > 0))
        return rb_err_set(err, RB_E_OPERANDS,
                          "expected a plan, the number of an error, or --all-errors (see %s --help)",
                          args->command->name);
    if (all_errors || rb_is_error_number(args->args[0]))
        return explain_error(args, err);
    RB_AUTO(finish_stored) struct stored s = {0};
    struct rb_buf out = RB_BUF_INIT;
    const char *gantt = rb_args_string(args, "gantt", NULL);
    if (!read_stored(args->args[0], &s, err) || (gantt && !draw(&s.plan, gantt, err)))
        return false;
    struct rb_text_style style = rb_text_style_of(STDOUT_FILENO);
    rb_plan_explain_write(&s.plan, &style, &out);
    return rb_plan_print(&out, err);
}

const struct rb_command rb_plan_explain = {
    .name = "rbplan explain",
    .usage = "[--gantt FILE.svg] plan.json | RB1112 | --all-errors",
    .summary = "Explains a plan stage by stage, and what the other planners would have needed; or an error and "
               "its remedy.",
    .examples = "  rbplan explain plan.json\n"
                "  rbplan explain plan.json --gantt plan.svg\n"
                "  rbplan explain RB1112\n",
    .options = explain_options,
    .min_args = 0,
    .max_args = 1,
    .run = run_explain,
};

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool run_diff(const struct rb_args *args, struct rb_err *err)
{
    RB_AUTO(finish_stored) struct stored a = {0};
    RB_AUTO(finish_stored) struct stored b = {0};
    if (!read_stored(args->args[0], &a, err) || !read_stored(args->args[1], &b, err))
        return false;
    bool same_base = strcmp(base_name(args->args[0]), base_name(args->args[1])) == 0;
    struct rb_text_style style = rb_text_style_of(STDOUT_FILENO);
    struct rb_buf out = RB_BUF_INIT;
    rb_plan_diff_write(&a.plan, same_base ? args->args[0] : base_name(args->args[0]), &b.plan,
                       same_base ? args->args[1] : base_name(args->args[1]), &style, &out);
    return rb_plan_print(&out, err);
}

const struct rb_command rb_plan_diff = {
    .name = "rbplan diff",
    .usage = "A.json B.json",
    .summary = "Puts two plans side by side: their stages, then what differs in their estimates.",
    .examples = "  rbplan diff tight.json loose.json\n",
    .options = options,
    .min_args = 2,
    .max_args = 2,
    .run = run_diff,
};
