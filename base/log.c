// Lines on stderr. Each is written with one call, so that lines of several processes do not interleave.
#include "base/log.h"

#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void write_line(const char *before, const char *fmt, va_list ap) {
    struct rb_buf line = RB_BUF_INIT;
    rb_buf_puts(&line, before);
    rb_buf_vprintf(&line, fmt, ap);
    rb_buf_putc(&line, '\n');
    fwrite(line.data, 1, line.len, stderr);
    rb_buf_finish(&line);
}

void rb_info(const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    write_line("", fmt, ap);
    va_end(ap);
}

void rb_warn(const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    write_line("warning: ", fmt, ap);
    va_end(ap);
}

void rb_trace(const char *area, const char *fmt, ...) {
    if (!rb_trace_on(area))
        return;
    char before[64];
    snprintf(before, sizeof before, "trace %s: ", area);
    va_list ap;
    va_start(ap, fmt);
    write_line(before, fmt, ap);
    va_end(ap);
}

bool rb_trace_on(const char *area) {
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

bool rb_colour(int fd) {
    const char *no_colour = getenv("NO_COLOR");
    if (no_colour && no_colour[0])
        return false;
    const char *term = getenv("TERM");
    if (!term || !term[0] || strcmp(term, "dumb") == 0)
        return false;
    return isatty(fd) == 1;
}

char *rb_log_sanitise(const char *bytes, size_t n, char *out, size_t size) {
    if (size == 0)
        return out;
    size_t len = 0;
    for (size_t i = 0; i < n && len + 1 < size; i++) {
        const unsigned char c = (unsigned char)bytes[i];
        // Bytes from 0x80 up may hold C1 controls, which some terminals obey even inside UTF-8.
        out[len++] = c < 0x20 || c >= 0x7f ? '?' : (char)c;
    }
    out[len] = '\0';
    return out;
}
