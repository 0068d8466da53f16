// A buffer is a byte string that grows. It is NUL-terminated after the first append.
#ifndef RB_BASE_BUF_H
#define RB_BASE_BUF_H

#include <stdarg.h>
#include <stddef.h>

struct rb_buf {
    char *data; // NULL while empty
    size_t len, cap;
};

#define RB_BUF_INIT {0}

void rb_buf_finish(struct rb_buf *b); // frees; b is empty again
void rb_buf_clear(struct rb_buf *b);  // len = 0, keeps the memory
void rb_buf_append(struct rb_buf *b, const void *bytes, size_t n);
void rb_buf_puts(struct rb_buf *b, const char *s);
void rb_buf_putc(struct rb_buf *b, char c);
void rb_buf_printf(struct rb_buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void rb_buf_vprintf(struct rb_buf *b, const char *fmt, va_list ap);
const char *rb_buf_str(const struct rb_buf *b); // never NULL
void rb_buf_consume(struct rb_buf *b, size_t n); // drops the first n bytes

// Appends s quoted for a POSIX shell: 'it'\''s'. Never produces a word the shell would expand.
void rb_buf_shell_quote(struct rb_buf *b, const char *s);

#endif
