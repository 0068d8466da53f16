// One line of parts, for a terminal where it is redrawn: the least important parts give way where it is narrow.
#ifndef RB_VIEWS_STATUS_LINE_H
#define RB_VIEWS_STATUS_LINE_H

#include "base/buf.h"

#include <stdbool.h>

enum { RB_STATUS_PARTS = 10, RB_STATUS_ALWAYS = 99 };

struct rb_status_line {
    struct rb_status_part {
        struct rb_buf text;
        int importance; // RB_STATUS_ALWAYS: it stays, cut if need be
        bool joined;    // belongs to the part before it: one blank between, and gone where that is gone
    } parts[RB_STATUS_PARTS];
    int n;
};

// The text of one more part, empty; of equal importance the first gives way first.
struct rb_buf *rb_status_line_add(struct rb_status_line *l, int importance, bool joined);
// No wider than `width` columns, 0: no limit. Takes parts away that have no room.
void rb_status_line_write(struct rb_status_line *l, int width, struct rb_buf *out);
void rb_status_line_finish(struct rb_status_line *l);

#endif
