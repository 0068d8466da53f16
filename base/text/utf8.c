// Table 3-7 of the Unicode standard, "well-formed UTF-8 byte sequences", as code.
#include "base/text/utf8.h"

#include <stdbool.h>

static bool in_range(unsigned char c, unsigned char lo, unsigned char hi)
{
    return c >= lo && c <= hi;
}

size_t rb_utf8_char_len(const char *s, size_t n)
{
    if (n == 0)
        return 0;
    const unsigned char *u = (const unsigned char *)s;
    const unsigned char c = u[0];
    if (c < 0x80)
        return 1;
    // Only the second byte's range depends on the first; it excludes overlong forms and surrogates.
    const unsigned char lo = c == 0xE0 ? 0xA0 : c == 0xF0 ? 0x90 : 0x80;
    const unsigned char hi = c == 0xED ? 0x9F : c == 0xF4 ? 0x8F : 0xBF;
    const size_t len = in_range(c, 0xC2, 0xDF) ? 2 : in_range(c, 0xE0, 0xEF) ? 3 : in_range(c, 0xF0, 0xF4) ? 4 : 0;
    if (len == 0 || n < len || !in_range(u[1], lo, hi))
        return 0;
    for (size_t i = 2; i < len; i++)
        if (!in_range(u[i], 0x80, 0xBF))
            return 0;
    return len;
}
