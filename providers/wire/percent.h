// Percent-encodes what goes into targets and forms (RFC 3986: all but A-Z a-z 0-9 - _ . ~; a space is %20).
#ifndef RB_PROVIDERS_PERCENT_H
#define RB_PROVIDERS_PERCENT_H

#include "base/text/buf.h"

void rb_percent_encode(const char *s, size_t n, struct rb_buf *out);
// Appends a target or a form: "/projects/%s/zones/%s?page=%s&size=%d". Every %s is encoded, %d and %jd
// are numbers, the rest is written as it is. A parameter behind '&' whose value is NULL is left out.
void rb_percent_put(struct rb_buf *out, const char *template, ...) __attribute__((format(printf, 2, 3)));

#endif
