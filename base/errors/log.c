// Lines on stderr. Each is written with one call, so that lines of several processes do not interleave.
#include "base/errors/log.h"

#include "base/text/buf.h"
#include "base/text/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void write_line(const char *before, const char *fmt, va_list ap)
{
    struct rb_buf line = RB_BUF_INIT;
    rb_buf_puts(&line, before);
    rb_buf_vprintf(&line, fmt, ap);
    rb_buf_putc(&line, '\n');
    fwrite(line.data, 1, line.len, stderr);
    rb_buf_finish(&line);
}

void rb_info(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    write_line("", fmt, ap);
    va_end(ap);
}

void rb_warn(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    write_line("warning: ", fmt, ap);
    va_end(ap);
}

void rb_trace(const char *area, const char *fmt, ...)
{
    if (!rb_trace_on(area))
        return;
    char before[64];
    snprintf(before, sizeof before, "trace %s: ", area);
    va_list ap;
    va_start(ap, fmt);
    write_line(before, fmt, ap);
    va_end(ap);
}

bool rb_trace_on(const char *area)
{
    const char *list = getenv("RB_TRACE");
    const size_t area_len = strlen(area);
    while (list && *list) {
        const size_t len = strcspn(list, ",");
        if (len == area_len && memcmp(list, area, len) == 0)
            return true;
        list += len + (list[len] == ',');
    }
    return false;
}

bool rb_colour(int fd)
{
    const char *no_colour = getenv("NO_COLOR");
    if (no_colour && no_colour[0])
        return false;
    const char *term = getenv("TERM");
    if (!term || !term[0] || strcmp(term, "dumb") == 0)
        return false;
    return isatty(fd) == 1;
}

// U+0000..001F, U+007F, and U+0080..009F, which terminals obey like an escape sequence.
static bool is_control(const char *utf8)
{
    const unsigned char first = (unsigned char)utf8[0];
    return first < 0x20 || first == 0x7f || (first == 0xC2 && (unsigned char)utf8[1] < 0xA0);
}

char *rb_log_sanitise(const char *bytes, size_t n, char *out, size_t size)
{
    if (size == 0)
        return out;
    size_t len = 0;
    while (n > 0) {
        const size_t width = rb_utf8_char_len(bytes, n);
        const bool safe = width > 0 && !is_control(bytes);
        const size_t taken = width > 0 ? width : 1, put = safe ? width : 1;
        if (len + put >= size)
            break;
        memcpy(out + len, safe ? bytes : "?", put);
        len += put;
        bytes += taken;
        n -= taken;
    }
    out[len] = '\0';
    return out;
}
