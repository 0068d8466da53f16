// A line on stderr that shows how long a computation has been running, from a thread of its own: the computation need
// not know of it. On a terminal it appears after a second and is redrawn twice a second; elsewhere it is printed once,
// after half a minute.
#ifndef RB_VIEWS_WAITING_LINE_H
#define RB_VIEWS_WAITING_LINE_H

struct rb_waiting_line;

// "planning: 12 s; --time-limit 10s bounds it". Both texts are borrowed until the end. NULL: no thread could be
// started, and there is no line; the other two functions accept NULL.
struct rb_waiting_line *rb_waiting_line_begin(const char *what, const char *hint);
// Call it before anything else is printed: the line is erased, and drawn again half a second later at the earliest.
void rb_waiting_line_wipe(struct rb_waiting_line *l);
void rb_waiting_line_end(struct rb_waiting_line *l); // erases the line and frees it

#endif
