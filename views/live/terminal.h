// What a terminal can be told: plain ANSI sequences that every terminal of the last forty years, tmux and screen know.
// Callers that draw on the alternate screen give it back on every way out.
#ifndef RB_VIEWS_TERMINAL_H
#define RB_VIEWS_TERMINAL_H

#include "base/buf.h"

#include <stdbool.h>

#define RB_TERMINAL_WIPE_LINE  "\r\033[K"
#define RB_TERMINAL_ENTER      "\033[?1049h\033[?25l\033[2J" // alternate screen, no cursor, empty
#define RB_TERMINAL_LEAVE      "\033[?25h\033[?1049l"

// Can what stands there be drawn over: a terminal, and not a dumb one?
bool rb_terminal_redraws(int fd);
// Lines; 24 where nobody says.
int rb_terminal_height(int fd);

// A screen full of text over the one before, without a flicker: each line is wiped behind its end, what is below the last one
// as well. Lines beyond `height` are left out; none may be wider than the terminal.
void rb_terminal_paint(const char *text, int height, struct rb_buf *out);

#endif
