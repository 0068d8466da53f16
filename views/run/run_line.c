#include "views/run/run_line.h"

#include "base/arena.h"
#include "views/live/terminal.h"
#include "views/tables/text_table.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum { REDRAW_US = 500000 };

static void draw(void *arg)
{
    struct rb_run_line *l = arg;
    RB_AUTO(rb_buf_finish) struct rb_buf line = RB_BUF_INIT;
    const int width = rb_text_width(STDERR_FILENO);
    l->write(l->ctx, width > 1 ? width - 1 : 1, &line); // the last column would wrap
    fprintf(stderr, RB_TERMINAL_WIPE_LINE "%s", rb_buf_str(&line));
    fflush(stderr);
    l->drawn = true;
}

static void redraw(void *arg)
{
    struct rb_run_line *l = arg;
    l->loop->timer_start(l->loop->ctx, REDRAW_US, redraw, l);
    draw(l);
}

bool rb_run_line_has_room(void)
{
    return rb_terminal_redraws(STDERR_FILENO);
}

void rb_run_line_begin(struct rb_run_line *l, struct rb_loop_uv *uv)
{
    l->loop = rb_loop_uv_loop(uv);
    rb_loop_uv_on_signal(uv, SIGWINCH, draw, l);
    redraw(l);
}

void rb_run_line_wipe(struct rb_run_line *l)
{
    if (!l || !l->drawn)
        return;
    fputs(RB_TERMINAL_WIPE_LINE, stderr);
    l->drawn = false;
}
