// Control sequences for terminals: plain ANSI sequences that every terminal of the last forty years, tmux and screen
// understand. Callers that draw on the alternate screen leave it on every way out.
#ifndef RB_VIEWS_TERMINAL_H
#define RB_VIEWS_TERMINAL_H

#include "base/text/buf.h"

#include <stdbool.h>

#define RB_TERMINAL_WIPE_LINE  "\r\033[K"
#define RB_TERMINAL_ENTER      "\033[?1049h\033[?25l\033[2J" // alternate screen, no cursor, empty
#define RB_TERMINAL_LEAVE      "\033[?25h\033[?1049l"

// Can text on it be overwritten: is it a terminal, and not a dumb one?
bool rb_terminal_redraws(int fd);
// Number of lines; 24 where it is unknown.
int rb_terminal_height(int fd);

// Paints a screen of text over the previous one without a flicker: each line is cleared behind its end, and the screen
// below the last one. Lines beyond `height` are left out; none may be wider than the terminal.
void rb_terminal_paint(const char *text, int height, struct rb_buf *out);

#endif
