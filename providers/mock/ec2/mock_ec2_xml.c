// Whatever XML 1.0 cannot carry becomes '?': the answer is well-formed for any text.
#include "providers/mock/ec2/mock_ec2_xml.h"
#include "base/arena.h"
#include "base/text/utf8.h"

#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

// May XML 1.0 hold the character of len bytes? Neither control characters nor U+FFFE, U+FFFF may.
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

static void put_leaf(struct rb_buf *out, const char *name, const char *text)
{
    rb_buf_printf(out, "<%s>", name);
    escape(out, text);
    rb_buf_printf(out, "</%s>", name);
}

struct reader {
    struct rb_buf *out;
    const char *at;
    va_list args;
};

static bool take(struct reader *r, const char *what)
{
    const size_t n = strlen(what);
    if (strncmp(r->at, what, n) != 0)
        return false;
    r->at += n;
    return true;
}

// Between quotes: %s and %d.
static void read_text(struct reader *r, struct rb_buf *text)
{
    while (!take(r, "'"))
        if (take(r, "%s"))
            rb_buf_puts(text, va_arg(r->args, const char *));
        else if (take(r, "%d"))
            rb_buf_printf(text, "%d", va_arg(r->args, int));
        else
            rb_buf_putc(text, *r->at++);
}

static void put_value(struct reader *r, const char *name)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    if (take(r, "%s")) {
        const char *given = va_arg(r->args, const char *);
        if (given)
            put_leaf(r->out, name, given);
        return;
    }
    if (take(r, "%i"))
        rb_buf_puts(&text, va_arg(r->args, int) ? "true" : "false");
    else if (take(r, "%d"))
        rb_buf_printf(&text, "%d", va_arg(r->args, int));
    else if (take(r, "%jd"))
        rb_buf_printf(&text, "%jd", va_arg(r->args, intmax_t));
    else if (take(r, "'"))
        read_text(r, &text);
    else
        while (!strchr(" {}", *r->at))
            rb_buf_putc(&text, *r->at++);
    put_leaf(r->out, name, rb_buf_str(&text));
}

// 2026-08-01T12:00:00.250Z
static void put_instant(struct reader *r, const char *name)
{
    const bool is_known = take(r, "%jd");
    assert(is_known);
    (void)is_known;
    const int64_t unix_us = va_arg(r->args, intmax_t);
    const time_t s = (time_t)(unix_us / 1000000);
    struct tm tm;
    char text[32];
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", gmtime_r(&s, &tm));
    rb_buf_printf(r->out, "<%s>%s.%03dZ</%s>", name, text, (int)(unix_us % 1000000 / 1000), name);
}

static void put_elements(struct reader *r);

static void put_element(struct reader *r)
{
    char name[64];
    const size_t n = strspn(r->at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789");
    if (take(r, "%s")) {
        snprintf(name, sizeof name, "%s", va_arg(r->args, const char *));
    } else {
        assert(n > 0 && n < sizeof name);
        snprintf(name, sizeof name, "%.*s", (int)n, r->at);
        r->at += n;
    }
    switch (*r->at++) {
    case ':':
        put_value(r, name);
        break;
    case '@':
        put_instant(r, name);
        break;
    case '/':
        rb_buf_printf(r->out, "<%s/>", name);
        break;
    default:
        assert(r->at[-1] == '{');
        rb_buf_printf(r->out, "<%s>", name);
        put_elements(r);
        rb_buf_printf(r->out, "</%s>", name);
    }
}

// Up to the brace that closes them, or the end.
static void put_elements(struct reader *r)
{
    while (*r->at && !take(r, "}"))
        if (!take(r, " "))
            put_element(r);
}

void rb_mock_xml_put(struct rb_buf *out, const char *template, ...)
{
    struct reader r = {.out = out, .at = template};
    va_start(r.args, template);
    put_elements(&r);
    va_end(r.args);
}

void rb_mock_xml_open(struct rb_buf *out, const char *name)
{
    rb_buf_printf(out, "<%s>", name);
}

void rb_mock_xml_close(struct rb_buf *out, const char *name)
{
    rb_buf_printf(out, "</%s>", name);
}
