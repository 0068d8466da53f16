// One line of parts, for a terminal where it is redrawn: on a narrow terminal the least important parts are left out.
#ifndef RB_VIEWS_STATUS_LINE_H
#define RB_VIEWS_STATUS_LINE_H

#include "base/text/buf.h"

#include <stdbool.h>

enum { RB_STATUS_PARTS = 10, RB_STATUS_ALWAYS = 99 };

struct rb_status_line {
    struct rb_status_part {
        struct rb_buf text;
        int importance; // RB_STATUS_ALWAYS: it stays, cut if necessary
        bool joined;    // belongs to the part before it: one blank between; left out with that part
    } parts[RB_STATUS_PARTS];
    int n;
};

// Adds a part and returns its empty text. Of parts with equal importance, the first is left out first.
struct rb_buf *rb_status_line_add(struct rb_status_line *l, int importance, bool joined);
// At most `width` columns, 0: no limit. Removes parts that do not fit.
void rb_status_line_write(struct rb_status_line *l, int width, struct rb_buf *out);
void rb_status_line_finish(struct rb_status_line *l);

#endif
