// A sampler of ours as the suggester of a run: it follows the events and answers at once.
#ifndef RB_SAMPLERS_FOLLOW_H
#define RB_SAMPLERS_FOLLOW_H

#include "engine/core/suggest.h"
#include "samplers/search.h"

struct rb_follower;

// job->scheduler.sampler names one of ours. The plan outlives it. Errors: as rb_search_create.
bool rb_follower_create(const struct rb_plan *plan, struct rb_follower **out, struct rb_err *err);
void rb_follower_destroy(struct rb_follower *f); // accepts NULL
// Before its first event; see rb_search_recall. NULL: none.
void rb_follower_recall(struct rb_follower *f, const struct rb_earlier *earlier);
const struct rb_suggester *rb_follower_suggester(const struct rb_follower *f);

// An RB_EVENT_SUGGESTED of these values, in the arena.
void rb_suggested_event(const struct rb_space *space, int trial, const struct rb_value *values, const char *origin,
                        const char *because, struct rb_arena *arena, struct rb_event *out);

#endif
