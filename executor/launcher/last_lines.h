// Keeps the last lines that a process printed, and decides whether two processes failed in the same way.
//
// Two failures are alike when the exit codes and the last three lines are equal, after removing from the lines what
// differs from one start to the next (rb_last_lines_normalise):
//   directories of a path        /tmp/run-7/trials/3/train.py -> train.py
//   numbers, times, versions     12, -0.5, 1e-05, 12:34:56.789, 2.1.0 -> #
//   addresses                    0x7f3a00 -> #
//   digests and ids              a word of 8 or more hexadecimal digits or dashes that has a digit -> #
//   white space                  one blank; none at the ends
// Names, words and punctuation stay: another parameter name or another exception is another failure.
#ifndef RB_EXECUTOR_LAST_LINES_H
#define RB_EXECUTOR_LAST_LINES_H

#include <stddef.h>
#include <stdint.h>

enum {
    RB_LAST_LINES = 5,          // kept, and shown
    RB_LAST_LINES_COMPARED = 3, // of these, the last
    RB_LAST_LINE = 256,         // bytes of each, its end included; what is longer is cut
};

// All zero: nothing was printed.
struct rb_last_lines {
    char lines[RB_LAST_LINES][RB_LAST_LINE]; // a ring, sanitised
    int n;                                   // lines ever taken
};

// Takes untrusted bytes without a newline. Blank lines are left out.
void rb_last_lines_take(struct rb_last_lines *l, const char *bytes, size_t n);

// As many of the last lines as fit, oldest first, " | " between them; "" if there are none. Returns out.
char *rb_last_lines_text(const struct rb_last_lines *l, char *out, size_t size);

// 0: not comparable, because something else ended the process: exit codes 128 + HUP, INT, KILL or TERM.
uint64_t rb_last_lines_signature(const struct rb_last_lines *l, int exit_code);

// The result is never longer than the line. Returns out.
char *rb_last_lines_normalise(const char *line, char *out, size_t size);

#endif
