// Parses the XML of EC2's answers into a small tree, with expat. DOCTYPE, depth > 64 and more than RB_LIMIT_HTTP_BYTES
// are refused.
#ifndef RB_PROVIDERS_XML_H
#define RB_PROVIDERS_XML_H

#include "base/arena.h"
#include "base/errors/err.h"

struct rb_xml {
    const char *name;          // local name, namespace dropped
    const char *text;          // concatenated character data, "" if none
    const struct rb_xml *first, *next;
};

bool rb_xml_parse(const char *bytes, size_t n, struct rb_arena *arena, const struct rb_xml **out, struct rb_err *err);
const struct rb_xml *rb_xml_child(const struct rb_xml *x, const char *name);  // NULL: none; x may be NULL
const char *rb_xml_text(const struct rb_xml *x, const char *name);            // text of a child, NULL: none
const struct rb_xml *rb_xml_next(const struct rb_xml *x, const char *name);   // next sibling of that name

#endif
