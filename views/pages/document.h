// Reads our own documents leniently, for views: a value that is missing, null or of another kind is NULL, -1 or "". A
// view checks what it cannot do without once, at its top.
#ifndef RB_VIEWS_DOCUMENT_H
#define RB_VIEWS_DOCUMENT_H

#include "base/document/doc.h"

const struct rb_node *rb_document_member(const struct rb_node *map, const char *key);
const struct rb_node *rb_document_at(const struct rb_node *map, const char *path); // "report.cost_uusd.by"
const struct rb_node *rb_document_items(const struct rb_node *map, const char *key); // the first item of a list
int64_t rb_document_int(const struct rb_node *map, const char *key);
const char *rb_document_text(const struct rb_node *map, const char *key);
bool rb_document_flag(const struct rb_node *map, const char *key);

#endif
