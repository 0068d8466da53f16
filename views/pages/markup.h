// Escapes text for HTML and SVG.
#ifndef RB_VIEWS_MARKUP_H
#define RB_VIEWS_MARKUP_H

#include "base/text/buf.h"

// Appends text with &, <, > and both quotes escaped: inside elements and inside quoted attributes.
void rb_markup_escape(const char *text, struct rb_buf *out);

#endif
