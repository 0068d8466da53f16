// rbrun status: shows the state of a run, once or repeatedly.
#include "commands/rbrun/rbrun.h"
#include "executor/sinks/sink_cursor.h"
#include "views/live/terminal.h"
#include "views/run/pool_following.h"
#include "views/run/watch.h"

#include <unistd.h>

static const struct rb_option status_options[] = {
    {"watch", 'w', RB_OPT_FLAG, false, NULL, "on the whole screen, until the run is over; q leaves", 0, 0},
    RB_RUN_COMMON_OPTIONS,
    {0},
};

static bool print_once(struct rb_following *f, bool json, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    const struct rb_text_style style = rb_text_style_of(STDOUT_FILENO);
    struct rb_json j;
    if (!rb_following_look(f, true, err))
        return false;
    if (json) {
        rb_json_init(&j, &out, false);
        rb_run_screen_json(&f->screen, &j);
        rb_buf_putc(&out, '\n');
    } else {
        rb_run_screen_block(&f->screen, &style, &out);
        rb_sinks_behind(&f->files, f->last_event, f->screen.pid != 0, &out);
    }
    return rb_print(&out, err);
}

static bool status(const struct rb_args *args, struct rb_err *err)
{
    RB_AUTO(rb_pool_following_finish) struct rb_pool_following p;
    const bool json = rb_args_flag(args, "json");
    if (!rb_pool_following_open(&p, rb_run_state_dir(args), args->n_args ? args->args[0] : NULL, err))
        return false;
    if (!rb_args_flag(args, "watch"))
        return print_once(&p.owner, json, err);
    if (!json && rb_terminal_redraws(STDOUT_FILENO) && isatty(STDIN_FILENO))
        return rb_watch_screen(&p.owner, err);
    return rb_watch_lines(&p.owner, json, err);
}

const struct rb_command rb_run_status = {
    .name = "rbrun status",
    .usage = "[options] [RUN]",
    .summary =
        "Shows the state of a run: stage, trials, nodes, dollars so far of expected, when it will end and how likely "
        "that is in "
        "time; of a pool, its jobs. RUN: its id, its job's name, or the beginning of either; the newest.",
    .examples = "  rbrun status\n"
                "  rbrun status --watch\n"
                "  rbrun status lab-2026\n"
                "  rbrun status digits-2026 --json\n",
    .options = status_options,
    .max_args = 1,
    .run = status,
};
