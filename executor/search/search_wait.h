// A program that proposes configurations (search_program.h) as a suggester that always answers at once, for virtual
// time: it waits for the program on a loop of its own.
#ifndef RB_EXECUTOR_SEARCH_WAIT_H
#define RB_EXECUTOR_SEARCH_WAIT_H

#include "engine/core/suggest.h"
#include "engine/plan/plan.h"

struct rb_search_wait;

struct rb_search_wait *rb_search_wait_create(const struct rb_plan *plan, const char *workdir);
void rb_search_wait_destroy(struct rb_search_wait *w); // accepts NULL
const struct rb_suggester *rb_search_wait_suggester(const struct rb_search_wait *w);
// Why it has no answers any more (on_failure: stop): each is then "no further configuration". NULL: it has.
const struct rb_err *rb_search_wait_failure(const struct rb_search_wait *w);

#endif
