// Whatever XML 1.0 cannot carry becomes '?': the answer is well-formed for any text.
#include "providers/mock/ec2/mock_ec2_xml.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

// May the character of len bytes stand in XML 1.0? Neither control characters nor U+FFFE, U+FFFF may.
static bool is_allowed(const char *c, size_t len)
{
    if (len == 1)
        return (unsigned char)*c >= 0x20 || strchr("\t\n\r", *c);
    return len != 3 || (memcmp(c, "\xef\xbf\xbe", 3) != 0 && memcmp(c, "\xef\xbf\xbf", 3) != 0);
}

static const char *entity(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '\r':
        return "&#13;"; // a bare one would be read back as a newline
    default:
        return NULL;
    }
}

static void escape(struct rb_buf *out, const char *text)
{
    for (size_t n = strlen(text), len; n > 0; text += len, n -= len) {
        len = rb_utf8_char_len(text, n);
        if (len == 0 || !is_allowed(text, len)) { // error messages may quote what was no text, or cut it anywhere
            len = len ? len : 1;
            rb_buf_putc(out, '?');
        } else if (entity(*text)) {
            rb_buf_puts(out, entity(*text));
        } else {
            rb_buf_append(out, text, len);
        }
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

void rb_mock_xml_second(struct rb_buf *out, const char *name, int64_t unix_us)
{
    rb_mock_xml_instant(out, name, unix_us - unix_us % 1000000);
}

void rb_mock_write_value(struct rb_buf *out, const char *name, const char *text)
{
    rb_mock_xml_open(out, name);
    rb_mock_xml_text(out, "value", text);
    rb_mock_xml_close(out, name);
}

void rb_mock_xml_empty(struct rb_buf *out, const char *name)
{
    rb_buf_printf(out, "<%s/>", name);
}
