// The one line on a terminal that shows the present state and is redrawn twice a second. Code that prints anything else
// meanwhile erases it first; it comes back by itself.
#ifndef RB_VIEWS_RUN_LINE_H
#define RB_VIEWS_RUN_LINE_H

#include "base/text/buf.h"
#include "executor/transport/loop_uv.h"

struct rb_run_line {
    void (*write)(void *ctx, int width, struct rb_buf *out); // writes its present text, at most `width` columns
    void *ctx;
    const struct rb_loop *loop;
    bool drawn; // it is on the screen
};

// Is stderr a terminal where a line can be redrawn?
bool rb_run_line_has_room(void);
// Draws it until the loop ends, and whenever the terminal changes its size. *l must not move.
void rb_run_line_begin(struct rb_run_line *l, struct rb_loop_uv *uv);
void rb_run_line_wipe(struct rb_run_line *l); // NULL is fine, and so is one that was never begun

#endif
