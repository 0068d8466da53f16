// What `rbrun gc` found and ended: a table for people, rb-gc/1 for programs.
#ifndef RB_VIEWS_GC_TABLE_H
#define RB_VIEWS_GC_TABLE_H

#include "executor/gc/gc.h"

// Prints. False: there is something that could not be known or done. *out_code: where that is said in a document.
bool rb_gc_show(const struct rb_gc *gc, bool json, int *out_code, struct rb_err *err);

#endif
