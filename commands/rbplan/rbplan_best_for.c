// rbplan --best-for USD: the search that is expected to find the best model for that, and its plan.
#include "commands/rbplan/rbplan.h"

#include "base/file.h"
#include "base/errors/log.h"
#include "planner/quality/runs.h"
#include "planner/questions/best_for.h"
#include "providers/wire/digest.h"
#include "views/pages/picture.h"
#include "views/tables/best_for_table.h"

#include <unistd.h>

static void write_json(const struct rb_best_for *b, bool pretty, struct rb_buf *out)
{
    struct rb_json j = {.out = out, .pretty = pretty};
    rb_best_for_write(b, &j);
    rb_buf_putc(out, '\n');
}

// --pareto FILE: dollars against what they are expected to find.
static bool save_frontier(const struct rb_best_for *b, const char *path, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    RB_AUTO(rb_buf_finish) struct rb_buf picture = RB_BUF_INIT;
    if (!path)
        return true;
    if (rb_has_ending(path, ".json")) {
        write_json(b, true, &text);
        return rb_write_file(path, rb_buf_str(&text), text.len, err);
    }
    rb_buf_puts(&text, "{\"best_for\":");
    write_json(b, false, &text);
    rb_buf_puts(&text, "}");
    return rb_picture_write("best", rb_buf_str(&text), &picture, err) &&
           rb_write_file(path, rb_buf_str(&picture), picture.len, err);
}

static bool print_text(const struct rb_args *args, const struct rb_best_for *b, struct rb_err *err)
{
    const struct rb_text_style style = rb_text_style_of(STDOUT_FILENO);
    struct rb_buf out = RB_BUF_INIT;
    if (b->cut)
        rb_warn("the time limit ended before every search was tried: a better one may be affordable");
    rb_best_for_table_write(b, &style, &out);
    rb_buf_putc(&out, '\n');
    return rb_plan_print(&out, err) && rb_plan_report(args, &b->plan, &b->result.marginal, b->law, err);
}

static bool print_json(const struct rb_args *args, const struct rb_best_for *b, struct rb_err *err)
{
    const char *output = rb_args_string(args, "output", NULL);
    struct rb_buf out = RB_BUF_INIT;
    if (output && !rb_plan_save(&b->plan, output, err))
        return false;
    write_json(b, false, &out);
    return rb_plan_print(&out, err);
}

static void close_store(struct rb_store **s)
{
    rb_store_close(*s);
}

// Of earlier runs of the job, if the store has any.
static bool law_of_store(const struct rb_args *args, const struct rb_job *job, struct rb_arena *arena,
                         struct rb_quality_law *out, struct rb_err *err)
{
    RB_AUTO(close_store) struct rb_store *s = NULL;
    struct rb_found_metrics found;
    struct rb_err why = {0};
    char training[65];
    if (!rb_store_open(rb_args_string(args, "db", NULL), true, &s, &why)) {
        if (rb_err_number(&why) == RB_E_PROFILE_MISSING)
            return true;
        *err = why;
        return false;
    }
    rb_found_training(job, rb_digest_sha256, training);
    if (!rb_store_found_metrics(s, training, arena, &found, err))
        return false;
    rb_quality_law_of_runs(&found, job, rb_store_path(s), arena, out);
    return true;
}

bool rb_plan_open_law(const struct rb_args *args, const struct rb_job *job, struct rb_arena *arena,
                      struct rb_quality_law *out, struct rb_err *err)
{
    const char *path = rb_args_string(args, "blackbox", NULL);
    struct rb_blackbox table = {0};
    rb_quality_law_prior(out);
    if (!path)
        return !rb_args_string(args, "best-for", NULL) || rb_args_flag(args, "cold") ||
               law_of_store(args, job, arena, out, err);
    const bool ok = rb_blackbox_read(path, arena, &table, err) && rb_quality_law_of_table(&table, job, arena, out, err);
    rb_blackbox_finish(&table);
    return ok;
}

bool rb_plan_best_for(const struct rb_args *args, const struct rb_plan_request *req, const struct rb_quality_law *law,
                      struct rb_plan_inputs *in, struct rb_err *err)
{
    const char *planner = rb_args_string(args, "planner", rb_planner_default(req->job));
    const char *pareto = rb_args_string(args, "pareto", NULL), *html = rb_args_string(args, "html", NULL);
    struct rb_best_for *b = rb_arena_alloc(&in->arena, sizeof *b);
    if (!rb_best_for_find(req, planner, law, pareto || html, &in->arena, b, err) || !save_frontier(b, pareto, err))
        return false;
    rb_plan_wipe_line();
    if (!rb_plan_check_prices(args, &b->plan, err))
        return false;
    rb_plan_sign(&b->plan, in, rb_args_string(args, "output", NULL));
    struct rb_plan_request chosen = *req;
    chosen.job = b->job;
    return rb_plan_draw(args, &chosen, &b->plan, &b->result, b, err) &&
           (rb_args_flag(args, "json") ? print_json : print_text)(args, b, err);
}
