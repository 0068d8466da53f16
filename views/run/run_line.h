// The one line on a terminal that says where something stands and is redrawn twice a second. Code that prints anything else
// meanwhile wipes it first; it comes back by itself.
#ifndef RB_VIEWS_RUN_LINE_H
#define RB_VIEWS_RUN_LINE_H

#include "base/buf.h"
#include "executor/transport/loop_uv.h"

struct rb_run_line {
    void (*write)(void *ctx, int width, struct rb_buf *out); // what it says now, at most `width` columns
    void *ctx;
    const struct rb_loop *loop;
    bool drawn; // it stands on the screen
};

// Is stderr a terminal where a line can be redrawn?
bool rb_run_line_has_room(void);
// Draws it until the loop ends, and whenever the terminal changes its size. *l stays where it is.
void rb_run_line_begin(struct rb_run_line *l, struct rb_loop_uv *uv);
void rb_run_line_wipe(struct rb_run_line *l); // NULL is fine, and one that was never begun

#endif
