// Earlier runs with the same search space, from a profile store: what a sampler starts from. A run keeps a copy in its
// folder, so that it is resumed with the same ones whatever happens to the store.
#ifndef RB_EXECUTOR_EARLIER_H
#define RB_EXECUTOR_EARLIER_H

#include "samplers/search.h"

#define RB_EARLIER_OF_RUN "earlier.db" // the copy
#define RB_EARLIER_RUNS   8            // the newest; older ones would hardly count

// Does the job's sampler use them?
bool rb_earlier_matter(const struct rb_job *job);
// store NULL: RB_DB, else the user's own. No such file, or nothing of this space in it: n_runs 0. Everything lives in
// `arena`.
bool rb_earlier_find(const struct rb_job *job, const char *store, struct rb_arena *arena, struct rb_earlier *out,
                     struct rb_err *err);
// Copies them to the new store `to`, which is made only if there are any. *out as rb_earlier_find.
bool rb_earlier_keep(const struct rb_job *job, const char *store, const char *to, struct rb_arena *arena,
                     struct rb_earlier *out, struct rb_err *err);
// "starts from 2 earlier runs: a, b; --cold leaves them out"
void rb_earlier_write(const struct rb_earlier *e, struct rb_buf *out);

#endif
