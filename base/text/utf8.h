// Recognises UTF-8 as RFC 3629 defines it: no overlong forms, no surrogates, nothing beyond U+10FFFF.
#ifndef RB_BASE_UTF8_H
#define RB_BASE_UTF8_H

#include <stddef.h>

// Bytes of the character at the start of s, which holds n bytes; 0 if there is no valid one.
size_t rb_utf8_char_len(const char *s, size_t n);

#endif
