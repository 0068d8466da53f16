// rbplan --pareto: writes the frontier into a file, and as a table with the value of more or less time.
#include "commands/rbplan/rbplan.h"

#include "base/file.h"
#include "base/errors/log.h"
#include "views/pages/picture.h"
#include "views/tables/pareto_table.h"

#include <unistd.h>

static void write_json(const struct rb_pareto *pareto, bool pretty, struct rb_buf *out)
{
    struct rb_json j = {.out = out, .pretty = pretty};
    rb_pareto_write(pareto, &j);
    rb_buf_putc(out, '\n');
}

// Saves it as JSON, or draws it: the same chart as on a page, from a document with only the frontier.
static bool save(const struct rb_pareto *pareto, const char *path, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    RB_AUTO(rb_buf_finish) struct rb_buf picture = RB_BUF_INIT;
    if (rb_has_ending(path, ".json")) {
        write_json(pareto, true, &text);
        return rb_write_file(path, rb_buf_str(&text), text.len, err);
    }
    rb_buf_puts(&text, "{\"frontier\":");
    write_json(pareto, false, &text);
    rb_buf_puts(&text, "}");
    return rb_picture_write("frontier", rb_buf_str(&text), &picture, err) &&
           rb_write_file(path, rb_buf_str(&picture), picture.len, err);
}

bool rb_plan_pareto(const struct rb_args *args, const struct rb_plan_request *req, struct rb_err *err)
{
    const char *path = rb_args_string(args, "pareto", NULL);
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    const struct rb_text_style style = rb_text_style_of(STDOUT_FILENO);
    struct rb_pareto pareto;
    if (!rb_pareto_find(req, &arena, &pareto, err) || !save(&pareto, path, err))
        return false;
    rb_plan_wipe_line();
    if (pareto.cut)
        rb_warn("a search was cut at its node, time or memory limit: cheaper plans may exist");
    struct rb_buf out = RB_BUF_INIT;
    if (rb_args_flag(args, "json"))
        write_json(&pareto, false, &out);
    else
        rb_pareto_table_write(req, &pareto, &style, &out);
    return rb_plan_print(&out, err);
}
