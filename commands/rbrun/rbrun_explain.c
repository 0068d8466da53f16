// rbrun explain: explains the number of an error.
#include "commands/rbrun/rbrun.h"

#include "views/pages/error_catalog.h"

static bool explain(const struct rb_args *args, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    return rb_error_explain_write(args->args[0], &out, err) && rb_print(&out, err);
}

static const struct rb_option options[] = {
    {"db", 0, RB_OPT_STRING, false, "FILE", "profile store; accepted everywhere, rbrun needs none", 0, 0},
    {0},
};

const struct rb_command rb_run_explain = {
    .name = "rbrun explain",
    .usage = "RB4011",
    .summary = "Says what the number behind an error means and what to do. docs/errors has them all.",
    .examples = "  rbrun explain RB4011\n",
    .options = options,
    .min_args = 1,
    .max_args = 1,
    .run = explain,
};
