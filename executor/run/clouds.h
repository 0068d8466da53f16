// The places in which a run rents, open: a provider each, how their nodes are reached, and what a node is launched with. Or the one
// that lends a run its nodes, where it is a job of a pool.
#ifndef RB_EXECUTOR_CLOUDS_H
#define RB_EXECUTOR_CLOUDS_H

#include "executor/controller/controller.h"
#include "executor/journal/run_files.h"
#include "executor/run/infras.h"
#include "executor/transport/loop_uv.h"
#include "executor/transport/transport.h"

struct rb_run_clouds {
    struct rb_http *http; // NULL: no provider needs it
    char infras[RB_RUN_INFRAS][64];
    const char *infra_names[RB_RUN_INFRAS];
    struct rb_provider providers[RB_RUN_INFRAS];
    struct rb_run_place places[RB_RUN_INFRAS]; // [n], for the controller
    int n;
    bool near;             // all of them: asking them costs nothing
    struct rb_birth birth; // of their nodes
};

// {0} before; finish it also after a failure. files and loop outlive it, and it stays where it is. lender: taken over, with the
// transport of the nodes that it lends; ops NULL: the providers that the plan names.
bool rb_run_clouds_open(struct rb_run_clouds *c, const struct rb_run_files *files, const struct rb_loop *loop,
                        const struct rb_provider *lender, const struct rb_transport *lent_by, struct rb_err *err);
void rb_run_clouds_finish(struct rb_run_clouds *c); // calls under way are dropped without an answer

// A controller's `birth`, ctx: the clouds.
bool rb_run_clouds_make_user_data(void *ctx, const struct rb_run_place *place, struct rb_buf *out,
                                  char host_key[static 128], struct rb_err *err);
// How all nodes are reached; NULL: in different ways.
const struct rb_transport *rb_run_clouds_transport(const struct rb_run_clouds *c);
// Deletes the run's placement groups, once its instances are seen to be gone. Runs the loop until the clouds have answered.
void rb_run_clouds_end_groups(struct rb_run_clouds *c, struct rb_loop_uv *uv, const struct rb_run_files *files);

#endif
