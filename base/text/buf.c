// Growable byte strings. Capacity doubles, so n appends cost O(n).
#include "base/text/buf.h"

#include "base/arena.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void rb_buf_finish(struct rb_buf *b)
{
    free(b->data);
    *b = (struct rb_buf)RB_BUF_INIT;
}

void rb_buf_clear(struct rb_buf *b)
{
    b->len = 0;
    if (b->data)
        b->data[0] = '\0';
}

// Room for n more bytes and the NUL.
static void reserve(struct rb_buf *b, size_t n)
{
    assert(n < SIZE_MAX / 2 && b->len < SIZE_MAX / 2 - n);
    const size_t need = b->len + n + 1;
    if (need <= b->cap)
        return;
    size_t cap = b->cap ? b->cap : 64;
    while (cap < need)
        cap *= 2;
    b->data = rb_xrealloc(b->data, cap, 1);
    b->cap = cap;
}

void rb_buf_append(struct rb_buf *b, const void *bytes, size_t n)
{
    reserve(b, n);
    if (n)
        memcpy(b->data + b->len, bytes, n);
    b->len += n;
    b->data[b->len] = '\0';
}

void rb_buf_puts(struct rb_buf *b, const char *s)
{
    rb_buf_append(b, s, strlen(s));
}

void rb_buf_putc(struct rb_buf *b, char c)
{
    rb_buf_append(b, &c, 1);
}

void rb_buf_printf(struct rb_buf *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    rb_buf_vprintf(b, fmt, ap);
    va_end(ap);
}

void rb_buf_vprintf(struct rb_buf *b, const char *fmt, va_list ap)
{
    va_list again;
    assert(fmt);
    va_copy(again, ap);
    const int len = vsnprintf(NULL, 0, fmt, ap);
    assert(len >= 0);
    reserve(b, (size_t)len);
    vsnprintf(b->data + b->len, (size_t)len + 1, fmt, again);
    va_end(again);
    b->len += (size_t)len;
}

const char *rb_buf_str(const struct rb_buf *b)
{
    return b->data ? b->data : "";
}

void rb_buf_consume(struct rb_buf *b, size_t n)
{
    assert(n <= b->len);
    if (n == 0)
        return;
    b->len -= n;
    memmove(b->data, b->data + n, b->len + 1);
}

void rb_buf_shell_quote(struct rb_buf *b, const char *s)
{
    rb_buf_putc(b, '\'');
    for (; *s; s++) {
        if (*s == '\'')
            rb_buf_puts(b, "'\\''");
        else
            rb_buf_putc(b, *s);
    }
    rb_buf_putc(b, '\'');
}
