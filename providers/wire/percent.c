#include "providers/wire/percent.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

void rb_percent_encode(const char *s, size_t n, struct rb_buf *out)
{
    for (size_t i = 0; i < n; i++) {
        const unsigned char c = (unsigned char)s[i];
        const bool unreserved = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                                c == '-' || c == '_' || c == '.' || c == '~';
        if (unreserved)
            rb_buf_putc(out, (char)c);
        else
            rb_buf_printf(out, "%%%02X", c);
    }
}

static void put_text(struct rb_buf *out, const char *text, size_t parameter)
{
    if (text) {
        rb_percent_encode(text, strlen(text), out);
        return;
    }
    assert(out->data[parameter] == '&');
    out->len = parameter;
    out->data[parameter] = '\0';
}

void rb_percent_put(struct rb_buf *out, const char *template, ...)
{
    size_t parameter = 0; // where the one that is being written begins
    va_list args;
    va_start(args, template);
    for (const char *at = template; *at; at++) {
        if (*at == '&' || *at == '?' || *at == '/')
            parameter = out->len;
        if (*at != '%') {
            rb_buf_putc(out, *at);
        } else if (*++at == 'j') {
            rb_buf_printf(out, "%jd", va_arg(args, intmax_t));
            at++;
        } else if (*at == 'd') {
            rb_buf_printf(out, "%d", va_arg(args, int));
        } else {
            put_text(out, va_arg(args, const char *), parameter);
        }
    }
    va_end(args);
}
