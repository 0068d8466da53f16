// rbplan --what-if, --sensitivity: scenarios beside the request as it is.
#include "commands/rbplan/rbplan.h"

#include "planner/questions/sensitivity.h"
#include "views/tables/what_if_table.h"

#include <unistd.h>

static void write_text(const struct rb_plan_request *req, const char *planner, const char *order,
                       const struct rb_what_if_table *table, struct rb_buf *out)
{
    const struct rb_text_style style = rb_text_style_of(STDOUT_FILENO);
    rb_what_if_table_write(req, planner, order, table, &style, out);
}

static bool print_table(const struct rb_args *args, struct rb_buf *out, struct rb_err *err)
{
    if (rb_args_flag(args, "json"))
        rb_buf_putc(out, '\n');
    return rb_plan_print(out, err);
}

bool rb_plan_what_if(const struct rb_args *args, const struct rb_plan_request *req, struct rb_err *err)
{
    const char *planner = rb_args_string(args, "planner", rb_planner_default(req->job));
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_what_if_table table;
    int n = 0;
    while (rb_args_nth(args, "what-if", n))
        n++;
    const char **texts = rb_arena_array(&arena, (size_t)n, sizeof *texts);
    for (int i = 0; i < n; i++)
        texts[i] = rb_args_nth(args, "what-if", i);
    if (!rb_what_if_plan(req, planner, texts, n, &arena, &table, err))
        return false;
    struct rb_buf out = RB_BUF_INIT;
    struct rb_json j = {.out = &out};
    if (rb_args_flag(args, "json"))
        rb_what_if_write(&table, &j);
    else
        write_text(req, planner, "", &table, &out);
    return print_table(args, &out, err);
}

bool rb_plan_sensitivity(const struct rb_args *args, const struct rb_plan_request *req, struct rb_err *err)
{
    const char *planner = rb_args_string(args, "planner", rb_planner_default(req->job));
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_sensitivities s;
    if (!rb_sensitivity_plan(req, planner, &arena, &s, err))
        return false;
    struct rb_buf out = RB_BUF_INIT;
    struct rb_json j = {.out = &out};
    if (rb_args_flag(args, "json"))
        rb_sensitivity_write(&s, &j);
    else
        write_text(req, planner, "each input changed by itself, largest effect on cost first; ", &s.what_if, &out);
    return print_table(args, &out, err);
}
