// Reading documents of our own leniently, for showing: what is missing, null or of another kind is NULL, -1 or "", and what
// a view cannot do without it checks once, at its top.
#ifndef RB_VIEWS_DOCUMENT_H
#define RB_VIEWS_DOCUMENT_H

#include "base/doc.h"

const struct rb_node *rb_document_member(const struct rb_node *map, const char *key);
const struct rb_node *rb_document_at(const struct rb_node *map, const char *path); // "report.cost_uusd.by"
const struct rb_node *rb_document_items(const struct rb_node *map, const char *key); // the first of a list
int64_t rb_document_int(const struct rb_node *map, const char *key);
const char *rb_document_text(const struct rb_node *map, const char *key);
bool rb_document_flag(const struct rb_node *map, const char *key);

#endif
