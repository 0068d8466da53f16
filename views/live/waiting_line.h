// A line on stderr that says how long a computation has been going on, from a thread of its own: what computes need not know
// of it. On a terminal it comes after a second and is redrawn twice a second; elsewhere it is printed once, after half a minute.
#ifndef RB_VIEWS_WAITING_LINE_H
#define RB_VIEWS_WAITING_LINE_H

struct rb_waiting_line;

// "planning: 12 s; --time-limit 10s bounds it". Both texts are borrowed until the end. NULL: no thread could be started, and
// there is no line; the other two take that.
struct rb_waiting_line *rb_waiting_line_begin(const char *what, const char *hint);
// Before anything else is printed: it is wiped, and drawn again later.
void rb_waiting_line_wipe(struct rb_waiting_line *l);
void rb_waiting_line_end(struct rb_waiting_line *l); // wipes and frees

#endif
