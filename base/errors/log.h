// Prints diagnostics and decision traces on stderr. RB_TRACE=planner,provider prints the decisions of those areas. Never pass
// anything that may hold a secret. Bytes that came from a node go through rb_log_sanitise first.
#ifndef RB_BASE_LOG_H
#define RB_BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>

void rb_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void rb_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2))); // "warning: ..."
void rb_trace(const char *area, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool rb_trace_on(const char *area);

// True if fd is a terminal that shows colour (NO_COLOR and TERM=dumb are honoured).
bool rb_colour(int fd);

// Copies at most size-1 bytes of untrusted text; control characters and what is not UTF-8 become '?'.
char *rb_log_sanitise(const char *bytes, size_t n, char *out, size_t size);

#endif
