// Reads and writes `resources:` of job.yaml: which machines may be launched.
#ifndef RB_PROFILES_JOB_RESOURCES_H
#define RB_PROFILES_JOB_RESOURCES_H

#include "profiles/job/job.h"

// A list of distinct texts, or one text for a list of one.
bool rb_read_texts(const struct rb_node *node, struct rb_arena *arena, struct rb_string_list *out,
                   struct rb_err *err);
// node NULL: all defaults: only this machine.
bool rb_resources_read(const struct rb_node *node, struct rb_arena *arena, struct rb_resources *out,
                       struct rb_err *err);
void rb_resources_write(const struct rb_resources *r, struct rb_json *j);

#endif
