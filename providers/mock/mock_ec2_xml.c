// Characters that XML 1.0 cannot carry at all (most control bytes) become '?'.
#include "providers/mock/mock_ec2_xml.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

static void escape(struct rb_buf *out, const char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '&')
            rb_buf_puts(out, "&amp;");
        else if (c == '<')
            rb_buf_puts(out, "&lt;");
        else if (c == '>')
            rb_buf_puts(out, "&gt;");
        else if (c < 0x20 && c != '\t' && c != '\n' && c != '\r')
            rb_buf_putc(out, '?');
        else if (c == '\r')
            rb_buf_puts(out, "&#13;"); // a bare one would be read back as a newline
        else
            rb_buf_putc(out, (char)c);
    }
}

void rb_mock_xml_open(struct rb_buf *out, const char *name)
{
    rb_buf_printf(out, "<%s>", name);
}

void rb_mock_xml_close(struct rb_buf *out, const char *name)
{
    rb_buf_printf(out, "</%s>", name);
}

void rb_mock_xml_text(struct rb_buf *out, const char *name, const char *text)
{
    rb_mock_xml_open(out, name);
    escape(out, text);
    rb_mock_xml_close(out, name);
}

void rb_mock_xml_int(struct rb_buf *out, const char *name, int64_t value)
{
    rb_buf_printf(out, "<%s>%" PRId64 "</%s>", name, value, name);
}

void rb_mock_xml_bool(struct rb_buf *out, const char *name, bool value)
{
    rb_mock_xml_text(out, name, value ? "true" : "false");
}

void rb_mock_xml_instant(struct rb_buf *out, const char *name, int64_t unix_us)
{
    time_t s = (time_t)(unix_us / 1000000);
    struct tm tm;
    char text[32];
    gmtime_r(&s, &tm);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
    rb_buf_printf(out, "<%s>%s.%03dZ</%s>", name, text, (int)(unix_us % 1000000 / 1000), name);
}

void rb_mock_xml_empty(struct rb_buf *out, const char *name)
{
    rb_buf_printf(out, "<%s/>", name);
}
