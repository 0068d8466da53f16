// rbrun --pool --serve: a page that lists the jobs, each with a link to the page of its run.
#ifndef RB_VIEWS_POOL_SERVE_H
#define RB_VIEWS_POOL_SERVE_H

#include "views/run/run_serve.h"

// For rb_run_serve_begin_with; id: of the run that owns the nodes. Reads pool.json and the journals of jobs as they
// begin.
bool rb_pool_serve_open(const char *state_dir, const char *id, struct rb_run_serve_source *out, struct rb_err *err);

#endif
