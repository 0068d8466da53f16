#include "views/live/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

bool rb_terminal_redraws(int fd)
{
    const char *term = getenv("TERM");
    return isatty(fd) && term && term[0] && strcmp(term, "dumb") != 0;
}

int rb_terminal_height(int fd)
{
    struct winsize size;
    return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : 24;
}

void rb_terminal_paint(const char *text, int height, struct rb_buf *out)
{
    rb_buf_puts(out, "\033[H");
    for (int i = 0; i < height && *text; i++) {
        const size_t n = strcspn(text, "\n");
        rb_buf_append(out, text, n);
        rb_buf_puts(out, "\033[K");
        text += n + (text[n] == '\n');
        if (i + 1 < height && *text) // a line feed on the last line would scroll
            rb_buf_puts(out, "\r\n");
    }
    rb_buf_puts(out, "\033[J");
}
