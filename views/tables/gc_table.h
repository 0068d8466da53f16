// The results of `rbrun gc`: a table for people, rb-gc/1 for programs.
#ifndef RB_VIEWS_GC_TABLE_H
#define RB_VIEWS_GC_TABLE_H

#include "executor/gc/gc.h"

// Prints. False: something could not be listed or ended. *out_code: the exit code if the document reports that.
bool rb_gc_show(const struct rb_gc *gc, bool json, int *out_code, struct rb_err *err);
// Says on stderr why a watchdog spares this instance, unless its run is plainly alive.
void rb_gc_explain_spared(const struct rb_gc *gc, const struct rb_gc_instance *f);

#endif
