#include "views/pages/markup.h"

void rb_markup_escape(const char *text, struct rb_buf *out)
{
    for (const char *c = text; *c; c++) {
        switch (*c) {
        case '&':
            rb_buf_puts(out, "&amp;");
            break;
        case '<':
            rb_buf_puts(out, "&lt;");
            break;
        case '>':
            rb_buf_puts(out, "&gt;");
            break;
        case '"':
            rb_buf_puts(out, "&quot;");
            break;
        case '\'':
            rb_buf_puts(out, "&#39;");
            break;
        default:
            rb_buf_putc(out, *c);
        }
    }
}
